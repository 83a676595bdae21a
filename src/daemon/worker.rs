//! The workers: they read transcripts, render, and write bottles and the database.
//!
//! A job carries what was kept of its session and brings it back, so that nobody shares anything.
//! A session that grew since its last bottle is rendered and written straight; one that was read
//! anew has its old bottle read back first (the archive rule).
mod errand;

use std::{
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError, RwLock},
    thread::JoinHandle,
    time::Duration,
};

use crossbeam_channel::{Receiver, Sender};
use errand::Scene;

use super::{
    Lock, Wake, now,
    observer::{Observer, Rows},
};
use crate::{
    bottle::{FORMAT, Options},
    config::{Config, Excluded},
    engine::{
        event::{Done, Event, Job, Read, Task, Wrote},
        request::Facts,
    },
    files::{
        bottles::{self, Last},
        forget::forget,
    },
    observation::rows::Observed,
    paths::{Paths, SessionId},
    session::Session,
    sources::{
        live::Live,
        load::load,
        transcripts::{Target, of_session},
    },
    store::{Generation, KnownFile, Store},
    text::time::Zone,
    transcript::Host,
};

/// Why nothing is forgotten or archived that would come back.
const WITHOUT_DATABASE: &str = "this can't be remembered without the database, which can't be \
                                used; `endless status` tells why";

/// What a worker keeps of a session between jobs.
pub(super) struct Kept {
    reader: Reader,
    last: Option<Last>,
    rows: Rows,
    /// The zone and the rows of the last bottle, where that lacks nothing of the session.
    current: Option<(Zone, Option<Arc<Observed>>)>,
    /// What was noted of its deliveries: boundaries, arrivals and calls.
    noted: (usize, usize, usize),
}

impl Kept {
    fn new(reader: Reader) -> Self {
        Self { reader, last: None, rows: Rows::default(), current: None, noted: (0, 0, 0) }
    }
}

impl std::fmt::Debug for Kept {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Kept").finish_non_exhaustive()
    }
}

/// The counter of bottles written since Endless was installed.
const WRITTEN: &str = "bottles written";

/// How a session is read.
enum Reader {
    /// One file, as it grows.
    Live(Box<Live>),
    /// Several files: read whole when one of them changes.
    Whole(Box<Session>),
}

/// The owner's database, shared by the workers.
pub(super) type Database = Arc<Mutex<Option<(Store, Generation)>>>;

/// What every worker needs.
#[derive(Clone)]
pub(super) struct Tools {
    pub(super) paths: Paths,
    pub(super) rules: Rules,
    pub(super) observer: Observer,
    pub(super) lock: Arc<Lock>,
    pub(super) database: Database,
    /// When Endless was installed.
    pub(super) installed: crate::text::time::Moment,
}

/// What the configuration says of bottles; it may be read again at any time.
#[derive(Clone)]
pub(super) struct Rules(Arc<RwLock<Rule>>);

#[derive(Clone)]
struct Rule {
    zone: Zone,
    excluded: Excluded,
    /// The folders of hosts, as they are watched.
    roots: Vec<PathBuf>,
}

impl Rules {
    pub(super) fn new(config: &Config) -> Self {
        Self(Arc::new(RwLock::new(Rule::new(config))))
    }

    pub(super) fn set(&self, config: &Config) {
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = Rule::new(config);
    }

