//! What is structure in a bottle, and how words are kept from looking like it.
//!
//! One table holds how every line that the renderer prints begins; the renderer prints from the
//! same constants. A line of words that begins like one of them gets a backslash in front, a line
//! that begins with a backslash gets one more, and a line over [`MAX_LINE_BYTES`] is broken into
//! pieces, the further ones behind `\+`. So a line that begins like structure is structure, and
//! [`unescape`] is exact.
//!
//! The comparison ignores leading white space and characters that have no width: what looks like a
//! speaker to a reader is treated like one.
use std::borrow::Cow;

/// Physical lines are at most this long (hosts cut far longer ones when they read a file).
pub const MAX_LINE_BYTES: usize = 8_000;

/// What a further piece of a broken line begins with.
const CONTINUED: &str = "\\+";

pub(super) const TITLE: &str = "# Session bottle";
pub(super) const PROJECT: &str = "project: ";
pub(super) const MODE: &str = "mode: ";
pub(super) const COVERED: &str = "covered: ";
pub(super) const PAGES: &str = "pages: ";
pub(super) const REQUEST: &str = "## Original request";
pub(super) const STANDING: &str = "## Where things stand";
pub(super) const TURNS: &str = "## Turns";
pub(super) const TASK: &str = "- Task: ";
pub(super) const DONE: &str = "- Done: ";
pub(super) const CHANGED: &str = "- Changed: ";
pub(super) const FAILING: &str = "- Failing: ";
pub(super) const MORE: &str = "- … ";
pub(super) const QUOTES: &str = "Lines in square brackets quote tools: ";
pub(super) const RULE: &str = "---";
pub(super) const USER: &str = "**User**";
pub(super) const ASSISTANT: &str = "**Assistant**";
pub(super) const HAPPENED: &str = "*What happened:*";
pub(super) const CALL: &str = "- [t";
pub(super) const ROW: &str = "- [#";
pub(super) const STUB: &str = "- ⏳ [";
pub(super) const COMPACTED: &str = "*Compacted";
pub(super) const NOTE: &str = "*(";
pub(super) const DATE: &str = "*Date: ";
pub(super) const IMAGE: &str = "[image: ";
pub(super) const DOCUMENT: &str = "[document: ";
pub(super) const TRUNCATED: &str = "[truncated at ";
pub(super) const SUMMARY: &str = "> Session summary";
pub(super) const REST: &str = "*The whole request stands ";

/// How every line that the renderer prints begins, but for index lines ([`is_index`]).
/// None begins with `+`.
const STRUCTURE: &[&str] = &[
    TITLE, PROJECT, MODE, COVERED, PAGES, REQUEST, STANDING, TURNS, TASK, DONE, CHANGED, FAILING,
    MORE, QUOTES, RULE, USER, ASSISTANT, HAPPENED, CALL, ROW, STUB, COMPACTED, NOTE, DATE, IMAGE,
    DOCUMENT, TRUNCATED, SUMMARY, REST,
];

/// Whether a line begins like one that the renderer prints.
pub fn looks_like_structure(line: &str) -> bool {
    // Nearly all lines are settled by their first byte.
    match line.as_bytes().first() {
        None => return false,
        Some(first) if first.is_ascii_graphic() && !FIRST.contains(first) => return false,
        Some(_) => {}
    }
    let trimmed = line.trim_start_matches(' ');
    let head = &trimmed.as_bytes()[..trimmed.len().min(HEAD)];
    if head.iter().all(|byte| (b' '..=b'~').contains(byte)) {
        // Nothing in it is invisible or an odd space: plain comparisons do.
        let first = head.first();
        let begins = |prefix: &str| {
            prefix.as_bytes().first() == first && trimmed.starts_with(prefix.trim_end())
        };
        return STRUCTURE.iter().any(|prefix| begins(prefix))
            || (trimmed.starts_with("- ") && is_index(trimmed));
    }
    STRUCTURE.iter().any(|prefix| begins_like(line, prefix)) || is_index(line)
}

/// More bytes than the longest prefix has.
const HEAD: usize = 64;

/// The first bytes of [`STRUCTURE`].
const FIRST: &[u8] = b"#pmc-L*[>";

fn visible(line: &str) -> impl Iterator<Item = char> {
    let seen = line.chars().filter(|c| !has_no_width(*c));
    seen.map(|c| if c.is_whitespace() || c == BLANK { ' ' } else { c }).skip_while(|c| *c == ' ')
}

/// A Braille pattern without dots: it looks like a space and is none.
const BLANK: char = '\u{2800}';

fn begins_like(line: &str, prefix: &str) -> bool {
    let mut seen = visible(line);
    prefix.trim_end().chars().all(|expected| seen.next() == Some(expected))
}

/// `- 65 · 10:32 · …`: a line of the index.
fn is_index(line: &str) -> bool {
    let mut seen = visible(line).skip_while({
        let mut head = "- ".chars();
        move |c| head.next() == Some(*c)
    });
    let mut digits = 0;
    let after = loop {
        match seen.next() {
            Some(c) if c.is_ascii_digit() => digits += 1,
            other => break other,
        }
    };
    let begins = visible(line).take(2).eq("- ".chars());
    begins && digits > 0 && after == Some(' ') && seen.next() == Some('·')
}

