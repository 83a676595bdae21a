//! `endless uninstall`: takes away what `endless install` made.

use clap::Subcommand;

use super::{failure::Failure, install::show, output};
use crate::{
    config::{Config, Environment},
    install::{self, Setting},
};

/// Remove the service.
#[derive(Debug, clap::Args)]
#[command(after_help = AFTER_HELP)]
pub(super) struct Uninstall {
    #[command(subcommand)]
    what: Option<What>,
}

#[derive(Debug, Subcommand)]
enum What {
    Service(Service),
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

const AFTER_HELP: &str = "\
Examples:
  endless uninstall service
  endless uninstall service --purge --dry-run    what all would go";

impl Uninstall {
    pub(super) fn run(self, environment: &Environment) -> Result<(), Failure> {
        let Some(What::Service(Service { purge, yes, dry_run })) = self.what else {
            return super::help_of("uninstall");
        };
        // A broken configuration must not keep anybody from uninstalling.
        let config = match Config::load(environment) {
            Ok(config) => config,
            Err(_) => Config::without_file(environment)?,
        };
        if purge && !yes && !dry_run {
            let home = config.paths.home.display();
            output::confirm(&format!("remove {home} with all bottles and the archive?"))?;
        }
        let setting = Setting { environment, config: &config, dry_run };
        show(&install::uninstall(&setting, purge)?)
    }
}
