//! The dialect of Claude Code: which rows are conversation, and what they say.
//!
//! Observed on versions 1.0 to 2.1.332. Only `user`, `assistant`, `system`, `attachment` and
//! `queue-operation` rows can be conversation; all others, and all unknown fields, are inert.
//! Rows are told apart by the fields that say what they are, and texts by whole envelopes, never
//! by a part of their words.
//!
//! What a row says is decided once it was walked over whole: see [`row`].

mod commands;
mod excerpt;
mod input;
pub mod outcome;
mod row;
mod words;

use std::borrow::Cow;

use super::{
    About, Chain, Entry, Label, Opens, Piece, QueueChange, RowId, ToolResult,
    json::{Broken, Cursor, Quoted, Raw},
    message_key,
    tool::Tool,
};
use crate::text::{mark::pointer, time};
use row::{Block, Content, Row, block, field};

/// Parses one record. The cursor stands behind it afterwards.
///
/// # Errors
/// Where the text is no whole JSON object.
pub fn parse<'a>(cursor: &mut Cursor<'a>) -> Result<Entry<'a>, Broken> {
    let mut row = Row::default();
    cursor.members(|key, cursor| field(&mut row, key, cursor))?;
    Ok(entry(&row))
}

/// What a row says.
fn entry<'a>(row: &Row<'a>) -> Entry<'a> {
    let mut entry = Entry {
        kind: kind(row),
        id: row.uuid.map(RowId::new),
        parent: row.parent.map(RowId::new),
        time: row.timestamp.and_then(|text| time::parse(&text.decode())),
        chain: chain(row),
        about: About {
            session: row.session,
            folder: row.folder,
            version: row.version,
            prompt: row.prompt,
            ..About::default()
        },
        copied: row.forked,
        ..Entry::default()
    };
    match row.kind {
        Some(kind) if kind.is("user") => user(row, &mut entry),
        Some(kind) if kind.is("assistant") => assistant(row, &mut entry),
        Some(kind) if kind.is("system") => system(row, &mut entry),
        Some(kind) if kind.is("attachment") => attachment(row, &mut entry),
        Some(kind) if kind.is("queue-operation") => queue(row, &mut entry),
        _ => {}
    }
    if entry.chain == Chain::Side && !entry.pieces.is_empty() {
        entry.pieces.clear();
        entry.dropped = Some("sidechain");
    }
    entry
}

/// Facts: rows of a subagent say so; where only an agent's id stands and nothing denies it, too.
fn chain(row: &Row<'_>) -> Chain {
    match row.sidechain {
        Some(true) => Chain::Side,
        Some(false) => Chain::Main,
        None if row.agent => Chain::Side,
        None => Chain::Main,
    }
}

fn kind<'a>(row: &Row<'a>) -> Cow<'a, str> {
    let Some(kind) = row.kind else { return Cow::Borrowed(super::NO_TYPE) };
    let subtype = if kind.is("system") {
        row.subtype
    } else if kind.is("attachment") {
        row.attachment.and_then(|raw| raw.member("type")).and_then(Raw::quoted)
    } else {
        None
    };
    match subtype {
        Some(subtype) => format!("{}/{}", kind.decode(), subtype.decode()).into(),
        None => kind.decode(),
    }
}

fn user<'a>(row: &Row<'a>, entry: &mut Entry<'a>) {
    let words_dropped = if row.summary {
        Some("user: the host's summary")
    } else if row.meta {
        Some("user: the host's own words")
    } else {
        None
    };
    let label = words::origin(row.origin);
    match &row.message.content {
        Content::None => entry.dropped = Some("user: no content"),
        Content::Text(text) => match words_dropped {
            Some(reason) => entry.dropped = Some(reason),
            None => words::user(text.decode(), &label, Opens::Turn, entry),
        },
        Content::Blocks(blocks) => user_blocks(row, blocks, words_dropped, &label, entry),
    }
}

fn user_blocks<'a>(
    row: &Row<'a>,
    blocks: &[Block<'a>],
    words_dropped: Option<&'static str>,
    label: &Label<'a>,
    entry: &mut Entry<'a>,
) {
    // Words beside a tool's result were typed within the turn.
    let beside_result = blocks.iter().any(|block| is(block, "tool_result"));
    let opens = if beside_result { Opens::Nothing } else { Opens::Turn };
    for block in blocks {
        if is(block, "tool_result") {
            entry.pieces.push(Piece::Result(tool_result(row, block)));
        } else if words_dropped.is_some() {
            entry.dropped = words_dropped;
        } else if is(block, "text") {
            if let Some(text) = block.text {
                words::user(text.decode(), label, opens, entry);
            }
        } else if let Some(media) = media(block) {
            entry.pieces.push(Piece::Media(media));
        }
    }
}

fn tool_result<'a>(row: &Row<'a>, block: &Block<'a>) -> ToolResult<'a> {
    ToolResult {
        id: block.call.map_or(Cow::Borrowed(""), Quoted::decode),
        failed: block.failed,
        denial: row.denial,
        feedback: row.feedback,
        content: block.content,
        detail: row.result.clone(),
    }
}

fn assistant<'a>(row: &Row<'a>, entry: &mut Entry<'a>) {
    // Without a message id a row is a message of its own.
    let message = message_key(row.message.id.or(row.uuid));
    if !row.api_error {
        entry.about.model = row.message.model.filter(|model| !model.is("<synthetic>"));
        if entry.about.model.is_some() {
            entry.about.context = row.message.usage;
        }
    }
    match &row.message.content {
        Content::None => entry.dropped = Some("assistant: no content"),
        Content::Text(text) => speech(row, *text, message, entry),
        Content::Blocks(blocks) => {
            for block in blocks {
                if is(block, "text") {
                    if let Some(text) = block.text {
                        speech(row, text, message, entry);
                    }
                } else if is(block, "tool_use") {
                    call(block, entry);
                } else if let Some(media) = media(block) {
                    entry.pieces.push(Piece::Media(media));
                }
            }
        }
    }
}

