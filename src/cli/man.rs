//! `endless man`: manual pages.

use std::{fs, path::PathBuf};

use super::{failure::Failure, output};
use crate::config::Environment;

/// Print the manual page, or write one for each command.
#[derive(Debug, clap::Args)]
#[command(after_help = AFTER_HELP)]
pub(super) struct Man {
    /// Write the pages of all commands to this folder.
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
}

const AFTER_HELP: &str = "\
Examples:
  endless man | man -l -
  endless man --dir ~/.local/share/man/man1";

impl Man {
    pub(super) fn run(self, environment: &Environment) -> Result<(), Failure> {
        let Some(folder) = self.dir else {
            let mut page = Vec::new();
            clap_mangen::Man::new(super::command()).render(&mut page)?;
            return output::print(&String::from_utf8_lossy(&page));
        };
        let folder = environment.absolute(&folder);
        fs::create_dir_all(&folder)
            .and_then(|()| clap_mangen::generate_to(super::command(), &folder))
            .map_err(|error| {
                Failure::failed(format_args!("can't write pages to {}: {error}", folder.display()))
            })
    }
}
