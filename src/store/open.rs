//! The three ways to open the database, by what the opener may do.
//!
//! Invariant: the file and SQLite's own two beside it (`-wal`, `-shm`) are of mode 0600 before
//! anything is written to them. Refuses: links, folders and special files in the database's place.

use std::{
    fs::{self, Metadata, Permissions},
    io,
    os::unix::{
        ffi::OsStrExt,
        fs::{MetadataExt, PermissionsExt},
    },
    path::{Path, PathBuf},
    thread,
    time::{Duration, Instant},
};

use rusqlite::{Connection, ErrorCode, OpenFlags, config::DbConfig};

use super::{Store, StoreError, schema};

/// Device and inode.
pub(super) type Identity = (u64, u64);

/// What SQLite appends to the name of a database for its own files. The log comes first.
pub(super) const BESIDE: [&str; 2] = ["-wal", "-shm"];

/// How long to wait between two tries of what SQLite does not wait for itself.
const PAUSE: Duration = Duration::from_millis(5);

/// What an opening may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Access {
    /// Make the database, and write to it.
    Write,
    /// Read what others may be writing.
    Read,
    /// Read a database that nobody can write to; SQLite then needs no files beside it.
    ReadFrozen,
}

impl Store {
    /// Opens the database for the service: makes it where it is absent, and migrates it. Locks of
    /// others are waited for as long as `busy`, here and later.
    pub fn open_owner(path: &Path, busy: Duration) -> Result<Self, StoreError> {
        let mut store = Self::connect(path, Access::Write, busy)?;
        store.schema(schema::MIGRATIONS)?;
        store.check()?;
        store.use_log(busy)?;
        store.migrate(schema::MIGRATIONS)?;
        let store = store.up_to_date(schema::MIGRATIONS)?;
        store.set(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, false)?;
        Ok(store)
    }

    /// Opens the database for a hook or a command: makes it where it is absent, never migrates.
    pub fn open_shared(path: &Path, busy: Duration) -> Result<Self, StoreError> {
        let mut store = Self::connect(path, Access::Write, busy)?;
        if store.schema(schema::MIGRATIONS)? == 0 {
            store.use_log(busy)?;
            store.migrate(schema::MIGRATIONS)?;
        }
        store.up_to_date(schema::MIGRATIONS)
    }

    /// Opens the database to look at it. It is not made; SQLite may make its own files beside it.
    pub fn open_read_only(path: &Path, busy: Duration) -> Result<Self, StoreError> {
        let open = |access| Self::connect(path, access, busy)?.up_to_date(schema::MIGRATIONS);
        match open(Access::Read) {
            // In a read-only folder they can't be made. Without a log the file alone holds all.
            Err(StoreError::ReadOnly { path, .. }) if !beside(&path, BESIDE[0]).exists() => {
                open(Access::ReadFrozen)
            }
            opened => opened,
        }
    }

    /// Whether the path still shows the file that is open here.
    pub fn is_in_place(&self) -> bool {
        fs::symlink_metadata(&self.path).is_ok_and(|data| identity(&data) == self.identity)
    }

    /// The store itself if its schema is the newest known.
    pub(super) fn up_to_date(self, migrations: &[&str]) -> Result<Self, StoreError> {
        let (found, known) = (self.schema(migrations)?, schema::known(migrations));
        let path = self.path.clone();
        match found {
            0 => Err(StoreError::Absent { path }),
            _ if found < known => Err(StoreError::NeedsMigration { path, found, known }),
            _ => Ok(self),
        }
    }

    /// Connects without a look at what is in the database.
    pub(super) fn connect(path: &Path, access: Access, busy: Duration) -> Result<Self, StoreError> {
        let path = resolve(path)?;
        if look(&path)?.is_none() && access != Access::Write {
            return Err(StoreError::Absent { path });
        }
        let connection = open(&path, access).map_err(|error| StoreError::new(&path, error))?;
        if access == Access::Write {
            make_private(&path)?;
        }
        let data = look(&path)?.ok_or_else(|| StoreError::Absent { path: path.clone() })?;
        let store = Self { connection, path, identity: identity(&data) };
        store.settle(busy).map_err(|error| store.failed(error))?;
        Ok(store)
    }

    fn settle(&self, busy: Duration) -> rusqlite::Result<()> {
        // Nobody but the owner moves the log into the file when closing: it takes syncs, and a
        // database that is too new must stay as it is.
        self.connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
        self.connection.busy_timeout(busy)?;
        self.connection.pragma_update(None, "synchronous", "normal")?;
        self.connection.pragma_update(None, "foreign_keys", true)
    }

