//! Words as quoted blocks of bounded length.
//!
//! Each line of a block begins with `>`, so that no line of it can pose as anything else. What is
//! left out is counted, on a line that does not begin so. Tags that would end what a pointer is
//! wrapped in get a backslash.

use std::{borrow::Cow, fmt::Write as _};

use super::counted;
use crate::text::{line::normalise, mark, measure::utf16_len};

/// Which part of words is kept where they are too long.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kept {
    Head,
    Tail,
    HeadAndTail,
}

/// UTF-16 units of the marks before a line of a block.
const PREFIX: usize = 2;
/// What the announcement of a cut takes at most, with the marks of the first lines.
const ANNOUNCEMENT: usize = 60;

/// The most units that a block of `units` units of words takes: its marks count too.
pub(super) fn most(units: usize) -> usize {
    with_marks(units) + ANNOUNCEMENT
}

fn with_marks(units: usize) -> usize {
    units * 5 / 4
}

/// Quotes words: whole if they have at most `units` UTF-16 units, and not so many lines that their
/// marks take more than a quarter as many. Nothing where there are no words.
pub(super) fn quoted(words: &str, kept: Kept, units: usize) -> String {
    let words = harmless(words);
    let words = words.trim_end().trim_start_matches('\n');
    if head(words, units).len() == words.len() {
        return block(words);
    }
    let (before, after) = match kept {
        Kept::Head => (head(words, units), ""),
        Kept::Tail => ("", tail(words, units)),
        Kept::HeadAndTail => (head(words, units - units / 3), tail(words, units / 3)),
    };
    let left = words[before.len()..words.len() - after.len()].chars().count();
    let mut out = block(before);
    let _ = writeln!(out, "… {} left out …", counted(left, "character"));
    out + &block(after)
}

/// Words in which no line breaks unseen, and nothing closes an envelope: ours, or the one that a
/// host puts around what a hook says.
fn harmless(words: &str) -> String {
    let words = normalise(words);
    let words = match words.contains(['\u{2028}', '\u{2029}']) {
        true => Cow::Owned(words.replace(['\u{2028}', '\u{2029}'], "\n")),
        false => words,
    };
    mark::inside(&words).replace("</system-reminder", "<\\/system-reminder")
}

fn block(words: &str) -> String {
    let mut out = String::new();
    for line in words.split('\n').filter(|_| !words.is_empty()) {
        out.push_str(if line.is_empty() { ">" } else { "> " });
        out.push_str(line);
        out.push('\n');
    }
    out
}

/// The longest head of at most `units` units, its marks held to their share.
fn head(words: &str, units: usize) -> &str {
    let mut used = Used::default();
    let cut = words.char_indices().find(|(_, char)| !used.take(*char, units));
    cut.map_or(words, |(at, _)| &words[..at])
}

/// The longest tail, likewise.
fn tail(words: &str, units: usize) -> &str {
    let mut used = Used::default();
    let mut chars = words.char_indices().rev();
    let cut = chars.find(|(_, char)| !used.take(*char, units));
    cut.map_or(words, |(at, char)| &words[at + char.len_utf8()..])
}

#[derive(Default)]
struct Used {
    words: usize,
    marks: usize,
}

impl Used {
    fn take(&mut self, char: char, units: usize) -> bool {
        self.words += char.len_utf16();
        self.marks += if char == '\n' { PREFIX } else { 0 };
        self.words <= units && self.words + self.marks <= with_marks(units)
    }
}

/// The lines of a list, each quoted, up to this many units; and how many lines there was no room for.
pub(super) fn list(lines: impl Iterator<Item = String>, units: usize) -> (String, usize) {
    let (mut out, mut used, mut left) = (String::new(), 0, 0);
    for line in lines {
        let line = block(&harmless(&line));
        used += utf16_len(&line);
        match used <= units {
            true => out.push_str(&line),
            false => left += 1,
        }
    }
    (out, left)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn words_are_whole_or_their_loss_is_counted() {
        for (words, kept, units, expected) in [
            ("", Kept::Head, 9, ""),
            (" \n\n", Kept::Tail, 9, ""),
            ("\n a\n\nb \n", Kept::Head, 9, ">  a\n>\n> b\n"),
            ("abcdefghi", Kept::Head, 9, "> abcdefghi\n"),
            ("abcdefghij", Kept::Head, 9, "> abcdefghi\n… 1 character left out …\n"),
            ("abcdefghij", Kept::Tail, 9, "… 1 character left out …\n> bcdefghij\n"),
            ("abcdefghij", Kept::HeadAndTail, 9, "> abcdef\n… 1 character left out …\n> hij\n"),
            ("a👍👍👍👍b", Kept::Head, 8, "> a👍👍👍\n… 2 characters left out …\n"),
            ("👍", Kept::Head, 1, "… 1 character left out …\n"),
            (
                "a\u{2028}\r\n\x1b</endless-pointer>",
                Kept::Head,
                99,
                "> a\n>\n> ␛<\\/endless-pointer>\n",
            ),
            ("</system-reminder>", Kept::Head, 99, "> <\\/system-reminder>\n"),
        ] {
            assert_eq!(quoted(words, kept, units), expected, "{words:?}");
        }
    }

    #[test]
    fn lists_end_where_there_is_no_room() {
        let lines = || ["one", "two\nlines", "three"].map(str::to_owned).into_iter();
        assert_eq!(list(lines(), 99), ("> one\n> two\n> lines\n> three\n".to_owned(), 0));
        assert_eq!(list(lines(), 19), ("> one\n".to_owned(), 2));
    }

    proptest! {
        #[test]
        fn blocks_are_bounded_and_every_line_of_words_is_marked(
            words in "(?s)([\n👍a ]{0,40}|.{0,60})",
            kept in prop_oneof![Just(Kept::Head), Just(Kept::Tail), Just(Kept::HeadAndTail)],
            units in 0usize..50,
        ) {
            let block = quoted(&words, kept, units);
            prop_assert!(utf16_len(&block) <= most(units), "{}", block);
            let own = block.lines().filter(|line| !line.starts_with('>')).collect::<Vec<_>>();
            prop_assert!(own.len() <= 1 && own.iter().all(|line| line.ends_with(" left out …")));
        }
    }
}
