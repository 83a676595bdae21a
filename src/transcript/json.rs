//! Walks over JSON text without building a tree: what is not kept is never decoded.
//!
//! A [`Cursor`] steps through one line; a [`Raw`] is one whole value and a [`Quoted`] the inside of
//! a string, both still as they stand in the file. Structure is checked everywhere (a cut record
//! that runs into the next one must be noticed), the inside of skipped strings is not: a stray
//! control character in a tool's output costs nobody a word.
//!
//! Nesting is unlimited and costs no stack. Where a key stands twice the caller sees both, in
//! order, and lets the last one win, as hosts do.
mod quotes;

use std::borrow::Cow;

use memchr::memchr;
use quotes::Ends;

/// The line is not the JSON that it should be: cut, glued to another, or not JSON at all.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("broken JSON at byte {at}")]
pub struct Broken {
    /// Where in the text the walk stopped, in bytes.
    pub at: usize,
}

/// One whole JSON value, as it stands in the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Raw<'a>(pub &'a [u8]);

impl<'a> Raw<'a> {
    /// A walk over this value.
    pub fn cursor(self) -> Cursor<'a> {
        Cursor::new(self.0)
    }

    /// The string that this value is, if it is one.
    pub fn quoted(self) -> Option<Quoted<'a>> {
        match self.0 {
            [b'"', inside @ .., b'"'] => Some(Quoted(inside)),
            _ => None,
        }
    }

    /// The value of `key`, if this is an object that has it; the last one where it stands twice.
    pub fn member(self, key: &str) -> Option<Self> {
        let mut found = None;
        self.cursor()
            .members(|name, cursor| {
                let value = cursor.raw()?;
                if name.is(key) {
                    found = Some(value);
                }
                Ok(())
            })
            .ok()?;
        found
    }

    /// The decoded string at `key`.
    pub fn text(self, key: &str) -> Option<Cow<'a, str>> {
        Some(self.member(key)?.quoted()?.decode())
    }

    /// The unsigned number that this value is, if it is a whole one that fits.
    pub fn number(self) -> Option<u64> {
        std::str::from_utf8(self.0).ok()?.parse().ok()
    }

    /// Whether this value is `true`.
    pub fn is_true(self) -> bool {
        self.0 == b"true"
    }

    /// The elements, if this is an array.
    pub fn elements(self) -> Vec<Self> {
        let mut all = Vec::new();
        let walked = self.cursor().elements(|cursor| {
            all.push(cursor.raw()?);
            Ok(())
        });
        if walked.is_ok() { all } else { Vec::new() }
    }
}

/// The members of an object, found in one walk.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Members<'a>(Vec<(Cow<'a, [u8]>, Raw<'a>)>);

impl<'a> Members<'a> {
    /// The value of `key`; the last one where it stands twice.
    pub fn get(&self, key: &str) -> Option<Raw<'a>> {
        let found = self.0.iter().rev().find(|(name, _)| **name == *key.as_bytes());
        found.map(|(_, value)| *value)
    }

    /// The decoded string at `key`.
    pub fn text(&self, key: &str) -> Option<Cow<'a, str>> {
        Some(self.get(key)?.quoted()?.decode())
    }

    /// All members, in order.
    pub fn iter(&self) -> impl Iterator<Item = (&[u8], Raw<'a>)> {
        self.0.iter().map(|(name, value)| (name.as_ref(), *value))
    }
}

/// The inside of a JSON string, still escaped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Quoted<'a>(pub &'a [u8]);

impl<'a> Quoted<'a> {
    /// Whether the decoded string is `text`.
    pub fn is(self, text: &str) -> bool {
        self.0 == text.as_bytes() || (self.0.contains(&b'\\') && self.decode() == text)
    }

    /// The string: escapes resolved, lone surrogates and invalid UTF-8 replaced by U+FFFD.
    pub fn decode(self) -> Cow<'a, str> {
        match memchr(b'\\', self.0) {
            None => std::str::from_utf8(self.0)
                .map_or_else(|_| String::from_utf8_lossy(self.0), Cow::Borrowed),
            Some(first) => Cow::Owned(unescape(self.0, first)),
        }
    }
}

/// A position in JSON text.
#[derive(Debug, Clone)]
pub struct Cursor<'a> {
    bytes: &'a [u8],
    at: usize,
    ends: Ends,
}

