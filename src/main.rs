//! The `endless` binary: takes the command line, runs it, gives the exit status.

use std::process::ExitCode;

use endless::{cli, config::Environment};

fn main() -> ExitCode {
    let environment = Environment::capture();
    cli::run(std::env::args_os(), &environment).into()
}
