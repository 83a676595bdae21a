//! `endless stop`: ends the service.

use std::{
    thread,
    time::{Duration, Instant},
};

use super::{failure::Failure, output};
use crate::{
    client::{Client, ClientError},
    config::{Config, Environment},
    engine::request::{Reply, Request},
};

/// How long the service may take to let us in and to answer.
const PATIENCE: Duration = Duration::from_secs(5);
/// How long it may take to finish what it is doing.
const ENDING: Duration = Duration::from_secs(10);
const PAUSE: Duration = Duration::from_millis(20);

/// End the service, after it has finished what it is doing.
///
/// Bottles stay as they are. Where no service runs nothing is done, and that is no failure.
#[derive(Debug, clap::Args)]
pub(super) struct Stop {}

impl Stop {
    pub(super) fn run(self, environment: &Environment) -> Result<(), Failure> {
        // A running service is asked also where config.toml was spoilt meanwhile.
        let config = Config::load(environment).or_else(|error| {
            output::note(&error.to_string());
            Config::without_file(environment)
        })?;
        match shut_down(&config) {
            Err(ClientError::Down) => {
                output::note("the service is not running");
                return Ok(());
            }
            Ok(Reply::Error(why)) => return Err(Failure::failed(why)),
            answer => drop(answer?),
        }
        let until = Instant::now() + ENDING;
        while !is_gone(&config) {
            if Instant::now() > until {
                return Err(Failure::failed(format_args!(
                    "the service has not ended within {ENDING:?}; it may be busy: `endless status` \
                     tells"
                )));
            }
            thread::sleep(PAUSE);
        }
        output::print("the service has ended\n")
    }
}

fn shut_down(config: &Config) -> Result<Reply, ClientError> {
    Client::connect(&config.paths, PATIENCE)?.ask(&Request::Shutdown {}, PATIENCE)
}

fn is_gone(config: &Config) -> bool {
    matches!(Client::connect(&config.paths, PATIENCE), Err(ClientError::Down))
}
