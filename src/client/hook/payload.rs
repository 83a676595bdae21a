//! What Claude Code gives a hook on stdin, and what it takes from its stdout. Pure.
//!
//! Observed on versions up to 2.1.332. Fields that are missing, null or of another type are taken as
//! absent; unknown events and those of a subagent ask for nothing. Half an emoji, which hosts write
//! where they cut a text, costs nothing but itself. Refuses: payloads without a session id that can
//! be a file's name, and what is no JSON object; what is refused is not quoted.
use std::borrow::Cow;

use serde_json::json;

use crate::{
    engine::hook::HookKind,
    paths::SessionId,
    session::flush::Announced,
    text::{line::words_key, measure::utf16_tail},
    transcript::json::{Cursor, Members},
};

/// UTF-16 units of the agent's last words that are compared; their end proves as much as all.
const WORDS: usize = 2_000;

/// A payload, as far as it matters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Payload {
    /// The session.
    pub session: SessionId,
    /// The event's name, as the host wants it in an answer.
    pub name: &'static str,
    /// Where the host says that the transcript is.
    pub transcript: Option<String>,
    /// What is to be done.
    pub wants: Wants,
}

/// What a payload asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Wants {
    /// Nothing.
    Nothing,
    /// To tell the service, which may print.
    Event(HookKind),
    /// To say whether the agent may read a file.
    Read {
        /// The file, as the agent named it.
        file: String,
    },
}

/// Why a payload is not understood.
#[derive(Debug, thiserror::Error)]
pub enum PayloadError {
    /// It is no JSON object.
    #[error("the payload is no JSON object: {0}")]
    NotJson(String),
    /// It names no session.
    #[error("the payload names no session: its session_id is none")]
    NoSession,
}

/// Reads a payload.
///
/// # Errors
/// Where nothing can be done with it.
pub fn read(bytes: &[u8]) -> Result<Payload, PayloadError> {
    let members = object(bytes)?;
    let text = |key: &str| members.text(key);
    let session = text("session_id").and_then(|id| id.parse().ok());
    let session = session.ok_or(PayloadError::NoSession)?;
    let transcript = text("transcript_path").map(Cow::into_owned);
    let (name, wants) = match text("agent_id") {
        // A subagent's own compaction is not the session's.
        Some(agent) if !agent.is_empty() => ("", Wants::Nothing),
        _ => wants(&members),
    };
    Ok(Payload { session, name, transcript, wants })
}

/// The members of the one object that the payload is.
fn object(bytes: &[u8]) -> Result<Members<'_>, PayloadError> {
    let not_json = |why: &dyn std::fmt::Display| PayloadError::NotJson(why.to_string());
    let mut cursor = Cursor::new(bytes);
    if cursor.peek() != Some(b'{') {
        return Err(not_json(&"it begins with no brace"));
    }
    let (_, members) = cursor.raw_members().map_err(|error| not_json(&error))?;
    match cursor.peek() {
        None => Ok(members),
        Some(_) => Err(not_json(&"more stands behind it")),
    }
}

