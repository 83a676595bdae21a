//! Every fixture: a transcript, and the bottle that it must give, byte for byte.
//!
//! A fixture is a folder with an `input.jsonl` and an `expected.md`; the folder's name is the
//! session's id. `ENDLESS_BLESS=1` writes the bottles anew; read them before they are committed.
//! A fixture beside a `claude-mem.db` is rendered with what that database knows of the session.
//! Beside the comparison each fixture holds what no bottle may break: it reads back, any portions
//! of the file give the same bottle, its pages fit, and nothing private is in it.
use std::{
    fmt::{self, Write as _},
    path::Path,
    sync::Arc,
};

use endless::{
    bottle::{self, Bottle, Item, MAX_PAGE_BYTES, MAX_PAGE_LINES, MAX_PAGE_TOKENS, read_back},
    observation::rows::Observed,
    session::Session,
    sources::claude_mem::{BUSY, ClaudeMem, Place},
    text::{
        measure::tokens,
        time::{Moment, Zone, parse},
    },
    transcript::{Host, Line, parse_line},
};

/// Every private part of a fixture holds this word, and nothing else does.
const SECRET: &str = "SECRET-";

datatest_stable::harness! {
    { test = check, root = "fixtures", pattern = r"input\.jsonl$" },
}

fn check(path: &Path) -> datatest_stable::Result<()> {
    hold(path).map_err(|failure| Box::new(Failure(failure)).into())
}

/// Why a fixture fails, in lines; the harness prints failures for machines.
struct Failure(String);

impl fmt::Debug for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Failure {}

fn hold(path: &Path) -> Result<(), String> {
    let input = std::fs::read(path).map_err(|error| format!("{}: {error}", path.display()))?;
    let folder = path.parent().ok_or("a fixture is a folder")?;
    let id = folder.file_name().ok_or("a fixture has a name")?.to_string_lossy();
    let (lines, torn) = lines(&input);
    let session = fold(&id, &lines, torn);
    let observed = observed(folder, &id)?;
    let bottle = render(&session, observed.as_ref());
    reads_back(&session, &bottle)?;
    portions_agree(&id, &input, &bottle, observed.as_ref())?;
    rows_stand_once(&bottle, observed.as_deref())?;
    pages_fit(&bottle)?;
    observations_fit(&bottle)?;
    keeps_secrets(&bottle)?;
    compare(&folder.join("expected.md"), &bottle.text)
}

/// The whole lines, each with its place in the file, and what stands behind the last newline.
fn lines(bytes: &[u8]) -> (Vec<(u64, &[u8])>, &[u8]) {
    let mut lines = Vec::new();
    let mut offset = 0;
    for line in bytes.split_inclusive(|byte| *byte == b'\n') {
        let Some(whole) = line.strip_suffix(b"\n") else { return (lines, line) };
        lines.push((offset, whole));
        offset += line.len() as u64;
    }
    (lines, &[])
}

fn fold(id: &str, lines: &[(u64, &[u8])], torn: &[u8]) -> Session {
    let mut session = Session::new(id, Host::ClaudeCode);
    for (offset, line) in lines {
        fold_line(&mut session, *offset, line);
    }
    if is_whole(torn) {
        let offset = lines.last().map_or(0, |(offset, line)| offset + line.len() as u64 + 1);
        fold_line(&mut session, offset, torn);
    }
    session
}

fn fold_line(session: &mut Session, offset: u64, line: &[u8]) {
    parse_line(Host::ClaudeCode, line, offset, &mut |line| session.fold_line(line));
}

/// A last line without its newline counts once it is a record; until then it waits.
fn is_whole(line: &[u8]) -> bool {
    let (mut records, mut rubbish) = (0, 0);
    parse_line(Host::ClaudeCode, line, 0, &mut |line| match line {
        Line::Entry(_) => records += 1,
        Line::Unreadable(_) => rubbish += 1,
    });
    records > 0 && rubbish == 0
}

