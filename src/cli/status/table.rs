//! The sessions, one aligned line each.

use super::{
    super::{
        list::{last_part, size},
        output::Page,
    },
    words::{ago, thousands},
};
use crate::{
    engine::request::{SessionStatus, Source},
    text::line::plain_line,
};

/// Characters of an id that mostly suffice.
const SHORT: usize = 8;
/// What is not known.
const UNKNOWN: &str = "-";

const COLUMNS: [(&str, Align); 10] = [
    ("project", Align::Left),
    ("session", Align::Left),
    ("legs", Align::Right),
    ("context", Align::Left),
    ("read", Align::Left),
    ("pending", Align::Right),
    ("unreadable", Align::Right),
    ("bottle", Align::Left),
    ("lines", Align::Left),
    ("source", Align::Left),
];

#[derive(Clone, Copy)]
enum Align {
    Left,
    Right,
}

/// Adds the sessions to a page. `is_read` tells whether somebody knows what of them is read.
pub(super) fn table(page: &mut Page, sessions: &[SessionStatus], now: i64, is_read: bool) {
    let length = id_length(sessions);
    let rows: Vec<_> =
        sessions.iter().map(|session| cells(session, length, now, is_read)).collect();
    let width = |column: usize| {
        let cells = rows.iter().map(|row| row[column].chars().count());
        cells.chain([COLUMNS[column].0.len()]).max().unwrap_or_default()
    };
    let widths: [usize; COLUMNS.len()] = std::array::from_fn(width);
    page.faint(&line(&COLUMNS.map(|(name, _)| name.to_owned()), &widths));
    page.plain("\n");
    for row in &rows {
        page.plain(&line(row, &widths));
        page.plain("\n");
    }
}

fn line(cells: &[String; COLUMNS.len()], widths: &[usize; COLUMNS.len()]) -> String {
    let mut line = String::new();
    for ((cell, (_, align)), width) in cells.iter().zip(COLUMNS).zip(widths) {
        line.push_str(&match align {
            Align::Left => format!("{cell:width$}  "),
            Align::Right => format!("{cell:>width$}  "),
        });
    }
    line.trim_end().to_owned()
}

/// As much of the ids as tells them apart.
fn id_length(sessions: &[SessionStatus]) -> usize {
    let longest = sessions.iter().map(|session| session.id.len()).max().unwrap_or_default();
    let tells_apart = |length: &usize| {
        let mut ids: Vec<_> = sessions.iter().map(|session| short(&session.id, *length)).collect();
        ids.sort_unstable();
        ids.windows(2).all(|pair| pair[0] != pair[1])
    };
    (SHORT..longest).find(tells_apart).unwrap_or(longest)
}

fn short(id: &str, length: usize) -> &str {
    id.get(..length).unwrap_or(id)
}

fn cells(
    session: &SessionStatus,
    length: usize,
    now: i64,
    is_read: bool,
) -> [String; COLUMNS.len()] {
    let facts = session.facts.as_ref();
    let project = facts.map(|facts| plain_line(&facts.project, usize::MAX)).unwrap_or_default();
    // There is always a leg: a session without one is not read.
    let facts = facts.filter(|facts| facts.legs > 0);
    let number =
        |number: Option<u64>| number.map_or(UNKNOWN.to_owned(), |number| number.to_string());
    [
        if project.is_empty() { UNKNOWN.to_owned() } else { last_part(&project) },
        short(&session.id, length).to_owned(),
        number(facts.map(|facts| facts.legs.into())),
        context(session),
        read(session, is_read),
        number(facts.map(|facts| facts.pending)),
        number(facts.map(|facts| facts.unreadable)),
        bottle(session, now),
        lines(session),
        source(session.source).to_owned(),
    ]
}

/// `141k claude-opus-4-5`
fn context(session: &SessionStatus) -> String {
    let facts = session.facts.as_ref();
    let tokens = facts.and_then(|facts| facts.context).map(thousands);
    let model = facts.map(|facts| plain_line(&facts.model, 40)).filter(|model| !model.is_empty());
    let words: Vec<_> = tokens.into_iter().chain(model).collect();
    if words.is_empty() { UNKNOWN.to_owned() } else { words.join(" ") }
}

/// `12 MB`, or `11 MB of 12 MB`.
fn read(session: &SessionStatus, is_read: bool) -> String {
    if !is_read {
        return format!("? of {}", size(session.disk));
    }
    if session.read >= session.disk {
        return size(session.disk);
    }
    let (read, disk) = (size(session.read), size(session.disk));
    if read == disk {
        return format!("{disk} but {}", size(session.disk - session.read));
    }
    format!("{read} of {disk}")
}

fn bottle(session: &SessionStatus, now: i64) -> String {
    match &session.bottle {
        Some(bottle) => format!("{}, {}", size(bottle.bytes), ago(bottle.checked, now)),
        None => "none".to_owned(),
    }
}

/// What the bottle's lines of tool traffic come from.
fn lines(session: &SessionStatus) -> String {
    let source = session.bottle.as_ref().map(|bottle| bottle.observations.source.as_str());
    source.filter(|source| !source.is_empty()).unwrap_or(UNKNOWN).to_owned()
}

fn source(source: Source) -> &'static str {
    match source {
        Source::Present => "present",
        Source::Gone => "gone",
        Source::NeverWritten => "never written",
    }
}
