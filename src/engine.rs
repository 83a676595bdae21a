//! The engine: what the service knows of every session, and what it wants done next.
//!
//! Pure: one event in, a list of effects out, time as a parameter. It never touches a file, a
//! clock, a channel or a thread; what the worker keeps of a session (`K`) passes through unseen.
//!
//! Invariants:
//! - One job at a time for each session; what changes meanwhile is done by the next job.
//! - Every request is answered once, unless its client is gone.
//! - What was there before Endless was installed is known, not read, until it changes or somebody
//!   asks.

pub mod delivery;
pub mod drain;
pub mod event;
mod flows;
pub mod hook;
mod observe;
pub mod request;
mod requests;
mod schedule;
mod seal;
mod status;
#[cfg(test)]
mod tests;
mod tracked;
pub mod wire;

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use event::{Done, Effect, Event, FileSeen, RequestId, Task, TriggerFile};
use request::{Request, Served, WatchStatus};
use schedule::Renders;
use seal::Flow;
use tracked::Tracked;

use crate::{paths::SessionId, text::time::Moment};

/// What may change while the engine runs.
#[derive(Debug, Clone)]
pub struct Limits {
    /// The folders that are watched, for status.
    pub roots: Vec<String>,
    /// A transcript is hot for this long after a change, in milliseconds.
    pub hot: i64,
    /// A session is dropped from memory this long after its last change, in milliseconds.
    pub idle: i64,
    /// Bytes of words that may stay in memory.
    pub budget: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self { roots: Vec::new(), hot: 10 * 60 * 1_000, idle: 60 * 60 * 1_000, budget: 256 << 20 }
    }
}

/// What the engine is set up with.
#[derive(Debug, Clone)]
pub struct Settings {
    /// What may change later.
    pub limits: Limits,
    /// Jobs that may run at once.
    pub workers: usize,
    /// When Endless was installed: what changed before, and has no bottle, is history.
    pub installed: Moment,
    /// Sessions that are forgotten.
    pub forgotten: HashSet<SessionId>,
    /// Archived sessions, and how many messages they had then.
    pub archived: HashMap<SessionId, u64>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            limits: Limits::default(),
            workers: 2,
            installed: Moment(0),
            forgotten: HashSet::new(),
            archived: HashMap::new(),
        }
    }
}

/// The service's state. See the module.
#[derive(Debug)]
pub struct Engine<K> {
    settings: Settings,
    sessions: BTreeMap<SessionId, Tracked<K>>,
    /// Sessions with something to do or under way: thousands may be known, few are here.
    active: BTreeSet<SessionId>,
    /// Sessions in memory.
    resident: BTreeSet<SessionId>,
    requests: BTreeMap<RequestId, Open>,
    /// What events of the host have set off.
    flows: BTreeMap<RequestId, Flow>,
    /// Sessions that were hot when it was last looked.
    hot: BTreeSet<SessionId>,
    /// What was told of them.
    observed: BTreeSet<SessionId>,
    observing: Served,
    watch: WatchStatus,
    renders: Renders,
    troubles: BTreeMap<&'static str, String>,
    jobs: usize,
    /// What is there was told once: from now on a file that is told has changed, whatever its time.
    listed: bool,
    next_token: u64,
    written: u64,
    stopping: bool,
    /// When the last event came.
    last: Moment,
}

/// A request that is not answered yet.
#[derive(Debug)]
struct Open {
    request: Request,
    wait: Wait,
}

/// What a request waits for.
#[derive(Debug, PartialEq, Eq)]
enum Wait {
    /// All changes told, by this resync.
    Resync(u64),
    /// The hot transcripts of that moment read.
    Hot,
    /// A job of this session that began after the request.
    Session(SessionId),
}

impl<K> Engine<K> {
    /// An engine that knows nothing yet.
    pub fn new(settings: Settings) -> Self {
        Self {
            settings,
            sessions: BTreeMap::new(),
            active: BTreeSet::new(),
            resident: BTreeSet::new(),
            requests: BTreeMap::new(),
            flows: BTreeMap::new(),
            hot: BTreeSet::new(),
            observed: BTreeSet::new(),
            observing: Served::default(),
            watch: WatchStatus::default(),
            renders: Renders::default(),
            troubles: BTreeMap::new(),
            jobs: 0,
            listed: false,
            next_token: 1,
            written: 0,
            stopping: false,
            last: Moment(0),
        }
    }