impl<'a> Cursor<'a> {
    /// A cursor at the start of `bytes`.
    pub fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0, ends: Ends::default() }
    }

    /// Bytes passed so far.
    pub fn position(&self) -> usize {
        self.at
    }

    /// The next byte that is not white space, without passing it.
    pub fn peek(&mut self) -> Option<u8> {
        while let Some(byte) = self.bytes.get(self.at) {
            if !matches!(byte, b' ' | b'\t' | b'\n' | b'\r') {
                return Some(*byte);
            }
            self.at += 1;
        }
        None
    }

    /// Passes one value and returns it.
    pub fn raw(&mut self) -> Result<Raw<'a>, Broken> {
        self.peek();
        let start = self.at;
        self.skip()?;
        Ok(Raw(&self.bytes[start..self.at]))
    }

    /// Passes one value; the string, where it is one.
    pub fn string(&mut self) -> Result<Option<Quoted<'a>>, Broken> {
        if self.peek() == Some(b'"') {
            return self.quoted().map(Some);
        }
        self.skip()?;
        Ok(None)
    }

    /// Passes one value and returns it with its members, of which there are none where it is no
    /// object.
    pub fn raw_members(&mut self) -> Result<(Raw<'a>, Members<'a>), Broken> {
        self.peek();
        let start = self.at;
        let mut members = Vec::new();
        self.members(|key, cursor| {
            if members.is_empty() {
                members.reserve(8);
            }
            let name = if key.0.contains(&b'\\') {
                Cow::Owned(key.decode().into_owned().into_bytes())
            } else {
                Cow::Borrowed(key.0)
            };
            members.push((name, cursor.raw()?));
            Ok(())
        })?;
        Ok((Raw(&self.bytes[start..self.at]), Members(members)))
    }

    /// Passes one value; whether it is `true`.
    pub fn flag(&mut self) -> Result<bool, Broken> {
        Ok(self.raw()?.is_true())
    }

    /// Passes an object, giving each key with the cursor before its value; `each` must pass it.
    /// A value that is no object is passed without a call.
    pub fn members<F>(&mut self, mut each: F) -> Result<(), Broken>
    where
        F: FnMut(Quoted<'a>, &mut Self) -> Result<(), Broken>,
    {
        if self.peek() != Some(b'{') {
            return self.skip();
        }
        self.at += 1;
        if self.peek() == Some(b'}') {
            self.at += 1;
            return Ok(());
        }
        loop {
            self.peek();
            let key = self.quoted()?;
            self.expect(b':')?;
            each(key, self)?;
            if self.ends(b'}')? {
                return Ok(());
            }
        }
    }

    /// Passes an array, with the cursor before each element; `each` must pass it.
    /// A value that is no array is passed without a call.
    pub fn elements<F>(&mut self, mut each: F) -> Result<(), Broken>
    where
        F: FnMut(&mut Self) -> Result<(), Broken>,
    {
        if self.peek() != Some(b'[') {
            return self.skip();
        }
        self.at += 1;
        if self.peek() == Some(b']') {
            self.at += 1;
            return Ok(());
        }
        loop {
            each(self)?;
            if self.ends(b']')? {
                return Ok(());
            }
        }
    }

    /// Passes one value of any kind and depth.
    pub fn skip(&mut self) -> Result<(), Broken> {
        match self.peek() {
            Some(b'{' | b'[') => self.skip_nested(),
            Some(b'"') => self.quoted().map(drop),
            Some(_) => self.scalar(),
            None => Err(self.broken()),
        }
    }

    /// Passes an object or array: a loop with an explicit stack, so that depth costs no stack.
    fn skip_nested(&mut self) -> Result<(), Broken> {
        let mut open = Nesting::default();
        loop {
            match self.peek() {
                Some(b'{') => {
                    self.at += 1;
                    if self.peek() == Some(b'}') {
                        self.at += 1;
                    } else {
                        open.push(true);
                        self.key()?;
                        continue;
                    }
                }
                Some(b'[') => {
                    self.at += 1;
                    if self.peek() == Some(b']') {
                        self.at += 1;
                    } else {
                        open.push(false);
                        continue;
                    }
                }
                Some(b'"') => drop(self.quoted()?),
                Some(_) => self.scalar()?,
                None => return Err(self.broken()),
            }
            if self.close(&mut open)? {
                return Ok(());
            }
        }
    }

    /// After a value inside `open`: passes what closes, up to the next value. True when all is closed.
    fn close(&mut self, open: &mut Nesting) -> Result<bool, Broken> {
        while let Some(object) = open.top() {
            if !self.ends(if object { b'}' } else { b']' })? {
                if object {
                    self.key()?;
                }
                return Ok(false);
            }
            open.pop();
        }
        Ok(true)
    }

    fn key(&mut self) -> Result<(), Broken> {
        self.peek();
        self.quoted()?;
        self.expect(b':')
    }

    /// After a value: passes a comma (false) or the closing byte (true).
    fn ends(&mut self, closing: u8) -> Result<bool, Broken> {
        let next = self.peek();
        if next == Some(closing) || next == Some(b',') {
            self.at += 1;
            return Ok(next == Some(closing));
        }
        Err(self.broken())
    }

    fn expect(&mut self, byte: u8) -> Result<(), Broken> {
        if self.peek() != Some(byte) {
            return Err(self.broken());
        }
        self.at += 1;
        Ok(())
    }

    #[inline(always)]
    fn quoted(&mut self) -> Result<Quoted<'a>, Broken> {
        if self.bytes.get(self.at) != Some(&b'"') {
            return Err(self.broken());
        }
        let start = self.at + 1;
        let end = self.ends.after(self.bytes, start).ok_or_else(|| self.broken())?;
        self.at = end + 1;
        Ok(Quoted(&self.bytes[start..end]))
    }

    fn scalar(&mut self) -> Result<(), Broken> {
        let rest = &self.bytes[self.at..];
        let length = match rest.first() {
            Some(b't') if rest.starts_with(b"true") => 4,
            Some(b'f') if rest.starts_with(b"false") => 5,
            Some(b'n') if rest.starts_with(b"null") => 4,
            Some(b'-' | b'0'..=b'9') => rest
                .iter()
                .take_while(|b| matches!(b, b'0'..=b'9' | b'-' | b'+' | b'.' | b'e' | b'E'))
                .count(),
            _ => return Err(self.broken()),
        };
        self.at += length;
        Ok(())
    }

    fn broken(&self) -> Broken {
        Broken { at: self.at }
    }
}

