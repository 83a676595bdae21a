//! The only reader of the environment and of `config.toml`.
//!
//! The environment is captured once, into an [`Environment`] that tests can make up. What the
//! configuration does not say has a default; what it says wrongly is an error that names file and
//! line, and the key that was probably meant. A variable outweighs the file.
//!
//! Invariant: [`Config::roots`] are folders that have a `projects/`, resolved through links, each
//! once. Refuses: to guess a home where there is none.

mod effective;
mod exclude;
mod nearest;
mod settings;

use std::{
    env,
    ffi::{OsStr, OsString},
    fmt, fs, io,
    os::unix::ffi::OsStrExt,
    path::{Path, PathBuf},
    sync::Arc,
};

use jiff::tz::TimeZone;
use serde::{Deserialize, Serialize};

pub use self::{effective::Effective, exclude::Excluded};
use crate::{
    paths::{ClaudeMemPlace, Paths},
    text::time::Zone,
};
use settings::{Settings, Source};

/// A configuration with every key, for people: what is commented out is the default.
pub const EXAMPLE: &str = include_str!("config/example.toml");

/// What the process was started with.
#[derive(Debug, Clone)]
pub struct Environment {
    /// `HOME`.
    pub home: Option<PathBuf>,
    /// `ENDLESS_HOME`.
    pub endless_home: Option<PathBuf>,
    /// `CLAUDE_CONFIG_DIR`.
    pub claude_config_dir: Option<PathBuf>,
    /// `CLAUDE_MEM_DATA_DIR`.
    pub claude_mem_data_dir: Option<PathBuf>,
    /// The working folder.
    pub folder: Option<PathBuf>,
    /// `XDG_RUNTIME_DIR`.
    pub runtime_dir: Option<PathBuf>,
    /// `NOTIFY_SOCKET`: where a service manager waits to hear that the service is ready.
    pub notify_socket: Option<OsString>,
    /// The machine's time zone, or that of `TZ`.
    pub zone: Zone,
    /// The variables that outweigh the file.
    pub overrides: Overrides,
    /// What installing needs to know.
    pub programs: Programs,
}

/// Variables that outweigh `config.toml`.
#[derive(Debug, Clone, Default)]
pub struct Overrides {
    /// `ENDLESS_DISABLE`.
    pub disable: Option<OsString>,
    /// `CLAUDE_MEM_ENDLESS_MODE_ENABLED`, claude-mem's own switch: only `false` says anything.
    pub claude_mem: Option<OsString>,
    /// `ENDLESS_ROOTS`.
    pub roots: Option<OsString>,
    /// `ENDLESS_ZONE`.
    pub zone: Option<OsString>,
    /// `ENDLESS_MEMORY_MB`.
    pub memory_mb: Option<OsString>,
}

/// Where this program is, and where others are.
#[derive(Debug, Clone, Default)]
pub struct Programs {
    /// The name that this program was called by.
    pub called: Option<PathBuf>,
    /// Its file, without links.
    pub executable: Option<PathBuf>,
    /// `PATH`.
    pub path: Option<OsString>,
    /// `XDG_CONFIG_HOME`.
    pub config_home: Option<PathBuf>,
}

impl Environment {
    /// The environment of this process. An empty variable counts as not set.
    pub fn capture() -> Self {
        let text = |name| env::var_os(name).filter(|value| !value.is_empty());
        let path = |name| text(name).map(PathBuf::from);
        Self {
            home: path("HOME"),
            endless_home: path("ENDLESS_HOME"),
            claude_config_dir: path("CLAUDE_CONFIG_DIR"),
            claude_mem_data_dir: path("CLAUDE_MEM_DATA_DIR"),
            folder: env::current_dir().ok(),
            runtime_dir: path("XDG_RUNTIME_DIR"),
            notify_socket: text("NOTIFY_SOCKET"),
            zone: Zone::found_by(TimeZone::system),
            overrides: Overrides {
                disable: text("ENDLESS_DISABLE"),
                claude_mem: text("CLAUDE_MEM_ENDLESS_MODE_ENABLED"),
                roots: text("ENDLESS_ROOTS"),
                zone: text("ENDLESS_ZONE"),
                memory_mb: text("ENDLESS_MEMORY_MB"),
            },
            programs: Programs {
                called: env::args_os().next().map(PathBuf::from),
                executable: env::current_exe().ok(),
                path: text("PATH"),
                config_home: path("XDG_CONFIG_HOME"),
            },
        }
    }

    /// A path as the person means it: relative to the working folder.
    pub fn absolute(&self, path: &Path) -> PathBuf {
        self.folder.as_deref().map_or_else(|| path.to_owned(), |folder| folder.join(path))
    }

    /// A folder as hosts name it: the real one, without links.
    pub fn resolved(&self, folder: &Path) -> PathBuf {
        let folder = self.absolute(folder);
        fs::canonicalize(&folder).unwrap_or(folder)
    }

