//! Whatever a session grows by, its bottle is the one that a whole rendering gives.
use jiff::tz::{TimeZone, offset};
use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::{
    bottle::{Bottle, Options, render, render_grown},
    text::time::Moment,
    transcript::{Host, parse_line},
};

/// What happens next.
#[derive(Debug, Clone)]
enum Next {
    /// A prompt below the row that stands so many rows before the last.
    Prompt(usize, String),
    /// A block of the message with this number.
    Speech(usize, String),
    /// A call of a tool, with what it is about.
    Call(&'static str, String),
    /// The result of the call that was made so many calls before the last.
    Result(usize, bool, String),
    Interrupted,
    Compacted,
    Image,
    Enqueue(String),
    Dequeue,
    Remove(String),
    Midnight,
}

fn next() -> impl Strategy<Value = Next> {
    // Few words, so that the queue and its rows meet.
    let few = || prop::sample::select(vec!["go on", "stop", "**User**"]).prop_map(str::to_owned);
    let words = || prop_oneof![few(), "[a-z \n]{0,300}"];
    let tool = || prop::sample::select(vec!["Bash", "Read", "Read", "Edit", "TodoWrite"]);
    prop_oneof![
        6 => (prop_oneof![4 => Just(0_usize), 1 => 0..40_usize], words())
            .prop_map(|(back, text)| Next::Prompt(back, text)),
        6 => (0..3_usize, words()).prop_map(|(message, text)| Next::Speech(message, text)),
        8 => (tool(), "[a-z/]{1,80}").prop_map(|(name, about)| Next::Call(name, about)),
        6 => (prop_oneof![3 => Just(0_usize), 1 => 0..9_usize], any::<bool>(), words())
            .prop_map(|(back, failed, text)| Next::Result(back, failed, text)),
        1 => Just(Next::Interrupted),
        1 => Just(Next::Compacted),
        1 => Just(Next::Image),
        2 => few().prop_map(Next::Enqueue),
        1 => Just(Next::Dequeue),
        1 => few().prop_map(Next::Remove),
        1 => Just(Next::Midnight),
    ]
}

/// A transcript that is being written.
struct Growing {
    session: Session,
    rows: usize,
    calls: usize,
    messages: usize,
    day: u32,
    /// Rows below which nothing says where and when they were written.
    bare: usize,
}

impl Growing {
    fn new(bare: usize) -> Self {
        let session = Session::new("s", Host::ClaudeCode);
        Self { session, rows: 0, calls: 0, messages: 0, day: 1, bare }
    }

    fn add(&mut self, next: &Next) {
        match next {
            Next::Prompt(back, text) => self.row("user", *back, &json!(text)),
            Next::Speech(new, text) => {
                self.messages += usize::from(*new == 0);
                self.row("assistant", 0, &json!([{"type": "text", "text": text}]));
            }
            Next::Call(name, about) => {
                self.calls += 1;
                let input = json!({
                    "command": about, "file_path": format!("/x/{about}"), "old_string": about,
                    "new_string": "", "todos": [{"content": about, "status": "pending"}],
                });
                let id = format!("t{}", self.calls);
                let call = json!({"type": "tool_use", "id": id, "name": name, "input": input});
                self.row("assistant", 0, &json!([call]));
            }
            Next::Result(back, failed, text) => {
                let id = format!("t{}", self.calls.saturating_sub(*back));
                let result = json!([{
                    "type": "tool_result", "tool_use_id": id, "is_error": failed, "content": text,
                }]);
                self.row("user", 0, &result);
            }
            Next::Interrupted => {
                let text = "[Request interrupted by user]";
                self.row("user", 0, &json!([{"type": "text", "text": text}]));
            }
            Next::Image => {
                let source = json!({"type": "base64", "media_type": "image/png", "data": "AAAA"});
                self.row("user", 0, &json!([{"type": "image", "source": source}]));
            }
            Next::Compacted => {
                self.rows += 1;
                self.fold(&json!({
                    "type": "system", "subtype": "compact_boundary", "parentUuid": null,
                    "uuid": self.rows.to_string(), "timestamp": self.time(),
                    "compactMetadata": {"trigger": "auto", "preTokens": 1000},
                }));
            }
            Next::Enqueue(text) => self.queue("enqueue", Some(text)),
            Next::Dequeue => self.queue("dequeue", None),
            Next::Remove(text) => self.queue("remove", Some(text)),
            Next::Midnight => self.day += 1,
        }
    }

