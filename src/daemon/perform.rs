//! Does what the engine wants done.
use super::{Ended, Service, worker::Kept};
use crate::engine::{
    event::Effect,
    request::{Process, Reply},
};

impl Service {
    pub(super) fn perform(&mut self, effect: Effect<Kept>) {
        match effect {
            Effect::Work(job) => {
                // The workers live as long as the service.
                self.jobs.send(*job).ok();
            }
            Effect::Reply(id, reply) => self.edge.reply(id, self.with_process(reply)),
            Effect::RemoveTrigger(file) => super::watch::remove(&file),
            Effect::Observe(sessions) => self.poll.hot(sessions),
            Effect::Resync(token) => self.watcher.resync(token),
            Effect::Exit => {
                let reason = self.reason.take().unwrap_or(Ended::Stopped);
                self.ended.get_or_insert(reason);
            }
        }
    }

    /// Adds what only the shell knows.
    fn with_process(&self, reply: Reply) -> Reply {
        match reply {
            Reply::Status(mut status) => {
                let now = super::now().0;
                status.process = Process { now, memory: memory(), ..self.process.clone() };
                Reply::Status(status)
            }
            other => other,
        }
    }
}

/// Resident memory in bytes, where the system tells.
fn memory() -> u64 {
    let pages = std::fs::read_to_string("/proc/self/statm").ok();
    let resident = pages.as_deref().and_then(|text| text.split(' ').nth(1)?.parse::<u64>().ok());
    resident.unwrap_or(0) * rustix::param::page_size() as u64
}
