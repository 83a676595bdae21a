//! File-system changes as typed events: following append-only log files.
//!
//! Four parts, each usable alone:
//! - [`LineSplitter`] cuts a stream of bytes into lines. Pure.
//! - [`FileIdentity`] tells whether a path still shows the file that was read before.
//! - [`JsonlTailer`] reads what is new in one file, and says when it has to start again.
//! - [`Watcher`] tells which files came, changed and went, and which triggers were left. Inside:
//!   `actor` (thread, commands) → `tree` (visits folders) → `known` (what was seen, pure) and
//!   `native` (the system's hints); `schedule` and `coalesce`, both pure, say when and how often.
//!
//! Invariant: the file is the truth. Every read looks at it afresh; no event is ever believed
//! without a look. Nothing here opens a file for writing or parses a line; only [`Watcher`] keeps a
//! thread.

mod actor;
mod coalesce;
mod config;
mod directory;
mod event;
mod folder;
mod identity;
mod known;
mod lines;
mod mode;
mod native;
mod open;
mod progress;
mod schedule;
mod tailer;
mod tree;
mod trigger;

pub use actor::Watcher;
pub use config::{Layout, WatcherConfig};
pub use directory::silent_kind;
pub use event::{Seen, WatchEvent, WatchMode};
pub use identity::{FileHead, FileIdentity, Fingerprint, IdentityChange, PREFIX_LENGTH};
pub use lines::{HELD_BYTES, LineSplitter, MAX_LINE_BYTES, Piece};
pub use open::{FileKind, TailError, open_regular, read_range};
pub use schedule::Intervals;
pub use tailer::{Checkpoint, JsonlTailer, ReadOutcome, ReadReport, ResetReason, TailEvent};
pub use trigger::{Trigger, TriggerVerb, parse_trigger_name, remove_trigger};
