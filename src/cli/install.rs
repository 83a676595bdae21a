//! `endless install`: the service, with the machine's service manager, and the hooks, in the host's
//! settings.

use clap::Subcommand;

use super::{failure::Failure, output};
use crate::{
    config::{Config, Environment},
    install::{self, Report, Setting, hooks},
};

/// Install the service and the hooks.
///
/// Starts the service now and at every login, and puts the hooks into Claude Code's settings, by
/// which the next context gets its bottle. Doing it again brings both up to date.
#[derive(Debug, clap::Args)]
#[command(after_help = AFTER_HELP, args_conflicts_with_subcommands = true)]
pub(super) struct Install {
    #[command(subcommand)]
    what: Option<What>,
    #[command(flatten)]
    both: Hooks,
}

#[derive(Debug, Subcommand)]
enum What {
    Service(Service),
    Hooks(Hooks),
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

/// Put the hooks into Claude Code's settings.
///
/// Adds one command for each event to the settings.json of every root. All else in the file stays
/// as it is, byte for byte; what it held before is in settings.json.endless-backup beside it.
/// ENDLESS_HOME, if it is set, is stored in the commands. Doing it again brings them up to date.
/// Events that your version of Claude Code does not know are left out: from 2.1.78 on it knows all.
#[derive(Debug, clap::Args)]
#[command(after_help = AFTER_HELP)]
struct Hooks {
    /// Show what would be done, and do nothing.
    #[arg(long)]
    dry_run: bool,
    /// Print the hooks, to be pasted by hand, and do nothing.
    #[arg(long, conflicts_with = "dry_run")]
    print: bool,
}

const AFTER_HELP: &str = "\
Examples:
  endless install --dry-run        what would be written and run
  endless install
  endless install service
  endless install hooks --print    what settings.json gets";

impl Install {
    pub(super) fn run(self, environment: &Environment) -> Result<(), Failure> {
        let config = Config::load(environment)?;
        let setting = |dry_run| Setting { environment, config: &config, dry_run };
        match self.what {
            Some(What::Service(Service { dry_run })) => show(&install::install(&setting(dry_run))?),
            Some(What::Hooks(Hooks { print: true, .. })) => print(&setting(true)),
            None if self.both.print => print(&setting(true)),
            Some(What::Hooks(Hooks { dry_run, .. })) => show(&hooks::install(&setting(dry_run))?),
            None => {
                let setting = setting(self.both.dry_run);
                // What the hooks would fail for, fails before the service is there.
                hooks::check(&setting)?;
                let service = install::install(&setting)?;
                show(&service.and(hooks::install(&setting)?))
            }
        }
    }
}

fn print(setting: &Setting<'_>) -> Result<(), Failure> {
    output::print(&hooks::print(setting)?)
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
