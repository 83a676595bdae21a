//! Where claude-mem keeps its data, found the way it finds it itself.
//!
//! The variable outweighs its settings file, that its default. Refuses: to make
//! anything, and to wait for a pipe that stands in a file's place.

use std::{
    fs,
    io::Read,
    path::{Path, PathBuf},
};

use endless_watchers::open_regular;
use serde_json::Value;

use crate::paths::ClaudeMemPlace as Place;

/// The default folder in the home, which also holds the settings that name another.
const DEFAULT: &str = ".claude-mem";
const SETTINGS: &str = "settings.json";
/// Bytes of the settings; more are none that claude-mem wrote.
const LONGEST: u64 = 1 << 20;
/// The key, and the variable.
const DATA: &str = "CLAUDE_MEM_DATA_DIR";
const RUNTIME: &str = "CLAUDE_MEM_RUNTIME";

/// claude-mem's data folder, whether it is there or not; none without a home.
pub fn folder(place: &Place) -> Option<PathBuf> {
    if let Some(folder) = &place.variable {
        return Some(folder.clone());
    }
    let home = place.home.as_deref()?;
    let default = home.join(DEFAULT);
    let named = setting(&default, DATA).filter(|folder| !folder.trim().is_empty());
    Some(named.map_or(default, |folder| expanded(&folder, home)))
}

/// Whether the settings of this folder send all rows to a server.
pub(super) fn is_server(folder: &Path) -> bool {
    setting(folder, RUNTIME).is_some_and(|runtime| runtime.trim() == "server")
}

/// A key of the settings file: flat, or under `env` as older versions wrote it.
fn setting(folder: &Path, key: &str) -> Option<String> {
    let mut bytes = Vec::new();
    // People keep their settings elsewhere, and put a link here.
    let path = fs::canonicalize(folder.join(SETTINGS)).ok()?;
    let file = open_regular(&path).ok()?;
    file.take(LONGEST).read_to_end(&mut bytes).ok()?;
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&bytes);
    let settings: Value = serde_json::from_slice(bytes).ok()?;
    let value = settings.get(key).or_else(|| settings.get("env")?.get(key))?;
    value.as_str().map(str::to_owned)
}

fn expanded(folder: &str, home: &Path) -> PathBuf {
    match folder.strip_prefix("~/") {
        Some(inside) => home.join(inside),
        None => home.join(folder),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_variable_outweighs_the_settings_and_they_the_default() {
        let home = tempfile::tempdir().unwrap();
        let home = home.path();
        let default = home.join(DEFAULT);
        let mut place = Place { home: Some(home.to_owned()), variable: None };
        assert_eq!(folder(&place), Some(default.clone()));
        fs::create_dir(&default).unwrap();
        for (settings, expected) in [
            ("{}", default.clone()),
            ("no JSON", default.clone()),
            (r#"{"CLAUDE_MEM_DATA_DIR":""}"#, default.clone()),
            (r#"{"CLAUDE_MEM_DATA_DIR":"/data"}"#, "/data".into()),
            ("\u{feff}{\"CLAUDE_MEM_DATA_DIR\":\"~/mem\"}", home.join("mem")),
            (r#"{"env":{"CLAUDE_MEM_DATA_DIR":"/old"}}"#, "/old".into()),
        ] {
            fs::write(default.join(SETTINGS), settings).unwrap();
            assert_eq!(folder(&place), Some(expected), "{settings}");
        }
        let settings = default.join(SETTINGS);
        fs::rename(&settings, home.join("elsewhere")).unwrap();
        std::os::unix::fs::symlink(home.join("elsewhere"), &settings).unwrap();
        assert_eq!(folder(&place), Some("/old".into()));
        fs::remove_file(&settings).unwrap();
        let made = std::process::Command::new("mkfifo").arg(&settings).status().unwrap();
        assert!(made.success());
        assert_eq!(folder(&place), Some(default));
        place.variable = Some("/v".into());
        assert_eq!(folder(&place), Some("/v".into()));
        assert_eq!(folder(&Place::default()), None);
    }

    #[test]
    fn a_server_is_known_by_the_settings() {
        let folder = tempfile::tempdir().unwrap();
        assert!(!is_server(folder.path()));
        for (settings, expected) in [
            (r#"{"CLAUDE_MEM_RUNTIME":"server"}"#, true),
            (r#"{"CLAUDE_MEM_RUNTIME":"worker"}"#, false),
            (r#"{"env":{"CLAUDE_MEM_RUNTIME":"server"}}"#, true),
        ] {
            fs::write(folder.path().join(SETTINGS), settings).unwrap();
            assert_eq!(is_server(folder.path()), expected, "{settings}");
        }
    }
}
