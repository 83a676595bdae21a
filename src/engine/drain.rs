//! Waiting until tool traffic is covered, for as long as that makes sense. Pure.
//!
//! Nobody can be asked what is still to come: an observer's queue says it is empty while rows go on
//! coming, and stays full when its model is gone. So what counts is what is covered, and whether
//! anything moves: a drain ends when nothing is pending, when for a while no row came and no call
//! ended, or when its time is over.
//!
//! Invariant: it ends at its deadline at the latest. Refuses: to promise that what is pending will
//! come.
use serde::{Deserialize, Serialize};

use crate::text::time::Moment;

/// How often it is looked while nothing tells of a change, in milliseconds.
pub const TICK: i64 = 250;
/// Where nothing moves for this long, nothing more is waited for, in milliseconds.
pub const QUIET: i64 = 1_500;
/// How long it waits where nobody says, in milliseconds.
pub const DEFAULT: i64 = 20_000;
/// How long it waits at most, in milliseconds.
pub const LONGEST: i64 = 60_000;

/// What a look shows.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Coverage {
    /// Tool calls that are shown as stubs.
    pub pending: u64,
    /// Tool calls that have ended.
    pub ended: u64,
    /// The rows that are there: how many, and a sum of their ids.
    pub rows: (u64, u64),
}

/// Why a drain has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// Nothing is pending.
    Covered,
    /// Something is, and nothing moves.
    Quiet,
    /// Its time is over.
    TimedOut,
}

/// What a drain gave.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct DrainReply {
    /// Tool calls that are not covered.
    pub pending: u64,
    /// Why it has ended.
    pub verdict: Verdict,
}

/// A drain under way.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Drain {
    deadline: Moment,
    /// What was seen last, and since when it has been so.
    seen: Option<(Coverage, Moment)>,
}

impl Drain {
    /// A drain that begins now and may take this long, in milliseconds.
    pub fn new(now: Moment, timeout: Option<u64>) -> Self {
        let timeout = timeout.map_or(DEFAULT, |timeout| i64::try_from(timeout).unwrap_or(LONGEST));
        Self { deadline: Moment(now.0.saturating_add(timeout.min(LONGEST))), seen: None }
    }

    /// It was looked: why it has ended, if it has.
    pub fn look(&mut self, coverage: Coverage, now: Moment) -> Option<Verdict> {
        let since = match self.seen {
            Some((seen, since)) if !moved(seen, coverage) => since,
            _ => now,
        };
        self.seen = Some((coverage, since));
        if coverage.pending == 0 {
            return Some(Verdict::Covered);
        }
        if now >= self.deadline {
            return Some(Verdict::TimedOut);
        }
        (now.0.saturating_sub(since.0) >= QUIET).then_some(Verdict::Quiet)
    }

    /// When to look again, where nothing tells of a change before.
    pub fn due(&self, now: Moment) -> Moment {
        let quiet = self.seen.map_or(now.0, |(_, since)| since.0.saturating_add(QUIET));
        Moment(now.0.saturating_add(TICK).min(quiet).min(self.deadline.0).max(now.0))
    }

    /// It is earlier than it was: nothing takes longer for it.
    pub fn clock_set_back(&mut self, by: i64) {
        self.deadline = Moment(self.deadline.0.saturating_sub(by));
        self.seen = self.seen.map(|(seen, since)| (seen, Moment(since.0.saturating_sub(by))));
    }
}

