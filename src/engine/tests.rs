//! Traces: events in, effects out.
pub(super) mod bench;

use bench::{Bench, id, seen, trigger, with_budget};

use super::{
    event::{Done, Event, Job, Read, Task},
    request::{BottleStatus, Reply, Request, Source},
    *,
};

const HOUR: i64 = 3_600_000;

#[test]
fn a_change_is_read_and_written_at_once_then_gathered() {
    let mut bench = Bench::listed();
    let now = bench.now;
    bench.send(Event::Files(vec![seen("a", 10, now)]));
    assert_eq!(bench.work(), [("a".to_owned(), Task::Write)]);
    bench.now += 100;
    bench.send(Event::Files(vec![seen("a", 20, now + 100)]));
    assert_eq!(bench.work(), [("a".to_owned(), Task::Read)]);
    assert_eq!(bench.engine.next_wake(), Some(Moment(now + 350)));
    bench.wait(249);
    assert!(bench.work().is_empty());
    bench.wait(1);
    assert_eq!(bench.work(), [("a".to_owned(), Task::Write)]);
    assert_eq!(bench.engine.next_wake(), None);
}

#[test]
fn one_job_at_a_time_for_each_session_and_what_changes_meanwhile_is_done_next() {
    let mut bench = Bench::listed();
    let now = bench.now;
    bench.send(Event::Files(vec![seen("a", 10, now)]));
    bench.send(Event::Files(vec![seen("a", 20, now)]));
    assert_eq!(bench.jobs.len(), 1);
    let job = bench.jobs.remove(0);
    bench.finish(job, Ok(()), Ok(()));
    assert_eq!(bench.jobs.len(), 1);
    assert_eq!(bench.jobs[0].kept, Some(1));
}

#[test]
fn history_is_known_and_not_read_but_what_is_hot_is() {
    let settings = Settings { installed: Moment(9 * HOUR), ..Settings::default() };
    let mut bench = Bench::new(settings);
    let now = bench.now;
    bench.send(Event::Files(vec![seen("old", 10, 0), seen("live", 10, now)]));
    bench.send(Event::Resynced(0));
    assert_eq!(bench.work(), [("live".to_owned(), Task::Write)]);
    bench.now += 1_000;
    bench.send(Event::Files(vec![seen("old", 20, now)]));
    assert_eq!(bench.work(), [("old".to_owned(), Task::Write)]);
}

#[test]
fn after_a_restart_only_what_changed_is_read() {
    let mut bench = Bench::new(Settings::default());
    let same = FileSeen { unchanged: true, ..seen("same", 10, 0) };
    bench.send(Event::Files(vec![same, seen("grown", 10, 0)]));
    assert_eq!(bench.work(), [("grown".to_owned(), Task::Write)]);
}

#[test]
fn a_request_is_answered_after_a_job_that_began_after_it() {
    let mut bench = Bench::listed();
    let now = bench.now;
    bench.send(Event::Files(vec![seen("abc", 10, now)]));
    bench.send(Event::Request(7, Request::Render { session: "ab".into() }));
    let job = bench.jobs.remove(0);
    bench.finish(job, Ok(()), Ok(()));
    assert!(bench.replies.is_empty());
    bench.work();
    assert!(matches!(&bench.replies[..], [(7, Reply::Session(status))] if status.id == "abc"));
}

#[test]
fn an_unknown_session_is_looked_for_once_and_then_refused() {
    let mut bench = Bench::listed();
    bench.send(Event::Request(1, Request::Flush { session: "new".into() }));
    bench.send(Event::Request(2, Request::Flush { session: "none".into() }));
    assert_eq!(bench.other, ["Resync(1)", "Resync(2)"]);
    let now = bench.now;
    bench.send(Event::Files(vec![seen("new", 10, now)]));
    bench.send(Event::Resynced(2));
    bench.work();
    let errors = bench.replies.iter().filter(|(_, reply)| matches!(reply, Reply::Error(_)));
    assert_eq!(errors.count(), 1);
    assert_eq!(bench.replies.len(), 2);
}

#[test]
fn status_sync_waits_for_what_is_hot() {
    let mut bench = Bench::listed();
    bench.send(Event::Request(1, Request::Status { session: None, sync: true }));
    let now = bench.now;
    bench.send(Event::Files(vec![seen("a", 10, now)]));
    bench.send(Event::Resynced(1));
    assert!(bench.replies.is_empty());
    bench.work();
    assert!(
        matches!(&bench.replies[..], [(1, Reply::Status(status))] if status.totals.behind == 0)
    );
}

