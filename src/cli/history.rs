//! What `endless.db` tells of a session's seals and prints: for `status` and `log`.
//!
//! Read anew each time, so that it is the same with the service up and down. Refuses: to make the
//! database, or to wait for a busy one for long.

use std::{fs, io, time::Duration};

use serde::Serialize;

use crate::{
    paths::Paths,
    store::{self, Store, StoreError},
    text::time::{Moment, Zone},
};

/// How long a busy database may take.
const PATIENCE: Duration = Duration::from_millis(250);

/// The seals and prints of one session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(super) struct History {
    pub(super) session: String,
    pub(super) seals: Vec<Seal>,
    pub(super) deliveries: Vec<Delivery>,
}

/// A seal; times in milliseconds since the epoch.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(super) struct Seal {
    pub(super) at: i64,
    pub(super) cause: String,
    pub(super) gap: u64,
    pub(super) mode: String,
    /// All that the event told of was in the transcript.
    pub(super) held: bool,
    pub(super) milliseconds: u64,
}

/// A print; times in milliseconds since the epoch.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(super) struct Delivery {
    pub(super) n: u32,
    pub(super) cause: String,
    pub(super) printed: i64,
    pub(super) gap: u64,
    /// The boundary that it is for, once that was seen.
    pub(super) boundary: Option<String>,
    /// The lines that it names; empty where the hook ended before it printed.
    pub(super) ranges: String,
    /// When it was seen in the transcript.
    pub(super) arrived: Option<i64>,
    /// The lines of its copy that were read.
    pub(super) reads: String,
}

/// The database; none where there is none yet.
pub(super) fn open(paths: &Paths) -> Result<Option<Store>, StoreError> {
    let looked = fs::symlink_metadata(&paths.database);
    if looked.is_err_and(|error| error.kind() == io::ErrorKind::NotFound) {
        return Ok(None);
    }
    match Store::open_read_only(&paths.database, PATIENCE) {
        Ok(store) => Ok(Some(store)),
        Err(StoreError::Absent { .. }) => Ok(None),
        Err(error) => Err(error),
    }
}

/// What the database tells of a session.
pub(super) fn of(store: &Store, session: &str) -> Result<History, StoreError> {
    Ok(History {
        session: session.to_owned(),
        seals: store.seals(session)?.into_iter().map(Seal::from).collect(),
        deliveries: store.deliveries(session)?.into_iter().map(Delivery::from).collect(),
    })
}

impl From<store::Seal> for Seal {
    fn from(seal: store::Seal) -> Self {
        Self {
            at: seal.at.0,
            cause: seal.cause,
            gap: seal.gap,
            mode: seal.mode,
            held: seal.held,
            milliseconds: seal.took,
        }
    }
}

impl From<store::Delivery> for Delivery {
    fn from(delivery: store::Delivery) -> Self {
        Self {
            n: delivery.n,
            cause: delivery.cause,
            printed: delivery.printed.0,
            gap: delivery.gap,
            boundary: delivery.boundary,
            ranges: delivery.ranges,
            arrived: delivery.arrived.map(|at| at.0),
            reads: delivery.reads,
        }
    }
}

impl History {
    pub(super) fn is_empty(&self) -> bool {
        self.seals.is_empty() && self.deliveries.is_empty()
    }

    /// What became of the newest compaction: `sealed 14:02:11 (gap 0) → printed 14:02:40 → arrived →
    /// read 1-64`; what did not happen is said.
    pub(super) fn proof(&self, zone: &Zone) -> String {
        let time = |at: i64| zone.second(Moment(at));
        let newest = self.deliveries.last();
        let seal = match newest {
            // The seal that was made for it, where the host announced the compaction.
            Some(print) => self.seals.iter().rev().find(|seal| seal.at <= print.printed),
            None => self.seals.last(),
        };
        let mut steps = Vec::new();
        steps.extend(seal.map(|seal| format!("sealed {} (gap {})", time(seal.at), seal.gap)));
        match newest {
            None => steps.push("nothing printed".to_owned()),
            Some(print) => {
                steps.push(format!("printed {}", time(print.printed)));
                steps.extend(print.fate(&time));
            }
        }
        steps.join(" → ")
    }
}

impl Delivery {
    /// What became of it.
    pub(super) fn fate(&self, time: &impl Fn(i64) -> String) -> Vec<String> {
        let Some(arrived) = self.arrived else {
            return vec!["not seen in the transcript".to_owned()];
        };
        let arrived = format!("arrived {}", time(arrived));
        let read = if self.reads.is_empty() {
            "not read".to_owned()
        } else {
            format!("read {}", self.reads)
        };
        vec![arrived, read]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seal(at: i64) -> Seal {
        let (cause, mode) = ("auto".to_owned(), "full (transcript only)".to_owned());
        Seal { at, cause, gap: 2, mode, held: true, milliseconds: 9 }
    }

    fn print(printed: i64, arrived: Option<i64>, reads: &str) -> Delivery {
        Delivery {
            n: 1,
            cause: "compact".to_owned(),
            printed,
            gap: 0,
            boundary: None,
            ranges: "1-64".to_owned(),
            arrived,
            reads: reads.to_owned(),
        }
    }

    #[test]
    fn the_proof_says_what_happened_and_what_did_not() {
        for (seals, deliveries, expected) in [
            (vec![seal(1_000)], vec![], "sealed 00:00:01 (gap 2) → nothing printed"),
            (vec![], vec![print(2_000, None, "")], "printed 00:00:02 → not seen in the transcript"),
            (
                vec![seal(1_000), seal(9_000)],
                vec![print(2_000, Some(3_000), "")],
                "sealed 00:00:01 (gap 2) → printed 00:00:02 → arrived 00:00:03 → not read",
            ),
            (
                vec![seal(1_000)],
                vec![print(2_000, Some(3_000), "1-64, 70-90")],
                "sealed 00:00:01 (gap 2) → printed 00:00:02 → arrived 00:00:03 → read 1-64, 70-90",
            ),
        ] {
            let history = History { session: "s".to_owned(), seals, deliveries };
            assert_eq!(history.proof(&Zone::utc()), expected);
        }
    }
}
