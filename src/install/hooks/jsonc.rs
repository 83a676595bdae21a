//! Settings as hosts and people write them: JSON, and beside it comments, commas behind the last
//! item, a byte order mark. A text becomes a tree of spans, so that one part can be replaced and
//! every other byte stays.
//!
//! Pure. Invariant: the spans of a tree are in order, lie inside one another, and begin and end at
//! characters. Refuses: what is neither, and what is nested too deeply; it names the line.

use std::ops::Range;

use serde_json::Value;

/// How deep a text may be nested.
const DEPTH: usize = 64;
const MARK: char = '\u{feff}';

/// Why a text is not understood, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Wrong {
    /// From 1.
    pub(super) line: usize,
    /// What is wrong.
    pub(super) message: String,
}

/// A value and where it stands.
#[derive(Debug)]
pub(super) struct Node {
    pub(super) span: Range<usize>,
    pub(super) kind: Kind,
}

/// What a value is.
#[derive(Debug)]
pub(super) enum Kind {
    Object(Vec<Member>),
    List(Vec<Node>),
    /// Its text, with escapes resolved.
    Text(String),
    /// A number, true, false or null.
    Plain,
}

/// A member of an object.
#[derive(Debug)]
pub(super) struct Member {
    pub(super) key: String,
    /// From its key to the end of its value.
    pub(super) span: Range<usize>,
    pub(super) value: Node,
}

impl Node {
    pub(super) fn members(&self) -> &[Member] {
        match &self.kind {
            Kind::Object(members) => members,
            _ => &[],
        }
    }

    pub(super) fn items(&self) -> &[Self] {
        match &self.kind {
            Kind::List(items) => items,
            _ => &[],
        }
    }

    /// The value of a key; of several the last, as hosts read it.
    pub(super) fn get(&self, key: &str) -> Option<&Self> {
        self.members().iter().rev().find(|member| member.key == key).map(|member| &member.value)
    }

    pub(super) fn text(&self) -> Option<&str> {
        match &self.kind {
            Kind::Text(text) => Some(text),
            _ => None,
        }
    }

    /// What it is, for a person.
    pub(super) fn name(&self) -> &'static str {
        match &self.kind {
            Kind::Object(_) => "an object",
            Kind::List(_) => "a list",
            Kind::Text(_) => "a text",
            Kind::Plain => "no object",
        }
    }

    /// The value, as a host reads it from this text.
    pub(super) fn value(&self, text: &str) -> Value {
        match &self.kind {
            Kind::Object(members) => {
                let value = |member: &Member| (member.key.clone(), member.value.value(text));
                Value::Object(members.iter().map(value).collect())
            }
            Kind::List(items) => items.iter().map(|item| item.value(text)).collect(),
            Kind::Text(string) => Value::String(string.clone()),
            // The parser accepts what serde_json does.
            Kind::Plain => serde_json::from_str(&text[self.span.clone()]).unwrap_or_default(),
        }
    }
}

/// The line, from 1, that a byte stands on.
pub(super) fn line_of(text: &str, at: usize) -> usize {
    1 + text.as_bytes()[..at.min(text.len())].iter().filter(|byte| **byte == b'\n').count()
}

/// Reads a text that holds one value.
pub(super) fn parse(text: &str) -> Result<Node, Wrong> {
    let mut parser = Parser { text, at: start(text) };
    parser.blank()?;
    let node = parser.node(DEPTH)?;
    parser.blank()?;
    match parser.peek() {
        None => Ok(node),
        Some(_) => Err(parser.wrong("something stands behind the end")),
    }
}

/// Where a text begins, behind a byte order mark.
pub(super) fn start(text: &str) -> usize {
    if text.starts_with(MARK) { MARK.len_utf8() } else { 0 }
}

