//! The system's own reports of changes: inotify on Linux, FSEvents on macOS, through notify.
//!
//! A report is a hint that something is to be looked at, no more. Reports of reading are dropped
//! here, or our own reading would wake us. The callback never blocks and drops nothing else.
//!
//! Invariant: a folder is either watched or the caller is told why not. Known problems of notify 8
//! that are met here: the limit of watches; a watch that is lost when its folder is replaced (the
//! caller releases what moved, and [`Native::refresh`] sets every watch again now and then);
//! FSEvents starts anew with every watch, so only roots are watched there, with all that is below.
//! Refuses: recursive watches on Linux, where notify misses what is made quickly in new folders.

use std::path::{Path, PathBuf};

use crossbeam_channel::{Receiver, Sender, never, unbounded};
use notify::event::ModifyKind;
use notify::{Error, ErrorKind, Event, EventKind, RecommendedWatcher, RecursiveMode, Watcher};

use crate::directory::{is_absence, silent_kind};
use crate::folder::{Watch, Why};

/// Whether the watch of a root covers all that is below.
const RECURSIVE: bool = cfg!(target_os = "macos");

/// What the system said.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Hint {
    Paths {
        paths: Vec<PathBuf>,
        /// What stood there may have gone, and its watches with it.
        moved: bool,
    },
    /// Some reports were lost.
    Lost,
}

pub(crate) struct Native {
    watcher: Option<RecommendedWatcher>,
    /// How many watches may be set.
    limit: usize,
    watches: usize,
    /// No watch is to be had: do not ask again before [`Self::retry`].
    full: bool,
    failure: Option<String>,
}

impl Native {
    /// Without `wanted` nothing is ever watched.
    pub(crate) fn start(wanted: bool, limit: Option<usize>) -> (Self, Receiver<Hint>) {
        let limit = limit.unwrap_or(usize::MAX);
        let mut native = Self { watcher: None, limit, watches: 0, full: false, failure: None };
        if !wanted {
            return (native, never());
        }
        let (sender, hints) = unbounded();
        match notify::recommended_watcher(move |report| hear(report, &sender)) {
            Ok(watcher) => native.watcher = Some(watcher),
            Err(error) => {
                native.failure = Some(explain(&error));
                return (native, never());
            }
        }
        (native, hints)
    }

    /// Watches a folder; `above` is how the folder above is watched, if that is not a root's.
    pub(crate) fn arm(&mut self, path: &Path, above: Option<Watch>) -> Watch {
        if let Some(above) = above.filter(|_| RECURSIVE) {
            return above;
        }
        if self.watcher.is_none() {
            return Watch::Polled(self.failure.as_ref().map_or(Why::Asked, |_| Why::Failed));
        }
        if let Some(kind) = silent_kind(path) {
            return Watch::Polled(Why::Silent(kind));
        }
        self.full |= self.watches >= self.limit;
        if self.full {
            return Watch::Polled(Why::Limit);
        }
        let armed = self.watch(path);
        self.watches += usize::from(armed == Watch::Native);
        armed
    }

    /// Gives a watch back. One that is lost already is no error.
    pub(crate) fn release(&mut self, path: &Path, watch: Watch, level: usize) {
        if watch != Watch::Native || RECURSIVE && level > 0 {
            return;
        }
        self.watches = self.watches.saturating_sub(1);
        if let Some(watcher) = &mut self.watcher {
            watcher.unwatch(path).ok();
        }
    }

    /// Sets a watch that should be there once more, which changes nothing if it is.
    pub(crate) fn refresh(&mut self, path: &Path) -> Watch {
        let watch = if RECURSIVE { Watch::Native } else { self.watch(path) };
        self.watches = self.watches.saturating_sub(usize::from(watch != Watch::Native));
        watch
    }

    /// Whether the system reports anything.
    pub(crate) fn is_running(&self) -> bool {
        self.watcher.is_some()
    }

    /// Whether asking for a watch has a chance.
    pub(crate) fn has_room(&self) -> bool {
        self.watcher.is_some() && !self.full
    }

    /// The limit may have changed.
    pub(crate) fn retry(&mut self) {
        self.full = false;
    }

