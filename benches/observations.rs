//! P12: one session's 1,000 observations out of 500,000 in claude-mem's database, read, placed and
//! rendered.
//!
//! The database is made from the schema of `fixtures/claude-mem`, with rows of the size that models
//! write, five sessions at a time side by side: 0.6 GB in $TMPDIR.
#![expect(clippy::print_stdout, reason = "a bench prints its figures")]

mod generate;

use std::{hint::black_box, path::Path, sync::Arc, time::Duration};

use criterion::{Criterion, criterion_group, criterion_main};
use endless::{
    bottle::{Options, render},
    session::Session,
    sources::claude_mem::{BUSY, ClaudeMem, Place},
    text::time::{Moment, Zone},
    transcript::{Host, parse_line},
};
use rusqlite::{Connection, OpenFlags, params};

/// Observations of a session.
const EACH: i64 = 1_000;
/// Sessions that are observed side by side.
const BESIDE: i64 = 5;
/// The session that is read.
const SESSION: &str = "session-0007";

criterion_group! {
    name = all;
    config = Criterion::default()
        .sample_size(100)
        .warm_up_time(Duration::from_secs(1))
        .measurement_time(Duration::from_secs(5));
    targets = rows
}
criterion_main!(all);

fn rows(criterion: &mut Criterion) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let sessions = if measures() { 500 } else { 10 };
    fill(&folder.path().join("claude-mem.db"), sessions).expect("a database");
    let place = Place { home: None, variable: Some(folder.path().to_owned()) };
    let mut source = ClaudeMem::new(place.clone(), BUSY);
    let observed = source.observed(SESSION).expect("a database").expect("a session");
    assert_eq!(observed.observations.len() as i64, EACH);
    let session = transcript(if measures() { 5_000_000 } else { 1_000_000 });
    let observed = Some(Arc::new(observed));
    let options = Options { zone: Zone::utc(), rendered: Moment(0), earlier: None, observed };
    let without = Options { observed: None, ..options.clone() };

    if measures() {
        println!("work, whatever else the machine does:");
        work("observed", || drop(black_box(source.observed(SESSION))));
        let again = || ClaudeMem::new(place.clone(), BUSY).observed(SESSION);
        work("opened and observed", || drop(black_box(again())));
        work("mark", || drop(black_box(source.mark(SESSION))));
        work("render with them", || drop(black_box(render(&session, &options))));
    }
    let mut group = criterion.benchmark_group(format!("{EACH} of {}", sessions * EACH));
    group.bench_function("observed", |bencher| {
        bencher.iter(|| black_box(source.observed(SESSION)));
    });
    group.bench_function("opened and observed", |bencher| {
        bencher.iter(|| black_box(ClaudeMem::new(place.clone(), BUSY).observed(SESSION)));
    });
    group.bench_function("version", |bencher| bencher.iter(|| black_box(source.version())));
    group.bench_function("mark", |bencher| bencher.iter(|| black_box(source.mark(SESSION))));
    group.bench_function("render with them", |bencher| {
        bencher.iter(|| black_box(render(&session, &options)));
    });
    group.bench_function("render without", |bencher| {
        bencher.iter(|| black_box(render(&session, &without)));
    });
    group.finish();
}

/// Prints how long a core works for one of these, the least of several hundred.
fn work(name: &str, mut once: impl FnMut()) {
    let now = || {
        let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
        Duration::try_from(time).unwrap_or_default()
    };
    let mut times: Vec<Duration> = (0..300)
        .map(|_| {
            let began = now();
            once();
            now().saturating_sub(began)
        })
        .collect();
    times.sort_unstable();
    println!("{name:20} least {:?}, median {:?}", times[0], times[times.len() / 2]);
}

/// Whether to measure. `cargo bench` says so; `cargo test` runs a bench only to see that it works.
fn measures() -> bool {
    std::env::args().any(|argument| argument == "--bench")
}

