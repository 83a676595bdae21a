//! Installs the service with the machine's service manager and the hooks in the host's settings
//! ([`hooks`]), and takes them away again.
//!
//! Invariant: a file that Endless did not write is neither replaced nor removed, and a dry run
//! changes nothing. What the service would not inherit from the shell (`ENDLESS_HOME`,
//! `CLAUDE_CONFIG_DIR` and the like) is stored in the unit, which is ours; `config.toml` is the
//! person's. Refuses: to need privileges.

pub mod hooks;
mod launchd;
mod purge;
mod running;
mod systemd;
mod tools;
mod unit;
mod work;

use std::{
    fs, io,
    path::{Component, Path, PathBuf},
};

pub use purge::PurgeError;
pub use running::StillRunning;
pub use tools::{Call, Said, Tools};
pub use work::Report;

use crate::{
    config::{Config, Environment, Origin},
    files::FileError,
};
use unit::Unit;
use work::Work;

/// Why something was not installed or uninstalled. What was done before stays done.
#[derive(Debug, thiserror::Error)]
pub enum InstallError {
    /// The file of this program is unknown.
    #[error("can't tell where this program lies; call it by its full path")]
    NoProgram,
    /// There is no home to install in.
    #[error("HOME is not set; set it")]
    NoHome,
    /// A unit can't hold this.
    #[error("{what} has characters that a unit file can't hold: {value}")]
    Odd {
        /// What it is.
        what: &'static str,
        /// Its value.
        value: String,
    },
    /// Somebody else wrote the unit.
    #[error("{path} was not written by Endless (or is a link); move it away")]
    Foreign {
        /// The unit.
        path: PathBuf,
    },
    /// A file could not be written.
    #[error(transparent)]
    File(#[from] FileError),
    /// A file could not be read or removed.
    #[error("can't use {path}")]
    Unit {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// A tool could not be started.
    #[error("can't run `{call}`")]
    NotRun {
        /// The call.
        call: String,
        /// What the system said.
        source: io::Error,
    },
    /// A tool failed.
    #[error("`{call}` failed: {trouble}; `endless doctor` tells more")]
    Failed {
        /// The call.
        call: String,
        /// What it said.
        trouble: String,
    },
    /// A service that runs already would keep the new one from starting.
    #[error(transparent)]
    Running(#[from] StillRunning),
    /// The state folder could not be removed.
    #[error(transparent)]
    Purge(#[from] PurgeError),
    /// The host's settings can't take the hooks.
    #[error(transparent)]
    Settings(#[from] hooks::SettingsError),
    /// There is no folder of a host.
    #[error("none of the folders that `roots` names is there; mend it (see `endless config`)")]
    NoRoot,
}

/// What to install with.
#[derive(Debug)]
pub struct Setting<'a> {
    /// The environment.
    pub environment: &'a Environment,
    /// The configuration.
    pub config: &'a Config,
    /// Only say what would be done.
    pub dry_run: bool,
}

/// The service manager of this machine, as it answers now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Manager {
    /// systemd's manager of this user.
    Systemd,
    /// launchd, for this user's graphical session.
    Launchd,
    /// There is none, or it does not answer.
    None {
        /// Why.
        why: String,
    },
}

/// How the service is installed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Installed {
    /// The service manager.
    pub manager: Manager,
    /// The unit's file.
    pub unit: PathBuf,
    /// What it is.
    pub file: UnitFile,
    /// The manager starts the service at login; none where it does not say.
    pub enabled: Option<bool>,
    /// The service stays when the person logs out; none where that is no question.
    pub linger: Option<bool>,
}

/// The file in a unit's place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UnitFile {
    /// There is none.
    Absent,
    /// What this program would write now.
    Current,
    /// Ours, but of another program, version or environment.
    Other,
    /// Somebody else's.
    Foreign,
}

/// Installs the service and starts it.
pub fn install(setting: &Setting<'_>) -> Result<Report, InstallError> {
    let tools = Tools::new(setting.environment);
    let mut work = Work::new(&tools, setting.dry_run);
    match manager(&tools) {
        Manager::Systemd => systemd::install(&mut work, setting)?,
        Manager::Launchd => launchd::install(&mut work, setting)?,
        Manager::None { why } => {
            work.note(format!("the service was not installed: {why}"));
            if is_wsl() {
                work.note(
                    "WSL has systemd where /etc/wsl.conf says `[boot]` and `systemd=true`; then \
                     run `wsl --shutdown` in Windows, and install again",
                );
            }
            work.note("`endless run --detach` starts the service without a service manager");
            return Ok(work.report);
        }
    }
    if setting.environment.overrides.disable.is_some() {
        work.note("ENDLESS_DISABLE is set in this shell only; the service does not see it");
    }
    Ok(work.report)
}

/// Stops the service and removes its unit; with `purge` the state folder too.
pub fn uninstall(setting: &Setting<'_>, purge: bool) -> Result<Report, InstallError> {
    let tools = Tools::new(setting.environment);
    let mut work = Work::new(&tools, setting.dry_run);
    let manager = manager(&tools);
    let systemd = systemd::uninstall(&mut work, setting, &manager)?;
    let launchd = launchd::uninstall(&mut work, setting, &manager)?;
    if !systemd && !launchd {
        let path = unit_path(setting, &manager)?;
        work.note(format!("the service is not installed: there is no {}", path.display()));
    }
    if purge {
        purge::purge(&mut work, &setting.config.paths)?;
    }
    Ok(work.report)
}

/// How the service is installed.
pub fn installed(setting: &Setting<'_>) -> Result<Installed, InstallError> {
    let tools = Tools::new(setting.environment);
    let manager = manager(&tools);
    let path = unit_path(setting, &manager)?;
    let wanted = unit(setting)?;
    let wanted = if manager == Manager::Launchd { wanted.launchd() } else { wanted.systemd() };
    let file = match work::read_unit(&path)? {
        None => UnitFile::Absent,
        Some(text) if text == wanted => UnitFile::Current,
        Some(text) if unit::is_ours(&text) => UnitFile::Other,
        Some(_) => UnitFile::Foreign,
    };
    let (enabled, linger) = match manager {
        Manager::Systemd => (systemd::is_enabled(&tools), systemd::lingers(&tools)),
        Manager::Launchd => (launchd::is_loaded(&tools), None),
        Manager::None { .. } => (None, None),
    };
    Ok(Installed { manager, unit: path, file, enabled, linger })
}

/// The service manager that answers. Which one a machine has shows in its tools.
fn manager(tools: &Tools) -> Manager {
    let why = if tools.find(systemd::TOOL).is_some() {
        match systemd::trouble(tools) {
            None => return Manager::Systemd,
            Some(trouble) => format!("systemd does not answer for this user ({trouble})"),
        }
    } else if tools.find(launchd::TOOL).is_some() {
        match launchd::trouble(tools) {
            None => return Manager::Launchd,
            Some(trouble) => format!("launchd has no session of this user ({trouble})"),
        }
    } else {
        "there is neither systemctl nor launchctl on PATH".to_owned()
    };
    Manager::None { why }
}

fn unit_path(setting: &Setting<'_>, manager: &Manager) -> Result<PathBuf, InstallError> {
    match manager {
        Manager::Launchd => launchd::path(setting.environment),
        Manager::Systemd | Manager::None { .. } => systemd::path(setting.environment),
    }
}

fn home(environment: &Environment) -> Result<PathBuf, InstallError> {
    let home = environment.home.as_deref().ok_or(InstallError::NoHome)?;
    Ok(environment.absolute(home))
}

/// What the unit is to say.
fn unit(setting: &Setting<'_>) -> Result<Unit, InstallError> {
    let Setting { environment, config, .. } = setting;
    let program = program(environment).ok_or(InstallError::NoProgram)?;
    Ok(Unit {
        program: word("the path of this program", &program)?,
        variables: variables(environment, config)?,
        home: word("HOME", &home(environment)?)?,
        logs: word("the folder of logs", &config.paths.logs)?,
    })
}

/// What the shell has and the service would not: its own folders, and what outweighs the file.
fn variables(
    environment: &Environment,
    config: &Config,
) -> Result<Vec<(&'static str, String)>, InstallError> {
    let mut variables = Vec::new();
    let mut add = |name, value: &Path| word(name, value).map(|value| variables.push((name, value)));
    if environment.endless_home.is_some() {
        add("ENDLESS_HOME", &config.paths.home)?;
    }
    if let Some(folder) = &environment.claude_config_dir {
        add("CLAUDE_CONFIG_DIR", &environment.absolute(folder))?;
    }
    if let Some(folder) = &config.claude_mem.variable {
        add("CLAUDE_MEM_DATA_DIR", folder)?;
    }
    if config.origin("roots") == Origin::Environment("ENDLESS_ROOTS") {
        let roots: Vec<_> = config.candidates.iter().map(|root| root.as_os_str()).collect();
        add("ENDLESS_ROOTS", Path::new(&roots.join(":".as_ref())))?;
    }
    for (name, value) in [
        ("ENDLESS_ZONE", &environment.overrides.zone),
        ("ENDLESS_MEMORY_MB", &environment.overrides.memory_mb),
    ] {
        if let Some(value) = value {
            add(name, Path::new(value))?;
        }
    }
    Ok(variables)
}

fn word(what: &'static str, value: &Path) -> Result<String, InstallError> {
    let odd = || InstallError::Odd { what, value: value.display().to_string() };
    let text = value.to_str().filter(|text| !text.chars().any(char::is_control));
    text.map(str::to_owned).ok_or_else(odd)
}

/// This program as it was installed: the path that it was called by, links and all, so that an
/// upgrade which turns a link elsewhere is followed.
fn program(environment: &Environment) -> Option<PathBuf> {
    let programs = &environment.programs;
    let real = fs::canonicalize(programs.executable.as_deref()?).ok()?;
    let called = programs.called.as_deref().filter(|called| !called.as_os_str().is_empty());
    let called = called.and_then(|called| match called.components().count() {
        1 if !called.is_absolute() && !called.as_os_str().as_encoded_bytes().contains(&b'/') => {
            Tools::new(environment).find(called.to_str()?)
        }
        _ => plain(&environment.absolute(called)),
    });
    called.filter(|called| fs::canonicalize(called).is_ok_and(|path| path == real)).or(Some(real))
}

/// A path without `.` and `..`.
fn plain(path: &Path) -> Option<PathBuf> {
    if path.components().any(|part| part == Component::ParentDir) {
        return Some(fs::canonicalize(path.parent()?).ok()?.join(path.file_name()?));
    }
    Some(path.components().collect())
}

fn is_wsl() -> bool {
    let kernel = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    kernel.to_lowercase().contains("microsoft")
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;
    use crate::config::{Overrides, Programs};

    fn environment(folder: &Path, called: &str) -> Environment {
        Environment {
            home: Some(folder.to_owned()),
            endless_home: None,
            claude_config_dir: None,
            claude_mem_data_dir: None,
            folder: Some(folder.join("work")),
            runtime_dir: None,
            notify_socket: None,
            zone: crate::text::time::Zone::utc(),
            overrides: Overrides::default(),
            programs: Programs {
                called: Some(called.into()),
                executable: Some(folder.join("cellar/1.0/endless")),
                path: Some(folder.join("bin").into()),
                config_home: None,
            },
        }
    }

    #[test]
    fn the_program_is_named_as_it_was_called() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path().canonicalize().unwrap();
        for inside in ["bin", "work", "cellar/1.0"] {
            fs::create_dir_all(folder.join(inside)).unwrap();
        }
        let real = folder.join("cellar/1.0/endless");
        fs::write(&real, "").unwrap();
        fs::set_permissions(&real, fs::Permissions::from_mode(0o755)).unwrap();
        symlink(&real, folder.join("bin/endless")).unwrap();
        fs::write(folder.join("bin/other"), "").unwrap();
        let link = folder.join("bin/endless");
        for (called, expected) in [
            ("endless", &link),
            ("../bin/endless", &link),
            (link.to_str().unwrap(), &link),
            (".././cellar/1.0/endless", &real),
            ("other", &real),
            ("elsewhere/endless", &real),
            ("", &real),
        ] {
            let found = program(&environment(&folder, called));
            assert_eq!(found.as_ref(), Some(expected), "{called}");
        }
    }

