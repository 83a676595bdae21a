//! What commands share that are about one session.

use std::{ffi::OsStr, path::Path};

use super::{failure::Failure, output};
use crate::{
    config::{Config, Environment},
    sources::{
        load::{LoadError, Loaded, load},
        transcripts::{FindError, Target, find},
    },
    transcript::Host,
};

/// Reads the session that an argument names.
pub(super) fn open(
    argument: &OsStr,
    config: &Config,
    environment: &Environment,
) -> Result<Loaded, Failure> {
    let target = target(argument, config, environment)?;
    let loaded = load(&target, Host::ClaudeCode).map_err(|error| match error {
        LoadError::NoId { .. } => Failure::usage(error),
        LoadError::Read(error) => error.into(),
    })?;
    for error in &loaded.unread {
        output::note(&format!("a part of this session is left out: {error}"));
    }
    Ok(loaded)
}

fn target(argument: &OsStr, config: &Config, environment: &Environment) -> Result<Target, Failure> {
    let path = environment.absolute(Path::new(argument));
    let name = argument.to_string_lossy();
    find(&name, &path, &config.roots, &config.candidates).map_err(|error| match error {
        FindError::Unknown { .. } => unknown(&error, argument, config),
        FindError::Path(_) => Failure::failed(format_args!(
            "{error}; give the path of a transcript, or an id from `endless list`"
        )),
        FindError::NoId(_) | FindError::Ambiguous { .. } => Failure::usage(error),
    })
}

/// Bottles stay when their transcripts go.
fn unknown(error: &FindError, argument: &OsStr, config: &Config) -> Failure {
    let id = argument.to_str().and_then(|name| name.parse().ok());
    match id.map(|id| config.paths.bottle(&id)).filter(|path| path.is_file()) {
        Some(bottle) => Failure::failed(format_args!(
            "the transcript of this session is gone; its bottle is {}",
            bottle.display()
        )),
        None => Failure::failed(error),
    }
}
