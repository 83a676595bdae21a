//! claude-mem's database, read beside its own worker.
//!
//! Invariant: nothing is ever written to it: it is opened for reading only, never through a link,
//! never as a file that does not change (its newest rows are in the log beside it). Each answer is
//! one short read transaction. A session is found by platform and id together, since the same id
//! may be known on several platforms. Whatever is wrong with the database is an [`Unavailable`], which
//! stops nobody.
//!
//! Refuses: the raw prompt that a session's row carries, since claude-mem keeps there what it keeps
//! private elsewhere.

mod place;
mod rows;
mod schema;
mod sessions;
mod whole;

use std::{
    borrow::Cow,
    fs, io,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
    sync::atomic::{AtomicU64, Ordering},
    time::Duration,
};

use rusqlite::{Connection, ErrorCode, OpenFlags, types::ValueRef};

use self::schema::{Failure, Schema};
use crate::observation::rows::Observed;

pub use self::{place::folder, rows::Mark, sessions::Known, whole::Whole};
pub use crate::paths::ClaudeMemPlace as Place;

/// How long a lock of others is waited for, where nobody waits behind it.
pub const BUSY: Duration = Duration::from_secs(5);
/// The name of the database in claude-mem's data folder.
const DATABASE: &str = "claude-mem.db";
/// The platform that sessions of Claude Code are filed under.
const PLATFORM: &str = "claude";

/// Why nothing is read from claude-mem.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Unavailable {
    /// No folder can be named.
    #[error("claude-mem can't be looked for: neither HOME nor CLAUDE_MEM_DATA_DIR is set")]
    NoHome,
    /// There is no database.
    #[error("claude-mem is not there: there is no {path}")]
    Absent {
        /// Where it would be.
        path: PathBuf,
    },
    /// Its rows go to a server.
    #[error(
        "claude-mem writes to a server, not to {path} (CLAUDE_MEM_RUNTIME is `server` in its \
         settings.json)"
    )]
    Server {
        /// The database that it does not use.
        path: PathBuf,
    },
    /// Somebody holds it for too long.
    #[error("claude-mem's database {path} is locked by another program")]
    Locked {
        /// The database.
        path: PathBuf,
    },
    /// It is no database, or a broken one.
    #[error("claude-mem's database {path} is damaged: {why}")]
    Malformed {
        /// The file.
        path: PathBuf,
        /// What SQLite says.
        why: String,
    },
    /// It lacks what every version that can be read has.
    #[error("claude-mem's database {path} is of a version that can't be read: it has no {missing}")]
    Unknown {
        /// The database.
        path: PathBuf,
        /// The table or column.
        missing: String,
    },
    /// The system does not let it be read.
    #[error("can't read claude-mem's database {path}: {why}")]
    Unreadable {
        /// The database.
        path: PathBuf,
        /// Why not.
        why: String,
    },
}

/// A state of the database: equal to another only if nothing was committed between.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Version {
    opened: u64,
    version: i64,
}

/// claude-mem's database, opened when it is first asked for and again when it was replaced.
#[derive(Debug)]
pub struct ClaudeMem {
    place: Place,
    busy: Duration,
    open: Option<Open>,
}

/// How often a database was opened by this process: SQLite's own number of a version begins anew for
/// each connection.
static OPENED: AtomicU64 = AtomicU64::new(0);

#[derive(Debug)]
struct Open {
    connection: Connection,
    path: PathBuf,
    /// Device and inode.
    identity: (u64, u64),
    opened: u64,
    schema: Schema,
}

impl ClaudeMem {
    /// The database of this place. Locks of others are waited for as long as `busy`.
    pub fn new(place: Place, busy: Duration) -> Self {
        Self { place, busy, open: None }
    }

    /// What is known of a session; none where the session itself is not known.
    ///
    /// # Errors
    /// Where the database can't be read; the next call tries again.
    pub fn observed(&mut self, session: &str) -> Result<Option<Observed>, Unavailable> {
        self.read(|schema, connection| rows::observed(schema, connection, session))
    }

    /// What changes whenever something is committed.
    ///
    /// # Errors
    /// As [`Self::observed`].
    pub fn version(&mut self) -> Result<Version, Unavailable> {
        self.attempt(|open| {
            let number = |row: &rusqlite::Row<'_>| row.get(0);
            let version = open.connection.pragma_query_value(None, "data_version", number)?;
            Ok(Version { opened: open.opened, version })
        })
    }

    /// What changes whenever the rows of a session do; none where it is not known.
    ///
    /// # Errors
    /// As [`Self::observed`].
    pub fn mark(&mut self, session: &str) -> Result<Option<Mark>, Unavailable> {
        self.read(|schema, connection| rows::mark(schema, connection, session))
    }

    /// One observation of a session with all that is stored of it.
    ///
    /// # Errors
    /// As [`Self::observed`].
    pub fn whole(&mut self, session: &str, id: i64) -> Result<Option<Whole>, Unavailable> {
        self.read(|schema, connection| whole::whole(schema, connection, session, id))
    }

    /// The sessions of which something is stored and whose ids begin like this.
    ///
    /// # Errors
    /// As [`Self::observed`].
    pub fn sessions(&mut self, prefix: &str) -> Result<Vec<Known>, Unavailable> {
        self.read(|schema, connection| sessions::sessions(schema, connection, prefix))
    }

