//! The service itself: the real binary in a sandbox, and transcripts that are written as it runs.
//!
//! Nothing here sleeps for a while and hopes: everything waits until something holds.
use std::{
    ffi::OsStr,
    fs::{self, File},
    io::{BufRead, BufReader, Write},
    os::unix::net::UnixStream,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use super::Sandbox;

/// How long anything may take on a busy machine.
const PATIENCE: Duration = Duration::from_secs(20);
const PAUSE: Duration = Duration::from_millis(5);

/// A home with a service, which is killed at the end.
pub(crate) struct Service {
    pub(crate) sandbox: Sandbox,
    /// The binary that is started.
    pub(crate) program: PathBuf,
    child: Option<Child>,
}

impl Service {
    /// A home in which no service runs yet.
    pub(crate) fn down() -> Self {
        let program = PathBuf::from(env!("CARGO_BIN_EXE_endless"));
        Self { sandbox: Sandbox::new(), program, child: None }
    }

    /// A home in which a service runs.
    pub(crate) fn up() -> Self {
        let mut service = Self::down();
        service.start();
        service
    }

    /// Starts the service and waits until it answers.
    pub(crate) fn start(&mut self) {
        self.spawn();
        self.answers();
    }

    /// Starts the service.
    pub(crate) fn spawn(&mut self) {
        let mut command = Command::new(&self.program);
        self.clear(&mut command);
        self.spawn_as(command.arg("run"));
    }

    /// Starts a command as the service.
    pub(crate) fn spawn_as(&mut self, command: &mut Command) {
        assert!(self.child.is_none(), "it runs already");
        let log = File::options().create(true).append(true).open(self.log_path()).unwrap();
        let command = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(log);
        self.child = Some(command.spawn().unwrap());
    }

    /// Waits until the service answers.
    pub(crate) fn answers(&mut self) {
        until("the service answers", || {
            let child = self.child.as_mut().unwrap();
            let ended = child.try_wait().unwrap();
            assert!(ended.is_none(), "{ended:?}\n{}", self.log());
            UnixStream::connect(self.state("endless.sock")).is_ok()
        });
    }

    /// Any command of the binary in this home.
    pub(crate) fn command(&self) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_endless"));
        self.clear(&mut command);
        command
    }

    pub(crate) fn clear(&self, command: &mut Command) {
        self.sandbox.clear(command);
        command.env("ENDLESS_HOME", self.state(""));
    }

    /// A path in the state folder.
    pub(crate) fn state(&self, inside: &str) -> PathBuf {
        self.sandbox.path("state").join(inside)
    }

    /// What the service said.
    pub(crate) fn log(&self) -> String {
        fs::read_to_string(self.log_path()).unwrap_or_default()
    }

    fn log_path(&self) -> PathBuf {
        self.sandbox.path("service.log")
    }

    pub(crate) fn is_up(&self) -> bool {
        self.child.is_some()
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.as_ref().unwrap().id()
    }

    pub(crate) fn signal(&self, signal: Signal) {
        // Where it has ended, whoever waits for it will see.
        kill_process(Pid::from_child(self.child.as_ref().unwrap()), signal).ok();
    }

    /// Ends the service where it stands.
    pub(crate) fn kill(&mut self) {
        if let Some(mut child) = self.child.take() {
            child.kill().unwrap();
            child.wait().unwrap();
        }
    }

    /// Waits until the service has ended by itself: its exit status.
    pub(crate) fn ended(&mut self) -> i32 {
        until("the service ends", || self.has_ended());
        let status = self.child.take().unwrap().wait().unwrap();
        status.code().unwrap_or_else(|| panic!("{status}"))
    }

    pub(crate) fn has_ended(&mut self) -> bool {
        self.child.as_mut().unwrap().try_wait().unwrap().is_some()
    }

    /// What `endless status` says, with these arguments, and its exit status.
    pub(crate) fn status(&self, arguments: &[&str]) -> (i32, Value) {
        let output = self.command().args(["status", "--json"]).args(arguments).output().unwrap();
        let report = serde_json::from_slice(&output.stdout);
        (output.status.code().unwrap(), report.unwrap_or_else(|_| panic!("{output:?}")))
    }

    /// Waits until all that is on disk now was read.
    pub(crate) fn sync(&self) -> Value {
        let (status, report) = self.status(&["--sync"]);
        assert_eq!((status, &report["behind"]), (0, &json!(0)), "{report:#}\n{}", self.log());
        report
    }

    /// Waits until the service tells of troubles that hold this; what it tells.
    pub(crate) fn troubled(&self, said: &str) -> String {
        let mut troubles = String::new();
        let what = format!("`{said}` is told");
        until(&what, || {
            troubles = self.troubles();
            troubles.contains(said)
        });
        troubles
    }

    /// All that went wrong, a line each.
    pub(crate) fn troubles(&self) -> String {
        let (_, report) = self.status(&[]);
        let sessions = report["sessions"].as_array().into_iter().flatten();
        let of_sessions = sessions.map(|session| &session["trouble"]);
        let all = report["troubles"].as_array().into_iter().flatten().chain(of_sessions);
        all.filter_map(Value::as_str).map(|trouble| format!("{trouble}\n")).collect()
    }

    /// Waits until nothing is wrong any more.
    pub(crate) fn well(&self) {
        until("nothing is wrong", || self.status(&[]).0 == 0);
    }

    /// What the service knows of a session.
    pub(crate) fn session(&self, id: &str) -> Value {
        self.status(&[id]).1["sessions"][0].clone()
    }

    /// A raw line to the socket, and the reply.
    pub(crate) fn ask(&self, request: &Value) -> Value {
        let mut stream = UnixStream::connect(self.state("endless.sock")).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        let line = format!("{}\n", json!({"protocol": 1, "request": request}));
        stream.write_all(line.as_bytes()).unwrap();
        let mut reply = String::new();
        BufReader::new(stream).read_line(&mut reply).unwrap();
        serde_json::from_str::<Value>(&reply).unwrap()["reply"].clone()
    }

    pub(crate) fn bottle_path(&self, id: &str) -> PathBuf {
        self.state("bottles").join(format!("{id}.md"))
    }

    /// The bottle of a session, where there is one.
    pub(crate) fn bottle(&self, id: &str) -> Option<String> {
        fs::read_to_string(self.bottle_path(id)).ok()
    }

    /// The texts of the archived bottles.
    pub(crate) fn archive(&self) -> Vec<String> {
        let files = self.sandbox.files("state/bottles/archive");
        files.into_iter().map(|(_, text)| text).collect()
    }

    /// The bottle that a fresh state folder gives for a session (an id or a path).
    pub(crate) fn cold(&self, session: impl AsRef<OsStr>) -> String {
        let mut command = self.command();
        command.env("ENDLESS_HOME", self.sandbox.path("cold")).arg("render").arg("--stdout");
        let output = command.arg(session).output().unwrap();
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).unwrap()
    }

    /// Waits until a session's bottle is what a cold render gives; the bottle.
    pub(crate) fn current(&self, id: &str) -> String {
        self.current_with(id, id)
    }

    /// The same, where the session is not found by its id.
    pub(crate) fn current_with(&self, id: &str, session: impl AsRef<OsStr>) -> String {
        let cold = self.cold(session);
        let until = Instant::now() + PATIENCE;
        loop {
            let bottle = self.bottle(id).unwrap_or_default();
            if equal(&bottle, &cold) {
                return bottle;
            }
            assert!(
                Instant::now() < until,
                "the bottle of {id}:\n{bottle}\nis not\n{cold}\nservice: {}\n{}",
                self.status(&[]).1,
                self.log(),
            );
            thread::sleep(PAUSE);
        }
    }

    /// A transcript in the home.
    pub(crate) fn transcript(&self, project: &str, id: &str) -> Transcript {
        let path = self.sandbox.path(&format!(".claude/projects/{project}/{id}.jsonl"));
        Transcript { path }
    }
}

