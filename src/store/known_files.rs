//! The transcripts that were read, and what they looked like then: "unchanged since".
//!
//! A hint, never a truth: who finds a file as its row says need not read it again. Each row belongs
//! to a format (of parsing and rendering); rows of another format are not seen, and are overwritten.

use std::{
    ffi::OsString,
    os::unix::ffi::{OsStrExt, OsStringExt},
    path::{Path, PathBuf},
};

use rusqlite::{Row, params};

use super::{Generation, Store, StoreError};

/// A transcript as it was when it was last read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KnownFile {
    /// Where it lies; need not be UTF-8.
    pub path: PathBuf,
    /// The device that holds it.
    pub device: u64,
    /// Its inode there.
    pub inode: u64,
    /// How many of its first bytes the hash covers.
    pub prefix_length: u16,
    /// The hash of its first bytes.
    pub prefix_hash: u64,
    /// Its length in bytes.
    pub length: u64,
    /// When it was changed: nanoseconds since the epoch.
    pub modified: i64,
    /// Up to where it was read.
    pub offset: u64,
    /// The session that it tells of.
    pub session: String,
}

const PUT: &str = "
    INSERT OR REPLACE INTO known_files (path, format, device, inode, prefix_length, prefix_hash,
        length, modified, offset, session)
    VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)";

impl Store {
    /// Remembers files, all or none of them. Owner's work.
    pub fn put_known_files(
        &mut self,
        generation: Generation,
        format: u32,
        files: &[KnownFile],
    ) -> Result<(), StoreError> {
        self.as_owner(generation, |transaction| {
            let mut statement = transaction.prepare(PUT)?;
            for file in files {
                // SQLite's integers have a sign; the bits stay the same.
                statement.execute(params![
                    file.path.as_os_str().as_bytes(),
                    format,
                    file.device.cast_signed(),
                    file.inode.cast_signed(),
                    file.prefix_length,
                    file.prefix_hash.cast_signed(),
                    file.length.cast_signed(),
                    file.modified,
                    file.offset.cast_signed(),
                    file.session,
                ])?;
            }
            Ok(())
        })
    }

    /// Forgets files, all or none of them; those not known are none. Owner's work.
    pub fn remove_known_files(
        &mut self,
        generation: Generation,
        paths: &[impl AsRef<Path>],
    ) -> Result<(), StoreError> {
        self.as_owner(generation, |transaction| {
            let mut statement = transaction.prepare("DELETE FROM known_files WHERE path = ?1")?;
            for path in paths {
                statement.execute([path.as_ref().as_os_str().as_bytes()])?;
            }
            Ok(())
        })
    }

    /// Forgets all files of a session. Owner's work.
    pub fn remove_known_files_of(
        &mut self,
        generation: Generation,
        session: &str,
    ) -> Result<(), StoreError> {
        self.as_owner(generation, |transaction| {
            transaction.execute("DELETE FROM known_files WHERE session = ?1", [session]).map(drop)
        })
    }

    /// All files known in this format, by path.
    pub fn known_files(&self, format: u32) -> Result<Vec<KnownFile>, StoreError> {
        let sql = "SELECT path, device, inode, prefix_length, prefix_hash, length, modified,
                offset, session
            FROM known_files WHERE format = ?1 ORDER BY path";
        self.all(sql, [format], known_file)
    }
}

fn known_file(row: &Row<'_>) -> rusqlite::Result<KnownFile> {
    let unsigned = |index| row.get(index).map(i64::cast_unsigned);
    Ok(KnownFile {
        path: OsString::from_vec(row.get(0)?).into(),
        device: unsigned(1)?,
        inode: unsigned(2)?,
        prefix_length: row.get(3)?,
        prefix_hash: unsigned(4)?,
        length: unsigned(5)?,
        modified: row.get(6)?,
        offset: unsigned(7)?,
        session: row.get(8)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::tests::{LONG, folder, owned};

    fn file(path: impl Into<PathBuf>, length: u64) -> KnownFile {
        KnownFile {
            path: path.into(),
            device: 1,
            inode: u64::MAX,
            prefix_length: u16::MAX,
            prefix_hash: 0xcbf2_9ce4_8422_2325,
            length,
            modified: -1,
            offset: length,
            session: "s-1".to_owned(),
        }
    }

    #[test]
    fn files_are_known_until_they_are_removed() {
        let (_folder, path) = folder();
        let (mut store, generation) = owned(&path);
        let odd = PathBuf::from(OsString::from_vec(b"/x/\xff\0\n.jsonl".to_vec()));
        let (one, two) = (file("/x/a.jsonl", u64::MAX), file(odd, 0));
        store.put_known_files(generation, 1, &[two.clone(), one.clone()]).unwrap();
        assert_eq!(store.known_files(1).unwrap(), [one.clone(), two.clone()]);
        let one = KnownFile { length: 5, session: "s-2".into(), ..one };
        store.put_known_files(generation, 1, std::slice::from_ref(&one)).unwrap();
        store.remove_known_files(generation, &[&two.path, Path::new("/no")]).unwrap();
        store.remove_known_files_of(generation, "s-1").unwrap();
        drop(store);
        assert_eq!(Store::open_owner(&path, LONG).unwrap().known_files(1).unwrap(), [one]);
    }

    #[test]
    fn rows_of_another_format_are_not_seen_and_are_overwritten() {
        let (_folder, path) = folder();
        let (mut store, generation) = owned(&path);
        let files = [file("/a", 1), file("/b", 2)];
        store.put_known_files(generation, 1, &files).unwrap();
        assert_eq!(store.known_files(2).unwrap(), []);
        store.put_known_files(generation, 2, &files[..1]).unwrap();
        assert_eq!(store.known_files(2).unwrap(), files[..1]);
        assert_eq!(store.known_files(1).unwrap(), files[1..]);
    }
}