    /// Where a socket goes whose path would be too long in the state folder: `XDG_RUNTIME_DIR`, or
    /// a folder of this user's where there is none.
    fn runtime_folder(&self) -> PathBuf {
        match self.runtime_dir.as_deref().filter(|folder| folder.is_absolute()) {
            Some(folder) => folder.join("endless"),
            None => {
                let user = rustix::process::geteuid().as_raw();
                env::temp_dir().join(format!("endless-{user}"))
            }
        }
    }

    /// What decides where claude-mem's database is.
    fn claude_mem(&self) -> ClaudeMemPlace {
        let variable = self.claude_mem_data_dir.as_deref();
        ClaudeMemPlace {
            home: self.home.as_deref().map(|home| self.absolute(home)),
            variable: variable.map(|folder| self.absolute(&self.expanded(folder))),
        }
    }

    /// A path with the home in place of `~`.
    fn expanded(&self, path: &Path) -> PathBuf {
        match (path.strip_prefix("~"), &self.home) {
            (Ok(inside), Some(home)) => self.absolute(home).join(inside),
            _ => path.to_owned(),
        }
    }
}

/// How Endless is set up.
#[derive(Debug, Clone)]
pub struct Config {
    /// The state folder and what lies in it.
    pub paths: Paths,
    /// Whether sessions are kept at all.
    pub enabled: bool,
    /// Folders of hosts, each with a `projects/`.
    pub roots: Vec<PathBuf>,
    /// All folders that may be roots, whether they are there or not.
    pub candidates: Vec<PathBuf>,
    /// The zone that times are shown in.
    pub zone: Zone,
    /// MiB of words that may stay in memory.
    pub memory_mb: u32,
    /// Minutes after its last change that a session stays in memory.
    pub idle_minutes: u32,
    /// Minutes after its last change that a transcript is hot.
    pub hot_minutes: u32,
    /// Days without a change after which a bottle is archived.
    pub archive_after_days: u32,
    /// Days that archived bottles are kept; none: for ever.
    pub keep_days: Option<u32>,
    /// When a resumed session gets its bottle.
    pub resume: Resume,
    /// What stands in place of tool traffic.
    pub observations: Observations,
    /// What decides where claude-mem's database is.
    pub claude_mem: ClaudeMemPlace,
    /// Where a service manager waits to hear that the service is ready.
    pub notify_socket: Option<OsString>,
    /// There is a file that this knows nothing of, and it seems to keep sessions out.
    pub may_keep_out: bool,
    excluded: Excluded,
    all: Arc<effective::All>,
}

/// When a resumed session gets its bottle.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Resume {
    /// Where the host has lost something.
    #[default]
    Auto,
    /// Each time.
    Always,
    /// At no time.
    Never,
}

/// What stands in place of tool traffic.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Observations {
    /// claude-mem's observations where its database knows the session, else derived lines.
    #[default]
    Auto,
    /// What the transcript alone tells.
    Derived,
    /// claude-mem's observations; where there are none somebody should know.
    ClaudeMem,
}

/// Where a value comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Origin {
    /// Nobody said anything.
    Default,
    /// This line of `config.toml`.
    File {
        /// From 1.
        line: usize,
    },
    /// This variable.
    Environment(&'static str),
}

impl fmt::Display for Origin {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Default => formatter.write_str("default"),
            Self::File { line } => write!(formatter, "config.toml:{line}"),
            Self::Environment(name) => write!(formatter, "environment {name}"),
        }
    }
}

/// A value and where it comes from.
#[derive(Debug, Clone)]
struct Value<T> {
    value: T,
    origin: Origin,
}

impl<T> Value<T> {
    fn default(value: T) -> Self {
        Self { value, origin: Origin::Default }
    }

    fn of(name: &'static str, value: T) -> Self {
        Self { value, origin: Origin::Environment(name) }
    }
}

/// Why there is no configuration.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// No variable says where anything is.
    #[error("HOME is not set: set it, or set ENDLESS_HOME and CLAUDE_CONFIG_DIR")]
    NoHome,
    /// The file can't be read.
    #[error("can't read {path}")]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The file says something that is not understood.
    #[error("{path}, line {line}: {message}")]
    Wrong {
        /// The file.
        path: PathBuf,
        /// Its line, from 1.
        line: usize,
        /// What is wrong.
        message: String,
    },
    /// A variable says something that is not understood.
    #[error("the variable {name}: {message}")]
    Variable {
        /// The variable.
        name: &'static str,
        /// What is wrong.
        message: String,
    },
}

impl Config {
    /// Reads the configuration.
    pub fn load(environment: &Environment) -> Result<Self, ConfigError> {
        let paths = paths(environment)?;
        let text = read(&paths.config)?;
        let settings = Source { path: &paths.config, text: &text, environment }.settings()?;
        Self::resolve(environment, paths, settings)
    }

