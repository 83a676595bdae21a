//! One run of the client: lines of JSON in, lines of JSON out, and a deadline for everything.
use std::{
    fs::File,
    io::{BufRead, BufReader, Write},
    os::unix::process::CommandExt,
    process::{Child, ChildStdin, Command, Stdio},
    sync::{
        Arc,
        mpsc::{Receiver, channel},
    },
    thread,
    time::{Duration, Instant},
};

use rustix::process::{Pid, Signal, kill_process_group};
use serde_json::{Value, json};

use crate::{harness::until, model::Model};

/// How long anything may take on a busy machine.
const PATIENCE: Duration = Duration::from_secs(40);

/// A client that runs; it and all that it started are killed at the end.
pub(crate) struct Client {
    child: Child,
    stdin: Option<ChildStdin>,
    lines: Receiver<Value>,
    model: Arc<Model>,
    /// All that it printed so far, as far as anyone waited for it.
    seen: Vec<Value>,
}

impl Client {
    /// Starts it; what it says on stderr goes to this file.
    pub(crate) fn start(mut command: Command, model: Arc<Model>, stderr: File) -> Self {
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(stderr).process_group(0);
        let mut child = command.spawn().unwrap();
        let stdout = BufReader::new(child.stdout.take().unwrap());
        let (sender, lines) = channel();
        thread::spawn(move || {
            for line in stdout.lines().map_while(Result::ok) {
                if let Ok(value) = serde_json::from_str(&line) {
                    sender.send(value).ok();
                }
            }
        });
        let stdin = child.stdin.take();
        Self { child, stdin, lines, model, seen: Vec::new() }
    }

    /// Says something, or types a slash command.
    pub(crate) fn say(&mut self, words: &str) {
        if !words.starts_with('/') {
            self.model.hears(words);
        }
        let message = json!({"role": "user", "content": words});
        self.send(&json!({
            "type": "user", "message": message, "parent_tool_use_id": null, "session_id": "",
        }));
    }

    /// Says something and waits for the end of the turn: its result.
    pub(crate) fn ask(&mut self, words: &str) -> Value {
        self.say(words);
        self.result()
    }

    /// The result of the next turn that ends.
    pub(crate) fn result(&mut self) -> Value {
        self.prints("a result", |line| line["type"] == "result")
    }

    /// Presses Escape.
    pub(crate) fn interrupt(&mut self) {
        let request = json!({"subtype": "interrupt"});
        self.send(&json!({"type": "control_request", "request_id": "1", "request": request}));
    }

    /// Waits until it prints a line that holds this.
    pub(crate) fn prints(&mut self, what: &str, holds: impl Fn(&Value) -> bool) -> Value {
        let end = Instant::now() + PATIENCE;
        loop {
            let left = end.saturating_duration_since(Instant::now());
            let Ok(line) = self.lines.recv_timeout(left) else {
                panic!("the client never printed {what}, but {:#?}", self.seen);
            };
            self.seen.push(line.clone());
            if holds(&line) {
                return line;
            }
        }
    }

    /// Nothing more is said: waits until it has ended.
    pub(crate) fn end(mut self) {
        self.stdin = None;
        let mut status = None;
        until("the client ends", || {
            status = self.child.try_wait().unwrap();
            status.is_some()
        });
        let status = status.unwrap();
        assert!(status.success(), "the client ended with {status}");
    }

    fn send(&mut self, line: &Value) {
        let stdin = self.stdin.as_mut().unwrap();
        stdin.write_all(format!("{line}\n").as_bytes()).unwrap();
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        kill_process_group(Pid::from_child(&self.child), Signal::KILL).ok();
        self.child.wait().ok();
    }
}
