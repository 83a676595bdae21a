//! P3, P4, P5: hooks as the host sees them, from the start of the process to its end.
use std::{
    io::Write,
    path::Path,
    process::{Command, Stdio},
    thread::sleep,
    time::{Duration, Instant},
};

use anyhow::{Context, Result, ensure};

use super::home::{Home, Times};
use crate::{
    row,
    support::{MB, measures, write_transcript},
};

const ID: &str = "hooked";
/// Longer than the schedule lets a bottle rest.
const CALM: Duration = Duration::from_millis(2_500);

/// An event of the host.
fn payload(event: &str, fields: &str) -> String {
    format!(r#"{{"session_id":"{ID}","hook_event_name":"{event}"{fields}}}"#)
}

/// Runs a program with this on its standard input; how long it took, and what it printed.
fn ran(command: &mut Command, input: &str) -> Result<(Duration, Vec<u8>)> {
    let began = Instant::now();
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
    // A program that does not read its input may be gone already.
    child.stdin.take().context("it has an input")?.write_all(input.as_bytes()).ok();
    let output = child.wait_with_output()?;
    let took = began.elapsed();
    ensure!(output.status.success(), "it failed");
    Ok((took, output.stdout))
}

fn hook(home: &Home, input: &str) -> Result<(Duration, Vec<u8>)> {
    ran(home.command(&home.paths.home).args(["hook", "claude-code"]), input)
}

fn times(count: usize) -> usize {
    if measures() { count } else { 2 }
}

/// P4: a hook with nothing to do, against `true`.
pub(crate) fn nothing() -> Result<()> {
    let home = Home::new()?;
    let input = payload("SessionStart", r#","source":"startup""#);
    let (mut bare, mut ours) = (Vec::new(), Vec::new());
    for _ in 0..times(300) {
        bare.push(ran(&mut Command::new("true"), &input)?.0);
        ours.push(hook(&home, &input)?.0);
    }
    let (bare, ours) = (Times::new(bare), Times::new(ours));
    row("`true`", &bare.show(), "");
    row("SessionStart startup", &ours.show(), "");
    let ratio = format!("{:.2}", ours.percentile(50) / bare.percentile(50));
    row("  against `true`, p50", &ratio, "≤ 1.5 (≤ 3)");
    Ok(())
}

/// Hooks with nothing due, and P3: the seal of an idle session.
pub(crate) fn with_service() -> Result<()> {
    let mut home = Home::new()?;
    let megabytes = if measures() { 50 } else { 1 };
    write_transcript(home.transcript(0, ID)?, megabytes * MB, true)?;
    home.start()?;
    home.until_current(1)?;
    sleep(CALM);
    // Before any prompt was announced that is not in the transcript: the barrier holds at once.
    let input = payload("PreCompact", r#","trigger":"manual""#);
    let mut found = Vec::new();
    for _ in 0..times(200) {
        found.push(hook(&home, &input)?.0);
    }
    let what = format!("{megabytes} MB, PreCompact: the seal of an idle session");
    row(&what, &Times::new(found).show(), "p99 ≤ 15 ms (≤ 40 ms)");
    for (event, fields, goal) in [
        ("SessionStart", r#","source":"startup""#, "p99 ≤ 10 ms"),
        ("UserPromptSubmit", r#","prompt":"go on","prompt_id":"p""#, "p99 ≤ 10 ms"),
        ("Stop", r#","last_assistant_message":"it is not there""#, "p99 ≤ 10 ms"),
    ] {
        let input = payload(event, fields);
        let mut found = Vec::new();
        for _ in 0..times(200) {
            let (took, printed) = hook(&home, &input)?;
            ensure!(printed.is_empty(), "{event} printed");
            found.push(took);
        }
        row(&format!("{megabytes} MB, {event}, nothing due"), &Times::new(found).show(), goal);
    }
    printed(&home, megabytes, times(20), "SessionStart compact, printed by the service", "")
}

/// P5: after a compaction, without a service.
pub(crate) fn alone() -> Result<()> {
    let home = Home::new()?;
    let megabytes = if measures() { 50 } else { 1 };
    write_transcript(home.transcript(0, ID)?, megabytes * MB, true)?;
    let what = "SessionStart compact, the service down";
    printed(&home, megabytes, times(20), what, "≤ 60 ms (≤ 150 ms)")
}

/// Prints pointers. Each is for another compaction: none is taken for the one before told twice.
fn printed(home: &Home, megabytes: u64, count: usize, what: &str, goal: &str) -> Result<()> {
    let input = payload("SessionStart", r#","source":"compact""#);
    let mut found = Vec::new();
    for _ in 0..count {
        let (took, printed) = hook(home, &input)?;
        ensure!(!printed.is_empty(), "no pointer was printed");
        found.push(took);
        forget_print(&home.paths.database)?;
    }
    row(&format!("{megabytes} MB, {what}"), &Times::new(found).show(), goal);
    Ok(())
}

fn forget_print(database: &Path) -> Result<()> {
    let database = rusqlite::Connection::open(database)?;
    database.busy_timeout(Duration::from_secs(5))?;
    database.execute("UPDATE deliveries SET printed_at = 0", [])?;
    Ok(())
}
