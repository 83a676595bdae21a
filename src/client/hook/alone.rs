//! A hook without a service: reads, renders, claims and prints by itself.
//!
//! Only what must not be lost is done here: the pointer after a compaction, one that is due, and the
//! archive that `/clear` asks for. Invariant: a transcript in which nothing was compacted is not
//! parsed at a prompt, nor where the session is resumed. Refuses: sessions that are kept out or forgotten.
use std::{
    io::Read,
    path::{Path, PathBuf},
    sync::{Arc, mpsc},
    thread,
    time::Duration,
};

use endless_watchers::open_regular;

use super::payload::Payload;
use crate::{
    bottle::Options,
    clock::now,
    config::{Config, Observations},
    deliver::{self, Printed, Wish},
    engine::hook::{HookKind, PrintReply},
    files::{self, bottles},
    observation::rows::Observed,
    paths::SessionId,
    pointer::Recap,
    session::Session,
    sources::{
        claude_mem::ClaudeMem,
        load::{Loaded, load},
        transcripts::{Target, born, of_session},
    },
    store::{Cause, Store},
    transcript::Host,
};

/// How long a database may be busy: then the pointer is printed without a record.
const BUSY: Duration = Duration::from_millis(100);
/// Bytes of a read.
const CHUNK: usize = 1 << 20;
/// What the row of a compaction holds, in every version.
const BOUNDARY: &[u8] = b"compact_boundary";

/// What this process has to do.
pub(super) struct Alone {
    config: Config,
    id: SessionId,
    event: HookKind,
    token: String,
}

impl Alone {
    /// Whether an event asks for anything that can't wait for a service.
    pub(super) fn is_for(event: &HookKind) -> bool {
        matches!(
            event,
            HookKind::Compacted {}
                | HookKind::Resumed { .. }
                | HookKind::Prompted { .. }
                | HookKind::Cleared {}
        )
    }

    pub(super) fn new(config: &Config, payload: &Payload, event: HookKind, token: String) -> Self {
        Self { config: config.clone(), id: payload.session.clone(), event, token }
    }

    /// Does it; the pointer to print, if any.
    pub(super) fn run(&self) -> Result<Option<PrintReply>, String> {
        if self.config.may_keep_out {
            // Only a service that understood the file before knows whom.
            return Ok(None);
        }
        let files = of_session(&self.config.roots, &self.id);
        if let HookKind::Cleared {} = self.event {
            return self.clear(files).map(|()| None);
        }
        if self.needs_boundary(&files) && !files.iter().any(|file| has_boundary(file)) {
            return Ok(None);
        }
        files::prepare(&self.config.paths).map_err(in_full)?;
        // A database that can't be used costs the record, not the pointer.
        let store = Store::open_shared(&self.config.paths.database, BUSY);
        let forgotten =
            store.as_ref().is_ok_and(|store| store.is_forgotten(self.id.as_str()).unwrap_or(false));
        if forgotten {
            return Ok(None);
        }
        let printed = if files.is_empty() {
            self.print_gone(store.as_ref().ok())?
        } else {
            self.print(files, store.as_ref().ok())?
        };
        Ok(printed.map(Printed::reply))
    }

    /// Whether a pointer of `other` stands in the session's transcript, copied there by a fork.
    pub(super) fn links_to(self, other: &SessionId, left: Duration) -> bool {
        let (sender, receiver) = mpsc::sync_channel(1);
        let other = other.to_string();
        let look = move || {
            let files = of_session(&self.config.roots, &self.id);
            let linked = self.load(files).is_ok_and(|loaded| {
                let mut arrivals = loaded.session.proof().arrivals().iter();
                arrivals.any(|arrival| arrival.session == other)
            });
            sender.send(linked)
        };
        let started = thread::Builder::new().name("hook".to_owned()).spawn(look).is_ok();
        started && receiver.recv_timeout(left).unwrap_or(false)
    }

    /// Whether nothing can be due where nothing was compacted.
    fn needs_boundary(&self, files: &[PathBuf]) -> bool {
        let is_resumed = matches!(self.event, HookKind::Resumed { always: false });
        self.is_prompt() || (is_resumed && !files.is_empty())
    }

    fn is_prompt(&self) -> bool {
        matches!(self.event, HookKind::Prompted { .. })
    }

    fn load(&self, files: Vec<PathBuf>) -> Result<Loaded, String> {
        let target = Target { id: Some(self.id.clone()), files };
        load(&target, Host::ClaudeCode).map_err(in_full)
    }

    fn print(&self, files: Vec<PathBuf>, store: Option<&Store>) -> Result<Option<Printed>, String> {
        let loaded = self.load(files)?;
        let session = &loaded.session;
        let (user, assistant) = session.message_counts();
        let cleared_at = deliver::cleared_at(&self.config.paths, store, &self.id);
        if self.is_out(session) {
            return Ok(None);
        }
        if user + assistant == 0 && cleared_at == 0 {
            // A transcript without a message is as good as none.
            return self.print_gone(store);
        }
        if user + assistant <= cleared_at {
            return Ok(None);
        }
        let (cause, boundary) = match self.due(&loaded, store)? {
            Due::No => return Ok(None),
            Due::Always => (self.cause(), None),
            Due::For(boundary) => (Cause::Due, Some(boundary)),
        };
        let zone = self.config.zone.clone();
        let observed = self.observed();
        let options = Options { zone, rendered: now(), earlier: None, observed };
        let kept = bottles::keep(&self.config.paths, &self.id, session, options);
        let last = kept.map_err(in_full)?.last();
        let layout = session.layout();
        let parent = deliver::parent(&self.config.paths, &self.id, session);
        let wish = Wish { boundary, length: loaded.bytes, parent, ..self.wish(cause) };
        deliver::print(&self.config.paths, store, &last, &Recap::of_session(&layout), &wish)
            .map_err(in_full)
    }

