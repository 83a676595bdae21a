//! One session as the engine knows it.
use std::path::Path;

use super::{
    event::{Done, Errand, FileSeen, Job, RequestId, Task, TriggerFile},
    request::{BottleStatus, Facts},
    schedule::Renders,
};
use crate::{paths::SessionId, session::flush::Announced, text::time::Moment};

/// How long after a failure the same is tried again, in milliseconds.
const RETRY: i64 = 5_000;

#[derive(Debug)]
pub(super) struct Tracked<K> {
    files: Vec<FileSeen>,
    /// The transcript was there once.
    was_there: bool,
    kept: Option<K>,
    pub(super) facts: Option<Facts>,
    /// Bytes read.
    pub(super) read: u64,
    /// The newest change that was read.
    pub(super) newest_read: Moment,
    newest: Moment,
    /// The disk has what is not read.
    behind: bool,
    /// The session has what its bottle lacks, since then.
    unwritten: Option<Moment>,
    last_write: Option<(Moment, u64)>,
    pub(super) bottle: Option<BottleStatus>,
    /// It was archived when it had this many messages: nothing is written before there are more.
    archived: Option<u64>,
    asked: Option<Task>,
    /// What failed, and is tried again after a while.
    again: Option<Task>,
    running: Option<Task>,
    triggers: Vec<(TriggerFile, Option<u64>)>,
    pub(super) trouble: Option<String>,
    /// Its rows changed while its job was under way.
    rows_changed: bool,
    not_before: Moment,
    used: Moment,
    /// The prompt that the host told of last.
    pub(super) announced: Option<Announced>,
    /// The host's id of the turn that it belongs to.
    prompt_id: Option<String>,
    /// Bytes before the last words of the turn whose end was seen last.
    pub(super) turn: Option<u64>,
}

impl<K> Default for Tracked<K> {
    fn default() -> Self {
        Self {
            files: Vec::new(),
            was_there: false,
            kept: None,
            facts: None,
            read: 0,
            newest_read: Moment(0),
            newest: Moment(0),
            behind: false,
            unwritten: None,
            last_write: None,
            bottle: None,
            archived: None,
            asked: None,
            again: None,
            running: None,
            triggers: Vec::new(),
            trouble: None,
            rows_changed: false,
            not_before: Moment(0),
            used: Moment(0),
            announced: None,
            prompt_id: None,
            turn: None,
        }
    }
}

impl<K> Tracked<K> {
    pub(super) fn new(archived: Option<u64>) -> Self {
        Self { archived, ..Self::default() }
    }

    pub(super) fn files(&self) -> &[FileSeen] {
        &self.files
    }

    pub(super) fn was_there(&self) -> bool {
        self.was_there
    }

    /// There is a bottle from before: so there was a transcript.
    pub(super) fn found_bottle(&mut self, bottle: BottleStatus) {
        self.was_there = true;
        self.bottle = Some(bottle);
    }

    pub(super) fn has_bottle(&self) -> bool {
        self.bottle.is_some()
    }

    pub(super) fn is_resident(&self) -> bool {
        self.kept.is_some() || self.running.is_some()
    }

    /// Bytes on disk.
    pub(super) fn disk(&self) -> u64 {
        self.files.iter().map(|file| file.length).sum()
    }

    /// The last change on disk.
    pub(super) fn changed(&self) -> Moment {
        self.newest
    }

    pub(super) fn seen(&mut self, seen: FileSeen, to_read: bool, now: Moment) {
        self.was_there = true;
        self.newest = self.newest.max(seen.modified);
        self.used = now;
        if to_read {
            self.behind = true;
            self.not_before = Moment(0);
        } else if seen.unchanged {
            self.read += seen.length;
            self.newest_read = self.newest_read.max(seen.modified);
        }
        match self.files.iter_mut().find(|file| file.path == seen.path) {
            Some(file) => *file = seen,
            None => self.files.push(seen),
        }
    }

    /// The transcript is gone. What of it is in memory only is written once more.
    pub(super) fn gone(&mut self, path: &Path, now: Moment) {
        let before = self.files.len();
        self.files.retain(|file| file.path != path);
        if self.files.len() < before {
            self.used = now;
            self.behind = !self.files.is_empty();
            if !self.behind && self.unwritten.is_none() && self.running.is_none() {
                // That it could not be read matters no more.
                self.trouble = None;
            }
        }
    }

    /// It is earlier than it was: no time that was noted may lie ahead.
    pub(super) fn clock_set_back(&mut self, now: Moment) {
        self.last_write = self.last_write.map(|(at, bytes)| (at.min(now), bytes));
        self.unwritten = self.unwritten.map(|since| since.min(now));
        self.not_before = self.not_before.min(Moment(now.0.saturating_add(RETRY)));
        self.used = self.used.min(now);
    }

    pub(super) fn triggered(&mut self, file: TriggerFile, token: Option<u64>) {
        self.triggers.retain(|(known, _)| known.path != file.path);
        self.triggers.push((file, token));
        if token.is_none() {
            self.ask(Task::Write);
        }
    }

