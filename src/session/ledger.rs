//! The tool calls of a session.
//!
//! A call is keyed by the host's id of it. Only a running call changes state: a late or repeated
//! result changes nothing. `t<n>` is the n-th distinct id of the transcript, dead branches and
//! calls that change the task list included.
use std::{
    collections::HashMap,
    hash::{BuildHasher, Hash, Hasher, RandomState},
};

use super::{Session, Span};
use crate::{
    text::time::Moment,
    transcript::{
        Place,
        tool::{Counted, Lines, Status, ToolKind},
    },
};

/// All calls, in file order.
#[derive(Debug, Clone, Default)]
pub struct Ledger {
    calls: Vec<ToolCall>,
    by_id: HashMap<u64, u32>,
    hasher: RandomState,
    /// Calls that may still run: all since the last interruption.
    running: Vec<u32>,
}

/// One call.
#[derive(Debug, Clone, Default)]
pub struct ToolCall {
    /// The host's id.
    pub id: Span,
    /// The tool's name.
    pub name: Span,
    /// What kind of work it is.
    pub kind: ToolKind,
    /// What it is about: command, path, pattern, description, arguments.
    pub brief: Span,
    /// Where: the place of a search.
    pub place: Span,
    /// The lines asked for, or `(lines, 0)` of a file that is written.
    pub range: Option<(u64, u64)>,
    /// Lines added and removed.
    pub lines: Lines,
    /// The file did not exist before.
    pub created: bool,
    /// What it is about was said in words of the agent: a plan, a question.
    pub said: bool,
    /// A key of the person's words that its result brought; 0 where there are none.
    pub(super) answered: u64,
    /// How it stands.
    pub status: Status,
    /// The telling line of the result.
    pub line: Span,
    /// Exit status of a command.
    pub exit: Option<i32>,
    /// What a search found.
    pub found: Option<(u64, Counted)>,
    /// When it was called.
    pub called: Option<Moment>,
    /// When it ended.
    pub ended: Option<Moment>,
    /// Where the call stands in the file.
    pub input: Place,
    /// Where its result stands.
    pub result: Option<Place>,
}

impl ToolCall {
    /// Tells a hasher all that is known of a call of `session`, but for its id and where it stands
    /// in the file.
    pub fn tell(&self, session: &Session, hasher: &mut impl Hasher) {
        #[rustfmt::skip]
        let Self {
            id: _, input: _, result: _, name, kind, brief, place, range, lines, created, said,
            answered, status, line, exit, found, called, ended,
        } = self;
        [name, brief, place, line].map(|span| session.text(*span)).hash(hasher);
        (kind, range, lines, created, said, answered).hash(hasher);
        (status, exit, found, called, ended).hash(hasher);
    }
}

impl Ledger {
    /// The calls; `t<n>` is at index `n - 1`.
    pub fn calls(&self) -> &[ToolCall] {
        &self.calls
    }

    /// How many calls have no result yet.
    pub fn running(&self) -> usize {
        let running = |index: &&u32| self.calls[**index as usize].status == Status::Running;
        self.running.iter().filter(running).count()
    }

    pub(super) fn find(&self, id: &str, text: impl Fn(Span) -> bool) -> Option<u32> {
        let index = *self.by_id.get(&self.hasher.hash_one(id))?;
        text(self.calls[index as usize].id).then_some(index)
    }

    /// Adds a call that [`Ledger::find`] does not know; its index.
    pub(super) fn push(&mut self, id: &str, call: ToolCall) -> u32 {
        let index = u32::try_from(self.calls.len()).unwrap_or(u32::MAX);
        self.calls.push(call);
        if !id.is_empty() {
            self.by_id.insert(self.hasher.hash_one(id), index);
        }
        self.running.push(index);
        index
    }

    pub(super) fn call_mut(&mut self, index: u32) -> &mut ToolCall {
        &mut self.calls[index as usize]
    }

    /// The file shows that nothing that runs now will give a result.
    pub(super) fn interrupt_running(&mut self) {
        for index in std::mem::take(&mut self.running) {
            let status = &mut self.calls[index as usize].status;
            if *status == Status::Running {
                *status = Status::Interrupted;
            }
        }
    }
}
