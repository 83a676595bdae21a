//! An engine with a worker that does what it is told to.
use crate::{
    engine::{
        Engine, Limits, Settings,
        drain::Coverage,
        event::{
            Done, Effect, Errand, Event, FileSeen, Job, Outcome, Read, RequestId, Task,
            TriggerFile, Wrote,
        },
        hook::{PrintReply, SealReply},
        request::{Facts, Reply},
    },
    paths::SessionId,
    session::flush::Held,
    text::time::Moment,
};

use super::HOUR;

pub(in crate::engine) fn id(name: &str) -> SessionId {
    name.parse().expect("an id")
}

pub(in crate::engine) fn trigger(path: &str) -> TriggerFile {
    TriggerFile { path: path.into(), touched: 1, seal: false }
}

pub(in crate::engine) fn seen(name: &str, length: u64, modified: i64) -> FileSeen {
    FileSeen {
        id: id(name),
        path: format!("/p/{name}.jsonl").into(),
        length,
        modified: Moment(modified),
        unchanged: false,
    }
}

pub(super) fn with_budget(budget: u64) -> Settings {
    let limits = Limits { budget, ..Settings::default().limits };
    Settings { limits, ..Settings::default() }
}

/// An engine with a worker that does everything right.
pub(in crate::engine) struct Bench {
    pub(in crate::engine) engine: Engine<u32>,
    pub(in crate::engine) now: i64,
    pub(in crate::engine) jobs: Vec<Job<u32>>,
    pub(in crate::engine) replies: Vec<(RequestId, Reply)>,
    pub(in crate::engine) other: Vec<String>,
    /// The sessions that are observed, each time that changes.
    pub(in crate::engine) observed: Vec<Vec<SessionId>>,
    /// What the worker finds when it looks whether a barrier holds.
    pub(in crate::engine) held: Held,
    /// What it finds a bottle to cover.
    pub(in crate::engine) coverage: Coverage,
    /// What it was sent on errands for.
    pub(in crate::engine) errands: Vec<Errand>,
}

impl Bench {
    pub(super) fn new(settings: Settings) -> Self {
        Self {
            engine: Engine::new(settings),
            now: 10 * HOUR,
            jobs: Vec::new(),
            replies: Vec::new(),
            other: Vec::new(),
            observed: Vec::new(),
            held: Held { holds: true, turn: None },
            coverage: Coverage::default(),
            errands: Vec::new(),
        }
    }

    pub(in crate::engine) fn listed() -> Self {
        let mut bench = Self::new(Settings::default());
        bench.send(Event::Resynced(0));
        bench
    }

    pub(in crate::engine) fn send(&mut self, event: Event<u32>) {
        for effect in self.engine.handle(event, Moment(self.now)) {
            match effect {
                Effect::Work(job) => self.jobs.push(*job),
                Effect::Reply(id, reply) => self.replies.push((id, reply)),
                Effect::RemoveTrigger(file) => {
                    self.other.push(format!("RemoveTrigger({})", file.path.display()));
                }
                Effect::Observe(sessions) => self.observed.push(sessions),
                other => self.other.push(format!("{other:?}")),
            }
        }
    }

    pub(in crate::engine) fn wait(&mut self, milliseconds: i64) {
        self.now += milliseconds;
        self.send(Event::Tick);
    }

    /// What the jobs given out so far are, and lets them succeed.
    pub(in crate::engine) fn work(&mut self) -> Vec<(String, Task)> {
        let mut done = Vec::new();
        while !self.jobs.is_empty() {
            let job = self.jobs.remove(0);
            done.push((job.id.to_string(), job.task));
            self.finish(job, Ok(()), Ok(()));
        }
        done
    }

    fn outcome(&mut self, errand: Errand) -> Outcome {
        self.errands.push(errand.clone());
        match errand {
            Errand::Nothing => Outcome::Nothing,
            Errand::Look(_) => Outcome::Looked(self.held),
            Errand::Cover => Outcome::Covered(self.coverage),
            Errand::Linked { .. } => Outcome::Allowed(true),
            Errand::Seal { held, .. } => {
                Outcome::Sealed(SealReply { sealed: true, held, ..SealReply::default() })
            }
            Errand::Print { token, .. } | Errand::Due { token, .. } => {
                Outcome::Printed(Some(PrintReply { text: token, path: "/c".to_owned() }))
            }
        }
    }

    pub(super) fn finish(
        &mut self,
        job: Job<u32>,
        read: Result<(), &str>,
        write: Result<(), &str>,
    ) {
        let facts = Facts { user: 1, assistant: 1, kept: 100, ..Facts::default() };
        let writes = job.task == Task::Write && read.is_ok();
        let wrote = Wrote {
            path: "/b".into(),
            bytes: 1_000,
            changed: true,
            took: 1_000,
            ..Wrote::default()
        };
        let errand = job.errand.map(|(flow, errand)| (flow, self.outcome(errand)));
        self.send(Event::Done(Box::new(Done {
            id: job.id,
            kept: Some(job.kept.unwrap_or_default() + 1),
            task: job.task,
            read: read
                .map(|()| Read { bytes: 10, grown: true, facts: Some(facts) })
                .map_err(str::to_owned),
            written: writes.then(|| write.map(|()| wrote).map_err(str::to_owned)),
            errand,
        })));
    }
}
