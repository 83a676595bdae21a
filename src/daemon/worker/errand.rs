//! What a job does for a flow once the transcript was read: look, seal, print.
//!
//! Refuses: to print what was not written, and to answer with a bottle that is not there.
use std::path::Path;

use super::{Kept, Tools, in_full};
use crate::{
    bottle::Options,
    daemon::{now, observer::Rows},
    deliver::{self, DeliverError, Printed, Wish},
    engine::{
        drain::Coverage,
        event::{Errand, Outcome, Read, Wrote},
        hook::SealReply,
    },
    files::FileError,
    paths::SessionId,
    pointer::Recap,
    session::Session,
    sources::transcripts::born,
    store::{Cause, Seal, Store},
    text::time::Moment,
};

/// What was done of a job when its errand begins.
pub(super) struct Scene<'a> {
    pub(super) id: &'a SessionId,
    pub(super) files: &'a [std::path::PathBuf],
    pub(super) kept: Option<&'a Kept>,
    pub(super) read: &'a Result<Read, String>,
    pub(super) written: Option<&'a Result<Wrote, String>>,
}

impl Tools {
    pub(super) fn errand(&self, errand: Errand, scene: &Scene<'_>) -> Outcome {
        match errand {
            Errand::Nothing => Outcome::Nothing,
            Errand::Look(barrier) => {
                let held = scene.kept.map(|kept| kept.now().0.holds(&barrier));
                Outcome::Looked(held.unwrap_or_default())
            }
            Errand::Cover => Outcome::Covered(coverage(scene)),
            Errand::Linked { parent } => {
                let arrivals = scene.kept.map(|kept| kept.session().proof().arrivals());
                let mut arrivals = arrivals.unwrap_or_default().iter();
                Outcome::Allowed(arrivals.any(|arrival| arrival.session == parent))
            }
            Errand::Seal { cause, held, began } => {
                Outcome::Sealed(self.seal(scene, cause, held, began))
            }
            Errand::Print { .. } | Errand::Due { .. } if self.is_unknown(scene) => Outcome::Unknown,
            Errand::Print { token, until } => {
                let wish = self.wish(scene, &token, until, Cause::Compact);
                printed(self.print(scene, wish))
            }
            Errand::Due { token, until, resumed, always } => {
                let wish = self.wish(scene, &token, until, Cause::Due);
                printed(self.print_due(scene, wish, resumed, always))
            }
        }
    }

    /// Neither transcript nor bottle is there, where this service looks.
    fn is_unknown(&self, scene: &Scene<'_>) -> bool {
        scene.files.is_empty() && !self.paths.bottle(scene.id).exists()
    }

    /// Notes what the transcript shows of the session's prints, where there is something new.
    pub(super) fn note(&self, id: &SessionId, kept: Option<&mut Kept>) {
        let Some(kept) = kept else { return };
        let session = kept.session();
        let (proof, calls) = (session.proof(), session.ledger());
        let settled = calls.calls().len() - calls.running();
        let shown = (proof.boundaries().len(), proof.arrivals().len(), settled);
        if (shown.0, shown.1) == (0, 0) || shown == kept.noted {
            return;
        }
        let note = |store: &Store| deliver::note(store, id, session, Some(now()));
        if let Some(Ok(_)) = self.with_store(|store| store.map(note)) {
            kept.noted = shown;
        }
    }

    /// Does something with the database, which may not be usable.
    fn with_store<T>(&self, work: impl FnOnce(Option<&Store>) -> T) -> T {
        let database = self.database.lock().ok();
        work(database.as_deref().and_then(Option::as_ref).map(|(store, _)| store))
    }

    fn seal(&self, scene: &Scene<'_>, cause: String, held: bool, began: Moment) -> SealReply {
        let last = scene.kept.and_then(|kept| kept.last.as_ref());
        let (Some(Ok(wrote)), Some(last)) = (scene.written, last) else {
            return SealReply::default();
        };
        let (about, at) = (last.about(), now());
        let took = u64::try_from(at.0 - began.0).unwrap_or(0);
        let (gap, mode) = (about.pending as u64, about.mode.as_str().to_owned());
        let seal = Seal { at, cause, gap, mode: mode.clone(), held, took };
        self.with_store(|store| store.map(|store| store.put_seal(scene.id.as_str(), &seal).ok()));
        let bottle = wrote.path.display().to_string();
        SealReply { sealed: true, gap, mode, bottle, held, took }
    }

