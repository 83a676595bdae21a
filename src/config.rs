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
};

use jiff::tz::TimeZone;
use serde::{Deserialize, Serialize};

pub use self::{effective::Effective, exclude::Excluded};
use crate::{paths::Paths, text::time::Zone};
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
    /// The working folder.
    pub folder: Option<PathBuf>,
    /// `XDG_RUNTIME_DIR`.
    pub runtime_dir: Option<PathBuf>,
    /// `NOTIFY_SOCKET`: where a service manager waits to hear that the service is ready.
    pub notify_socket: Option<OsString>,
    /// The machine's time zone, or that of `TZ`.
    pub zone: TimeZone,
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
            folder: env::current_dir().ok(),
            runtime_dir: path("XDG_RUNTIME_DIR"),
            notify_socket: text("NOTIFY_SOCKET"),
            zone: TimeZone::system(),
            overrides: Overrides {
                disable: text("ENDLESS_DISABLE"),
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
    /// Where a service manager waits to hear that the service is ready.
    pub notify_socket: Option<OsString>,
    excluded: Excluded,
    effective: Vec<Effective>,
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
    /// claude-mem's observations where it is installed.
    #[default]
    Auto,
    /// What the transcript alone tells.
    Derived,
    /// claude-mem's observations.
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

    /// What would hold if there were no file and no variable but the folders'.
    pub fn without_file(environment: &Environment) -> Result<Self, ConfigError> {
        let environment = Environment { overrides: Overrides::default(), ..environment.clone() };
        Self::resolve(&environment, paths(&environment)?, Settings::default())
    }

    fn resolve(
        environment: &Environment,
        paths: Paths,
        settings: Settings,
    ) -> Result<Self, ConfigError> {
        let all = effective::All::new(environment, settings)?;
        Ok(Self {
            paths,
            effective: all.effective(),
            enabled: all.enabled.value,
            roots: roots(&all.roots.value),
            candidates: all.roots.value,
            zone: Zone::new(all.zone.value),
            memory_mb: all.memory_mb.value,
            idle_minutes: all.idle_minutes.value,
            hot_minutes: all.hot_minutes.value,
            archive_after_days: all.archive_after_days.value,
            keep_days: all.keep_days.value,
            resume: all.resume.value,
            observations: all.observations.value,
            notify_socket: environment.notify_socket.clone(),
            excluded: Excluded::new(&all.exclude.value),
        })
    }

    /// Every key with its value and where that comes from.
    pub fn effective(&self) -> &[Effective] {
        &self.effective
    }

    /// Where the value of a key comes from.
    pub fn origin(&self, key: &str) -> Origin {
        let found = self.effective.iter().find(|effective| effective.key == key);
        found.map_or(Origin::Default, |effective| effective.origin.clone())
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

/// The zone of this name.
fn zone(name: &str) -> Result<TimeZone, String> {
    TimeZone::get(name)
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
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    fn environment(home: &Path) -> Environment {
        Environment {
            home: Some(home.to_owned()),
            endless_home: None,
            claude_config_dir: None,
            folder: Some(home.join("work")),
            runtime_dir: None,
            notify_socket: None,
            zone: TimeZone::UTC,
            overrides: Overrides::default(),
            programs: Programs::default(),
        }
    }

    fn configured(text: &str) -> Result<Config, String> {
        with(text, Overrides::default())
    }

    fn with(text: &str, overrides: Overrides) -> Result<Config, String> {
        let home = tempfile::tempdir().unwrap();
        fs::create_dir(home.path().join(".endless")).unwrap();
        fs::write(home.path().join(".endless/config.toml"), text).unwrap();
        let shown =
            |error: ConfigError| error.to_string().replace(&*home.path().to_string_lossy(), "~");
        Config::load(&Environment { overrides, ..environment(home.path()) }).map_err(shown)
    }

    #[test]
    fn without_a_file_the_defaults_hold() {
        let home = tempfile::tempdir().unwrap();
        let config = Config::load(&environment(home.path())).unwrap();
        assert_eq!(config.paths.home, home.path().join(".endless"));
        assert_eq!(config.roots, Vec::<PathBuf>::new());
        let candidates = [home.path().join(".claude"), home.path().join(".config/claude")];
        assert_eq!(config.candidates, candidates);
    }

    #[test]
    fn roots_are_resolved_and_there_once() {
        let home = tempfile::tempdir().unwrap();
        let real = home.path().canonicalize().unwrap().join("real");
        fs::create_dir_all(real.join("projects")).unwrap();
        fs::create_dir_all(home.path().join(".config")).unwrap();
        symlink(&real, home.path().join(".claude")).unwrap();
        symlink(&real, home.path().join(".config/claude")).unwrap();
        let mut environment = environment(home.path());
        assert_eq!(Config::load(&environment).unwrap().roots, [real]);
        environment.claude_config_dir = Some("../elsewhere".into());
        let config = Config::load(&environment).unwrap();
        assert_eq!(config.candidates, [home.path().join("work/../elsewhere")]);
        assert_eq!(config.roots, Vec::<PathBuf>::new());
    }

    #[test]
    fn no_home_is_said_plainly() {
        let mut environment = environment(Path::new("/h"));
        environment.home = None;
        assert!(matches!(Config::load(&environment), Err(ConfigError::NoHome)));
        environment.endless_home = Some("state".into());
        assert!(matches!(Config::load(&environment), Err(ConfigError::NoHome)));
        environment.claude_config_dir = Some("/c".into());
        let config = Config::load(&environment).unwrap();
        assert_eq!(config.paths.home, Path::new("/h/work/state"));
    }

    #[test]
    fn the_file_replaces_the_defaults() {
        let config = configured("roots = ['/r', '~/s']\nzone = 'Etc/GMT-2'\n").unwrap();
        assert_eq!(config.candidates[0], Path::new("/r"));
        assert!(config.candidates[1].ends_with("s"));
        assert!(config.zone.stamp(crate::text::time::Moment(0)).ends_with("+02:00"));
    }

    #[test]
    fn errors_name_the_line_and_what_was_meant() {
        for (text, expected) in [
            ("\nroot = []\n", "line 2: unknown key `root`; did you mean `roots`?"),
            ("\"Zone\" = ''", "line 1: unknown key `Zone`; did you mean `zone`?"),
            ("page = 1", "line 1: unknown key `page`; the keys are `enabled`, `roots`, `exclude`,"),
            ("roots = ['a']", "line 1: `a` must begin with `/` or `~/`"),
            ("zone = 'Mars'", "no time zone is named `Mars`; write one like `Europe/Berlin`"),
            ("roots = 1", "invalid type: integer `1`"),
            ("\n\n[", "line 3: "),
        ] {
            let error = configured(text).unwrap_err();
            assert!(error.starts_with("~/.endless/config.toml, line "), "{error}");
            assert!(error.contains(expected), "{error}");
        }
    }

    #[test]
    fn numbers_and_words_have_a_range() {
        for (text, expected) in [
            ("\nmemory_mb = 15", "line 2: `memory_mb` is 15, and may be 16 to 65536"),
            ("memory_mb = 99999999999", "`memory_mb` is 99999999999, and may be 16 to 65536"),
            ("idle_minutes = -1", "line 1: `idle_minutes` is -1, and may be 1 to 10080"),
            ("hot_minutes = 0", "`hot_minutes` is 0, and may be 1 to 1440"),
            ("keep_days = 0", "`keep_days` is 0, and may be 1 to 36500"),
            ("archive_after_days = 36501", "may be 1 to 36500"),
            ("keep_days = 1.5", "invalid type: floating point `1.5`"),
            ("enabled = 'no'", "invalid type: string \"no\", expected a boolean"),
            (
                "\n\nresume = 'sometimes'",
                "line 3: unknown variant `sometimes`, expected one of `auto`",
            ),
            ("observations = 'mem'", "expected one of `auto`, `derived`, `claude-mem`"),
            ("exclude = ['a']", "line 1: `a` must begin with `/` or `~/`, or with `**/`"),
            ("exclude = ['/a',\n '']", "line 2: `` must begin with"),
            ("exclude = '/a'", "invalid type: string \"/a\", expected a sequence"),
        ] {
            let error = configured(text).unwrap_err();
            assert!(error.contains(expected), "{error}");
        }
    }

    #[test]
    fn every_value_says_where_it_comes_from() {
        let config =
            configured("\nkeep_days = 7\nexclude = [\n '/a',\n]\nenabled = false").unwrap();
        for (key, origin) in [
            ("keep_days", "config.toml:2"),
            ("exclude", "config.toml:3"),
            ("enabled", "config.toml:6"),
            ("zone", "default"),
            ("roots", "default"),
        ] {
            assert_eq!(config.origin(key).to_string(), origin, "{key}");
        }
        assert_eq!((config.keep_days, config.enabled), (Some(7), false));
        let keys: Vec<_> = config.effective().iter().map(|effective| effective.key).collect();
        assert_eq!(keys, settings::KEYS);
        assert!(config.is_excluded(Path::new("/a/b")));
    }

    #[test]
    fn variables_outweigh_the_file() {
        let text = "roots = ['/r']\nzone = 'Etc/GMT-2'\nmemory_mb = 99\n";
        let overrides = Overrides {
            disable: Some("1".into()),
            roots: Some("/x::rel:~/y".into()),
            zone: Some("UTC".into()),
            memory_mb: Some("64".into()),
        };
        let config = with(text, overrides).unwrap();
        assert_eq!((config.enabled, config.memory_mb, config.candidates.len()), (false, 64, 3));
        assert_eq!(config.candidates[0], Path::new("/x"));
        assert!(config.candidates[1].ends_with("work/rel") && config.candidates[2].ends_with("y"));
        for (key, origin) in [
            ("enabled", "environment ENDLESS_DISABLE"),
            ("roots", "environment ENDLESS_ROOTS"),
            ("zone", "environment ENDLESS_ZONE"),
            ("memory_mb", "environment ENDLESS_MEMORY_MB"),
        ] {
            assert_eq!(config.origin(key).to_string(), origin, "{key}");
        }
        let disable =
            |value: &str| Overrides { disable: Some(value.into()), ..Overrides::default() };
        assert!(with("", disable("0")).unwrap().enabled);
        assert!(!with("enabled = false", disable("0")).unwrap().enabled);
        let memory = Overrides { memory_mb: Some("lots".into()), ..Overrides::default() };
        let zone = Overrides { zone: Some("Mars".into()), ..Overrides::default() };
        for (overrides, expected) in [
            (memory, "the variable ENDLESS_MEMORY_MB: it is `lots`, and may be 16 to 65536"),
            (zone, "the variable ENDLESS_ZONE: no time zone is named `Mars`"),
            (disable("maybe"), "the variable ENDLESS_DISABLE: it is `maybe`; write 1 or 0"),
        ] {
            let error = with("", overrides).unwrap_err();
            assert!(error.starts_with(expected), "{error}");
        }
    }

    #[test]
    fn the_example_says_the_defaults() {
        let mut keys: Vec<&str> = EXAMPLE
            .lines()
            .filter_map(|line| line.strip_prefix('#').filter(|line| !line.starts_with(' ')))
            .filter_map(|line| line.split_once(" = ").map(|(key, _)| key))
            .collect();
        let mut all = settings::KEYS.to_vec();
        keys.sort_unstable();
        all.sort_unstable();
        assert_eq!(keys, all);
        let text: String = EXAMPLE
            .lines()
            .map(|line| match line.strip_prefix('#') {
                Some(setting) if !setting.starts_with(' ') => format!("{setting}\n"),
                _ => format!("{line}\n"),
            })
            .collect();
        let home = tempfile::tempdir().unwrap();
        let environment = environment(home.path());
        let default = Config::load(&environment).unwrap();
        fs::create_dir(home.path().join(".endless")).unwrap();
        fs::write(home.path().join(".endless/config.toml"), EXAMPLE).unwrap();
        assert_eq!(Config::load(&environment).unwrap().effective(), default.effective());
        fs::write(home.path().join(".endless/config.toml"), text).unwrap();
        let all = Config::load(&environment).unwrap();
        for (all, default) in all.effective().iter().zip(default.effective()) {
            assert!(matches!(all.origin, Origin::File { .. }), "{}", all.key);
            // These have no default that could be written down.
            if !matches!(all.key, "zone" | "keep_days") {
                assert_eq!(all.value, default.value, "{}", all.key);
            }
        }
    }
}
