//! What of a session is shown, in order: the live conversation, with a note where a stretch was
//! rewound.
//!
//! This is the one reading of a session that bottle, pointer and feed share. It is computed, not
//! kept: what comes later decides what is dead.
use std::{
    borrow::Cow,
    collections::{HashMap, HashSet},
};

use super::{Item, ItemKind, Mark, Said, Session, branches::branches, tasks};
use crate::{
    text::{line::one_line, time::Moment},
    transcript::{Speaker, tool::Status},
};

/// Characters of a label.
const LABEL: usize = 80;

/// A session as it is shown.
#[derive(Debug)]
pub struct Layout<'s> {
    /// What is shown, in file order.
    pub shown: Vec<Shown<'s>>,
    /// The rewound stretches: `r<n>` is at index `n - 1`.
    pub rewound: Vec<Stretch<'s>>,
    /// The task list.
    pub tasks: Vec<tasks::Task<'s>>,
}

/// One thing that is shown.
#[derive(Debug, Hash)]
pub enum Shown<'s> {
    /// Words.
    Message(Message<'s>),
    /// A placeholder, without brackets.
    Media(&'s str, Option<Moment>),
    /// The person stopped the agent.
    Interrupted(Option<Moment>),
    /// The host reported a failed request.
    ApiError(&'s str, Option<Moment>),
    /// The host wrote this in the agent's place.
    HostNote(&'s str, Option<Moment>),
    /// A tool call: its index in the ledger.
    Call(u32, Option<Moment>),
    /// A compaction: trigger, tokens before, and the leg that begins.
    Boundary(&'s str, Option<u64>, u32, Option<Moment>),
    /// A rewound stretch: its index in [`Layout::rewound`].
    Rewound(usize, Option<Moment>),
    /// A second line of the conversation goes on beside the first.
    SecondLine(Option<Moment>),
}

/// Words as they are shown: the blocks of one message joined by an empty line.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Message<'s> {
    /// Who speaks.
    pub speaker: Speaker,
    /// The label as it is shown, without the time; empty for plain speech.
    pub label: String,
    /// The words of the person themselves, typed as a prompt.
    pub is_prompt: bool,
    /// When.
    pub time: Option<Moment>,
    /// The words.
    pub text: Cow<'s, str>,
    /// Begins a turn.
    pub opens: bool,
    /// Leg, from 1.
    pub leg: u32,
    key: u64,
}

/// What was rewound.
#[derive(Debug, Default)]
pub struct Stretch<'s> {
    /// The words of it.
    pub messages: Vec<Message<'s>>,
    /// The tool calls of it: indexes in the ledger.
    pub calls: Vec<u32>,
}

impl Stretch<'_> {
    /// How many messages `speaker` has in it.
    pub fn count(&self, speaker: Speaker) -> usize {
        self.messages.iter().filter(|message| message.speaker == speaker).count()
    }
}

impl Session {
    /// What is shown of this session.
    pub fn layout(&self) -> Layout<'_> {
        let mut builder = Builder::new(self);
        for item in self.items.iter().filter(|item| !item.hidden) {
            builder.item(item);
        }
        builder.finish()
    }
}

struct Builder<'s> {
    session: &'s Session,
    dead: Vec<Option<u32>>,
    second_lines: HashSet<u32>,
    stretches: HashMap<u32, usize>,
    turn_open: bool,
    layout: Layout<'s>,
}

impl<'s> Builder<'s> {
    fn new(session: &'s Session) -> Self {
        let branches = branches(&session.rows);
        let layout = Layout { shown: Vec::new(), rewound: Vec::new(), tasks: Vec::new() };
        Self {
            session,
            dead: branches.dead,
            second_lines: branches.second_lines.into_iter().collect(),
            stretches: HashMap::new(),
            turn_open: false,
            layout,
        }
    }

