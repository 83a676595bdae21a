//! The service: one thread owns all state, and everything else reports to it.
//!
//! The loop takes one event at a time (from the watcher, the socket, the workers, a signal, or the
//! clock), hands it to the [`Engine`], and does what that wants done. Reading transcripts, rendering
//! and the database are the workers'; the socket is its own thread; nobody waits behind somebody
//! else's gigabyte.
//!
//! Invariant: bottles and database are written only while the lock is ours. Refuses: to run twice
//! in one state folder.

mod hint;
mod lock;
mod observer;
mod perform;
mod ready;
mod signals;
pub mod socket;
mod start;
mod watch;
mod worker;

use std::{
    path::PathBuf,
    sync::Arc,
    time::{Duration, Instant},
};

use crossbeam_channel::{Receiver, RecvTimeoutError, Sender};
use endless_watchers::Watcher;

pub use lock::{Holder, Lock, LockError};

use crate::{
    clock::now,
    config::{Config, ConfigError},
    engine::{
        Engine,
        event::Event,
        request::{Process, Request},
    },
    files::retention::{Swept, sweep_old},
};
use socket::Edge;
use worker::Kept;

/// How often the clock is told to the engine, and the lock and the binary are looked at.
const TICK: Duration = Duration::from_secs(5);
/// Old bottles are looked for a minute after the start and then daily.
const RETENTION_DELAY: Duration = Duration::from_secs(60);
const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// How the service ended.
#[derive(Debug)]
pub enum Ended {
    /// It was asked to.
    Stopped,
    /// The configuration says that nothing is to be done.
    SwitchedOff,
    /// Another process owns the state folder.
    AlreadyRunning(Holder),
    /// Its binary was replaced: the new one should be started.
    Replaced,
    /// The state folder was taken away or given to another owner.
    LostLock,
}

