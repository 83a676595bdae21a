//! `endless uninstall`: takes away what `endless install` made.

use std::time::Duration;

use clap::Subcommand;

use super::{failure::Failure, install::show, output};
use crate::{
    client::Client,
    config::{Config, Environment},
    install::{self, Setting, hooks},
};

/// How long a service may take to let us in.
const CONNECT: Duration = Duration::from_millis(500);

/// Remove the service and the hooks.
#[derive(Debug, clap::Args)]
#[command(after_help = AFTER_HELP, args_conflicts_with_subcommands = true)]
pub(super) struct Uninstall {
    #[command(subcommand)]
    what: Option<What>,
    #[command(flatten)]
    both: Service,
}

#[derive(Debug, Subcommand)]
enum What {
    Service(Service),
    Hooks(Hooks),
}

/// Stop the service and remove its unit.
///
/// The bottles stay, unless --purge is given. What Endless did not write is not touched.
#[derive(Debug, clap::Args)]
#[command(after_help = AFTER_HELP)]
struct Service {
    /// Remove the state folder too: all bottles, the archive, the configuration.
    #[arg(long)]
    purge: bool,
    /// Do not ask.
    #[arg(long)]
    yes: bool,
    /// Show what would be done, and do nothing.
    #[arg(long)]
    dry_run: bool,
}

/// Take the hooks out of Claude Code's settings.
///
/// Removes exactly the entries that call Endless from the settings.json of every root. All else
/// stays as it is, byte for byte.
#[derive(Debug, clap::Args)]
#[command(after_help = AFTER_HELP)]
struct Hooks {
    /// Show what would be done, and do nothing.
    #[arg(long)]
    dry_run: bool,
}

const AFTER_HELP: &str = "\
Examples:
  endless uninstall
  endless uninstall hooks --dry-run
  endless uninstall service --purge --dry-run    what all would go";

impl Uninstall {
    pub(super) fn run(self, environment: &Environment) -> Result<(), Failure> {
        // A broken configuration must not keep anybody from uninstalling.
        let config = match Config::load(environment) {
            Ok(config) => config,
            Err(_) => Config::without_file(environment)?,
        };
        let setting = |dry_run| Setting { environment, config: &config, dry_run };
        let with_hooks = self.what.is_none();
        let service = match self.what {
            Some(What::Hooks(Hooks { dry_run })) => {
                return show(&hooks::uninstall(&setting(dry_run))?);
            }
            Some(What::Service(service)) => service,
            None => self.both,
        };
        let Service { purge, yes, dry_run } = service;
        if purge && !yes && !dry_run {
            let home = config.paths.home.display();
            output::confirm(&format!("remove {home} with all bottles and the archive?"))?;
        }
        let setting = setting(dry_run);
        let mut report = install::Report::default();
        if with_hooks {
            report = hooks::uninstall(&setting)?;
        }
        show(&report.and(install::uninstall(&setting, purge)?))?;
        if Client::connect(&config.paths, CONNECT).is_ok() && !dry_run {
            output::note("a service that was started by hand still runs; `endless stop` ends it");
        }
        Ok(())
    }
}