    fn wish<'a>(&self, scene: &Scene<'a>, token: &'a str, until: Moment, cause: Cause) -> Wish<'a> {
        let session = scene.kept.map(Kept::session);
        Wish {
            id: scene.id,
            token,
            cause,
            boundary: None,
            length: scene.read.as_ref().map_or(0, |read| read.bytes),
            clock: now,
            until: Some(until),
            zone: self.rules.zone(),
            // It is looked for once something is to be printed.
            parent: None,
            is_gone: scene.files.is_empty() || session.is_some_and(says_nothing),
            is_hook: false,
        }
    }

    /// Prints the pointer to the bottle that the job has written.
    fn print(&self, scene: &Scene<'_>, wish: Wish<'_>) -> Result<Option<Printed>, String> {
        scene.read.as_ref().map_err(String::clone)?;
        let printed = match (scene.written, scene.kept) {
            (_, Some(kept)) if self.rules.excludes(kept.folder()) => Ok(None),
            _ if wish.is_gone => self.print_gone(&wish),
            (Some(Ok(_)), Some(kept)) => self.print_kept(kept, wish),
            (Some(Err(why)), _) => return Err(why.clone()),
            // There is nothing to say, or the session is kept out.
            _ => Ok(None),
        };
        printed.map_err(|error| in_full(&error))
    }

    fn print_kept(&self, kept: &Kept, wish: Wish<'_>) -> Result<Option<Printed>, DeliverError> {
        let Some(last) = &kept.last else { return Ok(None) };
        let (session, _) = kept.now();
        let wish = Wish { parent: deliver::parent(&self.paths, wish.id, &session), ..wish };
        let layout = session.layout();
        let recap = Recap::of_session(&layout);
        self.with_store(|store| deliver::print(&self.paths, store, last, &recap, &wish))
    }

    fn print_gone(&self, wish: &Wish<'_>) -> Result<Option<Printed>, DeliverError> {
        self.reconstruct(wish.id)?;
        self.with_store(|store| deliver::print_gone(&self.paths, store, wish))
    }

    /// Makes a bottle of what claude-mem keeps, where there is none.
    fn reconstruct(&self, id: &SessionId) -> Result<(), FileError> {
        if !self.lock.is_ours() {
            return Ok(());
        }
        let options = || {
            let mut rows = Rows::default();
            self.observer.look(id, &mut rows);
            let observed = rows.observed?;
            let is_out = self.rules.excludes(Path::new(&observed.folder));
            let (zone, observed) = (self.rules.zone(), Some(observed));
            (!is_out).then(|| Options { zone, rendered: now(), earlier: None, observed })
        };
        self.with_store(|store| deliver::reconstruct(&self.paths, store, id, options))
    }

    fn print_due(
        &self,
        scene: &Scene<'_>,
        wish: Wish<'_>,
        resumed: bool,
        always: bool,
    ) -> Result<Option<Printed>, String> {
        if resumed && (always || wish.is_gone) {
            return self.print(scene, wish);
        }
        let Some(kept) = scene.kept else { return Ok(None) };
        let born = scene.files.first().and_then(|file| born(file));
        let due =
            |store: &Store| deliver::due(store, scene.id, kept.session(), born, self.installed);
        match self.with_store(|store| store.map(due)) {
            Some(Ok(Some(boundary))) => {
                self.print(scene, Wish { boundary: Some(boundary), ..wish })
            }
            Some(Err(error)) => Err(in_full(&error)),
            Some(Ok(None)) | None => Ok(None),
        }
    }
}

/// What the bottle that was written covers. Where there is none nothing is waited for.
fn coverage(scene: &Scene<'_>) -> Coverage {
    let (Some(Ok(wrote)), Some(kept)) = (scene.written, scene.kept) else {
        return Coverage::default();
    };
    let calls = kept.session().ledger();
    let rows = kept.rows.observed.iter().flat_map(|observed| &observed.observations);
    let sum = rows.clone().fold(0_u64, |sum, row| sum.wrapping_add(row.id.cast_unsigned()));
    Coverage {
        pending: wrote.pending,
        ended: (calls.calls().len() - calls.running()) as u64,
        rows: (rows.count() as u64, sum),
    }
}

/// A transcript without a message is as good as none.
fn says_nothing(session: &Session) -> bool {
    session.message_counts() == (0, 0)
}

fn printed(result: Result<Option<Printed>, String>) -> Outcome {
    match result {
        Ok(printed) => Outcome::Printed(printed.map(Printed::reply)),
        Err(why) => {
            tracing::error!("no pointer was printed: {why}");
            Outcome::Failed(why)
        }
    }
}
