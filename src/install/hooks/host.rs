//! Which versions of the host read the settings of a root: the program on `PATH`, and whatever wrote
//! the newest transcripts (an editor brings a program of its own).
//!
//! Invariant: no program is started. A version that can't be told is left out.

use std::{
    collections::BTreeMap,
    fs,
    io::{Read, Seek, SeekFrom},
    path::{Path, PathBuf},
    time::{Duration, SystemTime},
};

use endless_watchers::open_regular;
use serde::Deserialize;
use serde_json::Value;

use super::{super::tools::Tools, events::Version};
use crate::sources::transcripts::scan;

const PROGRAM: &str = "claude";
/// How the program's packages are called.
const PACKAGE: &str = "@anthropic-ai/claude-code";
/// The folders in which a program that is called by its version lies.
const FOLDERS: [&str; 2] = ["claude", "claude-code"];
/// How many transcripts are looked at, how much of each, and how much older than the newest they
/// may be.
const TRANSCRIPTS: usize = 40;
const TAIL: u64 = 256 * 1024;
const AGE: Duration = Duration::from_secs(30 * 24 * 60 * 60);
/// The ways of starting it that use the program on `PATH`.
const ON_PATH: [&str; 2] = ["cli", "sdk"];

/// A host and how it is known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Host {
    /// Its version.
    pub version: Version,
    /// Where that was seen.
    pub seen: PathBuf,
}

/// A row of a transcript, as far as it tells who wrote it.
#[derive(Deserialize)]
struct Row {
    version: String,
    #[serde(default)]
    entrypoint: String,
}

/// The oldest host that reads the settings of a root.
pub(super) fn oldest(tools: &Tools, root: &Path) -> Option<Host> {
    let program = tools.find(PROGRAM).and_then(|path| on_path(&path));
    let mut hosts = writers(root);
    if program.is_some() {
        hosts.retain(|way, _| !ON_PATH.iter().any(|start| way.starts_with(start)));
    }
    program.into_iter().chain(hosts.into_values()).min_by_key(|host| host.version)
}

/// The version of a program, by the folder that it lies in: native ones are named after it, packages
/// have a manifest.
fn on_path(path: &Path) -> Option<Host> {
    let real = fs::canonicalize(path).ok()?;
    let version = real.ancestors().skip(1).find_map(of_package).or_else(|| named(&real))?;
    Some(Host { version, seen: path.to_owned() })
}

/// The version that a file or its folder is called by, inside of a folder of the program's.
fn named(file: &Path) -> Option<Version> {
    let is_inside =
        file.parent()?.components().any(|part| FOLDERS.iter().any(|it| part.as_os_str() == *it));
    let mut near = file.ancestors().take(2).filter_map(|path| path.file_name()?.to_str());
    near.find_map(Version::read).filter(|_| is_inside)
}

fn of_package(folder: &Path) -> Option<Version> {
    let manifest: Value =
        serde_json::from_slice(&fs::read(folder.join("package.json")).ok()?).ok()?;
    manifest["name"].as_str().filter(|name| name.starts_with(PACKAGE))?;
    Version::read(manifest["version"].as_str()?)
}

/// Who wrote the newest transcripts of a root, by the way they were started.
fn writers(root: &Path) -> BTreeMap<String, Host> {
    let files = scan(&[root.to_owned()]).sessions.into_values().flatten();
    let dated = files.filter_map(|file| Some((fs::metadata(&file).ok()?.modified().ok()?, file)));
    let mut dated: Vec<(SystemTime, PathBuf)> = dated.collect();
    dated.sort_unstable_by(|one, other| other.cmp(one));
    let newest = dated.first().map(|(time, _)| *time);
    dated.retain(|(time, _)| newest.is_some_and(|newest| *time + AGE >= newest));
    dated.truncate(TRANSCRIPTS);
    let mut writers = BTreeMap::new();
    for (_, file) in dated {
        if let Some((way, version)) = writer(&file) {
            writers.entry(way).or_insert(Host { version, seen: file });
        }
    }
    writers
}

