//! Two that print at once, and a bottle that is replaced between the right to print and its copy.
use std::{fs, time::Duration};

use super::*;
use crate::{
    bottle::Options,
    transcript::{Host, parse_line},
};

struct Case {
    _folder: tempfile::TempDir,
    paths: Paths,
    id: SessionId,
}

impl Case {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let paths = Paths::new(folder.path().join("state"));
        Self { _folder: folder, paths, id: "s".parse().unwrap() }
    }

    /// Writes the bottle of a session in which so many words are said.
    fn keep(&self, words: usize) -> Last {
        let mut session = Session::new("s", Host::ClaudeCode);
        for number in 0..words {
            let row = format!(
                r#"{{"type":"user","uuid":"{number}","message":{{"content":"word {number}"}}}}"#
            );
            parse_line(Host::ClaudeCode, row.as_bytes(), 0, &mut |line| session.fold_line(line));
        }
        let rendered = Moment(i64::try_from(words).unwrap());
        let options = Options { zone: Zone::utc(), rendered, earlier: None, observed: None };
        bottles::keep(&self.paths, &self.id, &session, options).unwrap().last()
    }

    fn store(&self) -> Store {
        Store::open_shared(&self.paths.database, Duration::from_secs(60)).unwrap()
    }

    fn wish<'a>(&'a self, token: &'a str, is_hook: bool) -> Wish<'a> {
        Wish {
            parent: None,
            id: &self.id,
            token,
            cause: Cause::Compact,
            boundary: None,
            length: 7,
            clock: || Moment(1),
            until: None,
            zone: Zone::utc(),
            is_gone: false,
            is_hook,
        }
    }

    fn print(&self, store: Option<&Store>, last: &Last, wish: &Wish<'_>) -> Option<Printed> {
        print(&self.paths, store, last, &Recap::of_bottle(&[]), wish).unwrap()
    }
}

/// The copy has these last words, and as many lines as the pointer says.
fn check(printed: &Printed, last_words: usize) {
    let copy = fs::read_to_string(&printed.copy).unwrap();
    assert!(copy.contains(&format!("word {}\n", last_words - 1)), "{copy}");
    assert!(!copy.contains(&format!("word {last_words}\n")), "{copy}");
    let lines = format!("lines: {} ", copy.lines().count());
    assert!(printed.pointer.text.contains(&lines), "{lines}\n{}", printed.pointer.text);
}

#[test]
fn a_bottle_that_was_replaced_meanwhile_is_copied_as_it_is_then() {
    let case = Case::new();
    let old = case.keep(2);
    let store = case.store();
    case.keep(9);
    check(&case.print(Some(&store), &old, &case.wish("a", true)).unwrap(), 9);
    assert!(
        case.print(Some(&store), &old, &case.wish("b", true)).is_none(),
        "another has the right"
    );
}

#[test]
fn a_hook_replaces_the_copy_that_was_made_for_it_and_no_other() {
    let case = Case::new();
    let (last, store) = (case.keep(2), case.store());
    let of_service = case.print(Some(&store), &last, &case.wish("a", false)).unwrap();
    let last = case.keep(3);
    let own = case.print(Some(&store), &last, &case.wish("a", true)).unwrap();
    assert_eq!((of_service.n, own.n), (1, 1));
    check(&own, 3);
    // The service comes too late with the same wish.
    assert!(case.print(Some(&store), &last, &case.wish("a", false)).is_none());
    check(&own, 3);
    // Without a record all copies stay as they are.
    let last = case.keep(4);
    let second = case.print(None, &last, &case.wish("b", true)).unwrap();
    assert_eq!(second.n, 2);
    check(&own, 3);
    // Another took the number at that moment.
    let taken = copied(&case.paths, 1, false, &last, &case.wish("c", true));
    assert_eq!(taken.unwrap().unwrap().0, 3);
    check(&own, 3);
}

#[test]
fn what_nobody_waits_for_is_not_claimed() {
    let case = Case::new();
    let (last, store) = (case.keep(2), case.store());
    let until = |until| Wish { until: Some(Moment(until)), ..case.wish("a", false) };
    let recap = Recap::of_bottle(&[]);
    let late = print(&case.paths, Some(&store), &last, &recap, &until(0));
    assert!(matches!(late, Err(DeliverError::Late)), "{late:?}");
    assert_eq!(store.deliveries("s").unwrap(), []);
    assert_eq!(copies::highest(&case.paths, &case.id), 0);
    assert!(case.print(Some(&store), &last, &until(1)).is_some());
}

#[test]
fn a_print_whose_copy_can_not_be_made_is_no_print() {
    let case = Case::new();
    let (last, store) = (case.keep(2), case.store());
    fs::remove_file(case.paths.bottle(&case.id)).unwrap();
    let failed = |token| {
        let recap = Recap::of_bottle(&[]);
        print(&case.paths, Some(&store), &last, &recap, &case.wish(token, true))
    };
    assert!(matches!(failed("a"), Err(DeliverError::Replaced)));
    assert_eq!(store.deliveries("s").unwrap(), []);
    // Nobody has the right, so that the next may have it at once.
    check(&case.print(Some(&store), &case.keep(3), &case.wish("b", true)).unwrap(), 3);
}
