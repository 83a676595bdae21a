//! What belongs to the host and to the system: roots, retention, limits of watching.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use endless_watchers::silent_kind;
use serde_json::Value;

use super::{Findings, count};
use crate::{
    config::{Config, Origin},
    sources::transcripts::scan,
};

/// Days after which the host deletes transcripts where its settings say nothing.
const RETENTION: u64 = 30;
const LIMIT: &str = "/proc/sys/fs/inotify/max_user_watches";
const INSTANCES: &str = "/proc/sys/fs/inotify/max_user_instances";

/// The folders of hosts: there, readable, and on a file system that reports changes.
pub(super) fn roots(config: &Config, findings: &mut Findings) {
    const NAME: &str = "roots";
    let origin = config.origin("roots");
    for candidate in &config.candidates {
        let projects = candidate.join("projects");
        let shown = projects.display();
        match fs::read_dir(&projects) {
            Ok(_) => root(candidate, findings),
            Err(error) if error.kind() != io::ErrorKind::NotFound => findings.problem(
                NAME,
                format!("can't read {shown}: {error}"),
                "give yourself the right to read it, or change `roots`",
            ),
            // Of the usual folders most people have one.
            Err(_) if origin == Origin::Default => {}
            Err(_) => findings.problem(
                NAME,
                format!("there is no {shown}"),
                format!("mend `roots` ({origin}), or start Claude Code once"),
            ),
        }
    }
    if config.roots.is_empty() && origin == Origin::Default {
        let places: Vec<_> = config
            .candidates
            .iter()
            .map(|root| root.join("projects").display().to_string())
            .collect();
        findings.warn(
            NAME,
            format!("no transcript yet: there is no {}", places.join(" and no ")),
            "start Claude Code once; if its folder lies elsewhere, set `roots` or CLAUDE_CONFIG_DIR",
        );
    }
}

fn root(root: &Path, findings: &mut Findings) {
    const NAME: &str = "roots";
    let (shown, scan) = (root.display(), scan(&[root.to_owned()]));
    let sessions = count(scan.sessions.len(), "session");
    if scan.unreadable > 0 {
        findings.problem(
            NAME,
            format!(
                "{shown}: {sessions}, and {} that can't be read",
                count(scan.unreadable, "folder")
            ),
            format!("`chmod -R u+rX {shown}/projects`"),
        );
    } else if let Some(kind) = silent_kind(&root.join("projects")) {
        findings.warn(
            NAME,
            format!("{shown}: {sessions}, on {kind}, which reports no changes"),
            "nothing to do: it is looked at every second instead, which costs some time",
        );
    } else {
        findings.ok(NAME, format!("{shown}: {sessions}"));
    }
}

/// How long the host keeps transcripts.
pub(super) fn retention(config: &Config, findings: &mut Findings) {
    const NAME: &str = "retention";
    for root in &config.roots {
        let file = root.join("settings.json");
        let shown = file.display();
        match days(&file) {
            Ok(Some(0)) => findings.warn(
                NAME,
                format!("{shown} says `cleanupPeriodDays: 0`: Claude Code keeps no transcripts"),
                "set it to 1 or more: bottles are made from transcripts",
            ),
            Ok(Some(days)) => findings.ok(NAME, outlive(days, &format!("{shown} says so"))),
            Ok(None) => findings.ok(NAME, outlive(RETENTION, "its default")),
            Err(why) => findings.warn(
                NAME,
                format!("{shown} can't be understood: {why}"),
                "mend it; Claude Code reads it too",
            ),
        }
    }
}

fn outlive(days: u64, why: &str) -> String {
    format!("Claude Code deletes transcripts after {} ({why}); bottles stay", plural(days, "day"))
}

fn plural(number: u64, what: &str) -> String {
    count(usize::try_from(number).unwrap_or(usize::MAX), what)
}

/// The setting `cleanupPeriodDays`.
fn days(file: &Path) -> Result<Option<u64>, String> {
    let text = match fs::read_to_string(file) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        read => read.map_err(|error| error.to_string())?,
    };
    let settings: Value = serde_json::from_str(&text).map_err(|error| error.to_string())?;
    match settings.get("cleanupPeriodDays") {
        None | Some(Value::Null) => Ok(None),
        Some(days) => days
            .as_u64()
            .map(Some)
            .ok_or_else(|| format!("`cleanupPeriodDays` is {days}, which is no number of days")),
    }
}

/// Whether the system allows a watch for every folder.
pub(super) fn watches(config: &Config, findings: &mut Findings) {
    const NAME: &str = "watches";
    let Some(limit) = number(LIMIT) else { return };
    let folders: usize = config.roots.iter().map(|root| folders(root)).sum();
    let needed = count(folders, "folder");
    if number(INSTANCES) == Some(0) {
        findings.warn(
            NAME,
            format!("{INSTANCES} is 0: nothing can be watched, all {needed} are polled"),
            "`sudo sysctl fs.inotify.max_user_instances=128`",
        );
    } else if folders.saturating_mul(2) > limit {
        findings.warn(
            NAME,
            format!("{needed} to watch, and all programs together may watch {limit}"),
            format!(
                "`sudo sysctl fs.inotify.max_user_watches={}`; until then the rest is polled",
                folders.saturating_mul(4).max(65_536)
            ),
        );
    } else {
        findings.ok(NAME, format!("{needed} to watch; all programs together may watch {limit}"));
    }
}

/// The folders of a root that are watched: its own two, and one for each project.
fn folders(root: &Path) -> usize {
    let entries = fs::read_dir(root.join("projects")).into_iter().flatten().flatten();
    2 + entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir())).count()
}

fn number(file: &str) -> Option<usize> {
    fs::read_to_string(PathBuf::from(file)).ok()?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hosts_retention_is_read() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("settings.json");
        assert_eq!(days(&file), Ok(None));
        for (text, expected) in [
            ("{}", Ok(None)),
            (r#"{"cleanupPeriodDays":99999}"#, Ok(Some(99_999))),
            (r#"{"cleanupPeriodDays":0}"#, Ok(Some(0))),
            (r#"{"cleanupPeriodDays":"x"}"#, Err("is \"x\", which is no number of days")),
            ("{", Err("EOF while parsing")),
        ] {
            fs::write(&file, text).unwrap();
            match (days(&file), expected) {
                (Err(found), Err(expected)) => assert!(found.contains(expected), "{found}"),
                (found, expected) => assert_eq!(found, expected.map_err(str::to_owned)),
            }
        }
    }
}
