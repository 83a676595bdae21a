//! How a command ends.

use std::{error::Error, fmt, io, process};

use super::output;

/// The exit status of the program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Exit {
    /// What was asked for is done, or its reader has gone.
    Done = 0,
    /// It could not be done: not found, not readable, not writable.
    Failed = 1,
    /// It was not asked for rightly: an unknown option, a malformed id, an ambiguous prefix.
    Usage = 2,
    /// The service ended because its binary was replaced: start it again (`EX_TEMPFAIL`).
    Replaced = 75,
}

impl From<Exit> for process::ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit as u8)
    }
}

/// Why a command stopped.
#[derive(Debug)]
pub(super) struct Failure {
    pub(super) exit: Exit,
    message: String,
}

impl Failure {
    /// The command could not be carried out.
    pub(super) fn failed(message: impl fmt::Display) -> Self {
        Self { exit: Exit::Failed, message: message.to_string() }
    }

    /// The command was not asked for rightly.
    pub(super) fn usage(message: impl fmt::Display) -> Self {
        Self { exit: Exit::Usage, message: message.to_string() }
    }

    /// Nothing went wrong that needs words.
    pub(super) fn ended(exit: Exit) -> Self {
        Self { exit, message: String::new() }
    }

    /// It is said, and the program ends as if all were well.
    pub(super) fn harmless(self) -> Self {
        Self { exit: Exit::Done, ..self }
    }

    /// What is wrong was printed already.
    pub(super) fn told() -> Self {
        Self { exit: Exit::Failed, message: String::new() }
    }

    /// A write to stdout failed; where its reader has gone all is well.
    pub(super) fn of_stdout(error: &io::Error) -> Self {
        if error.kind() == io::ErrorKind::BrokenPipe {
            return Self { exit: Exit::Done, message: String::new() };
        }
        Self::failed(format_args!("can't write to stdout: {error}"))
    }

    /// Says it on stderr.
    pub(super) fn report(&self) {
        if !self.message.is_empty() {
            output::error(&self.message);
        }
    }
}

impl<E: Error + Send + Sync + 'static> From<E> for Failure {
    fn from(error: E) -> Self {
        Self::failed(format_args!("{:#}", anyhow::Error::new(error)))
    }
}
