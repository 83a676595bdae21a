//! What the transcript tells of compactions, announced prompts and our own pointers.
//!
//! Places count in the first file of a session only: rows of a second one stand behind it, whenever
//! they were written. Invariant: everything here is in file order, and a row that was copied within
//! the file counts once. Refuses: to say what is due (that is `engine::delivery`'s).
use std::collections::VecDeque;

use crate::{
    text::time::Moment,
    transcript::{Place, RowId},
};

/// Prompts that are remembered: a hook asks for the newest.
const PROMPTS: usize = 64;
/// Sessions that a transcript may be linked to, and arrivals of them; more is hostile.
const MOST: usize = 1_024;

/// See the module.
#[derive(Debug, Clone, Default)]
pub struct Proof {
    boundaries: Vec<Boundary>,
    arrivals: Vec<Arrival>,
    answered: Option<u64>,
    prompts: VecDeque<u64>,
    typed: VecDeque<(u64, u64)>,
}

/// A compaction's row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Boundary {
    /// The row's identity, where it has one.
    pub id: Option<RowId>,
    /// Where it stands.
    pub place: Place,
    /// When, by the host's clock.
    pub time: Option<Moment>,
    /// The host says that it was copied from another session.
    pub copied: bool,
}

impl Boundary {
    /// The name by which the boundary is known in `endless.db`.
    pub fn name(&self) -> String {
        self.id.map_or_else(|| format!("@{}", self.place.offset), |id| format!("{:032x}", id.0))
    }
}

/// A pointer of ours that the model was given.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Arrival {
    /// The session that it is about: another one where rows were copied by a fork.
    pub session: String,
    /// The number of the print.
    pub n: u32,
    /// Bytes before its row.
    pub offset: u64,
}

impl Proof {
    /// The compactions, in file order.
    pub fn boundaries(&self) -> &[Boundary] {
        &self.boundaries
    }

    /// The pointers that were given to the model, in file order.
    pub fn arrivals(&self) -> &[Arrival] {
        &self.arrivals
    }

    /// Bytes before the newest row in which the agent spoke or called a tool.
    pub fn newest_answer(&self) -> Option<u64> {
        self.answered
    }

    /// Whether a row belongs to the prompt with this id of the host.
    pub fn has_prompt(&self, id: &str) -> bool {
        self.prompts.contains(&key(id))
    }

    /// Whether words with this key were typed lately, as a prompt or into the queue, behind so many
    /// bytes.
    pub fn has_words(&self, words: u64, after: u64) -> bool {
        self.typed.iter().any(|(typed, offset)| *typed == words && *offset >= after)
    }

    pub(super) fn boundary(&mut self, boundary: Boundary) {
        if boundary.place.source == 0 {
            self.boundaries.push(boundary);
        }
    }

    pub(super) fn arrived(&mut self, session: &str, n: u32, place: Place) {
        if place.source == 0 && self.arrivals.len() < MOST {
            self.arrivals.push(Arrival { session: session.to_owned(), n, offset: place.offset });
        }
    }

    pub(super) fn answered(&mut self, place: Place) {
        if place.source == 0 {
            self.answered = Some(place.offset);
        }
    }

    pub(super) fn prompted(&mut self, id: &str) {
        remember(&mut self.prompts, key(id));
    }

    pub(super) fn typed(&mut self, words: u64, place: Place) {
        // Nothing is known of where rows of a second file stand.
        let offset = if place.source == 0 { place.offset } else { u64::MAX };
        remember(&mut self.typed, (words, offset));
    }
}

/// Keeps the newest; most rows repeat the last.
fn remember<T: PartialEq>(recent: &mut VecDeque<T>, key: T) {
    if recent.back() == Some(&key) {
        return;
    }
    if recent.len() == PROMPTS {
        recent.pop_front();
    }
    recent.push_back(key);
}

fn key(id: &str) -> u64 {
    use std::hash::BuildHasher as _;
    foldhash::fast::FixedState::default().hash_one(id)
}
