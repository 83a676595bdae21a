//! The command line: what may be typed, and what each command does.
//!
//! One file per command, with its arguments beside it. [`output`] is the only module that prints;
//! an error is one line on stderr that says what was wrong and what to do, and then nothing stands
//! on stdout.

mod completions;
mod config;
mod demo;
mod doctor;
mod expand;
mod failure;
mod forget;
mod history;
mod hook;
mod install;
mod list;
mod log;
mod man;
mod observed;
mod output;
mod pointer;
mod render;
mod run;
mod seal;
mod session;
mod status;
mod stop;
mod uninstall;

use std::ffi::OsString;

use clap::{CommandFactory, Parser, Subcommand, error::ErrorKind};

pub use failure::Exit;
use failure::Failure;

use crate::config::Environment;

/// Keeps every coding-agent session, word for word.
///
/// A coding agent's session does not die at its context limit: it forgets. Endless keeps, for every
/// session, a bottle: a Markdown file with the conversation word for word, and one line in place of
/// each piece of tool traffic. The next context reads it and goes on.
#[derive(Debug, Parser)]
#[command(name = "endless", version, arg_required_else_help = true, after_help = AFTER_HELP)]
#[command(subcommand_required = true, infer_subcommands = false)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

const AFTER_HELP: &str = "\
Examples:
  endless list                     which sessions there are
  endless render 0b9f              write the bottle of a session, print its path
  endless pointer 0b9f             what to paste into a new session so that it goes on there
  endless status                   whether every bottle is current
  endless expand 0b9f t17          what is behind the line [t17] of the bottle
  endless install                  start the service now and at every login, and hook it in
  endless doctor                   whether all is well, and what to do if not

Environment:
  ENDLESS_HOME         the state folder, with bottles/ and config.toml (default: ~/.endless)
  CLAUDE_CONFIG_DIR    the folder of Claude Code (default: ~/.claude and ~/.config/claude)
  TZ                   the time zone of bottles and lists
  ENDLESS_DISABLE, ENDLESS_ROOTS, ENDLESS_ZONE, ENDLESS_MEMORY_MB: see `endless config --help`

Exit status: 0 done, 1 failed, 2 bad input.";

#[derive(Debug, Subcommand)]
enum Command {
    Render(render::Render),
    Pointer(pointer::Pointer),
    Expand(expand::Expand),
    List(list::List),
    Run(run::Run),
    Demo(demo::Demo),
    Status(status::Status),
    Stop(stop::Stop),
    Seal(seal::Seal),
    Log(log::Log),
    Forget(forget::Forget),
    Install(install::Install),
    Uninstall(uninstall::Uninstall),
    Hook(hook::Hook),
    Doctor(doctor::Doctor),
    Config(config::Config),
    Completions(completions::Completions),
    Man(man::Man),
}

impl Command {
    fn run(self, environment: &Environment) -> Result<(), Failure> {
        match self {
            Self::Render(command) => command.run(environment),
            Self::Pointer(command) => command.run(environment),
            Self::Expand(command) => command.run(environment),
            Self::List(command) => command.run(environment),
            Self::Run(command) => command.run(environment),
            Self::Demo(command) => command.run(environment),
            Self::Status(command) => command.run(environment),
            Self::Stop(command) => command.run(environment),
            Self::Seal(command) => command.run(environment),
            Self::Log(command) => command.run(environment),
            Self::Forget(command) => command.run(environment),
            Self::Install(command) => command.run(environment),
            Self::Uninstall(command) => command.run(environment),
            Self::Hook(command) => command.run(environment),
            Self::Doctor(command) => command.run(environment),
            Self::Config(command) => command.run(environment),
            Self::Completions(command) => command.run(),
            Self::Man(command) => command.run(environment),
        }
    }
}

/// Runs a command line; its first element is the program's name.
pub fn run(arguments: impl IntoIterator<Item = OsString>, environment: &Environment) -> Exit {
    let arguments: Vec<OsString> = arguments.into_iter().collect();
    // The host waits for a hook: it does not wait for the whole command line to be built as well.
    if arguments.get(1..).is_some_and(|rest| rest == ["hook", "claude-code"]) {
        hook::run(environment);
        return Exit::Done;
    }
    let result = match Cli::try_parse_from(&arguments) {
        Ok(cli) => cli.command.run(environment),
        // A host takes the status 2 of a hook for the wish to block what the person does.
        Err(error) if arguments.get(1).is_some_and(|name| name == "hook") => {
            explain(&error, &arguments).map_err(Failure::harmless)
        }
        Err(error) => explain(&error, &arguments),
    };
    match result {
        Ok(()) => Exit::Done,
        Err(failure) => {
            failure.report();
            failure.exit
        }
    }
}

/// Help and version go to stdout, and an error of usage is one line.
fn explain(error: &clap::Error, arguments: &[OsString]) -> Result<(), Failure> {
    match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => output::help(&error.render()),
        ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
            Err(Failure::usage("no command was given; `endless --help` shows them"))
        }
        _ => Err(Failure::usage(one_line(&error.render().to_string(), &called(arguments)))),
    }
}

/// The command that was called, as far as there is one of that name: `endless install hooks`.
fn called(arguments: &[OsString]) -> String {
    let mut command = command();
    let mut called = command.get_name().to_owned();
    for argument in arguments.iter().skip(1) {
        let Some(next) = command.find_subcommand(argument).cloned() else { break };
        called = format!("{called} {}", next.get_name());
        command = next;
    }
    called
}

/// What clap says in several paragraphs, without the usage; the help of what was called has it.
fn one_line(text: &str, called: &str) -> String {
    let text = text.strip_prefix("error: ").unwrap_or(text);
    let said = text.split("\nUsage:").next().unwrap_or(text);
    let said = said.split("\nFor more information").next().unwrap_or(said);
    let words: Vec<_> = said.split_whitespace().collect();
    format!("{}; see `{called} --help`", words.join(" "))
}

fn command() -> clap::Command {
    Cli::command()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_well_formed() {
        command().debug_assert();
    }

    #[test]
    fn usage_errors_are_one_line() {
        let error = Cli::try_parse_from(["endless", "render", "x", "--jsn"]).unwrap_err();
        assert_eq!(
            one_line(&error.render().to_string(), "endless render"),
            "unexpected argument '--jsn' found tip: a similar argument exists: '--json'; see \
             `endless render --help`"
        );
    }

    #[test]
    fn the_help_of_what_was_called_is_named() {
        for (line, expected) in [
            ("endless", "endless"),
            ("endless rendr x", "endless"),
            ("endless render --jsn list", "endless render"),
            ("/usr/bin/endless install hooks --x", "endless install hooks"),
        ] {
            let arguments: Vec<OsString> = line.split(' ').map(OsString::from).collect();
            assert_eq!(called(&arguments), expected, "{line}");
        }
    }
}
