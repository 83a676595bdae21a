//! launchd, which starts agents with this user's graphical session.

use std::path::PathBuf;

use super::{
    InstallError, Manager, Setting, home,
    running::end,
    tools::{Call, Tools},
    unit,
    work::{Change, Work, is_ours},
};
use crate::{config::Environment, files};

pub(super) const TOOL: &str = "launchctl";
const LABEL: &str = "sh.endless.agent";

fn call<'a>(arguments: &'a [&'a str]) -> Call<'a> {
    Call { tool: TOOL, arguments }
}

/// The session of this user.
fn domain() -> String {
    format!("gui/{}", rustix::process::geteuid().as_raw())
}

/// Where the agent lies.
pub(super) fn path(environment: &Environment) -> Result<PathBuf, InstallError> {
    Ok(home(environment)?.join("Library/LaunchAgents").join(format!("{LABEL}.plist")))
}

/// Why there is no session, if there is none.
pub(super) fn trouble(tools: &Tools) -> Option<String> {
    match tools.run(call(&["print", &domain()])) {
        Ok(said) if said.done => None,
        Ok(said) => Some(said.trouble),
        Err(error) => Some(error.to_string()),
    }
}

/// Whether launchd has the agent.
pub(super) fn is_loaded(tools: &Tools) -> Option<bool> {
    let service = format!("{}/{LABEL}", domain());
    tools.run(call(&["print", &service])).ok().map(|said| said.done)
}

pub(super) fn install(work: &mut Work<'_>, setting: &Setting<'_>) -> Result<(), InstallError> {
    let (domain, path) = (domain(), path(setting.environment)?);
    let service = format!("{domain}/{LABEL}");
    let unit = unit(setting)?;
    let change = work.write(&path, &unit.launchd())?;
    for (name, value) in &unit.variables {
        work.report.steps.push(format!("  with {name}={value}"));
    }
    if !work.dry_run {
        // launchd makes no folder for its log.
        files::prepare(&setting.config.paths)?;
    }
    let is_loaded = is_loaded(work.tools) == Some(true);
    if is_loaded && change == Change::Same {
        return work.run(call(&["kickstart", &service]));
    }
    if is_loaded {
        work.run(call(&["bootout", &service]))?;
    }
    // One that was started by hand would keep the agent's from starting.
    end(work, &setting.config.paths)?;
    // It may have been disabled; `bootstrap` would then fail without a reason.
    work.run(call(&["enable", &service]))?;
    let path = path.display().to_string();
    work.run(call(&["bootstrap", &domain, &path]))
}

/// Removes the agent; false where there is none.
pub(super) fn uninstall(
    work: &mut Work<'_>,
    setting: &Setting<'_>,
    manager: &Manager,
) -> Result<bool, InstallError> {
    let path = path(setting.environment)?;
    if !is_ours(&path)? {
        return Ok(false);
    }
    if *manager == Manager::Launchd && is_loaded(work.tools) == Some(true) {
        work.run(call(&["bootout", &format!("{}/{LABEL}", domain())]))?;
    }
    work.remove(&path)
}
