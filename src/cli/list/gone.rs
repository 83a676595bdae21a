//! Sessions whose transcripts are gone: those that have a bottle, and those that claude-mem knows.

use std::{
    collections::BTreeSet,
    fs,
    time::{Duration, SystemTime},
};

use super::{Row, WORDS, time};
use crate::{
    bottle::{Item, read_back},
    cli::observed::{bottled, known, source},
    config::Config,
    files::bottles,
    paths::SessionId,
    sources::{claude_mem::Known, transcripts::Scan},
    store::Store,
    text::line::plain_line,
    transcript::Speaker,
};

/// How long a busy database may take.
const PATIENCE: Duration = Duration::from_millis(500);
/// What stands before the project in a bottle's header, and behind it.
const PROJECT: &str = "project: ";
const HOST: &str = " · host: ";

/// The sessions that no transcript is there of.
pub(super) fn rows(config: &Config, scan: &Scan) -> Vec<Row> {
    let store = Store::open_read_only(&config.paths.database, PATIENCE).ok();
    let is_gone = |id: &SessionId| {
        let store = store.as_ref();
        let forgotten = store.is_some_and(|store| store.is_forgotten(id.as_str()).unwrap_or(false));
        !scan.sessions.contains_key(id) && !forgotten
    };
    let with_bottle: BTreeSet<SessionId> = bottled(config).into_iter().filter(is_gone).collect();
    let mut rows: Vec<Row> = with_bottle.iter().filter_map(|id| of_bottle(config, id)).collect();
    let database = source(config).and_then(|source| source.path()).unwrap_or_default();
    for known in known(config) {
        let Ok(id) = known.id.parse::<SessionId>() else { continue };
        if is_gone(&id) && !with_bottle.contains(&id) {
            rows.push(Row { file: database.clone(), ..of_claude_mem(known) });
        }
    }
    for row in &mut rows {
        row.path = row.file.display().to_string();
        row.last_activity = time(row.modified).map(|time| time.to_string());
    }
    rows
}

fn of_bottle(config: &Config, id: &SessionId) -> Option<Row> {
    let file = config.paths.bottle(id);
    let text = bottles::read(&file).ok()??;
    let project = text.lines().nth(1).and_then(|line| line.strip_prefix(PROJECT));
    let (project, _) = project?.split_once(HOST)?;
    let items = read_back(&text)?;
    let words = items.iter().find_map(|item| match item {
        Item::Message { speaker: Speaker::User, text, .. } => Some(plain_line(text, WORDS)),
        Item::Message { .. } | Item::Placeholder(_) => None,
    });
    Some(Row {
        id: id.to_string(),
        project: project.to_owned(),
        first_words: words.unwrap_or_default(),
        modified: fs::metadata(&file).and_then(|data| data.modified()).ok()?,
        file,
        source: Some("bottle"),
        ..Row::default()
    })
}

fn of_claude_mem(known: Known) -> Row {
    let since = known.latest.and_then(|latest| u64::try_from(latest.0).ok());
    let since = Duration::from_millis(since.unwrap_or_default());
    Row {
        id: known.id,
        project: known.project,
        first_words: known.words,
        modified: SystemTime::UNIX_EPOCH.checked_add(since).unwrap_or(SystemTime::UNIX_EPOCH),
        source: Some("claude-mem"),
        ..Row::default()
    }
}
