//! When to look at what. Pure.
//!
//! Invariant: without hot files and without events there is one wake-up a second (two while a root
//! is missing), and none of the slower looks takes more than a fiftieth of the time.
//! Refuses: to read a clock.

use std::time::{Duration, Instant};

/// How much rest a look earns, as a multiple of the time it took.
const REST: u32 = 50;
/// The least time between two turns that events cause: a burst becomes few turns.
const GATHER: Duration = Duration::from_millis(10);
/// The least time between two full looks that lost events cause.
const LOST: Duration = Duration::from_secs(2);

/// How often the watcher looks by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Intervals {
    /// Hot files: 250 ms.
    pub hot: Duration,
    /// Roots, and folders that are not watched: 1 s. Missing roots: twice as often.
    pub polled: Duration,
    /// All folders, and the files changed within a day: 30 s.
    pub reconcile: Duration,
    /// All folders and all files: 10 min.
    pub deep: Duration,
    /// How long a file stays hot after a change: 10 min.
    pub hot_window: Duration,
}

impl Default for Intervals {
    fn default() -> Self {
        Self {
            hot: Duration::from_millis(250),
            polled: Duration::from_secs(1),
            reconcile: Duration::from_secs(30),
            deep: Duration::from_secs(600),
            hot_window: Duration::from_secs(600),
        }
    }
}

/// A look that comes by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Round {
    /// The paths that events named.
    Dirty,
    Hot,
    Polled,
    Reconcile,
    Deep,
}

impl Round {
    const ALL: [Self; 5] = [Self::Deep, Self::Reconcile, Self::Polled, Self::Hot, Self::Dirty];
}

/// When each round is due; see the module header.
#[derive(Debug)]
pub(crate) struct Schedule {
    intervals: Intervals,
    /// Indexed by [`Round`].
    due: [Option<Instant>; 5],
    last_dirty: Option<Instant>,
    last_deep: Option<Instant>,
}

impl Schedule {
    /// Everything is due at once.
    pub(crate) fn new(intervals: Intervals, now: Instant) -> Self {
        let due = [None, None, Some(now), Some(now), Some(now)];
        Self { intervals, due, last_dirty: None, last_deep: None }
    }

    /// When the next round is due.
    pub(crate) fn next(&self) -> Option<Instant> {
        self.due.iter().flatten().min().copied()
    }

    /// The rounds that are due, the widest first.
    pub(crate) fn due(&self, now: Instant) -> Vec<Round> {
        Round::ALL.into_iter().filter(|round| self.is_due(*round, now)).collect()
    }

    pub(crate) fn is_due(&self, round: Round, now: Instant) -> bool {
        self.due[round as usize].is_some_and(|due| due <= now)
    }

    /// Makes a round due at `when` at the latest.
    pub(crate) fn want(&mut self, round: Round, when: Instant) {
        let due = &mut self.due[round as usize];
        *due = Some(due.map_or(when, |due| due.min(when)));
    }

    /// An event named a path.
    pub(crate) fn dirty(&mut self, now: Instant) {
        self.want(Round::Dirty, after(self.last_dirty, GATHER, now));
    }

    /// Events were lost.
    pub(crate) fn lost(&mut self, now: Instant) {
        self.want(Round::Deep, after(self.last_deep, LOST, now));
    }

    /// A file is hot.
    pub(crate) fn hot(&mut self, now: Instant) {
        self.want(Round::Hot, now + self.intervals.hot);
    }

    /// A root is missing.
    pub(crate) fn missing_root(&mut self, now: Instant) {
        self.want(Round::Polled, now + self.intervals.polled / 2);
    }

    /// A round that began at `began` ended `now`.
    pub(crate) fn done(&mut self, round: Round, began: Instant, now: Instant) {
        let rest = now.saturating_duration_since(began) * REST;
        let next = |interval: Duration| Some(now + interval.max(rest));
        let index = round as usize;
        match round {
            Round::Dirty => (self.due[index], self.last_dirty) = (None, Some(now)),
            // Whoever finds hot files asks again.
            Round::Hot => self.due[index] = None,
            Round::Polled => self.due[index] = next(self.intervals.polled),
            Round::Reconcile => self.due[index] = next(self.intervals.reconcile),
            Round::Deep => {
                self.due[index] = next(self.intervals.deep);
                self.due[Round::Reconcile as usize] = next(self.intervals.reconcile);
                self.last_deep = Some(now);
            }
        }
    }
}

fn after(last: Option<Instant>, pause: Duration, now: Instant) -> Instant {
    last.map_or(now, |last| now.max(last + pause))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn started() -> (Schedule, Instant) {
        let now = Instant::now();
        let mut schedule = Schedule::new(Intervals::default(), now);
        assert_eq!(schedule.due(now), [Round::Deep, Round::Reconcile, Round::Polled]);
        schedule.done(Round::Deep, now, now);
        schedule.done(Round::Polled, now, now);
        (schedule, now)
    }

    #[test]
    fn an_idle_watcher_wakes_once_a_second() {
        let (mut schedule, mut now) = started();
        for _ in 0..29 {
            assert_eq!(schedule.next(), Some(now + Duration::from_secs(1)));
            now += Duration::from_secs(1);
            assert_eq!(schedule.due(now), [Round::Polled]);
            schedule.done(Round::Polled, now, now);
        }
        now += Duration::from_secs(1);
        assert_eq!(schedule.due(now), [Round::Reconcile, Round::Polled]);
    }

    #[test]
    fn the_first_event_is_served_at_once_and_the_next_are_gathered() {
        let (mut schedule, now) = started();
        schedule.dirty(now);
        assert_eq!(schedule.due(now), [Round::Dirty]);
        schedule.done(Round::Dirty, now, now);
        schedule.dirty(now);
        schedule.dirty(now + GATHER / 2);
        assert!(schedule.due(now + GATHER / 2).is_empty());
        assert_eq!(schedule.due(now + GATHER), [Round::Dirty]);
    }

    #[test]
    fn lost_events_bring_a_full_look_at_once_but_not_again_and_again() {
        let (mut schedule, now) = started();
        let later = now + LOST;
        schedule.lost(later);
        assert!(schedule.due(later).contains(&Round::Deep));
        schedule.done(Round::Deep, later, later);
        schedule.lost(later);
        assert!(!schedule.due(later + LOST / 2).contains(&Round::Deep));
        assert!(schedule.due(later + LOST).contains(&Round::Deep));
    }

    #[test]
    fn hot_files_are_asked_for_each_time_and_a_slow_round_earns_rest() {
        let (mut schedule, now) = started();
        schedule.hot(now);
        let tick = now + Duration::from_millis(250);
        assert_eq!(schedule.due(tick), [Round::Hot]);
        schedule.done(Round::Hot, tick, tick);
        assert!(schedule.due(tick + Duration::from_millis(250)).is_empty());
        schedule.done(Round::Polled, now, now + Duration::from_millis(200));
        let rested = now + Duration::from_millis(200) + Duration::from_secs(10);
        assert!(!schedule.due(rested - Duration::from_millis(1)).contains(&Round::Polled));
        assert!(schedule.due(rested).contains(&Round::Polled));
    }

    #[test]
    fn a_missing_root_is_looked_for_twice_a_second() {
        let (mut schedule, now) = started();
        schedule.missing_root(now);
        assert_eq!(schedule.next(), Some(now + Duration::from_millis(500)));
    }
}
