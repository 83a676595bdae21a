//! A home in which the service, the client and a model of our own meet.
//!
//! Nothing in it allows the agent to read outside of its project: what it may read, it may because
//! of Endless's hooks. A second, silent hook notes every event, so that a test knows what happened.
use std::{
    env, fs,
    fs::File,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
    process::Command,
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
};

use endless::{
    bottle::{Item, read_back},
    install::hooks::events::EVENTS,
};
use serde_json::{Value, json};

use crate::{
    harness::{Service, until},
    model::{Model, Reading, UNEXPECTED},
    process::Client,
    request::{Kind, Outcome, Request},
};

/// Endless's plugin in its marketplace, which is this repository.
const PLUGIN: &str = "endless@endless";
const KEY: &str = "a-key-for-nothing-0123456789-0123456789";
/// The host tells it hooks' words as the user's.
const MODEL: &str = "claude-sonnet-4-5-20250929";

pub(crate) struct Scene {
    pub(crate) service: Service,
    pub(crate) model: Arc<Model>,
    /// The session's id.
    pub(crate) id: String,
    /// More of the client's environment.
    pub(crate) environment: Vec<(&'static str, String)>,
}

impl Scene {
    /// The service runs, the hooks are installed.
    pub(crate) fn new() -> Self {
        let service = Service::up();
        let environment = vec![("ANTHROPIC_MODEL", MODEL.to_owned())];
        let model = Arc::new(Model::start());
        let scene = Self { service, model, id: new_id(), environment };
        for folder in ["project", "tmp", "bin", ".claude"] {
            fs::create_dir_all(scene.path(folder)).unwrap();
        }
        symlink(client(), scene.path("bin/claude")).unwrap();
        symlink(env!("CARGO_BIN_EXE_endless"), scene.path("bin/endless")).unwrap();
        scene.write(".claude.json", &scene.onboarded());
        scene.write("noted.json", &scene.noting());
        scene.install();
        scene
    }

    /// Compacts by itself from this many tokens on.
    pub(crate) fn window(mut self, tokens: u64) -> Self {
        self.environment.push(("CLAUDE_CODE_AUTO_COMPACT_WINDOW", tokens.to_string()));
        self
    }

    /// What a person who uses the client has answered once.
    fn onboarded(&self) -> Value {
        let project = self.project().to_str().unwrap().to_owned();
        json!({
            "hasCompletedOnboarding": true, "autoUpdates": false,
            "customApiKeyResponses": {"approved": [&KEY[KEY.len() - 20..]], "rejected": []},
            "projects": {project: {"hasTrustDialogAccepted": true}},
        })
    }

    /// Settings of the test: every event is noted, and commands and subagents are allowed.
    fn noting(&self) -> Value {
        let file = self.path("noted");
        let command = format!("{{ cat; echo; }} >> '{}'", file.display());
        let mut settings = hooks(&command);
        settings["permissions"] = json!({"allow": ["Bash", "Agent"]});
        settings
    }

    /// Installs Endless's hooks, as a person does: it finds the client on `PATH`.
    pub(crate) fn install(&self) {
        let said = self.endless(&["install", "hooks"]);
        assert!(said.contains(&format!("put {} hooks into ", EVENTS.len())), "{said}");
    }

    /// Takes Endless's hooks away.
    pub(crate) fn uninstall(&self) {
        let said = self.endless(&["uninstall", "hooks"]);
        assert!(said.contains("settings.json"), "{said}");
    }

    /// Installs Endless's plugin, as its README says. It goes by the client's environment.
    pub(crate) fn install_plugin(&mut self) {
        let home = self.service.state("").to_str().unwrap().to_owned();
        self.environment.push(("ENDLESS_HOME", home));
        let marketplace = env!("CARGO_MANIFEST_DIR");
        for arguments in [["marketplace", "add", marketplace].as_slice(), &["install", PLUGIN]] {
            let output = self.run(&client()).arg("plugin").args(arguments).output().unwrap();
            assert!(output.status.success(), "{output:?}");
        }
    }

    /// What a command of Endless prints, which does what it is to do.
    pub(crate) fn endless(&self, arguments: &[&str]) -> String {
        let program = self.path("bin/endless");
        let output = self.run(&program).args(arguments).output().unwrap();
        assert!(output.status.success(), "endless {arguments:?}: {output:?}");
        String::from_utf8(output.stdout).unwrap()
    }

    /// A program in this home.
    fn run(&self, program: &Path) -> Command {
        let mut command = Command::new(program);
        self.service.clear(&mut command);
        let folder = self.path("bin");
        command.env("PATH", format!("{}:/usr/local/bin:/usr/bin:/bin", folder.display()));
        command.current_dir(self.project());
        command
    }

