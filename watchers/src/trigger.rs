//! Trigger files: `<session-id>.render` and `<session-id>.seal`, which a plain `sh` can make.
//!
//! Invariant: a trigger comes from a regular file that is ours, with a valid name, and is told once
//! for each time it was created or touched. Everything else in the folder is counted and left alone.
//! Refuses: to open a trigger file, to follow a link, to remove anything by itself.

use std::collections::HashMap;
use std::ffi::{OsStr, OsString};
use std::fs::{self, Metadata};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use crate::directory;
use crate::folder::{FolderIdentity, Watch, Why};
use crate::native::Native;

/// The longest session id in a trigger's name.
const MAX_ID: usize = 128;

/// A wish that was left as a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trigger {
    /// The session it is about; safe as a file name.
    pub session: String,
    /// What is wished.
    pub verb: TriggerVerb,
    /// The file.
    pub path: PathBuf,
    /// When it was touched last.
    pub modified: SystemTime,
}

/// What a trigger file wishes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TriggerVerb {
    /// `.render`
    Render,
    /// `.seal`
    Seal,
}

/// The session id and the verb in a trigger file's name; `None` if the name is not valid.
///
/// The id matches `[A-Za-z0-9][A-Za-z0-9._-]{0,127}`.
pub fn parse_trigger_name(name: &OsStr) -> Option<(&str, TriggerVerb)> {
    let (session, verb) = match name.to_str()?.rsplit_once('.')? {
        (session, "render") => (session, TriggerVerb::Render),
        (session, "seal") => (session, TriggerVerb::Seal),
        _ => return None,
    };
    let (first, rest) = session.as_bytes().split_first()?;
    let allowed = |byte: &u8| byte.is_ascii_alphanumeric() || b"._-".contains(byte);
    let valid = first.is_ascii_alphanumeric() && rest.len() < MAX_ID && rest.iter().all(allowed);
    valid.then_some((session, verb))
}

/// Removes a trigger file after its effect, unless it was touched again, which is a new trigger.
/// Returns whether the file is gone.
pub fn remove_trigger(trigger: &Trigger) -> io::Result<bool> {
    match directory::metadata(&trigger.path)? {
        None => Ok(true),
        Some(metadata) if metadata.modified()? != trigger.modified => Ok(false),
        Some(_) => match fs::remove_file(&trigger.path) {
            Err(error) if !directory::is_absence(&error) => Err(error),
            _ => Ok(true),
        },
    }
}

/// The trigger folder, as it was seen last.
#[derive(Debug)]
pub(crate) struct Triggers {
    /// As the caller named it.
    folder: PathBuf,
    /// Where it really is: what the system's reports name.
    real: PathBuf,
    seen: Option<(FolderIdentity, SystemTime)>,
    watch: Watch,
    told: HashMap<OsString, (u64, SystemTime)>,
    ignored: usize,
}

impl Triggers {
    pub(crate) fn new(folder: PathBuf) -> Self {
        let told = HashMap::new();
        Self { real: folder.clone(), folder, seen: None, watch: Watch::Off, told, ignored: 0 }
    }

    /// Whether `path` is the folder or something in it.
    pub(crate) fn concern(&self, path: &Path) -> bool {
        path == self.real || path.parent() == Some(&self.real)
    }

    pub(crate) fn ignored(&self) -> usize {
        self.ignored
    }

    /// The folder may have gone, and its watch with it.
    pub(crate) fn moved(&mut self, path: &Path, native: &mut Native) {
        if path == self.real {
            self.disarm(native);
        }
    }

    /// Sets the watch once more, in case it was lost.
    pub(crate) fn refresh(&mut self, native: &mut Native) {
        if self.watch == Watch::Native {
            self.watch = native.refresh(&self.real);
        }
    }

    /// Looks at the folder, and with `list`, or if the look says so, at what is in it.
    pub(crate) fn check(&mut self, native: &mut Native, list: bool) -> Vec<Trigger> {
        // What can't be looked at is looked at again in a second.
        let Ok(now) = directory::look_at_folder(&self.folder) else { return Vec::new() };
        let Some((identity, _)) = now else {
            self.disarm(native);
            (self.seen, self.ignored) = (None, 0);
            self.told.clear();
            return Vec::new();
        };
        if self.seen.is_none_or(|(before, _)| before != identity) {
            self.disarm(native);
        }
        let refused = matches!(self.watch, Watch::Polled(Why::Limit | Why::Failed));
        let retry = refused && native.has_room();
        if self.watch == Watch::Off || retry {
            self.real = fs::canonicalize(&self.folder).unwrap_or_else(|_| self.folder.clone());
            self.watch = native.arm(&self.real, None);
            self.seen = None;
        }
        if !list && self.watch == Watch::Native && self.seen == now {
            return Vec::new();
        }
        self.seen = now;
        self.list()
    }

    fn disarm(&mut self, native: &mut Native) {
        native.release(&self.real, self.watch, 0);
        self.watch = Watch::Off;
    }

    fn list(&mut self) -> Vec<Trigger> {
        let Ok(entries) = directory::list(&self.folder) else { return Vec::new() };
        let before = std::mem::take(&mut self.told);
        self.ignored = 0;
        let mut found = Vec::new();
        for (name, _) in entries {
            let Ok(Some(metadata)) = directory::metadata(&self.folder.join(&name)) else {
                continue;
            };
            let Some(trigger) = self.trigger(&name, &metadata) else {
                self.ignored += 1;
                continue;
            };
            let stamp = (metadata.ino(), trigger.modified);
            if before.get(&name) != Some(&stamp) {
                found.push(trigger);
            }
            self.told.insert(name, stamp);
        }
        found.sort_by_key(|trigger| trigger.modified);
        found
    }

    fn trigger(&self, name: &OsStr, metadata: &Metadata) -> Option<Trigger> {
        let (session, verb) = parse_trigger_name(name)?;
        let ours = metadata.uid() == rustix::process::geteuid().as_raw();
        if !metadata.is_file() || !ours {
            return None;
        }
        let path = self.folder.join(name);
        let modified = metadata.modified().ok()?;
        Some(Trigger { session: session.to_owned(), verb, path, modified })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::ffi::OsStrExt;

    fn check(name: &str, expect: Option<(&str, TriggerVerb)>) {
        assert_eq!(parse_trigger_name(OsStr::new(name)), expect, "{name:?}");
    }

    #[test]
    fn valid_names() {
        check("0f1e-2d.render", Some(("0f1e-2d", TriggerVerb::Render)));
        check("a.seal", Some(("a", TriggerVerb::Seal)));
        check("a.render.seal", Some(("a.render", TriggerVerb::Seal)));
        let longest = "x".repeat(MAX_ID);
        check(&format!("{longest}.seal"), Some((&longest, TriggerVerb::Seal)));
    }

    #[test]
    fn invalid_names() {
        let too_long = format!("{}.seal", "x".repeat(MAX_ID + 1));
        let bad = ["", ".seal", "a", "a.Seal", "a.seal ", "-a.seal", ".a.seal", "a b.seal"];
        for name in bad.into_iter().chain(["a\n.seal", "é.seal", "..seal", "../x.seal", &too_long])
        {
            check(name, None);
        }
        assert_eq!(parse_trigger_name(OsStr::from_bytes(b"\xff.seal")), None);
    }
}
