//! The tables, as a list of migrations.
//!
//! `PRAGMA user_version` is the number of migrations that a database has seen, and
//! `application_id` says that it is ours. Invariant: a migration that was released is never changed;
//! what is new is appended. All that are missing run in one transaction.

use rusqlite::{Connection, TransactionBehavior};

use super::{Store, StoreError};

/// "endl".
const APPLICATION_ID: i64 = 0x656e_646c;

/// Each brings the schema from its index to the next number.
pub(super) const MIGRATIONS: &[&str] = &[
    "CREATE TABLE owner (
         one INTEGER PRIMARY KEY CHECK (one = 1),
         generation INTEGER NOT NULL,
         pid INTEGER NOT NULL,
         host TEXT NOT NULL,
         version TEXT NOT NULL,
         started_at INTEGER NOT NULL
     ) STRICT;
     CREATE TABLE known_files (
         path BLOB PRIMARY KEY,
         format INTEGER NOT NULL,
         device INTEGER NOT NULL,
         inode INTEGER NOT NULL,
         prefix_length INTEGER NOT NULL,
         prefix_hash INTEGER NOT NULL,
         length INTEGER NOT NULL,
         modified INTEGER NOT NULL,
         offset INTEGER NOT NULL,
         session TEXT NOT NULL
     ) STRICT, WITHOUT ROWID;
     CREATE TABLE counters (
         name TEXT PRIMARY KEY,
         value INTEGER NOT NULL
     ) STRICT, WITHOUT ROWID;
     CREATE TABLE tombstones (
         session TEXT PRIMARY KEY,
         at INTEGER NOT NULL
     ) STRICT, WITHOUT ROWID;
     CREATE TABLE archived (
         session TEXT PRIMARY KEY,
         at INTEGER NOT NULL,
         entries INTEGER NOT NULL
     ) STRICT, WITHOUT ROWID;
     CREATE TABLE meta (
         key TEXT PRIMARY KEY,
         value TEXT NOT NULL
     ) STRICT, WITHOUT ROWID;",
    "CREATE TABLE deliveries (
         session TEXT NOT NULL,
         n INTEGER NOT NULL,
         token TEXT NOT NULL,
         event TEXT NOT NULL,
         printed_at INTEGER NOT NULL,
         length INTEGER NOT NULL,
         legs INTEGER NOT NULL,
         gap INTEGER NOT NULL,
         boundary TEXT,
         ranges TEXT NOT NULL DEFAULT '',
         arrived_at INTEGER,
         reads TEXT NOT NULL DEFAULT '',
         PRIMARY KEY (session, n)
     ) STRICT, WITHOUT ROWID;
     CREATE UNIQUE INDEX deliveries_by_token ON deliveries (session, token);
     CREATE TABLE seals (
         id INTEGER PRIMARY KEY,
         session TEXT NOT NULL,
         at INTEGER NOT NULL,
         cause TEXT NOT NULL,
         gap INTEGER NOT NULL,
         mode TEXT NOT NULL,
         held INTEGER NOT NULL,
         took INTEGER NOT NULL
     ) STRICT;
     CREATE INDEX seals_by_session ON seals (session, id);",
];

impl Store {
    /// The schema of the database; 0 for an empty one. A newer or foreign one is an error.
    pub(super) fn schema(&self, migrations: &[&str]) -> Result<u32, StoreError> {
        let found = self.found()?;
        let known = known(migrations);
        if found > known {
            return Err(StoreError::TooNew { path: self.path.clone(), found, known });
        }
        Ok(found)
    }

    fn found(&self) -> Result<u32, StoreError> {
        let read = || read_schema(&self.connection);
        let (application, version, tables) = read().map_err(|error| self.failed(error))?;
        if application != APPLICATION_ID && (version, tables) != (0, 0) {
            return Err(StoreError::Foreign { path: self.path.clone() });
        }
        Ok(u32::try_from(version).unwrap_or(u32::MAX))
    }

    /// Runs the migrations that the database has not seen.
    pub(super) fn migrate(&mut self, migrations: &[&str]) -> Result<(), StoreError> {
        if self.schema(migrations)? == known(migrations) {
            return Ok(());
        }
        let failed = |error| StoreError::new(&self.path, error);
        let behavior = TransactionBehavior::Immediate;
        let transaction = self.connection.transaction_with_behavior(behavior).map_err(failed)?;
        // Another process may have been quicker: what counts is what the lock holder sees.
        let run = || {
            let (_, version, _) = read_schema(&transaction)?;
            let seen = usize::try_from(version).unwrap_or(usize::MAX);
            for migration in migrations.iter().skip(seen) {
                transaction.execute_batch(migration)?;
            }
            transaction.pragma_update(None, "application_id", APPLICATION_ID)?;
            let version = version.max(i64::from(known(migrations)));
            transaction.pragma_update(None, "user_version", version)
        };
        run().map_err(failed)?;
        transaction.commit().map_err(failed)
    }
}

/// The schema after all these migrations.
pub(super) fn known(migrations: &[&str]) -> u32 {
    u32::try_from(migrations.len()).unwrap_or(u32::MAX)
}