    fn now(&self) -> Rule {
        self.0.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn zone(&self) -> Zone {
        self.now().zone
    }

    fn excludes(&self, folder: &Path) -> bool {
        self.now().excluded.is_excluded(folder)
    }
}

impl Rule {
    fn new(config: &Config) -> Self {
        let zone = config.zone.clone();
        Self { zone, excluded: config.excluded(), roots: config.candidates.clone() }
    }
}

/// A worker's thread; it ends when the channel of jobs is closed.
pub(super) struct Worker(Option<JoinHandle<()>>);

impl Worker {
    pub(super) fn start(
        number: usize,
        jobs: Receiver<Job<Kept>>,
        wakes: Sender<Wake>,
        tools: Tools,
    ) -> std::io::Result<Self> {
        let name = format!("worker-{number}");
        let work = move || {
            for job in jobs {
                let done = tools.work(job, &wakes);
                if wakes.send(Wake::Event(Event::Done(Box::new(done)))).is_err() {
                    return;
                }
            }
        };
        Ok(Self(Some(std::thread::Builder::new().name(name).spawn(work)?)))
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        if let Some(thread) = self.0.take() {
            // A panic was reported by the thread itself.
            thread.join().ok();
        }
    }
}

impl Tools {
    fn work(&self, job: Job<Kept>, wakes: &Sender<Wake>) -> Done<Kept> {
        let (id, task, mut files, errand) = (job.id, job.task, job.files, job.errand);
        if task == Task::Forget {
            return self.forget(id);
        }
        if files.is_empty() && (errand.is_some() || task == Task::Archive) {
            // An event may be quicker than the watcher, or than the first look at all files.
            files = of_session(&self.rules.now().roots, &id);
        }
        let mut kept = job.kept;
        let before: Vec<KnownFile> =
            files.iter().filter_map(|file| known_file(&id, file)).collect();
        let read = self.read(&id, &files, &mut kept);
        let written = match (task, &read, &mut kept) {
            // An event of a session that was cleared does not bring its bottle back.
            (Task::Write, Ok(read), _) if errand.is_some() && self.is_archived(&id, read) => None,
            (Task::Write, Ok(read), Some(kept)) => self.write(&id, kept, read, &before, wakes),
            (Task::Archive, Ok(_), kept) => self.archive(&id, kept.as_ref()).err().map(Err),
            _ => None,
        };
        self.note(&id, kept.as_mut());
        let errand = errand.map(|(flow, errand)| {
            let (kept, written) = (kept.as_ref(), written.as_ref());
            let scene = Scene { id: &id, files: &files, kept, read: &read, written };
            (flow, self.errand(errand, &scene))
        });
        Done { id, kept, task, read, written, errand }
    }

    /// Reads a session to its end.
    fn read(
        &self,
        id: &SessionId,
        files: &[PathBuf],
        kept: &mut Option<Kept>,
    ) -> Result<Read, String> {
        let (length, waiting, grown) = match files {
            [] => (0, 0, false),
            [file] => self.read_one(id, file, kept)?,
            several => self.read_whole(id, several, kept)?,
        };
        let Some(kept) = kept else { return Ok(Read::default()) };
        let mut facts = Facts { torn: waiting, ..facts(kept.session()) };
        facts.kept += kept.rows.bytes;
        let grown = grown && !self.rules.excludes(kept.folder());
        Ok(Read { bytes: length, grown, facts: Some(facts) })
    }

    fn read_one(
        &self,
        id: &SessionId,
        file: &Path,
        kept: &mut Option<Kept>,
    ) -> Result<(u64, u64, bool), String> {
        let is_same =
            |kept: &Kept| matches!(&kept.reader, Reader::Live(live) if live.path() == file);
        if !kept.as_ref().is_some_and(is_same) {
            let session = Session::new(id.as_str(), Host::ClaudeCode);
            let reader = Reader::Live(Box::new(Live::new(file, session, 0)));
            *kept = Some(Kept::new(reader));
        }
        let Some(Kept { reader: Reader::Live(live), last, current, .. }) = kept else {
            return Ok((0, 0, false));
        };
        let reading = live.read().map_err(|error| in_full(&error))?;
        if reading.reset {
            *last = None;
        }
        let whole_last_line = reading.waiting > 0 && live.now().1 == 0;
        let grown = reading.grown || whole_last_line || last.is_none();
        if grown {
            *current = None;
        }
        Ok((reading.length, if whole_last_line { 0 } else { reading.waiting }, grown))
    }

    fn read_whole(
        &self,
        id: &SessionId,
        files: &[PathBuf],
        kept: &mut Option<Kept>,
    ) -> Result<(u64, u64, bool), String> {
        let target = Target { id: Some(id.clone()), files: files.to_owned() };
        let loaded = load(&target, Host::ClaudeCode).map_err(|error| in_full(&error))?;
        let reader = Reader::Whole(Box::new(loaded.session));
        *kept = Some(Kept::new(reader));
        Ok((loaded.bytes, loaded.torn, true))
    }

