//! The watcher against a real file system: each fault by name, waiting on conditions.

#![expect(clippy::unwrap_used, reason = "a test helper that fails should stop the test")]

mod sandbox;

use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::time::{Instant, SystemTime};

use endless_watchers::{TriggerVerb, remove_trigger};

use sandbox::{HOUR, Sandbox, age, append, fast_polling, no_polling};

#[test]
fn what_exists_at_the_start_is_told_before_the_barrier() {
    let mut sandbox = Sandbox::new();
    let old = sandbox.write("p/old.jsonl", "one\n");
    sandbox.write("p/other.txt", "no");
    sandbox.write("stray.jsonl", "not at this level");
    sandbox.write("p/session/subagents/deep.jsonl", "nor at this");
    sandbox.start(|_| ());
    assert_eq!(sandbox.files.keys().collect::<Vec<_>>(), [&old]);
    let seen = &sandbox.files[&old];
    assert_eq!((seen.length, &*seen.root), (4, &*sandbox.root()));
    assert!(sandbox.gone.is_empty());
}

#[test]
fn an_append_is_seen() {
    let mut sandbox = Sandbox::new();
    let path = sandbox.write("p/a.jsonl", "one\n");
    sandbox.start(no_polling);
    for length in [8, 12, 16] {
        append(&path, "two\n");
        sandbox.wait_for_length(&path, length);
    }
}

#[test]
fn an_old_file_that_is_appended_to_is_seen() {
    let mut sandbox = Sandbox::new();
    let path = sandbox.write("p/a.jsonl", "one\n");
    age(&path, 100 * HOUR);
    sandbox.start(no_polling);
    append(&path, "two\n");
    sandbox.wait_for_length(&path, 8);
}

#[test]
fn a_root_that_is_missing_at_the_start_is_found_when_it_comes() {
    let mut sandbox = Sandbox::new();
    sandbox.start(|_| ());
    assert_eq!(sandbox.mode().missing_roots, [sandbox.root()]);
    let path = sandbox.write("p/a.jsonl", "one\n");
    sandbox.wait_for_length(&path, 4);
    append(&path, "two\n");
    sandbox.wait_for_length(&path, 8);
    sandbox.sync();
    assert!(sandbox.mode().missing_roots.is_empty());
}

#[test]
fn a_root_that_is_deleted_and_recreated_is_followed_again() {
    let mut sandbox = Sandbox::started();
    let path = sandbox.write("p/a.jsonl", "one\n");
    sandbox.wait_for_length(&path, 4);
    for round in 0..5 {
        fs::remove_dir_all(sandbox.root()).unwrap();
        sandbox.wait_for("its end", |sandbox| sandbox.files.is_empty());
        sandbox.write("p/a.jsonl", "one\ntwo\n");
        sandbox.wait_for_length(&path, 8);
        append(&path, "more\n");
        sandbox.wait_for_length(&path, 13);
        assert_eq!(sandbox.gone.len(), round + 1);
    }
}

#[test]
fn a_root_that_is_replaced_at_once_is_followed_again() {
    let mut sandbox = Sandbox::started();
    for round in 0..20 {
        fs::remove_dir_all(sandbox.root()).unwrap();
        let path = sandbox.write(&format!("p/{round}.jsonl"), "one\n");
        sandbox.wait_for_length(&path, 4);
        append(&path, "two\n");
        sandbox.wait_for_length(&path, 8);
    }
    sandbox.sync();
    assert_eq!(sandbox.files.len(), 1);
}

#[test]
fn a_project_folder_that_is_replaced_at_once_is_watched_again() {
    let mut sandbox = Sandbox::new();
    fs::create_dir(sandbox.root()).unwrap();
    sandbox.start(no_polling);
    for round in 0..20 {
        fs::remove_dir_all(sandbox.file("p")).ok();
        let path = sandbox.write(&format!("p/{round}.jsonl"), "one\n");
        sandbox.wait_for_length(&path, 4);
        append(&path, "two\n");
        sandbox.wait_for_length(&path, 8);
    }
}

#[test]
fn a_root_behind_a_link_is_followed_and_told_by_the_name_it_was_given() {
    let mut sandbox = Sandbox::new();
    for name in ["one/p", "two/p"] {
        fs::create_dir_all(sandbox.path(name)).unwrap();
    }
    fs::write(sandbox.path("two/p/b.jsonl"), "four").unwrap();
    symlink(sandbox.path("one"), sandbox.root()).unwrap();
    sandbox.start(|_| ());
    let path = sandbox.write("p/a.jsonl", "one\n");
    sandbox.wait_for_length(&path, 4);
    assert!(path.starts_with(sandbox.root()));
    // The link is pointed elsewhere.
    fs::remove_file(sandbox.root()).unwrap();
    symlink(sandbox.path("two"), sandbox.root()).unwrap();
    let other = sandbox.file("p/b.jsonl");
    sandbox.wait_for_length(&other, 4);
    assert_eq!(sandbox.gone, [path]);
}

