//! Folds entries into a session, one at a time.
//!
//! Every text passes the privacy function and is normalised here, once, before it enters the
//! arena; a message that is empty then leaves no trace but a count.
use std::{
    hash::{BuildHasher, Hash, Hasher},
    ops::Range,
};

use super::{
    Item, ItemKind, Mark, Said, Session, Span, proof::Boundary, queue::Waiting, rows::Node,
};
use crate::{
    text::{
        line::{normalise, words_key},
        privacy,
    },
    transcript::{Chain, Entry, Label, Line, Opens, Piece, QueueChange, RowId, Speaker},
};

impl Session {
    /// Folds what one line of the transcript gave.
    pub fn fold_line(&mut self, line: Line<'_>) {
        match line {
            Line::Entry(entry) => self.fold(entry),
            Line::Unreadable(_) => self.counts.unreadable += 1,
        }
    }

    /// A line was too long to be held; nothing of it is known.
    pub fn fold_too_long(&mut self) {
        self.counts.too_long += 1;
    }

    /// Folds the next entry of the transcript.
    pub fn fold(&mut self, entry: Entry<'_>) {
        let content = content_of(&entry);
        let Some(id) = self.identity(&entry, content) else {
            self.skip("duplicate");
            return;
        };
        self.learn(&entry);
        let boundary = entry.pieces.iter().any(|piece| matches!(piece, Piece::Boundary { .. }));
        if boundary {
            self.leg += 1;
            self.ledger.interrupt_running();
        }
        if let Some(reason) = entry.dropped {
            self.skip(reason);
        } else if entry.pieces.is_empty() {
            self.skip(&entry.kind);
        }
        if id != entry.id {
            // Two rows have one identity: who follows which of them is in doubt.
            self.rows.doubt(entry.id);
        }
        let row = id.map(|id| self.add_row(id, content, &entry));
        if id != entry.id {
            self.rows.doubt(id);
        }
        let stamp = Stamp { time: entry.time, place: entry.place, copied: entry.copied };
        let context = Context { row, id, entry: stamp };
        for piece in entry.pieces {
            self.piece(piece, context);
        }
    }

    pub(super) fn skip(&mut self, name: &str) {
        match self.counts.skipped.get_mut(name) {
            Some(count) => *count += 1,
            None => {
                let name: String = name.chars().take(100).collect();
                *self.counts.skipped.entry(name).or_default() += 1;
            }
        }
    }

    /// Takes over what a row says about the session as a whole.
    fn learn(&mut self, entry: &Entry<'_>) {
        if let Some(time) = entry.time {
            self.started.get_or_insert(time);
            self.latest = self.latest.max(Some(time));
        }
        if entry.chain == Chain::Side {
            return;
        }
        let about = &entry.about;
        if self.folder.is_empty()
            && let Some(folder) = about.folder
        {
            self.folder = self.clean(&folder.decode());
        }
        if let Some(version) = about.version
            && version.0 != self.version.as_bytes()
        {
            self.version = self.clean(&version.decode());
        }
        if let Some(model) = about.model
            && model.0 != self.model.as_bytes()
        {
            self.model = self.clean(&model.decode());
        }
        self.context = about.context.or(self.context);
        if let Some(prompt) = about.prompt {
            self.proof.prompted(&prompt.decode());
        }
        self.counts.hidden += u64::from(entry.hidden);
    }

    /// The row's identity; none where it is a copy of a row that was there. A row that has the
    /// identity of another but says something else is no copy: both stay.
    fn identity(&self, entry: &Entry<'_>, content: u64) -> Option<Option<RowId>> {
        let Some(id) = entry.id else { return Some(None) };
        let Some(there) = self.rows.find(id) else { return Some(Some(id)) };
        if self.rows.nodes()[there as usize].content == content {
            return None;
        }
        let own = id.with(content);
        self.rows.find(own).is_none().then_some(Some(own))
    }

