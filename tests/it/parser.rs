//! The parser against `serde_json::Value`: same kind, same words, on every line of the corpus and
//! on random rows with escapes in keys and values, surrogates, duplicate keys, depth, huge numbers
//! and odd white space.
use endless::transcript::{Entry, Host, Line, Piece, parse_line};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::corpus::corpus;

/// What both readings must agree on: the row's type, its texts, calls and results, in order.
#[derive(Debug, PartialEq, Default)]
struct Seen {
    kind: String,
    uuid: bool,
    parts: Vec<String>,
}

fn ours(line: &[u8]) -> Option<Seen> {
    let mut all = Vec::new();
    parse_line(Host::ClaudeCode, line, 0, &mut |line| {
        all.push(match line {
            Line::Entry(entry) => Some(seen(&entry)),
            Line::Unreadable(_) => None,
        });
    });
    if all.len() == 1 { all.remove(0) } else { None }
}

fn seen(entry: &Entry<'_>) -> Seen {
    let parts = entry.pieces.iter().filter_map(|piece| match piece {
        Piece::Speech { text, .. } | Piece::ApiError(text) | Piece::HostNote(text) => {
            Some(format!("says {text}"))
        }
        Piece::Prompt { text, .. } => Some(format!("says {text}")),
        Piece::Call { id, .. } => Some(format!("calls {id}")),
        Piece::Result(result) => Some(format!("result of {}", result.id)),
        _ => None,
    });
    Seen { kind: entry.kind.to_string(), uuid: entry.id.is_some(), parts: parts.collect() }
}

/// The same from a whole tree. Only rows whose texts need no judgement are compared: assistant
/// rows of the main conversation without labels, and tool results.
fn theirs(value: &Value) -> Option<Seen> {
    let kind = value["type"].as_str()?;
    let mut seen =
        Seen { kind: kind.to_owned(), uuid: value["uuid"].is_string(), ..Seen::default() };
    if let ("system", Some(subtype)) = (kind, value["subtype"].as_str()) {
        seen.kind = format!("{kind}/{subtype}");
    }
    if let ("attachment", Some(subtype)) = (kind, value["attachment"]["type"].as_str()) {
        seen.kind = format!("{kind}/{subtype}");
    }
    let side = value["isSidechain"] == true
        || value["isSidechain"].is_null() && value["agentId"].is_string();
    let content = &value["message"]["content"];
    if side || !matches!(kind, "assistant" | "user") {
        return Some(seen);
    }
    if let (Some(text), "assistant") = (content.as_str(), kind) {
        seen.parts.push(format!("says {text}"));
    }
    for block in content.as_array().into_iter().flatten() {
        let text = |key: &str| block[key].as_str().unwrap_or_default().to_owned();
        match (kind, block["type"].as_str()) {
            ("assistant", Some("text")) if block["text"].is_string() => {
                seen.parts.push(format!("says {}", text("text")));
            }
            ("assistant", Some("tool_use")) => seen.parts.push(format!("calls {}", text("id"))),
            ("user", Some("tool_result")) => {
                seen.parts.push(format!("result of {}", text("tool_use_id")));
            }
            _ => {}
        }
    }
    Some(seen)
}

/// Leaves of ours what theirs compares.
fn comparable(mut ours: Seen, kind: &str) -> Seen {
    if kind == "user" {
        ours.parts.retain(|part| part.starts_with("result of"));
    } else if kind != "assistant" {
        ours.parts.clear();
    }
    ours
}

/// Lone surrogate escapes replaced, as the design says; everything else as it stands.
fn repaired(line: &str) -> String {
    let mut out = String::new();
    let bytes = line.as_bytes();
    let unit = |at: usize| {
        let escape = line.get(at..at + 6)?.strip_prefix("\\u")?;
        u32::from_str_radix(escape, 16).ok()
    };
    let mut at = 0;
    while at < bytes.len() {
        if bytes[at] == b'\\' {
            let length = match unit(at) {
                Some(0xD800..=0xDBFF) if matches!(unit(at + 6), Some(0xDC00..=0xDFFF)) => 12,
                Some(0xD800..=0xDFFF) => {
                    out.push_str("\\ufffd");
                    at += 6;
                    continue;
                }
                Some(_) => 6,
                None => 2,
            };
            let end = (at + length).min(line.len());
            let end =
                (end..=line.len()).find(|end| line.is_char_boundary(*end)).unwrap_or(line.len());
            out.push_str(&line[at..end]);
            at = end;
        } else {
            let next = line[at..].chars().next().unwrap();
            out.push(next);
            at += next.len_utf8();
        }
    }
    out
}

fn has_questions(value: &Value) -> bool {
    let content = value["message"]["content"].as_array();
    content
        .into_iter()
        .flatten()
        .any(|block| matches!(block["name"].as_str(), Some("AskUserQuestion" | "ExitPlanMode")))
}

