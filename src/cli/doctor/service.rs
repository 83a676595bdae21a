//! The service: whether it answers, which version it is, and whether it starts by itself.

use std::{fs, time::Duration};

use rustix::process::{Pid, test_kill_process};
use serde::Deserialize;

use super::{Findings, in_full};
use crate::{
    client::{Client, ClientError},
    config::{Config, Environment},
    engine::request::{Reply, Request, Status},
    install::{self, Manager, Setting, UnitFile},
    paths::Paths,
};

const NAME: &str = "service";
const CONNECT: Duration = Duration::from_secs(1);
const PATIENCE: Duration = Duration::from_secs(5);
const START: &str = "`endless install service`, or `endless run --detach`";
const RESTART: &str = "restart it: `systemctl --user restart endless`, or `endless stop` and \
                       `endless run --detach`";

/// Who the lock file says has the lock.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Holder {
    pid: i32,
    host: String,
}

/// Whether a service answers, and how it is.
pub(super) fn running(paths: &Paths, findings: &mut Findings) {
    match ask(paths) {
        Ok(status) => answering(&status, findings),
        Err(ClientError::Down) => match holder(paths) {
            Some(holder) => findings.problem(
                NAME,
                format!("process {} has the lock, and does not listen", holder.pid),
                format!("wait a moment if it has just started; else `kill {}`", holder.pid),
            ),
            None => {
                findings.problem(NAME, "not running: no bottle is brought up to date", START);
            }
        },
        Err(error) => findings.problem(NAME, in_full(error), RESTART),
    }
}

fn ask(paths: &Paths) -> Result<Status, ClientError> {
    let request = Request::Status { session: None, sync: false };
    match Client::connect(paths, CONNECT)?.ask(&request, PATIENCE)? {
        Reply::Status(status) => Ok(*status),
        other => Err(ClientError::Broken(format!("it answered {other:?}"))),
    }
}

/// The process that has the lock, as far as the file tells, if it lives here. The lock itself is
/// the service's; nobody else touches it.
fn holder(paths: &Paths) -> Option<Holder> {
    let holder: Holder = serde_json::from_slice(&fs::read(&paths.lock).ok()?).ok()?;
    let here = rustix::system::uname();
    let lives = test_kill_process(Pid::from_raw(holder.pid)?).is_ok();
    (lives && holder.host == here.nodename().to_string_lossy()).then_some(holder)
}

fn answering(status: &Status, findings: &mut Findings) {
    let (pid, running) = (status.process.pid, &status.process.version);
    let ours = env!("CARGO_PKG_VERSION");
    if running == ours {
        findings.ok(NAME, format!("running, process {pid}, version {running}"));
    } else {
        findings.warn(
            NAME,
            format!("process {pid} is version {running}, this program is version {ours}"),
            RESTART,
        );
    }
    if status.watch.mode == "degraded" {
        let why = status.watch.reason.as_deref().unwrap_or("it does not say why");
        findings.warn(NAME, format!("watching is degraded: {why}"), "see `endless status`");
    }
    for trouble in &status.troubles {
        findings.problem(NAME, trouble.clone(), "see `endless status`");
    }
}

/// Whether the service starts by itself, and stays.
pub(super) fn unit(environment: &Environment, config: &Config, findings: &mut Findings) {
    const NAME: &str = "unit";
    const AGAIN: &str = "`endless install service`";
    let setting = Setting { environment, config, dry_run: true };
    let installed = match install::installed(&setting) {
        Ok(installed) => installed,
        Err(error) => return findings.warn(NAME, in_full(error), AGAIN),
    };
    let path = installed.unit.display();
    match (&installed.manager, installed.file) {
        (Manager::None { why }, _) => findings.warn(
            NAME,
            format!("nothing starts the service by itself: {why}"),
            "start it yourself after a restart: `endless run --detach`",
        ),
        (_, UnitFile::Absent) => findings.warn(
            NAME,
            format!("not installed: there is no {path}, and nothing starts the service by itself"),
            AGAIN,
        ),
        (_, UnitFile::Foreign) => findings.warn(
            NAME,
            format!("{path} was not written by Endless (or is a link)"),
            "nothing to do if you wrote it; else move it away and install again",
        ),
        _ if installed.enabled == Some(false) => findings.problem(
            NAME,
            format!("{path} is there, and the service does not start at login"),
            AGAIN,
        ),
        (_, UnitFile::Other) => findings.warn(
            NAME,
            format!("{path} was written for another program, version or environment"),
            AGAIN,
        ),
        (_, UnitFile::Current) => {
            findings.ok(NAME, format!("{path} is current, and starts the service at login"));
        }
    }
    let is_installed = matches!(installed.file, UnitFile::Current | UnitFile::Other);
    match installed.linger {
        Some(false) if is_installed => findings.warn(
            "linger",
            "the service ends when you log out",
            "`loginctl enable-linger` keeps it running",
        ),
        Some(true) if is_installed => findings.ok("linger", "the service stays when you log out"),
        _ => {}
    }
}
