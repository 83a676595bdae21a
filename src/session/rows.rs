//! The tree of rows: who follows whom, within a leg.
//!
//! A parent may stand later in the file, be missing, or belong to another leg; then a row has no
//! parent here. Cycles are possible in hostile files; walkers must bound their steps.
use std::collections::HashMap;

use crate::transcript::RowId;

#[derive(Debug, Clone, Default)]
pub(super) struct Rows {
    nodes: Vec<Node>,
    by_id: HashMap<u128, u32, foldhash::fast::RandomState>,
    waiting: HashMap<u128, Vec<u32>, foldhash::fast::RandomState>,
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
    /// A key of all that it says.
    pub(super) content: u64,
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
