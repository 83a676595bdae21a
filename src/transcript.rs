//! From the lines of a transcript to entries: what a host's row says, in words that no host owns.
//!
//! Everything above this module sees [`Entry`] and [`Piece`] only. What Claude Code calls a prompt,
//! a tool, a declined call or a boundary is known in [`claude_code`]; later hosts get a file of
//! their own. Entries borrow from the line: nothing that is not kept is decoded.
//!
//! Parsing never fails: a line gives entries, or a count of what could not be read.

pub mod claude_code;
pub mod json;
pub mod recover;
pub mod tool;

use std::borrow::Cow;

use crate::text::time::Moment;
use json::{Members, Quoted, Raw};
use tool::Tool;

/// The type of an entry whose row names none.
pub(crate) const NO_TYPE: &str = "(no type)";

/// The program that writes the transcript.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Host {
    /// Anthropic's Claude Code.
    #[default]
    ClaudeCode,
}

impl Host {
    /// The name that bottles show.
    pub fn name(self) -> &'static str {
        match self {
            Self::ClaudeCode => "claude-code",
        }
    }
}

/// Where an entry stands: a byte range of one source file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Place {
    /// Index of the source file; 0 is the transcript itself.
    pub source: u16,
    /// Bytes before the entry.
    pub offset: u64,
    /// Bytes of the entry, without its newline.
    pub length: u32,
}

/// The identity of a row: its UUID, or a hash of whatever stands in its place.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct RowId(pub u128);

impl RowId {
    /// Reads a row's identity from its raw string.
    pub fn new(text: Quoted<'_>) -> Self {
        Self(uuid(text.0).unwrap_or_else(|| fnv(text.0)))
    }
}

impl RowId {
    /// An identity for a row that shares its own with another but says something else.
    pub fn with(self, key: u64) -> Self {
        Self(fnv(&[&self.0.to_le_bytes()[..], &key.to_le_bytes()].concat()))
    }
}

/// Which conversation a row belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Chain {
    /// The session's own.
    #[default]
    Main,
    /// A subagent's, written into the same file.
    Side,
}

/// One parsed record of a transcript.
#[derive(Debug, Clone, Default)]
pub struct Entry<'a> {
    /// Where it stands.
    pub place: Place,
    /// Its type as the host names it, with the subtype where there is one: `system/turn_duration`.
    pub kind: Cow<'a, str>,
    /// Why the row, or a part of it, is not conversation; counted under this name.
    pub dropped: Option<&'static str>,
    /// Its identity, if the host gives it one.
    pub id: Option<RowId>,
    /// The row that it follows.
    pub parent: Option<RowId>,
    /// When it was written, by the host's clock.
    pub time: Option<Moment>,
    /// Main conversation or subagent.
    pub chain: Chain,
    /// What it says about the session as a whole.
    pub about: About<'a>,
    /// What it says, in order.
    pub pieces: Vec<Piece<'a>>,
    /// Texts of tool inputs from which private parts were removed.
    pub hidden: u32,
    /// The host says that the row was copied from another session's transcript.
    pub copied: bool,
}

/// Facts about the session that any row may carry.
#[derive(Debug, Clone, Default)]
pub struct About<'a> {
    /// The host's id of the session.
    pub session: Option<Quoted<'a>>,
    /// The working directory.
    pub folder: Option<Quoted<'a>>,
    /// The host's version.
    pub version: Option<Quoted<'a>>,
    /// The model that answered.
    pub model: Option<Quoted<'a>>,
    /// Tokens in the model's context after this row.
    pub context: Option<u64>,
    /// The host's id of the prompt that the row belongs to.
    pub prompt: Option<Quoted<'a>>,
}

/// Who speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Speaker {
    /// The person, or somebody in the person's place (then labelled).
    User,
    /// The agent.
    Assistant,
}

/// What makes a message other than plain speech.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Label<'a> {
    /// Plain speech.
    None,
    /// Typed by the person while the agent worked.
    Queued,
    /// The person's answer to a question of the agent.
    Answer,
    /// The person's words when they declined a tool call; the tool's name.
    Declined(Cow<'a, str>),
    /// Spoken by a teammate, another agent, or a schedule; its name.
    From(Cow<'a, str>),
    /// A plan that the agent put forward.
    Plan,
    /// A question that the agent asked.
    Question,
    /// A plan as the person changed it.
    EditedPlan,
}

/// Whether words open a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Opens {
    /// Only where no turn is open.
    Nothing,
    /// A prompt or command: always.
    Turn,
}