impl Drop for Service {
    #[expect(clippy::print_stderr, reason = "a failed test says what the service said")]
    fn drop(&mut self) {
        if thread::panicking() {
            eprintln!("{}", self.log());
        }
        self.kill();
    }
}

/// A transcript that is written to.
pub(crate) struct Transcript {
    pub(crate) path: PathBuf,
}

impl Transcript {
    /// Adds bytes at the end; folders and the file are made where they are missing.
    pub(crate) fn append(&self, text: &str) {
        fs::create_dir_all(self.path.parent().unwrap()).unwrap();
        let mut file = File::options().create(true).append(true).open(&self.path).unwrap();
        file.write_all(text.as_bytes()).unwrap();
    }

    /// Cuts the file to this length.
    pub(crate) fn truncate(&self, length: usize) {
        File::options().write(true).open(&self.path).unwrap().set_len(length as u64).unwrap();
    }

    /// Writes the file anew, in place.
    pub(crate) fn rewrite(&self, text: &str) {
        fs::write(&self.path, text).unwrap();
    }

    /// Puts another file in its place.
    pub(crate) fn replace(&self, text: &str) {
        let new = self.path.with_extension("new");
        fs::write(&new, text).unwrap();
        fs::rename(new, &self.path).unwrap();
    }

    pub(crate) fn delete(&self) {
        fs::remove_file(&self.path).unwrap();
    }

