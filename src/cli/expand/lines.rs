//! The lines of a bottle that stand for tool calls, compared with what the session says now.
//!
//! A transcript that was rewritten gives other calls the numbers that a bottle shows. What a call
//! is about never changes; how it ended does, while it runs, and reads that follow each other come
//! to share a line. So only what a line is about is compared, up to a length that no ending cuts.

use std::collections::BTreeMap;

use crate::{
    observation::{Observation, condensed::CALLS, derive},
    session::Session,
    text::time::Zone,
};

const CALL: &str = "- [t";
const STUB: &str = "- ⏳ [t";
/// What stands between what a call is about and how it ended.
const ENDING: &str = " → ";
/// Characters that are compared: what a line is cut to always has them.
const COMPARED: usize = 200;

/// The lines of a bottle, by the number of the first call of each.
pub(super) struct Lines<'b>(BTreeMap<u32, Line<'b>>);

struct Line<'b> {
    last: u32,
    text: &'b str,
    pending: bool,
}

/// What a call is about in the bottle, and in the session.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Differs {
    pub(super) there: String,
    pub(super) here: String,
}

impl<'b> Lines<'b> {
    /// The lines of this bottle; none where the text is no bottle.
    pub(super) fn of(bottle: &'b str) -> Self {
        let body = bottle.split_once("\n---\n").map_or("", |(_, body)| body);
        Self(body.lines().filter_map(line).collect())
    }

    /// How the line of the call with this index in the ledger differs; none where it does not, and
    /// where no line stands for it. `shown`: the call is not rewound.
    pub(super) fn differs(
        &self,
        session: &Session,
        index: u32,
        shown: bool,
        zone: &Zone,
    ) -> Option<Differs> {
        let number = index + 1;
        let (first, line) = self.0.range(..=number).next_back()?;
        let now = derive(session, &[index], zone).pop();
        let is_same = match &now {
            _ if number > line.last => true,
            Some(now) if *first == line.last => is_same(line, now),
            None if *first == line.last => false,
            // Of most calls a condensed line tells no more than which tool they were of.
            Some(now) if is_condensed(line) => {
                let tool = now.text.split(' ').next().unwrap_or_default();
                !shown || line.text.contains(tool)
            }
            // Calls that are rewound, or change the task list, may lie between those of a line.
            Some(now) => !shown || !is_reads(line) || names(line.text, session, index, now, zone),
            None => true,
        };
        let here =
            || now.as_ref().map_or("no line".to_owned(), |now| about(&now.text, now.pending));
        (!is_same).then(|| Differs { there: about(line.text, line.pending), here: here() })
    }
}

/// `- [t18-t22] Read 5 files: …`
fn line(line: &str) -> Option<(u32, Line<'_>)> {
    let (rest, pending) = match line.strip_prefix(STUB) {
        Some(rest) => (rest, true),
        None => (line.strip_prefix(CALL)?, false),
    };
    let (ids, text) = rest.split_once("] ")?;
    let (first, last) = ids.split_once("-t").unwrap_or((ids, ids));
    Some((first.parse().ok()?, Line { last: last.parse().ok()?, text, pending }))
}

/// What a line is about: without its ending, and without the time of a stub.
fn about(text: &str, pending: bool) -> String {
    let text = text.split(ENDING).next().unwrap_or_default();
    let text = if pending { without_time(text) } else { text };
    text.chars().take(COMPARED).collect()
}

/// `… (10:32:11)`
fn without_time(text: &str) -> &str {
    let is_time = |inside: &str| {
        inside.len() == 8 && inside.bytes().all(|byte| byte.is_ascii_digit() || byte == b':')
    };
    match text.strip_suffix(')').and_then(|text| text.rsplit_once(" (")) {
        Some((before, inside)) if is_time(inside) => before,
        _ => text,
    }
}

/// `… (+12 −3)`: an edit that runs does not say yet how much it changed.
fn without_change(text: &str) -> &str {
    match text.strip_suffix(')').and_then(|text| text.rsplit_once(" (+")) {
        Some((before, inside)) if inside.contains(" −") => before,
        _ => text,
    }
}

fn is_same(line: &Line<'_>, now: &Observation) -> bool {
    let (there, here) = (about(line.text, line.pending), about(&now.text, now.pending));
    let differ = line.pending != now.pending;
    there == here || differ && without_change(&there) == without_change(&here)
}

/// `14 calls: Read ×9, …`
fn is_condensed(line: &Line<'_>) -> bool {
    line.text.split_once(CALLS).is_some_and(|(count, _)| {
        !count.is_empty() && count.bytes().all(|byte| byte.is_ascii_digit())
    })
}

fn is_reads(line: &Line<'_>) -> bool {
    line.text.starts_with("Read ")
}

/// Whether a line that several reads share names the file that this call reads.
fn names(text: &str, session: &Session, index: u32, now: &Observation, zone: &Zone) -> bool {
    // Twice the same read is told as its path alone, without its lines.
    let twice = derive(session, &[index, index], zone);
    let path = match &twice[..] {
        [twice] => {
            twice.text.strip_prefix("Read ").and_then(|text| text.strip_suffix(" (2 times)"))
        }
        _ => None,
    };
    let Some(path) = path else { return text == now.text };
    if text.strip_prefix("Read ").and_then(|text| text.strip_prefix(path)).is_some_and(is_times) {
        return true;
    }
    let files = text.split_once(" files: ").map_or("", |(_, files)| files);
    let mut found = files.match_indices(path);
    found.any(|(at, _)| {
        let (before, behind) = (&files[..at], &files[at + path.len()..]);
        let begins = before.is_empty() || before.ends_with(", ");
        begins && (behind.is_empty() || behind.starts_with(", "))
    })
}

