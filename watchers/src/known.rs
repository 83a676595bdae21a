//! The table of what was seen: folders, their files, and which of them are hot. Pure.
//!
//! Invariant: [`Known::observe`] is the only way in for a file, and tells a change exactly once. A
//! file is hot from a change that was seen until the window has passed, by a clock that can't be
//! set; only the first sight goes by the file's own time.
//! Refuses: to look at anything; the caller brings what a look showed, and the time.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

use crate::folder::{Change, Entry, Folder, Look};

/// Both clocks, read once per turn.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Now {
    pub(crate) instant: Instant,
    pub(crate) wall: SystemTime,
}

/// The table; see the module header.
#[derive(Debug)]
pub(crate) struct Known {
    folders: HashMap<PathBuf, Folder>,
    /// Until when each hot file is looked at often.
    hot: HashMap<PathBuf, Instant>,
    window: Duration,
    revision: u64,
}

impl Known {
    pub(crate) fn new(window: Duration) -> Self {
        Self { folders: HashMap::new(), hot: HashMap::new(), window, revision: 0 }
    }

    pub(crate) fn folder(&self, path: &Path) -> Option<&Folder> {
        self.folders.get(path)
    }

    /// Another number than before, if anything but a hot file's time changed since.
    pub(crate) fn revision(&self) -> u64 {
        self.revision
    }

    pub(crate) fn folder_mut(&mut self, path: &Path) -> Option<&mut Folder> {
        self.revision += 1;
        self.folders.get_mut(path)
    }

    pub(crate) fn folders(&self) -> impl Iterator<Item = (&PathBuf, &Folder)> {
        self.folders.iter()
    }

    pub(crate) fn insert(&mut self, path: &Path, folder: Folder) {
        self.revision += 1;
        self.folders.insert(path.to_owned(), folder);
    }

    pub(crate) fn files(&self) -> usize {
        self.folders.values().map(Folder::files).sum()
    }

    /// The folder at `path` and all below it, those above first.
    pub(crate) fn subtree(&self, path: &Path) -> Vec<PathBuf> {
        let mut found: Vec<_> =
            self.folders.keys().filter(|folder| folder.starts_with(path)).cloned().collect();
        found.sort_unstable();
        found
    }

    /// The folders directly inside the one at `path`.
    pub(crate) fn children(&self, path: &Path) -> Vec<PathBuf> {
        let inside = |folder: &&PathBuf| folder.parent() == Some(path);
        self.folders.keys().filter(inside).cloned().collect()
    }

    /// Forgets one folder; returns it, and the paths of its files as the caller knows them.
    pub(crate) fn remove(&mut self, path: &Path) -> Option<(Folder, Vec<PathBuf>)> {
        self.revision += 1;
        let folder = self.folders.remove(path)?;
        for name in folder.file_names() {
            self.hot.remove(&path.join(name));
        }
        let shown = folder.file_names().map(|name| folder.place.shown.join(name)).collect();
        Some((folder, shown))
    }

    /// Takes in what a look at `name` in `folder` showed; returns what is news about it.
    pub(crate) fn observe(
        &mut self,
        folder: &Path,
        name: &OsStr,
        look: Look,
        now: Now,
    ) -> Option<Change> {
        let before = self.folders.get_mut(folder)?.set(name, look);
        match (before, look) {
            (Some(Entry::File(before)), Look::File(stamp)) if before == stamp => return None,
            _ => self.revision += 1,
        }
        match (before, look) {
            (before, Look::File(stamp)) => {
                let first = !matches!(before, Some(Entry::File(_)));
                self.heat(folder.join(name), first.then_some(stamp.modified), now);
                Some(Change::Seen(stamp))
            }
            (Some(Entry::File(_)), Look::Other | Look::Missing) => {
                self.hot.remove(&folder.join(name));
                Some(Change::Gone)
            }
            (Some(Entry::Ignored) | None, Look::Other | Look::Missing) => None,
        }
    }

    /// The files that are hot now; those that cooled down are dropped.
    pub(crate) fn hot(&mut self, now: Now) -> Vec<PathBuf> {
        self.hot.retain(|_, until| now.instant < *until);
        self.hot.keys().cloned().collect()
    }

    pub(crate) fn has_hot(&self) -> bool {
        !self.hot.is_empty()
    }

