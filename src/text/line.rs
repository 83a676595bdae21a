//! Makes text fit for lines. Pure.
//!
//! [`normalise`] is what a message passes once; after it the words are exact. Everything that
//! stands in a structural line passes [`one_line`], so that nothing said or printed can break the
//! line or pose as structure. Both are total, and no result holds a control character other than
//! tab and newline (`normalise`) or any at all (the others).

use std::borrow::Cow;

pub use super::words::{same_words, words_key};

/// Line ends become LF, control characters become visible; tab and newline stay.
pub fn normalise(text: &str) -> Cow<'_, str> {
    let Some(first) = first_control(text) else {
        return Cow::Borrowed(text);
    };
    let mut normal = String::with_capacity(text.len() + 16);
    normal.push_str(&text[..first]);
    let mut chars = text[first..].chars().peekable();
    while let Some(char) = chars.next() {
        match char {
            '\r' if chars.peek() == Some(&'\n') => {}
            '\r' => normal.push('\n'),
            _ => normal.push(visible(char)),
        }
    }
    Cow::Owned(normal)
}

fn first_control(text: &str) -> Option<usize> {
    let bytes = text.as_bytes();
    let is_control = |at: usize| match bytes[at] {
        b'\t' | b'\n' => false,
        0xC2 => bytes[at + 1] < 0xA0,
        byte => byte < b' ' || byte == 0x7F,
    };
    // Most texts have none: look at many bytes at once, and closer only where one may be.
    let may_be = |byte: &u8| (*byte < b' ' && *byte != b'\n') || *byte == 0x7F || *byte == 0xC2;
    let mut start = 0;
    while start < bytes.len() {
        let end = bytes.len().min(start + BLOCK);
        if bytes[start..end].iter().fold(false, |any, byte| any | may_be(byte))
            && let Some(found) = (start..end).find(|at| is_control(*at))
        {
            return Some(found);
        }
        start = end;
    }
    None
}

/// Bytes that are looked at together.
const BLOCK: usize = 64;

/// The picture of a control character; every other character is its own.
fn visible(char: char) -> char {
    match char {
        '\t' | '\n' => char,
        '\0'..='\u{1F}' => char::from_u32(0x2400 + u32::from(char)).unwrap_or('\u{FFFD}'),
        '\u{7F}' => '\u{2421}',
        '\u{80}'..='\u{9F}' => '\u{FFFD}',
        _ => char,
    }
}

/// A value for a structural line: one line, trimmed, `*` and backtick escaped, at most
/// `max_chars` characters; a longer one ends in `…`.
pub fn one_line(text: &str, max_chars: usize) -> String {
    squeezed(text, max_chars, |char| match char {
        '*' => Some("\\*"),
        '`' => Some("\\`"),
        _ => None,
    })
}

/// [`one_line`] without the escaping.
pub fn plain_line(text: &str, max_chars: usize) -> String {
    squeezed(text, max_chars, |_| None)
}

fn squeezed(text: &str, max: usize, escape: fn(char) -> Option<&'static str>) -> String {
    if is_plain(text, max) {
        return text.to_owned();
    }
    let mut line = Bounded::new(max);
    let mut after_space = false;
    for char in text.chars().filter(|char| !is_invisible(*char)) {
        if char.is_whitespace() {
            after_space = true;
            continue;
        }
        if after_space && !line.text.is_empty() {
            line.push(" ");
        }
        after_space = false;
        let mut buffer = [0; 4];
        let piece = escape(char).unwrap_or_else(|| visible(char).encode_utf8(&mut buffer));
        if !line.push(piece) {
            break;
        }
    }
    line.finish()
}

/// Whether a text is a line as it stands: short, graphic ASCII, single spaces inside, nothing to
/// escape. Most commands and paths are.
fn is_plain(text: &str, max: usize) -> bool {
    let bytes = text.as_bytes();
    let plain =
        |byte: &u8| byte.is_ascii_graphic() && !matches!(byte, b'*' | b'`') || *byte == b' ';
    bytes.len() <= max
        && bytes.first() != Some(&b' ')
        && bytes.last() != Some(&b' ')
        && bytes.iter().all(plain)
        && !text.contains("  ")
}