/// Why there is no service.
#[derive(Debug, thiserror::Error)]
pub enum DaemonError {
    /// The state folder can't be used.
    #[error(transparent)]
    Files(#[from] crate::files::FileError),
    /// The lock can't be taken.
    #[error(transparent)]
    Lock(#[from] LockError),
    /// The socket can't be opened.
    #[error(transparent)]
    Socket(#[from] socket::SocketError),
    /// The state folder lies where locks and sockets can't be relied on.
    #[error(
        "the state folder {path} is on a network file system ({kind}); set ENDLESS_HOME to a folder \
         on a local disk"
    )]
    NetworkFolder {
        /// The state folder.
        path: PathBuf,
        /// The kind of file system.
        kind: &'static str,
    },
    /// A thread could not be started.
    #[error("failed to start a thread")]
    Thread(#[source] std::io::Error),
    /// Signals can't be received.
    #[error("failed to listen for signals")]
    Signals(#[source] std::io::Error),
}

/// What the loop is told beside the engine's own events.
enum Wake {
    /// For the engine.
    Event(Event<Kept>),
    /// Read the configuration again.
    Reload,
}

/// Runs the service until it is told to end, or its `executable` is replaced. `reload` reads the
/// configuration anew.
///
/// # Errors
/// Where it can't start. What fails later is told by `endless status`.
pub fn run(
    config: &Config,
    executable: Option<PathBuf>,
    reload: impl Fn() -> Result<Config, ConfigError>,
) -> Result<Ended, DaemonError> {
    let quietly = |ended| {
        // A unit that ends before it is ready counts as failed, and would be started again.
        ready::tell(config.notify_socket.as_deref(), "READY=1");
        Ok(ended)
    };
    if !config.enabled {
        return quietly(Ended::SwitchedOff);
    }
    match start::start(config, executable)? {
        Ok(service) => Ok(service.run(reload)),
        Err(holder) => quietly(Ended::AlreadyRunning(holder)),
    }
}

struct Service {
    engine: Engine<Kept>,
    wakes: Receiver<Wake>,
    roots: Vec<PathBuf>,
    process: Process,
    binary: Option<start::Binary>,
    retention: Retention,
    rules: worker::Rules,
    observer: observer::Observer,
    /// Why it is to end once its work is done, where nobody asked for it.
    reason: Option<Ended>,
    ended: Option<Ended>,
    // What follows ends in this order: no more jobs, then the workers, then the lock is free, and
    // last the socket is gone, by which others know that all is over.
    watcher: Watcher,
    poll: observer::Poll,
    jobs: Sender<crate::engine::event::Job<Kept>>,
    _workers: Vec<worker::Worker>,
    lock: Arc<Lock>,
    edge: Edge,
}

impl Service {
    fn run(mut self, reload: impl Fn() -> Result<Config, ConfigError>) -> Ended {
        let mut tick = Instant::now() + TICK;
        loop {
            match self.next_wake(tick) {
                Ok(Wake::Event(event)) => self.handle(event),
                Ok(Wake::Reload) => self.reload(&reload),
                Err(RecvTimeoutError::Timeout) => self.handle(Event::Tick),
                Err(RecvTimeoutError::Disconnected) => self.ended = Some(Ended::Stopped),
            }
            // Also while events come without a pause.
            if Instant::now() >= tick {
                tick = Instant::now() + TICK;
                self.look_around();
            }
            if let Some(ended) = self.ended.take() {
                tracing::info!("ended");
                return ended;
            }
        }
    }

    /// Waits for the next event: until the engine wants to be woken, or the next tick.
    fn next_wake(&self, tick: Instant) -> Result<Wake, RecvTimeoutError> {
        let until_tick = tick.saturating_duration_since(Instant::now());
        let wanted = self.engine.next_wake().map(|at| {
            let milliseconds = u64::try_from(at.0 - now().0).unwrap_or(0);
            Duration::from_millis(milliseconds)
        });
        self.wakes.recv_timeout(wanted.map_or(until_tick, |wanted| wanted.min(until_tick)))
    }

    fn handle(&mut self, event: Event<Kept>) {
        if let Event::Request(_, Request::Hook(hook)) = &event
            && let Some(seen) = hint::hinted(hook, &self.roots)
        {
            self.tell(Event::Files(vec![seen]));
        }
        self.tell(event);
    }

    fn tell(&mut self, event: Event<Kept>) {
        for effect in self.engine.handle(event, now()) {
            self.perform(effect);
        }
    }

    /// What no event tells: a replaced binary, a state folder that is not ours any more.
    fn look_around(&mut self) {
        if !self.lock.is_ours() {
            tracing::error!("the state folder was replaced or deleted: this service ends");
            self.ended = Some(Ended::LostLock);
        } else if self.binary.as_ref().is_some_and(start::Binary::is_replaced) {
            tracing::info!(
                "the binary was replaced: this service ends, so that the new one starts"
            );
            self.binary = None;
            self.reason = Some(Ended::Replaced);
            self.handle(Event::Stop);
        } else {
            self.retention.look();
        }
    }

    /// Watches these roots from now on, and no others.
    fn watch(&mut self, roots: Vec<PathBuf>) {
        for gone in self.roots.iter().filter(|root| !roots.contains(root)) {
            self.watcher.remove_root(gone);
        }
        for new in roots.iter().filter(|root| !self.roots.contains(root)) {
            self.watcher.add_root(new);
        }
        self.roots = roots;
        self.handle(Event::NewRoots);
    }

    fn reload(&mut self, reload: impl Fn() -> Result<Config, ConfigError>) {
        match reload() {
            Ok(config) if !config.enabled => {
                tracing::info!("endless is switched off: this service ends");
                self.handle(Event::Stop);
            }
            Ok(config) => {
                tracing::info!("the configuration was read again");
                self.watch(watch::roots(&config));
                self.retention = Retention::new(&config);
                self.rules.set(&config);
                self.observer.set(&config);
                self.poll.set(&config);
                self.handle(Event::Configured(start::limits(&config)));
            }
            Err(error) => tracing::error!("the configuration stays as it was: {error}"),
        }
    }
}

/// When old bottles go, and when that is looked at next.
struct Retention {
    paths: crate::paths::Paths,
    archive_after: u32,
    keep: Option<u32>,
    next: Instant,
}

impl Retention {
    fn new(config: &Config) -> Self {
        Self {
            paths: config.paths.clone(),
            archive_after: config.archive_after_days,
            keep: config.keep_days,
            next: Instant::now() + RETENTION_DELAY,
        }
    }

    fn look(&mut self) {
        if Instant::now() < self.next {
            return;
        }
        self.next = Instant::now() + DAY;
        let now = std::time::SystemTime::now();
        let swept = sweep_old(&self.paths, now, self.archive_after, self.keep);
        if swept != Swept::default() {
            let Swept { archived, deleted } = swept;
            tracing::info!("{archived} old bottles archived, {deleted} archives deleted");
        }
    }
}