    fn heat(&mut self, path: PathBuf, first_sight: Option<SystemTime>, now: Now) {
        let age = first_sight.map(|modified| now.wall.duration_since(modified).unwrap_or_default());
        let left = self.window.saturating_sub(age.unwrap_or_default());
        if !left.is_zero() {
            self.hot.insert(path, now.instant + left);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ffi::OsString;
    use std::sync::Arc;

    use crate::folder::{FolderIdentity, Place, Reach, Stamp, WARM, Watch};

    const MINUTE: Duration = Duration::from_secs(60);

    struct Table {
        known: Known,
        now: Now,
    }

    impl Table {
        fn new() -> Self {
            let mut known = Known::new(10 * MINUTE);
            let root: Arc<Path> = Path::new("/given").into();
            let place = Place { shown: root.join("p"), root, level: 1 };
            let identity = FolderIdentity { device: 1, inode: 1, born: None };
            known.insert(Path::new("/real/p"), Folder::new(place, identity, Watch::Native));
            let now = Now { instant: Instant::now(), wall: SystemTime::now() };
            Self { known, now }
        }

        fn stamp(&self, length: u64, age: Duration) -> Stamp {
            Stamp { device: 1, inode: 7, length, modified: self.now.wall - age }
        }

        fn observe(&mut self, look: Look) -> Option<Change> {
            self.known.observe(Path::new("/real/p"), OsStr::new("a"), look, self.now)
        }

        fn pass(&mut self, time: Duration) {
            self.now.instant += time;
            self.now.wall += time;
        }

        fn hot(&mut self) -> usize {
            self.known.hot(self.now).len()
        }
    }

    #[test]
    fn a_change_is_told_once() {
        let mut table = Table::new();
        let (one, two) = (table.stamp(1, MINUTE), table.stamp(2, MINUTE));
        let steps = [
            (Look::Missing, None),
            (Look::File(one), Some(Change::Seen(one))),
            (Look::File(one), None),
            (Look::File(two), Some(Change::Seen(two))),
            (Look::Missing, Some(Change::Gone)),
            (Look::Missing, None),
            (Look::Other, None),
            (Look::File(two), Some(Change::Seen(two))),
            (Look::Other, Some(Change::Gone)),
            (Look::Other, None),
            (Look::Missing, None),
        ];
        for (step, (look, expect)) in steps.into_iter().enumerate() {
            assert_eq!(table.observe(look), expect, "step {step}");
        }
    }

    #[test]
    fn inode_and_time_count_as_changes_too() {
        let mut table = Table::new();
        let stamp = table.stamp(1, MINUTE);
        table.observe(Look::File(stamp));
        for other in [Stamp { inode: 8, ..stamp }, Stamp { modified: table.now.wall, ..stamp }] {
            assert_eq!(table.observe(Look::File(other)), Some(Change::Seen(other)));
        }
    }

    #[test]
    fn a_file_is_hot_while_its_change_is_recent() {
        let mut table = Table::new();
        table.observe(Look::File(table.stamp(1, 9 * MINUTE)));
        assert_eq!(table.hot(), 1);
        table.pass(2 * MINUTE);
        assert_eq!(table.hot(), 0);
        // A change that was seen counts from now, whatever time the file bears.
        table.observe(Look::File(table.stamp(2, 500 * MINUTE)));
        table.pass(9 * MINUTE);
        assert_eq!(table.hot(), 1);
        table.observe(Look::Missing);
        assert!(!table.known.has_hot());
    }

    #[test]
    fn a_time_in_the_future_or_a_clock_set_back_keeps_a_file_hot_for_one_window_only() {
        let mut table = Table::new();
        let modified = table.now.wall + 1000 * MINUTE;
        table.observe(Look::File(Stamp { device: 1, inode: 7, length: 1, modified }));
        table.now.wall -= 5000 * MINUTE;
        assert_eq!(table.hot(), 1);
        table.pass(11 * MINUTE);
        assert_eq!(table.hot(), 0);
    }

    #[test]
    fn an_old_file_is_known_and_not_hot_and_only_due_when_all_are() {
        let mut table = Table::new();
        table.observe(Look::File(table.stamp(1, 2 * WARM)));
        assert!(!table.known.has_hot());
        let folder = table.known.folder(Path::new("/real/p")).unwrap();
        let due = |reach| folder.due(reach, table.now.wall).len();
        assert_eq!([due(Reach::None), due(Reach::Warm), due(Reach::All)], [0, 0, 1]);
        assert_eq!(folder.due(Reach::Warm, table.now.wall - 2 * WARM).len(), 1);
    }

    #[test]
    fn a_listing_points_at_what_is_new_and_what_is_missing() {
        let mut table = Table::new();
        table.observe(Look::File(table.stamp(1, MINUTE)));
        let folder = table.known.folder(Path::new("/real/p")).unwrap();
        let differing = |names: &[&str]| {
            let mut found = folder.differing(&names.iter().map(OsString::from).collect());
            found.sort();
            found
        };
        assert!(differing(&["a"]).is_empty());
        assert_eq!(differing(&["b"]), ["a", "b"]);
    }

    #[test]
    fn a_forgotten_folder_gives_its_files_by_the_names_the_caller_knows() {
        let mut table = Table::new();
        table.observe(Look::File(table.stamp(1, MINUTE)));
        assert_eq!(table.known.subtree(Path::new("/real")), [Path::new("/real/p")]);
        assert!(table.known.subtree(Path::new("/real/p2")).is_empty());
        let (_, files) = table.known.remove(Path::new("/real/p")).unwrap();
        assert_eq!(files, [Path::new("/given/p/a")]);
        assert!(!table.known.has_hot() && table.known.files() == 0);
    }
}
