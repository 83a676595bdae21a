//! Bodies of tool calls, read back from transcripts.

use std::{fs, os::unix::fs::symlink};

use super::*;
use crate::{
    sources::{load::load, transcripts::Target},
    transcript::Host,
};

struct Case {
    folder: tempfile::TempDir,
    loaded: Loaded,
}

impl Case {
    /// A session with one Bash call that gave this content (JSON).
    fn new(content: &str, rest: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("s.jsonl");
        let call = r#"{"type":"assistant","uuid":"1","message":{"content":[{"type":"tool_use","id":"toolu_1","name":"Bash","input":{"command":"ls <private>x</private>"}}]}}"#;
        let result = format!(
            r#"{{"type":"user","uuid":"2","message":{{"content":[{{"type":"tool_result","tool_use_id":"toolu_1","content":{content}}}]}}{rest}}}"#
        );
        fs::write(&path, format!("{call}\n{result}\n")).unwrap();
        let target = Target { id: Some("s".parse().unwrap()), files: vec![path] };
        let loaded = load(&target, Host::ClaudeCode).unwrap();
        Self { folder, loaded }
    }

    fn body(&self) -> Result<Body, BodyError> {
        let bodies = read_bodies(&self.loaded, &BTreeSet::from([0]))?;
        Ok(bodies.get(0).unwrap().clone())
    }

    fn output(&self) -> (String, bool) {
        let output = self.body().unwrap().output.unwrap();
        (output.text, output.note.is_some())
    }
}