/// Characters that take no room of their own: default-ignorable code points, combining marks,
/// annotations.
fn has_no_width(c: char) -> bool {
    matches!(c,
        '\u{ad}' | '\u{300}'..='\u{36f}' | '\u{1ab0}'..='\u{1aff}' | '\u{1dc0}'..='\u{1dff}'
        | '\u{20d0}'..='\u{20ff}' | '\u{fe20}'..='\u{fe2f}' | '\u{13430}'..='\u{1345f}' | '\u{61c}' | '\u{115f}'..='\u{1160}' | '\u{17b4}'..='\u{17b5}'
        | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}'
        | '\u{fff0}'..='\u{fffb}' | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}'
        | '\u{e0000}'..='\u{e0fff}')
}

/// Writes words as the content of a bottle: escaped, long lines broken, each line ended.
pub fn write_words(words: &str, out: &mut String) {
    let mut start = 0;
    for end in memchr::memchr_iter(b'\n', words.as_bytes()) {
        write_line(&words[start..end], out);
        start = end + 1;
    }
    write_line(&words[start..], out);
}

fn write_line(line: &str, out: &mut String) {
    let start = out.len();
    if line.starts_with('\\') || looks_like_structure(line) {
        out.push('\\');
    }
    let mut rest = line;
    loop {
        let room = MAX_LINE_BYTES - (out.len() - start).min(CONTINUED.len());
        if rest.len() <= room {
            break;
        }
        let (now, later) = rest.split_at(floor(rest, room));
        out.push_str(now);
        out.push('\n');
        out.push_str(CONTINUED);
        rest = later;
    }
    out.push_str(rest);
    out.push('\n');
}

/// The last character boundary at or before `most`.
fn floor(text: &str, most: usize) -> usize {
    (0..=most).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0)
}

/// One physical line of content, read back.
#[derive(Debug, PartialEq, Eq)]
pub enum Content<'a> {
    /// A line of words.
    Line(Cow<'a, str>),
    /// More of the line before.
    Continued(&'a str),
}

/// Reads a physical line of content.
pub fn unescape(line: &str) -> Content<'_> {
    match line.strip_prefix(CONTINUED) {
        Some(more) => Content::Continued(more),
        None => Content::Line(Cow::Borrowed(line.strip_prefix('\\').unwrap_or(line))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(words: &str) -> String {
        let mut out = String::new();
        write_words(words, &mut out);
        out
    }

    #[test]
    fn words_that_look_like_structure_get_a_backslash() {
        for line in STRUCTURE {
            for disguise in ["", "  ", "\t", "\u{200b}", "\u{a0}\u{feff}"] {
                let line = format!("{disguise}{line} and more");
                assert_eq!(written(&line), format!("\\{line}\n"));
            }
        }
        for line in ["- 65 · 10:32", "**\u{200d}User**", "*\u{2060}(", " - 7 ·", "----", "project:"]
        {
            assert_eq!(written(line), format!("\\{line}\n"));
        }
    }

    #[test]
    fn other_words_stay_as_they_are() {
        for line in
            ["", "plain", "+ more", "- 65", "- item", "* item", "**bold**", "[link]", "-5 ·"]
        {
            assert_eq!(written(line), format!("{line}\n"));
        }
    }

    #[test]
    fn a_backslash_gets_one_more() {
        assert_eq!(written("\\+x\n\\\\y"), "\\\\+x\n\\\\\\y\n");
    }

    #[test]
    fn long_lines_are_broken_at_characters() {
        let line = "é".repeat(10_000);
        let out = written(&line);
        assert!(out.lines().all(|line| line.len() <= MAX_LINE_BYTES));
        assert_eq!(out.lines().count(), 3);
        assert_eq!(out.replace("\n\\+", ""), format!("{line}\n"));
    }

    #[test]
    fn the_plain_comparison_and_the_careful_one_agree() {
        for prefix in STRUCTURE.iter().chain(&["- 65 · x", "- 65 - x", "*What", "plain", "- x"]) {
            for spaces in [0, 1, 63, 64, 65, 200] {
                for mark in ["", "\u{200b}"] {
                    let (first, rest) = prefix.split_at(1);
                    let line = format!("{}{first}{mark}{rest}", " ".repeat(spaces));
                    let careful = STRUCTURE.iter().any(|prefix| begins_like(&line, prefix));
                    assert_eq!(looks_like_structure(&line), careful || is_index(&line), "{line:?}");
                }
            }
        }
    }

    #[test]
    fn the_table_is_sound() {
        assert!(STRUCTURE.iter().all(|prefix| prefix.len() < HEAD));
        for prefix in STRUCTURE {
            assert!(!prefix.starts_with('+') && FIRST.contains(&prefix.as_bytes()[0]), "{prefix}");
        }
    }
}
