//! What a caller asks the watcher for.
//!
//! Invariant: the watcher knows of hosts and their folders only what stands here. Refuses: to read
//! an environment or a file.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use crate::schedule::Intervals;

/// Which files below a root are wanted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layout {
    /// How many folders stand between the root and its files: 1 for `<root>/<any>/<name>`.
    pub folders: usize,
    /// The files' extension, without the dot.
    pub extension: String,
}

impl Layout {
    pub(crate) fn wants(&self, name: &OsStr) -> bool {
        Path::new(name).extension().is_some_and(|extension| extension == &*self.extension)
    }
}

/// What to watch, and how.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WatcherConfig {
    /// Which files are wanted.
    pub layout: Layout,
    /// The folders they are in; none need exist. A root may be a link, what is below may not.
    pub roots: Vec<PathBuf>,
    /// Where trigger files are left.
    pub triggers: Option<PathBuf>,
    /// How often to look.
    pub intervals: Intervals,
    /// Never ask the system to report changes.
    pub poll_only: bool,
    /// How many folders may be watched; the rest is polled. `None`: as many as the system allows.
    pub max_watches: Option<usize>,
}

impl WatcherConfig {
    /// The usual configuration, with no root yet.
    pub fn new(layout: Layout) -> Self {
        let intervals = Intervals::default();
        let roots = Vec::new();
        Self { layout, roots, triggers: None, intervals, poll_only: false, max_watches: None }
    }
}
