//! Trigger files: a plain `sh` says "look at this session".
use std::{fs, os::unix::fs::symlink};

use crate::harness::{Service, is_gone, said, until};

/// What a person types.
fn touch(service: &Service, name: &str) -> std::path::PathBuf {
    let ran = service.sandbox.shell(&format!(": > state/triggers/{name}"));
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    service.state("triggers").join(name)
}

#[test]
fn a_trigger_has_its_effect_and_is_removed() {
    let mut service = Service::down();
    // Long before Endless came: known, and not read.
    let transcript = service.sandbox.transcript("-w/aa", &said("aa", 0..2), 0);
    service.start();
    service.sync();
    assert_eq!(service.session("aa")["resident"], false);
    assert!(service.bottle("aa").is_none());
    let trigger = touch(&service, "aa.render");
    until("the trigger is gone", || is_gone(&trigger));
    let first = service.bottle("aa").unwrap();
    service.current("aa");
    // A bottle that somebody removed comes back.
    fs::remove_file(service.bottle_path("aa")).unwrap();
    let trigger = touch(&service, "aa.render");
    until("the trigger is gone", || is_gone(&trigger));
    assert!(service.bottle("aa").is_some(), "removed bottles come back:\n{first}");
    service.current("aa");
    assert!(!is_gone(&transcript));
}

#[test]
fn a_trigger_that_was_left_while_the_service_was_down_has_its_effect() {
    let mut service = Service::up();
    service.kill();
    service.sandbox.transcript("-w/aa", &said("aa", 0..2), 0);
    service.sandbox.transcript("-w/bb", &said("bb", 0..2), 0);
    let triggers = ["aa.render", "unknown.render"].map(|name| touch(&service, name));
    service.start();
    for trigger in triggers {
        until("the trigger is gone", || is_gone(&trigger));
    }
    service.current("aa");
    assert!(service.bottle("unknown").is_none());
}

#[test]
fn a_trigger_for_a_session_that_comes_at_the_same_time_finds_it() {
    let service = Service::up();
    service.sync();
    service.sandbox.transcript("-new/aa", &said("aa", 0..2), 0);
    let trigger = touch(&service, "aa.render");
    until("the trigger is gone", || is_gone(&trigger));
    service.current("aa");
}

#[test]
fn what_is_no_trigger_is_left_alone_and_counted() {
    let service = Service::up();
    service.transcript("-w", "aa").append(&said("aa", 0..1));
    service.sync();
    let folder = service.state("triggers");
    let long = format!("{}.render", "x".repeat(200));
    let names =
        ["..render", ".aa.render", "aa.nonsense", "a b.render", "a\nb.render", &long, "-a.render"];
    for name in names {
        fs::write(folder.join(name), "").unwrap();
    }
    fs::create_dir(folder.join("dir.render")).unwrap();
    symlink(service.bottle_path("aa"), folder.join("link.render")).unwrap();
    let trigger = touch(&service, "aa.render");
    until("the trigger is gone", || is_gone(&trigger));
    service.sync();
    let left = fs::read_dir(&folder).unwrap().count();
    assert_eq!(left, names.len() + 2);
    service.current("aa");
    let bottles = fs::read_dir(service.state("bottles")).unwrap().count();
    assert_eq!(bottles, 2, "the bottle and the archive");
}
