//! Decides which parts of a text one round of privacy removes. Pure.
//!
//! Closing tags take the nearest opening of their name, so nesting is counted; pairs that overlap
//! go as one. Where tags do not nest well, more is removed rather than less. Tested through
//! [`super::privacy`]; it removes nothing itself.

use std::ops::Range;

use super::code::Code;
use super::tags::{self, NAMES, PRIVATE};

/// What one round removes: sorted, disjoint, never empty ranges.
pub(super) fn hidden(text: &str) -> Vec<Range<usize>> {
    let tags = tags::tags(text);
    if tags.is_empty() {
        return Vec::new();
    }
    let code = Code::of(text);
    let mut open: [Openings; NAMES.len()] = Default::default();
    let mut pairs = Vec::new();
    for tag in tags {
        let in_code = code.holds(&tag.range);
        if tag.opens {
            let start = tag.range.start;
            open[tag.name].0.push(Opening { start, in_code });
        } else if let Some(start) = open[tag.name].close(tag.name == PRIVATE, in_code) {
            pairs.push(start..tag.range.end);
        }
    }
    with_unclosed(merged(pairs), &open[PRIVATE], text.len())
}

#[derive(Clone, Copy)]
struct Opening {
    start: usize,
    in_code: bool,
}

/// The opening tags of one name that are not closed yet, the innermost last.
#[derive(Default)]
struct Openings(Vec<Opening>);

impl Openings {
    /// Takes the opening that a closing tag belongs to; its start, if the pair is to be removed.
    fn close(&mut self, is_private: bool, in_code: bool) -> Option<usize> {
        if !is_private && !in_code {
            self.forget_mentions();
        }
        let opening = self.0.pop()?;
        (is_private || !opening.in_code).then_some(opening.start)
    }

    /// A mention in code is no partner for a closing tag outside code.
    fn forget_mentions(&mut self) {
        while self.0.last().is_some_and(|opening| opening.in_code) {
            self.0.pop();
        }
    }
}

fn merged(mut pairs: Vec<Range<usize>>) -> Vec<Range<usize>> {
    pairs.sort_unstable_by_key(|pair| pair.start);
    let mut merged: Vec<Range<usize>> = Vec::new();
    for pair in pairs {
        match merged.last_mut() {
            Some(last) if pair.start < last.end => last.end = last.end.max(pair.end),
            _ => merged.push(pair),
        }
    }
    merged
}

/// Adds the rest of the text after the first unclosed opening that is not removed anyway.
fn with_unclosed(
    mut pairs: Vec<Range<usize>>,
    private: &Openings,
    end: usize,
) -> Vec<Range<usize>> {
    let is_gone = |start: usize| {
        let next = pairs.partition_point(|pair| pair.start <= start);
        next > 0 && start < pairs[next - 1].end
    };
    let mut unclosed = private.0.iter().filter(|opening| !opening.in_code);
    if let Some(first) = unclosed.find(|opening| !is_gone(opening.start)) {
        pairs.retain(|pair| pair.end <= first.start);
        pairs.push(first.start..end);
    }
    pairs
}
