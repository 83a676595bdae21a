//! `endless demo`: a session that was recorded, replayed live, so that a newcomer sees a bottle grow.

use std::{
    fs::{self, File},
    io::Write,
    path::{Path, PathBuf},
    thread,
    time::{Duration, Instant},
};

use super::{failure::Failure, output};
use crate::{
    bottle::read_back,
    client::Client,
    config::{Config, Environment, Overrides},
    daemon,
    engine::request::{Reply, Request},
};

/// The session: our own invention, and one of the fixtures.
const TRANSCRIPT: &str = include_str!("../../fixtures/demo/input.jsonl");
/// The id it is replayed under.
const ID: &str = "0b9f1c2d-1111-4222-8333-444455556666";
/// How long anything may take.
const PATIENCE: Duration = Duration::from_secs(10);
const PAUSE: Duration = Duration::from_millis(10);

/// Watch a bottle grow: a recorded session is replayed live into a scratch folder.
///
/// A service of its own watches that folder; nothing of yours is read or written, and the folder is
/// deleted at the end. What is printed last is the finished bottle.
#[derive(Debug, clap::Args)]
pub(super) struct Demo {
    /// How long the replay takes, in seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 8, value_parser = clap::value_parser!(u64).range(0..=600))]
    seconds: u64,
}

impl Demo {
    pub(super) fn run(self, environment: &Environment) -> Result<(), Failure> {
        let folder = tempfile::Builder::new().prefix("endless-demo-").tempdir()?;
        let environment = scratch(environment, folder.path());
        let project = folder.path().join(".claude/projects/-home-ada-ledger");
        fs::create_dir_all(&project)?;
        let config = Config::load(&environment)?;
        let service = thread::Builder::new().name("demo".to_owned()).spawn({
            let config = config.clone();
            move || daemon::run(&config, None, || Config::load(&environment))
        })?;
        let shown = connect(&config).and_then(|mut client| {
            self.replay(&project.join(format!("{ID}.jsonl")), &config, || service.is_finished())?;
            finished(&mut client)
        });
        // Whatever happened: the service ends, and the folder goes.
        shut_down(&config);
        let ended = service.join().map_err(|_| Failure::failed("the service panicked"))?;
        drop(ended?);
        output::print(&format!("\n{}", shown?))
    }

    /// Writes the transcript row by row, and says how the bottle follows.
    fn replay(
        &self,
        path: &Path,
        config: &Config,
        has_ended: impl Fn() -> bool,
    ) -> Result<(), Failure> {
        let rows: Vec<&str> = TRANSCRIPT.lines().collect();
        let pause = Duration::from_secs(self.seconds) / u32::try_from(rows.len()).unwrap_or(1);
        let bottle = config.paths.bottles.join(format!("{ID}.md"));
        let mut file = File::create(path)?;
        let mut seen = String::new();
        for (number, row) in (1..).zip(&rows) {
            file.write_all(format!("{row}\n").as_bytes())?;
            thread::sleep(pause);
            // Ctrl-C ends the service, and so the demo.
            if has_ended() {
                return Err(Failure::failed("the demo was stopped before its end"));
            }
            let now = fs::read_to_string(&bottle).unwrap_or_default();
            if now != seen {
                output::print(&progress(number, rows.len(), &now))?;
                seen = now;
            }
        }
        Ok(())
    }
}

fn shut_down(config: &Config) {
    if let Ok(mut client) = Client::connect(&config.paths, PATIENCE) {
        // One that has ended already needs no asking.
        client.ask(&Request::Shutdown {}, PATIENCE).ok();
    }
}

/// One line on how far the bottle is.
fn progress(row: usize, rows: usize, bottle: &str) -> String {
    let messages = read_back(bottle).unwrap_or_default().len();
    let last = bottle.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or_default();
    let last: String =
        if messages == 0 { "no words yet".to_owned() } else { last.chars().take(60).collect() };
    format!(
        "row {row:>3} of {rows}  bottle {:>5} bytes, {messages:>2} messages  {last}\n",
        bottle.len()
    )
}

/// The environment of a person who has nothing but this folder.
fn scratch(environment: &Environment, folder: &Path) -> Environment {
    Environment {
        home: Some(folder.to_owned()),
        endless_home: Some(folder.join("state")),
        claude_config_dir: Some(folder.join(".claude")),
        claude_mem_data_dir: None,
        overrides: Overrides::default(),
        notify_socket: None,
        ..environment.clone()
    }
}

fn connect(config: &Config) -> Result<Client, Failure> {
    let until = Instant::now() + PATIENCE;
    loop {
        match Client::connect(&config.paths, PATIENCE) {
            Ok(client) => return Ok(client),
            Err(error) if Instant::now() > until => return Err(error.into()),
            Err(_) => thread::sleep(PAUSE),
        }
    }
}

/// The bottle, once it has everything.
fn finished(client: &mut Client) -> Result<String, Failure> {
    let request = Request::Render { session: ID.to_owned() };
    match client.ask(&request, PATIENCE)? {
        Reply::Session(status) => {
            let path = status.bottle.map(|bottle| PathBuf::from(bottle.path));
            let path = path.ok_or_else(|| Failure::failed("there is no bottle"))?;
            Ok(fs::read_to_string(path)?)
        }
        Reply::Error(why) => Err(Failure::failed(why)),
        _ => Err(Failure::failed("the service gave an answer to something else")),
    }
}
