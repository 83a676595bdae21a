//! An independent reading of Claude Code transcripts, to test the product's reading against.
//!
//! Slow and plain on purpose: one `serde_json::Value` per line, the whole file in memory, no
//! incremental state. It follows `design/transcripts.md` and `design/bottle.md` and shares no code
//! with `src/`. Where the design leaves a choice, the choice is stated in a doc comment here.
//!
//! Order: bytes → records (`lines`) → what each record says (`rows`) → rewound stretches
//! (`branches`) and settled queue rows (`queue`) → one list of messages and one of calls.
#![allow(dead_code, reason = "not every test looks at every field of a reading")]

mod answers;
mod branches;
mod calls;
mod envelope;
mod lines;
mod queue;
mod rows;
mod words;

#[cfg(test)]
mod tests;

use std::collections::HashSet;

use serde_json::Value;

pub(crate) use calls::{Call, CallState};
pub(crate) use words::normalised;

use rows::{Item, Parsed};

/// Who said it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Speaker {
    User,
    Assistant,
}

/// One message of the conversation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Said {
    pub(crate) speaker: Speaker,
    /// `""`, `while you worked`, `answer`, `declined Bash`, `from teammate alice`, `plan`,
    /// `question`, `from <origin kind>`.
    pub(crate) label: String,
    /// Exact, after the privacy rule and [`normalised`].
    pub(crate) text: String,
    /// Physical line of its first block, from 1.
    pub(crate) row: usize,
}

/// All that the oracle reads from one transcript.
#[derive(Debug, Default)]
pub(crate) struct Reading {
    /// The conversation, in file order, without rewound stretches.
    pub(crate) said: Vec<Said>,
    /// Every distinct `tool_use` id of the main chain, in file order, rewound ones included.
    pub(crate) calls: Vec<Call>,
    /// Lines that hold something besides whole records.
    pub(crate) unreadable: usize,
    /// `compact_boundary` rows of the main chain.
    pub(crate) boundaries: usize,
    /// Files of completed Edit, MultiEdit, Write, NotebookEdit calls; first appearance first.
    pub(crate) paths_changed: Vec<String>,
    /// Files of completed Read calls; first appearance first.
    pub(crate) paths_read: Vec<String>,
    /// Each Bash call: its command, and `0`, the exit status, `failed`, or `None` where unknown.
    pub(crate) commands: Vec<(String, Option<String>)>,
    /// Everything said in rewound stretches.
    pub(crate) rewound: Vec<Said>,
    /// The user's part of `rewound`.
    pub(crate) user_texts_in_dead_branches: Vec<String>,
    /// Interrupts, API errors and other synthetic assistant rows: (line, text).
    pub(crate) notes: Vec<(usize, String)>,
    /// Images and documents: (line, `image: png`, bytes).
    pub(crate) placeholders: Vec<(usize, String, usize)>,
    /// Texts from which the privacy rule took something away.
    pub(crate) private_texts: usize,
    /// Records whose `sessionId` is not `source_session`, where one was given.
    pub(crate) foreign_rows: usize,
}

/// Reads a whole transcript. `source_session` only fills [`Reading::foreign_rows`].
pub(crate) fn read(bytes: &[u8], source_session: Option<&str>) -> Reading {
    let (records, unreadable) = lines::records(bytes);
    let records = without_repeats(records);
    let parsed: Vec<Parsed> = records.iter().map(rows::parse).collect();
    let dead = branches::dead(&parsed);
    let shown = queue::shown(&parsed);

    let mut reading = Reading { unreadable, ..Reading::default() };
    reading.foreign_rows = source_session.map_or(0, |id| foreign(&records, id));
    reading.calls = calls::ledger(&parsed, &dead);
    reading.boundaries = parsed
        .iter()
        .flat_map(|record| &record.items)
        .filter(|item| matches!(item, Item::Boundary))
        .count();
    assemble(&parsed, &dead, &shown, &mut reading);
    calls::summarise(&mut reading);
    reading.user_texts_in_dead_branches = reading
        .rewound
        .iter()
        .filter(|said| said.speaker == Speaker::User)
        .map(|said| said.text.clone())
        .collect();
    reading
}

