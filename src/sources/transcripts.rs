//! Which transcripts there are, and which one is meant.
//!
//! A session is found by its id, never by rebuilding its folder from a working directory: all
//! `<root>/projects/*/<id>.jsonl` are looked at. Subagents' files and the sessions of claude-mem's
//! own observers are none. What could not be looked at is counted.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    time::UNIX_EPOCH,
};

use endless_watchers::open_regular;

use super::ReadError;
use crate::{
    paths::{BadId, SessionId},
    text::time::Moment,
};

/// Where claude-mem lets its own agents work; the end of their folders' names.
pub const OBSERVERS: &str = "observer-sessions";

/// How many candidates an error names.
const NAMED: usize = 5;

/// All transcripts of some roots.
#[derive(Debug, Default)]
pub struct Scan {
    /// The sessions, each with its files: one, or several where it lies in several folders.
    pub sessions: BTreeMap<SessionId, Vec<PathBuf>>,
    /// Folders that could not be listed.
    pub unreadable: usize,
    /// Folders and transcripts that are links; they are not followed.
    pub links: usize,
}

/// The transcripts of one session: a look into each project folder, and no listing of files.
pub fn of_session(roots: &[PathBuf], id: &SessionId) -> Vec<PathBuf> {
    let name = format!("{id}.jsonl");
    let projects = roots.iter().flat_map(|root| fs::read_dir(root.join("projects")));
    let folders = projects.flatten().flatten();
    let real = folders.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
    let files = real.map(|entry| entry.path().join(&name));
    files.filter(|path| session_of(path).is_some() && is_file(path)).collect()
}

fn is_file(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|data| data.is_file())
}

/// When a transcript was made, where the file system tells: rows that are older were copied into it.
pub fn born(path: &Path) -> Option<Moment> {
    let made = fs::symlink_metadata(path).and_then(|data| data.created()).ok()?;
    let since = made.duration_since(UNIX_EPOCH).ok()?;
    i64::try_from(since.as_millis()).ok().map(Moment)
}

/// Lists the transcripts of `roots`.
pub fn scan(roots: &[PathBuf]) -> Scan {
    let mut scan = Scan::default();
    for root in roots {
        scan.list(&root.join("projects"), Scan::project);
    }
    scan
}

impl Scan {
    fn list(&mut self, folder: &Path, mut each: impl FnMut(&mut Self, &fs::DirEntry)) {
        let Ok(entries) = fs::read_dir(folder) else {
            self.unreadable += 1;
            return;
        };
        for entry in entries {
            match entry {
                Ok(entry) => each(self, &entry),
                Err(_) => self.unreadable += 1,
            }
        }
    }

    fn project(&mut self, entry: &fs::DirEntry) {
        let Ok(kind) = entry.file_type() else { return };
        if entry.file_name().to_string_lossy().ends_with(OBSERVERS) {
            return;
        }
        if kind.is_dir() {
            self.list(&entry.path(), Self::transcript);
        } else if kind.is_symlink() {
            self.links += 1;
        }
    }

    fn transcript(&mut self, entry: &fs::DirEntry) {
        let path = entry.path();
        let Some(id) = session_of(&path) else { return };
        match entry.file_type() {
            Ok(kind) if kind.is_file() => self.sessions.entry(id).or_default().push(path),
            Ok(kind) if kind.is_symlink() => self.links += 1,
            _ => {}
        }
    }
}

/// The session that a file of a project's folder belongs to, by its name. Subagents' files belong
/// to none, nor do those of claude-mem's observers.
pub fn session_of(path: &Path) -> Option<SessionId> {
    let is_transcript = path.extension().is_some_and(|extension| extension == "jsonl");
    let id = SessionId::of_file(path).filter(|_| is_transcript)?;
    let folder = path.parent()?.file_name()?.to_string_lossy();
    let is_none = id.as_str().starts_with("agent-") || folder.ends_with(OBSERVERS);
    (!is_none).then_some(id)
}

/// A session that somebody asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Target {
    /// Its id; none where the file's name is no id.
    pub id: Option<SessionId>,
    /// Its transcripts.
    pub files: Vec<PathBuf>,
}

