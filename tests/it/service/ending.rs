//! Signals, and a binary that is replaced.
use std::fs;

use rusqlite::Connection;
use rustix::process::Signal;

use crate::harness::{Service, equal, is_gone, said, until};

/// Gives the service work for some seconds: many sessions, and somebody else who writes to the
/// database, so that it waits a moment after each bottle.
fn busy(service: &Service) -> (Connection, Vec<String>) {
    let database = Connection::open(service.state("endless.db")).unwrap();
    database.execute_batch("BEGIN IMMEDIATE").unwrap();
    let ids: Vec<_> = (0..16).map(|number| format!("s{number}")).collect();
    for id in &ids {
        service.transcript("-w", id).append(&said(id, 0..2));
    }
    (database, ids)
}

#[test]
fn asked_to_end_it_writes_what_is_unwritten() {
    for signal in [Signal::TERM, Signal::INT] {
        let mut service = Service::up();
        let transcripts = ["aa", "bb", "cc", "dd"].map(|id| (id, service.transcript("-w", id)));
        for number in 0..4 {
            for (id, transcript) in &transcripts {
                transcript.append(&said(id, number..number + 1));
            }
            // Read, and not yet written: bottles are written some time after one another.
            service.sync();
        }
        service.signal(signal);
        assert_eq!(service.ended(), 0);
        for (id, _) in &transcripts {
            assert!(equal(&service.bottle(id).unwrap(), &service.cold(id)), "{id}");
        }
        assert!(is_gone(&service.state("endless.sock")));
        assert!(!is_gone(&service.state("service.lock")));
        assert_eq!(service.status(&[]).1["running"], false);
    }
}

#[test]
fn a_second_signal_ends_it_at_once() {
    let mut service = Service::up();
    let (_database, ids) = busy(&service);
    until("it works", || ids.iter().any(|id| service.bottle(id).is_some()));
    until("it has ended", || {
        service.signal(Signal::TERM);
        service.has_ended()
    });
    assert_eq!(service.ended(), 130);
    let written = ids.iter().filter(|id| service.bottle(id).is_some()).count();
    assert!(written < ids.len(), "all bottles were written first");
}

#[test]
fn a_broken_configuration_leaves_the_old_one_in_force() {
    let service = Service::up();
    let transcript = service.transcript("-w", "aa");
    transcript.append(&said("aa", 0..1));
    service.sync();
    fs::write(service.state("config.toml"), "hot_minuets = 3\n").unwrap();
    service.signal(Signal::HUP);
    until("it is told", || service.log().contains("the configuration stays as it was: "));
    assert!(service.log().contains("did you mean `hot_minutes`?"), "{}", service.log());
    transcript.append(&said("aa", 1..2));
    until("the bottle has it", || service.bottle("aa").is_some_and(|text| text.contains("aa 1.")));
    fs::write(service.state("config.toml"), "hot_minutes = 3\n").unwrap();
    service.signal(Signal::HUP);
    until("it is read", || service.log().contains("the configuration was read again"));
    service.sync();
    service.current("aa");
}

#[test]
fn a_replaced_binary_ends_the_service_so_that_the_new_one_starts() {
    let mut service = Service::down();
    let (program, new) = (service.sandbox.path("endless"), service.sandbox.path("endless.new"));
    fs::copy(&service.program, &program).unwrap();
    fs::copy(&service.program, &new).unwrap();
    service.program = program.clone();
    service.start();
    service.sync();
    let (database, ids) = busy(&service);
    // What it has not seen when it is told to end is for the next service. (That the database is
    // locked is a trouble, and so no good health.)
    assert_eq!(service.status(&["--sync"]).1["behind"], 0);
    fs::rename(&new, &program).unwrap();
    assert_eq!(service.ended(), 75);
    drop(database);
    // It finished its work first.
    for id in &ids {
        assert!(equal(&service.bottle(id).unwrap(), &service.cold(id)), "{id}");
    }
    // One that is removed is not replaced.
    service.start();
    fs::remove_file(&program).unwrap();
    service.transcript("-w", "s0").append(&said("s0", 2..3));
    service.sync();
    service.current("s0");
}
