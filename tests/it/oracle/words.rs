//! What happens to every text: the privacy rule, then the normal form of `bottle.md`.

use std::ops::Range;

/// Removed as complete pairs only.
const PAIRS: [&str; 5] = [
    "claude-mem-context",
    "system_instruction",
    "system-instruction",
    "persisted-output",
    "system-reminder",
];

/// CRLF and lone CR become LF; C0 controls but tab and newline become their pictures, DEL `␡`, C1
/// U+FFFD. The privacy rule is not part of it.
pub(crate) fn normalised(text: &str) -> String {
    let text = text.replace("\r\n", "\n").replace('\r', "\n");
    let picture = |character: char| match character {
        '\t' | '\n' => character,
        '\0'..='\u{1f}' => char::from_u32(0x2400 + u32::from(character)).expect("a picture"),
        '\u{7f}' => '␡',
        '\u{80}'..='\u{9f}' => '\u{fffd}',
        other => other,
    };
    text.chars().map(picture).collect()
}

/// The text without its private parts, and whether anything was taken away.
///
/// `<private>` pairs go wherever they stand, code spans included; the innermost opener owns a
/// closer. An opener that stays open hides the rest, unless it stands in a code span. The other
/// tags go as complete pairs. All names match in any case and with attributes. Repeated until
/// nothing is left to remove, so that a removal cannot build a new tag.
pub(super) fn without_private(text: &str) -> (String, bool) {
    let mut text = text.to_owned();
    let mut removed = false;
    loop {
        let mut ranges = private_ranges(&text);
        if ranges.is_empty() {
            ranges = PAIRS.iter().flat_map(|name| pairs(&text, name).0).collect();
        }
        if ranges.is_empty() {
            return (text, removed);
        }
        text = cut(&text, &ranges);
        removed = true;
    }
}

fn private_ranges(text: &str) -> Vec<Range<usize>> {
    let (mut ranges, open) = pairs(text, "private");
    let code = code_spans(text);
    let hides = |at: &usize| !code.iter().any(|span| span.contains(at));
    if let Some(at) = open.into_iter().find(hides) {
        ranges.push(at..text.len());
    }
    ranges
}

/// Complete pairs of one tag, and the openers that have no closer.
fn pairs(text: &str, name: &str) -> (Vec<Range<usize>>, Vec<usize>) {
    let mut found = Vec::new();
    let mut open = Vec::new();
    let mut from = 0;
    while let Some(at) = text[from..].find('<').map(|at| at + from) {
        from = at + 1;
        match tag(&text[at..], name) {
            Some((Kind::Open, _)) => open.push(at),
            Some((Kind::Empty, length)) => found.push(at..at + length),
            Some((Kind::Close, length)) => {
                if let Some(start) = open.pop() {
                    found.push(start..at + length);
                }
            }
            None => {}
        }
    }
    (found, open)
}

enum Kind {
    Open,
    Close,
    Empty,
}

/// The tag `name` at the start of `text`, and its length. Attributes may hold quoted `<` and `>`.
fn tag(text: &str, name: &str) -> Option<(Kind, usize)> {
    let body = text.strip_prefix('<')?;
    let closing = body.starts_with('/');
    let body = body.strip_prefix('/').unwrap_or(body);
    if !body.get(..name.len())?.eq_ignore_ascii_case(name) {
        return None;
    }
    let attributes = &body[name.len()..];
    let next = attributes.chars().next()?;
    if next != '>' && next != '/' && !next.is_whitespace() {
        return None;
    }
    let end = tag_end(attributes, true).or_else(|| tag_end(attributes, false))?;
    let length = text.len() - attributes.len() + end + 1;
    let kind = match (closing, attributes[..end].ends_with('/')) {
        (true, _) => Kind::Close,
        (false, true) => Kind::Empty,
        (false, false) => Kind::Open,
    };
    Some((kind, length))
}

/// Where the `>` of a tag stands. A `<` outside quotes shows that it is no tag.
fn tag_end(attributes: &str, honour_quotes: bool) -> Option<usize> {
    let mut quote = None;
    for (at, character) in attributes.char_indices() {
        match (quote, character) {
            (Some(open), _) if open == character => quote = None,
            (Some(_), _) => {}
            (None, '"' | '\'') if honour_quotes => quote = Some(character),
            (None, '>') => return Some(at),
            (None, '<') => return None,
            (None, _) => {}
        }
    }
    None
}

/// Fenced blocks, and backtick runs closed by a run of the same length before a blank line.
fn code_spans(text: &str) -> Vec<Range<usize>> {
    let mut spans = Vec::new();
    let mut plain = 0;
    let mut fence: Option<(usize, char, usize)> = None;
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let (mark, length) = fence_mark(line);
        match fence {
            None if length >= 3 => {
                inline_spans(text, plain..at, &mut spans);
                fence = Some((at, mark, length));
            }
            Some((start, open, size)) if mark == open && length >= size => {
                spans.push(start..at + line.len());
                plain = at + line.len();
                fence = None;
            }
            _ => {}
        }
        at += line.len();
    }
    match fence {
        Some((start, ..)) => spans.push(start..text.len()),
        None => inline_spans(text, plain..text.len(), &mut spans),
    }
    spans
}

fn fence_mark(line: &str) -> (char, usize) {
    let body = line.trim_start_matches(' ');
    let mark = body.chars().next().filter(|mark| "`~".contains(*mark)).unwrap_or(' ');
    let length = body.chars().take_while(|character| *character == mark).count();
    if mark == ' ' || line.len() - body.len() > 3 { (' ', 0) } else { (mark, length) }
}

fn inline_spans(text: &str, range: Range<usize>, spans: &mut Vec<Range<usize>>) {
    let run = |at: usize| text[at..range.end].bytes().take_while(|byte| *byte == b'`').count();
    let mut at = range.start;
    while let Some(start) = text[at..range.end].find('`').map(|found| found + at) {
        let size = run(start);
        let paragraph = text[start..range.end].find("\n\n").map_or(range.end, |end| start + end);
        let mut close = start + size;
        let mut found = None;
        while let Some(next) = text[close..paragraph.max(close)].find('`').map(|n| n + close) {
            close = next + run(next);
            if close - next == size {
                found = Some(close);
                break;
            }
        }
        if let Some(end) = found {
            spans.push(start..end);
        }
        at = found.unwrap_or(start + size);
    }
}

fn cut(text: &str, ranges: &[Range<usize>]) -> String {
    let gone = |at: &usize| ranges.iter().any(|range| range.contains(at));
    text.char_indices().filter(|(at, _)| !gone(at)).map(|(_, character)| character).collect()
}
