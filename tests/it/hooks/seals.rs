//! A seal holds what the host writes while the hook runs: hook time is not disk time.
use std::{
    thread,
    time::{Duration, Instant},
};

use serde_json::{Value, json};

use super::{Hook, Talk, call, log, settled};
use crate::harness::{Service, equal, until};

/// The host's own delay: it writes on a timer of 100 ms.
const DELAYS: [u64; 4] = [0, 60, 100, 150];

/// Calls the hook; `late` is written so long after it has started. The bottle as it is then.
fn sealed(service: &Service, talk: &Talk, late: &str, delay: u64) -> String {
    let hook = Hook::waiting(service).given(talk.compacting().to_string().as_bytes());
    // What comes late is what is tested.
    thread::sleep(Duration::from_millis(delay));
    talk.write(late);
    let answer = hook.answer();
    assert!(answer.is_silent(), "{}", answer.stdout);
    let bottle = service.bottle(&talk.id).unwrap_or_default();
    assert!(equal(&bottle, &service.cold(&talk.id)), "{delay} ms\n{bottle}\n{}", log(service));
    bottle
}

#[test]
fn a_seal_holds_the_result_that_comes_while_the_hook_runs() {
    let service = Service::up();
    for delay in DELAYS {
        let talk = Talk::with_turns(&service, &format!("s{delay}"), 2);
        call(&service, &talk.prompted("run it"));
        talk.write(&talk.user("run it"));
        talk.write(&talk.agent("I run it now."));
        let command = json!({"command": "make test"});
        talk.write(&talk.tool_call("c1", "Bash", &command));
        let bottle = sealed(&service, &talk, &talk.tool_result("c1", "all is well"), delay);
        assert!(bottle.contains("I run it now.") && bottle.contains(", 0 pending"), "{bottle}");
        assert!(!bottle.contains('⏳'), "{bottle}");
    }
}

#[test]
fn a_seal_holds_the_announced_prompt() {
    let service = Service::up();
    for delay in DELAYS {
        let talk = Talk::with_turns(&service, &format!("s{delay}"), 2);
        settled(&service, &talk);
        call(&service, &talk.prompted("the newest words"));
        let bottle = sealed(&service, &talk, &talk.user("the newest words"), delay);
        assert!(bottle.contains("the newest words"), "{bottle}");
    }
}

/// A prompt that is typed while the agent works has the id of the turn that runs.
fn queued(talk: &Talk, words: &str) -> Value {
    let id = talk.prompt_id();
    talk.event("UserPromptSubmit", &json!({"prompt": words, "prompt_id": id}))
}

#[test]
fn a_seal_holds_a_prompt_that_was_typed_while_the_agent_worked() {
    let service = Service::up();
    for (delay, words) in DELAYS.into_iter().zip(["also this", "and", "run it", "run it "]) {
        let talk = Talk::with_turns(&service, &format!("s{delay}"), 2);
        call(&service, &talk.prompted("run it"));
        talk.write(&talk.user("run it"));
        talk.write(&talk.agent("I run it now."));
        settled(&service, &talk);
        call(&service, &queued(&talk, words));
        let bottle = sealed(&service, &talk, &talk.queued(words), delay);
        assert!(bottle.contains(&format!("\n{words}\n")), "{delay} ms\n{bottle}");
    }
}

#[test]
fn a_seal_does_not_wait_for_what_never_comes() {
    let service = Service::up();
    let talk = Talk::with_turns(&service, "aa", 2);
    call(&service, &talk.prompted("blocked by another hook"));
    settled(&service, &talk);
    let answer = call(&service, &talk.compacting());
    assert!(answer.is_silent() && answer.took < Duration::from_secs(2), "{answer:?}");
    // A compaction by hand of a session of which nothing was told: one read.
    let other = Talk::with_turns(&service, "bb", 2);
    let by_hand = other.event("PreCompact", &json!({"trigger": "manual"}));
    let began = Instant::now();
    assert!(call(&service, &by_hand).is_silent());
    assert!(service.bottle("bb").unwrap().contains("answer 1 of bb"), "{:?}", began.elapsed());
}

#[test]
fn renders_and_seals_at_once_tear_nothing() {
    let service = Service::up();
    let talk = Talk::with_turns(&service, "aa", 3);
    for round in 0..6 {
        let hooks: Vec<_> = (0..4).map(|_| Hook::waiting(&service)).collect();
        let payload = talk.compacting().to_string();
        let hooks: Vec<_> = hooks.into_iter().map(|hook| hook.given(payload.as_bytes())).collect();
        thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| {
                    let render = service.command().args(["render", "aa"]).output().unwrap();
                    assert!(render.status.success(), "{render:?}");
                });
            }
            scope.spawn(|| service.ask(&json!({"seal": {"session": "aa"}})));
            talk.turn(10 + round);
        });
        for hook in hooks {
            assert!(hook.answer().is_silent());
        }
        let bottle = settled(&service, &talk);
        assert!(bottle.contains(&format!("answer {} of aa", 10 + round)));
    }
    assert_eq!(service.archive().len(), 0);
    until("there is a bottle and no temporary", || {
        std::fs::read_dir(service.state("bottles")).unwrap().count() == 2
    });
}

#[test]
fn a_seal_holds_an_announced_prompt_whose_words_were_said_before() {
    let service = Service::up();
    for delay in DELAYS {
        let talk = Talk::new(&service, &format!("s{delay}"));
        for _ in 0..2 {
            talk.write(&talk.user("continue"));
            talk.write(&talk.agent("I went on."));
        }
        settled(&service, &talk);
        call(&service, &talk.prompted("continue"));
        let bottle = sealed(&service, &talk, &talk.user("continue"), delay);
        assert_eq!(bottle.matches(")\ncontinue\n").count(), 3, "{delay} ms\n{bottle}");
    }
}
