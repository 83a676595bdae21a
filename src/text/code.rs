//! Finds the Markdown code spans and fenced code blocks of a text. Pure.
//!
//! Only backticks make code here, and only where both ends stand: a fence or a span that is never
//! closed is none, and a span ends with its paragraph. In doubt there is no code, because what
//! stands outside code may be hidden. Lines end with LF, CR or CRLF. Linear in the text.

use std::collections::HashMap;
use std::ops::Range;

/// The code of a text: sorted, disjoint byte ranges.
pub(super) struct Code(Vec<Range<usize>>);

impl Code {
    pub(super) fn of(text: &str) -> Self {
        let mut regions = Vec::new();
        if memchr::memchr(b'`', text.as_bytes()).is_some() {
            find(text, &mut regions);
        }
        Self(regions)
    }

    /// Whether the whole range stands inside one span or block.
    pub(super) fn holds(&self, range: &Range<usize>) -> bool {
        let next = self.0.partition_point(|code| code.start <= range.start);
        next > 0 && range.end <= self.0[next - 1].end
    }
}

fn find(text: &str, regions: &mut Vec<Range<usize>>) {
    let lines = lines(text);
    let closings = fence_closings(text, &lines);
    let mut paragraph = 0;
    let mut at = 0;
    while at < lines.len() {
        let closing = closings.get(&at).copied();
        if closing.is_some() || is_blank(&text[lines[at].clone()]) {
            spans(text, paragraph..lines[at].start, regions);
            let last = closing.unwrap_or(at);
            regions.extend(closing.map(|last| lines[at].start..lines[last].end));
            paragraph = lines[last].end;
            at = last;
        }
        at += 1;
    }
    spans(text, paragraph..text.len(), regions);
}

/// The lines without their ends.
fn lines(text: &str) -> Vec<Range<usize>> {
    let bytes = text.as_bytes();
    let mut lines = Vec::new();
    let mut start = 0;
    for end in memchr::memchr2_iter(b'\n', b'\r', bytes) {
        let is_second_half = bytes[end] == b'\n' && end > 0 && bytes[end - 1] == b'\r';
        if !is_second_half {
            lines.push(start..end);
        }
        start = end + 1;
    }
    lines.push(start..text.len());
    lines
}

fn is_blank(line: &str) -> bool {
    line.bytes().all(|byte| matches!(byte, b' ' | b'\t'))
}

/// A line that may open a fenced block, or, if nothing follows its backticks, close one.
struct Fence {
    line: usize,
    ticks: usize,
    is_bare: bool,
}

fn fence(line: usize, text: &str) -> Option<Fence> {
    let text = text.trim_start_matches([' ', '\t']);
    let info = text.trim_start_matches('`');
    let ticks = text.len() - info.len();
    (ticks >= 3 && !info.contains('`')).then(|| Fence { line, ticks, is_bare: is_blank(info) })
}

/// For each line that may open a block: the line that would close it.
fn fence_closings(text: &str, lines: &[Range<usize>]) -> HashMap<usize, usize> {
    let mut closings = HashMap::new();
    // Bare fences below the current line, the nearest last; each has more ticks than those after it.
    let mut below: Vec<Fence> = Vec::new();
    for (line, range) in lines.iter().enumerate().rev() {
        let Some(fence) = fence(line, &text[range.clone()]) else {
            continue;
        };
        let enough = below.partition_point(|closing| closing.ticks >= fence.ticks);
        closings.extend(enough.checked_sub(1).map(|last| (line, below[last].line)));
        if fence.is_bare {
            below.truncate(below.partition_point(|closing| closing.ticks > fence.ticks));
            below.push(fence);
        }
    }
    closings
}

/// The code spans of a paragraph: from a run of backticks to the next run of the same length.
fn spans(text: &str, paragraph: Range<usize>, regions: &mut Vec<Range<usize>>) {
    let runs = runs(text, paragraph);
    let closings = span_closings(&runs);
    let mut at = 0;
    while at < runs.len() {
        if let Some(closing) = closings[at] {
            regions.push(runs[at].start..runs[closing].end);
            at = closing;
        }
        at += 1;
    }
}

fn runs(text: &str, paragraph: Range<usize>) -> Vec<Range<usize>> {
    let mut runs: Vec<Range<usize>> = Vec::new();
    for offset in memchr::memchr_iter(b'`', &text.as_bytes()[paragraph.clone()]) {
        let at = paragraph.start + offset;
        match runs.last_mut() {
            Some(run) if run.end == at => run.end += 1,
            _ => runs.push(at..at + 1),
        }
    }
    runs
}

fn span_closings(runs: &[Range<usize>]) -> Vec<Option<usize>> {
    let mut nearest = HashMap::new();
    let mut closings: Vec<_> =
        (0..runs.len()).rev().map(|at| nearest.insert(runs[at].len(), at)).collect();
    closings.reverse();
    closings
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &[&str]) {
        let found: Vec<_> = Code::of(text).0.into_iter().collect();
        let found: Vec<_> = found.into_iter().map(|range| &text[range]).collect();
        assert_eq!(found, expected, "{text:?}");
    }

    #[test]
    fn spans_close_with_a_run_of_the_same_length() {
        check("a `b` c `d`", &["`b`", "`d`"]);
        check("``a ` b`` c", &["``a ` b``"]);
        check("`a\nb`", &["`a\nb`"]);
        check("a ` b", &[]);
        check("`a\n\nb`", &[]);
        check("`a\r\rb`", &[]);
        check("`a\r\nb`", &["`a\r\nb`"]);
        check("`a\n \t\nb`", &[]);
        check("``` a `b` ", &["`b`"]);
    }

    #[test]
    fn fences_close_with_a_bare_run_of_at_least_the_length() {
        check("```\na\n```", &["```\na\n```"]);
        check("x\n```rust\n\na `\n````  \ny", &["```rust\n\na `\n````  "]);
        check("  ```\r\na\r\n  ```\r\n", &["  ```\r\na\r\n  ```"]);
        check("```a\n\n```b\n\n", &[]);
        check("````\n\n```\n\nx\n\n```", &["```\n\nx\n\n```"]);
        check("```\na\n```\n`b`\n```\n\n`c`", &["```\na\n```", "`b`", "`c`"]);
    }

    #[test]
    fn a_range_is_held_only_as_a_whole() {
        let code = Code::of("a `bcd` e");
        assert!(code.holds(&(3..6)));
        assert!(!code.holds(&(3..8)));
        assert!(!code.holds(&(0..1)));
        assert!(!code.holds(&(8..9)));
    }
}