    /// What claude-mem knows of the session, if that can be told at once.
    fn observed(&self) -> Option<Arc<Observed>> {
        if self.config.observations == Observations::Derived {
            return None;
        }
        let mut source = ClaudeMem::new(self.config.claude_mem.clone(), BUSY);
        source.observed(self.id.as_str()).ok().flatten().map(Arc::new)
    }

    fn print_gone(&self, store: Option<&Store>) -> Result<Option<Printed>, String> {
        if self.is_prompt() {
            return Ok(None);
        }
        self.reconstruct(store)?;
        let wish = Wish { is_gone: true, ..self.wish(self.cause()) };
        deliver::print_gone(&self.config.paths, store, &wish).map_err(in_full)
    }

    /// Makes a bottle of what claude-mem keeps, where there is none.
    fn reconstruct(&self, store: Option<&Store>) -> Result<(), String> {
        let options = || {
            let observed = self.observed()?;
            let is_out = self.config.is_excluded(Path::new(&observed.folder));
            let (zone, observed) = (self.config.zone.clone(), Some(observed));
            (!is_out).then(|| Options { zone, rendered: now(), earlier: None, observed })
        };
        deliver::reconstruct(&self.config.paths, store, &self.id, options).map_err(in_full)
    }

    fn cause(&self) -> Cause {
        if matches!(self.event, HookKind::Compacted {}) { Cause::Compact } else { Cause::Due }
    }

    fn wish(&self, cause: Cause) -> Wish<'_> {
        Wish {
            id: &self.id,
            token: &self.token,
            cause,
            boundary: None,
            length: 0,
            clock: now,
            until: None,
            zone: self.config.zone.clone(),
            parent: None,
            is_gone: false,
            is_hook: true,
        }
    }

    /// Whether a pointer is to be printed. Without a database nobody knows what is due.
    fn due(&self, loaded: &Loaded, store: Option<&Store>) -> Result<Due, String> {
        match (&self.event, store) {
            (HookKind::Compacted {} | HookKind::Resumed { always: true }, _) => Ok(Due::Always),
            (_, None) => Ok(Due::No),
            (_, Some(store)) => {
                let installed = store.installed_at(now()).map_err(in_full)?;
                let born = loaded.files.first().and_then(|file| born(file));
                let due = deliver::due(store, &self.id, &loaded.session, born, installed);
                Ok(due.map_err(in_full)?.map_or(Due::No, Due::For))
            }
        }
    }

    /// Whether sessions of this one's folder are kept out.
    fn is_out(&self, session: &Session) -> bool {
        self.config.is_excluded(Path::new(&session.folder))
    }

    /// First it is noted how much was said, by the transcript where that is there: the bottle may
    /// lack the last words, and would come back with them.
    fn clear(&self, files: Vec<PathBuf>) -> Result<(), String> {
        let paths = &self.config.paths;
        let has_bottle = paths.bottle(&self.id).exists();
        if files.is_empty() && !has_bottle {
            return Ok(());
        }
        let messages = match self.load(files) {
            Ok(loaded) if !has_bottle && self.is_out(&loaded.session) => return Ok(()),
            Ok(loaded) => {
                let (user, assistant) = loaded.session.message_counts();
                user + assistant
            }
            Err(_) => bottles::messages(paths, &self.id).map_err(in_full)?,
        };
        files::prepare(paths).map_err(in_full)?;
        let store = Store::open_shared(&paths.database, BUSY).map_err(in_full)?;
        store.archive(self.id.as_str(), now(), messages).map_err(in_full)?;
        bottles::archive_now(paths, &self.id, now()).map_err(in_full)
    }
}

enum Due {
    No,
    Always,
    For(String),
}

/// Whether a compaction's row may be in a file: one look at its bytes.
fn has_boundary(path: &Path) -> bool {
    let Ok(mut file) = open_regular(path) else { return false };
    let finder = memchr::memmem::Finder::new(BOUNDARY);
    let (mut chunk, mut kept) = (vec![0; CHUNK + BOUNDARY.len()], 0);
    loop {
        let read = match file.read(&mut chunk[kept..]) {
            Ok(0) => return false,
            Ok(read) => kept + read,
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
            Err(_) => return false,
        };
        if finder.find(&chunk[..read]).is_some() {
            return true;
        }
        // What may be its beginning goes on in the next read.
        let rest = read.min(BOUNDARY.len() - 1);
        chunk.copy_within(read - rest..read, 0);
        kept = rest;
    }
}

fn in_full(error: impl std::error::Error + Send + Sync + 'static) -> String {
    format!("{:#}", anyhow::Error::new(error).context("without the service"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_boundary_is_found_wherever_it_stands() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let path = file.path().to_owned();
        for at in [0, 5, CHUNK - 20, CHUNK - 8, CHUNK, CHUNK + 3, 2 * CHUNK + 7] {
            let mut text = vec![b'x'; 3 * CHUNK];
            assert!({
                std::fs::write(&path, &text).unwrap();
                !has_boundary(&path)
            });
            text[at..at + BOUNDARY.len()].copy_from_slice(BOUNDARY);
            std::fs::write(&path, &text).unwrap();
            assert!(has_boundary(&path), "{at}");
        }
        assert!(!has_boundary(Path::new("/dev/zero")));
    }
}
