//! Every path of the state folder, computed once.
//!
//! Invariant: a path that is made from an id stays inside the folder, since a [`SessionId`] can
//! hold no separator and does not begin with a dot. Refuses: to look at the disk.

use std::{
    fmt,
    os::unix::ffi::OsStrExt,
    path::{Path, PathBuf},
    str::FromStr,
};

/// The longest session id, in bytes.
pub const MAX_ID: usize = 128;
/// The longest path of a socket, in bytes: 104 on macOS, with the NUL behind it.
const MAX_SOCKET: usize = 103;

/// The state folder and what lies in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Paths {
    /// The state folder itself.
    pub home: PathBuf,
    /// The configuration; it need not exist.
    pub config: PathBuf,
    /// The bottles.
    pub bottles: PathBuf,
    /// Bottles that have words which newer ones lack.
    pub archive: PathBuf,
    /// The service's socket.
    pub socket: PathBuf,
    /// Locked while a bottle is looked at and replaced.
    pub bottles_lock: PathBuf,
    /// What outlives a process and is in no transcript.
    pub database: PathBuf,
    /// Locked by the service.
    pub lock: PathBuf,
    /// Wishes that a plain shell can leave.
    pub triggers: PathBuf,
    /// Logs.
    pub logs: PathBuf,
}

impl Paths {
    /// The paths of the state folder `home`.
    pub fn new(home: impl Into<PathBuf>) -> Self {
        let home = home.into();
        let bottles = home.join("bottles");
        Self {
            config: home.join("config.toml"),
            socket: home.join("endless.sock"),
            bottles_lock: home.join("bottles.lock"),
            database: home.join("endless.db"),
            lock: home.join("service.lock"),
            triggers: home.join("triggers"),
            logs: home.join("logs"),
            archive: bottles.join(Self::ARCHIVE),
            bottles,
            home,
        }
    }

    /// The same, with the socket in the folder `runtime` where its path would be too long for the
    /// system in the state folder. Each state folder has a name of its own there.
    pub fn with_runtime(mut self, runtime: &Path) -> Self {
        if self.socket.as_os_str().len() > MAX_SOCKET {
            let name = format!("{:016x}.sock", fingerprint(self.home.as_os_str().as_bytes()));
            self.socket = runtime.join(name);
        }
        self
    }

    /// The archive's name inside the folder of bottles.
    pub const ARCHIVE: &str = "archive";

    /// The bottle of a session.
    pub fn bottle(&self, id: &SessionId) -> PathBuf {
        self.bottles.join(format!("{id}.md"))
    }

    /// The copy of a session's bottle that its print `n` names.
    pub fn copy(&self, id: &SessionId, n: u32) -> PathBuf {
        self.bottles.join(format!("{id}@{n}.md"))
    }

    /// Where a bottle of a session goes that is archived at this time (UTC milliseconds).
    pub fn archived(&self, milliseconds: i64, id: &SessionId) -> PathBuf {
        self.archive.join(format!("{milliseconds}-{id}.md"))
    }
}

/// What decides where claude-mem keeps its data; its own settings have a say as well.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ClaudeMemPlace {
    /// The person's home.
    pub home: Option<PathBuf>,
    /// The variable `CLAUDE_MEM_DATA_DIR`, absolute.
    pub variable: Option<PathBuf>,
}

/// FNV-1a: the same in every process and every version, unlike the standard library's hashes.
fn fingerprint(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

/// The id of a session, fit to be a file's name.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SessionId(String);

/// Why a text is no session id.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadId {
    /// There is no text.
    #[error("a session id can't be empty")]
    Empty,
    /// It is too long.
    #[error("a session id has at most {MAX_ID} characters, this one has {0}")]
    TooLong(usize),
    /// It has a character that ids don't have.
    #[error(
        "`{0}` is no session id: ids have letters, digits, `.`, `_` and `-`, and begin with a \
         letter or digit"
    )]
    Character(String),
}

impl SessionId {
    /// The id as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The id that a file is named after, if its name is one.
    pub fn of_file(path: &Path) -> Option<Self> {
        path.file_stem()?.to_str()?.parse().ok()
    }
}

impl fmt::Display for SessionId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl FromStr for SessionId {
    type Err = BadId;

    fn from_str(text: &str) -> Result<Self, BadId> {
        if text.is_empty() {
            return Err(BadId::Empty);
        }
        let length = text.chars().count();
        if length > MAX_ID {
            return Err(BadId::TooLong(length));
        }
        if is_name(text) { Ok(Self(text.to_owned())) } else { Err(BadId::Character(text.into())) }
    }
}

/// Whether a text is fit to be the name of a file inside a folder of ours.
pub fn is_name(text: &str) -> bool {
    let is_part = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-');
    text.bytes().all(is_part) && text.starts_with(|first: char| first.is_ascii_alphanumeric())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_names_of_files() {
        for good in ["a", "0b9f2a-1", "A.b_c-d", &"x".repeat(128)] {
            assert_eq!(good.parse::<SessionId>().map(|id| id.0).as_deref(), Ok(good));
        }
        for bad in ["", ".", "..", ".a", "-a", "_a", "../../x", "a/b", "a\nb", "a b", "é", "a\0"] {
            assert!(bad.parse::<SessionId>().is_err(), "{bad:?}");
        }
        assert_eq!("x".repeat(5_000).parse::<SessionId>(), Err(BadId::TooLong(5_000)));
    }

    #[test]
    fn paths_stay_in_the_state_folder() {
        let paths = Paths::new("/s");
        let id: SessionId = "a..b".parse().unwrap();
        assert_eq!(paths.bottle(&id), Path::new("/s/bottles/a..b.md"));
        assert_eq!(paths.copy(&id, 2), Path::new("/s/bottles/a..b@2.md"));
        assert_eq!(paths.archived(7, &id), Path::new("/s/bottles/archive/7-a..b.md"));
        assert_eq!(SessionId::of_file(Path::new("/x/a..b.jsonl")), Some(id));
        assert_eq!(SessionId::of_file(Path::new("/x/a b.jsonl")), None);
    }

    #[test]
    fn the_socket_has_a_path_that_the_system_takes() {
        let socket = |home: &str| Paths::new(home).with_runtime(Path::new("/run/e")).socket;
        assert_eq!(socket("/s"), Path::new("/s/endless.sock"));
        let longest = format!("/{}", "x".repeat(89));
        assert_eq!(socket(&longest), Path::new(&longest).join("endless.sock"));
        let long = socket(&format!("{longest}x"));
        assert_eq!(long, Path::new("/run/e/359b9eba7efa0e3e.sock"));
        assert_ne!(long, socket(&format!("{longest}y")));
    }
}