    fn set(&self, config: DbConfig, value: bool) -> Result<(), StoreError> {
        let set = self.connection.set_db_config(config, value);
        set.map(drop).map_err(|error| self.failed(error))
    }

    /// Sets the write-ahead log up. Where that needs a lock that others hold, SQLite does not wait
    /// for it, since two that change the mode at once would wait for each other.
    fn use_log(&self, busy: Duration) -> Result<(), StoreError> {
        let start = Instant::now();
        loop {
            let set =
                self.connection.pragma_update_and_check(None, "journal_mode", "wal", |_| Ok(()));
            match set {
                Err(error) if is_busy(&error) && start.elapsed() < busy => thread::sleep(PAUSE),
                other => return other.map_err(|error| self.failed(error)),
            }
        }
    }
}

fn open(path: &Path, access: Access) -> rusqlite::Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_NO_MUTEX | OpenFlags::SQLITE_OPEN_NOFOLLOW;
    let read = flags | OpenFlags::SQLITE_OPEN_READ_ONLY;
    let write = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE;
    match access {
        Access::Write => Connection::open_with_flags(path, flags | write),
        Access::Read => Connection::open_with_flags(path, read),
        Access::ReadFrozen => {
            Connection::open_with_flags(frozen(path), read | OpenFlags::SQLITE_OPEN_URI)
        }
    }
}

/// The URI by which SQLite takes a file as one that does not change.
fn frozen(path: &Path) -> String {
    let mut uri = "file:".to_owned();
    for byte in path.as_os_str().as_bytes() {
        match byte {
            b'/' | b'.' | b'-' | b'_' => uri.push(char::from(*byte)),
            _ if byte.is_ascii_alphanumeric() => uri.push(char::from(*byte)),
            _ => uri.push_str(&format!("%{byte:02x}")),
        }
    }
    uri + "?immutable=1"
}

fn is_busy(error: &rusqlite::Error) -> bool {
    error.sqlite_error_code() == Some(ErrorCode::DatabaseBusy)
}

fn identity(data: &Metadata) -> Identity {
    (data.dev(), data.ino())
}

/// The path with the links of its folder resolved, so that a link is refused only in its last part.
pub(super) fn resolve(path: &Path) -> Result<PathBuf, StoreError> {
    let name = path.file_name().ok_or_else(|| StoreError::NotFile { path: path.to_owned() })?;
    let folder = match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    let failed = |source| StoreError::File { path: folder.to_owned(), source };
    Ok(fs::canonicalize(folder).map_err(failed)?.join(name))
}

/// What stands at the path, if that is a plain file of the folder's owner; nothing if nothing does.
pub(super) fn look(path: &Path) -> Result<Option<Metadata>, StoreError> {
    let failed = |source| StoreError::File { path: path.to_owned(), source };
    let data = match fs::symlink_metadata(path) {
        Ok(data) => data,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(failed(error)),
    };
    if !data.is_file() {
        return Err(StoreError::NotFile { path: path.to_owned() });
    }
    let folder = path.parent().map_or(Ok(data.clone()), fs::metadata).map_err(failed)?;
    if folder.uid() != data.uid() {
        return Err(StoreError::NotOurs { path: path.to_owned() });
    }
    Ok(Some(data))
}

/// Takes the rights of others away. SQLite makes a database as the umask says, still empty here,
/// and gives its own files the mode of the database.
fn make_private(path: &Path) -> Result<(), StoreError> {
    for path in [path.to_owned(), beside(path, BESIDE[0]), beside(path, BESIDE[1])] {
        let Some(data) = look(&path)? else { continue };
        if data.mode() & 0o077 != 0 {
            fs::set_permissions(&path, Permissions::from_mode(0o600))
                .map_err(|source| StoreError::File { path, source })?;
        }
    }
    Ok(())
}

/// The path with an ending appended to its name.
pub(super) fn beside(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(ending);
    name.into()
}

#[cfg(test)]
mod tests {
    use std::{os::unix::fs::symlink, sync::Barrier};

    use super::*;
    use crate::{
        store::tests::{LONG, SHORT, folder, owned},
        text::time::Moment,
    };

    type Open = fn(&Path, Duration) -> Result<Store, StoreError>;

    const OPENERS: [Open; 3] = [Store::open_owner, Store::open_shared, Store::open_read_only];

