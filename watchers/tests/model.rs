//! The tailer against a model: any sequence of what other programs do to a file.
//!
//! Invariant under test: after each read, the pieces since the last reset are the whole lines that
//! the file then has. Written text is random and never repeats, so every rewrite shows in the
//! bytes before the place that was read up to; the rewrites that no tailer could see don't occur.

#![expect(clippy::unwrap_used, reason = "a test helper that fails should stop the test")]

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::PathBuf;

use endless_watchers::{JsonlTailer, MAX_LINE_BYTES, Piece, ReadOutcome, TailEvent};
use proptest::prelude::*;
use tempfile::TempDir;

/// A line that was handed out: its offset, then its bytes, or the length of a skipped one.
type Line = (u64, Result<Vec<u8>, u64>);

#[derive(Clone, Debug)]
enum Action {
    AppendLines(Vec<usize>),
    AppendPartial(usize),
    CompletePartial(usize),
    /// To this part of the length, in 256ths.
    Truncate(u8),
    /// In place: keeps this part of the file, then goes on with other lines.
    Rewrite(u8, Vec<usize>),
    /// In place: same length, all bytes new.
    RewriteSameLength,
    /// In place: without the line of this number, counted around.
    RemoveLine(usize),
    /// By rename: keeps this part of the file, then goes on with other lines.
    Replace(u8, Vec<usize>),
    Delete,
    Recreate(Vec<usize>),
    RenameAway,
    RenameBack,
    Read,
}

fn action() -> impl Strategy<Value = Action> {
    let size = || prop_oneof![20 => 0usize..300, 1 => 250_000usize..600_000];
    let lines = move || prop::collection::vec(size(), 0..4);
    let part = || prop_oneof![2 => Just(0), 1 => Just(255), 3 => any::<u8>()];
    prop_oneof![
        6 => lines().prop_map(Action::AppendLines),
        4 => size().prop_map(Action::AppendPartial),
        4 => size().prop_map(Action::CompletePartial),
        2 => part().prop_map(Action::Truncate),
        2 => (part(), lines()).prop_map(|(part, lines)| Action::Rewrite(part, lines)),
        1 => Just(Action::RewriteSameLength),
        2 => any::<usize>().prop_map(Action::RemoveLine),
        2 => (part(), lines()).prop_map(|(part, lines)| Action::Replace(part, lines)),
        1 => Just(Action::Delete),
        2 => lines().prop_map(Action::Recreate),
        1 => Just(Action::RenameAway),
        2 => Just(Action::RenameBack),
        8 => Just(Action::Read),
    ]
}

/// Text that never repeats: the output of splitmix64, without newlines.
struct Writer(u64);