/// Who wrote the end of a transcript.
fn writer(file: &Path) -> Option<(String, Version)> {
    let mut open = open_regular(file).ok()?;
    let length = open.metadata().ok()?.len();
    open.seek(SeekFrom::Start(length.saturating_sub(TAIL))).ok()?;
    let mut tail = Vec::new();
    open.take(TAIL).read_to_end(&mut tail).ok()?;
    let mut lines = tail.rsplit(|byte| *byte == b'\n');
    lines.find_map(|line| {
        let row: Row = serde_json::from_slice(line).ok()?;
        let way = if row.entrypoint.is_empty() { ON_PATH[0].to_owned() } else { row.entrypoint };
        Some((way, Version::read(&row.version)?))
    })
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    fn write(path: &Path, text: &str) {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    #[test]
    fn a_program_is_known_by_its_folder() {
        let folder = tempfile::tempdir().unwrap();
        let at = |inside: &str| folder.path().join(inside);
        let version = |inside: &str| {
            let link = at("claude");
            fs::remove_file(&link).ok();
            symlink(at(inside), &link).unwrap();
            on_path(&link).map(|host| host.version)
        };
        write(&at("share/claude/versions/2.1.332"), "");
        assert_eq!(version("share/claude/versions/2.1.332"), Some(Version(2, 1, 332)));
        write(&at("lib/node_modules/@anthropic-ai/claude-code/cli.js"), "");
        assert_eq!(version("lib/node_modules/@anthropic-ai/claude-code/cli.js"), None);
        let manifest = r#"{"name": "@anthropic-ai/claude-code", "version": "2.0.44"}"#;
        write(&at("lib/node_modules/@anthropic-ai/claude-code/package.json"), manifest);
        let package = "lib/node_modules/@anthropic-ai/claude-code/cli.js";
        assert_eq!(version(package), Some(Version(2, 0, 44)));
        write(&at("Caskroom/claude-code/2.1.9/claude"), "");
        assert_eq!(version("Caskroom/claude-code/2.1.9/claude"), Some(Version(2, 1, 9)));
        write(&at("installs/nodejs/20.1.0/claude"), "");
        assert_eq!(version("installs/nodejs/20.1.0/claude"), None);
        write(&at("bin/wrapper"), "");
        assert_eq!(version("bin/wrapper"), None);
        assert_eq!(version("nothing"), None);
    }

    #[test]
    fn transcripts_tell_who_wrote_them() {
        let folder = tempfile::tempdir().unwrap();
        let transcript = |name: &str, text: &str, day: u64| {
            let path = folder.path().join("projects/-w").join(format!("{name}.jsonl"));
            write(&path, text);
            let time = SystemTime::UNIX_EPOCH + Duration::from_secs(day * 24 * 60 * 60);
            fs::File::options().append(true).open(path).unwrap().set_modified(time).unwrap();
        };
        let row = |way: &str, version: &str| {
            format!("{{\"entrypoint\":\"{way}\",\"version\":\"{version}\"}}\n")
        };
        assert_eq!(writers(folder.path()), BTreeMap::new());
        let padding = format!("{{\"padding\":\"{}\"}}\n", "x".repeat(10_000));
        let updated = row("cli", "2.0.1") + &row("cli", "2.1.90") + &padding + "{\"cut\":\"";
        transcript("a", &updated, 100);
        transcript("b", &row("cli", "2.0.0"), 99);
        transcript("c", &row("claude-vscode", "2.1.70"), 98);
        transcript("d", &row("claude-desktop", "1.0.1"), 50);
        transcript("e", "{}\n", 101);
        let found: Vec<_> = writers(folder.path())
            .into_iter()
            .map(|(way, host)| format!("{way} {}", host.version))
            .collect();
        assert_eq!(found, ["claude-vscode 2.1.70", "cli 2.1.90"]);
    }
}