    /// All files were looked at: the triggers that have nothing to look at.
    pub(super) fn resynced(&mut self, token: u64) -> Vec<TriggerFile> {
        let waited = self.triggers.iter().any(|(_, at)| at.is_some_and(|at| at <= token));
        if !waited {
            return Vec::new();
        }
        let answered = |at: &Option<u64>| at.is_none_or(|at| at <= token);
        if self.files.is_empty() {
            let done = self.triggers.extract_if(.., |(_, at)| answered(at));
            return done.map(|(file, _)| file).collect();
        }
        self.triggers.iter_mut().filter(|(_, at)| answered(at)).for_each(|(_, at)| *at = None);
        self.ask(Task::Write);
        Vec::new()
    }

    /// Somebody waits for this. Forgetting outweighs archiving, that writing, that reading.
    pub(super) fn ask(&mut self, task: Task) {
        self.asked = self.asked.max(Some(task));
        self.not_before = Moment(0);
    }

    pub(super) fn is_asked(&self) -> bool {
        self.asked.is_some()
    }

    /// Something is to be done, or under way.
    pub(super) fn is_active(&self) -> bool {
        self.behind
            || self.unwritten.is_some()
            || self.asked.is_some()
            || self.again.is_some()
            || self.running.is_some()
            || !self.triggers.is_empty()
    }

    /// Something on disk is to be read, or is being read.
    pub(super) fn is_behind(&self) -> bool {
        (self.behind || self.running.is_some()) && self.trouble.is_none()
    }

    /// Archived, and nothing was said since.
    fn is_silent(&self) -> bool {
        let messages = self.facts.as_ref().map_or(0, |facts| facts.user + facts.assistant);
        self.archived.is_some_and(|then| messages <= then)
    }

    /// What is to be done now, if anything.
    ///
    /// What is hot is read at once and written when it is its turn. Everything else waits for its
    /// turn with both, so that a backlog is never read into memory ahead of its bottles.
    pub(super) fn wants(&self, renders: &Renders, now: Moment, hot: i64) -> Option<Task> {
        if self.running.is_some() {
            return None;
        }
        if let Some(task) = self.asked {
            return Some(task);
        }
        if self.not_before > now {
            return None;
        }
        if self.again.is_some() {
            return self.again;
        }
        if self.has_trigger() {
            return Some(Task::Write);
        }
        if self.is_silent() {
            return self.behind.then_some(Task::Read);
        }
        let changed = self.unwritten.or(self.behind.then_some(now))?;
        if renders.due(changed, self.last_write) <= now {
            return Some(Task::Write);
        }
        (self.behind && self.is_hot(now, hot)).then_some(Task::Read)
    }

    /// What is to be done before the end: what is in memory only is written, nothing else.
    pub(super) fn wants_at_the_end(&self) -> Option<Task> {
        let unwritten = self.unwritten.is_some() && !self.is_silent() && self.trouble.is_none();
        (self.running.is_none() && unwritten).then_some(Task::Write)
    }

    /// A trigger file waits for its effect.
    fn has_trigger(&self) -> bool {
        self.triggers.iter().any(|(_, token)| token.is_none())
    }

    /// Changed within `hot` milliseconds.
    pub(super) fn is_hot(&self, now: Moment, hot: i64) -> bool {
        !self.files.is_empty() && now.0.saturating_sub(self.newest.0) < hot
    }

    /// When [`Self::wants`] may say something new without an event.
    pub(super) fn due(&self, renders: &Renders) -> Option<Moment> {
        if self.running.is_some() {
            return None;
        }
        if self.has_trigger() || self.again.is_some() {
            return Some(self.not_before);
        }
        let unwritten = self.unwritten.filter(|_| !self.is_silent());
        let changed = unwritten.or(self.behind.then_some(self.newest))?;
        Some(renders.due(changed, self.last_write).max(self.not_before))
    }

    /// What comes first has the greatest: what somebody waits for; then what goes on now, the oldest
    /// change that a bottle lacks first, so that no session is passed over for others for ever;
    /// then the backlog, the newest change first.
    pub(super) fn urgency(&self, now: Moment, hot: i64) -> (bool, bool, i64) {
        let goes_on = self.unwritten.is_some() || self.is_hot(now, hot);
        let since = self.unwritten.unwrap_or(self.newest).0;
        (self.asked.is_some(), goes_on, if goes_on { since.saturating_neg() } else { since })
    }

    /// The host told of a prompt. One that is typed while the agent works carries the id of the turn
    /// that runs (fact), which proves nothing: it is known by its words alone. The same again before
    /// anything was written comes from two hooks, a plugin's and that of the settings: the host
    /// writes the prompt when both have ended.
    pub(super) fn announce(&mut self, mut prompt: Announced) {
        let read = self.read;
        let is_same = |known: &Announced| known.words == prompt.words && known.after == read;
        if self.prompt_id == prompt.id && self.announced.as_ref().is_some_and(is_same) {
            return;
        }
        let turn = self.prompt_id.clone();
        self.prompt_id.clone_from(&prompt.id);
        if prompt.id == turn {
            prompt.id = None;
        }
        prompt.after = self.read;
        self.announced = Some(prompt);
    }

