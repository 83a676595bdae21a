//! What an event of the host sets off: flush, then seal, print, or note the end of a turn. Pure.
//!
//! A flow is a small state machine. It reads the transcript to its end until its barrier holds, or
//! nothing has grown for a while, or its time is over; then it does what it is for, once. Every
//! step is one job of the worker; between them the flow waits for a moment, and nobody else waits
//! for it.
//!
//! A flow that drains writes the bottle until all tool traffic is covered before it does its work; see
//! [`drain`](super::drain).
//!
//! Invariant: a flow ends after its deadline at the latest with the next job, and does its work also
//! where the barrier never came: the bottle is made from what is there, and says so.

use super::{
    drain::{Coverage, Drain, DrainReply, TICK},
    event::{Errand, RequestId},
};
use crate::{
    paths::SessionId,
    session::flush::{Barrier, Held},
    text::time::Moment,
};

/// How long it is waited between two looks at the transcript, in milliseconds.
pub(super) const PAUSE: i64 = 10;
/// Where nothing has grown for this long, the host has nothing more to write, in milliseconds: it
/// writes on a timer of 100 (facts).
pub(super) const QUIET: i64 = 200;

/// What a flow is for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Aim {
    /// Write the bottle and record the seal.
    Seal { cause: String },
    /// Write the bottle until it covers all tool traffic, or that makes no sense any more.
    Drain,
    /// Print the pointer.
    Print { token: String },
    /// Print the pointer if one is due.
    Due { token: String, resumed: bool, always: bool },
    /// Write the bottle at the end of a turn.
    Turn,
    /// Say whether a pointer of another session stands in the transcript.
    Linked { parent: String },
}

/// A flow under way.
#[derive(Debug)]
pub(super) struct Flow {
    pub(super) session: SessionId,
    pub(super) aim: Aim,
    barrier: Barrier,
    began: Moment,
    deadline: Moment,
    /// The length of the transcript at the last look, and when it was first seen.
    length: Option<(u64, Moment)>,
    held: Held,
    /// It waits until tool traffic is covered before it does what it is for.
    drain: Option<Drain>,
    step: Step,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Step {
    /// Look at the transcript, at this time.
    Look(Moment),
    /// Write the bottle and look at what it covers, at this time.
    Cover(Moment),
    /// Do what the flow is for.
    Finish,
    /// A job is under way.
    Busy,
}

impl Flow {
    /// A flow that begins now. Without a barrier the last job's own reading is enough.
    pub(super) fn new(
        session: SessionId,
        aim: Aim,
        barrier: Barrier,
        now: Moment,
        patience: i64,
    ) -> Self {
        let step = if barrier == Barrier::Nothing { Step::Finish } else { Step::Look(now) };
        let held = Held { holds: barrier == Barrier::Nothing, turn: None };
        let deadline = Moment(now.0.saturating_add(patience));
        Self { session, aim, barrier, began: now, deadline, length: None, held, drain: None, step }
    }

    /// The same, which then waits this long, in milliseconds, until tool traffic is covered.
    pub(super) fn draining(mut self, timeout: Option<u64>) -> Self {
        self.drain = Some(Drain::new(self.began, timeout));
        if self.step == Step::Finish {
            self.step = Step::Cover(self.began);
        }
        self
    }

    /// What is to be done now, if anything; it counts as begun.
    pub(super) fn wants(&self, now: Moment) -> Option<Errand> {
        match self.step {
            Step::Look(at) if at <= now => Some(Errand::Look(self.barrier.clone())),
            Step::Cover(at) if at <= now => Some(Errand::Cover),
            Step::Finish => Some(self.errand()),
            Step::Look(_) | Step::Cover(_) | Step::Busy => None,
        }
    }

    fn errand(&self) -> Errand {
        let held = self.held.holds;
        // What is claimed must still be put into words, and be answered.
        let until = Moment(self.deadline.0 - (self.deadline.0 - self.began.0) / 4);
        match &self.aim {
            Aim::Seal { cause } => Errand::Seal { cause: cause.clone(), held, began: self.began },
            Aim::Print { token } => Errand::Print { token: token.clone(), until },
            Aim::Due { token, resumed, always } => {
                Errand::Due { token: token.clone(), until, resumed: *resumed, always: *always }
            }
            Aim::Drain | Aim::Turn => Errand::Nothing,
            Aim::Linked { parent } => Errand::Linked { parent: parent.clone() },
        }
    }

    /// The job that it wanted has begun.
    pub(super) fn begun(&mut self) {
        self.step = Step::Busy;
    }

    /// When it wants to look again.
    pub(super) fn due(&self) -> Option<Moment> {
        match self.step {
            Step::Look(at) | Step::Cover(at) => Some(at),
            Step::Finish => Some(Moment(0)),
            Step::Busy => None,
        }
    }

