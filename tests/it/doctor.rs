//! `doctor`, `config` and `forget` as a person meets them.

use std::{
    fs,
    os::unix::fs::{PermissionsExt, symlink},
    path::PathBuf,
    process::{Child, Stdio},
    thread,
    time::{Duration, SystemTime},
};

use insta::assert_snapshot;
use serde_json::{Value, json};

use crate::harness::{Ran, Rows, Sandbox};

/// The program in a sandbox in which no tool is on PATH.
fn run(sandbox: &Sandbox, arguments: &str) -> Ran {
    sandbox.shell(&format!("PATH=/no; export PATH; $endless {arguments}"))
}

/// What `doctor` says, without what differs from machine to machine.
fn doctor(sandbox: &Sandbox) -> String {
    let text = run(sandbox, "doctor").show();
    let is_same = |line: &&str| !line.contains(" watches  ") && !line.contains(" disk  ");
    text.lines().filter(is_same).collect::<Vec<_>>().join("\n")
}

fn with_a_session() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.transcript("-w/0b9f2c1e", &Rows::new().user("Fix it").agent("Done.").text(), 0);
    sandbox
}

/// A sandbox with a session that was kept.
fn healthy() -> Sandbox {
    let sandbox = with_a_session();
    assert_eq!(sandbox.run(&["render", "0b9f"]).status, 0);
    sandbox
}

