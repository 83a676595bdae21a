//! One folder, as it was seen last: where it stands, how it is watched, what is in it. Pure.
//!
//! Invariant: [`Folder::set`] is the only way in for an entry, so that the counts are right.
//! Refuses: to look at anything.

use std::collections::{HashMap, HashSet};
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

/// How far back a change counts as recent when a file system is asked again.
pub(crate) const WARM: Duration = Duration::from_secs(24 * 60 * 60);

/// By what a file is known to be unchanged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stamp {
    pub(crate) device: u64,
    pub(crate) inode: u64,
    pub(crate) length: u64,
    pub(crate) modified: SystemTime,
}

/// What stands at a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Look {
    File(Stamp),
    /// Something that is no regular file: ignored, and counted.
    Other,
    Missing,
}

/// What is news about a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Change {
    Seen(Stamp),
    Gone,
}

/// By what a folder is known to be the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FolderIdentity {
    pub(crate) device: u64,
    pub(crate) inode: u64,
    /// An inode number is used again soon; the time of birth tells, where there is one.
    pub(crate) born: Option<SystemTime>,
}

/// How changes in a folder come to our notice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Watch {
    /// Not set up, or lost: to be set up at the next visit.
    Off,
    Native,
    Polled(Why),
}

/// Why a folder is polled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Why {
    /// The caller asked for it.
    Asked,
    /// The system has no more watches to give.
    Limit,
    /// This kind of file system reports nothing.
    Silent(&'static str),
    /// The system refused.
    Failed,
}

/// Where a folder stands.
#[derive(Clone, Debug)]
pub(crate) struct Place {
    /// The root above, as the caller named it.
    pub(crate) root: Arc<Path>,
    /// The folder, as the caller would name it.
    pub(crate) shown: PathBuf,
    /// How many folders it is below the root.
    pub(crate) level: usize,
}

impl Place {
    pub(crate) fn below(&self, name: &OsStr) -> Self {
        Self { root: self.root.clone(), shown: self.shown.join(name), level: self.level + 1 }
    }
}

#[derive(Debug)]
pub(crate) struct Folder {
    pub(crate) place: Place,
    pub(crate) identity: FolderIdentity,
    pub(crate) watch: Watch,
    /// The folder's own time at the last listing, if that listing can be relied on.
    pub(crate) listed: Option<SystemTime>,
    pub(crate) unreadable: bool,
    entries: HashMap<OsString, Entry>,
    /// How many of the entries are files.
    files: usize,
    /// No file here has a later time.
    newest: SystemTime,
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum Entry {
    File(Stamp),
    Ignored,
}

impl Folder {
    pub(crate) fn new(place: Place, identity: FolderIdentity, watch: Watch) -> Self {
        let (entries, newest) = (HashMap::new(), SystemTime::UNIX_EPOCH);
        Self { place, identity, watch, listed: None, unreadable: false, entries, files: 0, newest }
    }

    pub(crate) fn files(&self) -> usize {
        self.files
    }

    pub(crate) fn file_names(&self) -> impl Iterator<Item = &OsString> {
        let files = self.entries.iter().filter(|(_, entry)| matches!(entry, Entry::File(_)));
        files.map(|(name, _)| name)
    }

    pub(crate) fn ignored(&self) -> usize {
        self.entries.len() - self.files
    }

    /// Takes in what stands at `name`; returns what stood there.
    pub(crate) fn set(&mut self, name: &OsStr, look: Look) -> Option<Entry> {
        let before = match look {
            Look::File(stamp) => self.entries.insert(name.to_owned(), Entry::File(stamp)),
            Look::Other => self.entries.insert(name.to_owned(), Entry::Ignored),
            Look::Missing => self.entries.remove(name),
        };
        if let Look::File(stamp) = look {
            self.files += 1;
            self.newest = self.newest.max(stamp.modified);
        }
        self.files -= usize::from(matches!(before, Some(Entry::File(_))));
        before
    }

    /// The files to look at again even if nothing points at them.
    pub(crate) fn due(&self, reach: Reach, wall: SystemTime) -> Vec<OsString> {
        // A time in the future is as recent as can be.
        let warm = |time| wall.duration_since(time).unwrap_or_default() < WARM;
        let due = |entry: &Entry| match entry {
            Entry::Ignored => false,
            Entry::File(stamp) => reach == Reach::All || warm(stamp.modified),
        };
        if reach == Reach::None || reach == Reach::Warm && !warm(self.newest) {
            return Vec::new();
        }
        self.entries.iter().filter(|(_, entry)| due(entry)).map(|(name, _)| name.clone()).collect()
    }

    /// The names of which a listing has news: new in it, or missing from it.
    pub(crate) fn differing(&self, listing: &HashSet<OsString>) -> Vec<OsString> {
        let new = listing.iter().filter(|name| !self.entries.contains_key(*name));
        let missing = self.entries.keys().filter(|name| !listing.contains(*name));
        new.chain(missing).cloned().collect()
    }
}

/// Which known files are looked at again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reach {
    None,
    /// Those changed within a day: the others can wait.
    Warm,
    All,
}