    /// Takes an event; what is to be done now.
    pub fn handle(&mut self, event: Event<K>, now: Moment) -> Vec<Effect<K>> {
        let mut effects = Vec::new();
        if now < self.last {
            self.clock_set_back(now);
        }
        self.last = now;
        match event {
            Event::Files(files) => self.files(files, now),
            Event::Gone(paths) => {
                for (id, path) in paths {
                    self.change(&id, |tracked| tracked.gone(&path, now));
                }
            }
            Event::Bottles(bottles) => {
                for (id, bottle) in bottles {
                    self.ensure(&id);
                    self.change(&id, |tracked| tracked.found_bottle(bottle));
                }
            }
            Event::Trigger(id, file) => self.trigger(&id, file, &mut effects),
            Event::Watching(watch) => self.watch = watch,
            Event::NewRoots => {
                self.listed = false;
                self.resync(&mut effects);
            }
            Event::Resynced(token) => self.resynced(token, now, &mut effects),
            Event::Observed(sessions) => self.rows_changed(&sessions, now),
            Event::Observing(served) => self.observing = served,
            Event::Request(id, request) => self.request(id, request, now, &mut effects),
            Event::HungUp(id) => self.hung_up(id),
            Event::Done(done) => self.done(*done, now, &mut effects),
            Event::Stored(Ok(())) => drop(self.troubles.remove("store")),
            Event::Stored(Err(why)) => drop(self.troubles.insert("store", why)),
            Event::Started(why) => drop(self.troubles.insert("start", why)),
            Event::Configured(limits) => self.settings.limits = limits,
            Event::Stop => self.stopping = true,
            Event::Tick => self.tick(now),
        }
        self.observe(&mut effects);
        self.pump(now, &mut effects);
        effects
    }

    /// When something is to be done next without an event, if ever. While all workers are busy only
    /// the end of a job changes anything.
    pub fn next_wake(&self) -> Option<Moment> {
        if self.jobs >= self.settings.workers {
            return None;
        }
        let sessions = self.active().filter_map(|tracked| tracked.due(&self.renders));
        sessions.chain(self.flows_due()).min()
    }

    fn active(&self) -> impl Iterator<Item = &Tracked<K>> {
        self.active.iter().filter_map(|id| self.sessions.get(id))
    }

    fn ensure(&mut self, id: &SessionId) {
        if !self.sessions.contains_key(id) {
            let archived = self.settings.archived.get(id).copied();
            self.sessions.insert(id.clone(), Tracked::new(archived));
        }
    }

    /// Changes a session, if it is known, and notes whether it has something to do now.
    fn change<R>(
        &mut self,
        id: &SessionId,
        change: impl FnOnce(&mut Tracked<K>) -> R,
    ) -> Option<R> {
        let tracked = self.sessions.get_mut(id)?;
        let result = change(tracked);
        note(&mut self.active, id, tracked.is_active());
        note(&mut self.resident, id, tracked.is_resident());
        Some(result)
    }

    fn files(&mut self, files: Vec<FileSeen>, now: Moment) {
        for seen in files {
            // What changes now is for the next service, which will see it.
            if self.stopping {
                return;
            }
            if self.settings.forgotten.contains(&seen.id) {
                continue;
            }
            let hot = now.0.saturating_sub(seen.modified.0) < self.settings.limits.hot;
            let has_bottle = self.sessions.get(&seen.id).is_some_and(Tracked::has_bottle);
            let is_old = seen.modified < self.settings.installed;
            let history = !self.listed && is_old && !hot && !has_bottle;
            let to_read = !seen.unchanged && !history;
            let id = seen.id.clone();
            if hot {
                self.hot.insert(id.clone());
            }
            self.ensure(&id);
            self.change(&id, |tracked| tracked.seen(seen, to_read, now));
        }
    }

    /// Somebody asks to look at a session by a trigger file. One that nobody has seen may be new:
    /// all files are looked at first.
    fn trigger(&mut self, id: &SessionId, file: TriggerFile, effects: &mut Vec<Effect<K>>) {
        if self.settings.forgotten.contains(id) {
            effects.push(Effect::RemoveTrigger(file));
            return;
        }
        let unknown = self.sessions.get(id).is_none_or(|tracked| tracked.files().is_empty());
        let token = unknown.then(|| self.resync(effects));
        self.ensure(id);
        self.change(id, |tracked| tracked.triggered(file, token));
    }

    fn resync(&mut self, effects: &mut Vec<Effect<K>>) -> u64 {
        let token = self.next_token;
        self.next_token += 1;
        effects.push(Effect::Resync(token));
        token
    }

    fn resynced(&mut self, token: u64, now: Moment, effects: &mut Vec<Effect<K>>) {
        self.listed = true;
        for id in self.active.clone() {
            let paths = self.change(&id, |tracked| tracked.resynced(token)).unwrap_or_default();
            effects.extend(paths.into_iter().map(Effect::RemoveTrigger));
        }
        let waiting = |open: &Open| matches!(open.wait, Wait::Resync(at) if at <= token);
        let ready: Vec<RequestId> =
            self.requests.iter().filter(|(_, open)| waiting(open)).map(|(id, _)| *id).collect();
        for id in ready {
            let Some(open) = self.requests.remove(&id) else { continue };
            match open.request {
                Request::Status { .. } => {
                    self.requests.insert(id, Open { wait: Wait::Hot, ..open });
                    self.answer_synced(now, effects);
                }
                request @ (Request::Seal { .. } | Request::Drain { .. }) => {
                    self.seal(id, request, true, now, effects);
                }
                request => self.of_session(id, request, true, effects),
            }
        }
    }

