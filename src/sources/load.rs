//! Reads a session whole: every line of its transcripts, folded.
//!
//! A session that lies in two folders is the file with more conversation; of the others only rows
//! count that stand in them alone. A last line without its newline counts only if it is whole:
//! a torn one waits for its end.

use std::path::{Path, PathBuf};

use endless_watchers::TailError;

use super::{ReadError, live::Live, transcripts::Target};
use crate::{
    paths::SessionId,
    session::{ItemKind, Session},
    transcript::Host,
};

/// A session and where it comes from.
#[derive(Debug)]
pub struct Loaded {
    /// The session.
    pub session: Session,
    /// Its id, fit to be a file's name.
    pub id: SessionId,
    /// Its transcripts, by the number that places name as their source.
    pub files: Vec<PathBuf>,
    /// Bytes of all of them.
    pub bytes: u64,
    /// Bytes of torn last lines, which are not counted yet.
    pub torn: u64,
    /// Transcripts of it that could not be read.
    pub unread: Vec<ReadError>,
}

/// Why a session could not be read.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// Its transcript could not be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// It has no id to name its bottle after.
    #[error("{path} names no session: neither its name nor a row in it is an id; rename it")]
    NoId {
        /// The transcript.
        path: PathBuf,
    },
}

/// Reads a session.
pub fn load(target: &Target, host: Host) -> Result<Loaded, LoadError> {
    let (mut parts, mut unread) = (Vec::new(), Vec::new());
    for path in &target.files {
        match Part::read(path, Session::new("", host), 0) {
            Ok(part) => parts.push(part),
            Err(error) => unread.push(error),
        }
    }
    parts.sort_by_key(|part| std::cmp::Reverse((part.messages(), part.bytes)));
    let mut parts = parts.into_iter();
    let Some(mut whole) = parts.next() else {
        let missing = || ReadError(TailError::Missing { path: PathBuf::new() });
        return Err(unread.into_iter().next().unwrap_or_else(missing).into());
    };
    let mut files = vec![whole.path.clone()];
    for other in parts {
        let source = u16::try_from(files.len()).unwrap_or(u16::MAX);
        match Part::read(&other.path, whole.session.clone(), source) {
            Ok(more) => whole = whole.and(more),
            Err(error) => unread.push(error),
        }
        files.push(other.path);
    }
    let id = target.id.clone().or_else(|| whole.named?.parse().ok());
    let id = id.ok_or_else(|| LoadError::NoId { path: files[0].clone() })?;
    let mut session = whole.session;
    session.id = id.to_string();
    Ok(Loaded { session, id, files, bytes: whole.bytes, torn: whole.torn, unread })
}

/// What one file gave.
struct Part {
    path: PathBuf,
    session: Session,
    bytes: u64,
    torn: u64,
    /// The session's id as the first row has it that names one.
    named: Option<String>,
}

impl Part {
    /// Folds a file onto `base`.
    fn read(path: &Path, base: Session, source: u16) -> Result<Self, ReadError> {
        let mut live = Live::new(path, base, source);
        let reading = live.read()?;
        let (session, torn) = live.now();
        let named = live.named().map(str::to_owned);
        let session = session.into_owned();
        Ok(Self { path: path.to_owned(), session, bytes: reading.length, torn, named })
    }

    /// This part, with another that was folded onto it.
    fn and(self, more: Self) -> Self {
        Self { bytes: self.bytes + more.bytes, torn: self.torn + more.torn, ..more }
    }

    fn messages(&self) -> usize {
        let items = self.session.items().iter();
        items.filter(|item| matches!(item.kind, ItemKind::Said(_))).count()
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn row(id: u32, parent: u32, kind: &str, text: &str) -> String {
        format!(
            r#"{{"type":"{kind}","uuid":"{id}","parentUuid":"{parent}","sessionId":"s","message":{{"id":"m{id}","content":[{{"type":"text","text":"{text}"}}]}}}}"#
        )
    }

    /// Loads files of these contents; what was said, and how many bytes are torn.
    fn check(contents: &[&str], expected: &[&str], torn: u64) -> Loaded {
        let folder = tempfile::tempdir().unwrap();
        let files: Vec<_> = (0..contents.len())
            .map(|index| folder.path().join(format!("{index} s.jsonl")))
            .collect();
        for (path, text) in files.iter().zip(contents) {
            fs::write(path, text).unwrap();
        }
        let loaded = load(&Target { id: None, files }, Host::ClaudeCode).unwrap();
        let said: Vec<_> =
            loaded.session.layout().messages().map(|message| message.text.to_string()).collect();
        assert_eq!(said, expected);
        assert_eq!(loaded.torn, torn);
        assert_eq!(loaded.id.as_str(), "s");
        loaded
    }

    #[test]
    fn a_torn_last_line_waits_and_a_whole_one_counts() {
        let (first, second) = (row(1, 0, "user", "one"), row(2, 1, "assistant", "two"));
        check(&[&format!("{first}\n{second}\n")], &["one", "two"], 0);
        check(&[&format!("{first}\n{second}")], &["one", "two"], 0);
        let torn = &second[..40];
        let loaded = check(&[&format!("{first}\n{torn}")], &["one"], 40);
        assert_eq!(loaded.session.counts.unreadable, 0);
        check(&[&format!("{first}\n{torn}{second}")], &["one"], 40 + second.len() as u64);
    }

    #[test]
    fn of_two_files_the_one_with_more_conversation_comes_first() {
        let rows =
            [row(1, 0, "user", "one"), row(2, 1, "assistant", "two"), row(3, 2, "user", "three")];
        let queued = r#"{"type":"queue-operation","operation":"enqueue","content":"queued"}"#;
        let stub = format!("{queued}\n{}\n{}\n", rows[0], rows[2]);
        let full = format!("{}\n{}\n", rows[0], rows[1]);
        let more = format!("{full}{}\n", row(4, 2, "assistant", "four"));
        let loaded = check(&[&stub, &more], &["one", "two", "four", "three"], 0);
        assert!(loaded.files[0].ends_with("1 s.jsonl"));
        assert_eq!(loaded.bytes, (stub.len() + more.len()) as u64);
    }

    #[test]
    fn one_file_that_is_gone_does_not_cost_the_other() {
        let folder = tempfile::tempdir().unwrap();
        let (path, gone) = (folder.path().join("s.jsonl"), folder.path().join("gone"));
        fs::write(&path, row(1, 0, "user", "one")).unwrap();
        let id = Some("s".parse().unwrap());
        let target = Target { id, files: vec![gone.clone(), path.clone()] };
        let loaded = load(&target, Host::ClaudeCode).unwrap();
        assert_eq!((loaded.files, loaded.unread.len()), (vec![path], 1));
        let target = Target { files: vec![gone], ..target };
        assert!(matches!(load(&target, Host::ClaudeCode), Err(LoadError::Read(_))));
    }

    #[test]
    fn without_any_id_it_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a b.jsonl");
        fs::write(&path, r#"{"type":"user","sessionId":"../x"}"#).unwrap();
        let target = Target { id: None, files: vec![path] };
        let error = load(&target, Host::ClaudeCode).unwrap_err().to_string();
        assert!(error.contains("names no session"), "{error}");
    }
}
