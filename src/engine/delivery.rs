//! Which pointers belong to which compaction, and whether one is due. Pure.
//!
//! Losing a pointer is worse than printing a second one, and nothing is known for certain until the
//! transcript shows it. So SessionStart(compact) always prints; this module decides about the
//! second chance.
//!
//! - A print is **bound** to the boundary that it was made for: the newest print between two
//!   boundaries to the later one.
//! - It has **arrived** when the transcript holds its marker where the model is given hooks' words.
//! - A pointer is **due** when the newest boundary has none, or one that is proven missed. The
//!   second print for a boundary is the last.
//!
//! Refuses: boundaries from before Endless was installed, and those copied from a parent's file.

use crate::{
    session::proof::{Boundary, Proof},
    text::time::Moment,
};

/// A print, as `endless.db` has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Print {
    /// Its number within the session, from 1.
    pub n: u32,
    /// When.
    pub at: Moment,
    /// Bytes of the transcript then.
    pub length: u64,
    /// The boundary that it is for, once that was seen.
    pub boundary: Option<String>,
}

/// What a session's transcript says, and where it comes from.
#[derive(Debug, Clone, Copy)]
pub struct Evidence<'a> {
    /// The session.
    pub session: &'a str,
    /// What its transcript says.
    pub proof: &'a Proof,
    /// When the transcript was made, where the file system tells: what is older was copied.
    pub born: Option<Moment>,
    /// When Endless was installed.
    pub installed: Moment,
}

/// Rows are written up to this long before the file that holds them seems made, in milliseconds:
/// two clocks of one machine.
const SLACK: i64 = 2_000;

/// The prints that can be bound now: their numbers, and the boundaries that they are for.
pub fn bind(prints: &[Print], boundaries: &[Boundary]) -> Vec<(u32, String)> {
    let mut bound = Vec::new();
    let mut after = None;
    for boundary in boundaries {
        let end = boundary.place.offset;
        let name = boundary.name();
        let between =
            |print: &&Print| after.is_none_or(|after| print.length > after) && print.length <= end;
        // A second print for a boundary is made behind it.
        let is_first =
            |print: &Print| print.boundary.as_ref() == Some(&name) && print.length <= end;
        let has_one = prints.iter().any(is_first);
        let free = prints.iter().filter(|print| print.boundary.is_none()).filter(between);
        if let Some(newest) = free.max_by_key(|print| print.n).filter(|_| !has_one) {
            bound.push((newest.n, name));
        }
        after = Some(end);
    }
    bound
}

/// The boundary for which a pointer is due, if one is.
pub fn due<'a>(prints: &[Print], evidence: Evidence<'a>) -> Option<&'a Boundary> {
    let newest = evidence.proof.boundaries().last()?;
    if !evidence.is_own(newest) {
        return None;
    }
    let name = newest.name();
    let known = bind(prints, evidence.proof.boundaries());
    let is_for = |print: &&Print| match &print.boundary {
        Some(boundary) => *boundary == name,
        None => known.iter().any(|(n, boundary)| *n == print.n && *boundary == name),
    };
    let mut own = prints.iter().filter(is_for);
    let is_due = match (own.next(), own.next()) {
        (None, _) => !evidence.anything_arrived(newest, prints),
        (Some(print), None) => evidence.is_missed(newest, print),
        (Some(_), Some(_)) => false,
    };
    is_due.then_some(newest)
}

impl Evidence<'_> {
    /// It happened here, and after Endless was installed.
    fn is_own(&self, boundary: &Boundary) -> bool {
        let Some(time) = boundary.time else { return false };
        let is_copied =
            boundary.copied || self.born.is_some_and(|born| time.0.saturating_add(SLACK) < born.0);
        time > self.installed && !is_copied
    }

    /// A pointer that `endless.db` knows nothing of stands behind the boundary: a hook that could
    /// not write printed it.
    fn anything_arrived(&self, boundary: &Boundary, prints: &[Print]) -> bool {
        let unknown = |n: u32| prints.iter().all(|print| print.n != n);
        self.arrivals().any(|(n, offset)| offset > boundary.place.offset && unknown(n))
    }

    /// The agent went on behind the boundary and behind the print, and neither this pointer is there,
    /// nor any other behind the boundary: one may have been printed without a record.
    fn is_missed(&self, boundary: &Boundary, print: &Print) -> bool {
        let went_on = self
            .proof
            .newest_answer()
            .is_some_and(|answer| answer > boundary.place.offset && answer >= print.length);
        let is_other = |(n, at): (u32, u64)| n != print.n && at <= boundary.place.offset;
        went_on && self.arrivals().all(is_other)
    }

    fn arrivals(&self) -> impl Iterator<Item = (u32, u64)> {
        let own = self.proof.arrivals().iter().filter(|arrival| arrival.session == self.session);
        own.map(|arrival| (arrival.n, arrival.offset))
    }
}

#[cfg(test)]
mod tests;
