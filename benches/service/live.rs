//! P7: what the service holds for sessions that are all live.
use std::{fs::File, io::Write};

use anyhow::Result;
use endless::engine::request::Status;

use super::{home::Home, rows::Rows};
use crate::{
    generate, row,
    support::{MB, measures, read, words},
};

const MIB: f64 = 1_048_576.0;

pub(crate) fn run() -> Result<()> {
    let (count, size) = if measures() { (100, 5 * MB) } else { (3, MB / 2) };
    let mut home = Home::new()?;
    let mut said = 0;
    for number in 0..count {
        let path = home.transcript(number / 10, &format!("live-{number}"))?;
        generate::transcript(&mut File::create(&path)?, size, number as u64, true)?;
        said += words(&read(&path)?);
    }
    home.start()?;
    let status = home.until_current(count as u64)?;
    show(&home, "read, bottles written", said, &status)?;
    for number in 0..count {
        let path = home.transcript(number / 10, &format!("live-{number}"))?;
        let row = Rows::after(&path)?.next();
        File::options().append(true).open(&path)?.write_all(row.as_bytes())?;
    }
    let status = home.until_current(count as u64)?;
    show(&home, "grown by a line, bottles written again", said, &status)
}

fn show(home: &Home, what: &str, said: usize, status: &Status) -> Result<()> {
    let facts = status.sessions.iter().filter_map(|session| session.facts.as_ref());
    let kept = facts.map(|facts| facts.kept).sum::<u64>() as f64 / MIB;
    let said = said as f64 / MIB;
    let (now, most) = (home.memory("VmRSS")?, home.memory("VmHWM")?);
    let sessions = status.totals.resident;
    row(
        &format!("{sessions} sessions {what}: RSS"),
        &format!("{now:.1} MiB (most {most:.1})"),
        "≤ 48 MiB (≤ 96 MiB)",
    );
    let limit = 1.5 * said + 16.0;
    row("  words", &format!("{said:.1} MiB: ≤ {limit:.1} MiB"), "≤ 1.5 × words + 16 MiB");
    row("  kept, by the service's own count", &format!("{kept:.1} MiB"), "");
    Ok(())
}
