//! Every real transcript of a corpus, against the independent reading of `oracle`.
//!
//! The corpus itself is large and stays outside the repository; `ENDLESS_CORPUS` names its folder.
//! Without it these tests have nothing to compare; the fixtures hold every rule on their own.
use std::path::PathBuf;

use endless::{
    bottle::{self, Item, read_back},
    observation::relative,
    session::Session,
    text::line::{one_line, plain_line},
    text::time::{Moment, Zone},
    transcript::{Host, Speaker, parse_line},
};

use crate::oracle;

/// Where the corpus is: where `ENDLESS_CORPUS` says, else `corpus/` in a folder beside the checkout.
fn root() -> Option<PathBuf> {
    if let Some(root) = std::env::var_os("ENDLESS_CORPUS") {
        return Some(root.into());
    }
    let beside = PathBuf::from(env!("CARGO_MANIFEST_DIR")).parent()?.read_dir().ok()?;
    let corpora = beside.flatten().map(|entry| entry.path().join("corpus"));
    corpora.into_iter().find(|corpus| corpus.join("claude-code").is_dir())
}

pub(crate) fn corpus() -> Vec<PathBuf> {
    let Some(root) = root() else { return Vec::new() };
    let mut files: Vec<PathBuf> = ["claude-code", "claude-code-2.1.332"]
        .iter()
        .filter_map(|folder| std::fs::read_dir(root.join(folder)).ok())
        .flatten()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "jsonl"))
        .collect();
    files.sort();
    files
}

pub(crate) fn session(bytes: &[u8]) -> Session {
    let mut session = Session::new("corpus", Host::ClaudeCode);
    let mut offset = 0;
    for line in bytes.split_inclusive(|byte| *byte == b'\n') {
        let text = line.strip_suffix(b"\n").unwrap_or(line);
        parse_line(Host::ClaudeCode, text, offset, &mut |line| session.fold_line(line));
        offset += line.len() as u64;
    }
    session
}

pub(crate) fn render(session: &Session) -> bottle::Bottle {
    bottle::render(session, &options())
}

fn options() -> bottle::Options {
    bottle::Options { zone: Zone::utc(), rendered: Moment(0), earlier: None, observed: None }
}

/// A message as both readings give it.
type Words = (bool, String, String);

fn expected(reading: &oracle::Reading) -> Vec<Words> {
    let said = reading.said.iter();
    said.map(|said| (said.speaker == oracle::Speaker::User, said.label.clone(), said.text.clone()))
        .collect()
}

fn shown(session: &Session) -> Vec<Words> {
    let layout = session.layout();
    layout
        .messages()
        .map(|m| (m.speaker == Speaker::User, m.label.clone(), m.text.to_string()))
        .collect()
}

#[test]
fn every_message_of_the_corpus_is_there_once_in_the_right_mouth() {
    let mut differences = Vec::new();
    for path in corpus() {
        let bytes = std::fs::read(&path).unwrap();
        let (expected, shown) = (expected(&oracle::read(&bytes, None)), shown(&session(&bytes)));
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if name.ends_with("agents_claude_small.jsonl") {
            continue; // Another project blanked its uuids: all rows share one, none has an identity.
        }
        let same = |a: &Words, b: &Words| {
            let question = a.1 == "question" && b.2.starts_with(&a.2);
            a.0 == b.0 && a.1 == b.1 && (a.2 == b.2 || question)
        };
        for index in 0..expected.len().max(shown.len()) {
            match (expected.get(index), shown.get(index)) {
                (Some(a), Some(b)) if same(a, b) => {}
                (a, b) => {
                    differences.push(format!(
                        "{name}: message {index}\n  expected {a:?}\n  shown    {b:?}"
                    ));
                    break;
                }
            }
        }
    }
    assert!(
        differences.is_empty(),
        "{} files differ:\n{}",
        differences.len(),
        differences.join("\n")
    );
}

