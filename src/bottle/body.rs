//! The body of a bottle: the conversation, in order.
use crate::{
    observation::{self, derive},
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

use super::escape::{
    ASSISTANT, CALL, COMPACTED, DATE, HAPPENED, NOTE, RULE, STUB, USER, write_words,
};

/// Characters of a note that quotes the host.
const QUOTED: usize = 200;

/// The body, and what the header needs to know of it.
#[derive(Debug, Default)]
pub(super) struct Body {
    pub(super) text: String,
    /// The turns, in order.
    pub(super) turns: Vec<Turn>,
    /// The line of the body where each message begins, from 1.
    pub(super) messages: Vec<usize>,
    /// Stubs.
    pub(super) pending: usize,
}

/// Where a turn begins.
#[derive(Debug)]
pub(super) struct Turn {
    /// The line of the body, from 1.
    pub(super) line: usize,
    pub(super) time: Option<Moment>,
    pub(super) leg: u32,
    /// The message's index among those shown.
    pub(super) message: usize,
}

pub(super) fn body(session: &Session, layout: &Layout<'_>, zone: &Zone) -> Body {
    let date = session.started.map(|time| zone.date(time));
    let mut writer = Writer { session, layout, zone, date, lines: 0, body: Body::default() };
    let mut shown = layout.shown.as_slice();
    while let Some(first) = shown.first() {
        let run = shown.iter().take_while(|shown| matches!(shown, Shown::Call(..))).count();
        if run > 0 {
            writer.calls(&shown[..run]);
            shown = &shown[run..];
        } else {
            writer.shown(first);
            shown = &shown[1..];
        }
    }
    writer.body
}

struct Writer<'a, 's> {
    session: &'a Session,
    layout: &'a Layout<'s>,
    zone: &'a Zone,
    date: Option<String>,
    lines: usize,
    body: Body,
}

impl Writer<'_, '_> {
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
                line: self.lines + 1,
                time: message.time,
                leg: message.leg,
                message: self.body.messages.len(),
            };
            self.body.turns.push(turn);
        }
        self.body.messages.push(self.lines + 1);
        let line = speaker(message, self.zone);
        self.line(&line);
        let start = self.body.text.len();
        write_words(&message.text, &mut self.body.text);
        self.lines += memchr::memchr_iter(b'\n', &self.body.text.as_bytes()[start..]).count();
        self.line("");
    }

    fn calls(&mut self, run: &[Shown<'_>]) {
        let indexes: Vec<u32> = run
            .iter()
            .filter_map(|shown| match shown {
                Shown::Call(index, _) => Some(*index),
                _ => None,
            })
            .collect();
        let lines = derive(self.session, &indexes, self.zone);
        if lines.is_empty() {
            return;
        }
        if let Some(Shown::Call(_, time)) = run.first() {
            self.date(*time);
        }
        self.line(HAPPENED);
        for observation in &lines {
            self.observation(observation);
        }
        self.line("");
    }

    fn observation(&mut self, observation: &observation::Observation) {
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
        self.lines += 1;
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