    fn add_row(&mut self, id: RowId, content: u64, entry: &Entry<'_>) -> u32 {
        let words = |piece: &Piece<'_>| {
            !matches!(piece, Piece::Boundary { .. } | Piece::Queue(_) | Piece::Arrived { .. })
        };
        let opens = |piece: &Piece<'_>| matches!(piece, Piece::Prompt { opens: Opens::Turn, .. });
        let speaks = |piece: &Piece<'_>| words(piece) && !matches!(piece, Piece::Result(_));
        // Rows of a second file stand behind the first, whenever they were written: they decide
        // nothing about what is live.
        let first = entry.place.source == 0;
        let node = Node {
            parent: None,
            leg: self.leg,
            conversational: first && entry.pieces.iter().any(words),
            speaks: first && entry.pieces.iter().any(speaks),
            prompt: first && entry.pieces.iter().any(opens),
            of_the_host: entry.pieces.is_empty() && entry.dropped.is_some(),
            doubtful: false,
            content,
        };
        self.rows.push(id, entry.parent, node)
    }

    fn piece(&mut self, piece: Piece<'_>, context: Context) {
        match piece {
            Piece::Prompt { text, label, opens } => self.prompt(&text, &label, opens, context),
            Piece::Speech { text, label, message } => self.speech(&text, &label, message, context),
            Piece::Media(text) => {
                let kind = ItemKind::Media(self.keep(&text));
                self.push(kind, context);
            }
            Piece::Call { id, name, tool, said } => self.call(&id, &name, tool, &said, context),
            Piece::Result(result) => self.result(&result, context),
            Piece::Interrupted => {
                self.ledger.interrupt_running();
                self.push(ItemKind::Interrupted, context);
            }
            Piece::ApiError(text) => {
                let kind = ItemKind::ApiError(self.keep(&text));
                self.push(kind, context);
            }
            Piece::HostNote(text) => {
                let kind = ItemKind::HostNote(self.keep(&text));
                self.push(kind, context);
            }
            Piece::Arrived { session, n } => {
                let session = self.clean(&session);
                self.proof.arrived(&session, n, context.entry.place);
            }
            Piece::Boundary { trigger, before, .. } => {
                self.boundary(context);
                let kind = ItemKind::Boundary(self.keep(&trigger), before);
                self.push(kind, context);
            }
            Piece::Queue(change) => self.queue_change(change, context),
        }
    }

    fn boundary(&mut self, context: Context) {
        let Stamp { time, place, copied } = context.entry;
        self.proof.boundary(Boundary { id: context.id, place, time, copied });
    }

    fn prompt(&mut self, text: &str, label: &Label<'_>, opens: Opens, context: Context) {
        let key = words_key(text);
        self.proof.typed(key, context.entry.place);
        let arrived = self.queue.arrived(key);
        self.set_hidden(arrived.hide, true);
        self.set_hidden(arrived.show, false);
        if opens == Opens::Turn {
            self.ledger.interrupt_running();
        }
        let message =
            if matches!(label, Label::None | Label::Queued) { row_key(context) } else { 0 };
        self.say(Speaker::User, text, label, opens == Opens::Turn, message, context);
    }

    fn speech(&mut self, text: &str, label: &Label<'_>, message: u64, context: Context) {
        self.agent_acted(context);
        self.say(Speaker::Assistant, text, label, false, message, context);
    }

    /// The agent spoke or called a tool.
    pub(super) fn agent_acted(&mut self, context: Context) {
        self.queue.agent_spoke();
        self.proof.answered(context.entry.place);
    }

    pub(super) fn say(
        &mut self,
        speaker: Speaker,
        text: &str,
        label: &Label<'_>,
        opens: bool,
        message: u64,
        context: Context,
    ) -> Option<usize> {
        // The texts of one message of the agent, else those of one row.
        let scope = if message == 0 { place_key(context) } else { message };
        let text = self.keep_words(text, scope);
        if text.is_empty() {
            return None;
        }
        let mark = self.mark(label);
        let place = context.entry.place;
        let said = Said { speaker, mark, text, place, opens, message };
        self.push(ItemKind::Said(said), context);
        Some(self.items.len() - 1)
    }

    fn mark(&mut self, label: &Label<'_>) -> Mark {
        match label {
            Label::None => Mark::None,
            Label::Queued => Mark::Queued,
            Label::Answer => Mark::Answer,
            Label::Declined(tool) => Mark::Declined(self.keep(tool)),
            Label::From(name) => Mark::From(self.keep(name)),
            Label::Plan => Mark::Plan,
            Label::Question => Mark::Question,
            Label::EditedPlan => Mark::EditedPlan,
        }
    }

    fn queue_change(&mut self, change: QueueChange<'_>, context: Context) {
        match change {
            QueueChange::Add(words) => {
                let key = words.first().map_or(0, |(text, _)| words_key(text));
                let first = self.items.len();
                for (text, label) in words {
                    self.proof.typed(words_key(&text), context.entry.place);
                    self.say(Speaker::User, &text, &label, false, 0, context);
                }
                self.queue.add(Waiting { key, items: first..self.items.len() });
            }
            QueueChange::Take => {
                let taken = self.queue.take();
                self.set_hidden(taken, true);
            }
            QueueChange::Remove(text) => {
                let removed = self.queue.remove(words_key(&text));
                self.set_hidden(removed, true);
            }
            QueueChange::Deliver => self.queue.deliver(),
            QueueChange::Clear => {
                for items in self.queue.clear() {
                    self.set_hidden(items, true);
                }
            }
        }
    }

    fn set_hidden(&mut self, items: Range<usize>, hidden: bool) {
        for item in self.items.get_mut(items).into_iter().flatten() {
            item.hidden = hidden;
        }
    }

    pub(super) fn push(&mut self, kind: ItemKind, context: Context) {
        self.items.push(Item {
            kind,
            time: context.entry.time,
            leg: self.leg,
            row: context.row,
            hidden: false,
        });
    }

    /// Words. A private part that one text of a message leaves open goes on in the next.
    fn keep_words(&mut self, text: &str, scope: u64) -> Span {
        if self.open_private == Some(scope) {
            let hidden = format!("{OPENING}{text}");
            self.open_private = leaves_open(&hidden).then_some(scope);
            return self.keep(&hidden);
        }
        self.open_private = leaves_open(text).then_some(scope);
        self.keep(text)
    }

    /// Privacy-stripped and normalised, in the arena. Empty where nothing but space is left.
    pub(super) fn keep(&mut self, text: &str) -> Span {
        let stripped = privacy::strip(text);
        self.counts.hidden += u64::from(stripped.removed > 0);
        let kept = normalise(&stripped.text);
        if kept.trim().is_empty() { Span::default() } else { self.arena.push(&kept) }
    }

    pub(super) fn clean(&mut self, text: &str) -> String {
        let stripped = privacy::strip(text);
        self.counts.hidden += u64::from(stripped.removed > 0);
        normalise(&stripped.text).into_owned()
    }
}