/// Zero-width and direction characters, which hide or reorder what stands beside them.
fn is_invisible(char: char) -> bool {
    matches!(char,
        '\u{061C}' | '\u{180E}' | '\u{FEFF}'
        | '\u{200B}'..='\u{200F}' | '\u{202A}'..='\u{202E}' | '\u{2060}'..='\u{206F}')
}

/// A line that grows by whole pieces up to a number of characters.
struct Bounded {
    text: String,
    chars: usize,
    max: usize,
    /// The length of the pieces that leave room for the `…`.
    kept: usize,
}

impl Bounded {
    fn new(max: usize) -> Self {
        Self { text: String::new(), chars: 0, max, kept: 0 }
    }

    /// Adds a piece; false once the line is longer than allowed.
    fn push(&mut self, piece: &str) -> bool {
        self.text.push_str(piece);
        self.chars += piece.chars().count();
        if self.chars < self.max {
            self.kept = self.text.len();
        }
        self.chars <= self.max
    }

    fn finish(mut self) -> String {
        if self.chars > self.max {
            self.text.truncate(self.kept);
            self.text.extend((self.max > 0).then_some('…'));
        }
        self.text
    }
}

/// The first sentence or clause of the first line that says something, through [`one_line`].
///
/// Marks of headings, lists and quotes at its start are left out, as is what ends the clause.
pub fn first_clause(text: &str, max_chars: usize) -> String {
    told_clause(text, max_chars).unwrap_or_else(|| plain_line(clause(text), max_chars))
}

/// [`first_clause`], if a line says something.
pub fn told_clause(text: &str, max_chars: usize) -> Option<String> {
    let mut lines = text.split(['\n', '\r']).map(without_marks);
    let line = lines.find(|line| says_something(line))?;
    Some(plain_line(clause(line), max_chars))
}

fn says_something(line: &str) -> bool {
    line.chars().any(char::is_alphanumeric) && !line.starts_with("```")
}

fn without_marks(line: &str) -> &str {
    let mut rest = line.trim_matches(|char: char| char.is_whitespace() || is_invisible(char));
    while let Some(next) = without_mark(rest) {
        rest = next;
    }
    rest
}

/// What follows one mark and its white space.
fn without_mark(line: &str) -> Option<&str> {
    let unnumbered = line.trim_start_matches(|char: char| char.is_ascii_digit());
    let rest = if unnumbered.len() < line.len() {
        unnumbered.strip_prefix(['.', ')'])?
    } else if line.starts_with('#') {
        line.trim_start_matches('#')
    } else if let Some(rest) = ["[ ]", "[x]"].iter().find_map(|mark| line.strip_prefix(mark)) {
        rest
    } else {
        line.strip_prefix(['-', '*', '+', '>', '•'])?
    };
    let next = rest.trim_start();
    (next.len() < rest.len()).then_some(next)
}

fn clause(line: &str) -> &str {
    let ends = line.char_indices().map(|(at, _)| at);
    let end = ends.into_iter().find(|at| ends_clause(line, *at));
    &line[..end.unwrap_or(line.len())]
}

fn ends_clause(line: &str, at: usize) -> bool {
    let rest = &line[at..];
    let is_end = rest.starts_with(". ") || rest.starts_with("; ") || rest.starts_with(" — ");
    is_end && at > 0 && !(rest.starts_with('.') && ends_in_abbreviation(&line[..at]))
}

