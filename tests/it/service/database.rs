//! endless.db damaged, newer than the binary, or locked by somebody: bottles go on, and status
//! says what is wrong.
use std::{
    fs,
    time::{Duration, Instant},
};

use rusqlite::Connection;
use serde_json::json;

use crate::harness::{Service, said};

#[test]
fn a_damaged_database_is_set_aside() {
    let mut service = Service::up();
    let transcript = service.transcript("-w", "aa");
    transcript.append(&said("aa", 0..2));
    service.sync();
    service.current("aa");
    service.kill();
    for name in ["endless.db-wal", "endless.db-shm"] {
        fs::remove_file(service.state(name)).ok();
    }
    fs::write(service.state("endless.db"), "no database at all\n".repeat(999)).unwrap();
    service.start();
    transcript.append(&said("aa", 2..3));
    service.current("aa");
    let told = service.troubled("endless.db was damaged; it is now ");
    assert!(service.log().contains(told.trim_end()), "{}", service.log());
    let names = fs::read_dir(service.state("")).unwrap();
    let names: Vec<_> =
        names.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    let kept = names.iter().filter(|name| name.starts_with("endless.db") && name.len() > 15);
    assert!(kept.count() >= 1, "{names:?}");
    // The next start knows nothing of it.
    service.kill();
    service.start();
    service.well();
}

#[test]
fn a_database_of_a_newer_version_is_left_alone() {
    let mut service = Service::up();
    service.transcript("-w", "aa").append(&said("aa", 0..1));
    service.sync();
    service.current("aa");
    service.kill();
    let version = |version: Option<i64>| -> i64 {
        let database = Connection::open(service.state("endless.db")).unwrap();
        if let Some(version) = version {
            database.pragma_update(None, "user_version", version).unwrap();
        }
        database.pragma_query_value(None, "user_version", |row| row.get(0)).unwrap()
    };
    version(Some(9_999));
    let before = fs::read(service.state("endless.db")).unwrap();
    service.start();
    let told = service.troubled("newer");
    assert!(told.contains("endless.db"), "{told}");
    service.transcript("-w", "aa").append(&said("aa", 1..2));
    service.current("aa");
    // What can't be remembered is not done.
    for request in ["forget", "archive"] {
        let reply = service.ask(&json!({request: {"session": "aa"}}));
        assert!(reply["error"].as_str().is_some_and(|why| why.contains("database")), "{reply}");
        assert!(service.bottle("aa").is_some(), "{request}");
    }
    service.kill();
    assert_eq!(fs::read(service.state("endless.db")).unwrap(), before);
}

#[test]
fn a_locked_database_keeps_no_bottle_waiting_for_long() {
    let mut service = Service::up();
    let transcript = service.transcript("-w", "aa");
    transcript.append(&said("aa", 0..1));
    service.sync();
    service.current("aa");
    let database = Connection::open(service.state("endless.db")).unwrap();
    database.execute_batch("BEGIN IMMEDIATE").unwrap();
    let ids: Vec<_> = (0..6).map(|number| format!("s{number}")).collect();
    let began = Instant::now();
    for id in &ids {
        service.transcript("-w", id).append(&said(id, 0..1));
    }
    ids.iter().for_each(|id| drop(service.current(id)));
    assert!(began.elapsed() < Duration::from_secs(10), "{:?}", began.elapsed());
    transcript.append(&said("aa", 1..2));
    service.current("aa");
    let told = service.troubled("endless.db");
    assert!(told.contains("busy") || told.contains("locked"), "{told}");
    transcript.append(&said("aa", 2..3));
    service.current("aa");
    database.execute_batch("ROLLBACK").unwrap();
    transcript.append(&said("aa", 3..4));
    service.current("aa");
    service.well();
    // One that starts meanwhile goes on without.
    service.kill();
    database.execute_batch("BEGIN IMMEDIATE").unwrap();
    service.start();
    service.transcript("-w", "aa").append(&said("aa", 4..5));
    service.current("aa");
    service.troubled("without its database");
}
