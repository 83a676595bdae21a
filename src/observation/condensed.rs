//! Calls that observations cover, in as few lines as name what must not be lost: every changed
//! file, and every call that failed, with its exit status.
//!
//! Invariant: what a derived line says of a changed path or a failed command, a condensed one says
//! too; a call that does not fit gets the next line, and one that is alone has its derived line.

use std::fmt::Write as _;

use super::{MAX_LINE, Numbered, Observation, derived};
use crate::{
    session::{Session, ledger::ToolCall},
    text::{line::one_line, time::Zone},
    transcript::tool::{Status, ToolKind},
};

/// What stands behind the number of calls in a condensed line.
pub const CALLS: &str = " calls: ";

/// Characters of a name, and of what another call than a command was about.
const NAME: usize = 60;

/// Adds the lines of finished calls.
pub(super) fn condense(
    session: &Session,
    calls: &[Numbered<'_>],
    zone: &Zone,
    lines: &mut Vec<Observation>,
) {
    let mut rest = calls;
    while let Some(first) = rest.first() {
        let mut brief = Brief::default();
        brief.add(session, first.1);
        let mut taken = 1;
        for (_, call) in &rest[1..] {
            let mut more = brief.clone();
            more.add(session, call);
            if more.text().chars().count() > MAX_LINE - derived::HEAD {
                break;
            }
            brief = more;
            taken += 1;
        }
        let (now, later) = rest.split_at(taken);
        lines.push(match now {
            [alone] => derived::line(session, *alone, zone),
            _ => {
                let last = now[now.len() - 1].0;
                Observation { first: first.0, last, text: brief.text(), pending: false }
            }
        });
        rest = later;
    }
}

/// What is said of some calls.
#[derive(Debug, Clone, Default)]
struct Brief {
    calls: usize,
    parts: Vec<Part>,
}

#[derive(Debug, Clone)]
enum Part {
    /// Calls of a tool of which the number suffices, and those of them that went wrong.
    Counted { name: String, count: usize, wrong: Vec<(String, usize)> },
    /// Changes of one file.
    File { subject: String, count: usize, change: Change },
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Change {
    /// Lines added and removed.
    Edited(u64, u64),
    /// Lines of the file.
    Written(u64),
    /// It was not changed after all.
    Failed(&'static str),
}

impl Brief {
    fn add(&mut self, session: &Session, call: &ToolCall) {
        self.calls += 1;
        let name = one_line(session.text(call.name), NAME);
        match call.kind {
            ToolKind::Edit | ToolKind::Write => {
                let subject = format!("{name} {}", derived::path(session, call));
                self.file(subject, change(call));
            }
            _ => self.counted(name, wrong(session, call)),
        }
    }

    fn file(&mut self, new: String, more: Change) {
        for part in &mut self.parts {
            let Part::File { subject, count, change } = part else { continue };
            let is_same = *subject == new
                && std::mem::discriminant(change) == std::mem::discriminant(&more)
                && (!matches!(more, Change::Failed(_)) || *change == more);
            if is_same {
                *count += 1;
                *change = match (&*change, more) {
                    (Change::Edited(a, b), Change::Edited(c, d)) => Change::Edited(a + c, b + d),
                    (_, more) => more,
                };
                return;
            }
        }
        self.parts.push(Part::File { subject: new, count: 1, change: more });
    }

    fn counted(&mut self, new: String, went_wrong: Option<String>) {
        let is_same = |part: &&mut Part| matches!(part, Part::Counted { name, .. } if *name == new);
        let wrong = match self.parts.iter_mut().find(is_same) {
            Some(Part::Counted { count, wrong, .. }) => {
                *count += 1;
                wrong
            }
            _ => {
                self.parts.push(Part::Counted { name: new, count: 1, wrong: Vec::new() });
                match self.parts.last_mut() {
                    Some(Part::Counted { wrong, .. }) => wrong,
                    _ => return,
                }
            }
        };
        let Some(how) = went_wrong else { return };
        match wrong.iter_mut().find(|(known, _)| *known == how) {
            Some((_, count)) => *count += 1,
            None => wrong.push((how, 1)),
        }
    }

    fn text(&self) -> String {
        let parts: Vec<String> = self.parts.iter().map(Part::text).collect();
        format!("{}{CALLS}{}", self.calls, parts.join(", "))
    }
}

impl Part {
    fn text(&self) -> String {
        match self {
            Self::File { subject, count, change } => {
                let change = match change {
                    Change::Edited(added, removed) => format!(" (+{added} −{removed})"),
                    Change::Written(lines) => format!(" ({})", derived::plural(*lines, "line")),
                    Change::Failed(how) => format!(" → {how}"),
                };
                format!("{subject}{}{change}", times(*count))
            }
            Self::Counted { name, count, wrong } => {
                let mut text = format!("{name}{}", times(*count));
                let list: Vec<String> =
                    wrong.iter().map(|(how, count)| format!("{how}{}", times(*count))).collect();
                match list.as_slice() {
                    [] => {}
                    [one] if *count == 1 => _ = write!(text, " {one}"),
                    _ => _ = write!(text, " ({})", list.join(", ")),
                }
                text
            }
        }
    }
}

fn times(count: usize) -> String {
    if count == 1 { String::new() } else { format!(" ×{count}") }
}

fn change(call: &ToolCall) -> Change {
    match (call.status, call.kind) {
        (Status::Completed, ToolKind::Write) => {
            Change::Written(call.range.map_or(0, |(lines, _)| lines))
        }
        (Status::Completed, _) => {
            Change::Edited(call.lines.added.into(), call.lines.removed.into())
        }
        (status, _) => Change::Failed(word(status)),
    }
}

/// What is said of a call that did not do what was asked.
fn wrong(session: &Session, call: &ToolCall) -> Option<String> {
    let how = match (call.status, call.exit) {
        (Status::Completed, None | Some(0)) => return None,
        (Status::Completed | Status::Failed, Some(exit)) => format!("exit {exit}"),
        (status, _) => word(status).to_owned(),
    };
    let about = session.text(call.brief);
    Some(match call.kind {
        ToolKind::Command => format!("`{}` → {how}", one_line(about, derived::COMMAND)),
        ToolKind::Read => format!("{} → {how}", derived::path(session, call)),
        _ if about.is_empty() => format!("→ {how}"),
        _ => format!("{} → {how}", one_line(about, NAME)),
    })
}

fn word(status: Status) -> &'static str {
    match status {
        Status::Declined => "declined",
        Status::Interrupted => "interrupted",
        Status::Running => "running",
        Status::Completed | Status::Failed => "failed",
    }
}
