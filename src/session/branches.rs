//! Which rows were rewound.
//!
//! Within a leg the live line ends at the last conversational row, by position. A prompt is dead
//! where a sibling prompt stands later on the live line and nothing was said below the dead one
//! since; all below it is dead with it. Two prompts are siblings when the nearest conversation
//! above them is the same row (or, at the start of a leg, the same first row). Where both
//! siblings went on, the session was resumed twice: both stay.
//!
//! In doubt a row stays: missing parents, parents of another leg, cycles, parallel tool results, and
//! commands that share the host's caveat as their parent make no dead branch.
use std::collections::HashMap;

use super::rows::{Node, Rows};

/// What the tree of a session says.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Branches {
    /// For each row the dead prompt above it or it itself.
    pub(super) dead: Vec<Option<u32>>,
    /// Prompts with which a second line begins beside one that went on.
    pub(super) second_lines: Vec<u32>,
}

pub(super) fn branches(rows: &Rows) -> Branches {
    let nodes = rows.nodes();
    let rivals = rivals(nodes);
    let mut branches = Branches { dead: vec![None; nodes.len()], second_lines: Vec::new() };
    if rivals.is_empty() {
        return branches;
    }
    let mut candidates: HashMap<u32, u32> = rivals.into_iter().collect();
    while !candidates.is_empty() {
        let owners = owners(nodes, &candidates);
        let growing = still_growing(nodes, &owners, &candidates);
        if growing.is_empty() {
            branches.dead = owners;
            break;
        }
        for prompt in growing {
            branches.second_lines.extend(candidates.remove(&prompt));
        }
    }
    branches.second_lines.sort_unstable();
    branches.second_lines.dedup();
    branches
}

/// Prompts off the live line, each with its newest sibling on it.
fn rivals(nodes: &[Node]) -> Vec<(u32, u32)> {
    let anchors = anchors(nodes);
    let mut siblings: HashMap<u32, Vec<u32>> = HashMap::new();
    for (index, node) in (0..).zip(nodes) {
        if node.prompt
            && let Some(parent) = node.parent
            && let anchor = anchors[parent as usize]
            && !nodes[anchor as usize].of_the_host
            && !nodes[anchor as usize].doubtful
            && !node.doubtful
        {
            siblings.entry(anchor).or_default().push(index);
        }
    }
    siblings.retain(|_, prompts| prompts.len() > 1);
    if siblings.is_empty() {
        return Vec::new();
    }
    let live = live(nodes);
    let mut rivals = Vec::new();
    for prompts in siblings.into_values() {
        let Some(newest) = prompts.iter().rev().copied().find(|prompt| live[*prompt as usize])
        else {
            continue;
        };
        let dead = prompts.iter().filter(|prompt| !live[**prompt as usize] && **prompt < newest);
        rivals.extend(dead.map(|prompt| (*prompt, newest)));
    }
    rivals
}

/// For each row the nearest conversational row above it or it itself, else the topmost row.
fn anchors(nodes: &[Node]) -> Vec<u32> {
    climb(nodes, |index, node, parent| {
        if node.conversational || node.of_the_host { Some(index) } else { parent.or(Some(index)) }
    })
    .into_iter()
    .zip(0..)
    .map(|(anchor, index)| anchor.unwrap_or(index))
    .collect()
}

/// For each row the topmost candidate above it or it itself.
fn owners(nodes: &[Node], candidates: &HashMap<u32, u32>) -> Vec<Option<u32>> {
    climb(nodes, |index, _, parent| {
        parent.or_else(|| candidates.contains_key(&index).then_some(index))
    })
}

/// Computes a value for each row from that of its parent, each row once. In a cycle one row has
/// no parent.
fn climb(
    nodes: &[Node],
    value: impl Fn(u32, &Node, Option<u32>) -> Option<u32>,
) -> Vec<Option<u32>> {
    #[derive(Clone, Copy, PartialEq)]
    enum Seen {
        No,
        OnPath,
        Done,
    }
    let mut values = vec![None; nodes.len()];
    let mut seen = vec![Seen::No; nodes.len()];
    let mut path = Vec::new();
    for start in 0..nodes.len() {
        let mut next = Some(start);
        while let Some(at) = next.filter(|at| seen[*at] == Seen::No) {
            seen[at] = Seen::OnPath;
            path.push(at);
            next = nodes[at].parent.map(|parent| parent as usize);
        }
        let mut above = next.filter(|at| seen[*at] == Seen::Done).and_then(|at| values[at]);
        while let Some(at) = path.pop() {
            above = value(u32::try_from(at).unwrap_or(u32::MAX), &nodes[at], above);
            values[at] = above;
            seen[at] = Seen::Done;
        }
    }
    values
}

/// The rows on the live line of their leg.
fn live(nodes: &[Node]) -> Vec<bool> {
    let mut tips: HashMap<u32, usize> = HashMap::new();
    for (index, node) in nodes.iter().enumerate() {
        if node.conversational {
            tips.insert(node.leg, index);
        }
    }
    let mut live = vec![false; nodes.len()];
    for tip in tips.into_values() {
        let mut next = Some(tip);
        while let Some(at) = next.filter(|at| !live[*at]) {
            live[at] = true;
            next = nodes[at].parent.map(|parent| parent as usize);
        }
    }
    live
}

/// Candidates below which something was said after their rival.
fn still_growing(
    nodes: &[Node],
    owners: &[Option<u32>],
    candidates: &HashMap<u32, u32>,
) -> Vec<u32> {
    let mut growing = Vec::new();
    for (index, (node, owner)) in (0_u32..).zip(nodes.iter().zip(owners)) {
        if let Some(owner) = owner
            && node.speaks
            && candidates.get(owner).is_some_and(|rival| index > *rival)
        {
            growing.push(*owner);
        }
    }
    growing.sort_unstable();
    growing.dedup();
    growing
}