/// What stands between two values.
#[derive(Debug, Default)]
pub(super) struct Gap {
    /// Where the comma is, if there is one.
    pub(super) comma: Option<usize>,
    /// Where its last comment ends, if there is one.
    pub(super) comments: Option<usize>,
    /// That comment needs the end of the line behind it.
    pub(super) is_open: bool,
}

impl Gap {
    /// Behind the comma and the comments, of which there may be none in a gap that begins at `at`.
    pub(super) fn end(&self, at: usize) -> usize {
        self.comments.max(self.comma.map(|comma| comma + 1)).unwrap_or(at)
    }

    /// What ends here is a comment that needs the end of the line behind it.
    pub(super) fn is_open_at(&self, at: usize) -> bool {
        self.is_open && self.comments == Some(at)
    }
}

/// Looks at what stands from `at` on, up to the next value or the end of an object or list.
pub(super) fn gap(text: &str, at: usize) -> Gap {
    let mut parser = Parser { text, at };
    let mut gap = Gap::default();
    loop {
        match parser.peek() {
            Some(b'/') => {
                gap.is_open = text[parser.at..].starts_with("//");
                if parser.comment().is_err() {
                    return gap;
                }
                gap.comments = Some(parser.at);
            }
            Some(b',') if gap.comma.is_none() => {
                gap.comma = Some(parser.at);
                parser.at += 1;
            }
            Some(b' ' | b'\t' | b'\r' | b'\n') => parser.at += 1,
            _ => return gap,
        }
    }
}

struct Parser<'a> {
    text: &'a str,
    at: usize,
}

