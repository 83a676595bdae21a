//! The derived line of each kind of tool.
use super::{MAX_LINE, Numbered, Observation, relative};
use crate::{
    session::{Session, ledger::ToolCall},
    text::{line::one_line, time::Zone},
    transcript::tool::{Counted, Status, ToolKind},
};

/// Characters of a command once its special characters are escaped.
pub(super) const COMMAND: usize = 150;
/// Characters of a path.
const PATH: usize = 180;
/// Room for bullet, id and stub mark.
pub(super) const HEAD: usize = 24;

/// The line of one call.
pub(super) fn line(session: &Session, (number, call): Numbered<'_>, zone: &Zone) -> Observation {
    let mut text = subject(session, call);
    let pending = call.status == Status::Running;
    if pending {
        if let Some(time) = call.called {
            text += &format!(" ({})", zone.second(time));
        }
    } else {
        text += &ending(session, call);
    }
    Observation { first: number, last: number, text: cut(&text), pending }
}

/// The lines of reads that follow each other: as many as it takes to name every file.
pub(super) fn reads(session: &Session, run: &[Numbered<'_>], lines: &mut Vec<Observation>) {
    let mut rest = run;
    while !rest.is_empty() {
        let mut paths: Vec<String> = Vec::new();
        let mut length = HEAD + "Read 1000 files: ".len();
        let mut taken = 0;
        for (_, call) in rest {
            let path = path(session, call);
            let known = paths.contains(&path);
            let more = if known { 0 } else { path.chars().count() + 2 };
            if taken > 0 && length + more > MAX_LINE {
                break;
            }
            length += more;
            taken += 1;
            if !known {
                paths.push(path);
            }
        }
        let (now, later) = rest.split_at(taken);
        lines.push(read_line(session, now, &paths));
        rest = later;
    }
}

fn read_line(session: &Session, run: &[Numbered<'_>], paths: &[String]) -> Observation {
    let (first, call) = run[0];
    let last = run[run.len() - 1].0;
    let text = match paths {
        _ if run.len() == 1 => subject(session, call),
        [path] => format!("Read {path} ({} times)", run.len()),
        _ => format!("Read {} files: {}", paths.len(), paths.join(", ")),
    };
    Observation { first, last, text: cut(&text), pending: false }
}

/// What a call is about.
fn subject(session: &Session, call: &ToolCall) -> String {
    let name = one_line(session.text(call.name), 60);
    let brief = session.text(call.brief);
    match call.kind {
        ToolKind::Command => format!("{name} `{}`", one_line(brief, COMMAND)),
        ToolKind::Read => format!("{name} {}{}", path(session, call), lines_read(call.range)),
        ToolKind::Edit => {
            let lines = call.lines;
            let change = match call.status {
                Status::Completed => format!(" (+{} −{})", lines.added, lines.removed),
                _ => String::new(),
            };
            format!("{name} {}{change}", path(session, call))
        }
        ToolKind::Write => {
            let lines = call.range.map_or(0, |(lines, _)| lines);
            format!("{name} {} ({})", path(session, call), plural(lines, "line"))
        }
        ToolKind::Search => {
            let place = relative(session.text(call.place), &session.folder);
            let place = if place.is_empty() || place == session.folder {
                String::new()
            } else {
                format!(" in {}", one_line(place, PATH / 2))
            };
            format!("{name} \"{}\"{place}", one_line(brief, 100))
        }
        ToolKind::Agent => format!("{name} \"{}\"", one_line(brief, 100)),
        _ if brief.is_empty() => name,
        _ => format!("{name} {}", one_line(brief, COMMAND)),
    }
}

/// How it ended.
fn ending(session: &Session, call: &ToolCall) -> String {
    let line = one_line(session.text(call.line), MAX_LINE);
    let after = |separator: &str| {
        if line.is_empty() { String::new() } else { format!("{separator}{line}") }
    };
    match (call.status, call.exit) {
        (Status::Running, _) => String::new(),
        (Status::Declined, _) => format!(" → declined{}", after(" ")),
        (Status::Interrupted, _) => " → interrupted".to_owned(),
        (Status::Failed, Some(exit)) => format!(" → exit {exit}{}", after(": ")),
        (Status::Failed, None) => format!(" → failed{}", after(": ")),
        (Status::Completed, Some(exit)) => format!(" → exit {exit}{}", after(" · ")),
        (Status::Completed, None) => match call.found {
            Some((0, _)) => " → nothing".to_owned(),
            Some((number, Counted::Files)) => format!(" → {}", plural(number, "file")),
            Some((number, Counted::Lines)) => format!(" → {}", plural(number, "line")),
            None => after(" → "),
        },
    }
}

fn lines_read(range: Option<(u64, u64)>) -> String {
    match range {
        None => String::new(),
        Some((first, 0)) => format!(" (from line {first})"),
        Some((first, last)) => format!(" (lines {first}-{last})"),
    }
}

pub(super) fn path(session: &Session, call: &ToolCall) -> String {
    one_line(relative(session.text(call.brief), &session.folder), PATH)
}

pub(super) fn plural(number: u64, noun: &str) -> String {
    if number == 1 { format!("1 {noun}") } else { format!("{number} {noun}s") }
}

/// Cut to what fits the line behind bullet and id. The values are escaped already: an escape is
/// not cut in half.
fn cut(text: &str) -> String {
    let most = MAX_LINE - HEAD;
    if text.chars().count() <= most {
        return text.to_owned();
    }
    let mut cut: String = text.chars().take(most - 1).collect();
    if cut.ends_with('\\') {
        cut.pop();
    }
    cut.push('…');
    cut
}