/// What opens a private part.
const OPENING: &str = "<private>";

/// Whether a private part of this text is never closed: what is said behind it would be hidden.
fn leaves_open(text: &str) -> bool {
    const BEHIND: char = '.';
    privacy::may_hide(text.as_bytes()) && {
        let longer = privacy::strip(&format!("{text}{BEHIND}")).text.len();
        longer == privacy::strip(text).text.len()
    }
}

/// A key of all that a row says.
fn content_of(entry: &Entry<'_>) -> u64 {
    let mut hasher = foldhash::fast::FixedState::default().build_hasher();
    entry.kind.hash(&mut hasher);
    for piece in &entry.pieces {
        piece.content().hash(&mut hasher);
    }
    hasher.finish()
}

/// The texts of one row of the person are one message.
fn row_key(context: Context) -> u64 {
    context.row.map_or(0, |row| 1 << 63 | u64::from(row))
}

/// Tells the texts of one row from those of others, also where it has no identity.
fn place_key(context: Context) -> u64 {
    let place = context.entry.place;
    1 << 62 | u64::from(place.source) << 48 | place.offset & 0xffff_ffff_ffff
}

#[derive(Clone, Copy)]
pub(super) struct Context {
    row: Option<u32>,
    id: Option<RowId>,
    pub(super) entry: Stamp,
}

#[derive(Clone, Copy)]
pub(super) struct Stamp {
    pub(super) time: Option<crate::text::time::Moment>,
    pub(super) place: crate::transcript::Place,
    copied: bool,
}
