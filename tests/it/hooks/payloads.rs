//! Whatever stands on stdin: status 0, nothing or one JSON object, and a bounded time.
use std::{
    io::Write,
    process::{Command, Stdio},
    time::Duration,
};

use serde_json::{Value, json};

use super::{Answer, Hook, Talk, call, everything, log};
use crate::harness::Service;

fn given(service: &Service, payload: &[u8]) -> Answer {
    Hook::waiting(service).given(payload).answer()
}

/// A home with one session, with or without a service.
fn home(up: bool) -> (Service, Talk) {
    let mut service = Service::up();
    let talk = Talk::with_turns(&service, "aa", 2);
    service.sync();
    service.current("aa");
    if !up {
        service.kill();
    }
    (service, talk)
}

/// Nothing but the state folder changes while this is done.
fn touching_nothing_else(service: &Service, work: impl FnOnce()) {
    let home = service.sandbox.path("");
    let before = everything(&home, &service.state(""));
    work();
    let log = service.sandbox.path("service.log");
    let others = |mut all: Vec<(std::path::PathBuf, u64, Vec<u8>)>| {
        all.retain(|(path, ..)| *path != log);
        all
    };
    assert!(others(before) == others(everything(&home, &service.state(""))));
}

#[test]
fn fields_that_are_missing_null_more_or_of_another_type() {
    let odd = [
        json!(null),
        json!(true),
        json!(-1),
        json!(1.5e300),
        json!([]),
        json!({}),
        json!(""),
        json!("x"),
        json!(["a", {"b": null}]),
        json!({"file_path": 7}),
        json!("\u{0}\u{1b}[2J"),
    ];
    for up in [true, false] {
        let (service, talk) = home(up);
        let more = json!({
            "source": "compact", "trigger": "auto", "prompt": "words", "prompt_id": "p",
            "reason": "other", "tool_name": "Read", "tool_input": {"file_path": "/x"},
            "last_assistant_message": "answer 1 of aa",
        });
        let names = ["SessionStart", "UserPromptSubmit", "PreCompact", "PermissionRequest", "Stop"];
        touching_nothing_else(&service, || {
            for (number, name) in names.into_iter().enumerate() {
                let whole = talk.event(name, &more);
                let keys: Vec<String> = whole.as_object().unwrap().keys().cloned().collect();
                for (index, key) in keys.iter().enumerate() {
                    let mut payload = whole.clone();
                    if (index + number) % 4 == 0 {
                        payload.as_object_mut().unwrap().remove(key);
                    } else {
                        payload[key] = odd[(index * 7 + number * 3) % odd.len()].clone();
                    }
                    payload["a field of tomorrow"] = json!({"deep": [[[1]]]});
                    given(&service, payload.to_string().as_bytes());
                }
            }
        });
        assert_eq!(service.archive().len(), 0);
    }
}

#[test]
fn what_is_no_payload_is_ignored() {
    let deep = "[".repeat(200_000);
    let deep_object = format!("{}1{}", "{\"a\":".repeat(50_000), "}".repeat(50_000));
    let nested = format!(
        "{{\"session_id\":\"aa\",\"hook_event_name\":\"Stop\",\"tool_input\":{deep_object}}}"
    );
    let (service, _) = home(true);
    touching_nothing_else(&service, || {
        for payload in [
            &b""[..],
            b" ",
            b"{",
            b"}",
            b"null",
            b"[]",
            b"7",
            b"\"x\"",
            b"{\"session_id\":",
            b"\xff\xfe",
            b"\0\0\0",
            b"{}",
            b"{\"session_id\":\"aa\"}",
            b"{\"session_id\":\"aa\"}{\"session_id\":\"bb\"}",
            b"not json at all\n",
            b"\xef\xbb\xbf{\"session_id\":\"aa\"}",
            b"{\"session_id\":\"\xff\"}",
            deep.as_bytes(),
            deep_object.as_bytes(),
            nested.as_bytes(),
        ] {
            assert!(given(&service, payload).is_silent());
        }
    });
}

#[test]
fn ids_that_are_no_names_of_files() {
    for up in [true, false] {
        let (service, talk) = home(up);
        let long = "x".repeat(5_000);
        touching_nothing_else(&service, || {
            for id in
                ["../../x", "", "a/b", "..", ".", "a\nb", "a\u{0}b", "/etc/passwd", "é", &long]
            {
                for mut payload in [talk.compacting(), talk.compacted(), talk.prompted("x")] {
                    payload["session_id"] = json!(id);
                    assert!(call(&service, &payload).is_silent(), "{id}");
                }
            }
        });
        assert_eq!(service.sandbox.files("state/bottles").len(), 1);
    }
}