    /// Changes the commands of an event's hooks; an empty one takes them away.
    pub(crate) fn change_hook(&self, event: &str, change: impl Fn(&str) -> String) {
        let path = self.path(".claude/settings.json");
        let mut settings: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
        let hook = &mut settings["hooks"][event][0]["hooks"][0]["command"];
        let command = change(hook.as_str().expect("a hook for the event"));
        if command.is_empty() {
            settings["hooks"].as_object_mut().unwrap().remove(event);
        } else {
            *hook = json!(command);
        }
        self.write(".claude/settings.json", &settings);
    }

    fn write(&self, inside: &str, value: &Value) {
        self.service.sandbox.write(&self.path(inside), &value.to_string());
    }

    pub(crate) fn path(&self, inside: &str) -> PathBuf {
        self.service.sandbox.path(inside)
    }

    pub(crate) fn project(&self) -> PathBuf {
        self.path("project")
    }

    /// Starts the client with this session.
    pub(crate) fn start(&self) -> Client {
        self.client(&["--session-id", &self.id])
    }

    /// Starts the client with the session as it was left.
    pub(crate) fn resume(&self) -> Client {
        self.client(&["--resume", &self.id])
    }

    /// Starts the client with another session that goes on from where this one was left.
    pub(crate) fn fork(&self) -> Client {
        self.client(&["--resume", &self.id, "--fork-session"])
    }

    /// Starts the client, to be talked to.
    pub(crate) fn client(&self, arguments: &[&str]) -> Client {
        let mut command = self.run(&client());
        command
            .env_remove("ENDLESS_HOME")
            .env("SHELL", "/bin/sh")
            .env("LANG", "C.UTF-8")
            .env("TMPDIR", self.path("tmp"))
            .env("IS_SANDBOX", "1")
            .env("ANTHROPIC_API_KEY", KEY)
            .env("ANTHROPIC_BASE_URL", self.model.address())
            .env("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1")
            .env("DISABLE_AUTOUPDATER", "1")
            .env("DISABLE_TELEMETRY", "1")
            .env("DISABLE_ERROR_REPORTING", "1")
            .envs(self.environment.iter().map(|(name, value)| (name, value)))
            .args(["-p", "--input-format", "stream-json", "--output-format", "stream-json"])
            .args(["--verbose", "--settings"])
            .arg(self.path("noted.json"))
            .args(arguments);
        let stderr = File::options().create(true).append(true).open(self.path("client.log"));
        Client::start(command, self.model.clone(), stderr.unwrap())
    }

    /// The payloads of all hooks so far, in order.
    pub(crate) fn noted(&self) -> Vec<Value> {
        let noted = fs::read_to_string(self.path("noted")).unwrap_or_default();
        noted.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
    }

    /// How often an event happened, with this in its payload.
    pub(crate) fn happened(&self, event: &str, key: &str, value: &str) -> usize {
        let noted = self.noted();
        let is_it = |payload: &&Value| payload["hook_event_name"] == event && payload[key] == value;
        noted.iter().filter(is_it).count()
    }

    /// How often it was asked whether a Read is allowed.
    pub(crate) fn asked_to_read(&self) -> usize {
        self.happened("PermissionRequest", "tool_name", "Read")
    }

    /// The transcript of a session.
    pub(crate) fn transcript(&self, id: &str) -> String {
        let files = self.service.sandbox.files(".claude/projects");
        let name = format!("{id}.jsonl");
        let file = files.into_iter().find(|(path, _)| path.ends_with(&name));
        file.map(|(_, text)| text).unwrap_or_default()
    }

    /// The numbers of the session's pointers in each request of the main conversation.
    pub(crate) fn pointers(&self) -> Vec<Vec<u32>> {
        let number = |(session, n): (String, u32)| {
            assert_eq!(session, self.id);
            n
        };
        let numbers = |found: Vec<_>| found.into_iter().map(number).collect();
        self.all_pointers().into_iter().map(numbers).collect()
    }

    /// The same where there are several sessions: of which, and the number.
    pub(crate) fn all_pointers(&self) -> Vec<Vec<(String, u32)>> {
        let of = |request: &Request| {
            let pointers = request.pointers().into_iter();
            pointers.map(|pointer| (pointer.session, pointer.n)).collect()
        };
        self.model.requests(Kind::Main).iter().map(of).collect()
    }

    /// What the agent read by pointers: every page came, and all that was said is on them.
    pub(crate) fn readings(&self) -> Vec<Reading> {
        let readings = self.model.readings();
        for reading in &readings {
            check(reading);
        }
        readings
    }

