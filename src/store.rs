//! `endless.db`: what must outlive a process and is not in any transcript.
//!
//! Two kinds of tables. The owner's (`owner`, `known_files`, `counters`) are written only by the
//! service, in a transaction that first compares its [`Generation`] with the one in the database.
//! The shared ones (`tombstones`, `archived`, `meta`, `deliveries`, `seals`) are written by anyone, each time in one
//! conditional statement, and are asked again each time: nothing here is cached.
//!
//! Invariant: after an error, or a kill at any instruction, the database is as it was before the
//! call. Refuses: to migrate for anyone but the owner, to touch a database that a newer version
//! wrote, to follow a link, and to open its file other than through SQLite (closing it would take
//! away the locks of this process). The folder is the caller's to make and to check.

mod damaged;
mod deliveries;
mod error;
mod known_files;
mod meta;
mod open;
mod owner;
mod schema;
mod sessions;

use std::path::{Path, PathBuf};

use rusqlite::{Connection, OptionalExtension, Params, Row, Transaction, TransactionBehavior};

pub use self::{
    deliveries::{Cause, Claim, Delivery, Seal},
    error::StoreError,
    known_files::KnownFile,
    meta::INSTALLED_AT,
    owner::{Generation, Owner},
    sessions::{Archived, Tombstone},
};

/// An open `endless.db`.
#[derive(Debug)]
pub struct Store {
    connection: Connection,
    path: PathBuf,
    identity: open::Identity,
}

impl Store {
    /// Where the database lies, links in the folder's path resolved.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Does owner's work in one transaction, which begins with the check of the generation.
    fn as_owner<T>(
        &mut self,
        generation: Generation,
        work: impl FnOnce(&Transaction<'_>) -> rusqlite::Result<T>,
    ) -> Result<T, StoreError> {
        let failed = |error| StoreError::new(&self.path, error);
        let behavior = TransactionBehavior::Immediate;
        let transaction = self.connection.transaction_with_behavior(behavior).map_err(failed)?;
        let now = owner::generation(&transaction).map_err(failed)?;
        if now != generation {
            return Err(StoreError::NotOwner { path: self.path.clone(), generation, now });
        }
        let done = work(&transaction).map_err(failed)?;
        transaction.commit().map_err(failed)?;
        Ok(done)
    }

    /// Runs one statement; true where it changed something.
    fn change(&self, sql: &str, params: impl Params) -> Result<bool, StoreError> {
        let changed = self.connection.execute(sql, params).map_err(|error| self.failed(error))?;
        Ok(changed > 0)
    }

    /// Reads the first row. Not for statements that write: it stops before they are committed, and
    /// would take a full disk for a success.
    fn one<T>(
        &self,
        sql: &str,
        params: impl Params,
        read: impl FnOnce(&Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<Option<T>, StoreError> {
        let row = self.connection.query_row(sql, params, read).optional();
        row.map_err(|error| self.failed(error))
    }

    /// Runs one statement to its end, also one that writes and returns rows.
    fn all<T, C: FromIterator<T>>(
        &self,
        sql: &str,
        params: impl Params,
        read: impl FnMut(&Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<C, StoreError> {
        let failed = |error| self.failed(error);
        let mut statement = self.connection.prepare(sql).map_err(failed)?;
        let rows = statement.query_map(params, read).map_err(failed)?;
        rows.collect::<rusqlite::Result<C>>().map_err(failed)
    }

    fn failed(&self, error: rusqlite::Error) -> StoreError {
        StoreError::new(&self.path, error)
    }
}

#[cfg(test)]
mod tests {
    use std::{fs, time::Duration};

    use tempfile::TempDir;

    use super::*;
    use crate::text::time::Moment;

    pub(in crate::store) const SHORT: Duration = Duration::from_millis(50);
    pub(in crate::store) const LONG: Duration = Duration::from_secs(60);

    pub(in crate::store) fn folder() -> (TempDir, PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("endless.db");
        (folder, path)
    }

    pub(in crate::store) fn owner(pid: u32) -> Owner {
        let (host, version) = ("box".to_owned(), "0.1.0".to_owned());
        Owner { pid, host, version, started_at: Moment(7) }
    }

    pub(in crate::store) fn owned(path: &Path) -> (Store, Generation) {
        let mut store = Store::open_owner(path, LONG).unwrap();
        let generation = store.take_ownership(&owner(1)).unwrap();
        (store, generation)
    }

    #[test]
    fn a_kill_in_the_middle_of_a_transaction_leaves_the_database_whole() {
        let (folder, path) = folder();
        let (mut store, generation) = owned(&path);
        store.count(generation, &[("kept", 1)]).unwrap();
        // So small a cache spills what is not committed into the files.
        store.connection.pragma_update(None, "cache_size", 4).unwrap();
        let killed = folder.path().join("killed");
        fs::create_dir(&killed).unwrap();
        let result = store.as_owner(generation, |transaction| {
            for number in 0..5_000 {
                let name = format!("lost {number} {}", "x".repeat(100));
                transaction.execute("INSERT INTO counters VALUES (?1, 1)", [name])?;
            }
            // What a kill leaves is what the files hold now.
            for name in ["endless.db", "endless.db-wal"] {
                fs::copy(folder.path().join(name), killed.join(name)).unwrap();
            }
            Err::<(), _>(rusqlite::Error::InvalidQuery)
        });
        assert!(matches!(result, Err(StoreError::Failed { .. })));
        assert!(fs::metadata(killed.join("endless.db-wal")).unwrap().len() > 500_000);
        for path in [path, killed.join("endless.db")] {
            let counters = Store::open_owner(&path, LONG).unwrap().counters().unwrap();
            assert_eq!(counters.into_iter().collect::<Vec<_>>(), [("kept".to_owned(), 1)]);
        }
    }

    #[test]
    fn a_full_disk_is_an_error_and_changes_nothing() {
        let (_folder, path) = folder();
        let (mut store, generation) = owned(&path);
        let pages: i64 = store.one("PRAGMA page_count", [], |row| row.get(0)).unwrap().unwrap();
        store.connection.pragma_update(None, "max_page_count", pages + 1).unwrap();
        let names: Vec<String> = (0..2_000).map(|number| format!("name {number}")).collect();
        let counts: Vec<(&str, u64)> = names.iter().map(|name| (name.as_str(), 1)).collect();
        let result = store.count(generation, &counts);
        assert!(matches!(result, Err(StoreError::Full { .. })), "{result:?}");
        assert!(store.counters().unwrap().is_empty());
        // Space returned.
        store.connection.pragma_update(None, "max_page_count", 1_000_000).unwrap();
        store.count(generation, &counts).unwrap();
        assert_eq!(store.counters().unwrap().len(), 2_000);
    }

    #[test]
    fn a_lock_held_too_long_is_busy() {
        let (_folder, path) = folder();
        let (mut store, generation) = owned(&path);
        let shared = Store::open_shared(&path, SHORT).unwrap();
        store
            .as_owner(generation, |_| {
                let error = shared.forget("a", Moment(1)).unwrap_err();
                assert!(matches!(error, StoreError::Busy { .. }), "{error:?}");
                assert!(error.to_string().contains("endless.db"), "{error}");
                // Reading goes on, and so does opening.
                assert!(!shared.is_forgotten("a").unwrap());
                drop(Store::open_shared(&path, SHORT).unwrap());
                Ok(())
            })
            .unwrap();
        assert!(shared.forget("a", Moment(1)).unwrap());
    }
}