    #[test]
    fn all_files_are_private() {
        let (_folder, path) = folder();
        let (store, _) = owned(&path);
        let files = || [path.clone(), beside(&path, "-wal"), beside(&path, "-shm")];
        let modes = || files().map(|path| fs::symlink_metadata(path).unwrap().mode() & 0o777);
        assert_eq!(modes(), [0o600; 3]);
        for path in files() {
            fs::set_permissions(path, Permissions::from_mode(0o644)).unwrap();
        }
        drop(Store::open_shared(&path, LONG).unwrap());
        assert_eq!(modes(), [0o600; 3]);
        drop(store);
    }

    #[test]
    fn only_plain_files_are_opened() {
        let (folder, path) = folder();
        let other = folder.path().join("other");
        let refused = |path: &Path| {
            for open in OPENERS {
                let error = open(path, SHORT).unwrap_err();
                assert!(matches!(error, StoreError::NotFile { .. }), "{error:?}");
            }
        };
        symlink(&other, &path).unwrap();
        refused(&path);
        fs::write(&other, "").unwrap();
        refused(&path);
        assert_eq!(fs::read(&other).unwrap(), b"");
        fs::remove_file(&path).unwrap();
        fs::create_dir(&path).unwrap();
        refused(&path);
        fs::remove_dir(&path).unwrap();
        assert!(std::process::Command::new("mkfifo").arg(&path).status().unwrap().success());
        refused(&path);
        refused(Path::new("/"));
        for open in OPENERS {
            let missing = open(&folder.path().join("no/endless.db"), SHORT);
            assert!(matches!(missing, Err(StoreError::File { .. })));
        }
    }

    #[test]
    fn a_link_on_the_way_to_the_folder_is_followed() {
        let (folder, _) = folder();
        let (state, link) = (folder.path().join("state"), folder.path().join("link"));
        fs::create_dir(&state).unwrap();
        symlink(&state, &link).unwrap();
        let (store, _) = owned(&link.join("endless.db"));
        assert_eq!(store.path(), fs::canonicalize(state).unwrap().join("endless.db"));
    }

    #[test]
    fn looking_makes_and_changes_nothing() {
        let (folder, path) = folder();
        let open = || Store::open_read_only(&path, SHORT);
        assert!(matches!(open(), Err(StoreError::Absent { .. })));
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
        fs::write(&path, "").unwrap();
        assert!(matches!(open(), Err(StoreError::Absent { .. })));
        drop(owned(&path));
        let before = fs::read(&path).unwrap();
        let store = open().unwrap();
        let error = store.forget("a", Moment(1)).unwrap_err();
        assert!(matches!(error, StoreError::ReadOnly { .. }), "{error:?}");
        assert!(store.owner().unwrap().is_some());
        drop(store);
        assert!(before == fs::read(&path).unwrap());
    }

    #[test]
    fn a_frozen_database_is_read_without_a_file_beside_it() {
        let (folder, _) = folder();
        let odd = folder.path().join("100% ?a=b#\u{e9}");
        fs::create_dir(&odd).unwrap();
        let path = odd.join("endless.db");
        drop(owned(&path));
        let store = Store::connect(&path, Access::ReadFrozen, SHORT).unwrap();
        assert!(store.owner().unwrap().is_some());
        assert_eq!(fs::read_dir(&odd).unwrap().count(), 1);
    }

    #[test]
    fn many_may_make_it_at_once() {
        for _ in 0..20 {
            let (_folder, path) = folder();
            let barrier = Barrier::new(8);
            thread::scope(|scope| {
                for number in 0..8 {
                    let (path, barrier) = (&path, &barrier);
                    scope.spawn(move || {
                        barrier.wait();
                        let open = if number == 0 { Store::open_owner } else { Store::open_shared };
                        let store = open(path, LONG).unwrap();
                        assert!(store.forget(&format!("session-{number}"), Moment(1)).unwrap());
                    });
                }
            });
            let store = Store::open_read_only(&path, LONG).unwrap();
            assert_eq!(store.tombstones().unwrap().len(), 8);
        }
    }

    #[test]
    fn a_replaced_file_is_noticed() {
        let (_folder, path) = folder();
        let (store, _) = owned(&path);
        assert!(store.is_in_place());
        fs::remove_file(&path).unwrap();
        assert!(!store.is_in_place());
        drop(Store::open_shared(&path, LONG));
        assert!(!store.is_in_place());
    }
}
