//! A request as it reached the model, and what stands in it.
use serde_json::Value;

use crate::pointer::{self, Pointer};

/// What the client's first words to the model hold where a subagent asks.
const SUBAGENT: &str = "cc_is_subagent=true";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Main,
    Subagent,
    /// A summary is to be written.
    Summary,
    /// Anything else: titles and the like.
    Other,
}

#[derive(Clone)]
pub(crate) struct Request {
    pub(crate) kind: Kind,
    pub(crate) body: Value,
}

/// What a tool call gave.
#[derive(Debug, Clone)]
pub(crate) struct Outcome {
    pub(crate) id: String,
    pub(crate) text: String,
    pub(crate) failed: bool,
}

impl Outcome {
    /// The lines that Read gave. The client trims the white space at the end of a last line.
    pub(crate) fn numbered(&self) -> Vec<(usize, &str)> {
        let numbered = |line| {
            let (number, line) = str::split_once(line, '\t').unwrap_or((line, ""));
            Some((number.trim().parse().ok()?, line))
        };
        self.text.lines().filter_map(numbered).collect()
    }
}

impl Request {
    pub(crate) fn new(body: Value) -> Self {
        let last = body["messages"].as_array().and_then(|messages| messages.last());
        let last = last.map(texts).unwrap_or_default().join("\n");
        let system = texts(&body["system"]).join("\n");
        let has_tools = body["tools"].as_array().is_some_and(|tools| !tools.is_empty());
        let kind = if last.contains("create a detailed summary") {
            Kind::Summary
        } else if system.contains(SUBAGENT) {
            Kind::Subagent
        } else if has_tools {
            Kind::Main
        } else {
            Kind::Other
        };
        Self { kind, body }
    }

    /// Who asks, as the client says it: the session's id is in it.
    pub(crate) fn by(&self) -> &str {
        self.body["metadata"]["user_id"].as_str().unwrap_or_default()
    }

    /// All that stands in it, but for what tools were asked.
    pub(crate) fn texts(&self) -> Vec<&str> {
        let mut all = texts(&self.body["system"]);
        all.extend(texts(&self.body["messages"]));
        all
    }

    pub(crate) fn contains(&self, words: &str) -> bool {
        self.texts().iter().any(|text| text.contains(words))
    }

    /// The pointers in it, in order.
    pub(crate) fn pointers(&self) -> Vec<Pointer> {
        self.texts().into_iter().flat_map(pointer::pointers).collect()
    }

    /// What the tool calls before it gave.
    pub(crate) fn outcomes(&self) -> Vec<Outcome> {
        let messages = self.body["messages"].as_array().into_iter().flatten();
        let blocks =
            messages.flat_map(|message| message["content"].as_array().into_iter().flatten());
        let results = blocks.filter(|block| block["type"] == "tool_result");
        let outcome = |block: &Value| Outcome {
            id: block["tool_use_id"].as_str().unwrap_or_default().to_owned(),
            text: texts(&block["content"]).join("\n"),
            failed: block["is_error"] == true,
        };
        results.map(outcome).collect()
    }
}

/// The texts in a value, in order, without those of tool calls.
/// The host may put its own words behind what a tool gave.
fn texts(value: &Value) -> Vec<&str> {
    match value {
        Value::String(text) => vec![text],
        Value::Array(values) => values.iter().flat_map(texts).collect(),
        Value::Object(members) => match members.get("type").and_then(Value::as_str) {
            Some("tool_use") => Vec::new(),
            _ => ["text", "content"]
                .iter()
                .filter_map(|key| members.get(*key))
                .flat_map(texts)
                .collect(),
        },
        _ => Vec::new(),
    }
}
