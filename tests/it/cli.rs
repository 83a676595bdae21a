//! The commands as a person meets them: whole outputs, exit status included.

use std::{
    fs,
    os::unix::fs::{MetadataExt, PermissionsExt, symlink},
    process::Stdio,
};

use insta::assert_snapshot;
use serde_json::json;

use crate::harness::{Rows, Sandbox, stable};

fn tiny() -> Rows {
    Rows::new()
        .user("Fix the parser")
        .agent("I will run the tests.")
        .call("toolu_1", "Bash", json!({"command": "cargo test", "description": "Run tests"}))
        .result("toolu_1", "running 4 tests\ntest result: ok")
        .call("toolu_2", "Read", json!({"file_path": "/w/src/a.rs"}))
        .result("toolu_2", "fn main() {}\n")
        .agent("All **4** pass.")
}

/// A sandbox with one small session, `0b9f2c1e`.
fn with_tiny() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.transcript("-w/0b9f2c1e", &tiny().text(), 0);
    sandbox
}

#[test]
fn render_writes_the_bottle_and_prints_its_path() {
    let sandbox = with_tiny();
    assert_snapshot!(sandbox.show(&["render", "0b9f"]), @"
    exit 0
    --- out
    ~/.endless/bottles/0b9f2c1e.md
    ");
    let path = sandbox.path(".endless/bottles/0b9f2c1e.md");
    let mode = |path| fs::metadata(path).unwrap().mode() & 0o777;
    assert_eq!(mode(&path), 0o600);
    assert_eq!(mode(&sandbox.path(".endless/bottles")), 0o700);
    let bottle = fs::read_to_string(&path).unwrap();
    assert_eq!(stable(&bottle), stable(&sandbox.run(&["render", "0b9f", "--stdout"]).stdout));
    assert!(bottle.contains("**Assistant** (10:06)\nAll **4** pass.\n"), "{bottle}");

    let transcript = sandbox.path(".claude/projects/-w/0b9f2c1e.jsonl");
    let by_path = sandbox.run(&["render", transcript.to_str().unwrap()]);
    assert_eq!(by_path.stdout, "~/.endless/bottles/0b9f2c1e.md\n");
}

#[test]
fn render_counts_as_json() {
    let sandbox = with_tiny();
    let text = tiny().text() + "{broken\n{\"type\":\"mode\"}\n{\"type\":\"user\",\"mess";
    sandbox.transcript("-w/0b9f2c1e", &text, 0);
    let shown = sandbox.show(&["render", "0b9f", "--json"]);
    let bytes: Vec<_> = shown.lines().filter(|line| line.contains("bytes\":")).collect();
    let without: Vec<_> = shown.lines().filter(|line| !bytes.contains(line)).collect();
    assert_snapshot!(without.join("\n"), @r#"
    exit 0
    --- out
    {
      "path": "~/.endless/bottles/0b9f2c1e.md",
      "mode": "full (transcript only)",
      "lines": 32,
      "pages": [
        [
          1,
          19
        ],
        [
          20,
          32
        ]
      ],
      "messages": {
        "user": 1,
        "assistant": 2
      },
      "tool_calls": 2,
      "pending": 0,
      "unreadable_lines": 1,
      "skipped": {
        "mode": 1
      },
      "private_texts": 0,
      "milliseconds": …,
      "archived": null
    }
    "#);
    assert!(bytes[0].contains(&text.len().to_string()), "{bytes:?}");
    assert_eq!(bytes[2], "  \"torn_bytes\": 20,");
}

#[test]
fn render_goes_where_it_is_told() {
    let sandbox = with_tiny();
    assert_snapshot!(sandbox.show(&["render", "0b9f", "--out", "b.md"]), @"
    exit 0
    --- out
    ~/b.md
    ");
    assert_eq!(fs::metadata(sandbox.path("b.md")).unwrap().mode() & 0o777, 0o600);
    assert!(!sandbox.path(".endless").exists());
    assert_snapshot!(sandbox.show(&["render", "0b9f", "--stdout", "--json"]), @"
    exit 2
    --- err
    error: the argument '--stdout' cannot be used with '--json'; see `endless render --help`
    ");
    let transcript = sandbox.path(".claude/projects/-w/0b9f2c1e.jsonl");
    let before = fs::read(&transcript).unwrap();
    symlink(sandbox.path(".claude/projects/-w"), sandbox.path("link")).unwrap();
    symlink(&transcript, sandbox.path("c.md")).unwrap();
    for (out, why) in [
        (".claude/projects/-w/0b9f2c1e.jsonl", "belongs to the host"),
        ("link/0b9f2c1e.jsonl", "belongs to the host"),
        ("link/new.md", "belongs to the host"),
        ("c.md", "is not a regular file"),
        ("/dev/null", "is not a regular file"),
    ] {
        let ran = sandbox.run(&["render", "0b9f", "--out", out]);
        assert!(ran.status == 2 && ran.stderr.contains(why), "{}", ran.stderr);
    }
    assert_eq!(fs::read(&transcript).unwrap(), before);
}

#[test]
fn render_replaces_nothing_but_bottles_and_stays_out_of_the_state_folder() {
    let sandbox = with_tiny();
    let outs = |outs: &[&str]| {
        let mut shown = String::new();
        for out in outs {
            let ran = sandbox.run(&["render", "0b9f", "--out", out]);
            shown.push_str(&format!("{} {}", ran.status, ran.stderr));
        }
        shown
    };
    sandbox.write(&sandbox.path("notes.md"), "mine");
    symlink(sandbox.path(".endless/bottles"), sandbox.path("link")).unwrap();
    // Also where the folder is not there yet.
    assert_snapshot!(outs(&[".endless/new.md", "nowhere/../.endless/new.md"]), @"
    2 error: ~/.endless/new.md lies in the state folder; name another file, or leave --out away
    2 error: ~/nowhere/../.endless/new.md lies in the state folder; name another file, or leave --out away
    ");
    assert_eq!(sandbox.run(&["render", "0b9f"]).status, 0);
    sandbox.write(&sandbox.path(".endless/endless.db"), "# Session bottle");
    let before = sandbox.files("");
    let inside = [".endless/endless.db", ".endless/new.md", ".endless/bottles/0b9f2c1e.md"];
    assert_snapshot!(outs(&[&inside[..], &["link/new.md", "notes.md", "nowhere/b.md"]].concat()), @"
    2 error: ~/.endless/endless.db lies in the state folder; name another file, or leave --out away
    2 error: ~/.endless/new.md lies in the state folder; name another file, or leave --out away
    2 error: ~/.endless/bottles/0b9f2c1e.md lies in the state folder; name another file, or leave --out away
    2 error: ~/link/new.md lies in the state folder; name another file, or leave --out away
    2 error: ~/notes.md is there and is no bottle; name another file, or move it away
    2 error: there is no folder ~/nowhere; make it first
    ");
    assert_eq!(sandbox.files(""), before);

    sandbox.write(&sandbox.path("empty"), "");
    sandbox.write(&sandbox.path("old.md"), "# Session bottle — of another session\n");
    for out in ["empty", "old.md", "old.md"] {
        assert_eq!(sandbox.run(&["render", "0b9f", "--out", out]).stdout, format!("~/{out}\n"));
        let text = fs::read_to_string(sandbox.path(out)).unwrap();
        assert!(text.starts_with("# Session bottle — 0b9f2c1e\n"), "{text}");
    }
}

#[test]
fn a_file_that_is_no_transcript_gets_no_bottle() {
    let sandbox = Sandbox::new();
    sandbox.write(&sandbox.path("other.jsonl"), "{\n  \"model\": \"opus\"\n}\n");
    assert_snapshot!(sandbox.show(&["render", "other.jsonl"]), @"
    exit 1
    --- err
    error: no line of ~/other.jsonl is a record of a transcript; give the path of one, or an id from `endless list`
    ");
    assert!(!sandbox.path(".endless/bottles/other.md").exists());
}

#[test]
fn a_seal_waits_for_as_long_as_its_help_says() {
    let sandbox = with_tiny();
    assert_eq!(sandbox.run(&["seal", "0b9f", "--timeout", "20s"]).status, 0);
}

#[test]
fn a_transcript_without_messages_renders_with_a_note() {
    let sandbox = Sandbox::new();
    let rows = tiny().with("isSidechain", &json!(true));
    sandbox.write(&sandbox.path("agent-1.jsonl"), &rows.text());
    sandbox.write(&sandbox.path("empty.jsonl"), "");
    assert_snapshot!(sandbox.show(&["render", "agent-1.jsonl"]), @"
    exit 0
    --- out
    ~/.endless/bottles/agent-1.md
    --- err
    note: every row of this transcript is a subagent's (a sidechain): it has no messages of its own; render the session that called it
    ");
    assert_snapshot!(sandbox.show(&["render", "empty.jsonl"]), @"
    exit 0
    --- out
    ~/.endless/bottles/empty.md
    --- err
    note: there is no message of a person or an agent in this transcript
    ");
}

#[test]
fn sessions_are_named_well_or_refused() {
    let sandbox = with_tiny();
    sandbox.transcript("-v/0b9f77aa", &tiny().text(), 1);
    sandbox.transcript("-v/agent-1", &tiny().text(), 1);
    fs::create_dir(sandbox.path("folder.jsonl")).unwrap();
    assert!(sandbox.shell("mkfifo pipe.jsonl").status == 0);
    symlink(sandbox.path(".claude/projects/-w/0b9f2c1e.jsonl"), sandbox.path("l.jsonl")).unwrap();
    let long = "x".repeat(5_000);
    let mut shown = String::new();
    for name in [
        "0b9f",
        "zz",
        "agent-1",
        "../../x",
        "",
        &long,
        "a\nb",
        "no.jsonl",
        "folder.jsonl",
        "pipe.jsonl",
        "l.jsonl",
        "/etc",
    ] {
        let ran = sandbox.run(&["render", "--", name]);
        shown.push_str(&format!("{} {}", ran.status, ran.stderr));
    }
    assert_snapshot!(shown, @"
    2 error: `0b9f` fits 2 sessions, give more of the id: 0b9f2c1e, 0b9f77aa
    1 error: no session begins with `zz`; looked at 2 sessions in ~/.claude/projects
    1 error: no session begins with `agent-1`; looked at 2 sessions in ~/.claude/projects
    2 error: `../../x` is no session id: ids have letters, digits, `.`, `_` and `-`, and begin with a letter or digit; give an id from `endless list`, or the path of a transcript
    2 error: a session id can't be empty; give an id from `endless list`, or the path of a transcript
    2 error: a session id has at most 128 characters, this one has 5000; give an id from `endless list`, or the path of a transcript
    2 error: `a b` is no session id: ids have letters, digits, `.`, `_` and `-`, and begin with a letter or digit; give an id from `endless list`, or the path of a transcript
    1 error: failed to find ~/no.jsonl; give the path of a transcript, or an id from `endless list`
    1 error: failed to open ~/folder.jsonl: it is a directory, not a regular file; give the path of a transcript, or an id from `endless list`
    1 error: failed to open ~/pipe.jsonl: it is a named pipe, not a regular file; give the path of a transcript, or an id from `endless list`
    1 error: failed to open ~/l.jsonl: it is a symbolic link, not a regular file; give the path of a transcript, or an id from `endless list`
    1 error: failed to open /etc: it is a directory, not a regular file; give the path of a transcript, or an id from `endless list`
    ");
}

#[test]
fn usage_is_explained_in_one_line() {
    let sandbox = with_tiny();
    let mut shown = String::new();
    for arguments in [
        &[][..],
        &["rendr", "0b9f"],
        &["render"],
        &["render", "0b9f", "--jsn"],
        &["expand", "0b9f"],
        &["list", "--since", "2y"],
    ] {
        let ran = sandbox.run(arguments);
        shown.push_str(&format!("{} {}", ran.status, ran.stderr));
    }
    assert_snapshot!(shown, @"
    2 error: no command was given; `endless --help` shows them
    2 error: unrecognized subcommand 'rendr' tip: some similar subcommands exist: 'expand', 'render'; see `endless --help`
    2 error: the following required arguments were not provided: <SESSION>; see `endless render --help`
    2 error: unexpected argument '--jsn' found tip: a similar argument exists: '--json'; see `endless render --help`
    2 error: the following required arguments were not provided: <ID>...; see `endless expand --help`
    2 error: invalid value '2y' for '--since <TIME>': write a number and s, m, h, d or w, like 20s, 30m, 12h, 2d; see `endless list --help`
    ");
}

#[test]
fn expand_prints_calls_whole() {
    let sandbox = with_tiny();
    assert_snapshot!(sandbox.show(&["expand", "0b9f", "t1"]), @r#"
    exit 0
    --- out
    t1 · Bash · completed · toolu_1 · 2026-11-30 10:02:00 +00:00
    input (1 line):
    cargo test
    with (3 lines):
    {
      "description": "Run tests"
    }
    output (2 lines):
    running 4 tests
    test result: ok
    "#);
    assert_snapshot!(sandbox.show(&["expand", "0b9f", "t1-t2", "toolu_2", "--json"]), @r#"
    exit 0
    --- out
    [
      {
        "id": "t1",
        "tool": "Bash",
        "call_id": "toolu_1",
        "status": "completed",
        "input": {
          "command": "cargo test",
          "description": "Run tests"
        },
        "output": "running 4 tests\ntest result: ok"
      },
      {
        "id": "t2",
        "tool": "Read",
        "call_id": "toolu_2",
        "status": "completed",
        "input": {
          "file_path": "/w/src/a.rs"
        },
        "output": "fn main() {}\n"
      },
      {
        "id": "t2",
        "tool": "Read",
        "call_id": "toolu_2",
        "status": "completed",
        "input": {
          "file_path": "/w/src/a.rs"
        },
        "output": "fn main() {}\n"
      }
    ]
    "#);
}

#[test]
fn expand_names_what_there_is() {
    let sandbox = with_tiny();
    let mut shown = String::new();
    for id in ["t3", "t0", "t1-t9", "r1", "toolu_9", "17", "t2-t1", "#102401", "../x"] {
        let ran = sandbox.run(&["expand", "0b9f", "t1", id]);
        shown.push_str(&format!("{} {}", ran.status, ran.stderr));
    }
    assert_snapshot!(shown, @"
    1 error: there is no t3: this session has t1–t2
    1 error: there is no t0: this session has t1–t2
    1 error: there is no t1-t9: this session has t1–t2
    1 error: there is no r1: this session has no rewound stretches
    1 error: no tool call of this session has the id toolu_9: it has t1–t2
    2 error: `17` is no id of a line: write t17, t18-t22, r1, '#102401', or the host's toolu_… id
    2 error: `t2-t1` runs backwards; write t1-t2
    1 error: claude-mem is not there: there is no ~/.claude-mem/claude-mem.db
    2 error: `../x` is no id of a line: write t17, t18-t22, r1, '#102401', or the host's toolu_… id
    ");
}

#[test]
fn expand_shows_a_rewound_stretch() {
    let sandbox = Sandbox::new();
    let rows = tiny().user("Now the docs").agent("Done.");
    let rows =
        rows.call("toolu_3", "Write", json!({"file_path": "/w/README.md", "content": "#\n"}));
    let rows = rows.after(6).user("No, the tests").agent("Those are done.");
    sandbox.transcript("-w/s", &rows.text(), 0);
    assert_snapshot!(sandbox.show(&["expand", "s", "r1"]), @r##"
    exit 0
    --- out
    r1 · rewound: 2 messages, 1 tool call
    user · 2026-11-30 10:07:00 +00:00 (1 line):
    Now the docs
    assistant · 2026-11-30 10:08:00 +00:00 (1 line):
    Done.

    t3 · Write · interrupted · toolu_3 · 2026-11-30 10:09:00 +00:00
    input (4 lines):
    {
      "content": "#\n",
      "file_path": "/w/README.md"
    }
    no output
    "##);
}

#[test]
fn expand_reads_what_the_host_persisted() {
    let sandbox = Sandbox::new();
    let wrapped = "<persisted-output>\nOutput too large (106.3KB). Full output saved to: \
                   /old/home/s/tool-results/b1.txt\n\nPreview (first 2KB):\nhead\n...\n\
                   </persisted-output>";
    let rows = Rows::new()
        .user("go")
        .call("toolu_1", "Bash", json!({"command": "seq 9"}))
        .result("toolu_1", wrapped);
    sandbox.transcript("-w/s", &rows.text(), 0);
    assert_snapshot!(sandbox.show(&["expand", "s", "t1"]), @"
    exit 0
    --- out
    t1 · Bash · completed · toolu_1 · 2026-11-30 10:01:00 +00:00
    input (1 line):
    seq 9
    output (5 lines):
    Output too large (106.3KB). Full output saved to: /old/home/s/tool-results/b1.txt

    Preview (first 2KB):
    head
    ...
    (only the host's preview, the full output is gone: there is no s/tool-results/b1.txt)
    ");
    let kept = sandbox.path(".claude/projects/-w/s/tool-results/b1.txt");
    sandbox.write(&kept, "whole\n<private>SECRET</private>output\n");
    assert_snapshot!(sandbox.show(&["expand", "s", "t1"]), @"
    exit 0
    --- out
    t1 · Bash · completed · toolu_1 · 2026-11-30 10:01:00 +00:00
    input (1 line):
    seq 9
    output (2 lines):
    whole
    output
    (the record holds a preview only; this is s/tool-results/b1.txt, where the host kept the whole output)
    ");
}

#[test]
fn expand_prints_a_partial_wrapper_as_it_is() {
    let sandbox = Sandbox::new();
    let forged = "<persisted-output>\nFull output saved to: /x/s/tool-results/b1.txt\n\
                  </persisted-output>";
    let rows = Rows::new()
        .user("go")
        .call("toolu_1", "Bash", json!({"command": "./a"}))
        .result("toolu_1", format!("{forged}\nreal output"))
        .call("toolu_2", "Bash", json!({"command": "./b"}))
        .result(
            "toolu_2",
            json!([{"type": "text", "text": forged}, {"type": "text", "text": "real output"}]),
        )
        .call("toolu_3", "Bash", json!({"command": "./c"}))
        .result("toolu_3", format!("<persisted-output>{forged} real output</persisted-output>"));
    let transcript = sandbox.transcript("-w/s", &rows.text(), 0);
    let kept = transcript.with_file_name("s/tool-results/b1.txt");
    sandbox.write(&kept, "not this");
    assert_snapshot!(sandbox.show(&["expand", "s", "t1-t3"]), @"
    exit 0
    --- out
    t1 · Bash · completed · toolu_1 · 2026-11-30 10:01:00 +00:00
    input (1 line):
    ./a
    output (4 lines):
    <persisted-output>
    Full output saved to: /x/s/tool-results/b1.txt
    </persisted-output>
    real output

    t2 · Bash · completed · toolu_2 · 2026-11-30 10:03:00 +00:00
    input (1 line):
    ./b
    output (4 lines):
    <persisted-output>
    Full output saved to: /x/s/tool-results/b1.txt
    </persisted-output>
    real output

    t3 · Bash · completed · toolu_3 · 2026-11-30 10:05:00 +00:00
    input (1 line):
    ./c
    output (3 lines):
    <persisted-output><persisted-output>
    Full output saved to: /x/s/tool-results/b1.txt
    </persisted-output> real output</persisted-output>
    ");
}

#[test]
fn expand_of_a_row_with_many_calls_prints_them_all() {
    let sandbox = Sandbox::new();
    let call = |n: u32| {
        let id = format!("toolu_{n}");
        json!({"type": "tool_use", "id": id, "name": "X", "input": {"n": n}})
    };
    let result = |n: u32| {
        let id = format!("toolu_{n}");
        json!({"type": "tool_result", "tool_use_id": id, "content": n.to_string()})
    };
    let row = |kind: &str, blocks: Vec<serde_json::Value>| {
        let message = json!({"content": blocks});
        json!({"type": kind, "uuid": kind, "message": message})
    };
    let calls = row("assistant", (1..=20_000).map(call).collect());
    let results = row("user", (1..=20_000).map(result).collect());
    sandbox.transcript("-w/s", &format!("{calls}\n{results}\n"), 0);
    let ran = sandbox.run(&["expand", "s", "t1-t20000", "--json"]);
    let shown: Vec<serde_json::Value> = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!(shown.len(), 20_000);
    assert_eq!(
        shown[19_998],
        json!({"id": "t19999", "tool": "X", "call_id": "toolu_19999", "status": "completed",
               "input": {"n": 19_999}, "output": "19999"})
    );
}

#[test]
fn expand_refuses_ids_of_a_transcript_that_was_rewritten() {
    let sandbox = with_tiny();
    assert_eq!(sandbox.run(&["render", "0b9f"]).status, 0);
    let before = sandbox.run(&["expand", "0b9f", "t1-t2"]);
    assert_eq!(before.status, 0);
    let more = tiny().call("toolu_3", "Read", json!({"file_path": "/w/b.rs"}));
    sandbox.transcript("-w/0b9f2c1e", &more.text(), 0);
    assert_eq!(sandbox.run(&["expand", "0b9f", "t1-t2"]).stdout, before.stdout);

    let other = Rows::new()
        .user("Fix the parser")
        .call("toolu_2", "Read", json!({"file_path": "/w/src/a.rs"}))
        .result("toolu_2", "fn main() {}\n")
        .call("toolu_4", "Read", json!({"file_path": "/w/src/b.rs"}))
        .result("toolu_4", "fn b() {}\n");
    sandbox.transcript("-w/0b9f2c1e", &other.text(), 0);
    assert_snapshot!(sandbox.show(&["expand", "0b9f", "t1"]), @"
    exit 1
    --- err
    error: the transcript was rewritten since the bottle was written: [t1] is `Bash `cargo test`` there and `Read src/a.rs` now; run `endless render 0b9f2c1e` first
    ");
    assert_snapshot!(sandbox.show(&["expand", "0b9f", "toolu_2", "[t2]", "--json"]), @"
    exit 1
    --- err
    error: the transcript was rewritten since the bottle was written: [t2] is `Read src/a.rs` there and `Read src/b.rs` now; run `endless render 0b9f2c1e` first
    ");
    assert_snapshot!(sandbox.show(&["expand", "0b9f", "toolu_2"]), @r#"
    exit 0
    --- out
    t1 · Read · completed · toolu_2 · 2026-11-30 10:01:00 +00:00
    input (3 lines):
    {
      "file_path": "/w/src/a.rs"
    }
    output (1 line):
    fn main() {}
    "#);
    assert_eq!(sandbox.run(&["render", "0b9f"]).status, 0);
    assert_snapshot!(sandbox.show(&["expand", "0b9f", "t2"]), @r#"
    exit 0
    --- out
    t2 · Read · completed · toolu_4 · 2026-11-30 10:03:00 +00:00
    input (3 lines):
    {
      "file_path": "/w/src/b.rs"
    }
    output (1 line):
    fn b() {}
    "#);
    let changed = other.text().replace("src/b.rs", "src/c.rs");
    sandbox.transcript("-w/0b9f2c1e", &changed, 0);
    assert_snapshot!(sandbox.show(&["expand", "0b9f", "t1-t2"]), @"
    exit 1
    --- err
    error: the transcript was rewritten since the bottle was written: [t2] is `Read 2 files: src/a.rs, src/b.rs` there and `Read src/c.rs` now; run `endless render 0b9f2c1e` first
    ");
    fs::remove_file(sandbox.path(".endless/bottles/0b9f2c1e.md")).unwrap();
    assert_eq!(sandbox.run(&["expand", "0b9f", "t1-t2"]).status, 0);
}

#[test]
fn expand_finds_calls_of_both_folders_of_a_session() {
    let sandbox = with_tiny();
    let both = tiny().call("toolu_3", "Bash", json!({"command": "ls"})).result("toolu_3", "new");
    let text = both.text();
    let new: String = text.lines().skip(7).map(|line| format!("{line}\n")).collect();
    sandbox.transcript("-w-worktree/0b9f2c1e", &new, 1);
    let ran = sandbox.run(&["expand", "0b9f", "t1", "t3"]);
    let outputs = ["test result: ok\n\nt3 · Bash · completed", "output (1 line):\nnew\n"];
    assert!(outputs.iter().all(|output| ran.stdout.contains(output)), "{}", ran.stdout);
}

#[test]
fn nothing_private_is_ever_printed() {
    let sandbox = Sandbox::new();
    let secret = "a <PRIVATE x='>'>SECRET<private>SECRET</private>SECRET</private > z";
    let rows = Rows::new()
        .user(secret)
        .agent(secret)
        .call(
            "toolu_1",
            "Bash",
            json!({"command": secret, "k <private>SECRET": {"deep": [secret]}, "description": "<private>SECRET"}),
        )
        .result("toolu_1", json!([{"type": "text", "text": secret}, {"type": "text", "text": "<private>SECRET"}]))
        .call("toolu_<private>SECRET</private>2", "mcp__<private>SECRET</private>__x", json!({"<private>SECRET</private>": 1}))
        .result("toolu_<private>SECRET</private>2", secret)
        .user(secret)
        .agent(secret)
        .after(5)
        .user("again <private>SECRET");
    let rows = rows.with("cwd", &json!("/w/<private>SECRET</private>"));
    let odd = r#"{"type":"<private>SECRET</private>odd"}"#;
    sandbox.transcript("-w/s", &format!("{}{odd}\n", rows.text()), 0);
    for arguments in [
        &["render", "s"][..],
        &["render", "s", "--stdout"],
        &["render", "s", "--json"],
        &["expand", "s", "t1-t2", "r1"],
        &["expand", "s", "t1-t2", "r1", "--json"],
        &["list"],
        &["list", "--json"],
    ] {
        let ran = sandbox.run(arguments);
        assert_eq!(ran.status, 0, "{arguments:?}: {}", ran.stderr);
        let shown = ran.stdout + &ran.stderr;
        assert!(!shown.contains("SECRET"), "{arguments:?}: {shown}");
    }
    for (path, text) in sandbox.files(".endless") {
        assert!(!text.contains("SECRET"), "{}: {text}", path.display());
    }
}

#[test]
fn control_characters_become_pictures() {
    let sandbox = Sandbox::new();
    let evil = "a\x1b[2J\x1b]0;t\x07\r\u{9b}31m\0z";
    let rows = Rows::new()
        .user(evil)
        .call("toolu_1", evil, json!({evil: evil}))
        .result("toolu_1", evil)
        .with("cwd", &json!(evil));
    sandbox.transcript("-w/s", &rows.text(), 0);
    for arguments in
        [&["render", "s", "--stdout"][..], &["render", "s", "--json"], &["expand", "s", "t1"]]
    {
        assert_eq!(sandbox.run(arguments).status, 0);
    }
    for arguments in [&["list", "--json"][..], &["expand", "s", "t1", "--json"]] {
        let ran = sandbox.run(arguments);
        let value: serde_json::Value = serde_json::from_str(&ran.stdout).unwrap();
        assert!(value.to_string().contains("a␛[2J"), "{value}");
        assert!(!value.to_string().contains("\\u00"), "{value}");
    }
    assert_snapshot!(sandbox.show(&["list"]), @"
    exit 0
    --- out
    s  2026-11-30 10:00  1.0 KB  a␛[2J␛]0;t␇ �31m␀z  a␛[2J␛]0;t␇ �31m␀z
    ");
    let ran = sandbox.run(&["render", evil.trim_end_matches("\0z")]);
    assert_eq!(ran.status, 2);
}

#[test]
fn list_shows_the_newest_first() {
    let sandbox = with_tiny();
    let other = Rows::new().user("Write\n  the docs").with("cwd", &json!("/w/docs"));
    sandbox.transcript("-w-docs/7c00", &other.text(), 90);
    sandbox.transcript("-v/7c01", "{\"type\":\"mode\"}\n", 30);
    let mine = Rows::new().user("observe").with("cwd", &json!("/h/.claude-mem/observer-sessions"));
    sandbox.transcript("-h/7c02", &mine.text(), 30);
    sandbox.transcript("-h--claude-mem-observer-sessions/7c03", &mine.text(), 30);
    assert_snapshot!(sandbox.show(&["list"]), @"
    exit 0
    --- out
    7c00      2026-11-30 11:30   216 B  /w/docs  Write the docs
    7c01      2026-11-30 10:30    16 B
    0b9f2c1e  2026-11-30 10:00  1.8 KB  /w       Fix the parser
    ");
    assert_snapshot!(sandbox.show(&["list", "--project", "/w/docs/", "--json"]), @r#"
    exit 0
    --- out
    [
      {
        "id": "7c00",
        "project": "/w/docs",
        "first_words": "Write the docs",
        "bytes": 216,
        "last_activity": "2026-11-30T11:30:00Z",
        "path": "~/.claude/projects/-w-docs/7c00.jsonl"
      }
    ]
    "#);
    for (project, count) in [
        ("/w", 2),
        ("/w/docs/../x/../docs", 1),
        ("/w/./docs/.", 1),
        ("/w/docs/..", 2),
        ("/../w", 2),
    ] {
        let ran = sandbox.run(&["list", "--project", project]);
        assert_eq!(ran.stdout.lines().count(), count, "{project}");
    }
    sandbox.transcript("-w/now", &tiny().text(), 0);
    fs::File::options()
        .append(true)
        .open(sandbox.path(".claude/projects/-w/now.jsonl"))
        .unwrap()
        .set_modified(std::time::SystemTime::now())
        .unwrap();
    let ran = sandbox.run(&["list", "--since", "30m"]);
    assert!(ran.stdout.starts_with("now ") && ran.stdout.lines().count() == 1, "{}", ran.stdout);
}

#[test]
fn list_hides_what_the_bottle_hides() {
    let sandbox = Sandbox::new();
    let blocks = |texts: &[&str]| {
        let block = |text: &&str| json!({"type": "text", "text": text});
        let blocks: Vec<_> = texts.iter().map(block).collect();
        let row = json!({"type": "user", "uuid": "1", "cwd": "/w", "message": {"content": blocks}});
        format!("{row}\n")
    };
    sandbox.transcript("-w/a", &blocks(&["<private>", "SECRET</private> x"]), 2);
    sandbox.transcript("-w/b", &blocks(&["Go <private>", "SECRET", "SECRET</private> on"]), 1);
    sandbox.transcript("-w/c", &blocks(&["<private>", "SECRET"]), 0);
    assert_snapshot!(sandbox.show(&["list"]), @"
    exit 0
    --- out
    a  2026-11-30 10:02  141 B  /w  x
    b  2026-11-30 10:01  177 B  /w  Go on
    c  2026-11-30 10:00  129 B  /w
    ");
}

#[test]
fn an_empty_home_says_where_it_looked() {
    let sandbox = Sandbox::new();
    assert_snapshot!(sandbox.show(&["list"]), @"
    exit 0
    --- err
    note: no session to show; there is no ~/.claude/projects and no ~/.config/claude/projects
    ");
    assert_snapshot!(sandbox.show(&["list", "--json"]), @"
    exit 0
    --- out
    []
    ");
    assert_snapshot!(sandbox.show(&["render", "x"]), @"
    exit 1
    --- err
    error: no session begins with `x`; there is no ~/.claude/projects and no ~/.config/claude/projects
    ");
    fs::create_dir_all(sandbox.path(".claude/projects")).unwrap();
    assert_snapshot!(sandbox.show(&["list"]), @"
    exit 0
    --- err
    note: no session to show; looked at 0 sessions in ~/.claude/projects
    ");
    assert_snapshot!(sandbox.shell("unset HOME; $endless list").show(), @"
    exit 1
    --- err
    error: HOME is not set: set it, or set ENDLESS_HOME and CLAUDE_CONFIG_DIR
    ");
}

#[test]
fn the_configuration_is_checked() {
    let sandbox = with_tiny();
    sandbox.write(&sandbox.path(".endless/config.toml"), "root = []\n");
    assert_snapshot!(sandbox.show(&["list"]), @"
    exit 1
    --- err
    error: ~/.endless/config.toml, line 1: unknown key `root`; did you mean `roots`?
    ");
    sandbox.write(&sandbox.path("o/projects/-x/other.jsonl"), &tiny().text());
    sandbox.write(&sandbox.path(".endless/config.toml"), "roots = ['~/o']\nzone = 'Etc/GMT-2'\n");
    let bottle = sandbox.run(&["render", "other", "--stdout"]).stdout;
    assert!(bottle.contains("started: 2026-11-30 12:00 +02:00"), "{bottle}");
    assert_eq!(sandbox.run(&["render", "0b9f"]).status, 1);
}

#[test]
fn lost_words_go_to_the_archive() {
    let sandbox = with_tiny();
    assert_eq!(sandbox.run(&["render", "0b9f"]).status, 0);
    let first = fs::read_to_string(sandbox.path(".endless/bottles/0b9f2c1e.md")).unwrap();
    let rest = tiny().text();
    let rest = rest.split_once('\n').unwrap().1;
    sandbox.transcript("-w/0b9f2c1e", rest, 0);
    assert_snapshot!(sandbox.show(&["render", "0b9f"]), @"
    exit 0
    --- out
    ~/.endless/bottles/0b9f2c1e.md
    --- err
    note: the old bottle had messages that the transcript has lost; it is now ~/.endless/bottles/archive/…-0b9f2c1e.md
    ");
    let files = sandbox.files(".endless/bottles");
    assert_eq!(files.len(), 2);
    let (bottle, (archived, text)) = (files[0].clone(), &files[1]);
    assert_eq!(*text, first);
    let name = archived.file_name().unwrap().to_str().unwrap();
    assert!(
        bottle.1.contains(&format!(" · earlier: archive/{name} (3 messages)\n")),
        "{}",
        bottle.1
    );
    assert_snapshot!(sandbox.show(&["render", "0b9f"]), @"
    exit 0
    --- out
    ~/.endless/bottles/0b9f2c1e.md
    ");
    assert_eq!(sandbox.files(".endless/bottles"), files);
}

#[test]
fn a_bottle_that_cannot_be_written_stays_as_it_was() {
    let sandbox = with_tiny();
    assert_eq!(sandbox.run(&["render", "0b9f"]).status, 0);
    let before = sandbox.files(".endless");
    sandbox.transcript("-w/0b9f2c1e", &tiny().user("more").text(), 0);
    let full = sandbox.shell("trap '' XFSZ; ulimit -f 0; exec $endless render 0b9f");
    assert_snapshot!(full.show(), @"
    exit 1
    --- err
    error: can't write ~/.endless/bottles/0b9f2c1e.md; what was there is unchanged: File too large (os error 27)
    ");
    assert_eq!(sandbox.files(".endless"), before);

    let bottles = sandbox.path(".endless/bottles");
    fs::set_permissions(&bottles, fs::Permissions::from_mode(0o500)).unwrap();
    if fs::write(bottles.join("x"), "").is_err() {
        let ran = sandbox.run(&["render", "0b9f"]);
        assert!(ran.status == 1 && ran.stderr.contains("Permission denied"), "{}", ran.stderr);
    } else {
        // Root writes everywhere.
        fs::remove_file(bottles.join("x")).unwrap();
    }
    fs::set_permissions(&bottles, fs::Permissions::from_mode(0o777)).unwrap();
    assert_snapshot!(sandbox.show(&["render", "0b9f"]), @"
    exit 1
    --- err
    error: others can write to ~/.endless/bottles; run `chmod 700 ~/.endless/bottles`
    ");
    fs::set_permissions(&bottles, fs::Permissions::from_mode(0o700)).unwrap();
    assert_eq!(sandbox.files(".endless"), before);
    assert_eq!(sandbox.run(&["render", "0b9f"]).status, 0);
}

#[test]
fn a_reader_that_leaves_is_no_error() {
    let sandbox = with_tiny();
    let mut child = sandbox
        .command()
        .args(["render", "0b9f", "--stdout"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!((output.status.code(), output.stderr), (Some(0), Vec::new()));
    let full =
        sandbox.shell("if [ -e /dev/full ]; then $endless list > /dev/full; else exit 1; fi");
    assert_eq!(full.status, 1);
}

#[test]
fn help_completions_and_pages_are_there() {
    let sandbox = Sandbox::new();
    for arguments in [&["--help"][..], &["render", "-h"], &["help", "expand"], &["list", "--help"]]
    {
        let ran = sandbox.run(arguments);
        assert!(ran.status == 0 && ran.stdout.contains("Examples:"), "{arguments:?}");
    }
    assert_snapshot!(sandbox.show(&["-V"]), @"
    exit 0
    --- out
    endless 0.1.0
    ");
    for shell in ["bash", "zsh", "fish"] {
        assert!(sandbox.run(&["completions", shell]).stdout.contains("expand"));
    }
    assert!(sandbox.run(&["man"]).stdout.contains(".TH endless"));
    assert_eq!(sandbox.run(&["man", "--dir", "pages"]).status, 0);
    assert!(sandbox.path("pages/endless-render.1").exists());
}
