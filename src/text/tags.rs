//! Finds the tags that privacy acts on. Pure.
//!
//! A tag is `<name …>` or `</name>` with the name directly after the `<`, in any case, and white
//! space, `/` or `>` directly after the name. An opening tag ends at the first `>`, whatever stands
//! before it, so that an odd attribute cannot disarm it. `<name/>` opens nothing.
//! Each byte is looked at a bounded number of times.

use std::ops::Range;

/// The names, `private` first.
pub(super) const NAMES: [&str; 6] = [
    "private",
    "claude-mem-context",
    "system_instruction",
    "system-instruction",
    "persisted-output",
    "system-reminder",
];

/// The index of `private` in [`NAMES`].
pub(super) const PRIVATE: usize = 0;

/// One opening or closing tag.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Tag {
    /// The index in [`NAMES`].
    pub(super) name: usize,
    pub(super) opens: bool,
    /// From its `<` to after its `>`.
    pub(super) range: Range<usize>,
}

/// All tags of a text, in order.
pub(super) fn tags(text: &str) -> Vec<Tag> {
    let mut ends = Ends { text, next: 0 };
    let mut found: Vec<Tag> = Vec::new();
    for start in memchr::memchr_iter(b'<', text.as_bytes()) {
        match tag(text, start, &mut ends) {
            Some(tag) if !is_attribute_value(text, found.last(), &tag) => found.push(tag),
            _ => {}
        }
    }
    found
}

fn tag(text: &str, start: usize, ends: &mut Ends<'_>) -> Option<Tag> {
    let opens = text.as_bytes().get(start + 1) != Some(&b'/');
    let at = start + 1 + usize::from(!opens);
    let name = name_at(text, at)?;
    let after = at + NAMES[name].len();
    let end = if opens { opening_end(text, after, ends)? } else { closing_end(text, after)? };
    Some(Tag { name, opens, range: start..end })
}

fn name_at(text: &str, at: usize) -> Option<usize> {
    let rest = &text.as_bytes()[at..];
    let is_here = |name: &&str| {
        rest.get(..name.len()).is_some_and(|head| head.eq_ignore_ascii_case(name.as_bytes()))
    };
    NAMES.iter().position(is_here)
}

fn opening_end(text: &str, after: usize, ends: &mut Ends<'_>) -> Option<usize> {
    let first = text[after..].chars().next()?;
    if !(first == '>' || first == '/' || first.is_whitespace()) {
        return None;
    }
    let end = ends.from(after)?;
    (!is_self_closing(text, after, end)).then_some(end + 1)
}

/// A slash that ends an unquoted value (`path=/`) closes nothing.
fn is_self_closing(text: &str, after: usize, end: usize) -> bool {
    let attributes = &text.as_bytes()[after..end];
    match attributes {
        [.., before, b'/'] => before.is_ascii_whitespace() || matches!(before, b'"' | b'\''),
        [b'/'] => true,
        _ => false,
    }
}

fn closing_end(text: &str, after: usize) -> Option<usize> {
    let rest = text[after..].trim_start();
    rest.starts_with('>').then(|| text.len() - rest.len() + 1)
}

/// Whether a closing tag stands inside a quoted attribute of the opening tag before it, as in
/// `<private reason="</private>">`: such a one closes nothing.
fn is_attribute_value(text: &str, before: Option<&Tag>, tag: &Tag) -> bool {
    let Some(opening) = before.filter(|before| before.opens && !tag.opens) else {
        return false;
    };
    if opening.range.end < tag.range.end {
        return false;
    }
    let attributes = &text[opening.range.start..tag.range.start];
    let value = attributes.rsplit('=').next().unwrap_or_default();
    let quote = value.chars().next().filter(|quote| "\"'".contains(*quote));
    attributes.contains('=') && quote.is_some_and(|quote| !value[1..].contains(quote))
}

/// The next `>` at or after a position; positions only grow, so a text is searched once.
struct Ends<'a> {
    text: &'a str,
    next: usize,
}

impl Ends<'_> {
    fn from(&mut self, at: usize) -> Option<usize> {
        if self.next < at {
            let found = memchr::memchr(b'>', &self.text.as_bytes()[at..]);
            self.next = found.map_or(usize::MAX, |offset| at + offset);
        }
        (self.next != usize::MAX).then_some(self.next)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &[&str]) {
        let found: Vec<_> = tags(text).into_iter().map(|tag| tag.range).collect();
        let found: Vec<_> = found.into_iter().map(|range| &text[range]).collect();
        assert_eq!(found, expected, "{text:?}");
    }

    #[test]
    fn a_tag_is_a_known_name_and_its_end() {
        check("<private>", &["<private>"]);
        check("a<PRIVATE\n>b</Private >", &["<PRIVATE\n>", "</Private >"]);
        check("<private reason=\"x\">", &["<private reason=\"x\">"]);
        check("<private\u{a0}>", &["<private\u{a0}>"]);
        check("<private path=/>", &["<private path=/>"]);
        check("<system-reminder><b>", &["<system-reminder>"]);
    }

    #[test]
    fn what_only_resembles_a_tag_is_none() {
        for text in [
            "< private>",
            "<privateer>",
            "<private/>",
            "<private />",
            "<private a=\"b\"/>",
            "<private",
            "<private reason",
            "<pri\u{200b}vate>",
            "<private\u{200b}>",
            "</ private>",
            "</private x>",
            "<private_key>",
            "<private`>",
            "<",
            "</",
        ] {
            check(text, &[]);
        }
    }

    #[test]
    fn a_tag_inside_an_unfinished_tag_counts() {
        check("<private <private>", &["<private <private>", "<private>"]);
        check("<private a</private>", &["<private a</private>", "</private>"]);
        check("<private a=\"</private>\">", &["<private a=\"</private>"]);
    }
}
