//! Traces of hooks: what they tell, the jobs that this makes, and what they are answered.
use super::*;
use crate::{
    engine::{
        drain::{Coverage, DrainReply, QUIET, Verdict},
        event::Event,
        hook::PrintReply,
        tests::bench::{Bench, id, seen},
    },
    session::flush::{Announced, Held},
};

fn hook(session: &str, event: HookKind) -> Event<u32> {
    let token = "t".to_owned();
    let hook = HookEvent { session: session.to_owned(), path: None, event, token, deadline: 1_000 };
    Event::Request(7, Request::Hook(Box::new(hook)))
}

fn prompted(words: u64) -> HookKind {
    HookKind::Prompted { prompt: Announced { id: Some("p".to_owned()), words, after: 0 } }
}

fn compacting(cause: &str) -> HookKind {
    HookKind::Compacting { cause: cause.to_owned() }
}

/// An engine that knows one session and has written its bottle.
fn bench() -> Bench {
    let mut bench = Bench::listed();
    let now = bench.now;
    bench.send(Event::Files(vec![seen("a", 10, now)]));
    bench.work();
    bench.wait(2_000);
    bench
}

fn print(text: Option<&str>) -> (RequestId, Reply) {
    let reply = |text: &str| PrintReply { text: text.to_owned(), path: "/c".to_owned() };
    (7, Reply::Print(text.map(reply)))
}

#[test]
fn what_only_tells_is_answered_at_once() {
    for event in [HookKind::Began, HookKind::Ended { words: None }, HookKind::Cleared {}] {
        let mut bench = bench();
        bench.send(hook("a", event));
        assert_eq!(bench.replies, [print(None)]);
    }
    // A session that nobody has told of yet may be there: the job looks.
    let mut bench = bench();
    bench.send(hook("new", prompted(1)));
    assert_eq!(bench.work(), [("new".to_owned(), Task::Write)]);
    // What is no id is said to be none.
    let mut bench = self::bench();
    bench.send(hook("../../x", prompted(1)));
    assert!(
        matches!(&bench.replies[..], [(7, Reply::Error(why))] if why.contains("no session id"))
    );
}

#[test]
fn a_compaction_prints_after_one_job_that_writes() {
    let mut bench = bench();
    let until = Moment(bench.now + 750);
    bench.send(hook("a", HookKind::Compacted {}));
    assert_eq!(bench.work(), [("a".to_owned(), Task::Write)]);
    assert_eq!(bench.errands, [Errand::Print { token: "t".to_owned(), until }]);
    assert_eq!(bench.replies, [print(Some("t"))]);
}

#[test]
fn a_prompt_or_a_resumed_session_asks_whether_a_pointer_is_due() {
    for (event, resumed) in [(prompted(1), false), (HookKind::Resumed { always: false }, true)] {
        let mut bench = bench();
        let until = Moment(bench.now + 750);
        bench.send(hook("a", event));
        assert_eq!(bench.work(), [("a".to_owned(), Task::Write)]);
        let due = Errand::Due { token: "t".to_owned(), until, resumed, always: false };
        assert_eq!((bench.errands, bench.replies), (vec![due], vec![print(Some("t"))]));
    }
}

#[test]
fn a_seal_waits_for_what_was_announced_and_for_no_longer_than_the_host_writes() {
    let mut bench = bench();
    bench.send(hook("a", prompted(5)));
    bench.work();
    (bench.replies, bench.errands) = Default::default();
    bench.held = Held::default();
    bench.send(hook("a", compacting("auto")));
    let mut looks = 0;
    while !bench.jobs.is_empty() {
        looks += bench.work().len();
        bench.wait(10);
    }
    assert_eq!(looks, 22, "a look each 10 ms for 200 ms, and the seal");
    let announced = Announced { id: Some("p".to_owned()), words: 5, after: 10 };
    assert_eq!(bench.errands[0], Errand::Look(Barrier::Prompt(Some(announced))));
    let Some((7, Reply::Seal(seal))) = bench.replies.first() else { panic!("{:?}", bench.replies) };
    assert!(seal.sealed && !seal.held);
}

#[test]
fn a_prompt_that_is_typed_while_the_agent_works_is_known_by_its_words_alone() {
    let mut bench = bench();
    for words in [5, 6] {
        bench.send(hook("a", prompted(words)));
    }
    bench.work();
    bench.errands.clear();
    bench.send(hook("a", compacting("auto")));
    bench.work();
    let announced = Announced { id: None, words: 6, after: 10 };
    assert_eq!(bench.errands[0], Errand::Look(Barrier::Prompt(Some(announced))));
}

#[test]
fn a_prompt_that_two_hooks_tell_of_is_one() {
    let mut bench = bench();
    for _ in 0..2 {
        bench.send(hook("a", prompted(5)));
        bench.work();
        bench.wait(100);
    }
    bench.errands.clear();
    bench.send(hook("a", compacting("auto")));
    bench.work();
    let announced = Announced { id: Some("p".to_owned()), words: 5, after: 10 };
    assert_eq!(bench.errands[0], Errand::Look(Barrier::Prompt(Some(announced))));
}

#[test]
fn where_the_barrier_holds_a_seal_takes_two_jobs_and_without_one_a_single_one() {
    for (cause, jobs) in [("auto", &[Task::Read, Task::Write][..]), ("manual", &[Task::Write])] {
        let mut bench = bench();
        bench.send(hook("a", compacting(cause)));
        let tasks: Vec<Task> = bench.work().into_iter().map(|(_, task)| task).collect();
        assert_eq!(tasks, jobs, "{cause}");
        assert!(matches!(&bench.replies[..], [(7, Reply::Seal(seal))] if seal.held), "{cause}");
    }
}

