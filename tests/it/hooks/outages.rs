//! The service is down, starts again, or hangs: hooks go on by themselves.
use std::time::Duration;

use rustix::process::Signal;
use serde_json::json;

use super::{Talk, call, log, prints, settled};
use crate::harness::{Service, until};

#[test]
fn a_seal_without_the_service_is_silent_and_the_session_start_renders() {
    let service = Service::down();
    let talk = Talk::with_turns(&service, "aa", 3);
    let answer = call(&service, &talk.compacting());
    assert!(answer.is_silent() && answer.took < Duration::from_secs(1), "{answer:?}");
    assert!(service.bottle("aa").is_none());
    let pointer = call(&service, &talk.compacted()).pointer().unwrap();
    assert_eq!(pointer.n, 1);
    assert!(pointer.copy().contains("answer 2 of aa"));
    assert_eq!(log(&service), "", "that no service runs is no trouble");
}

#[test]
fn a_service_that_hangs_is_done_without_and_one_print_is_recorded() {
    let service = Service::up();
    let talk = Talk::with_turns(&service, "aa", 3);
    settled(&service, &talk);
    service.signal(Signal::STOP);
    let sealing = call(&service, &talk.compacting());
    assert!(sealing.is_silent() && sealing.took < Duration::from_secs(4), "{sealing:?}");
    let answer = call(&service, &talk.compacted());
    let pointer = answer.pointer().unwrap_or_else(|| panic!("{}", log(&service)));
    assert!(answer.took < Duration::from_secs(2), "{:?}", answer.took);
    let copy = pointer.copy();
    for quick in ["Stop", "PostCompact", "SessionEnd"] {
        let answer = call(&service, &talk.event(quick, &json!({"reason": "other"})));
        assert!(answer.is_silent() && answer.took < Duration::from_secs(1), "{answer:?}");
    }
    service.signal(Signal::CONT);
    talk.write(&talk.boundary());
    talk.write(&talk.arrival("SessionStart", &pointer.text));
    talk.turn(9);
    settled(&service, &talk);
    let all = prints(&service, "aa");
    assert_eq!(all.len(), 1, "{all:?}");
    assert_eq!(pointer.copy(), copy);
    until("the print is bound", || prints(&service, "aa")[0].1.is_some());
    assert!(call(&service, &talk.prompted("go on")).is_silent());
}

#[test]
fn all_goes_on_without_a_service() {
    let service = Service::down();
    let talk = Talk::with_turns(&service, "aa", 3);
    for n in 1..=3 {
        call(&service, &talk.prompted("go on"));
        talk.turn(10 + n as usize);
        assert!(call(&service, &talk.event("Stop", &json!({}))).is_silent());
        assert!(call(&service, &talk.compacting()).is_silent());
        let pointer = call(&service, &talk.compacted()).pointer().unwrap();
        assert_eq!(pointer.n, n);
        assert!(pointer.copy().contains(&format!("answer {} of aa", 10 + n)));
        talk.write(&talk.boundary());
        talk.write(&talk.arrival("SessionStart", &pointer.text));
        assert!(call(&service, &talk.event("PostCompact", &json!({}))).is_silent());
    }
    assert_eq!(log(&service), "");
}

#[test]
fn a_root_that_only_the_hook_knows_is_looked_at() {
    let service = Service::up();
    let talk = Talk::new(&service, "aa");
    // The host runs with a folder of its own, of which the service was not told.
    let path = service.sandbox.path("other/projects/-w/aa.jsonl");
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(&path, talk.user("hello") + &talk.agent("I am elsewhere.")).unwrap();
    let mut payload = talk.compacted();
    payload["transcript_path"] = json!(path);
    let mut command = service.command();
    command.env("CLAUDE_CONFIG_DIR", service.sandbox.path("other")).args(["hook", "claude-code"]);
    let answer = super::Hook::start(&mut command).given(payload.to_string().as_bytes()).answer();
    let pointer = answer.pointer().unwrap_or_else(|| panic!("{}", log(&service)));
    assert!(pointer.copy().contains("I am elsewhere."));
}

#[test]
fn the_service_is_started_again_between_the_seal_and_the_session_start() {
    for (folder, listed) in [("-w", false), ("-elsewhere", false), ("-w", true)] {
        let mut service = Service::up();
        let talk = Talk::with_turns(&service, "aa", 3);
        settled(&service, &talk);
        assert!(call(&service, &talk.compacting()).is_silent());
        talk.write(&talk.agent("said while nobody listened"));
        service.kill();
        // So many that looking at all of them takes a while.
        for number in 0..300 {
            service.transcript(&format!("-p{}", number % 20), &format!("o{number}")).append("{}\n");
        }
        service.start();
        if listed {
            service.sync();
        }
        let mut payload = talk.compacted();
        // A host names another folder where a session is resumed from there.
        let path = service.transcript(folder, "aa").path;
        payload["transcript_path"] = json!(path);
        let pointer = call(&service, &payload).pointer();
        let pointer = pointer.unwrap_or_else(|| panic!("{folder} {listed} {}", log(&service)));
        assert!(!pointer.text.contains("Transcript gone"), "{folder} {}", pointer.text);
        assert!(pointer.copy().contains("said while nobody listened"));
        assert_eq!(prints(&service, "aa").len(), 1);
    }
}

#[test]
fn a_pointer_is_due_right_after_the_service_was_started() {
    let mut service = Service::up();
    let talk = Talk::with_turns(&service, "aa", 3);
    settled(&service, &talk);
    service.kill();
    talk.missed_compaction();
    service.start();
    let mut payload = talk.prompted("go on");
    payload["transcript_path"] = json!(service.transcript("-elsewhere", "aa").path);
    assert!(call(&service, &payload).pointer().is_some(), "{}", log(&service));
}

#[test]
fn a_session_too_large_for_the_time_gets_its_pointer_later_and_once() {
    let service = Service::up();
    let talk = Talk::with_turns(&service, "aa", 2);
    settled(&service, &talk);
    let words = "many words ".repeat(20_000);
    let large: String = (0..60).map(|_| talk.agent(&words)).collect();
    talk.write(&large);
    let mut printed = usize::from(call(&service, &talk.compacted()).pointer().is_some());
    talk.write(&talk.boundary());
    until("the pointer comes", || {
        if printed == 0 && !prints(&service, "aa").is_empty() {
            // The machine is so busy that a print was claimed in time, and answered too late.
            talk.write(&talk.agent("I go on without knowing."));
        }
        printed += usize::from(call(&service, &talk.prompted("go on")).pointer().is_some());
        printed > 0
    });
    assert_eq!(printed, 1, "{}", log(&service));
    assert!(prints(&service, "aa").len() <= 2, "{}", log(&service));
}

#[test]
fn a_large_session_without_a_compaction_is_not_parsed_to_find_nothing_due() {
    let service = Service::down();
    let talk = Talk::with_turns(&service, "aa", 2);
    let words = "many words ".repeat(20_000);
    talk.write(&(0..150).map(|_| talk.agent(&words)).collect::<String>());
    for payload in [talk.prompted("go on"), talk.resumed()] {
        assert!(call(&service, &payload).is_silent());
    }
    assert_eq!(log(&service), "");
}
