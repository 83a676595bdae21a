//! The only module that prints.
//!
//! Invariant: nothing that comes from data reaches a terminal with a control character in it, but
//! for newline and tab; they are shown as pictures. Colours are ours, and only on a terminal.
//! Refuses: to fail where a reader has gone, or where stderr can't be written to.

use std::{
    io::{IsTerminal, Write},
    time::{Duration, Instant},
};

use clap::builder::StyledStr;
use owo_colors::OwoColorize;
use serde::Serialize;

use super::failure::Failure;
use crate::text::line::{normalise, plain_line};

/// Characters of a line on stderr.
const LINE: usize = 2_000;
/// How long a command may be silent.
const PATIENCE: Duration = Duration::from_secs(1);

/// Something to be printed whole.
#[derive(Default)]
pub(super) struct Page {
    text: String,
}

impl Page {
    /// Adds text.
    pub(super) fn plain(&mut self, text: &str) {
        self.text.push_str(&normalise(text));
    }

    /// Adds text that stands out.
    pub(super) fn strong(&mut self, text: &str) {
        self.text.push_str(&normalise(text).bold().to_string());
    }

    /// Adds text that steps back.
    pub(super) fn faint(&mut self, text: &str) {
        self.text.push_str(&normalise(text).dimmed().to_string());
    }

    /// What it says, without colours.
    #[cfg(test)]
    pub(super) fn text(&self) -> String {
        anstream::adapter::strip_str(&self.text).to_string()
    }

    /// Prints it to stdout.
    pub(super) fn print(&self) -> Result<(), Failure> {
        write(self.text.as_bytes())
    }

    /// Prints it in place of what the terminal shows; line by line, so that nothing flickers.
    pub(super) fn redraw(&self) -> Result<(), Failure> {
        let lines = self.text.replace('\n', "\x1b[K\n");
        write(format!("\x1b[H{lines}\x1b[J").as_bytes())
    }
}

/// Prints text to stdout.
pub(super) fn print(text: &str) -> Result<(), Failure> {
    write(normalise(text).as_bytes())
}

/// Prints a value as JSON to stdout.
pub(super) fn json(value: &impl Serialize) -> Result<(), Failure> {
    let text = serde_json::to_string_pretty(value)?;
    print(&(without_escapes(&text) + "\n"))
}

/// Whether what is printed is seen at once.
pub(super) fn is_terminal() -> bool {
    std::io::stdout().is_terminal()
}

/// Prints clap's own text.
pub(super) fn help(text: &StyledStr) -> Result<(), Failure> {
    write(text.ansi().to_string().as_bytes())
}

fn write(bytes: &[u8]) -> Result<(), Failure> {
    let mut stdout = anstream::stdout().lock();
    let written = stdout.write_all(bytes).and_then(|()| stdout.flush());
    written.map_err(|error| Failure::of_stdout(&error))
}

/// Says on stderr that something failed.
pub(super) fn error(text: &str) {
    say(&format!("{} {}", "error:".red().bold(), plain_line(text, LINE)));
}

/// Says on stderr what is worth knowing.
pub(super) fn note(text: &str) {
    say(&format!("{} {}", "note:".bold(), plain_line(text, LINE)));
}

/// The log of a service in the foreground: lines on stderr.
pub(super) fn log() -> Log {
    Log
}

/// See [`log`].
pub(super) struct Log;

impl Write for Log {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        let text = String::from_utf8_lossy(bytes);
        // A log that nobody can read any more is no reason to end.
        drop(std::io::stderr().lock().write_all(normalise(&text).as_bytes()));
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// Asks a person, who must be there, whether to go on.
pub(super) fn confirm(question: &str) -> Result<(), Failure> {
    if !(std::io::stdin().is_terminal() && is_watched()) {
        return Err(Failure::usage(
            "nobody is there to be asked; look with --dry-run, then add --yes",
        ));
    }
    drop(write!(anstream::stderr().lock(), "{} [y/N] ", plain_line(question, LINE)));
    let mut answer = String::new();
    std::io::stdin().read_line(&mut answer)?;
    match answer.trim().to_lowercase().as_str() {
        "y" | "yes" => Ok(()),
        _ => Err(Failure::failed("nothing was done")),
    }
}

fn say(line: &str) {
    drop(writeln!(anstream::stderr().lock(), "{line}"));
}

/// JSON in which the escapes of control characters are their pictures.
fn without_escapes(json: &str) -> String {
    let mut clean = String::with_capacity(json.len());
    let mut rest = json;
    while let Some(at) = rest.find('\\') {
        clean.push_str(&rest[..at]);
        let length = if rest[at..].starts_with("\\u") { 6 } else { 2 };
        let (escape, after) = rest[at..].split_at_checked(length).unwrap_or((&rest[at..], ""));
        match control(escape) {
            Some(char) => clean.push_str(&normalise(char.encode_utf8(&mut [0; 4]))),
            None => clean.push_str(escape),
        }
        rest = after;
    }
    clean.push_str(rest);
    clean
}

/// The control character that is neither newline nor tab and is escaped so.
fn control(escape: &str) -> Option<char> {
    match escape {
        "\\b" => Some('\u{8}'),
        "\\f" => Some('\u{c}'),
        "\\r" => None,
        _ => char::from_u32(u32::from_str_radix(escape.strip_prefix("\\u")?, 16).ok()?),
    }
}

/// Tells a person who waits how far a command is.
pub(super) struct Progress {
    started: Instant,
    shown: bool,
}

impl Progress {
    pub(super) fn start() -> Self {
        Self { started: Instant::now(), shown: false }
    }

    /// Shows the step that is reached, if it has taken long and somebody looks.
    pub(super) fn reached(&mut self, what: &str, step: usize, of: usize) {
        if step.is_multiple_of(64) && self.started.elapsed() > PATIENCE && is_watched() {
            self.shown = true;
            drop(write!(anstream::stderr().lock(), "\r{what} {step} of {of}"));
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if self.shown {
            drop(write!(anstream::stderr().lock(), "\r\x1b[K"));
        }
    }
}

fn is_watched() -> bool {
    std::io::stderr().is_terminal()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_keeps_no_escaped_control_characters() {
        let text = "a\u{1b}[1m\u{8}\u{c}\n\t\"\\u001b\\ \u{0}é";
        let json = without_escapes(&serde_json::to_string(text).unwrap());
        let read: String = serde_json::from_str(&json).unwrap();
        assert_eq!(read, "a␛[1m␈␌\n\t\"\\u001b\\ ␀é");
    }

    #[test]
    fn pages_hold_no_control_characters_of_others() {
        let mut page = Page::default();
        page.plain("a\x1b]0;x\x07\r\n\u{9b}");
        assert_eq!(page.text, "a␛]0;x␇\n\u{fffd}");
        page.strong("\x1b");
        assert_eq!(anstream::adapter::strip_str(&page.text).to_string(), "a␛]0;x␇\n\u{fffd}␛");
    }
}