impl Writer {
    fn text(&mut self, length: usize) -> Vec<u8> {
        let byte = |state: &mut u64| {
            *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let mixed = (*state ^ (*state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            (mixed >> 56) as u8
        };
        (0..length).map(|_| byte(&mut self.0)).map(|b| if b == b'\n' { b' ' } else { b }).collect()
    }

    fn lines(&mut self, sizes: &[usize]) -> Vec<u8> {
        sizes.iter().flat_map(|size| [self.text(*size), vec![b'\n']].concat()).collect()
    }
}

fn part_of(content: &[u8], part: u8) -> &[u8] {
    &content[..content.len() * usize::from(part) / 255]
}

fn without_line(content: &[u8], number: usize) -> Vec<u8> {
    let mut lines: Vec<&[u8]> = content.split_inclusive(|&byte| byte == b'\n').collect();
    if !lines.is_empty() {
        lines.remove(number % lines.len());
    }
    lines.concat()
}

/// The real file, the model of it, and what the tailer has handed out.
struct Experiment {
    _folder: TempDir,
    path: PathBuf,
    away: PathBuf,
    writer: Writer,
    /// What the path holds; what the name it was moved to holds.
    content: Option<Vec<u8>>,
    moved: Option<Vec<u8>>,
    /// Something other than an append happened since the last read.
    disturbed: bool,
    line_limit: usize,
    tailer: JsonlTailer,
    delivered: Vec<Line>,
}

impl Experiment {
    fn new(line_limit: usize) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.jsonl");
        Self {
            away: folder.path().join("away"),
            _folder: folder,
            tailer: JsonlTailer::with_line_limit(&path, line_limit),
            path,
            writer: Writer(0),
            content: None,
            moved: None,
            disturbed: false,
            line_limit,
            delivered: Vec::new(),
        }
    }

    fn perform(&mut self, action: &Action) {
        let held = self.content.clone();
        let held = held.as_deref();
        match (action, held) {
            (Action::AppendLines(sizes), Some(_)) => {
                let lines = self.writer.lines(sizes);
                self.append(&lines);
            }
            (Action::AppendPartial(size), Some(_)) => {
                let text = self.writer.text(*size);
                self.append(&text);
            }
            (Action::CompletePartial(size), Some(_)) => {
                let line = self.writer.lines(&[*size]);
                self.append(&line);
            }
            (Action::Truncate(part), Some(held)) => self.truncate(part_of(held, *part)),
            (Action::Rewrite(part, sizes), Some(held)) => {
                let new = [part_of(held, *part), &self.writer.lines(sizes)].concat();
                self.rewrite(new);
            }
            (Action::RewriteSameLength, Some(held)) => {
                let new = self.writer.text(held.len());
                self.rewrite(new);
            }
            (Action::RemoveLine(number), Some(held)) => self.rewrite(without_line(held, *number)),
            (Action::Replace(part, sizes), held) => {
                let kept = part_of(held.unwrap_or_default(), *part);
                let new = [kept, &self.writer.lines(sizes)].concat();
                self.replace(new);
            }
            (Action::Recreate(sizes), None) => {
                let new = self.writer.lines(sizes);
                self.rewrite(new);
            }
            (Action::Read, _) => self.read(),
            _ => self.rename_or_delete(action),
        }
    }

    fn rename_or_delete(&mut self, action: &Action) {
        match action {
            Action::Delete if self.content.take().is_some() => {
                fs::remove_file(&self.path).unwrap();
            }
            Action::RenameAway if self.content.is_some() => {
                fs::rename(&self.path, &self.away).unwrap();
                self.moved = self.content.take();
            }
            Action::RenameBack if self.moved.is_some() => {
                fs::rename(&self.away, &self.path).unwrap();
                self.content = self.moved.take();
            }
            _ => return,
        }
        self.disturbed = true;
    }

    fn append(&mut self, bytes: &[u8]) {
        let mut file = OpenOptions::new().append(true).open(&self.path).unwrap();
        file.write_all(bytes).unwrap();
        self.content.as_mut().unwrap().extend_from_slice(bytes);
    }

    fn truncate(&mut self, rest: &[u8]) {
        let file = OpenOptions::new().write(true).open(&self.path).unwrap();
        file.set_len(rest.len() as u64).unwrap();
        self.content = Some(rest.to_vec());
        self.disturbed = true;
    }

    fn rewrite(&mut self, new: Vec<u8>) {
        fs::write(&self.path, &new).unwrap();
        self.content = Some(new);
        self.disturbed = true;
    }

    fn replace(&mut self, new: Vec<u8>) {
        let sibling = self.path.with_extension("new");
        fs::write(&sibling, &new).unwrap();
        fs::rename(&sibling, &self.path).unwrap();
        self.content = Some(new);
        self.disturbed = true;
    }

    fn read(&mut self) {
        let delivered = &mut self.delivered;
        let mut resets = 0;
        let outcome = self.tailer.read(&mut |event| match event {
            TailEvent::Reset { .. } => {
                resets += 1;
                delivered.clear();
            }
            TailEvent::Line { offset, bytes } => delivered.push((offset, Ok(bytes.to_vec()))),
            TailEvent::TooLong { offset, length } => delivered.push((offset, Err(length))),
        });
        assert!(resets == 0 || self.disturbed, "reset without a cause");
        self.disturbed &= self.content.is_none();
        self.check(outcome.unwrap());
    }

    fn check(&self, outcome: ReadOutcome) {
        let ReadOutcome::Read(report) = outcome else {
            assert_eq!(self.content, None, "the file was reported missing");
            return;
        };
        let content = self.content.as_deref().expect("the file was reported present");
        let (lines, tail) = reference(content, self.line_limit);
        // Not assert_eq: the lines may be half a megabyte long.
        assert!(self.delivered == lines, "other lines than the file has");
        assert!(self.tailer.partial().map(own) == tail, "another torn line than the file has");
        assert_eq!((report.length, report.more), (content.len() as u64, false));
    }
}

fn own(piece: Piece<'_>) -> Line {
    match piece {
        Piece::Line { offset, bytes } => (offset, Ok(bytes.to_vec())),
        Piece::Long { offset, length } | Piece::TooLong { offset, length } => (offset, Err(length)),
    }
}

fn reference(content: &[u8], limit: usize) -> (Vec<Line>, Option<Line>) {
    let mut offset = 0;
    let mut lines = Vec::new();
    for line in content.split(|&byte| byte == b'\n') {
        let length = line.len() as u64;
        lines.push((offset, if line.len() > limit { Err(length) } else { Ok(line.to_vec()) }));
        offset += length + 1;
    }
    let tail = lines.pop().filter(|(_, line)| *line != Ok(Vec::new()));
    (lines, tail)
}

proptest! {
    #[test]
    fn delivered_lines_are_the_lines_of_the_file(
        line_limit in prop::sample::select(vec![200, MAX_LINE_BYTES]),
        actions in prop::collection::vec(action(), 1..60),
    ) {
        let mut experiment = Experiment::new(line_limit);
        experiment.perform(&Action::Recreate(vec![10, 20]));
        for action in &actions {
            experiment.perform(action);
        }
        experiment.perform(&Action::Read);
    }
}