/// Puts the items in a row, joining the text blocks of one assistant message with a blank line.
/// Anything that shows in the bottle (a call, another message, a note, a boundary, a placeholder)
/// ends the message; thinking and bookkeeping do not.
fn assemble(
    parsed: &[Parsed],
    dead: &HashSet<usize>,
    shown: &HashSet<usize>,
    reading: &mut Reading,
) {
    let mut open = None;
    let mut heard = HashSet::new();
    let mut called = HashSet::new();
    let mut repeats = false;
    for (index, record) in parsed.iter().enumerate() {
        if record.queue.is_some() && !shown.contains(&index) {
            continue;
        }
        for item in &record.items {
            match item {
                // What a repeated call puts before the person was said before.
                Item::Said { label, .. } if repeats && (label == "plan" || label == "question") => {
                }
                Item::Said { .. } => {
                    say(item, record.row, dead.contains(&index), &mut open, reading);
                }
                Item::ToolResult { id, text, record: result } => {
                    for item in in_result(&reading.calls, id, text, result) {
                        if !heard.insert((id.clone(), format!("{item:?}"))) {
                            continue;
                        }
                        say(&item, record.row, dead.contains(&index), &mut open, reading);
                    }
                }
                Item::Note(text) => {
                    reading.notes.push((record.row, text.clone()));
                    open = None;
                }
                Item::Placeholder(kind, size) => {
                    reading.placeholders.push((record.row, kind.clone(), *size));
                    open = None;
                }
                Item::ToolUse { id, .. } => {
                    repeats = !called.insert(id.clone());
                    open = None;
                }
                Item::Boundary => open = None,
            }
        }
    }
}

/// The words inside a tool result, by the name and input of its call. Every result row is asked,
/// also a late one: that changes no call, but words are words. Those that the same call brought
/// before are not said again.
fn in_result(calls: &[Call], id: &str, text: &str, result: &Value) -> Vec<Item> {
    let call = calls.iter().find(|call| call.id == id);
    let name = call.map_or("a tool", |call| call.name.as_str());
    answers::in_result(name, call.map_or(&Value::Null, |call| &call.input), text, result)
}

/// Adds a message, or a block to the open message. A text of white space says nothing.
fn say(
    item: &Item,
    row: usize,
    is_dead: bool,
    open: &mut Option<(String, bool)>,
    reading: &mut Reading,
) {
    let Item::Said { speaker, label, text, message } = item else { return };
    let (text, removed) = words::without_private(text);
    reading.private_texts += usize::from(removed);
    if text.trim().is_empty() {
        return;
    }
    let text = normalised(&text);
    let list = if is_dead { &mut reading.rewound } else { &mut reading.said };
    let key = message.clone().map(|id| (id, is_dead));
    if key.is_some() && key == *open {
        let last = list.last_mut().expect("an open message is the last one");
        last.text.push_str("\n\n");
        last.text.push_str(&text);
    } else {
        list.push(Said { speaker: *speaker, label: normalised(label), text, row });
    }
    *open = key;
}

/// Drops copies of a record: same `uuid`, same type, same content. The same `uuid` with other
/// content is a colliding id, and both are kept: losing words is the worse fault. A queued command
/// without `uuid` is a copy if its attachment and its timestamp are the same.
fn without_repeats(records: Vec<lines::Record>) -> Vec<lines::Record> {
    let mut seen = HashSet::new();
    records
        .into_iter()
        .filter(|record| match identity(&record.value) {
            Some(identity) => seen.insert(identity),
            None => true,
        })
        .collect()
}

fn identity(value: &Value) -> Option<String> {
    let content = (
        &value["type"],
        &value["subtype"],
        &value["message"]["content"],
        &value["attachment"],
        &value["content"],
    );
    if let Some(uuid) = value["uuid"].as_str() {
        return Some(format!("{uuid} {content:?}"));
    }
    let queued = value["attachment"]["type"] == "queued_command";
    (queued && value["timestamp"].is_string())
        .then(|| format!("{} {content:?}", value["timestamp"]))
}

fn foreign(records: &[lines::Record], session: &str) -> usize {
    records
        .iter()
        .filter(|record| record.value["sessionId"].as_str().is_some_and(|id| id != session))
        .count()
}
