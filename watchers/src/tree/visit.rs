//! A visit to one folder: finds out what is new in it, and sees to it that it is watched.
//!
//! Invariant: a folder is watched before it is listed, so that nothing made in between is lost; a
//! folder whose watch may be gone is [`Watch::Off`] until it is set up again and listed in full.
//! Refuses: to follow a link below a root, to look below the level where the files are, to take an
//! error for an absence.

use std::collections::HashSet;
use std::ffi::{OsStr, OsString};
use std::fs::FileType;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use super::{Effort, Tree};
use crate::directory;
use crate::folder::{Change, Folder, FolderIdentity, Look, Place, Watch, Why};
use crate::known::Now;

/// A folder that changed this recently may change again without another time: the clocks of file
/// systems are coarse.
const SETTLED: Duration = Duration::from_secs(3);

impl Tree {
    pub(super) fn visit(&mut self, path: &Path, place: Place, effort: Effort, now: Now) {
        // A root inside another, or the same by another name, is looked at once.
        if self.known.folder(path).is_some_and(|known| known.place.root != place.root) {
            return;
        }
        let (identity, changed) = match directory::look_at_folder(path) {
            Ok(Some(found)) => found,
            Ok(None) => return self.forget(path, true),
            Err(_) => return self.unreadable(path),
        };
        self.enter(path, place, identity);
        let Some(folder) = self.known.folder(path) else { return };
        let due = folder.due(effort.files, now.wall);
        if effort.list || folder.listed != Some(changed) {
            self.list(path, changed, now);
        }
        for name in due {
            self.look(path, &name, now);
        }
    }

    /// Takes in a folder that is there, and has it watched.
    fn enter(&mut self, path: &Path, place: Place, identity: FolderIdentity) {
        if self.known.folder(path).is_some_and(|before| before.identity != identity) {
            self.disarm(path);
        }
        let above = path.parent().filter(|_| place.level > 0);
        let above = above.and_then(|above| self.known.folder(above)).map(|above| above.watch);
        let Some(folder) = self.known.folder(path) else {
            let watch = self.native.arm(path, above);
            return self.known.insert(path, Folder::new(place, identity, watch));
        };
        let refused = matches!(folder.watch, Watch::Polled(Why::Limit | Why::Failed));
        let retry = refused && self.native.has_room();
        if folder.watch == Watch::Off || retry {
            let watch = self.native.arm(path, above);
            if let Some(folder) = self.known.folder_mut(path) {
                (folder.identity, folder.watch, folder.listed) = (identity, watch, None);
            }
        }
    }

    fn list(&mut self, path: &Path, changed: SystemTime, now: Now) {
        let entries = match directory::list(path) {
            Ok(entries) => entries,
            Err(error) if directory::is_absence(&error) => return self.forget(path, true),
            Err(_) => return self.unreadable(path),
        };
        let Some(folder) = self.known.folder_mut(path) else { return };
        let settled = now.wall.duration_since(changed).is_ok_and(|age| age > SETTLED);
        folder.listed = settled.then_some(changed);
        folder.unreadable = false;
        let place = folder.place.clone();
        if place.level < self.layout.folders {
            self.list_folders(path, &place, &entries, now);
        } else {
            self.list_files(path, entries, now);
        }
    }

    fn list_folders(
        &mut self,
        path: &Path,
        place: &Place,
        found: &[(OsString, FileType)],
        now: Now,
    ) {
        let links = found.iter().filter(|(_, kind)| kind.is_symlink());
        let links: HashSet<_> = links.map(|(name, _)| name.clone()).collect();
        for name in self.known.folder(path).map(|it| it.differing(&links)).unwrap_or_default() {
            let look = if links.contains(&name) { Look::Other } else { Look::Missing };
            self.known.observe(path, &name, look, now);
        }
        let found = found.iter().filter(|(_, kind)| kind.is_dir()).map(|(name, _)| name);
        let found: HashSet<PathBuf> = found.map(|name| path.join(name)).collect();
        let known: HashSet<PathBuf> = self.known.children(path).into_iter().collect();
        for child in found.union(&known) {
            let watch = self.known.folder(child).map(|folder| folder.watch);
            let settled = watch.is_some_and(|watch| watch != Watch::Off) && found.contains(child);
            if let Some(name) = child.file_name().filter(|_| !settled) {
                self.visit(child, place.below(name), Effort::FULL, now);
            }
        }
    }

    fn list_files(&mut self, path: &Path, found: Vec<(OsString, FileType)>, now: Now) {
        let names = found.into_iter().map(|(name, _)| name);
        let names: HashSet<_> = names.filter(|name| self.layout.wants(name)).collect();
        for name in self.known.folder(path).map(|it| it.differing(&names)).unwrap_or_default() {
            self.look(path, &name, now);
        }
    }

    pub(super) fn look(&mut self, folder: &Path, name: &OsStr, now: Now) {
        let Ok(look) = directory::look(&folder.join(name)) else {
            return self.unreadable(folder);
        };
        let change = self.known.observe(folder, name, look, now);
        if let (Some(change), Some(folder)) = (change, self.known.folder(folder)) {
            let place = &folder.place;
            self.changes.add(place.shown.join(name), &place.root, change);
        }
    }

    /// What is known of the folder stays, until it can be read or is gone.
    fn unreadable(&mut self, path: &Path) {
        if let Some(folder) = self.known.folder_mut(path) {
            folder.unreadable = true;
            folder.listed = None;
        }
    }

    /// Gives the watches of a folder and of all below back.
    pub(super) fn disarm(&mut self, path: &Path) {
        for path in self.known.subtree(path) {
            if let Some(folder) = self.known.folder_mut(&path) {
                self.native.release(&path, folder.watch, folder.place.level);
                (folder.watch, folder.listed) = (Watch::Off, None);
            }
        }
    }

    pub(super) fn forget(&mut self, path: &Path, tell: bool) {
        for path in self.known.subtree(path) {
            let Some((folder, files)) = self.known.remove(&path) else { continue };
            self.native.release(&path, folder.watch, folder.place.level);
            for file in files.into_iter().filter(|_| tell) {
                self.changes.add(file, &folder.place.root, Change::Gone);
            }
        }
    }
}
