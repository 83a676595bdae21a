//! Rewound stretches: conservative, a stretch is dead only where the tree leaves no doubt.

use std::collections::{HashMap, HashSet};

use super::rows::{Item, Parsed};

/// The indices of records in dead branches.
///
/// Within one leg (the records between two boundaries): a prompt is dead if it is not on the live
/// line (the ancestors of the leg's last user, assistant or queued row), a later prompt with the
/// very same parent is, that parent stands in the file, none of the three ids is used twice, and
/// no user or assistant row below the earlier prompt stands behind the later one (else both grow,
/// and both are shown). With it go all records below it in that leg.
pub(super) fn dead(parsed: &[Parsed]) -> HashSet<usize> {
    let mut dead = HashSet::new();
    let mut start = 0;
    for end in leg_ends(parsed) {
        dead_in_leg(parsed, start, end, &mut dead);
        start = end;
    }
    dead
}

fn leg_ends(parsed: &[Parsed]) -> Vec<usize> {
    let is_boundary =
        |record: &Parsed| record.items.iter().any(|item| matches!(item, Item::Boundary));
    let boundaries = parsed.iter().enumerate().filter(|(_, record)| is_boundary(record));
    boundaries.map(|(index, _)| index).chain([parsed.len()]).collect()
}

fn dead_in_leg(parsed: &[Parsed], start: usize, end: usize, dead: &mut HashSet<usize>) {
    let ids = unique_ids(parsed);
    let live = live_line(parsed, start, end, &ids);
    let prompts: Vec<usize> =
        (start..end).filter(|index| is_branching_prompt(parsed, *index, &ids)).collect();
    for earlier in &prompts {
        let later = prompts.iter().find(|later| {
            *later > earlier
                && live.contains(*later)
                && parsed[**later].parent == parsed[*earlier].parent
        });
        let Some(later) = later.filter(|_| !live.contains(earlier)) else { continue };
        let below = below(parsed, *earlier, end);
        let grew = below.iter().any(|index| index > later && parsed[*index].conversation);
        if !grew {
            dead.extend(below);
        }
    }
}

/// Each id that is used once, and where.
fn unique_ids(parsed: &[Parsed]) -> HashMap<&str, usize> {
    let mut ids = HashMap::new();
    let mut twice = HashSet::new();
    for (index, record) in parsed.iter().enumerate() {
        if let Some(uuid) = record.uuid.as_deref()
            && ids.insert(uuid, index).is_some()
        {
            twice.insert(uuid);
        }
    }
    ids.retain(|uuid, _| !twice.contains(uuid));
    ids
}

fn live_line(
    parsed: &[Parsed],
    start: usize,
    end: usize,
    ids: &HashMap<&str, usize>,
) -> HashSet<usize> {
    let mut live = HashSet::new();
    let leaf = |index: &usize| parsed[*index].conversation && parsed[*index].uuid.is_some();
    let mut at = (start..end).rev().find(leaf);
    while let Some(index) = at {
        if !live.insert(index) {
            break;
        }
        at = parsed[index].parent.as_deref().and_then(|parent| ids.get(parent)).copied();
    }
    live
}

/// A prompt whose own id and whose parent are sure. Commands that the host ran hang as siblings
/// under one caveat row (isMeta) in old versions; that is no rewind.
fn is_branching_prompt(parsed: &[Parsed], index: usize, ids: &HashMap<&str, usize>) -> bool {
    let record = &parsed[index];
    let known = |id: &Option<String>| id.as_deref().and_then(|id| ids.get(id)).copied();
    record.prompt
        && known(&record.uuid).is_some()
        && known(&record.parent).is_some_and(|parent| !parsed[parent].is_meta)
}

/// The record and all below it, up to the end of the leg.
fn below(parsed: &[Parsed], root: usize, end: usize) -> HashSet<usize> {
    let mut below = HashSet::from([root]);
    let mut ids: HashSet<&str> = parsed[root].uuid.as_deref().into_iter().collect();
    loop {
        let before = below.len();
        for (index, record) in parsed.iter().enumerate().take(end) {
            if record.parent.as_deref().is_some_and(|parent| ids.contains(parent))
                && below.insert(index)
            {
                ids.extend(record.uuid.as_deref());
            }
        }
        if below.len() == before {
            return below;
        }
    }
}
