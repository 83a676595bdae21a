//! How much of a body stays as it is when its session has grown.
//!
//! A body has marks. What stands before a mark depends on what is shown before it and on nothing
//! behind it; the mark holds a key of all that. A rendering that finds the same key takes the body
//! over up to there. So nothing needs to be known of why what is shown changes: a call that ends,
//! a rewound stretch, one more block of a message and a zone that is set all give another key.
//!
//! Refuses: bodies with rows of an observation source, whose places depend on each other.
use std::hash::{BuildHasher, Hash, Hasher};

use foldhash::fast::{FixedState, FoldHasher};

use super::{body::Body, pages::Open};
use crate::{
    session::{
        Session,
        layout::{Layout, Shown},
    },
    text::time::Zone,
    transcript::Speaker,
};

/// What is kept of a rendering so that the next need not begin anew: all but its text.
#[derive(Debug, Clone)]
pub struct Settled {
    /// Bytes of the body.
    bytes: usize,
    zone: Zone,
    body: Body,
}

/// A place in a body.
#[derive(Debug, Clone)]
pub(super) struct Mark {
    /// How many of the things that are shown stand before it.
    shown: usize,
    /// The key of them.
    key: u64,
    /// The date that was shown last.
    date: Option<String>,
    /// The length of the body there, and of what it consists of.
    bytes: usize,
    lines: usize,
    turns: usize,
    messages: usize,
    pending: usize,
    pages: usize,
    page: Open,
}

impl Mark {
    /// Bytes of a body between two marks, at least. In tests bodies are short.
    pub(super) const EVERY: usize = if cfg!(test) { 256 } else { 16_384 };
}

/// Where a body is written on.
pub(super) struct Start {
    /// What of it stands.
    pub(super) body: Body,
    /// The key of what is shown before.
    pub(super) key: Key,
    /// The date that was shown last.
    pub(super) date: Option<String>,
    /// The index of what is shown next.
    pub(super) index: usize,
}

impl Start {
    /// The beginning.
    pub(super) fn anew(session: &Session, zone: &Zone) -> Self {
        let date = session.started.map(|time| zone.date(time));
        Self { body: Body::default(), key: Key::new(session), date, index: 0 }
    }
}

impl Settled {
    /// What a body of this many bytes leaves.
    pub(super) fn new(bytes: usize, zone: Zone, body: Body) -> Self {
        Self { bytes, zone, body }
    }

    /// The last mark before which nothing has changed, if there is one. `old` is the whole bottle.
    pub(super) fn start(
        &self,
        session: &Session,
        layout: &Layout<'_>,
        zone: &Zone,
        mut old: String,
    ) -> Option<Start> {
        if *zone != self.zone {
            return None;
        }
        let (count, key) = self.unchanged(session, layout);
        let mark = self.body.marks.get(count.checked_sub(1)?)?;
        let header = old.len().checked_sub(self.bytes)?;
        old.get(header..header + mark.bytes)?;
        old.truncate(header + mark.bytes);
        old.drain(..header);
        let mut body = self.body.clone();
        body.text = old;
        body.marks.truncate(count);
        body.lines = mark.lines;
        body.turns.truncate(mark.turns);
        body.messages.truncate(mark.messages);
        body.pending = mark.pending;
        body.pages.full.truncate(mark.pages);
        body.pages.open = mark.page;
        Some(Start { body, key, date: mark.date.clone(), index: mark.shown })
    }

    /// How many marks have nothing before them that has changed, and the key at the last of them.
    fn unchanged(&self, session: &Session, layout: &Layout<'_>) -> (usize, Key) {
        let (mut key, mut from) = (Key::new(session), 0);
        for (count, mark) in self.body.marks.iter().enumerate() {
            let mut next = key.clone();
            let Some(shown) = layout.shown.get(from..mark.shown) else { return (count, key) };
            next.add(session, layout, shown);
            if next.value() != mark.key {
                return (count, key);
            }
            (key, from) = (next, mark.shown);
        }
        (self.body.marks.len(), key)
    }
}

impl Body {
    /// What is shown before the last mark, and the length of the body there.
    pub(super) fn marked(&self) -> (usize, usize) {
        self.marks.last().map_or((0, 0), |mark| (mark.shown, mark.bytes))
    }

    /// Sets a mark at the end of what is written.
    pub(super) fn mark(&mut self, shown: usize, key: &Key, date: Option<&str>) {
        self.marks.push(Mark {
            shown,
            key: key.value(),
            date: date.map(str::to_owned),
            bytes: self.text.len(),
            lines: self.lines,
            turns: self.turns.len(),
            messages: self.messages.len(),
            pending: self.pending,
            pages: self.pages.full.len(),
            page: self.pages.open,
        });
    }
}

/// A key of what is shown, as far as a body depends on it.
#[derive(Clone)]
pub(super) struct Key(FoldHasher<'static>);

impl Key {
    fn new(session: &Session) -> Self {
        let mut hasher = FixedState::default().build_hasher();
        // Paths are shown relative to the folder, and no date is where it is that of the start.
        (&session.folder, session.started).hash(&mut hasher);
        Self(hasher)
    }

    pub(super) fn add(&mut self, session: &Session, layout: &Layout<'_>, shown: &[Shown<'_>]) {
        for shown in shown {
            shown.hash(&mut self.0);
            match shown {
                Shown::Call(index, _) => {
                    let call = session.ledger().calls().get(*index as usize);
                    call.inspect(|call| call.tell(session, &mut self.0));
                }
                Shown::Rewound(index, _) => {
                    let stretch = &layout.rewound[*index];
                    let count = |speaker| stretch.count(speaker);
                    (count(Speaker::User), count(Speaker::Assistant)).hash(&mut self.0);
                }
                _ => {}
            }
        }
    }

    fn value(&self) -> u64 {
        self.0.finish()
    }
}

#[cfg(test)]
mod tests;
