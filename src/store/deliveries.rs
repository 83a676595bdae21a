//! Prints of pointers and seals: what was handed to which context, and what became of it.
//!
//! Shared tables: the service and hooks write them, each time in one conditional statement, so that
//! of two at once one gets the right to print. Nothing here is cached. Refuses: to decide whether a
//! pointer is due (that is `engine::delivery`'s), and to keep more seals of a session than a person
//! reads.

use rusqlite::{Row, params};

use super::{Store, StoreError};
use crate::text::time::Moment;

/// Two events of one kind this close together are one event that was told twice, in milliseconds.
const TWICE: i64 = 5_000;
/// Seals that are kept of one session.
const SEALS: u32 = 20;

/// What made a hook print.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cause {
    /// The host compacted.
    Compact,
    /// A person's prompt, or a resumed session, found a pointer due.
    Due,
}

impl Cause {
    /// The word for it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Compact => "compact",
            Self::Due => "due",
        }
    }
}

/// The wish to print.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Claim<'a> {
    /// The hook's own random number: the same wish may be claimed for it and by it.
    pub token: &'a str,
    /// Why.
    pub cause: Cause,
    /// When.
    pub at: Moment,
    /// Bytes of the transcript.
    pub length: u64,
    /// Compactions that the transcript shows, and one.
    pub legs: u32,
    /// Tool calls without an observation.
    pub gap: u64,
    /// The boundary that the print is for, where its row is there already.
    pub boundary: Option<&'a str>,
    /// Numbers up to this one are taken: there are copies that carry them.
    pub taken: u32,
}

/// A print.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Delivery {
    /// Its number within the session, from 1.
    pub n: u32,
    /// Why: `compact`, or `due`.
    pub cause: String,
    /// When.
    pub printed: Moment,
    /// Bytes of the transcript then.
    pub length: u64,
    /// Tool calls without an observation then.
    pub gap: u64,
    /// The boundary that it is for, once that was seen.
    pub boundary: Option<String>,
    /// The line ranges that it names, as `1-64, 610-830`; empty where the hook ended before it
    /// printed.
    pub ranges: String,
    /// When it was seen in the transcript.
    pub arrived: Option<Moment>,
    /// The line ranges of the copy that the agent read, in the same form.
    pub reads: String,
}

/// A seal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Seal {
    /// When it was done.
    pub at: Moment,
    /// What asked for it: `auto`, `manual`, `command`, `trigger`.
    pub cause: String,
    /// Tool calls without an observation.
    pub gap: u64,
    /// The bottle's mode.
    pub mode: String,
    /// Whether all that the event told of was in the transcript.
    pub held: bool,
    /// How long it took, in milliseconds.
    pub took: u64,
}

const CLAIM: &str = "
    INSERT INTO deliveries (session, n, token, event, printed_at, length, legs, gap, boundary)
    SELECT ?1, max(?9, coalesce((SELECT max(n) FROM deliveries WHERE session = ?1), 0)) + 1,
        ?2, ?3, ?4, ?5, ?6, ?7, ?8
    WHERE NOT EXISTS (
        SELECT 1 FROM deliveries WHERE session = ?1 AND (token = ?2
            OR event = ?3 AND legs = ?6 AND abs(printed_at - ?4) < ?10))
    AND (?8 IS NULL OR (
        SELECT count(*) FROM deliveries WHERE session = ?1 AND boundary = ?8) < 2)";

const PUT_SEAL: &str = "
    INSERT INTO seals (session, at, cause, gap, mode, held, took)
    VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)";

impl Store {
    /// Takes the right to print a pointer; its number, or none where another has it. A wish that was
    /// granted before is granted again.
    ///
    /// Of one kind of event only one print is granted within five seconds, unless a compaction was
    /// seen between, and never a third for one boundary.
    pub fn claim(&self, session: &str, claim: &Claim<'_>) -> Result<Option<u32>, StoreError> {
        let Claim { token, cause, at, length, legs, gap, boundary, taken } = claim;
        let (length, gap) = (length.cast_signed(), gap.cast_signed());
        let cause = cause.as_str();
        self.change(
            CLAIM,
            params![session, token, cause, at.0, length, legs, gap, boundary, taken, TWICE],
        )?;
        let sql = "SELECT n FROM deliveries WHERE session = ?1 AND token = ?2";
        self.one(sql, [session, token], |row| row.get(0))
    }

    /// Gives the right to print back: nothing was printed. True where that was done here.
    pub fn unclaim(&self, session: &str, token: &str) -> Result<bool, StoreError> {
        let sql = "DELETE FROM deliveries WHERE session = ?1 AND token = ?2 AND ranges = ''";
        self.change(sql, [session, token])
    }

    /// The prints of a session, in order.
    pub fn deliveries(&self, session: &str) -> Result<Vec<Delivery>, StoreError> {
        let sql = "SELECT n, event, printed_at, length, gap, boundary, ranges, arrived_at, reads
                   FROM deliveries WHERE session = ?1 ORDER BY n";
        self.all(sql, [session], delivery)
    }