#[test]
fn the_oldest_change_that_a_bottle_lacks_is_written_first_then_the_newest_of_the_backlog() {
    let mut bench = Bench::listed();
    bench.engine.settings.workers = 1;
    let now = bench.now;
    bench.send(Event::Files(["a", "b", "c"].map(|name| seen(name, 10, now)).to_vec()));
    for _ in 0..4 {
        bench.work();
        bench.wait(1_000);
    }
    // While nothing may be rendered, the one that changed first goes on changing.
    bench.engine.renders.took(10_000, Moment(bench.now));
    for name in ["c", "a", "b", "c", "c"] {
        bench.now += 10;
        bench.send(Event::Files(vec![seen(name, 20, bench.now)]));
        assert_eq!(bench.work(), [(name.to_owned(), Task::Read)]);
    }
    let old = [seen("older", 10, now - 2 * HOUR), seen("old", 10, now - HOUR)];
    bench.send(Event::Files(old.to_vec()));
    let mut written = Vec::new();
    for _ in 0..100 {
        bench.wait(10);
        written.extend(bench.work().into_iter().map(|(name, _)| name));
    }
    assert_eq!(written, ["c", "a", "b", "old", "older"]);
}

#[test]
fn a_failed_write_is_tried_again_and_told() {
    let mut bench = Bench::listed();
    let now = bench.now;
    bench.send(Event::Files(vec![seen("a", 10, now)]));
    let job = bench.jobs.remove(0);
    bench.finish(job, Ok(()), Err("the disk is full"));
    assert!(bench.jobs.is_empty());
    let status = bench.engine.session_status(&id("a"), Moment(bench.now)).expect("a session");
    assert_eq!(status.trouble.as_deref(), Some("the disk is full"));
    bench.wait(5_000);
    assert_eq!(bench.work(), [("a".to_owned(), Task::Write)]);
    let status = bench.engine.session_status(&id("a"), Moment(bench.now)).expect("a session");
    assert_eq!(status.trouble, None);
}

#[test]
fn a_gone_transcript_keeps_its_bottle_and_comes_back() {
    let mut bench = Bench::listed();
    let now = bench.now;
    bench.send(Event::Files(vec![seen("a", 10, now)]));
    bench.work();
    bench.send(Event::Gone(vec![(id("a"), "/p/a.jsonl".into())]));
    let status = bench.engine.session_status(&id("a"), Moment(bench.now)).expect("a session");
    assert_eq!(status.source, Source::Gone);
    assert!(status.bottle.is_some());
    bench.now += 5_000;
    bench.send(Event::Files(vec![seen("a", 10, now)]));
    assert_eq!(bench.work(), [("a".to_owned(), Task::Write)]);
}

#[test]
fn what_is_in_memory_only_is_written_when_its_transcript_goes() {
    let mut bench = Bench::listed();
    let now = bench.now;
    bench.send(Event::Files(vec![seen("a", 10, now)]));
    bench.work();
    bench.now += 10;
    bench.send(Event::Files(vec![seen("a", 20, now + 10)]));
    assert_eq!(bench.work(), [("a".to_owned(), Task::Read)]);
    bench.send(Event::Gone(vec![(id("a"), "/p/a.jsonl".into())]));
    bench.wait(1_000);
    assert_eq!(bench.jobs[0].files.len(), 0);
    assert_eq!(bench.work(), [("a".to_owned(), Task::Write)]);
    bench.wait(10_000);
    assert!(bench.work().is_empty());
}

#[test]
fn a_trigger_is_removed_after_its_effect() {
    let mut bench = Bench::listed();
    let now = bench.now;
    bench.send(Event::Files(vec![seen("a", 10, now)]));
    bench.work();
    bench.send(Event::Trigger(id("a"), trigger("/t/a.render")));
    assert!(bench.other.is_empty());
    assert_eq!(bench.work(), [("a".to_owned(), Task::Write)]);
    assert_eq!(bench.other, ["RemoveTrigger(/t/a.render)"]);
}

#[test]
fn a_trigger_for_a_session_without_a_transcript_says_so() {
    let mut bench = Bench::listed();
    bench.send(Event::Trigger(id("ghost"), trigger("/t/ghost.render")));
    bench.send(Event::Resynced(1));
    assert_eq!(bench.other, ["Resync(1)", "RemoveTrigger(/t/ghost.render)"]);
    let status = bench.engine.session_status(&id("ghost"), Moment(0)).expect("a session");
    assert_eq!(status.source, Source::NeverWritten);
    assert!(bench.work().is_empty());
}

#[test]
fn an_archived_session_is_written_again_only_after_new_words() {
    let archived = HashMap::from([(id("a"), 2), (id("b"), 1)]);
    let mut bench = Bench::new(Settings { archived, ..Settings::default() });
    let now = bench.now;
    bench.send(Event::Resynced(0));
    bench.send(Event::Files(vec![seen("a", 10, now), seen("b", 10, now)]));
    let mut tasks = bench.work();
    tasks.sort();
    assert_eq!(
        tasks,
        [("a".to_owned(), Task::Read), ("b".to_owned(), Task::Read), ("b".to_owned(), Task::Write)]
    );
}

