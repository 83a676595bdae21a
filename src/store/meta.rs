//! Facts about the installation: a key and a value each.
//!
//! Shared table. Refuses: to give a value twice where it must stand once and for all.

use super::{Store, StoreError};
use crate::text::time::Moment;

/// When this database was first used, in UTC milliseconds. Nothing older is announced or due.
pub const INSTALLED_AT: &str = "installed_at";

impl Store {
    /// The value of a key.
    pub fn meta(&self, key: &str) -> Result<Option<String>, StoreError> {
        self.one("SELECT value FROM meta WHERE key = ?1", [key], |row| row.get(0))
    }

    /// Gives a key a value, whatever it had.
    pub fn set_meta(&self, key: &str, value: &str) -> Result<(), StoreError> {
        let sql = "INSERT OR REPLACE INTO meta (key, value) VALUES (?1, ?2)";
        self.change(sql, [key, value]).map(drop)
    }

    /// Gives a key a value if it has none; false where it has one.
    pub fn set_meta_once(&self, key: &str, value: &str) -> Result<bool, StoreError> {
        self.change("INSERT OR IGNORE INTO meta (key, value) VALUES (?1, ?2)", [key, value])
    }

    /// When Endless was installed: now, unless that was recorded before.
    pub fn installed_at(&self, now: Moment) -> Result<Moment, StoreError> {
        if let Some(value) = self.meta(INSTALLED_AT)? {
            return Ok(value.parse().map_or(now, Moment));
        }
        self.set_meta_once(INSTALLED_AT, &now.0.to_string())?;
        let value = self.meta(INSTALLED_AT)?;
        Ok(value.and_then(|value| value.parse().ok()).map_or(now, Moment))
    }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;
    use crate::store::tests::{LONG, folder};

    #[test]
    fn values_stand_until_they_are_set_anew() {
        let (_folder, path) = folder();
        let store = Store::open_shared(&path, LONG).unwrap();
        assert_eq!(store.meta("a").unwrap(), None);
        assert!(store.set_meta_once("a", "1").unwrap());
        assert!(!store.set_meta_once("a", "2").unwrap());
        assert_eq!(store.meta("a").unwrap().as_deref(), Some("1"));
        store.set_meta("a", "3").unwrap();
        assert_eq!(store.meta("a").unwrap().as_deref(), Some("3"));
    }

    #[test]
    fn all_agree_on_when_it_was_installed() {
        let (_folder, path) = folder();
        let moments: Vec<Moment> = thread::scope(|scope| {
            let open = |now| {
                let path = &path;
                move || Store::open_shared(path, LONG).unwrap().installed_at(Moment(now)).unwrap()
            };
            let threads: Vec<_> = (1..9).map(|now| scope.spawn(open(now))).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        assert!(moments.iter().all(|moment| *moment == moments[0]), "{moments:?}");
    }
}