impl Parser<'_> {
    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn wrong(&self, message: impl Into<String>) -> Wrong {
        Wrong { line: line_of(self.text, self.at), message: message.into() }
    }

    /// Says what is there in place of what should be.
    fn expected(&self, what: &str) -> Wrong {
        match self.text[self.at..].chars().next() {
            None => self.wrong(format!("the text ends where {what} should be")),
            Some(found) => self.wrong(format!("`{found}` stands where {what} should be")),
        }
    }

    fn blank(&mut self) -> Result<(), Wrong> {
        loop {
            match self.peek() {
                Some(b' ' | b'\t' | b'\r' | b'\n') => self.at += 1,
                Some(b'/') => self.comment()?,
                _ => return Ok(()),
            }
        }
    }

    /// Passes over a comment: to the end of the line, newline excluded, or to its `*/`.
    fn comment(&mut self) -> Result<(), Wrong> {
        let rest = &self.text[self.at..];
        let length = if rest.starts_with("//") {
            rest.find(['\n', '\r']).unwrap_or(rest.len())
        } else if let Some(inside) = rest.strip_prefix("/*") {
            inside.find("*/").ok_or_else(|| self.wrong("a comment has no end"))? + 4
        } else {
            return Err(self.expected("a value"));
        };
        self.at += length;
        Ok(())
    }

    fn node(&mut self, depth: usize) -> Result<Node, Wrong> {
        let start = self.at;
        let kind = match self.peek() {
            Some(b'{' | b'[') if depth == 0 => return Err(self.wrong("it is nested too deeply")),
            Some(b'{') => Kind::Object(self.list(b'}', |parser| parser.member(depth))?),
            Some(b'[') => Kind::List(self.list(b']', |parser| parser.node(depth - 1))?),
            Some(b'"') => Kind::Text(self.string()?),
            _ => self.plain()?,
        };
        Ok(Node { span: start..self.at, kind })
    }

    fn member(&mut self, depth: usize) -> Result<Member, Wrong> {
        let start = self.at;
        if self.peek() != Some(b'"') {
            return Err(self.expected("a key in double quotes"));
        }
        let key = self.string()?;
        self.blank()?;
        if self.peek() != Some(b':') {
            return Err(self.expected("`:`"));
        }
        self.at += 1;
        self.blank()?;
        let value = self.node(depth - 1)?;
        Ok(Member { key, span: start..self.at, value })
    }

    /// The items of an object or list, up to its closing bracket.
    fn list<T>(
        &mut self,
        close: u8,
        item: impl Fn(&mut Self) -> Result<T, Wrong>,
    ) -> Result<Vec<T>, Wrong> {
        let mut items = Vec::new();
        self.at += 1;
        loop {
            self.blank()?;
            if self.peek() == Some(close) {
                self.at += 1;
                return Ok(items);
            }
            items.push(item(self)?);
            self.blank()?;
            match self.peek() {
                Some(b',') => self.at += 1,
                Some(byte) if byte == close => {}
                _ => return Err(self.expected(&format!("`,` or `{}`", char::from(close)))),
            }
        }
    }

    fn string(&mut self) -> Result<String, Wrong> {
        let bytes = self.text.as_bytes();
        let mut end = self.at + 1;
        loop {
            match bytes.get(end) {
                None | Some(b'\n') => return Err(self.wrong("a text has no end")),
                Some(b'"') => break,
                Some(b'\\') => end += 2,
                Some(_) => end += 1,
            }
        }
        let raw = &self.text[self.at..=end];
        let text = serde_json::from_str(raw).map_err(|_| self.wrong("a text is malformed"))?;
        self.at = end + 1;
        Ok(text)
    }

    fn plain(&mut self) -> Result<Kind, Wrong> {
        let rest = &self.text[self.at..];
        let is_part = |char: char| char.is_ascii_alphanumeric() || "+-.".contains(char);
        let word = &rest[..rest.find(|char| !is_part(char)).unwrap_or(rest.len())];
        if word.is_empty() {
            return Err(self.expected("a value"));
        }
        if serde_json::from_str::<Value>(word).is_err() {
            return Err(self.wrong(format!("`{word}` is no value")));
        }
        self.at += word.len();
        Ok(Kind::Plain)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_people_write_is_read() {
        let text =
            "\u{feff}{ // a\r\n \"a\": [1, /* b */ -2.5e3, true, null,], \"é\\n\": {\"x\":{}},}\n";
        let node = parse(text).unwrap();
        let value: Value = serde_json::json!({"a": [1, -2.5e3, true, null], "é\n": {"x": {}}});
        assert_eq!(node.value(text), value);
        assert_eq!(&text[node.members()[1].span.clone()], "\"é\\n\": {\"x\":{}}");
    }

    #[test]
    fn what_is_wrong_is_named_with_its_line() {
        for (text, line, message) in [
            ("", 1, "the text ends where a value should be"),
            ("{\n\"a\": \n}", 3, "`}` stands where a value should be"),
            ("{\n\n'a': 1}", 3, "`'` stands where a key in double quotes should be"),
            ("{\"a\" 1}", 1, "`1` stands where `:` should be"),
            ("{\"a\": 1\n \"b\": 2}", 2, "`\"` stands where `,` or `}` should be"),
            ("[1,, 2]", 1, "`,` stands where a value should be"),
            ("{\"a\": tru}", 1, "`tru` is no value"),
            ("{\"a\": 01}", 1, "`01` is no value"),
            ("{\"a\": \"b\n\"}", 1, "a text has no end"),
            ("{\"a\": \"b", 1, "a text has no end"),
            ("{\"a\": \"\\", 1, "a text has no end"),
            ("{\"a\": \"\\x\"}", 1, "a text is malformed"),
            ("{} /* x", 1, "a comment has no end"),
            ("{} / x", 1, "`/` stands where a value should be"),
            ("{}\n{}", 2, "something stands behind the end"),
        ] {
            let wrong = parse(text).unwrap_err();
            assert_eq!((wrong.line, &*wrong.message), (line, message), "{text:?}");
        }
        let deep = "[".repeat(100_000);
        assert_eq!(parse(&deep).unwrap_err().message, "it is nested too deeply");
        assert!(parse(&("[".repeat(DEPTH) + &"]".repeat(DEPTH))).is_ok());
    }
}
