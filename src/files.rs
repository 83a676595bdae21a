//! Writes files so that nobody ever sees half of one, and nobody else sees any.
//!
//! A file is written whole to a temporary sibling of mode 0600 that did not exist before, then
//! renamed. Folders are made with mode 0700; the state folder and what is in it must be ours alone.
//!
//! Invariant: after an error the old file is as it was, and no temporary is left. A link at the
//! file's place is replaced, never followed. Refuses: folders of others, or that others can write to.

pub mod bottles;
pub mod copies;
pub mod forget;
pub mod retention;

use std::{
    fs::{self, DirBuilder, Metadata, Permissions},
    io::{self, Write},
    os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt},
    path::{Path, PathBuf},
    time::{Duration, SystemTime},
};

use crate::paths::Paths;

const PREFIX: &str = ".endless-";
const SUFFIX: &str = ".tmp";
/// The age at which a temporary was left behind, whatever process has its number now.
const STALE: Duration = Duration::from_secs(60 * 60);

/// Why a file was not written.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    /// A folder could not be made or looked at.
    #[error("can't use the folder {path}")]
    Folder {
        /// The folder.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// Something else stands where a folder should.
    #[error("{path} is not a folder (a link is not followed here); move it away")]
    NotFolder {
        /// What was looked at.
        path: PathBuf,
    },
    /// The folder is another user's.
    #[error("{path} belongs to another user; set ENDLESS_HOME to a folder of your own")]
    NotOurs {
        /// The folder.
        path: PathBuf,
    },
    /// Others may write to the folder.
    #[error("others can write to {path}; run `chmod 700 {path}`")]
    Open {
        /// The folder.
        path: PathBuf,
    },
    /// The file could not be written; the old one is as it was.
    #[error("can't write {path}; what was there is unchanged")]
    Write {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The file could not be removed.
    #[error("can't remove {path}")]
    Remove {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The file could not be read.
    #[error("can't read {path}")]
    Read {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}

/// Makes the state folder's own folders where they are missing, and checks that they are ours.
pub fn prepare(paths: &Paths) -> Result<(), FileError> {
    folder(&paths.home, |path| fs::metadata(path))?;
    folder(&paths.bottles, |path| fs::symlink_metadata(path))?;
    folder(&paths.triggers, |path| fs::symlink_metadata(path))?;
    folder(&paths.logs, |path| fs::symlink_metadata(path))?;
    folder(&paths.archive, |path| fs::symlink_metadata(path))
}

/// Makes a folder of ours where it is missing, and checks that it is ours alone. A link to one
/// counts where nobody else made it.
pub fn private_folder(path: &Path) -> Result<(), FileError> {
    folder(path, |path| {
        let link = fs::symlink_metadata(path)?;
        let trusted = [0, rustix::process::geteuid().as_raw()].contains(&link.uid());
        if trusted { fs::metadata(path) } else { Ok(link) }
    })
}

fn folder(path: &Path, look: fn(&Path) -> io::Result<Metadata>) -> Result<(), FileError> {
    let failed = |source| FileError::Folder { path: path.to_owned(), source };
    if fs::symlink_metadata(path).is_err() {
        DirBuilder::new().recursive(true).mode(0o700).create(path).map_err(failed)?;
        // Whatever the umask was.
        fs::set_permissions(path, Permissions::from_mode(0o700)).map_err(failed)?;
    }
    let data = look(path).map_err(failed)?;
    let path = path.to_owned();
    if !data.is_dir() {
        Err(FileError::NotFolder { path })
    } else if data.uid() != rustix::process::geteuid().as_raw() {
        Err(FileError::NotOurs { path })
    } else if data.mode() & 0o022 != 0 {
        Err(FileError::Open { path })
    } else {
        Ok(())
    }
}

/// Writes a file of mode 0600 whole, in place of whatever has its name.
pub fn write_whole(path: &Path, text: &str) -> Result<(), FileError> {
    temporary(path, text)
        .and_then(|file| Ok(file.persist(path).map(drop)?))
        .map_err(|source| FileError::Write { path: path.to_owned(), source })
}

/// Writes a file of mode 0600 whole; false where something has its name already.
fn write_new(path: &Path, text: &str) -> Result<bool, FileError> {
    let failed = |source| FileError::Write { path: path.to_owned(), source };
    match temporary(path, text).map_err(failed)?.persist_noclobber(path) {
        Ok(_) => Ok(true),
        Err(error) if error.error.kind() == io::ErrorKind::AlreadyExists => Ok(false),
        Err(error) => Err(failed(error.error)),
    }
}

/// A temporary sibling that holds the text. It is deleted when it is dropped.
fn temporary(path: &Path, text: &str) -> io::Result<tempfile::NamedTempFile> {
    let private = Permissions::from_mode(0o600);
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    let mut file = tempfile::Builder::new()
        .prefix(&format!("{PREFIX}{}-", std::process::id()))
        .suffix(SUFFIX)
        .permissions(private.clone())
        .tempfile_in(folder.unwrap_or(Path::new(".")))
        .map_err(plain)?;
    file.as_file().set_permissions(private)?;
    file.as_file_mut().write_all(text.as_bytes())?;
    Ok(file)
}

/// The system's own error: the name of a temporary helps nobody.
pub(crate) fn plain(error: io::Error) -> io::Error {
    let inner = error.get_ref().and_then(|error| error.source()?.downcast_ref::<io::Error>());
    inner.and_then(io::Error::raw_os_error).map_or(error, io::Error::from_raw_os_error)
}

/// Deletes the temporaries that killed processes left in folders of ours. Failing at it harms
/// nobody: they are tried again next time.
pub fn sweep(paths: &Paths, now: SystemTime) {
    for folder in [&paths.home, &paths.bottles, &paths.archive] {
        sweep_folder(folder, now);
    }
}

fn sweep_folder(folder: &Path, now: SystemTime) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    for entry in entries.flatten() {
        if is_left_behind(&entry, now) {
            drop(fs::remove_file(entry.path()));
        }
    }
}

fn is_left_behind(entry: &fs::DirEntry, now: SystemTime) -> bool {
    let name = entry.file_name();
    let name = name.to_string_lossy();
    let Some(name) = name.strip_prefix(PREFIX).filter(|name| name.ends_with(SUFFIX)) else {
        return false;
    };
    let Some(data) = entry.metadata().ok().filter(Metadata::is_file) else { return false };
    let age = data.modified().ok().and_then(|modified| now.duration_since(modified).ok());
    age.is_some_and(|age| age > STALE) || !is_running(name)
}

/// Whether the process whose number a temporary's name begins with is there.
fn is_running(name: &str) -> bool {
    let number = name.split('-').next().and_then(|number| number.parse::<i32>().ok());
    let process = number.and_then(rustix::process::Pid::from_raw);
    process.is_some_and(|process| {
        !matches!(rustix::process::test_kill_process(process), Err(rustix::io::Errno::SRCH))
    })
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().mode() & 0o777
    }

    fn names(folder: &Path) -> Vec<String> {
        let entries = fs::read_dir(folder).unwrap();
        let mut names: Vec<_> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    #[test]
    fn folders_are_private_and_must_stay_so() {
        let folder = tempfile::tempdir().unwrap();
        let paths = Paths::new(folder.path().join("deep/state"));
        prepare(&paths).unwrap();
        for path in [&paths.home, &paths.bottles, &paths.archive] {
            assert_eq!(mode(path), 0o700);
        }
        prepare(&paths).unwrap();
        fs::set_permissions(&paths.bottles, Permissions::from_mode(0o770)).unwrap();
        assert!(matches!(prepare(&paths), Err(FileError::Open { .. })));
        fs::remove_dir_all(&paths.bottles).unwrap();
        symlink(folder.path(), &paths.bottles).unwrap();
        assert!(matches!(prepare(&paths), Err(FileError::NotFolder { .. })));
        fs::remove_file(&paths.bottles).unwrap();
        fs::write(&paths.bottles, "").unwrap();
        assert!(matches!(prepare(&paths), Err(FileError::NotFolder { .. })));
    }

    #[test]
    fn files_are_private_and_replace_links() {
        let folder = tempfile::tempdir().unwrap();
        let (path, other) = (folder.path().join("a"), folder.path().join("b"));
        fs::write(&other, "theirs").unwrap();
        symlink(&other, &path).unwrap();
        write_whole(&path, "ours").unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "ours");
        assert_eq!(fs::read_to_string(&other).unwrap(), "theirs");
        assert_eq!(mode(&path), 0o600);
        assert!(!write_new(&other, "ours").unwrap());
        assert!(write_new(&folder.path().join("c"), "new").unwrap());
        assert_eq!(names(folder.path()), ["a", "b", "c"]);
    }

    #[test]
    fn a_failure_leaves_nothing_behind() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        fs::create_dir_all(path.join("full")).unwrap();
        assert!(matches!(write_whole(&path, "x"), Err(FileError::Write { .. })));
        assert!(matches!(write_whole(&path.join("no/b"), "x"), Err(FileError::Write { .. })));
        assert_eq!(names(folder.path()), ["a"]);
    }

    #[test]
    fn only_temporaries_left_behind_are_swept() {
        let folder = tempfile::tempdir().unwrap();
        let mine = format!("{PREFIX}{}-x.tmp", std::process::id());
        let dead = format!("{PREFIX}{}-x.tmp", i32::MAX);
        for name in [&mine, &dead, ".endless-1", "a.tmp"] {
            fs::write(folder.path().join(name), "").unwrap();
        }
        sweep_folder(folder.path(), SystemTime::now());
        assert_eq!(names(folder.path()), [".endless-1", &mine, "a.tmp"]);
        sweep_folder(folder.path(), SystemTime::now() + 2 * STALE);
        assert_eq!(names(folder.path()), [".endless-1", "a.tmp"]);
    }
}
