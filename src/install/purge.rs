//! Removes the state folder, and nothing that is not known to be ours.
//!
//! The folder is named by a variable and may be anything: it is emptied name by name, and goes only
//! when nothing is left in it. Refuses: while a service runs, or where the folder is a link.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use super::{
    running::{StillRunning, end},
    work::Work,
};
use crate::paths::Paths;

/// Why the state folder is still there.
#[derive(Debug, thiserror::Error)]
pub enum PurgeError {
    /// A service that can't be ended uses it.
    #[error(transparent)]
    Running(#[from] StillRunning),
    /// It is a link, or no folder.
    #[error("{home} is a link or no folder; remove by hand what it stands for")]
    NotFolder {
        /// The state folder.
        home: PathBuf,
    },
    /// Something in it can't be removed.
    #[error("can't remove {path}")]
    Failed {
        /// What.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}

/// Ends the service that uses the state folder, and removes what is ours.
pub(super) fn purge(work: &mut Work<'_>, paths: &Paths) -> Result<(), PurgeError> {
    let home = &paths.home;
    match fs::symlink_metadata(home) {
        Err(_) => {
            work.note(format!("there is no {}", home.display()));
            return Ok(());
        }
        Ok(data) if data.is_dir() => {}
        Ok(_) => return Err(PurgeError::NotFolder { home: home.clone() }),
    }
    end(work, paths)?;
    for name in names(home).map_err(|source| failed(home, source))? {
        let path = home.join(&name);
        if is_ours(&name) {
            if !work.dry_run {
                remove(&path).map_err(|source| failed(&path, source))?;
            }
            work.step("removed", "remove", &path.display().to_string());
        } else {
            work.note(format!("{} is not ours, and stays", path.display()));
        }
    }
    if work.dry_run {
        return Ok(());
    }
    if !paths.socket.starts_with(home) {
        // It holds nothing, and need not be there.
        fs::remove_file(&paths.socket).ok();
    }
    if names(home).is_ok_and(|names| names.is_empty()) {
        fs::remove_dir(home).map_err(|source| failed(home, source))?;
        work.step("removed", "remove", &home.display().to_string());
    }
    Ok(())
}

fn failed(path: &Path, source: io::Error) -> PurgeError {
    PurgeError::Failed { path: path.to_owned(), source }
}

/// The names in a folder, sorted.
fn names(folder: &Path) -> io::Result<Vec<String>> {
    let names = fs::read_dir(folder)?
        .map(|entry| entry.map(|entry| entry.file_name().to_string_lossy().into_owned()));
    let mut names = names.collect::<io::Result<Vec<_>>>()?;
    names.sort();
    Ok(names)
}

/// Whether Endless makes files or folders of this name in a state folder.
fn is_ours(name: &str) -> bool {
    const NAMES: [&str; 7] = [
        "bottles",
        "bottles.lock",
        "triggers",
        "logs",
        "config.toml",
        "endless.sock",
        "service.lock",
    ];
    NAMES.contains(&name)
        || name == "endless.db"
        || name.starts_with("endless.db-")
        || name.starts_with("endless.db.damaged-")
        || (name.starts_with(".endless-") && name.ends_with(".tmp"))
}

/// A link goes, not what it stands for.
fn remove(path: &Path) -> io::Result<()> {
    if fs::symlink_metadata(path)?.is_dir() {
        fs::remove_dir_all(path)
    } else {
        fs::remove_file(path)
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;
    use crate::{config::Environment, install::Tools};

    fn purged(home: &Path, dry_run: bool) -> Result<(Vec<String>, Vec<String>), PurgeError> {
        let tools = Tools::new(&Environment::capture());
        let mut work = Work::new(&tools, dry_run);
        purge(&mut work, &Paths::new(home))?;
        Ok((work.report.steps, work.report.notes))
    }

    #[test]
    fn only_what_is_ours_goes() {
        let folder = tempfile::tempdir().unwrap();
        let home = folder.path().join("state");
        fs::create_dir_all(home.join("bottles/archive")).unwrap();
        fs::create_dir(folder.path().join("else")).unwrap();
        fs::write(folder.path().join("else/a"), "theirs").unwrap();
        symlink(folder.path().join("else"), home.join("logs")).unwrap();
        for name in ["bottles/a.md", "endless.db", "endless.db-wal", "config.toml", "notes.txt"] {
            fs::write(home.join(name), "").unwrap();
        }
        let (steps, _) = purged(&home, true).unwrap();
        assert_eq!((steps.len(), names(&home).unwrap().len()), (5, 6));
        let (steps, notes) = purged(&home, false).unwrap();
        assert_eq!((steps.len(), notes.len()), (5, 1));
        assert_eq!(names(&home).unwrap(), ["notes.txt"]);
        assert!(folder.path().join("else/a").exists());
        fs::remove_file(home.join("notes.txt")).unwrap();
        purged(&home, false).unwrap();
        assert!(!home.exists());
        assert_eq!(purged(&home, false).unwrap().1.len(), 1);
        symlink(folder.path().join("else"), &home).unwrap();
        assert!(matches!(purged(&home, false), Err(PurgeError::NotFolder { .. })));
    }
}
