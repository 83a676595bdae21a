//! The traces of `continue.md`: what happened, and whether a pointer is due at each look.
use super::*;
use crate::{
    session::Session,
    transcript::{Host, parse_line},
};

/// A session's life, as rows of its transcript and prints.
#[derive(Default)]
struct Trace {
    rows: Vec<u8>,
    prints: Vec<Print>,
    count: u32,
    born: Option<Moment>,
}

const ROWS: &[(&str, &str)] = &[
    ("prompt", r#"{"type":"user","uuid":"UUID","timestamp":"TIME","message":{"content":"do it"}}"#),
    (
        "answer",
        r#"{"type":"assistant","uuid":"UUID","timestamp":"TIME","message":{"id":"mUUID","content":[{"type":"text","text":"done"}]}}"#,
    ),
    (
        "error",
        r#"{"type":"assistant","uuid":"UUID","timestamp":"TIME","isApiErrorMessage":true,"message":{"model":"<synthetic>","content":[{"type":"text","text":"API Error"}]}}"#,
    ),
    (
        "boundary",
        r#"{"type":"system","subtype":"compact_boundary","uuid":"UUID","timestamp":"TIME"}"#,
    ),
    (
        "boundary of the parent",
        r#"{"type":"system","subtype":"compact_boundary","uuid":"UUID","timestamp":"TIME","forkedFrom":{"sessionId":"p"}}"#,
    ),
    (
        "boundary before Endless",
        r#"{"type":"system","subtype":"compact_boundary","uuid":"UUID","timestamp":"2026-11-30T09:00:00Z"}"#,
    ),
];

/// Endless was installed at 10:00.
const INSTALLED: &str = "2026-11-30T10:00:00Z";

impl Trace {
    fn row(&mut self, row: &str) {
        self.count += 1;
        let minute = self.count;
        let row = row
            .replace("UUID", &format!("00000000-0000-4000-8000-{minute:012}"))
            .replace("TIME", &format!("2026-11-30T11:{minute:02}:00Z"));
        self.rows.extend_from_slice(row.as_bytes());
        self.rows.push(b'\n');
    }

    /// Takes a step; what `due` says where it is asked.
    fn step(&mut self, step: &str, said: &mut Vec<&'static str>) {
        if let Some((_, row)) = ROWS.iter().find(|(name, _)| *name == step) {
            return self.row(row);
        }
        match step {
            "print" => self.print(None),
            "due?" => {
                let due = self.due();
                said.push(if due.is_some() { "due" } else { "no" });
            }
            // A hook that finds a pointer due prints it for that boundary.
            "print if due" => {
                let due = self.due();
                said.push(if due.is_some() { "printed" } else { "no" });
                if due.is_some() {
                    self.print(due);
                }
            }
            "the owner looks" => {
                for (n, boundary) in bind(&self.prints, self.session().proof().boundaries()) {
                    let print = self.prints.iter_mut().find(|print| print.n == n).unwrap();
                    print.boundary = Some(boundary);
                }
            }
            "rewritten" => {
                let keep = self.rows.len() / 2;
                let start = self.rows[keep..].iter().position(|byte| *byte == b'\n').unwrap();
                self.rows.drain(..keep + start + 1);
            }
            "forked" => self.born = Some(crate::text::time::parse("2026-11-30T12:00:00Z").unwrap()),
            "the database is lost" => self.prints.clear(),
            other => {
                let (what, n) = other.split_once(' ').unwrap();
                let session = if what == "arrives" { "s" } else { "p" };
                self.row(&format!(
                    r#"{{"type":"attachment","uuid":"UUID","timestamp":"TIME","attachment":{{"type":"hook_additional_context","content":["<endless-pointer session=\"{session}\" n=\"{n}\">\nx\n</endless-pointer>"]}}}}"#
                ));
            }
        }
    }

    fn print(&mut self, boundary: Option<String>) {
        let n = u32::try_from(self.prints.len()).unwrap() + 1;
        let length = self.rows.len() as u64;
        self.prints.push(Print { n, at: Moment(0), length, boundary });
    }

    fn session(&self) -> Session {
        let mut session = Session::new("s", Host::ClaudeCode);
        let mut offset = 0;
        for row in self.rows.split(|byte| *byte == b'\n') {
            parse_line(Host::ClaudeCode, row, offset, &mut |line| session.fold_line(line));
            offset += row.len() as u64 + 1;
        }
        session
    }

    fn due(&self) -> Option<String> {
        let session = self.session();
        let installed = crate::text::time::parse(INSTALLED).unwrap();
        let evidence =
            Evidence { session: "s", proof: session.proof(), born: self.born, installed };
        due(&self.prints, evidence).map(Boundary::name)
    }
}

/// Name, steps, and what was said at each look.
const TRACES: &[(&str, &str, &str)] = &[
    ("an empty session", "due?", "no"),
    ("no compaction", "prompt, answer, due?", "no"),
    (
        "normal",
        "prompt, answer, print, boundary, due?, arrives 1, due?, prompt, answer, due?",
        "no, no, no",
    ),
    // Hosts that skip SessionStart.
    ("nothing printed", "prompt, answer, boundary, print if due, arrives 1, due?", "printed, no"),
    // A compaction that fails fires PreCompact only, which leaves nothing here.
    (
        "failed before SessionStart, then a real one",
        "prompt, answer, due?, prompt, print, boundary, arrives 1, answer, due?",
        "no, no",
    ),
    (
        "failed after SessionStart, then a real one",
        "prompt, answer, print, due?, prompt, answer, due?, print, boundary, arrives 2, answer, due?",
        "no, no, no",
    ),
    (
        "failed after SessionStart, and the real one is missed",
        "prompt, answer, print, prompt, answer, print, boundary, answer, due?",
        "due",
    ),
    (
        "two compactions without a prompt between",
        "prompt, answer, print, boundary, arrives 1, print, boundary, arrives 2, due?, answer, due?",
        "no, no",
    ),
    (
        "the second of two is missed",
        "prompt, answer, print, boundary, arrives 1, print, boundary, answer, print if due, \
         arrives 3, due?",
        "printed, no",
    ),
    (
        "killed after the claim",
        "prompt, answer, print, boundary, due?, prompt, due?, answer, print if due, due?, \
         arrives 2, answer, due?",
        "no, no, printed, no, no",
    ),
    (
        "killed twice: the second print is the last",
        "prompt, answer, print, boundary, answer, print if due, answer, print if due, answer, due?",
        "printed, no, no",
    ),
    (
        "a prompt before the host has written the hook's row",
        "prompt, answer, print, boundary, prompt, due?, arrives 1, answer, due?",
        "no, no",
    ),
    ("the model failed to answer", "prompt, answer, print, boundary, error, prompt, due?", "no"),
    ("resume after a clean end", "prompt, answer, print, boundary, arrives 1, answer, due?", "no"),
    (
        "resume after a missed delivery",
        "prompt, answer, print, boundary, answer, print if due, arrives 2, answer, due?",
        "printed, no",
    ),
    (
        "the service was down throughout, and the hooks printed nothing",
        "prompt, answer, boundary, prompt, answer, print if due, arrives 1, due?",
        "printed, no",
    ),
    (
        "a fork of a compacted session, marked",
        "prompt, answer, boundary of the parent, copied 1, answer, due?",
        "no",
    ),
    (
        "a fork of a compacted session, told by its file's age",
        "prompt, answer, boundary, copied 1, answer, forked, due?",
        "no",
    ),
    (
        "a compaction before Endless was installed",
        "prompt, answer, boundary before Endless, answer, due?",
        "no",
    ),
    (
        "a print that could not be recorded has arrived",
        "prompt, answer, boundary, arrives 1, answer, due?",
        "no",
    ),
    (
        "a print that could not be recorded has arrived, and one is recorded that nobody printed",
        "prompt, answer, print, boundary, arrives 7, answer, due?",
        "no",
    ),
    (
        "the database was lost between",
        "prompt, answer, print, boundary, arrives 1, the database is lost, answer, due?",
        "no",
    ),
    (
        "what a fork copied is no arrival of ours",
        "prompt, answer, boundary, copied 1, answer, due?",
        "due",
    ),
];

#[test]
fn traces_of_deliveries() {
    // Whether the owner binds at once, or nobody ever does: the same is due.
    for owner in [false, true] {
        for (name, steps, expected) in TRACES {
            let (mut trace, mut said) = (Trace::default(), Vec::new());
            for step in steps.split(", ") {
                trace.step(step, &mut said);
                if owner {
                    trace.step("the owner looks", &mut said);
                }
            }
            assert_eq!(said.join(", "), *expected, "{name}, the owner looks: {owner}");
        }
    }
}

/// Offsets mean nothing in a file that was written anew; what was bound stays bound.
#[test]
fn a_pruned_transcript_asks_for_no_third_print() {
    let mut trace = Trace::default();
    let mut said = Vec::new();
    for step in ["prompt", "answer", "prompt", "answer", "prompt", "answer", "print", "boundary"] {
        trace.step(step, &mut said);
    }
    trace.step("the owner looks", &mut said);
    for step in ["arrives 1", "answer", "rewritten", "due?", "prompt", "answer", "due?"] {
        trace.step(step, &mut said);
    }
    assert_eq!(said, ["no", "no"]);
    // Pruned before anyone bound it: a second print, and no third.
    let mut trace = Trace::default();
    said.clear();
    for step in ["prompt", "answer", "prompt", "answer", "prompt", "answer", "print", "boundary"] {
        trace.step(step, &mut said);
    }
    for step in ["rewritten", "answer", "print if due", "answer", "print if due", "answer", "due?"]
    {
        trace.step(step, &mut said);
    }
    assert_eq!(said, ["printed", "printed", "no"]);
}
