//! What happens to a transcript: no duplicate, no lost word, no stale half line.
use std::fs;

use serde_json::json;

use crate::harness::{Service, Transcript, said, until};

#[test]
fn appended_words_are_in_the_bottle() {
    let service = Service::up();
    let transcript = service.transcript("-w", "aa");
    for number in 0..5 {
        transcript.append(&said("aa", number..number + 1));
        service.sync();
        let bottle = service.current("aa");
        assert_eq!(bottle.matches(&format!("**User** (10:0{number})\n")).count(), 1);
    }
    assert_eq!(service.session("aa")["facts"]["user"], 5);
}

#[test]
fn a_torn_last_line_appears_once_and_whole_when_its_rest_arrives() {
    let service = Service::up();
    let (whole, torn) = (said("aa", 0..1), said("aa", 1..2));
    let second = torn.find('\n').unwrap() + 1;
    for cut in [1, 30, second - 2, second + 200] {
        let id = format!("cut-{cut}");
        let transcript = service.transcript("-w", &id);
        transcript.append(&whole);
        service.sync();
        service.current(&id);
        transcript.append(&torn[..cut]);
        // What waits for its end is read, and told.
        service.sync();
        let waiting = if cut > second { cut - second } else { cut };
        assert_eq!(service.session(&id)["facts"]["torn"], json!(waiting));
        service.current(&id);
        transcript.append(&torn[cut..]);
        service.sync();
        let bottle = service.current(&id);
        assert_eq!(bottle.matches("\nanswer aa 1.\n").count(), 1, "{bottle}");
        assert!(bottle.contains("2 user and 2 assistant"), "{bottle}");
    }
}

#[test]
fn a_whole_last_line_without_a_newline_counts() {
    let service = Service::up();
    let transcript = service.transcript("-w", "aa");
    let rows = said("aa", 0..2);
    let (rows, more) = (rows.trim_end(), said("aa", 2..3));
    transcript.append(rows);
    service.sync();
    assert!(service.current("aa").contains("\nanswer aa 1.\n"));
    transcript.append("\n");
    service.sync();
    service.current("aa");
    transcript.append(more.trim_end());
    service.sync();
    let bottle = service.current("aa");
    assert_eq!(bottle.matches("\nanswer aa 2.\n").count(), 1);
    assert!(bottle.contains("3 user and 3 assistant"), "{bottle}");
}

#[test]
fn words_that_a_shrunken_transcript_lost_are_in_the_archive() {
    let service = Service::up();
    let all = said("aa", 0..4);
    let first = said("aa", 0..1);
    type Deed = fn(&Transcript, &str);
    let deeds: [(&str, Deed); 4] = [
        ("truncate", |transcript, first| transcript.truncate(first.len())),
        ("rewrite", |transcript, first| transcript.rewrite(first)),
        ("replace", |transcript, first| transcript.replace(first)),
        ("recreate", |transcript, first| {
            transcript.delete();
            transcript.append(first);
        }),
    ];
    for (id, deed) in deeds {
        let transcript = service.transcript("-w", id);
        transcript.append(&all);
        service.sync();
        let full = service.current(id);
        deed(&transcript, &first);
        service.sync();
        let bottle = service.current(id);
        assert!(!bottle.contains("word aa 3."), "{id}: {bottle}");
        assert!(bottle.contains("earlier: archive/"), "{id}: {bottle}");
        assert!(service.archive().contains(&full), "{id}");
        // It goes on from there.
        transcript.append(&said("aa", 1..2));
        service.sync();
        let bottle = service.current(id);
        assert!(bottle.contains("earlier: archive/"), "{id}: {bottle}");
    }
    assert_eq!(service.archive().len(), 4);
}

#[test]
fn a_transcript_that_was_cut_and_written_anew_is_read_anew() {
    let service = Service::up();
    for (id, shared) in [("other", 0), ("same-begin", 3)] {
        let transcript = service.transcript("-w", id);
        transcript.append(&said("aa", 0..6));
        service.sync();
        service.current(id);
        // Longer than before, and never seen short: no length tells that it is another.
        let text = said("aa", 0..shared) + &said("bb", shared..shared + 9);
        transcript.rewrite(&text);
        service.sync();
        let bottle = service.current(id);
        assert!(!bottle.contains("word aa 5."), "{bottle}");
        let archive = service.archive();
        assert!(archive.iter().any(|old| old.contains("word aa 5.")), "{id}");
    }
}

