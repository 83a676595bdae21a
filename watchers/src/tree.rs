//! The roots and all below them: which folders are looked at when, and how closely.
//!
//! Invariant: what is known of a root that can't be looked at stays; a folder belongs to one root.
//! Refuses: to know when it is time for a look.

mod visit;

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use crate::coalesce::Changes;
use crate::config::Layout;
use crate::directory;
use crate::event::WatchMode;
use crate::folder::{Folder, Place, Reach, Watch};
use crate::known::{Known, Now};
use crate::mode::count;
use crate::native::Native;

/// How closely a folder is looked at.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Effort {
    /// Listed even if its time says that no entry came or went.
    pub(crate) list: bool,
    /// Which known files are looked at.
    pub(crate) files: Reach,
}

impl Effort {
    pub(crate) const FULL: Self = Self { list: true, files: Reach::All };
    pub(crate) const WARM: Self = Self { list: false, files: Reach::Warm };
    const LEAST: Self = Self { list: false, files: Reach::None };
}

#[derive(Debug)]
struct Root {
    /// As the caller named it.
    given: Arc<Path>,
    /// Where it really is, if it is there.
    real: Option<PathBuf>,
    unreadable: bool,
}

pub(crate) struct Tree {
    layout: Layout,
    roots: Vec<Root>,
    known: Known,
    pub(crate) native: Native,
    pub(crate) changes: Changes,
    /// What the folders come to, and for which revision of them.
    counted: Option<(u64, WatchMode)>,
}

impl Tree {
    pub(crate) fn new(layout: Layout, hot_window: Duration, native: Native) -> Self {
        let known = Known::new(hot_window);
        let (roots, changes) = (Vec::new(), Changes::default());
        Self { layout, roots, known, native, changes, counted: None }
    }

    pub(crate) fn add_root(&mut self, given: &Path) {
        if self.roots.iter().all(|root| *root.given != *given) {
            self.roots.push(Root { given: given.into(), real: None, unreadable: false });
        }
    }

    /// Its files are not told as gone: they are only not ours to watch any more.
    pub(crate) fn remove_root(&mut self, given: &Path) {
        if let Some(index) = self.roots.iter().position(|root| *root.given == *given) {
            let root = self.roots.remove(index);
            self.drop_root(&root.given, root.real.as_deref(), false);
        }
    }

    pub(crate) fn files(&self) -> usize {
        self.known.files()
    }

    pub(crate) fn has_hot(&self) -> bool {
        self.known.has_hot()
    }

    pub(crate) fn has_missing_root(&self) -> bool {
        self.roots.iter().any(|root| self.is_missing(root))
    }

    /// Looks at one path that an event named; `moved`: what stood there may have gone.
    pub(crate) fn dirty(&mut self, path: &Path, moved: bool, now: Now) {
        if let Some(folder) = self.known.folder(path) {
            let place = folder.place.clone();
            if moved {
                self.disarm(path);
            }
            let files = if moved { Reach::All } else { Reach::None };
            return self.visit(path, place, Effort { list: true, files }, now);
        }
        let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else { return };
        match self.known.folder(parent).map(|folder| folder.place.clone()) {
            Some(place) if place.level == self.layout.folders => {
                if self.layout.wants(name) {
                    self.look(parent, name, now);
                }
            }
            Some(place) => self.visit(path, place.below(name), Effort::FULL, now),
            None => self.visit_above(parent, now),
        }
    }

    /// Looks at the hot files.
    pub(crate) fn look_at_hot(&mut self, now: Now) {
        for path in self.known.hot(now) {
            if let (Some(folder), Some(name)) = (path.parent(), path.file_name()) {
                self.look(folder, name, now);
            }
        }
    }

    /// Looks at the roots, and at the folders that are not watched.
    pub(crate) fn look_at_polled(&mut self, now: Now) {
        for index in 0..self.roots.len() {
            self.look_at_root(index, now);
        }
        if self.counted().polled_folders > 0 {
            self.visit_polled(now);
        }
    }

    fn visit_polled(&mut self, now: Now) {
        self.visit_known(now, |folder| (folder.watch != Watch::Native).then_some(Effort::WARM));
    }

