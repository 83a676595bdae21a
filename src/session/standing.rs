//! Where things stand, as data: the task list, what was changed, what fails.
//!
//! Bottle and pointer print it; nothing here is cut or counted off.
use std::collections::HashMap;

use super::{Session, layout::Layout, ledger::ToolCall};
use crate::{
    text::time::Moment,
    transcript::{
        Speaker,
        tool::{Status, TaskState, ToolKind},
    },
};

/// Where a session stands.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Standing<'s> {
    /// What is being done: the active task, else the last words of the person.
    pub task: Option<&'s str>,
    /// Finished tasks.
    pub done: Vec<&'s str>,
    /// Tasks under way.
    pub active: Vec<&'s str>,
    /// Tasks not begun.
    pub open: Vec<&'s str>,
    /// Changed files, the newest change first.
    pub changed: Vec<Changed<'s>>,
    /// Commands whose last run failed, the newest first.
    pub failing: Vec<Failing<'s>>,
}

/// A file that was changed.
#[derive(Debug, PartialEq, Eq)]
pub struct Changed<'s> {
    /// The path, as the tool was given it.
    pub path: &'s str,
    /// Lines added, over all changes.
    pub added: u64,
    /// Lines removed, over all changes.
    pub removed: u64,
    /// The session made it.
    pub created: bool,
}

/// A command that has not passed since it failed.
#[derive(Debug, PartialEq, Eq)]
pub struct Failing<'s> {
    /// The command, as the bottle shows it.
    pub command: &'s str,
    /// Its exit status, where the host told it.
    pub exit: Option<i32>,
    /// When it failed.
    pub time: Option<Moment>,
}

/// How fit a message is to be the original request: the first of the lowest rank is it. Typed
/// prompts come before commands for the shell (`! …`), and those before other words in the person's
/// place. Needs no more of a message than a bottle shows.
pub fn request_rank(speaker: Speaker, label: &str, text: &str) -> Option<u8> {
    match speaker {
        Speaker::Assistant => None,
        Speaker::User if !label.is_empty() => Some(2),
        Speaker::User => Some(u8::from(text.starts_with("! "))),
    }
}

impl Session {
    /// Where things stand, by what is shown.
    pub fn standing<'s>(&'s self, layout: &'s Layout<'s>) -> Standing<'s> {
        let titles = |state| {
            let tasks = layout.tasks.iter().filter(move |task| task.state == state);
            tasks.map(|task| task.title).collect::<Vec<_>>()
        };
        let active = titles(TaskState::Active);
        let last_words = layout.messages().filter(|message| message.is_prompt).last();
        Standing {
            task: active.first().copied().or(last_words.map(|message| message.text.as_ref())),
            done: titles(TaskState::Done),
            active,
            open: titles(TaskState::Open),
            changed: changed(self, layout),
            failing: failing(self, layout),
        }
    }
}

fn changed<'s>(session: &'s Session, layout: &Layout<'s>) -> Vec<Changed<'s>> {
    let mut files: HashMap<&str, (usize, Changed<'s>)> = HashMap::new();
    for (order, call) in completed(session, layout).enumerate() {
        if !matches!(call.kind, ToolKind::Edit | ToolKind::Write) || call.brief.is_empty() {
            continue;
        }
        let path = session.text(call.brief);
        let new = Changed { path, added: 0, removed: 0, created: call.created };
        let (newest, file) = files.entry(path).or_insert((order, new));
        *newest = order;
        file.added += u64::from(call.lines.added);
        file.removed += u64::from(call.lines.removed);
    }
    let mut files: Vec<_> = files.into_values().collect();
    files.sort_unstable_by_key(|(order, _)| std::cmp::Reverse(*order));
    files.into_iter().map(|(_, file)| file).collect()
}

fn failing<'s>(session: &'s Session, layout: &Layout<'s>) -> Vec<Failing<'s>> {
    let mut last: HashMap<&str, (usize, Option<Failing<'s>>)> = HashMap::new();
    for (order, call) in calls(session, layout).enumerate() {
        if call.kind != ToolKind::Command {
            continue;
        }
        let command = session.text(call.brief);
        let failing = Failing { command, exit: call.exit, time: call.ended.or(call.called) };
        match call.status {
            Status::Failed => drop(last.insert(command, (order, Some(failing)))),
            Status::Completed if call.exit == Some(0) => drop(last.remove(command)),
            _ => {}
        }
    }
    let mut failing: Vec<_> = last.into_values().collect();
    failing.sort_unstable_by_key(|(order, _)| std::cmp::Reverse(*order));
    failing.into_iter().filter_map(|(_, failing)| failing).collect()
}

fn calls<'s>(session: &'s Session, layout: &Layout<'s>) -> impl Iterator<Item = &'s ToolCall> {
    layout.calls().filter_map(|index| session.ledger().calls().get(index as usize))
}

fn completed<'s>(session: &'s Session, layout: &Layout<'s>) -> impl Iterator<Item = &'s ToolCall> {
    calls(session, layout).filter(|call| call.status == Status::Completed)
}
