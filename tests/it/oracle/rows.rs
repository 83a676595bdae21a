//! What each record says, taken by itself.

use serde_json::Value;

use super::Speaker;
use super::answers;
use super::envelope::{self, Text};
use super::lines::Record;

/// One thing that a record contributes, in the order of its blocks.
#[derive(Debug)]
pub(super) enum Item {
    /// `message` is the message id of an assistant's text block, by which blocks are joined.
    Said {
        speaker: Speaker,
        label: String,
        text: String,
        message: Option<String>,
    },
    ToolUse {
        id: String,
        name: String,
        input: Value,
    },
    ToolResult {
        id: String,
        text: String,
        record: Value,
    },
    Note(String),
    Placeholder(String, usize),
    Boundary,
}

/// A `queue-operation` row.
pub(super) enum Operation {
    Enqueue,
    Dequeue,
    Remove(Option<String>),
    PopAll,
}

/// A record and what it says.
pub(super) struct Parsed {
    pub(super) row: usize,
    pub(super) uuid: Option<String>,
    pub(super) parent: Option<String>,
    /// `user`, `assistant` or queued command, on the main chain.
    pub(super) conversation: bool,
    pub(super) is_meta: bool,
    /// A prompt or command of the person that opens a turn.
    pub(super) prompt: bool,
    /// The `queued_command` that answers an `enqueue`.
    pub(super) queued_command: bool,
    /// The words by which this record settles an `enqueue`, or is settled.
    pub(super) keys: Vec<String>,
    pub(super) queue: Option<Operation>,
    pub(super) items: Vec<Item>,
}

pub(super) fn parse(record: &Record) -> Parsed {
    let value = &record.value;
    let text = |field: &str| value[field].as_str().map(str::to_owned);
    let mut parsed = Parsed {
        row: record.row,
        uuid: text("uuid"),
        parent: text("parentUuid"),
        conversation: false,
        is_meta: flag(value, "isMeta"),
        prompt: false,
        queued_command: false,
        keys: Vec::new(),
        queue: None,
        items: Vec::new(),
    };
    if flag(value, "isSidechain") || value["agentId"].is_string() {
        return parsed;
    }
    match value["type"].as_str() {
        Some("user") => user(value, &mut parsed),
        Some("assistant") => assistant(value, &mut parsed),
        Some("attachment") => queued_command(value, &mut parsed),
        Some("queue-operation") => queue_operation(value, &mut parsed),
        Some("system") if value["subtype"] == "compact_boundary" => {
            parsed.items.push(Item::Boundary);
        }
        _ => {}
    }
    parsed
}

fn flag(value: &Value, name: &str) -> bool {
    value[name].as_bool().unwrap_or(false)
}

fn user(value: &Value, parsed: &mut Parsed) {
    parsed.conversation = true;
    let by_host = parsed.is_meta
        || flag(value, "isCompactSummary")
        || flag(value, "isVisibleInTranscriptOnly");
    let label = origin(&value["origin"]).unwrap_or_default();
    let content = &value["message"]["content"];
    let own = !by_host;
    let mut results = false;
    for block in blocks(content) {
        match block["type"].as_str() {
            Some("text") if own => {
                let text = block["text"].as_str().unwrap_or_default();
                parsed.keys.push(envelope::key(text));
                let before = parsed.items.len();
                user_texts(envelope::texts(text), &label, &mut parsed.items);
                join_own(&mut parsed.items, before, &label);
            }
            Some("tool_result") => {
                results = true;
                let id = block["tool_use_id"].as_str().unwrap_or_default().to_owned();
                let text = flat_text(&block["content"]);
                let mut record = value.clone();
                record["is_error"] = block["is_error"].clone();
                parsed.items.push(Item::ToolResult { id, text, record });
            }
            Some("image" | "document") if own => parsed.items.push(placeholder(&block)),
            _ => {}
        }
    }
    joined_key(parsed);
    let opens = |item: &Item| {
        matches!(item, Item::Said { text, label, .. }
        if !text.starts_with("! ") && !label.starts_with("from teammate"))
    };
    parsed.prompt = !results && parsed.items.iter().any(opens);
}

/// Own text blocks of one row that follow each other are one message, with a blank line between.
fn join_own(items: &mut Vec<Item>, before: usize, own_label: &str) {
    if before == 0 || items.len() != before + 1 {
        return;
    }
    let mergeable = |item: &Item| {
        matches!(item, Item::Said { label, text, .. }
            if label == own_label && !text.starts_with('/') && !text.starts_with("! "))
    };
    if !mergeable(&items[before - 1]) || !mergeable(&items[before]) {
        return;
    }
    if let Some(Item::Said { text: added, .. }) = items.pop()
        && let Some(Item::Said { text, .. }) = items.last_mut()
    {
        text.push_str("\n\n");
        text.push_str(&added);
    }
}

/// A queue row may hold the blocks of a prompt as one text.
fn joined_key(parsed: &mut Parsed) {
    if parsed.keys.len() > 1 {
        parsed.keys.push(parsed.keys.join("\n"));
        parsed.keys.push(parsed.keys[..parsed.keys.len() - 1].join("\n\n"));
    }
}

