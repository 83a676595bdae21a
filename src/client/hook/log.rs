//! `logs/hooks.log`: what went wrong in hooks, since they may say nothing themselves.
//!
//! Bounded: a file of over 1 MB becomes `hooks.log.1`, in place of the one before. Failing at it
//! harms nobody. Refuses: control characters, and to make the state folder.
use std::{
    fs::{self, File},
    io::Write,
    os::unix::fs::OpenOptionsExt,
    path::PathBuf,
};

use jiff::Timestamp;

use crate::{paths::Paths, text::line::plain_line};

/// Bytes of a log.
const LONGEST: u64 = 1_000_000;
/// Characters of a line.
const LINE: usize = 500;

/// The log.
pub fn path(paths: &Paths) -> PathBuf {
    paths.logs.join("hooks.log")
}

/// Adds a line.
pub fn write(paths: &Paths, event: &str, trouble: &str) {
    let path = path(paths);
    if fs::metadata(&path).is_ok_and(|data| data.len() > LONGEST) {
        drop(fs::rename(&path, path.with_extension("log.1")));
    }
    let flags = i32::try_from(rustix::fs::OFlags::NOFOLLOW.bits()).unwrap_or_default();
    let file = File::options().append(true).create(true).mode(0o600).custom_flags(flags).open(path);
    if let Ok(mut file) = file {
        let line = plain_line(&format!("{event}: {trouble}"), LINE);
        drop(writeln!(file, "{:.3} {line}", Timestamp::now()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_log_is_bounded_and_private() {
        use std::os::unix::fs::MetadataExt;
        let folder = tempfile::tempdir().unwrap();
        let paths = Paths::new(folder.path());
        write(&paths, "Stop", "nowhere");
        assert!(!path(&paths).exists());
        fs::create_dir(&paths.logs).unwrap();
        write(&paths, "Stop", "one\ntwo \u{1b}[1m");
        let text = fs::read_to_string(path(&paths)).unwrap();
        assert!(text.ends_with(" Stop: one two ␛[1m\n"), "{text}");
        assert_eq!(fs::metadata(path(&paths)).unwrap().mode() & 0o777, 0o600);
        fs::write(path(&paths), vec![b'x'; 1_000_001]).unwrap();
        write(&paths, "Stop", "three");
        write(&paths, "Stop", "four");
        let names = fs::read_dir(&paths.logs).unwrap().count();
        assert_eq!((names, fs::read_to_string(path(&paths)).unwrap().lines().count()), (2, 2));
    }
}
