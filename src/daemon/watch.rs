//! From the watcher's events to the engine's.
use std::{
    collections::HashMap,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
    time::{SystemTime, UNIX_EPOCH},
};

use endless_watchers::{Layout, Seen, TriggerVerb, WatchEvent, WatchMode, WatcherConfig};

use crate::{
    config::Config,
    engine::{
        event::{Event, FileSeen, TriggerFile},
        request::WatchStatus,
    },
    sources::transcripts::session_of,
    store::KnownFile,
    text::time::Moment,
};

/// The folders to watch: the projects of every folder that may be a root.
pub(super) fn roots(config: &Config) -> Vec<PathBuf> {
    config.candidates.iter().map(|root| root.join("projects")).collect()
}

pub(super) fn watcher_config(config: &Config) -> WatcherConfig {
    let mut watcher = WatcherConfig::new(Layout { folders: 1, extension: "jsonl".to_owned() });
    watcher.roots = roots(config);
    watcher.triggers = Some(config.paths.triggers.clone());
    watcher
}

/// Translates; knows which transcripts are as the database has them.
pub(super) struct Translator {
    known: HashMap<PathBuf, KnownFile>,
}

impl Translator {
    pub(super) fn new(known: Vec<KnownFile>) -> Self {
        Self { known: known.into_iter().map(|file| (file.path.clone(), file)).collect() }
    }

    pub(super) fn event<K>(&mut self, event: WatchEvent) -> Option<Event<K>> {
        Some(match event {
            WatchEvent::Files(files) => {
                Event::Files(files.into_iter().filter_map(|seen| self.seen(seen)).collect())
            }
            WatchEvent::Gone(paths) => Event::Gone(
                paths.into_iter().filter_map(|path| Some((session_of(&path)?, path))).collect(),
            ),
            WatchEvent::Trigger(trigger) => {
                let touched = nanoseconds(trigger.modified);
                let seal = trigger.verb == TriggerVerb::Seal;
                let file = TriggerFile { path: trigger.path, touched, seal };
                Event::Trigger(trigger.session.parse().ok()?, file)
            }
            WatchEvent::Mode(mode) => Event::Watching(status(&mode)),
            WatchEvent::Resynced { token, .. } => Event::Resynced(token),
        })
    }

    fn seen(&mut self, seen: Seen) -> Option<FileSeen> {
        let id = session_of(&seen.path)?;
        let unchanged = self.known.remove(&seen.path).is_some_and(|known| is_same(&known, &seen));
        Some(FileSeen {
            id,
            length: seen.length,
            modified: moment(seen.modified),
            unchanged,
            path: seen.path,
        })
    }
}

fn is_same(known: &KnownFile, seen: &Seen) -> bool {
    (known.device, known.inode, known.length) == (seen.device, seen.inode, seen.length)
        && u128::try_from(known.modified) == Ok(nanoseconds(seen.modified))
}

fn nanoseconds(time: SystemTime) -> u128 {
    time.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_nanos())
}

/// Deletes a trigger file, unless it was touched again since it was told.
pub(super) fn remove(file: &TriggerFile) {
    let touched = std::fs::symlink_metadata(&file.path).and_then(|data| data.modified());
    if touched.is_ok_and(|touched| nanoseconds(touched) == file.touched)
        && let Err(error) = std::fs::remove_file(&file.path)
    {
        tracing::warn!("failed to remove {}: {error}", file.path.display());
    }
}

fn moment(time: SystemTime) -> Moment {
    let since = time.duration_since(UNIX_EPOCH);
    Moment(since.map_or(0, |since| i64::try_from(since.as_millis()).unwrap_or(i64::MAX)))
}

fn status(mode: &WatchMode) -> WatchStatus {
    let unreadable = (mode.unreadable_folders > 0)
        .then(|| format!("{} folders of transcripts can't be read", mode.unreadable_folders));
    let reasons: Vec<String> = mode.degraded.iter().cloned().chain(unreadable).collect();
    let reason = (!reasons.is_empty()).then(|| reasons.join("; "));
    let name = match (mode.native, &reason) {
        (true, None) => "native",
        (true, Some(_)) => "degraded",
        (false, _) => "polling",
    };
    let ignored = mode.ignored_files + mode.ignored_triggers;
    WatchStatus {
        mode: name.to_owned(),
        reason,
        unreadable: mode.unreadable_folders as u64,
        ignored: ignored as u64,
        folders: mode.watched_folders as u64,
        polled: mode.polled_files as u64,
    }
}

/// The bottles that are there: their session, path, time of change and size.
pub(super) fn bottles(folder: &Path) -> Vec<(crate::paths::SessionId, PathBuf, Moment, u64)> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let bottle = |entry: std::fs::DirEntry| {
        let path = entry.path();
        let id = path.file_name()?.to_str()?.strip_suffix(".md")?.parse().ok()?;
        let data = entry.metadata().ok().filter(std::fs::Metadata::is_file)?;
        Some((id, path, Moment(data.mtime() * 1_000), data.len()))
    };
    entries.filter_map(bottle).collect()
}
