//! The machine is at fault: no home, no room, no right to write, a database that can't be used.
//! The host never notices, and where a pointer can be printed it is.
use std::{fs, process::Command, time::Duration};

use rusqlite::Connection;
use serde_json::{Value, json};

use super::{Answer, Hook, Talk, call, log, prints, settled};
use crate::{
    harness::{Service, said},
    service::disk::{Mount, fill},
};

fn home(up: bool) -> (Service, Talk) {
    let mut service = Service::up();
    let talk = Talk::with_turns(&service, "aa", 2);
    settled(&service, &talk);
    if !up {
        service.kill();
    }
    (service, talk)
}

/// Every event, as a host sends them.
fn all_events(talk: &Talk) -> Vec<Value> {
    vec![
        talk.event("SessionStart", &json!({"source": "startup"})),
        talk.prompted("words"),
        talk.event("Stop", &json!({"last_assistant_message": "x"})),
        talk.compacting(),
        talk.compacted(),
        talk.event("PostCompact", &json!({"trigger": "auto"})),
        talk.resumed(),
        talk.reads(&talk.transcript.path),
        talk.event("SessionEnd", &json!({"reason": "other"})),
    ]
}

fn call_as(command: &mut Command, payload: &Value) -> Answer {
    let hook = Hook::start(command.args(["hook", "claude-code"]));
    hook.given(payload.to_string().as_bytes()).answer()
}

#[test]
fn without_a_home() {
    let (service, talk) = home(true);
    for payload in all_events(&talk) {
        let mut command = Command::new(env!("CARGO_BIN_EXE_endless"));
        command.env_clear().current_dir(service.sandbox.path(""));
        assert!(call_as(&mut command, &payload).is_silent());
        // One that is not there, and is no folder.
        for home in ["/nowhere/at/all", "/dev/null", "relative"] {
            let mut command = Command::new(env!("CARGO_BIN_EXE_endless"));
            command.env_clear().env("HOME", home).current_dir(service.sandbox.path(""));
            call_as(&mut command, &payload);
        }
    }
    // The working folder is gone.
    let gone = service.sandbox.path("gone");
    fs::create_dir(&gone).unwrap();
    let program = env!("CARGO_BIN_EXE_endless");
    let script = format!("rmdir {}; exec {program} hook claude-code", gone.display());
    let mut shell = Command::new("/bin/sh");
    service.clear(&mut shell);
    let hook = Hook::start(shell.current_dir(&gone).args(["-c", &script]));
    let answer = hook.given(talk.compacted().to_string().as_bytes()).answer();
    assert!(answer.pointer().is_some(), "{}", log(&service));
}

#[test]
fn a_configuration_or_a_variable_that_is_not_understood() {
    let (service, talk) = home(true);
    fs::write(service.state("config.toml"), "zone = 7\nresume = \"sometimes\"\n").unwrap();
    assert!(call(&service, &talk.compacted()).pointer().is_some());
    assert!(log(&service).contains("config.toml"), "{}", log(&service));
    let other = Talk::with_turns(&service, "bb", 2);
    settled(&service, &other);
    let mut command = service.command();
    command.env("ENDLESS_ZONE", "Nowhere/Else").env("ENDLESS_MEMORY_MB", "much");
    assert!(call_as(&mut command, &other.compacted()).pointer().is_some());
}

#[test]
fn a_read_only_state_folder() {
    for up in [true, false] {
        let (mut service, talk) = home(up);
        let state = service.state("");
        let Some(mount) = Mount::new(&["--bind", state.to_str().unwrap()], &state) else { return };
        let remount = Command::new("mount").args(["-o", "remount,bind,ro"]).arg(&state).status();
        assert!(remount.unwrap().success());
        for payload in all_events(&talk) {
            call(&service, &payload);
        }
        drop(mount);
        service.kill();
        // All is well at the next compaction.
        talk.write(&talk.boundary());
        talk.turn(9);
        let pointer = call(&service, &talk.compacted()).pointer();
        assert!(pointer.unwrap().copy().contains("answer 9 of aa"), "{up}");
    }
}

#[test]
fn a_state_folder_that_can_not_be_made() {
    let service = Service::down();
    let talk = Talk::with_turns(&service, "aa", 2);
    fs::write(service.sandbox.path("state"), "a file").unwrap();
    for payload in all_events(&talk) {
        assert!(call(&service, &payload).is_silent());
    }
    assert_eq!(fs::read_to_string(service.sandbox.path("state")).unwrap(), "a file");
}

#[test]
fn a_full_disk() {
    for up in [true, false] {
        let mut service = Service::down();
        let options = ["-t", "tmpfs", "-o", "size=2m,mode=700", "tmpfs"];
        let Some(mount) = Mount::new(&options, &service.state("")) else { return };
        service.start();
        let (talk, other) =
            (Talk::with_turns(&service, "aa", 2), Talk::with_turns(&service, "bb", 2));
        settled(&service, &talk);
        let bottle = settled(&service, &other);
        if !up {
            service.kill();
        }
        let filler = fill(&service.state(""));
        other.write(&said("more", 0..40));
        for payload in all_events(&other) {
            assert!(call(&service, &payload).is_silent());
        }
        assert_eq!(service.bottle("bb").unwrap(), bottle);
        // A bottle that lacks nothing needs no room.
        let answer = call(&service, &talk.compacted());
        assert!(answer.pointer().is_some(), "{up} {}", log(&service));
        fs::remove_file(&filler).unwrap();
        let pointer = call(&service, &other.compacted()).pointer();
        assert!(pointer.unwrap().copy().contains("word more 39."));
        service.kill();
        drop(mount);
    }
}

