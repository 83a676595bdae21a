//! A pointer is printed once where it is due, once more where it is proven lost, and what it names
//! stays as it was.
use std::{
    fs,
    sync::atomic::{AtomicBool, Ordering},
    thread,
};

use serde_json::json;

use super::{Answer, Hook, Pointer, Talk, bound, call, log, prints, settled};
use crate::harness::{Service, until};

/// A home whose service knows when Endless was installed.
fn installed(up: bool) -> Service {
    let mut service = Service::up();
    if !up {
        service.kill();
    }
    service
}

/// Two hooks that get the same payload at the same moment.
fn two_at_once(service: &Service, payload: &serde_json::Value) -> Vec<Pointer> {
    let payload = payload.to_string();
    let hooks = [Hook::waiting(service), Hook::waiting(service)];
    let hooks = hooks.map(|hook| hook.given(payload.as_bytes()));
    hooks.into_iter().filter_map(|hook| hook.answer().pointer()).collect()
}

/// One pointer for each compaction, though its event is told twice at once.
fn compactions_told_twice(service: &Service, times: u32) {
    let talk = Talk::with_turns(service, "aa", 2);
    if service.is_up() {
        settled(service, &talk);
    }
    for n in 1..=times {
        let pointers = two_at_once(service, &talk.compacted());
        let numbers: Vec<u32> = pointers.iter().map(|pointer| pointer.n).collect();
        assert_eq!(numbers, [n], "{}", log(service));
        talk.write(&talk.boundary());
        talk.write(&talk.arrival("SessionStart", &pointers[0].text));
        talk.turn(n as usize);
    }
    let all = prints(service, "aa");
    assert_eq!(all.len(), times as usize, "{all:?}");
}

#[test]
fn two_session_starts_at_once_give_one_pointer() {
    compactions_told_twice(&installed(true), 100);
}

#[test]
fn two_session_starts_at_once_give_one_pointer_without_the_service() {
    compactions_told_twice(&installed(false), 30);
}

#[test]
fn two_prompts_at_once_give_one_pointer_where_one_is_due() {
    for up in [true, false] {
        let service = installed(up);
        for number in 0..8 {
            let talk = Talk::with_turns(&service, &format!("s{number}"), 2);
            talk.missed_compaction();
            if up {
                settled(&service, &talk);
            }
            let pointers = two_at_once(&service, &talk.prompted("go on"));
            assert_eq!(pointers.len(), 1, "up: {up}, {number}\n{}", log(&service));
            assert!(pointers[0].copy().contains("I go on without knowing."));
            assert_eq!(prints(&service, &talk.id).len(), 1);
            assert!(call(&service, &talk.prompted("go on")).is_silent());
        }
    }
}

/// What was printed is thrown away; then it is printed once more, and never again.
fn made_up_for_once(service: &Service, talk: &Talk) {
    let prompts = |words: &str| call(service, &talk.prompted(words));
    // Nothing proves that it was lost.
    assert!(prompts("early").is_silent());
    talk.write(&talk.boundary());
    assert!(prompts("next").is_silent());
    talk.write(&talk.user("next"));
    assert!(prompts("again").is_silent());
    talk.write(&talk.agent("an answer from the summary alone"));
    let second = comes(service, talk);
    assert_eq!(second.n, 2);
    assert!(second.copy().contains("an answer from the summary alone"));
    talk.turn(7);
    // It is lost as well.
    for _ in 0..3 {
        assert!(prompts("never").is_silent());
        assert!(call(service, &talk.resumed()).is_silent());
        talk.turn(8);
    }
    assert_eq!(prints(service, &talk.id).len(), 2);
}

/// The pointer that is due comes at the next prompt, or where the machine is busy at one after it.
fn comes(service: &Service, talk: &Talk) -> Pointer {
    let mut pointer = None;
    until("the pointer comes", || {
        pointer = call(service, &talk.prompted("go on")).pointer();
        pointer.is_some()
    });
    pointer.unwrap()
}

#[test]
fn a_print_that_was_lost_is_made_up_for_once() {
    for up in [true, false] {
        let service = installed(up);
        let talk = Talk::with_turns(&service, "aa", 2);
        let thrown_away = call(&service, &talk.compacted()).pointer().unwrap();
        assert_eq!(thrown_away.n, 1);
        made_up_for_once(&service, &talk);
    }
}

#[test]
fn a_hook_that_was_killed_between_claim_and_output_is_made_up_for_once() {
    for up in [true, false] {
        let service = installed(up);
        let talk = Talk::with_turns(&service, "aa", 2);
        let hook = Hook::waiting(&service).given(talk.compacted().to_string().as_bytes());
        until("a print is claimed", || !prints(&service, "aa").is_empty());
        hook.kill();
        made_up_for_once(&service, &talk);
    }
}

#[test]
fn what_arrived_is_never_printed_again() {
    for up in [true, false] {
        let service = installed(up);
        let talk = Talk::with_turns(&service, "aa", 2);
        let pointer = call(&service, &talk.compacted()).pointer().unwrap();
        talk.write(&talk.boundary());
        talk.write(&talk.arrival("SessionStart:compact", &pointer.text));
        for number in 0..3 {
            talk.turn(number);
            assert!(call(&service, &talk.prompted("go on")).is_silent());
            assert!(call(&service, &talk.resumed()).is_silent());
        }
        assert_eq!(prints(&service, "aa").len(), 1);
    }
}

