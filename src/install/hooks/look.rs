//! How the hooks of one root stand: in its settings, and as the plugin. Changes nothing.

use std::{
    fs,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
};

use serde_json::Value;

use super::{
    super::tools::Tools,
    edit,
    events::{EVENTS, Hook, TOLERANT, is_ours, program_of},
    host::{self, Host},
    jsonc, settings,
};
use crate::install::{InstallError, Setting};

/// The plugin's name; an `@` and its marketplace follow.
const PLUGIN: &str = "endless";

/// How the hooks of one root stand.
#[derive(Debug)]
pub struct Look {
    /// The settings.
    pub settings: PathBuf,
    /// Our hooks in them.
    pub standing: Standing,
    /// How many those are.
    pub count: usize,
    /// A program that they call and that is not there.
    pub gone: Option<String>,
    /// The settings switch off all hooks.
    pub are_disabled: bool,
    /// The settings are plain JSON, as the host demands.
    pub is_plain: bool,
    /// The plugin, where it is switched on.
    pub plugin: Option<String>,
    /// The oldest host that reads the settings.
    pub host: Option<Host>,
    /// A hook for which that host ignores all settings.
    pub unknown: Option<&'static str>,
}

/// Our hooks in some settings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    /// There are none.
    Absent,
    /// What installing would write now.
    Current,
    /// Ours, but of another program, version or environment.
    Other,
}

/// Looks at the settings at this path, and at the plugins beside them.
pub fn look(setting: &Setting<'_>, path: &Path) -> Result<Look, InstallError> {
    let root = path.parent().unwrap_or(Path::new("/"));
    let text = settings::read(path)?.unwrap_or_default();
    let host = host::oldest(&Tools::new(setting.environment), root);
    let wanted = super::wanted(setting, host.as_ref())?;
    let refused = |wrong: jsonc::Wrong| settings::SettingsError::Wrong {
        path: path.to_owned(),
        line: wrong.line,
        message: wrong.message,
    };
    let found = edit::found(&text).map_err(refused)?;
    let standing = match edit::install(&text, &wanted) {
        _ if found.is_empty() => Standing::Absent,
        Ok(same) if same == text => Standing::Current,
        _ => Standing::Other,
    };
    Ok(Look {
        settings: path.to_owned(),
        standing,
        count: found.len(),
        gone: found.iter().filter_map(|hook| program_of(&hook.command)).find(is_gone),
        are_disabled: are_disabled(&text),
        is_plain: is_plain(&text),
        plugin: plugin(root, &text),
        unknown: host.as_ref().and_then(|host| unknown(host, &found)),
        host,
    })
}

fn is_gone(program: &String) -> bool {
    !fs::metadata(program)
        .is_ok_and(|data| data.is_file() && data.permissions().mode() & 0o111 != 0)
}

/// A hook for which this host ignores all its settings.
fn unknown(host: &Host, found: &[Hook]) -> Option<&'static str> {
    let is_unknown = |name: &str| found.iter().any(|hook| hook.event == name);
    let mut events = EVENTS.iter().filter(|event| host.version < event.since.min(TOLERANT));
    events.find(|event| is_unknown(event.name)).map(|event| event.name)
}

/// The plugin that calls Endless, if the settings switch one on. A host keeps what it has installed
/// in a list beside the settings.
fn plugin(root: &Path, text: &str) -> Option<String> {
    let settings = value(text)?;
    let switched = settings.get("enabledPlugins")?.as_object()?.iter();
    let mut on = switched.filter(|(_, switch)| **switch != false).map(|(name, _)| name);
    let list = fs::read_to_string(root.join("plugins/installed_plugins.json"));
    let installed = list.ok().and_then(|list| value(&list)).unwrap_or_default();
    let calls = |name: &str| {
        let entries = installed["plugins"][name].as_array();
        let folders = entries.into_iter().flatten().filter_map(|it| it["installPath"].as_str());
        folders.map(|folder| Path::new(folder).join("hooks/hooks.json")).any(|file| calls(&file))
    };
    on.find(|name| name.split('@').next() == Some(PLUGIN) || calls(name)).cloned()
}

/// Whether a plugin's hooks call Endless.
fn calls(file: &Path) -> bool {
    let text = fs::read_to_string(file).unwrap_or_default();
    edit::found(&text).is_ok_and(|hooks| hooks.iter().any(|hook| is_ours(&hook.command)))
}

/// Whether settings switch off all hooks.
pub(super) fn are_disabled(text: &str) -> bool {
    value(text).is_some_and(|settings| settings["disableAllHooks"] == true)
}

/// Whether the host can read settings, which must be JSON without anything beside it.
pub(super) fn is_plain(text: &str) -> bool {
    let text = &text[jsonc::start(text)..];
    text.trim().is_empty() || serde_json::from_str::<Value>(text).is_ok()
}

fn value(text: &str) -> Option<Value> {
    Some(jsonc::parse(text).ok()?.value(text))
}
