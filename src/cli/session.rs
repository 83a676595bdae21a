//! What commands share that are about one session.

use std::{
    collections::BTreeSet,
    ffi::OsStr,
    path::Path,
    time::{Duration, SystemTime},
};

use super::{failure::Failure, observed::beginning, output};
use crate::{
    bottle::{Bottle, Options},
    config::{Config, Environment},
    files::{
        self,
        bottles::{self, Kept},
        forget::kept,
    },
    paths::SessionId,
    session::Session,
    sources::{
        load::{LoadError, Loaded, load},
        transcripts::{FindError, Target, find},
    },
    store::Store,
    transcript::Host,
};

/// How long a busy database may take.
const PATIENCE: Duration = Duration::from_millis(500);

/// What there is of a session that an argument names.
pub(super) enum Source {
    /// Its transcripts.
    Transcripts(Target),
    /// Only its bottle: bottles stay when their transcripts go.
    Bottle(SessionId),
    /// Only what claude-mem keeps of it.
    ClaudeMem(SessionId),
}

/// Finds the session that an argument names.
pub(super) fn source(
    argument: &OsStr,
    config: &Config,
    environment: &Environment,
) -> Result<Source, Failure> {
    let path = environment.absolute(Path::new(argument));
    let name = argument.to_string_lossy();
    match find(&name, &path, &config.roots, &config.candidates) {
        Ok(target) => Ok(Source::Transcripts(target)),
        Err(error @ FindError::Unknown { .. }) => left(&name, config, &error),
        Err(error @ FindError::Path(_)) => Err(Failure::failed(format_args!(
            "{error}; give the path of a transcript, or an id from `endless list`"
        ))),
        Err(error @ (FindError::NoId(_) | FindError::Ambiguous { .. })) => {
            Err(Failure::usage(error))
        }
    }
}

/// What is left of the session that has this id, or of the only one whose id begins so; `why` says
/// that there is no transcript.
fn left(name: &str, config: &Config, why: &FindError) -> Result<Source, Failure> {
    let kept = kept(&config.paths).unwrap_or_default().into_iter();
    let kept = kept.filter(|(id, path)| *path == config.paths.bottle(id));
    let bottles: BTreeSet<SessionId> =
        kept.map(|(id, _)| id).filter(|id| id.as_str().starts_with(name)).collect();
    let (known, trouble) = beginning(config, name);
    let fitting: BTreeSet<&SessionId> = bottles.iter().chain(&known).collect();
    let exact = fitting.iter().find(|id| id.as_str() == name).copied();
    let mut first = fitting.iter().copied();
    let id = match (exact, first.next(), first.next()) {
        (Some(id), ..) | (None, Some(id), None) => id.clone(),
        (None, None, _) => {
            let trouble = trouble.map(|trouble| format!("; {trouble}")).unwrap_or_default();
            return Err(Failure::failed(format_args!("{why}{trouble}")));
        }
        (None, Some(one), Some(two)) => {
            return Err(Failure::usage(format_args!(
                "`{name}` fits {} sessions without a transcript, give more of the id: {one}, {two}{}",
                fitting.len(),
                if fitting.len() > 2 { ", …" } else { "" }
            )));
        }
    };
    Ok(if bottles.contains(&id) { Source::Bottle(id) } else { Source::ClaudeMem(id) })
}

/// Reads the session that an argument names, which must have a transcript.
pub(super) fn open(
    argument: &OsStr,
    config: &Config,
    environment: &Environment,
) -> Result<Loaded, Failure> {
    match source(argument, config, environment)? {
        Source::Transcripts(target) => read(&target),
        Source::Bottle(id) | Source::ClaudeMem(id) => Err(gone(&id, config)),
    }
}

/// What is asked for is in the transcript alone.
pub(super) fn gone(id: &SessionId, config: &Config) -> Failure {
    let bottle = config.paths.bottle(id);
    if bottle.is_file() {
        return Failure::failed(format_args!(
            "the transcript of this session is gone; its bottle is {} (`endless pointer {id}` \
             hands it to an agent)",
            bottle.display()
        ));
    }
    Failure::failed(format_args!(
        "the transcript of this session is gone; `endless render {id}` makes a bottle of what \
         claude-mem keeps of it"
    ))
}

/// Renders what claude-mem keeps of a session without a transcript, and keeps the bottle. None where
/// it keeps nothing, or where a bottle is there that was made from the transcript.
pub(super) fn keep_reconstructed(
    config: &Config,
    id: &SessionId,
    options: Options,
) -> Result<Option<Kept>, Failure> {
    files::sweep(&config.paths, SystemTime::now());
    Ok(bottles::keep_reconstructed(&config.paths, id, Host::ClaudeCode, options)?)
}

/// Neither transcript nor anything else is there that a bottle could be made of.
pub(super) fn nothing_kept(id: &SessionId, config: &Config) -> Failure {
    if config.paths.bottle(id).is_file() {
        return gone(id, config);
    }
    Failure::failed(format_args!(
        "the transcript of the session {id} is gone, and claude-mem keeps neither prompts nor \
         observations of it: there is nothing to make a bottle of"
    ))
}

/// Reads a session.
pub(super) fn read(target: &Target) -> Result<Loaded, Failure> {
    let loaded = load(target, Host::ClaudeCode).map_err(|error| match error {
        LoadError::NoId { .. } => Failure::usage(error),
        LoadError::Read(error) => error.into(),
    })?;
    for error in &loaded.unread {
        output::note(&format!("a part of this session is left out: {error}"));
    }
    Ok(loaded)
}

/// What was forgotten stays so: a tombstone is there to be heeded.
pub(super) fn refuse_forgotten(
    config: &Config,
    id: &SessionId,
    instead: &str,
) -> Result<(), Failure> {
    let store = Store::open_read_only(&config.paths.database, PATIENCE);
    let forgotten = store.is_ok_and(|store| store.is_forgotten(id.as_str()).unwrap_or(false));
    if forgotten {
        return Err(Failure::failed(format_args!(
            "the session {id} was forgotten (`endless forget`): no bottle of it is kept; {instead}"
        )));
    }
    Ok(())
}

/// Renders a session and keeps its bottle.
pub(super) fn keep(config: &Config, loaded: &Loaded, options: Options) -> Result<Kept, Failure> {
    files::sweep(&config.paths, SystemTime::now());
    Ok(bottles::keep(&config.paths, &loaded.id, &loaded.session, options)?)
}

/// Says what a person should know of a rendering.
pub(super) fn warn(loaded: &Loaded, bottle: &Bottle, archived: Option<&Path>) {
    if bottle.user + bottle.assistant == 0 {
        output::note(if is_subagent(&loaded.session) {
            "every row of this transcript is a subagent's (a sidechain): it has no messages of its \
             own; render the session that called it"
        } else {
            "there is no message of a person or an agent in this transcript"
        });
    }
    if let Some(archived) = archived {
        output::note(&format!(
            "the old bottle had messages that the transcript has lost; it is now {}",
            archived.display()
        ));
    }
}

fn is_subagent(session: &Session) -> bool {
    session.items().is_empty() && session.counts.skipped.contains_key("sidechain")
}
