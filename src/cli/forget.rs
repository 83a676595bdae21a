//! `endless forget`: removes what is kept of sessions, for good.

mod choice;

use std::{
    path::PathBuf,
    time::{Duration, SystemTime},
};

use jiff::Timestamp;

use super::{failure::Failure, list::since, output};
use crate::{
    client::{Client, ClientError},
    config::{Config, Environment},
    engine::request::{Reply, Request},
    files,
    paths::{Paths, SessionId},
    store::{Store, StoreError},
    text::time::Moment,
};
use choice::{Chosen, Filter};

const CONNECT: Duration = Duration::from_secs(1);
/// How long the service may take for one session.
const PATIENCE: Duration = Duration::from_secs(30);
/// How long others may lock the database.
const BUSY: Duration = Duration::from_secs(5);

/// Remove the bottle and archive of sessions, and never render them again.
///
/// The transcripts are the host's; they stay where they are.
#[derive(Debug, clap::Args)]
#[command(after_help = AFTER_HELP)]
#[command(group(clap::ArgGroup::new("which").required(true).multiple(true)
    .args(["sessions", "project", "older_than"])))]
pub(super) struct Forget {
    /// Sessions: their ids, or prefixes of them that fit no other.
    #[arg(value_name = "SESSION", conflicts_with_all = ["project", "older_than"])]
    sessions: Vec<String>,
    /// All sessions that began in this folder, or in one inside it.
    #[arg(long, value_name = "DIR")]
    project: Option<PathBuf>,
    /// All sessions without a change in this time: 12h, 30d, 26w.
    #[arg(long, value_name = "TIME", value_parser = since::parse)]
    older_than: Option<Duration>,
    /// Show what would be removed, and remove nothing.
    #[arg(long)]
    dry_run: bool,
    /// Do not ask.
    #[arg(long)]
    yes: bool,
}

const AFTER_HELP: &str = "\
Examples:
  endless forget 0b9f
  endless forget --project ~/clients/acme --dry-run
  endless forget --older-than 180d --yes

To keep sessions out from the start: `exclude` in config.toml, or an empty file .endless-ignore.";

impl Forget {
    pub(super) fn run(self, environment: &Environment) -> Result<(), Failure> {
        let config = Config::load(environment)?;
        let filter = Filter {
            project: self.project.map(|folder| environment.resolved(&folder)),
            before: self.older_than.and_then(|span| SystemTime::now().checked_sub(span)),
        };
        let mut chosen = if self.sessions.is_empty() {
            choice::fitting(&config, &filter)?
        } else {
            choice::named(&config, &self.sessions)?
        };
        let forgotten = tombstones(&config.paths)?;
        chosen.retain(|one| !one.files.is_empty() || !forgotten.contains(&one.id));
        if chosen.is_empty() {
            output::note("there is nothing to forget");
            return Ok(());
        }
        if self.dry_run {
            return show("would forget", &chosen);
        }
        if !self.yes {
            output::confirm(&question(&chosen))?;
        }
        forget(&config.paths, &chosen)?;
        show("forgot", &chosen)
    }
}

fn question(chosen: &[Chosen]) -> String {
    let files: usize = chosen.iter().map(|one| one.files.len()).sum();
    let what = match chosen {
        [one] => format!("the session {}", one.id),
        all => format!("{} sessions ({}, …)", all.len(), all[0].id),
    };
    format!("forget {what} for good, with {files} files in the state folder?")
}

fn show(verb: &str, chosen: &[Chosen]) -> Result<(), Failure> {
    let mut page = output::Page::default();
    for one in chosen {
        page.plain(&format!("{verb} "));
        page.strong(one.id.as_str());
        page.plain("\n");
        for file in &one.files {
            page.faint(&format!("  {}\n", file.display()));
        }
    }
    page.print()
}

/// The sessions that have been forgotten.
fn tombstones(paths: &Paths) -> Result<Vec<SessionId>, Failure> {
    if !paths.database.exists() {
        return Ok(Vec::new());
    }
    match Store::open_read_only(&paths.database, BUSY) {
        Ok(store) => {
            let all = store.tombstones()?;
            Ok(all.iter().filter_map(|tombstone| tombstone.session.parse().ok()).collect())
        }
        Err(StoreError::Absent { .. }) => Ok(Vec::new()),
        Err(error) => Err(error.into()),
    }
}

/// A running service must hear of it: it would write the bottle again.
fn forget(paths: &Paths, chosen: &[Chosen]) -> Result<(), Failure> {
    let mut service = match Client::connect(paths, CONNECT) {
        Ok(client) => Some(client),
        Err(ClientError::Down) => None,
        Err(error) => return Err(error.into()),
    };
    for one in chosen {
        if let Some(client) = &mut service {
            let request = Request::Forget { session: one.id.to_string() };
            if client.ask(&request, PATIENCE)? == Reply::Done {
                continue;
            }
            // The service knows no such session: only files are left of it.
        }
        forget_here(paths, &one.id)?;
    }
    Ok(())
}

/// First the tombstone, so that nothing comes back whatever happens then.
fn forget_here(paths: &Paths, id: &SessionId) -> Result<(), Failure> {
    files::prepare(paths)?;
    let mut store = Store::open_shared(&paths.database, BUSY)?;
    store.forget(id.as_str(), Moment(Timestamp::now().as_millisecond()))?;
    store.forget_deliveries(id.as_str())?;
    if let Some((generation, _)) = store.owner()? {
        match store.remove_known_files_of(generation, id.as_str()) {
            // A service has just started; it reads the tombstones itself.
            Ok(()) | Err(StoreError::NotOwner { .. }) => {}
            Err(error) => return Err(error.into()),
        }
    }
    files::forget::forget(paths, id)?;
    Ok(())
}