    fn row(&mut self, kind: &str, back: usize, content: &Value) {
        let parent = self.rows.saturating_sub(back).to_string();
        self.rows += 1;
        let mut row = json!({
            "type": kind, "uuid": self.rows.to_string(), "parentUuid": parent, "sessionId": "s",
            "isSidechain": false,
            "message": {"id": format!("m{}", self.messages), "role": kind, "content": content},
        });
        if self.rows > self.bare {
            row["timestamp"] = json!(self.time());
            row["cwd"] = json!("/x");
        }
        self.fold(&row);
    }

    fn queue(&mut self, operation: &str, content: Option<&str>) {
        self.fold(&json!({
            "type": "queue-operation", "operation": operation, "timestamp": self.time(),
            "sessionId": "s", "content": content,
        }));
    }

    fn time(&self) -> String {
        format!("2026-11-{:02}T{:02}:59:00Z", self.day.min(30), self.rows % 24)
    }

    fn fold(&mut self, row: &Value) {
        let row = row.to_string();
        let session = &mut self.session;
        parse_line(Host::ClaudeCode, row.as_bytes(), 0, &mut |line| session.fold_line(line));
    }
}

fn options(hours: i8, rendered: i64) -> Options {
    let zone = Zone::new(TimeZone::fixed(offset(hours)));
    Options { zone, rendered: Moment(rendered), earlier: None, observed: None }
}

/// All that a bottle is. What it leaves for the next may differ: a mark may stand at the very end.
fn all(bottle: &Bottle) -> (&str, usize, &[(usize, usize)], [usize; 4]) {
    let counts = [bottle.user, bottle.assistant, bottle.calls, bottle.pending];
    (&bottle.text, bottle.lines, &bottle.pages, counts)
}

fn grown(session: &Session, options: &Options, old: &Bottle) -> Bottle {
    let settled = old.settled.as_ref().expect("a bottle of a transcript");
    render_grown(session, options, settled, old.text.clone())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn a_grown_bottle_is_the_whole_one(
        bare in prop_oneof![Just(0_usize), 0..20_usize],
        steps in prop::collection::vec(next(), 1..120),
    ) {
        let mut growing = Growing::new(bare);
        let mut old = render(&growing.session, &options(0, 0));
        for (number, next) in (1..).zip(&steps) {
            growing.add(next);
            let options = options(0, number * 1_000);
            let (new, whole) =
                (grown(&growing.session, &options, &old), render(&growing.session, &options));
            prop_assert_eq!(all(&new), all(&whole), "after {:?}", next);
            old = new;
        }
    }
}

fn talk(messages: usize) -> Growing {
    let mut growing = Growing::new(0);
    for number in 0..messages {
        growing.add(&Next::Prompt(0, format!("do {number}: {}", "word ".repeat(20))));
        growing.add(&Next::Call("Bash", format!("make {number}")));
        growing.add(&Next::Result(0, number % 7 == 0, "done".to_owned()));
        growing.add(&Next::Speech(0, format!("did {number}")));
    }
    growing
}

#[test]
fn what_did_not_change_is_taken_over() {
    let mut growing = talk(40);
    let mut old = render(&growing.session, &options(0, 0));
    // Not what was rendered: so it is seen where it goes.
    old.text = old.text.replace("word word", "WORD WORD");
    growing.add(&Next::Prompt(0, "word word".to_owned()));
    let new = grown(&growing.session, &options(0, 0), &old);
    let (head, body) = new.text.split_once("\n---\n").unwrap();
    assert!(!head.contains("WORD"));
    assert!(body.matches("WORD WORD").count() > 39 * 9);
    assert!(body.ends_with("word word\n\n"));
}

#[test]
fn a_change_far_back_is_seen() {
    let mut growing = Growing::new(0);
    growing.add(&Next::Call("Bash", "make all".to_owned()));
    for number in 0..90 {
        growing.add(&Next::Speech(0, format!("meanwhile {number}")));
    }
    let old = render(&growing.session, &options(0, 0));
    assert!(old.text.contains("- ⏳ [t1]"));
    growing.add(&Next::Result(0, false, "made".to_owned()));
    let new = grown(&growing.session, &options(0, 0), &old);
    assert!(new.text.contains("- [t1] Bash `make all`"));
    assert_eq!(all(&new), all(&render(&growing.session, &options(0, 0))));
}

#[test]
fn another_zone_and_another_text_begin_anew() {
    let growing = talk(40);
    let old = render(&growing.session, &options(0, 0));
    let east = options(9, 0);
    let whole = render(&growing.session, &east);
    assert_eq!(all(&grown(&growing.session, &east, &old)), all(&whole));
    for text in ["", "# Session bottle", "é"] {
        let other = Bottle { text: text.to_owned(), ..old.clone() };
        assert_eq!(all(&grown(&growing.session, &options(0, 0), &other)), all(&old));
    }
}