    /// Nothing is under way, so that a job may begin.
    pub(super) fn is_free(&self) -> bool {
        self.running.is_none()
    }

    pub(super) fn start(
        &mut self,
        id: SessionId,
        task: Task,
        errand: Option<(RequestId, Errand)>,
    ) -> Job<K> {
        // What an errand reads or writes is not more than what others ask for.
        self.asked = self.asked.filter(|asked| errand.is_some() && *asked > task);
        self.again = self.again.filter(|again| *again > task);
        self.behind = false;
        self.rows_changed = false;
        self.running = Some(task);
        let files = self.files.iter().map(|file| file.path.clone()).collect();
        Job { id, files, kept: self.kept.take(), task, errand }
    }

    /// What an observation source knows of it has changed: its bottle lacks that.
    pub(super) fn rows_changed(&mut self, now: Moment) {
        if self.running.is_some() {
            self.rows_changed = true;
        } else if self.kept.is_some() {
            self.unwritten.get_or_insert(now);
        } else {
            self.behind |= !self.files.is_empty();
        }
    }

    /// A job is done: the trigger files that have had their effect.
    pub(super) fn done(&mut self, done: Done<K>, now: Moment) -> Vec<TriggerFile> {
        let has_read = done.read.is_ok();
        self.running = None;
        self.kept = done.kept;
        self.trouble = None;
        self.used = now;
        match done.read {
            Ok(read) => {
                self.read = read.bytes;
                self.newest_read = self.newest;
                self.facts = read.facts.or(self.facts.take());
                if read.grown {
                    self.unwritten.get_or_insert(now);
                }
            }
            Err(why) => self.failed(why, now),
        }
        match done.written {
            Some(Ok(wrote)) => {
                self.unwritten = None;
                self.last_write = Some((now, if wrote.changed { wrote.bytes } else { 0 }));
                self.bottle = Some(BottleStatus {
                    path: wrote.path.display().to_string(),
                    checked: now.0,
                    bytes: wrote.bytes,
                    covers: self.read,
                    observations: wrote.served,
                });
                if let Some(facts) = &mut self.facts {
                    facts.pending = wrote.pending;
                }
            }
            Some(Err(why)) if done.task == Task::Archive => {
                // Nothing is written before it is done.
                self.again = Some(Task::Archive);
                self.failed(why, now);
            }
            Some(Err(why)) => {
                self.unwritten.get_or_insert(now);
                self.failed(why, now);
            }
            None if done.task == Task::Archive && self.trouble.is_none() => {
                self.unwritten = None;
                self.bottle = None;
                let messages = self.facts.as_ref().map(|facts| facts.user + facts.assistant);
                self.archived = Some(messages.unwrap_or(0));
            }
            // Excluded, or forgotten: nothing is to be written.
            None if done.task == Task::Write && has_read => self.unwritten = None,
            None => {}
        }
        if std::mem::take(&mut self.rows_changed) {
            self.rows_changed(now);
        }
        if self.kept.is_none() && self.files.is_empty() {
            // Nothing is left to write it from.
            self.unwritten = None;
        }
        if self.files.is_empty() && self.unwritten.is_none() && !has_read {
            // It went while it was read.
            self.trouble = None;
        }
        if self.asked.is_none() && done.task >= Task::Write && self.trouble.is_none() {
            return self.triggers.drain(..).map(|(file, _)| file).collect();
        }
        Vec::new()
    }

    fn failed(&mut self, why: String, now: Moment) {
        self.trouble = Some(why);
        self.behind |= !self.files.is_empty();
        self.not_before = Moment(now.0.saturating_add(RETRY));
    }

    /// Drops from memory what has not changed for long.
    pub(super) fn rest(&mut self, now: Moment, idle: i64) {
        if self.can_be_dropped() && now.0.saturating_sub(self.newest.0.max(self.used.0)) > idle {
            self.drop_kept();
        }
    }

    pub(super) fn can_be_dropped(&self) -> bool {
        self.kept.is_some() && self.unwritten.is_none()
    }

    /// Whether it can be read again, should memory be short.
    pub(super) fn can_be_read_again(&self) -> bool {
        self.kept.is_some() && !self.files.is_empty()
    }

    /// It has words that its bottle lacks.
    pub(super) fn is_unwritten(&self) -> bool {
        self.unwritten.is_some() && !self.is_silent()
    }

    /// The triggers, where the session itself goes.
    pub(super) fn take_triggers(&mut self) -> Vec<TriggerFile> {
        self.triggers.drain(..).map(|(file, _)| file).collect()
    }

    pub(super) fn last_used(&self) -> Moment {
        self.used
    }

    pub(super) fn kept_bytes(&self) -> u64 {
        if self.kept.is_none() { 0 } else { self.facts.as_ref().map_or(0, |facts| facts.kept) }
    }

    /// Drops the session from memory; the bytes that are free then.
    pub(super) fn drop_kept(&mut self) -> u64 {
        let bytes = self.kept_bytes();
        self.kept = None;
        // What its bottle lacks is read again when its turn comes.
        self.behind |= self.unwritten.take().is_some();
        bytes
    }
}
