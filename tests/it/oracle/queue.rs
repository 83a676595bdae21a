//! Which `enqueue` rows are shown, because no other row has their words.

use std::collections::HashSet;

use super::rows::{Operation, Parsed};

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    /// Waits; shown if the file ends so.
    Open,
    /// A `dequeue` took it; its words come (or came) in a row of their own. Never shown.
    Dequeued,
    /// A `remove` without `content` settled it: it went to the model. Shown, unless the next
    /// words of the person are the same, for then that row has them.
    Delivered,
    /// Settled so that it is not shown. `awaits_remove`: a `queued_command` row brought the
    /// words, and the `remove` that belongs to it is still to come.
    Hidden {
        awaits_remove: bool,
    },
    Shown,
}

struct Entry<'a> {
    index: usize,
    key: &'a str,
    state: State,
}

/// The indices of `enqueue` records that are to be shown.
///
/// A row with words settles one `enqueue` of the same words: first one that a `dequeue` took, then
/// an open one, then one delivered since the last words of the person. `dequeue` and a `remove`
/// without `content` take the oldest open one; a `remove` with `content` the oldest open one of
/// these words. A `remove` that follows a `queued_command` row belongs to that row.
pub(super) fn shown(parsed: &[Parsed]) -> HashSet<usize> {
    let mut queue: Vec<Entry<'_>> = Vec::new();
    for (index, record) in parsed.iter().enumerate() {
        match &record.queue {
            Some(Operation::Enqueue) => {
                let key = record.keys.first().map_or("", String::as_str);
                queue.push(Entry { index, key, state: State::Open });
            }
            Some(Operation::Dequeue) => {
                set_first(&mut queue, State::Dequeued, |entry| entry.state == State::Open);
            }
            Some(Operation::Remove(content)) => removed(&mut queue, content.as_deref()),
            Some(Operation::PopAll) => {
                for entry in queue.iter_mut().filter(|entry| entry.state == State::Open) {
                    entry.state = State::Hidden { awaits_remove: false };
                }
            }
            None if !record.keys.is_empty() => words_arrived(&mut queue, record),
            None => {}
        }
    }
    let is_shown =
        |entry: &Entry<'_>| matches!(entry.state, State::Open | State::Delivered | State::Shown);
    queue.into_iter().filter(is_shown).map(|entry| entry.index).collect()
}

fn removed(queue: &mut [Entry<'_>], content: Option<&str>) {
    let same = |entry: &Entry<'_>| content.is_none_or(|content| entry.key == content);
    let hidden = State::Hidden { awaits_remove: false };
    let waiting = State::Hidden { awaits_remove: true };
    if set_first(queue, hidden, |entry| entry.state == waiting && same(entry)) {
        return;
    }
    let state = if content.is_some() { hidden } else { State::Delivered };
    set_first(queue, state, |entry| entry.state == State::Open && same(entry));
}

fn words_arrived(queue: &mut [Entry<'_>], record: &Parsed) {
    let hidden = State::Hidden { awaits_remove: record.queued_command };
    for state in [State::Dequeued, State::Open, State::Delivered] {
        let same = |entry: &Entry<'_>| {
            entry.state == state && record.keys.iter().any(|key| key == entry.key)
        };
        let after =
            if state == State::Open { hidden } else { State::Hidden { awaits_remove: false } };
        if set_first(queue, after, same) {
            return;
        }
    }
    for entry in queue.iter_mut().filter(|entry| entry.state == State::Delivered) {
        if !record.items.is_empty() {
            entry.state = State::Shown;
        }
    }
}

fn set_first(queue: &mut [Entry<'_>], state: State, matches: impl Fn(&Entry<'_>) -> bool) -> bool {
    let found = queue.iter_mut().find(|entry| matches(entry));
    found.map(|entry| entry.state = state).is_some()
}
