//! Requests and replies as lines of JSON. Pure.
//!
//! The protocol's number is looked at before anything else in a line, so that a peer of another
//! version is told so, whatever its requests look like. Refuses: what is not said in
//! [`super::request`], with words that tell a person what was wrong.
use serde::{Deserialize, Serialize};

use super::request::{PROTOCOL, Reply, Request};
use crate::text::line::plain_line;

/// Characters of what a parser says.
const SAID: usize = 300;

/// Why a line is not understood.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum WireError {
    /// It is not UTF-8.
    #[error("the line is not UTF-8")]
    NotText,
    /// It is no JSON object.
    #[error("the line is no JSON object: {0}")]
    NotJson(String),
    /// It names no protocol.
    #[error("the line has no protocol number; send {{\"protocol\":{PROTOCOL},\"request\":{{…}}}}")]
    NoProtocol,
    /// The peer speaks another protocol.
    #[error(
        "this service speaks protocol {PROTOCOL} (endless {version}), you sent protocol {theirs}: \
         update the older of the two",
        version = env!("CARGO_PKG_VERSION")
    )]
    OtherProtocol {
        /// Its number.
        theirs: u64,
    },
    /// It says what this protocol does not have.
    #[error("not understood: {0}")]
    Unknown(String),
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Asked<T> {
    protocol: u32,
    request: T,
}

/// A newer service may add to an answer.
#[derive(Serialize, Deserialize)]
struct Answered<T> {
    protocol: u32,
    reply: T,
}

#[derive(Deserialize)]
struct Numbered {
    protocol: Option<u64>,
}

/// A request as a line.
///
/// # Errors
/// Never, for what [`Request`] can hold.
pub fn write_request(request: &Request) -> serde_json::Result<Vec<u8>> {
    line(&Asked { protocol: PROTOCOL, request })
}

/// A reply as a line.
///
/// # Errors
/// Never, for what [`Reply`] can hold.
pub fn write_reply(reply: &Reply) -> serde_json::Result<Vec<u8>> {
    line(&Answered { protocol: PROTOCOL, reply })
}

/// The request of a line.
///
/// # Errors
/// Where it is none of this protocol.
pub fn read_request(line: &[u8]) -> Result<Request, WireError> {
    let text = numbered(line)?;
    serde_json::from_str(text).map(|asked: Asked<Request>| asked.request).map_err(unknown)
}

/// The reply of a line.
///
/// # Errors
/// Where it is none of this protocol.
pub fn read_reply(line: &[u8]) -> Result<Reply, WireError> {
    let text = numbered(line)?;
    serde_json::from_str(text).map(|answered: Answered<Reply>| answered.reply).map_err(unknown)
}

/// JSON has no newline but between values, and this has none there.
fn line(value: &impl Serialize) -> serde_json::Result<Vec<u8>> {
    let mut line = serde_json::to_vec(value)?;
    line.push(b'\n');
    Ok(line)
}

/// The text of a line of this protocol.
fn numbered(line: &[u8]) -> Result<&str, WireError> {
    let text = std::str::from_utf8(line).map_err(|_| WireError::NotText)?;
    let numbered: Numbered = serde_json::from_str(text)
        .map_err(|error| WireError::NotJson(plain_line(&error.to_string(), SAID)))?;
    match numbered.protocol {
        None => Err(WireError::NoProtocol),
        Some(theirs) if theirs != u64::from(PROTOCOL) => Err(WireError::OtherProtocol { theirs }),
        Some(_) => Ok(text),
    }
}

#[expect(clippy::needless_pass_by_value, reason = "it is passed to `map_err`")]
fn unknown(error: serde_json::Error) -> WireError {
    WireError::Unknown(plain_line(&error.to_string(), SAID))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_read_as_they_are_written() {
        let requests = [
            Request::Status { session: Some("a\nb".to_owned()), sync: true },
            Request::Sessions {},
            Request::Shutdown {},
        ];
        for request in requests {
            let line = write_request(&request).unwrap();
            assert_eq!(line.iter().filter(|byte| **byte == b'\n').count(), 1);
            assert_eq!(read_request(&line), Ok(request));
        }
        for reply in [Reply::Done, Reply::Error("a\nb".to_owned()), Reply::Sessions(Vec::new())] {
            let line = write_reply(&reply).unwrap();
            assert_eq!(line.iter().filter(|byte| **byte == b'\n').count(), 1);
            assert_eq!(read_reply(&line), Ok(reply));
        }
    }

    #[test]
    fn what_may_be_left_out_has_a_default() {
        let line = br#" {"request": {"status": {}}, "protocol": 1} "#;
        assert_eq!(read_request(line), Ok(Request::Status { session: None, sync: false }));
        let line = br#"{"protocol":1,"more":2,"reply":{"status":{"also":3}}}"#;
        assert_eq!(read_reply(line), Ok(Reply::Status(Box::default())));
    }

    #[test]
    fn errors_say_what_was_wrong() {
        for (line, expected) in [
            (&b"{\"protocol\":1,\xff}"[..], "the line is not UTF-8"),
            (b"", "the line is no JSON object: EOF while parsing"),
            (b"status", "the line is no JSON object: expected value at line 1 column 1"),
            (br#"{"protocol":-1}"#, "the line is no JSON object: invalid value: integer `-1`"),
            (b"{}", r#"the line has no protocol number; send {"protocol":1,"request":{…}}"#),
            (
                br#"{"protocol":7,"query":["status"]}"#,
                "this service speaks protocol 1 (endless 0.1.0), you sent protocol 7: update the \
                 older of the two",
            ),
            (br#"{"protocol":1}"#, "not understood: missing field `request`"),
            (
                br#"{"protocol":1,"request":{"unseal":{}}}"#,
                "unknown variant `unseal`, expected one of",
            ),
            (br#"{"protocol":1,"request":{"status":{"a":1}}}"#, "unknown field `a`, expected"),
            (br#"{"protocol":1,"request":{"sessions":{}},"x":0}"#, "unknown field `x`"),
        ] {
            let error = read_request(line).unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        }
        let evil = format!(r#"{{"protocol":1,"request":{{"{}":1}}}}"#, "\\u001b".repeat(9_000));
        let error = read_request(evil.as_bytes()).unwrap_err().to_string();
        assert!(error.len() < 1_500 && !error.contains('\u{1b}'), "{error}");
    }
}
