//! Which sessions' rows matter, and what follows when they change.
//!
//! Invariant: nothing is looked for while no session is hot; a change that comes while a session's job
//! is under way is not lost with it.
use super::{Engine, event::Effect};
use crate::{paths::SessionId, text::time::Moment};

impl<K> Engine<K> {
    /// What claude-mem knows of these sessions has changed.
    pub(super) fn rows_changed(&mut self, sessions: &[SessionId], now: Moment) {
        for id in sessions {
            self.change(id, |tracked| tracked.rows_changed(now));
        }
    }

    /// Tells which sessions are hot, where others are than before.
    pub(super) fn observe(&mut self, effects: &mut Vec<Effect<K>>) {
        if self.hot.len() != self.observed.len() || self.hot != self.observed {
            self.observed.clone_from(&self.hot);
            effects.push(Effect::Observe(self.hot.iter().cloned().collect()));
        }
    }
}
