//! Sessions that are not to be rendered: forgotten for good, or archived until they go on.
//!
//! Shared tables: each function is one conditional statement, and two at once agree on who did it.

use rusqlite::params;

use super::{Store, StoreError};
use crate::text::time::Moment;

/// A session that was forgotten.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tombstone {
    /// Its id.
    pub session: String,
    /// When.
    pub at: Moment,
}

/// A session that was archived.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Archived {
    /// Its id.
    pub session: String,
    /// When.
    pub at: Moment,
    /// How many entries of the user and the agent it had then.
    pub entries: u64,
}

const ARCHIVE: &str = "
    INSERT INTO archived (session, at, entries) VALUES (?1, ?2, ?3)
    ON CONFLICT (session) DO UPDATE SET at = excluded.at, entries = excluded.entries";

impl Store {
    /// Leaves a tombstone for a session; false where it has one.
    pub fn forget(&self, session: &str, at: Moment) -> Result<bool, StoreError> {
        let sql = "INSERT OR IGNORE INTO tombstones (session, at) VALUES (?1, ?2)";
        self.change(sql, params![session, at.0])
    }

    /// Whether a session has a tombstone.
    pub fn is_forgotten(&self, session: &str) -> Result<bool, StoreError> {
        let row = self.one("SELECT 1 FROM tombstones WHERE session = ?1", [session], |_| Ok(()));
        Ok(row?.is_some())
    }

    /// All tombstones, by session.
    pub fn tombstones(&self) -> Result<Vec<Tombstone>, StoreError> {
        self.all("SELECT session, at FROM tombstones ORDER BY session", [], |row| {
            Ok(Tombstone { session: row.get(0)?, at: Moment(row.get(1)?) })
        })
    }

    /// Records that a session was archived with so many entries. The last record counts.
    pub fn archive(&self, session: &str, at: Moment, entries: u64) -> Result<(), StoreError> {
        self.change(ARCHIVE, params![session, at.0, entries.cast_signed()]).map(drop)
    }

    /// Ends the archived state of a session that now has more entries than then; true where that
    /// was done here.
    pub fn revive(&self, session: &str, entries: u64) -> Result<bool, StoreError> {
        let sql = "DELETE FROM archived WHERE session = ?1 AND entries < ?2";
        self.change(sql, params![session, entries.cast_signed()])
    }

    /// A session's record of being archived, if it is.
    pub fn archived(&self, session: &str) -> Result<Option<Archived>, StoreError> {
        let sql = "SELECT session, at, entries FROM archived WHERE session = ?1";
        self.one(sql, [session], archived)
    }

    /// All sessions that are archived, by session.
    pub fn all_archived(&self) -> Result<Vec<Archived>, StoreError> {
        self.all("SELECT session, at, entries FROM archived ORDER BY session", [], archived)
    }
}

fn archived(row: &rusqlite::Row<'_>) -> rusqlite::Result<Archived> {
    let entries = row.get::<_, i64>(2)?.cast_unsigned();
    Ok(Archived { session: row.get(0)?, at: Moment(row.get(1)?), entries })
}

#[cfg(test)]
mod tests {
    use std::{sync::Barrier, thread};

    use super::*;
    use crate::store::tests::{LONG, folder, owned};

    #[test]
    fn a_session_is_forgotten_once_and_for_good() {
        let (_folder, path) = folder();
        let store = Store::open_shared(&path, LONG).unwrap();
        assert!(!store.is_forgotten("a").unwrap());
        assert!(store.forget("a", Moment(1)).unwrap());
        assert!(!store.forget("a", Moment(2)).unwrap());
        let other = Store::open_shared(&path, LONG).unwrap();
        assert!(other.is_forgotten("a").unwrap() && !other.is_forgotten("b").unwrap());
        assert_eq!(other.tombstones().unwrap(), [Tombstone { session: "a".into(), at: Moment(1) }]);
    }

    #[test]
    fn an_archived_session_comes_back_with_a_new_entry() {
        let (_folder, path) = folder();
        let store = Store::open_shared(&path, LONG).unwrap();
        assert!(!store.revive("a", 9).unwrap());
        store.archive("a", Moment(1), 2).unwrap();
        store.archive("a", Moment(5), 3).unwrap();
        let archived = Archived { session: "a".into(), at: Moment(5), entries: 3 };
        assert!(!store.revive("a", 3).unwrap());
        assert_eq!(store.archived("a").unwrap(), Some(archived.clone()));
        assert_eq!(store.all_archived().unwrap(), [archived]);
        assert!(store.revive("a", 4).unwrap());
        assert!(!store.revive("a", 4).unwrap());
        assert_eq!(store.archived("a").unwrap(), None);
    }

    #[test]
    fn writers_at_once_lose_nothing() {
        let (_folder, path) = folder();
        let (mut owner, generation) = owned(&path);
        let barrier = Barrier::new(5);
        let firsts: usize = thread::scope(|scope| {
            let writers: Vec<_> = (0..4)
                .map(|writer| {
                    let (path, barrier) = (&path, &barrier);
                    scope.spawn(move || {
                        let store = Store::open_shared(path, LONG).unwrap();
                        barrier.wait();
                        let mut firsts = 0;
                        for number in 0..100 {
                            let (own, common) =
                                (format!("{writer}-{number}"), format!("all-{number}"));
                            assert!(store.forget(&own, Moment(number)).unwrap());
                            firsts += usize::from(store.forget(&common, Moment(number)).unwrap());
                            store.archive(&own, Moment(number), 1).unwrap();
                        }
                        firsts
                    })
                })
                .collect();
            barrier.wait();
            for _ in 0..100 {
                owner.count(generation, &[("a", 1)]).unwrap();
            }
            writers.into_iter().map(|writer| writer.join().unwrap()).sum()
        });
        assert_eq!(firsts, 100);
        assert_eq!(owner.tombstones().unwrap().len(), 500);
        assert_eq!(owner.all_archived().unwrap().len(), 400);
        assert_eq!(owner.counters().unwrap()["a"], 100);
    }
}
