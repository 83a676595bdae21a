//! systemd's manager of this user.
//!
//! Its units lie in `$XDG_CONFIG_HOME/systemd/user`. Without *linger* it ends with the last session
//! of the user, and the service with it.

use std::{fs, path::PathBuf};

use super::{
    InstallError, Manager, Setting, home,
    running::end,
    tools::{Call, Tools},
    unit,
    work::{Change, Work, is_ours},
};
use crate::config::Environment;

pub(super) const TOOL: &str = "systemctl";
const LOGIN: &str = "loginctl";
const UNIT: &str = "endless.service";

fn call<'a>(arguments: &'a [&'a str]) -> Call<'a> {
    Call { tool: TOOL, arguments }
}

/// Where the unit lies.
pub(super) fn path(environment: &Environment) -> Result<PathBuf, InstallError> {
    let config = match environment.programs.config_home.as_deref() {
        Some(config) if config.is_absolute() => config.to_owned(),
        _ => home(environment)?.join(".config"),
    };
    Ok(config.join("systemd/user").join(UNIT))
}

/// Why the manager does not answer, if it does not.
pub(super) fn trouble(tools: &Tools) -> Option<String> {
    match tools.run(call(&["--user", "show", "--property=Version"])) {
        Ok(said) if said.done => None,
        Ok(said) => Some(said.trouble),
        Err(error) => Some(error.to_string()),
    }
}

pub(super) fn install(work: &mut Work<'_>, setting: &Setting<'_>) -> Result<(), InstallError> {
    let unit = unit(setting)?;
    let change = work.write(&path(setting.environment)?, &unit.systemd())?;
    for (name, value) in &unit.variables {
        work.report.steps.push(format!("  with {name}={value}"));
    }
    work.run(call(&["--user", "daemon-reload"]))?;
    if !is_active(work.tools) {
        // One that was started by hand would keep the unit's from starting.
        end(work, &setting.config.paths)?;
    }
    if change == Change::Replaced {
        work.run(call(&["--user", "enable", UNIT]))?;
        work.run(call(&["--user", "restart", UNIT]))?;
    } else {
        work.run(call(&["--user", "enable", "--now", UNIT]))?;
    }
    if lingers(work.tools) == Some(false) {
        work.note(
            "the service ends when you log out, and starts at the next login; to keep it running: \
             `loginctl enable-linger`",
        );
    }
    Ok(())
}

/// Removes the unit; false where there is none.
pub(super) fn uninstall(
    work: &mut Work<'_>,
    setting: &Setting<'_>,
    manager: &Manager,
) -> Result<bool, InstallError> {
    let path = path(setting.environment)?;
    if !is_ours(&path)? {
        return Ok(false);
    }
    let answers = *manager == Manager::Systemd;
    if answers {
        work.run(call(&["--user", "disable", "--now", UNIT]))?;
    } else if let Some(folder) = path.parent() {
        // What `disable` does, without a manager to ask.
        let link = folder.join("default.target.wants").join(UNIT);
        if fs::symlink_metadata(&link).is_ok_and(|data| data.is_symlink()) {
            if !work.dry_run {
                fs::remove_file(&link)
                    .map_err(|source| InstallError::Unit { path: link.clone(), source })?;
            }
            work.step("removed", "remove", &link.display().to_string());
        }
    }
    work.remove(&path)?;
    if answers {
        work.run(call(&["--user", "daemon-reload"]))?;
        // Fails where there is nothing to be reset.
        drop(work.attempt(call(&["--user", "reset-failed", UNIT]))?);
    }
    Ok(true)
}

/// Whether the service starts at login.
pub(super) fn is_enabled(tools: &Tools) -> Option<bool> {
    let said = tools.run(call(&["--user", "is-enabled", UNIT])).ok()?;
    Some(said.done && said.text == "enabled")
}

fn is_active(tools: &Tools) -> bool {
    tools.run(call(&["--user", "is-active", UNIT])).is_ok_and(|said| said.done)
}

/// Whether the manager stays when the user logs out.
pub(super) fn lingers(tools: &Tools) -> Option<bool> {
    tools.find(LOGIN)?;
    let user = rustix::process::geteuid().as_raw().to_string();
    let arguments = ["show-user", &user, "--property=Linger", "--value"];
    let said = tools.run(Call { tool: LOGIN, arguments: &arguments }).ok()?;
    // A user that has neither a session nor linger is not known at all.
    Some(said.done && said.text == "yes")
}
