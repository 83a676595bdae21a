//! claude-mem beside the workers: its rows for a bottle, and when they have changed.
//!
//! The workers share one connection, and ask for rows when they render. A thread of its own has
//! another, and looks every 250 ms for changes while a session is hot; while none is, it sleeps. File
//! events would not do: some come before what was committed can be seen.
//!
//! Refuses: to let a bottle wait for the database. What can't be read now is derived now.
use std::{
    collections::{BTreeSet, HashMap},
    sync::{Arc, Mutex, PoisonError},
    thread::JoinHandle,
    time::{Duration, Instant},
};

use crossbeam_channel::{Receiver, RecvTimeoutError, Sender, unbounded};

use super::Wake;
use crate::{
    config::{Config, Observations},
    engine::{event::Event, request::Served},
    observation::rows::Observed,
    paths::SessionId,
    sources::claude_mem::{ClaudeMem, Mark, Place, Unavailable, Version},
};

/// How often it is looked for changes.
const EVERY: Duration = Duration::from_millis(250);
/// How long a lock may hold a bottle up.
const BUSY: Duration = Duration::from_millis(250);
/// How long a locked database is left alone.
const REST: Duration = Duration::from_secs(2);
/// Why nothing is asked of claude-mem.
const SWITCHED_OFF: &str = "`observations` is `derived` in config.toml";
const UNKNOWN: &str = "claude-mem does not know the session";

/// The database as the workers read it.
#[derive(Clone)]
pub(super) struct Observer(Arc<Mutex<Shared>>);

struct Shared {
    source: Option<ClaudeMem>,
    /// It was locked, and is left alone until then.
    rests: Option<(Instant, Unavailable)>,
    /// Sessions whose bottles had to go without it.
    without: BTreeSet<SessionId>,
}

impl Shared {
    fn new(config: &Config) -> Self {
        Self { source: source(config), rests: None, without: BTreeSet::new() }
    }
}

/// What a worker keeps of a session's rows.
#[derive(Default)]
pub(super) struct Rows {
    version: Option<Version>,
    /// The rows; the same as long as they say the same.
    pub(super) observed: Option<Arc<Observed>>,
    /// Who serves the session, and why not claude-mem.
    pub(super) served: Served,
    /// Bytes of the rows in memory.
    pub(super) bytes: u64,
}

impl Observer {
    pub(super) fn new(config: &Config) -> Self {
        Self(Arc::new(Mutex::new(Shared::new(config))))
    }

    /// The sessions whose bottles had to go without the database, which can be read now.
    fn without(&self) -> Vec<SessionId> {
        let mut shared = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if shared.rests.as_ref().is_some_and(|(until, _)| Instant::now() < *until) {
            return Vec::new();
        }
        std::mem::take(&mut shared.without).into_iter().collect()
    }

    /// Lets go of the database while nobody needs it: its owner may want it for itself.
    fn close(&self) {
        let mut shared = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        shared.source.iter_mut().for_each(ClaudeMem::close);
    }

    pub(super) fn set(&self, config: &Config) {
        let mut shared = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        *shared = Shared::new(config);
    }

    /// Brings the rows of a session up to date.
    pub(super) fn look(&self, id: &SessionId, rows: &mut Rows) {
        let mut shared = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let why = match shared.look(id, rows) {
            None => SWITCHED_OFF.to_owned(),
            Some(Err(error)) => {
                shared.without.insert(id.clone());
                error.to_string()
            }
            Some(Ok(())) if rows.observed.is_some() => {
                rows.served = Served::claude_mem();
                return;
            }
            Some(Ok(())) => UNKNOWN.to_owned(),
        };
        if rows.observed.take().is_some() || rows.served.why.as_ref() != Some(&why) {
            rows.version = rows.version.filter(|_| why == UNKNOWN);
            rows.bytes = 0;
            rows.served = Served::derived(why);
        }
    }
}

impl Shared {
    /// None where nothing is to be asked.
    fn look(&mut self, id: &SessionId, rows: &mut Rows) -> Option<Result<(), Unavailable>> {
        let source = self.source.as_mut()?;
        if let Some((until, why)) = &self.rests {
            if Instant::now() < *until {
                return Some(Err(why.clone()));
            }
            self.rests = None;
        }
        let looked = source.version().and_then(|version| {
            if rows.version != Some(version) {
                let observed = source.observed(id.as_str())?;
                if rows.observed.as_deref() != observed.as_ref() {
                    rows.bytes = observed.as_ref().map_or(0, |rows| rows.bytes() as u64);
                    rows.observed = observed.map(Arc::new);
                }
                rows.version = Some(version);
            }
            Ok(())
        });
        if let Err(why @ Unavailable::Locked { .. }) = &looked {
            self.rests = Some((Instant::now() + REST, why.clone()));
        }
        Some(looked)
    }
}

fn place(config: &Config) -> Option<Place> {
    (config.observations != Observations::Derived).then(|| config.claude_mem.clone())
}

