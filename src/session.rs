//! One session: entries folded into what a bottle needs, and nothing else.
//!
//! [`Session::fold`] takes entries in file order; folding them in any portions gives the same
//! session. Kept are the words (one arena), for each tool call its brief, outcome and byte ranges,
//! and the tree of rows. Tool bodies, images and bookkeeping are never kept.
//!
//! Everything that depends on what comes later (which branch is dead, which turn a word belongs
//! to) is decided when it is looked at: see [`layout`].

mod arena;
mod branches;
mod calls;
pub mod flush;
mod fold;
pub mod layout;
pub mod ledger;
pub mod proof;
mod queue;
mod rows;
pub mod standing;
pub mod tasks;

use std::collections::BTreeMap;

use arena::Arena;
pub use arena::Span;
use ledger::Ledger;
use proof::Proof;
use queue::Queue;
use rows::Rows;

use crate::{
    text::time::Moment,
    transcript::{Host, Place, Speaker},
};

/// A session as far as its transcript has been read.
#[derive(Debug, Clone, Default)]
pub struct Session {
    /// The host's id; the file's base name.
    pub id: String,
    /// The host.
    pub host: Host,
    /// The host's version, from the newest row that names one.
    pub version: String,
    /// The working directory in which the session began.
    pub folder: String,
    /// The time of the first row that has one.
    pub started: Option<Moment>,
    /// The latest time of any row.
    pub latest: Option<Moment>,
    /// The model that answered last in the main conversation.
    pub model: String,
    /// Tokens in its context then.
    pub context: Option<u64>,
    /// What was read and not kept.
    pub counts: Counts,
    arena: Arena,
    items: Vec<Item>,
    rows: Rows,
    ledger: Ledger,
    queue: Queue,
    /// The message whose last text left a private part open.
    open_private: Option<u64>,
    tasks: Vec<tasks::Change>,
    proof: Proof,
    leg: u32,
}

/// What was read and not kept.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Counts {
    /// Entries that are no conversation, by the host's type or by the reason.
    pub skipped: BTreeMap<String, u64>,
    /// Stretches of the file that are no records.
    pub unreadable: u64,
    /// Lines that were too long to be held.
    pub too_long: u64,
    /// Texts from which private parts were removed.
    pub hidden: u64,
}

/// One thing that happened, in file order.
#[derive(Debug, Clone)]
pub struct Item {
    /// What happened.
    pub kind: ItemKind,
    /// When, by the host's clock.
    pub time: Option<Moment>,
    /// The leg it belongs to, from 1.
    pub leg: u32,
    row: Option<u32>,
    hidden: bool,
}

/// The kinds of [`Item`].
#[derive(Debug, Clone)]
pub enum ItemKind {
    /// Somebody said something.
    Said(Said),
    /// An image or document; its placeholder without brackets.
    Media(Span),
    /// The person stopped the agent.
    Interrupted,
    /// The host reported a failed request to the model.
    ApiError(Span),
    /// The host wrote this in the agent's place.
    HostNote(Span),
    /// A tool call: its index in the ledger.
    Call(u32),
    /// The host compacted: trigger, tokens before.
    Boundary(Span, Option<u64>),
}

/// Words, and whose.
#[derive(Debug, Clone)]
pub struct Said {
    /// Who speaks.
    pub speaker: Speaker,
    /// What kind of words.
    pub mark: Mark,
    /// The words, exact.
    pub text: Span,
    /// Where the entry stands in the file.
    pub place: Place,
    /// The words open a turn.
    pub opens: bool,
    message: u64,
}

/// A label as it is kept; see [`crate::transcript::Label`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mark {
    /// Plain speech.
    None,
    /// Typed while the agent worked.
    Queued,
    /// An answer to a question.
    Answer,
    /// The reason for declining this tool.
    Declined(Span),
    /// From a teammate, another agent or a schedule.
    From(Span),
    /// A plan.
    Plan,
    /// A question.
    Question,
    /// A plan as the person changed it.
    EditedPlan,
}

/// The label of what was typed while the agent worked.
pub const QUEUED: &str = "while you worked";

impl Session {
    /// An empty session.
    pub fn new(id: impl Into<String>, host: Host) -> Self {
        Self { id: id.into(), host, leg: 1, ..Self::default() }
    }

    /// The text behind a span.
    pub fn text(&self, span: Span) -> &str {
        self.arena.get(span)
    }

    /// The tool calls, in file order.
    pub fn ledger(&self) -> &Ledger {
        &self.ledger
    }

    /// What the transcript tells of compactions, prompts and our own pointers.
    pub fn proof(&self) -> &Proof {
        &self.proof
    }

    /// Compactions + 1.
    pub fn legs(&self) -> u32 {
        self.leg
    }

    /// Everything that happened, in file order, dead branches included.
    pub fn items(&self) -> &[Item] {
        &self.items
    }

    /// Messages in the person's place and of the agent, rewound ones included, cheaply counted.
    pub fn message_counts(&self) -> (u64, u64) {
        let count = |speaker| {
            let says = |item: &&Item| {
                !item.hidden
                    && matches!(&item.kind, ItemKind::Said(said) if said.speaker == speaker)
            };
            self.items.iter().filter(says).count() as u64
        };
        (count(Speaker::User), count(Speaker::Assistant))
    }

    /// Bytes of words in memory, and of what is kept beside them.
    pub fn kept_bytes(&self) -> u64 {
        let items = self.items.len() * size_of::<Item>() + self.rows.bytes();
        let calls = size_of_val(self.ledger.calls());
        (self.arena.bytes() + items + calls) as u64
    }

    /// The words of a label, without the time; empty for plain speech.
    pub fn label(&self, mark: Mark) -> String {
        match mark {
            Mark::None => String::new(),
            Mark::Queued => QUEUED.to_owned(),
            Mark::Answer => "answer".to_owned(),
            Mark::Declined(tool) => format!("declined {}", self.text(tool)),
            Mark::From(name) => format!("from {}", self.text(name)),
            Mark::Plan => "plan".to_owned(),
            Mark::Question => "question".to_owned(),
            Mark::EditedPlan => "edited plan".to_owned(),
        }
    }
}