    #[test]
    fn what_the_service_would_not_inherit_is_stored() {
        let folder = tempfile::tempdir().unwrap();
        let mut environment = environment(folder.path(), "endless");
        let stored =
            |environment: &Environment| variables(environment, &Config::load(environment).unwrap());
        assert_eq!(stored(&environment).unwrap(), []);
        environment.endless_home = Some("state".into());
        environment.claude_config_dir = Some("/c d".into());
        environment.claude_mem_data_dir = Some("~/mem".into());
        environment.overrides = Overrides {
            disable: Some("1".into()),
            claude_mem: Some("false".into()),
            roots: Some("/a:b".into()),
            zone: Some("Etc/GMT-2".into()),
            memory_mb: Some("64".into()),
        };
        let work = environment.folder.clone().unwrap();
        let shown = |inside: &str| work.join(inside).display().to_string();
        assert_eq!(
            stored(&environment).unwrap(),
            [
                ("ENDLESS_HOME", shown("state")),
                ("CLAUDE_CONFIG_DIR", "/c d".to_owned()),
                ("CLAUDE_MEM_DATA_DIR", folder.path().join("mem").display().to_string()),
                ("ENDLESS_ROOTS", format!("/a:{}", shown("b"))),
                ("ENDLESS_ZONE", "Etc/GMT-2".to_owned()),
                ("ENDLESS_MEMORY_MB", "64".to_owned()),
            ]
        );
        environment.endless_home = Some("/s\nExecStart=/bin/sh".into());
        assert!(matches!(stored(&environment), Err(InstallError::Odd { .. })));
    }
}
