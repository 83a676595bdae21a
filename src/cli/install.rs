//! `endless install`: the service, with the machine's service manager.

use clap::Subcommand;

use super::{failure::Failure, output};
use crate::{
    config::{Config, Environment},
    install::{self, Report, Setting},
};

/// Install the service.
#[derive(Debug, clap::Args)]
#[command(after_help = AFTER_HELP)]
pub(super) struct Install {
    #[command(subcommand)]
    what: Option<What>,
}

#[derive(Debug, Subcommand)]
enum What {
    Service(Service),
}

/// Start the service now and at every login.
///
/// Writes a unit for systemd, or an agent for launchd, and starts it. What the shell has and the
/// service would not inherit is stored in the unit: ENDLESS_HOME, CLAUDE_CONFIG_DIR, ENDLESS_ROOTS,
/// ENDLESS_ZONE, ENDLESS_MEMORY_MB. Doing it again brings the unit up to date.
#[derive(Debug, clap::Args)]
#[command(after_help = AFTER_HELP)]
struct Service {
    /// Show what would be done, and do nothing.
    #[arg(long)]
    dry_run: bool,
}

const AFTER_HELP: &str = "\
Examples:
  endless install service --dry-run    what would be written and run
  endless install service";

impl Install {
    pub(super) fn run(self, environment: &Environment) -> Result<(), Failure> {
        let Some(What::Service(Service { dry_run })) = self.what else {
            return super::help_of("install");
        };
        let config = Config::load(environment)?;
        let report = install::install(&Setting { environment, config: &config, dry_run })?;
        show(&report)
    }
}

/// Steps are the result; what is worth knowing beside them is no part of it.
pub(super) fn show(report: &Report) -> Result<(), Failure> {
    let steps: String = report.steps.iter().map(|step| format!("{step}\n")).collect();
    output::print(&steps)?;
    for note in &report.notes {
        output::note(note);
    }
    Ok(())
}
