//! Prompts that were typed while the agent worked: which of them still need to be shown here.
//!
//! What a host does with queued words (facts, and real files of several versions):
//! - it takes them (`dequeue`) and writes a row of their own, which then shows them;
//! - it gives them to the model within the turn and writes a `queued_command` row, then a removal
//!   that repeats the words: the row shows them;
//! - versions before 2.1.8x do the same with a removal that names no words, and no row at all: the
//!   queue row is the only place where the words stand, so they are shown there;
//! - the person takes them back: all of them for editing, or one by a removal that names it.
//!
//! So words stay shown unless a row, a taking or a named removal settles them. A taking names
//! no words: where the row that follows brings others, those that seemed taken are open again.
use std::{collections::VecDeque, ops::Range};

/// Prompts that are kept track of. Hosts queue a handful; what a hostile file queues beyond this
/// stays shown.
const MOST: usize = 512;

/// The prompts whose fate is open. Each is the index of its item, if it has one to hide.
#[derive(Debug, Clone, Default)]
pub(super) struct Queue {
    open: VecDeque<Waiting>,
    taken: VecDeque<Waiting>,
    delivered: VecDeque<Waiting>,
}

/// What the arrival of a row means for items of the queue.
#[derive(Debug, Clone, Default)]
pub(super) struct Arrived {
    pub(super) hide: Range<usize>,
    pub(super) show: Range<usize>,
}

#[derive(Debug, Clone, Default)]
pub(super) struct Waiting {
    /// The words, compared by their key.
    pub(super) key: u64,
    /// The items that show them.
    pub(super) items: Range<usize>,
}

impl Queue {
    pub(super) fn add(&mut self, waiting: Waiting) {
        if self.open.len() == MOST {
            self.open.pop_front();
        }
        self.open.push_back(waiting);
    }

    /// The oldest was taken: the items to hide.
    pub(super) fn take(&mut self) -> Range<usize> {
        let waiting = self.open.pop_front().unwrap_or_default();
        if self.taken.len() == MOST {
            self.taken.pop_front();
        }
        let items = waiting.items.clone();
        if !items.is_empty() {
            self.taken.push_back(waiting);
        }
        items
    }

    /// The oldest was given to the model. It stays shown, unless a row brings it at once.
    pub(super) fn deliver(&mut self) {
        if self.delivered.len() == MOST {
            self.delivered.pop_front();
        }
        self.delivered.extend(self.open.pop_front());
    }

    /// Words were removed by name: the items to hide.
    pub(super) fn remove(&mut self, key: u64) -> Range<usize> {
        let at = self.open.iter().position(|waiting| waiting.key == key);
        at.and_then(|at| self.open.remove(at)).unwrap_or_default().items
    }

    /// A row brought these words.
    pub(super) fn arrived(&mut self, key: u64) -> Arrived {
        let same = |waiting: &Waiting| waiting.key == key;
        if let Some(at) = self.taken.iter().position(same) {
            self.taken.remove(at);
            return Arrived::default();
        }
        if let Some(at) = self.delivered.iter().position(same) {
            let hide = self.delivered.remove(at).unwrap_or_default().items;
            return Arrived { hide, show: 0..0 };
        }
        let Some(at) = self.open.iter().position(same) else { return Arrived::default() };
        let hide = self.open.remove(at).unwrap_or_default().items;
        let Some(mistaken) = self.taken.pop_back() else { return Arrived { hide, show: 0..0 } };
        let show = mistaken.items.clone();
        self.open.push_front(mistaken);
        Arrived { hide, show }
    }

    /// All were taken back: the items to hide.
    pub(super) fn clear(&mut self) -> Vec<Range<usize>> {
        self.open.drain(..).map(|waiting| waiting.items).collect()
    }

    /// The agent went on: what was delivered will not come as a row any more.
    pub(super) fn agent_spoke(&mut self) {
        self.delivered.clear();
    }
}
