//! Reads a transcript as it grows: each reading folds what is new.
//!
//! A file that shrank or was replaced is read from its start into an empty session. A last line
//! without its newline counts only while it is whole, and only in what [`Live::now`] shows: the
//! session itself waits for its end.
//!
//! Invariant: what a session was folded from is one state of the file.
use std::{
    borrow::Cow,
    path::{Path, PathBuf},
};

use endless_watchers::{JsonlTailer, Piece, ReadOutcome, TailError, TailEvent};

use super::ReadError;
use crate::{
    session::Session,
    transcript::{Entry, Line, parse_line},
};

/// How often a file that goes on growing is read again at once.
const ROUNDS: usize = 8;

/// A transcript that is followed.
pub struct Live {
    tailer: JsonlTailer,
    fold: Fold,
}

/// What a reading found.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Reading {
    /// Bytes of the file.
    pub length: u64,
    /// Bytes of them that are not a whole line yet.
    pub waiting: u64,
    /// Lines came, or the file was begun again.
    pub grown: bool,
    /// The file was begun again: what was read before is void.
    pub reset: bool,
}

impl Live {
    /// Follows the file at `path`, which is the `source`-th of its session, onto what `base` has.
    pub fn new(path: &Path, base: Session, source: u16) -> Self {
        let fold =
            Fold { session: base.clone(), base, source, named: None, reading: Reading::default() };
        Self { tailer: JsonlTailer::new(path), fold }
    }

    /// The file.
    pub fn path(&self) -> &Path {
        self.tailer.path()
    }

    /// The session, without a last line that has no newline.
    pub fn session(&self) -> &Session {
        &self.fold.session
    }

    /// The session's id, as the first row has it that names one.
    pub fn named(&self) -> Option<&str> {
        self.fold.named.as_deref()
    }

    /// Reads what is new.
    ///
    /// # Errors
    /// Where the file is missing or can't be read. What was read before stays.
    pub fn read(&mut self) -> Result<Reading, ReadError> {
        self.fold.reading = Reading::default();
        for _ in 0..ROUNDS {
            let fold = &mut self.fold;
            let outcome = self.tailer.read(&mut |event| fold.event(event))?;
            let ReadOutcome::Read(report) = outcome else {
                return Err(missing(self.path().to_owned()));
            };
            self.fold.reading.length = report.length;
            self.fold.reading.waiting = report.waiting;
            if !report.more {
                break;
            }
        }
        Ok(self.fold.reading)
    }

    /// The session with the last line of the file where that is whole, and how many bytes of it
    /// wait otherwise.
    pub fn now(&self) -> (Cow<'_, Session>, u64) {
        let session = &self.fold.session;
        let (offset, bytes) = match self.tailer.partial() {
            None => return (Cow::Borrowed(session), 0),
            Some(Piece::Long { length, .. } | Piece::TooLong { length, .. }) => {
                return (Cow::Borrowed(session), length);
            }
            Some(Piece::Line { offset, bytes }) => (offset, bytes),
        };
        let mut lines = Vec::new();
        parse_line(session.host, bytes, offset, &mut |line| lines.push(line));
        if lines.is_empty() || lines.iter().any(|line| matches!(line, Line::Unreadable(_))) {
            return (Cow::Borrowed(session), bytes.len() as u64);
        }
        let mut session = session.clone();
        for line in lines {
            fold_line(&mut session, line, self.fold.source);
        }
        (Cow::Owned(session), 0)
    }
}

fn missing(path: PathBuf) -> ReadError {
    ReadError(TailError::Missing { path })
}

struct Fold {
    base: Session,
    session: Session,
    source: u16,
    named: Option<String>,
    reading: Reading,
}

impl Fold {
    fn event(&mut self, event: TailEvent<'_>) {
        self.reading.grown = true;
        match event {
            TailEvent::Reset { .. } => {
                self.session = self.base.clone();
                self.named = None;
                self.reading.reset = true;
            }
            TailEvent::Line { offset, bytes } => {
                let host = self.session.host;
                parse_line(host, bytes, offset, &mut |line| self.line(line));
            }
            TailEvent::TooLong { .. } => self.session.fold_too_long(),
        }
    }

    fn line(&mut self, line: Line<'_>) {
        if let Line::Entry(Entry { about, .. }) = &line
            && self.named.is_none()
        {
            self.named = about.session.map(|id| id.decode().into_owned());
        }
        fold_line(&mut self.session, line, self.source);
    }
}

fn fold_line(session: &mut Session, line: Line<'_>, source: u16) {
    match line {
        // Nothing tells whether such a row stands in the first file as well.
        Line::Entry(entry) if source > 0 && entry.id.is_none() => {}
        Line::Entry(mut entry) => {
            entry.place.source = source;
            session.fold(entry);
        }
        Line::Unreadable(_) => session.fold_line(line),
    }
}