#[test]
fn links_below_a_root_are_not_followed_but_counted() {
    let mut sandbox = Sandbox::new();
    let target = sandbox.path("elsewhere");
    fs::create_dir(&target).unwrap();
    fs::write(target.join("x.jsonl"), "x").unwrap();
    let real = sandbox.write("p/real.jsonl", "x");
    symlink(&target, sandbox.file("linked")).unwrap();
    symlink(target.join("x.jsonl"), sandbox.file("p/link.jsonl")).unwrap();
    fs::create_dir(sandbox.file("p/folder.jsonl")).unwrap();
    sandbox.start(|_| ());
    assert_eq!(sandbox.files.keys().collect::<Vec<_>>(), [&real]);
    assert_eq!(sandbox.mode().ignored_files, 3);
    // A link that becomes a file counts as one.
    let path = sandbox.file("p/link.jsonl");
    fs::remove_file(&path).unwrap();
    fs::write(&path, "now real").unwrap();
    sandbox.wait_for_length(&path, 8);
    sandbox.sync();
    assert_eq!(sandbox.mode().ignored_files, 2);
    assert!(target.join("x.jsonl").exists());
}

#[test]
fn folders_that_are_made_quickly_lose_no_file() {
    let mut sandbox = Sandbox::new();
    fs::create_dir(sandbox.root()).unwrap();
    sandbox.start(no_polling);
    let paths: Vec<_> =
        (0..100).map(|index| sandbox.write(&format!("p{index}/a.jsonl"), "one\n")).collect();
    sandbox.wait_for("all", |sandbox| sandbox.files.len() == 100);
    paths.iter().for_each(|path| append(path, "two\n"));
    for path in &paths {
        sandbox.wait_for_length(path, 8);
    }
}

#[test]
fn deeper_layouts_are_found_level_by_level() {
    let mut sandbox = Sandbox::new();
    fs::create_dir(sandbox.root()).unwrap();
    sandbox.start(|config| {
        no_polling(config);
        config.layout.folders = 3;
    });
    let paths: Vec<_> = (0..20)
        .map(|day| sandbox.write(&format!("2026/{}/{day}/a.jsonl", day % 3), "one\n"))
        .collect();
    sandbox.wait_for("all", |sandbox| sandbox.files.len() == paths.len());
    append(&paths[7], "two\n");
    sandbox.wait_for_length(&paths[7], 8);
}

#[test]
fn a_replaced_file_is_told_with_its_new_inode() {
    let mut sandbox = Sandbox::started();
    let path = sandbox.write("p/a.jsonl", "one\n");
    sandbox.wait_for_length(&path, 4);
    let before = sandbox.files[&path].inode;
    let other = sandbox.write("p/new.tmp", "two\n");
    fs::rename(other, &path).unwrap();
    sandbox.wait_for("the new file", |sandbox| sandbox.files[&path].inode != before);
    assert!(sandbox.gone.is_empty());
}

#[test]
fn a_renamed_file_is_gone_here_and_new_there() {
    let mut sandbox = Sandbox::started();
    let from = sandbox.write("p/a.jsonl", "one\n");
    sandbox.wait_for_length(&from, 4);
    fs::create_dir(sandbox.file("q")).unwrap();
    let to = sandbox.file("q/b.jsonl");
    fs::rename(&from, &to).unwrap();
    sandbox.wait_for_length(&to, 4);
    sandbox.wait_for("the end of the old name", |sandbox| sandbox.gone == [from.clone()]);
}

#[test]
fn a_renamed_folder_takes_its_files_along() {
    let mut sandbox = Sandbox::new();
    let from = sandbox.write("p/a.jsonl", "one\n");
    sandbox.start(no_polling);
    fs::rename(sandbox.file("p"), sandbox.file("q")).unwrap();
    let to = sandbox.file("q/a.jsonl");
    sandbox.wait_for_length(&to, 4);
    sandbox.wait_for("the end of the old name", |sandbox| sandbox.gone == [from.clone()]);
    append(&to, "two\n");
    sandbox.wait_for_length(&to, 8);
    // The old name is used again.
    sandbox.write("p/a.jsonl", "three\n");
    sandbox.wait_for_length(&from, 6);
}

#[test]
fn a_deleted_file_is_told_once() {
    let mut sandbox = Sandbox::started();
    let path = sandbox.write("p/a.jsonl", "one\n");
    sandbox.wait_for_length(&path, 4);
    fs::remove_file(&path).unwrap();
    sandbox.wait_for("its end", |sandbox| sandbox.files.is_empty());
    sandbox.sync();
    assert_eq!(sandbox.gone, [path]);
}

