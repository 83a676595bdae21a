//! A sandbox for the binary: a home of its own, an empty environment, a fixed time zone.
//!
//! Every run is checked for what holds of all commands: an error says one line on stderr and
//! nothing on stdout, and no control character leaves the program.

#![expect(clippy::unwrap_used, reason = "a sandbox that can't be set up is a failed test")]
#![expect(clippy::needless_pass_by_value, reason = "callers write `json!` in place")]

#[path = "harness/running.rs"]
mod running;

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Output},
    time::{Duration, SystemTime},
};

use serde_json::{Value, json};

pub(crate) use running::{Service, Transcript, equal, is_gone, said, said_in, until};

/// A home folder that is thrown away.
pub(crate) struct Sandbox {
    folder: tempfile::TempDir,
}

/// What a run gave.
pub(crate) struct Ran {
    pub(crate) status: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Sandbox {
    pub(crate) fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap() }
    }

    /// A path inside the home.
    pub(crate) fn path(&self, inside: &str) -> PathBuf {
        self.folder.path().join(inside)
    }

    /// Writes a transcript, `<project>/<id>`, last written to on the minute `minute` of a day.
    pub(crate) fn transcript(&self, name: &str, text: &str, minute: u64) -> PathBuf {
        let path = self.path(&format!(".claude/projects/{name}.jsonl"));
        self.write(&path, text);
        let day = SystemTime::UNIX_EPOCH + Duration::from_secs(1_796_032_800);
        let file = fs::File::options().append(true).open(&path).unwrap();
        file.set_modified(day + Duration::from_secs(60 * minute)).unwrap();
        path
    }

    pub(crate) fn write(&self, path: &Path, text: &str) {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    /// The binary in this home, with nothing in its environment but what is named here.
    pub(crate) fn command(&self) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_endless"));
        self.clear(&mut command);
        command
    }

    /// A shell in this home; `$endless` is the binary.
    pub(crate) fn shell(&self, script: &str) -> Ran {
        let mut command = Command::new("/bin/sh");
        self.clear(&mut command);
        command.env("endless", env!("CARGO_BIN_EXE_endless")).args(["-c", script]);
        self.ran(&command.output().unwrap())
    }

    pub(crate) fn clear(&self, command: &mut Command) {
        command.env_clear().env("HOME", self.folder.path()).env("TZ", "UTC");
        command.current_dir(self.folder.path());
    }

    #[must_use = "look at the output, or at the exit status"]
    pub(crate) fn run(&self, arguments: &[&str]) -> Ran {
        let ran = self.ran(&self.command().args(arguments).output().unwrap());
        if ran.status != 0 {
            assert_eq!(ran.stdout, "", "{arguments:?} failed and printed");
            assert_eq!(ran.stderr.lines().count(), 1, "{arguments:?}: {}", ran.stderr);
        }
        ran
    }

    /// The whole of a run as text, without what differs from run to run.
    #[must_use = "look at the output"]
    pub(crate) fn show(&self, arguments: &[&str]) -> String {
        self.run(arguments).show()
    }

    fn ran(&self, output: &Output) -> Ran {
        let home = self.folder.path().to_str().unwrap();
        let text = |bytes: &[u8]| {
            let text = std::str::from_utf8(bytes).unwrap();
            let control = text.chars().find(|c| c.is_control() && !matches!(c, '\n' | '\t'));
            assert_eq!(control, None, "{text:?}");
            text.replace(home, "~")
        };
        Ran {
            status: output.status.code().unwrap_or(-1),
            stdout: text(&output.stdout),
            stderr: text(&output.stderr),
        }
    }

    /// Every file below a folder of the home, with its text.
    pub(crate) fn files(&self, inside: &str) -> Vec<(PathBuf, String)> {
        let mut files = Vec::new();
        let mut folders = vec![self.path(inside)];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).into_iter().flatten() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    folders.push(path);
                } else {
                    let text = fs::read_to_string(&path).unwrap();
                    files.push((path, text));
                }
            }
        }
        files.sort();
        files
    }
}

impl Ran {
    /// The whole of it as text, without what differs from run to run.
    pub(crate) fn show(&self) -> String {
        let mut text = format!("exit {}\n", self.status);
        for (name, stream) in [("out", &self.stdout), ("err", &self.stderr)] {
            if !stream.is_empty() {
                text.push_str(&format!("--- {name}\n{}", stable(stream)));
            }
        }
        text
    }
}

/// A text without the times of this run.
pub(crate) fn stable(text: &str) -> String {
    let text = masked(text, "rendered: ", |char| !matches!(char, '·' | '\n'));
    let text = masked(&text, "\"milliseconds\": ", |char| char.is_ascii_digit());
    masked(&text, "archive/", |char| char.is_ascii_digit())
}

/// Puts `…` in place of the characters of this kind behind each mark.
fn masked(text: &str, mark: &str, is_part: fn(char) -> bool) -> String {
    let mut parts = text.split(mark);
    let mut masked = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let rest = part.trim_start_matches(is_part);
        let dots = if rest.len() == part.len() { "" } else { "…" };
        masked.push_str(&format!("{mark}{dots}{rest}"));
    }
    masked
}

/// The rows of a transcript, one minute apart, each following the one before.
#[derive(Default, Clone)]
pub(crate) struct Rows {
    rows: Vec<Value>,
    parent: Option<usize>,
}

impl Rows {
    pub(crate) fn new() -> Self {
        Self::default()
    }

    /// A prompt of the person.
    pub(crate) fn user(self, text: &str) -> Self {
        self.row("user", json!({"role": "user", "content": text}))
    }

    /// Words of the agent.
    pub(crate) fn agent(self, text: &str) -> Self {
        self.block("assistant", json!({"type": "text", "text": text}))
    }

    /// A tool call.
    pub(crate) fn call(self, id: &str, tool: &str, input: Value) -> Self {
        let block = json!({"type": "tool_use", "id": id, "name": tool, "input": input});
        self.block("assistant", block)
    }

    /// What a call gave.
    pub(crate) fn result(self, id: &str, content: impl Into<Value>) -> Self {
        let content = content.into();
        let block = json!({"type": "tool_result", "tool_use_id": id, "content": content});
        self.block("user", block)
    }

    /// The next row follows the row `index`, not the last one.
    pub(crate) fn after(mut self, index: usize) -> Self {
        self.parent = Some(index);
        self
    }

    fn block(self, kind: &str, block: Value) -> Self {
        self.row(kind, json!({"role": kind, "content": [block]}))
    }

    fn row(mut self, kind: &str, message: Value) -> Self {
        let number = self.rows.len();
        let parent = self.parent.map(|parent| format!("row-{parent}"));
        self.rows.push(json!({
            "type": kind, "uuid": format!("row-{number}"), "parentUuid": parent,
            "timestamp": format!("2026-11-30T10:{number:02}:00.000Z"), "isSidechain": false,
            "sessionId": "s", "cwd": "/w", "version": "2.1.332", "message": message,
        }));
        self.parent = Some(number);
        self
    }

    /// The same rows, with this member changed.
    pub(crate) fn with(mut self, key: &str, value: &Value) -> Self {
        for row in &mut self.rows {
            row[key] = value.clone();
        }
        self
    }

    pub(crate) fn text(&self) -> String {
        self.rows.iter().map(|row| format!("{row}\n")).collect()
    }
}
