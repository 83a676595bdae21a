//! File-system changes as typed events: following append-only log files.
//!
//! Three parts, each usable alone:
//! - [`LineSplitter`] cuts a stream of bytes into lines. Pure.
//! - [`FileIdentity`] tells whether a path still shows the file that was read before.
//! - [`JsonlTailer`] reads what is new in one file, and says when it has to start again.
//!
//! Invariant: the file is the truth. Every read looks at it afresh; no event is ever believed
//! without a look. Nothing here opens a file for writing, parses a line, or keeps a thread.

mod identity;
mod lines;
mod open;
mod progress;
mod tailer;

pub use identity::{FileHead, FileIdentity, Fingerprint, IdentityChange, PREFIX_LENGTH};
pub use lines::{LineSplitter, MAX_LINE_BYTES, Piece};
pub use open::{FileKind, TailError, open_regular, read_range};
pub use tailer::{Checkpoint, JsonlTailer, ReadOutcome, ReadReport, ResetReason, TailEvent};
