//! The fields of a row of Claude Code that matter, as they stand in the file.
//!
//! A row is walked over once. Values stay raw, since what they mean depends on the type, which may
//! stand behind them. A key that is escaped is known all the same; unknown ones are inert; where a key
//! stands twice the last one counts.
use crate::transcript::{
    Detail,
    json::{Broken, Cursor, Members, Quoted, Raw},
};

/// The fields of a row that matter.
#[derive(Default)]
pub(super) struct Row<'a> {
    pub(super) kind: Option<Quoted<'a>>,
    pub(super) subtype: Option<Quoted<'a>>,
    pub(super) uuid: Option<Quoted<'a>>,
    pub(super) parent: Option<Quoted<'a>>,
    pub(super) timestamp: Option<Quoted<'a>>,
    pub(super) session: Option<Quoted<'a>>,
    pub(super) folder: Option<Quoted<'a>>,
    pub(super) version: Option<Quoted<'a>>,
    pub(super) sidechain: Option<bool>,
    pub(super) agent: bool,
    pub(super) meta: bool,
    pub(super) summary: bool,
    pub(super) api_error: bool,
    pub(super) message: Message<'a>,
    pub(super) attachment: Option<Raw<'a>>,
    pub(super) result: Option<Detail<'a>>,
    pub(super) operation: Option<Quoted<'a>>,
    pub(super) content: Option<Raw<'a>>,
    pub(super) origin: Option<Raw<'a>>,
    pub(super) compact: Option<Raw<'a>>,
    pub(super) denial: Option<Quoted<'a>>,
    pub(super) feedback: Option<Quoted<'a>>,
    pub(super) prompt: Option<Quoted<'a>>,
    pub(super) forked: bool,
}

#[derive(Default)]
pub(super) struct Message<'a> {
    pub(super) id: Option<Quoted<'a>>,
    pub(super) model: Option<Quoted<'a>>,
    pub(super) usage: Option<u64>,
    pub(super) content: Content<'a>,
}

#[derive(Default)]
pub(super) enum Content<'a> {
    #[default]
    None,
    Text(Quoted<'a>),
    Blocks(Vec<Block<'a>>),
}

/// A content block of a message.
#[derive(Default)]
pub(super) struct Block<'a> {
    pub(super) kind: Option<Quoted<'a>>,
    pub(super) text: Option<Quoted<'a>>,
    pub(super) id: Option<Quoted<'a>>,
    pub(super) name: Option<Quoted<'a>>,
    pub(super) input: Members<'a>,
    pub(super) call: Option<Quoted<'a>>,
    pub(super) content: Option<Raw<'a>>,
    pub(super) source: Option<Raw<'a>>,
    pub(super) failed: bool,
}

pub(super) fn field<'a>(
    row: &mut Row<'a>,
    key: Quoted<'a>,
    cursor: &mut Cursor<'a>,
) -> Result<(), Broken> {
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
        b"toolUseResult" => {
            let (raw, members) = cursor.raw_members()?;
            row.result = Some(Detail { raw, members });
        }
        b"operation" => row.operation = cursor.string()?,
        b"content" => row.content = Some(cursor.raw()?),
        b"origin" => row.origin = Some(cursor.raw()?),
        b"compactMetadata" => row.compact = Some(cursor.raw()?),
        b"toolDenialKind" => row.denial = cursor.string()?,
        b"userFeedback" => row.feedback = cursor.string()?,
        b"promptId" => row.prompt = cursor.string()?,
        b"forkedFrom" => row.forked = cursor.raw()?.0 != b"null",
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
        "userFeedback",
        "promptId",
        "forkedFrom",
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
        b"usage" => message.usage = context(cursor)?,
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

/// Tokens in the model's context after a reply: all that went in, and what came out.
fn context(usage: &mut Cursor<'_>) -> Result<Option<u64>, Broken> {
    let mut sum = 0_u64;
    usage.members(|key, cursor| {
        match key.0 {
            b"input_tokens"
            | b"cache_creation_input_tokens"
            | b"cache_read_input_tokens"
            | b"output_tokens" => sum = sum.saturating_add(cursor.raw()?.number().unwrap_or(0)),
            _ => cursor.skip()?,
        }
        Ok(())
    })?;
    Ok((sum > 0).then_some(sum))
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

pub(super) fn block<'a>(cursor: &mut Cursor<'a>) -> Result<Block<'a>, Broken> {
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
        b"input" => block.input = cursor.raw_members()?.1,
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