#[test]
fn a_burst_of_appends_is_few_events() {
    let mut sandbox = Sandbox::started();
    let path = sandbox.write("p/a.jsonl", "");
    sandbox.wait_for_length(&path, 0);
    let (before, began) = (sandbox.file_events, Instant::now());
    let mut file = OpenOptions::new().append(true).open(&path).unwrap();
    for _ in 0..1000 {
        file.write_all(b"one\n").unwrap();
    }
    let took = began.elapsed();
    sandbox.wait_for_length(&path, 4000);
    sandbox.sync();
    let events = sandbox.file_events - before;
    // At most one per 10 ms, and what the two ends add.
    let most = 3 + took.as_millis() as usize / 10;
    assert!(events <= most, "{events} events in {took:?}");
}

#[test]
fn an_unchanged_file_is_not_told_again() {
    let mut sandbox = Sandbox::new();
    let path = sandbox.write("p/a.jsonl", "one\n");
    sandbox.start(|_| ());
    let before = sandbox.file_events;
    for _ in 0..20 {
        fs::read(&path).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
        sandbox.watcher().poll_now();
    }
    sandbox.sync();
    assert_eq!(sandbox.file_events, before);
}

#[test]
fn polling_alone_sees_everything() {
    let mut sandbox = Sandbox::new();
    let old = sandbox.write("p/old.jsonl", "one\n");
    age(&old, 100 * HOUR);
    sandbox.start(fast_polling);
    assert_eq!((sandbox.mode().native, &sandbox.mode().degraded), (false, &None));
    assert_eq!((sandbox.mode().polled_folders, sandbox.mode().polled_files), (2, 1));
    append(&old, "two\n");
    sandbox.wait_for_length(&old, 8);
    let new = sandbox.write("q/new.jsonl", "one\n");
    sandbox.wait_for_length(&new, 4);
    append(&new, "two\n");
    sandbox.wait_for_length(&new, 8);
    fs::remove_file(&old).unwrap();
    sandbox.wait_for("its end", |sandbox| sandbox.gone == [old.clone()]);
    fs::remove_dir_all(sandbox.root()).unwrap();
    sandbox.wait_for("the end of all", |sandbox| sandbox.files.is_empty());
    sandbox.write("q/new.jsonl", "again\n");
    sandbox.wait_for_length(&new, 6);
    sandbox.trigger("a.seal");
    sandbox.wait_for("the trigger", |sandbox| sandbox.triggers.len() == 1);
}

#[test]
fn when_the_watches_are_used_up_the_rest_is_polled_and_that_is_said() {
    let mut sandbox = Sandbox::new();
    let paths: Vec<_> =
        (0..5).map(|index| sandbox.write(&format!("p{index}/a.jsonl"), "one\n")).collect();
    sandbox.start(|config| config.max_watches = Some(3));
    let mode = sandbox.mode();
    assert_eq!((mode.watched_folders, mode.polled_folders, mode.polled_files), (3, 3, 3));
    let why = mode.degraded.clone().unwrap();
    assert!(mode.native && why.contains("limit") && why.contains("3 folders"), "{why}");
    for path in &paths {
        append(path, "two\n");
        sandbox.wait_for_length(path, 8);
    }
    let path = sandbox.write("late/a.jsonl", "one\n");
    sandbox.wait_for_length(&path, 4);
    // Watches that come free are used.
    (0..3).for_each(|index| fs::remove_dir_all(sandbox.file(&format!("p{index}"))).unwrap());
    sandbox.sync();
    sandbox.sync();
    let mode = sandbox.mode();
    assert_eq!((mode.watched_folders, mode.polled_folders), (3, 1), "{mode:?}");
}

#[test]
fn a_folder_that_cannot_be_read_is_counted_and_its_files_are_kept() {
    let mut sandbox = Sandbox::new();
    let path = sandbox.write("p/a.jsonl", "one\n");
    sandbox.start(|_| ());
    let folder = path.parent().unwrap();
    fs::set_permissions(folder, fs::Permissions::from_mode(0o000)).unwrap();
    let refused = fs::read_dir(folder).is_err();
    sandbox.sync();
    let (unreadable, gone) = (sandbox.mode().unreadable_folders, sandbox.gone.len());
    fs::set_permissions(folder, fs::Permissions::from_mode(0o700)).unwrap();
    // A privileged user can read it anyway.
    assert_eq!((unreadable, gone), (usize::from(refused), 0));
    append(&path, "two\n");
    sandbox.wait_for_length(&path, 8);
    sandbox.sync();
    assert_eq!((sandbox.mode().unreadable_folders, &sandbox.mode().degraded), (0, &None));
}

