//! What a hook tells the service: plain data, host-neutral.
//!
//! A hook reads the host's payload and tells what it means; nothing of the payload but this goes
//! over the socket. Texts prove that a row is in the transcript; they are never the source of a word.
use serde::{Deserialize, Serialize};

use crate::session::flush::Announced;

/// An event of a session, told by a hook.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HookEvent {
    /// The host's id of the session.
    pub session: String,
    /// Where the host says that its transcript is: a hint at a root, nothing more.
    #[serde(default)]
    pub path: Option<String>,
    /// What happened.
    pub event: HookKind,
    /// The hook's own random number: its right to print is claimed by it.
    #[serde(default)]
    pub token: String,
    /// How long the hook waits for the answer, in milliseconds.
    #[serde(default)]
    pub deadline: u64,
}

/// What happened.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum HookKind {
    /// A session began, was cleared or forked: nothing is there yet.
    #[default]
    Began,
    /// The host compacted, and the next context begins: print the pointer.
    Compacted {},
    /// A session is resumed: print the pointer if one is due, or the transcript is gone.
    Resumed {
        /// Print it in any case.
        always: bool,
    },
    /// The person sent a prompt: print the pointer if one is due.
    Prompted {
        /// The prompt.
        prompt: Announced,
    },
    /// The host is about to compact, perhaps: seal.
    Compacting {
        /// `auto` or `manual`.
        cause: String,
    },
    /// The agent's turn has ended with these words.
    Ended {
        /// The end of the agent's last text, where the host gives it.
        words: Option<String>,
    },
    /// The person cleared the session: the bottle goes to the archive.
    Cleared {},
    /// May the agent read this file? Only a linked parent's bottle is asked for here.
    Permission {
        /// The session that the file belongs to.
        parent: String,
    },
}

/// A pointer that may be printed.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PrintReply {
    /// The pointer.
    pub text: String,
    /// The file that it names; it is printed only where that can be opened.
    pub path: String,
}

/// What a seal gave.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct SealReply {
    /// There is a bottle now.
    pub sealed: bool,
    /// Tool calls that it shows as stubs.
    pub gap: u64,
    /// Its mode.
    pub mode: String,
    /// Its path.
    pub bottle: String,
    /// All that the event told of was in the transcript.
    pub held: bool,
    /// How long it took, in milliseconds.
    pub took: u64,
}