    /// The sessions that have prints or seals, the newest first.
    pub fn delivered_sessions(&self) -> Result<Vec<String>, StoreError> {
        let sql = "SELECT session FROM (
                       SELECT session, printed_at AS at FROM deliveries
                       UNION ALL SELECT session, at FROM seals)
                   GROUP BY session ORDER BY max(at) DESC, session";
        self.all(sql, [], |row| row.get(0))
    }

    /// Notes which ranges a print names: it is about to be printed.
    pub fn printed(&self, session: &str, n: u32, ranges: &str) -> Result<bool, StoreError> {
        let sql = "UPDATE deliveries SET ranges = ?3 WHERE session = ?1 AND n = ?2";
        self.change(sql, params![session, n, ranges])
    }

    /// Binds a print to the boundary that it is for; true where that was done here.
    pub fn bind(&self, session: &str, n: u32, boundary: &str) -> Result<bool, StoreError> {
        let sql = "UPDATE deliveries SET boundary = ?3
                   WHERE session = ?1 AND n = ?2 AND boundary IS NULL";
        self.change(sql, params![session, n, boundary])
    }

    /// Notes that a print was seen in the transcript; true where that was done here.
    pub fn arrived(&self, session: &str, n: u32, at: Moment) -> Result<bool, StoreError> {
        let sql = "UPDATE deliveries SET arrived_at = ?3
                   WHERE session = ?1 AND n = ?2 AND arrived_at IS NULL";
        self.change(sql, params![session, n, at.0])
    }

    /// Notes which lines of its copy were read; true where that is news.
    pub fn read_of(&self, session: &str, n: u32, ranges: &str) -> Result<bool, StoreError> {
        let sql = "UPDATE deliveries SET reads = ?3
                   WHERE session = ?1 AND n = ?2 AND reads <> ?3";
        self.change(sql, params![session, n, ranges])
    }

    /// Records a seal; the oldest of the session go.
    pub fn put_seal(&self, session: &str, seal: &Seal) -> Result<(), StoreError> {
        let Seal { at, cause, gap, mode, held, took } = seal;
        let (gap, took) = (gap.cast_signed(), took.cast_signed());
        self.change(PUT_SEAL, params![session, at.0, cause, gap, mode, held, took])?;
        let sql = "DELETE FROM seals WHERE session = ?1 AND id <= (
                       SELECT id FROM seals WHERE session = ?1 ORDER BY id DESC LIMIT 1 OFFSET ?2)";
        self.change(sql, params![session, SEALS]).map(drop)
    }

    /// The newest seals of a session, in order.
    pub fn seals(&self, session: &str) -> Result<Vec<Seal>, StoreError> {
        let sql = "SELECT at, cause, gap, mode, held, took FROM seals
                   WHERE session = ?1 ORDER BY id";
        self.all(sql, [session], |row| {
            Ok(Seal {
                at: Moment(row.get(0)?),
                cause: row.get(1)?,
                gap: row.get::<_, i64>(2)?.cast_unsigned(),
                mode: row.get(3)?,
                held: row.get(4)?,
                took: row.get::<_, i64>(5)?.cast_unsigned(),
            })
        })
    }

    /// Removes all that is noted of a session's prints and seals.
    pub fn forget_deliveries(&self, session: &str) -> Result<(), StoreError> {
        self.change("DELETE FROM deliveries WHERE session = ?1", [session])?;
        self.change("DELETE FROM seals WHERE session = ?1", [session]).map(drop)
    }
}

fn delivery(row: &Row<'_>) -> rusqlite::Result<Delivery> {
    Ok(Delivery {
        n: row.get(0)?,
        cause: row.get(1)?,
        printed: Moment(row.get(2)?),
        length: row.get::<_, i64>(3)?.cast_unsigned(),
        gap: row.get::<_, i64>(4)?.cast_unsigned(),
        boundary: row.get(5)?,
        ranges: row.get(6)?,
        arrived: row.get::<_, Option<i64>>(7)?.map(Moment),
        reads: row.get(8)?,
    })
}

#[cfg(test)]
mod tests {
    use std::{sync::Barrier, thread};

    use super::*;
    use crate::store::tests::{LONG, folder};

