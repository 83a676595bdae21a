//! Paths that are no transcripts: ignored, and nothing hangs.
use std::{
    fs::{self, Permissions},
    os::unix::{
        fs::{PermissionsExt, symlink},
        net::UnixListener,
    },
};

use crate::harness::{Service, said};

/// Makes all kinds of things where transcripts lie.
fn clutter(service: &Service) -> UnixListener {
    let folder = service.sandbox.path(".claude/projects/-w");
    fs::create_dir_all(folder.join("folder.jsonl")).unwrap();
    let ran = service.sandbox.shell("mkfifo .claude/projects/-w/fifo.jsonl .claude/projects/pipe");
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    let secret = service.sandbox.path("secret.jsonl");
    fs::write(&secret, said("secret", 0..2)).unwrap();
    symlink(&secret, folder.join("link.jsonl")).unwrap();
    symlink("/dev/zero", folder.join("device.jsonl")).unwrap();
    symlink("nowhere", folder.join("dangling.jsonl")).unwrap();
    symlink(&folder, folder.join("loop.jsonl")).unwrap();
    symlink(service.sandbox.path("."), folder.with_file_name("-linked")).unwrap();
    fs::write(folder.join("bad name.jsonl"), said("bad", 0..1)).unwrap();
    fs::write(folder.join("agent-1.jsonl"), said("agent", 0..1)).unwrap();
    fs::write(folder.join("notes.txt"), "x").unwrap();
    UnixListener::bind(folder.join("socket.jsonl")).unwrap()
}

#[test]
fn what_is_no_transcript_is_ignored_and_nothing_hangs() {
    let mut service = Service::down();
    let _early = clutter(&service);
    service.start();
    let transcript = service.transcript("-w", "aa");
    for number in 0..3 {
        transcript.append(&said("aa", number..number + 1));
        let report = service.sync();
        assert_eq!(report["totals"]["sessions"], 1, "{report:#}");
        service.current("aa");
    }
    assert_eq!(service.troubles(), "");
    // A transcript becomes something else, and a transcript again.
    let bottle = service.bottle("aa").unwrap();
    transcript.delete();
    let ran = service.sandbox.shell("mkfifo .claude/projects/-w/aa.jsonl");
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    service.sync();
    assert_eq!(service.bottle("aa").unwrap(), bottle);
    transcript.delete();
    symlink(service.sandbox.path("secret.jsonl"), &transcript.path).unwrap();
    service.sync();
    assert_eq!(service.bottle("aa").unwrap(), bottle);
    transcript.delete();
    transcript.append(&said("aa", 0..4));
    service.sync();
    service.current("aa");
    let names = fs::read_dir(service.state("bottles")).unwrap();
    let names: Vec<_> = names.map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(names.len(), 2, "{names:?}");
}

#[test]
fn a_transcript_that_can_not_be_read_is_told_and_read_when_it_can() {
    if rustix::process::geteuid().is_root() {
        eprintln!("skipped: root reads everything");
        return;
    }
    let service = Service::up();
    let transcript = service.transcript("-w", "aa");
    transcript.append(&said("aa", 0..1));
    fs::set_permissions(&transcript.path, Permissions::from_mode(0o000)).unwrap();
    service.troubled("aa.jsonl");
    fs::set_permissions(&transcript.path, Permissions::from_mode(0o600)).unwrap();
    service.current("aa");
    service.well();
}