#[test]
fn a_bottle_outlives_its_transcript() {
    let service = Service::up();
    for id in ["deleted", "folder"] {
        let transcript = service.transcript(&format!("-{id}"), id);
        transcript.append(&said("aa", 0..3));
        service.sync();
        let bottle = service.current(id);
        if id == "deleted" {
            transcript.delete();
        } else {
            fs::remove_dir_all(transcript.path.parent().unwrap()).unwrap();
        }
        service.sync();
        until("the transcript is known to be gone", || service.session(id)["source"] == "gone");
        assert_eq!(service.bottle(id).unwrap(), bottle);
        // The same history comes back.
        transcript.append(&said("aa", 0..4));
        service.sync();
        assert!(service.current(id).contains("word aa 3."));
    }
    assert_eq!(service.archive(), Vec::<String>::new());
}

#[test]
fn a_transcript_that_goes_at_once_leaves_no_trouble_behind() {
    let service = Service::up();
    for number in 0..40 {
        let transcript = service.transcript("-w", &format!("brief-{number}"));
        transcript.append(&said("aa", 0..2));
        if number % 2 == 0 {
            std::thread::yield_now();
        }
        transcript.delete();
    }
    service.sync();
    service.well();
}

#[test]
fn a_renamed_transcript_is_a_session_of_its_own() {
    let service = Service::up();
    let transcript = service.transcript("-w", "before");
    transcript.append(&said("aa", 0..3));
    service.sync();
    let bottle = service.current("before");
    let transcript = transcript.rename("after");
    service.sync();
    service.current("after");
    transcript.append(&said("aa", 3..4));
    service.sync();
    assert!(service.current("after").contains("word aa 3."));
    assert_eq!(service.bottle("before").unwrap(), bottle);
    assert_eq!(service.session("before")["source"], "gone");
    fs::rename(&transcript.path, service.sandbox.path("away.jsonl")).unwrap();
    service.sync();
    assert_eq!(service.session("after")["source"], "gone");
    assert!(service.bottle("after").unwrap().contains("word aa 3."));
}

#[test]
fn the_same_history_in_two_files_gives_two_whole_bottles() {
    let service = Service::up();
    let (first, fork) = (service.transcript("-w", "first"), service.transcript("-w", "fork"));
    first.append(&said("aa", 0..3));
    service.sync();
    service.current("first");
    fs::copy(&first.path, &fork.path).unwrap();
    for number in 3..6 {
        first.append(&said("aa", number..number + 1));
        fork.append(&said("bb", number..number + 1));
    }
    service.sync();
    let (first, fork) = (service.current("first"), service.current("fork"));
    for bottle in [&first, &fork] {
        assert_eq!(bottle.matches("\nanswer aa 1.\n").count(), 1, "{bottle}");
    }
    assert!(first.contains("answer aa 5.") && !first.contains("answer bb 5."));
    assert!(fork.contains("answer bb 5.") && !fork.contains("answer aa 5."));
}

#[test]
fn one_session_in_two_folders_is_one_bottle() {
    let service = Service::up();
    let (one, two) = (service.transcript("-one", "aa"), service.transcript("-two", "aa"));
    one.append(&said("aa", 0..4));
    service.sync();
    service.current("aa");
    two.append(&(said("aa", 0..2) + &said("bb", 7..8)));
    service.sync();
    let bottle = service.current("aa");
    assert_eq!(bottle.matches("\nanswer aa 1.\n").count(), 1, "{bottle}");
    assert!(bottle.contains("answer bb 7.") && bottle.contains("answer aa 3."), "{bottle}");
    assert_eq!(service.session("aa")["files"].as_array().unwrap().len(), 2);
    two.append(&said("bb", 8..9));
    one.append(&said("aa", 4..5));
    service.sync();
    assert!(service.current("aa").contains("answer bb 8."));
    // One of them goes: what only it had is kept.
    two.delete();
    service.sync();
    let bottle = service.current("aa");
    assert!(!bottle.contains("answer bb 8."));
    assert!(service.archive().iter().any(|old| old.contains("answer bb 8.")));
}

#[test]
fn what_changed_while_the_service_was_down_is_found() {
    let mut service = Service::up();
    let ids = ["grows", "shrinks", "goes", "stays"];
    for id in ids {
        service.transcript("-w", id).append(&said("aa", 0..3));
    }
    service.sync();
    let bottles = ids.map(|id| service.current(id));
    service.kill();
    service.transcript("-w", "grows").append(&said("aa", 3..5));
    service.transcript("-w", "shrinks").replace(&said("aa", 0..1));
    service.transcript("-w", "goes").delete();
    service.transcript("-w", "new").append(&said("aa", 0..1));
    service.start();
    service.sync();
    for id in ["grows", "shrinks", "new", "stays"] {
        service.current(id);
    }
    assert_eq!(service.bottle("goes").unwrap(), bottles[2]);
    assert_eq!(service.bottle("stays").unwrap(), bottles[3]);
    assert_eq!(service.archive(), [bottles[1].clone()]);
    assert_eq!(service.session("goes")["source"], json!("gone"));
}
