//! `install hooks` and `uninstall hooks`: what becomes of settings of every kind, byte for byte.
//!
//! A case is a folder `fixtures/settings/<case>/{before.json, installed.json}`; `ENDLESS_BLESS=1`
//! writes what is expected anew.

use std::{
    fs,
    os::unix::fs::{MetadataExt, PermissionsExt, symlink},
    path::{Path, PathBuf},
    process::Command,
};

use endless::install::hooks::events::{EVENTS, OLDEST_HOST};
use insta::assert_snapshot;
use serde_json::{Value, json};

use crate::harness::{Ran, Rows, Sandbox};

const SETTINGS: &str = ".claude/settings.json";
const BACKUP: &str = ".claude/settings.json.endless-backup";

/// A home with the program behind a link in `bin`, and maybe settings.
struct Home {
    sandbox: Sandbox,
    /// Lines of shell that set variables.
    variables: String,
}

impl Home {
    fn new() -> Self {
        let sandbox = Sandbox::new();
        fs::create_dir(sandbox.path("bin")).unwrap();
        symlink(env!("CARGO_BIN_EXE_endless"), sandbox.path("bin/endless")).unwrap();
        Self { sandbox, variables: String::new() }
    }

    fn with(settings: &str) -> Self {
        let home = Self::new();
        home.sandbox.write(&home.sandbox.path(SETTINGS), settings);
        home
    }

    fn run(&self, arguments: &str) -> Ran {
        let Self { sandbox, variables } = self;
        sandbox.shell(&format!("{variables} PATH=$HOME/bin; export PATH; endless {arguments}"))
    }

    fn show(&self, arguments: &str) -> String {
        self.run(arguments).show()
    }

    /// Runs what must succeed.
    fn done(&self, arguments: &str) {
        let ran = self.run(arguments);
        assert_eq!(ran.status, 0, "{arguments}: {}", ran.stderr);
    }

    fn path(&self) -> String {
        self.sandbox.path("bin").parent().unwrap().to_str().unwrap().to_owned()
    }

    fn read(&self, inside: &str) -> String {
        let text = fs::read_to_string(self.sandbox.path(inside)).unwrap();
        text.replace(&self.path(), "/home/ada")
    }

    /// The names in the folder of the host.
    fn names(&self) -> Vec<String> {
        let root = self.sandbox.path(".claude");
        let files = self.sandbox.files(".claude").into_iter();
        files.map(|(path, _)| path.strip_prefix(&root).unwrap().display().to_string()).collect()
    }

    /// What `doctor` says of the hooks.
    fn doctor(&self) -> String {
        let ran = self.run("doctor");
        let mut lines = ran.stdout.lines().peekable();
        let mut said = Vec::new();
        while let Some(line) = lines.next() {
            if line.contains(" hooks  ") {
                said.push(line);
                said.extend(lines.next_if(|line| line.trim_start().starts_with('→')));
            }
        }
        said.join("\n")
    }
}

fn cases() -> Vec<(String, PathBuf)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/settings");
    let mut cases: Vec<_> = fs::read_dir(root)
        .unwrap()
        .map(|entry| entry.unwrap())
        .map(|entry| (entry.file_name().into_string().unwrap(), entry.path()))
        .collect();
    cases.sort();
    assert!(cases.len() > 10);
    cases
}

#[test]
fn settings_of_every_kind_get_the_hooks_and_are_as_before_without_them() {
    for (name, folder) in cases() {
        let before = fs::read_to_string(folder.join("before.json")).unwrap();
        let home = Home::with(&before);
        home.done("install hooks");
        let installed = home.read(SETTINGS);
        let expected = folder.join("installed.json");
        if std::env::var_os("ENDLESS_BLESS").is_some() {
            fs::write(&expected, &installed).unwrap();
        }
        assert_eq!(installed, fs::read_to_string(expected).unwrap(), "{name}");
        assert_eq!(home.read(BACKUP), before, "{name}");

        let file = home.sandbox.path(SETTINGS);
        let inode = || fs::metadata(&file).unwrap().ino();
        let first = inode();
        home.done("install hooks");
        assert_eq!((inode(), home.read(SETTINGS)), (first, installed.clone()), "{name}: again");
        assert_eq!(home.read(BACKUP), before, "{name}: again");

        home.done("uninstall hooks");
        assert_eq!(home.read(SETTINGS), before, "{name}: uninstalled");
        assert_eq!(home.names(), ["settings.json"], "{name}: uninstalled");

        // An upgrade to another path, and then out.
        home.done("install hooks");
        fs::rename(home.sandbox.path("bin/endless"), home.sandbox.path("bin/endless-2")).unwrap();
        let run = |what: &str| {
            let ran = home.sandbox.shell(&format!("PATH=$HOME/bin endless-2 {what} hooks"));
            assert_eq!(ran.status, 0, "{name}: {}", ran.stderr);
        };
        run("install");
        let upgraded = installed.replace("/bin/endless'", "/bin/endless-2'");
        assert_eq!(home.read(SETTINGS), upgraded, "{name}: upgraded");
        assert_eq!(home.read(BACKUP), before, "{name}: upgraded");
        run("uninstall");
        assert_eq!(home.read(SETTINGS), before, "{name}: upgraded and out");
        assert_eq!(home.names(), ["settings.json"], "{name}: upgraded and out");
    }
}

