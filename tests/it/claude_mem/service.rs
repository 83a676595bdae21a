//! The service beside claude-mem's database: what is committed there comes into the bottles.
use std::fs;

use rusqlite::Connection;
use serde_json::json;

use super::{START, fixture, mode, session};
use crate::harness::{Rows, Service, until};

/// A home with the database, a session that it knows, and a service.
struct Case {
    service: Service,
    database: Connection,
}

const ID: &str = "aaaaaaaa-1111-4111-8111-000000000001";
const OTHER: &str = "bbbbbbbb-1111-4111-8111-000000000002";

fn place(service: &Service) -> std::path::PathBuf {
    service.sandbox.path(".claude-mem/claude-mem.db")
}

/// Puts a database there that knows both sessions.
fn install(service: &Service) -> Connection {
    let path = place(service);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::copy(fixture("store-13.25.3/claude-mem.db"), &path).unwrap();
    let database = Connection::open(path).unwrap();
    for id in [ID, OTHER] {
        database.execute_batch(&session(id, "claude", &[(0, "first")], &[])).unwrap();
    }
    database
}

fn rows() -> Rows {
    Rows::new()
        .user("first")
        .call("toolu_1", "Bash", json!({"command": "ls"}))
        .result("toolu_1", "a")
        .call("toolu_2", "Bash", json!({"command": "pwd"}))
        .result("toolu_2", "b")
        .agent("done")
}

impl Case {
    fn new() -> Self {
        let mut service = Service::down();
        let database = install(&service);
        service.start();
        for id in [ID, OTHER] {
            service.transcript("-w", id).append(&rows().text());
        }
        service.sync();
        service.current(ID);
        Self { service, database }
    }

    fn add(&self, id: &str, second: i64, title: &str) {
        self.database
            .execute_batch(&format!(
                "INSERT INTO observations (memory_session_id, project, type, title, created_at, \
                 created_at_epoch) VALUES ('mem-claude-{id}', 'app', 'discovery', '{title}', '', {})",
                START + second * 1_000
            ))
            .unwrap();
    }

    /// Waits until the bottle of the session says this, or does not.
    fn says(&self, words: &str, wanted: bool) -> String {
        let mut bottle = String::new();
        until(&format!("the bottle says `{words}`: {wanted}"), || {
            bottle = self.service.bottle(ID).unwrap_or_default();
            bottle.contains(words) == wanted && !bottle.is_empty()
        });
        bottle
    }

    fn observations(&self) -> serde_json::Value {
        self.service.session(ID)["bottle"]["observations"].clone()
    }
}

#[test]
fn what_is_committed_comes_into_the_bottle_and_what_is_deleted_goes() {
    let case = Case::new();
    case.says("2 tool calls, 2 pending", true);
    case.add(ID, 90, "one");
    let bottle = case.says("] one\n", true);
    assert!(bottle.contains("2 tool calls, 1 pending"), "{bottle}");
    assert!(bottle.contains("- [t1] Bash `ls` → exit 0 · a\n- ⏳ [t2] Bash `pwd`"), "{bottle}");
    until("status tells of the stubs", || case.service.session(ID)["facts"]["pending"] == 1);
    case.add(ID, 600, "two");
    case.says("2 tool calls, 0 pending", true);
    assert_eq!(case.observations(), json!({"source": "claude-mem", "why": null}));
    case.database.execute("DELETE FROM observations WHERE title = 'one'", []).unwrap();
    case.says("] one\n", false);
    case.service.current(ID);
}

#[test]
fn only_sessions_with_new_rows_are_written_again() {
    let case = Case::new();
    until("both are known", || {
        case.service.session(OTHER)["bottle"]["observations"]["source"] == "claude-mem"
    });
    let written =
        |id: &str| fs::metadata(case.service.bottle_path(id)).unwrap().modified().unwrap();
    let before = written(OTHER);
    for number in 0..5 {
        case.add(ID, number, &format!("row {number}"));
        case.says(&format!("] row {number}\n"), true);
    }
    assert_eq!(written(OTHER), before);
}

