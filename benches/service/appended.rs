//! P2: from a line appended to a session to its bottle renamed.
use std::{
    fs::{self, File},
    io::Write,
    os::unix::fs::MetadataExt,
    path::Path,
    thread::sleep,
    time::{Duration, Instant},
};

use anyhow::{Result, ensure};

use super::{
    home::{Home, Times},
    rows::Rows,
};
use crate::{
    row,
    support::{MB, measures, write_transcript},
};

/// How exactly a rename is timed; whoever looks without pause takes a processor from the service.
const LOOK: Duration = Duration::from_micros(50);
const ID: &str = "appended";

pub(crate) fn run() -> Result<()> {
    let cases: &[(u64, u32)] = if measures() { &[(50, 60), (5, 60)] } else { &[(1, 2)] };
    for (megabytes, times) in cases {
        case(*megabytes, *times)?;
    }
    Ok(())
}

fn case(megabytes: u64, times: u32) -> Result<()> {
    let mut home = Home::new()?;
    let path = write_transcript(home.transcript(0, ID)?, megabytes * MB, true)?;
    let mut rows = Rows::after(&path)?;
    let mut transcript = File::options().append(true).open(&path)?;
    home.start()?;
    home.until_current(1)?;
    let bottle = home.paths.bottles.join(format!("{ID}.md"));
    let size = fs::metadata(&bottle)?.len();
    // No session writes more than a megabyte a second: a big bottle has to rest that long.
    let rest = Duration::from_millis(1_200.max(size / 1_000 + 200));
    sleep(rest);

    let mut found = Vec::new();
    let before = home.processor_time()?;
    for number in 0..times {
        // Not in step with anything that looks by itself, four times a second.
        sleep(rest + Duration::from_millis(u64::from(number * 37 % 250)));
        found.push(appended(&mut transcript, &rows.next(), &bottle)?);
    }
    let taken = (home.processor_time()? - before).as_secs_f64() * 1_000.0 / f64::from(times);
    let what =
        format!("{megabytes} MB, bottle of {:.2} MB, {times} times", size as f64 / MB as f64);
    row(&what, &Times::new(found).show(), "p50 ≤ 4 ms, p99 ≤ 10 ms (p50 ≤ 8 ms)");
    row("  processor time for each, pauses included", &format!("{taken:.2} ms"), "");
    Ok(())
}

/// Appends a line, and waits until another bottle stands in the old one's place.
fn appended(transcript: &mut File, line: &str, bottle: &Path) -> Result<Duration> {
    let stamp = || fs::metadata(bottle).map(|data| (data.ino(), data.mtime_nsec()));
    let old = stamp()?;
    let began = Instant::now();
    transcript.write_all(line.as_bytes())?;
    while stamp()? == old {
        ensure!(began.elapsed() < Duration::from_secs(20), "no new bottle");
        sleep(LOOK);
    }
    Ok(began.elapsed())
}
