//! Where in a text something goes, and what has to go with it: commas and blanks.
//!
//! Pure. Invariant: putting something behind the last item and taking it out again gives the same
//! text, unless there was no item. A comment is never cut, nor joined with what follows it.

use std::ops::Range;

use super::{
    super::jsonc::{Kind, Node, gap},
    write::{New, Style, indent_at},
};

/// Spans of a text and what takes their place, in order.
#[derive(Debug, Default)]
pub(super) struct Change(Vec<(Range<usize>, String)>);

impl Change {
    pub(super) fn replace(span: Range<usize>, with: String) -> Self {
        Self(vec![(span, with)])
    }

    pub(super) fn applied(mut self, text: &str) -> String {
        self.0.sort_by_key(|(span, _)| (span.start, span.end));
        let (mut changed, mut at) = (String::new(), 0);
        for (span, with) in self.0 {
            changed.push_str(&text[at..span.start.max(at)]);
            changed.push_str(&with);
            at = span.end.max(at);
        }
        changed + &text[at..]
    }
}

/// An object or a list.
pub(super) struct Container<'a> {
    pub(super) node: &'a Node,
    /// Its items stand on lines of their own.
    pub(super) is_tall: bool,
}

impl<'a> Container<'a> {
    /// `is_tall` says how it is where it has no item that shows it.
    pub(super) fn new(text: &str, node: &'a Node, is_tall: bool) -> Self {
        let mut container = Self { node, is_tall };
        let first = container.spans().first().map(|first| first.start);
        let inside = node.span.start + 1..first.unwrap_or(node.span.end - 1);
        let has_newline = text[inside].contains('\n');
        container.is_tall = has_newline || (first.is_none() && is_tall);
        container
    }

    /// Where its items are.
    pub(super) fn spans(&self) -> Vec<Range<usize>> {
        match &self.node.kind {
            Kind::Object(members) => members.iter().map(|member| member.span.clone()).collect(),
            Kind::List(items) => items.iter().map(|item| item.span.clone()).collect(),
            Kind::Text(_) | Kind::Plain => Vec::new(),
        }
    }
}

/// Puts an item behind the last one.
pub(super) fn insertion(
    text: &str,
    container: &Container<'_>,
    style: &Style,
    new: &New<'_>,
) -> Change {
    let (open, close) = (container.node.span.start, container.node.span.end - 1);
    let spans = container.spans();
    let from = spans.last().map_or(open + 1, |last| last.end);
    let behind = gap(text, from);
    let at = behind.end(from);
    let is_tall = container.is_tall || behind.is_open_at(at);
    let closing = indent_at(text, open);
    let indent = match spans.first() {
        Some(first) if container.is_tall => indent_at(text, first.start),
        _ => closing.clone() + &style.unit,
    };
    let newline = |indent: &str| format!("{}{indent}", style.newline);
    let item = new.to_text(style, is_tall.then(|| indent.clone()));
    let before = if is_tall { newline(&indent) } else { " ".to_owned() };
    match (spans.is_empty(), behind.comma) {
        (true, _) if !is_tall => Change::replace(at..at, item),
        (true, _) if text[at..close].contains('\n') => Change::replace(at..at, before + &item),
        (true, _) => Change::replace(at..close, before + &item + &newline(&closing)),
        (false, Some(_)) => Change::replace(at..at, format!("{before}{item},")),
        (false, None) if at == from => Change::replace(at..at, format!(",{before}{item}")),
        (false, None) => Change(vec![(from..from, ",".to_owned()), (at..at, before + &item)]),
    }
}

/// Takes out the item at this span.
pub(super) fn removal(text: &str, container: &Container<'_>, item: &Range<usize>) -> Change {
    let spans = container.spans();
    let inside = container.node.span.start + 1..container.node.span.end - 1;
    let index = spans.iter().position(|span| span == item).unwrap_or_default();
    let from = index.checked_sub(1).map_or(inside.start, |index| spans[index].end);
    let (before, behind) = (gap(text, from), gap(text, item.end));
    let blank_from = before.end(from);
    let is_bare = before.comments.is_none() && behind.comments.is_none();
    if spans.len() == 1 && is_bare {
        return Change::replace(inside, String::new());
    }
    let rest = if behind.comma == Some(item.end) { item.end + 1 } else { item.end };
    let ends_line = text[rest..].starts_with(['\r', '\n']);
    let is_open = before.is_open_at(blank_from) && !ends_line;
    let start = if is_open { item.start } else { blank_from };
    let mut change = Change::replace(start..item.end, String::new());
    let comma = behind.comma.or(before.comma);
    change.0.extend(comma.map(|comma| (comma..comma + 1, String::new())));
    change
}

/// Whether there are comments in a span, but outside of one inside.
pub(super) fn has_comments(text: &str, span: &Range<usize>, inside: &Range<usize>) -> bool {
    comments(&text[span.clone()]) > comments(&text[inside.clone()])
}

/// How many comments there are, in a text that begins outside of strings.
fn comments(text: &str) -> usize {
    let bytes = text.as_bytes();
    let (mut at, mut count, mut is_text) = (0, 0, false);
    while at < bytes.len() {
        match bytes[at] {
            b'\\' if is_text => at += 1,
            b'"' => is_text = !is_text,
            b'/' if !is_text => {
                count += 1;
                at = gap(text, at).comments.unwrap_or(bytes.len()) - 1;
            }
            _ => {}
        }
        at += 1;
    }
    count
}
