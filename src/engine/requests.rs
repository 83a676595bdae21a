//! Requests: what each waits for, and its answer.
//!
//! Invariant: every request is answered once, unless its client is gone. Refuses: names that fit no
//! session, or several.
use super::{
    Engine, Open, Wait,
    event::{Effect, RequestId, Task},
    request::{Reply, Request},
    tracked::Tracked,
};
use crate::{paths::SessionId, text::time::Moment};

impl<K> Engine<K> {
    pub(super) fn request(
        &mut self,
        id: RequestId,
        request: Request,
        now: Moment,
        effects: &mut Vec<Effect<K>>,
    ) {
        match request {
            Request::Status { sync: true, .. } => {
                let wait = Wait::Resync(self.resync(effects));
                self.requests.insert(id, Open { request, wait });
            }
            Request::Status { session, sync: false } => {
                effects.push(Effect::Reply(id, self.status_reply(session.as_deref(), now)));
            }
            Request::Sessions {} => {
                effects.push(Effect::Reply(id, Reply::Sessions(self.all_sessions(now))));
            }
            Request::Hook(event) => self.hook(id, *event, now, effects),
            request @ (Request::Seal { .. } | Request::Drain { .. }) => {
                self.seal(id, request, false, now, effects);
            }
            Request::Shutdown {} => {
                self.stopping = true;
                effects.push(Effect::Reply(id, Reply::Done));
            }
            request => self.of_session(id, request, false, effects),
        }
    }

    /// A request that names a session. One that nobody has seen may be new: all files are looked
    /// at, once.
    pub(super) fn of_session(
        &mut self,
        id: RequestId,
        request: Request,
        looked: bool,
        effects: &mut Vec<Effect<K>>,
    ) {
        let (name, task) = match &request {
            Request::Render { session } => (session, Task::Write),
            Request::Flush { session } => (session, Task::Read),
            Request::Archive { session } => (session, Task::Archive),
            Request::Forget { session } => (session, Task::Forget),
            Request::Status { .. }
            | Request::Sessions {}
            | Request::Seal { .. }
            | Request::Drain { .. }
            | Request::Hook(_)
            | Request::Shutdown {} => return,
        };
        match self.find(name) {
            Ok(session) => {
                self.change(&session, |tracked| tracked.ask(task));
                self.requests.insert(id, Open { request, wait: Wait::Session(session) });
            }
            Err(_) if !looked => {
                let wait = Wait::Resync(self.resync(effects));
                self.requests.insert(id, Open { request, wait });
            }
            Err(why) => effects.push(Effect::Reply(id, Reply::Error(why))),
        }
    }

    /// The session with this id, or the only one that begins like it.
    pub(super) fn find(&self, name: &str) -> Result<SessionId, String> {
        let known = |tracked: &Tracked<K>| !tracked.files().is_empty() || tracked.has_bottle();
        let mut found = self.sessions.iter().filter(|(id, tracked)| {
            id.as_str().starts_with(name) && !name.is_empty() && known(tracked)
        });
        match (found.next(), found.next()) {
            (Some((id, _)), None) => Ok(id.clone()),
            (Some((id, _)), Some(_)) if id.as_str() == name => Ok(id.clone()),
            (None, _) => Err(format!(
                "the service knows no session `{name}`: none begins so (`endless list`), or it is kept \
                 out or forgotten"
            )),
            (Some(_), Some(_)) => {
                Err(format!("several sessions begin with `{name}`; give more of the id"))
            }
        }
    }

    /// Answers the requests that waited for a job of this session.
    pub(super) fn answer_session(
        &mut self,
        session: &SessionId,
        task: Task,
        now: Moment,
        effects: &mut Vec<Effect<K>>,
    ) {
        let settled = self.sessions.get(session).is_none_or(|tracked| !tracked.is_asked());
        let waits = |open: &Open| matches!(&open.wait, Wait::Session(id) if id == session);
        let ready: Vec<RequestId> = self
            .requests
            .iter()
            .filter(|(_, open)| settled && waits(open))
            .map(|(id, _)| *id)
            .collect();
        for id in ready {
            self.requests.remove(&id);
            let reply = match self.session_status(session, now) {
                None => Reply::Done,
                Some(status) => match (&status.trouble, task) {
                    (Some(why), _) => Reply::Error(why.clone()),
                    (None, Task::Archive | Task::Forget) => Reply::Done,
                    (None, _) => Reply::Session(Box::new(status)),
                },
            };
            effects.push(Effect::Reply(id, reply));
        }
    }

    /// Answers `status --sync` once nothing hot is left to read.
    pub(super) fn answer_synced(&mut self, now: Moment, effects: &mut Vec<Effect<K>>) {
        let hot = self.settings.limits.hot;
        if self.active().any(|tracked| tracked.is_behind() && tracked.is_hot(now, hot)) {
            return;
        }
        let ready: Vec<RequestId> = self
            .requests
            .iter()
            .filter(|(_, open)| open.wait == Wait::Hot)
            .map(|(id, _)| *id)
            .collect();
        for id in ready {
            let Some(open) = self.requests.remove(&id) else { continue };
            if let Request::Status { session, .. } = open.request {
                effects.push(Effect::Reply(id, self.status_reply(session.as_deref(), now)));
            }
        }
    }
}
