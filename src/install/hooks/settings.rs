//! A file of settings: read, changed, and written so that nobody ever sees half of it.
//!
//! The host writes the same file. So it is read again right before it is replaced, and where it has
//! changed all starts anew. Invariant: a link stays a link, owner and mode stay, and what was there
//! before lies beside it as a backup. Refuses: what is read-only, no file, or no text.

use std::{
    fs::{self, DirBuilder, Permissions},
    io::{self, Write},
    os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt, chown, fchown},
    path::{Path, PathBuf},
};

use super::{
    edit::{Wish, explains},
    jsonc::Wrong,
};
use crate::files;

/// The host's file in a root.
pub(super) const NAME: &str = "settings.json";
const BACKUP: &str = "settings.json.endless-backup";
/// How often somebody else may come in between.
const ATTEMPTS: usize = 3;

/// Why settings were not changed. They are as they were.
#[derive(Debug, thiserror::Error)]
pub enum SettingsError {
    /// They can't be understood, or have no place for hooks.
    #[error("{path}, line {line}: {message}; mend it first")]
    Wrong {
        /// The file.
        path: PathBuf,
        /// From 1.
        line: usize,
        /// What is wrong.
        message: String,
    },
    /// It is no text.
    #[error("{path} is no UTF-8; mend it first")]
    NoText {
        /// The file.
        path: PathBuf,
    },
    /// It is no regular file, or a link to nothing.
    #[error("{path} is {what}; put a file there, then do this again")]
    NoFile {
        /// What stands there.
        path: PathBuf,
        /// What it is.
        what: &'static str,
    },
    /// Nobody is meant to write it.
    #[error(
        "{path} is read-only; `chmod u+w {path}`, or paste what `endless install hooks --print` \
         prints; to uninstall, take it out by hand"
    )]
    ReadOnly {
        /// The file.
        path: PathBuf,
    },
    /// Somebody else changes it all the time.
    #[error("{path} is changed by another program all the time; do this again later")]
    Busy {
        /// The file.
        path: PathBuf,
    },
    /// The system does not allow it.
    #[error("can't {what} {path}")]
    System {
        /// What was tried.
        what: &'static str,
        /// On what.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}

/// Says what is to become of settings, of which there may be none, with such a backup.
type Edit<'a> = dyn FnMut(Option<&str>, Option<&str>) -> Result<Wish, Wrong> + 'a;

/// What a file held, and what it holds now or would hold.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Changed {
    pub(super) before: Option<String>,
    pub(super) after: Option<String>,
}

impl Changed {
    pub(super) fn is_same(&self) -> bool {
        self.before == self.after
    }
}

/// The file as it is at one moment.
#[derive(Debug, PartialEq, Eq)]
struct Found {
    /// Where it is, behind all links.
    target: PathBuf,
    text: Option<String>,
    access: Access,
}

/// Whose a file is, and who may do what with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Access {
    mode: u32,
    user: u32,
    group: u32,
}

impl Access {
    fn of(data: &fs::Metadata) -> Self {
        Self { mode: data.mode() & 0o7777, user: data.uid(), group: data.gid() }
    }

    /// Of a file that is not there yet: the person's alone, who is the folder's owner.
    fn of_new(path: &Path) -> Self {
        let owner = path.ancestors().skip(1).find_map(|folder| fs::metadata(folder).ok());
        let user = rustix::process::geteuid().as_raw();
        let group = rustix::process::getegid().as_raw();
        let (user, group) = owner.map_or((user, group), |owner| (owner.uid(), owner.gid()));
        Self { mode: 0o600, user, group }
    }

    /// Root, who may be here for somebody else (`sudo`), leaves the file to whom it belongs.
    fn give(self, file: &fs::File) -> io::Result<()> {
        if rustix::process::geteuid().is_root() {
            fchown(file, Some(self.user), Some(self.group))?;
        }
        file.set_permissions(Permissions::from_mode(self.mode))
    }

    fn give_folder(self, folder: &Path) -> io::Result<()> {
        match rustix::process::geteuid().is_root() {
            true => chown(folder, Some(self.user), Some(self.group)),
            false => Ok(()),
        }
    }
}

/// The text of settings, if there are any.
pub(super) fn read(path: &Path) -> Result<Option<String>, SettingsError> {
    Ok(find(path)?.text)
}

/// The backup beside some settings, if it can be read.
fn backup(path: &Path) -> Option<String> {
    fs::read_to_string(path.with_file_name(BACKUP)).ok()
}

