//! `endless seal` and `endless log`, with a service and without one.
use std::fs;

use insta::assert_snapshot;
use serde_json::{Value, json};

use crate::harness::{Rows, Sandbox, Service, said, until};

/// What a hook of this session prints for an event.
fn hook(sandbox: &Sandbox, fields: &str) -> Value {
    let payload = format!(r#"{{"session_id":"aa",{fields}}}"#);
    let ran = sandbox.shell(&format!("printf '%s' '{payload}' | $endless hook claude-code"));
    assert_eq!((ran.status, ran.stderr.as_str()), (0, ""));
    if ran.stdout.is_empty() { Value::Null } else { serde_json::from_str(&ran.stdout).unwrap() }
}

/// A log without its times.
fn timeless(text: &str) -> String {
    let shown = text.split_inclusive('\n').map(|line| match line.strip_prefix("  20") {
        Some(rest) => format!("  {}", &rest["yy-mm-dd hh:mm:ss".len()..]),
        None => line.to_owned(),
    });
    let shown: String = shown.collect();
    let mut words: Vec<String> = shown.split(' ').map(str::to_owned).collect();
    for at in 1..words.len() {
        if words[at].starts_with("ms") {
            words[at - 1] = "…".to_owned();
        }
    }
    words.join(" ")
}

#[test]
fn without_a_service_a_seal_is_one_read_and_is_recorded() {
    let sandbox = Sandbox::new();
    assert_snapshot!(sandbox.show(&["log"]), @"
    exit 0
    --- err
    note: nothing was sealed or printed yet; `endless doctor` tells whether the hooks are installed
    ");
    let rows = Rows::new().user("Do it.").call("c", "Bash", json!({"command": "make"}));
    sandbox.transcript("-w/aa", &rows.text(), 0);
    assert_snapshot!(sandbox.show(&["seal", "a"]), @"
    exit 0
    --- out
    ~/.endless/bottles/aa.md
    --- err
    note: the transcript lacks something: a tool call still runs, or a prompt that was announced is not written yet
    note: 1 tool call is not covered yet
    ");
    sandbox.transcript("-w/aa", &rows.result("c", "ok").agent("Done.").text(), 0);
    let sealed: Value =
        serde_json::from_str(&sandbox.run(&["seal", "aa", "--json"]).stdout).unwrap();
    assert_eq!(
        (&sealed["sealed"], &sealed["gap"], &sealed["held"]),
        (&json!(true), &json!(0), &json!(true))
    );
    assert_snapshot!(timeless(&sandbox.run(&["log"]).stdout), @"
    aa
        sealed (command), gap 1, … ms, not all that was announced had come · full (transcript only)
        sealed (command), gap 0, … ms · full (transcript only)
    ");
    let log: Value = serde_json::from_str(&sandbox.run(&["log", "a", "--json"]).stdout).unwrap();
    assert_eq!(log[0]["seals"].as_array().unwrap().len(), 2);
    for (arguments, expected) in
        [(&["seal", "zz"][..], 1), (&["seal", "aa", "--timeout", "2m"], 2), (&["log", "zz"], 1)]
    {
        assert_eq!(sandbox.run(arguments).status, expected, "{arguments:?}");
    }
    sandbox.transcript("-w/empty", "", 0);
    assert_snapshot!(sandbox.show(&["seal", "empty"]), @"
    exit 1
    --- err
    error: there is nothing to seal: no message yet, or the session is kept out, or was cleared
    ");
}

#[test]
fn what_a_session_was_handed_is_shown_until_it_is_forgotten() {
    let service = Service::up();
    let transcript = service.transcript("-w", "aa");
    transcript.append(&said("aa", 0..2));
    service.sync();
    let sandbox = &service.sandbox;
    let run = |arguments: &[&str]| {
        let output = service.command().args(arguments).output().unwrap();
        String::from_utf8(output.stdout).unwrap()
    };
    let sealed: Value = serde_json::from_str(&run(&["seal", "aa", "--json"])).unwrap();
    assert_eq!((&sealed["sealed"], &sealed["held"]), (&json!(true), &json!(true)));
    let state = service.state("");
    let hook = |fields: &str| {
        let payload = format!(r#"{{"session_id":"aa",{fields}}}"#);
        let script = format!(
            "printf '%s' '{payload}' | ENDLESS_HOME='{}' $endless hook claude-code",
            state.display()
        );
        sandbox.shell(&script).stdout
    };
    let printed = hook(r#""hook_event_name":"SessionStart","source":"compact""#);
    let printed: Value = serde_json::from_str(&printed).unwrap();
    let pointer = printed["hookSpecificOutput"]["additionalContext"].as_str().unwrap().to_owned();
    assert!(pointer.starts_with("<endless-pointer session=\"aa\" n=\"1\">"), "{pointer}");
    let proof = || {
        let (_, status) = service.status(&["aa"]);
        status["deliveries"][0]["deliveries"][0].clone()
    };
    assert_eq!(proof()["arrived"], Value::Null);
    // The host writes the boundary and what the hook gave; the agent reads the copy.
    let copy = service.state("bottles/aa@1.md");
    let boundary = json!({"type": "system", "subtype": "compact_boundary", "uuid": "b",
        "timestamp": "2099-01-01T00:00:00Z", "sessionId": "aa"});
    let attachment = json!({"type": "attachment", "uuid": "c", "sessionId": "aa", "attachment":
        {"type": "hook_additional_context", "content": [pointer]}});
    let read = json!({"type": "assistant", "uuid": "d", "sessionId": "aa", "message": {"id": "m9",
        "content": [{"type": "tool_use", "id": "r", "name": "Read",
            "input": {"file_path": copy, "offset": 1, "limit": 5}}]}});
    let result = json!({"type": "user", "uuid": "e", "sessionId": "aa", "message": {"content":
        [{"type": "tool_result", "tool_use_id": "r", "content": "1\t# Session bottle"}]}});
    for row in [boundary, attachment, read, result] {
        transcript.append(&format!("{row}\n"));
    }
    until("its reading is noted", || proof()["reads"] == "1-5");
    assert!(proof()["arrived"].is_i64() && proof()["boundary"].is_string());
    let log = timeless(&run(&["log", "aa"]));
    assert!(log.contains("    sealed (command), gap 0, … ms · full (transcript only)\n"), "{log}");
    assert!(log.contains("    printed #1 (compact): lines 1-"), "{log}");
    assert!(log.trim_end().ends_with(", read 1-5"), "{log}");
    assert!(fs::metadata(&copy).is_ok());
    run(&["forget", "aa", "--yes"]);
    assert_eq!(run(&["log", "--json"]).trim(), "[]");
    assert!(fs::metadata(&copy).is_err());
}

#[test]
fn a_pointer_is_due_once_where_the_host_skipped_its_hook() {
    let sandbox = Sandbox::new();
    sandbox.transcript("-w/aa", &Rows::new().user("Do it.").agent("Done.").text(), 0);
    // Endless is installed now; the compaction comes later.
    assert_eq!(hook(&sandbox, r#""hook_event_name":"Stop""#), Value::Null);
    assert_eq!(sandbox.run(&["seal", "aa"]).status, 0);
    let boundary = json!({"type": "system", "subtype": "compact_boundary", "uuid": "b",
        "timestamp": "2099-01-01T00:00:00Z", "sessionId": "aa"});
    let text = Rows::new().user("Do it.").agent("Done.").text();
    sandbox.transcript("-w/aa", &format!("{text}{boundary}\n"), 0);
    let prompt = r#""hook_event_name":"UserPromptSubmit","prompt":"go on","prompt_id":"p""#;
    let printed = hook(&sandbox, prompt);
    assert_eq!(printed["hookSpecificOutput"]["hookEventName"], "UserPromptSubmit");
    assert_eq!(hook(&sandbox, prompt), Value::Null);
}