/// A made-up session of this many bytes.
fn transcript(bytes: u64) -> Session {
    let mut rows = Vec::new();
    generate::transcript(&mut rows, bytes, 1, true).expect("a vector takes all");
    let mut session = Session::new("bench", Host::ClaudeCode);
    for row in rows.split(|byte| *byte == b'\n') {
        parse_line(Host::ClaudeCode, row, 0, &mut |line| session.fold_line(line));
    }
    session
}

/// Makes a database with this many sessions.
fn fill(path: &Path, sessions: i64) -> rusqlite::Result<()> {
    let mut database = Connection::open(path)?;
    database.execute_batch("PRAGMA journal_mode = WAL; PRAGMA synchronous = OFF")?;
    for statement in schema()? {
        database.execute_batch(&statement)?;
    }
    let transaction = database.transaction()?;
    {
        let mut session = transaction.prepare(
            "INSERT INTO sdk_sessions (content_session_id, memory_session_id, project, started_at, \
             started_at_epoch) VALUES (?1, ?2, 'app', '', 1)",
        )?;
        let mut prompt = transaction.prepare(
            "INSERT INTO user_prompts (session_db_id, content_session_id, prompt_number, prompt_text, \
             created_at, created_at_epoch) VALUES (?1, ?2, ?3, ?4, '', ?5)",
        )?;
        let mut row = transaction.prepare(
            "INSERT INTO observations (memory_session_id, project, type, title, subtitle, facts, \
             narrative, concepts, files_read, files_modified, prompt_number, created_at, \
             created_at_epoch, content_hash) VALUES (?1, 'app', 'discovery', ?2, ?3, ?4, ?5, \
             '[\"how-it-works\"]', '[\"src/a.rs\"]', '[]', ?6, '2026-11-30T10:00:00.000Z', ?7, ?8)",
        )?;
        let words = "the reader takes whole records and gives a line for each of them ";
        for first in (0..sessions).step_by(BESIDE as usize) {
            let beside = first..(first + BESIDE).min(sessions);
            for number in beside.clone() {
                let (id, memory) = (format!("session-{number:04}"), format!("memory-{number}"));
                session.execute([&id, &memory])?;
                for turn in 0..20 {
                    let text = format!("prompt {turn}: {}", words.repeat(3));
                    prompt.execute(params![number + 1, id, turn + 1, text, time(turn * 50)])?;
                }
            }
            for index in 0..EACH {
                for number in beside.clone() {
                    let hash = format!("{number:06}{index:010}");
                    row.execute(params![
                        format!("memory-{number}"),
                        format!("Observation {index} of what the reader does"),
                        words,
                        format!("[\"{words}\",\"{words}\",\"{words}\"]"),
                        format!("In file {index} {words}. {}", words.repeat(6)),
                        index / 50 + 1,
                        time(index),
                        hash,
                    ])?;
                }
            }
        }
    }
    transaction.commit()?;
    database.execute_batch("PRAGMA wal_checkpoint(TRUNCATE)")
}

/// Milliseconds of the time at which the transcript begins, and this many steps later.
fn time(step: i64) -> i64 {
    1_796_032_800_000 + step * 1_000
}

/// Tables and indexes as claude-mem 13.25.3 made them; its text search is not ours.
fn schema() -> rusqlite::Result<Vec<String>> {
    let fixture = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("fixtures/claude-mem/store-13.25.3/claude-mem.db");
    let copy = tempfile::tempdir().expect("a temporary folder");
    let path = copy.path().join("copy.db");
    std::fs::copy(fixture, &path).expect("a fixture");
    let database = Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
    let mut statement = database.prepare(
        "SELECT sql FROM sqlite_master WHERE sql IS NOT NULL AND type IN ('table', 'index') AND \
         name NOT LIKE '%fts%' AND name NOT LIKE 'sqlite%' ORDER BY type DESC",
    )?;
    statement.query_map([], |row| row.get(0))?.collect()
}