#[test]
fn a_compaction_that_nobody_announced_is_due_once() {
    for up in [true, false] {
        let service = installed(up);
        let talk = Talk::with_turns(&service, "aa", 2);
        talk.missed_compaction();
        // At the next prompt, or where the session is resumed.
        let payload = if up { talk.prompted("go on") } else { talk.resumed() };
        let pointer = call(&service, &payload).pointer().unwrap();
        talk.write(&talk.arrival("UserPromptSubmit", &pointer.text));
        for number in 0..3 {
            talk.turn(number);
            assert!(call(&service, &talk.prompted("go on")).is_silent());
            assert!(call(&service, &talk.resumed()).is_silent());
        }
    }
}

#[test]
fn what_a_pointer_names_never_changes() {
    for up in [true, false] {
        let service = installed(up);
        let talk = Talk::with_turns(&service, "aa", 20);
        let printed = call(&service, &talk.compacted()).pointer().unwrap();
        let before = printed.copy();
        assert!(before.contains("answer 19 of aa"));
        talk.write(&talk.boundary());
        for number in 20..60 {
            talk.turn(number);
            if number % 4 == 0 {
                let render = service.command().args(["render", "aa"]).output().unwrap();
                assert!(render.status.success(), "{render:?}");
            }
            assert_eq!(fs::read_to_string(&printed.path).unwrap(), before);
        }
        assert!(service.bottle("aa").unwrap().contains("answer 50 of aa"));
        // The next pointer has a copy of its own, and the one before keeps its own.
        let second = call(&service, &talk.compacted()).pointer().unwrap();
        assert_eq!(second.n, 2);
        assert!(second.copy().contains("answer 59 of aa"));
        assert_eq!(fs::read_to_string(&printed.path).unwrap(), before);
    }
}

struct Ends<'a>(&'a AtomicBool);

impl Drop for Ends<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

#[test]
fn a_pointer_comes_while_the_transcript_grows_and_bottles_are_written_all_the_time() {
    for up in [true, false] {
        let service = installed(up);
        let talk = Talk::with_turns(&service, "aa", 3);
        let done = AtomicBool::new(false);
        thread::scope(|scope| {
            scope.spawn(|| {
                while !done.load(Ordering::Relaxed) {
                    let rendered = service.command().args(["render", "aa"]).output().unwrap();
                    assert!(rendered.status.success(), "{rendered:?}");
                }
            });
            // Also where the test fails.
            let _end = Ends(&done);
            for n in 1..=10 {
                let payload = talk.compacted().to_string();
                let hooks = [Hook::waiting(&service), Hook::waiting(&service)];
                let [one, other] = hooks.map(|hook| {
                    talk.turn(100 + n);
                    hook.given(payload.as_bytes())
                });
                let answers = [one, other].map(|hook| {
                    talk.turn(200 + n);
                    hook.answer()
                });
                let pointers: Vec<_> = answers.iter().filter_map(Answer::pointer).collect();
                assert_eq!(pointers.len(), 1, "{n}: {}", log(&service));
                pointers[0].copy();
                talk.write(&talk.boundary());
            }
        });
    }
}

#[test]
fn a_resumed_session_gets_its_pointer_as_configured() {
    for (resume, missed, expected) in [
        ("auto", false, [false, false]),
        ("auto", true, [true, false]),
        ("always", false, [true, true]),
        ("never", true, [false, false]),
    ] {
        for up in [true, false] {
            let mut service = Service::down();
            let config = format!("resume = \"{resume}\"\n");
            service.sandbox.write(&service.state("config.toml"), &config);
            service.start();
            if !up {
                service.kill();
            }
            let talk = Talk::with_turns(&service, "aa", 2);
            if missed {
                talk.missed_compaction();
            }
            let resumed = || call(&service, &talk.resumed()).pointer().is_some();
            let first = resumed();
            if resume == "always" {
                // Of one kind only one is printed within five seconds, but for a compaction.
                talk.write(&talk.boundary());
            }
            let all = [first, resumed()];
            assert_eq!(all, expected, "{resume} {missed} {up} {}", log(&service));
        }
    }
}

#[test]
fn a_print_is_bound_to_its_compaction() {
    let service = installed(true);
    let talk = Talk::with_turns(&service, "aa", 2);
    for n in 1..=3 {
        assert_eq!(call(&service, &talk.compacted()).pointer().unwrap().n, n);
        talk.write(&talk.boundary());
        talk.turn(n as usize);
        bound(&service, &talk, n);
    }
    let boundaries: std::collections::BTreeSet<_> =
        prints(&service, "aa").into_iter().map(|(_, boundary)| boundary.unwrap()).collect();
    assert_eq!(boundaries.len(), 3);
    let status = service.session("aa");
    assert_eq!(status["facts"]["legs"], json!(4));
}
