//! How the service and its sessions are, as data.
//!
//! Health is the newest change that was read against the newest on disk, not that a process is
//! there.
use super::{
    Engine,
    request::{Reply, SessionStatus, Source, Status, Totals},
    tracked::Tracked,
};
use crate::{paths::SessionId, text::time::Moment};

/// Sessions that a status lists.
const LISTED: usize = 100;

impl<K> Engine<K> {
    pub(super) fn status_reply(&self, session: Option<&str>, now: Moment) -> Reply {
        let sessions = match session {
            None => self.live_sessions(now),
            Some(name) => match self.find(name) {
                Ok(id) => self.session_status(&id, now).into_iter().collect(),
                Err(why) => return Reply::Error(why),
            },
        };
        Reply::Status(Box::new(Status {
            watch: self.watch.clone(),
            roots: self.settings.limits.roots.clone(),
            observations: self.observing.clone(),
            totals: self.totals(now),
            sessions,
            troubles: self.troubles.values().cloned().collect(),
            ..Status::default()
        }))
    }

    pub(super) fn session_status(&self, id: &SessionId, now: Moment) -> Option<SessionStatus> {
        self.sessions.get(id).map(|tracked| self.of(id, tracked, now))
    }

    pub(super) fn all_sessions(&self, now: Moment) -> Vec<SessionStatus> {
        let mut all: Vec<_> =
            self.sessions.iter().map(|(id, tracked)| self.of(id, tracked, now)).collect();
        all.sort_by(|a, b| (b.changed, &a.id).cmp(&(a.changed, &b.id)));
        all
    }

    /// The sessions that are hot, in memory, or in trouble.
    fn live_sessions(&self, now: Moment) -> Vec<SessionStatus> {
        let live = |status: &SessionStatus| {
            let is_live = status.hot || status.resident || status.facts.is_some();
            is_live || status.trouble.is_some() || status.source == Source::NeverWritten
        };
        let mut all = self.all_sessions(now);
        all.retain(live);
        all.truncate(LISTED);
        all
    }

    fn of(&self, id: &SessionId, tracked: &Tracked<K>, now: Moment) -> SessionStatus {
        let files = tracked.files();
        SessionStatus {
            id: id.to_string(),
            source: if !files.is_empty() {
                Source::Present
            } else if tracked.was_there() {
                Source::Gone
            } else {
                Source::NeverWritten
            },
            files: files.iter().map(|file| file.path.display().to_string()).collect(),
            disk: tracked.disk(),
            read: tracked.read,
            changed: tracked.changed().0,
            hot: self.is_hot(tracked, now),
            resident: tracked.is_resident(),
            facts: tracked.facts.clone(),
            bottle: tracked.bottle.clone(),
            trouble: tracked.trouble.clone(),
        }
    }

    fn is_hot(&self, tracked: &Tracked<K>, now: Moment) -> bool {
        !tracked.files().is_empty()
            && now.0.saturating_sub(tracked.changed().0) < self.settings.limits.hot
    }

    fn totals(&self, now: Moment) -> Totals {
        let mut totals = Totals { written: self.written, ..Totals::default() };
        for tracked in self.sessions.values().filter(|tracked| !tracked.files().is_empty()) {
            totals.sessions += 1;
            totals.bytes += tracked.disk();
            totals.unwritten += u64::from(tracked.is_unwritten());
            totals.resident += u64::from(tracked.is_resident());
            totals.newest_on_disk = totals.newest_on_disk.max(tracked.changed().0);
            totals.newest_read = totals.newest_read.max(tracked.newest_read.0);
            if self.is_hot(tracked, now) {
                totals.hot += 1;
                totals.behind += tracked.disk().saturating_sub(tracked.read);
            }
        }
        totals
    }
}
