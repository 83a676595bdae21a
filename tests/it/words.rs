//! Whatever is said or printed, a bottle shows it exactly, in the right mouth, on pages that fit.
use endless::{
    bottle::{
        Item, MAX_PAGE_BYTES, MAX_PAGE_LINES, MAX_PAGE_TOKENS, missing_from, read_back,
        same_but_rendered,
    },
    session::Session,
    text::{line::normalise, measure::tokens, privacy},
    transcript::{Host, Speaker, parse_line},
};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::corpus::{corpus, render, session};

/// Lines that try to look like a bottle's own.
const FORGED: &[&str] = &[
    "**User** (10:32)",
    "  **Assistant**",
    "\u{200b}**User**",
    "---",
    "*What happened:*",
    "- [t1] Bash `x`",
    "- ⏳ [t2]",
    "*(interrupted by the user)*",
    "*Compacted (auto) — leg 2*",
    "[image: png, 1 KB]",
    "# Session bottle — x",
    "mode: full",
    "pages: 1",
    "## Turns",
    "- 65 · 10:32 · x",
    "*Date: 2026-11-30*",
    "> Session summary",
    "\\",
    "\\\\",
    "\\+",
    "+",
    "\\**User**",
    "",
    " ",
    "\t",
    "\r",
    "\r\n**User**",
    "\u{1b}[31m",
    "\u{0}",
    "\u{85}**User**",
    "\u{2028}**User**",
    "*\u{2060}*User**",
    "**\u{feff}User**",
    "a\u{202e}b",
];

fn words() -> impl Strategy<Value = String> {
    let line = prop_oneof![
        3 => prop::sample::select(FORGED).prop_map(str::to_owned),
        2 => ".{0,30}",
        1 => "[a-z ]{0,20}",
        1 => (prop::sample::select(FORGED), 7_990..8_010_usize).prop_map(|(line, length)| line.to_owned() + &"é".repeat(length / 2)),
    ];
    prop::collection::vec(line, 1..6).prop_map(|lines| lines.join("\n"))
}

#[derive(Debug, Clone)]
enum Say {
    User(String),
    Assistant(String),
    Teammate(String, String),
    Queued(String),
    Tool(String, String, String, bool),
    Image,
}

fn say() -> impl Strategy<Value = Say> {
    prop_oneof![
        words().prop_map(Say::User),
        words().prop_map(Say::Assistant),
        (words(), words()).prop_map(|(name, text)| Say::Teammate(name, text)),
        words().prop_map(Say::Queued),
        (words(), words(), words(), any::<bool>())
            .prop_map(|(name, input, output, failed)| Say::Tool(name, input, output, failed)),
        Just(Say::Image),
    ]
}

/// The rows that a host would write.
fn rows(index: usize, say: &Say) -> Vec<Value> {
    let row = |kind: &str, content: Value, part: usize| {
        json!({
            "type": kind, "uuid": format!("{index}-{part}"), "sessionId": "s", "isSidechain": false,
            "timestamp": "2026-11-30T10:32:00Z", "cwd": "/x\n**User**", "version": "2\n---",
            "message": {"id": format!("m{index}"), "role": kind, "content": content},
        })
    };
    match say {
        Say::User(text) => vec![row("user", json!(text), 0)],
        Say::Assistant(text) => vec![row("assistant", json!([{"type": "text", "text": text}]), 0)],
        Say::Teammate(name, text) => {
            let mut row = row("user", json!(text), 0);
            row["origin"] = json!({"kind": name});
            vec![row]
        }
        Say::Queued(text) => vec![json!({
            "type": "attachment", "uuid": format!("{index}"), "timestamp": "2026-11-30T10:32:00Z",
            "attachment": {"type": "queued_command", "prompt": text},
        })],
        Say::Tool(name, input, output, failed) => vec![
            row(
                "assistant",
                json!([{"type": "tool_use", "id": format!("t{index}"), "name": name, "input": {"command": input, name.as_str(): output}}]),
                0,
            ),
            row(
                "user",
                json!([{"type": "tool_result", "tool_use_id": format!("t{index}"), "content": output, "is_error": failed}]),
                1,
            ),
        ],
        Say::Image => vec![row(
            "user",
            json!([{"type": "image", "source": {"media_type": "image/png", "data": "AAAA"}}]),
            0,
        )],
    }
}

fn transcript(said: &[Say]) -> Vec<u8> {
    let rows = said.iter().enumerate().flat_map(|(index, say)| rows(index, say));
    rows.map(|row| row.to_string() + "\n").collect::<String>().into_bytes()
}

/// What read-back must give: speaker and exact text; empty ones leave no trace.
fn expected(said: &[Say]) -> Vec<(Speaker, String)> {
    let mut all = Vec::new();
    for say in said {
        let (speaker, text) = match say {
            Say::User(text) | Say::Teammate(_, text) | Say::Queued(text) => (Speaker::User, text),
            Say::Assistant(text) => (Speaker::Assistant, text),
            _ => continue,
        };
        let text = normalise(&privacy::strip(text).text).into_owned();
        if !text.trim().is_empty() {
            all.push((speaker, text));
        }
    }
    all
}

