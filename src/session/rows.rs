//! The tree of rows: who follows whom, within a leg.
//!
//! A parent may stand later in the file, be missing, or belong to another leg; then a row has no
//! parent here. Cycles are possible in hostile files; walkers must bound their steps.
use std::{
    collections::HashMap,
    hash::{BuildHasher, Hasher, RandomState},
};

use crate::transcript::RowId;

#[derive(Debug, Clone, Default)]
pub(super) struct Rows {
    nodes: Vec<Node>,
    by_id: HashMap<u128, u32, RowHashing>,
    waiting: HashMap<u128, Vec<u32>, RowHashing>,
}

/// Ids are random already: one multiplication with a secret spreads them, and nobody can choose
/// ids that collide.
#[derive(Debug, Clone)]
struct RowHashing {
    secret: (u64, u64),
}

impl Default for RowHashing {
    fn default() -> Self {
        let random = RandomState::new();
        Self { secret: (random.hash_one(1), random.hash_one(2) | 1) }
    }
}

impl BuildHasher for RowHashing {
    type Hasher = RowHasher;

    fn build_hasher(&self) -> RowHasher {
        RowHasher { secret: self.secret, hash: 0 }
    }
}

struct RowHasher {
    secret: (u64, u64),
    hash: u64,
}

impl Hasher for RowHasher {
    fn finish(&self) -> u64 {
        self.hash
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.write_u128(u128::from(*byte) ^ u128::from(self.hash));
        }
    }

    fn write_u128(&mut self, id: u128) {
        let (low, high) = (id as u64, (id >> 64) as u64);
        let mixed = u128::from(low ^ self.secret.0) * u128::from(high ^ self.secret.1);
        self.hash = (mixed as u64) ^ ((mixed >> 64) as u64) ^ low;
    }
}

/// A row that has an identity.
#[derive(Debug, Clone, Copy)]
pub(super) struct Node {
    /// The row that it follows, of the same leg.
    pub(super) parent: Option<u32>,
    pub(super) leg: u32,
    /// Words or tool traffic of the main conversation.
    pub(super) conversational: bool,
    /// Words, or a call: more than the result of a call.
    pub(super) speaks: bool,
    /// Words of the person that open a turn.
    pub(super) prompt: bool,
    /// A row in the conversation that holds the host's words only.
    pub(super) of_the_host: bool,
    /// It shares its identity with another row.
    pub(super) doubtful: bool,
    /// A key of its type and of how many things it says.
    pub(super) shape: u64,
    /// The session's number of items before this row.
    pub(super) first_item: usize,
}

impl Rows {
    /// The row with this identity.
    pub(super) fn find(&self, id: RowId) -> Option<u32> {
        self.by_id.get(&id.0).copied()
    }

    pub(super) fn bytes(&self) -> usize {
        self.nodes.len() * (size_of::<Node>() + size_of::<(u128, u32)>())
    }

    pub(super) fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    /// Who follows this row is in doubt.
    pub(super) fn doubt(&mut self, id: Option<RowId>) {
        if let Some(index) = id.and_then(|id| self.find(id)) {
            self.nodes[index as usize].doubtful = true;
        }
    }

    /// Adds a row; its index.
    pub(super) fn push(&mut self, id: RowId, parent: Option<RowId>, node: Node) -> u32 {
        let index = u32::try_from(self.nodes.len()).unwrap_or(u32::MAX);
        self.nodes.push(node);
        self.by_id.insert(id.0, index);
        if let Some(parent) = parent {
            match self.by_id.get(&parent.0) {
                Some(found) => self.adopt(index, *found),
                None => self.waiting.entry(parent.0).or_default().push(index),
            }
        }
        for child in self.waiting.remove(&id.0).unwrap_or_default() {
            self.adopt(child, index);
        }
        index
    }

    fn adopt(&mut self, child: u32, parent: u32) {
        let parent_leg = self.nodes[parent as usize].leg;
        let node = &mut self.nodes[child as usize];
        if node.leg == parent_leg && child != parent {
            node.parent = Some(parent);
        }
    }
}
