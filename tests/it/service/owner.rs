//! One owner: a second service says who it is and ends, and an owner that lost its state folder
//! ends by itself and writes nothing more.
use std::{
    fs,
    process::{Child, Stdio},
};

use rusqlite::Connection;

use crate::harness::{Service, is_gone, said, until};

/// A second service in the same state folder: its exit status and what it says.
fn second(service: &Service) -> (i32, String) {
    let output = service.command().arg("run").stdin(Stdio::null()).output().unwrap();
    assert!(output.stdout.is_empty());
    (output.status.code().unwrap(), String::from_utf8(output.stderr).unwrap())
}

#[test]
fn a_second_service_says_who_runs_and_ends() {
    let service = Service::up();
    for _ in 0..2 {
        let (status, told) = second(&service);
        let who = format!("a service runs already: pid {} on ", service.pid());
        assert!(status == 0 && told.contains(&who), "{status}: {told}");
    }
    service.transcript("-w", "aa").append(&said("aa", 0..1));
    service.sync();
    service.current("aa");
    assert_eq!(service.sync()["process"]["generation"], 1);
}

#[test]
fn of_many_services_started_at_once_one_runs() {
    let service = Service::down();
    let start = || service.command().arg("run").stderr(Stdio::piped()).spawn().unwrap();
    let mut children: Vec<_> = (0..8).map(|_| start()).collect();
    until("all but one have ended", || {
        let ended = |child: &mut Child| child.try_wait().unwrap().is_some();
        children.iter_mut().map(ended).filter(|ended| !ended).count() == 1
    });
    for mut child in children {
        match child.try_wait().unwrap() {
            Some(status) => {
                let output = child.wait_with_output().unwrap();
                let told = String::from_utf8(output.stderr).unwrap();
                assert!(status.success() && told.contains("runs already"), "{status}: {told}");
            }
            None => {
                until("it answers", || service.status(&[]).0 == 0);
                child.kill().unwrap();
                child.wait().unwrap();
            }
        }
    }
}

#[test]
fn an_owner_whose_lock_was_deleted_ends_and_writes_nothing_more() {
    let mut service = Service::up();
    let transcript = service.transcript("-w", "aa");
    transcript.append(&said("aa", 0..1));
    service.sync();
    let bottle = service.current("aa");
    fs::remove_file(service.state("service.lock")).unwrap();
    transcript.append(&said("aa", 1..2));
    assert_eq!(service.ended(), 1);
    assert!(
        service.log().contains("the state folder was deleted or replaced"),
        "{}",
        service.log()
    );
    assert_eq!(service.bottle("aa").unwrap(), bottle);
    service.start();
    service.sync();
    service.current("aa");
}

#[test]
fn an_owner_whose_state_folder_was_replaced_ends_and_leaves_the_new_one_alone() {
    let mut service = Service::up();
    let transcript = service.transcript("-w", "aa");
    transcript.append(&said("aa", 0..1));
    service.sync();
    service.current("aa");
    let old = service.sandbox.path("old");
    fs::rename(service.state(""), &old).unwrap();
    let mut new = service.command();
    let mut new = new.arg("run").stderr(Stdio::null()).spawn().unwrap();
    assert_eq!(service.ended(), 1);
    transcript.append(&said("aa", 1..2));
    until("the new one answers", || service.status(&[]).0 == 0);
    let report = service.sync();
    assert_eq!(report["process"]["pid"], new.id());
    service.current("aa");
    assert!(!is_gone(&service.state("endless.sock")) && !is_gone(&old.join("endless.db")));
    new.kill().unwrap();
    new.wait().unwrap();
}

#[test]
fn a_deleted_state_folder_ends_the_service_and_is_not_made_again() {
    let mut service = Service::up();
    service.transcript("-w", "aa").append(&said("aa", 0..1));
    service.sync();
    fs::remove_dir_all(service.state("")).unwrap();
    service.transcript("-w", "aa").append(&said("aa", 1..2));
    assert_eq!(service.ended(), 1);
    assert!(is_gone(&service.state("")));
}

#[test]
fn database_writes_of_an_older_generation_are_refused() {
    let service = Service::up();
    let transcript = service.transcript("-w", "aa");
    transcript.append(&said("aa", 0..1));
    service.sync();
    service.current("aa");
    let database = Connection::open(service.state("endless.db")).unwrap();
    let length = || -> i64 {
        database.query_row("SELECT length FROM known_files", [], |row| row.get(0)).unwrap()
    };
    until("the bottle is noted", || length() == said("aa", 0..1).len() as i64);
    database.execute("UPDATE owner SET generation = generation + 1", []).unwrap();
    transcript.append(&said("aa", 1..2));
    service.current("aa");
    let told = service.troubled("endless.db");
    assert!(told.contains("generation"), "{told}");
    assert_eq!(length(), said("aa", 0..1).len() as i64);
}