    /// It was looked: whether the barrier holds, and how long the transcript is.
    pub(super) fn looked(&mut self, held: Held, length: u64, now: Moment) {
        self.held = held;
        let since = match self.length {
            Some((known, since)) if known == length => since,
            _ => now,
        };
        self.length = Some((length, since));
        let is_quiet = now.0.saturating_sub(since.0) >= QUIET;
        self.step = if held.holds || is_quiet || now >= self.deadline {
            if self.drain.is_some() { Step::Cover(now) } else { Step::Finish }
        } else {
            Step::Look(Moment(now.0.saturating_add(PAUSE).min(self.deadline.0)))
        };
    }

    /// The bottle was written: what it covers. The answer of a flow that only waited for that, once
    /// it has ended.
    pub(super) fn covered(&mut self, coverage: Coverage, now: Moment) -> Option<DrainReply> {
        let Some(drain) = &mut self.drain else {
            self.step = Step::Finish;
            return None;
        };
        let Some(verdict) = drain.look(coverage, now) else {
            self.step = Step::Cover(drain.due(now));
            return None;
        };
        self.step = Step::Finish;
        (self.aim == Aim::Drain).then_some(DrainReply { pending: coverage.pending, verdict })
    }

    /// Something has changed that may cover tool traffic.
    pub(super) fn wake(&mut self, now: Moment) {
        if let Step::Cover(at) = &mut self.step {
            *at = (*at).min(now);
        }
    }

    /// Bytes before the last words of the turn that has ended.
    pub(super) fn turn(&self) -> Option<u64> {
        self.held.turn
    }

    /// It is earlier than it was: nothing is put off for as long.
    pub(super) fn clock_set_back(&mut self, now: Moment) {
        let late = self.began.0.saturating_sub(now.0).max(0);
        self.began = Moment(self.began.0 - late);
        self.deadline = Moment(self.deadline.0 - late);
        self.length = self.length.map(|(length, since)| (length, since.min(now)));
        if let Some(drain) = &mut self.drain {
            drain.clock_set_back(late);
        }
        if let Step::Cover(at) = self.step {
            self.step = Step::Cover(at.min(Moment(now.0.saturating_add(TICK))));
        }
        if let Step::Look(at) = self.step {
            self.step = Step::Look(at.min(Moment(now.0.saturating_add(PAUSE))));
        }
    }

    /// Its answer matters only while somebody waits for it.
    pub(super) fn is_print(&self) -> bool {
        matches!(self.aim, Aim::Print { .. } | Aim::Due { .. } | Aim::Drain)
    }
}

/// A flow of this number has nobody who waits for it.
pub(super) const UNASKED: RequestId = 1 << 63;

#[cfg(test)]
mod tests {
    use super::*;

    fn flow(barrier: Barrier, patience: i64) -> Flow {
        let aim = Aim::Seal { cause: "auto".to_owned() };
        Flow::new("s".parse().unwrap(), aim, barrier, Moment(1_000), patience)
    }

    /// What a flow does, where the looks give these lengths, each 10 ms after the other.
    fn run(patience: i64, looks: impl Fn(i64) -> (bool, u64)) -> (i64, bool) {
        let mut flow = flow(Barrier::Prompt(None), patience);
        let mut now = 1_000;
        loop {
            match flow.wants(Moment(now)) {
                Some(Errand::Look(_)) => {
                    flow.begun();
                    assert_eq!((flow.wants(Moment(now)), flow.due()), (None, None));
                    let (holds, length) = looks(now - 1_000);
                    flow.looked(Held { holds, turn: None }, length, Moment(now));
                }
                Some(Errand::Seal { held, .. }) => return (now - 1_000, held),
                other => {
                    assert_eq!(other, None);
                    now = flow.due().unwrap().0;
                }
            }
        }
    }

    #[test]
    fn a_flow_looks_until_the_barrier_holds_or_nothing_grows_or_time_is_over() {
        // At the first look; after 60 ms; never, and nothing grows; never, while all grows.
        assert_eq!(run(2_000, |_| (true, 5)), (0, true));
        assert_eq!(run(2_000, |at| (at >= 60, 5)), (60, true));
        assert_eq!(run(2_000, |_| (false, 5)), (200, false));
        assert_eq!(run(2_000, |at| (false, at.cast_unsigned())), (2_000, false));
        assert_eq!(run(2_000, |at| (false, at.min(100).cast_unsigned())), (300, false));
        assert_eq!(run(45, |at| (false, at.cast_unsigned())), (45, false));
    }

    #[test]
    fn without_a_barrier_one_job_is_enough() {
        let flow = flow(Barrier::Nothing, 0);
        assert!(matches!(flow.wants(Moment(1_000)), Some(Errand::Seal { held: true, .. })));
    }

    #[test]
    fn a_clock_that_is_set_back_keeps_nothing_waiting() {
        let mut flow = flow(Barrier::Prompt(None), 2_000);
        flow.begun();
        flow.looked(Held::default(), 5, Moment(1_000));
        flow.clock_set_back(Moment(10));
        assert_eq!(flow.due(), Some(Moment(20)));
        assert_eq!(flow.deadline, Moment(2_010));
    }
}
