//! Which hooks there are: one command for every event, without a matcher.
//!
//! What to do is decided in the program, so that no way of starting a session is left out. Pure.
//! Invariant: a hook whose program is gone ends well, and what stands in a path stays one word of
//! the shell.

use std::fmt;

use serde_json::{Value, json};

/// What the command ends with.
const CALL: &str = " hook claude-code";
/// What the command begins with.
const GUARD: &str = "[ -x ";
const REST: &str = " || exit 0";

/// A version of the host.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Version(pub u32, pub u32, pub u32);

impl Version {
    /// Reads `2.1.332`, and what has something behind it (`2.1.332-beta`).
    pub fn read(text: &str) -> Option<Self> {
        let mut parts = text.trim().split('.');
        let mut number = || parts.next()?.parse().ok();
        let (major, minor) = (number()?, number()?);
        let patch = parts.next()?;
        let digits = patch.find(|char: char| !char.is_ascii_digit()).unwrap_or(patch.len());
        Some(Self(major, minor, patch[..digits].parse().ok()?))
    }
}

impl fmt::Display for Version {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}.{}.{}", self.0, self.1, self.2)
    }
}

/// An event that the host tells.
#[derive(Debug)]
pub struct Event {
    /// Its name.
    pub name: &'static str,
    /// The first version of the host that knows it.
    pub since: Version,
    /// Seconds after which the host ends the hook. A hook answers in a fraction of them; at the end
    /// of a session the host would otherwise wait 1.5 seconds only.
    pub timeout: u32,
}

const fn event(name: &'static str, since: Version, timeout: u32) -> Event {
    Event { name, since, timeout }
}

/// All events that Endless listens to. A host that does not know one of them ignores the whole of
/// its settings (see [`TOLERANT`]), so it must not find it there. The versions were tried out.
pub const EVENTS: &[Event] = &[
    event("SessionStart", Version(1, 0, 62), 10),
    event("SessionEnd", Version(1, 0, 85), 5),
    event("UserPromptSubmit", Version(1, 0, 54), 5),
    event("PreCompact", Version(1, 0, 54), 10),
    event("PostCompact", Version(2, 1, 76), 5),
    event("PermissionRequest", Version(2, 0, 45), 5),
    event("Stop", Version(1, 0, 38), 5),
    event("StopFailure", Version(2, 1, 78), 5),
];

/// The oldest version of Claude Code that accepts all of [`EVENTS`].
pub const OLDEST_HOST: Version = Version(2, 1, 78);

/// The oldest version of Claude Code that ignores an event it does not know. Those before it ignore
/// the whole file: permissions, environment and all.
pub const TOLERANT: Version = Version(2, 1, 101);

/// The events that a host of this version knows; all where the version is not known.
pub fn known_to(version: Option<Version>) -> impl Iterator<Item = &'static Event> {
    EVENTS.iter().filter(move |event| version.is_none_or(|version| event.since <= version))
}

/// The hook of an event, as settings hold it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hook {
    /// The event's name.
    pub event: String,
    /// What the host gives to a shell.
    pub command: String,
    /// Seconds.
    pub timeout: u32,
}

impl Hook {
    /// Its handler: the innermost object.
    pub(super) fn handler(&self) -> Value {
        json!({"type": "command", "command": self.command, "timeout": self.timeout})
    }
}

/// The hooks that call `program`, for a host of this version. `home` is the state folder where it
/// is not the usual one. Both are free of control characters.
pub fn hooks(program: &str, home: Option<&str>, version: Option<Version>) -> Vec<Hook> {
    let command = command(program, home);
    let hook = |event: &Event| Hook {
        event: event.name.to_owned(),
        command: command.clone(),
        timeout: event.timeout,
    };
    known_to(version).map(hook).collect()
}

/// The command of every hook: a program that is gone is no error.
fn command(program: &str, home: Option<&str>) -> String {
    let program = quoted(program);
    let variables = home.map(|home| format!("env ENDLESS_HOME={} ", quoted(home)));
    format!("{GUARD}{program} ] && exec {}{program}{CALL}{REST}", variables.unwrap_or_default())
}

