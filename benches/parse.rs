//! P1: how fast a transcript is read from its start, against reading its bytes alone.
//!
//! One thread. Each round runs every stage once, so that what disturbs the machine disturbs all of
//! them; stages are told apart by subtraction of medians. The file is in the page cache.
//!
//! `cargo bench --bench parse` makes its input; `cargo bench --bench parse -- FILE` takes another.
#![expect(clippy::print_stdout, reason = "a bench prints its figures")]

mod generate;
mod support;

use std::{
    fs::File,
    hint::black_box,
    io::Read,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use anyhow::Result;
use endless::transcript::{Host, parse_line};
use endless_watchers::{JsonlTailer, TailEvent};

use support::{MB, bottle, measures, megabytes, read, words, write_transcript};

const BUFFER: usize = 256 * 1024;
const ROUNDS: usize = 31;

fn main() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let given: Vec<PathBuf> =
        std::env::args().skip(1).filter(|argument| argument != "--bench").map(Into::into).collect();
    if !measures() {
        let path = write_transcript(folder.path().join("small"), MB, true)?;
        return measure("trial", &path, 1);
    }
    for path in &given {
        measure(&path.display().to_string(), path, ROUNDS)?;
    }
    if given.is_empty() {
        for (name, size, images) in [
            ("with images", 50, true),
            ("without images", 50, false),
            ("with images", 5, true),
            ("with images", 500, true),
        ] {
            let path = write_transcript(folder.path().join("transcript"), size * MB, images)?;
            measure(name, &path, if size > 100 { ROUNDS / 4 } else { ROUNDS })?;
        }
    }
    Ok(())
}

type Stage = fn(&Path) -> Result<Duration>;

/// What is measured; each does all that those before it do, but for the newline scan.
const STAGES: [(&str, Stage); 6] = [
    ("read", read_alone),
    ("newline scan", newlines),
    ("tailer", tailer),
    ("parse", parse),
    ("fold", fold),
    ("render", rendered),
];

fn measure(name: &str, path: &Path, rounds: usize) -> Result<()> {
    let mut times = STAGES.map(|_| Vec::with_capacity(rounds));
    for _ in 0..rounds {
        for ((_, stage), times) in STAGES.iter().zip(&mut times) {
            times.push(stage(path)?.as_secs_f64() * 1_000.0);
        }
    }
    let words = words(&read(path)?);
    println!(
        "{name}: {:.1} MB, words {:.2} MB, {rounds} rounds",
        megabytes(path)?,
        words as f64 / MB as f64
    );
    println!(
        "  up to this stage    min ms   median      max   alone   of reading speed   by minima"
    );
    let limit = median(&mut times[0]);
    let least = times[0][0];
    let mut before = 0.0;
    for ((stage, _), times) in STAGES.iter().zip(&mut times) {
        let middle = median(times);
        println!(
            "  {stage:<16} {:>9.2} {middle:>8.2} {:>8.2} {:>7.2} {:>16.1} % {:>9.1} %",
            times[0],
            times[times.len() - 1],
            middle - before,
            100.0 * limit / middle,
            100.0 * least / times[0],
        );
        // The newline scan is not a part of the tailer's way: both stand on the bare read.
        before = if *stage == "newline scan" { limit } else { middle };
    }
    Ok(())
}

/// The middle of the times, which are sorted afterwards.
fn median(times: &mut [f64]) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

fn read_alone(path: &Path) -> Result<Duration> {
    chunks(path, |_| 0)
}

fn newlines(path: &Path) -> Result<Duration> {
    chunks(path, |chunk| memchr::memchr_iter(b'\n', chunk).count())
}

fn chunks(path: &Path, look: impl Fn(&[u8]) -> usize) -> Result<Duration> {
    let start = Instant::now();
    let mut file = File::open(path)?;
    let mut buffer = vec![0; BUFFER];
    let mut sum = 0;
    loop {
        let got = file.read(&mut buffer)?;
        if got == 0 {
            break;
        }
        sum += look(black_box(&buffer[..got]));
    }
    black_box(sum);
    Ok(start.elapsed())
}

fn tailer(path: &Path) -> Result<Duration> {
    lines(path, |bytes, _| {
        black_box(bytes);
    })
}

fn parse(path: &Path) -> Result<Duration> {
    lines(path, |bytes, offset| {
        parse_line(Host::ClaudeCode, bytes, offset, &mut |line| drop(black_box(line)));
    })
}

fn lines(path: &Path, mut take: impl FnMut(&[u8], u64)) -> Result<Duration> {
    let start = Instant::now();
    JsonlTailer::new(path).read(&mut |event| {
        if let TailEvent::Line { offset, bytes } = event {
            take(bytes, offset);
        }
    })?;
    Ok(start.elapsed())
}

fn fold(path: &Path) -> Result<Duration> {
    let start = Instant::now();
    let session = black_box(read(path)?);
    let time = start.elapsed();
    drop(session);
    Ok(time)
}

fn rendered(path: &Path) -> Result<Duration> {
    let start = Instant::now();
    let session = read(path)?;
    let text = black_box(bottle(&session)).text;
    let time = start.elapsed();
    drop((session, text));
    Ok(time)
}
