//! How events of the host become flows, and flows become jobs and answers.
//!
//! Invariant: a hook that only tells something is answered at once; one that may print is answered
//! by its flow, and is not printed for once its client is gone.
use super::{
    Engine, Open, Wait,
    event::{Effect, Errand, Outcome, RequestId, Task},
    hook::{HookEvent, HookKind, SealReply},
    request::{Reply, Request},
    seal::{Aim, Flow, UNASKED},
};
use crate::{paths::SessionId, session::flush::Barrier, text::time::Moment};

/// How long a flush may take that nobody waits for, in milliseconds.
const PATIENCE: i64 = 2_000;

impl<K> Engine<K> {
    /// A hook tells what happened.
    pub(super) fn hook(
        &mut self,
        id: RequestId,
        hook: HookEvent,
        now: Moment,
        effects: &mut Vec<Effect<K>>,
    ) {
        let HookEvent { session, event, token, deadline, .. } = hook;
        let Ok(session) = session.parse::<SessionId>() else {
            let why = format!("`{session}` is no session id");
            effects.push(Effect::Reply(id, Reply::Error(why)));
            return;
        };
        if self.settings.forgotten.contains(&session) {
            effects.push(Effect::Reply(id, Reply::Print(None)));
            return;
        }
        let patience = i64::try_from(deadline).unwrap_or(PATIENCE).min(PATIENCE);
        let flow = |engine: &mut Self, aim, barrier| {
            let flow = Flow::new(session.clone(), aim, barrier, now, patience);
            engine.flows.insert(id, flow);
        };
        match event {
            HookKind::Compacted {} => flow(self, Aim::Print { token }, Barrier::Nothing),
            HookKind::Resumed { always } => {
                flow(self, Aim::Due { token, resumed: true, always }, Barrier::Nothing);
            }
            HookKind::Prompted { prompt } => {
                self.ensure(&session);
                self.change(&session, |tracked| tracked.announce(prompt));
                flow(self, Aim::Due { token, resumed: false, always: false }, Barrier::Nothing);
            }
            HookKind::Compacting { cause } => {
                self.ensure(&session);
                let announced = self.change(&session, |tracked| tracked.announced.clone());
                let announced = announced.flatten();
                // Where nothing was announced, a person's own command finds all written.
                let barrier = if cause == "manual" && announced.is_none() {
                    Barrier::Nothing
                } else {
                    Barrier::Prompt(announced)
                };
                flow(self, Aim::Seal { cause }, barrier);
            }
            HookKind::Permission { parent } => {
                // The host may not have written yet what it copied.
                flow(self, Aim::Linked { parent: parent.clone() }, Barrier::Linked(parent));
            }
            other => {
                self.told(&session, other, now);
                effects.push(Effect::Reply(id, Reply::Print(None)));
            }
        }
    }

    /// What needs no answer but that it was heard.
    fn told(&mut self, session: &SessionId, event: HookKind, now: Moment) {
        match event {
            HookKind::Ended { words } => {
                self.ensure(session);
                let recorded = self.change(session, |tracked| tracked.turn).flatten();
                let barrier =
                    words.map_or(Barrier::Nothing, |words| Barrier::Turn { words, recorded });
                let flow = Flow::new(session.clone(), Aim::Turn, barrier, now, PATIENCE);
                self.unasked(flow);
            }
            HookKind::Cleared {} => {
                self.ensure(session);
                self.change(session, |tracked| tracked.ask(Task::Archive));
            }
            // A session exists for us once its file has a row.
            _ => {}
        }
    }

    /// Starts a flow that nobody waits for.
    fn unasked(&mut self, flow: Flow) {
        self.next_token += 1;
        self.flows.insert(UNASKED | self.next_token, flow);
    }

    /// A trigger file asks for a seal.
    pub(super) fn seal_unasked(&mut self, session: &SessionId, now: Moment) {
        let announced = self.change(session, |tracked| tracked.announced.clone()).flatten();
        let aim = Aim::Seal { cause: "trigger".to_owned() };
        let barrier = Barrier::Prompt(announced);
        self.unasked(Flow::new(session.clone(), aim, barrier, now, PATIENCE));
    }

