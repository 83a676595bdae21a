//! The pointer: the short text that hands a bottle to the next context. Pure.
//!
//! It states facts and a next step: which file holds the conversation, which line ranges of it to
//! read, and where things stand. Its envelope ([`Mark`]) lets the parser know it for what it is.
//!
//! Invariant: with its envelope it has at most [`MOST`] UTF-16 units, [`LIMIT`] where its path is
//! long, whatever was said; what was said is quoted, so that no line of it can pose as the
//! pointer's own. Refuses: output of tools.

mod quote;
mod recap;
mod sections;

use std::fmt::Write as _;

pub use recap::Recap;

use crate::{
    bottle::{About, Mode},
    text::{
        mark::{self, Mark},
        measure::{grouped, utf16_head, utf16_len},
        time::{Moment, Zone},
    },
};

/// UTF-16 units of a pointer, its envelope included.
pub const MOST: usize = 6_000;
/// UTF-16 units that it never exceeds. Hosts replace what is over 10,000 with a preview.
pub const LIMIT: usize = 9_500;
/// Line ranges that it names.
pub const RANGES: usize = 5;
/// UTF-16 units of a path; systems have shorter ones.
const PATH: usize = 7_500;
/// UTF-16 units of the path of a parent's bottle.
const PARENT: usize = 300;
/// Units that the words get at least, where a long path has taken more than its share.
const LEAST: usize = 2_500;

/// The bottle, or the copy of one, that a pointer names.
#[derive(Debug, Clone, Copy)]
pub struct Place<'a> {
    /// The session's id.
    pub session: &'a str,
    /// The number of the print, from 1; 0 for a person to paste.
    pub n: u32,
    /// The absolute path of the file.
    pub path: &'a str,
    /// Where its content comes from.
    pub mode: Mode,
    /// Lines.
    pub lines: usize,
    /// First and last line of each page, from 1.
    pub pages: &'a [(usize, usize)],
    /// Compactions + 1.
    pub legs: u32,
    /// When it was rendered.
    pub rendered: Moment,
    /// Tool calls that it shows as stubs.
    pub gap: usize,
    /// The host's transcript is gone, and nothing can be expanded.
    pub gone: bool,
    /// The bottle of the session that this one was forked from, where its beginning is only there.
    pub parent: Option<&'a Parent>,
    /// The zone that times are shown in.
    pub zone: &'a Zone,
}

impl<'a> Place<'a> {
    /// The bottle at this path, for a person to paste: of what a print knows besides nothing is said.
    pub fn of(about: &'a About, session: &'a str, path: &'a str, zone: &'a Zone) -> Self {
        Self {
            session,
            n: 0,
            path,
            mode: about.mode,
            lines: about.lines,
            pages: &about.pages,
            legs: about.legs,
            rendered: about.rendered,
            gap: about.pending,
            gone: false,
            parent: None,
            zone,
        }
    }
}

/// The bottle of the session that a fork came from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Parent {
    /// Its absolute path.
    pub path: String,
    /// Lines of page one, which has the index.
    pub first: usize,
}

/// A pointer, ready to be printed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pointer {
    /// The text, with its envelope.
    pub text: String,
    /// The line ranges that it names, each one page: the first, then from the newest backwards.
    pub ranges: Vec<(usize, usize)>,
}

/// The pointer to a bottle.
pub fn pointer(place: &Place<'_>, recap: &Recap<'_>) -> Pointer {
    let ranges = ranges(place);
    let mut text = what(place);
    text.push_str(&how_to_read(place, &ranges));
    text.push_str(&what_holds(place));
    let mark = Mark { session: place.session, n: place.n };
    let used = utf16_len(&mark.around(&text));
    let least = LEAST.min(LIMIT.saturating_sub(used));
    text.push_str(&sections::sections(recap, MOST.saturating_sub(used).max(least)));
    Pointer { text: mark.around(&text), ranges }
}

/// The pages to read first: page one, then the newest.
fn ranges(place: &Place<'_>) -> Vec<(usize, usize)> {
    let mut pages = pages(place);
    let first = pages.next();
    first.into_iter().chain(pages.rev().take(RANGES - 1)).collect()
}

