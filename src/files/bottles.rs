//! Bottles on disk, and the rule that keeps words from being lost with them.
//!
//! Before a bottle is replaced the old one is read back. If it has a message that the session has
//! nowhere, or can't be read back at all, it goes to the archive first, and the new bottle's header
//! says where it went. Nothing is written where only the time of rendering would change.

use std::{
    fs::{self, File, TryLockError},
    hash::BuildHasher,
    io::{self, Read},
    os::unix::fs::{MetadataExt, OpenOptionsExt},
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use endless_watchers::{TailError, open_regular};

use super::{FileError, copies, prepare, write_new, write_whole};
use crate::{
    bottle::{
        About, Bottle, Earlier, Item, Mode, Options, Settled, about, earlier_of, missing_from,
        read_back, reconstructed, render, render_grown, same_but_rendered, without_rendered,
    },
    paths::{Paths, SessionId},
    session::Session,
    text::time::Moment,
    transcript::Host,
};

/// How long another process may be at it.
const PATIENCE: Duration = Duration::from_secs(10);
const PAUSE: Duration = Duration::from_millis(2);

/// Device, inode, time of change.
type Identity = (u64, u64, i64, i64);

/// A bottle that was kept.
#[derive(Debug)]
pub struct Kept {
    /// The bottle.
    pub bottle: Bottle,
    /// Its file.
    pub path: PathBuf,
    /// What became of the file.
    pub written: Written,
    /// The file, right after it was written.
    file: Option<Identity>,
    /// A hash of all but the time of rendering.
    content: u64,
    about: About,
}

/// What became of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Written {
    /// It was not there before.
    New,
    /// It already said the same.
    Unchanged,
    /// Its old content was replaced, and lies in the archive where it had words of its own.
    Replaced {
        /// The archived bottle.
        archived: Option<PathBuf>,
    },
}

/// Renders a session and keeps the bottle in the state folder.
pub fn keep(
    paths: &Paths,
    id: &SessionId,
    session: &Session,
    mut options: Options,
) -> Result<Kept, FileError> {
    prepare(paths)?;
    let _one_at_a_time = one_at_a_time(paths)?;
    let path = paths.bottle(id);
    let old = read(&path)?;
    let archived = match old.as_deref().filter(|old| has_own_words(old, session)) {
        Some(old) => Some(archive(paths, id, old, options.rendered)?),
        None => None,
    };
    options.earlier = match &archived {
        Some(archived) => Some(earlier(archived, old.as_deref().unwrap_or_default())),
        None => old.as_deref().and_then(earlier_of),
    };
    let bottle = render(session, &options);
    match write(&path, old.as_deref(), &bottle.text, archived.clone()) {
        Ok(written) => {
            let (file, content) = (identity(&path), content(&bottle.text));
            let about = bottle.about(session, &options);
            Ok(Kept { bottle, path, written, file, content, about })
        }
        Err(error) => {
            // The old bottle stands where it stood: the archive would only gather copies of it.
            archived.map(fs::remove_file).transpose().ok();
            Err(error)
        }
    }
}

/// What this process knows of the bottle that it wrote last of a session.
#[derive(Debug, Clone)]
pub struct Last {
    earlier: Option<Earlier>,
    /// A hash of all but the time of rendering.
    content: u64,
    /// Device and inode of the file; every bottle is a new one.
    file: Option<Identity>,
    about: About,
    settled: Option<Settled>,
}

impl Kept {
    /// Where the old bottle lies that had words of its own.
    pub fn archived(&self) -> Option<&Path> {
        match &self.written {
            Written::Replaced { archived } => archived.as_deref(),
            Written::New | Written::Unchanged => None,
        }
    }

    /// What to remember for [`keep_growing`].
    pub fn last(&self) -> Last {
        Last {
            earlier: earlier_of(&self.bottle.text),
            content: self.content,
            file: self.file,
            about: self.about.clone(),
            settled: self.bottle.settled.clone(),
        }
    }
}

impl Last {
    /// The bottle that lies there, whoever wrote it, and its text. None where there is none, or
    /// this version does not know its like.
    pub fn of_file(paths: &Paths, id: &SessionId) -> Result<Option<(Self, String)>, FileError> {
        let path = paths.bottle(id);
        let file = identity(&path);
        let Some(text) = read(&path)? else { return Ok(None) };
        let Some(about) = about(&text) else { return Ok(None) };
        let (earlier, content) = (earlier_of(&text), content(&text));
        Ok(Some((Self { earlier, content, file, about, settled: None }, text)))
    }

