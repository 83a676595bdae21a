//! One line in place of each piece of tool traffic.
//!
//! Derived lines need nothing but the transcript: they keep what summaries lose, the path, the
//! command, the exit status, the number. A line is at most 240 characters, whatever a tool was
//! called with or printed; every value in it has passed `one_line`.

mod derived;

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
    let calls: Vec<Numbered<'_>> = run
        .iter()
        .filter_map(|index| Some((index + 1, session.ledger().calls().get(*index as usize)?)))
        .filter(|(_, call)| call.kind != ToolKind::Tasks)
        .collect();
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