    /// Lets go of the database until it is asked again.
    pub fn close(&mut self) {
        self.open = None;
    }

    /// The database's path, whether it is there or not.
    pub fn path(&self) -> Option<PathBuf> {
        Some(folder(&self.place)?.join(DATABASE))
    }

    /// How SQLite plans what [`Self::observed`] and [`Self::mark`] ask, a line a step.
    ///
    /// # Errors
    /// As [`Self::observed`].
    pub fn plans(&mut self) -> Result<Vec<String>, Unavailable> {
        self.read(rows::plans)
    }

    /// Reads in one transaction, so that all of an answer is of one moment.
    fn read<R>(
        &mut self,
        read: impl Fn(&Schema, &Connection) -> rusqlite::Result<R>,
    ) -> Result<R, Unavailable> {
        self.attempt(|open| {
            let transaction = open.connection.unchecked_transaction()?;
            open.schema.refresh(&transaction)?;
            let answer = read(&open.schema, &transaction)?;
            transaction.finish()?;
            Ok(answer)
        })
    }

    /// Opens the database where it is not, does something with it, and lets go of one that failed.
    fn attempt<R>(
        &mut self,
        work: impl FnOnce(&mut Open) -> Result<R, Failure>,
    ) -> Result<R, Unavailable> {
        let path = self.path().ok_or(Unavailable::NoHome)?;
        let identity = self.look(&path)?;
        if self.open.as_ref().is_some_and(|open| open.path != path || open.identity != identity) {
            self.open = None;
        }
        let open = match &mut self.open {
            Some(open) => open,
            closed => {
                if place::is_server(path.parent().unwrap_or(Path::new("/"))) {
                    return Err(Unavailable::Server { path });
                }
                let opened = Open::new(&path, identity, self.busy);
                closed.insert(opened.map_err(|error| failed(&path, error.into()))?)
            }
        };
        let done = work(open).map_err(|error| failed(&path, error));
        if done.is_err() {
            self.open = None;
        }
        done
    }

    /// The file that is there now, if it is one.
    fn look(&mut self, path: &Path) -> Result<(u64, u64), Unavailable> {
        let unreadable = |why: String| Unavailable::Unreadable { path: path.to_owned(), why };
        let looked = match fs::symlink_metadata(path) {
            Ok(data) if data.is_file() => Ok((data.dev(), data.ino())),
            Ok(_) => Err(unreadable("it is no regular file".to_owned())),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                Err(Unavailable::Absent { path: path.to_owned() })
            }
            Err(error) => Err(unreadable(error.to_string())),
        };
        if looked.is_err() {
            self.open = None;
        }
        looked
    }
}

impl Open {
    fn new(path: &Path, identity: (u64, u64), busy: Duration) -> rusqlite::Result<Self> {
        // SQLite refuses links in any part of the path, and the folder may be one.
        let folder = path.parent().and_then(|folder| fs::canonicalize(folder).ok());
        let real = folder.map_or_else(|| path.to_owned(), |folder| folder.join(DATABASE));
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY
            | OpenFlags::SQLITE_OPEN_NO_MUTEX
            | OpenFlags::SQLITE_OPEN_NOFOLLOW;
        let connection = Connection::open_with_flags(real, flags)?;
        connection.busy_timeout(busy)?;
        connection.pragma_update(None, "query_only", true)?;
        let opened = OPENED.fetch_add(1, Ordering::Relaxed);
        Ok(Self { connection, path: path.to_owned(), identity, opened, schema: Schema::default() })
    }
}

/// What an error of SQLite means for those who only wanted to look.
fn failed(path: &Path, error: Failure) -> Unavailable {
    let path = path.to_owned();
    let error = match error {
        Failure::Sqlite(error) => error,
        Failure::Missing(missing) => return Unavailable::Unknown { path, missing },
    };
    let why = error.to_string();
    match error.sqlite_error_code() {
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => Unavailable::Locked { path },
        Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => {
            Unavailable::Malformed { path, why }
        }
        _ => Unavailable::Unreadable { path, why },
    }
}

/// A text, whatever was stored in its column.
fn text<'r>(row: &'r rusqlite::Row<'_>, column: usize) -> Cow<'r, str> {
    match row.get_ref(column) {
        Ok(ValueRef::Text(bytes) | ValueRef::Blob(bytes)) => String::from_utf8_lossy(bytes),
        Ok(ValueRef::Integer(number)) => number.to_string().into(),
        Ok(ValueRef::Real(number)) => number.to_string().into(),
        Ok(ValueRef::Null) | Err(_) => Cow::Borrowed(""),
    }
}

/// A whole number, whatever was stored in its column.
fn number(row: &rusqlite::Row<'_>, column: usize) -> Option<i64> {
    match row.get_ref(column).ok()? {
        ValueRef::Integer(number) => Some(number),
        ValueRef::Real(number) => Some(number as i64),
        ValueRef::Text(text) => std::str::from_utf8(text).ok()?.trim().parse().ok(),
        ValueRef::Blob(_) | ValueRef::Null => None,
    }
}
