//! Many hints become few looks, and many changes few reports. Pure.
//!
//! Invariant: a path is looked at once a turn however often it was named, and reported once, with
//! what it showed last. Refuses: to drop a path.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::event::{Seen, WatchEvent};
use crate::folder::{Change, Stamp};

/// The paths that were named since the last turn.
#[derive(Debug, Default)]
pub(crate) struct Dirty {
    /// The value: whether what stood there may have gone. Sorted: folders come before what is in
    /// them.
    paths: BTreeMap<PathBuf, bool>,
}

impl Dirty {
    pub(crate) fn add(&mut self, path: PathBuf, moved: bool) {
        *self.paths.entry(path).or_default() |= moved;
    }

    pub(crate) fn take(&mut self) -> impl Iterator<Item = (PathBuf, bool)> + use<> {
        std::mem::take(&mut self.paths).into_iter()
    }
}

/// What is to be reported at the end of the turn.
#[derive(Debug, Default)]
pub(crate) struct Changes {
    files: BTreeMap<PathBuf, Option<(Arc<Path>, Stamp)>>,
}

impl Changes {
    pub(crate) fn add(&mut self, path: PathBuf, root: &Arc<Path>, change: Change) {
        let now = match change {
            Change::Seen(stamp) => Some((root.clone(), stamp)),
            Change::Gone => None,
        };
        self.files.insert(path, now);
    }

    /// The events that tell it: at most two.
    pub(crate) fn take(&mut self) -> impl Iterator<Item = WatchEvent> + use<> {
        let (mut gone, mut files) = (Vec::new(), Vec::new());
        for (path, now) in std::mem::take(&mut self.files) {
            match now {
                None => gone.push(path),
                Some((root, Stamp { device, inode, length, modified })) => {
                    files.push(Seen { path, root, length, modified, device, inode });
                }
            }
        }
        let gone = (!gone.is_empty()).then_some(WatchEvent::Gone(gone));
        let files = (!files.is_empty()).then_some(WatchEvent::Files(files));
        gone.into_iter().chain(files)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::SystemTime;

    #[test]
    fn a_path_named_often_is_dirty_once_and_folders_come_first() {
        let mut dirty = Dirty::default();
        for (path, moved) in [("/a/b", false), ("/a", false), ("/a/b", true), ("/a/b", false)] {
            dirty.add(path.into(), moved);
        }
        let taken: Vec<_> = dirty.take().collect();
        assert_eq!(taken, [("/a".into(), false), ("/a/b".into(), true)]);
        assert_eq!(dirty.take().count(), 0);
    }

    #[test]
    fn the_last_change_of_a_path_is_the_one_told() {
        let root: Arc<Path> = Path::new("/r").into();
        let stamp =
            |length| Stamp { device: 1, inode: 2, length, modified: SystemTime::UNIX_EPOCH };
        let mut changes = Changes::default();
        let steps = [
            ("/r/a", Change::Seen(stamp(1))),
            ("/r/b", Change::Seen(stamp(1))),
            ("/r/a", Change::Gone),
            ("/r/a", Change::Seen(stamp(3))),
            ("/r/b", Change::Gone),
        ];
        for (path, change) in steps {
            changes.add(path.into(), &root, change);
        }
        let events: Vec<_> = changes.take().collect();
        let [WatchEvent::Gone(gone), WatchEvent::Files(files)] = &events[..] else {
            panic!("{events:?}")
        };
        assert_eq!(gone, &[PathBuf::from("/r/b")]);
        assert_eq!((files[0].path.as_path(), files[0].length), (Path::new("/r/a"), 3));
        assert_eq!((files.len(), changes.take().count()), (1, 0));
    }
}
