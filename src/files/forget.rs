//! Removes what the state folder holds of one session.
//!
//! Invariant: only the files of exactly this session go. Refuses: folders that are links.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use super::FileError;
use crate::paths::{Paths, SessionId};

/// Removes bottle, copies and archived bottles of a session; what was removed.
///
/// # Errors
/// At the first file that can't be removed; those before it are gone.
pub fn forget(paths: &Paths, id: &SessionId) -> Result<Vec<PathBuf>, FileError> {
    let mut removed = Vec::new();
    for path in of_session(paths, id)? {
        match fs::remove_file(&path) {
            Ok(()) => removed.push(path),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(source) => return Err(FileError::Remove { path, source }),
        }
    }
    Ok(removed)
}

/// The files that there are of a session: archived ones first, its bottle last.
pub fn of_session(paths: &Paths, id: &SessionId) -> Result<Vec<PathBuf>, FileError> {
    let mut files = kept(paths)?;
    files.retain(|(owner, _)| owner == id);
    let bottle = paths.bottle(id);
    files.sort_by_key(|(_, path)| {
        (*path == bottle, path.parent() == Some(&paths.bottles), path.clone())
    });
    Ok(files.into_iter().map(|(_, path)| path).collect())
}

/// All bottles, copies and archived bottles, with their sessions.
pub fn kept(paths: &Paths) -> Result<Vec<(SessionId, PathBuf)>, FileError> {
    let mut files = Vec::new();
    for (folder, session) in [
        (&paths.bottles, of_bottle as fn(&str) -> Option<SessionId>),
        (&paths.archive, of_archived),
    ] {
        for name in names(folder)? {
            if let Some(id) = name.strip_suffix(".md").and_then(session) {
                files.push((id, folder.join(&name)));
            }
        }
    }
    Ok(files)
}

/// `<id>`, or `<id>@<what>` for a copy. Ids hold no `@`.
fn of_bottle(name: &str) -> Option<SessionId> {
    name.split('@').next()?.parse().ok()
}

/// `<milliseconds>-<id>`; an id may hold digits and `-` as well.
fn of_archived(name: &str) -> Option<SessionId> {
    let (time, id) = name.split_once('-')?;
    time.parse::<u64>().ok()?;
    id.parse().ok()
}

/// The names in a folder; none where there is no folder.
fn names(folder: &Path) -> Result<Vec<String>, FileError> {
    let failed = |source| FileError::Folder { path: folder.to_owned(), source };
    match fs::symlink_metadata(folder) {
        Ok(data) if data.is_dir() => {}
        Ok(_) => return Err(FileError::NotFolder { path: folder.to_owned() }),
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(failed(error)),
    }
    let mut names = Vec::new();
    for entry in fs::read_dir(folder).map_err(failed)? {
        names.extend(entry.map_err(failed)?.file_name().into_string());
    }
    names.sort();
    Ok(names)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn exactly_the_files_of_the_session_go() {
        let folder = tempfile::tempdir().unwrap();
        let paths = Paths::new(folder.path());
        assert_eq!(forget(&paths, &"a".parse().unwrap()).unwrap(), Vec::<PathBuf>::new());
        fs::create_dir_all(&paths.archive).unwrap();
        let ours = ["archive/5-a-1.md", "archive/6-a-1.md", "a-1@2.md", "a-1.md"];
        let others = [
            "a-1.txt",
            "a-10.md",
            "a.md",
            "archive/5-1.md",
            "archive/5-5-a-1.md",
            "archive/x-a-1.md",
            "b@a-1.md",
        ];
        for name in ours.iter().chain(&others) {
            fs::write(paths.bottles.join(name), "").unwrap();
        }
        let id = "a-1".parse().unwrap();
        let expected: Vec<_> = ours.iter().map(|name| paths.bottles.join(name)).collect();
        assert_eq!(of_session(&paths, &id).unwrap(), expected);
        assert_eq!(forget(&paths, &id).unwrap(), expected);
        assert_eq!(forget(&paths, &id).unwrap(), Vec::<PathBuf>::new());
        for name in others {
            assert!(paths.bottles.join(name).exists(), "{name}");
        }
    }

    #[test]
    fn a_link_to_a_folder_is_not_followed() {
        let folder = tempfile::tempdir().unwrap();
        let paths = Paths::new(folder.path().join("state"));
        let other = folder.path().join("other");
        fs::create_dir_all(&paths.home).unwrap();
        fs::create_dir(&other).unwrap();
        fs::write(other.join("a.md"), "").unwrap();
        symlink(&other, &paths.bottles).unwrap();
        let refused = forget(&paths, &"a".parse().unwrap());
        assert!(matches!(refused, Err(FileError::NotFolder { .. })));
        assert!(other.join("a.md").exists());
    }
}