    /// The bottle without its text.
    pub fn about(&self) -> &About {
        &self.about
    }

    /// Whether the bottle is still the file that was written.
    pub fn is_in_place(&self, paths: &Paths, id: &SessionId) -> bool {
        self.file.is_some() && identity(&paths.bottle(id)) == self.file
    }
}

/// What became of a copy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Copied {
    /// It is there.
    Made,
    /// There is a copy with this number.
    Taken,
    /// The bottle is not the one that was written last.
    Replaced,
}

/// Copies the bottle that was written last, as its `n`-th copy. With `again` a copy that has the
/// number is replaced.
pub fn copy(
    paths: &Paths,
    id: &SessionId,
    n: u32,
    last: &Last,
    again: bool,
) -> Result<Copied, FileError> {
    let _one_at_a_time = one_at_a_time(paths)?;
    if !last.is_in_place(paths, id) {
        return Ok(Copied::Replaced);
    }
    let (bottle, copy) = (paths.bottle(id), paths.copy(id, n));
    if again {
        drop(fs::remove_file(&copy));
    }
    let text = || read(&bottle).map(Option::unwrap_or_default);
    let made = copies::link(&bottle, &copy, text)?;
    Ok(if made { Copied::Made } else { Copied::Taken })
}

/// Keeps the bottle of a session whose last bottle this process wrote from the same file, which
/// only grew since: it has all words of the old one. What did not change is taken over from the file,
/// where that has what was written. None where the bottle would say the same.
pub fn keep_growing(
    paths: &Paths,
    id: &SessionId,
    session: &Session,
    mut options: Options,
    last: &Last,
) -> Result<Option<Kept>, FileError> {
    options.earlier.clone_from(&last.earlier);
    let path = paths.bottle(id);
    let bottle = match (&last.settled, read(&path)) {
        (Some(settled), Ok(Some(old))) if content(&old) == last.content => {
            render_grown(session, &options, settled, old)
        }
        _ => render(session, &options),
    };
    let content = content(&bottle.text);
    if content == last.content && identity(&path) == last.file {
        return Ok(None);
    }
    let one_at_a_time = one_at_a_time(paths)?;
    if identity(&path) != last.file {
        // Somebody else wrote a bottle meanwhile, which may have words of its own.
        drop(one_at_a_time);
        return keep(paths, id, session, options).map(Some);
    }
    write_whole(&path, &bottle.text)?;
    let file = identity(&path);
    let written = Written::Replaced { archived: None };
    let about = bottle.about(session, &options);
    Ok(Some(Kept { bottle, path, written, file, content, about }))
}

/// Keeps the bottle of a session whose transcript is not there. None where nothing is known of it,
/// and where a bottle is there that was made from the transcript: that one has more.
pub fn keep_reconstructed(
    paths: &Paths,
    id: &SessionId,
    host: Host,
    mut options: Options,
) -> Result<Option<Kept>, FileError> {
    prepare(paths)?;
    let _one_at_a_time = one_at_a_time(paths)?;
    let path = paths.bottle(id);
    let old = read(&path)?;
    let about = old.as_deref().and_then(about);
    if about.is_some_and(|about| about.mode != Mode::Reconstructed) {
        return Ok(None);
    }
    options.earlier = old.as_deref().and_then(earlier_of);
    let Some(mut bottle) = reconstructed(id.as_str(), host, &options) else { return Ok(None) };
    let archived = match old.as_deref().filter(|old| has_other_words(old, &bottle.text)) {
        Some(old) => {
            let archived = archive(paths, id, old, options.rendered)?;
            options.earlier = Some(earlier(&archived, old));
            bottle = reconstructed(id.as_str(), host, &options).unwrap_or(bottle);
            Some(archived)
        }
        None => None,
    };
    let written = write(&path, old.as_deref(), &bottle.text, archived)?;
    let (file, content) = (identity(&path), content(&bottle.text));
    let about = bottle.about(&Session::new(id.as_str(), host), &options);
    Ok(Some(Kept { bottle, path, written, file, content, about }))
}

/// Whether a bottle has a message that another lacks, or is none.
fn has_other_words(old: &str, new: &str) -> bool {
    let (Some(old), Some(mut new)) = (read_back(old), read_back(new)) else { return true };
    old.iter().any(|item| match new.iter().position(|other| other == item) {
        Some(found) => {
            new.swap_remove(found);
            false
        }
        None => true,
    })
}