#[test]
fn triggers_are_told_at_the_start_when_made_and_when_touched_again() {
    let mut sandbox = Sandbox::new();
    sandbox.trigger("at-start.render");
    sandbox.start(|_| ());
    assert_eq!(sandbox.triggers.len(), 1);
    let made = sandbox.trigger("made.seal");
    sandbox.wait_for("the new one", |sandbox| sandbox.triggers.len() == 2);
    sandbox.sync();
    assert_eq!(sandbox.triggers.len(), 2, "an unchanged trigger was told again");
    let first = sandbox.triggers[1].clone();
    assert_eq!((first.session.as_str(), first.verb), ("made", TriggerVerb::Seal));
    File::options().write(true).open(&made).unwrap().set_modified(SystemTime::now()).unwrap();
    sandbox.wait_for("the touched one", |sandbox| sandbox.triggers.len() == 3);
    // It was touched after the first effect began: it stays for the second.
    assert!(!remove_trigger(&first).unwrap() && made.exists());
    assert!(remove_trigger(&sandbox.triggers[2]).unwrap() && !made.exists());
    assert!(remove_trigger(&sandbox.triggers[2]).unwrap());
    sandbox.trigger("made.seal");
    sandbox.wait_for("the one made again", |sandbox| sandbox.triggers.len() == 4);
}

#[test]
fn what_is_no_trigger_is_counted_and_left_alone() {
    let mut sandbox = Sandbox::started();
    let valid = sandbox.trigger("good.render");
    for name in ["bad name.render", "-x.seal", "x.sealed", "x\n.seal"] {
        sandbox.trigger(name);
    }
    symlink(&valid, sandbox.path("triggers/link.seal")).unwrap();
    fs::create_dir(sandbox.path("triggers/folder.seal")).unwrap();
    sandbox.sync();
    assert_eq!(sandbox.triggers.len(), 1, "{:?}", sandbox.triggers);
    assert_eq!(sandbox.mode().ignored_triggers, 6);
    assert_eq!(fs::read_dir(sandbox.path("triggers")).unwrap().count(), 7);
}

#[test]
fn a_trigger_folder_that_is_recreated_is_watched_again() {
    let mut sandbox = Sandbox::started();
    for round in 1..=5 {
        sandbox.trigger("a.seal");
        sandbox.wait_for("the trigger", |sandbox| sandbox.triggers.len() == round);
        fs::remove_dir_all(sandbox.path("triggers")).unwrap();
    }
}

#[test]
fn roots_are_added_and_removed_while_running() {
    let mut sandbox = Sandbox::started();
    let other = sandbox.path("other");
    let path = other.join("p/a.jsonl");
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(&path, "one\n").unwrap();
    sandbox.watcher().add_root(&other);
    sandbox.wait_for_length(&path, 4);
    assert_eq!(*sandbox.files[&path].root, *other);
    append(&path, "two\n");
    sandbox.wait_for_length(&path, 8);
    sandbox.watcher().remove_root(&other);
    sandbox.files.clear();
    append(&path, "three\n");
    sandbox.sync();
    assert!(sandbox.files.is_empty() && sandbox.gone.is_empty());
}

#[test]
fn the_same_root_by_two_names_is_told_once_and_outlives_either_name() {
    let mut sandbox = Sandbox::started();
    sandbox.write("p/a.jsonl", "one\n");
    let other = sandbox.path("other");
    symlink(sandbox.root(), &other).unwrap();
    sandbox.watcher().add_root(&other);
    sandbox.sync();
    assert_eq!(sandbox.files.len(), 1);
    sandbox.files.clear();
    sandbox.watcher().remove_root(sandbox.root());
    sandbox.wait_for_length(&other.join("p/a.jsonl"), 4);
}

#[test]
fn a_resync_is_a_barrier() {
    let mut sandbox = Sandbox::started();
    for round in 0..20 {
        let path = sandbox.write(&format!("p{round}/a.jsonl"), "one\n");
        sandbox.sync();
        assert_eq!(sandbox.length(&path), Some(4));
        fs::remove_file(&path).unwrap();
        sandbox.sync();
        assert_eq!(sandbox.length(&path), None);
    }
}

#[test]
fn dropping_the_handle_ends_the_thread() {
    let mut sandbox = Sandbox::started();
    assert!(sandbox.watcher().is_running());
    drop(sandbox.watcher.take());
    let Sandbox { events, sender, .. } = sandbox;
    drop(sender);
    // The sink went with the thread: nothing can come any more.
    events.try_iter().for_each(drop);
    assert!(events.recv().is_err());
}