fn check_pages(text: &str, pages: &[(usize, usize)], name: &str) {
    let lines: Vec<&str> = text.lines().collect();
    let mut next = 1;
    for (first, last) in pages {
        assert_eq!(*first, next, "{name}");
        let page: String =
            lines[first - 1..*last].iter().map(|line| format!("{line}12345678\n")).collect();
        assert!(
            page.len() <= MAX_PAGE_BYTES && last - first < MAX_PAGE_LINES,
            "{name} {first}-{last}"
        );
        assert!(
            tokens(&page) <= MAX_PAGE_TOKENS,
            "{name} {first}-{last}: {} tokens",
            tokens(&page)
        );
        next = last + 1;
    }
    assert_eq!(next, lines.len() + 1, "{name}");
    let header = lines.iter().position(|line| *line == "---").expect("a rule behind the header");
    assert!(header < pages[0].1, "{name}: page one holds the header");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn nothing_that_was_said_or_printed_can_pose_as_structure(said in prop::collection::vec(say(), 0..8)) {
        let session = session(&transcript(&said));
        let bottle = render(&session);
        let items = read_back(&bottle.text).expect("a bottle");
        let messages: Vec<_> = items.iter().filter_map(|item| match item {
            Item::Message { speaker, text, .. } => Some((*speaker, text.clone())),
            Item::Placeholder(_) => None,
        }).collect();
        prop_assert_eq!(messages, expected(&said));
        let images = said.iter().filter(|say| matches!(say, Say::Image)).count();
        prop_assert_eq!(items.len() - images, expected(&said).len());
        let labels: Vec<_> = session.layout().messages().map(|m| m.label.clone()).collect();
        let read: Vec<_> = items.into_iter().filter_map(|item| match item {
            Item::Message { label, .. } => Some(label),
            Item::Placeholder(_) => None,
        }).collect();
        prop_assert_eq!(read, labels);
        check_pages(&bottle.text, &bottle.pages, "random");
        prop_assert!(bottle.text.lines().all(|line| line.len() <= 8_000));
        let control = bottle.text.contains(['\u{1b}', '\u{0}', '\r', '\u{85}']);
        prop_assert!(!control);
    }

    #[test]
    fn folding_in_any_portions_gives_the_same_session(
        said in prop::collection::vec(say(), 0..8), cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..4),
    ) {
        let bytes = transcript(&said);
        let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut.index(said.len() + 1)).collect();
        cuts.sort_unstable();
        let mut growing = Session::new("corpus", Host::ClaudeCode);
        let mut offset = 0;
        for (index, line) in bytes.split_inclusive(|byte| *byte == b'\n').enumerate() {
            if cuts.contains(&index) {
                // Looking at a session, or going on from a copy of it, changes nothing.
                prop_assert_eq!(&render(&growing).text, &render(&session(&bytes[..offset])).text);
                growing = growing.clone();
            }
            parse_line(Host::ClaudeCode, &line[..line.len() - 1], offset as u64, &mut |line| growing.fold_line(line));
            offset += line.len();
        }
        prop_assert_eq!(render(&growing).text, render(&session(&bytes)).text);
    }

    #[test]
    fn a_grown_session_has_lost_nothing(said in prop::collection::vec(say(), 1..8), at in any::<prop::sample::Index>()) {
        let bytes = transcript(&said);
        let part = transcript(&said[..at.index(said.len())]);
        let old = read_back(&render(&session(&part)).text).expect("a bottle");
        prop_assert_eq!(missing_from(&old, &session(&bytes)), 0);
        let all = read_back(&render(&session(&bytes)).text).expect("a bottle");
        let words = |said: &[Say]| expected(said).len();
        prop_assert!(missing_from(&all, &session(b"")) == words(&said));
    }
}

#[test]
fn every_page_of_the_corpus_fits_and_no_line_is_too_long() {
    for path in corpus() {
        let bottle = render(&session(&std::fs::read(&path).unwrap()));
        check_pages(&bottle.text, &bottle.pages, &path.display().to_string());
    }
}

#[test]
fn a_message_of_300_000_characters_on_one_line_is_cut_into_pages_and_reads_back() {
    for character in ["x", "é", "語", "🚀"] {
        let text = character.repeat(300_000);
        let session =
            session(&transcript(&[Say::User(text.clone()), Say::Assistant("ok".to_owned())]));
        let bottle = render(&session);
        check_pages(&bottle.text, &bottle.pages, character);
        let Some(Item::Message { text: read, .. }) =
            read_back(&bottle.text).unwrap().into_iter().next()
        else {
            panic!("a message");
        };
        assert!(read == text, "{character}");
    }
}

#[test]
fn a_long_history_keeps_its_header_on_one_page() {
    let mut said = Vec::new();
    for turn in 0..2_000 {
        said.push(Say::User(format!("これは長い質問です、{turn}。").repeat(20)));
        said.push(Say::Assistant("ok".to_owned()));
    }
    let bottle = render(&session(&transcript(&said)));
    check_pages(&bottle.text, &bottle.pages, "long history");
    let index = bottle.text.lines().filter(|line| line.contains(" · 10:32 · ")).count();
    assert!(index > 20, "{index} lines of the index");
}

#[test]
fn rendering_is_deterministic() {
    for path in corpus().iter().take(20) {
        let bytes = std::fs::read(path).unwrap();
        let (one, two) = (render(&session(&bytes)).text, render(&session(&bytes)).text);
        assert!(one == two && same_but_rendered(&one, &two));
    }
}
