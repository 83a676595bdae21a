//! One line in place of each piece of tool traffic.
//!
//! Derived lines need nothing but the transcript: they keep what summaries lose, the path, the
//! command, the exit status, the number. Where an observation source knows the session its rows
//! stand beside the calls, which are then condensed: nothing that was changed or failed is lost by
//! that. A line is at most 240 characters, whatever a tool was called with or printed; every value
//! in it has passed `one_line`.

pub mod condensed;
mod derived;
pub mod placement;
pub mod rows;

use placement::Placement;
use rows::{Observed, Row};

use crate::{
    session::{Session, ledger::ToolCall},
    text::time::Zone,
    transcript::tool::{Status, ToolKind},
};

/// Characters of a line (bottle format 1).
pub const MAX_LINE: usize = 240;

/// A line that stands for one or more calls.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Observation {
    /// The first call, `t<n>`.
    pub first: u32,
    /// The last call; the same where the line stands for one.
    pub last: u32,
    /// The line, without bullet and id.
    pub text: String,
    /// The call still runs.
    pub pending: bool,
}

/// The lines for a run of calls: indexes in the ledger, in file order. Calls that change the
/// task list have none; reads that follow each other share one.
pub fn derive(session: &Session, run: &[u32], zone: &Zone) -> Vec<Observation> {
    let calls = numbered(session, run);
    let mut lines = Vec::new();
    let mut rest = calls.as_slice();
    while let Some((first, _)) = rest.split_first() {
        let reads = rest.iter().take_while(|(_, call)| is_plain_read(call)).count();
        if reads > 1 {
            derived::reads(session, &rest[..reads], &mut lines);
            rest = &rest[reads..];
        } else {
            lines.push(derived::line(session, *first, zone));
            rest = &rest[1..];
        }
    }
    lines
}

/// What stands in one list: the rows of an observation source, then the calls.
#[derive(Debug, PartialEq, Eq)]
pub enum Line<'o> {
    /// A row of the source.
    Row(&'o Row),
    /// One or more calls.
    Calls(Observation),
}

/// The lines of a run of calls, each given as its index among what is shown and in the ledger, where
/// a source knows the session. Calls that the source has not covered yet are pending, but for those
/// that came to nothing: sources are not told of them.
pub fn happened<'o>(
    session: &Session,
    run: &[(usize, u32)],
    (observed, placement): (&'o Observed, &Placement),
    zone: &Zone,
) -> Vec<Line<'o>> {
    let rows = run.iter().filter_map(|(shown, _)| placement.rows.get(shown)).flatten();
    let mut rows: Vec<usize> = rows.copied().collect();
    rows.sort_unstable();
    let rows = rows.into_iter().map(|index| &observed.observations[index]);
    let mut lines: Vec<_> = rows.map(Line::Row).collect();
    let is_told = !lines.is_empty();
    let state = |(shown, index): &(usize, u32)| {
        let call = session.ledger().calls().get(*index as usize);
        match call.map_or(Status::Running, |call| call.status) {
            Status::Running => false,
            Status::Declined | Status::Interrupted => true,
            Status::Completed | Status::Failed => placement.covers(*shown),
        }
    };
    for same in run.chunk_by(|one, next| state(one) == state(next)) {
        let indexes: Vec<u32> = same.iter().map(|(_, index)| *index).collect();
        let calls = match (state(&same[0]), is_told) {
            (true, true) => condense(session, &indexes, zone),
            (true, false) => derive(session, &indexes, zone),
            (false, _) => pending_lines(session, &indexes, zone),
        };
        lines.extend(calls.into_iter().map(Line::Calls));
    }
    lines
}

fn condense(session: &Session, run: &[u32], zone: &Zone) -> Vec<Observation> {
    let mut lines = Vec::new();
    condensed::condense(session, &numbered(session, run), zone, &mut lines);
    lines
}

/// One line for each call, all of them stubs.
fn pending_lines(session: &Session, run: &[u32], zone: &Zone) -> Vec<Observation> {
    let lines = numbered(session, run).into_iter();
    lines.map(|call| Observation { pending: true, ..derived::line(session, call, zone) }).collect()
}

/// The calls of a run that have a line.
fn numbered<'s>(session: &'s Session, run: &[u32]) -> Vec<Numbered<'s>> {
    run.iter()
        .filter_map(|index| Some((index + 1, session.ledger().calls().get(*index as usize)?)))
        .filter(|(_, call)| call.kind != ToolKind::Tasks)
        .collect()
}

/// A call with its number, `t<n>`.
type Numbered<'s> = (u32, &'s ToolCall);

fn is_plain_read(call: &ToolCall) -> bool {
    call.kind == ToolKind::Read && call.status == Status::Completed
}

/// How many calls of a run still run.
pub fn pending(session: &Session, run: impl Iterator<Item = u32>) -> usize {
    run.filter_map(|index| session.ledger().calls().get(index as usize))
        .filter(|call| call.status == Status::Running && call.kind != ToolKind::Tasks)
        .count()
}

/// A path as a bottle shows it: relative to the session's folder where it lies in it.
pub fn relative<'p>(path: &'p str, folder: &str) -> &'p str {
    let folder = folder.trim_end_matches(['/', '\\']);
    match path.strip_prefix(folder).and_then(|rest| rest.strip_prefix(['/', '\\'])) {
        Some(inside) if !folder.is_empty() && !inside.is_empty() => inside,
        _ => path,
    }
}
