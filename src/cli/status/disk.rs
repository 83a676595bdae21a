//! What the disk tells where no service does: transcripts, bottles, and their times.

use std::{
    fs,
    path::PathBuf,
    time::{SystemTime, UNIX_EPOCH},
};

use serde::Serialize;

use crate::{
    cli::observed::served,
    config::Config,
    engine::request::{BottleStatus, Facts, SessionStatus, Status, Totals},
    paths::{Paths, SessionId},
    sources::{heads::read_head, transcripts::scan},
    text::time::Moment,
    transcript::Host,
};

/// A transcript is live for this long after a change, in milliseconds.
const LIVE: i64 = 10 * 60 * 1_000;
/// Sessions that are shown.
const LISTED: usize = 20;

/// The bottles of the state folder.
#[derive(Debug, Default, PartialEq, Eq, Serialize)]
pub(super) struct Bottles {
    /// How many there are.
    pub(super) count: u64,
    /// When the newest was written, in milliseconds since the epoch; 0 where there is none.
    pub(super) newest: i64,
    /// Of them, those whose transcript has changed since.
    pub(super) outdated: u64,
}

/// Looks at the disk: at the sessions that are live, or at those whose id begins so.
pub(super) fn look(config: &Config, asked: Option<&str>, now: Moment) -> (Status, Bottles) {
    let scan = scan(&config.roots);
    let all = scan.sessions.into_iter();
    let mut all: Vec<_> = all.map(|(id, files)| session(&config.paths, &id, &files, now)).collect();
    let (totals, bottles) = (totals(&all), bottles(&config.paths, &all));
    all.retain(|session| asked.map_or(session.hot, |prefix| session.id.starts_with(prefix)));
    all.sort_by(|a, b| b.changed.cmp(&a.changed).then_with(|| a.id.cmp(&b.id)));
    all.truncate(LISTED);
    for session in &mut all {
        session.facts = Some(Facts { project: project(&session.files), ..Facts::default() });
    }
    let roots = config.candidates.iter().map(|root| root.display().to_string()).collect();
    let observations = served(config);
    (Status { roots, observations, totals, sessions: all, ..Status::default() }, bottles)
}

fn session(paths: &Paths, id: &SessionId, files: &[PathBuf], now: Moment) -> SessionStatus {
    let looked: Vec<_> = files.iter().filter_map(|file| fs::symlink_metadata(file).ok()).collect();
    let changed =
        looked.iter().filter_map(|data| data.modified().ok()).max().map_or(0, milliseconds);
    SessionStatus {
        id: id.to_string(),
        files: files.iter().map(|file| file.display().to_string()).collect(),
        disk: looked.iter().map(fs::Metadata::len).sum(),
        changed,
        hot: now.0.saturating_sub(changed) < LIVE,
        bottle: bottle(paths, id),
        ..SessionStatus::default()
    }
}

fn bottle(paths: &Paths, id: &SessionId) -> Option<BottleStatus> {
    let path = paths.bottle(id);
    let data = fs::symlink_metadata(&path).ok()?;
    Some(BottleStatus {
        path: path.display().to_string(),
        checked: milliseconds(data.modified().ok()?),
        bytes: data.len(),
        ..BottleStatus::default()
    })
}

fn totals(sessions: &[SessionStatus]) -> Totals {
    Totals {
        sessions: sessions.len() as u64,
        hot: sessions.iter().filter(|session| session.hot).count() as u64,
        bytes: sessions.iter().map(|session| session.disk).sum(),
        newest_on_disk: sessions.iter().map(|session| session.changed).max().unwrap_or_default(),
        ..Totals::default()
    }
}

fn bottles(paths: &Paths, sessions: &[SessionStatus]) -> Bottles {
    let outdated = sessions.iter().filter(|session| {
        session.bottle.as_ref().is_some_and(|bottle| bottle.checked < session.changed)
    });
    let mut bottles = Bottles { outdated: outdated.count() as u64, ..Bottles::default() };
    for entry in fs::read_dir(&paths.bottles).into_iter().flatten().flatten() {
        // The copies that pointers name have no id for a name.
        let path = entry.path();
        let is_bottle = path.extension().is_some_and(|extension| extension == "md")
            && SessionId::of_file(&path).is_some();
        let Ok(data) = entry.metadata() else { continue };
        if is_bottle && data.is_file() {
            bottles.count += 1;
            bottles.newest = bottles.newest.max(data.modified().map_or(0, milliseconds));
        }
    }
    bottles
}

/// The folder that the session began in, where its transcript says so.
fn project(files: &[String]) -> String {
    let first = files.first().map(PathBuf::from);
    let head = first.and_then(|file| read_head(&file, Host::ClaudeCode).ok());
    head.unwrap_or_default().folder
}

fn milliseconds(time: SystemTime) -> i64 {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}