#[test]
fn every_bottle_of_the_corpus_reads_back() {
    for path in corpus() {
        let session = session(&std::fs::read(&path).unwrap());
        let bottle = render(&session);
        let items = read_back(&bottle.text).expect("a bottle");
        let messages: Vec<Words> = items
            .into_iter()
            .filter_map(|item| match item {
                Item::Message { speaker, label, text } => {
                    Some((speaker == Speaker::User, label, text))
                }
                Item::Placeholder(_) => None,
            })
            .collect();
        assert!(messages == shown(&session), "{}", path.display());
    }
}

/// What a bottle must keep of tool traffic: every changed path, every command with its exit
/// status (cut at 120 characters), and at least nine in ten of the paths read.
/// Portions in which a transcript comes.
const PORTIONS: usize = 24;

#[test]
fn every_bottle_of_the_corpus_that_grew_is_the_whole_one() {
    for path in corpus() {
        let bytes = std::fs::read(&path).unwrap();
        let lines: Vec<&[u8]> = bytes.split(|byte| *byte == b'\n').collect();
        let mut session = Session::new("corpus", Host::ClaudeCode);
        let mut old = render(&session);
        for portion in lines.chunks(lines.len().div_ceil(PORTIONS)) {
            for line in portion {
                parse_line(Host::ClaudeCode, line, 0, &mut |line| session.fold_line(line));
            }
            let settled = old.settled.as_ref().unwrap();
            let new = bottle::render_grown(&session, &options(), settled, old.text);
            let whole = render(&session);
            assert!(new.text == whole.text && new.pages == whole.pages, "{}", path.display());
            assert_eq!((new.lines, new.pending), (whole.lines, whole.pending));
            old = new;
        }
    }
}

#[test]
fn every_bottle_of_the_corpus_keeps_paths_commands_and_exit_statuses() {
    for path in corpus() {
        let bytes = std::fs::read(&path).unwrap();
        let (reading, session) = (oracle::read(&bytes, None), session(&bytes));
        let bottle = render(&session).text;
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let shown = |path: &str| bottle.contains(&one_line(relative(path, &session.folder), 180));
        let live = |id: &str| !reading.calls.iter().any(|call| call.id == id && call.rewound);
        for path in &reading.paths_changed {
            assert!(
                shown(path) || !reading.calls.iter().all(|call| live(&call.id)),
                "{name}: {path} is changed"
            );
        }
        let read = reading.paths_read.iter().filter(|path| shown(path)).count();
        assert!(
            read * 10 >= reading.paths_read.len() * 9,
            "{name}: {read} of {} read",
            reading.paths_read.len()
        );
        for (command, status) in &reading.commands {
            let command = one_line(&plain_line(command, 120), 150);
            let expected = match status.as_deref() {
                Some("failed") => format!("Bash `{command}` → failed"),
                Some(exit) => format!("Bash `{command}` → exit {exit}"),
                None => format!("Bash `{command}`"),
            };
            assert!(bottle.contains(&expected), "{name}: {expected}");
        }
    }
}

#[test]
fn a_real_session_of_4_mb_is_at_least_ten_times_smaller() {
    for path in corpus() {
        let bytes = std::fs::read(&path).unwrap();
        let bottle = render(&session(&bytes)).text;
        if bytes.len() > 4_000_000 {
            assert!(
                bottle.len() * 10 < bytes.len(),
                "{}: {} of {}",
                path.display(),
                bottle.len(),
                bytes.len()
            );
        }
    }
}

#[test]
fn what_cannot_be_read_is_counted_as_the_independent_reading_counts_it() {
    for path in corpus() {
        let bytes = std::fs::read(&path).unwrap();
        let (reading, session) = (oracle::read(&bytes, None), session(&bytes));
        assert_eq!(session.counts.unreadable, reading.unreadable as u64, "{}", path.display());
        assert_eq!(session.legs() as usize, reading.boundaries + 1, "{}", path.display());
    }
}