#[test]
fn agrees_with_a_whole_tree_on_every_line_of_the_corpus() {
    let mut compared = 0;
    for path in corpus() {
        let bytes = std::fs::read(&path).unwrap();
        for line in bytes.split(|byte| *byte == b'\n') {
            let text = repaired(&String::from_utf8_lossy(line));
            let Ok(value) = serde_json::from_str::<Value>(&text) else { continue };
            let Some(theirs) = theirs(&value).filter(|_| !has_questions(&value)) else { continue };
            let ours =
                comparable(ours(line).expect("a readable line"), value["type"].as_str().unwrap());
            assert_eq!(ours, theirs, "{}", path.display());
            compared += 1;
        }
    }
    assert!(compared > 5_000 || corpus().is_empty(), "only {compared} lines");
}

fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        ".{0,40}",
        Just("\"type\":\"text\"".to_owned()),
        Just("{\"type\":\"user\",\"uuid\":\"x\"}".to_owned()),
        Just("\\\"\\\\\u{0}\u{2028}\u{fffd}🚀".to_owned()),
    ]
}

fn block() -> impl Strategy<Value = Value> {
    prop_oneof![
        text().prop_map(|text| json!({"type": "text", "text": text})),
        text().prop_map(|text| json!({"type": "thinking", "thinking": text, "text": "no"})),
        (text(), text()).prop_map(|(id, text)| json!({
            "type": "tool_use", "id": id, "name": "Bash", "input": {"command": text, "type": "text"}
        })),
        text().prop_map(|text| json!({"type": "text", "text": null, "other": {"text": text}})),
        (text(), text()).prop_map(|(id, text)| json!({
            "type": "tool_result", "tool_use_id": id, "content": [{"type": "text", "text": text}]
        })),
    ]
}

fn row() -> impl Strategy<Value = Value> {
    let kind = prop_oneof![Just("assistant"), Just("user"), Just("progress"), Just("system")];
    let content = prop_oneof![
        prop::collection::vec(block(), 0..4).prop_map(Value::from),
        text().prop_map(Value::from),
        Just(Value::Null),
        any::<f64>().prop_map(Value::from),
    ];
    let sidechain = prop_oneof![Just(json!(null)), Just(json!(true)), Just(json!(false))];
    (kind, content, sidechain, text()).prop_map(|(kind, content, sidechain, extra)| {
        json!({
            "parentUuid": null, "isSidechain": sidechain, "huge": 1e300, "extra": extra,
            "message": {"type": "message", "id": "m", "role": kind, "content": content},
            "type": kind, "uuid": "u", "sessionId": "s", "deep": [[[[{"type": "user"}]]]],
        })
    })
}

/// Writes a value as JSON with random white space, escapes and repeated keys.
fn write(value: &Value, noise: &mut impl FnMut() -> u8, out: &mut String) {
    let space = |out: &mut String, byte: u8| {
        out.push_str(["", "", "", " ", "\t", "  "][usize::from(byte) % 6]);
    };
    match value {
        Value::Object(map) => {
            out.push('{');
            for (index, (key, value)) in map.iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                space(out, noise());
                if noise().is_multiple_of(8) {
                    write_string(key, noise, out);
                    out.push_str(":\"an older value\",");
                }
                write_string(key, noise, out);
                space(out, noise());
                out.push(':');
                space(out, noise());
                write(value, noise, out);
            }
            out.push('}');
        }
        Value::Array(values) => {
            out.push('[');
            for (index, value) in values.iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                write(value, noise, out);
                space(out, noise());
            }
            out.push(']');
        }
        Value::String(text) => write_string(text, noise, out),
        other => out.push_str(&other.to_string()),
    }
}

fn write_string(text: &str, noise: &mut impl FnMut() -> u8, out: &mut String) {
    out.push('"');
    for character in text.chars() {
        if noise().is_multiple_of(16) || character < ' ' || matches!(character, '"' | '\\') {
            for unit in character.encode_utf16(&mut [0; 2]) {
                out.push_str(&format!("\\u{unit:04x}"));
            }
        } else {
            out.push(character);
        }
    }
    out.push('"');
}

proptest! {
    #[test]
    fn agrees_with_a_whole_tree_on_random_rows(row in row(), noise in prop::collection::vec(any::<u8>(), 64)) {
        let mut bytes = noise.iter().copied().cycle();
        let mut line = String::new();
        write(&row, &mut || bytes.next().unwrap(), &mut line);
        let value: Value = serde_json::from_str(&line).unwrap();
        let kind = value["type"].as_str().unwrap().to_owned();
        let ours = ours(line.as_bytes()).map(|seen| comparable(seen, &kind));
        prop_assert_eq!(ours, theirs(&value), "{}", line);
    }

    #[test]
    fn any_bytes_are_read_without_a_panic(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        ours(&bytes);
    }

    #[test]
    fn a_damaged_row_is_read_without_a_panic(
        row in row(), at in any::<prop::sample::Index>(), byte: u8, cut: bool,
    ) {
        let mut line = row.to_string().into_bytes();
        let at = at.index(line.len());
        if cut { line.truncate(at) } else { line[at] = byte }
        ours(&line);
    }
}

#[test]
fn lone_surrogates_cost_one_character() {
    let line = r#"{"type":"assistant","uuid":"u","message":{"content":[{"type":"text","text":"a\ud83d b"}]}}"#;
    let seen = ours(line.as_bytes()).unwrap();
    assert_eq!(seen.parts, ["says a\u{fffd} b"]);
}
