//! `install service` and `uninstall service`, with fakes of the machine's tools on PATH.
//!
//! A fake writes its arguments down and answers what the case wants; nothing real is started.

use std::{
    fs,
    os::unix::fs::{MetadataExt, PermissionsExt, symlink},
    path::{Path, PathBuf},
    process::Command,
};

use insta::assert_snapshot;

use crate::harness::{Ran, Sandbox};

const UNIT: &str = ".config/systemd/user/endless.service";
const AGENT: &str = "Library/LaunchAgents/sh.endless.agent.plist";

/// A systemd that answers, with linger.
const SYSTEMCTL: (&str, &str) = ("systemctl", "exit 0");
const LINGER: (&str, &str) = ("loginctl", "echo yes");

/// A machine with fakes of tools, and the binary behind a link in `bin`.
struct Machine {
    sandbox: Sandbox,
    /// Lines of shell that set variables.
    variables: &'static str,
}

impl Machine {
    fn new(tools: &[(&str, &str)]) -> Self {
        let sandbox = Sandbox::new();
        fs::create_dir(sandbox.path("bin")).unwrap();
        symlink(env!("CARGO_BIN_EXE_endless"), sandbox.path("bin/endless")).unwrap();
        let machine = Self { sandbox, variables: "" };
        for (name, script) in tools {
            machine.tool(name, script);
        }
        machine
    }

    /// Makes a fake, in place of one of the same name.
    fn tool(&self, name: &str, script: &str) {
        let path = self.sandbox.path(&format!("bin/{name}"));
        let log = self.sandbox.path("calls");
        let text = format!("#!/bin/sh\necho {name} \"$@\" >> {}\n{script}\n", log.display());
        fs::write(&path, text).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    }

    fn run(&self, arguments: &str) -> Ran {
        let Self { sandbox, variables } = self;
        sandbox.shell(&format!("{variables} PATH=$HOME/bin; export PATH; endless {arguments}"))
    }

    /// What happened, without what differs from user to user and from build to build.
    fn show(&self, arguments: &str) -> String {
        let user = rustix::process::geteuid().as_raw().to_string();
        let text = self.run(arguments).show();
        text.replace(&format!("gui/{user}"), "gui/UID")
    }

    /// The calls since the last look.
    fn calls(&self) -> String {
        let log = self.sandbox.path("calls");
        let calls = fs::read_to_string(&log).unwrap_or_default();
        fs::remove_file(&log).ok();
        let user = rustix::process::geteuid().as_raw();
        let calls = calls.replace(&format!("show-user {user}"), "show-user UID");
        let calls = calls.replace(&format!("gui/{user}"), "gui/UID");
        calls.replace(&self.home(), "~")
    }

    fn home(&self) -> String {
        self.sandbox.path("bin").parent().unwrap().to_str().unwrap().to_owned()
    }

    fn read(&self, inside: &str) -> String {
        fs::read_to_string(self.sandbox.path(inside)).unwrap()
    }

    fn there(&self) -> Vec<PathBuf> {
        let mut all: Vec<_> = [".config", "Library", ".endless"]
            .iter()
            .flat_map(|folder| self.sandbox.files(folder))
            .map(|(path, _)| path.strip_prefix(self.home()).unwrap().to_owned())
            .collect();
        all.sort();
        all
    }
}

