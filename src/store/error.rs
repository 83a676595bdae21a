//! Why the database could not be used, and what helps.
//!
//! SQLite's codes become kinds that a caller can act on: wait, set aside, step down, give up.

use std::{
    io,
    path::{Path, PathBuf},
};

use rusqlite::ErrorCode;

use super::Generation;

/// Why the store did not do what it was asked. The database is as it was.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// There is none yet, and this opening does not make one.
    #[error("there is no {path} yet; `endless run` makes it")]
    Absent {
        /// The database.
        path: PathBuf,
    },
    /// A link, a folder or a special file stands in its place.
    #[error("{path} is not a plain file (a link is not followed here); move it away")]
    NotFile {
        /// What was looked at.
        path: PathBuf,
    },
    /// The file is another user's than the folder.
    #[error("{path} belongs to another user than its folder; give it back with `chown`")]
    NotOurs {
        /// The database.
        path: PathBuf,
    },
    /// It is a database, but not one of ours.
    #[error("{path} is a database of another program; move it away")]
    Foreign {
        /// The database.
        path: PathBuf,
    },
    /// A newer version wrote it; it was not touched.
    #[error(
        "{path} was written by a newer endless (schema {found}, this one knows {known}): update \
         endless, or set ENDLESS_HOME to another folder"
    )]
    TooNew {
        /// The database.
        path: PathBuf,
        /// Its schema.
        found: u32,
        /// The newest schema that this version knows.
        known: u32,
    },
    /// An older version wrote it, and only the owner migrates.
    #[error(
        "{path} was written by an older endless (schema {found}, this one needs {known}): \
         (re)start the service, which brings it up to date"
    )]
    NeedsMigration {
        /// The database.
        path: PathBuf,
        /// Its schema.
        found: u32,
        /// The schema that this version needs.
        known: u32,
    },
    /// It is no database, or a broken one.
    #[error(
        "{path} is damaged; (re)start the service, which moves it aside and goes on with a new \
         one (bottles and transcripts are not in it)"
    )]
    Damaged {
        /// The database.
        path: PathBuf,
        /// What SQLite said.
        source: rusqlite::Error,
    },
    /// Another process holds the lock for longer than we wait.
    #[error("{path} is locked by another process; try again")]
    Busy {
        /// The database.
        path: PathBuf,
    },
    /// It may be read only.
    #[error("can't write {path}: the file, its folder or the disk is read-only")]
    ReadOnly {
        /// The database.
        path: PathBuf,
        /// What SQLite said.
        source: rusqlite::Error,
    },
    /// There is no space left.
    #[error("can't write {path}: the disk is full; what was there is unchanged")]
    Full {
        /// The database.
        path: PathBuf,
        /// What SQLite said.
        source: rusqlite::Error,
    },
    /// Another service has taken over: this one is to step down.
    #[error("generation {generation} owns {path} no longer, generation {now} does")]
    NotOwner {
        /// The database.
        path: PathBuf,
        /// The generation that wanted to write.
        generation: Generation,
        /// The one that owns the database; 0 where none does since it was made anew.
        now: Generation,
    },
    /// The file or its folder could not be looked at or changed.
    #[error("can't use {path}")]
    File {
        /// The file or folder.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// SQLite failed in another way.
    #[error("can't use the database {path}")]
    Failed {
        /// The database.
        path: PathBuf,
        /// What SQLite said.
        source: rusqlite::Error,
    },
}

impl StoreError {
    pub(super) fn new(path: &Path, source: rusqlite::Error) -> Self {
        let path = path.to_owned();
        match source.sqlite_error_code() {
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => Self::Busy { path },
            Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => {
                Self::Damaged { path, source }
            }
            Some(ErrorCode::ReadOnly) => Self::ReadOnly { path, source },
            Some(ErrorCode::DiskFull) => Self::Full { path, source },
            _ => Self::Failed { path, source },
        }
    }
}
