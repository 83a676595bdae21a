//! A value of a tool call as it may be shown: nothing private, no control characters.
//!
//! Read from the record's own bytes: members keep their order and numbers their digits. What is
//! nested deeper than anything that is meant is named, not shown.

use serde::ser::{Serialize, SerializeMap, SerializeSeq, Serializer};

use super::clean;
use crate::transcript::json::{Quoted, Raw};

/// Levels that are shown.
const DEPTH: usize = 100;

/// A JSON value, cleaned.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Value {
    /// `null`.
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// A number, as it stands.
    Number(String),
    /// A string.
    Text(String),
    /// An array.
    List(Vec<Self>),
    /// An object, in the order of the file.
    Object(Vec<(String, Self)>),
}

impl Value {
    /// Reads a value and cleans every string in it, keys too.
    pub fn read(raw: Raw<'_>) -> Self {
        Self::at(raw, DEPTH)
    }

    fn at(raw: Raw<'_>, depth: usize) -> Self {
        if let Some(text) = raw.quoted() {
            return Self::Text(clean(&text.decode()));
        }
        match raw.0.first() {
            Some(b'{' | b'[') if depth == 0 => {
                Self::Text(format!("[nested too deeply to be shown: {} bytes]", raw.0.len()))
            }
            Some(b'{') => Self::Object(members(raw, depth)),
            Some(b'[') => {
                Self::List(raw.elements().into_iter().map(|raw| Self::at(raw, depth - 1)).collect())
            }
            Some(b't') => Self::Bool(true),
            Some(b'f') => Self::Bool(false),
            Some(b'-' | b'0'..=b'9') => Self::Number(Quoted(raw.0).decode().into_owned()),
            _ => Self::Null,
        }
    }

    /// The string at `key`, if this is an object that has one.
    pub fn text(&self, key: &str) -> Option<&str> {
        let Self::Object(members) = self else { return None };
        let (_, value) = members.iter().rev().find(|(name, _)| name == key)?;
        match value {
            Self::Text(text) => Some(text),
            _ => None,
        }
    }

    /// This object without a member.
    pub fn without(&self, key: &str) -> Self {
        match self {
            Self::Object(members) => {
                Self::Object(members.iter().filter(|(name, _)| name != key).cloned().collect())
            }
            other => other.clone(),
        }
    }

    /// Whether there is nothing in it.
    pub fn is_empty(&self) -> bool {
        match self {
            Self::Null => true,
            Self::Text(text) => text.is_empty(),
            Self::List(list) => list.is_empty(),
            Self::Object(members) => members.is_empty(),
            Self::Bool(_) | Self::Number(_) => false,
        }
    }

    /// The value as JSON, on several lines.
    pub fn pretty(&self) -> String {
        serde_json::to_string_pretty(self).unwrap_or_default()
    }
}

fn members(raw: Raw<'_>, depth: usize) -> Vec<(String, Value)> {
    let mut members = Vec::new();
    let walked = raw.cursor().members(|key, cursor| {
        let value = Value::at(cursor.raw()?, depth - 1);
        members.push((clean(&key.decode()), value));
        Ok(())
    });
    if walked.is_ok() { members } else { Vec::new() }
}

impl Serialize for Value {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Null => serializer.serialize_unit(),
            Self::Bool(value) => serializer.serialize_bool(*value),
            Self::Number(digits) => number(digits, serializer),
            Self::Text(text) => serializer.serialize_str(text),
            Self::List(list) => {
                let mut sequence = serializer.serialize_seq(Some(list.len()))?;
                for value in list {
                    sequence.serialize_element(value)?;
                }
                sequence.end()
            }
            Self::Object(members) => {
                let mut map = serializer.serialize_map(Some(members.len()))?;
                for (key, value) in members {
                    map.serialize_entry(key, value)?;
                }
                map.end()
            }
        }
    }
}

/// A number that would lose digits is written as a string.
fn number<S: Serializer>(digits: &str, serializer: S) -> Result<S::Ok, S::Error> {
    match digits.parse::<serde_json::Number>() {
        Ok(number) if number.to_string() == digits => number.serialize(serializer),
        _ => serializer.serialize_str(digits),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(json: &str, expected: &str) {
        let shown = serde_json::to_string(&Value::read(Raw(json.as_bytes()))).unwrap();
        assert_eq!(shown, expected);
    }

    #[test]
    fn values_keep_their_order_and_lose_what_is_private() {
        check(r#"{"b":1,"a":[true,null,-2.5]}"#, r#"{"b":1,"a":[true,null,-2.5]}"#);
        check(r#"{"k<private>x</private>":"a\u003cPRIVATE>b</private>c"}"#, r#"{"k":"ac"}"#);
        check(r#""\u001b[1m\ud800""#, "\"␛[1m\u{fffd}\"");
        check("123456789012345678901234567890", "\"123456789012345678901234567890\"");
        check("1e999", "\"1e999\"");
    }

    #[test]
    fn depth_is_bounded() {
        let deep = format!("{}\"<private>\"{}", "[".repeat(100_000), "]".repeat(100_000));
        let shown = serde_json::to_string(&Value::read(Raw(deep.as_bytes()))).unwrap();
        assert!(shown.contains("nested too deeply") && !shown.contains("private"));
    }
}
