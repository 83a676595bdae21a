//! claude-mem: whether its database can be read, and whether both speak when a session starts.

use std::{fs, path::Path};

use serde_json::Value;

use super::{Findings, count};
use crate::{
    cli::observed::source,
    config::{Config, Observations},
    install::hooks::{self, events::is_ours},
    sources::claude_mem::Unavailable,
};

const NAME: &str = "claude-mem";
/// The name of claude-mem's plugin; an `@` and its marketplace follow.
const THEIRS: &str = "claude-mem";
/// The name of ours.
const OURS: &str = "endless";

/// Whether claude-mem's database can be read.
pub(super) fn database(config: &Config, findings: &mut Findings) {
    let Some(mut source) = source(config) else {
        return findings.ok(NAME, "switched off: `observations` is `derived`");
    };
    let forced = config.observations == Observations::ClaudeMem;
    let error = match source.sessions("") {
        Ok(sessions) => {
            let path = source.path().unwrap_or_default();
            let sessions = count(sessions.len(), "session");
            return findings.ok(NAME, format!("{} is read: {sessions}", path.display()));
        }
        Err(error) => error,
    };
    let text = format!("{error}; lines are derived from the transcripts");
    match (&error, forced) {
        (Unavailable::Absent { .. } | Unavailable::NoHome, false) => findings.ok(NAME, text),
        (error, false) => findings.warn(NAME, text, todo(error)),
        (error, true) => findings.problem(NAME, text, todo(error)),
    }
}

fn todo(error: &Unavailable) -> &'static str {
    match error {
        Unavailable::Absent { .. } | Unavailable::NoHome => {
            "install claude-mem, set CLAUDE_MEM_DATA_DIR, or set `observations = \"auto\"`"
        }
        Unavailable::Server { .. } => {
            "set CLAUDE_MEM_RUNTIME to `worker` in its settings.json, or `observations = \"derived\"`"
        }
        Unavailable::Locked { .. } => {
            "nothing to do if it passes; else end the program that holds it"
        }
        Unavailable::Malformed { .. } => {
            "look at claude-mem's own log; its worker makes a new one where the file is moved away"
        }
        Unavailable::Unknown { .. } => "update claude-mem, or Endless if claude-mem is the newer",
        Unavailable::Unreadable { .. } => "give yourself the right to read it and its folder",
    }
}

/// Whether claude-mem and Endless both speak when a session starts.
pub(super) fn at_the_start(config: &Config, findings: &mut Findings) {
    for path in hooks::files(config) {
        let Some(settings) = read(&path) else { continue };
        if speaks(&settings, THEIRS, |command| command.contains(THEIRS))
            && speaks(&settings, OURS, is_ours)
        {
            findings.warn(
                NAME,
                format!(
                    "it and Endless both speak when a session starts ({}): its timeline of the \
                     project and the pointer stand in the context together",
                    path.display()
                ),
                "nothing to do if you want both; neither needs the other's",
            );
        }
    }
}

fn read(path: &Path) -> Option<Value> {
    serde_json::from_str(&fs::read_to_string(path).ok()?).ok()
}

/// Whether settings have a hook at the start of sessions whose command is meant, or switch the plugin
/// of this name on.
fn speaks(settings: &Value, plugin: &str, is_meant: impl Fn(&str) -> bool) -> bool {
    let groups = settings["hooks"]["SessionStart"].as_array().into_iter().flatten();
    let hooks = groups.filter_map(|group| group["hooks"].as_array()).flatten();
    let mut commands = hooks.filter_map(|hook| hook["command"].as_str());
    let plugins = settings["enabledPlugins"].as_object().into_iter().flatten();
    let mut on = plugins.filter(|(_, switch)| **switch == true).map(|(name, _)| name);
    let is_plugin = |name: &String| name.split('@').next() == Some(plugin);
    commands.any(is_meant) || on.any(is_plugin)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn hooks_at_the_start_are_known_by_their_command_or_plugin() {
        let theirs =
            |settings: &Value| speaks(settings, THEIRS, |command| command.contains(THEIRS));
        let with = |command: &str| json!({"hooks": {"SessionStart": [{"matcher": "compact", "hooks": [{"type": "command", "command": command}]}]}});
        assert!(theirs(&with("node ~/.claude/plugins/claude-mem/bun-runner.js hook context")));
        assert!(!theirs(&with("echo")) && !theirs(&json!({})));
        assert!(theirs(&json!({"enabledPlugins": {"claude-mem@thedotmack": true}})));
        assert!(!theirs(&json!({"enabledPlugins": {"claude-mem@thedotmack": false}})));
        assert!(!theirs(&json!({"enabledPlugins": {"not-claude-mem@x": true}})));
        assert!(!theirs(&json!({"hooks": {"Stop": [{"hooks": [{"command": "claude-mem"}]}]}})));
    }
}