/// Whether a command is one that Endless installed: of any version, at any place. A person's own program
/// whose name only begins like ours is theirs.
pub fn is_ours(command: &str) -> bool {
    let Some((before, after)) = command.split_once(CALL) else { return false };
    let is_word = after.is_empty() || after.starts_with([' ', ';', '|', '&', '\'', '"', ')']);
    let program = before.trim_end_matches(['\'', '"']);
    let name = program.rsplit(['/', ' ', '\'', '"']).next().unwrap_or(program);
    let is_shaped = command.starts_with(GUARD) && command.ends_with(REST);
    is_word && (name == "endless" || is_shaped)
}

/// The programs that a command of ours needs, absolute.
pub fn program_of(command: &str) -> Option<String> {
    let inside = command.strip_prefix(GUARD)?.split_once(" ] && exec ")?.0;
    Some(inside.strip_prefix('\'')?.strip_suffix('\'')?.replace("'\\''", "'"))
}

/// One word of a shell.
fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "'\\''"))
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    fn versions_are_read() {
        assert_eq!(Version::read("2.1.332"), Some(Version(2, 1, 332)));
        assert_eq!(Version::read("2.1.78-beta.1\n"), Some(Version(2, 1, 78)));
        for text in ["", "2.1", "2.1.", "a.b.c", "v2.1.3", "2.1.x"] {
            assert_eq!(Version::read(text), None, "{text}");
        }
        assert!(Version(2, 1, 100) > Version(2, 1, 78) && Version(2, 0, 9) < Version(2, 1, 0));
    }

    #[test]
    fn a_host_gets_no_event_that_it_does_not_know() {
        let names = |version| known_to(version).map(|event| event.name).collect::<Vec<_>>();
        let all: Vec<_> = EVENTS.iter().map(|event| event.name).collect();
        assert_eq!(names(None), all);
        assert_eq!(names(Some(OLDEST_HOST)), all);
        assert_eq!(EVENTS.iter().map(|event| event.since).max(), Some(OLDEST_HOST));
        assert!(!names(Some(Version(2, 1, 77))).contains(&"StopFailure"));
        let old = ["SessionStart", "SessionEnd", "UserPromptSubmit", "PreCompact", "Stop"];
        assert_eq!(names(Some(Version(1, 0, 128))), old);
        assert_eq!(names(Some(Version(0, 2, 9))), Vec::<&str>::new());
    }

    #[test]
    fn our_commands_are_known_whatever_their_path_and_version() {
        for home in [None, Some("/s 1/it's")] {
            for path in ["/usr/bin/endless", "/a b/it's/endless", "/x/other"] {
                let command = command(path, home);
                assert!(is_ours(&command), "{command}");
                assert_eq!(program_of(&command).as_deref(), Some(path));
            }
        }
        for ours in [
            "endless hook claude-code",
            "/opt/endless-0.2/endless hook claude-code --log",
            "'/a b/endless' hook claude-code; true",
            "command -v endless >/dev/null 2>&1 && exec endless hook claude-code || exit 0",
        ] {
            assert!(is_ours(ours), "{ours}");
        }
        for theirs in [
            "endless status",
            "echo endless hook claude-codex",
            "/bin/mine hook claude-code",
            "hook claude-code",
            "",
        ] {
            assert!(!is_ours(theirs), "{theirs}");
        }
    }

    #[test]
    fn a_shell_understands_the_command() {
        let folder = tempfile::tempdir().unwrap();
        let program = folder.path().join("it's \"a\" $HOME `b`");
        let run = |home| {
            let command = command(program.to_str().unwrap(), home);
            let output = Command::new("/bin/sh").args(["-c", &command]).output().unwrap();
            (output.status.code(), String::from_utf8(output.stdout).unwrap())
        };
        assert_eq!(run(None), (Some(0), String::new()));
        std::os::unix::fs::symlink("/bin/echo", &program).unwrap();
        assert_eq!(run(None), (Some(0), "hook claude-code\n".to_owned()));
        assert_eq!(run(Some("/it's $HOME")).0, Some(0));
    }
}
