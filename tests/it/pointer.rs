//! `endless pointer`: whole outputs, with a transcript and without.

use std::fs;

use insta::assert_snapshot;
use serde_json::{Value, json};

use crate::harness::{Rows, Sandbox, stable};

fn rows() -> Rows {
    Rows::new()
        .user("Fix the parser")
        .agent("I will run the tests.")
        .call("toolu_1", "Bash", json!({"command": "cargo test", "description": "Run tests"}))
        .result("toolu_1", "secret output of a tool")
        .user("Now the same for dates")
        .agent("Running them.")
        .call("toolu_2", "Bash", json!({"command": "cargo test dates"}))
}

fn with_rows() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.transcript("-w/0b9f2c1e", &rows().text(), 0);
    sandbox
}

#[test]
fn a_pointer_names_the_bottle_that_it_has_just_made() {
    let sandbox = with_rows();
    let shown = sandbox.show(&["pointer", "0b9f"]);
    assert_snapshot!(shown, @r#"
    exit 0
    --- out
    <endless-pointer session="0b9f2c1e" n="0">
    This continues the session 0b9f2c1e. Its whole conversation, word for word, is in this file, kept by Endless:
    ~/.endless/bottles/0b9f2c1e.md
    mode: full (transcript only)
    lines: 38 · pages: 2 · legs: 1 · rendered: …

    Next step: read these ranges, one Read each, then go on from where it stopped.
    - lines 1-20 (offset 1, limit 20): page one, with the index
    - lines 21-38 (offset 21, limit 18): the newest

    Where a summary differs from this record, the record is right. The last assistant message was already delivered and is not to be repeated; work that it reports as done is not to be redone.
    1 tool call has no observation yet, shown as a stub (⏳).
    `endless expand 0b9f2c1e t17` prints what is behind [t17].

    Where things stand (lines with `>` quote the conversation):
    The original request:
    > Fix the parser
    The last user message:
    > Now the same for dates
    The last assistant message, said after it:
    > Running them.
    </endless-pointer>
    "#);
    assert!(sandbox.path(".endless/bottles/0b9f2c1e.md").exists());
    let transcript = sandbox.path(".claude/projects/-w/0b9f2c1e.jsonl");
    assert_eq!(sandbox.show(&["pointer", transcript.to_str().unwrap()]), shown);
}

#[test]
fn a_program_gets_lines_and_text() {
    let sandbox = with_rows();
    let value = |arguments: &[&str]| -> Value {
        serde_json::from_str(&sandbox.run(arguments).stdout).unwrap()
    };
    let pointer = value(&["pointer", "0b9f", "--json"]);
    let render = value(&["render", "0b9f", "--json"]);
    for key in ["path", "mode", "lines"] {
        assert_eq!(pointer[key], render[key], "{key}");
    }
    assert_eq!(pointer["ranges"], render["pages"]);
    assert_eq!(pointer["transcript_gone"], false);
    let text = pointer["text"].as_str().unwrap();
    assert_eq!(stable(&format!("{text}\n")), stable(&sandbox.run(&["pointer", "0b9f"]).stdout));
    // The home folder is shown as `~`.
    assert!(pointer["utf16_units"].as_u64().unwrap() >= text.encode_utf16().count() as u64);
}

#[test]
fn a_bottle_without_its_transcript_is_pointed_to_as_it_is() {
    let sandbox = with_rows();
    let there = sandbox.run(&["pointer", "0b9f"]).stdout;
    let bottle = sandbox.path(".endless/bottles/0b9f2c1e.md");
    let before = fs::read(&bottle).unwrap();
    fs::remove_file(sandbox.path(".claude/projects/-w/0b9f2c1e.jsonl")).unwrap();
    let shown = sandbox.show(&["pointer", "0b9f"]);
    assert_snapshot!(shown, @r#"
    exit 0
    --- out
    <endless-pointer session="0b9f2c1e" n="0">
    This continues the session 0b9f2c1e. Its whole conversation, word for word, is in this file, kept by Endless:
    ~/.endless/bottles/0b9f2c1e.md
    mode: full (transcript only)
    lines: 38 · pages: 2 · legs: 1 · rendered: …
    Transcript gone: this file is what is left of it.

    Next step: read these ranges, one Read each, then go on from where it stopped.
    - lines 1-20 (offset 1, limit 20): page one, with the index
    - lines 21-38 (offset 21, limit 18): the newest

    Where a summary differs from this record, the record is right. The last assistant message was already delivered and is not to be repeated; work that it reports as done is not to be redone.
    1 tool call has no observation yet, shown as a stub (⏳).

    Where things stand (lines with `>` quote the conversation):
    The original request:
    > Fix the parser
    The last user message:
    > Now the same for dates
    The last assistant message, said after it:
    > Running them.
    </endless-pointer>
    "#);
    assert_eq!(fs::read(&bottle).unwrap(), before);
    let time =
        |text: &str| text.split_once("rendered: ").unwrap().1.lines().next().unwrap().to_owned();
    assert_eq!(time(&sandbox.run(&["pointer", "0b9f2c1e"]).stdout), time(&there));
    let json = sandbox.run(&["pointer", "0b9f", "--json"]).stdout;
    assert!(json.contains("\"transcript_gone\": true"), "{json}");
}

#[test]
fn what_can_not_be_pointed_to_is_refused() {
    let sandbox = with_rows();
    let mut shown = String::new();
    let mut show = |arguments: &[&str]| {
        let ran = sandbox.run(arguments);
        shown.push_str(&format!("{} {}", ran.status, ran.stderr));
    };
    show(&["pointer", "zz"]);
    show(&["pointer", "a b"]);
    show(&["pointer"]);
    for name in ["0c1", "0c2", "0c", "0d"] {
        let text = if name == "0d" { "notes" } else { "# Session bottle" };
        sandbox.write(&sandbox.path(&format!(".endless/bottles/{name}.md")), text);
    }
    show(&["pointer", "0c1"]);
    show(&["pointer", "0d"]);
    fs::remove_file(sandbox.path(".endless/bottles/0c.md")).unwrap();
    show(&["pointer", "0c"]);
    show(&["render", "0d"]);
    assert_eq!(sandbox.run(&["forget", "0b9f", "--yes"]).status, 0);
    show(&["pointer", "0b9f"]);
    sandbox.write(&sandbox.path(".endless/bottles/0b9f2c1e.md"), "# Session bottle");
    fs::remove_file(sandbox.path(".claude/projects/-w/0b9f2c1e.jsonl")).unwrap();
    show(&["pointer", "0b9f"]);
    assert_snapshot!(shown, @"
    1 error: no session begins with `zz`; looked at 1 sessions in ~/.claude/projects
    2 error: `a b` is no session id: ids have letters, digits, `.`, `_` and `-`, and begin with a letter or digit; give an id from `endless list`, or the path of a transcript
    2 error: the following required arguments were not provided: <SESSION>; see `endless pointer --help`
    1 error: the transcript of this session is gone, and ~/.endless/bottles/0c1.md is no bottle that this version of Endless can read
    1 error: the transcript of this session is gone, and ~/.endless/bottles/0d.md is no bottle that this version of Endless can read
    2 error: `0c` fits 2 sessions without a transcript, give more of the id: 0c1, 0c2
    1 error: the transcript of this session is gone; its bottle is ~/.endless/bottles/0d.md (`endless pointer 0d` hands it to an agent)
    1 error: the session 0b9f2c1e was forgotten (`endless forget`): no bottle of it is kept; there is nothing to point to
    1 error: the session 0b9f2c1e was forgotten (`endless forget`): no bottle of it is kept; there is nothing to point to
    ");
}

#[test]
fn a_session_without_messages_has_a_pointer() {
    let sandbox = Sandbox::new();
    sandbox.write(&sandbox.path("empty.jsonl"), "");
    let ran = sandbox.run(&["pointer", "empty.jsonl"]);
    assert_eq!(ran.status, 0);
    assert!(ran.stderr.contains("there is no message"), "{}", ran.stderr);
    assert!(!ran.stdout.contains("Where things stand"), "{}", ran.stdout);
}
