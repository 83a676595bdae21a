//! The dialect of Claude Code: which rows are conversation, and what they say.
//!
//! Observed on versions 1.0 to 2.1.332. Only `user`, `assistant`, `system`, `attachment` and
//! `queue-operation` rows can be conversation; all others, and all unknown fields, are inert.
//! Rows are told apart by the fields that say what they are, and texts by whole envelopes, never
//! by a part of their words.
//!
//! A row is walked over once; its message stays raw until its type is known, since the type may
//! stand after it.

mod commands;
mod input;
pub mod outcome;
mod words;

use std::borrow::Cow;

use super::{
    About, Chain, Entry, Label, Opens, Piece, QueueChange, RowId, ToolResult,
    json::{Broken, Cursor, Quoted, Raw},
    message_key,
    tool::Tool,
};
use crate::text::time;

/// The fields of a row that matter.
#[derive(Default)]
struct Row<'a> {
    kind: Option<Quoted<'a>>,
    subtype: Option<Quoted<'a>>,
    uuid: Option<Quoted<'a>>,
    parent: Option<Quoted<'a>>,
    timestamp: Option<Quoted<'a>>,
    session: Option<Quoted<'a>>,
    folder: Option<Quoted<'a>>,
    version: Option<Quoted<'a>>,
    sidechain: Option<bool>,
    agent: bool,
    meta: bool,
    summary: bool,
    api_error: bool,
    message: Message<'a>,
    attachment: Option<Raw<'a>>,
    result: Option<Raw<'a>>,
    operation: Option<Quoted<'a>>,
    content: Option<Raw<'a>>,
    origin: Option<Raw<'a>>,
    compact: Option<Raw<'a>>,
    denial: Option<Quoted<'a>>,
}

#[derive(Default)]
struct Message<'a> {
    id: Option<Quoted<'a>>,
    model: Option<Quoted<'a>>,
    usage: Option<Raw<'a>>,
    content: Content<'a>,
}

#[derive(Default)]
enum Content<'a> {
    #[default]
    None,
    Text(Quoted<'a>),
    Blocks(Vec<Block<'a>>),
}

/// A content block of a message.
#[derive(Default)]
struct Block<'a> {
    kind: Option<Quoted<'a>>,
    text: Option<Quoted<'a>>,
    id: Option<Quoted<'a>>,
    name: Option<Quoted<'a>>,
    input: Option<Raw<'a>>,
    call: Option<Quoted<'a>>,
    content: Option<Raw<'a>>,
    source: Option<Raw<'a>>,
    failed: bool,
}

/// Parses one record. The cursor stands behind it afterwards.
///
/// # Errors
/// Where the text is no whole JSON object.
pub fn parse<'a>(cursor: &mut Cursor<'a>) -> Result<Entry<'a>, Broken> {
    let mut row = Row::default();
    cursor.members(|key, cursor| field(&mut row, key, cursor))?;
    Ok(entry(&row))
}

fn field<'a>(row: &mut Row<'a>, key: Quoted<'a>, cursor: &mut Cursor<'a>) -> Result<(), Broken> {
    match key.0 {
        b"type" => row.kind = cursor.string()?,
        b"subtype" => row.subtype = cursor.string()?,
        b"uuid" => row.uuid = cursor.string()?,
        b"parentUuid" => row.parent = cursor.string()?,
        b"timestamp" => row.timestamp = cursor.string()?,
        b"sessionId" => row.session = cursor.string()?,
        b"cwd" => row.folder = cursor.string()?,
        b"version" => row.version = cursor.string()?,
        b"isSidechain" => row.sidechain = Some(cursor.flag()?),
        b"agentId" => row.agent = cursor.string()?.is_some(),
        b"isMeta" => row.meta = cursor.flag()?,
        b"isCompactSummary" | b"isVisibleInTranscriptOnly" => row.summary |= cursor.flag()?,
        b"isApiErrorMessage" => row.api_error = cursor.flag()?,
        b"message" => row.message = message(cursor)?,
        b"attachment" => row.attachment = Some(cursor.raw()?),
        b"toolUseResult" => row.result = Some(cursor.raw()?),
        b"operation" => row.operation = cursor.string()?,
        b"content" => row.content = Some(cursor.raw()?),
        b"origin" => row.origin = Some(cursor.raw()?),
        b"compactMetadata" => row.compact = Some(cursor.raw()?),
        b"toolDenialKind" => row.denial = cursor.string()?,
        name if name.contains(&b'\\') => {
            let decoded = key.decode();
            return match plain_key(&decoded) {
                Some(known) => field(row, known, cursor),
                None => cursor.skip(),
            };
        }
        _ => cursor.skip()?,
    }
    Ok(())
}

/// The known key that an escaped one means.
fn plain_key(decoded: &str) -> Option<Quoted<'static>> {
    const KEYS: &[&str] = &[
        "type",
        "subtype",
        "uuid",
        "parentUuid",
        "timestamp",
        "sessionId",
        "cwd",
        "version",
        "isSidechain",
        "agentId",
        "isMeta",
        "isCompactSummary",
        "isVisibleInTranscriptOnly",
        "isApiErrorMessage",
        "message",
        "attachment",
        "toolUseResult",
        "operation",
        "content",
        "origin",
        "compactMetadata",
        "toolDenialKind",
        "id",
        "model",
        "usage",
        "text",
        "name",
        "input",
        "tool_use_id",
        "source",
        "is_error",
    ];
    KEYS.iter().find(|key| **key == decoded).map(|key| Quoted(key.as_bytes()))
}

