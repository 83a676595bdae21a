//! What the watcher says: closed, typed, and no more than a look at the disk showed.
//!
//! Invariant: within one turn of the watcher the events come in the order of [`WatchEvent`], and
//! what is told of a path is what it last showed. Refuses: to say what a file holds.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use crate::trigger::Trigger;

/// What the watcher tells its caller.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WatchEvent {
    /// Files that were known have no regular file at their path any more.
    Gone(Vec<PathBuf>),
    /// Files that are new, or whose inode, length or time of change is not what it was.
    Files(Vec<Seen>),
    /// A trigger file was created or touched, or was there at the start.
    Trigger(Trigger),
    /// How watching works now; sent after the first look, and when it changes.
    Mode(WatchMode),
    /// A resync is done: every event that it caused was sent before.
    Resynced {
        /// What the caller gave to [`Watcher::resync`](crate::Watcher::resync).
        token: u64,
        /// How many files are known.
        files: usize,
    },
}

/// A file, as one look at its path showed it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seen {
    /// Its path, below `root`.
    pub path: PathBuf,
    /// The root it belongs to, as the caller named it.
    pub root: Arc<Path>,
    /// Its length in bytes.
    pub length: u64,
    /// When it was changed last, by the clock of its file system.
    pub modified: SystemTime,
    /// The device that holds it.
    pub device: u64,
    /// Its inode there.
    pub inode: u64,
}

/// How watching works, and what it can't see.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WatchMode {
    /// The system reports changes, at least for some folders. `false`: everything is polled.
    pub native: bool,
    /// Folders whose changes the system reports.
    pub watched_folders: usize,
    /// Folders that are looked at every second instead.
    pub polled_folders: usize,
    /// The files in those.
    pub polled_files: usize,
    /// Folders that can't be read now; what was known of them is kept.
    pub unreadable_folders: usize,
    /// Names that look like a wanted file but are a link, a pipe, a folder or the like.
    pub ignored_files: usize,
    /// Files in the trigger folder that are no valid trigger.
    pub ignored_triggers: usize,
    /// Roots that do not exist now, as the caller named them.
    pub missing_roots: Vec<PathBuf>,
    /// Why folders are polled that should be watched, in words for a person.
    pub degraded: Option<String>,
}