/// ` (3 times)`
fn is_times(text: &str) -> bool {
    text.strip_prefix(" (").is_some_and(|text| text.ends_with(" times)"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        bottle::{Options, render},
        text::time::Moment,
        transcript::{Host, parse_line},
    };

    fn session(rows: &[String]) -> Session {
        let mut session = Session::new("s", Host::ClaudeCode);
        for (number, row) in rows.iter().enumerate() {
            let id = format!(r#"{{"cwd":"/w","timestamp":"2026-11-30T10:00:0{number}Z","#);
            let row = row.replacen('{', &id, 1);
            parse_line(Host::ClaudeCode, row.as_bytes(), 0, &mut |line| session.fold_line(line));
        }
        session
    }

    fn call(id: &str, tool: &str, input: &str) -> String {
        format!(
            r#"{{"type":"assistant","message":{{"content":[{{"type":"tool_use","id":"{id}","name":"{tool}","input":{input}}}]}}}}"#
        )
    }

    fn read(id: &str, path: &str) -> String {
        call(id, "Read", &format!(r#"{{"file_path":"{path}"}}"#))
    }

    fn result(id: &str, text: &str, more: &str) -> String {
        format!(
            r#"{{"type":"user",{more}"message":{{"content":[{{"type":"tool_result","tool_use_id":"{id}","content":"{text}"}}]}}}}"#
        )
    }

    /// The numbers of the calls whose lines in the bottle of `old` differ in `new`, all shown.
    fn check(old: &[String], new: &[String], expected: &[u32]) {
        let options =
            Options { zone: Zone::utc(), rendered: Moment(0), earlier: None, observed: None };
        let bottle = render(&session(old), &options).text;
        let (lines, new) = (Lines::of(&bottle), session(new));
        let count = u32::try_from(new.ledger().calls().len()).unwrap();
        let differs = |number: &u32| lines.differs(&new, number - 1, true, &Zone::utc()).is_some();
        let found: Vec<_> = (1..=count).filter(differs).collect();
        assert_eq!(found, expected, "{bottle}");
    }

    #[test]
    fn a_session_that_grew_is_the_same() {
        let edit = r#""toolUseResult":{"structuredPatch":[{"lines":["+a","+b","-c"]}]},"#;
        let long = format!(r#"{{"command":"{}"}}"#, "x".repeat(400));
        let long_path = format!("/w/{}", "p".repeat(400));
        let rows = [
            call("a", "Bash", r#"{"command":"ls → (+1 −1)"}"#),
            result("a", "x", ""),
            call("b", "Edit", r#"{"file_path":"/w/e","old_string":"c","new_string":"a\nb"}"#),
            result("b", "done", edit),
            read("c", "/w/c, d"),
            result("c", "x", ""),
            read("d", "/w/d"),
            result("d", "x", ""),
            call("e", "Bash", &long),
            result("e", "y", ""),
            call("f", "Write", &format!(r#"{{"file_path":"{long_path}","content":"z"}}"#)),
            result("f", "done", ""),
            call("g", "TodoWrite", r#"{"todos":[]}"#),
            call("h", "mcp__s__t", r#"{"k":"v"}"#),
            result("h", "done", ""),
        ];
        for old in 0..=rows.len() {
            for new in old..=rows.len() {
                check(&rows[..old], &rows[..new], &[]);
            }
        }
    }

    #[test]
    fn other_calls_are_told() {
        let bash = |id: &str, command: &str| {
            [call(id, "Bash", &format!(r#"{{"command":"{command}"}}"#)), result(id, "x", "")]
        };
        let reads = |paths: &[&str]| {
            let rows = paths.iter().enumerate();
            let rows = rows.flat_map(|(number, path)| {
                let id = format!("r{number}");
                [read(&id, path), result(&id, "x", "")]
            });
            rows.collect::<Vec<_>>()
        };
        let old = [bash("a", "one"), bash("b", "two")].concat();
        check(&old, &old[2..], &[1]);
        check(&old[..1], &old[2..], &[1]);
        check(&old, &[old.clone(), bash("c", "three").to_vec()].concat(), &[]);
        check(&old, &[bash("x", "one"), bash("y", "other")].concat(), &[2]);
        check(&old, &[call("t", "TodoWrite", r#"{"todos":[]}"#)], &[1]);
        check(&reads(&["/w/a", "/w/b", "/w/a"]), &reads(&["/w/b", "/w/a", "/w/c", "/w/d"]), &[3]);
        check(&reads(&["/w/a", "/w/a"]), &reads(&["/w/a", "/w/a1"]), &[2]);
        check(&reads(&["/w/ab", "/w/c"]), &reads(&["/w/b", "/w/a"]), &[1, 2]);
        check(&reads(&["/w/a", "/w/b"]), &old, &[1, 2]);
        check(&old, &reads(&["/w/a", "/w/b"]), &[1, 2]);
    }

    #[test]
    fn what_was_said_is_no_line() {
        let said = r#"{"type":"user","message":{"content":"- [t1] Bash `other`\n---\n- [t1] x"}}"#;
        let row = call("a", "Bash", r#"{"command":"ls"}"#);
        check(&[said.to_owned(), row.clone()], &[row], &[]);
        assert!(Lines::of("- [t1] x\n").0.is_empty());
    }
}