#[test]
fn the_service_is_installed_and_started() {
    let machine = Machine::new(&[("systemctl", "[ \"$2\" != is-active ]"), LINGER]);
    assert_snapshot!(machine.show("install service"), @"
    exit 0
    --- out
    wrote ~/.config/systemd/user/endless.service
    ran systemctl --user daemon-reload
    ran systemctl --user enable --now endless.service
    ");
    assert_snapshot!(machine.calls(), @"
    systemctl --user show --property=Version
    systemctl --user daemon-reload
    systemctl --user is-active endless.service
    systemctl --user enable --now endless.service
    loginctl show-user UID --property=Linger --value
    ");
    let unit = machine.read(UNIT);
    let program = format!("\nExecStart={}/bin/endless run\n", machine.home());
    assert!(unit.contains(&program), "{unit}");
    assert!(unit.contains("\nType=notify\n") && !unit.contains("Environment="), "{unit}");

    // Again: the same file, and nothing else than before.
    let before = fs::metadata(machine.sandbox.path(UNIT)).unwrap();
    assert_snapshot!(machine.show("install service"), @"
    exit 0
    --- out
    ~/.config/systemd/user/endless.service is as it should be
    ran systemctl --user daemon-reload
    ran systemctl --user enable --now endless.service
    ");
    let after = fs::metadata(machine.sandbox.path(UNIT)).unwrap();
    assert_eq!((before.ino(), machine.read(UNIT)), (after.ino(), unit));
    assert_eq!(machine.there(), [Path::new(UNIT)]);
}

#[test]
fn what_the_service_does_not_inherit_is_stored_in_the_unit() {
    let mut machine = Machine::new(&[SYSTEMCTL, LINGER]);
    assert_eq!(machine.run("install service").status, 0);
    machine.calls();
    machine.variables =
        "export ENDLESS_HOME='my state' CLAUDE_CONFIG_DIR=/c/100% ENDLESS_DISABLE=1;";
    assert_snapshot!(machine.show("install service"), @"
    exit 0
    --- out
    replaced ~/.config/systemd/user/endless.service
      with ENDLESS_HOME=~/my state
      with CLAUDE_CONFIG_DIR=/c/100%
    ran systemctl --user daemon-reload
    ran systemctl --user enable endless.service
    ran systemctl --user restart endless.service
    --- err
    note: ENDLESS_DISABLE is set in this shell only; the service does not see it
    ");
    assert_snapshot!(machine.calls(), @"
    systemctl --user show --property=Version
    systemctl --user daemon-reload
    systemctl --user is-active endless.service
    systemctl --user enable endless.service
    systemctl --user restart endless.service
    loginctl show-user UID --property=Linger --value
    ");
    let unit = machine.read(UNIT);
    let home = machine.home();
    let stored = format!(
        "Environment=\"ENDLESS_HOME={home}/my state\"\nEnvironment=\"CLAUDE_CONFIG_DIR=/c/100%%\"\n"
    );
    assert!(unit.contains(&stored), "{unit}");
    machine.variables = "export ENDLESS_HOME='my\nstate';";
    let ran = machine.run("install service");
    assert!(ran.status == 1 && ran.stderr.contains("a unit file can't hold"), "{}", ran.stderr);
    assert_eq!(machine.read(UNIT), unit);
}

#[test]
fn a_dry_run_writes_and_starts_nothing() {
    let machine = Machine::new(&[SYSTEMCTL, ("loginctl", "echo no")]);
    let shown = machine.show("install service --dry-run");
    let steps: Vec<_> = shown.lines().filter(|line| !line.starts_with("  | ")).collect();
    assert_snapshot!(steps.join("\n"), @"
    exit 0
    --- out
    would write ~/.config/systemd/user/endless.service
    would run systemctl --user daemon-reload
    would run systemctl --user enable --now endless.service
    --- err
    note: the service ends when you log out, and starts at the next login; to keep it running: `loginctl enable-linger`
    ");
    assert!(shown.contains("\n  | WantedBy=default.target\n"), "{shown}");
    assert_snapshot!(machine.calls(), @"
    systemctl --user show --property=Version
    systemctl --user is-active endless.service
    loginctl show-user UID --property=Linger --value
    ");
    assert_eq!(machine.there(), Vec::<PathBuf>::new());
    assert_eq!(machine.run("install service").status, 0);
    let before = machine.there();
    machine.calls();
    assert_snapshot!(machine.show("uninstall service --dry-run"), @"
    exit 0
    --- out
    would run systemctl --user disable --now endless.service
    would remove ~/.config/systemd/user/endless.service
    would run systemctl --user daemon-reload
    would run systemctl --user reset-failed endless.service
    ");
    assert_snapshot!(machine.calls(), @"systemctl --user show --property=Version");
    assert_eq!(machine.there(), before);
}

#[test]
fn without_a_service_manager_that_is_said() {
    assert_snapshot!(Machine::new(&[]).show("install service"), @"
    exit 0
    --- err
    note: the service was not installed: there is neither systemctl nor launchctl on PATH
    note: `endless run --detach` starts the service without a service manager
    ");
    let bus = "echo 'Failed to connect to bus: No medium found' >&2; exit 1";
    let machine = Machine::new(&[("systemctl", bus), LINGER]);
    assert_snapshot!(machine.show("install service"), @"
    exit 0
    --- err
    note: the service was not installed: systemd does not answer for this user (Failed to connect to bus: No medium found)
    note: `endless run --detach` starts the service without a service manager
    ");
    assert_eq!(machine.there(), Vec::<PathBuf>::new());
    let session = "echo 'Could not find domain for' >&2; exit 113";
    assert_snapshot!(Machine::new(&[("launchctl", session)]).show("install service"), @"
    exit 0
    --- err
    note: the service was not installed: launchd has no session of this user (Could not find domain for)
    note: `endless run --detach` starts the service without a service manager
    ");
}

#[test]
fn linger_is_offered() {
    for answer in ["echo no", "echo 'User ID 7 is not logged in or lingering' >&2; exit 1"] {
        let machine = Machine::new(&[SYSTEMCTL, ("loginctl", answer)]);
        let ran = machine.run("install service");
        assert!(ran.stderr.contains("`loginctl enable-linger`"), "{}", ran.stderr);
        assert!(!machine.calls().contains("enable-linger"));
    }
    let ran = Machine::new(&[SYSTEMCTL]).run("install service");
    assert_eq!((ran.status, &*ran.stderr), (0, ""));
}

#[test]
fn a_tool_that_fails_is_named() {
    let script = "[ \"$2\" != enable ] || { echo 'Unit is masked.' >&2; exit 1; }";
    let machine = Machine::new(&[("systemctl", script), LINGER]);
    assert_snapshot!(machine.show("install service"), @"
    exit 1
    --- err
    error: `systemctl --user enable --now endless.service` failed: Unit is masked.; `endless doctor` tells more
    ");
}

#[test]
fn a_unit_of_somebody_else_is_left_alone() {
    let machine = Machine::new(&[SYSTEMCTL, LINGER]);
    let unit = machine.sandbox.path(UNIT);
    machine.sandbox.write(&unit, "[Service]\nExecStart=/bin/true\n");
    for command in ["install service", "uninstall service"] {
        let ran = machine.run(command);
        assert!(
            ran.status == 1 && ran.stderr.contains("was not written by Endless"),
            "{}",
            ran.stderr
        );
    }
    fs::rename(&unit, machine.sandbox.path("elsewhere")).unwrap();
    symlink(machine.sandbox.path("elsewhere"), &unit).unwrap();
    let ran = machine.run("install service");
    assert!(ran.status == 1 && ran.stderr.contains("or is a link"), "{}", ran.stderr);
    assert_eq!(machine.read("elsewhere"), "[Service]\nExecStart=/bin/true\n");
}

#[test]
fn uninstalling_removes_exactly_ours() {
    let machine = Machine::new(&[SYSTEMCTL, LINGER]);
    let other = machine.sandbox.path(".config/systemd/user/other.service");
    machine.sandbox.write(&other, "theirs");
    machine.sandbox.write(&machine.sandbox.path(".endless/bottles/a.md"), "words");
    assert_eq!(machine.run("install service").status, 0);
    machine.calls();
    assert_snapshot!(machine.show("uninstall service"), @"
    exit 0
    --- out
    ran systemctl --user disable --now endless.service
    removed ~/.config/systemd/user/endless.service
    ran systemctl --user daemon-reload
    ran systemctl --user reset-failed endless.service
    ");
    assert_snapshot!(machine.calls(), @"
    systemctl --user show --property=Version
    systemctl --user disable --now endless.service
    systemctl --user daemon-reload
    systemctl --user reset-failed endless.service
    ");
    let rest =
        [Path::new(".config/systemd/user/other.service"), Path::new(".endless/bottles/a.md")];
    assert_eq!(machine.there(), rest);
    assert_snapshot!(machine.show("uninstall service"), @"
    exit 0
    --- err
    note: the service is not installed: there is no ~/.config/systemd/user/endless.service
    ");
    assert_snapshot!(machine.calls(), @"systemctl --user show --property=Version");
}

#[test]
fn without_a_bus_uninstalling_still_removes_the_unit() {
    let machine = Machine::new(&[SYSTEMCTL, LINGER]);
    assert_eq!(machine.run("install service").status, 0);
    let wants = machine.sandbox.path(".config/systemd/user/default.target.wants");
    fs::create_dir(&wants).unwrap();
    symlink(machine.sandbox.path(UNIT), wants.join("endless.service")).unwrap();
    machine.tool("systemctl", "exit 1");
    assert_snapshot!(machine.show("uninstall service"), @"
    exit 0
    --- out
    removed ~/.config/systemd/user/default.target.wants/endless.service
    removed ~/.config/systemd/user/endless.service
    ");
    assert!(fs::symlink_metadata(wants.join("endless.service")).is_err());
    assert_eq!(machine.there(), Vec::<PathBuf>::new());
}

#[test]
fn purging_asks_first_and_takes_only_what_is_ours() {
    let machine = Machine::new(&[SYSTEMCTL, LINGER]);
    for name in ["bottles/a.md", "bottles/archive/1-a.md", "config.toml", "notes.txt"] {
        machine.sandbox.write(&machine.sandbox.path(&format!(".endless/{name}")), "");
    }
    assert_eq!(machine.run("install service").status, 0);
    let before = machine.there();
    assert_snapshot!(machine.show("uninstall service --purge"), @"
    exit 2
    --- err
    error: nobody is there to be asked; look with --dry-run, then add --yes
    ");
    assert_eq!(machine.there(), before);
    assert_snapshot!(machine.show("uninstall service --purge --dry-run"), @"
    exit 0
    --- out
    would run systemctl --user disable --now endless.service
    would remove ~/.config/systemd/user/endless.service
    would run systemctl --user daemon-reload
    would run systemctl --user reset-failed endless.service
    would remove ~/.endless/bottles
    would remove ~/.endless/config.toml
    --- err
    note: ~/.endless/notes.txt is not ours, and stays
    ");
    assert_eq!(machine.there(), before);
    // A broken configuration keeps nobody from uninstalling.
    machine.sandbox.write(&machine.sandbox.path(".endless/config.toml"), "x = 1");
    assert_snapshot!(machine.show("uninstall service --purge --yes"), @"
    exit 0
    --- out
    ran systemctl --user disable --now endless.service
    removed ~/.config/systemd/user/endless.service
    ran systemctl --user daemon-reload
    ran systemctl --user reset-failed endless.service
    removed ~/.endless/bottles
    removed ~/.endless/config.toml
    --- err
    note: ~/.endless/notes.txt is not ours, and stays
    ");
    assert_eq!(machine.there(), [Path::new(".endless/notes.txt")]);
}

#[test]
fn launchd_gets_an_agent() {
    let loaded = "[ \"$1\" != print ] || [ -e loaded ] || [ \"${2#*/*/}\" = \"$2\" ]";
    let machine = Machine::new(&[("launchctl", loaded)]);
    assert_snapshot!(machine.show("install service"), @"
    exit 0
    --- out
    wrote ~/Library/LaunchAgents/sh.endless.agent.plist
    ran launchctl enable gui/UID/sh.endless.agent
    ran launchctl bootstrap gui/UID ~/Library/LaunchAgents/sh.endless.agent.plist
    ");
    assert_snapshot!(machine.calls(), @"
    launchctl print gui/UID
    launchctl print gui/UID/sh.endless.agent
    launchctl enable gui/UID/sh.endless.agent
    launchctl bootstrap gui/UID ~/Library/LaunchAgents/sh.endless.agent.plist
    ");
    let agent = machine.read(AGENT);
    let home = machine.home();
    let program = format!(
        "\t\t<string>{home}/bin/endless</string>\n\t\t<string>run</string>\n\
         \t\t<string>--log</string>\n\t\t<string>{home}/.endless/logs/service.log</string>\n"
    );
    assert!(agent.contains(&program), "{agent}");
    assert!(agent.contains(&format!("<string>{home}/.endless/logs/launchd.log</string>")));
    assert!(machine.sandbox.path(".endless/logs").is_dir());
    check_plist(&machine.sandbox.path(AGENT));

    machine.sandbox.write(&machine.sandbox.path("loaded"), "");
    assert_eq!(machine.run("install service").status, 0);
    assert_snapshot!(machine.calls(), @"
    launchctl print gui/UID
    launchctl print gui/UID/sh.endless.agent
    launchctl kickstart gui/UID/sh.endless.agent
    ");
    let machine = Machine { variables: "export CLAUDE_CONFIG_DIR='/a<b>&c';", ..machine };
    assert_eq!(machine.run("install service").status, 0);
    assert_snapshot!(machine.calls(), @"
    launchctl print gui/UID
    launchctl print gui/UID/sh.endless.agent
    launchctl bootout gui/UID/sh.endless.agent
    launchctl enable gui/UID/sh.endless.agent
    launchctl bootstrap gui/UID ~/Library/LaunchAgents/sh.endless.agent.plist
    ");
    check_plist(&machine.sandbox.path(AGENT));
    assert_snapshot!(machine.show("uninstall service"), @"
    exit 0
    --- out
    ran launchctl bootout gui/UID/sh.endless.agent
    removed ~/Library/LaunchAgents/sh.endless.agent.plist
    ");
    assert_snapshot!(machine.calls(), @"
    launchctl print gui/UID
    launchctl print gui/UID/sh.endless.agent
    launchctl bootout gui/UID/sh.endless.agent
    ");
    assert!(!machine.sandbox.path(AGENT).exists());
}

#[test]
fn bare_install_is_the_service_and_the_hooks() {
    let machine = Machine::new(&[SYSTEMCTL, LINGER]);
    assert_snapshot!(machine.show("install"), @"
    exit 0
    --- out
    wrote ~/.config/systemd/user/endless.service
    ran systemctl --user daemon-reload
    ran systemctl --user enable --now endless.service
    put 8 hooks into ~/.claude/settings.json
    ");
    assert_snapshot!(machine.show("install"), @"
    exit 0
    --- out
    ~/.config/systemd/user/endless.service is as it should be
    ran systemctl --user daemon-reload
    ran systemctl --user enable --now endless.service
    ~/.claude/settings.json has all 8 hooks
    ");
    assert_snapshot!(machine.show("uninstall"), @"
    exit 0
    --- out
    removed ~/.claude/settings.json, which held nothing but the hooks
    ran systemctl --user disable --now endless.service
    removed ~/.config/systemd/user/endless.service
    ran systemctl --user daemon-reload
    ran systemctl --user reset-failed endless.service
    ");
    assert_eq!(machine.there(), Vec::<PathBuf>::new());
    assert_eq!(machine.sandbox.files(".claude"), []);
    machine.calls();
    // What the hooks would fail for, fails first.
    machine.sandbox.write(&machine.sandbox.path(".claude/settings.json"), "{");
    assert_snapshot!(machine.show("install"), @"
    exit 1
    --- err
    error: ~/.claude/settings.json, line 1: the text ends where a key in double quotes should be; mend it first
    ");
    assert_eq!((machine.calls(), machine.there()), (String::new(), Vec::new()));
    assert_snapshot!(machine.show("uninstall"), @"
    exit 1
    --- err
    error: ~/.claude/settings.json, line 1: the text ends where a key in double quotes should be; mend it first
    ");
}

/// systemd's own look at the unit, where there is one.
#[test]
fn systemd_accepts_the_unit() {
    let mut machine = Machine::new(&[SYSTEMCTL, LINGER]);
    machine.variables = "export ENDLESS_HOME='/a b/\"c\"/100%' ENDLESS_ZONE=Europe/Berlin;";
    assert_eq!(machine.run("install service").status, 0);
    let runtime = machine.sandbox.path("runtime");
    fs::create_dir(&runtime).unwrap();
    fs::set_permissions(&runtime, fs::Permissions::from_mode(0o700)).unwrap();
    let mut verify = Command::new("systemd-analyze");
    verify.env("XDG_RUNTIME_DIR", runtime).env("LC_ALL", "C");
    verify.args(["verify", "--user", "--man=no", "--recursive-errors=no"]);
    let Ok(output) = verify.arg(machine.sandbox.path(UNIT)).output() else {
        println!("not checked: there is no systemd-analyze");
        return;
    };
    let said = String::from_utf8_lossy(&output.stderr);
    // What systemd before 254 does not know it ignores, as it is meant to.
    let is_new =
        |line: &&str| line.contains("'RestartSteps'") || line.contains("'RestartMaxDelaySec'");
    let (new, other): (Vec<_>, Vec<_>) =
        said.lines().filter(|line| line.contains("endless.service")).partition(is_new);
    assert!(other.is_empty(), "{said}");
    if !output.status.success() && new.is_empty() {
        println!("not checked: systemd-analyze does not work here: {said}");
    }
}

/// Looks at a property list with `plutil` where there is one, and with a parser of our own.
fn check_plist(path: &Path) {
    if let Ok(output) = Command::new("plutil").args(["-lint"]).arg(path).output() {
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
    }
    let text = fs::read_to_string(path).unwrap();
    assert_eq!(well_formed(&text), Ok(()), "{text}");
    assert_eq!(text.matches("<key>").count(), 12 + text.matches("CLAUDE_CONFIG_DIR").count());
}

/// Whether every element is closed in its order, and each key of a dictionary has one value.
fn well_formed(text: &str) -> Result<(), String> {
    let mut open: Vec<(&str, usize)> = Vec::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('<') {
        if before
            .split('&')
            .skip(1)
            .any(|part| !["amp;", "lt;", "gt;"].iter().any(|it| part.starts_with(it)))
        {
            return Err(format!("a bare `&` in {before}"));
        }
        let end = if after.starts_with("!--") { "-->" } else { ">" };
        let (tag, next) = after.split_once(end).ok_or("a tag is not closed")?;
        rest = next;
        if tag.starts_with(['?', '!']) {
            continue;
        }
        let name = tag.trim_matches('/').split(' ').next().unwrap_or_default();
        if tag.starts_with('/') {
            let (last, children) = open.pop().ok_or("nothing is open")?;
            if last != name || (name == "dict" && children % 2 == 1) {
                return Err(format!("</{name}> closes <{last}> with {children} children"));
            }
            continue;
        }
        if let Some((parent, children)) = open.last_mut() {
            let is_key = *parent == "dict" && *children % 2 == 0;
            if is_key != (name == "key") {
                return Err(format!("<{name}> in the wrong place of <{parent}>"));
            }
            *children += 1;
        }
        if !tag.ends_with('/') {
            open.push((name, 0));
        }
    }
    if open.is_empty() { Ok(()) } else { Err(format!("{open:?} stay open")) }
}