    /// What would hold if there were no file, and no variable but the folders' and those that switch
    /// off.
    pub fn without_file(environment: &Environment) -> Result<Self, ConfigError> {
        let Overrides { disable, claude_mem, roots, .. } = environment.overrides.clone();
        let disable = disable.filter(|word| effective::is_switch(word));
        let overrides = Overrides { disable, claude_mem, roots, ..Overrides::default() };
        let environment = Environment { overrides, ..environment.clone() };
        let config = Self::resolve(&environment, paths(&environment)?, Settings::default())?;
        let may_keep_out = read(&config.paths.config).map_or(true, |text| keeps_out(&text));
        Ok(Self { may_keep_out, ..config })
    }

    fn resolve(
        environment: &Environment,
        paths: Paths,
        settings: Settings,
    ) -> Result<Self, ConfigError> {
        let all = effective::All::new(environment, settings)?;
        Ok(Self {
            paths,
            enabled: all.enabled.value,
            roots: roots(&all.roots.value),
            candidates: all.roots.value.clone(),
            zone: all.zone.value.clone(),
            memory_mb: all.memory_mb.value,
            idle_minutes: all.idle_minutes.value,
            hot_minutes: all.hot_minutes.value,
            archive_after_days: all.archive_after_days.value,
            keep_days: all.keep_days.value,
            resume: all.resume.value,
            observations: all.observations.value,
            claude_mem: environment.claude_mem(),
            notify_socket: environment.notify_socket.clone(),
            excluded: Excluded::new(&all.exclude.value),
            may_keep_out: false,
            all: Arc::new(all),
        })
    }

    /// Every key with its value and where that comes from.
    pub fn effective(&self) -> Vec<Effective> {
        self.all.effective()
    }

    /// Where the value of a key comes from.
    pub fn origin(&self, key: &str) -> Origin {
        let found = self.effective().into_iter().find(|effective| effective.key == key);
        found.map_or(Origin::Default, |effective| effective.origin)
    }

    /// What keeps sessions out.
    pub fn excluded(&self) -> Excluded {
        self.excluded.clone()
    }

    /// Whether sessions of this working folder are kept out.
    pub fn is_excluded(&self, folder: &Path) -> bool {
        self.excluded.is_excluded(folder)
    }
}

/// The state folder and what lies in it.
fn paths(environment: &Environment) -> Result<Paths, ConfigError> {
    let home = match (&environment.endless_home, &environment.home) {
        (Some(folder), _) => environment.absolute(folder),
        (None, Some(home)) => environment.absolute(home).join(".endless"),
        (None, None) => return Err(ConfigError::NoHome),
    };
    Ok(Paths::new(home).with_runtime(&environment.runtime_folder()))
}

fn read(path: &Path) -> Result<String, ConfigError> {
    match fs::read_to_string(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(String::new()),
        read => read.map_err(|source| ConfigError::Unreadable { path: path.to_owned(), source }),
    }
}

/// Whether the text of a configuration, understood or not, seems to keep sessions out.
fn keeps_out(text: &str) -> bool {
    let keys = ["exclude", "enabled"];
    text.lines().any(|line| keys.iter().any(|key| line.trim_start().starts_with(key)))
}

/// The zone of this name.
fn zone(name: &str) -> Result<Zone, String> {
    TimeZone::get(name)
        .map(Zone::new)
        .map_err(|_| format!("no time zone is named `{name}`; write one like `Europe/Berlin`"))
}

/// The folders that may be roots, where the file names none. `CLAUDE_CONFIG_DIR` takes the place of
/// the usual ones, as it does for the client.
fn default_roots(environment: &Environment) -> Result<Value<Vec<PathBuf>>, ConfigError> {
    if let Some(root) = &environment.claude_config_dir {
        return Ok(Value::of("CLAUDE_CONFIG_DIR", vec![environment.absolute(root)]));
    }
    let home = environment.home.as_ref().ok_or(ConfigError::NoHome)?;
    let home = environment.absolute(home);
    Ok(Value::default(vec![home.join(".claude"), home.join(".config/claude")]))
}

/// The paths of a variable, separated by `:`.
fn path_list(list: &OsStr, environment: &Environment) -> Vec<PathBuf> {
    let parts = list.as_bytes().split(|byte| *byte == b':').filter(|part| !part.is_empty());
    let path =
        |part| environment.absolute(&environment.expanded(Path::new(OsStr::from_bytes(part))));
    parts.map(path).collect()
}

/// The candidates that are roots, resolved, each once.
fn roots(candidates: &[PathBuf]) -> Vec<PathBuf> {
    let mut roots = Vec::new();
    for candidate in candidates {
        if let Ok(root) = fs::canonicalize(candidate)
            && root.join("projects").is_dir()
            && !roots.contains(&root)
        {
            roots.push(root);
        }
    }
    roots
}

#[cfg(test)]
mod tests;