    /// The bottle of a session, once it is current: it has these legs and all of these words.
    pub(crate) fn bottle(&self, id: &str, legs: usize, words: &[String]) -> String {
        let bottle = self.service.current(id);
        let header = format!(" · legs: {legs} · ");
        assert!(bottle.contains(&header), "{header} in {bottle}");
        has_all(&messages_of(&bottle), words);
        bottle
    }

    /// The script was followed to its end, and nothing went wrong in the service.
    pub(crate) fn end(self) {
        assert_eq!(self.model.left(), 0, "turns that nobody asked for");
        let unexpected = self.model.said().iter().any(|words| words.contains(UNEXPECTED));
        assert!(!unexpected, "more was asked than there are turns");
        assert_eq!(self.service.troubles(), "");
    }

    /// What a person needs to see where a scenario fails.
    fn tell(&self) -> String {
        let mut told = String::new();
        for request in self.model.everything() {
            let texts = request.texts();
            let last = texts.last().map(|text| text.chars().take(300).collect::<String>());
            let pointers: Vec<_> = request.pointers().iter().map(|pointer| pointer.n).collect();
            told += &format!("{:?}, pointers {pointers:?}: {last:?}\n", request.kind);
        }
        for payload in self.noted() {
            let payload: String = payload.to_string().chars().take(400).collect();
            told += &format!("{payload}\n");
        }
        for log in ["client.log", "state/logs/hooks.log"] {
            told += &fs::read_to_string(self.path(log)).unwrap_or_default();
        }
        told
    }
}

impl Drop for Scene {
    #[expect(clippy::print_stderr, reason = "a failed test says what happened")]
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("{}", self.tell());
        }
    }
}

/// Every page of a reading came whole, and together they hold all that was said.
fn check(reading: &Reading) {
    let copy = fs::read_to_string(reading.pointer.path()).unwrap();
    for ((first, last), page) in reading.pages() {
        came(page, &copy, first, last);
    }
    let mut messages = Vec::new();
    for (path, whole) in reading.others() {
        let other = fs::read_to_string(path).unwrap();
        came(whole, &other, 1, usize::MAX);
        messages.extend(messages_of(&other));
    }
    let read = reading.text();
    for words in &reading.said {
        assert!(read.contains(words.as_str()), "`{words}` was not read:\n{read}");
    }
    messages.extend(messages_of(&copy));
    has_all(&messages, &reading.said);
}

/// A Read gave these lines of a file.
fn came(page: &Outcome, file: &str, first: usize, last: usize) {
    assert!(!page.failed, "Read of {first}-{last}: {}", page.text);
    // To the host, an empty line stands behind the last line feed.
    let lines = file.split('\n').enumerate().map(|(index, line)| (index + 1, line));
    let expected: Vec<_> = lines.filter(|(number, _)| (first..=last).contains(number)).collect();
    assert_eq!(page.numbered(), expected, "Read of {first}-{last} of\n{file}");
}

/// Settings with this command for every event.
fn hooks(command: &str) -> Value {
    let entry = json!([{"hooks": [{"type": "command", "command": command}]}]);
    let hooks = EVENTS.iter().map(|event| (event.name.to_owned(), entry.clone()));
    json!({"hooks": hooks.collect::<serde_json::Map<_, _>>()})
}

fn messages_of(bottle: &str) -> Vec<String> {
    let items = read_back(bottle).expect("a bottle").into_iter();
    items
        .filter_map(|item| match item {
            Item::Message { text, .. } => Some(text),
            Item::Placeholder(_) => None,
        })
        .collect()
}

/// These words are among the messages, in this order.
fn has_all(messages: &[String], words: &[String]) {
    let mut left = messages.iter();
    for words in words {
        assert!(left.any(|message| message == words), "`{words}` in its place in {messages:#?}");
    }
}

/// The client's binary.
fn client() -> PathBuf {
    let program = env::var_os("ENDLESS_TEST_CLIENT");
    program.expect("ENDLESS_TEST_CLIENT, the client's binary: tests/client/run").into()
}

/// The numbers of the pointers that were read by, in order.
pub(crate) fn numbers(readings: &[Reading]) -> Vec<u32> {
    readings.iter().map(|reading| reading.pointer.n).collect()
}

/// Waits until a file is there.
pub(crate) fn appears(path: &std::path::Path) {
    until(&format!("{} is there", path.display()), || path.exists());
}

/// An id that no other session has.
pub(crate) fn new_id() -> String {
    static NEXT: AtomicU32 = AtomicU32::new(1);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    format!("{:08x}-0000-4000-8000-{number:012x}", std::process::id())
}