/// Whether something came: a row, or the end of a call, which gives an observer new work. Stubs
/// that become more or fewer follow from these.
fn moved(before: Coverage, now: Coverage) -> bool {
    (before.rows, before.ended) != (now.rows, now.ended)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// A source that gives a row for the oldest call `delay` after its end, one at a time; calls end
    /// at these times. None: it gives nothing.
    struct Source {
        calls: Vec<i64>,
        rows: Vec<i64>,
    }

    impl Source {
        fn new(calls: &[i64], delay: Option<i64>) -> Self {
            let mut free = -1_000_000;
            let row = |end: &i64| {
                free = free.max(*end) + delay?;
                Some(free)
            };
            Self { calls: calls.to_vec(), rows: calls.iter().filter_map(row).collect() }
        }

        fn coverage(&self, now: i64) -> Coverage {
            let by = |times: &[i64]| times.iter().filter(|time| **time <= now).count() as u64;
            let (ended, rows) = (by(&self.calls), by(&self.rows));
            Coverage { pending: ended - rows, ended, rows: (rows, rows) }
        }

        /// Drains from the time 0, woken by each row: when and how it ends, and what is pending.
        fn drain(&self, timeout: Option<u64>) -> (i64, Verdict, u64) {
            let mut drain = Drain::new(Moment(0), timeout);
            let mut now = 0;
            loop {
                let coverage = self.coverage(now);
                if let Some(verdict) = drain.look(coverage, Moment(now)) {
                    return (now, verdict, coverage.pending);
                }
                let due = drain.due(Moment(now)).0;
                assert!(now < due && due <= now + TICK);
                let woken = self.rows.iter().copied().find(|row| (now + 1..due).contains(row));
                now = woken.unwrap_or(due);
            }
        }
    }

    #[test]
    fn row_02_a_seal_waits_for_pending_work_and_gets_gap_0() {
        let calls = [-900, -600, -300, -10];
        let working = Source::new(&calls, Some(1_000));
        assert_eq!(working.drain(None), (3_100, Verdict::Covered, 0));
        let all_there = Source::new(&calls, Some(1));
        assert_eq!(all_there.drain(None), (0, Verdict::Covered, 0));
        assert_eq!(Source::new(&[], None).drain(None), (0, Verdict::Covered, 0));
    }

    #[test]
    fn row_02_a_stuck_source_is_not_waited_for() {
        let stuck = Source::new(&[-9_000, -10], None);
        assert_eq!(stuck.drain(None), (QUIET, Verdict::Quiet, 2));
        // One that stops in the middle: from its last row on.
        let mut stops = Source::new(&[-900, -600, -300], Some(1_000));
        stops.rows.truncate(1);
        let (at, verdict, pending) = stops.drain(None);
        assert_eq!((at, verdict, pending), (100 + QUIET, Verdict::Quiet, 2));
        let slow = Source::new(&[0; 100], Some(1_400));
        assert_eq!(slow.drain(Some(5_000)), (5_000, Verdict::TimedOut, 97));
        assert_eq!(slow.drain(None).0, DEFAULT);
        assert_eq!(slow.drain(Some(u64::MAX)).0, LONGEST);
        assert_eq!(slow.drain(Some(0)), (0, Verdict::TimedOut, 100));
    }

    #[test]
    fn row_03_fresh_work_is_not_taken_for_a_dead_source() {
        // A call ends shortly before the others would have been quiet for long enough.
        let fresh = Source { calls: vec![-9_000, 1_400, 2_800], rows: vec![2_700, 4_000, 4_100] };
        assert_eq!(fresh.drain(None), (4_100, Verdict::Covered, 0));
        // The same without new calls is dead.
        let dead = Source { calls: vec![-9_000], rows: vec![2_700] };
        assert_eq!(dead.drain(None), (QUIET, Verdict::Quiet, 1));
    }

    #[test]
    fn a_clock_that_is_set_back_makes_nothing_longer() {
        let mut drain = Drain::new(Moment(100_000), None);
        let stubs = Coverage { pending: 1, ..Coverage::default() };
        assert_eq!(drain.look(stubs, Moment(100_000)), None);
        drain.clock_set_back(90_000);
        assert_eq!(drain.look(stubs, Moment(10_000 + QUIET)), Some(Verdict::Quiet));
    }

    proptest! {
        #[test]
        fn it_ends_in_time_and_is_right(
            calls in prop::collection::vec(-5_000..30_000i64, 0..20),
            delay in prop::option::of(0..3_000i64),
            timeout in prop::option::of(0..90_000u64),
        ) {
            let mut calls = calls;
            calls.sort_unstable();
            let (at, verdict, pending) = Source::new(&calls, delay).drain(timeout);
            let most = timeout.map_or(DEFAULT, |timeout| timeout.min(60_000).cast_signed());
            prop_assert!(at <= most);
            prop_assert_eq!(verdict == Verdict::Covered, pending == 0);
            prop_assert_eq!(verdict == Verdict::TimedOut, pending > 0 && at == most);
        }
    }
}
