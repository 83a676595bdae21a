//! What may be asked of the service, and what it answers: plain data, independent of the socket.
//!
//! One JSON object a line, each way: `{"protocol":1,"request":{"status":{}}}` and
//! `{"protocol":1,"reply":{"status":{…}}}`. A peer with another protocol number gets an error that
//! says so, whatever else it sent.
use serde::{Deserialize, Serialize};

use super::{
    drain::DrainReply,
    hook::{HookEvent, PrintReply, SealReply},
};

/// The version of the protocol.
pub const PROTOCOL: u32 = 1;

/// What is asked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Request {
    /// How the service and its sessions are.
    Status {
        /// One session only: its id or a unique prefix.
        #[serde(default)]
        session: Option<String>,
        /// First read every hot transcript to its end.
        #[serde(default)]
        sync: bool,
    },
    /// All sessions that the service knows.
    Sessions {},
    /// Read the transcript to its end and write the bottle.
    Render {
        /// Id or unique prefix.
        session: String,
    },
    /// Read the transcript to its end.
    Flush {
        /// Id or unique prefix.
        session: String,
    },
    /// Read the transcript until the host has written all that it told of, write the bottle, and
    /// record the seal.
    Seal {
        /// Id or unique prefix.
        session: String,
        /// How long it may wait for tool calls to be covered, in milliseconds.
        #[serde(default)]
        timeout: Option<u64>,
    },
    /// Write the bottle until it covers all tool traffic, nothing moves any more, or time is over.
    Drain {
        /// Id or unique prefix.
        session: String,
        /// How long it may wait, in milliseconds; at most a minute, 20 s where nothing is said.
        #[serde(default)]
        timeout_ms: Option<u64>,
    },
    /// What a hook tells.
    Hook(Box<HookEvent>),
    /// Put the bottle into the archive; it is rendered again after new words only.
    Archive {
        /// Id or unique prefix.
        session: String,
    },
    /// Remove bottle, archive and state of a session, and leave a tombstone.
    Forget {
        /// Id or unique prefix.
        session: String,
    },
    /// End the service.
    Shutdown {},
}

/// What is answered.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reply {
    /// To [`Request::Status`].
    Status(Box<Status>),
    /// To [`Request::Sessions`].
    Sessions(Vec<SessionStatus>),
    /// To [`Request::Render`] and [`Request::Flush`].
    Session(Box<SessionStatus>),
    /// To [`Request::Seal`].
    Seal(SealReply),
    /// To [`Request::Drain`].
    Drain(DrainReply),
    /// To [`Request::Hook`]: what it is to print, if anything.
    Print(Option<PrintReply>),
    /// To a [`Request::Hook`] that may print: neither transcript nor bottle is there, where the
    /// service looks. The hook may know other folders.
    Unknown,
    /// To a hook that asks whether the agent may read a file.
    Allowed(bool),
    /// It is done.
    Done,
    /// It can't be done; the words are for a person.
    Error(String),
}

/// How the service is.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Status {
    /// The process; filled in by the shell.
    pub process: Process,
    /// How changes are noticed.
    pub watch: WatchStatus,
    /// The folders that are watched.
    pub roots: Vec<String>,
    /// Whether claude-mem's database can be read, as it was last looked at.
    pub observations: Served,
    /// Sums over all sessions.
    pub totals: Totals,
    /// The sessions that are hot or in memory, the newest change first; or the one asked for.
    pub sessions: Vec<SessionStatus>,
    /// What went wrong and was not mended yet.
    pub troubles: Vec<String>,
}

/// The service's process.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Process {
    /// Process id.
    pub pid: u32,
    /// Version of the binary.
    pub version: String,
    /// Start, in milliseconds since the epoch.
    pub started: i64,
    /// The answer's time.
    pub now: i64,
    /// Resident memory, in bytes; 0 where the system does not tell.
    pub memory: u64,
    /// The owner's generation.
    pub generation: u64,
}