#[test]
fn a_locked_database_costs_the_record_and_not_the_pointer() {
    for up in [true, false] {
        let (mut service, talk) = home(up);
        let database = Connection::open(service.state("endless.db")).unwrap();
        database.execute_batch("BEGIN IMMEDIATE").unwrap();
        for payload in [talk.compacting(), talk.prompted("x"), talk.event("Stop", &json!({}))] {
            let answer = call(&service, &payload);
            assert!(answer.is_silent() && answer.took < Duration::from_secs(4), "{answer:?}");
        }
        let answer = call(&service, &talk.compacted());
        let pointer = answer.pointer().unwrap_or_else(|| panic!("{up} {}", log(&service)));
        assert!(answer.took < Duration::from_secs(2), "{answer:?}");
        let copy = pointer.copy();
        talk.write(&talk.boundary());
        talk.write(&talk.arrival("SessionStart", &pointer.text));
        talk.turn(7);
        // The next compaction comes while it is still locked.
        let second = call(&service, &talk.compacted()).pointer().unwrap();
        assert_ne!(second.n, pointer.n);
        assert_eq!(pointer.copy(), copy);
        assert!(second.copy().contains("answer 7 of aa"));
        database.execute_batch("ROLLBACK").unwrap();
        talk.write(&talk.boundary());
        talk.write(&talk.arrival("SessionStart", &second.text));
        talk.turn(8);
        // What arrived without a record is not due.
        assert!(call(&service, &talk.prompted("go on")).is_silent());
        assert!(call(&service, &talk.resumed()).is_silent());
        let third = call(&service, &talk.compacted()).pointer().unwrap();
        assert!(third.n > second.n);
        service.kill();
    }
}

/// What a database is like that a hook can't use.
fn with_database(up: bool, spoil: impl Fn(&Service)) {
    let (mut service, talk) = home(false);
    spoil(&service);
    if up {
        service.start();
    }
    for payload in [talk.compacting(), talk.prompted("x"), talk.event("Stop", &json!({}))] {
        assert!(call(&service, &payload).is_silent());
    }
    let pointer = call(&service, &talk.compacted()).pointer();
    assert!(pointer.is_some(), "{up} {}", log(&service));
    let talk = Talk::with_turns(&service, "cc", 1);
    let cleared = talk.event("SessionEnd", &json!({"reason": "clear"}));
    assert!(call(&service, &cleared).is_silent());
}

#[test]
fn a_database_of_a_newer_version() {
    for up in [true, false] {
        with_database(up, |service| {
            let database = Connection::open(service.state("endless.db")).unwrap();
            database.pragma_update(None, "user_version", 9_999).unwrap();
        });
    }
}

#[test]
fn a_damaged_database() {
    for up in [true, false] {
        with_database(up, |service| {
            for name in ["endless.db-wal", "endless.db-shm"] {
                fs::remove_file(service.state(name)).ok();
            }
            fs::write(service.state("endless.db"), "no database at all\n".repeat(999)).unwrap();
        });
    }
}

#[test]
fn a_database_that_is_something_else() {
    for what in ["folder", "link", "gone"] {
        with_database(false, |service| {
            for name in ["endless.db", "endless.db-wal", "endless.db-shm"] {
                fs::remove_file(service.state(name)).ok();
            }
            let path = service.state("endless.db");
            match what {
                "folder" => fs::create_dir(path).unwrap(),
                "link" => std::os::unix::fs::symlink(service.sandbox.path("x.db"), path).unwrap(),
                _ => {}
            }
        });
    }
}

#[test]
fn the_log_is_bounded() {
    let (service, _) = home(false);
    let log = service.state("logs/hooks.log");
    let old = service.state("logs/hooks.log.1");
    for _ in 0..2 {
        fs::write(&log, "x".repeat(1_000_001)).unwrap();
        let hooks: Vec<_> = (0..8).map(|_| Hook::waiting(&service).given(b"no JSON")).collect();
        for hook in hooks {
            assert!(hook.answer().is_silent());
        }
    }
    let length = |path| fs::metadata(path).unwrap().len();
    assert!(
        length(&log) < 10_000 && length(&old) <= 1_010_000,
        "{} {}",
        length(&log),
        length(&old)
    );
    assert_eq!(fs::read_dir(service.state("logs")).unwrap().count(), 2);
    // Where it can't be written nobody is harmed.
    fs::remove_file(&log).unwrap();
    std::os::unix::fs::symlink("/nowhere/x", &log).unwrap();
    assert!(Hook::waiting(&service).given(b"no JSON").answer().is_silent());
    assert_eq!(prints(&service, "aa").len(), 0);
}

#[test]
fn a_call_that_this_version_does_not_know_does_not_block_the_host() {
    // The host takes status 2 of a hook for the wish to block.
    let (service, talk) = home(false);
    for arguments in [&["hook"][..], &["hook", "codex"], &["hook", "claude-code", "--new"]] {
        let mut command = service.command();
        let hook =
            Hook::start(command.args(arguments)).given(talk.compacted().to_string().as_bytes());
        let output = hook.child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{output:?}");
        assert!(output.stdout.is_empty(), "{output:?}");
    }
}
