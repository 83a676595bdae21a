//! Bottles on disk: what is kept, replaced, archived.
use std::os::unix::fs::symlink;

use super::*;
use crate::{text::time::Zone, transcript::parse_line};

struct Case {
    folder: tempfile::TempDir,
    paths: Paths,
    id: SessionId,
}

impl Case {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let paths = Paths::new(folder.path().join("state"));
        Self { folder, paths, id: "s".parse().unwrap() }
    }

    /// Keeps the bottle of a session in which these words are said.
    fn keep(&self, words: &[&str], now: i64) -> Kept {
        let mut session = Session::new("s", Host::ClaudeCode);
        for text in words {
            let row = format!(r#"{{"type":"user","message":{{"content":"{text}"}}}}"#);
            parse_line(Host::ClaudeCode, row.as_bytes(), 0, &mut |line| {
                session.fold_line(line);
            });
        }
        let options =
            Options { zone: Zone::utc(), rendered: Moment(now), earlier: None, observed: None };
        keep(&self.paths, &self.id, &session, options).unwrap()
    }

    fn archive(&self) -> Vec<String> {
        let entries = fs::read_dir(&self.paths.archive).unwrap();
        let mut names: Vec<_> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }
}

#[test]
fn words_that_a_session_lost_are_archived_once() {
    let case = Case::new();
    assert_eq!(case.keep(&["one", "two"], 1).written, Written::New);
    assert_eq!(case.keep(&["one", "two"], 2).written, Written::Unchanged);
    let grown = case.keep(&["one", "two", "three"], 3);
    assert_eq!(grown.written, Written::Replaced { archived: None });
    assert!(!grown.bottle.text.contains("earlier:"));

    let lost = case.keep(&["one", "three"], 4);
    let archived = case.paths.archive.join("4-s.md");
    assert_eq!(lost.written, Written::Replaced { archived: Some(archived.clone()) });
    assert_eq!(fs::read_to_string(archived).unwrap(), grown.bottle.text);
    assert!(lost.bottle.text.contains("earlier: archive/4-s.md (3 messages)"));
    assert_eq!(case.keep(&["one", "three"], 5).written, Written::Unchanged);
    let more = case.keep(&["one", "three", "four"], 6);
    assert!(more.bottle.text.contains("earlier: archive/4-s.md (3 messages)"));
    assert_eq!(case.archive(), ["4-s.md"]);
}