/// The application's id, the version, and the number of tables.
fn read_schema(connection: &Connection) -> rusqlite::Result<(i64, i64, i64)> {
    let sql = "SELECT (SELECT application_id FROM pragma_application_id),
                      (SELECT user_version FROM pragma_user_version),
                      (SELECT count(*) FROM sqlite_schema)";
    connection.query_row(sql, [], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))
}

#[cfg(test)]
mod tests {
    use std::{fs, path::Path};

    use super::*;
    use crate::store::{
        open::Access,
        tests::{LONG, folder, owned, owner},
    };

    fn tables(store: &Store) -> Vec<String> {
        store.all("SELECT sql FROM sqlite_schema ORDER BY name", [], |row| row.get(0)).unwrap()
    }

    fn with_schema(path: &Path, version: usize) {
        fs::write(path, "").unwrap();
        let mut store = Store::connect(path, Access::Write, LONG).unwrap();
        store.migrate(&MIGRATIONS[..version]).unwrap();
    }

    #[test]
    fn every_earlier_schema_is_brought_up_to_date() {
        let (_folder, fresh) = folder();
        let fresh = Store::open_owner(&fresh, LONG).unwrap();
        for version in 0..=MIGRATIONS.len() {
            let (_folder, path) = folder();
            with_schema(&path, version);
            let store = Store::open_owner(&path, LONG).unwrap();
            assert_eq!(tables(&store), tables(&fresh), "from {version}");
            assert_eq!(store.schema(MIGRATIONS).unwrap(), known(MIGRATIONS));
        }
    }

    #[test]
    fn a_migration_keeps_the_rows_and_runs_whole_or_not_at_all() {
        let (_folder, path) = folder();
        let (mut store, generation) = owned(&path);
        store.count(generation, &[("a", 3)]).unwrap();
        let next = "CREATE TABLE later (session TEXT) STRICT;
                    UPDATE counters SET value = value + 1;";
        let broken: Vec<&str> = MIGRATIONS.iter().copied().chain([next, "no SQL"]).collect();
        let before = tables(&store);
        assert!(matches!(store.migrate(&broken), Err(StoreError::Failed { .. })));
        assert_eq!(
            (tables(&store), store.schema(MIGRATIONS).unwrap()),
            (before, known(MIGRATIONS))
        );
        assert_eq!(store.counters().unwrap()["a"], 3);
        for _ in 0..2 {
            store.migrate(&broken[..MIGRATIONS.len() + 1]).unwrap();
            assert_eq!(store.counters().unwrap()["a"], 4);
        }
        store.take_ownership(&owner(2)).unwrap();
    }

    #[test]
    fn only_the_owner_migrates() {
        let (_folder, path) = folder();
        let (mut store, _) = owned(&path);
        let newer: Vec<&str> = MIGRATIONS.iter().copied().chain(["SELECT 1"]).collect();
        for opened in [
            Store::connect(&path, Access::Write, LONG).and_then(|store| store.up_to_date(&newer)),
            Store::connect(&path, Access::Read, LONG).and_then(|store| store.up_to_date(&newer)),
        ] {
            let error = opened.unwrap_err();
            assert!(
                matches!(error, StoreError::NeedsMigration { found, known, .. } if known == found + 1),
                "{error:?}"
            );
        }
        store.migrate(&newer).unwrap();
        assert!(matches!(Store::open_shared(&path, LONG), Err(StoreError::TooNew { .. })));
    }

    #[test]
    fn a_newer_database_is_left_alone_byte_for_byte() {
        let (folder, path) = folder();
        let newer: Vec<&str> = MIGRATIONS.iter().copied().chain(["SELECT 1"; 3]).collect();
        let (mut store, _) = owned(&path);
        store.migrate(&newer).unwrap();
        let wal = folder.path().join("endless.db-wal");
        // First with the newer schema only in the log of a living process, then in the file.
        for _ in 0..2 {
            let before = (fs::read(&path).unwrap(), fs::read(&wal).unwrap_or_default());
            for open in [Store::open_owner, Store::open_shared, Store::open_read_only] {
                let error = open(&path, LONG).unwrap_err();
                assert!(matches!(error, StoreError::TooNew { .. }), "{error:?}");
                let says = "was written by a newer endless (schema 5, this one knows 2): update";
                assert!(error.to_string().contains(says), "{error}");
                let after = (fs::read(&path).unwrap(), fs::read(&wal).unwrap_or_default());
                assert!(before == after);
            }
            store.connection.execute_batch("PRAGMA wal_checkpoint(TRUNCATE)").unwrap();
        }
    }

    #[test]
    fn databases_of_others_are_left_alone() {
        let (_folder, path) = folder();
        let theirs = Connection::open(&path).unwrap();
        theirs.execute_batch("CREATE TABLE x (y); PRAGMA user_version = 0").unwrap();
        drop(theirs);
        let before = fs::read(&path).unwrap();
        for open in [Store::open_owner, Store::open_shared, Store::open_read_only] {
            assert!(matches!(open(&path, LONG), Err(StoreError::Foreign { .. })));
        }
        assert!(before == fs::read(&path).unwrap());
    }
}