fn ends_in_abbreviation(text: &str) -> bool {
    let word = text.rsplit([' ', '(']).next().unwrap_or_default();
    ["e.g", "i.e", "vs", "cf", "etc"].contains(&word)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn normalise_shows_control_characters() {
        for (text, expected) in [
            ("a\r\nb\rc\r\r\nd\n", "a\nb\nc\n\nd\n"),
            ("\x1b[1m\0\t", "␛[1m␀\t"),
            ("\x7f\u{85}\u{9f}\u{a0}é", "␡\u{fffd}\u{fffd}\u{a0}é"),
            ("\u{2028}", "\u{2028}"),
        ] {
            assert_eq!(normalise(text), expected, "{text:?}");
        }
        assert!(matches!(normalise("plain\ttext\né\u{a0}"), Cow::Borrowed(_)));
    }

    #[test]
    fn one_line_is_one_escaped_bounded_line() {
        for (text, max, expected) in [
            ("  a \r\n\t b\u{2028}\u{85}c ", 9, "a b c"),
            ("**User** (`x`)", 99, r"\*\*User\*\* (\`x\`)"),
            ("a\u{200b} \u{202e}b\x1b", 9, "a b␛"),
            ("abcdef", 6, "abcdef"),
            ("abcdefg", 6, "abcde…"),
            ("abc**", 6, "abc\\*…"),
            ("abcd**", 6, "abcd…"),
            ("ab cdef", 4, "ab …"),
            ("ab   ", 2, "ab"),
            ("ab", 1, "…"),
            ("ab", 0, ""),
            ("", 0, ""),
        ] {
            assert_eq!(one_line(text, max), expected, "{text:?}");
        }
        assert_eq!(plain_line("`a`\n*b*", 9), "`a` *b*");
    }

    #[test]
    fn first_clause_takes_the_first_words_that_say_something() {
        for (text, expected) in [
            ("Fix the parser. Then run it.", "Fix the parser"),
            ("Done; next — this", "Done"),
            ("a — b; c", "a"),
            ("\n\n---\n## 1. Plan for v1.2\nmore", "Plan for v1.2"),
            ("- [x] Tests\r\nb", "Tests"),
            ("```rust\nlet a = 1;\n```", "let a = 1;"),
            ("Use e.g. this. That", "Use e.g. this"),
            ("> **bold** x", "**bold** x"),
            ("👍", "👍"),
            ("-5 degrees", "-5 degrees"),
            ("3 errors", "3 errors"),
            (" \n ", ""),
        ] {
            assert_eq!(first_clause(text, 40), expected, "{text:?}");
        }
    }

    fn soup() -> impl Strategy<Value = String> {
        let odd = "[a*` .;#\\-\t\r\n\0\x1b\x7f\u{80}\u{85}\u{9f}\u{200b}\u{2028}\u{202e}\u{feff}é…—]{0,40}";
        prop_oneof![any::<String>(), odd, "(?s).{0,30}"]
    }

    proptest! {
        #[test]
        fn normalise_is_idempotent(text in soup()) {
            let once = normalise(&text);
            prop_assert!(!once.chars().any(|c| c.is_control() && c != '\n' && c != '\t'));
            prop_assert!(matches!(normalise(&once), Cow::Borrowed(_)));
        }

        #[test]
        fn lines_keep_their_bounds(text in soup(), max in 0usize..50) {
            for line in [one_line(&text, max), plain_line(&text, max), first_clause(&text, max)] {
                prop_assert!(line.chars().count() <= max);
                prop_assert!(!line.chars().any(|c| c.is_control() || is_invisible(c)));
                prop_assert!(!line.contains("  "));
                prop_assert!(line.chars().all(|c| c == ' ' || !c.is_whitespace()));
                prop_assert_eq!(line.trim(), line.as_str());
            }
        }

        #[test]
        fn stars_and_ticks_are_escaped(text in soup(), max in 0usize..50) {
            let bare = one_line(&text, max).replace("\\*", "").replace("\\`", "");
            prop_assert!(!bare.contains(['*', '`']));
        }

        #[test]
        fn plain_line_is_idempotent(text in soup(), max in 0usize..50) {
            let once = plain_line(&text, max);
            prop_assert_eq!(plain_line(&once, max), once);
        }
    }
}
