//! The state folder: ours, private, writable, on a disk of this machine with room; the database.

use std::{error::Error, fs, io, os::unix::fs::MetadataExt, path::Path, time::Duration};

use endless_watchers::silent_kind;
use rustix::fs::{Access, access, statvfs};

use super::{super::list::size, Findings};
use crate::{
    paths::Paths,
    store::{Store, StoreError},
};

const NAME: &str = "state folder";
const DISK: &str = "disk";
/// Free bytes below which there is too little room.
const LITTLE: u64 = 200_000_000;
/// Free bytes below which there is none.
const NOTHING: u64 = 10_000_000;
/// How long others may lock the database.
const BUSY: Duration = Duration::from_secs(2);

/// The folder itself and the disk that it is on.
pub(super) fn folder(paths: &Paths, findings: &mut Findings) {
    let home = &paths.home;
    let shown = home.display();
    match fs::metadata(home) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            findings.ok(NAME, format!("there is no {shown} yet; it is made when it is needed"));
        }
        Err(error) => {
            let todo = "mend that, or set ENDLESS_HOME to a folder of your own";
            findings.problem(NAME, format!("can't use {shown}: {error}"), todo);
            return;
        }
        Ok(data) => {
            for path in [home, &paths.bottles, &paths.archive, &paths.triggers, &paths.logs] {
                private(path, findings);
            }
            let bytes = data.mode() & 0o777;
            if findings.0.iter().all(|finding| finding.name != NAME) {
                findings.ok(NAME, format!("{shown} is yours alone (mode {bytes:o}) and writable"));
            }
        }
    }
    let there = home.ancestors().find(|folder| folder.is_dir()).unwrap_or(Path::new("/"));
    local(home, there, findings);
    room(there, findings);
}

/// Whether a folder is fit to hold what is private. One that is missing is made in time.
fn private(path: &Path, findings: &mut Findings) {
    let shown = path.display();
    let Ok(data) = fs::metadata(path) else { return };
    let mut problem = |text, todo| findings.problem(NAME, text, todo);
    if !data.is_dir() {
        problem(format!("{shown} is no folder"), "move it away".to_owned());
    } else if data.uid() != rustix::process::geteuid().as_raw() {
        let todo = "set ENDLESS_HOME to a folder of your own".to_owned();
        problem(format!("{shown} belongs to another user"), todo);
    } else if data.mode() & 0o022 != 0 {
        problem(format!("others can write to {shown}"), format!("`chmod 700 {shown}`"));
    } else if let Err(error) = access(path, Access::WRITE_OK | Access::EXEC_OK) {
        let error = io::Error::from(error);
        problem(
            format!("can't write to {shown}: {error}"),
            format!("`chmod u+rwx {shown}`, or mount the disk writable"),
        );
    } else if data.mode() & 0o055 != 0 {
        let todo = format!("`chmod 700 {shown}`");
        findings.warn(NAME, format!("others can look into {shown}"), todo);
    }
}

/// Locks and the database's log do not work between machines.
fn local(home: &Path, there: &Path, findings: &mut Findings) {
    let Some(kind) = silent_kind(there) else { return };
    let todo = "set ENDLESS_HOME to a folder on a disk of this machine";
    let text = format!("{} is on {kind}", home.display());
    if kind == "FUSE" {
        findings.warn(NAME, format!("{text}; fine if that is a local disk"), todo);
    } else {
        findings.problem(NAME, format!("{text}, where locks do not hold"), todo);
    }
}

fn room(folder: &Path, findings: &mut Findings) {
    let Ok(disk) = statvfs(folder) else { return };
    let free = disk.f_bavail.saturating_mul(disk.f_frsize);
    let text = format!("{} are free for {}", size(free), folder.display());
    match free {
        0..NOTHING => findings.problem(DISK, text, "make room; no bottle can be written"),
        NOTHING..LITTLE => findings.warn(DISK, text, "make room soon"),
        _ => findings.ok(DISK, text),
    }
}

/// The database: readable, of our schema, and last owned by a service of this machine.
pub(super) fn database(paths: &Paths, findings: &mut Findings) {
    const NAME: &str = "database";
    if !paths.home.is_dir() {
        return;
    }
    let owner = match Store::open_read_only(&paths.database, BUSY).and_then(|store| store.owner()) {
        Ok(owner) => owner,
        Err(StoreError::Absent { path }) => {
            let path = path.display();
            return findings.ok(NAME, format!("there is no {path} yet; the service makes it"));
        }
        Err(error @ (StoreError::NeedsMigration { .. } | StoreError::Busy { .. })) => {
            let (text, todo) = parted(&error);
            return findings.warn(NAME, text, todo);
        }
        Err(error) => {
            let (text, todo) = parted(&error);
            return findings.problem(NAME, text, todo);
        }
    };
    let here = rustix::system::uname();
    let here = here.nodename().to_string_lossy();
    match owner {
        None => findings.ok(NAME, "sound; no service has used it yet"),
        Some((generation, owner)) if owner.host == here => {
            let version = owner.version;
            findings
                .ok(NAME, format!("sound; start {generation} of the service, version {version}"));
        }
        Some((_, owner)) => findings.warn(
            NAME,
            format!("last used by a service on {}, and this is {here}", owner.host),
            "share a state folder between machines never at the same time; better set ENDLESS_HOME",
        ),
    }
}

/// An error's own words, parted where they say what to do.
fn parted(error: &StoreError) -> (String, String) {
    let text = error.to_string();
    let parts = text.split_once("; ").or_else(|| text.split_once(": "));
    let (text, todo) = match parts {
        Some((text, todo)) => (text, todo),
        None => (&*text, "mend that, or move it away: bottles are not in it"),
    };
    let cause = error.source().map(|cause| format!(": {cause}")).unwrap_or_default();
    (format!("{text}{cause}"), todo.to_owned())
}
