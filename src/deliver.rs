//! One print of a pointer: the right to it, the copy that it names, and its text.
//!
//! Service and hooks share this. Whoever prints has just written the bottle; the copy is a second
//! name of that file, so that what the pointer says of lines stays true while the bottle goes on.
//!
//! Invariant: a pointer is given only once its copy is there, and of two that would print for one
//! event one is given it. Refuses: to decide whether a pointer is due.
use std::{path::PathBuf, time::SystemTime};

use crate::{
    bottle::{Options, read_back},
    engine::{
        delivery::{self, Evidence, Print},
        hook::PrintReply,
    },
    files::{
        FileError,
        bottles::{self, Copied, Last},
        copies,
    },
    paths::{Paths, SessionId},
    pointer::{Parent, Place, Pointer, Recap, pointer},
    session::{Session, ledger::ToolCall, proof::Boundary},
    store::{Cause, Claim, Delivery, Store, StoreError},
    text::time::{Moment, Zone},
    transcript::{
        Host,
        tool::{Status, ToolKind},
    },
};

/// How often a copy is tried whose bottle or number others take.
const TRIES: usize = 20;

/// What is to be printed, and for whom.
#[derive(Debug)]
pub struct Wish<'a> {
    /// The session.
    pub id: &'a SessionId,
    /// The hook's own random number.
    pub token: &'a str,
    /// Why.
    pub cause: Cause,
    /// The boundary that it is for, where its row is there already.
    pub boundary: Option<String>,
    /// Bytes of the transcript.
    pub length: u64,
    /// The clock.
    pub clock: fn() -> Moment,
    /// Nobody waits for it any more then: what is claimed later would count as printed.
    pub until: Option<Moment>,
    /// The zone that times are shown in.
    pub zone: Zone,
    /// The bottle of the session that this one was forked from; see [`parent`].
    pub parent: Option<Parent>,
    /// The transcript is gone.
    pub is_gone: bool,
    /// The hook itself does this, perhaps after the service has begun to: a copy that the service
    /// made for it is replaced.
    pub is_hook: bool,
}

impl Wish<'_> {
    fn is_late(&self) -> bool {
        self.until.is_some_and(|until| (self.clock)() > until)
    }
}

/// A pointer that may be printed.
#[derive(Debug)]
pub struct Printed {
    /// Its number.
    pub n: u32,
    /// The copy that it names.
    pub copy: PathBuf,
    /// The pointer.
    pub pointer: Pointer,
}

impl Printed {
    /// What a hook is told to print.
    pub fn reply(self) -> PrintReply {
        PrintReply { text: self.pointer.text, path: self.copy.display().to_string() }
    }
}