#[test]
fn all_that_can_be_well_without_a_service_is() {
    let sandbox = healthy();
    let settings = sandbox.path(".claude/settings.json");
    sandbox.write(&settings, r#"{"cleanupPeriodDays": 365}"#);
    assert_snapshot!(doctor(&sandbox), @"
    exit 1
    --- out
    ok       configuration  there is no ~/.endless/config.toml; the defaults hold
    ok       roots          ~/.claude: 1 session
    ok       retention      Claude Code deletes transcripts after 365 days (~/.claude/settings.json says so); bottles stay
    ok       state folder   ~/.endless is yours alone (mode 700) and writable
    ok       database       there is no ~/.endless/endless.db yet; the service makes it
    problem  service        not running: no bottle is brought up to date
                            → `endless install service`, or `endless run --detach`
    warn     unit           nothing starts the service by itself: there is neither systemctl nor launchctl on PATH
                            → start it yourself after a restart: `endless run --detach`
    warn     hooks          ~/.claude/settings.json has none: no session gets its bottle after a compaction
                            → `endless install hooks`
    ok       claude-mem     claude-mem is not there: there is no ~/.claude-mem/claude-mem.db; lines are derived from the transcripts
    ");
    let before = sandbox.files("");
    assert_eq!(run(&sandbox, "doctor").status, 1);
    assert_eq!(sandbox.files(""), before);
}

#[test]
fn a_fresh_machine_is_told_where_is_looked() {
    assert_snapshot!(doctor(&Sandbox::new()), @"
    exit 1
    --- out
    ok       configuration  there is no ~/.endless/config.toml; the defaults hold
    warn     roots          no transcript yet: there is no ~/.claude/projects and no ~/.config/claude/projects
                            → start Claude Code once; if its folder lies elsewhere, set `roots` or CLAUDE_CONFIG_DIR
    ok       state folder   there is no ~/.endless yet; it is made when it is needed
    problem  service        not running: no bottle is brought up to date
                            → `endless install service`, or `endless run --detach`
    warn     unit           nothing starts the service by itself: there is neither systemctl nor launchctl on PATH
                            → start it yourself after a restart: `endless run --detach`
    warn     hooks          ~/.claude/settings.json has none: no session gets its bottle after a compaction
                            → `endless install hooks`
    ok       claude-mem     claude-mem is not there: there is no ~/.claude-mem/claude-mem.db; lines are derived from the transcripts
    ");
}

#[test]
fn a_unit_and_its_manager_are_looked_at() {
    let sandbox = healthy();
    tools(&sandbox, &[("systemctl", "echo enabled"), ("loginctl", "echo no")]);
    let look = |sandbox: &Sandbox| {
        let ran = sandbox.shell("PATH=$HOME/bin $endless doctor");
        let lines = ran.stdout.lines().skip_while(|line| !line.contains(" unit "));
        lines.collect::<Vec<_>>().join("\n")
    };
    assert_snapshot!(look(&sandbox), @"
    warn     unit           not installed: there is no ~/.config/systemd/user/endless.service, and nothing starts the service by itself
                            → `endless install service`
    warn     hooks          ~/.claude/settings.json has none: no session gets its bottle after a compaction
                            → `endless install hooks`
    ok       claude-mem     claude-mem is not there: there is no ~/.claude-mem/claude-mem.db; lines are derived from the transcripts
    ");
    assert_eq!(sandbox.shell("PATH=$HOME/bin $endless install service").status, 0);
    assert_snapshot!(look(&sandbox), @"
    ok       unit           ~/.config/systemd/user/endless.service is current, and starts the service at login
    warn     linger         the service ends when you log out
                            → `loginctl enable-linger` keeps it running
    warn     hooks          ~/.claude/settings.json has none: no session gets its bottle after a compaction
                            → `endless install hooks`
    ok       claude-mem     claude-mem is not there: there is no ~/.claude-mem/claude-mem.db; lines are derived from the transcripts
    ");
    let unit = sandbox.path(".config/systemd/user/endless.service");
    let text = fs::read_to_string(&unit).unwrap();
    sandbox.write(&unit, &text.replace("ExecStart=", "ExecStart=/old"));
    assert!(look(&sandbox).contains("for another program, version or environment"));
    sandbox.write(&sandbox.path("bin/systemctl"), "#!/bin/sh\n[ $2 != is-enabled ]\n");
    assert!(look(&sandbox).starts_with("problem  unit"), "{}", look(&sandbox));
}

#[test]
fn what_is_wrong_is_named_with_what_to_do() {
    let sandbox = healthy();
    let bottles = sandbox.path(".endless/bottles");
    fs::set_permissions(&bottles, fs::Permissions::from_mode(0o777)).unwrap();
    fs::set_permissions(sandbox.path(".endless"), fs::Permissions::from_mode(0o755)).unwrap();
    fs::write(sandbox.path(".endless/endless.db"), "no database ".repeat(1_000)).unwrap();
    sandbox.write(&sandbox.path(".endless/config.toml"), "enabled = false\nroots = ['~/no']\n");
    assert_snapshot!(doctor(&sandbox), @"
    exit 1
    --- out
    ok       configuration  ~/.endless/config.toml is understood
    warn     switch         Endless is switched off: no session is kept
                            → set `enabled = true` in ~/.endless/config.toml
    problem  roots          there is no ~/no/projects
                            → mend `roots` (config.toml:2), or start Claude Code once
    warn     state folder   others can look into ~/.endless
                            → `chmod 700 ~/.endless`
    problem  state folder   others can write to ~/.endless/bottles
                            → `chmod 700 ~/.endless/bottles`
    problem  database       ~/.endless/endless.db is damaged: file is not a database
                            → (re)start the service, which moves it aside and goes on with a new one (bottles and transcripts are not in it)
    problem  service        not running: no bottle is brought up to date
                            → `endless install service`, or `endless run --detach`
    warn     unit           nothing starts the service by itself: there is neither systemctl nor launchctl on PATH
                            → start it yourself after a restart: `endless run --detach`
    ok       claude-mem     claude-mem is not there: there is no ~/.claude-mem/claude-mem.db; lines are derived from the transcripts
    ");
    sandbox.write(&sandbox.path(".endless/config.toml"), "\nroot = []\n");
    sandbox.write(&sandbox.path(".claude/settings.json"), r#"{"cleanupPeriodDays": 0}"#);
    let ran = run(&sandbox, "doctor");
    assert!(ran.stdout.contains("config.toml, line 2: unknown key `root`"), "{}", ran.stdout);
    assert!(ran.stdout.contains("Claude Code keeps no transcripts"), "{}", ran.stdout);
}

#[test]
fn what_can_not_be_written_is_a_problem() {
    let sandbox = healthy();
    let home = sandbox.path(".endless");
    fs::set_permissions(&home, fs::Permissions::from_mode(0o500)).unwrap();
    let is_root = fs::write(home.join("x"), "").is_ok();
    let ran = run(&sandbox, "doctor");
    fs::set_permissions(&home, fs::Permissions::from_mode(0o700)).unwrap();
    // Root writes everywhere.
    let said = ran.stdout.contains("can't write to ~/.endless: Permission denied");
    assert!(said != is_root && ran.status == 1, "{}", ran.stdout);
}

#[test]
fn a_service_that_is_gone_or_hangs_is_told_from_one_that_never_was() {
    let sandbox = healthy();
    let lock = sandbox.path(".endless/service.lock");
    let host = rustix::system::uname().nodename().to_string_lossy().into_owned();
    let holder = |pid: u32| json!({"pid": pid, "host": host, "version": "0.1.0"}).to_string();
    sandbox.write(&lock, &holder(std::process::id()));
    assert!(run(&sandbox, "doctor").stdout.contains("has the lock, and does not listen"));
    sandbox.write(&lock, &holder(4_000_000));
    assert!(run(&sandbox, "doctor").stdout.contains("not running: no bottle"));
    sandbox.write(&lock, "{");
    assert!(run(&sandbox, "doctor").stdout.contains("not running: no bottle"));
}

/// A service in a sandbox, until it is dropped.
struct Service(Child);

impl Service {
    fn start(sandbox: &Sandbox) -> Self {
        let mut command = sandbox.command();
        let child = command.arg("run").stderr(Stdio::null()).spawn().unwrap();
        let service = Self(child);
        for _ in 0..500 {
            if run(sandbox, "doctor").stdout.contains("running, process") {
                return service;
            }
            thread::sleep(Duration::from_millis(20));
        }
        panic!("the service does not answer");
    }

    /// Waits until it has ended by itself.
    fn ended(mut self) -> bool {
        self.0.wait().unwrap().success()
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        self.0.kill().ok();
        self.0.wait().ok();
    }
}

/// Fakes of the machine's tools.
fn tools(sandbox: &Sandbox, tools: &[(&str, &str)]) {
    for (name, script) in tools {
        let tool = sandbox.path(&format!("bin/{name}"));
        sandbox.write(&tool, &format!("#!/bin/sh\n{script}\n"));
        fs::set_permissions(&tool, fs::Permissions::from_mode(0o755)).unwrap();
    }
}

#[test]
fn with_a_service_all_is_well() {
    let sandbox = healthy();
    tools(&sandbox, &[("systemctl", "echo enabled"), ("loginctl", "echo yes")]);
    assert_eq!(sandbox.shell("PATH=$HOME/bin $endless install").status, 0);
    let service = Service::start(&sandbox);
    let ran = sandbox.shell("PATH=$HOME/bin $endless doctor");
    let of_this_machine = |line: &str| line.contains(" disk  ") || line.contains(" watches  ");
    let mut lines = ran.stdout.lines().filter(|line| !of_this_machine(line));
    assert!(ran.status == 0 && lines.all(|line| line.starts_with("ok ")), "{}", ran.stdout);
    assert!(ran.stdout.contains("sound; start 1 of the service"), "{}", ran.stdout);
    drop(service);
}

#[test]
fn a_service_that_runs_forgets_and_does_not_write_again() {
    let sandbox = kept();
    let service = Service::start(&sandbox);
    assert_eq!(run(&sandbox, "forget aa1 aa2 cc --yes").status, 0);
    assert_eq!(bottles(&sandbox), ["bb.md"]);
    // The bottle of a forgotten session stays away, whatever happens to its transcript.
    sandbox.transcript("-w/aa1", &Rows::new().user("words").agent("more").text(), 1);
    sandbox.transcript("-v/bb", &Rows::new().user("words").agent("more").text(), 1);
    assert_eq!(run(&sandbox, "status --sync").status, 0);
    assert_eq!(bottles(&sandbox), ["bb.md"]);
    drop(service);
}

#[test]
fn installing_and_purging_end_a_service_that_was_started_by_hand() {
    let sandbox = kept();
    let not_active = "[ $2 != is-active ]";
    tools(&sandbox, &[("systemctl", not_active), ("loginctl", "echo yes")]);
    let service = Service::start(&sandbox);
    let ran = sandbox.shell("PATH=$HOME/bin $endless install service");
    assert!(ran.stdout.contains("stopped the service that runs now\n"), "{}", ran.stdout);
    assert!(service.ended());
    let service = Service::start(&sandbox);
    let ran = sandbox.shell("PATH=$HOME/bin $endless uninstall service --purge --yes");
    assert!(ran.stdout.contains("stopped the service that runs now\n"), "{}", ran.stdout);
    assert!(service.ended());
    assert!(!sandbox.path(".endless").exists());
}

#[test]
fn findings_are_there_as_json() {
    let sandbox = healthy();
    let ran = run(&sandbox, "doctor --json");
    let report: Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!((ran.status, &report["level"]), (1, &json!("problem")));
    let checks = report["checks"].as_array().unwrap();
    let service = checks.iter().find(|check| check["name"] == "service").unwrap();
    assert_eq!(service["todo"], "`endless install service`, or `endless run --detach`");
    assert!(checks.iter().any(|check| check["level"] == "ok" && check["todo"].is_null()));
    assert_snapshot!(sandbox.shell("unset HOME; $endless doctor").show(), @"
    exit 1
    --- err
    error: HOME is not set: set it, or set ENDLESS_HOME and CLAUDE_CONFIG_DIR
    ");
}

#[test]
fn the_configuration_says_where_it_comes_from() {
    let sandbox = Sandbox::new();
    let text = "keep_days = 30\n\nexclude = ['/clients/**']\n";
    sandbox.write(&sandbox.path(".endless/config.toml"), text);
    let ran = sandbox.shell("ENDLESS_ROOTS=/a:/b ENDLESS_DISABLE=1 $endless config");
    assert_snapshot!(ran.show(), @r#"
    exit 0
    --- out
    # ~/.endless/config.toml
    enabled = false                               # environment ENDLESS_DISABLE
    roots = ["/a", "/b"]                          # environment ENDLESS_ROOTS
    exclude = ["/clients/**"]                     # config.toml:3
    zone = "UTC"                                  # default
    memory_mb = 256                               # default
    idle_minutes = 60                             # default
    hot_minutes = 10                              # default
    archive_after_days = 90                       # default
    keep_days = 30                                # config.toml:1
    resume = "auto"                               # default
    observations = "auto"                         # default
    "#);
    let ran = run(&sandbox, "config --json");
    let report: Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!(report["file"], "~/.endless/config.toml");
    assert_eq!(
        report["settings"][8],
        json!({"key": "keep_days", "value": 30, "origin": "config.toml:1"})
    );
    assert_eq!(report["settings"][4]["origin"], "default");
    // What it prints can be used.
    assert_eq!(sandbox.shell("$endless config > c && mv c .endless/config.toml").status, 0);
    assert_eq!(run(&sandbox, "config").status, 0);
    assert_eq!(sandbox.shell("$endless config --example > .endless/config.toml").status, 0);
    assert_eq!(run(&sandbox, "config").stdout.matches("# default\n").count(), 11);
}

/// Sessions of two projects, one without a transcript, and their bottles.
fn kept() -> Sandbox {
    let sandbox = Sandbox::new();
    let rows = Rows::new().user("words");
    sandbox.transcript("-w/aa1", &rows.text(), 0);
    sandbox.transcript("-w/aa2", &rows.text(), 0);
    sandbox.transcript("-v/bb", &rows.with("cwd", &json!("/v/x")).text(), 0);
    for id in ["aa1", "aa2", "bb"] {
        assert_eq!(sandbox.run(&["render", id]).status, 0);
    }
    fs::remove_file(sandbox.path(".claude/projects/-w/aa2.jsonl")).unwrap();
    sandbox.write(&sandbox.path(".endless/bottles/archive/7-aa1.md"), "old words");
    sandbox.write(&sandbox.path(".endless/bottles/archive/7-cc.md"), "older words");
    sandbox
}

fn bottles(sandbox: &Sandbox) -> Vec<String> {
    let root = sandbox.path(".endless/bottles");
    let files = sandbox.files(".endless/bottles").into_iter();
    files.map(|(path, _)| path.strip_prefix(&root).unwrap().display().to_string()).collect()
}

#[test]
fn a_session_is_forgotten_whole_and_no_other() {
    let sandbox = kept();
    let before = bottles(&sandbox);
    assert_snapshot!(run(&sandbox, "forget aa1 </dev/null").show(), @"
    exit 2
    --- err
    error: nobody is there to be asked; look with --dry-run, then add --yes
    ");
    assert_snapshot!(run(&sandbox, "forget aa").show(), @"
    exit 2
    --- err
    error: `aa` fits 2 sessions, give more of the id: aa1, aa2
    ");
    assert_snapshot!(run(&sandbox, "forget zz").show(), @"
    exit 1
    --- err
    error: no session and no bottle begins with `zz`; looked at 2 sessions in ~/.claude/projects
    ");
    assert_snapshot!(run(&sandbox, "forget --yes").show(), @"
    exit 2
    --- err
    error: the following required arguments were not provided: <SESSION|--project <DIR>|--older-than <TIME>>; see `endless forget --help`
    ");
    assert_snapshot!(run(&sandbox, "forget aa1 cc --dry-run").show(), @"
    exit 0
    --- out
    would forget aa1
      ~/.endless/bottles/aa1.md
      ~/.endless/bottles/archive/…-aa1.md
    would forget cc
      ~/.endless/bottles/archive/…-cc.md
    ");
    assert_eq!(bottles(&sandbox), before);
    assert!(!sandbox.path(".endless/endless.db").exists());
    assert_snapshot!(run(&sandbox, "forget aa1 cc --yes").show(), @"
    exit 0
    --- out
    forgot aa1
      ~/.endless/bottles/aa1.md
      ~/.endless/bottles/archive/…-aa1.md
    forgot cc
      ~/.endless/bottles/archive/…-cc.md
    ");
    assert_eq!(bottles(&sandbox), ["aa2.md", "bb.md"]);
    assert!(sandbox.path(".claude/projects/-w/aa1.jsonl").exists());
    assert_snapshot!(run(&sandbox, "forget aa1 --yes").show(), @"
    exit 0
    --- err
    note: there is nothing to forget
    ");
    // A session of which only the tombstone is left is known no more.
    assert_eq!(run(&sandbox, "forget cc --yes").status, 1);
}

#[test]
fn projects_and_old_sessions_are_forgotten() {
    let sandbox = kept();
    let set = |file: &str, modified: SystemTime| {
        let file = fs::File::options().append(true).open(sandbox.path(file)).unwrap();
        file.set_modified(modified).unwrap();
    };
    let old = SystemTime::UNIX_EPOCH;
    set(".endless/bottles/archive/7-cc.md", old);
    set(".claude/projects/-v/bb.jsonl", old);
    // Where there is a transcript, its age counts.
    set(".endless/bottles/aa1.md", old);
    set(".claude/projects/-w/aa1.jsonl", SystemTime::now());
    let shown = run(&sandbox, "forget --older-than 180d --dry-run").stdout;
    assert_eq!(shown.matches("would forget").count(), 2, "{shown}");
    assert!(shown.contains("would forget bb\n") && shown.contains("would forget cc\n"), "{shown}");
    let shown = run(&sandbox, "forget --older-than 180d --project /w --dry-run");
    assert!(shown.stderr.contains("nothing to forget"), "{}", shown.stderr);
    assert_eq!(run(&sandbox, "forget --project /w --yes").status, 0);
    assert_eq!(bottles(&sandbox), ["archive/7-cc.md", "bb.md"]);
    assert_eq!(run(&sandbox, "forget --older-than 2w --yes").status, 0);
    assert_eq!(bottles(&sandbox), Vec::<String>::new());
    assert_snapshot!(run(&sandbox, "forget --project /v --older-than 2w bb").show(), @"
    exit 2
    --- err
    error: the argument '--project <DIR>' cannot be used with '[SESSION]...'; see `endless forget --help`
    ");
}

#[test]
fn forgetting_does_not_follow_links_out_of_the_state_folder() {
    let sandbox = kept();
    let bottles = sandbox.path(".endless/bottles");
    let elsewhere: PathBuf = sandbox.path("elsewhere");
    fs::rename(&bottles, &elsewhere).unwrap();
    symlink(&elsewhere, &bottles).unwrap();
    let ran = run(&sandbox, "forget aa1 --yes");
    assert!(ran.status == 1 && ran.stderr.contains("is not a folder"), "{}", ran.stderr);
    assert!(elsewhere.join("aa1.md").exists());
}

#[test]
fn claude_mem_is_told_with_what_to_do_where_it_is_not_read() {
    let sandbox = Sandbox::new();
    let database = sandbox.path(".claude-mem/claude-mem.db");
    let look = |sandbox: &Sandbox| {
        let shown = run(sandbox, "doctor").stdout;
        let lines = shown.lines().skip_while(|line| !line.contains(" claude-mem "));
        lines.map(|line| format!("{line}\n")).collect::<String>()
    };
    let fixture =
        concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures/claude-mem/store-13.25.3/claude-mem.db");
    fs::create_dir_all(database.parent().unwrap()).unwrap();
    fs::copy(fixture, &database).unwrap();
    assert_eq!(
        look(&sandbox),
        "ok       claude-mem     ~/.claude-mem/claude-mem.db is read: 2 sessions\n"
    );
    let settings = sandbox.path(".claude-mem/settings.json");
    sandbox.write(&settings, r#"{"CLAUDE_MEM_RUNTIME":"server"}"#);
    assert_snapshot!(look(&sandbox), @"
    warn     claude-mem     claude-mem writes to a server, not to ~/.claude-mem/claude-mem.db (CLAUDE_MEM_RUNTIME is `server` in its settings.json); lines are derived from the transcripts
                            → set CLAUDE_MEM_RUNTIME to `worker` in its settings.json, or `observations = \"derived\"`
    ");
    fs::remove_dir_all(database.parent().unwrap()).unwrap();
    sandbox.write(&sandbox.path(".endless/config.toml"), "observations = 'claude-mem'\n");
    assert_snapshot!(look(&sandbox), @"
    problem  claude-mem     claude-mem is not there: there is no ~/.claude-mem/claude-mem.db; lines are derived from the transcripts
                            → install claude-mem, set CLAUDE_MEM_DATA_DIR, or set `observations = \"auto\"`
    ");
    sandbox.write(&sandbox.path(".endless/config.toml"), "observations = 'derived'\n");
    assert_snapshot!(look(&sandbox), @"ok       claude-mem     switched off: `observations` is `derived`");
}

#[test]
fn that_both_speak_when_a_session_starts_is_told() {
    let sandbox = Sandbox::new();
    let settings = sandbox.path(".claude/settings.json");
    sandbox.write(&settings, r#"{"enabledPlugins": {"claude-mem@thedotmack": true}}"#);
    let told = |sandbox: &Sandbox| {
        run(sandbox, "doctor").stdout.contains("both speak when a session starts")
    };
    assert!(!told(&sandbox));
    assert_eq!(sandbox.run(&["install", "hooks"]).status, 0);
    assert!(told(&sandbox));
    sandbox.write(&sandbox.path(".endless/config.toml"), "observations = 'derived'\n");
    assert!(told(&sandbox), "the hooks are there all the same");
}