#[test]
fn texts_are_joined_and_cleaned() {
    for (content, rest, expected) in [
        (r#""a\r\n\u001b[1m<private>b</private>c""#, "", "a\n␛[1mc"),
        (r#"[{"type":"text","text":"a"},{"type":"text","text":"b"}]"#, "", "a\nb"),
        (
            r#"[{"type":"image","source":{"media_type":"image/png","data":"AAAA"}},{"type":"x"}]"#,
            "",
            "[image: png, 1 KB]\n[x]",
        ),
        (r#""""#, r#","toolUseResult":{"stdout":"o","stderr":"e"}"#, "o\ne"),
        (r#""""#, r#","toolUseResult":"Error: no""#, "Error: no"),
    ] {
        assert_eq!(Case::new(content, rest).output(), (expected.to_owned(), false));
    }
    let input = Case::new("\"\"", "").body().unwrap().input;
    assert_eq!(input.text("command"), Some("ls "));
}

#[test]
fn a_rewritten_transcript_is_refused() {
    let case = Case::new("\"\"", "");
    let path = &case.loaded.files[0];
    let text = fs::read_to_string(path).unwrap();
    for other in [text.replacen("toolu_1", "toolu_2", 1), text[..60].to_owned()] {
        fs::write(path, other).unwrap();
        assert!(matches!(case.body(), Err(BodyError::Rewritten { .. })));
    }
}

/// A session of these rows.
fn session(rows: &[String]) -> (tempfile::TempDir, Loaded) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("s.jsonl");
    fs::write(&path, rows.join("\n") + "\n").unwrap();
    let target = Target { id: Some("s".parse().unwrap()), files: vec![path] };
    let loaded = load(&target, Host::ClaudeCode).unwrap();
    (folder, loaded)
}

fn row(kind: &str, blocks: impl Iterator<Item = String>) -> String {
    let blocks: Vec<_> = blocks.collect();
    format!(r#"{{"type":"{kind}","message":{{"content":[{}]}}}}"#, blocks.join(","))
}

fn all(loaded: &Loaded) -> Bodies {
    let calls = loaded.session.ledger().calls();
    read_bodies(loaded, &(0..u32::try_from(calls.len()).unwrap()).collect()).unwrap()
}

#[test]
fn calls_without_an_id_are_told_apart() {
    let block = |n| format!(r#"{{"type":"tool_use","name":"X","input":{n}}}"#);
    let named = r#"{"type":"tool_use","id":"a","name":"X","input":9}"#.to_owned();
    let rows = [
        row("assistant", [block(0), named, block(1)].into_iter()),
        row("assistant", [block(2), block(3)].into_iter()),
    ];
    let (_folder, loaded) = session(&rows);
    let bodies = all(&loaded);
    let inputs: Vec<_> = (0..5).map(|index| bodies.get(index).unwrap().input.pretty()).collect();
    assert_eq!(inputs, ["0", "9", "1", "2", "3"]);
    assert_eq!(bodies.records, 2);
}

#[test]
fn each_record_is_read_once() {
    let count = 20_000;
    let call = |n| format!(r#"{{"type":"tool_use","id":"c{n}","name":"X","input":{n}}}"#);
    let nameless = |n| format!(r#"{{"type":"tool_use","name":"X","input":{n}}}"#);
    let result = |n| format!(r#"{{"type":"tool_result","tool_use_id":"c{n}","content":"{n}"}}"#);
    // The results alternate between two records.
    let results = |odd| row("user", (0..count).filter(move |n| n % 2 == odd).map(result));
    let rows = [
        row("assistant", (0..count).map(call)),
        results(0),
        results(1),
        row("assistant", (0..count).map(nameless)),
    ];
    let (_folder, loaded) = session(&rows);
    let bodies = all(&loaded);
    assert_eq!(bodies.records, rows.len());
    for n in 0..count {
        let expected = n.to_string();
        let named = bodies.get(n).unwrap();
        assert_eq!(named.input, Value::Number(expected.clone()));
        assert_eq!(named.output.as_ref().unwrap().text, expected);
        assert_eq!(bodies.get(count + n).unwrap().input, Value::Number(expected));
    }
}

#[test]
fn what_the_host_kept_beside_several_results_is_of_none() {
    let call = |n| format!(r#"{{"type":"tool_use","id":"c{n}","name":"X","input":{n}}}"#);
    let result = |n| format!(r#"{{"type":"tool_result","tool_use_id":"c{n}","content":""}}"#);
    let several = row("user", [1, 2].map(result).into_iter());
    let several = several.replacen('{', r#"{"toolUseResult":"of one of them","#, 1);
    let (_folder, loaded) = session(&[row("assistant", [1, 2].map(call).into_iter()), several]);
    let bodies = all(&loaded);
    for index in [0, 1] {
        assert_eq!(bodies.get(index).unwrap().output, Some(Output::default()));
    }
}

#[test]
fn only_one_whole_wrapper_is_the_hosts() {
    let wrapper = "<persisted-output>\nFull output saved to: /x/o.txt\n</persisted-output>";
    let quoted = |text: &str| serde_json::to_string(text).unwrap();
    let block = |text: &str| format!(r#"{{"type":"text","text":{}}}"#, quoted(text));
    let kept = |content: &str| {
        let case = Case::new(content, "");
        let results = case.folder.path().join("s/tool-results");
        fs::create_dir_all(&results).unwrap();
        fs::write(results.join("o.txt"), "kept").unwrap();
        case.output()
    };
    let whole = ("kept".to_owned(), true);
    assert_eq!(kept(&quoted(wrapper)), whole);
    assert_eq!(kept(&quoted(&format!("\n{wrapper} \n"))), whole);
    assert_eq!(kept(&format!("[{}]", block(wrapper))), whole);
    for text in [
        format!("{wrapper}\nreal"),
        format!("real\n{wrapper}"),
        format!("{wrapper}real{wrapper}"),
        format!("<persisted-output>real {wrapper}"),
        format!("{wrapper} real</persisted-output>"),
        format!("<persisted-output>a{wrapper}real</persisted-output>"),
        "<persisted-output>\nFull output saved to: /x/o.txt\nreal".to_owned(),
    ] {
        assert_eq!(kept(&quoted(&text)), (text, false));
    }
    let two = format!("[{},{}]", block(wrapper), block("real"));
    assert_eq!(kept(&two), (format!("{wrapper}\nreal"), false));
    let private = format!("{wrapper}a<private>SECRET</private>b");
    assert_eq!(kept(&quoted(&private)), ("ab".to_owned(), false));
}

#[test]
fn persisted_output_comes_from_its_own_folder_only() {
    let record = |path: &str| {
        let text = format!(
            "<persisted-output>\nOutput too large. Full output saved to: {path}\n\nPreview:\nhead <private>x</private>\n</persisted-output>"
        );
        Case::new(&serde_json::to_string(&text).unwrap(), "")
    };
    let case = record("/elsewhere/o.txt");
    let (preview, cut) = case.output();
    assert!(preview.ends_with("Preview:\nhead ") && cut, "{preview}");
    let results = case.folder.path().join("s/tool-results");
    fs::create_dir_all(&results).unwrap();
    assert!(case.output().1);
    fs::write(results.join("o.txt"), "whole <private>x</private>output\x1b").unwrap();
    assert_eq!(case.output(), ("whole output␛".to_owned(), true));

    fs::rename(results.join("o.txt"), case.folder.path().join("o.txt")).unwrap();
    symlink(case.folder.path().join("o.txt"), results.join("o.txt")).unwrap();
    assert!(case.output().1);
    fs::remove_file(results.join("o.txt")).unwrap();
    fs::remove_dir(&results).unwrap();
    symlink(case.folder.path(), &results).unwrap();
    assert!(case.output().1);
    assert!(record("/x/..").output().1);
    assert!(record("/x/.REDACTED.txt").output().1);
}
