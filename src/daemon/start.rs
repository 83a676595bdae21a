//! Starts the service: folder, lock, database, threads, in that order.
use std::{
    collections::{HashMap, HashSet},
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
    sync::{Arc, Mutex},
    time::Duration,
};

use crossbeam_channel::unbounded;
use endless_watchers::{Watcher, silent_kind};

use super::{
    DaemonError, Holder, Lock, Service, Wake, now,
    observer::{Observer, Poll},
    ready, signals,
    socket::{Edge, EdgeEvent},
    watch,
    worker::{Database, Rules, Tools, Worker},
};
use crate::{
    bottle::FORMAT,
    config::Config,
    engine::{
        Engine, Limits, Settings,
        event::Event,
        request::{BottleStatus, Process},
    },
    files,
    store::{Generation, KnownFile, Owner, Store, StoreError},
};

/// Workers: one may be busy with a gigabyte while the other serves everyone else.
const WORKERS: usize = 2;
/// How long the owner waits for the database when it starts.
const BUSY: Duration = Duration::from_secs(5);
/// How long it waits later, when bottles wait behind it: a note that is not made costs one reading.
const BUSY_LATER: Duration = Duration::from_millis(250);

/// The service, or who runs already.
pub(super) fn start(
    config: &Config,
    executable: Option<PathBuf>,
) -> Result<Result<Service, Holder>, DaemonError> {
    files::prepare(&config.paths)?;
    // An encrypted home is often FUSE, and local.
    let kind = silent_kind(&config.paths.home).filter(|kind| !kind.to_lowercase().contains("fuse"));
    if let Some(kind) = kind {
        return Err(DaemonError::NetworkFolder { path: config.paths.home.clone(), kind });
    }
    files::sweep(&config.paths, std::time::SystemTime::now());
    let holder = Holder {
        pid: std::process::id(),
        host: rustix::system::uname().nodename().to_string_lossy().into_owned(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
    };
    let lock = match Lock::take(&config.paths.lock, &holder)? {
        Ok(lock) => Arc::new(lock),
        Err(other) => return Ok(Err(other)),
    };
    let state = open_state(config, &holder);
    let (sender, wakes) = unbounded();
    signals::listen(sender.clone()).map_err(DaemonError::Signals)?;
    let edge = edge(config, sender.clone())?;
    let (jobs, queue) = unbounded();
    let rules = Rules::new(config);
    let observer = Observer::new(config);
    let tools = Tools {
        paths: config.paths.clone(),
        rules: rules.clone(),
        observer: observer.clone(),
        lock: Arc::clone(&lock),
        database: Arc::clone(&state.database),
        installed: state.installed,
    };
    let workers = (0..WORKERS)
        .map(|number| Worker::start(number, queue.clone(), sender.clone(), tools.clone()))
        .collect::<Result<_, _>>()
        .map_err(DaemonError::Thread)?;
    let mut engine = Engine::new(settings(config, &state));
    for event in first_events(config, &state) {
        // Nothing is to be done yet: these only tell what there is.
        drop(engine.handle(event, now()));
    }
    let poll = Poll::start(config, &observer, sender.clone()).map_err(DaemonError::Thread)?;
    let watcher = watcher(config, state.known, sender)?;
    watcher.resync(0);
    ready::tell(config.notify_socket.as_deref(), "READY=1");
    tracing::info!("ready, pid {}, state folder {}", holder.pid, config.paths.home.display());
    let process = Process {
        pid: holder.pid,
        version: holder.version,
        started: now().0,
        generation: state.generation,
        ..Process::default()
    };
    Ok(Ok(Service {
        engine,
        wakes,
        jobs,
        watcher,
        poll,
        observer,
        roots: watch::roots(config),
        edge,
        lock,
        process,
        binary: executable.and_then(Binary::new),
        rules,
        reason: None,
        retention: super::Retention::new(config),
        ended: None,
        _workers: workers,
    }))
}

fn edge(config: &Config, sender: crossbeam_channel::Sender<Wake>) -> Result<Edge, DaemonError> {
    let requests = move |event| {
        let event = match event {
            EdgeEvent::Request(id, request) => Event::Request(id, request),
            EdgeEvent::HungUp(id) => Event::HungUp(id),
        };
        // An error means that the service has ended.
        sender.send(Wake::Event(event)).ok();
    };
    Ok(Edge::start(&config.paths.socket, requests)?)
}

fn watcher(
    config: &Config,
    known: Vec<KnownFile>,
    sender: crossbeam_channel::Sender<Wake>,
) -> Result<Watcher, DaemonError> {
    let translator = Mutex::new(watch::Translator::new(known));
    let sink = move |event| {
        let Ok(mut translator) = translator.lock() else { return };
        if let Some(event) = translator.event(event) {
            sender.send(Wake::Event(event)).ok();
        }
    };
    Watcher::start(watch::watcher_config(config), sink).map_err(DaemonError::Thread)
}

/// What the database has.
struct State {
    database: Database,
    generation: u64,
    known: Vec<KnownFile>,
    installed: crate::text::time::Moment,
    forgotten: HashSet<crate::paths::SessionId>,
    archived: HashMap<crate::paths::SessionId, u64>,
    trouble: Option<String>,
}

/// Opens the database. Without one the service goes on and says why: bottles need none.
fn open_state(config: &Config, holder: &Holder) -> State {
    let mut state = State {
        database: Arc::new(Mutex::new(None)),
        generation: 0,
        known: Vec::new(),
        installed: now(),
        forgotten: HashSet::new(),
        archived: HashMap::new(),
        trouble: None,
    };
    let path = &config.paths.database;
    let opened = match Store::open_owner(path, BUSY) {
        Err(StoreError::Damaged { .. }) => {
            state.trouble = Some(set_aside(path));
            Store::open_owner(path, BUSY)
        }
        opened => opened,
    };
    match opened.and_then(|store| read_state(path, store, holder, &mut state)) {
        Ok(()) => {}
        Err(error) => {
            tracing::error!("the service runs without its database: {error}");
            state.trouble = Some(format!("the service runs without its database: {error}"));
        }
    }
    state
}

/// Moves a damaged database aside; what was lost with it.
fn set_aside(path: &Path) -> String {
    let trouble = match Store::set_aside(path, now()) {
        Ok(aside) => format!(
            "endless.db was damaged; it is now {}: sessions that were forgotten or archived are \
             not known any more",
            aside.display()
        ),
        Err(error) => format!("endless.db is damaged, and can't be set aside: {error}"),
    };
    tracing::error!("{trouble}");
    trouble
}

fn read_state(
    path: &Path,
    mut store: Store,
    holder: &Holder,
    state: &mut State,
) -> Result<(), StoreError> {
    state.installed = store.installed_at(now())?;
    let owner = Owner {
        pid: holder.pid,
        host: holder.host.clone(),
        version: holder.version.clone(),
        started_at: now(),
    };
    let generation: Generation = store.take_ownership(&owner)?;
    state.generation = generation.to_string().parse().unwrap_or(0);
    state.known = store.known_files(FORMAT)?;
    let tombstones = store.tombstones()?;
    state.forgotten = tombstones.into_iter().filter_map(|row| row.session.parse().ok()).collect();
    let archived = store.all_archived()?;
    state.archived = archived
        .into_iter()
        .filter_map(|row| Some((row.session.parse().ok()?, row.entries)))
        .collect();
    let store = Store::open_owner(path, BUSY_LATER).unwrap_or(store);
    *state.database.lock().unwrap_or_else(std::sync::PoisonError::into_inner) =
        Some((store, generation));
    Ok(())
}

fn settings(config: &Config, state: &State) -> Settings {
    Settings {
        limits: limits(config),
        workers: WORKERS,
        installed: state.installed,
        forgotten: state.forgotten.clone(),
        archived: state.archived.clone(),
    }
}

/// What the configuration may change while the service runs.
pub(super) fn limits(config: &Config) -> Limits {
    Limits {
        roots: config.candidates.iter().map(|root| root.display().to_string()).collect(),
        hot: i64::from(config.hot_minutes) * 60_000,
        idle: i64::from(config.idle_minutes) * 60_000,
        budget: u64::from(config.memory_mb) << 20,
    }
}

/// What the engine is told before anything else: the bottles that are there, and troubles.
fn first_events<K>(config: &Config, state: &State) -> Vec<Event<K>> {
    let bottles = watch::bottles(&config.paths.bottles);
    let bottle = |(id, path, changed, bytes): (_, PathBuf, crate::text::time::Moment, u64)| {
        (
            id,
            BottleStatus {
                path: path.display().to_string(),
                checked: changed.0,
                bytes,
                ..BottleStatus::default()
            },
        )
    };
    let mut events = vec![Event::Bottles(bottles.into_iter().map(bottle).collect())];
    events.extend(state.trouble.clone().map(Event::Started));
    events
}

/// The binary that this process was started from.
pub(super) struct Binary {
    path: PathBuf,
    identity: (u64, u64),
}

impl Binary {
    fn new(path: PathBuf) -> Option<Self> {
        let identity = identity(&path)?;
        Some(Self { path, identity })
    }

    /// Another file has its place. One that is only gone was removed: the service goes on.
    pub(super) fn is_replaced(&self) -> bool {
        identity(&self.path).is_some_and(|now| now != self.identity)
    }
}

fn identity(path: &Path) -> Option<(u64, u64)> {
    std::fs::metadata(path).ok().map(|data| (data.dev(), data.ino()))
}