    /// A command asks for a seal or a drain. A session that nobody has seen may be new: all files are
    /// looked at, once.
    pub(super) fn seal(
        &mut self,
        id: RequestId,
        request: Request,
        looked: bool,
        now: Moment,
        effects: &mut Vec<Effect<K>>,
    ) {
        let (name, aim, drains) = match &request {
            Request::Seal { session, timeout } => {
                let aim = Aim::Seal { cause: "command".to_owned() };
                (session, aim, timeout.map(Some))
            }
            Request::Drain { session, timeout_ms } => (session, Aim::Drain, Some(*timeout_ms)),
            _ => return,
        };
        match self.find(name) {
            Ok(session) => {
                let announced =
                    self.change(&session, |tracked| tracked.announced.clone()).flatten();
                let flow = Flow::new(session, aim, Barrier::Prompt(announced), now, PATIENCE);
                let flow = match drains {
                    Some(timeout) => flow.draining(timeout),
                    None => flow,
                };
                self.flows.insert(id, flow);
            }
            Err(_) if !looked => {
                let wait = Wait::Resync(self.resync(effects));
                self.requests.insert(id, Open { request, wait });
            }
            Err(why) => effects.push(Effect::Reply(id, Reply::Error(why))),
        }
    }

    /// The client of a request is gone. What would be printed to nobody is not claimed.
    pub(super) fn hung_up(&mut self, id: RequestId) {
        self.requests.remove(&id);
        if self.flows.get(&id).is_some_and(Flow::is_print) {
            self.flows.remove(&id);
        }
    }

    /// When a flow wants to go on, if none of its session's jobs is under way.
    pub(super) fn flows_due(&self) -> impl Iterator<Item = Moment> {
        self.flows.values().filter(|flow| self.is_free(flow)).filter_map(Flow::due)
    }

    fn is_free(&self, flow: &Flow) -> bool {
        self.sessions.get(&flow.session).is_none_or(|tracked| tracked.is_free())
    }

    /// The next job that a flow wants.
    pub(super) fn next_errand(
        &mut self,
        now: Moment,
    ) -> Option<(SessionId, Task, (RequestId, Errand))> {
        let wants = |(id, flow): (&RequestId, &Flow)| {
            let errand = flow.wants(now).filter(|_| self.is_free(flow))?;
            Some((*id, flow.session.clone(), errand))
        };
        let (id, session, errand) = self.flows.iter().find_map(wants)?;
        if let Some(flow) = self.flows.get_mut(&id) {
            flow.begun();
        }
        self.ensure(&session);
        let reads = matches!(errand, Errand::Look(_) | Errand::Linked { .. });
        let task = if reads { Task::Read } else { Task::Write };
        Some((session, task, (id, errand)))
    }

    /// A job of a flow is done.
    pub(super) fn flow_done(
        &mut self,
        id: RequestId,
        outcome: Outcome,
        length: u64,
        now: Moment,
        effects: &mut Vec<Effect<K>>,
    ) {
        let Some(flow) = self.flows.get_mut(&id) else { return };
        if let Outcome::Looked(held) = outcome {
            flow.looked(held, length, now);
            return;
        }
        if let Outcome::Covered(coverage) = outcome {
            if let Some(reply) = flow.covered(coverage, now) {
                self.flows.remove(&id);
                effects.push(Effect::Reply(id, Reply::Drain(reply)));
            }
            return;
        }
        let Some(flow) = self.flows.remove(&id) else { return };
        if let Some(turn) = flow.turn() {
            self.change(&flow.session, |tracked| tracked.turn = Some(turn));
        }
        let reply = match outcome {
            Outcome::Sealed(reply) => Reply::Seal(reply),
            Outcome::Printed(text) => Reply::Print(text),
            Outcome::Unknown => Reply::Unknown,
            Outcome::Allowed(linked) => Reply::Allowed(linked),
            Outcome::Failed(why) => Reply::Error(why),
            Outcome::Nothing | Outcome::Looked(_) | Outcome::Covered(_) => {
                Reply::Seal(SealReply::default())
            }
        };
        if id < UNASKED {
            effects.push(Effect::Reply(id, reply));
        }
    }
}

#[cfg(test)]
mod tests;
