//! Follows one append-only file: reads what is new, and says when it has to start again.
//!
//! Each read opens the file, makes sure that what was read before is still there, and reads on
//! from there to the length seen at the start. A file that shrank, was replaced or was rewritten is
//! read again from its first byte, after a [`TailEvent::Reset`].
//!
//! Invariant: the pieces handed out since the last reset are the whole lines of one state of the
//! file, each once, in order. Every chunk is read together with the bytes before it, which must be
//! those that were read last: a file changed between two system calls gives no mixed line.
//! Between reads nothing is held but the torn last line: no open file, no buffer.
//! Refuses: to write, to map the file into memory, to follow a link, to wait for anything.
//! It cannot see a rewrite that leaves the inode, the first 256 bytes and the last 64 before both
//! the torn line and the end of what was read as they were.

use std::path::{Path, PathBuf};

use crate::identity::{FileIdentity, Fingerprint};
use crate::lines::{MAX_LINE_BYTES, Piece};
use crate::open::TailError;
use crate::progress::{Progress, Source};

/// What a read hands out, in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TailEvent<'a> {
    /// All pieces handed out before are void: what follows begins at the start of the file.
    Reset {
        /// What was seen.
        reason: ResetReason,
    },
    /// A whole line.
    Line {
        /// Where its first byte stands in the file.
        offset: u64,
        /// The line without its `\n`; a `\r` stays.
        bytes: &'a [u8],
    },
    /// A whole line over the limit, skipped.
    TooLong {
        /// Where its first byte stands in the file.
        offset: u64,
        /// Its length without the `\n`.
        length: u64,
    },
}

impl<'a> From<Piece<'a>> for TailEvent<'a> {
    fn from(piece: Piece<'a>) -> Self {
        match piece {
            Piece::Line { offset, bytes } => Self::Line { offset, bytes },
            Piece::Long { offset, length } | Piece::TooLong { offset, length } => {
                Self::TooLong { offset, length }
            }
        }
    }
}

/// Why a file is read from its start again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ResetReason {
    /// It is shorter than what was read.
    Truncated,
    /// The path names another file.
    Replaced,
    /// It is the same file, or one with the same inode, with other bytes.
    Rewritten,
    /// It was missing, and is there again.
    Reappeared,
}

/// How a read ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReadOutcome {
    /// Nothing has that name now. What was handed out stays valid; the file's return is a reset.
    Missing,
    /// The file was read.
    Read(ReadReport),
}

/// What a read found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReadReport {
    /// How many new bytes were read.
    pub bytes: u64,
    /// The length of the file as this read began.
    pub length: u64,
    /// How many bytes of a torn last line wait for their end.
    pub waiting: u64,
    /// The file's length is not what was read up to: read again.
    pub more: bool,
}

/// A place between two lines of a known file, small enough to store: a tailer can go on from it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Checkpoint {
    /// The file.
    pub identity: FileIdentity,
    /// Where the next line starts.
    pub offset: u64,
    /// The last bytes before the offset, at most 64.
    pub before: Fingerprint,
}

/// Follows the file at one path; see the module header.
#[derive(Debug)]
pub struct JsonlTailer {
    path: PathBuf,
    line_limit: usize,
    state: State,
}

#[derive(Debug)]
enum State {
    Unseen,
    Seen(Progress),
    Gone,
}

impl JsonlTailer {
    /// A tailer that has read nothing yet. The file need not exist.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self::with_line_limit(path, MAX_LINE_BYTES)
    }

    /// As [`Self::new`], with another limit for the length of a line.
    pub fn with_line_limit(path: impl Into<PathBuf>, line_limit: usize) -> Self {
        Self { path: path.into(), line_limit, state: State::Unseen }
    }

    /// A tailer that goes on where an earlier one stood, if the file is still the same.
    pub fn resume(path: impl Into<PathBuf>, checkpoint: Checkpoint) -> Self {
        let progress = Progress::resume(&checkpoint, MAX_LINE_BYTES);
        Self { state: State::Seen(progress), ..Self::new(path) }
    }

    /// The path that is followed.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Where the next line starts, if the file was there at the last read.
    pub fn checkpoint(&self) -> Option<Checkpoint> {
        self.progress().map(Progress::checkpoint)
    }

    /// The torn last line, for callers that take the file as complete; see
    /// [`LineSplitter::partial`](crate::LineSplitter::partial).
    pub fn partial(&self) -> Option<Piece<'_>> {
        self.progress().and_then(|progress| progress.splitter().partial())
    }

    /// Reads what is new, up to the length that the file has now, and hands it to `sink`.
    ///
    /// After an error the tailer stands where the last event left it; read again at any time.
    pub fn read(&mut self, sink: &mut impl FnMut(TailEvent<'_>)) -> Result<ReadOutcome, TailError> {
        let source = match Source::open(&self.path) {
            Err(TailError::Missing { .. }) => {
                self.leave();
                return Ok(ReadOutcome::Missing);
            }
            opened => opened?,
        };
        let reset = match &self.state {
            State::Unseen => None,
            State::Gone => Some(ResetReason::Reappeared),
            State::Seen(progress) => progress.change(&source)?,
        };
        if let Some(reason) = reset {
            self.reset(reason, sink);
        }
        self.read_on(&source, sink).map(ReadOutcome::Read)
    }

    fn read_on(
        &mut self,
        source: &Source,
        sink: &mut impl FnMut(TailEvent<'_>),
    ) -> Result<ReadReport, TailError> {
        let mut progress = match std::mem::replace(&mut self.state, State::Unseen) {
            State::Seen(progress) => progress,
            State::Unseen | State::Gone => Progress::start(source.head(), self.line_limit),
        };
        let start = progress.splitter().position();
        let advanced = progress.advance(source, &mut |piece| sink(piece.into()));
        let position = progress.splitter().position();
        let waiting = progress.splitter().waiting();
        self.state = State::Seen(progress);
        let (bytes, length) = (position - start, source.head().length);
        if let Some(reason) = advanced? {
            self.reset(reason, sink);
            return Ok(ReadReport { bytes, length, waiting: 0, more: true });
        }
        Ok(ReadReport { bytes, length, waiting, more: source.length_now()? != position })
    }

    fn reset(&mut self, reason: ResetReason, sink: &mut impl FnMut(TailEvent<'_>)) {
        self.state = State::Unseen;
        sink(TailEvent::Reset { reason });
    }

    fn leave(&mut self) {
        if matches!(self.state, State::Seen(_)) {
            self.state = State::Gone;
        }
    }

    fn progress(&self) -> Option<&Progress> {
        match &self.state {
            State::Seen(progress) => Some(progress),
            State::Unseen | State::Gone => None,
        }
    }
}
