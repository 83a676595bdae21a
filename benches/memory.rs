//! P9: how much memory a session takes, and how much reading it takes at most.
//!
//! Every case runs in a process of its own: this program once more, with the case's file. Growth is
//! over the same work on an empty file. Figures are the kernel's own (`/proc`), so Linux only.
#![expect(clippy::print_stdout, reason = "a bench prints its figures")]

mod generate;
mod support;

use std::{
    fs::{self, File, OpenOptions},
    hint::black_box,
    io::{self, Seek, SeekFrom, Write},
    path::{Path, PathBuf},
    process::Command,
    time::Instant,
};

use anyhow::{Context, Result, ensure};

use support::{MB, bottle, measures, megabytes, read, words, write_transcript};

const CHILD: &str = "--one-case";
const MIB: f64 = 1_048_576.0;
const GIB: u64 = 1 << 30;

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().collect();
    if let [_, child, path] = arguments.as_slice()
        && child == CHILD
    {
        return one_case(Path::new(path));
    }
    let folder = tempfile::tempdir()?;
    let file = |name: &str| folder.path().join(name);
    let empty = measured(&file_of(file("empty"), |_| Ok(()))?)?;
    println!(
        "                              file    words   Session   of words   peak over empty: read   and render    read   render   bottle"
    );
    println!(
        "                                MB       MB       MiB          ×                     MiB          MiB      ms       ms       MB"
    );
    if !measures() {
        return show("trial", &write_transcript(file("small"), MB, false)?, &empty);
    }
    for (name, size) in [("50 MB", 50), ("500 MB", 500), ("1 GB", 1_000)] {
        show(name, &write_transcript(file("transcript"), size * MB, true)?, &empty)?;
    }
    fs::remove_file(file("transcript"))?;
    show("line of 50 MB", &long_line(file("line"), 50 * MB)?, &empty)?;
    show("line of 150 MB", &long_line(file("line"), 150 * MB)?, &empty)?;
    show("sparse file of 14 GiB", &sparse(file("sparse"), 14 * GIB)?, &empty)
}

/// What the process of a case found; sizes in bytes.
struct Measured {
    before: f64,
    after_read: f64,
    peak_read: f64,
    peak_render: f64,
    words: f64,
    bottle: f64,
    read_ms: f64,
    render_ms: f64,
}

fn show(name: &str, path: &Path, empty: &Measured) -> Result<()> {
    let case = measured(path)?;
    let kept = (case.after_read - case.before) - (empty.after_read - empty.before);
    // Beside a few words the kernel's rounding would be all that the share tells.
    let share =
        if case.words > MB as f64 { format!("{:.2}", kept / case.words) } else { "-".to_owned() };
    println!(
        "{name:<24} {:>9.1} {:>8.2} {:>9.1} {share:>10} {:>23.1} {:>12.1} {:>7.0} {:>8.1} {:>8.2}",
        megabytes(path)?,
        case.words / MB as f64,
        kept / MIB,
        (case.peak_read - empty.peak_read) / MIB,
        (case.peak_render - empty.peak_render) / MIB,
        case.read_ms,
        case.render_ms,
        case.bottle / MB as f64,
    );
    Ok(())
}

fn measured(path: &Path) -> Result<Measured> {
    let output = Command::new(std::env::current_exe()?).arg(CHILD).arg(path).output()?;
    ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout)?;
    let numbers: Vec<f64> = text.split_whitespace().map(str::parse).collect::<Result<_, _>>()?;
    let [before, after_read, peak_read, peak_render, words, bottle, read_ms, render_ms] =
        numbers[..].try_into()?;
    Ok(Measured { before, after_read, peak_read, peak_render, words, bottle, read_ms, render_ms })
}

/// Reads and renders one file, and prints what that took.
fn one_case(path: &Path) -> Result<()> {
    let before = status("VmRSS:")?;
    let start = Instant::now();
    let session = read(path)?;
    let read_ms = start.elapsed().as_secs_f64() * 1_000.0;
    let (after_read, peak_read) = (status("VmRSS:")?, status("VmHWM:")?);
    let start = Instant::now();
    let rendered = black_box(bottle(&session));
    let render_ms = start.elapsed().as_secs_f64() * 1_000.0;
    let peak_render = status("VmHWM:")?;
    let (words, bottle) = (words(&session), rendered.text.len());
    println!(
        "{before} {after_read} {peak_read} {peak_render} {words} {bottle} {read_ms} {render_ms}"
    );
    Ok(())
}

/// A line of this process's status, in bytes.
fn status(key: &str) -> Result<u64> {
    let text = fs::read_to_string("/proc/self/status").context("read /proc: this needs Linux")?;
    let line = text.lines().find_map(|line| line.strip_prefix(key));
    let kilobytes = line.and_then(|rest| rest.trim().strip_suffix(" kB"));
    Ok(kilobytes.context("find a size in /proc/self/status")?.parse::<u64>()? * 1_024)
}

/// A transcript of 1 MB, one line of `bytes` bytes, and 1 MB more.
fn long_line(path: PathBuf, bytes: u64) -> io::Result<PathBuf> {
    file_of(path, |file| {
        generate::transcript(file, MB, support::SEED, false)?;
        file.write_all(br#"{"type":"user","message":{"role":"user","content":[{"type":"tool_result","content":""#)?;
        let piece = vec![b'x'; MB as usize];
        for _ in 0..bytes / MB {
            file.write_all(&piece)?;
        }
        file.write_all(b"\"}]}}\n")?;
        generate::transcript(file, MB, support::SEED + 1, false)
    })
}

/// A transcript of 1 MB, nothing but a hole up to `bytes`, and 1 MB more.
fn sparse(path: PathBuf, bytes: u64) -> io::Result<PathBuf> {
    file_of(path, |file| {
        generate::transcript(file, MB, support::SEED, false)?;
        file.seek(SeekFrom::Start(bytes))?;
        file.write_all(b"\n")?;
        generate::transcript(file, MB, support::SEED + 1, false)
    })
}

fn file_of(path: PathBuf, write: impl FnOnce(&mut File) -> io::Result<()>) -> io::Result<PathBuf> {
    let mut file = OpenOptions::new().write(true).create(true).truncate(true).open(&path)?;
    write(&mut file)?;
    Ok(path)
}
