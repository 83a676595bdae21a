//! The body of a bottle: the conversation, in order.
use std::collections::BTreeMap;

use crate::{
    observation::{
        Line, Observation, derive, happened,
        placement::Placement,
        rows::{Observed, Row, Summary},
    },
    session::{
        Session,
        layout::{Layout, Message, Shown, Stretch},
    },
    text::{
        line::one_line,
        measure::grouped,
        time::{Moment, Zone},
    },
    transcript::Speaker,
};

use super::{
    escape::{
        ASSISTANT, CALL, COMPACTED, DATE, HAPPENED, NOTE, ROW, RULE, STUB, SUMMARY, TRUNCATED,
        USER, write_words,
    },
    pages::Pages,
    settled::{Key, Mark, Start},
};

/// Characters of a note that quotes the host.
const QUOTED: usize = 200;
/// Characters of a part of a summary.
const PART: usize = 1_000;

/// The body, and what the header needs to know of it.
#[derive(Debug, Clone, Default)]
pub(super) struct Body {
    pub(super) text: String,
    pub(super) lines: usize,
    pub(super) pages: Pages,
    /// The turns, in order.
    pub(super) turns: Vec<Turn>,
    /// The line of the body where each message begins, from 1.
    pub(super) messages: Vec<usize>,
    /// Stubs.
    pub(super) pending: usize,
    /// Where the next rendering may go on, in order.
    pub(super) marks: Vec<Mark>,
}

/// Where a turn begins.
#[derive(Debug, Clone)]
pub(super) struct Turn {
    /// The line of the body, from 1.
    pub(super) line: usize,
    pub(super) time: Option<Moment>,
    pub(super) leg: u32,
    /// The message's index among those shown.
    pub(super) message: usize,
}

/// What an observation source adds to what is shown.
#[derive(Debug, Default)]
pub(super) struct Beside<'o> {
    /// Its rows, and where they stand.
    pub(super) rows: Option<(&'o Observed, Placement)>,
    /// Prompts that it cut, by their index among what is shown.
    pub(super) truncated: Vec<usize>,
    /// Summaries, by the index of what they stand behind.
    pub(super) summaries: BTreeMap<usize, Vec<&'o Summary>>,
}

impl<'o> Beside<'o> {
    /// The rows that stand behind what is shown at an index.
    fn rows(&self, index: usize) -> Vec<&'o Row> {
        let Some((observed, placement)) = &self.rows else { return Vec::new() };
        let rows = placement.rows.get(&index).into_iter().flatten();
        rows.map(|row| &observed.observations[*row]).collect()
    }
}

/// Writes the body from `start` on.
pub(super) fn body(
    session: &Session,
    layout: &Layout<'_>,
    beside: &Beside<'_>,
    zone: &Zone,
    start: Start,
) -> Body {
    let Start { body, key, date, mut index } = start;
    let mut writer = Writer { session, layout, beside, zone, date, key, body };
    let shown = layout.shown.as_slice();
    while index < shown.len() {
        writer.mark(index);
        let rest = &shown[index..];
        let run = rest.iter().take_while(|shown| matches!(shown, Shown::Call(..))).count();
        if run > 0 {
            writer.calls(index, &rest[..run]);
        } else {
            writer.shown(&rest[0]);
            writer.behind(index);
        }
        index += run.max(1);
    }
    writer.behind(shown.len());
    writer.finish()
}

struct Writer<'a, 's> {
    session: &'a Session,
    layout: &'a Layout<'s>,
    beside: &'a Beside<'a>,
    zone: &'a Zone,
    date: Option<String>,
    /// Of what is shown before the last mark.
    key: Key,
    body: Body,
}

impl Writer<'_, '_> {
    /// Sets a mark before what is shown at an index, where enough was written since the last one. A
    /// call behind another shares its list: there is no mark between.
    fn mark(&mut self, index: usize) {
        let (from, cut) = self.body.marked();
        let before = &self.layout.shown[from..index];
        if self.body.text.len() - cut < Mark::EVERY || matches!(before, [.., Shown::Call(..)]) {
            return;
        }
        self.key.add(self.session, self.layout, before);
        self.body.pages.add(&self.body.text[cut..]);
        self.body.mark(index, &self.key, self.date.as_deref());
    }

    fn finish(mut self) -> Body {
        let (_, cut) = self.body.marked();
        self.body.pages.add(&self.body.text[cut..]);
        self.body.pages.close();
        self.body
    }

    fn shown(&mut self, shown: &Shown<'_>) {
        match shown {
            Shown::Message(message) => self.message(message),
            Shown::Media(text, time) => {
                self.date(*time);
                self.alone(&format!("[{}]", one_line(text, QUOTED)));
            }
            Shown::Interrupted(time) => self.note(*time, "interrupted by the user"),
            Shown::ApiError(text, time) => {
                let text = text.strip_prefix("API Error: ").unwrap_or(text);
                self.note(*time, &format!("API error: {}", one_line(text, QUOTED)));
            }
            Shown::HostNote(text, time) => {
                self.note(*time, &format!("the host: {}", one_line(text, QUOTED)));
            }
            Shown::Boundary(trigger, before, leg, time) => {
                self.boundary(trigger, *before, *leg, *time);
            }
            Shown::Rewound(index, time) => {
                let note = rewound(*index, &self.layout.rewound[*index]);
                self.note(*time, &note);
            }
            Shown::SecondLine(time) => {
                self.note(
                    *time,
                    "from here a second line of this session goes on beside the first",
                );
            }
            Shown::Call(..) => {}
        }
    }