/// A session of so many words and a call, which has its result or not.
fn long(words: usize, has_result: bool) -> Session {
    let mut session = Session::new("s", Host::ClaudeCode);
    let call = r#"{"type":"assistant","message":{"content":[{"type":"tool_use","id":"t","name":"Bash","input":{"command":"make"}}]}}"#;
    let result = r#"{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"t","content":"made"}]}}"#;
    let said = (0..words).map(|number| {
        let text = "word ".repeat(200);
        format!(r#"{{"type":"user","message":{{"content":"{number} {text}"}}}}"#)
    });
    let rows = [call.to_owned()].into_iter().chain(said);
    for row in rows.chain(has_result.then(|| result.to_owned())) {
        parse_line(Host::ClaudeCode, row.as_bytes(), 0, &mut |line| session.fold_line(line));
    }
    session
}

#[test]
fn a_bottle_that_grows_is_the_whole_one_whatever_became_of_its_file() {
    let case = Case::new();
    let path = case.paths.bottle(&case.id);
    let options =
        |now| Options { zone: Zone::utc(), rendered: Moment(now), earlier: None, observed: None };
    let change = |from: &str, to: &str| {
        let text = fs::read_to_string(&path).unwrap().replacen(from, to, 1);
        fs::write(&path, text).unwrap();
    };
    let mut last = keep(&case.paths, &case.id, &long(40, false), options(1)).unwrap().last();
    let meanwhile: [&dyn Fn(); 5] = [
        &|| {},
        &|| change("rendered: 1970", "rendered: 11970"),
        &|| change("word word", "wort word"),
        &|| fs::write(&path, "").unwrap(),
        &|| fs::remove_file(&path).unwrap(),
    ];
    for (number, meanwhile) in (1..).zip(meanwhile) {
        meanwhile();
        let session = long(40 + number, number > 1);
        let now = options(i64::try_from(number).unwrap());
        let kept = keep_growing(&case.paths, &case.id, &session, now.clone(), &last);
        last = kept.unwrap().unwrap().last();
        let earlier = last.earlier.clone();
        let whole = render(&session, &Options { earlier, ..now });
        assert!(fs::read_to_string(&path).unwrap() == whole.text, "{number}");
    }
    let (session, now) = (long(45, true), options(9));
    assert!(keep_growing(&case.paths, &case.id, &session, now, &last).unwrap().is_none());
}

#[test]
fn a_failure_takes_the_archived_copy_back() {
    let case = Case::new();
    case.keep(&["one"], 1);
    let session = Session::new("s", Host::ClaudeCode);
    let options = Options { zone: Zone::utc(), rendered: Moment(2), earlier: None, observed: None };
    let path = case.paths.bottle(&case.id);
    fs::remove_file(&path).unwrap();
    fs::create_dir_all(path.join("full")).unwrap();
    assert!(keep(&case.paths, &case.id, &session, options).is_err());
    assert_eq!(case.archive(), Vec::<String>::new());
}

#[test]
fn the_archive_is_never_written_over() {
    let case = Case::new();
    case.keep(&["one"], 1);
    fs::write(case.paths.archive.join("2-s.md"), "older").unwrap();
    case.keep(&["two"], 2);
    case.keep(&["three"], 2);
    assert_eq!(case.archive(), ["2-s.md", "3-s.md", "4-s.md"]);
    assert_eq!(fs::read_to_string(case.paths.archive.join("2-s.md")).unwrap(), "older");
}

#[test]
fn what_is_no_bottle_is_archived_and_a_link_replaced() {
    let case = Case::new();
    case.keep(&["one"], 1);
    let path = case.paths.bottle(&case.id);
    fs::write(&path, b"notes \xff").unwrap();
    case.keep(&["one"], 2);
    assert_eq!(fs::read(case.paths.archive.join("2-s.md")).unwrap(), b"notes \xff");

    let other = case.folder.path().join("other");
    fs::write(&other, "theirs").unwrap();
    fs::remove_file(&path).unwrap();
    symlink(&other, &path).unwrap();
    assert_eq!(case.keep(&["one"], 3).written, Written::New);
    assert_eq!(fs::read_to_string(other).unwrap(), "theirs");
    assert_eq!(case.archive(), ["2-s.md"]);
}

#[test]
fn words_of_two_that_write_at_once_are_all_in_the_bottle_or_the_archive() {
    let folder = tempfile::tempdir().unwrap();
    let paths = Paths::new(folder.path().join("state"));
    prepare(&paths).unwrap();
    let id: SessionId = "s".parse().unwrap();
    let write = |name: &str, number: usize| {
        let mut session = Session::new("s", Host::ClaudeCode);
        let row = format!(
            r#"{{"type":"user","uuid":"{number}","message":{{"content":"words of {name} {number}"}}}}"#
        );
        parse_line(Host::ClaudeCode, row.as_bytes(), 0, &mut |line| session.fold_line(line));
        let rendered = Moment(i64::try_from(number).unwrap());
        let options = Options { zone: Zone::utc(), rendered, earlier: None, observed: None };
        keep(&paths, &id, &session, options).unwrap();
    };
    std::thread::scope(|scope| {
        for name in ["a", "b", "c"] {
            scope.spawn(move || (0..20).for_each(|number| write(name, number)));
        }
    });
    let mut all = fs::read_to_string(paths.bottle(&id)).unwrap();
    for entry in fs::read_dir(&paths.archive).unwrap() {
        all += &fs::read_to_string(entry.unwrap().path()).unwrap();
    }
    for name in ["a", "b", "c"] {
        assert!((0..20).all(|number| all.contains(&format!("words of {name} {number}\n"))));
    }
}
