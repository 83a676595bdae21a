//! `endless completions`: completion scripts for shells.

use clap_complete::Shell;

use super::{failure::Failure, output};

/// Print a completion script for a shell.
#[derive(Debug, clap::Args)]
#[command(after_help = AFTER_HELP)]
pub(super) struct Completions {
    /// The shell.
    shell: Shell,
}

const AFTER_HELP: &str = "\
Examples:
  endless completions bash > ~/.local/share/bash-completion/completions/endless
  endless completions zsh > ~/.zfunc/_endless
  endless completions fish > ~/.config/fish/completions/endless.fish";

impl Completions {
    pub(super) fn run(self) -> Result<(), Failure> {
        let mut script = Vec::new();
        clap_complete::generate(self.shell, &mut super::command(), "endless", &mut script);
        output::print(&String::from_utf8_lossy(&script))
    }
}
