//! A database that can't be read: noticed, and moved out of the way.
//!
//! Invariant: nothing is deleted or overwritten; the log goes with its database. Refuses: to judge
//! (whoever sets a database aside got [`StoreError::Damaged`] before, and says what was done).

use std::{
    fs,
    path::{Path, PathBuf},
};

use rusqlite::{Error, ffi};

use super::{Store, StoreError, open};
use crate::text::time::Moment;

impl Store {
    /// Renames a damaged database to `endless.db.damaged-<UTC milliseconds>`, and says where it is.
    /// For the service alone, with no store open.
    pub fn set_aside(path: &Path, now: Moment) -> Result<PathBuf, StoreError> {
        let path = open::resolve(path)?;
        if open::look(&path)?.is_none() {
            return Err(StoreError::Absent { path });
        }
        let target = free_name(&path, now);
        // The log first: with the database gone and the log still there, SQLite would delete it.
        for ending in open::BESIDE {
            let own = open::beside(&path, ending);
            if fs::symlink_metadata(&own).is_ok() {
                rename(&own, &open::beside(&target, ending))?;
            }
        }
        rename(&path, &target)?;
        Ok(target)
    }

    /// Looks at every page, and says [`StoreError::Damaged`] where one is not sound.
    pub(super) fn check(&self) -> Result<(), StoreError> {
        let said = self.one("PRAGMA quick_check(1)", [], |row| row.get::<_, String>(0))?;
        match said {
            Some(said) if said != "ok" => {
                let code = ffi::Error::new(ffi::SQLITE_CORRUPT);
                Err(self.failed(Error::SqliteFailure(code, Some(said))))
            }
            _ => Ok(()),
        }
    }
}

/// A name for the damaged database that nothing has, also not with an ending of SQLite's.
fn free_name(path: &Path, now: Moment) -> PathBuf {
    let mut millisecond = now.0;
    loop {
        let name = open::beside(path, &format!(".damaged-{millisecond}"));
        let is_free = |ending| fs::symlink_metadata(open::beside(&name, ending)).is_err();
        if ["", open::BESIDE[0], open::BESIDE[1]].into_iter().all(is_free) {
            return name;
        }
        millisecond += 1;
    }
}

fn rename(from: &Path, to: &Path) -> Result<(), StoreError> {
    fs::rename(from, to).map_err(|source| StoreError::File { path: from.to_owned(), source })
}

#[cfg(test)]
mod tests {
    use std::{fs::File, os::unix::fs::FileExt};

    use super::*;
    use crate::store::tests::{LONG, folder, owned};

    fn assert_damaged(path: &Path) {
        let error = Store::open_owner(path, LONG).unwrap_err();
        assert!(matches!(error, StoreError::Damaged { .. }), "{error:?}");
        assert!(error.to_string().contains("moves it aside"), "{error}");
    }

    #[test]
    fn what_is_no_database_is_damaged_and_stays_as_it_is() {
        let (_folder, path) = folder();
        let text = "no database ".repeat(1_000);
        fs::write(&path, &text).unwrap();
        assert_damaged(&path);
        for open in [Store::open_shared, Store::open_read_only] {
            assert!(matches!(open(&path, LONG), Err(StoreError::Damaged { .. })));
        }
        assert_eq!(fs::read_to_string(&path).unwrap(), text);
    }

    #[test]
    fn broken_pages_and_cut_files_are_damaged() {
        let (_folder, path) = folder();
        let (mut store, generation) = owned(&path);
        let names: Vec<String> = (0..2_000).map(|number| format!("name {number}")).collect();
        let counts: Vec<(&str, u64)> = names.iter().map(|name| (name.as_str(), 1)).collect();
        store.count(generation, &counts).unwrap();
        drop(store);
        let whole = fs::read(&path).unwrap();
        assert!(whole.len() > 10 * 4_096);
        File::options()
            .write(true)
            .open(&path)
            .unwrap()
            .write_all_at(&[0xff; 4_096], 36_864)
            .unwrap();
        assert_damaged(&path);
        fs::write(&path, &whole[..whole.len() / 2]).unwrap();
        assert_damaged(&path);
        fs::write(&path, &whole).unwrap();
        assert_eq!(Store::open_owner(&path, LONG).unwrap().counters().unwrap().len(), 2_000);
    }

    #[test]
    fn a_damaged_database_is_kept_and_a_new_one_goes_on() {
        let (folder, path) = folder();
        for (text, name) in [("one", "endless.db.damaged-5"), ("two", "endless.db.damaged-6")] {
            fs::write(&path, text.repeat(1_000)).unwrap();
            fs::write(open::beside(&path, "-wal"), "log").unwrap();
            let target = Store::set_aside(&path, Moment(5)).unwrap();
            assert_eq!(target, fs::canonicalize(folder.path()).unwrap().join(name));
            assert_eq!(fs::read_to_string(&target).unwrap(), text.repeat(1_000));
            assert_eq!(fs::read_to_string(open::beside(&target, "-wal")).unwrap(), "log");
            assert!(matches!(Store::set_aside(&path, Moment(5)), Err(StoreError::Absent { .. })));
            let (store, generation) = owned(&path);
            assert_eq!(generation.to_string(), "1");
            drop(store);
        }
        fs::remove_file(&path).unwrap();
        fs::create_dir(&path).unwrap();
        let folder = Store::set_aside(&path, Moment(5));
        assert!(matches!(folder, Err(StoreError::NotFile { .. })));
    }
}