/// Puts the bottle of a session into the archive: clear means forget. Nothing where there is none.
pub fn archive_now(paths: &Paths, id: &SessionId, now: Moment) -> Result<(), FileError> {
    let path = paths.bottle(id);
    let _one_at_a_time = one_at_a_time(paths)?;
    let Some(old) = read(&path)? else { return Ok(()) };
    archive(paths, id, &old, now)?;
    fs::remove_file(&path).map_err(|source| FileError::Write { path, source })?;
    copies::remove_all(paths, id);
    Ok(())
}

/// Inodes are used again, times of change are not.
fn identity(path: &Path) -> Option<Identity> {
    let data = fs::symlink_metadata(path).ok()?;
    Some((data.dev(), data.ino(), data.mtime(), data.mtime_nsec()))
}

/// How many messages the bottle of a session has.
pub fn messages(paths: &Paths, id: &SessionId) -> Result<u64, FileError> {
    let items = read(&paths.bottle(id))?.and_then(|text| read_back(&text)).unwrap_or_default();
    Ok(items.iter().filter(|item| matches!(item, Item::Message { .. })).count() as u64)
}

/// Between the look at an old bottle and its replacement nobody else may replace it: words that only
/// theirs has would be lost.
fn one_at_a_time(paths: &Paths) -> Result<File, FileError> {
    let path = &paths.bottles_lock;
    let failed = |source| FileError::Write { path: path.clone(), source };
    let lock = File::options().write(true).create(true).truncate(false).mode(0o600).open(path);
    let lock = lock.map_err(failed)?;
    let until = Instant::now() + PATIENCE;
    loop {
        match lock.try_lock() {
            Ok(()) => return Ok(lock),
            Err(TryLockError::Error(source)) => return Err(failed(source)),
            Err(TryLockError::WouldBlock) if Instant::now() > until => {
                return Err(failed(io::Error::other("another process holds it")));
            }
            Err(TryLockError::WouldBlock) => std::thread::sleep(PAUSE),
        }
    }
}

fn content(text: &str) -> u64 {
    foldhash::fast::FixedState::default().hash_one(without_rendered(text))
}

/// Writes a bottle, unless the old one is equal but for the time of rendering.
pub fn write(
    path: &Path,
    old: Option<&str>,
    text: &str,
    archived: Option<PathBuf>,
) -> Result<Written, FileError> {
    if archived.is_none() && old.is_some_and(|old| same_but_rendered(old, text)) {
        return Ok(Written::Unchanged);
    }
    write_whole(path, text)?;
    Ok(if old.is_some() { Written::Replaced { archived } } else { Written::New })
}

/// The bottle that is there. What is no regular file is none: it is replaced.
pub fn read(path: &Path) -> Result<Option<String>, FileError> {
    let failed = |source| FileError::Read { path: path.to_owned(), source };
    let mut file = match open_regular(path) {
        Ok(file) => file,
        Err(TailError::Missing { .. } | TailError::NotRegular { .. }) => return Ok(None),
        Err(TailError::Open { source, .. } | TailError::Read { source, .. }) => {
            return Err(failed(source));
        }
        Err(error) => return Err(failed(io::Error::other(error))),
    };
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes).map_err(failed)?;
    let text = String::from_utf8(bytes);
    Ok(Some(text.unwrap_or_else(|wrong| String::from_utf8_lossy(wrong.as_bytes()).into_owned())))
}

fn has_own_words(old: &str, session: &Session) -> bool {
    read_back(old).is_none_or(|items| missing_from(&items, session) > 0)
}

fn earlier(archived: &Path, old: &str) -> Earlier {
    let name = archived.file_name().unwrap_or_default().to_string_lossy();
    let items = read_back(old).unwrap_or_default();
    let messages = items.iter().filter(|item| matches!(item, Item::Message { .. })).count();
    Earlier { path: format!("{}/{name}", Paths::ARCHIVE), messages }
}

/// Puts the old bottle into the archive, under a name that nothing has.
fn archive(paths: &Paths, id: &SessionId, old: &str, now: Moment) -> Result<PathBuf, FileError> {
    let from = paths.bottle(id);
    for milliseconds in now.0.. {
        let to = paths.archived(milliseconds, id);
        match fs::hard_link(&from, &to) {
            Ok(()) => return Ok(to),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            // Not every file system has hard links.
            Err(_) if write_new(&to, old)? => return Ok(to),
            Err(_) => {}
        }
    }
    let source = io::Error::other("no name is free");
    Err(FileError::Write { path: paths.archive.clone(), source })
}

#[cfg(test)]
mod tests;
