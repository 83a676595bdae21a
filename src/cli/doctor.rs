//! `endless doctor`: whether all is well, and what to do where it is not.

mod hooks;
mod host;
mod observations;
mod service;
mod state;

use serde::Serialize;

use super::{failure::Failure, output};
use crate::config::{Config, ConfigError, Environment, Origin};

/// Say in words whether all is well, and what to do where it is not.
///
/// Looks at the configuration, the folders of hosts, the state folder, the service, the hooks,
/// claude-mem's database, the
/// limits of the system and the host's settings. Changes nothing. Exit status 1 when something needs you.
#[derive(Debug, clap::Args)]
#[command(after_help = AFTER_HELP)]
pub(super) struct Doctor {
    /// Print JSON: the worst level, and an array of name, level, text, todo.
    #[arg(long)]
    json: bool,
}

const AFTER_HELP: &str = "\
Examples:
  endless doctor
  endless doctor --json

Levels:
  ok         as it should be
  warn       works, but you should know
  problem    does not work until you do something";

/// How much a finding matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
enum Level {
    Ok,
    Warn,
    Problem,
}

impl Level {
    fn as_str(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Warn => "warn",
            Self::Problem => "problem",
        }
    }
}

/// What was found.
#[derive(Debug, Serialize)]
struct Finding {
    name: &'static str,
    level: Level,
    text: String,
    todo: Option<String>,
}

#[derive(Debug, Serialize)]
struct Report<'a> {
    level: Level,
    checks: &'a [Finding],
}

/// What is found, in order.
#[derive(Debug, Default)]
struct Findings(Vec<Finding>);

impl Findings {
    fn ok(&mut self, name: &'static str, text: impl Into<String>) {
        self.0.push(Finding { name, level: Level::Ok, text: text.into(), todo: None });
    }

    fn warn(&mut self, name: &'static str, text: impl Into<String>, todo: impl Into<String>) {
        self.add(name, Level::Warn, text.into(), todo.into());
    }

    fn problem(&mut self, name: &'static str, text: impl Into<String>, todo: impl Into<String>) {
        self.add(name, Level::Problem, text.into(), todo.into());
    }

    fn add(&mut self, name: &'static str, level: Level, text: String, todo: String) {
        self.0.push(Finding { name, level, text, todo: Some(todo) });
    }

    fn worst(&self) -> Level {
        self.0.iter().map(|finding| finding.level).max().unwrap_or(Level::Ok)
    }
}

impl Doctor {
    pub(super) fn run(self, environment: &Environment) -> Result<(), Failure> {
        let mut findings = Findings::default();
        let config = configuration(environment, &mut findings)?;
        host::roots(&config, &mut findings);
        host::retention(&config, &mut findings);
        host::watches(&config, &mut findings);
        state::folder(&config.paths, &mut findings);
        state::database(&config.paths, &mut findings);
        service::running(&config.paths, &mut findings);
        service::unit(environment, &config, &mut findings);
        hooks::installed(environment, &config, &mut findings);
        observations::database(&config, &mut findings);
        observations::at_the_start(&config, &mut findings);
        let level = findings.worst();
        if self.json {
            output::json(&Report { level, checks: &findings.0 })?;
        } else {
            print(&findings.0)?;
        }
        if level == Level::Problem { Err(Failure::told()) } else { Ok(()) }
    }
}

/// The configuration, or what would hold if nothing of it were wrong.
fn configuration(environment: &Environment, findings: &mut Findings) -> Result<Config, Failure> {
    const NAME: &str = "configuration";
    let config = match Config::load(environment) {
        Err(error @ ConfigError::NoHome) => return Err(error.into()),
        Err(error) => {
            let todo = "mend it, or look at `endless config --example`; until then nothing runs";
            findings.problem(NAME, in_full(error), todo);
            return Ok(Config::without_file(environment)?);
        }
        Ok(config) => config,
    };
    let file = config.paths.config.display();
    match config.paths.config.exists() {
        true => findings.ok(NAME, format!("{file} is understood")),
        false => findings.ok(NAME, format!("there is no {file}; the defaults hold")),
    }
    if !config.enabled {
        let todo = match config.origin("enabled") {
            Origin::Environment(name) => format!("unset {name}"),
            _ => format!("set `enabled = true` in {file}"),
        };
        findings.warn("switch", "Endless is switched off: no session is kept", todo);
    }
    Ok(config)
}

fn print(findings: &[Finding]) -> Result<(), Failure> {
    let mut page = output::Page::default();
    for finding in findings {
        let level = format!("{:8} ", finding.level.as_str());
        match finding.level {
            Level::Ok => page.plain(&level),
            Level::Warn | Level::Problem => page.strong(&level),
        }
        page.plain(&format!("{:13}  {}\n", finding.name, finding.text));
        if let Some(todo) = &finding.todo {
            page.faint(&format!("{:24}→ {todo}\n", ""));
        }
    }
    page.print()
}

/// An error and its causes.
fn in_full(error: impl std::error::Error + Send + Sync + 'static) -> String {
    format!("{:#}", anyhow::Error::new(error))
}

/// `1 folder`, `2 folders`
fn count(number: usize, what: &str) -> String {
    format!("{number} {what}{}", if number == 1 { "" } else { "s" })
}
