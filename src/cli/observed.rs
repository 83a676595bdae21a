//! What commands ask of claude-mem: the rows of a session, and sessions that have no transcript.

use std::{path::PathBuf, sync::Arc};

use super::output;
use crate::{
    config::{Config, Observations},
    engine::request::Served,
    observation::rows::Observed,
    paths::SessionId,
    sources::claude_mem::{BUSY, ClaudeMem, Known, Unavailable},
};

/// claude-mem's database, unless the configuration wants derived lines only.
pub(super) fn source(config: &Config) -> Option<ClaudeMem> {
    let wanted = config.observations != Observations::Derived;
    wanted.then(|| ClaudeMem::new(config.claude_mem.clone(), BUSY))
}

/// What is known of a session. Where it can't be read, and that is not as it should be, a note says
/// so, and the lines are derived.
pub(super) fn observed(config: &Config, id: &SessionId) -> Option<Arc<Observed>> {
    let forced = config.observations == Observations::ClaudeMem;
    match source(config)?.observed(id.as_str()) {
        Ok(Some(observed)) => return Some(Arc::new(observed)),
        Ok(None) if forced => output::note(&format!(
            "claude-mem knows no session {id}: its lines are derived from the transcript"
        )),
        Ok(None) => {}
        Err(error) if is_usual(&error) && !forced => {}
        Err(error) => output::note(&format!("{error}; lines are derived from the transcript")),
    }
    None
}

/// Whether its database can be read now, and why not.
pub(super) fn served(config: &Config) -> Served {
    match source(config).map(|mut source| source.version()) {
        None => Served::derived("`observations` is `derived` in config.toml".to_owned()),
        Some(Ok(_)) => Served::claude_mem(),
        Some(Err(error)) => Served::derived(error.to_string()),
    }
}

/// Most people have no claude-mem.
fn is_usual(error: &Unavailable) -> bool {
    matches!(error, Unavailable::Absent { .. } | Unavailable::NoHome)
}

/// Sessions that claude-mem knows and whose ids begin so; beside them what should be known where
/// that can't be told.
pub(super) fn beginning(config: &Config, prefix: &str) -> (Vec<SessionId>, Option<String>) {
    let Some(mut source) = source(config) else { return (Vec::new(), None) };
    match source.sessions(prefix) {
        Ok(known) => {
            let ids: Vec<_> = known.iter().filter_map(|known| known.id.parse().ok()).collect();
            let none = ids.is_empty().then(|| "claude-mem knows none either".to_owned());
            (ids, none)
        }
        Err(error) if is_usual(&error) => (Vec::new(), None),
        Err(error) => (Vec::new(), Some(error.to_string())),
    }
}

/// The sessions that have a bottle.
pub(super) fn bottled(config: &Config) -> Vec<SessionId> {
    let entries = std::fs::read_dir(&config.paths.bottles).into_iter().flatten().flatten();
    let bottle = |path: PathBuf| {
        let is_bottle = path.extension().is_some_and(|extension| extension == "md");
        SessionId::of_file(&path).filter(|_| is_bottle && path.is_file())
    };
    entries.filter_map(|entry| bottle(entry.path())).collect()
}

/// The sessions that claude-mem knows; a note where that can't be told.
pub(super) fn known(config: &Config) -> Vec<Known> {
    let Some(mut source) = source(config) else { return Vec::new() };
    source.sessions("").unwrap_or_else(|error| {
        if !is_usual(&error) {
            output::note(&error.to_string());
        }
        Vec::new()
    })
}
