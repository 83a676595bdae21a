//! Folders that are missing, come, go, are links, or are made quickly: what is in them is found.
//!
//! These tests never sync: the service has to notice by itself.
use std::{
    fs,
    os::unix::fs::symlink,
    time::{Duration, Instant},
};

use rustix::process::Signal;
use serde_json::json;

use crate::harness::{Service, said, said_in, until};

/// Waits for a bottle well before the half minute after which everything is looked at anyway.
fn noticed(service: &Service, id: &str) {
    let began = Instant::now();
    service.current(id);
    assert!(began.elapsed() < Duration::from_secs(15), "{id} took {:?}", began.elapsed());
}

#[test]
fn a_folder_that_is_missing_at_the_start_is_found_when_it_comes() {
    let service = Service::up();
    assert!(service.log().contains("waiting for "), "{}", service.log());
    service.transcript("-w", "aa").append(&said("aa", 0..2));
    noticed(&service, "aa");
    service.transcript("-w", "aa").append(&said("aa", 2..3));
    noticed(&service, "aa");
}

#[test]
fn a_folder_that_is_deleted_and_made_again_is_found_again() {
    let service = Service::up();
    for round in 0..3 {
        let id = format!("round-{round}");
        service.transcript("-w", &id).append(&said("aa", 0..2));
        noticed(&service, &id);
        let folder = if round == 1 { ".claude/projects/-w" } else { ".claude" };
        fs::remove_dir_all(service.sandbox.path(folder)).unwrap();
        until("it is gone", || service.session(&id)["source"] == "gone");
        assert!(service.bottle(&id).is_some());
    }
    service.transcript("-w", "round-0").append(&said("aa", 0..3));
    noticed(&service, "round-0");
}

#[test]
fn a_root_may_be_a_link() {
    let mut service = Service::down();
    let real = service.sandbox.path("real");
    fs::create_dir_all(real.join("projects/-w")).unwrap();
    symlink(&real, service.sandbox.path(".claude")).unwrap();
    service.start();
    let transcript = service.transcript("-w", "aa");
    transcript.append(&said("aa", 0..1));
    noticed(&service, "aa");
    fs::write(real.join("projects/-w/bb.jsonl"), said("bb", 0..2)).unwrap();
    noticed(&service, "bb");
    // The link is turned to another folder.
    let other = service.sandbox.path("other");
    fs::create_dir_all(other.join("projects/-v")).unwrap();
    fs::write(other.join("projects/-v/cc.jsonl"), said("cc", 0..2)).unwrap();
    let link = service.sandbox.path("link");
    symlink(&other, &link).unwrap();
    fs::rename(&link, service.sandbox.path(".claude")).unwrap();
    noticed(&service, "cc");
    assert!(service.bottle("aa").is_some());
}

#[test]
fn nested_folders_that_are_made_quickly_are_all_found() {
    let service = Service::up();
    for number in 0..40 {
        let id = format!("s{number}");
        service.transcript(&format!("-p{number}"), &id).append(&said(&id, 0..1));
    }
    for number in 0..40 {
        noticed(&service, &format!("s{number}"));
    }
}

#[test]
fn a_root_that_is_added_while_the_service_runs_is_watched() {
    let service = Service::up();
    service.transcript("-w", "aa").append(&said("aa", 0..1));
    noticed(&service, "aa");
    let config = "roots = [\"~/.claude\", \"~/more\"]\n";
    fs::write(service.state("config.toml"), config).unwrap();
    service.signal(Signal::HUP);
    let added =
        crate::harness::Transcript { path: service.sandbox.path("more/projects/-w/bb.jsonl") };
    added.append(&said("bb", 0..1));
    until("there is a bottle", || service.bottle("bb").is_some());
    added.append(&said("bb", 1..2));
    service.current_with("bb", &added.path);
    let (_, report) = service.status(&[]);
    let more = service.sandbox.path("more").display().to_string();
    assert!(report["roots"].as_array().unwrap().iter().any(|root| *root == *more), "{report:#}");
}

#[test]
fn an_excluded_project_and_an_ignored_folder_get_no_bottle() {
    let mut service = Service::down();
    let home = service.sandbox.path("");
    fs::create_dir_all(service.state("")).unwrap();
    fs::write(service.state("config.toml"), "exclude = [\"~/secret\"]\n").unwrap();
    fs::create_dir_all(home.join("ignored/deep")).unwrap();
    fs::write(home.join("ignored/.endless-ignore"), "").unwrap();
    service.start();
    let rows = |id: &str, folder: &str| -> String {
        let folder = home.join(folder);
        (0..3).map(|number| said_in(id, number, folder.to_str().unwrap())).collect()
    };
    let projects = [("out", "secret/deep"), ("ignored", "ignored/deep"), ("in", "secretive")];
    for round in 0..2 {
        for (id, folder) in projects {
            service.transcript(&format!("-{id}"), id).append(&rows(id, folder));
        }
        service.sync();
        service.current("in");
        for id in ["out", "ignored"] {
            let reply = service.ask(&json!({"render": {"session": id}}));
            assert!(service.bottle(id).is_none(), "{id} in round {round}: {reply}");
        }
        service.kill();
        service.start();
    }
    let bottles = fs::read_dir(service.state("bottles")).unwrap();
    let names: Vec<_> = bottles.map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(names.len(), 2, "{names:?}");
    // Excluded from now on: by a file, by the configuration, and no more.
    let before = service.bottle("in").unwrap();
    let render = || service.ask(&json!({"render": {"session": "in"}}));
    let configure = |text: &str, told: usize| {
        fs::write(service.state("config.toml"), text).unwrap();
        service.signal(Signal::HUP);
        let read = "the configuration was read again";
        until("it is read", || service.log().matches(read).count() == told);
    };
    let ignore = home.join("secretive/.endless-ignore");
    service.sandbox.write(&ignore, "");
    service.transcript("-in", "in").append(&rows("late", "secretive"));
    render();
    assert_eq!(service.bottle("in").unwrap(), before);
    configure("exclude = [\"~/secretive\"]\n", 1);
    fs::remove_file(ignore).unwrap();
    service.transcript("-in", "in").append(&rows("later", "secretive"));
    service.sync();
    render();
    assert_eq!(service.bottle("in").unwrap(), before);
    configure("", 2);
    render();
    assert!(service.current("in").contains("answer later 2."));
}