#[test]
fn a_payload_of_100_mb_is_refused() {
    let (service, talk) = home(true);
    let payload = talk.prompted(&"x".repeat(100 << 20)).to_string();
    assert!(given(&service, payload.as_bytes()).is_silent());
    assert!(log(&service).contains("too long"), "{}", log(&service));
    assert!(given(&service, &vec![b'['; 100 << 20]).is_silent());
    // A long prompt is none of these.
    let long = call(&service, &talk.prompted(&"words ".repeat(1 << 20)));
    assert!(long.is_silent());
}

#[test]
fn a_stdin_that_is_never_closed() {
    for up in [true, false] {
        let (service, talk) = home(up);
        let whole = talk.compacted().to_string();
        let hook = Hook::waiting(&service).given_and_left_open(whole.as_bytes());
        assert!(hook.answer().pointer().is_some());
        for part in [&b""[..], b"{\"session_id\":\"aa\",", b"    "] {
            let answer = Hook::waiting(&service).given_and_left_open(part).answer();
            assert!(answer.is_silent() && answer.took < Duration::from_secs(3), "{answer:?}");
        }
    }
}

#[test]
fn a_payload_that_comes_in_parts() {
    let (service, talk) = home(true);
    let payload = talk.compacted().to_string();
    let mut hook = Hook::waiting(&service);
    for part in payload.as_bytes().chunks(7) {
        hook = hook.given_and_left_open(part);
    }
    assert!(hook.answer().pointer().is_some());
}

#[test]
fn streams_that_are_closed_or_odd() {
    let (service, talk) = home(true);
    let payload = service.sandbox.path("payload");
    std::fs::write(&payload, talk.compacted().to_string()).unwrap();
    let program = env!("CARGO_BIN_EXE_endless");
    for redirected in [
        "<&-",
        "</dev/null",
        "</",
        "<payload >&-",
        "<payload 2>&-",
        "<payload >/dev/full",
        "<&- >&- 2>&-",
        "<payload | true",
    ] {
        let mut shell = Command::new("/bin/sh");
        service.clear(&mut shell);
        let script = format!("set -e; {program} hook claude-code {redirected}");
        let output = shell.args(["-c", &script]).stdin(Stdio::null()).output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{redirected} {output:?}");
        assert!(output.stderr.is_empty(), "{redirected} {output:?}");
    }
    // A host that has gone.
    let mut hook = Hook::waiting(&service);
    drop(hook.child.stdout.take());
    hook.child.stdin.take().unwrap().write_all(talk.compacted().to_string().as_bytes()).unwrap();
    assert_eq!(hook.child.wait().unwrap().code(), Some(0));
}

#[test]
fn paths_in_a_payload_are_hints_and_never_opened_elsewhere() {
    let (service, talk) = home(true);
    let fifo = service.sandbox.path(".claude/projects/-w/pipe.jsonl");
    assert!(Command::new("mkfifo").arg(&fifo).status().unwrap().success());
    for path in [
        json!(fifo),
        json!("/dev/zero"),
        json!("/dev/tty"),
        json!("/"),
        json!(""),
        json!("../../x"),
        json!("/proc/self/mem"),
        json!("x".repeat(70_000)),
        json!(null),
        json!(service.sandbox.path(".claude/projects/-w")),
    ] {
        for mut payload in [talk.compacting(), talk.prompted("x"), talk.resumed()] {
            payload["transcript_path"] = path.clone();
            assert!(call(&service, &payload).is_silent(), "{path}");
            payload["session_id"] = json!("pipe");
            assert!(call(&service, &payload).is_silent(), "{path}");
        }
    }
    let mut compacted = talk.compacted();
    compacted["transcript_path"] = json!("/dev/zero");
    assert!(call(&service, &compacted).pointer().is_some());
}

#[test]
fn lone_surrogates_cost_nothing() {
    for up in [true, false] {
        let (service, talk) = home(up);
        // A host that cuts a text in the middle of an emoji writes half of it as an escape.
        let half = |payload: &Value| payload.to_string().replace("HALF", "\\ud83d");
        let mut compacted = talk.compacted();
        compacted["session_title"] = json!("a title HALF");
        let answer = given(&service, half(&compacted).as_bytes());
        assert!(answer.pointer().is_some(), "{up} {}", log(&service));
        let mut compacting = talk.compacting();
        compacting["custom_instructions"] = json!("HALF");
        assert!(given(&service, half(&compacting).as_bytes()).is_silent());
        given(&service, half(&talk.prompted("words HALF")).as_bytes());
        let ended = talk.event("Stop", &json!({"last_assistant_message": "HALF"}));
        given(&service, half(&ended).as_bytes());
        assert_eq!(log(&service), "", "{up}");
    }
}