/// What the database beside the fixture knows of a session, read from a copy: SQLite makes files of
/// its own beside what it reads.
fn observed(fixture: &Path, id: &str) -> Result<Option<Arc<Observed>>, String> {
    let database = fixture.with_file_name("claude-mem.db");
    if !database.exists() {
        return Ok(None);
    }
    let copy = tempfile::tempdir().map_err(|error| error.to_string())?;
    std::fs::copy(&database, copy.path().join("claude-mem.db"))
        .map_err(|error| format!("{}: {error}", database.display()))?;
    let place = Place { home: None, variable: Some(copy.path().to_owned()) };
    let observed = ClaudeMem::new(place, BUSY).observed(id).map_err(|error| error.to_string())?;
    Ok(Some(Arc::new(observed.ok_or("the database does not know the session")?)))
}

/// Rendered at one moment, always: nothing but the line that tells it depends on it.
fn render(session: &Session, observed: Option<&Arc<Observed>>) -> Bottle {
    let rendered = parse("2026-12-01T12:00:00Z").unwrap_or(Moment(0));
    let observed = observed.cloned();
    let options = bottle::Options { zone: Zone::utc(), rendered, earlier: None, observed };
    bottle::render(session, &options)
}

/// Every observation stands in the bottle exactly once.
fn rows_stand_once(bottle: &Bottle, observed: Option<&Observed>) -> Result<(), String> {
    for row in observed.into_iter().flat_map(|observed| &observed.observations) {
        let line = format!("- [#{}] {}", row.id, row.text);
        let found = bottle.text.lines().filter(|shown| *shown == line).count();
        equal(&format!("lines `{line}`"), found, 1)?;
    }
    Ok(())
}

/// The bottle gives back every message of the session, exact and in order.
fn reads_back(session: &Session, bottle: &Bottle) -> Result<(), String> {
    let items = read_back(&bottle.text).ok_or("the bottle does not read back")?;
    let messages: Vec<_> = items
        .into_iter()
        .filter_map(|item| match item {
            Item::Message { speaker, label, text } => Some((speaker, label, text)),
            Item::Placeholder(_) => None,
        })
        .collect();
    let layout = session.layout();
    let expected: Vec<_> = layout
        .messages()
        .map(|message| (message.speaker, message.label.clone(), message.text.to_string()))
        .collect();
    for (index, (expected, got)) in expected.iter().zip(&messages).enumerate() {
        if expected != got {
            return Err(format!("message {index} reads back as {got:?}, not as {expected:?}"));
        }
    }
    equal("messages that read back", messages.len(), expected.len())?;
    equal("messages in the header", bottle.user + bottle.assistant, expected.len())
}

/// A session that is looked at after every line, or cut anywhere, is the same session.
fn portions_agree(
    id: &str,
    input: &[u8],
    bottle: &Bottle,
    observed: Option<&Arc<Observed>>,
) -> Result<(), String> {
    let (lines, torn) = lines(input);
    let mut session = Session::new(id, Host::ClaudeCode);
    for (offset, line) in &lines {
        fold_line(&mut session, *offset, line);
        reads_back(&session, &render(&session, observed))?;
    }
    let middle = input.len() / 2;
    let mut half = Session::new(id, Host::ClaudeCode);
    let head = lines.iter().take_while(|(offset, line)| *offset as usize + line.len() < middle);
    let split = head.count();
    for (offset, line) in &lines[..split] {
        fold_line(&mut half, *offset, line);
    }
    drop(render(&half, observed));
    for (offset, line) in &lines[split..] {
        fold_line(&mut half, *offset, line);
    }
    if is_whole(torn) {
        let offset = (input.len() - torn.len()) as u64;
        fold_line(&mut session, offset, torn);
        fold_line(&mut half, offset, torn);
    }
    for (how, session) in [("line by line", session), ("in two halves", half)] {
        if render(&session, observed).text != bottle.text {
            return Err(format!("folded {how}, the session gives another bottle"));
        }
    }
    Ok(())
}