    fn item(&mut self, item: &'s Item) {
        let dead = item.row.and_then(|row| self.dead[row as usize]);
        if let Some(prompt) = dead {
            return self.rewound(prompt, item);
        }
        if item.row.is_some_and(|row| self.second_lines.remove(&row)) {
            self.layout.shown.push(Shown::SecondLine(item.time));
        }
        let time = item.time;
        let shown = match &item.kind {
            ItemKind::Said(said) => return self.said(said, item),
            ItemKind::Media(text) => Shown::Media(self.session.text(*text), time),
            ItemKind::Interrupted => Shown::Interrupted(time),
            ItemKind::ApiError(text) => Shown::ApiError(self.session.text(*text), time),
            ItemKind::HostNote(text) => Shown::HostNote(self.session.text(*text), time),
            ItemKind::Call(index) => Shown::Call(*index, time),
            ItemKind::Boundary(trigger, before) => {
                Shown::Boundary(self.session.text(*trigger), *before, item.leg, time)
            }
        };
        self.layout.shown.push(shown);
    }

    fn said(&mut self, said: &'s Said, item: &Item) {
        let mut message = message(self.session, said, item);
        if said.speaker == Speaker::User {
            message.opens |= !self.turn_open;
            self.turn_open = true;
        }
        match self.layout.shown.last_mut() {
            Some(Shown::Message(last)) if last.continues(&message) => last.join(&message),
            _ => self.layout.shown.push(Shown::Message(message)),
        }
    }

    fn rewound(&mut self, prompt: u32, item: &'s Item) {
        let index = *self.stretches.entry(prompt).or_insert_with(|| {
            self.layout.rewound.push(Stretch::default());
            let index = self.layout.rewound.len() - 1;
            self.layout.shown.push(Shown::Rewound(index, item.time));
            index
        });
        let stretch = &mut self.layout.rewound[index];
        match &item.kind {
            ItemKind::Said(said) => {
                let message = message(self.session, said, item);
                match stretch.messages.last_mut() {
                    Some(last) if last.continues(&message) => last.join(&message),
                    _ => stretch.messages.push(message),
                }
            }
            ItemKind::Call(index) => stretch.calls.push(*index),
            _ => {}
        }
    }

    fn finish(mut self) -> Layout<'s> {
        let session = self.session;
        let dead: HashSet<u32> =
            self.layout.rewound.iter().flat_map(|stretch| &stretch.calls).copied().collect();
        let counts = |change: &&tasks::Change| {
            let call = session.ledger.calls().get(change.call as usize);
            call.is_some_and(|call| call.status == Status::Completed)
                && !dead.contains(&change.call)
        };
        self.layout.tasks =
            tasks::replay(session.tasks.iter().filter(counts), |span| session.text(span));
        self.layout
    }
}

fn message<'s>(session: &'s Session, said: &Said, item: &Item) -> Message<'s> {
    Message {
        speaker: said.speaker,
        label: one_line(&session.label(said.mark), LABEL),
        is_prompt: said.speaker == Speaker::User && matches!(said.mark, Mark::None | Mark::Queued),
        time: item.time,
        text: Cow::Borrowed(session.text(said.text)),
        opens: said.opens,
        leg: item.leg,
        key: if said.mark == Mark::None { said.message } else { 0 },
    }
}

impl<'s> Message<'s> {
    /// Words of the person that are known from elsewhere than a transcript.
    pub fn prompt(text: &'s str, time: Moment) -> Self {
        Self {
            speaker: Speaker::User,
            label: String::new(),
            is_prompt: true,
            time: Some(time),
            text: Cow::Borrowed(text),
            opens: true,
            leg: 1,
            key: 0,
        }
    }
}

impl Message<'_> {
    /// The next block of the same message of the agent.
    fn continues(&self, next: &Self) -> bool {
        self.key != 0 && self.key == next.key && self.leg == next.leg
    }

    fn join(&mut self, next: &Self) {
        let text = self.text.to_mut();
        text.push_str("\n\n");
        text.push_str(&next.text);
    }
}

impl<'s> Layout<'s> {
    /// The messages that are shown.
    pub fn messages(&self) -> impl Iterator<Item = &Message<'s>> {
        self.shown.iter().filter_map(|shown| match shown {
            Shown::Message(message) => Some(message),
            _ => None,
        })
    }

    /// The tool calls that are shown: indexes in the ledger.
    pub fn calls(&self) -> impl Iterator<Item = u32> {
        self.shown.iter().filter_map(|shown| match shown {
            Shown::Call(index, _) => Some(*index),
            _ => None,
        })
    }
}
