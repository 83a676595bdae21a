//! The host's hooks: the real binary, called as the host calls it, whatever is amiss around it.
//!
//! Every call is checked for what holds of all: status 0, nothing on stderr, nothing or one JSON
//! object on stdout, and an end within a time that is generous for a busy machine.
mod clear;
mod deliveries;
mod faults;
mod gone;
mod outages;
mod payloads;
mod permission;
mod private;
mod seals;
mod servers;
mod switches;
mod talk;

use std::{
    fs::{self, File},
    io::{Read, Write},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use serde_json::Value;

use crate::harness::{Service, until};
pub(crate) use talk::Talk;

/// Longer than any hook takes on a busy machine; the longest may take two seconds by itself.
const LONGEST: Duration = Duration::from_secs(8);

/// A hook that was started.
pub(crate) struct Hook {
    child: Child,
    began: Instant,
}

/// What a hook gave.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) stdout: String,
    pub(crate) took: Duration,
}

/// A pointer, as the model is given it.
#[derive(Debug, Clone)]
pub(crate) struct Pointer {
    pub(crate) n: u32,
    pub(crate) path: PathBuf,
    pub(crate) text: String,
}

impl Hook {
    /// Starts a hook that waits for its payload.
    pub(crate) fn waiting(service: &Service) -> Self {
        Self::start(service.command().args(["hook", "claude-code"]))
    }

    pub(crate) fn start(command: &mut Command) -> Self {
        let command = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        Self { child: command.spawn().unwrap(), began: Instant::now() }
    }

    /// Gives it its payload.
    pub(crate) fn given(mut self, payload: &[u8]) -> Self {
        self.began = Instant::now();
        // It may have refused already.
        self.child.stdin.take().unwrap().write_all(payload).ok();
        self
    }

    /// Gives it a payload, and leaves its stdin open.
    pub(crate) fn given_and_left_open(mut self, payload: &[u8]) -> Self {
        self.began = Instant::now();
        self.child.stdin.as_mut().unwrap().write_all(payload).unwrap();
        self
    }

    pub(crate) fn has_ended(&mut self) -> bool {
        self.child.try_wait().unwrap().is_some()
    }

    /// Ends it where it stands.
    pub(crate) fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Waits for its end.
    pub(crate) fn answer(mut self) -> Answer {
        let end = Instant::now() + LONGEST;
        while !self.has_ended() {
            if Instant::now() > end {
                self.child.kill().unwrap();
                panic!("a hook did not end within {LONGEST:?}");
            }
            thread::sleep(Duration::from_millis(1));
        }
        let took = self.began.elapsed();
        let (mut stdout, mut stderr) = (String::new(), String::new());
        self.child.stdout.take().unwrap().read_to_string(&mut stdout).unwrap();
        self.child.stderr.take().unwrap().read_to_string(&mut stderr).unwrap();
        let status = self.child.wait().unwrap();
        assert_eq!((status.code(), stderr.as_str()), (Some(0), ""), "{stdout}");
        if !stdout.is_empty() {
            let value: Value = serde_json::from_str(&stdout).unwrap();
            assert!(value.is_object() && stdout.trim_end().lines().count() == 1, "{stdout}");
        }
        Answer { stdout, took }
    }
}

impl Answer {
    pub(crate) fn is_silent(&self) -> bool {
        self.stdout.is_empty()
    }

    /// The pointer that it prints, whose file is there.
    pub(crate) fn pointer(&self) -> Option<Pointer> {
        if self.is_silent() {
            return None;
        }
        let value: Value = serde_json::from_str(&self.stdout).unwrap();
        let text = value["hookSpecificOutput"]["additionalContext"].as_str().unwrap();
        assert!(text.encode_utf16().count() <= 9_500);
        let (_, rest) = text.split_once("\" n=\"").unwrap();
        let n = rest.split_once('"').unwrap().0.parse().unwrap();
        let path = text.lines().find(|line| line.starts_with('/') && line.ends_with(".md"));
        let path = PathBuf::from(path.unwrap());
        assert!(path.exists(), "{}", path.display());
        Some(Pointer { n, path, text: text.to_owned() })
    }
}

impl Pointer {
    /// The file that it names, whose lines its ranges fit.
    pub(crate) fn copy(&self) -> String {
        let copy = fs::read_to_string(&self.path).unwrap();
        let lines = copy.lines().count();
        assert!(self.text.contains(&format!("\nlines: {lines} ·")), "{lines}\n{}", self.text);
        let ranges = self.text.lines().filter_map(|line| line.strip_prefix("- lines "));
        for range in ranges {
            let (first, rest) = range.split_once('-').unwrap();
            let last = rest.split_once(' ').unwrap().0;
            let (first, last): (usize, usize) = (first.parse().unwrap(), last.parse().unwrap());
            assert!(0 < first && first <= last && last <= lines, "{range} of {lines}");
        }
        copy
    }
}

/// Calls a hook.
pub(crate) fn call(service: &Service, payload: &Value) -> Answer {
    Hook::waiting(service).given(payload.to_string().as_bytes()).answer()
}

/// The prints that `endless.db` knows of a session: number, and the boundary where it is bound.
pub(crate) fn prints(service: &Service, id: &str) -> Vec<(u32, Option<String>)> {
    query(service, "SELECT n, boundary FROM deliveries WHERE session = ?1 ORDER BY n", id)
}

fn query(service: &Service, sql: &str, id: &str) -> Vec<(u32, Option<String>)> {
    let flags = rusqlite::OpenFlags::SQLITE_OPEN_READ_ONLY;
    let Ok(database) = rusqlite::Connection::open_with_flags(service.state("endless.db"), flags)
    else {
        return Vec::new();
    };
    let Ok(mut statement) = database.prepare(sql) else { return Vec::new() };
    let rows = statement.query_map([id], |row| Ok((row.get(0)?, row.get(1)?))).unwrap();
    rows.map(Result::unwrap).collect()
}

/// What went wrong in hooks.
pub(crate) fn log(service: &Service) -> String {
    fs::read_to_string(service.state("logs/hooks.log")).unwrap_or_default()
}

/// The session's words are read, and its bottle is written.
pub(crate) fn settled(service: &Service, talk: &Talk) -> String {
    service.sync();
    service.current(&talk.id)
}

/// Everything below a folder, with size and time of change, but for one folder in it.
pub(crate) fn everything(folder: &Path, but: &Path) -> Vec<(PathBuf, u64, Vec<u8>)> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).into_iter().flatten() {
            let path = entry.unwrap().path();
            if path == but {
                continue;
            }
            let data = fs::symlink_metadata(&path).unwrap();
            let mut bytes = Vec::new();
            if data.is_dir() {
                folders.push(path.clone());
            } else if data.is_file() {
                File::open(&path).unwrap().read_to_end(&mut bytes).unwrap();
            }
            found.push((path, data.len(), bytes));
        }
    }
    found.sort();
    found
}

/// Waits until the service has bound what it printed to the boundary that was written.
pub(crate) fn bound(service: &Service, talk: &Talk, n: u32) {
    until("the print is bound", || {
        prints(service, &talk.id)
            .iter()
            .any(|(number, boundary)| *number == n && boundary.is_some())
    });
}