fn wants(members: &Members<'_>) -> (&'static str, Wants) {
    let text = |key: &str| members.text(key).unwrap_or_default();
    match &*text("hook_event_name") {
        "SessionStart" => ("SessionStart", started(&text("source"))),
        "SessionEnd" if text("reason") == "clear" => {
            ("SessionEnd", Wants::Event(HookKind::Cleared {}))
        }
        "UserPromptSubmit" => {
            let id = members.text("prompt_id").map(Cow::into_owned);
            let prompt = Announced { id, words: words_key(&text("prompt")), after: 0 };
            ("UserPromptSubmit", Wants::Event(HookKind::Prompted { prompt }))
        }
        "PreCompact" => {
            let cause = if text("trigger") == "manual" { "manual" } else { "auto" };
            let event = HookKind::Compacting { cause: cause.to_owned() };
            ("PreCompact", Wants::Event(event))
        }
        "Stop" | "StopFailure" => {
            let words = text("last_assistant_message");
            let words = words.trim();
            let words = (!words.is_empty()).then(|| utf16_tail(words, WORDS).to_owned());
            ("Stop", Wants::Event(HookKind::Ended { words }))
        }
        "PostCompact" | "SessionEnd" => {
            ("SessionEnd", Wants::Event(HookKind::Ended { words: None }))
        }
        "PermissionRequest" if text("tool_name") == "Read" => {
            let input = members.get("tool_input");
            let file = input.and_then(|input| input.text("file_path")).map(Cow::into_owned);
            let wants = file.map(|file| Wants::Read { file });
            ("PermissionRequest", wants.unwrap_or(Wants::Nothing))
        }
        _ => ("", Wants::Nothing),
    }
}

fn started(source: &str) -> Wants {
    Wants::Event(match source {
        "compact" => HookKind::Compacted {},
        "resume" => HookKind::Resumed { always: false },
        _ => HookKind::Began,
    })
}

/// The answer that gives the model a text.
pub fn context(event: &str, text: &str) -> String {
    json!({ "hookSpecificOutput": { "hookEventName": event, "additionalContext": text } })
        .to_string()
}

