//! Where things stand, as a pointer repeats it: plain data, from whatever a session is known by.

use std::borrow::Cow;

use crate::{
    bottle::Item,
    session::{QUEUED, layout::Layout, standing::request_rank},
    transcript::{Speaker, tool::TaskState},
};

/// The words that a pointer repeats, and the task list. Private parts are out of them already.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Recap<'a> {
    /// The first request of the person.
    pub request: Option<Cow<'a, str>>,
    /// What the person typed last.
    pub user: Option<Cow<'a, str>>,
    /// What the agent said last.
    pub assistant: Option<Cow<'a, str>>,
    /// It was said after what the person typed last.
    pub replied: bool,
    /// Tasks under way.
    pub active: Vec<Cow<'a, str>>,
    /// Tasks not begun.
    pub open: Vec<Cow<'a, str>>,
    /// Finished tasks.
    pub done: Vec<Cow<'a, str>>,
}

impl<'a> Recap<'a> {
    /// Of a session, by what is shown of it.
    pub fn of_session(layout: &'a Layout<'a>) -> Self {
        let said = layout.messages().map(|message| Said {
            speaker: message.speaker,
            label: &message.label,
            text: &message.text,
        });
        let titles = |state| {
            let tasks = layout.tasks.iter().filter(move |task| task.state == state);
            tasks.map(|task| Cow::Borrowed(task.title)).collect()
        };
        Self {
            active: titles(TaskState::Active),
            open: titles(TaskState::Open),
            done: titles(TaskState::Done),
            ..Self::of(said)
        }
    }

    /// Of a bottle that was read back. It holds no task list that could be read exactly: page one
    /// shows it.
    pub fn of_bottle(items: &'a [Item]) -> Self {
        Self::of(items.iter().filter_map(|item| match item {
            Item::Message { speaker, label, text } => Some(Said { speaker: *speaker, label, text }),
            Item::Placeholder(_) => None,
        }))
    }

    fn of(said: impl Iterator<Item = Said<'a>>) -> Self {
        let mut recap = Self::default();
        let mut best = u8::MAX;
        for Said { speaker, label, text } in said {
            let rank = request_rank(speaker, label, text);
            if let Some(rank) = rank.filter(|rank| *rank < best) {
                best = rank;
                recap.request = Some(Cow::Borrowed(text));
            }
            match speaker {
                Speaker::Assistant => recap.assistant = Some(Cow::Borrowed(text)),
                Speaker::User if label.is_empty() || label == QUEUED => {
                    recap.user = Some(Cow::Borrowed(text));
                }
                Speaker::User => continue,
            }
            recap.replied = speaker == Speaker::Assistant && recap.user.is_some();
        }
        recap
    }
}

/// Words as every source of them has them.
struct Said<'a> {
    speaker: Speaker,
    /// Without the time; empty for plain speech.
    label: &'a str,
    text: &'a str,
}