#[test]
fn a_database_that_comes_later_goes_and_comes_again() {
    let mut service = Service::down();
    service.start();
    let transcript = service.transcript("-w", ID);
    transcript.append(&rows().text());
    service.sync();
    let database = install(&service);
    let mut case = Case { service, database };
    case.says("mode: full (transcript + observations)", true);
    case.add(ID, 90, "one");
    case.says("] one\n", true);
    for name in ["claude-mem.db", "claude-mem.db-wal", "claude-mem.db-shm"] {
        fs::remove_file(place(&case.service).with_file_name(name)).ok();
    }
    let bottle = case.says("] one\n", false);
    assert_eq!(mode(&bottle), "mode: full (transcript only) · format: 1");
    until("status says why", || {
        let why = case.observations()["why"].clone();
        why.as_str().is_some_and(|why| why.starts_with("claude-mem is not there: there is no "))
    });
    case.database = install(&case.service);
    case.add(ID, 90, "again");
    case.says("] again\n", true);
}

#[test]
fn a_locked_database_keeps_no_bottle_waiting_and_is_read_once_it_is_free() {
    let mut service = Service::down();
    let database = install(&service);
    // One that is in its log keeps nobody out who only reads.
    database.execute_batch("PRAGMA journal_mode = DELETE; BEGIN EXCLUSIVE").unwrap();
    service.start();
    let case = Case { service, database };
    case.service.transcript("-w", ID).append(&rows().text());
    let bottle = case.says("covered: ", true);
    assert_eq!(mode(&bottle), "mode: full (transcript only) · format: 1");
    until("status says why", || {
        let (status, report) = case.service.status(&[]);
        let why = report["observations"]["why"].as_str().unwrap_or_default().to_owned();
        // Bottles go on: nothing is in trouble.
        why.contains("is locked by another program") && status == 0
    });
    case.database.execute_batch("COMMIT").unwrap();
    case.says("mode: full (transcript + observations)", true);
    case.add(ID, 90, "one");
    case.says("] one\n", true);
}

#[test]
fn nothing_is_asked_where_it_is_switched_off() {
    let mut service = Service::down();
    let database = install(&service);
    fs::create_dir_all(service.state("")).unwrap();
    fs::write(service.state("config.toml"), "observations = 'derived'\n").unwrap();
    service.start();
    service.transcript("-w", ID).append(&rows().text());
    service.sync();
    let case = Case { service, database };
    case.add(ID, 90, "one");
    let bottle = case.says("covered: ", true);
    assert_eq!(mode(&bottle), "mode: full (transcript only) · format: 1");
    until("status says why", || {
        case.service.status(&[]).1["observations"]
            == json!({"source": "derived", "why": "`observations` is `derived` in config.toml"})
    });
}

#[test]
fn a_session_that_is_hot_when_the_service_starts_is_brought_up_to_date() {
    let mut case = Case::new();
    case.says("2 tool calls, 2 pending", true);
    case.service.kill();
    case.add(ID, 600, "meanwhile");
    case.service.start();
    case.says("] meanwhile\n", true);
}

#[test]
fn row_02_a_seal_and_a_drain_wait_for_what_is_pending() {
    let case = Case::new();
    case.says("2 tool calls, 2 pending", true);
    // Nothing comes: after a quiet while.
    let reply = case.service.ask(&json!({"drain": {"session": ID}}));
    assert_eq!(reply, json!({"drain": {"pending": 2, "verdict": "quiet"}}));
    // A seal without a timeout only checks.
    let reply = case.service.ask(&json!({"seal": {"session": ID}}));
    assert_eq!(reply["seal"]["gap"], 2, "{reply}");
    // The row comes while the seal waits.
    let reply = std::thread::scope(|scope| {
        let service = &case.service;
        let seal = json!({"seal": {"session": ID, "timeout": 20_000}});
        let sealed = scope.spawn(move || service.ask(&seal));
        case.add(ID, 600, "all of it");
        sealed.join().unwrap()
    });
    assert_eq!(reply["seal"]["gap"], 0, "{reply}");
    assert_eq!(reply["seal"]["mode"], "full (transcript + observations)");
    let reply = case.service.ask(&json!({"drain": {"session": &ID[..4], "timeout_ms": 100}}));
    assert_eq!(reply, json!({"drain": {"pending": 0, "verdict": "covered"}}));
    let reply = case.service.ask(&json!({"drain": {"session": "nobody"}}));
    assert!(reply["error"].is_string(), "{reply}");
}