/// Why no session is meant by what was asked for.
#[derive(Debug, thiserror::Error)]
pub enum FindError {
    /// It can be neither an id nor the path of a transcript.
    #[error("{0}; give an id from `endless list`, or the path of a transcript")]
    NoId(#[from] BadId),
    /// It begins several ids.
    #[error("`{prefix}` fits {count} sessions, give more of the id: {named}")]
    Ambiguous {
        /// What was asked for.
        prefix: String,
        /// How many sessions it fits.
        count: usize,
        /// Some of them.
        named: String,
    },
    /// It begins no id.
    #[error("no session begins with `{prefix}`; {searched}")]
    Unknown {
        /// What was asked for.
        prefix: String,
        /// Where it was looked for.
        searched: String,
    },
    /// It is a path, of a file that can't be read.
    #[error(transparent)]
    Path(#[from] ReadError),
}

/// Finds the session that is meant: a path of a transcript, an id, or a prefix of exactly one id.
///
/// `path` is the argument as a path, relative to nothing but the root.
pub fn find(
    argument: &str,
    path: &Path,
    roots: &[PathBuf],
    candidates: &[PathBuf],
) -> Result<Target, FindError> {
    if is_path(argument, path) {
        return file(path);
    }
    let asked: SessionId = argument.parse()?;
    let mut scan = scan(roots);
    if let Some(files) = scan.sessions.remove(&asked) {
        return Ok(Target { id: Some(asked), files });
    }
    let mut fitting = scan.sessions.iter().filter(|(id, _)| id.as_str().starts_with(argument));
    match (fitting.next(), fitting.next()) {
        (Some((id, files)), None) => Ok(Target { id: Some(id.clone()), files: files.clone() }),
        (None, _) => {
            let searched = searched(&scan, roots, candidates);
            Err(FindError::Unknown { prefix: argument.to_owned(), searched })
        }
        (Some(_), Some(_)) => Err(ambiguous(argument, &scan)),
    }
}

/// An id holds no separator; a name that ends in `.jsonl` is a transcript's.
fn is_path(argument: &str, path: &Path) -> bool {
    let has_end = path.extension().is_some_and(|extension| extension == "jsonl");
    has_end || (argument.contains('/') && path.symlink_metadata().is_ok())
}

fn file(path: &Path) -> Result<Target, FindError> {
    open_regular(path).map_err(ReadError)?;
    Ok(Target { id: SessionId::of_file(path), files: vec![path.to_owned()] })
}

fn ambiguous(prefix: &str, scan: &Scan) -> FindError {
    let fitting = scan.sessions.keys().filter(|id| id.as_str().starts_with(prefix));
    let count = fitting.clone().count();
    let mut named: Vec<_> = fitting.take(NAMED).map(ToString::to_string).collect();
    if count > NAMED {
        named.push("…".to_owned());
    }
    FindError::Ambiguous { prefix: prefix.to_owned(), count, named: named.join(", ") }
}

/// Where sessions were looked for, and how many there are; for messages.
pub fn searched(scan: &Scan, roots: &[PathBuf], candidates: &[PathBuf]) -> String {
    let shown = |paths: &[PathBuf]| {
        let paths: Vec<_> = paths.iter().map(|path| path.join("projects")).collect();
        let paths: Vec<_> = paths.iter().map(|path| path.display().to_string()).collect();
        paths.join(" and ")
    };
    if roots.is_empty() {
        return format!("there is no {}", shown(candidates).replace(" and ", " and no "));
    }
    let mut text = format!("looked at {} sessions in {}", scan.sessions.len(), shown(roots));
    if scan.unreadable > 0 {
        text.push_str(&format!("; {} folders could not be read", scan.unreadable));
    }
    if scan.links > 0 {
        text.push_str(&format!("; {} links were not followed", scan.links));
    }
    text
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    struct Root(tempfile::TempDir);

    impl Root {
        fn new(files: &[&str]) -> Self {
            let root = Self(tempfile::tempdir().unwrap());
            for file in files {
                let path = root.path().join("projects").join(file);
                fs::create_dir_all(path.parent().unwrap()).unwrap();
                fs::write(path, "").unwrap();
            }
            root
        }

        fn path(&self) -> &Path {
            self.0.path()
        }

        fn find(&self, argument: &str) -> Result<String, String> {
            let roots = [self.path().to_owned()];
            let shown = |text: String| text.replace(&*self.path().to_string_lossy(), "~");
            match find(argument, &self.path().join(argument), &roots, &roots) {
                Ok(target) => Ok(format!(
                    "{} {}",
                    target.id.map(|id| id.to_string()).unwrap_or_default(),
                    target.files.len()
                )),
                Err(error) => Err(shown(error.to_string())),
            }
        }
    }

    #[test]
    fn only_transcripts_of_sessions_are_found() {
        let root = Root::new(&[
            "a/s1.jsonl",
            "b/s1.jsonl",
            "b/s2.jsonl",
            "b/agent-1.jsonl",
            "b/s3.json",
            "b/.s4.jsonl",
            "b/s 5.jsonl",
            "b/s6/subagents/agent-2.jsonl",
            "-home-x--claude-mem-observer-sessions/s7.jsonl",
        ]);
        let projects = root.path().join("projects");
        fs::create_dir(projects.join("b/s8.jsonl")).unwrap();
        symlink(projects.join("a/s1.jsonl"), projects.join("b/s9.jsonl")).unwrap();
        symlink(projects.join("a"), projects.join("c")).unwrap();
        let scan = scan(&[root.path().to_owned(), root.path().join("nowhere")]);
        let found = scan.sessions.iter().map(|(id, files)| (id.as_str(), files.len()));
        assert_eq!(found.collect::<Vec<_>>(), [("s1", 2), ("s2", 1)]);
        assert_eq!((scan.unreadable, scan.links), (1, 2));
    }

    #[test]
    fn a_session_is_meant_by_id_prefix_or_path() {
        let root = Root::new(&["a/ab1.jsonl", "a/ab2.jsonl", "a/ab1x.jsonl", "b/c.jsonl"]);
        assert_eq!(root.find("ab1"), Ok("ab1 1".to_owned()));
        assert_eq!(root.find("ab2"), Ok("ab2 1".to_owned()));
        assert_eq!(root.find("ab1x"), Ok("ab1x 1".to_owned()));
        assert_eq!(root.find("projects/b/c.jsonl"), Ok("c 1".to_owned()));
        for (argument, expected) in [
            ("ab", "`ab` fits 3 sessions, give more of the id: ab1, ab1x, ab2"),
            ("zz", "no session begins with `zz`; looked at 4 sessions in ~/projects"),
            ("../../x", "`../../x` is no session id"),
            ("", "a session id can't be empty"),
            ("projects/no.jsonl", "failed to find ~/projects/no.jsonl"),
            ("projects/b", "it is a directory, not a regular file"),
        ] {
            let error = root.find(argument).unwrap_err();
            assert!(error.contains(expected), "{error}");
        }
    }
}
