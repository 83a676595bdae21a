//! `endless seal`: the bottle made complete, now.

use std::{
    ffi::OsString,
    time::{Duration, Instant},
};

use super::{failure::Failure, list::since, observed::observed, output, session};
use crate::{
    bottle::Options,
    client::{Client, ClientError},
    clock::now,
    config::{Config, Environment},
    deliver::cleared_at,
    engine::{
        hook::SealReply,
        request::{Reply, Request},
    },
    store::{Seal as Record, Store},
    text::time::Moment,
};

/// How long the service may take to let us in.
const CONNECT: Duration = Duration::from_millis(500);
/// How long it may take beside what it is asked to wait.
const PATIENCE: Duration = Duration::from_secs(10);
/// How long a busy database may take.
const BUSY: Duration = Duration::from_millis(250);
/// The longest wait.
const LONGEST: Duration = Duration::from_secs(60);

/// Make a session's bottle complete: read all that the host has written, render, and record it.
///
/// The host writes its transcript a moment after things happen. A seal waits for what it announced,
/// and for the results of running tool calls, for as long as something comes. It prints the path of
/// the bottle. Where not all came, the bottle is made from what is there, and that is said.
#[derive(Debug, clap::Args)]
#[command(after_help = AFTER_HELP)]
pub(super) struct Seal {
    /// The session: its id, or a prefix of it that fits no other.
    session: OsString,
    /// How long to wait until every tool call is covered: 20s, at most 1m.
    #[arg(long, value_name = "TIME", value_parser = since::parse)]
    timeout: Option<Duration>,
    /// Print JSON: sealed, gap, mode, bottle, held, took (in milliseconds).
    #[arg(long)]
    json: bool,
}

const AFTER_HELP: &str = "\
Examples:
  endless seal 0b9f
  endless seal 0b9f --timeout 20s --json

Without a service the transcript is read as it is.
Exit status: 0 sealed; 1 there is nothing to seal; 2 bad input.";

impl Seal {
    pub(super) fn run(self, environment: &Environment) -> Result<(), Failure> {
        let config = Config::load(environment)?;
        if self.timeout.is_some_and(|timeout| timeout > LONGEST) {
            return Err(Failure::usage("--timeout is at most 1m"));
        }
        let reply = match self.ask(&config) {
            Ok(Reply::Seal(reply)) => reply,
            Ok(Reply::Error(why)) => return Err(Failure::failed(why)),
            Ok(_) => return Err(Failure::failed("the service answered something else")),
            Err(ClientError::Down) => self.alone(&config, environment)?,
            Err(error) => return Err(error.into()),
        };
        if !reply.sealed {
            return Err(Failure::failed(
                "there is nothing to seal: no message yet, or the session is kept out, or was cleared",
            ));
        }
        if !reply.held {
            output::note(
                "the transcript lacks something: a tool call still runs, or a prompt that was \
                 announced is not written yet",
            );
        }
        self.show(&reply)
    }

    fn ask(&self, config: &Config) -> Result<Reply, ClientError> {
        let timeout = self.timeout.unwrap_or_default();
        let request = Request::Seal {
            session: self.session.to_string_lossy().into_owned(),
            timeout: self.timeout.map(|timeout| milliseconds(timeout.as_millis())),
        };
        Client::connect(&config.paths, CONNECT)?.ask(&request, timeout + PATIENCE)
    }

    /// Seals without a service: one read.
    fn alone(&self, config: &Config, environment: &Environment) -> Result<SealReply, Failure> {
        let began = Instant::now();
        let loaded = session::open(&self.session, config, environment)?;
        session::refuse_forgotten(config, &loaded.id, "there is nothing to seal")?;
        let (user, assistant) = loaded.session.message_counts();
        let store = Store::open_read_only(&config.paths.database, BUSY).ok();
        if user + assistant <= cleared_at(&config.paths, store.as_ref(), &loaded.id) {
            return Ok(SealReply::default());
        }
        let at = now();
        let observed = observed(config, &loaded.id);
        let zone = config.zone.clone();
        let options = Options { zone, rendered: at, earlier: None, observed };
        let kept = session::keep(config, &loaded, options)?;
        let reply = SealReply {
            sealed: true,
            gap: kept.bottle.pending as u64,
            mode: kept.bottle.mode.as_str().to_owned(),
            bottle: kept.path.display().to_string(),
            held: loaded.session.ledger().running() == 0,
            took: milliseconds(began.elapsed().as_millis()),
        };
        record(config, loaded.id.as_str(), &reply, at);
        Ok(reply)
    }

    fn show(&self, reply: &SealReply) -> Result<(), Failure> {
        if self.json {
            return output::json(reply);
        }
        if reply.gap > 0 {
            let calls = if reply.gap == 1 { "tool call is" } else { "tool calls are" };
            output::note(&format!("{} {calls} not covered yet", reply.gap));
        }
        output::print(&format!("{}\n", reply.bottle))
    }
}

/// A seal that can't be recorded is a seal all the same.
fn record(config: &Config, session: &str, reply: &SealReply, at: Moment) {
    let seal = Record {
        at,
        cause: "command".to_owned(),
        gap: reply.gap,
        mode: reply.mode.clone(),
        held: reply.held,
        took: reply.took,
    };
    let store = Store::open_shared(&config.paths.database, BUSY);
    if let Err(error) = store.and_then(|store| store.put_seal(session, &seal)) {
        output::note(&format!("the seal is not recorded: {error}"));
    }
}

fn milliseconds(number: u128) -> u64 {
    u64::try_from(number).unwrap_or(u64::MAX)
}