/// How changes are noticed.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct WatchStatus {
    /// `native`, `polling`, or `degraded`.
    pub mode: String,
    /// Why not `native`.
    pub reason: Option<String>,
    /// Folders with a native watch.
    pub folders: u64,
    /// Folders that can't be read.
    pub unreadable: u64,
    /// Names that look like transcripts or triggers and are none: links, folders, pipes.
    pub ignored: u64,
    /// Files that are polled.
    pub polled: u64,
}

/// Sums over all sessions.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Totals {
    /// Sessions with a transcript.
    pub sessions: u64,
    /// Of them changed within ten minutes.
    pub hot: u64,
    /// Of them in memory.
    pub resident: u64,
    /// Sessions with words that their bottles lack; they are written when it is their turn.
    pub unwritten: u64,
    /// Bytes of all transcripts.
    pub bytes: u64,
    /// Bytes on disk of hot transcripts that are not read yet.
    pub behind: u64,
    /// The newest change on disk, in milliseconds since the epoch; 0 where there is none.
    pub newest_on_disk: i64,
    /// The newest change that was read.
    pub newest_read: i64,
    /// Bottles written since the start.
    pub written: u64,
}

/// Where a session's transcript is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Source {
    /// On disk.
    #[default]
    Present,
    /// It was there, and is not now; the bottle stays.
    Gone,
    /// The session was announced, and has written no transcript.
    NeverWritten,
}

/// How a session is.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct SessionStatus {
    /// The host's id.
    pub id: String,
    /// The transcript.
    pub source: Source,
    /// Its files, the one with more conversation first.
    pub files: Vec<String>,
    /// Bytes on disk.
    pub disk: u64,
    /// Bytes read.
    pub read: u64,
    /// The last change on disk, in milliseconds since the epoch.
    pub changed: i64,
    /// Whether it changed within ten minutes.
    pub hot: bool,
    /// In memory.
    pub resident: bool,
    /// What is known since it was last read.
    pub facts: Option<Facts>,
    /// The bottle, where this service wrote or checked it.
    pub bottle: Option<BottleStatus>,
    /// What went wrong at the last try.
    pub trouble: Option<String>,
}

/// What reading a transcript tells.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Facts {
    /// The session's folder.
    pub project: String,
    /// The host and its version.
    pub host: String,
    /// Compactions + 1.
    pub legs: u32,
    /// The model that answered last.
    pub model: String,
    /// Tokens in its context.
    pub context: Option<u64>,
    /// Messages in the person's place.
    pub user: u64,
    /// Messages of the agent.
    pub assistant: u64,
    /// Tool calls.
    pub calls: u64,
    /// Tool calls without a result.
    pub pending: u64,
    /// Stretches that are no records.
    pub unreadable: u64,
    /// Bytes of a last line that waits for its end.
    pub torn: u64,
    /// Bytes in memory for the words.
    pub kept: u64,
}

/// A bottle on disk.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct BottleStatus {
    /// Its path.
    pub path: String,
    /// When it was written or found current, in milliseconds since the epoch.
    pub checked: i64,
    /// Bytes of it.
    pub bytes: u64,
    /// Bytes of the transcript that it covers.
    pub covers: u64,
    /// What its lines of tool traffic come from, where this service wrote it.
    pub observations: Served,
}

/// What lines of tool traffic come from.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Served {
    /// `claude-mem` or `derived`; empty where that is not known yet.
    pub source: String,
    /// Why not from claude-mem.
    pub why: Option<String>,
}

impl Served {
    /// From claude-mem's rows.
    pub fn claude_mem() -> Self {
        Self { source: "claude-mem".to_owned(), why: None }
    }

    /// From the transcript alone, since claude-mem can't be asked.
    pub fn derived(why: String) -> Self {
        Self { source: "derived".to_owned(), why: Some(why) }
    }
}
