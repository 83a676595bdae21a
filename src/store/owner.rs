//! Who owns the database, and the owner's counters.
//!
//! Invariant: a generation is given out once; whoever holds an older one can no longer write to the
//! owner's tables. Refuses: to decide who may be the owner (that is the service's lock).

use std::{collections::BTreeMap, fmt};

use rusqlite::{Connection, OptionalExtension, params};

use super::{Store, StoreError};
use crate::text::time::Moment;

/// The number of a start of the service; each start takes the next.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Generation(i64);

impl fmt::Display for Generation {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(formatter)
    }
}

/// The service process that owns the database.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Owner {
    /// Its process id.
    pub pid: u32,
    /// The name of its machine.
    pub host: String,
    /// Its version.
    pub version: String,
    /// When it started.
    pub started_at: Moment,
}

const TAKE: &str = "
    INSERT INTO owner (one, generation, pid, host, version, started_at)
    VALUES (1, 1, ?1, ?2, ?3, ?4)
    ON CONFLICT (one) DO UPDATE SET
        generation = generation + 1, pid = excluded.pid, host = excluded.host,
        version = excluded.version, started_at = excluded.started_at
    RETURNING generation";

const COUNT: &str = "
    INSERT INTO counters (name, value) VALUES (?1, ?2)
    ON CONFLICT (name) DO UPDATE SET value = value + excluded.value";

impl Store {
    /// Makes `owner` the owner: from now on its generation alone may write to the owner's tables.
    pub fn take_ownership(&mut self, owner: &Owner) -> Result<Generation, StoreError> {
        let values = params![owner.pid, owner.host, owner.version, owner.started_at.0];
        let taken: Vec<i64> = self.all(TAKE, values, |row| row.get(0))?;
        let lost = || self.failed(rusqlite::Error::QueryReturnedNoRows);
        taken.first().copied().map(Generation).ok_or_else(lost)
    }

    /// The newest owner, which may be gone; nothing where no service ever started.
    pub fn owner(&self) -> Result<Option<(Generation, Owner)>, StoreError> {
        let sql = "SELECT generation, pid, host, version, started_at FROM owner";
        self.one(sql, [], |row| {
            let owner = Owner {
                pid: row.get(1)?,
                host: row.get(2)?,
                version: row.get(3)?,
                started_at: Moment(row.get(4)?),
            };
            Ok((Generation(row.get(0)?), owner))
        })
    }

    /// Adds to counters. Owner's work.
    pub fn count(
        &mut self,
        generation: Generation,
        counts: &[(&str, u64)],
    ) -> Result<(), StoreError> {
        self.as_owner(generation, |transaction| {
            let mut statement = transaction.prepare(COUNT)?;
            for (name, by) in counts {
                statement.execute(params![name, i64::try_from(*by).unwrap_or(i64::MAX)])?;
            }
            Ok(())
        })
    }

    /// All counters by name.
    pub fn counters(&self) -> Result<BTreeMap<String, u64>, StoreError> {
        self.all("SELECT name, value FROM counters", [], |row| {
            Ok((row.get(0)?, row.get::<_, i64>(1)?.try_into().unwrap_or(0)))
        })
    }
}

/// The owner's generation; 0 where there is none.
pub(super) fn generation(connection: &Connection) -> rusqlite::Result<Generation> {
    let row = connection.query_row("SELECT generation FROM owner", [], |row| row.get(0));
    Ok(Generation(row.optional()?.unwrap_or(0)))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::store::tests::{LONG, folder, owned, owner};

    #[test]
    fn each_start_takes_the_next_generation() {
        let (_folder, path) = folder();
        let mut store = Store::open_owner(&path, LONG).unwrap();
        assert_eq!(store.owner().unwrap(), None);
        for number in 1..4 {
            let owner = owner(u32::try_from(number).unwrap());
            assert_eq!(store.take_ownership(&owner).unwrap(), Generation(number));
            assert_eq!(store.owner().unwrap(), Some((Generation(number), owner)));
        }
    }

    #[test]
    fn the_old_owner_writes_no_more() {
        let (_folder, path) = folder();
        let (mut old, first) = owned(&path);
        old.count(first, &[("a", 1)]).unwrap();
        let (mut new, second) = owned(&path);
        let refused = |result: Result<(), StoreError>| {
            let error = result.unwrap_err();
            assert!(
                matches!(&error, StoreError::NotOwner { generation, now, .. }
                    if (*generation, *now) == (first, second)),
                "{error:?}"
            );
        };
        refused(old.count(first, &[("a", 1)]));
        refused(old.put_known_files(first, 1, &[]));
        refused(old.remove_known_files(first, &[Path::new("/a")]));
        new.count(second, &[("a", 1), ("b", u64::MAX), ("a", 2)]).unwrap();
        let counters = old.counters().unwrap();
        assert_eq!(counters["a"], 4);
        assert_eq!(counters["b"], i64::MAX.cast_unsigned());
    }

    #[test]
    fn a_database_made_anew_has_no_owner() {
        let (_folder, path) = folder();
        let (_, generation) = owned(&path);
        let (_other, path) = crate::store::tests::folder();
        let mut store = Store::open_owner(&path, LONG).unwrap();
        let result = store.count(generation, &[]);
        assert!(matches!(result, Err(StoreError::NotOwner { now: Generation(0), .. })));
    }
}
