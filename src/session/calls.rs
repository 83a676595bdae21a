//! Folds tool calls and their results, one at a time.
//!
//! A call is known by the host's id: a second one with the same id is none, and a result without
//! its call is counted. Texts of tools are privacy-stripped before they come here.
use std::borrow::Cow;

use super::{
    ItemKind, Session, Span,
    fold::Context,
    ledger::ToolCall,
    tasks::{Change, ChangeKind},
};
use crate::{
    text::line::words_key,
    transcript::{
        Label, Speaker, ToolResult,
        tool::{Lines, Outcome, Status, TaskCall, Tool, ToolKind},
    },
};

impl Session {
    pub(super) fn call(
        &mut self,
        id: &str,
        name: &str,
        tool: Tool<'_>,
        said: &[Cow<'_, str>],
        context: Context,
    ) {
        let id_text = self.clean(id);
        if self.find_call(&id_text).is_some() {
            return;
        }
        self.agent_acted(context);
        let label = if matches!(tool, Tool::Plan) { Label::Plan } else { Label::Question };
        for text in said {
            self.say(Speaker::Assistant, text, &label, false, 0, context);
        }
        let mut call = ToolCall {
            id: self.arena.push(&id_text),
            name: self.keep(name),
            kind: tool.kind(),
            said: !said.is_empty(),
            called: context.entry.time,
            input: context.entry.place,
            ..ToolCall::default()
        };
        let index = u32::try_from(self.ledger.calls().len()).unwrap_or(u32::MAX);
        self.describe(tool, index, &mut call);
        self.ledger.push(&id_text, call);
        self.push(ItemKind::Call(index), context);
    }

    /// Keeps what a call is about. Texts of tools are privacy-stripped already.
    fn describe(&mut self, tool: Tool<'_>, index: u32, call: &mut ToolCall) {
        match tool {
            Tool::Command(text) | Tool::Agent(text) | Tool::Fetch(text) | Tool::Other(text) => {
                call.brief = self.arena.push(&text);
            }
            Tool::Read(path, range) => {
                call.brief = self.arena.push(&path);
                call.range = range;
            }
            Tool::Edit(path, lines) => {
                call.brief = self.arena.push(&path);
                call.lines = lines;
            }
            Tool::Write(path, lines) => {
                call.brief = self.arena.push(&path);
                call.range = Some((lines, 0));
            }
            Tool::Search(pattern, place) => {
                call.brief = self.arena.push(&pattern);
                call.place = place.map(|place| self.arena.push(&place)).unwrap_or_default();
            }
            Tool::Tasks(change) => self.task_call(change, index),
            Tool::Plan | Tool::Question => {}
        }
    }

    fn task_call(&mut self, change: TaskCall<'_>, call: u32) {
        let kind = match change {
            TaskCall::Replace(items) => ChangeKind::Replace(
                items.iter().map(|(title, state)| (self.keep(title), *state)).collect(),
            ),
            TaskCall::Create(title) => {
                ChangeKind::Create { title: self.keep(&title), id: Span::default() }
            }
            TaskCall::Update(id, title, state) => ChangeKind::Update {
                id: self.keep(&id),
                title: title.map(|title| self.keep(&title)),
                state,
            },
            TaskCall::Look => return,
        };
        self.tasks.push(Change { call, kind });
    }

    pub(super) fn result(&mut self, result: &ToolResult<'_>, context: Context) {
        let id = self.clean(&result.id);
        let Some(index) = self.find_call(&id) else {
            self.skip("tool result without its call");
            self.words_in(&result.outcome(ToolKind::Other), "a tool", context);
            return;
        };
        let call = &self.ledger.calls()[index as usize];
        let (kind, name, status, answered) = (call.kind, call.name, call.status, call.answered);
        let outcome = result.outcome(kind);
        if status != Status::Running {
            self.skip("repeated or late tool result");
            if words_of(&outcome) != answered {
                let name = self.text(name).to_owned();
                self.words_in(&outcome, &name, context);
            }
            return;
        }
        self.counts.hidden += u64::from(outcome.hidden);
        let name = self.text(name).to_owned();
        self.plan_in(&outcome, index, context);
        self.words_in(&outcome, &name, context);
        self.ledger.call_mut(index).answered = words_of(&outcome);
        self.settle(index, &outcome, context);
    }

    /// A plan that stands in the result only, or that the person changed there.
    fn plan_in(&mut self, outcome: &Outcome, index: u32, context: Context) {
        let Some(plan) = &outcome.plan else { return };
        if outcome.plan_edited {
            self.say(Speaker::User, plan, &Label::EditedPlan, false, 0, context);
        } else if !self.ledger.calls()[index as usize].said {
            self.say(Speaker::Assistant, plan, &Label::Plan, false, 0, context);
        }
    }

    /// The person's own words inside a result.
    fn words_in(&mut self, outcome: &Outcome, tool: &str, context: Context) {
        for text in &outcome.said {
            let label = match outcome.status {
                Status::Declined => Label::Declined(tool.into()),
                _ => Label::Answer,
            };
            self.say(Speaker::User, text, &label, false, 0, context);
        }
    }

    fn settle(&mut self, index: u32, outcome: &Outcome, context: Context) {
        if let Some(task) = &outcome.task {
            let id = self.keep(task);
            let at = self.tasks.binary_search_by_key(&index, |change| change.call);
            let change = at.ok().and_then(|at| self.tasks.get_mut(at));
            if let Some(Change { kind: ChangeKind::Create { id: place, .. }, .. }) = change {
                *place = id;
            }
        }
        let line = self.arena.push(&outcome.line);
        let call = self.ledger.call_mut(index);
        call.status = outcome.status;
        call.line = line;
        call.exit = outcome.exit;
        call.lines = match outcome.status {
            Status::Completed => outcome.lines.unwrap_or(call.lines),
            _ => Lines::default(),
        };
        call.created = outcome.created;
        call.found = outcome.found;
        call.ended = context.entry.time;
        call.result = Some(context.entry.place);
    }

    fn find_call(&self, id: &str) -> Option<u32> {
        self.ledger.find(id, |span| self.text(span) == id)
    }
}

/// A key of the person's words in a result; 0 where there are none.
fn words_of(outcome: &Outcome) -> u64 {
    outcome.said.iter().fold(0, |sum, text| sum.rotate_left(1) ^ words_key(text))
}