    fn message(&mut self, message: &Message<'_>) {
        self.date(message.time);
        if message.speaker == Speaker::User && message.opens {
            let turn = Turn {
                line: self.body.lines + 1,
                time: message.time,
                leg: message.leg,
                message: self.body.messages.len(),
            };
            self.body.turns.push(turn);
        }
        self.body.messages.push(self.body.lines + 1);
        let line = speaker(message, self.zone);
        self.line(&line);
        let start = self.body.text.len();
        write_words(&message.text, &mut self.body.text);
        self.body.lines += memchr::memchr_iter(b'\n', &self.body.text.as_bytes()[start..]).count();
        self.line("");
    }

    /// A list of what tools did: `first` is the index of the first call among what is shown.
    fn calls(&mut self, first: usize, run: &[Shown<'_>]) {
        let indexes: Vec<(usize, u32)> = (first..)
            .zip(run)
            .filter_map(|(shown, what)| match what {
                Shown::Call(index, _) => Some((shown, *index)),
                _ => None,
            })
            .collect();
        let lines = match &self.beside.rows {
            Some((observed, placement)) => {
                happened(self.session, &indexes, (observed, placement), self.zone)
            }
            None => {
                let indexes: Vec<u32> = indexes.iter().map(|(_, index)| *index).collect();
                let calls = derive(self.session, &indexes, self.zone);
                calls.into_iter().map(Line::Calls).collect()
            }
        };
        let time = run.first().and_then(|shown| match shown {
            Shown::Call(_, time) => *time,
            _ => None,
        });
        self.list(time, &lines);
    }

    /// What a source knows that stands behind what is shown at an index, and is about no call there.
    fn behind(&mut self, index: usize) {
        let beside = self.beside;
        if beside.truncated.contains(&index) {
            self.alone(&format!("{TRUNCATED}4000 chars]"));
        }
        let rows = beside.rows(index);
        let time = rows.first().map(|row| row.time);
        let lines: Vec<_> = rows.into_iter().map(Line::Row).collect();
        self.list(time, &lines);
        for summary in beside.summaries.get(&index).into_iter().flatten() {
            self.summary(summary);
        }
    }

    fn list(&mut self, time: Option<Moment>, lines: &[Line<'_>]) {
        if lines.is_empty() {
            return;
        }
        self.date(time);
        self.line(HAPPENED);
        for line in lines {
            match line {
                Line::Row(row) => self.line(&format!("{ROW}{}] {}", row.id, row.text)),
                Line::Calls(observation) => self.observation(observation),
            }
        }
        self.line("");
    }

    /// Words of a model about the session: a block that cannot be taken for somebody's own.
    fn summary(&mut self, summary: &Summary) {
        self.line(&format!("{SUMMARY} (generated by claude-mem — not verbatim)"));
        for (name, text) in &summary.parts {
            self.line(&format!("> {name}: {}", one_line(text, PART)));
        }
        self.line("");
    }

    fn observation(&mut self, observation: &Observation) {
        let prefix = if observation.pending {
            self.body.pending += 1;
            STUB.to_owned() + "t"
        } else {
            CALL.to_owned()
        };
        let ids = if observation.first == observation.last {
            format!("{}", observation.first)
        } else {
            format!("{}-t{}", observation.first, observation.last)
        };
        self.line(&format!("{prefix}{ids}] {}", observation.text));
    }

    fn boundary(&mut self, trigger: &str, before: Option<u64>, leg: u32, time: Option<Moment>) {
        self.date(time);
        let mut facts = Vec::new();
        if !trigger.is_empty() {
            facts.push(one_line(trigger, 40));
        }
        facts.extend(before.map(|tokens| format!("{} tokens", grouped(tokens))));
        let facts =
            if facts.is_empty() { String::new() } else { format!(" ({})", facts.join(", ")) };
        self.line(RULE);
        self.alone(&format!("{COMPACTED}{facts} — leg {leg}*"));
    }

    fn note(&mut self, time: Option<Moment>, text: &str) {
        self.date(time);
        self.alone(&format!("{NOTE}{text})*"));
    }

    /// Shows the date where it changes.
    fn date(&mut self, time: Option<Moment>) {
        let Some(date) = time.map(|time| self.zone.date(time)) else { return };
        if self.date.as_ref() != Some(&date) {
            self.alone(&format!("{DATE}{date}*"));
            self.date = Some(date);
        }
    }

    /// A line of structure and an empty one.
    fn alone(&mut self, line: &str) {
        self.line(line);
        self.line("");
    }

    fn line(&mut self, line: &str) {
        self.body.text.push_str(line);
        self.body.text.push('\n');
        self.body.lines += 1;
    }
}

fn rewound(index: usize, stretch: &Stretch<'_>) -> String {
    let (user, assistant) = (stretch.count(Speaker::User), stretch.count(Speaker::Assistant));
    format!("rewound here: {user} user, {assistant} assistant messages — r{}", index + 1)
}

/// `**User** (10:32, while you worked)`.
fn speaker(message: &Message<'_>, zone: &Zone) -> String {
    let name = match message.speaker {
        Speaker::User => USER,
        Speaker::Assistant => ASSISTANT,
    };
    let mut inside: Vec<String> = message.time.map(|time| zone.minute(time)).into_iter().collect();
    if !message.label.is_empty() {
        inside.push(message.label.clone());
    }
    if inside.is_empty() { name.to_owned() } else { format!("{name} ({})", inside.join(", ")) }
}
