//! P8: what a service takes that knows many transcripts, none of which changes.
use std::{
    thread::sleep,
    time::{Duration, Instant},
};

use anyhow::Result;

use super::home::Home;
use crate::{
    generate, row,
    support::{MB, SEED, measures},
};

/// How often everything is looked at.
const DEEP: f64 = 600.0;

pub(crate) fn run() -> Result<()> {
    let (count, time) = if measures() { (15_000, 60) } else { (50, 1) };
    let mut text = Vec::new();
    generate::transcript(&mut text, MB, SEED, false)?;
    let mut home = Home::new()?;
    home.history(count, &text, &[4_000])?;
    home.start()?;
    home.until(|status| status.totals.sessions == count as u64)?;
    sleep(Duration::from_secs(time.min(3)));

    let (before, began) = (home.processor_time()?, Instant::now());
    sleep(Duration::from_secs(time));
    let taken = (home.processor_time()? - before).as_secs_f64();
    let elapsed = began.elapsed().as_secs_f64();
    let share = 100.0 * taken / elapsed;
    row(
        &format!("{count} transcripts, {elapsed:.0} s"),
        &format!("{share:.3} % of a core ({:.1} ms)", taken * 1_000.0),
        "≤ 0.05 % (≤ 0.5 %)",
    );
    // The look at everything comes seldom; this asks for one.
    let before = home.processor_time()?;
    home.status(true)?;
    let deep = (home.processor_time()? - before).as_secs_f64();
    row(
        "  with the look at all files that comes every 10 min",
        &format!("{:.3} % of a core ({:.0} ms)", share + 100.0 * deep / DEEP, deep * 1_000.0),
        "",
    );
    row("  RSS", &format!("{:.1} MiB", home.memory("VmRSS")?), "");
    Ok(())
}