/// Changes settings as `edit` wishes, which sees them and their backup. With `dry_run` it is only
/// found out what would be.
pub(super) fn change(
    path: &Path,
    dry_run: bool,
    edit: &mut Edit<'_>,
) -> Result<Changed, SettingsError> {
    for _ in 0..ATTEMPTS {
        let found = find(path)?;
        let wish = edit(found.text.as_deref(), backup(path).as_deref());
        let wish = wish.map_err(|Wrong { line, message }| SettingsError::Wrong {
            path: path.to_owned(),
            line,
            message,
        })?;
        let (after, is_back) = match wish {
            Wish::Same => (found.text.clone(), false),
            Wish::Text(text) => (Some(text), false),
            Wish::Back(text) => (text, true),
        };
        let changed = Changed { before: found.text.clone(), after };
        if changed.is_same() {
            return Ok(changed);
        }
        if found.text.is_some() && found.access.mode & 0o200 == 0 {
            return Err(SettingsError::ReadOnly { path: path.to_owned() });
        }
        if dry_run {
            return Ok(changed);
        }
        let after = changed.after.as_deref();
        if !is_back {
            keep(path, &found)?;
        }
        if replace(path, &found, after)? {
            if is_back && after.is_some() && backup(path).as_deref() == after {
                // Nothing is in it that is not in its place again.
                fs::remove_file(path.with_file_name(BACKUP)).ok();
            }
            return Ok(changed);
        }
    }
    Err(SettingsError::Busy { path: path.to_owned() })
}

fn find(path: &Path) -> Result<Found, SettingsError> {
    let failed = |source| SettingsError::System { what: "read", path: path.to_owned(), source };
    let no_file = |what| SettingsError::NoFile { path: path.to_owned(), what };
    let target = match fs::canonicalize(path) {
        Ok(target) => target,
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(failed(error)),
        Err(_) if fs::symlink_metadata(path).is_ok() => return Err(no_file("a link to nothing")),
        Err(_) => {
            return Ok(Found { target: path.to_owned(), text: None, access: Access::of_new(path) });
        }
    };
    let data = fs::metadata(&target).map_err(failed)?;
    if !data.is_file() {
        return Err(no_file("no regular file"));
    }
    let bytes = fs::read(&target).map_err(failed)?;
    let text = String::from_utf8(bytes);
    let text = text.map_err(|_| SettingsError::NoText { path: path.to_owned() })?;
    Ok(Found { target, text: Some(text), access: Access::of(&data) })
}

/// Writes what was found to the backup, unless that, or nothing, is all that is in it beside our
/// hooks: then it is what was there before they were first put in.
fn keep(path: &Path, found: &Found) -> Result<(), SettingsError> {
    let Some(text) = &found.text else { return Ok(()) };
    if [backup(path), Some(String::new())].iter().flatten().any(|it| explains(it, text)) {
        return Ok(());
    }
    let backup = path.with_file_name(BACKUP);
    let failed = |source| SettingsError::System { what: "write", path: backup.clone(), source };
    let file = temporary(&backup, text, found.access).map_err(failed)?;
    file.persist(&backup).map(drop).map_err(|error| failed(error.error))
}

/// Replaces what was found, unless something else is there now: then false.
fn replace(path: &Path, found: &Found, text: Option<&str>) -> Result<bool, SettingsError> {
    let failed = |source| SettingsError::System { what: "write", path: path.to_owned(), source };
    if let Some(folder) = found.target.parent().filter(|folder| !folder.exists()) {
        DirBuilder::new().recursive(true).mode(0o700).create(folder).map_err(failed)?;
        found.access.give_folder(folder).map_err(failed)?;
    }
    let new = text.map(|text| temporary(&found.target, text, found.access)).transpose();
    let new = new.map_err(failed)?;
    if find(path)? != *found {
        return Ok(false);
    }
    match new {
        None => fs::remove_file(&found.target).map_err(failed)?,
        Some(file) if found.text.is_some() => {
            file.persist(&found.target).map_err(|error| failed(error.error))?;
        }
        Some(file) => match file.persist_noclobber(&found.target) {
            Ok(_) => {}
            Err(error) if error.error.kind() == io::ErrorKind::AlreadyExists => return Ok(false),
            Err(error) => return Err(failed(error.error)),
        },
    }
    Ok(true)
}

