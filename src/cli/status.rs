//! `endless status`: whether every bottle is current, in words that take two seconds to read.

mod disk;
mod page;
mod report;
mod table;
mod words;

use std::{fs, thread, time::Duration};

use super::{
    failure::Failure,
    history::{self, History},
    output,
};
use crate::{
    client::{Client, ClientError, hook::log},
    clock::now,
    config::{Config, Environment},
    engine::request::{Reply, Request, Status as Answer},
    paths::Paths,
    text::line::plain_line,
};
use report::{Health, Report};

/// How long the service may take to let us in.
const CONNECT: Duration = Duration::from_millis(500);
/// How long it may take to answer.
const PATIENCE: Duration = Duration::from_secs(2);
/// How long it may take to read every hot transcript to its end.
const SYNC: Duration = Duration::from_secs(30);
const EVERY: Duration = Duration::from_secs(1);
/// A hook's trouble is told for this long.
const DAY: Duration = Duration::from_secs(24 * 60 * 60);
/// Characters of it.
const TROUBLE: usize = 300;

/// Show whether every bottle is current, and how the service and its sessions are.
///
/// The first line says how things stand: what was read is compared with what is on disk. Below it
/// stand the service, the folders that it watches, and a line for each session that is live: its
/// project, its legs, its context, what is read of it, tool calls without a result (pending),
/// lines that are no records (unreadable), its bottle, what its lines of tool traffic come from, and
/// whether its transcript is still there.
/// Where a compaction was prepared or handed over, a line says what became of it: sealed, printed,
/// arrived, read.
#[derive(Debug, clap::Args)]
#[command(after_help = AFTER_HELP)]
pub(super) struct Status {
    /// Only this session: its id, or a prefix of it that fits no other.
    session: Option<String>,
    /// Print JSON: running, health, and all that the service tells.
    #[arg(long)]
    json: bool,
    /// First let the service read every live transcript to its end.
    #[arg(long)]
    sync: bool,
    /// Show it anew each second, until Ctrl-C.
    #[arg(long)]
    watch: bool,
}

const AFTER_HELP: &str = "\
Examples:
  endless status
  endless status 0b9f --sync       one session, after all of it is read
  endless status --json            for scripts

Exit status: 0 all is current; 1 the service does not run, does not answer, is behind, or something
went wrong; 2 bad input.";

impl Status {
    pub(super) fn run(self, environment: &Environment) -> Result<(), Failure> {
        // A running service is asked also where config.toml was spoilt meanwhile.
        let config = Config::load(environment).or_else(|error| {
            output::note(&error.to_string());
            Config::without_file(environment)
        })?;
        loop {
            let mut report = self.report(&config)?;
            report.deliveries = deliveries(&config, &report.status);
            report.hooks = last_trouble(&config.paths);
            self.show(&report, &config)?;
            if !self.watch {
                return if report.health == Health::Current {
                    Ok(())
                } else {
                    Err(Failure::told())
                };
            }
            thread::sleep(EVERY);
        }
    }

    fn show(&self, report: &Report, config: &Config) -> Result<(), Failure> {
        if self.json {
            return output::json(report);
        }
        let mut page = page::page(report, &config.paths, &config.zone);
        if self.watch && output::is_terminal() {
            return page.redraw();
        }
        if self.watch {
            page.plain("\n");
        }
        page.print()
    }

    fn report(&self, config: &Config) -> Result<Report, Failure> {
        let asked = self.session.is_some();
        let error = match self.ask(config) {
            Ok(Reply::Status(status)) => return Ok(Report::running(*status, asked)),
            Ok(Reply::Error(why)) => return Err(Failure::failed(why)),
            Ok(_) => ClientError::Broken("it answered something else".to_owned()),
            Err(error) => error,
        };
        let (status, bottles) = disk::look(config, self.session.as_deref(), now());
        match &self.session {
            Some(name) if status.sessions.is_empty() => Err(Failure::failed(format_args!(
                "{error}, and no transcript begins with `{name}`"
            ))),
            _ => Ok(Report::without(&error, status, bottles, asked)),
        }
    }

    fn ask(&self, config: &Config) -> Result<Reply, ClientError> {
        let request = Request::Status { session: self.session.clone(), sync: self.sync };
        let deadline = if self.sync { SYNC } else { PATIENCE };
        Client::connect(&config.paths, CONNECT)?.ask(&request, deadline)
    }
}

/// What was handed over of these sessions, where the database tells.
fn deliveries(config: &Config, status: &Answer) -> Vec<History> {
    let Ok(Some(store)) = history::open(&config.paths) else { return Vec::new() };
    let ids = status.sessions.iter().map(|session| &session.id);
    let known = ids.filter_map(|id| history::of(&store, id).ok());
    known.filter(|history| !history.is_empty()).collect()
}

/// What went wrong last in a hook, within a day.
fn last_trouble(paths: &Paths) -> Option<String> {
    let path = log::path(paths);
    let modified = fs::metadata(&path).and_then(|data| data.modified()).ok()?;
    if modified.elapsed().is_ok_and(|age| age > DAY) {
        return None;
    }
    let text = fs::read(path).ok()?;
    let text = String::from_utf8_lossy(&text);
    text.lines().last().map(|line| plain_line(line, TROUBLE))
}

/// Sessions that the service has not read yet although they are live.
fn behind(status: &Answer) -> impl Iterator<Item = u64> {
    let behind = |disk: u64, read: u64| disk.checked_sub(read).filter(|bytes| *bytes > 0);
    let live = status.sessions.iter().filter(|session| session.hot);
    live.filter_map(move |session| behind(session.disk, session.read))
}
