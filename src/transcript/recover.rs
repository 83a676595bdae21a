//! Finds the records of one physical line, broken or not.
//!
//! Nearly every line is one record. The rest, as seen in real files: NUL runs and a BOM around
//! it, a carriage return behind it, two records without a newline between them, a record that was
//! cut and has the next one glued to it. A broken line never costs its neighbours: what parses is
//! taken, each stretch that does not is reported once.
//!
//! A record that begins in the middle of a line must look like a row of its own, and begin where the
//! one before it breaks, so that a row nested in a cut one (a tool's input may hold anything) does not
//! pass for conversation. Work is proportional to the line, whatever stands in it.
use std::ops::Range;

use memchr::memmem;

use super::{
    Entry,
    json::{Broken, Cursor},
};

/// How many bytes before the place where a cut record breaks the next one may begin: its brace and
/// its first quote may have passed as the end of a cut string.
const OVERLAP: usize = 2;

/// A stretch of a line.
#[expect(clippy::large_enum_variant, reason = "nearly every line is an entry; none is stored")]
pub enum Found<'a> {
    /// One record and its byte range.
    Record(Range<usize>, Entry<'a>),
    /// Bytes that belong to no record.
    Rubbish(Range<usize>),
}

type Parse<'a> = fn(&mut Cursor<'a>) -> Result<Entry<'a>, Broken>;

/// Gives every record of `line`, in order.
pub fn records<'a>(line: &'a [u8], parse: Parse<'a>, sink: &mut impl FnMut(Found<'a>)) {
    let end = line.len() - line.iter().rev().take_while(|byte| is_padding(**byte)).count();
    let mut at = padding(&line[..end]);
    let mut rubbish = at;
    while at < end {
        let passed = match record(&line[at..end], parse) {
            Ok((length, entry)) if at == rubbish || is_row(&entry, &line[at + length..end]) => {
                report(rubbish..at, sink);
                sink(Found::Record(at..at + length, entry));
                at += length;
                at += padding(&line[at..end]);
                rubbish = at;
                continue;
            }
            // An object of a cut record: what stands inside is no row of its own.
            Ok((length, _)) => length,
            // The record is whole up to where it breaks: the next one begins there.
            Err(broken) => broken.at.saturating_sub(OVERLAP).max(1),
        };
        let from = (at + passed).min(end);
        match memmem::find(&line[from..end], b"{\"") {
            Some(next) => at = from + next,
            None => break,
        }
    }
    report(rubbish..end, sink);
}

fn report<'a>(range: Range<usize>, sink: &mut impl FnMut(Found<'a>)) {
    if !range.is_empty() {
        sink(Found::Rubbish(range));
    }
}

/// A record that stands behind rubbish must look like a row of its own: it names its session, and
/// nothing follows it but the end or another record.
fn is_row(entry: &Entry<'_>, rest: &[u8]) -> bool {
    let next = rest.get(padding(rest));
    entry.about.session.is_some()
        && entry.kind != super::NO_TYPE
        && matches!(next, None | Some(b'{'))
}

/// The record at the start of `text`, and its length.
fn record<'a>(text: &'a [u8], parse: Parse<'a>) -> Result<(usize, Entry<'a>), Broken> {
    if text.first() != Some(&b'{') {
        return Err(Broken { at: 0 });
    }
    let mut cursor = Cursor::new(text);
    let entry = parse(&mut cursor)?;
    Ok((cursor.position(), entry))
}

/// How many bytes of padding stand at the start.
fn padding(text: &[u8]) -> usize {
    let mut rest = text;
    loop {
        match rest {
            [byte, tail @ ..] if is_padding(*byte) => rest = tail,
            [0xEF, 0xBB, 0xBF, tail @ ..] => rest = tail,
            _ => return text.len() - rest.len(),
        }
    }
}

fn is_padding(byte: u8) -> bool {
    matches!(byte, 0 | b' ' | b'\t' | b'\r' | b'\n')
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::transcript::claude_code;

    /// The records of a line as their types, rubbish as its text.
    fn check(line: &str, expected: &[&str]) {
        let mut seen = Vec::new();
        records(line.as_bytes(), claude_code::parse, &mut |found| {
            seen.push(match found {
                Found::Record(_, entry) => entry.kind.into_owned(),
                Found::Rubbish(range) => format!("?{}", &line[range]),
            });
        });
        assert_eq!(seen, expected, "{line:?}");
    }

    #[test]
    fn what_parses_is_taken_and_the_rest_is_reported() {
        let mode = r#"{"type":"mode","sessionId":"s"}"#;
        let glued = format!(r#"{{"type":"us{mode}"#);
        let both = format!("{mode}{mode}");
        let padded = format!("\0\0\u{feff}{mode}\0\r");
        let torn = r#"{"type":"us"#;
        check(mode, &["mode"]);
        check(&both, &["mode", "mode"]);
        check(&padded, &["mode"]);
        check(&glued, &[r#"?{"type":"us"#, "mode"]);
        check(&format!("{mode}{torn}"), &["mode", &format!("?{torn}")]);
        check(
            &format!("{torn}{mode}{torn}{mode}"),
            &[&format!("?{torn}"), "mode", &format!("?{torn}"), "mode"],
        );
        check("", &[]);
        check("\0\0\0", &[]);
        check("no json", &["?no json"]);
        check("[1]", &["?[1]"]);
        check(r#"{"a":1}"#, &["(no type)"]);
        check(r#"x{"a":1,"sessionId":"s"}"#, &[r#"?x{"a":1,"sessionId":"s"}"#]);
    }

    #[test]
    fn a_row_inside_a_cut_row_is_not_conversation() {
        let nested = r#"{"type":"progress","data":{"message":{"type":"user","uuid":"u"},"x":"#;
        check(nested, &[&format!("?{nested}")]);
    }

    #[test]
    fn a_hostile_line_costs_bounded_work() {
        let line = "{\"a\":".repeat(200_000);
        let mut found = 0;
        records(line.as_bytes(), claude_code::parse, &mut |_| found += 1);
        assert_eq!(found, 1);
    }
}