    fn claim<'a>(token: &'a str, cause: Cause, at: i64, legs: u32) -> Claim<'a> {
        let at = Moment(at);
        Claim { token, cause, at, length: 10, legs, gap: 0, boundary: None, taken: 0 }
    }

    #[test]
    fn one_print_for_an_event_that_is_told_twice() {
        let (_folder, path) = folder();
        let store = Store::open_shared(&path, LONG).unwrap();
        let take = |claim: Claim<'_>| store.claim("s", &claim).unwrap();
        assert_eq!(take(claim("a", Cause::Compact, 10_000, 1)), Some(1));
        assert_eq!(take(claim("b", Cause::Compact, 10_900, 1)), None);
        // Its own wish again.
        assert_eq!(take(claim("a", Cause::Compact, 10_900, 1)), Some(1));
        // The clock was set back: as close.
        assert_eq!(take(claim("b", Cause::Compact, 9_000, 1)), None);
        // A compaction was seen between, or enough time has passed.
        assert_eq!(take(claim("c", Cause::Compact, 11_000, 2)), Some(2));
        assert_eq!(take(claim("d", Cause::Compact, 16_000, 2)), Some(3));
        // Another kind of event, another session.
        assert_eq!(take(claim("e", Cause::Due, 16_000, 2)), Some(4));
        assert_eq!(store.claim("t", &claim("a", Cause::Compact, 10_000, 1)).unwrap(), Some(1));
        // Copies that are there already keep their numbers.
        let taken = Claim { taken: 9, ..claim("f", Cause::Compact, 99_000, 2) };
        assert_eq!(take(taken), Some(10));
    }

    #[test]
    fn a_boundary_gets_two_prints_at_most() {
        let (_folder, path) = folder();
        let store = Store::open_shared(&path, LONG).unwrap();
        let take = |token, at| {
            let claim = Claim { boundary: Some("b"), ..claim(token, Cause::Due, at, 2) };
            store.claim("s", &claim).unwrap()
        };
        assert_eq!(store.claim("s", &claim("a", Cause::Compact, 0, 1)).unwrap(), Some(1));
        assert!(store.bind("s", 1, "b").unwrap() && !store.bind("s", 1, "c").unwrap());
        assert_eq!((take("x", 100), take("y", 200), take("z", 90_000)), (Some(2), None, None));
    }

    #[test]
    fn a_right_that_is_given_back_is_free_unless_it_was_used() {
        let (_folder, path) = folder();
        let store = Store::open_shared(&path, LONG).unwrap();
        let take = |token| store.claim("s", &claim(token, Cause::Compact, 10_000, 1)).unwrap();
        assert_eq!(take("a"), Some(1));
        assert!(store.unclaim("s", "a").unwrap() && !store.unclaim("s", "a").unwrap());
        assert_eq!(take("b"), Some(1));
        store.printed("s", 1, "1-64").unwrap();
        assert!(!store.unclaim("s", "b").unwrap());
        assert_eq!(take("c"), None);
    }

    #[test]
    fn of_many_at_once_one_may_print() {
        let (_folder, path) = folder();
        drop(Store::open_shared(&path, LONG).unwrap());
        for round in 0..20_i64 {
            let barrier = Barrier::new(4);
            let granted: usize = thread::scope(|scope| {
                let one = |number: i64| {
                    let (path, barrier) = (&path, &barrier);
                    move || {
                        let store = Store::open_shared(path, LONG).unwrap();
                        barrier.wait();
                        let token = format!("{round}-{number}");
                        let at = round * 10_000 + number;
                        let claim = claim(&token, Cause::Compact, at, 1);
                        usize::from(store.claim("s", &claim).unwrap().is_some())
                    }
                };
                let threads: Vec<_> = (0..4).map(|number| scope.spawn(one(number))).collect();
                threads.into_iter().map(|thread| thread.join().unwrap()).sum()
            });
            assert_eq!(granted, 1, "round {round}");
        }
    }

    #[test]
    fn what_becomes_of_a_print_is_noted_once() {
        let (_folder, path) = folder();
        let store = Store::open_shared(&path, LONG).unwrap();
        store.claim("s", &claim("a", Cause::Compact, 7, 1)).unwrap();
        assert!(store.printed("s", 1, "1-64").unwrap());
        assert!(store.arrived("s", 1, Moment(9)).unwrap());
        assert!(!store.arrived("s", 1, Moment(11)).unwrap());
        assert!(store.read_of("s", 1, "1-64").unwrap() && !store.read_of("s", 1, "1-64").unwrap());
        let expected = Delivery {
            n: 1,
            cause: "compact".to_owned(),
            printed: Moment(7),
            length: 10,
            gap: 0,
            boundary: None,
            ranges: "1-64".to_owned(),
            arrived: Some(Moment(9)),
            reads: "1-64".to_owned(),
        };
        assert_eq!(store.deliveries("s").unwrap(), [expected]);
        assert_eq!(store.delivered_sessions().unwrap(), ["s"]);
        store.forget_deliveries("s").unwrap();
        assert_eq!(store.deliveries("s").unwrap(), []);
    }

    #[test]
    fn the_newest_seals_are_kept() {
        let (_folder, path) = folder();
        let store = Store::open_shared(&path, LONG).unwrap();
        let seal = |at| Seal {
            at: Moment(at),
            cause: "auto".to_owned(),
            gap: 1,
            mode: "full".to_owned(),
            held: true,
            took: 3,
        };
        for at in 0..30 {
            store.put_seal("s", &seal(at)).unwrap();
            store.put_seal("t", &seal(at)).unwrap();
        }
        let kept = store.seals("s").unwrap();
        assert_eq!((kept.len(), &kept[0], &kept[19]), (20, &seal(10), &seal(29)));
    }
}
