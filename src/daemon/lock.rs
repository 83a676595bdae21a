//! One owner for each state folder: a locked file.
//!
//! `service.lock` is locked as long as the service lives, holds who it is, and is never removed:
//! a lock that is deleted at the end can be taken twice. Hooks and commands never touch it; that
//! a service is down means that nobody answers the socket.
use std::{
    fs::{File, TryLockError},
    io::{self, Read, Seek, Write},
    os::unix::fs::{MetadataExt, OpenOptionsExt},
    path::{Path, PathBuf},
};

use serde::{Deserialize, Serialize};

/// Who holds the lock.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Holder {
    /// Process id.
    pub pid: u32,
    /// Host name, since a state folder may be seen from several.
    pub host: String,
    /// Version of the binary.
    pub version: String,
}

/// The lock, held until it is dropped.
#[derive(Debug)]
pub struct Lock {
    file: File,
    path: PathBuf,
}

/// Why there is no lock.
#[derive(Debug, thiserror::Error)]
#[error("failed to lock {path}")]
pub struct LockError {
    /// The file.
    pub path: PathBuf,
    /// What the system said.
    pub source: io::Error,
}

impl Lock {
    /// Takes the lock, or tells who has it.
    ///
    /// # Errors
    /// Where the file can't be opened or locked at all.
    pub fn take(path: &Path, holder: &Holder) -> Result<Result<Self, Holder>, LockError> {
        let failed = |source| LockError { path: path.to_owned(), source };
        let mut file = File::options()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o600)
            .custom_flags(i32::try_from(rustix::fs::OFlags::NOFOLLOW.bits()).unwrap_or_default())
            .open(path)
            .map_err(failed)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Ok(Err(read(&mut file))),
            Err(TryLockError::Error(source)) => return Err(failed(source)),
        }
        write(&mut file, holder).map_err(failed)?;
        let lock = Self { file, path: path.to_owned() };
        if lock.is_ours() { Ok(Ok(lock)) } else { Err(failed(io::Error::other("it was replaced"))) }
    }

    /// Whether the path still shows the file that is locked.
    pub fn is_ours(&self) -> bool {
        let (Ok(held), Ok(there)) = (self.file.metadata(), std::fs::symlink_metadata(&self.path))
        else {
            return false;
        };
        (held.dev(), held.ino()) == (there.dev(), there.ino())
    }
}

/// Who the file says has the lock; unknown where it says nothing.
fn read(file: &mut File) -> Holder {
    let mut text = String::new();
    let read = file.take(4_096).read_to_string(&mut text);
    read.ok().and_then(|_| serde_json::from_str(&text).ok()).unwrap_or_default()
}

fn write(file: &mut File, holder: &Holder) -> io::Result<()> {
    let text = serde_json::to_string(holder)?;
    file.set_len(0)?;
    file.rewind()?;
    file.write_all(text.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_holder_and_the_second_learns_who() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("service.lock");
        let me = Holder { pid: 7, host: "here".into(), version: "1".into() };
        let lock = Lock::take(&path, &me).unwrap().unwrap();
        assert_eq!(Lock::take(&path, &Holder::default()).unwrap().unwrap_err(), me);
        assert!(lock.is_ours());
        drop(lock);
        assert!(Lock::take(&path, &me).unwrap().is_ok());
    }

    #[test]
    fn a_deleted_or_replaced_lock_is_noticed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("service.lock");
        let lock = Lock::take(&path, &Holder::default()).unwrap().unwrap();
        std::fs::remove_file(&path).unwrap();
        assert!(!lock.is_ours());
        let second = Lock::take(&path, &Holder::default()).unwrap().unwrap();
        assert!(!lock.is_ours() && second.is_ours());
    }
}