    /// Looks at every folder; in full at those that are not watched, as not every file system
    /// gives a folder a new time when an entry comes or goes.
    pub(crate) fn look_at_all(&mut self, effort: Effort, now: Now) {
        self.native.retry();
        for index in 0..self.roots.len() {
            self.look_at_root(index, now);
        }
        self.visit_known(now, |folder| {
            Some(if folder.watch == Watch::Native { effort } else { Effort::FULL })
        });
    }

    /// Sets all watches once more, in case one was lost.
    pub(crate) fn refresh_watches(&mut self) {
        let watched = self.known.folders().filter(|(_, folder)| folder.watch == Watch::Native);
        let watched: Vec<_> = watched.map(|(path, _)| path.clone()).collect();
        for path in watched {
            let watch = self.native.refresh(&path);
            if let Some(folder) = self.known.folder_mut(&path) {
                folder.watch = watch;
            }
        }
    }

    /// The system's reports have ended: nothing is watched any more.
    pub(crate) fn native_stopped(&mut self) {
        self.native.stopped();
        for root in self.roots.iter().filter_map(|root| root.real.clone()).collect::<Vec<_>>() {
            self.disarm(&root);
        }
    }

    pub(crate) fn mode(&mut self) -> WatchMode {
        let mut mode = self.counted().clone();
        let missing = self.roots.iter().filter(|root| self.is_missing(root));
        mode.missing_roots = missing.map(|root| root.given.to_path_buf()).collect();
        mode.unreadable_folders += self.roots.iter().filter(|root| root.unreadable).count();
        mode
    }

    /// Counted anew only after a change: an idle second must cost nothing.
    fn counted(&mut self) -> &WatchMode {
        let revision = self.known.revision();
        let before = self.counted.take().filter(|(counted, _)| *counted == revision);
        let folders = self.known.folders().map(|(_, folder)| folder);
        let counted = before.unwrap_or_else(|| (revision, count(folders, &self.native)));
        &self.counted.insert(counted).1
    }

    fn is_missing(&self, root: &Root) -> bool {
        let there = root.real.as_ref().is_some_and(|real| self.known.folder(real).is_some());
        !there && !root.unreadable
    }

    fn look_at_root(&mut self, index: usize, now: Now) {
        let root = &self.roots[index];
        let (given, before) = (root.given.clone(), root.real.clone());
        let real = match fs::canonicalize(&given) {
            Ok(real) => Some(real),
            Err(error) if directory::is_absence(&error) => None,
            Err(_) => return self.roots[index].unreadable = true,
        };
        self.roots[index].unreadable = false;
        if before != real {
            self.drop_root(&given, before.as_deref(), true);
        }
        self.roots[index].real.clone_from(&real);
        if let Some(real) = real {
            let place = Place { shown: given.to_path_buf(), root: given, level: 0 };
            self.visit(&real, place, Effort::LEAST, now);
        }
    }

    /// Forgets what was at `real`, if it was this root's and not another's.
    fn drop_root(&mut self, given: &Path, real: Option<&Path>, tell: bool) {
        let known = real.and_then(|real| Some((real, self.known.folder(real)?)));
        if let Some((real, _)) = known.filter(|(_, folder)| *folder.place.root == *given) {
            self.forget(real, tell);
        }
    }

    fn visit_known(&mut self, now: Now, effort: impl Fn(&Folder) -> Option<Effort>) {
        let chosen = self.known.folders().filter_map(|(path, folder)| {
            Some((path.clone(), folder.place.clone(), effort(folder)?))
        });
        for (path, place, effort) in chosen.collect::<Vec<_>>() {
            if self.known.folder(&path).is_some() {
                self.visit(&path, place, effort, now);
            }
        }
    }

    /// An event named something in a folder that is not known yet: it is found from above.
    fn visit_above(&mut self, path: &Path, now: Now) {
        let above = path.ancestors().find_map(|path| Some((path, self.known.folder(path)?)));
        let Some((path, folder)) = above else { return };
        if folder.place.level < self.layout.folders {
            let (path, place) = (path.to_owned(), folder.place.clone());
            self.visit(&path, place, Effort { list: true, files: Reach::None }, now);
        }
    }
}
