//! P6: from the start of the service to its first answer, and to that which knows all transcripts.
use std::{
    fs,
    thread::sleep,
    time::{Duration, Instant},
};

use anyhow::{Result, ensure};

use super::home::{Home, Times};
use crate::{
    generate, row,
    support::{MB, SEED, measures},
};

/// How long the service is watched after it knows everything.
const WATCHED: Duration = Duration::from_secs(5);

pub(crate) fn run() -> Result<()> {
    let mut text = Vec::new();
    generate::transcript(&mut text, 2 * MB, SEED, false)?;
    let sizes: Vec<usize> = (1..10).map(|share| share * 100_000).collect();
    let rounds = if measures() { 15 } else { 1 };
    if !measures() {
        return case("20 transcripts", 20, &text, &sizes, rounds);
    }
    case("2,000 transcripts, 1 GB", 2_000, &text, &sizes, rounds)?;
    case("15,000 transcripts of 4 KB", 15_000, &text, &[4_000], rounds)
}

fn case(name: &str, count: usize, text: &[u8], sizes: &[usize], rounds: usize) -> Result<()> {
    let mut home = Home::new()?;
    home.history(count, text, sizes)?;
    let mut times = Vec::new();
    for round in 0..rounds {
        if round > 0 {
            home.stop()?;
            fs::remove_dir_all(&home.paths.home)?;
        }
        times.push(started(&mut home, count as u64)?);
    }
    show(&format!("{name}: first start"), &times);
    watch(&mut home)?;
    times.clear();
    for round in 0..rounds {
        times.push(started(&mut home, count as u64)?);
        if round == 0 {
            show(&format!("{name}: second start"), &times);
            watch(&mut home)?;
        } else {
            home.stop()?;
        }
    }
    if let [_, later @ ..] = times.as_slice()
        && !later.is_empty()
    {
        show(&format!("{name}: later starts"), later);
    }
    Ok(())
}

fn show(name: &str, times: &[(Duration, Duration)]) {
    let (first, all): (Vec<_>, Vec<_>) = times.iter().copied().unzip();
    row(name, &Times::new(first).show(), "≤ 50 ms (≤ 250 ms)");
    row("  until all of them are known", &Times::new(all).show(), "");
}

/// What the service does that nobody asked for, and how long it takes to end.
fn watch(home: &mut Home) -> Result<()> {
    sleep(if measures() { WATCHED } else { Duration::ZERO });
    let written = home.status(false)?.totals.written;
    let figure =
        format!("{:.2} s, {written} bottles written", home.processor_time()?.as_secs_f64());
    row("  processor time in the first 5 s", &figure, "nothing is parsed");
    let began = Instant::now();
    home.stop()?;
    row("  until it has ended", &format!("{:.2} s", began.elapsed().as_secs_f64()), "");
    Ok(())
}

fn started(home: &mut Home, count: u64) -> Result<(Duration, Duration)> {
    let began = Instant::now();
    home.start()?;
    let mut first = None;
    loop {
        if let Ok(status) = home.status(false) {
            let first = *first.get_or_insert_with(|| began.elapsed());
            if status.totals.sessions == count {
                return Ok((first, began.elapsed()));
            }
            // An answer costs the service time.
            sleep(Duration::from_millis(5));
        }
        ensure!(began.elapsed() < Duration::from_secs(60), "the service does not answer");
        sleep(Duration::from_micros(200));
    }
}
