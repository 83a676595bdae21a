//! A folder that is watched, and what was told of it.

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant, SystemTime};

use endless_watchers::{
    Intervals, Layout, Seen, Trigger, WatchEvent, WatchMode, Watcher, WatcherConfig,
};
use tempfile::TempDir;

pub(crate) const LIMIT: Duration = Duration::from_secs(10);
pub(crate) const HOUR: Duration = Duration::from_secs(3600);

/// A folder with a root and a trigger folder, and a watcher with what it has told.
pub(crate) struct Sandbox {
    pub(crate) folder: TempDir,
    pub(crate) watcher: Option<Watcher>,
    pub(crate) events: Receiver<WatchEvent>,
    pub(crate) sender: Sender<WatchEvent>,
    /// What stands now, by all that was told.
    pub(crate) files: BTreeMap<PathBuf, Seen>,
    pub(crate) gone: Vec<PathBuf>,
    pub(crate) triggers: Vec<Trigger>,
    pub(crate) mode: Option<WatchMode>,
    pub(crate) file_events: usize,
    pub(crate) resynced: u64,
}

impl Sandbox {
    pub(crate) fn new() -> Self {
        let (sender, events) = channel();
        Self {
            folder: tempfile::tempdir().unwrap(),
            watcher: None,
            events,
            sender,
            files: BTreeMap::new(),
            gone: Vec::new(),
            triggers: Vec::new(),
            mode: None,
            file_events: 0,
            resynced: 0,
        }
    }

    /// A sandbox whose root exists, with a watcher that has looked once.
    pub(crate) fn started() -> Self {
        let mut sandbox = Self::new();
        fs::create_dir(sandbox.root()).unwrap();
        sandbox.start(|_| ());
        sandbox
    }

    pub(crate) fn start(&mut self, configure: impl FnOnce(&mut WatcherConfig)) {
        let mut config = WatcherConfig::new(Layout { folders: 1, extension: "jsonl".to_owned() });
        config.roots = vec![self.root()];
        config.triggers = Some(self.path("triggers"));
        configure(&mut config);
        let sender = self.sender.clone();
        let sink = move |event| sender.send(event).unwrap();
        self.watcher = Some(Watcher::start(config, sink).unwrap());
        self.sync();
    }

    pub(crate) fn watcher(&self) -> &Watcher {
        self.watcher.as_ref().unwrap()
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn root(&self) -> PathBuf {
        self.path("projects")
    }

    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.root().join(name)
    }

    /// Writes a file below the root, with its folders.
    pub(crate) fn write(&self, name: &str, content: &str) -> PathBuf {
        let path = self.file(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, content).unwrap();
        path
    }

    pub(crate) fn trigger(&self, name: &str) -> PathBuf {
        let path = self.path("triggers").join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, "").unwrap();
        path
    }

    pub(crate) fn take(&mut self, event: WatchEvent) {
        match event {
            WatchEvent::Files(files) => {
                self.file_events += 1;
                self.files.extend(files.into_iter().map(|seen| (seen.path.clone(), seen)));
            }
            WatchEvent::Gone(gone) => {
                gone.iter().for_each(|path| drop(self.files.remove(path)));
                self.gone.extend(gone);
            }
            WatchEvent::Trigger(trigger) => self.triggers.push(trigger),
            WatchEvent::Mode(mode) => self.mode = Some(mode),
            WatchEvent::Resynced { token, files } => {
                assert_eq!(files, self.files.len(), "a barrier before its events");
                self.resynced = token;
            }
        }
    }

    /// Takes events until `condition` holds; fails after a generous limit.
    #[track_caller]
    pub(crate) fn wait_for(&mut self, what: &str, condition: impl Fn(&Self) -> bool) {
        let end = Instant::now() + LIMIT;
        while !condition(self) {
            let left = end.saturating_duration_since(Instant::now());
            match self.events.recv_timeout(left) {
                Ok(event) => self.take(event),
                Err(_) => panic!("{what}: did not come; files {:#?}", self.files.keys()),
            }
        }
    }

    #[track_caller]
    pub(crate) fn wait_for_length(&mut self, path: &Path, length: u64) {
        self.wait_for("the length", |sandbox| sandbox.length(path) == Some(length));
    }

    pub(crate) fn length(&self, path: &Path) -> Option<u64> {
        self.files.get(path).map(|seen| seen.length)
    }

    /// Waits until all that is on disk now has been told.
    #[track_caller]
    pub(crate) fn sync(&mut self) {
        let token = self.resynced + 1;
        self.watcher().resync(token);
        self.wait_for("the barrier", |sandbox| sandbox.resynced == token);
    }

    pub(crate) fn mode(&self) -> &WatchMode {
        self.mode.as_ref().unwrap()
    }
}

pub(crate) fn append(path: &Path, content: &str) {
    let mut file = OpenOptions::new().append(true).open(path).unwrap();
    file.write_all(content.as_bytes()).unwrap();
}

pub(crate) fn age(path: &Path, age: Duration) {
    File::options().write(true).open(path).unwrap().set_modified(SystemTime::now() - age).unwrap();
}

/// Long intervals: what is seen within the limit was reported by the system.
pub(crate) fn no_polling(config: &mut WatcherConfig) {
    let never = 100 * HOUR;
    let (hot, polled, reconcile, deep) = (never, never, never, never);
    config.intervals = Intervals { hot, polled, reconcile, deep, ..Intervals::default() };
}

pub(crate) fn fast_polling(config: &mut WatcherConfig) {
    config.poll_only = true;
    config.intervals.reconcile = Duration::from_millis(500);
}
