//! The watcher: one thread that is told of roots, hears the system's hints, and looks.
//!
//! A hint is never believed: the path is looked at, and a file is reported only if its inode,
//! length or time of change is not what was reported last. So a burst costs one event, and what
//! the system does not report is found by the looks that come by themselves; see `schedule`.
//!
//! Invariant: nothing waits for the caller, and the caller's sink is only called by this thread,
//! between looks. Dropping the handle stops and joins the thread. A file system that hangs holds
//! up this thread alone.
//! Refuses: to open a file, to write or remove anything, to know whose files these are.

use std::io;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::thread::JoinHandle;
use std::time::{Duration, Instant, SystemTime};

use crossbeam_channel::{Receiver, Sender, never, select, unbounded};

use crate::coalesce::Dirty;
use crate::config::WatcherConfig;
use crate::event::{WatchEvent, WatchMode};
use crate::known::Now;
use crate::native::{Hint, Native};
use crate::schedule::{Round, Schedule};
use crate::tree::{Effort, Tree};
use crate::trigger::{Trigger, Triggers};

/// The handle of the watcher's thread; see the module header.
#[derive(Debug)]
pub struct Watcher {
    commands: Sender<Command>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Debug)]
enum Command {
    AddRoot(PathBuf),
    RemoveRoot(PathBuf),
    Resync(u64),
    PollNow,
    Stop,
}

impl Watcher {
    /// Starts the thread. All that exists already is reported as new; a [`Self::resync`] right
    /// after the start tells where that ends.
    ///
    /// `sink` must not wait for the watcher, and must not drop its handle.
    pub fn start(
        config: WatcherConfig,
        sink: impl Fn(WatchEvent) + Send + 'static,
    ) -> io::Result<Self> {
        let (commands, inbox) = unbounded();
        let run = move || Actor::new(config, inbox, Box::new(sink)).run();
        let thread = std::thread::Builder::new().name("watcher".to_owned()).spawn(run)?;
        Ok(Self { commands, thread: Some(thread) })
    }

    /// Watches one more root, which need not exist. Its files come as new ones.
    pub fn add_root(&self, root: impl Into<PathBuf>) {
        self.send(Command::AddRoot(root.into()));
    }

    /// Stops watching a root, named as it was added. Its files are not reported as gone.
    pub fn remove_root(&self, root: impl Into<PathBuf>) {
        self.send(Command::RemoveRoot(root.into()));
    }

    /// Looks at everything now, and answers with [`WatchEvent::Resynced`] after all that is found:
    /// what was on disk before this call has been told by then.
    pub fn resync(&self, token: u64) {
        self.send(Command::Resync(token));
    }

    /// Looks now at what is looked at every second or more often.
    pub fn poll_now(&self) {
        self.send(Command::PollNow);
    }

    /// Whether the thread is alive: only a panic of the sink can have ended it.
    pub fn is_running(&self) -> bool {
        self.thread.as_ref().is_some_and(|thread| !thread.is_finished())
    }

    fn send(&self, command: Command) {
        // An error means that the thread has ended, which `is_running` tells.
        self.commands.send(command).ok();
    }
}

impl Drop for Watcher {
    fn drop(&mut self) {
        self.send(Command::Stop);
        if let Some(thread) = self.thread.take() {
            // A panic of the sink was reported by its own thread.
            thread.join().ok();
        }
    }
}

struct Actor {
    inbox: Receiver<Command>,
    hints: Receiver<Hint>,
    sink: Box<dyn Fn(WatchEvent) + Send>,
    schedule: Schedule,
    dirty: Dirty,
    tree: Tree,
    triggers: Option<Triggers>,
    /// Triggers found in this turn.
    triggered: Vec<Trigger>,
    /// Resyncs asked for since the last turn.
    tokens: Vec<u64>,
    mode: Option<WatchMode>,
}

impl Actor {
    fn new(
        config: WatcherConfig,
        inbox: Receiver<Command>,
        sink: Box<dyn Fn(WatchEvent) + Send>,
    ) -> Self {
        let (native, hints) = Native::start(!config.poll_only, config.max_watches);
        let mut tree = Tree::new(config.layout, config.intervals.hot_window, native);
        for root in &config.roots {
            tree.add_root(root);
        }
        Self {
            inbox,
            hints,
            sink,
            schedule: Schedule::new(config.intervals, Instant::now()),
            dirty: Dirty::default(),
            tree,
            triggers: config.triggers.map(Triggers::new),
            triggered: Vec::new(),
            tokens: Vec::new(),
            mode: None,
        }
    }

