//! `/clear` means forget: the bottle goes to the archive, nothing is injected, and it is not
//! rendered again before there are new words.
use serde_json::json;

use super::{Talk, call, log, settled};
use crate::harness::{Service, is_gone, until};

fn clear(service: &Service, old: &Talk, new: &Talk) {
    let ended = old.event("SessionEnd", &json!({"reason": "clear"}));
    let started = new.event("SessionStart", &json!({"source": "clear"}));
    for payload in [ended, started] {
        let answer = call(service, &payload);
        assert!(answer.is_silent(), "{answer:?}");
    }
}

fn is_archived(service: &Service, id: &str, times: usize) {
    until("the bottle is archived", || is_gone(&service.bottle_path(id)));
    let archive = service.archive();
    assert_eq!(archive.len(), times, "{archive:#?}");
    assert!(archive.iter().all(|bottle| bottle.contains("answer 1 of aa")));
}

#[test]
fn a_session_is_cleared_right_after_the_service_was_started() {
    let mut service = Service::up();
    let (old, new) = (Talk::with_turns(&service, "aa", 3), Talk::new(&service, "bb"));
    settled(&service, &old);
    service.kill();
    service.start();
    clear(&service, &old, &new);
    is_archived(&service, "aa", 1);
    service.sync();
    is_archived(&service, "aa", 1);
}

#[test]
fn a_cleared_session_is_archived_and_not_rendered_again() {
    for up in [true, false] {
        let mut service = Service::up();
        let (old, new) = (Talk::with_turns(&service, "aa", 3), Talk::new(&service, "bb"));
        settled(&service, &old);
        let printed = call(&service, &old.compacted()).pointer().unwrap();
        old.write(&old.boundary());
        if up {
            settled(&service, &old);
        } else {
            service.kill();
        }
        clear(&service, &old, &new);
        is_archived(&service, "aa", 1);
        assert!(is_gone(&printed.path), "copies go along");
        // What still comes of the old session changes nothing, nor do rows that say nothing.
        old.write("{\"type\":\"last-prompt\",\"sessionId\":\"aa\"}\n");
        for event in ["Stop", "PostCompact", "SessionEnd", "PreCompact"] {
            let more = json!({"last_assistant_message": "answer 2 of aa", "reason": "other"});
            assert!(call(&service, &old.event(event, &more)).is_silent());
        }
        assert!(call(&service, &new.prompted("begin anew")).is_silent());
        if !up {
            service.start();
        }
        new.turn(0);
        settled(&service, &new);
        is_archived(&service, "aa", 1);
        service.kill();
        service.start();
        service.sync();
        is_archived(&service, "aa", 1);
        // New words.
        old.turn(9);
        assert!(settled(&service, &old).contains("answer 9 of aa"));
        assert_eq!(service.archive().len(), 1);
    }
}

#[test]
fn a_session_is_cleared_whose_bottle_lacks_its_last_words() {
    let mut service = Service::up();
    let (old, new) = (Talk::with_turns(&service, "aa", 3), Talk::new(&service, "bb"));
    settled(&service, &old);
    service.kill();
    old.turn(3);
    clear(&service, &old, &new);
    is_archived(&service, "aa", 1);
    service.start();
    service.sync();
    is_archived(&service, "aa", 1);
}

#[test]
fn a_session_is_cleared_that_has_no_bottle_yet() {
    for up in [true, false] {
        let mut service = Service::up();
        if !up {
            service.kill();
        }
        let (old, new) = (Talk::with_turns(&service, "aa", 3), Talk::new(&service, "bb"));
        clear(&service, &old, &new);
        if !up {
            service.start();
        }
        new.turn(0);
        settled(&service, &new);
        until("the old session has no bottle", || is_gone(&service.bottle_path("aa")));
        service.kill();
        service.start();
        service.sync();
        assert!(is_gone(&service.bottle_path("aa")), "up: {up}, {}", log(&service));
    }
}

#[test]
fn an_event_that_was_under_way_does_not_bring_a_cleared_bottle_back() {
    let service = Service::up();
    let (old, new) = (Talk::with_turns(&service, "aa", 3), Talk::new(&service, "bb"));
    settled(&service, &old);
    // It waits for words that are not written.
    let late = json!({"last_assistant_message": "words that never come"});
    assert!(call(&service, &old.event("Stop", &late)).is_silent());
    clear(&service, &old, &new);
    is_archived(&service, "aa", 1);
    let wait = json!({"seal": {"session": "bb"}});
    new.turn(0);
    settled(&service, &new);
    for _ in 0..3 {
        // Each waits longer than the flush of the event may go on without growth.
        call(&service, &new.prompted("words that are not written"));
        service.ask(&wait);
        assert!(is_gone(&service.bottle_path("aa")));
    }
    is_archived(&service, "aa", 1);
}