fn speech<'a>(row: &Row<'a>, text: Quoted<'a>, message: u64, entry: &mut Entry<'a>) {
    let text = text.decode();
    let synthetic = row.message.model.is_some_and(|model| model.is("<synthetic>"));
    entry.pieces.push(if row.api_error {
        Piece::ApiError(text)
    } else if synthetic {
        Piece::HostNote(text)
    } else {
        Piece::Speech { text, label: Label::None, message }
    });
}

fn call<'a>(block: &Block<'a>, entry: &mut Entry<'a>) {
    let name = block.name.map_or(Cow::Borrowed(""), Quoted::decode);
    let input = &block.input;
    let tool = input::tool(&name, input, &mut entry.hidden);
    let name = input::shown_name(name);
    let id = block.id.map_or(Cow::Borrowed(""), Quoted::decode);
    if id.is_empty() && name.is_empty() {
        entry.dropped = Some("tool call without id and name");
        return;
    }
    let said = match tool {
        Tool::Plan => input.text("plan").into_iter().collect(),
        Tool::Question => input::questions(input),
        _ => Vec::new(),
    };
    entry.pieces.push(Piece::Call { id, name, tool, said });
}

fn system<'a>(row: &Row<'a>, entry: &mut Entry<'a>) {
    if row.subtype.is_some_and(|subtype| subtype.is("compact_boundary")) {
        let number = |key| row.compact.and_then(|raw| raw.member(key)).and_then(Raw::number);
        entry.pieces.push(Piece::Boundary {
            trigger: row.compact.and_then(|raw| raw.text("trigger")).unwrap_or_default(),
            before: number("preTokens"),
            after: number("postTokens"),
        });
    }
}

fn attachment<'a>(row: &Row<'a>, entry: &mut Entry<'a>) {
    let Some(raw) = row.attachment else { return };
    if matches!(&*entry.kind, "attachment/hook_additional_context" | "attachment/hook_success") {
        entry.pieces.extend(raw.member("content").and_then(arrived));
        return;
    }
    if entry.kind != "attachment/queued_command" {
        return;
    }
    let of_the_host = raw.member("isMeta").is_some_and(Raw::is_true) || row.meta;
    let mode = raw.text("commandMode");
    if of_the_host || mode.as_deref() == Some("task-notification") {
        entry.dropped = Some("attachment/queued_command: the host's own words");
        return;
    }
    let label = words::queued(raw.member("origin").or(row.origin));
    let Some(prompt) = raw.member("prompt") else { return };
    if let Some(text) = prompt.quoted() {
        words::user(text.decode(), &label, Opens::Nothing, entry);
    }
    for element in prompt.elements() {
        let Ok(block) = block(&mut element.cursor()) else { continue };
        if let Some(text) = block.text.filter(|_| is(&block, "text")) {
            words::user(text.decode(), &label, Opens::Nothing, entry);
        } else if let Some(media) = media(&block) {
            entry.pieces.push(Piece::Media(media));
        }
    }
}

/// Facts: what a hook gave the model is a text, or a list of them.
fn arrived<'a>(content: Raw<'a>) -> Option<Piece<'a>> {
    let one = content.quoted().into_iter();
    let texts = one.chain(content.elements().into_iter().filter_map(Raw::quoted));
    texts.map(Quoted::decode).find_map(|text| {
        let (mark, _) = pointer(&text)?;
        Some(Piece::Arrived { session: mark.session.to_owned().into(), n: mark.n })
    })
}

fn queue<'a>(row: &Row<'a>, entry: &mut Entry<'a>) {
    let Some(operation) = row.operation else { return };
    let text = row.content.and_then(Raw::quoted).map(Quoted::decode);
    let change = match (operation.decode().as_ref(), text) {
        ("enqueue", text) => QueueChange::Add(text.map(words::typed).unwrap_or_default()),
        ("dequeue", _) => QueueChange::Take,
        ("remove", Some(text)) => QueueChange::Remove(words::comparable(text)),
        ("remove", None) => QueueChange::Deliver,
        ("popAll", _) => QueueChange::Clear,
        _ => return,
    };
    entry.pieces.push(Piece::Queue(change));
}

fn is(block: &Block<'_>, kind: &str) -> bool {
    block.kind.is_some_and(|found| found.is(kind))
}

fn media(block: &Block<'_>) -> Option<String> {
    let name = ["image", "document"].into_iter().find(|name| is(block, name))?;
    Some(placeholder(name, block.source?))
}

/// The placeholder of an image or document with this source, without brackets: its format and its
/// size before base64.
pub fn placeholder(name: &str, source: Raw<'_>) -> String {
    let format = source.text("media_type").unwrap_or_default();
    let format = format.rsplit('/').next().unwrap_or_default();
    let bytes = source.member("data").and_then(Raw::quoted).map_or(0, |data| {
        let padding = data.0.iter().rev().take(2).filter(|byte| **byte == b'=').count();
        (data.0.len() / 4 * 3).saturating_sub(padding)
    });
    let format = if format.is_empty() { "unknown" } else { format };
    if bytes == 0 {
        format!("{name}: {format}")
    } else {
        format!("{name}: {format}, {} KB", bytes.div_ceil(1024))
    }
}
