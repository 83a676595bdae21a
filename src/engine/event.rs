//! Everything that can wake the service, and everything that it can want done.
//!
//! The engine never does anything itself: it answers each [`Event`] with [`Effect`]s, and learns
//! how they went by further events. Requests carry an id, replies name it: there is no channel in
//! here, and the events in their order are the whole history.
use std::path::PathBuf;

use super::{
    Limits,
    drain::Coverage,
    hook::{PrintReply, SealReply},
    request::{BottleStatus, Facts, Reply, Request, Served, WatchStatus},
};
use crate::{
    paths::SessionId,
    session::flush::{Barrier, Held},
    text::time::Moment,
};

/// Names a request while it is open.
pub type RequestId = u64;

/// What wakes the engine. `K` is whatever the worker keeps of a session between jobs.
#[derive(Debug)]
pub enum Event<K> {
    /// Transcripts that are new or changed on disk.
    Files(Vec<FileSeen>),
    /// Transcripts that are gone.
    Gone(Vec<(SessionId, PathBuf)>),
    /// Bottles that were there when the service started.
    Bottles(Vec<(SessionId, BottleStatus)>),
    /// Somebody asks to look at a session by a trigger file.
    Trigger(SessionId, TriggerFile),
    /// How changes are noticed has changed.
    Watching(WatchStatus),
    /// Roots were added: what they hold will be told for the first time.
    NewRoots,
    /// All changes up to this resync have been told.
    Resynced(u64),
    /// What claude-mem knows of these sessions has changed.
    Observed(Vec<SessionId>),
    /// Whether claude-mem's database can be read has changed.
    Observing(Served),
    /// A client asks.
    Request(RequestId, Request),
    /// The client of a request is gone.
    HungUp(RequestId),
    /// A job is done.
    Done(Box<Done<K>>),
    /// What a bottle covers was noted in the store, or could not be.
    Stored(Result<(), String>),
    /// What went wrong at the start, and stays so until the next.
    Started(String),
    /// The configuration was read again.
    Configured(Limits),
    /// End in good order.
    Stop,
    /// Time passes.
    Tick,
}

/// A trigger file. One that is touched again is another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TriggerFile {
    /// Its path.
    pub path: PathBuf,
    /// When it was touched, in nanoseconds since the epoch.
    pub touched: u128,
    /// It asks for a seal.
    pub seal: bool,
}

impl TriggerFile {
    /// It asks for a seal, and was touched lately enough that the asker may still wait for it.
    pub(super) fn arms(&self, now: Moment) -> bool {
        let now = u128::try_from(now.0).unwrap_or(0) * 1_000_000;
        self.seal && now.abs_diff(self.touched) <= ARMED
    }
}

/// How long a trigger file asks for a seal, in nanoseconds.
const ARMED: u128 = 60_000_000_000;

/// A transcript as the watcher last saw it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileSeen {
    /// The session that its name says.
    pub id: SessionId,
    /// The file.
    pub path: PathBuf,
    /// Bytes.
    pub length: u64,
    /// Last change.
    pub modified: Moment,
    /// What the store knew of it at the start of the service: unchanged since.
    pub unchanged: bool,
}

/// What the engine wants done.
#[derive(Debug)]
pub enum Effect<K> {
    /// A job for the worker. One for each session at a time.
    Work(Box<Job<K>>),
    /// The answer to a request.
    Reply(RequestId, Reply),
    /// A trigger file has had its effect.
    RemoveTrigger(TriggerFile),
    /// Look at all files again; answered by [`Event::Resynced`].
    Resync(u64),
    /// Tell of changes in what claude-mem knows of these sessions, which are hot, and of no others.
    Observe(Vec<SessionId>),
    /// End the process.
    Exit,
}

/// A job: read a session's transcript to its end and, where asked, write its bottle.
#[derive(Debug)]
pub struct Job<K> {
    /// The session.
    pub id: SessionId,
    /// Its transcripts.
    pub files: Vec<PathBuf>,
    /// What the worker kept of it.
    pub kept: Option<K>,
    /// What to do.
    pub task: Task,
    /// What to do besides, and for whom.
    pub errand: Option<(RequestId, Errand)>,
}

/// What a job does for a flow, once the transcript was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Errand {
    /// Nothing more than its task.
    Nothing,
    /// Say whether this holds.
    Look(Barrier),
    /// Say what the bottle covers.
    Cover,
    /// Record the seal.
    Seal {
        /// What asked for it.
        cause: String,
        /// The barrier held.
        held: bool,
        /// When the flow began.
        began: Moment,
    },
    /// Say whether a pointer of this session stands in the transcript, copied there by a fork.
    Linked {
        /// The other session.
        parent: String,
    },
    /// Claim the right to print, make the copy, and compose the pointer.
    Print {
        /// The hook's own random number.
        token: String,
        /// Nobody waits for it any more then: nothing is claimed.
        until: Moment,
    },
    /// The same, if a pointer is due.
    Due {
        /// The hook's own random number.
        token: String,
        /// Nobody waits for it any more then: nothing is claimed.
        until: Moment,
        /// The session is resumed: print it too where the transcript is gone.
        resumed: bool,
        /// Print it in any case.
        always: bool,
    },
}

/// What an errand gave.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// Nothing was asked.
    Nothing,
    /// Whether the barrier holds.
    Looked(Held),
    /// What the bottle covers.
    Covered(Coverage),
    /// The bottle that was sealed.
    Sealed(SealReply),
    /// Whether the sessions are linked.
    Allowed(bool),
    /// The pointer; none where there is nothing to print, or another hook prints.
    Printed(Option<PrintReply>),
    /// Neither transcript nor bottle is there; whoever asked may look elsewhere.
    Unknown,
    /// It could not be done; whoever asked may do it itself.
    Failed(String),
}

/// What a job is for; the later ones include or outweigh the earlier.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Task {
    /// Read to the end.
    Read,
    /// Read to the end, and write the bottle if it says anything new.
    Write,
    /// Put the bottle into the archive.
    Archive,
    /// Remove all that is ours of the session.
    Forget,
}

/// A job that is done.
#[derive(Debug)]
pub struct Done<K> {
    /// The session.
    pub id: SessionId,
    /// What the worker keeps of it.
    pub kept: Option<K>,
    /// The task.
    pub task: Task,
    /// What reading gave.
    pub read: Result<Read, String>,
    /// What writing gave; none where nothing was to be written.
    pub written: Option<Result<Wrote, String>>,
    /// What the errand gave, and for whom.
    pub errand: Option<(RequestId, Outcome)>,
}

/// A transcript was read to its end.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Read {
    /// Bytes that the files had then; all of them were looked at.
    pub bytes: u64,
    /// Something was new since the last reading.
    pub grown: bool,
    /// What is known now; none where there was nothing to read.
    pub facts: Option<Facts>,
}

/// A bottle was written, or found to say the same.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Wrote {
    /// Its path.
    pub path: PathBuf,
    /// Bytes of it.
    pub bytes: u64,
    /// Whether the file was replaced.
    pub changed: bool,
    /// Processor time that the bottle cost, in microseconds.
    pub took: u64,
    /// Tool calls that it shows as stubs.
    pub pending: u64,
    /// What its lines of tool traffic come from.
    pub served: Served,
}
