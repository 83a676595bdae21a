//! `endless config`: what holds, and where it comes from.

use serde::Serialize;

use super::{failure::Failure, output};
use crate::config::{self, Effective, Environment};

/// Columns that a value may take before what it comes from.
const WIDTH: usize = 44;

/// Print the configuration that holds, and where each value comes from.
///
/// The configuration is a file, `config.toml` in the state folder. It need not exist; variables of
/// the environment outweigh it.
#[derive(Debug, clap::Args)]
#[command(after_help = AFTER_HELP)]
pub(super) struct Config {
    /// Print JSON: the file, and an array of key, value, origin.
    #[arg(long)]
    json: bool,
    /// Print a config.toml with every key, its default and what it means.
    #[arg(long, conflicts_with = "json")]
    example: bool,
}

const AFTER_HELP: &str = "\
Examples:
  endless config
  endless config --example > ~/.endless/config.toml

Environment, outweighing the file:
  ENDLESS_DISABLE      1: keep no sessions
  ENDLESS_ROOTS        folders of hosts, separated by `:`
  ENDLESS_ZONE         the time zone of bottles and lists
  ENDLESS_MEMORY_MB    MiB of words that may stay in memory
  CLAUDE_MEM_ENDLESS_MODE_ENABLED
                       false: keep no sessions; claude-mem's own switch";

#[derive(Debug, Serialize)]
struct Report<'a> {
    file: String,
    exists: bool,
    settings: &'a [Effective],
}

impl Config {
    pub(super) fn run(self, environment: &Environment) -> Result<(), Failure> {
        if self.example {
            return output::print(config::EXAMPLE);
        }
        let config = config::Config::load(environment)?;
        let file = config.paths.config.display().to_string();
        let (exists, settings) = (config.paths.config.exists(), config.effective());
        if self.json {
            return output::json(&Report { file, exists, settings: &settings });
        }
        let mut page = output::Page::default();
        page.faint(&format!("# {file}{}\n", if exists { "" } else { " (not there)" }));
        for setting in settings {
            let line = match &setting.value {
                Some(value) => format!("{} = {value}", setting.key),
                None => format!("# {} is not set", setting.key),
            };
            page.plain(&format!("{line:WIDTH$}"));
            page.faint(&format!("  # {}\n", setting.origin));
        }
        page.print()
    }
}
