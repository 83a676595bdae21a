//! P10: many sessions that are written to at once, and whether a word is lost.
use std::{
    collections::HashMap,
    fs::{self, File},
    io::Write,
    path::PathBuf,
    thread::sleep,
    time::{Duration, Instant, SystemTime},
};

use anyhow::{Context, Result, ensure};
use endless::bottle::{Item, read_back, same_but_rendered};

use super::home::{Home, Times};
use crate::{
    generate, row,
    support::{MB, measures, read},
};

/// Lines that a session gets in a second.
const RATE: usize = 10;

pub(crate) fn run() -> Result<()> {
    let (count, seconds) = if measures() { (100, 60) } else { (3, 1) };
    let mut home = Home::new()?;
    let mut writers = Vec::new();
    for number in 0..count {
        let path = home.transcript(number / 10, &format!("busy-{number}"))?;
        writers.push(Writer::new(path, number as u64, seconds * RATE)?);
    }
    home.start()?;
    home.until_current(count as u64)?;
    let began_with = home.status(false)?.totals.written;
    let before = home.processor_time()?;
    let began = Instant::now();
    let mut ages = Vec::new();
    let pause = Duration::from_secs(1) / (count * RATE) as u32;
    for step in 0..seconds * RATE {
        for (number, writer) in writers.iter_mut().enumerate() {
            let due = pause * (step * count + number) as u32;
            sleep(due.saturating_sub(began.elapsed()));
            writer.write(step)?;
        }
        if step >= RATE && step % RATE == 0 {
            let age = |writer: &Writer| writer.age_of_bottle(&home);
            ages.extend(writers.iter().map(age).collect::<Result<Vec<_>>>()?);
        }
    }
    let (elapsed, taken) = (began.elapsed().as_secs_f64(), home.processor_time()? - before);
    let ended = Instant::now();
    home.until_current(count as u64)?;
    let settled = ended.elapsed();
    let written = home.status(false)?.totals.written - began_with;

    let bytes: usize = writers.iter().map(|writer| writer.added).sum();
    let share = 100.0 * taken.as_secs_f64() / elapsed;
    row(
        &format!("{count} sessions, {RATE} lines a second each, {elapsed:.0} s"),
        &format!("{share:.1} % of a core"),
        "≤ 20 %",
    );
    row("  appended", &format!("{:.1} MB/s", bytes as f64 / MB as f64 / elapsed), "");
    row("  bottles written", &format!("{:.0} a second", written as f64 / elapsed), "");
    row("  age of a bottle meanwhile", &Times::new(ages).show(), "");
    row("  until all bottles are current", &format!("{:.2} s", settled.as_secs_f64()), "");
    row("  RSS", &format!("{:.1} MiB", home.memory("VmRSS")?), "");
    let (mut differ, mut lost, mut messages) = (0, 0, 0);
    for writer in &writers {
        let checked = writer.check(&home)?;
        differ += usize::from(checked.differs);
        lost += checked.lost;
        messages += checked.messages;
    }
    row("  bottles that are not as a cold render", &format!("{differ} of {count}"), "0");
    row("  messages lost", &format!("{lost} of {messages}"), "0");
    Ok(())
}

/// A session that is written to.
struct Writer {
    path: PathBuf,
    file: File,
    lines: Vec<Vec<u8>>,
    added: usize,
}

struct Checked {
    differs: bool,
    lost: usize,
    messages: usize,
}

impl Writer {
    /// Writes a session of 1 MB, to which lines are to come.
    fn new(path: PathBuf, seed: u64, lines: usize) -> Result<Self> {
        let mut text = Vec::new();
        generate::transcript(&mut text, if measures() { 8 } else { 2 } * MB, seed, false)?;
        let half = memchr::memchr(b'\n', &text[MB as usize..]).context("find a line")?;
        let (before, after) = text.split_at(MB as usize + half + 1);
        fs::write(&path, before)?;
        let file = File::options().append(true).open(&path)?;
        let all = after.split_inclusive(|byte| *byte == b'\n').map(<[u8]>::to_vec);
        let lines: Vec<_> = all.take(lines).collect();
        Ok(Self { path, file, lines, added: 0 })
    }

    fn write(&mut self, step: usize) -> Result<()> {
        let line = self.lines.get(step).context("make more lines")?;
        self.file.write_all(line)?;
        self.added += line.len();
        Ok(())
    }

    fn bottle(&self, home: &Home) -> Result<PathBuf> {
        let name = self.path.with_extension("md");
        Ok(home.paths.bottles.join(name.file_name().context("find a name")?))
    }

    fn age_of_bottle(&self, home: &Home) -> Result<Duration> {
        let changed = fs::metadata(self.bottle(home)?)?.modified()?;
        Ok(SystemTime::now().duration_since(changed).unwrap_or_default())
    }

    /// Compares the bottle with a cold render, and with the words themselves.
    fn check(&self, home: &Home) -> Result<Checked> {
        let bottle = fs::read_to_string(self.bottle(home)?)?;
        let mut command = home.command(&home.folder("cold"));
        let output = command.args(["render", "--stdout"]).arg(&self.path).output()?;
        ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let cold = String::from_utf8(output.stdout)?;

        let mut there: HashMap<String, usize> = HashMap::new();
        for item in read_back(&bottle).context("read a bottle")? {
            if let Item::Message { text, .. } = item {
                *there.entry(text).or_default() += 1;
            }
        }
        let session = read(&self.path)?;
        let layout = session.layout();
        let (mut lost, mut messages) = (0, 0);
        for message in layout.messages() {
            messages += 1;
            match there.get_mut(message.text.as_ref()) {
                Some(count) if *count > 0 => *count -= 1,
                _ => lost += 1,
            }
        }
        Ok(Checked { differs: !same_but_rendered(&bottle, &cold), lost, messages })
    }
}