#[test]
fn idle_sessions_leave_memory_and_the_budget_is_kept() {
    let mut bench = Bench::new(Settings {
        limits: Limits { budget: 150, ..Limits::default() },
        ..Settings::default()
    });
    bench.send(Event::Resynced(0));
    for name in ["a", "b"] {
        let now = bench.now;
        bench.send(Event::Files(vec![seen(name, 10, now)]));
        bench.now += 2_000;
        bench.work();
    }
    let resident = |bench: &Bench, name| {
        bench.engine.session_status(&id(name), Moment(0)).expect("a session").resident
    };
    assert!(!resident(&bench, "a") && resident(&bench, "b"));
    bench.wait(2 * HOUR);
    assert!(!resident(&bench, "b"));
}

#[test]
fn forgetting_leaves_nothing_and_lasts() {
    let mut bench = Bench::listed();
    let now = bench.now;
    bench.send(Event::Files(vec![seen("a", 10, now)]));
    bench.work();
    bench.send(Event::Request(1, Request::Forget { session: "a".into() }));
    assert_eq!(bench.work(), [("a".to_owned(), Task::Forget)]);
    assert_eq!(bench.replies, [(1, Reply::Done)]);
    bench.send(Event::Files(vec![seen("a", 20, now)]));
    assert!(bench.work().is_empty());
}

#[test]
fn stopping_writes_what_is_unwritten_and_ends() {
    let mut bench = Bench::listed();
    let now = bench.now;
    bench.send(Event::Files(vec![seen("a", 10, now)]));
    bench.work();
    bench.now += 10;
    bench.send(Event::Files(vec![seen("a", 20, now + 10)]));
    assert_eq!(bench.work(), [("a".to_owned(), Task::Read)]);
    bench.send(Event::Stop);
    assert!(bench.other.is_empty());
    assert_eq!(bench.work(), [("a".to_owned(), Task::Write)]);
    assert_eq!(bench.other, ["Exit"]);
}

#[test]
fn a_hung_up_client_is_not_answered() {
    let mut bench = Bench::listed();
    let now = bench.now;
    bench.send(Event::Files(vec![seen("a", 10, now)]));
    bench.send(Event::Request(1, Request::Render { session: "a".into() }));
    bench.send(Event::HungUp(1));
    bench.work();
    assert!(bench.replies.is_empty());
}

#[test]
fn while_all_workers_are_busy_nothing_wakes_it_again_and_again() {
    let mut bench = Bench::listed();
    let now = bench.now;
    bench.send(Event::Files(vec![seen("a", 10, now), seen("b", 10, now), seen("c", 10, now)]));
    assert_eq!((bench.jobs.len(), bench.engine.next_wake()), (2, None));
    bench.work();
    assert!(bench.engine.next_wake().is_some_and(|wake| wake.0 > now));
}

#[test]
fn a_clock_that_is_set_back_puts_nothing_off() {
    let mut bench = Bench::listed();
    let now = bench.now;
    bench.send(Event::Files(vec![seen("a", 10, now)]));
    bench.work();
    bench.now -= HOUR;
    let now = bench.now;
    bench.send(Event::Files(vec![seen("a", 20, now)]));
    bench.work();
    assert!(bench.engine.next_wake().is_none_or(|wake| wake.0 <= now + 250));
    bench.wait(250);
    assert_eq!(bench.work(), [("a".to_owned(), Task::Write)]);
}

#[test]
fn a_transcript_that_goes_takes_its_trouble_along() {
    for gone_first in [true, false] {
        let mut bench = Bench::listed();
        let now = bench.now;
        bench.send(Event::Files(vec![seen("a", 10, now)]));
        let job = bench.jobs.remove(0);
        let gone = Event::Gone(vec![(id("a"), "/p/a.jsonl".into())]);
        if gone_first {
            bench.send(gone);
            bench.finish(job, Err("it is missing"), Ok(()));
        } else {
            bench.finish(job, Err("it is missing"), Ok(()));
            bench.send(gone);
        }
        let status = bench.engine.session_status(&id("a"), Moment(now)).expect("a session");
        assert_eq!(status.trouble, None, "{gone_first}");
    }
}

#[test]
fn an_archiving_that_fails_is_tried_again_and_nothing_is_written_before() {
    let mut bench = Bench::listed();
    let now = bench.now;
    bench.send(Event::Files(vec![seen("a", 10, now)]));
    bench.work();
    bench.send(Event::Request(7, Request::Archive { session: "a".to_owned() }));
    let Job { id, kept, task, .. } = bench.jobs.remove(0);
    let written = Some(Err("busy".to_owned()));
    let done = Done { id, kept, task, read: Ok(Read::default()), written, errand: None };
    bench.send(Event::Done(Box::new(done)));
    assert!(matches!(&bench.replies[..], [(7, Reply::Error(why))] if why == "busy"));
    assert!(bench.jobs.is_empty());
    assert_eq!(bench.engine.next_wake(), Some(Moment(now + 5_000)));
    bench.wait(5_000);
    assert_eq!(bench.work(), [("a".to_owned(), Task::Archive)]);
}

