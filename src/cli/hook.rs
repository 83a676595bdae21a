//! `endless hook`: what the host calls.

use std::{panic, process};

use super::{failure::Failure, output};
use crate::{
    client::hook::{self, log, payload, stdin},
    config::{Config, Environment},
    paths::Paths,
};

/// Answer an event of the host; its hooks call this.
///
/// Reads the event as JSON from stdin, and prints nothing or one JSON object. It always ends with
/// status 0, whatever happens: what went wrong stands in logs/hooks.log of the state folder, and
/// `endless status` tells of it. `endless install hooks` sets the hooks up.
#[derive(Debug, clap::Args)]
pub(super) struct Hook {
    /// The host.
    #[arg(value_parser = ["claude-code"])]
    host: String,
}

impl Hook {
    #[expect(clippy::unnecessary_wraps, reason = "every command gives a result")]
    pub(super) fn run(self, environment: &Environment) -> Result<(), Failure> {
        run(environment);
        Ok(())
    }
}

/// Answers an event. Never fails.
pub(super) fn run(environment: &Environment) {
    panic::set_hook(Box::new(|_| process::exit(0)));
    let loaded = Config::load(environment);
    // A spoilt file is no reason to lose a conversation.
    let (config, trouble) = match loaded {
        Ok(config) => (config, None),
        Err(error) => match Config::without_file(environment) {
            Ok(config) => (config, Some(error.to_string())),
            Err(_) => return,
        },
    };
    if !config.enabled {
        return;
    }
    log_faults(config.paths.clone());
    if let Some(trouble) = trouble {
        log::write(&config.paths, "configuration", &trouble);
    }
    let read = stdin::read(std::io::stdin(), stdin::PATIENCE);
    let payload = read.map_err(|error| error.to_string());
    match payload.and_then(|bytes| payload::read(&bytes).map_err(|error| error.to_string())) {
        Ok(payload) => answer(&config, &payload),
        Err(why) => log::write(&config.paths, "payload", &why),
    }
}

fn answer(config: &Config, payload: &payload::Payload) {
    let hooked = hook::run(config, payload);
    if let Some(text) = hooked.output {
        // A host that has gone needs no answer.
        output::print(&(text + "\n")).ok();
    }
    for trouble in hooked.troubles {
        log::write(&config.paths, payload.name, &trouble);
    }
}

/// A fault of ours ends the hook without a word to the host. Only its place is noted: what it says
/// may quote the text that it failed at, private parts and all.
fn log_faults(paths: Paths) {
    panic::set_hook(Box::new(move |fault| {
        let place = fault.location().map(ToString::to_string);
        log::write(&paths, "fault", &place.unwrap_or_default());
        process::exit(0);
    }));
}
