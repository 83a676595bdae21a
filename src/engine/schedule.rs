//! When a bottle is written.
//!
//! In memory a session is always current. On disk it follows at once where the last write is over
//! a second old, else after a quarter of a second, stretched so that one session writes at most a
//! megabyte a second and all rendering takes at most two hundredths of a core.
use crate::text::time::Moment;

/// After this long a change is written at once, in milliseconds.
const CALM: i64 = 1_000;
/// How long changes are gathered otherwise.
const GATHER: i64 = 250;
/// Bytes that one session may write in a millisecond.
const BYTES_PER_MILLISECOND: u64 = 1_000;
/// Time to let pass for each unit of processor time that a bottle cost: 2 % of a core.
const REST: u64 = 50;
/// But never more than this, in milliseconds: one large bottle stops nobody for long.
const MOST: i64 = 5_000;

/// The rendering of all sessions together.
#[derive(Debug, Default)]
pub(super) struct Renders {
    /// Before this nothing is rendered that nobody waits for.
    free: i64,
}

impl Renders {
    /// A bottle cost so much processor time.
    pub(super) fn took(&mut self, microseconds: u64, now: Moment) {
        let rest = microseconds.saturating_mul(REST).div_ceil(1_000);
        let rest = i64::try_from(rest).unwrap_or(i64::MAX).min(MOST);
        self.free = self.free.max(now.0).saturating_add(rest);
    }

    /// It is earlier than it was.
    pub(super) fn clock_set_back(&mut self, now: Moment) {
        self.free = self.free.min(now.0);
    }

    /// When a change of `changed` may be written.
    pub(super) fn due(&self, changed: Moment, last: Option<(Moment, u64)>) -> Moment {
        let own = match last {
            None => changed.0,
            Some((at, bytes)) => {
                let gathered =
                    if changed.0 - at.0 >= CALM { changed.0 } else { changed.0 + GATHER };
                let written = i64::try_from(bytes / BYTES_PER_MILLISECOND).unwrap_or(i64::MAX);
                gathered.max(at.0.saturating_add(written))
            }
        };
        Moment(own.max(self.free))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn due(changed: i64, last: Option<(i64, u64)>, took: Option<(u64, i64)>) -> i64 {
        let mut renders = Renders::default();
        if let Some((microseconds, now)) = took {
            renders.took(microseconds, Moment(now));
        }
        renders.due(Moment(changed), last.map(|(at, bytes)| (Moment(at), bytes))).0
    }

    #[test]
    fn at_once_after_a_calm_second_else_gathered_and_stretched() {
        assert_eq!(due(5_000, None, None), 5_000);
        assert_eq!(due(5_000, Some((4_000, 10_000)), None), 5_000);
        assert_eq!(due(5_000, Some((4_900, 10_000)), None), 5_250);
        assert_eq!(due(5_000, Some((4_900, 2_000_000)), None), 6_900);
        for (microseconds, expected) in
            [(0, 5_000), (1, 5_001), (300, 5_015), (30_000, 6_500), (9_000_000, 10_000)]
        {
            assert_eq!(due(5_000, None, Some((microseconds, 5_000))), expected);
        }
    }
}
