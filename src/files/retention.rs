//! End of life: bottles that nobody touched for long go to the archive, and archives are kept as long
//! as the configuration says (by default for ever).
//!
//! Failing at it harms nobody: it is tried again the next day.
use std::{
    fs,
    path::Path,
    time::{Duration, SystemTime},
};

use crate::{
    paths::{Paths, SessionId},
    text::time::Moment,
};

const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// What a sweep did.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Swept {
    /// Bottles that went to the archive.
    pub archived: usize,
    /// Archives that were deleted.
    pub deleted: usize,
}

/// Archives the bottles untouched for `archive_after` days, and deletes archives over `keep` days old.
pub fn sweep_old(paths: &Paths, now: SystemTime, archive_after: u32, keep: Option<u32>) -> Swept {
    let mut swept = Swept::default();
    for (path, age) in files(&paths.bottles, now) {
        if age > DAY * archive_after && archive(paths, &path, now) {
            swept.archived += 1;
        }
    }
    let Some(keep) = keep else { return swept };
    for (path, _) in files(&paths.archive, now) {
        let is_old = archived_at(&path)
            .is_some_and(|at| now.duration_since(at).is_ok_and(|age| age > DAY * keep));
        if is_old && fs::remove_file(&path).is_ok() {
            swept.deleted += 1;
        }
    }
    swept
}

/// When an archive was made, by its name: `<UTC milliseconds>-<id>.md`.
fn archived_at(path: &Path) -> Option<SystemTime> {
    let name = path.file_name()?.to_str()?.strip_suffix(".md")?;
    let milliseconds = name.split_once('-')?.0.parse().ok()?;
    SystemTime::UNIX_EPOCH.checked_add(Duration::from_millis(milliseconds))
}

/// The regular files of a folder with their age.
fn files(folder: &Path, now: SystemTime) -> Vec<(std::path::PathBuf, Duration)> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let aged = |entry: fs::DirEntry| {
        let data = entry.metadata().ok().filter(fs::Metadata::is_file)?;
        let age = now.duration_since(data.modified().ok()?).ok()?;
        Some((entry.path(), age))
    };
    entries.filter_map(aged).collect()
}

fn archive(paths: &Paths, path: &Path, now: SystemTime) -> bool {
    let Some(name) = path.file_name().and_then(|name| name.to_str()) else { return false };
    let Some(id) = name.strip_suffix(".md").and_then(|id| id.parse::<SessionId>().ok()) else {
        return false;
    };
    let since = now.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    let moment = Moment(i64::try_from(since.as_millis()).unwrap_or(i64::MAX));
    super::bottles::archive_now(paths, &id, moment).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn old_bottles_go_to_the_archive_and_old_archives_go() {
        let folder = tempfile::tempdir().unwrap();
        let paths = Paths::new(folder.path().join("state"));
        crate::files::prepare(&paths).unwrap();
        for name in ["a.md", "b.md"] {
            fs::write(paths.bottles.join(name), "x").unwrap();
        }
        let now = SystemTime::now();
        let later = now + DAY * 100;
        assert_eq!(sweep_old(&paths, now, 90, None), Swept::default());
        let file = fs::File::options().write(true).open(paths.bottles.join("b.md")).unwrap();
        file.set_modified(later).unwrap();
        assert_eq!(sweep_old(&paths, later, 90, None), Swept { archived: 1, deleted: 0 });
        assert!(!paths.bottles.join("a.md").exists() && paths.bottles.join("b.md").exists());
        // It was archived just now, however old it is.
        assert_eq!(sweep_old(&paths, later, 90, Some(30)), Swept::default());
        let much_later = later + DAY * 31;
        assert_eq!(sweep_old(&paths, much_later, 90, Some(30)), Swept { archived: 0, deleted: 1 });
    }
}
