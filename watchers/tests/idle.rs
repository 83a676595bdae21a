//! What the watcher costs when nothing happens, and how soon it tells what happens. Slow, and a
//! measurement, not a judgement:
//! `cargo test --release -p endless-watchers --test idle -- --ignored --nocapture`.

#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "a measurement that fails should stop")]

use std::fs::{self, File};
use std::io::Write;
use std::path::Path;
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant, SystemTime};

use endless_watchers::{Layout, WatchEvent, Watcher, WatcherConfig};

const FOLDERS: usize = 300;
const FILES: usize = 15_000;
const IDLE: Duration = Duration::from_secs(61);

#[test]
#[ignore = "takes a minute and only prints"]
fn idle_with_fifteen_thousand_files() {
    let folder = tempfile::tempdir().unwrap();
    fill(folder.path());
    let memory = resident();
    let (sender, events) = channel();
    let layout = Layout { folders: 1, extension: "jsonl".to_owned() };
    let mut config = WatcherConfig::new(layout);
    config.roots = vec![folder.path().to_owned()];
    config.triggers = Some(folder.path().join("triggers"));
    config.poll_only = std::env::var_os("POLL_ONLY").is_some();
    let began = Instant::now();
    let watcher = Watcher::start(config, move |event| sender.send(event).unwrap()).unwrap();
    watcher.resync(1);
    await_barrier(&events);
    println!("start: {FILES} files known after {:?}", began.elapsed());
    println!("memory: {} KiB more", resident().saturating_sub(memory));
    let (before, began) = (processor_time(), Instant::now());
    watcher.resync(2);
    await_barrier(&events);
    let deep = processor_time().saturating_sub(before);
    println!("one full look: {:?}, {deep:?} of a core", began.elapsed());
    let (before, began) = (processor_time(), Instant::now());
    std::thread::sleep(IDLE);
    let spent = processor_time().saturating_sub(before);
    let idle = spent.as_secs_f64() / began.elapsed().as_secs_f64();
    let with_deep = idle + deep.as_secs_f64() / 600.0;
    println!(
        "idle: {spent:?} in {IDLE:?}: {:.4} % of a core, {:.4} % with a full look each 10 min",
        idle * 100.0,
        with_deep * 100.0
    );
}

#[test]
#[ignore = "only prints"]
fn how_soon_an_append_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("project/a.jsonl");
    fs::create_dir(folder.path().join("project")).unwrap();
    let mut file = File::create(&path).unwrap();
    let (sender, events) = channel();
    let mut config = WatcherConfig::new(Layout { folders: 1, extension: "jsonl".to_owned() });
    config.roots = vec![folder.path().to_owned()];
    let watcher = Watcher::start(config, move |event| sender.send(event).unwrap()).unwrap();
    watcher.resync(1);
    await_barrier(&events);
    let mut delays: Vec<_> = (0..300)
        .map(|_| {
            std::thread::sleep(Duration::from_millis(15));
            let began = Instant::now();
            file.write_all(b"{}\n").unwrap();
            while !matches!(events.recv().unwrap(), WatchEvent::Files(_)) {}
            began.elapsed()
        })
        .collect();
    delays.sort_unstable();
    println!("append to event: median {:?}, p99 {:?}", delays[150], delays[297]);
}

/// Old files, as nearly all of a person's transcripts are.
fn fill(root: &Path) {
    let old = SystemTime::now() - Duration::from_secs(72 * 3600);
    for index in 0..FILES {
        let folder = root.join(format!("-home-someone-project-{}", index % FOLDERS));
        fs::create_dir_all(&folder).unwrap();
        let name = format!("0f1e2d3c-4b5a-6978-8796-{index:012}.jsonl");
        let path = folder.join(name);
        fs::write(&path, "{}\n").unwrap();
        File::options().write(true).open(&path).unwrap().set_modified(old).unwrap();
    }
    for folder in fs::read_dir(root).unwrap() {
        File::open(folder.unwrap().path()).unwrap().set_modified(old).unwrap();
    }
    File::open(root).unwrap().set_modified(old).unwrap();
}

fn await_barrier(events: &Receiver<WatchEvent>) {
    while !matches!(events.recv().unwrap(), WatchEvent::Resynced { .. }) {}
}

/// What all threads of this process have used, in nanoseconds.
fn processor_time() -> Duration {
    let tasks = fs::read_dir("/proc/self/task").unwrap();
    let spent = tasks.map(|task| {
        let path = task.unwrap().path().join("schedstat");
        let text = fs::read_to_string(path).unwrap_or_default();
        text.split(' ').next().and_then(|text| text.parse().ok()).unwrap_or(0)
    });
    Duration::from_nanos(spent.sum())
}

fn resident() -> usize {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}