/// Why nothing is printed that was to be.
#[derive(Debug, thiserror::Error)]
pub enum DeliverError {
    /// The copy can't be made.
    #[error(transparent)]
    File(#[from] FileError),
    /// The path of the copy can't be given to a model.
    #[error("the path {0} is not UTF-8; set ENDLESS_HOME to one that is")]
    Path(PathBuf),
    /// Nobody waits for it any more.
    #[error("it took too long to render the session")]
    Late,
    /// Others replace the bottle all the time.
    #[error("the bottle was replaced while its copy was made")]
    Replaced,
}

/// Prints a pointer to the bottle that was just written; none where another hook has the right to.
///
/// Without a database, or where it can't be written to, the pointer is printed without a record:
/// losing one is worse than printing a second.
///
/// # Errors
/// Where the copy can't be made; nothing may be printed then.
pub fn print(
    paths: &Paths,
    store: Option<&Store>,
    last: &Last,
    recap: &Recap<'_>,
    wish: &Wish<'_>,
) -> Result<Option<Printed>, DeliverError> {
    if wish.is_late() {
        return Err(DeliverError::Late);
    }
    let Some((n, recorded)) = claim(paths, store, last, wish) else { return Ok(None) };
    if !recorded && wish.is_late() {
        // The hook prints without a record as well, and needs no second copy.
        return Err(DeliverError::Late);
    }
    let made = copied(paths, n, recorded, last, wish).inspect_err(|_| {
        if recorded && let Some(store) = store {
            // Nothing was printed: the next prompt is not to wait for the proof of it.
            store.unclaim(wish.id.as_str(), wish.token).ok();
        }
    })?;
    let Some((n, last)) = made else { return Ok(None) };
    let copy = paths.copy(wish.id, n);
    let path = copy.to_str().ok_or_else(|| DeliverError::Path(copy.clone()))?;
    let bottle = Place::of(last.about(), wish.id.as_str(), path, &wish.zone);
    let place = Place { n, gone: wish.is_gone, parent: wish.parent.as_ref(), ..bottle };
    let pointer = pointer(&place, recap);
    if recorded && let Some(store) = store {
        // The print stands without its ranges as well.
        store.printed(wish.id.as_str(), n, &ranges(&pointer.ranges)).ok();
    }
    copies::prune(paths, wish.id, SystemTime::now());
    Ok(Some(Printed { n, copy, pointer }))
}

/// Makes the copy: its number, and the bottle that it is of. None where another prints.
///
/// Whoever replaced the bottle meanwhile has rendered it from the same transcript, later: theirs is
/// copied. A hook that has the print's record replaces the copy that the service made for it; one
/// without a record leaves all copies as they are, since they may be others'.
fn copied(
    paths: &Paths,
    mut n: u32,
    recorded: bool,
    last: &Last,
    wish: &Wish<'_>,
) -> Result<Option<(u32, Last)>, DeliverError> {
    let mut last = last.clone();
    for _ in 0..TRIES {
        match bottles::copy(paths, wish.id, n, &last, wish.is_hook && recorded)? {
            Copied::Made => return Ok(Some((n, last))),
            Copied::Taken if wish.is_hook && !recorded => n = n.saturating_add(1),
            Copied::Taken => return Ok(None),
            Copied::Replaced => match Last::of_file(paths, wish.id)? {
                Some((newer, _)) => last = newer,
                None => return Err(DeliverError::Replaced),
            },
        }
    }
    Err(DeliverError::Replaced)
}

/// Prints a pointer to a bottle whose transcript is gone; none where there is no bottle.
///
/// # Errors
/// As [`print()`].
pub fn print_gone(
    paths: &Paths,
    store: Option<&Store>,
    wish: &Wish<'_>,
) -> Result<Option<Printed>, DeliverError> {
    let Some((last, text)) = Last::of_file(paths, wish.id)? else { return Ok(None) };
    let items = read_back(&text).unwrap_or_default();
    print(paths, store, &last, &Recap::of_bottle(&items), wish)
}

/// Makes a bottle of what an observation source keeps of a session, where there is none. Not of one
/// that was forgotten or cleared: without a transcript nothing new is said in it.
///
/// # Errors
/// Where it can't be written.
pub fn reconstruct(
    paths: &Paths,
    store: Option<&Store>,
    id: &SessionId,
    options: impl FnOnce() -> Option<Options>,
) -> Result<(), FileError> {
    let is_left_alone = |store: &Store| {
        store.is_forgotten(id.as_str()).unwrap_or(false)
            || store.archived(id.as_str()).is_ok_and(|archived| archived.is_some())
    };
    if paths.bottle(id).exists() || store.is_some_and(is_left_alone) {
        return Ok(());
    }
    let Some(options) = options() else { return Ok(()) };
    bottles::keep_reconstructed(paths, id, Host::ClaudeCode, options).map(drop)
}

/// How many messages a session had when it was cleared; 0 where it was not, or has a bottle again. Only
/// with more than these there are new words.
pub fn cleared_at(paths: &Paths, store: Option<&Store>, id: &SessionId) -> u64 {
    let archived = store.and_then(|store| store.archived(id.as_str()).ok().flatten());
    archived.filter(|_| !paths.bottle(id).exists()).map_or(0, |archived| archived.entries)
}

/// The number of the print, and whether it is recorded; none where another hook prints.
fn claim(
    paths: &Paths,
    store: Option<&Store>,
    last: &Last,
    wish: &Wish<'_>,
) -> Option<(u32, bool)> {
    let taken = copies::highest(paths, wish.id);
    let claim = Claim {
        token: wish.token,
        cause: wish.cause,
        at: (wish.clock)(),
        length: wish.length,
        legs: last.about().legs,
        gap: last.about().pending as u64,
        boundary: wish.boundary.as_deref(),
        taken,
    };
    match store.map(|store| store.claim(wish.id.as_str(), &claim)) {
        Some(Ok(n)) => n.map(|n| (n, true)),
        Some(Err(_)) | None => Some((taken.saturating_add(1), false)),
    }
}

/// The bottle of the session that this one was forked from, where a pointer of that one stands in
/// this transcript: a fork of a compacted session gets the rows behind the last boundary only
/// (fact), and what came before is in the parent's bottle alone.
pub fn parent(paths: &Paths, id: &SessionId, session: &Session) -> Option<Parent> {
    let mut others = session.proof().arrivals().iter().map(|arrival| arrival.session.as_str());
    let other: SessionId = others.find(|other| *other != id.as_str())?.parse().ok()?;
    let (last, _) = Last::of_file(paths, &other).ok()??;
    let path = paths.bottle(&other).to_str()?.to_owned();
    Some(Parent { path, first: last.about().pages.first()?.1 })
}

/// The boundary for which a pointer of this session is due. What can be bound is bound first.
///
/// # Errors
/// Where the database can't be asked.
pub fn due(
    store: &Store,
    id: &SessionId,
    session: &Session,
    born: Option<Moment>,
    installed: Moment,
) -> Result<Option<String>, StoreError> {
    let proof = session.proof();
    if proof.boundaries().is_empty() {
        return Ok(None);
    }
    let prints = note(store, id, session, None)?;
    let evidence = Evidence { session: id.as_str(), proof, born, installed };
    Ok(delivery::due(&prints, evidence).map(Boundary::name))
}

/// Notes what the transcript shows of a session's prints: bound, read and, where the time is given,
/// arrived. The prints as they are then.
pub fn note(
    store: &Store,
    id: &SessionId,
    session: &Session,
    now: Option<Moment>,
) -> Result<Vec<Print>, StoreError> {
    let name = id.as_str();
    let deliveries = store.deliveries(name)?;
    let mut prints: Vec<Print> = deliveries.iter().map(print_of).collect();
    for (n, boundary) in delivery::bind(&prints, session.proof().boundaries()) {
        store.bind(name, n, &boundary)?;
        prints.iter_mut().filter(|print| print.n == n).for_each(|print| {
            print.boundary = Some(boundary.clone());
        });
    }
    let arrived = |n: u32| {
        let arrivals = session.proof().arrivals().iter();
        arrivals.filter(|arrival| arrival.session == name).any(|arrival| arrival.n == n)
    };
    for delivery in &deliveries {
        if let Some(now) = now
            && delivery.arrived.is_none()
            && arrived(delivery.n)
        {
            store.arrived(name, delivery.n, now)?;
        }
        let reads = reads(session, id, delivery.n);
        if reads != delivery.reads {
            store.read_of(name, delivery.n, &reads)?;
        }
    }
    Ok(prints)
}

fn print_of(delivery: &Delivery) -> Print {
    Print {
        n: delivery.n,
        at: delivery.printed,
        length: delivery.length,
        boundary: delivery.boundary.clone(),
    }
}

/// Which lines of a print's copy the agent has read, in order, each range once.
fn reads(session: &Session, id: &SessionId, n: u32) -> String {
    let name = format!("{id}@{n}.md");
    let is_copy = |call: &&ToolCall| {
        call.kind == ToolKind::Read
            && call.status == Status::Completed
            && session.text(call.brief).rsplit('/').next() == Some(name.as_str())
    };
    let calls = session.ledger().calls().iter().filter(is_copy);
    let mut read: Vec<String> = Vec::new();
    for call in calls {
        let range = match call.range {
            None => "all".to_owned(),
            Some((first, 0)) => format!("{first}-"),
            Some((first, last)) => format!("{first}-{last}"),
        };
        if !read.contains(&range) {
            read.push(range);
        }
    }
    read.join(", ")
}

/// `1-64, 610-830`.
fn ranges(ranges: &[(usize, usize)]) -> String {
    let shown: Vec<String> = ranges.iter().map(|(first, last)| format!("{first}-{last}")).collect();
    shown.join(", ")
}

#[cfg(test)]
mod tests;
