//! Kill the service at any instruction: nothing is lost, nothing is left behind.
use std::{
    collections::BTreeSet,
    fs,
    path::Path,
    sync::atomic::{AtomicBool, Ordering},
    thread,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use rusqlite::{Connection, OptionalExtension};

use crate::harness::{Service, Transcript, said};

const KILLS: usize = 200;
const GROWING: [&str; 4] = ["grows-a", "grows-b", "grows-c", "grows-d"];
/// This one loses its words again and again.
const SHRINKING: &str = "shrinks";

/// A small generator of numbers: the same seed gives the same deeds.
struct Random(u64);

impl Random {
    fn below(&mut self, end: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % end
    }
}

/// Says its number where the test fails.
struct Seed(u64);

impl Drop for Seed {
    #[expect(clippy::print_stderr, reason = "a failed test says how to repeat it")]
    fn drop(&mut self) {
        if thread::panicking() {
            eprintln!("run again with ENDLESS_TEST_SEED={}", self.0);
        }
    }
}

fn seed() -> Seed {
    let given = std::env::var("ENDLESS_TEST_SEED").ok().and_then(|text| text.parse().ok());
    let time = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_nanos() as u64;
    Seed(given.unwrap_or(time) | 1)
}

/// Writes to all sessions until it is told to stop: whole rows, torn rows, and anew. How many
/// words each growing session has.
fn load(
    growing: &[Transcript],
    shrinking: &Transcript,
    mut random: Random,
    stop: &AtomicBool,
) -> Vec<usize> {
    let mut counts = vec![0; growing.len()];
    let mut to = 0;
    while !stop.load(Ordering::Relaxed) {
        let which = random.below(growing.len() as u64 + 1) as usize;
        if which < growing.len() {
            let row = said(GROWING[which], counts[which]..counts[which] + 1);
            let cut = random.below(row.len() as u64) as usize;
            growing[which].append(&row[..cut]);
            thread::sleep(Duration::from_millis(random.below(3)));
            growing[which].append(&row[cut..]);
            counts[which] += 1;
        } else if random.below(8) > 0 {
            shrinking.append(&said(SHRINKING, to..to + 1));
            to += 1;
        } else {
            let text = said(SHRINKING, to..to + 1);
            to += 1;
            if random.below(2) == 0 { shrinking.rewrite(&text) } else { shrinking.replace(&text) }
        }
        thread::sleep(Duration::from_millis(2 + random.below(6)));
    }
    shrinking.append(&said(SHRINKING, to..to + 1));
    counts
}

/// The numbers of the words that a bottle has.
fn words(text: &str) -> BTreeSet<usize> {
    let lines = text.lines().filter_map(|line| line.strip_prefix("answer "));
    lines.filter_map(|line| line.split(' ').nth(1)?.strip_suffix('.')?.parse().ok()).collect()
}

fn temporaries(folder: &Path) -> Vec<String> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let entry = entry.unwrap();
        if entry.file_type().unwrap().is_dir() {
            found.extend(temporaries(&entry.path()));
        } else if entry.file_name().to_string_lossy().ends_with(".tmp") {
            found.push(entry.path().display().to_string());
        }
    }
    found
}

#[test]
fn killed_at_any_moment_it_loses_no_word_and_leaves_nothing_behind() {
    let seed = seed();
    let mut random = Random(seed.0);
    let mut service = Service::down();
    let growing = GROWING.map(|id| service.transcript("-w", id));
    let shrinking = service.transcript("-w", SHRINKING);
    let stop = AtomicBool::new(false);
    let writer = Random(random.below(u64::MAX) | 1);
    let mut seen = BTreeSet::new();
    let counts = thread::scope(|scope| {
        let load = scope.spawn(|| load(&growing, &shrinking, writer, &stop));
        let end = StopOnDrop(&stop);
        for kill in 0..KILLS {
            service.spawn();
            if kill % 4 == 0 {
                // Some are killed as they start, others as they work.
                service.answers();
            }
            thread::sleep(Duration::from_millis(5 + random.below(56)));
            service.kill();
            seen.extend(words(&service.bottle(SHRINKING).unwrap_or_default()));
            if kill % 4 == 3 {
                covers_what_is_noted(&service, &growing);
            }
        }
        drop(end);
        load.join().unwrap()
    });
    service.start();
    service.sync();
    for (id, count) in GROWING.iter().zip(counts) {
        let bottle = service.current(id);
        assert_eq!(words(&bottle), (0..count).collect(), "{id}");
    }
    let mut kept = words(&service.current(SHRINKING));
    for archived in service.archive() {
        kept.extend(words(&archived));
    }
    let lost: Vec<_> = seen.difference(&kept).collect();
    assert!(lost.is_empty() && seen.len() > 10, "{lost:?} of {} are lost", seen.len());
    service.kill();
    service.start();
    assert_eq!(temporaries(&service.state("")), Vec::<String>::new());
    let database = Connection::open(service.state("endless.db")).unwrap();
    let check: String = database.query_row("PRAGMA integrity_check", [], |row| row.get(0)).unwrap();
    assert_eq!(check, "ok");
    assert_eq!(service.troubles(), "");
}

/// A transcript that is noted as unchanged is not read at the next start: its bottle must have all
/// that it had then.
fn covers_what_is_noted(service: &Service, growing: &[Transcript]) {
    let database = Connection::open(service.state("endless.db")).unwrap();
    for (id, transcript) in GROWING.iter().zip(growing) {
        let sql = "SELECT length FROM known_files WHERE session = ?1";
        let length = database.query_row(sql, [id], |row| row.get::<_, i64>(0));
        let Some(length) = length.optional().unwrap() else { continue };
        let text = fs::read(&transcript.path).unwrap();
        let text = String::from_utf8_lossy(&text[..length as usize]);
        let rows = text.rsplit_once('\n').map_or("", |(rows, _)| rows);
        let (noted, covered) =
            (rows.matches("answer ").count(), words(&service.bottle(id).unwrap()));
        assert!(covered.len() >= noted, "{id}: {} of {noted} words", covered.len());
    }
}

/// Ends the load also where the test fails.
struct StopOnDrop<'a>(&'a AtomicBool);

impl Drop for StopOnDrop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}
