//! Copies: the immutable snapshots that pointers name.
//!
//! Every bottle that is written is a new file, so a copy is a second name of the one that was just
//! written: it costs nothing, and does not change when the bottle goes on. The last two copies of a
//! session are kept, and those of the last minutes. Refuses: to give a number twice, and to copy a bottle that somebody replaced.
use std::{
    fs, io,
    path::{Path, PathBuf},
    time::{Duration, SystemTime},
};

use super::{FileError, write_new};
use crate::paths::{Paths, SessionId};

/// Copies of a session that are kept.
const KEPT: usize = 2;
/// And those that are younger than this: an agent may still be reading one, and one that was made for
/// a hook which printed by itself does not push out the one that was printed.
const YOUNG: Duration = Duration::from_secs(10 * 60);

/// Gives the bottle a second name; false where that name is taken. Its text is asked for only where
/// the file system has no second names.
pub(super) fn link(
    bottle: &Path,
    copy: &Path,
    text: impl FnOnce() -> Result<String, FileError>,
) -> Result<bool, FileError> {
    match fs::hard_link(bottle, copy) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(false),
        // Not every file system has hard links.
        Err(_) => write_new(copy, &text()?),
    }
}

/// The highest number that a copy of the session carries; 0 where there is none.
pub fn highest(paths: &Paths, id: &SessionId) -> u32 {
    copies(paths, id).last().map_or(0, |(n, _)| *n)
}

/// Removes the copies of a session but the last two and the young ones. Failing at it harms nobody: it
/// is tried again with the next copy.
pub fn prune(paths: &Paths, id: &SessionId, now: SystemTime) {
    let copies = copies(paths, id);
    for (_, path) in &copies[..copies.len().saturating_sub(KEPT)] {
        let made = fs::symlink_metadata(path).and_then(|data| data.modified());
        let age = made.ok().and_then(|made| now.duration_since(made).ok());
        if age.is_some_and(|age| age > YOUNG) {
            drop(fs::remove_file(path));
        }
    }
}

/// Removes all copies of a session: its words are in the archive.
pub(super) fn remove_all(paths: &Paths, id: &SessionId) {
    for (_, path) in copies(paths, id) {
        drop(fs::remove_file(path));
    }
}

/// The copies of a session by their numbers.
fn copies(paths: &Paths, id: &SessionId) -> Vec<(u32, PathBuf)> {
    let entries = fs::read_dir(&paths.bottles).into_iter().flatten().flatten();
    let number = |entry: &fs::DirEntry| {
        let name = entry.file_name();
        let rest = name.to_str()?.strip_prefix(id.as_str())?.strip_prefix('@')?;
        rest.strip_suffix(".md")?.parse().ok()
    };
    let mut copies: Vec<_> =
        entries.filter_map(|entry| Some((number(&entry)?, entry.path()))).collect();
    copies.sort();
    copies
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_two_copies_of_a_session_are_kept() {
        let folder = tempfile::tempdir().unwrap();
        let paths = Paths::new(folder.path());
        fs::create_dir_all(&paths.bottles).unwrap();
        let id: SessionId = "a".parse().unwrap();
        assert_eq!(highest(&paths, &id), 0);
        fs::write(paths.bottle(&id), "one").unwrap();
        for n in [1, 2, 9, 10] {
            assert!(link(&paths.bottle(&id), &paths.copy(&id, n), || Ok(String::new())).unwrap());
        }
        assert!(!link(&paths.bottle(&id), &paths.copy(&id, 9), || Ok(String::new())).unwrap());
        for other in ["b@1.md", "a@x.md", "ab@3.md", "a@1.txt"] {
            fs::write(paths.bottles.join(other), "").unwrap();
        }
        assert_eq!(highest(&paths, &id), 10);
        let now = SystemTime::now();
        prune(&paths, &id, now);
        assert_eq!(copies(&paths, &id).len(), 4);
        prune(&paths, &id, now + 2 * YOUNG);
        let left = copies(&paths, &id);
        assert_eq!(left.iter().map(|(n, _)| *n).collect::<Vec<_>>(), [9, 10]);
        // The bottle goes on; the copy does not.
        super::super::write_whole(&paths.bottle(&id), "two").unwrap();
        assert_eq!(fs::read_to_string(paths.copy(&id, 10)).unwrap(), "one");
        remove_all(&paths, &id);
        assert_eq!(fs::read_dir(&paths.bottles).unwrap().count(), 5);
    }
}
