//! Which sessions' rows matter, and what follows when they change.
//!
//! Invariant: nothing is looked for while no session is hot; a change that comes while a session's job
//! is under way is not lost with it.
use super::{Engine, event::Effect, seal::Flow};
use crate::{paths::SessionId, text::time::Moment};

impl<K> Engine<K> {
    /// What claude-mem knows of these sessions has changed.
    pub(super) fn rows_changed(&mut self, sessions: &[SessionId], now: Moment) {
        for id in sessions {
            self.change(id, |tracked| tracked.rows_changed(now));
        }
        let is_about = |flow: &&mut Flow| sessions.contains(&flow.session);
        self.flows.values_mut().filter(is_about).for_each(|flow| flow.wake(now));
    }

    /// Tells which sessions are hot, where others are than before.
    pub(super) fn observe(&mut self, effects: &mut Vec<Effect<K>>) {
        if self.hot.len() != self.observed.len() || self.hot != self.observed {
            self.observed.clone_from(&self.hot);
            effects.push(Effect::Observe(self.hot.iter().cloned().collect()));
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::engine::{
        event::{Event, Task},
        tests::bench::{Bench, id, seen},
    };

    #[test]
    fn hot_sessions_are_observed_and_no_others() {
        let mut bench = Bench::listed();
        let now = bench.now;
        bench.send(Event::Files(vec![seen("a", 10, now), seen("old", 10, now - 600_000)]));
        bench.work();
        bench.wait(599_999);
        assert_eq!(bench.observed, [vec![id("a")]]);
        bench.wait(1);
        assert_eq!(bench.observed, [vec![id("a")], vec![]]);
    }

    #[test]
    fn only_sessions_whose_rows_changed_are_written() {
        let mut bench = Bench::listed();
        let now = bench.now;
        bench.send(Event::Files(vec![seen("a", 10, now), seen("b", 10, now)]));
        bench.work();
        bench.wait(2_000);
        bench.work();
        bench.send(Event::Observed(vec![id("a"), id("unknown")]));
        bench.wait(2_000);
        assert_eq!(bench.work(), [("a".to_owned(), Task::Write)]);
        bench.wait(2_000);
        assert_eq!(bench.work(), []);
    }

    #[test]
    fn a_change_during_the_job_is_not_lost_with_it() {
        let mut bench = Bench::listed();
        let now = bench.now;
        bench.send(Event::Files(vec![seen("a", 10, now)]));
        assert_eq!(bench.jobs.len(), 1);
        bench.send(Event::Observed(vec![id("a")]));
        bench.work();
        bench.wait(2_000);
        assert_eq!(bench.work(), [("a".to_owned(), Task::Write)]);
        bench.wait(2_000);
        assert_eq!(bench.work(), []);
    }
}