#[test]
fn a_session_that_is_excluded_from_now_on_is_not_tried_for_ever() {
    let mut bench = Bench::listed();
    let now = bench.now;
    bench.send(Event::Files(vec![seen("a", 10, now)]));
    bench.work();
    bench.now += 10;
    bench.send(Event::Files(vec![seen("a", 20, now + 10)]));
    assert_eq!(bench.work(), [("a".to_owned(), Task::Read)]);
    bench.wait(1_000);
    let Job { id, kept, task, .. } = bench.jobs.remove(0);
    let read = Ok(Read { grown: false, ..Read::default() });
    bench.send(Event::Done(Box::new(Done { id, kept, task, read, written: None, errand: None })));
    assert!(bench.jobs.is_empty());
    assert_eq!(bench.engine.next_wake(), None);
}

#[test]
fn a_trigger_stays_until_it_has_its_effect() {
    let mut bench = Bench::listed();
    let now = bench.now;
    bench.send(Event::Files(vec![seen("a", 10, now)]));
    bench.work();
    bench.send(Event::Trigger(id("a"), trigger("/t/a.render")));
    let job = bench.jobs.remove(0);
    bench.finish(job, Ok(()), Err("the disk is full"));
    assert!(bench.other.is_empty());
    bench.wait(5_000);
    bench.work();
    assert_eq!(bench.other, ["RemoveTrigger(/t/a.render)"]);
}

#[test]
fn a_store_that_works_again_is_no_trouble() {
    let mut bench = Bench::listed();
    let troubles = |bench: &mut Bench| -> Vec<String> {
        bench.send(Event::Request(1, Request::Status { session: None, sync: false }));
        match bench.replies.pop() {
            Some((1, Reply::Status(status))) => status.troubles,
            other => panic!("{other:?}"),
        }
    };
    bench.send(Event::Started("no database".into()));
    bench.send(Event::Stored(Err("it is busy".into())));
    assert_eq!(troubles(&mut bench), ["no database", "it is busy"]);
    bench.send(Event::Stored(Ok(())));
    assert_eq!(troubles(&mut bench), ["no database"]);
}

#[test]
fn history_stays_history_after_a_restart_and_what_changed_since_the_install_is_read() {
    let mut bench = Bench::new(Settings { installed: Moment(9 * HOUR), ..Settings::default() });
    bench.send(Event::Bottles(vec![(id("mine"), BottleStatus::default())]));
    bench.send(Event::Files(vec![
        seen("old", 10, HOUR),
        seen("mine", 10, HOUR),
        seen("while-down", 10, 9 * HOUR + 1),
    ]));
    bench.now += 1_000;
    let mut tasks: Vec<String> = bench.work().into_iter().map(|(id, _)| id).collect();
    for _ in 0..3 {
        bench.wait(1_000);
        tasks.extend(bench.work().into_iter().map(|(id, _)| id));
    }
    tasks.sort();
    assert_eq!(tasks, ["mine", "while-down"]);
}

#[test]
fn a_backlog_is_not_read_into_memory_ahead_of_its_bottles() {
    let mut bench = Bench::listed();
    let files = ["a", "b", "c", "d"].map(|name| seen(name, 10, 1));
    bench.send(Event::Files(files.to_vec()));
    // Two workers; the others wait for their turn and are not read before.
    assert_eq!(bench.work().len(), 2);
    bench.wait(10_000);
    assert!(bench.work().iter().all(|(_, task)| *task == Task::Write));
}

#[test]
fn what_changes_while_the_service_stops_is_left_to_the_next() {
    let mut bench = Bench::listed();
    bench.send(Event::Stop);
    assert_eq!(bench.other, ["Exit"]);
    let now = bench.now;
    bench.send(Event::Files(vec![seen("a", 10, now)]));
    assert!(bench.work().is_empty());
}

#[test]
fn short_memory_drops_what_is_unwritten_too_and_reads_it_again() {
    let mut bench = Bench::new(with_budget(50));
    let now = bench.now;
    bench.send(Event::Files(vec![seen("a", 10, now)]));
    let job = bench.jobs.remove(0);
    bench.finish(job, Ok(()), Err("the disk is full"));
    let status = bench.engine.session_status(&id("a"), Moment(bench.now)).expect("a session");
    assert!(!status.resident);
    bench.wait(5_000);
    assert_eq!(bench.work(), [("a".to_owned(), Task::Write)]);
}