#[test]
fn the_end_of_a_turn_is_written_and_remembered() {
    let mut bench = bench();
    let ended = |bench: &mut Bench, turn| {
        bench.held = Held { holds: true, turn: Some(turn) };
        bench.send(hook("a", HookKind::Ended { words: Some("Done.".to_owned()) }));
        bench.work()
    };
    assert_eq!(ended(&mut bench, 40).len(), 2);
    ended(&mut bench, 90);
    let recorded: Vec<_> = bench
        .errands
        .iter()
        .filter_map(|errand| match errand {
            Errand::Look(Barrier::Turn { recorded, .. }) => Some(*recorded),
            _ => None,
        })
        .collect();
    assert_eq!(recorded, [None, Some(40)]);
}

#[test]
fn what_would_be_printed_to_nobody_is_not_claimed() {
    let mut bench = bench();
    // Both workers are busy, so that the hook has to wait.
    let now = bench.now;
    bench.send(Event::Files(vec![seen("b", 10, now), seen("c", 10, now)]));
    bench.send(hook("a", HookKind::Compacted {}));
    bench.send(Event::HungUp(7));
    bench.work();
    assert!(bench.errands.is_empty() && bench.replies.is_empty());
    // A seal is made for whoever comes next.
    bench.send(hook("a", compacting("auto")));
    bench.send(Event::HungUp(7));
    bench.work();
    assert!(matches!(bench.errands.last(), Some(Errand::Seal { .. })));
}

#[test]
fn hooks_come_before_everything_else() {
    let mut bench = bench();
    let now = bench.now;
    let files = (0..5).map(|number| seen(&format!("n{number}"), 10, now)).collect();
    bench.send(Event::Files(files));
    bench.send(hook("a", HookKind::Compacted {}));
    assert_eq!(bench.jobs.len(), 2);
    let order: Vec<String> = bench.work().into_iter().map(|(id, _)| id).collect();
    assert_eq!(order[2], "a", "{order:?}");
}

#[test]
fn a_forgotten_session_says_nothing() {
    let mut bench = bench();
    bench.engine.settings.forgotten.insert(id("a"));
    bench.send(hook("a", HookKind::Compacted {}));
    assert_eq!(bench.replies, [print(None)]);
    assert!(bench.jobs.is_empty());
}

fn drain(timeout_ms: Option<u64>) -> Event<u32> {
    Event::Request(7, Request::Drain { session: "a".to_owned(), timeout_ms })
}

/// Lets time pass as the engine wants it, and the worker work, until somebody is answered.
fn until_answered(bench: &mut Bench) -> i64 {
    let began = bench.now;
    while bench.replies.is_empty() {
        bench.work();
        if bench.replies.is_empty() {
            bench.now = bench.engine.next_wake().expect("something is due").0.max(bench.now);
            bench.send(Event::Tick);
        }
    }
    bench.now - began
}

#[test]
fn a_drain_ends_when_all_is_covered() {
    let mut bench = bench();
    bench.send(drain(None));
    assert_eq!(until_answered(&mut bench), 0);
    let reply = DrainReply { pending: 0, verdict: Verdict::Covered };
    assert_eq!(bench.replies, [(7, Reply::Drain(reply))]);
}

#[test]
fn a_drain_of_a_stuck_source_ends_after_a_quiet_while_or_at_its_deadline() {
    for (timeout, expected, verdict) in
        [(None, QUIET, Verdict::Quiet), (Some(700), 700, Verdict::TimedOut)]
    {
        let mut bench = bench();
        bench.coverage = Coverage { pending: 2, ended: 2, rows: (0, 0) };
        bench.send(drain(timeout));
        assert_eq!(until_answered(&mut bench), expected);
        let reply = DrainReply { pending: 2, verdict };
        assert_eq!(bench.replies, [(7, Reply::Drain(reply))]);
    }
}

#[test]
fn a_change_wakes_a_drain_and_a_seal_that_waits() {
    for seal in [false, true] {
        let mut bench = bench();
        bench.coverage = Coverage { pending: 1, ended: 1, rows: (0, 0) };
        let request = Request::Seal { session: "a".to_owned(), timeout: Some(20_000) };
        bench.send(if seal { Event::Request(7, request) } else { drain(None) });
        bench.work();
        assert!(bench.replies.is_empty());
        bench.now += 10;
        bench.coverage = Coverage { pending: 0, ended: 1, rows: (1, 5) };
        bench.send(Event::Observed(vec![id("b")]));
        assert_eq!(bench.work(), []);
        bench.send(Event::Observed(vec![id("a")]));
        bench.work();
        let answered = matches!(&bench.replies[..], [(7, Reply::Drain(_) | Reply::Seal(_))]);
        assert!(answered, "{:?}", bench.replies);
        assert_eq!(matches!(&bench.replies[0].1, Reply::Seal(_)), seal);
    }
}

#[test]
fn a_seal_without_a_timeout_only_checks() {
    let mut bench = bench();
    bench.coverage = Coverage { pending: 1, ended: 1, rows: (0, 0) };
    let request = Request::Seal { session: "a".to_owned(), timeout: None };
    bench.send(Event::Request(7, request));
    assert_eq!(until_answered(&mut bench), 0);
    assert!(!bench.errands.contains(&Errand::Cover));
}

#[test]
fn a_drain_that_nobody_waits_for_any_more_ends() {
    let mut bench = bench();
    bench.coverage = Coverage { pending: 1, ended: 1, rows: (0, 0) };
    bench.send(drain(None));
    bench.work();
    bench.send(Event::HungUp(7));
    assert_eq!(bench.engine.next_wake(), None);
}