    /// Writes the bottle. None where the session is excluded, forgotten, or says nothing yet.
    fn write(
        &self,
        id: &SessionId,
        kept: &mut Kept,
        read: &Read,
        before: &[KnownFile],
        wakes: &Sender<Wake>,
    ) -> Option<Result<Wrote, String>> {
        if self.rules.excludes(kept.folder()) {
            return None;
        }
        let says_nothing =
            read.facts.as_ref().is_some_and(|facts| facts.user + facts.assistant == 0);
        // A bottle that is there has more.
        if self.is_forgotten(id) || says_nothing {
            return None;
        }
        if !self.lock.is_ours() {
            return Some(Err("the state folder is not ours any more".to_owned()));
        }
        let began = processor_time();
        let mut written = self.render(id, kept);
        if written.is_ok()
            && let Some(stored) = self.remember(id, kept, read, before)
        {
            wakes.send(Wake::Event(Event::Stored(stored))).ok();
        }
        if let Ok(wrote) = &mut written {
            let took = processor_time().saturating_sub(began);
            wrote.took = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
        }
        Some(written)
    }

    /// A command that found the service busy may have forgotten the session by itself.
    fn is_forgotten(&self, id: &SessionId) -> bool {
        let Ok(database) = self.database.lock() else { return false };
        database.as_ref().is_some_and(|(store, _)| store.is_forgotten(id.as_str()).unwrap_or(false))
    }

    /// Whether a session is in the archive, and nothing was said since.
    fn is_archived(&self, id: &SessionId, read: &Read) -> bool {
        let messages = read.facts.as_ref().map_or(0, |facts| facts.user + facts.assistant);
        let Ok(database) = self.database.lock() else { return false };
        let archived = database.as_ref().and_then(|(store, _)| store.archived(id.as_str()).ok());
        let is_silent = archived.flatten().is_some_and(|archived| messages <= archived.entries);
        is_silent && !self.paths.bottle(id).exists()
    }

    /// Renders and writes; what it cost is not told yet.
    fn render(&self, id: &SessionId, kept: &mut Kept) -> Result<Wrote, String> {
        self.observer.look(id, &mut kept.rows);
        if let Some(bytes) = self.is_current(id, kept) {
            return Ok(kept.wrote(self.paths.bottle(id), bytes, false, 0));
        }
        let (zone, observed) = (self.rules.zone(), kept.rows.observed.clone());
        let options = Options {
            zone: zone.clone(),
            rendered: now(),
            earlier: None,
            observed: observed.clone(),
        };
        let path = self.paths.bottle(id);
        if std::fs::symlink_metadata(&path).is_err() {
            // Somebody removed it.
            kept.last = None;
        }
        let (session, _) = kept.now();
        let result = match &kept.last {
            Some(last) => bottles::keep_growing(&self.paths, id, &session, options, last),
            None => bottles::keep(&self.paths, id, &session, options).map(Some),
        };
        let result = result.map_err(|error| in_full(&error))?;
        drop(session);
        kept.current = Some((zone, observed));
        let Some(new) = result else {
            let bytes = std::fs::metadata(&path).map_or(0, |data| data.len());
            return Ok(kept.wrote(path, bytes, false, 0));
        };
        let (last, bytes) = (new.last(), new.bottle.text.len() as u64);
        let changed = new.written != bottles::Written::Unchanged;
        kept.last = Some(last);
        Ok(kept.wrote(path, bytes, changed, 0))
    }

    /// Bytes of the bottle, where it is the file that was written last and lacks nothing.
    fn is_current(&self, id: &SessionId, kept: &Kept) -> Option<u64> {
        let last = kept.last.as_ref()?;
        last.is_in_place(&self.paths, id).then_some(())?;
        let data = std::fs::metadata(self.paths.bottle(id)).ok()?;
        let (zone, rows) = kept.current.as_ref()?;
        let same_rows =
            rows.as_ref().map(Arc::as_ptr) == kept.rows.observed.as_ref().map(Arc::as_ptr);
        (*zone == self.rules.zone() && same_rows).then_some(data.len())
    }

    /// Notes that the bottle covers its transcript as it was `before` it was read. One that changed
    /// since, or while it was read, is not noted: nobody would look at it after a restart.
    fn remember(
        &self,
        id: &SessionId,
        kept: &Kept,
        read: &Read,
        before: &[KnownFile],
    ) -> Option<Result<(), String>> {
        let (Reader::Live(_), [known]) = (&kept.reader, before) else { return None };
        let is_same = known.length == read.bytes
            && known_file(id, &known.path).is_some_and(|now| now == *known);
        if !is_same {
            return None;
        }
        let mut database = self.database.lock().unwrap_or_else(PoisonError::into_inner);
        let (store, generation) = database.as_mut()?;
        let messages = read.facts.as_ref().map_or(0, |facts| facts.user + facts.assistant);
        let stored = store
            .put_known_files(*generation, FORMAT, std::slice::from_ref(known))
            .and_then(|()| store.count(*generation, &[(WRITTEN, 1)]))
            .and_then(|()| store.revive(id.as_str(), messages));
        Some(stored.map(drop).map_err(|error| in_full(&error)))
    }