    pub(crate) fn rename(&self, id: &str) -> Self {
        let path = self.path.with_file_name(format!("{id}.jsonl"));
        fs::rename(&self.path, &path).unwrap();
        Self { path }
    }
}

/// Rows of a session: its person says `word <id> <number>.` and its agent answers.
pub(crate) fn said(id: &str, numbers: std::ops::Range<usize>) -> String {
    numbers.map(|number| said_in(id, number, "/w")).collect()
}

/// One question and its answer, in a working folder.
pub(crate) fn said_in(id: &str, number: usize, folder: &str) -> String {
    let row = |kind: &str, name: &str, parent: Option<String>, message: Value| {
        let row = json!({
            "type": kind, "uuid": format!("{id}-{name}{number}"), "parentUuid": parent,
            "timestamp": format!("2026-11-30T10:{:02}:00.000Z", number % 60),
            "isSidechain": false, "sessionId": id, "cwd": folder, "version": "2.1.332",
            "message": message,
        });
        format!("{row}\n")
    };
    let before = number.checked_sub(1).map(|before| format!("{id}-a{before}"));
    let asked = json!({"role": "user", "content": format!("word {id} {number}.")});
    let text = json!({"type": "text", "text": format!("answer {id} {number}.")});
    let answer = json!({"role": "assistant", "id": format!("m-{id}-{number}"), "content": [text]});
    let parent = Some(format!("{id}-u{number}"));
    row("user", "u", before, asked) + &row("assistant", "a", parent, answer)
}

/// Whether two bottles are equal but for the value of `rendered:`, which ends the second line.
pub(crate) fn equal(one: &str, other: &str) -> bool {
    without_rendered(one) == without_rendered(other)
}

fn without_rendered(text: &str) -> Option<(&str, &str, &str)> {
    const RENDERED: &str = " · rendered: ";
    let (first, rest) = text.split_once('\n')?;
    let (second, rest) = rest.split_once('\n')?;
    Some((first, &second[..second.rfind(RENDERED)?], rest))
}

/// Waits until something holds.
pub(crate) fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let end = Instant::now() + PATIENCE;
    while !holds() {
        assert!(Instant::now() < end, "not within {PATIENCE:?}: {what}");
        thread::sleep(PAUSE);
    }
}

/// Whether nothing of this name is there.
pub(crate) fn is_gone(path: &Path) -> bool {
    fs::symlink_metadata(path).is_err()
}
