//! Parts of a tool result's text: its start, its last line, the whole.
//!
//! Bodies can be megabytes: only the part that is asked for is decoded. Invariant: what leaves here
//! stripped was looked at whole; a text in which no private part may begin needs no stripping, and
//! any other is decoded and stripped whole before a part of it is taken. Judges no words.
use std::borrow::Cow;

use memchr::memmem;

use crate::{
    text::privacy,
    transcript::{
        ToolResult,
        json::{Quoted, Raw},
    },
};

/// Raw bytes at the end of an output in which its last line is looked for at first.
const TAIL: usize = 512;
/// Raw bytes of a text that are decoded to find its first clause.
pub(super) const HEAD: usize = 4_096;
/// Raw bytes that are decoded at first: most often the clause, or a failure's line, ends in them.
const NEAR: usize = 512;
/// How a line begins that the host adds to a command's output.
const HOSTS_LINE: &str = "Shell cwd was reset to ";

/// The last line of an output that is not empty.
pub(super) fn last_line(output: Option<Raw<'_>>, hidden: &mut u32) -> String {
    let tells = |line: &&str| !line.trim().is_empty() && !line.starts_with(HOSTS_LINE);
    let last = |text: &str| text.lines().rev().find(tells).map(str::to_owned);
    let Some(output) = output else { return String::new() };
    let raw = output.quoted().map(|quoted| quoted.0);
    let Some(raw) = raw.filter(|raw| !privacy::may_hide(raw)) else {
        let text = texts(output).join("\n");
        return last(&privacy::clean(&text, hidden)).unwrap_or_default();
    };
    let mut length = TAIL;
    loop {
        let tail = tail(raw, length);
        let found = last(&Quoted(tail).decode());
        if found.is_some() || tail.len() == raw.len() {
            return found.unwrap_or_default();
        }
        length = length.saturating_mul(8);
    }
}

/// About the last `length` raw bytes of a string, cut where an escaped line ends; all of it where
/// none does.
fn tail(raw: &[u8], length: usize) -> &[u8] {
    if raw.len() <= length {
        return raw;
    }
    let near = &raw[raw.len() - length..];
    let mut from = 0;
    while let Some(found) = memmem::find(&near[from..], b"\\n") {
        let at = from + found;
        // A newline's escape, unless its backslash is itself escaped.
        let before = near[..at].iter().rev().take_while(|byte| **byte == b'\\').count();
        if before == 0 && at > 0 {
            return &near[at + 2..];
        }
        from = at + 2;
    }
    raw
}

/// The start of a result's text, privacy-stripped.
pub(super) fn head(content: Option<Raw<'_>>, hidden: &mut u32) -> String {
    if !content.is_some_and(|raw| privacy::may_hide(raw.0)) {
        return decoded(content, HEAD).into_owned();
    }
    privacy::clean(&decoded(content, usize::MAX), hidden).into_owned()
}

/// The whole text of a result, privacy-stripped. Where the host shows the model nothing, its own
/// record counts.
pub(super) fn whole_text(result: &ToolResult<'_>, hidden: &mut u32) -> String {
    let text = decoded(result.content, usize::MAX);
    let text = if text.trim().is_empty() {
        decoded(result.detail.as_ref().map(|detail| detail.raw), usize::MAX)
    } else {
        text
    };
    privacy::clean(&text, hidden).into_owned()
}

/// A few words at the start of a string; none where private text may stand anywhere in it. Its last
/// character may be cut in two, and is U+FFFD then.
pub(super) fn near(content: Option<Raw<'_>>) -> Option<Cow<'_, str>> {
    let quoted = content?.quoted().filter(|quoted| !privacy::may_hide(quoted.0))?;
    Some(Quoted(start(quoted.0, NEAR)).decode())
}

/// The texts of a content, joined; of long strings only about `bytes` at the start.
pub(super) fn decoded(content: Option<Raw<'_>>, bytes: usize) -> Cow<'_, str> {
    let Some(content) = content else { return Cow::Borrowed("") };
    match content.quoted() {
        Some(quoted) => Quoted(start(quoted.0, bytes)).decode(),
        None => Cow::Owned(texts(content).join("\n")),
    }
}

/// The first bytes of a raw string, not cut inside an escape.
fn start(raw: &[u8], bytes: usize) -> &[u8] {
    if raw.len() <= bytes {
        return raw;
    }
    let cut = memchr::memrchr(b'\\', &raw[..bytes]).filter(|at| bytes - at < 12);
    let cut = cut.unwrap_or(bytes);
    let escapes = raw[..cut].iter().rev().take_while(|byte| **byte == b'\\').count();
    &raw[..cut - escapes]
}

/// The decoded texts of a content: a string, or a list of text blocks.
pub(super) fn texts(content: Raw<'_>) -> Vec<Cow<'_, str>> {
    if let Some(quoted) = content.quoted() {
        return vec![quoted.decode()];
    }
    content
        .elements()
        .into_iter()
        .filter_map(|block| block.quoted().map(Quoted::decode).or_else(|| block.text("text")))
        .collect()
}