#[test]
fn the_first_settings_are_made_and_go_again() {
    let home = Home::new();
    let shown = home.run("install hooks --dry-run").stdout;
    let expected = "would put 8 hooks into ~/.claude/settings.json\n  + {\n  +   \"hooks\": {\n";
    assert!(shown.starts_with(expected), "{shown}");
    assert!(!home.sandbox.path(".claude").exists());
    assert_snapshot!(home.show("install hooks"), @"
    exit 0
    --- out
    put 8 hooks into ~/.claude/settings.json
    ");
    let data = fs::metadata(home.sandbox.path(SETTINGS)).unwrap();
    assert_eq!(data.mode() & 0o777, 0o600);
    assert_eq!(home.names(), ["settings.json"]);
    let settings: Value = serde_json::from_str(&home.read(SETTINGS)).unwrap();
    let command =
        "[ -x '/home/ada/bin/endless' ] && exec '/home/ada/bin/endless' hook claude-code || exit 0";
    let events = settings["hooks"].as_object().unwrap();
    assert_eq!(events.len(), EVENTS.len());
    for event in EVENTS {
        let handler = json!({"type": "command", "command": command, "timeout": event.timeout});
        assert_eq!(events[event.name], json!([{"hooks": [handler]}]), "{}", event.name);
    }
    let printed = home.run("install hooks --print").stdout;
    assert_eq!(printed.replace('~', "/home/ada"), home.read(SETTINGS));
    assert_eq!(home.run("install --print").stdout, printed);
    assert_snapshot!(home.show("uninstall hooks"), @"
    exit 0
    --- out
    removed ~/.claude/settings.json, which held nothing but the hooks
    ");
    assert_snapshot!(home.show("uninstall hooks"), @"
    exit 0
    --- err
    note: no hook of Endless is in ~/.claude/settings.json or ~/.config/claude/settings.json
    ");
    assert_eq!(home.names(), Vec::<String>::new());
}

#[test]
fn a_dry_run_shows_the_difference() {
    let home = Home::with("{\n  \"model\": \"opus\"\n}\n");
    let shown = home.show("install hooks --dry-run");
    let lines: Vec<_> = shown.lines().filter(|line| !line.contains("timeout")).collect();
    assert_snapshot!(lines[..12].join("\n"), @r#"
    exit 0
    --- out
    would put 8 hooks into ~/.claude/settings.json
      -   "model": "opus"
      +   "model": "opus",
      +   "hooks": {
      +     "SessionStart": [
      +       {
      +         "hooks": [
      +           {
      +             "type": "command",
      +             "command": "[ -x '~/bin/endless' ] && exec '~/bin/endless' hook claude-code || exit 0",
    "#);
    home.done("install hooks");
    let installed = home.read(SETTINGS);
    let removed = home.show("uninstall hooks --dry-run");
    assert_eq!(removed.matches("\n  - ").count(), shown.matches("\n  + ").count());
    assert_eq!(home.read(SETTINGS), installed);
}

#[test]
fn odd_paths_and_the_state_folder_stay_words_of_the_shell() {
    let mut home = Home::new();
    let folder = home.sandbox.path("it's $HOME");
    fs::create_dir(&folder).unwrap();
    let log = home.sandbox.path("log");
    let script = format!("#!/bin/sh\necho \"$ENDLESS_HOME|$*\" > '{}'\n", log.display());
    symlink(env!("CARGO_BIN_EXE_endless"), folder.join("endless")).unwrap();
    home.variables = "export ENDLESS_HOME=\"$PWD/my 'state'\";".to_owned();
    let ran =
        home.sandbox.shell(&format!("{} \"./it's \\$HOME/endless\" install hooks", home.variables));
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    let settings: Value = serde_json::from_str(&home.read(SETTINGS)).unwrap();
    let command = settings["hooks"]["Stop"][0]["hooks"][0]["command"].as_str().unwrap();
    let program = "'/home/ada/it'\\''s $HOME/endless'";
    assert_eq!(
        command,
        format!(
            "[ -x {program} ] && exec env ENDLESS_HOME='/home/ada/my '\\''state'\\''' {program} \
             hook claude-code || exit 0"
        )
    );
    // What a shell makes of it.
    fs::remove_file(folder.join("endless")).unwrap();
    fs::write(folder.join("endless"), script).unwrap();
    let run = || {
        let command = command.replace("/home/ada", &home.path());
        Command::new("/bin/sh").args(["-c", &command]).status().unwrap().code()
    };
    assert_eq!((run(), log.exists()), (Some(0), false));
    fs::set_permissions(folder.join("endless"), fs::Permissions::from_mode(0o755)).unwrap();
    assert_eq!(run(), Some(0));
    assert_eq!(home.read("log"), "/home/ada/my 'state'|hook claude-code\n");
    home.variables = "export ENDLESS_HOME=\"a\nb\";".to_owned();
    assert_eq!(home.run("install hooks").status, 1);
}

#[test]
fn what_can_not_be_understood_is_refused_and_left_alone() {
    for (settings, said) in [
        ("{\n  \"a\": 1\n  \"b\": 2\n}", "line 3: `\"` stands where `,` or `}` should be"),
        ("[]", "line 1: a list stands where settings should be"),
        ("{\"hooks\": 1}", "line 1: `hooks` must be an object"),
        ("{\"hooks\": {\n\"Stop\": {}}}", "line 2: `Stop` must be a list"),
        ("{\"hooks\": {},\n\"hooks\": {}}", "line 2: `hooks` is there twice"),
    ] {
        let home = Home::with(settings);
        let ran = home.run("install hooks");
        let expected = format!("error: ~/.claude/settings.json, {said}");
        assert!(ran.status == 1 && ran.stderr.starts_with(&expected), "{}", ran.stderr);
        assert_eq!(
            (home.read(SETTINGS), home.names()),
            (settings.to_owned(), vec!["settings.json".to_owned()])
        );
    }
}

#[test]
fn what_keeps_the_host_from_running_hooks_is_said() {
    let home = Home::with("{\n  \"disableAllHooks\": true, // for now\n}\n");
    assert_snapshot!(home.show("install hooks"), @"
    exit 0
    --- out
    put 8 hooks into ~/.claude/settings.json
    --- err
    note: ~/.claude/settings.json says `disableAllHooks: true`: Claude Code runs no hooks until you take that out
    note: ~/.claude/settings.json has comments or spare commas: Claude Code reads plain JSON only, and ignores the whole file until you take them out
    ");
    home.sandbox.write(&home.sandbox.path(SETTINGS), "\u{feff}{\"disableAllHooks\": false}");
    assert_eq!(home.run("install hooks").stderr, "");
}

#[test]
fn one_file_behind_two_names_is_one() {
    let home = Home::with("{\"model\": \"opus\"}");
    fs::create_dir_all(home.sandbox.path(".claude/projects")).unwrap();
    fs::create_dir(home.sandbox.path(".config")).unwrap();
    symlink("../.claude", home.sandbox.path(".config/claude")).unwrap();
    assert_eq!(home.run("install hooks").stdout, "put 8 hooks into ~/.claude/settings.json\n");
    assert_eq!(home.doctor().lines().count(), 1);
    assert_eq!(
        home.run("uninstall hooks").stdout,
        "took the hooks out of ~/.claude/settings.json\n"
    );
    assert_eq!(home.read(SETTINGS), "{\"model\": \"opus\"}");
}

/// Whatever else of the usual places is there, only what a host uses gets hooks.
#[test]
fn a_folder_of_another_program_gets_none() {
    let home = Home::with("{}");
    fs::create_dir_all(home.sandbox.path(".config/claude")).unwrap();
    home.done("install hooks");
    assert_eq!(home.sandbox.files(".config"), []);
    home.sandbox.write(&home.sandbox.path(".config/claude/settings.json"), "{}");
    home.done("install hooks");
    assert_eq!(home.read(".config/claude/settings.json"), home.read(SETTINGS));
}

#[test]
fn what_is_read_only_is_left_alone() {
    let home = Home::with("{}");
    let file = home.sandbox.path(SETTINGS);
    fs::set_permissions(&file, fs::Permissions::from_mode(0o400)).unwrap();
    assert_snapshot!(home.show("install hooks"), @"
    exit 1
    --- err
    error: ~/.claude/settings.json is read-only; `chmod u+w ~/.claude/settings.json`, or paste what `endless install hooks --print` prints; to uninstall, take it out by hand
    ");
    assert_eq!(home.names(), ["settings.json"]);
    fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();
    let folder = home.sandbox.path(".claude");
    fs::set_permissions(&folder, fs::Permissions::from_mode(0o500)).unwrap();
    let is_root = fs::write(folder.join("x"), "").is_ok();
    let ran = home.run("install hooks");
    fs::set_permissions(&folder, fs::Permissions::from_mode(0o700)).unwrap();
    // Root writes everywhere.
    let said = ran.stderr.contains("can't write ~/.claude/settings.json: Permission denied");
    assert!(said != is_root, "{}", ran.stderr);
}

#[test]
fn a_link_stays_a_link_and_modes_stay() {
    let home = Home::new();
    let real = home.sandbox.path("dotfiles/claude.json");
    home.sandbox.write(&real, "{\"model\": \"opus\"}\n");
    fs::set_permissions(&real, fs::Permissions::from_mode(0o640)).unwrap();
    fs::create_dir(home.sandbox.path(".claude")).unwrap();
    symlink("../dotfiles/claude.json", home.sandbox.path(SETTINGS)).unwrap();
    home.done("install hooks");
    assert!(fs::symlink_metadata(home.sandbox.path(SETTINGS)).unwrap().is_symlink());
    for file in ["dotfiles/claude.json", BACKUP] {
        assert_eq!(fs::metadata(home.sandbox.path(file)).unwrap().mode() & 0o777, 0o640, "{file}");
    }
    assert_eq!(home.sandbox.files("dotfiles").len(), 1);
    home.done("uninstall hooks");
    assert_eq!(home.read("dotfiles/claude.json"), "{\"model\": \"opus\"}\n");
    assert!(fs::symlink_metadata(home.sandbox.path(SETTINGS)).unwrap().is_symlink());
}

#[test]
fn every_root_gets_the_hooks_or_none() {
    let mut home = Home::with("{}");
    let other = home.sandbox.path("work/settings.json");
    home.sandbox.write(&other, "{");
    home.variables = "export ENDLESS_ROOTS=$HOME/.claude:$HOME/work:$HOME/none;".to_owned();
    let ran = home.run("install hooks");
    assert!(ran.status == 1 && ran.stderr.contains("~/work/settings.json"), "{}", ran.stderr);
    assert_eq!(home.read(SETTINGS), "{}");
    fs::remove_file(&other).unwrap();
    assert_snapshot!(home.show("install hooks"), @"
    exit 0
    --- out
    put 8 hooks into ~/.claude/settings.json
    put 8 hooks into ~/work/settings.json
    ");
    assert_eq!(home.read(SETTINGS).trim_end(), home.read("work/settings.json").trim_end());
    assert!(!home.sandbox.path("none").exists());
    home.done("uninstall hooks");
    assert!(home.read(SETTINGS) == "{}" && !other.exists());
    home.variables = "export CLAUDE_CONFIG_DIR=$HOME/none;".to_owned();
    assert_snapshot!(home.show("install hooks"), @"
    exit 1
    --- err
    error: none of the folders that `roots` names is there; mend it (see `endless config`)
    ");
}

#[test]
fn settings_that_the_host_wrote_anew_lose_our_hooks_only() {
    let home = Home::with("{\n  \"model\": \"opus\"\n}\n");
    home.done("install hooks");
    let mut settings: Value = serde_json::from_str(&home.read(SETTINGS)).unwrap();
    settings["theme"] = json!("dark");
    let text = serde_json::to_string_pretty(&settings).unwrap();
    fs::write(home.sandbox.path(SETTINGS), text.replace("/home/ada", &home.path())).unwrap();
    home.done("uninstall hooks");
    assert_eq!(home.read(SETTINGS), "{\n  \"model\": \"opus\",\n  \"theme\": \"dark\"\n}");
}

/// A host ignores all its settings for an event that it does not know: found out with real ones.
#[test]
fn an_older_host_gets_only_what_it_knows() {
    let home = Home::new();
    let transcript = |id: &str, version: &str, way: &str, minute: u64| {
        let rows = Rows::new().user("Fix it").with("version", &json!(version));
        home.sandbox.transcript(id, &rows.with("entrypoint", &json!(way)).text(), minute);
    };
    transcript("-w/aa", "2.1.60", "claude-vscode", 0);
    transcript("-w/bb", "2.1.332", "cli", 1);
    assert_snapshot!(home.show("install hooks"), @"
    exit 0
    --- out
    put 6 hooks into ~/.claude/settings.json
    --- err
    note: Claude Code 2.1.60 (~/.claude/projects/-w/aa.jsonl) does not know PostCompact, StopFailure: left out; versions before 2.1.101 ignore all settings for such a hook. Update it to 2.1.78 or newer, then install again
    ");
    let names = || {
        let settings: Value = serde_json::from_str(&home.read(SETTINGS)).unwrap();
        settings["hooks"].as_object().unwrap().keys().cloned().collect::<Vec<_>>()
    };
    let old = [
        "PermissionRequest",
        "PreCompact",
        "SessionEnd",
        "SessionStart",
        "Stop",
        "UserPromptSubmit",
    ];
    assert_eq!(names(), old);
    let printed = home.run("install hooks --print").stdout;
    assert!(!printed.contains("StopFailure") && printed.contains("PermissionRequest"));
    assert_snapshot!(home.doctor(), @"
    ok       hooks          ~/.claude/settings.json has all 6 and they are current
    warn     hooks          Claude Code 2.1.60 (~/.claude/projects/-w/aa.jsonl) does not know all events; some hooks are left out
                            → update it to 2.1.78 or newer, then `endless install hooks`
    ");
    // It was updated: all hooks.
    transcript("-w/cc", &OLDEST_HOST.to_string(), "claude-vscode", 2);
    assert!(home.doctor().contains("of another program, version or environment"));
    home.done("install hooks");
    assert_eq!(names().len(), EVENTS.len());
    // An older one came.
    let package = home.sandbox.path("lib/@anthropic-ai/claude-code");
    home.sandbox.write(&package.join("cli.js"), "#!/bin/sh\n");
    let manifest = r#"{"name": "@anthropic-ai/claude-code", "version": "2.1.0"}"#;
    home.sandbox.write(&package.join("package.json"), manifest);
    let program = fs::Permissions::from_mode(0o755);
    fs::set_permissions(package.join("cli.js"), program).unwrap();
    symlink(package.join("cli.js"), home.sandbox.path("bin/claude")).unwrap();
    assert_snapshot!(home.doctor(), @"
    warn     hooks          ~/.claude/settings.json has 8, of another program, version or environment
                            → `endless install hooks`
    problem  hooks          Claude Code 2.1.0 (~/bin/claude) does not know PostCompact and ignores all of ~/.claude/settings.json
                            → update it, or `endless install hooks` leaves out what it does not know
    ");
    home.done("install hooks");
    assert_eq!(names(), old);
}

#[test]
fn the_doctor_knows_how_the_hooks_stand() {
    let home = Home::with("{}");
    assert_snapshot!(home.doctor(), @"
    warn     hooks          ~/.claude/settings.json has none: no session gets its bottle after a compaction
                            → `endless install hooks`
    ");
    home.done("install hooks");
    assert_snapshot!(home.doctor(), @"ok       hooks          ~/.claude/settings.json has all 8 and they are current");
    let installed = home.read(SETTINGS).replace("/home/ada", &home.path());
    let set = |text: &str| fs::write(home.sandbox.path(SETTINGS), text).unwrap();
    set(&installed.replace("/bin/endless'", "/old/endless'"));
    assert_snapshot!(home.doctor(), @"
    warn     hooks          ~/.claude/settings.json has 8, of another program, version or environment
                            → `endless install hooks`
    problem  hooks          ~/.claude/settings.json calls ~/old/endless, which is not there: nothing happens
                            → `endless install hooks`, or `endless uninstall hooks`
    ");
    set(&installed.replacen('{', "{ // mine\n\"disableAllHooks\": true,", 1));
    assert_snapshot!(home.doctor(), @"
    ok       hooks          ~/.claude/settings.json has all 8 and they are current
    warn     hooks          ~/.claude/settings.json says `disableAllHooks: true`: Claude Code runs none
                            → take that out
    problem  hooks          ~/.claude/settings.json has comments or spare commas: Claude Code ignores the whole file
                            → take them out; Claude Code reads plain JSON only
    ");
    set("{");
    assert_snapshot!(home.doctor(), @"
    problem  hooks          ~/.claude/settings.json, line 1: the text ends where a key in double quotes should be; mend it first
                            → then `endless install hooks`; Claude Code can't use such a file either
    ");
}

/// What the real client (2.1.332) writes when a plugin is installed.
#[test]
fn the_doctor_warns_when_plugin_and_settings_both_have_them() {
    let home = Home::new();
    let plugin = home.sandbox.path(".claude/plugins/cache/shop/keeper/0.1.0");
    let ours = Path::new(env!("CARGO_MANIFEST_DIR")).join("plugin/hooks/hooks.json");
    home.sandbox.write(&plugin.join("hooks/hooks.json"), &fs::read_to_string(ours).unwrap());
    let list = json!({"version": 2, "plugins": {"keeper@shop": [{
        "scope": "user", "installPath": plugin, "version": "0.1.0",
        "installedAt": "2026-11-30T19:39:51.024Z", "lastUpdated": "2026-11-30T19:39:51.024Z",
    }]}});
    home.sandbox
        .write(&home.sandbox.path(".claude/plugins/installed_plugins.json"), &list.to_string());
    let settings = |name: &str, on: bool| {
        let text = json!({"enabledPlugins": {"other@shop": true, name: on}}).to_string();
        fs::write(home.sandbox.path(SETTINGS), text).unwrap();
    };
    for name in ["keeper@shop", "endless@endless"] {
        settings(name, true);
        let said = home.doctor();
        assert!(said.starts_with("ok ") && said.contains(name), "{said}");
        home.done("install hooks");
        let said = home.doctor();
        assert!(said.starts_with("warn ") && said.contains("too: each runs twice"), "{said}");
        assert!(home.run("doctor --json").stdout.contains("too: each runs twice"));
        settings(name, false);
        home.done("install hooks");
        assert!(home.doctor().contains("they are current"));
    }
}

#[test]
fn the_plugin_has_the_hooks_that_are_installed() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    let read = |inside: &str| -> Value {
        serde_json::from_str(&fs::read_to_string(folder.join(inside)).unwrap()).unwrap()
    };
    let manifest = read("plugin/.claude-plugin/plugin.json");
    assert_eq!(manifest["name"], "endless");
    assert_eq!(manifest["version"], env!("CARGO_PKG_VERSION"));
    let shop = read(".claude-plugin/marketplace.json");
    assert_eq!(shop["plugins"][0]["name"], "endless");
    assert_eq!(shop["plugins"][0]["source"], "./plugin");

    let command = "command -v endless >/dev/null 2>&1 && exec endless hook claude-code || exit 0";
    let mut plugin = read("plugin/hooks/hooks.json")["hooks"].clone();
    let home = Home::new();
    home.done("install hooks");
    let mut settings: Value = serde_json::from_str(&home.read(SETTINGS)).unwrap();
    for event in EVENTS {
        let handler = &mut plugin[event.name][0]["hooks"][0]["command"];
        assert_eq!(handler, command, "{}", event.name);
        *handler = settings["hooks"][event.name][0]["hooks"][0]["command"].take();
        settings["hooks"][event.name][0]["hooks"][0]["command"] = handler.clone();
    }
    assert_eq!(plugin, settings["hooks"]);
    // Without Endless on PATH nothing happens, and with it it is called.
    let run = |path: &str| {
        let mut shell = Command::new("/bin/sh");
        let output = shell.env("PATH", path).args(["-c", command]).output().unwrap();
        (output.status.code(), output.stdout.len() + output.stderr.len())
    };
    assert_eq!(run("/no"), (Some(0), 0));
    fs::remove_file(home.sandbox.path("bin/endless")).unwrap();
    symlink("/bin/echo", home.sandbox.path("bin/endless")).unwrap();
    let path = home.sandbox.path("bin");
    assert_eq!(run(path.to_str().unwrap()), (Some(0), "hook claude-code\n".len()));
}
