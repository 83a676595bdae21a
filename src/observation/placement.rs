//! Where the rows of an observation source stand among what a session shows.
//!
//! A row stands in the turn that was open at its time, behind the last call that had started by
//! then, and never before the first call of that turn; what the source says of the calls that it
//! answers may only narrow this. The source's prompt numbers are no ordinals of the transcript and
//! are not asked: where a turn has no time of its own, its prompt is found by its words.
//!
//! Invariant: every row is placed exactly once; rows that stand together are in the order of time,
//! then id. Linear in rows and calls but for a search by time.

use std::collections::{BTreeMap, HashMap};

use super::rows::{Observed, Prompt};
use crate::{
    session::{
        Session,
        layout::{Layout, Message, Shown},
    },
    text::{line::words_key, measure::utf16_head, time::Moment},
    transcript::Speaker,
};

/// Where rows stand.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Placement {
    /// Rows by the index of what they stand behind in [`Layout::shown`]; rows are indexes in
    /// [`Observed::observations`].
    pub rows: BTreeMap<usize, Vec<usize>>,
    /// The newest of these places: what stands at or before it is covered.
    pub covered: Option<usize>,
}

impl Placement {
    /// Whether what is shown at this index is covered.
    pub fn covers(&self, index: usize) -> bool {
        self.covered.is_some_and(|covered| index <= covered)
    }
}

/// Places every row.
pub fn place(session: &Session, layout: &Layout<'_>, observed: &Observed) -> Placement {
    let turns = turns(layout, &observed.prompts);
    let answered = Answered::new(session, observed);
    let mut placement = Placement::default();
    for (index, row) in observed.observations.iter().enumerate() {
        let open = turns.partition_point(|turn| turn.start <= row.time);
        let Some(turn) = turns.get(open.saturating_sub(1)) else { continue };
        let place = turn.place(row.time, |call| answered.by(row.id, call));
        placement.rows.entry(place).or_default().push(index);
        placement.covered = placement.covered.max(Some(place));
    }
    placement
}

/// A turn, as far as placing needs it.
struct Turn {
    /// Never before the one of the turn before.
    start: Moment,
    /// The index of the last thing that it shows.
    last: usize,
    calls: Vec<Call>,
}

struct Call {
    /// The index among what is shown.
    shown: usize,
    /// The index in the ledger.
    index: u32,
    /// Never before the one of the call before.
    start: Moment,
}

impl Turn {
    fn place(&self, time: Moment, answers: impl Fn(u32) -> bool) -> usize {
        let started = self.calls.partition_point(|call| call.start <= time);
        let before = &self.calls[..started];
        let narrowed = before.iter().rev().find(|call| answers(call.index));
        match narrowed.or(before.last()).or(self.calls.first()) {
            Some(call) => call.shown,
            None => self.last,
        }
    }
}

/// The turns; what is shown before the first prompt is one, too.
fn turns(layout: &Layout<'_>, prompts: &[Prompt]) -> Vec<Turn> {
    let mut known = Known::new(prompts);
    let mut turns: Vec<Turn> = Vec::new();
    for (shown, what) in layout.shown.iter().enumerate() {
        let open = turns.last().map_or(Moment(i64::MIN), |turn| turn.start);
        match what {
            Shown::Message(message) if message.speaker == Speaker::User && message.opens => {
                let start = message.time.or_else(|| known.time(message)).unwrap_or(open);
                turns.push(Turn { start: start.max(open), last: shown, calls: Vec::new() });
            }
            _ if turns.is_empty() => {
                turns.push(Turn { start: open, last: shown, calls: Vec::new() });
            }
            _ => {}
        }
        let Some(turn) = turns.last_mut() else { continue };
        turn.last = shown;
        if let Shown::Call(index, time) = what {
            let before = turn.calls.last().map_or(turn.start, |call| call.start);
            let start = time.unwrap_or(before).max(before);
            turn.calls.push(Call { shown, index: *index, start });
        }
    }
    turns
}

/// The source's prompts by their words, for turns whose time the transcript does not tell.
struct Known<'o> {
    prompts: &'o [Prompt],
    by_words: Option<HashMap<u64, Vec<usize>>>,
    /// Prompts are taken in their order.
    next: usize,
}

impl<'o> Known<'o> {
    fn new(prompts: &'o [Prompt]) -> Self {
        Self { prompts, by_words: None, next: 0 }
    }

    fn time(&mut self, message: &Message<'_>) -> Option<Moment> {
        let prompts = self.prompts;
        let by_words = self.by_words.get_or_insert_with(|| {
            let mut by_words: HashMap<u64, Vec<usize>> = HashMap::new();
            for (index, prompt) in prompts.iter().enumerate() {
                by_words.entry(words_key(&prompt.text)).or_default().push(index);
            }
            by_words
        });
        let cut = utf16_head(&message.text, 3_999).to_owned() + "…";
        let whole = by_words.get(&words_key(&message.text));
        let found = whole.or_else(|| by_words.get(&words_key(&cut)))?;
        let index = *found.iter().find(|index| **index >= self.next)?;
        self.next = index + 1;
        Some(prompts[index].time)
    }
}

/// Which calls a row is said to answer.
struct Answered(HashMap<u32, i64>);

impl Answered {
    fn new(session: &Session, observed: &Observed) -> Self {
        let told: HashMap<&str, i64> = observed
            .tool_uses
            .iter()
            .filter_map(|told| Some((told.call.as_str(), told.observation?)))
            .collect();
        if told.is_empty() {
            return Self(HashMap::new());
        }
        let calls = (0..).zip(session.ledger().calls());
        Self(
            calls
                .filter_map(|(index, call)| Some((index, *told.get(session.text(call.id))?)))
                .collect(),
        )
    }

    fn by(&self, row: i64, call: u32) -> bool {
        self.0.get(&call) == Some(&row)
    }
}