/// The answer that lets this one tool call through.
pub fn allow() -> String {
    let decision = json!({ "behavior": "allow" });
    json!({ "hookSpecificOutput": { "hookEventName": "PermissionRequest", "decision": decision } })
        .to_string()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn wants_of(payload: &str) -> String {
        match read(payload.as_bytes()) {
            Ok(Payload { name, wants: Wants::Event(event), .. }) => format!("{name} {event:?}"),
            Ok(Payload { wants, .. }) => format!("{wants:?}"),
            Err(error) => error.to_string(),
        }
    }

    #[test]
    fn events_are_told_by_their_names() {
        for (fields, expected) in [
            (r#""hook_event_name":"SessionStart","source":"compact""#, "SessionStart Compacted"),
            (
                r#""hook_event_name":"SessionStart","source":"resume""#,
                "SessionStart Resumed { always: false }",
            ),
            (r#""hook_event_name":"SessionStart","source":"startup""#, "SessionStart Began"),
            (r#""hook_event_name":"SessionStart","source":"clear""#, "SessionStart Began"),
            (r#""hook_event_name":"SessionStart","source":7"#, "SessionStart Began"),
            (r#""hook_event_name":"SessionEnd","reason":"clear""#, "SessionEnd Cleared"),
            (
                r#""hook_event_name":"SessionEnd","reason":"other""#,
                "SessionEnd Ended { words: None }",
            ),
            (r#""hook_event_name":"PostCompact""#, "SessionEnd Ended { words: None }"),
            (
                r#""hook_event_name":"PreCompact","trigger":"manual""#,
                r#"PreCompact Compacting { cause: "manual" }"#,
            ),
            (
                r#""hook_event_name":"PreCompact","trigger":null"#,
                r#"PreCompact Compacting { cause: "auto" }"#,
            ),
            (
                r#""hook_event_name":"Stop","last_assistant_message":" Done.\n""#,
                r#"Stop Ended { words: Some("Done.") }"#,
            ),
            (r#""hook_event_name":"StopFailure","error":"x""#, "Stop Ended { words: None }"),
            (
                r#""hook_event_name":"PermissionRequest","tool_name":"Read","tool_input":{"file_path":"/f"}"#,
                r#"Read { file: "/f" }"#,
            ),
            (r#""hook_event_name":"PermissionRequest","tool_name":"Bash""#, "Nothing"),
            (
                r#""hook_event_name":"PermissionRequest","tool_name":"Read","tool_input":[]"#,
                "Nothing",
            ),
            (r#""hook_event_name":"PreToolUse""#, "Nothing"),
            (r#""hook_event_name":["Stop"]"#, "Nothing"),
            (r#""x":1"#, "Nothing"),
            // A subagent's.
            (r#""hook_event_name":"SessionStart","source":"compact","agent_id":"a1""#, "Nothing"),
            (
                r#""hook_event_name":"SessionStart","source":"compact","agent_id":null"#,
                "SessionStart Compacted",
            ),
        ] {
            let payload = format!(r#"{{"session_id":"s-1",{fields}}}"#);
            assert_eq!(wants_of(&payload), expected, "{fields}");
        }
    }

    #[test]
    fn a_prompt_is_announced_by_id_and_words() {
        let payload = br#"{"session_id":"s","hook_event_name":"UserPromptSubmit","prompt":" do  it ","prompt_id":"p"}"#;
        let prompt = Announced { id: Some("p".to_owned()), words: words_key("do it"), after: 0 };
        assert_eq!(read(payload).unwrap().wants, Wants::Event(HookKind::Prompted { prompt }));
    }

    #[test]
    fn half_an_emoji_costs_nothing_but_itself() {
        for field in [r#""prompt":"a \ud83d b""#, r#""custom_instructions":"\udc00\ud800""#] {
            let payload = format!(
                r#"{{"session_id":"s","hook_event_name":"UserPromptSubmit","prompt":"a \ufffd b",{field}}}"#
            );
            let prompt = Announced { id: None, words: words_key("a \u{fffd} b"), after: 0 };
            let wants = Wants::Event(HookKind::Prompted { prompt });
            assert_eq!(read(payload.as_bytes()).unwrap().wants, wants);
        }
    }

    #[test]
    fn what_can_not_be_used_is_refused_with_a_reason() {
        for (payload, expected) in [
            ("", "the payload is no JSON object: it begins with no brace"),
            ("[]", "the payload is no JSON object: it begins with no brace"),
            (r#"{"session_id":"a""#, "the payload is no JSON object: broken JSON at byte 17"),
            (r#"{"session_id":"a"} x"#, "the payload is no JSON object: more stands behind it"),
            ("{}", "the payload names no session: its session_id is none"),
            (r#"{"session_id":null}"#, "the payload names no session"),
            (r#"{"session_id":"../../x"}"#, "the payload names no session"),
        ] {
            let error = read(payload.as_bytes()).unwrap_err().to_string();
            assert!(error.contains(expected), "{payload}: {error}");
        }
        let long = format!(r#"{{"session_id":"{}"}}"#, "x".repeat(5_000));
        assert!(read(long.as_bytes()).is_err());
    }

    #[test]
    fn answers_are_what_the_host_takes() {
        assert_eq!(
            context("SessionStart", "a\n\"b\""),
            r#"{"hookSpecificOutput":{"additionalContext":"a\n\"b\"","hookEventName":"SessionStart"}}"#
        );
        assert_eq!(
            allow(),
            r#"{"hookSpecificOutput":{"decision":{"behavior":"allow"},"hookEventName":"PermissionRequest"}}"#
        );
    }

    proptest! {
        #[test]
        fn any_bytes_are_a_payload_or_an_error(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            drop(read(&bytes));
        }

        #[test]
        fn any_types_are_taken(
            name in prop::sample::select(vec!["SessionStart", "Stop", "PreCompact", "PermissionRequest", "UserPromptSubmit"]),
            field in prop::sample::select(vec!["source", "trigger", "prompt", "prompt_id", "tool_name", "tool_input", "agent_id", "transcript_path", "last_assistant_message"]),
            value in prop::sample::select(vec!["null", "1", "[]", "{}", "\"\"", "true", "\"x\"", "{\"file_path\":1}"]),
        ) {
            let payload = format!(r#"{{"session_id":"s","hook_event_name":"{name}","{field}":{value}}}"#);
            prop_assert!(read(payload.as_bytes()).is_ok());
        }
    }
}