fn user_texts(texts: Vec<Text>, label: &str, items: &mut Vec<Item>) {
    for text in texts {
        items.push(match text {
            Text::Own(text) | Text::Typed(text) => said(Speaker::User, label, text),
            Text::Teammate(name, text) => {
                said(Speaker::User, format!("from teammate {name}").trim_end(), text)
            }
            Text::Interrupt(text) => Item::Note(text),
        });
    }
}

pub(super) fn said(speaker: Speaker, label: &str, text: String) -> Item {
    Item::Said { speaker, label: label.to_owned(), text, message: None }
}

/// The label of words that another agent or a schedule sent. Only `human` is the person.
fn origin(origin: &Value) -> Option<String> {
    let kind = origin["kind"].as_str().filter(|kind| *kind != "human")?;
    Some(format!("from {kind}"))
}

fn assistant(value: &Value, parsed: &mut Parsed) {
    parsed.conversation = true;
    let message = &value["message"];
    if flag(value, "isApiErrorMessage") || message["model"] == "<synthetic>" {
        parsed.items.push(Item::Note(flat_text(&message["content"])));
        return;
    }
    let id = message["id"].as_str();
    let id = id.map_or_else(|| format!("line {}", parsed.row), str::to_owned);
    for block in blocks(&message["content"]) {
        match block["type"].as_str() {
            Some("text") => {
                let text = block["text"].as_str().unwrap_or_default().to_owned();
                let (speaker, label) = (Speaker::Assistant, String::new());
                parsed.items.push(Item::Said { speaker, label, text, message: Some(id.clone()) });
            }
            Some("tool_use") => tool_use(&block, &mut parsed.items),
            Some("image" | "document") => parsed.items.push(placeholder(&block)),
            _ => {}
        }
    }
}

fn tool_use(block: &Value, items: &mut Vec<Item>) {
    let name = block["name"].as_str().unwrap_or_default();
    let input = &block["input"];
    if let Some(id) = block["id"].as_str() {
        let (id, name) = (id.to_owned(), name.to_owned());
        items.push(Item::ToolUse { id, name, input: input.clone() });
    }
    match name {
        "AskUserQuestion" => items.extend(
            answers::questions(input)
                .into_iter()
                .map(|question| said(Speaker::Assistant, "question", question)),
        ),
        "ExitPlanMode" => items.extend(
            input["plan"].as_str().map(|plan| said(Speaker::Assistant, "plan", plan.to_owned())),
        ),
        _ => {}
    }
}

fn queued_command(value: &Value, parsed: &mut Parsed) {
    let attachment = &value["attachment"];
    if attachment["type"] != "queued_command" {
        return;
    }
    parsed.conversation = true;
    parsed.queued_command = true;
    let prompt = &attachment["prompt"];
    for block in blocks(prompt) {
        if let Some(text) = block["text"].as_str() {
            parsed.keys.push(envelope::key(text));
        }
    }
    joined_key(parsed);
    let mode = attachment["commandMode"].as_str();
    if flag(attachment, "isMeta") || parsed.is_meta || mode == Some("task-notification") {
        return;
    }
    let label = origin(&attachment["origin"]).or_else(|| origin(&value["origin"]));
    let label = label.unwrap_or_else(|| "while you worked".to_owned());
    for block in blocks(prompt) {
        match block["type"].as_str() {
            Some("text") => {
                let text = block["text"].as_str().unwrap_or_default();
                let typed = if mode == Some("bash") { format!("! {text}") } else { text.into() };
                let before = parsed.items.len();
                user_texts(envelope::queued_texts(&typed), &label, &mut parsed.items);
                join_own(&mut parsed.items, before, &label);
            }
            Some("image" | "document") => parsed.items.push(placeholder(&block)),
            _ => {}
        }
    }
}

fn queue_operation(value: &Value, parsed: &mut Parsed) {
    let content = match &value["content"] {
        Value::Null => None,
        content => Some(flat_text(content)),
    };
    parsed.queue = match value["operation"].as_str() {
        Some("enqueue") => Some(Operation::Enqueue),
        Some("dequeue") => Some(Operation::Dequeue),
        Some("remove") => Some(Operation::Remove(content.as_deref().map(envelope::key))),
        Some("popAll") => Some(Operation::PopAll),
        _ => None,
    };
    if let (Some(Operation::Enqueue), Some(text)) = (&parsed.queue, content) {
        parsed.keys.push(envelope::key(&text));
        user_texts(envelope::queued_texts(&text), "while you worked", &mut parsed.items);
    }
}

/// A string counts as one text block; in a list only objects are blocks.
fn blocks(content: &Value) -> Vec<Value> {
    match content {
        Value::String(text) => vec![serde_json::json!({"type": "text", "text": text})],
        Value::Array(blocks) => blocks.iter().filter(|block| block.is_object()).cloned().collect(),
        _ => Vec::new(),
    }
}

/// The text blocks of some content, a line each.
pub(super) fn flat_text(content: &Value) -> String {
    let blocks = blocks(content);
    let texts: Vec<&str> = blocks.iter().filter_map(|block| block["text"].as_str()).collect();
    texts.join("\n")
}

fn placeholder(block: &Value) -> Item {
    let kind = block["type"].as_str().unwrap_or_default();
    let source = &block["source"];
    let media = source["media_type"].as_str().unwrap_or("unknown");
    let media = media.rsplit('/').next().unwrap_or(media);
    let size = source["data"].as_str().map_or(0, |data| data.len() / 4 * 3);
    Item::Placeholder(format!("{kind}: {media}"), size)
}