/// Which brackets are open: a bit each, and a vector below the 128th level.
#[derive(Default)]
struct Nesting {
    bits: u128,
    depth: usize,
    deep: Vec<bool>,
}

impl Nesting {
    fn push(&mut self, object: bool) {
        if self.depth < 128 {
            let bit = 1_u128 << self.depth;
            self.bits = if object { self.bits | bit } else { self.bits & !bit };
        } else {
            self.deep.push(object);
        }
        self.depth += 1;
    }

    fn top(&self) -> Option<bool> {
        match self.depth {
            0 => None,
            1..=128 => Some(self.bits >> (self.depth - 1) & 1 == 1),
            _ => self.deep.last().copied(),
        }
    }

    fn pop(&mut self) {
        if self.depth > 128 {
            self.deep.pop();
        }
        self.depth -= 1;
    }
}

fn unescape(raw: &[u8], first: usize) -> String {
    let mut out = Vec::with_capacity(raw.len());
    let mut rest = raw;
    let mut next = Some(first);
    while let Some(backslash) = next {
        out.extend_from_slice(&rest[..backslash]);
        rest = &rest[backslash + 1..];
        rest = &rest[escape(rest, &mut out)..];
        next = memchr(b'\\', rest);
    }
    out.extend_from_slice(rest);
    String::from_utf8(out)
        .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
}

/// Writes what the escape means; returns how many bytes it takes after its backslash.
/// An escape that JSON does not know stays as it stands.
fn escape(rest: &[u8], out: &mut Vec<u8>) -> usize {
    let plain = match rest.first() {
        Some(b'n') => b'\n',
        Some(b't') => b'\t',
        Some(b'r') => b'\r',
        Some(b'b') => 8,
        Some(b'f') => 12,
        Some(byte @ (b'"' | b'\\' | b'/')) => *byte,
        Some(b'u') => return unicode(rest, out),
        _ => {
            out.push(b'\\');
            return 0;
        }
    };
    out.push(plain);
    1
}

fn unicode(rest: &[u8], out: &mut Vec<u8>) -> usize {
    let Some(unit) = hex(rest.get(1..5)) else {
        out.push(b'\\');
        return 0;
    };
    let low = if rest.get(5..7) == Some(b"\\u") { hex(rest.get(7..11)) } else { None };
    let (character, length) = match (unit, low) {
        (0xD800..=0xDBFF, Some(low @ 0xDC00..=0xDFFF)) => {
            (char::from_u32(0x10000 + ((unit - 0xD800) << 10) + (low - 0xDC00)), 11)
        }
        _ => (char::from_u32(unit), 5),
    };
    let character = character.unwrap_or(char::REPLACEMENT_CHARACTER);
    out.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
    length
}

fn hex(digits: Option<&[u8]>) -> Option<u32> {
    digits?.iter().try_fold(0, |sum, digit| Some(sum * 16 + char::from(*digit).to_digit(16)?))
}

#[cfg(test)]
mod tests;