/// Each page fits one Read call, as that call numbers its lines; together they are the bottle.
fn pages_fit(bottle: &Bottle) -> Result<(), String> {
    let lines: Vec<&str> = bottle.text.lines().collect();
    let mut next = 1;
    for (first, last) in &bottle.pages {
        equal("first line of a page", *first, next)?;
        let page = &lines[first - 1..*last];
        let numbered = (*first..).zip(page).fold(String::new(), |mut page, (number, line)| {
            let _ = writeln!(page, "{number:>7}\t{line}");
            page
        });
        let size = (page.len(), tokens(&numbered), numbered.len());
        if size.0 > MAX_PAGE_LINES || size.1 > MAX_PAGE_TOKENS || size.2 > MAX_PAGE_BYTES {
            return Err(format!("lines {first}-{last}: (lines, tokens, bytes) are {size:?}"));
        }
        next = last + 1;
    }
    equal("lines on pages", next - 1, lines.len())?;
    equal("lines", bottle.lines, lines.len())
}

/// An observation is one line of at most 240 characters; words that look like one are escaped.
fn observations_fit(bottle: &Bottle) -> Result<(), String> {
    let body = bottle.text.split_once("\n---\n").map_or("", |(_, body)| body);
    let is_observation = |line: &&str| line.starts_with("- [") || line.starts_with("- ⏳ [");
    let too_long = body.lines().filter(is_observation).find(|line| line.chars().count() > 240);
    match too_long {
        Some(line) => Err(format!("longer than an observation may be: {line}")),
        None => Ok(()),
    }
}

fn keeps_secrets(bottle: &Bottle) -> Result<(), String> {
    match bottle.text.lines().find(|line| line.contains(SECRET)) {
        Some(line) => Err(format!("something private is in the bottle: {line}")),
        None => Ok(()),
    }
}

fn equal(what: &str, got: usize, expected: usize) -> Result<(), String> {
    if got == expected { Ok(()) } else { Err(format!("{what}: {got}, not {expected}")) }
}

fn compare(path: &Path, bottle: &str) -> Result<(), String> {
    if std::env::var_os("ENDLESS_BLESS").is_some() {
        return std::fs::write(path, bottle)
            .map_err(|error| format!("{}: {error}", path.display()));
    }
    let expected = std::fs::read_to_string(path)
        .map_err(|error| format!("{}: {error} (ENDLESS_BLESS=1 writes it)", path.display()))?;
    if expected == bottle {
        return Ok(());
    }
    Err(format!(
        "{} differs (- expected, + rendered):\n{}",
        path.display(),
        diff(&expected, bottle)
    ))
}

/// The lines that differ, each stretch with two lines before and after it.
fn diff(old: &str, new: &str) -> String {
    let (old, new): (Vec<&str>, Vec<&str>) = (old.split('\n').collect(), new.split('\n').collect());
    let common = common_lengths(&old, &new);
    let (mut i, mut j) = (0, 0);
    let mut lines = Vec::new();
    while i < old.len() || j < new.len() {
        if i < old.len() && j < new.len() && old[i] == new[j] {
            lines.push((' ', old[i]));
            (i, j) = (i + 1, j + 1);
        } else if j == new.len() || (i < old.len() && common[i + 1][j] >= common[i][j + 1]) {
            lines.push(('-', old[i]));
            i += 1;
        } else {
            lines.push(('+', new[j]));
            j += 1;
        }
    }
    let near = |at: usize| {
        let around = at.saturating_sub(2)..(at + 3).min(lines.len());
        lines[around].iter().any(|(mark, _)| *mark != ' ')
    };
    let mut out = String::new();
    let mut skipping = false;
    for (at, (mark, line)) in lines.iter().enumerate() {
        if near(at) {
            let _ = writeln!(out, "{mark} {line}");
        } else if !skipping {
            out.push_str("  …\n");
        }
        skipping = !near(at);
    }
    out
}

/// `lengths[i][j]`: how many lines `old[i..]` and `new[j..]` have in common, in order.
fn common_lengths(old: &[&str], new: &[&str]) -> Vec<Vec<usize>> {
    let mut lengths = vec![vec![0; new.len() + 1]; old.len() + 1];
    for i in (0..old.len()).rev() {
        for j in (0..new.len()).rev() {
            lengths[i][j] = if old[i] == new[j] {
                lengths[i + 1][j + 1] + 1
            } else {
                lengths[i + 1][j].max(lengths[i][j + 1])
            };
        }
    }
    lengths
}