/// One thing that a row says. Texts are decoded but neither privacy-stripped nor normalised,
/// but for those of [`Tool`], which are.
#[derive(Debug, Clone)]
pub enum Piece<'a> {
    /// Words in the person's place.
    Prompt {
        /// The words.
        text: Cow<'a, str>,
        /// What kind of words.
        label: Label<'a>,
        /// Whether they open a turn.
        opens: Opens,
    },
    /// Words of the agent.
    Speech {
        /// The words.
        text: Cow<'a, str>,
        /// Plain speech, a plan or a question.
        label: Label<'a>,
        /// Identity of the message that the block belongs to, as a hash; 0 where unknown.
        message: u64,
    },
    /// An image or document: its placeholder, without brackets.
    Media(String),
    /// A tool call.
    Call {
        /// The host's id of the call.
        id: Cow<'a, str>,
        /// The tool's name.
        name: Cow<'a, str>,
        /// What it is about.
        tool: Tool<'a>,
        /// Words of the agent that the call puts before the person: a plan, questions.
        said: Vec<Cow<'a, str>>,
    },
    /// What a tool call gave.
    Result(ToolResult<'a>),
    /// The person stopped the agent.
    Interrupted,
    /// The host reports a failed request to the model.
    ApiError(Cow<'a, str>),
    /// Words that the host wrote in the agent's place.
    HostNote(Cow<'a, str>),
    /// The host compacted the conversation.
    Boundary {
        /// What set it off: `auto` or `manual`.
        trigger: Cow<'a, str>,
        /// Tokens in the context before.
        before: Option<u64>,
        /// Tokens in the context after.
        after: Option<u64>,
    },
    /// A change of the host's queue of prompts.
    Queue(QueueChange<'a>),
    /// A pointer of ours stands in what the model is given: the session it is about, and its number.
    Arrived {
        /// The session.
        session: Cow<'a, str>,
        /// The number of the print.
        n: u32,
    },
}

impl Piece<'_> {
    /// What tells this piece from another: its words, or the call that it is about.
    pub fn content(&self) -> &str {
        match self {
            Self::Prompt { text, .. } | Self::Speech { text, .. } => text,
            Self::ApiError(text) | Self::HostNote(text) => text,
            Self::Media(text) => text,
            Self::Call { id, .. } | Self::Result(ToolResult { id, .. }) => id,
            Self::Arrived { session, .. } => session,
            Self::Interrupted | Self::Boundary { .. } | Self::Queue(_) => "",
        }
    }
}

/// A change of the queue of prompts that were typed while the agent worked.
#[derive(Debug, Clone)]
pub enum QueueChange<'a> {
    /// Words were put in; none where they are not a person's, several where an envelope holds several.
    Add(Vec<(Cow<'a, str>, Label<'a>)>),
    /// The oldest was taken, to become a row of its own.
    Take,
    /// These words were taken out and have a row of their own, or were withdrawn.
    Remove(Cow<'a, str>),
    /// The oldest was given to the model within the turn, without a row of its own.
    Deliver,
    /// All were taken back for editing.
    Clear,
}

/// What a tool call gave, still undecoded: the meaning depends on the call.
#[derive(Debug, Clone)]
pub struct ToolResult<'a> {
    /// The host's id of the call.
    pub id: Cow<'a, str>,
    /// The host says that the call failed.
    pub failed: bool,
    /// The host's word for why the call was not allowed, if it gives one.
    pub denial: Option<Quoted<'a>>,
    /// What the person wrote when they declined, if the host keeps it apart.
    pub feedback: Option<Quoted<'a>>,
    /// What the model was shown.
    pub content: Option<Raw<'a>>,
    /// What the host keeps for itself.
    pub detail: Option<Detail<'a>>,
}

/// A host's own record of a result.
#[derive(Debug, Clone)]
pub struct Detail<'a> {
    /// All of it.
    pub raw: Raw<'a>,
    /// Its members, where it is an object.
    pub members: Members<'a>,
}

/// What one physical line gives.
#[derive(Debug)]
#[expect(clippy::large_enum_variant, reason = "nearly every line is an entry; none is stored")]
pub enum Line<'a> {
    /// A record.
    Entry(Entry<'a>),
    /// A stretch that is no record: cut, or no JSON.
    Unreadable(Place),
}

/// Parses one physical line (without its newline), which begins at `offset` of its file.
pub fn parse_line<'a>(host: Host, line: &'a [u8], offset: u64, sink: &mut impl FnMut(Line<'a>)) {
    let parse = match host {
        Host::ClaudeCode => claude_code::parse,
    };
    recover::records(line, parse, &mut |found| {
        let place = |range: std::ops::Range<usize>| Place {
            source: 0,
            offset: offset + range.start as u64,
            length: u32::try_from(range.len()).unwrap_or(u32::MAX),
        };
        sink(match found {
            recover::Found::Record(range, mut entry) => {
                entry.place = place(range);
                Line::Entry(entry)
            }
            recover::Found::Rubbish(range) => Line::Unreadable(place(range)),
        });
    });
}

fn uuid(text: &[u8]) -> Option<u128> {
    let text: &[u8; 36] = text.try_into().ok()?;
    let mut value = 0_u128;
    let mut all = 0;
    for (start, end) in [(0, 8), (9, 13), (14, 18), (19, 23), (24, 36)] {
        let mut part = 0;
        for byte in &text[start..end] {
            let digit = HEX[usize::from(*byte)];
            all |= digit;
            part = part << 4 | u64::from(digit);
        }
        value = value << (4 * (end - start)) | u128::from(part);
    }
    let is_uuid = all < 16 && [8, 13, 18, 23].iter().all(|at| text[*at] == b'-');
    is_uuid.then_some(value)
}

/// The value of each hexadecimal digit; over 15 where there is none.
const HEX: [u8; 256] = {
    let mut table = [u8::MAX; 256];
    let mut digit = 0_u8;
    while digit < 16 {
        let (lower, upper) = (b"0123456789abcdef", b"0123456789ABCDEF");
        table[lower[digit as usize] as usize] = digit;
        table[upper[digit as usize] as usize] = digit;
        digit += 1;
    }
    table
};

/// FNV-1a: for ids that are no UUID; nothing hostile is gained by a collision.
fn fnv(text: &[u8]) -> u128 {
    text.iter().fold(0x6c62_272e_07bb_0142_62b8_2175_6295_c58d, |hash, byte| {
        (hash ^ u128::from(*byte)).wrapping_mul(0x0000_0000_0100_0000_0000_0000_0000_013b)
    })
}

/// A hash for message ids; see [`Piece::Speech`]. Never 0.
fn message_key(id: Option<Quoted<'_>>) -> u64 {
    id.filter(|id| !id.0.is_empty()).map_or(0, |id| (fnv(id.0) as u64).max(1))
}
