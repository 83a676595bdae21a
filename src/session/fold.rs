//! Folds entries into a session, one at a time.
//!
//! Every text passes the privacy function and is normalised here, once, before it enters the
//! arena; a message that is empty then leaves no trace but a count.
use std::{
    borrow::Cow,
    hash::{BuildHasher, Hash, Hasher},
    ops::Range,
};

use super::{
    Item, ItemKind, Mark, Said, Session, Span,
    ledger::ToolCall,
    queue::Waiting,
    rows::Node,
    tasks::{Change, ChangeKind},
};
use crate::{
    text::{
        line::{normalise, words_key},
        privacy,
    },
    transcript::{
        Chain, Entry, Label, Line, Opens, Piece, QueueChange, RowId, Speaker, ToolResult,
        tool::{Lines, Outcome, Status, TaskCall, Tool, ToolKind},
    },
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
        let context = Context { row, entry: Stamp { time: entry.time, place: entry.place } };
        for piece in entry.pieces {
            self.piece(piece, context);
        }
    }

    fn skip(&mut self, name: &str) {
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
        let words = |piece: &Piece<'_>| !matches!(piece, Piece::Boundary { .. } | Piece::Queue(_));
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
            Piece::Boundary { trigger, before, .. } => {
                let kind = ItemKind::Boundary(self.keep(&trigger), before);
                self.push(kind, context);
            }
            Piece::Queue(change) => self.queue_change(change, context),
        }
    }

    fn prompt(&mut self, text: &str, label: &Label<'_>, opens: Opens, context: Context) {
        let arrived = self.queue.arrived(words_key(text));
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
        self.queue.agent_spoke();
        self.say(Speaker::Assistant, text, label, false, message, context);
    }

    fn say(
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

    fn call(
        &mut self,
        id: &str,
        name: &str,
        tool: Tool<'_>,
        said: &[Cow<'_, str>],
        context: Context,
    ) {
        let id_text = self.clean(id);
        if self.find_call(&id_text).is_some() {
            return;
        }
        self.queue.agent_spoke();
        let label = if matches!(tool, Tool::Plan) { Label::Plan } else { Label::Question };
        for text in said {
            self.say(Speaker::Assistant, text, &label, false, 0, context);
        }
        let mut call = ToolCall {
            id: self.arena.push(&id_text),
            name: self.keep(name),
            kind: tool.kind(),
            said: !said.is_empty(),
            called: context.entry.time,
            input: context.entry.place,
            ..ToolCall::default()
        };
        let index = u32::try_from(self.ledger.calls().len()).unwrap_or(u32::MAX);
        self.describe(tool, index, &mut call);
        self.ledger.push(&id_text, call);
        self.push(ItemKind::Call(index), context);
    }

    /// Keeps what a call is about. Texts of tools are privacy-stripped already.
    fn describe(&mut self, tool: Tool<'_>, index: u32, call: &mut ToolCall) {
        match tool {
            Tool::Command(text) | Tool::Agent(text) | Tool::Fetch(text) | Tool::Other(text) => {
                call.brief = self.arena.push(&text);
            }
            Tool::Read(path, range) => {
                call.brief = self.arena.push(&path);
                call.range = range;
            }
            Tool::Edit(path, lines) => {
                call.brief = self.arena.push(&path);
                call.lines = lines;
            }
            Tool::Write(path, lines) => {
                call.brief = self.arena.push(&path);
                call.range = Some((lines, 0));
            }
            Tool::Search(pattern, place) => {
                call.brief = self.arena.push(&pattern);
                call.place = place.map(|place| self.arena.push(&place)).unwrap_or_default();
            }
            Tool::Tasks(change) => self.task_call(change, index),
            Tool::Plan | Tool::Question => {}
        }
    }

    fn task_call(&mut self, change: TaskCall<'_>, call: u32) {
        let kind = match change {
            TaskCall::Replace(items) => ChangeKind::Replace(
                items.iter().map(|(title, state)| (self.keep(title), *state)).collect(),
            ),
            TaskCall::Create(title) => {
                ChangeKind::Create { title: self.keep(&title), id: Span::default() }
            }
            TaskCall::Update(id, title, state) => ChangeKind::Update {
                id: self.keep(&id),
                title: title.map(|title| self.keep(&title)),
                state,
            },
            TaskCall::Look => return,
        };
        self.tasks.push(Change { call, kind });
    }

    fn result(&mut self, result: &ToolResult<'_>, context: Context) {
        let id = self.clean(&result.id);
        let Some(index) = self.find_call(&id) else {
            self.skip("tool result without its call");
            self.words_in(&result.outcome(ToolKind::Other), "a tool", context);
            return;
        };
        let call = &self.ledger.calls()[index as usize];
        let (kind, name, status, answered) = (call.kind, call.name, call.status, call.answered);
        let outcome = result.outcome(kind);
        if status != Status::Running {
            self.skip("repeated or late tool result");
            if words_of(&outcome) != answered {
                let name = self.text(name).to_owned();
                self.words_in(&outcome, &name, context);
            }
            return;
        }
        self.counts.hidden += u64::from(outcome.hidden);
        let name = self.text(name).to_owned();
        self.plan_in(&outcome, index, context);
        self.words_in(&outcome, &name, context);
        self.ledger.call_mut(index).answered = words_of(&outcome);
        self.settle(index, &outcome, context);
    }

    /// A plan that stands in the result only, or that the person changed there.
    fn plan_in(&mut self, outcome: &Outcome, index: u32, context: Context) {
        let Some(plan) = &outcome.plan else { return };
        if outcome.plan_edited {
            self.say(Speaker::User, plan, &Label::EditedPlan, false, 0, context);
        } else if !self.ledger.calls()[index as usize].said {
            self.say(Speaker::Assistant, plan, &Label::Plan, false, 0, context);
        }
    }

    /// The person's own words inside a result.
    fn words_in(&mut self, outcome: &Outcome, tool: &str, context: Context) {
        for text in &outcome.said {
            let label = match outcome.status {
                Status::Declined => Label::Declined(tool.into()),
                _ => Label::Answer,
            };
            self.say(Speaker::User, text, &label, false, 0, context);
        }
    }

    fn settle(&mut self, index: u32, outcome: &Outcome, context: Context) {
        if let Some(task) = &outcome.task {
            let id = self.keep(task);
            let at = self.tasks.binary_search_by_key(&index, |change| change.call);
            let change = at.ok().and_then(|at| self.tasks.get_mut(at));
            if let Some(Change { kind: ChangeKind::Create { id: place, .. }, .. }) = change {
                *place = id;
            }
        }
        let line = self.arena.push(&outcome.line);
        let call = self.ledger.call_mut(index);
        call.status = outcome.status;
        call.line = line;
        call.exit = outcome.exit;
        call.lines = match outcome.status {
            Status::Completed => outcome.lines.unwrap_or(call.lines),
            _ => Lines::default(),
        };
        call.created = outcome.created;
        call.found = outcome.found;
        call.ended = context.entry.time;
        call.result = Some(context.entry.place);
    }

    fn find_call(&self, id: &str) -> Option<u32> {
        self.ledger.find(id, |span| self.text(span) == id)
    }

    fn push(&mut self, kind: ItemKind, context: Context) {
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
    fn keep(&mut self, text: &str) -> Span {
        let stripped = privacy::strip(text);
        self.counts.hidden += u64::from(stripped.removed > 0);
        let kept = normalise(&stripped.text);
        if kept.trim().is_empty() { Span::default() } else { self.arena.push(&kept) }
    }

    fn clean(&mut self, text: &str) -> String {
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

/// A key of the person's words in a result; 0 where there are none.
fn words_of(outcome: &Outcome) -> u64 {
    outcome.said.iter().fold(0, |sum, text| sum.rotate_left(1) ^ words_key(text))
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
struct Context {
    row: Option<u32>,
    entry: Stamp,
}

#[derive(Clone, Copy)]
struct Stamp {
    time: Option<crate::text::time::Moment>,
    place: crate::transcript::Place,
}