    fn archive(&self, id: &SessionId, kept: Option<&Kept>) -> Result<(), String> {
        if !self.lock.is_ours() {
            return Err("the state folder is not ours any more".to_owned());
        }
        // Where the transcript is gone, the bottle tells how much was said.
        let messages = match kept {
            Some(kept) => {
                let (user, assistant) = kept.session().message_counts();
                user + assistant
            }
            None => bottles::messages(&self.paths, id).map_err(|error| in_full(&error))?,
        };
        let mut database = self.database.lock().map_err(|_| "a worker panicked".to_owned())?;
        let (store, _) = database.as_mut().ok_or(WITHOUT_DATABASE)?;
        // First the record: without it the bottle would be made again.
        store.archive(id.as_str(), now(), messages).map_err(|error| in_full(&error))?;
        bottles::archive_now(&self.paths, id, now()).map_err(|error| in_full(&error))
    }

    fn forget(&self, id: SessionId) -> Done<Kept> {
        let result = (|| {
            let mut database = self.database.lock().map_err(|_| "a worker panicked".to_owned())?;
            let (store, generation) = database.as_mut().ok_or(WITHOUT_DATABASE)?;
            store.forget(id.as_str(), now()).map_err(|error| in_full(&error))?;
            store.forget_deliveries(id.as_str()).map_err(|error| in_full(&error))?;
            let removed = store.remove_known_files_of(*generation, id.as_str());
            removed.map_err(|error| in_full(&error))?;
            forget(&self.paths, &id).map_err(|error| in_full(&error))
        })();
        let read = result.map(|_| Read::default());
        Done { id, kept: None, task: Task::Forget, read, written: None, errand: None }
    }
}

impl Kept {
    /// What is told of the bottle that was written last.
    fn wrote(&self, path: PathBuf, bytes: u64, changed: bool, took: u64) -> Wrote {
        let pending = self.last.as_ref().map_or(0, |last| last.about().pending as u64);
        Wrote { path, bytes, changed, took, pending, served: self.rows.served.clone() }
    }

    fn folder(&self) -> &Path {
        Path::new(&self.session().folder)
    }

    fn session(&self) -> &Session {
        match &self.reader {
            Reader::Live(live) => live.session(),
            Reader::Whole(session) => session,
        }
    }

    /// The session with a whole last line that has no newline yet.
    fn now(&self) -> (std::borrow::Cow<'_, Session>, u64) {
        match &self.reader {
            Reader::Live(live) => live.now(),
            Reader::Whole(session) => (std::borrow::Cow::Borrowed(session), 0),
        }
    }
}

fn known_file(id: &SessionId, path: &Path) -> Option<KnownFile> {
    let data = std::fs::symlink_metadata(path).ok()?;
    Some(KnownFile {
        path: path.to_owned(),
        device: data.dev(),
        inode: data.ino(),
        prefix_length: 0,
        prefix_hash: 0,
        length: data.len(),
        modified: data.mtime().saturating_mul(1_000_000_000).saturating_add(data.mtime_nsec()),
        offset: data.len(),
        session: id.to_string(),
    })
}

fn facts(session: &Session) -> Facts {
    let (user, assistant) = session.message_counts();
    Facts {
        project: session.folder.clone(),
        host: format!("{} {}", session.host.name(), session.version).trim_end().to_owned(),
        legs: session.legs(),
        model: session.model.clone(),
        context: session.context,
        user,
        assistant,
        calls: session.ledger().calls().len() as u64,
        pending: session.ledger().running() as u64,
        unreadable: session.counts.unreadable + session.counts.too_long,
        torn: 0,
        kept: session.kept_bytes(),
    }
}

/// Processor time that this thread has used so far: what the disk or other programs hold up costs
/// nobody anything.
fn processor_time() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Duration::try_from(time).unwrap_or_default()
}

/// An error with its causes, in one line.
fn in_full(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text += &format!(": {error}");
        cause = error.source();
    }
    text
}