/// A temporary sibling with this text and mode, on the disk.
fn temporary(path: &Path, text: &str, access: Access) -> io::Result<tempfile::NamedTempFile> {
    let folder = path.parent().unwrap_or(Path::new("/"));
    let mut builder = tempfile::Builder::new();
    let builder = builder.prefix(".endless-").suffix(".tmp");
    let mut file = builder.tempfile_in(folder).map_err(files::plain)?;
    file.write_all(text.as_bytes())?;
    access.give(file.as_file())?;
    file.as_file().sync_all()?;
    Ok(file)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn add(text: Option<&str>, _: Option<&str>) -> Result<Wish, Wrong> {
        Ok(Wish::Text(format!("{}+", text.unwrap_or("new"))))
    }

    fn names(folder: &Path) -> Vec<String> {
        let name = |entry: io::Result<fs::DirEntry>| entry.unwrap().file_name().into_string();
        let mut names: Vec<_> =
            fs::read_dir(folder).unwrap().map(|entry| name(entry).unwrap()).collect();
        names.sort();
        names
    }

    #[test]
    fn what_others_write_in_between_is_not_lost() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(NAME);
        for (times, expected) in [(0, "old+"), (2, "theirs 2+")] {
            fs::write(&path, "old").unwrap();
            let mut count = 0;
            let changed = change(&path, false, &mut |text, backup| {
                let wish = add(text, backup);
                if count < times {
                    count += 1;
                    fs::write(&path, format!("theirs {count}")).unwrap();
                }
                wish
            });
            assert_eq!(changed.unwrap().after.as_deref(), Some(expected));
            assert_eq!(fs::read_to_string(&path).unwrap(), expected);
        }
        // A file that comes into being in between is somebody's too.
        fs::remove_file(&path).unwrap();
        let mut is_first = true;
        let changed = change(&path, false, &mut |text, backup| {
            if is_first {
                is_first = false;
                fs::write(&path, "theirs").unwrap();
            }
            add(text, backup)
        });
        assert_eq!(changed.unwrap().after.as_deref(), Some("theirs+"));
        assert_eq!(names(folder.path()), [NAME, BACKUP]);
    }

    #[test]
    fn a_file_that_never_rests_is_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(NAME);
        fs::write(&path, "old").unwrap();
        let mut count = 0;
        let changed = change(&path, false, &mut |text, backup| {
            count += 1;
            fs::write(&path, format!("theirs {count}")).unwrap();
            add(text, backup)
        });
        assert!(matches!(changed, Err(SettingsError::Busy { .. })));
        assert_eq!(fs::read_to_string(&path).unwrap(), "theirs 3");
        assert_eq!(names(folder.path()), [NAME, BACKUP]);
    }

    #[test]
    fn mode_and_link_stay_and_what_was_there_is_kept() {
        let folder = tempfile::tempdir().unwrap();
        let (path, real) = (folder.path().join("root").join(NAME), folder.path().join("dotfile"));
        fs::create_dir(path.parent().unwrap()).unwrap();
        fs::write(&real, "old").unwrap();
        fs::set_permissions(&real, Permissions::from_mode(0o640)).unwrap();
        std::os::unix::fs::symlink("../dotfile", &path).unwrap();
        assert!(change(&path, true, &mut add).is_ok());
        assert_eq!(names(path.parent().unwrap()), [NAME]);
        change(&path, false, &mut add).unwrap();
        assert!(fs::symlink_metadata(&path).unwrap().is_symlink());
        assert_eq!(fs::read_to_string(&real).unwrap(), "old+");
        let backup = path.with_file_name(BACKUP);
        assert_eq!(fs::read_to_string(&backup).unwrap(), "old");
        for file in [&real, &backup] {
            assert_eq!(fs::metadata(file).unwrap().mode() & 0o777, 0o640);
        }
        assert_eq!(names(folder.path()), ["dotfile", "root"]);
    }

    /// Where root can be tried: the settings of somebody else stay theirs.
    #[test]
    fn root_leaves_files_to_whom_they_belong() {
        if !rustix::process::geteuid().is_root() {
            return;
        }
        let folder = tempfile::tempdir().unwrap();
        chown(folder.path(), Some(1234), Some(1234)).unwrap();
        let path = folder.path().join(".claude").join(NAME);
        for _ in 0..2 {
            change(&path, false, &mut add).unwrap();
            let backup = path.with_file_name(BACKUP);
            let all = [path.parent().unwrap(), &path, &backup];
            for file in all.into_iter().filter(|file| file.exists()) {
                assert_eq!(fs::metadata(file).unwrap().uid(), 1234, "{}", file.display());
            }
        }
    }

    #[test]
    fn what_is_no_file_to_be_written_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(NAME);
        let refused = || change(&path, false, &mut add).unwrap_err().to_string();
        std::os::unix::fs::symlink("nothing", &path).unwrap();
        assert!(refused().contains("is a link to nothing"));
        fs::remove_file(&path).unwrap();
        fs::create_dir(&path).unwrap();
        assert!(refused().contains("is no regular file"));
        fs::remove_dir(&path).unwrap();
        fs::write(&path, b"\xff").unwrap();
        assert!(refused().contains("is no UTF-8"));
        fs::write(&path, "old").unwrap();
        fs::set_permissions(&path, Permissions::from_mode(0o444)).unwrap();
        assert!(refused().contains("is read-only"));
        assert_eq!(names(folder.path()), [NAME]);
    }
}
