//! What a bottle says of itself: read from its header, for bottles whose session can't be read.
//!
//! Invariant: of a bottle that this version rendered it gives what [`Bottle`](super::Bottle) gave.
//! Refuses: what is no bottle, and modes that this version does not know.
use super::{
    Mode, around_rendered,
    escape::{COVERED, MODE, PAGES, TITLE},
    header::{EARLIER, RENDERED},
    pages,
};
use crate::text::time::{self, Moment};

/// Lines of a header among which its facts stand.
const HEAD: usize = 5;

/// A bottle by its header.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct About {
    /// Where it comes from.
    pub mode: Mode,
    /// Lines.
    pub lines: usize,
    /// First and last line of each page, from 1.
    pub pages: Vec<(usize, usize)>,
    /// Compactions + 1.
    pub legs: u32,
    /// When it was rendered, to the second.
    pub rendered: Moment,
    /// Tool calls.
    pub calls: usize,
    /// Tool calls that are shown as stubs.
    pub pending: usize,
}

/// Reads what a bottle says of itself.
pub fn about(text: &str) -> Option<About> {
    let text = text.starts_with(TITLE).then_some(text)?;
    let line = |prefix| text.lines().take(HEAD).find_map(|line| line.strip_prefix(prefix));
    let (before, value, _) = around_rendered(text)?;
    let stamp = value.split_once(EARLIER).map_or(value, |(stamp, _)| stamp);
    let (_, legs) = before.rsplit_once(" · legs: ")?;
    let (mode, _) = line(MODE)?.rsplit_once(" · format: ")?;
    let (counted, _) = line(COVERED)?.split_once(" pending")?;
    let (calls, pending) = counted.split_once(" tool calls, ")?;
    Some(About {
        mode: Mode::named(mode)?,
        lines: text.lines().count(),
        pages: pages_of(text, line(PAGES)?)?,
        legs: legs.strip_suffix(RENDERED)?.parse().ok()?,
        rendered: moment(stamp)?,
        calls: calls.rsplit_once(' ')?.1.parse().ok()?,
        pending: pending.parse().ok()?,
    })
}

/// The pages: the header names the first, the others are cut as they were.
fn pages_of(text: &str, line: &str) -> Option<Vec<(usize, usize)>> {
    let (_, first) = line.split_once(" · first 1-")?;
    let header: usize = first.split(' ').next()?.parse().ok()?;
    let mut newlines = memchr::memchr_iter(b'\n', text.as_bytes());
    let end = newlines.nth(header.checked_sub(1)?)? + 1;
    let body = pages::cut(&text[end..]).into_iter();
    let body = body.map(|(first, last)| (first + header, last + header));
    Some(std::iter::once((1, header)).chain(body).collect())
}

/// `2026-11-30 14:02:11 +01:00`
fn moment(stamp: &str) -> Option<Moment> {
    let (time, offset) = stamp.rsplit_once(' ')?;
    time::parse(&format!("{time}{offset}"))
}

#[cfg(test)]
mod tests {
    use jiff::tz::TimeZone;

    use super::*;
    use crate::{
        bottle::{Earlier, Options, render},
        session::Session,
        text::time::Zone,
        transcript::{Host, parse_line},
    };

    fn session(rows: &[String]) -> Session {
        let mut session = Session::new("s", Host::ClaudeCode);
        for row in rows {
            parse_line(Host::ClaudeCode, row.as_bytes(), 0, &mut |line| session.fold_line(line));
        }
        session
    }

    #[test]
    fn a_bottle_says_what_its_rendering_said() {
        let row = |number: usize| {
            format!(
                r#"{{"type":"user","uuid":"{number}","cwd":"/x · legs: 9 · rendered: y","message":{{"content":"{} {number}"}}}}"#,
                "word ".repeat(number * 40)
            )
        };
        let zone = Zone::new(TimeZone::fixed(jiff::tz::offset(-3)));
        for count in [0, 1, 90] {
            let session = session(&(0..count).map(row).collect::<Vec<_>>());
            let earlier = Earlier { path: "archive/1-s.md".to_owned(), messages: 3 };
            for earlier in [None, Some(earlier)] {
                let rendered = Moment(1_796_032_800_000);
                let options = Options { zone: zone.clone(), rendered, earlier, observed: None };
                let bottle = render(&session, &options);
                let expected = About {
                    mode: bottle.mode,
                    lines: bottle.lines,
                    pages: bottle.pages,
                    legs: 1,
                    rendered,
                    calls: bottle.calls,
                    pending: bottle.pending,
                };
                assert_eq!(about(&bottle.text), Some(expected));
            }
        }
    }

    #[test]
    fn anything_else_says_nothing() {
        let bottle = render(
            &session(&[]),
            &Options { zone: Zone::utc(), rendered: Moment(0), earlier: None, observed: None },
        );
        for cut in 0..bottle.text.find("pages: ").unwrap() {
            assert_eq!(about(bottle.text.get(..cut).unwrap_or("")), None, "{cut}");
        }
        for (word, other) in
            [("full (transcript only)", "new"), ("first 1-", "first x-"), ("0 pending", "pending")]
        {
            let text = bottle.text.replacen(word, other, 1);
            assert!(text != bottle.text && about(&text).is_none(), "{word}");
        }
    }

    #[test]
    fn every_mode_is_known_by_its_words() {
        for mode in [Mode::Full, Mode::FullWithObservations, Mode::Reconstructed] {
            assert_eq!(Mode::named(mode.as_str()), Some(mode));
        }
        assert_eq!(Mode::named("full"), None);
    }
}