    fn done(&mut self, mut done: Done<K>, now: Moment, effects: &mut Vec<Effect<K>>) {
        self.jobs -= 1;
        let (id, task) = (done.id.clone(), done.task);
        let errand = done.errand.take();
        let length = done.read.as_ref().map_or(0, |read| read.bytes);
        if let Some(Ok(wrote)) = &done.written {
            self.renders.took(wrote.took, now);
            self.written += u64::from(wrote.changed);
        }
        if task == Task::Forget && done.read.is_ok() {
            self.settings.forgotten.insert(id.clone());
            if let Some(mut tracked) = self.sessions.remove(&id) {
                effects.extend(tracked.take_triggers().into_iter().map(Effect::RemoveTrigger));
            }
            self.active.remove(&id);
            self.resident.remove(&id);
        } else if let Some(files) = self.change(&id, |tracked| tracked.done(done, now)) {
            if files.iter().any(|file| file.arms(now)) {
                self.seal_unasked(&id, now);
            }
            effects.extend(files.into_iter().map(Effect::RemoveTrigger));
        }
        self.answer_session(&id, task, now, effects);
        if let Some((flow, outcome)) = errand {
            self.flow_done(flow, outcome, length, now, effects);
        }
        self.answer_synced(now, effects);
        self.keep_to_the_budget();
    }

    /// What was put off until some time is not put off for as long as the clock was set back.
    fn clock_set_back(&mut self, now: Moment) {
        self.renders.clock_set_back(now);
        self.sessions.values_mut().for_each(|tracked| tracked.clock_set_back(now));
        self.flows.values_mut().for_each(|flow| flow.clock_set_back(now));
    }

    fn tick(&mut self, now: Moment) {
        let Limits { idle, hot, .. } = self.settings.limits;
        let sessions = &self.sessions;
        self.hot.retain(|id| sessions.get(id).is_some_and(|tracked| tracked.is_hot(now, hot)));
        for id in self.resident.clone() {
            self.change(&id, |tracked| tracked.rest(now, idle));
        }
    }

    /// Drops the sessions from memory that were not used for longest, until the rest fits.
    fn keep_to_the_budget(&mut self) {
        let all = || self.resident.iter().filter_map(|id| Some((id, self.sessions.get(id)?)));
        let mut kept: u64 = all().map(|(_, tracked)| tracked.kept_bytes()).sum();
        if kept <= self.settings.limits.budget {
            return;
        }
        // First those whose bottles are current.
        let mut droppable: Vec<(bool, Moment, SessionId)> = all()
            .filter(|(_, tracked)| tracked.can_be_dropped() || tracked.can_be_read_again())
            .map(|(id, tracked)| (!tracked.can_be_dropped(), tracked.last_used(), id.clone()))
            .collect();
        droppable.sort();
        for (_, _, id) in droppable {
            if kept <= self.settings.limits.budget {
                return;
            }
            kept -= self.change(&id, Tracked::drop_kept).unwrap_or_default();
        }
    }

    /// Gives jobs out while there are workers, in the order of [`Tracked::urgency`].
    fn pump(&mut self, now: Moment, effects: &mut Vec<Effect<K>>) {
        while self.jobs < self.settings.workers {
            let (id, task, errand) = match self.next_errand(now) {
                Some((id, task, errand)) => (id, task, Some(errand)),
                None => match self.next_job(now) {
                    Some((id, task)) => (id, task, None),
                    None => break,
                },
            };
            let job = self.change(&id, |tracked| tracked.start(id.clone(), task, errand));
            let Some(job) = job else { break };
            effects.push(Effect::Work(Box::new(job)));
            self.jobs += 1;
        }
        if self.stopping && self.jobs == 0 {
            effects.push(Effect::Exit);
        }
    }
}

impl<K> Engine<K> {
    fn next_job(&self, now: Moment) -> Option<(SessionId, Task)> {
        let hot = self.settings.limits.hot;
        let wants = |id| {
            let tracked = self.sessions.get(id)?;
            let task = if self.stopping {
                tracked.wants_at_the_end()?
            } else {
                tracked.wants(&self.renders, now, hot)?
            };
            Some((tracked.urgency(now, hot), id, task))
        };
        let all = self.active.iter().filter_map(wants);
        all.max_by_key(|(urgency, ..)| *urgency).map(|(_, id, task)| (id.clone(), task))
    }
}

fn note(set: &mut BTreeSet<SessionId>, id: &SessionId, belongs: bool) {
    if !belongs {
        set.remove(id);
    } else if !set.contains(id) {
        set.insert(id.clone());
    }
}