    fn run(mut self) {
        loop {
            let wait = self.schedule.next().map_or(Duration::from_secs(1), |due| {
                due.saturating_duration_since(Instant::now())
            });
            let flow = select! {
                recv(self.inbox) -> command => self.obey(command.unwrap_or(Command::Stop)),
                recv(self.hints) -> hint => self.hear(hint.ok()),
                default(wait) => ControlFlow::Continue(()),
            };
            if flow.is_break() || self.drain().is_break() {
                return;
            }
            self.turn();
        }
    }

    /// Takes in what else has come, but not what comes meanwhile.
    fn drain(&mut self) -> ControlFlow<()> {
        for _ in 0..self.hints.len() {
            if let Ok(hint) = self.hints.try_recv() {
                self.hear(Some(hint))?;
            }
        }
        for _ in 0..self.inbox.len() {
            if let Ok(command) = self.inbox.try_recv() {
                self.obey(command)?;
            }
        }
        ControlFlow::Continue(())
    }

    fn hear(&mut self, hint: Option<Hint>) -> ControlFlow<()> {
        let now = Instant::now();
        match hint {
            Some(Hint::Paths { paths, moved }) => {
                for path in paths {
                    self.dirty.add(path, moved);
                }
                self.schedule.dirty(now);
            }
            Some(Hint::Lost) => self.schedule.lost(now),
            None => {
                self.hints = never();
                self.tree.native_stopped();
                self.schedule.lost(now);
            }
        }
        ControlFlow::Continue(())
    }

    fn obey(&mut self, command: Command) -> ControlFlow<()> {
        let now = Instant::now();
        match command {
            Command::AddRoot(root) => {
                self.tree.add_root(&root);
                self.schedule.want(Round::Polled, now);
            }
            Command::RemoveRoot(root) => {
                self.tree.remove_root(&root);
                self.schedule.want(Round::Polled, now);
            }
            Command::Resync(token) => {
                self.tokens.push(token);
                self.schedule.want(Round::Deep, now);
            }
            Command::PollNow => {
                self.schedule.want(Round::Polled, now);
                self.schedule.want(Round::Hot, now);
            }
            Command::Stop => return ControlFlow::Break(()),
        }
        ControlFlow::Continue(())
    }

    /// Makes the looks that are due, and tells what they showed.
    fn turn(&mut self) {
        let due = self.schedule.due(Instant::now());
        for round in &due {
            let now = Now { instant: Instant::now(), wall: SystemTime::now() };
            // A wider round may have covered this one.
            if self.schedule.is_due(*round, now.instant) {
                self.round(*round, now);
                self.schedule.done(*round, now.instant, Instant::now());
            }
        }
        if !due.is_empty() {
            self.report();
        }
        let now = Instant::now();
        if self.tree.has_hot() {
            self.schedule.hot(now);
        }
        if self.tree.has_missing_root() {
            self.schedule.missing_root(now);
        }
    }

    /// Triggers come first: they are told last, and of two watches theirs matters more.
    fn round(&mut self, round: Round, now: Now) {
        match round {
            Round::Dirty => self.look_at_dirty(now),
            Round::Hot => self.tree.look_at_hot(now),
            Round::Polled => {
                self.look_at_triggers(false);
                self.tree.look_at_polled(now);
            }
            Round::Reconcile => {
                self.look_at_triggers(true);
                self.tree.look_at_all(Effort::WARM, now);
            }
            Round::Deep => {
                if let Some(triggers) = &mut self.triggers {
                    triggers.refresh(&mut self.tree.native);
                }
                self.tree.refresh_watches();
                self.look_at_triggers(true);
                self.tree.look_at_all(Effort::FULL, now);
            }
        }
    }

    fn look_at_dirty(&mut self, now: Now) {
        let mut triggered = false;
        for (path, moved) in self.dirty.take() {
            match self.triggers.as_mut().filter(|triggers| triggers.concern(&path)) {
                Some(triggers) => {
                    triggered = true;
                    if moved {
                        triggers.moved(&path, &mut self.tree.native);
                    }
                }
                None => self.tree.dirty(&path, moved, now),
            }
        }
        if triggered {
            self.look_at_triggers(true);
        }
    }

    fn look_at_triggers(&mut self, list: bool) {
        if let Some(triggers) = &mut self.triggers {
            self.triggered.extend(triggers.check(&mut self.tree.native, list));
        }
    }

    fn report(&mut self) {
        for event in self.tree.changes.take() {
            (self.sink)(event);
        }
        for trigger in self.triggered.drain(..) {
            (self.sink)(WatchEvent::Trigger(trigger));
        }
        let mut mode = self.tree.mode();
        mode.ignored_triggers = self.triggers.as_ref().map_or(0, Triggers::ignored);
        if self.mode.as_ref() != Some(&mode) {
            self.mode = Some(mode.clone());
            (self.sink)(WatchEvent::Mode(mode));
        }
        for token in self.tokens.drain(..) {
            (self.sink)(WatchEvent::Resynced { token, files: self.tree.files() });
        }
    }
}
