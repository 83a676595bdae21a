//! Bytes to records: lines, damage, lone surrogates.

use serde_json::Value;

/// One JSON object of the file.
pub(super) struct Record {
    /// Physical line, from 1. Two records glued on one line share it.
    pub(super) row: usize,
    pub(super) value: Value,
}

/// All records, and the number of lines that hold something besides whole records (text that is
/// not JSON, a cut record, a JSON value that is not an object). A last line without newline counts
/// if it is whole; otherwise it waits, and is neither read nor counted.
pub(super) fn records(bytes: &[u8]) -> (Vec<Record>, usize) {
    let mut records = Vec::new();
    let mut unreadable = 0;
    let pieces: Vec<&[u8]> = bytes.split(|byte| *byte == b'\n').collect();
    for (index, piece) in pieces.iter().enumerate() {
        let text = String::from_utf8_lossy(piece);
        let text = repaired(text.trim_start_matches('\u{feff}').trim_matches(is_filler));
        if text.is_empty() {
            continue;
        }
        let (values, whole) = values(&text);
        let unfinished = index + 1 == pieces.len();
        if unfinished && !whole {
            continue;
        }
        unreadable += usize::from(!whole);
        records.extend(values.into_iter().map(|value| Record { row: index + 1, value }));
    }
    (records, unreadable)
}

/// What may stand before, between and after records.
fn is_filler(character: char) -> bool {
    matches!(character, '\0' | '\r' | ' ' | '\t' | '\u{feff}')
}

/// The records of one line, and whether the line holds nothing else.
///
/// A record in its place (at the start, or right after another one) is taken as it is. After
/// damage, a later `{"` is a record only if it parses, has a `type`, and is followed by the end of
/// the line or by another `{`: an object nested in a cut record is followed by `,`, `]` or `}`.
fn values(text: &str) -> (Vec<Value>, bool) {
    let mut values = Vec::new();
    let mut whole = true;
    let mut searching = false;
    let mut rest = text;
    while !rest.is_empty() {
        if let Some((value, after)) = object(rest) {
            let fits = after.is_empty() || after.starts_with('{');
            if !searching || (value["type"].is_string() && fits) {
                values.push(value);
                rest = after;
                searching = false;
                continue;
            }
        }
        whole = false;
        searching = true;
        let next = rest.char_indices().skip(1).map(|(at, _)| at);
        let next = next.into_iter().find(|at| rest[*at..].starts_with("{\""));
        rest = next.map_or("", |at| &rest[at..]);
    }
    (values, whole)
}

/// One object at the start of `text`, and what follows it.
fn object(text: &str) -> Option<(Value, &str)> {
    if !text.starts_with('{') {
        return None;
    }
    let mut stream = serde_json::Deserializer::from_str(text).into_iter::<Value>();
    let value = stream.next()?.ok()?;
    Some((value, text[stream.byte_offset()..].trim_start_matches(is_filler)))
}

/// Replaces each `\u` escape of a surrogate that has no partner by `\ufffd`.
fn repaired(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('\\') {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        let take = match escape(rest) {
            Some(0xd800..=0xdbff)
                if matches!(rest.get(6..).and_then(escape), Some(0xdc00..=0xdfff)) =>
            {
                out.push_str(&rest[..12]);
                12
            }
            Some(0xd800..=0xdfff) => {
                out.push_str("\\ufffd");
                6
            }
            _ => {
                let take = 1 + rest[1..].chars().next().map_or(0, char::len_utf8);
                out.push_str(&rest[..take]);
                take
            }
        };
        rest = &rest[take..];
    }
    out.push_str(rest);
    out
}

/// The code unit of a `\uXXXX` escape at the start of `text`.
fn escape(text: &str) -> Option<u32> {
    let digits = text.strip_prefix("\\u")?.get(..4)?;
    digits.bytes().all(|byte| byte.is_ascii_hexdigit()).then_some(())?;
    u32::from_str_radix(digits, 16).ok()
}