fn source(config: &Config) -> Option<ClaudeMem> {
    Some(ClaudeMem::new(place(config)?, BUSY))
}

enum Command {
    /// Changes of these sessions matter, and of no others.
    Hot(Vec<SessionId>),
    /// The database is here.
    Place(Option<Place>),
}

/// The thread that looks for changes.
pub(super) struct Poll {
    commands: Option<Sender<Command>>,
    thread: Option<JoinHandle<()>>,
}

impl Poll {
    pub(super) fn start(
        config: &Config,
        observer: &Observer,
        wakes: Sender<Wake>,
    ) -> std::io::Result<Self> {
        let (commands, receiver) = unbounded();
        let mut look = Look::new(wakes, observer.clone());
        look.place(place(config));
        let work = move || look.run(&receiver);
        let thread = std::thread::Builder::new().name("observations".to_owned()).spawn(work)?;
        Ok(Self { commands: Some(commands), thread: Some(thread) })
    }

    pub(super) fn hot(&self, sessions: Vec<SessionId>) {
        self.send(Command::Hot(sessions));
    }

    pub(super) fn set(&self, config: &Config) {
        self.send(Command::Place(place(config)));
    }

    fn send(&self, command: Command) {
        // The thread lives as long as this.
        self.commands.as_ref().map(|commands| commands.send(command).ok());
    }
}

impl Drop for Poll {
    fn drop(&mut self) {
        self.commands = None;
        if let Some(thread) = self.thread.take() {
            // A panic was reported by the thread itself.
            thread.join().ok();
        }
    }
}

struct Look {
    wakes: Sender<Wake>,
    /// The workers' connection.
    observer: Observer,
    source: Option<ClaudeMem>,
    hot: Vec<SessionId>,
    version: Option<Version>,
    /// What the rows of the hot sessions were at the last look.
    marks: HashMap<SessionId, Option<Mark>>,
    told: Option<Served>,
}

impl Look {
    fn new(wakes: Sender<Wake>, observer: Observer) -> Self {
        let (hot, marks) = (Vec::new(), HashMap::new());
        Self { wakes, observer, source: None, hot, version: None, marks, told: None }
    }

    fn run(&mut self, commands: &Receiver<Command>) {
        self.look();
        loop {
            let sleeps = self.hot.is_empty() || self.source.is_none();
            let command = if sleeps {
                self.source.iter_mut().for_each(ClaudeMem::close);
                self.observer.close();
                commands.recv().map_err(|_| RecvTimeoutError::Disconnected)
            } else {
                commands.recv_timeout(EVERY)
            };
            match command {
                Ok(Command::Hot(sessions)) => self.hot(sessions),
                Ok(Command::Place(place)) => self.place(place),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return,
            }
            self.look();
        }
    }

    fn hot(&mut self, sessions: Vec<SessionId>) {
        self.marks.retain(|id, _| sessions.contains(id));
        self.hot = sessions;
    }

    fn place(&mut self, place: Option<Place>) {
        self.source = place.map(|place| ClaudeMem::new(place, BUSY));
        self.version = None;
    }

    fn look(&mut self) {
        let Some(source) = &mut self.source else {
            return self.tell(Served::derived(SWITCHED_OFF.to_owned()));
        };
        match source.version() {
            Ok(version) => {
                self.tell(Served::claude_mem());
                let all_marked = self.marks.len() == self.hot.len();
                if self.version != Some(version) || !all_marked {
                    self.compare(version);
                }
                self.send_observed(self.observer.without());
            }
            Err(error) => self.lost(&error),
        }
    }

    /// Something was committed, or a session is looked at for the first time.
    fn compare(&mut self, version: Version) {
        let Some(source) = &mut self.source else { return };
        let mut changed = Vec::new();
        for id in &self.hot {
            match source.mark(id.as_str()) {
                Ok(mark) => {
                    let known = self.marks.insert(id.clone(), mark);
                    if known.unwrap_or_default() != mark {
                        changed.push(id.clone());
                    }
                }
                Err(error) => return self.lost(&error),
            }
        }
        self.version = Some(version);
        self.send_observed(changed);
    }

    /// It can't be read: what has rows in its bottle goes on without.
    fn lost(&mut self, error: &Unavailable) {
        self.tell(Served::derived(error.to_string()));
        self.version = None;
        let with_rows = self.marks.drain().filter(|(_, mark)| mark.is_some()).map(|(id, _)| id);
        let changed = with_rows.collect();
        self.send_observed(changed);
    }

    fn send_observed(&self, sessions: Vec<SessionId>) {
        if !sessions.is_empty() {
            self.send(Event::Observed(sessions));
        }
    }

    fn tell(&mut self, served: Served) {
        if self.told.as_ref() != Some(&served) {
            self.told = Some(served.clone());
            self.send(Event::Observing(served));
        }
    }

    fn send(&self, event: Event<super::Kept>) {
        // An error means that the service has ended.
        self.wakes.send(Wake::Event(event)).ok();
    }
}
