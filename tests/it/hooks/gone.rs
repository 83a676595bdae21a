//! Transcripts that are pruned, rewritten, or deleted between an event and the next.
use std::fs;

use serde_json::json;

use super::{Talk, call, log, settled};
use crate::harness::{Service, is_gone, until};

/// A session that the database of claude-mem knows.
const CLAUDE_MEM_ID: &str = "11111111-aaaa-4aaa-8aaa-000000000001";

fn with_claude_mem(service: &Service) {
    let fixture =
        concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures/claude-mem/store-13.25.3/claude-mem.db");
    let database = service.sandbox.path(".claude-mem/claude-mem.db");
    fs::create_dir_all(database.parent().unwrap()).unwrap();
    fs::copy(fixture, database).unwrap();
}

fn with_sealed(up: bool) -> (Service, Talk) {
    let mut service = Service::up();
    let talk = Talk::with_turns(&service, "aa", 6);
    settled(&service, &talk);
    assert!(call(&service, &talk.compacting()).is_silent());
    if !up {
        service.kill();
    }
    (service, talk)
}

#[test]
fn a_transcript_that_was_pruned_or_rewritten_after_the_seal() {
    for up in [true, false] {
        for how in ["pruned in place", "rewritten in place", "replaced"] {
            let (service, talk) = with_sealed(up);
            let text = fs::read_to_string(&talk.transcript.path).unwrap();
            let lines: Vec<&str> = text.lines().collect();
            let tail = format!("{}\n", lines[lines.len() - 4..].join("\n"));
            match how {
                "pruned in place" => {
                    let half: String = lines[..4].iter().map(|line| format!("{line}\n")).collect();
                    talk.transcript.truncate(half.len());
                }
                "rewritten in place" => talk.transcript.rewrite(&tail),
                _ => talk.transcript.replace(&tail),
            }
            let pointer = call(&service, &talk.compacted()).pointer();
            let copy = pointer.unwrap_or_else(|| panic!("{up} {how} {}", log(&service))).copy();
            // It is what is there; what is not any more lies in the archive, and it says so.
            let answer = if how == "pruned in place" { "answer 1 of aa" } else { "answer 5 of aa" };
            assert!(copy.contains(answer) && !copy.contains("answer 3 of aa"), "{how} {copy}");
            assert!(copy.contains("earlier: archive/"), "{how} {copy}");
            let archive = service.archive();
            assert_eq!(archive.len(), 1, "{up} {how}");
            assert!((0..6).all(|turn| archive[0].contains(&format!("answer {turn} of aa"))));
        }
    }
}

#[test]
fn a_transcript_that_was_deleted_after_the_seal() {
    for up in [true, false] {
        let (service, talk) = with_sealed(up);
        talk.transcript.delete();
        let pointer = call(&service, &talk.compacted()).pointer();
        let pointer = pointer.unwrap_or_else(|| panic!("{up} {}", log(&service)));
        assert!(pointer.text.contains("Transcript gone"), "{}", pointer.text);
        assert!(pointer.copy().contains("answer 5 of aa"));
    }
}

/// Without a single message a transcript is as good as none: the bottle has more, and stays.
#[test]
fn a_transcript_that_was_emptied_after_the_seal() {
    for up in [true, false] {
        let (service, talk) = with_sealed(up);
        let bottle = service.bottle("aa").unwrap();
        talk.transcript.rewrite("{\"type\":\"mode\",\"mode\":\"normal\"}\n");
        let pointer = call(&service, &talk.compacted()).pointer();
        let pointer = pointer.unwrap_or_else(|| panic!("{up} {}", log(&service)));
        assert!(pointer.text.contains("Transcript gone"), "{}", pointer.text);
        assert_eq!(pointer.copy(), bottle);
        for arguments in [&["pointer", "aa"][..], &["render", "aa"]] {
            let output = service.command().args(arguments).output().unwrap();
            let said = String::from_utf8([output.stdout, output.stderr].concat()).unwrap();
            assert!(said.to_lowercase().contains("transcript gone"), "{said}");
        }
        assert_eq!((service.bottle("aa").unwrap(), service.archive().len()), (bottle, 0));
    }
}

#[test]
fn a_session_that_is_resumed_without_its_transcript() {
    for up in [true, false] {
        let (service, talk) = with_sealed(up);
        talk.transcript.delete();
        if up {
            until("the service knows", || {
                service.status(&["aa"]).1["sessions"][0]["source"] == "gone"
            });
        }
        let pointer = call(&service, &talk.resumed()).pointer().unwrap();
        assert!(pointer.text.contains("Transcript gone"), "{}", pointer.text);
        assert!(pointer.copy().contains("answer 0 of aa"));
        // Nothing is printed at a prompt.
        assert!(call(&service, &talk.prompted("go on")).is_silent());
    }
}

#[test]
fn a_session_of_which_only_claude_mem_knows() {
    for up in [true, false] {
        let mut service = Service::up();
        with_claude_mem(&service);
        if !up {
            service.kill();
        }
        let talk = Talk::new(&service, CLAUDE_MEM_ID);
        assert!(call(&service, &talk.prompted("begin")).is_silent());
        let pointer = call(&service, &talk.resumed()).pointer();
        let pointer = pointer.unwrap_or_else(|| panic!("{up} {}", log(&service)));
        assert!(pointer.text.contains("mode: reconstructed"), "{}", pointer.text);
        assert!(pointer.copy().contains("- [#3] Retry loop no longer retries POST"));
    }
}

/// What was cleared or forgotten does not come back from claude-mem when the transcript goes.
#[test]
fn a_session_that_was_left_behind_and_of_which_claude_mem_knows() {
    for (up, forgotten) in [(true, false), (false, false), (true, true), (false, true)] {
        let mut service = Service::up();
        let talk = Talk::with_turns(&service, CLAUDE_MEM_ID, 2);
        settled(&service, &talk);
        with_claude_mem(&service);
        if !up {
            service.kill();
        }
        if forgotten {
            let forget = ["forget", CLAUDE_MEM_ID, "--yes"];
            assert!(service.command().args(forget).output().unwrap().status.success());
        } else {
            let cleared = talk.event("SessionEnd", &json!({"reason": "clear"}));
            assert!(call(&service, &cleared).is_silent());
        }
        until("the bottle is gone", || is_gone(&service.bottle_path(CLAUDE_MEM_ID)));
        for emptied in [true, false] {
            match emptied {
                true => talk.transcript.rewrite("{\"type\":\"mode\",\"mode\":\"normal\"}\n"),
                false => talk.transcript.delete(),
            }
            for payload in [talk.resumed(), talk.compacted()] {
                let answer = call(&service, &payload);
                assert!(answer.is_silent(), "{up} {forgotten} {emptied} {answer:?}");
            }
        }
        assert!(service.bottle(CLAUDE_MEM_ID).is_none());
    }
}

#[test]
fn a_session_of_which_nothing_is_there() {
    for up in [true, false] {
        let mut service = Service::up();
        if !up {
            service.kill();
        }
        let talk = Talk::new(&service, "aa");
        for payload in [talk.compacting(), talk.compacted(), talk.resumed(), talk.prompted("begin")]
        {
            let answer = call(&service, &payload);
            assert!(answer.is_silent(), "{answer:?}");
        }
        assert!(service.bottle("aa").is_none());
    }
}