    /// The thread that reports is gone: from now on everything is polled.
    pub(crate) fn stopped(&mut self) {
        self.failure = Some("the system's watcher stopped".to_owned());
        self.watches = 0;
        // Its destructor would send to that thread, and panic.
        std::mem::forget(self.watcher.take());
    }

    pub(crate) fn failure(&self) -> &str {
        self.failure.as_deref().unwrap_or("unknown cause")
    }

    fn watch(&mut self, path: &Path) -> Watch {
        // notify unwraps this on macOS.
        if RECURSIVE && path.to_str().is_none() {
            self.failure = Some("the path is not UTF-8".to_owned());
            return Watch::Polled(Why::Failed);
        }
        let mode = if RECURSIVE { RecursiveMode::Recursive } else { RecursiveMode::NonRecursive };
        let Some(watcher) = &mut self.watcher else { return Watch::Polled(Why::Failed) };
        match watcher.watch(path, mode) {
            Ok(()) => Watch::Native,
            Err(error) => self.refused(&error),
        }
    }

    fn refused(&mut self, error: &Error) -> Watch {
        match &error.kind {
            ErrorKind::MaxFilesWatch => {
                self.full = true;
                Watch::Polled(Why::Limit)
            }
            ErrorKind::PathNotFound => Watch::Off,
            ErrorKind::Io(source) if is_absence(source) => Watch::Off,
            _ => {
                self.failure = Some(explain(error));
                Watch::Polled(Why::Failed)
            }
        }
    }
}

fn explain(error: &Error) -> String {
    const TOO_MANY_OPEN: i32 = 24;
    match &error.kind {
        ErrorKind::Io(source) if source.raw_os_error() == Some(TOO_MANY_OPEN) => {
            "too many watchers or open files; see fs.inotify.max_user_instances".to_owned()
        }
        ErrorKind::Io(source) => source.to_string(),
        _ => error.to_string(),
    }
}

fn hear(report: notify::Result<Event>, sender: &Sender<Hint>) {
    if let Some(hint) = hint(report) {
        // Without a receiver the watcher is about to stop.
        sender.send(hint).ok();
    }
}

fn hint(report: notify::Result<Event>) -> Option<Hint> {
    let Ok(event) = report else { return Some(Hint::Lost) };
    if event.need_rescan() {
        return Some(Hint::Lost);
    }
    let moved = match event.kind {
        EventKind::Access(_) => return None,
        EventKind::Create(_) | EventKind::Modify(ModifyKind::Data(_) | ModifyKind::Metadata(_)) => {
            false
        }
        EventKind::Any | EventKind::Other | EventKind::Remove(_) | EventKind::Modify(_) => true,
    };
    let lost = event.paths.is_empty();
    Some(if lost { Hint::Lost } else { Hint::Paths { paths: event.paths, moved } })
}

#[cfg(test)]
mod tests {
    use super::*;
    use notify::event::{
        AccessKind, AccessMode, CreateKind, DataChange, Flag, RemoveKind, RenameMode,
    };

    fn check(kind: EventKind, expect: Option<bool>) {
        let path = PathBuf::from("/a");
        let expect = expect.map(|moved| Hint::Paths { paths: vec![path.clone()], moved });
        assert_eq!(hint(Ok(Event::new(kind).add_path(path))), expect);
    }

    #[test]
    fn reading_is_no_hint_and_everything_else_is() {
        check(EventKind::Access(AccessKind::Open(AccessMode::Any)), None);
        check(EventKind::Access(AccessKind::Read), None);
        check(EventKind::Modify(ModifyKind::Data(DataChange::Any)), Some(false));
        check(EventKind::Create(CreateKind::Folder), Some(false));
        check(EventKind::Remove(RemoveKind::Folder), Some(true));
        check(EventKind::Modify(ModifyKind::Name(RenameMode::From)), Some(true));
        check(EventKind::Any, Some(true));
    }

    #[test]
    fn an_overflow_an_error_and_a_report_without_a_path_mean_lost_reports() {
        let overflow = Event::new(EventKind::Other).set_flag(Flag::Rescan);
        assert_eq!(hint(Ok(overflow)), Some(Hint::Lost));
        assert_eq!(hint(Ok(Event::new(EventKind::Any))), Some(Hint::Lost));
        assert_eq!(hint(Err(Error::generic("x"))), Some(Hint::Lost));
    }
}
