//! A full disk and a read-only state folder, for real: the old bottle stays, one clear trouble is
//! told, and all is well when there is room again.
//!
//! Mounting needs root; where that is missing these tests say so and do nothing.
use std::{
    fs::{self, File},
    io::Write,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use crate::harness::{Service, equal, said, until};

/// A mounted folder; unmounted at the end.
pub(crate) struct Mount(PathBuf);

impl Mount {
    #[expect(clippy::print_stderr, reason = "a skipped test says so")]
    pub(crate) fn new(arguments: &[&str], at: &Path) -> Option<Self> {
        fs::create_dir_all(at).unwrap();
        let mut command = Command::new("mount");
        let status = command.args(arguments).arg(at).stderr(Stdio::null()).status();
        if status.is_ok_and(|status| status.success()) {
            return Some(Self(at.to_owned()));
        }
        eprintln!("skipped: `mount` needs root here");
        None
    }
}

impl Drop for Mount {
    fn drop(&mut self) {
        // What is still open is let go when its process ends.
        let unmounted = Command::new("umount").arg("-l").arg(&self.0).status();
        assert!(unmounted.is_ok_and(|status| status.success()) || std::thread::panicking());
    }
}

/// Takes all the room that is left; the file that has it.
pub(crate) fn fill(folder: &Path) -> PathBuf {
    let path = folder.join("filler");
    let mut file = File::create(&path).unwrap();
    for size in [64 << 10, 4 << 10, 1] {
        while file.write_all(&vec![0; size]).is_ok() {}
    }
    path
}

/// The service may be trying to write at this moment.
fn no_temporaries(service: &Service) {
    let is_temporary = |entry: std::io::Result<fs::DirEntry>| {
        entry.unwrap().file_name().to_string_lossy().ends_with(".tmp")
    };
    until("no temporary is left", || {
        !fs::read_dir(service.state("bottles")).unwrap().any(is_temporary)
    });
}

#[test]
fn a_full_disk_leaves_the_old_bottle_and_all_is_well_when_there_is_room() {
    let mut service = Service::down();
    let options = ["-t", "tmpfs", "-o", "size=2m,mode=700", "tmpfs"];
    let Some(mount) = Mount::new(&options, &service.state("")) else { return };
    service.start();
    let (one, two) = (service.transcript("-w", "one"), service.transcript("-w", "two"));
    one.append(&said("aa", 0..2));
    two.append(&said("bb", 0..2));
    service.sync();
    let (bottle, shorter) = (service.current("one"), said("bb", 0..1));
    service.current("two");
    let filler = fill(&service.state(""));
    one.append(&said("aa", 2..40));
    two.replace(&shorter);
    let told = service.troubled("No space left on device");
    assert!(told.contains("what was there is unchanged"), "{told}");
    assert_eq!(service.bottle("one").unwrap(), bottle);
    assert!(service.bottle("two").unwrap().contains("word bb 1."));
    no_temporaries(&service);
    assert_eq!(service.archive().len(), 0);
    fs::remove_file(&filler).unwrap();
    service.current("one");
    service.current("two");
    assert!(service.archive().iter().any(|old| old.contains("word bb 1.")));
    service.well();
    // One that starts on a full disk.
    service.kill();
    let filler = fill(&service.state(""));
    one.append(&said("aa", 40..60));
    service.start();
    service.troubled("No space left on device");
    assert!(!equal(&service.bottle("one").unwrap(), &service.cold("one")));
    fs::remove_file(&filler).unwrap();
    service.current("one");
    service.kill();
    drop(mount);
}

#[test]
fn a_limit_on_the_size_of_files_is_a_trouble_and_no_end() {
    let mut service = Service::down();
    let mut limited = Command::new("/bin/sh");
    service.clear(&mut limited);
    // 128 KiB: enough for the database, not for a large bottle.
    limited.args(["-c", "ulimit -f 256; exec \"$0\" run"]).arg(&service.program);
    service.spawn_as(&mut limited);
    service.answers();
    let (small, large) = (service.transcript("-w", "small"), service.transcript("-w", "large"));
    small.append(&said("aa", 0..2));
    large.append(&said("bb", 0..1));
    service.sync();
    service.current("small");
    let bottle = service.current("large");
    large.append(&said("bb", 1..2_000));
    let told = service.troubled("large.md");
    assert!(told.contains("File too large"), "{told}");
    assert_eq!(service.bottle("large").unwrap(), bottle);
    small.append(&said("aa", 2..3));
    service.current("small");
    no_temporaries(&service);
    large.replace(&said("bb", 0..2));
    service.current("large");
    until("the bottle is no trouble any more", || !service.troubles().contains("large.md"));
}

#[test]
fn a_state_folder_that_becomes_read_only_leaves_the_old_bottle() {
    let mut service = Service::up();
    let transcript = service.transcript("-w", "aa");
    transcript.append(&said("aa", 0..2));
    service.sync();
    let bottle = service.current("aa");
    let state = service.state("");
    let Some(mount) = Mount::new(&["--bind", state.to_str().unwrap()], &state) else { return };
    let remount = Command::new("mount").args(["-o", "remount,bind,ro"]).arg(&state).status();
    assert!(remount.unwrap().success());
    transcript.append(&said("aa", 2..4));
    service.troubled("Read-only file system");
    assert_eq!(service.bottle("aa").unwrap(), bottle);
    // A service that starts there says what is wrong.
    let mut other = service.command();
    let output = other.arg("run").output().unwrap();
    assert_ne!(output.status.code(), Some(101), "{output:?}");
    drop(mount);
    service.current("aa");
    service.well();
    service.kill();
}