/// The pages that the file has.
fn pages<'a>(place: &Place<'a>) -> impl DoubleEndedIterator<Item = (usize, usize)> + use<'a> {
    let lines = place.lines;
    let is_there =
        move |(first, last): &(usize, usize)| 1 <= *first && first <= last && *last <= lines;
    place.pages.iter().copied().filter(is_there)
}

/// What the file is.
fn what(place: &Place<'_>) -> String {
    let session = match place.n {
        0 => format!("This continues the session {}.", place.session),
        _ if place.gone => "This is the same session as before.".to_owned(),
        _ => "This is the same session as before the compaction.".to_owned(),
    };
    let content = match place.mode {
        Mode::Full | Mode::FullWithObservations => "Its whole conversation, word for word,",
        Mode::Reconstructed => "What is known of its conversation",
    };
    // The words of the other mode say it themselves.
    let gone = match place.gone && place.mode != Mode::Reconstructed {
        true => "Transcript gone: this file is what is left of it.\n",
        false => "",
    };
    let forked = match place.parent {
        // It lies beside this one: where the one path is absurd, so is the other.
        Some(parent) if utf16_len(&parent.path) <= PARENT => format!(
            "It was forked from a session whose bottle is {} (page one: its first {} lines)\n",
            path(&parent.path),
            parent.first,
        ),
        _ => String::new(),
    };
    format!(
        "{session} {content} is in this file, kept by Endless:\n{}\nmode: {}\n\
         lines: {} · pages: {} · legs: {} · rendered: {}\n{gone}{forked}",
        path(place.path),
        place.mode.as_str(),
        place.lines,
        pages(place).count(),
        place.legs,
        place.zone.stamp_seconds(place.rendered),
    )
}

/// The path on one line. One that no system has is cut.
fn path(path: &str) -> String {
    let breaks = |char: char| char.is_control() || matches!(char, '\u{2028}' | '\u{2029}');
    let line = mark::inside(&path.replace(breaks, "\u{fffd}"));
    let head = utf16_head(&line, PATH);
    match line[head.len()..].chars().count() {
        0 => line,
        left => format!("{head}… {} left out …", counted(left, "character")),
    }
}

/// How to read it: the ranges, and where the other pages are.
fn how_to_read(place: &Place<'_>, ranges: &[(usize, usize)]) -> String {
    let mut text =
        "\nNext step: read these ranges, one Read each, then go on from where it stopped.\n"
            .to_owned();
    for (index, (first, last)) in ranges.iter().enumerate() {
        let what = match index {
            0 => ": page one, with the index",
            1 => ": the newest",
            _ => "",
        };
        let limit = last - first + 1;
        let _ = writeln!(text, "- lines {first}-{last} (offset {first}, limit {limit}){what}");
    }
    let older: Vec<_> = pages(place).skip(1).collect();
    let older = &older[..older.len().saturating_sub(RANGES - 1)];
    if let (Some((first, _)), Some((_, last))) = (older.first(), older.last()) {
        let _ = writeln!(
            text,
            "{} in lines {first}-{last}, on demand: the index has the line of each turn.",
            counted(older.len(), "older page"),
        );
    }
    text
}

/// What may be taken from it, and what not.
fn what_holds(place: &Place<'_>) -> String {
    let mut text = match place.mode {
        Mode::Full | Mode::FullWithObservations => {
            "\nWhere a summary differs from this record, the record is right. The last assistant \
             message was already delivered and is not to be repeated; work that it reports as \
             done is not to be redone.\n"
        }
        Mode::Reconstructed => {
            "\nOnly the user's messages are verbatim. Summaries are generated: no earlier \
             phrasing can be assumed from them. The last summary describes where it stopped.\n"
        }
    }
    .to_owned();
    if place.gap > 0 {
        let (have, shown) = if place.gap == 1 { ("has", "a stub") } else { ("have", "stubs") };
        let calls = counted(place.gap, "tool call");
        let _ = writeln!(text, "{calls} {have} no observation yet, shown as {shown} (⏳).");
    }
    if !place.gone && place.mode != Mode::Reconstructed {
        let _ =
            writeln!(text, "`endless expand {} t17` prints what is behind [t17].", place.session);
    }
    text
}

/// `1 older page`, `1,200 older pages`.
fn counted(number: usize, noun: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{} {noun}{plural}", grouped(number as u64))
}

#[cfg(test)]
mod tests;