fn message<'a>(cursor: &mut Cursor<'a>) -> Result<Message<'a>, Broken> {
    let mut message = Message::default();
    cursor.members(|key, cursor| message_field(&mut message, key, cursor))?;
    Ok(message)
}

fn message_field<'a>(
    message: &mut Message<'a>,
    key: Quoted<'a>,
    cursor: &mut Cursor<'a>,
) -> Result<(), Broken> {
    match key.0 {
        b"id" => message.id = cursor.string()?,
        b"model" => message.model = cursor.string()?,
        b"usage" => message.usage = Some(cursor.raw()?),
        b"content" => message.content = content(cursor)?,
        name if name.contains(&b'\\') => {
            return match plain_key(&key.decode()) {
                Some(known) => message_field(message, known, cursor),
                None => cursor.skip(),
            };
        }
        _ => cursor.skip()?,
    }
    Ok(())
}

fn content<'a>(cursor: &mut Cursor<'a>) -> Result<Content<'a>, Broken> {
    match cursor.peek() {
        Some(b'"') => Ok(cursor.string()?.map_or(Content::None, Content::Text)),
        Some(b'[') => {
            let mut blocks = Vec::new();
            cursor.elements(|cursor| {
                blocks.push(block(cursor)?);
                Ok(())
            })?;
            Ok(Content::Blocks(blocks))
        }
        _ => cursor.skip().map(|()| Content::None),
    }
}

fn block<'a>(cursor: &mut Cursor<'a>) -> Result<Block<'a>, Broken> {
    let mut block = Block::default();
    cursor.members(|key, cursor| block_field(&mut block, key, cursor))?;
    Ok(block)
}

fn block_field<'a>(
    block: &mut Block<'a>,
    key: Quoted<'a>,
    cursor: &mut Cursor<'a>,
) -> Result<(), Broken> {
    match key.0 {
        b"type" => block.kind = cursor.string()?,
        b"text" => block.text = cursor.string()?,
        b"id" => block.id = cursor.string()?,
        b"name" => block.name = cursor.string()?,
        b"input" => block.input = Some(cursor.raw()?),
        b"tool_use_id" => block.call = cursor.string()?,
        b"content" => block.content = Some(cursor.raw()?),
        b"source" => block.source = Some(cursor.raw()?),
        b"is_error" => block.failed = cursor.flag()?,
        name if name.contains(&b'\\') => {
            return match plain_key(&key.decode()) {
                Some(known) => block_field(block, known, cursor),
                None => cursor.skip(),
            };
        }
        _ => cursor.skip()?,
    }
    Ok(())
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
            ..About::default()
        },
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
    let Some(kind) = row.kind else { return Cow::Borrowed("") };
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
        content: block.content,
        detail: row.result,
    }
}

fn assistant<'a>(row: &Row<'a>, entry: &mut Entry<'a>) {
    // Without a message id a row is a message of its own.
    let message = message_key(row.message.id.or(row.uuid));
    if !row.api_error {
        entry.about.model = row.message.model.filter(|model| !model.is("<synthetic>"));
        if entry.about.model.is_some() {
            entry.about.context = row.message.usage.and_then(context);
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
                    call(block, message, entry);
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

fn call<'a>(block: &Block<'a>, message: u64, entry: &mut Entry<'a>) {
    let name = block.name.map_or(Cow::Borrowed(""), Quoted::decode);
    let input = block.input.unwrap_or(Raw(b"{}"));
    let tool = input::tool(&name, input, &mut entry.hidden);
    let name = input::shown_name(name);
    let id = block.id.map_or(Cow::Borrowed(""), Quoted::decode);
    let (texts, label) = match tool {
        Tool::Plan => (input.text("plan").into_iter().collect(), Label::Plan),
        Tool::Question => (input::questions(input), Label::Question),
        _ => (Vec::new(), Label::None),
    };
    for text in texts {
        entry.pieces.push(Piece::Speech { text, label: label.clone(), message });
    }
    entry.pieces.push(Piece::Call { id, name, tool });
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

fn queue<'a>(row: &Row<'a>, entry: &mut Entry<'a>) {
    let Some(operation) = row.operation else { return };
    let text = row.content.and_then(Raw::quoted).map(Quoted::decode);
    let change = match (operation.decode().as_ref(), text) {
        ("enqueue", text) => QueueChange::Add(text.and_then(words::typed)),
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

/// The placeholder of an image or document: its format and its size before base64.
fn media(block: &Block<'_>) -> Option<String> {
    let name = ["image", "document"].into_iter().find(|name| is(block, name))?;
    let source = block.source?;
    let format = source.text("media_type").unwrap_or_default();
    let format = format.rsplit('/').next().unwrap_or_default();
    let bytes = source.member("data").and_then(Raw::quoted).map_or(0, |data| data.0.len() / 4 * 3);
    let format = if format.is_empty() { "unknown" } else { format };
    Some(if bytes == 0 {
        format!("{name}: {format}")
    } else {
        format!("{name}: {format}, {} KB", bytes.div_ceil(1024))
    })
}

/// Tokens in the model's context after a reply: all that went in, and what came out.
fn context(usage: Raw<'_>) -> Option<u64> {
    const PARTS: [&str; 4] =
        ["input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens", "output_tokens"];
    let mut sum = 0_u64;
    usage
        .cursor()
        .members(|key, cursor| {
            let value = cursor.raw()?;
            if PARTS.iter().any(|part| key.is(part)) {
                sum = sum.saturating_add(value.number().unwrap_or(0));
            }
            Ok(())
        })
        .ok()?;
    (sum > 0).then_some(sum)
}
