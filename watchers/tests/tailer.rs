//! The tailer against one real file: each fault by name.

#![expect(clippy::unwrap_used, reason = "a test helper that fails should stop the test")]

use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::os::unix::fs::{MetadataExt, symlink};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};

use endless_watchers::{
    Checkpoint, FileKind, JsonlTailer, MAX_LINE_BYTES, Piece, ReadOutcome, ReadReport, TailError,
    TailEvent, open_regular, read_range,
};
use tempfile::TempDir;

/// A folder with one file that is followed.
struct Sandbox {
    folder: TempDir,
    tailer: JsonlTailer,
}

impl Sandbox {
    fn new(content: impl AsRef<[u8]>) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.jsonl");
        fs::write(&path, content).unwrap();
        Self { folder, tailer: JsonlTailer::new(path) }
    }

    fn path(&self) -> &Path {
        self.tailer.path()
    }

    fn other(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn write(&self, content: impl AsRef<[u8]>) {
        fs::write(self.path(), content).unwrap();
    }

    fn append(&self, content: impl AsRef<[u8]>) {
        let mut file = OpenOptions::new().append(true).open(self.path()).unwrap();
        file.write_all(content.as_ref()).unwrap();
    }

    fn truncate(&self, length: u64) {
        OpenOptions::new().write(true).open(self.path()).unwrap().set_len(length).unwrap();
    }

    fn replace(&self, content: impl AsRef<[u8]>) {
        fs::write(self.other("new"), content).unwrap();
        fs::rename(self.other("new"), self.path()).unwrap();
    }

    /// Reads once and compares the events, written as text.
    #[track_caller]
    fn check(&mut self, expect: &[&str]) -> ReadOutcome {
        let mut events = Vec::new();
        let outcome = self.tailer.read(&mut |event| events.push(show(event))).unwrap();
        assert_eq!(events, expect);
        outcome
    }

    fn report(&mut self) -> ReadReport {
        match self.tailer.read(&mut |_| ()).unwrap() {
            ReadOutcome::Read(report) => report,
            ReadOutcome::Missing => panic!("the file is missing"),
        }
    }
}

fn show(event: TailEvent<'_>) -> String {
    match event {
        TailEvent::Reset { reason } => format!("reset: {reason:?}"),
        TailEvent::Line { offset, bytes } => format!("{offset}: {}", bytes.escape_ascii()),
        TailEvent::TooLong { offset, length } => format!("{offset}: {length} bytes skipped"),
    }
}

#[test]
fn torn_last_line_appears_once_whole() {
    let mut sandbox = Sandbox::new("one\ntw");
    let outcome = sandbox.check(&["0: one"]);
    let report = ReadReport { bytes: 6, length: 6, waiting: 2, more: false };
    assert_eq!(outcome, ReadOutcome::Read(report));
    assert_eq!(sandbox.tailer.partial(), Some(Piece::Line { offset: 4, bytes: b"tw" }));
    sandbox.append("");
    sandbox.check(&[]);
    sandbox.append("o");
    sandbox.check(&[]);
    sandbox.append("\nthree\n");
    sandbox.check(&["4: two", "8: three"]);
    sandbox.check(&[]);
    assert_eq!(sandbox.tailer.partial(), None);
}

#[test]
fn truncate_resets_offset_and_partial() {
    let mut sandbox = Sandbox::new("one\ntwo\nthr");
    sandbox.check(&["0: one", "4: two"]);
    sandbox.truncate(8);
    sandbox.check(&["reset: Truncated", "0: one", "4: two"]);
    assert_eq!(sandbox.tailer.partial(), None);
    sandbox.append("four\n");
    sandbox.check(&["8: four"]);
    sandbox.truncate(0);
    sandbox.check(&["reset: Truncated"]);
    sandbox.append("five\n");
    sandbox.check(&["0: five"]);
}

#[test]
fn truncate_and_rewrite_longer_resets() {
    let mut sandbox = Sandbox::new("one\ntw");
    sandbox.check(&["0: one"]);
    sandbox.write("1\n2\n3\n4\n5\n");
    sandbox.check(&["reset: Rewritten", "0: 1", "2: 2", "4: 3", "6: 4", "8: 5"]);
}

#[test]
fn a_row_removed_in_place_before_an_append_resets() {
    let head = "h".repeat(300);
    let mut sandbox = Sandbox::new(format!("{head}\nrow to stay\nrow to go\n"));
    let first = format!("0: {head}");
    sandbox.check(&[&first, "301: row to stay", "313: row to go"]);
    sandbox.write(format!("{head}\nrow to stay\nappended later\n"));
    sandbox.check(&["reset: Rewritten", &first, "301: row to stay", "313: appended later"]);
}

#[test]
fn a_rewrite_just_before_a_long_torn_line_resets() {
    let (head, torn) = ("h".repeat(300), "t".repeat(300));
    let mut sandbox = Sandbox::new(format!("{head}\nold\n{torn}"));
    let first = format!("0: {head}");
    sandbox.check(&[&first, "301: old"]);
    sandbox.write(format!("{head}\nnew\n{torn}"));
    sandbox.check(&["reset: Rewritten", &first, "301: new"]);
}

#[test]
fn replace_by_rename_resets() {
    let mut sandbox = Sandbox::new("one\ntw");
    sandbox.check(&["0: one"]);
    sandbox.replace("one\ntwo\n");
    sandbox.check(&["reset: Replaced", "0: one", "4: two"]);
}

#[test]
fn a_missing_file_is_reported_and_its_return_resets() {
    let mut sandbox = Sandbox::new("one\n");
    fs::remove_file(sandbox.path()).unwrap();
    assert_eq!(sandbox.check(&[]), ReadOutcome::Missing);
    sandbox.write("one\n");
    sandbox.check(&["0: one"]);
    fs::rename(sandbox.path(), sandbox.other("away")).unwrap();
    assert_eq!(sandbox.check(&[]), ReadOutcome::Missing);
    assert_eq!(sandbox.check(&[]), ReadOutcome::Missing);
    fs::rename(sandbox.other("away"), sandbox.path()).unwrap();
    sandbox.check(&["reset: Reappeared", "0: one"]);
}

#[test]
fn inode_reuse() {
    let mut sandbox = Sandbox::new("one\n");
    sandbox.check(&["0: one"]);
    let before = fs::metadata(sandbox.path()).unwrap().ino();
    fs::remove_file(sandbox.path()).unwrap();
    sandbox.write("another file\n");
    let reused = fs::metadata(sandbox.path()).unwrap().ino() == before;
    let reset = if reused { "reset: Rewritten" } else { "reset: Replaced" };
    sandbox.check(&[reset, "0: another file"]);
}

#[test]
fn crlf_stays_in_the_bytes() {
    let mut sandbox = Sandbox::new("one\r\n\r\n\0\u{2028}\n");
    sandbox.check(&["0: one\\r", "5: \\r", "7: \\x00\\xe2\\x80\\xa8"]);
}

#[test]
fn line_over_the_limit_is_skipped_and_reported() {
    let mut sandbox = Sandbox::new("one\n0123456789");
    sandbox.tailer = JsonlTailer::with_line_limit(sandbox.path(), 12);
    sandbox.check(&["0: one"]);
    sandbox.append("0123456789");
    sandbox.check(&[]);
    assert_eq!(sandbox.tailer.partial(), Some(Piece::TooLong { offset: 4, length: 20 }));
    sandbox.append("0\ntwelve bytes\n");
    sandbox.check(&["4: 21 bytes skipped", "26: twelve bytes"]);
}

#[test]
fn lines_across_chunks_are_whole() {
    let lines: Vec<String> = (0..9).map(|n| n.to_string().repeat(200_000)).collect();
    let mut sandbox = Sandbox::new(lines.join("\n") + "\n");
    let expect: Vec<String> =
        lines.iter().enumerate().map(|(n, line)| format!("{}: {line}", n * 200_001)).collect();
    sandbox.check(&expect.iter().map(String::as_str).collect::<Vec<_>>());
}

#[test]
fn sparse_file_of_nuls_is_bounded() {
    let mut sandbox = Sandbox::new("");
    let length = 1 << 30;
    sandbox.truncate(length);
    let report = sandbox.report();
    assert_eq!((report.bytes, report.waiting, report.more), (length, length, false));
    assert_eq!(sandbox.tailer.partial(), Some(Piece::TooLong { offset: 0, length }));
    sandbox.append("\nnext\n");
    sandbox.check(&["0: 1073741824 bytes skipped", "1073741825: next"]);
}

#[track_caller]
fn check_refused(path: &Path, expect: FileKind) {
    let refused = |error| matches!(error, TailError::NotRegular { kind, .. } if kind == expect);
    assert!(refused(open_regular(path).unwrap_err()));
    assert!(refused(read_range(path, 0, 1).unwrap_err()));
    assert!(refused(JsonlTailer::new(path).read(&mut |_| ()).unwrap_err()));
}

#[test]
fn fifo_device_directory_symlink_refused_without_hanging() {
    let sandbox = Sandbox::new("one\n");
    symlink(sandbox.path(), sandbox.other("link")).unwrap();
    symlink("nowhere", sandbox.other("dangling")).unwrap();
    let _socket = UnixListener::bind(sandbox.other("socket")).unwrap();
    check_refused(&sandbox.other("link"), FileKind::Symlink);
    check_refused(&sandbox.other("dangling"), FileKind::Symlink);
    check_refused(&sandbox.other("socket"), FileKind::Socket);
    check_refused(sandbox.folder.path(), FileKind::Directory);
    check_refused(Path::new("/dev/null"), FileKind::Device);
    #[cfg(target_os = "linux")]
    {
        use rustix::fs::{CWD, Mode, mkfifoat};
        mkfifoat(CWD, sandbox.other("fifo"), Mode::RUSR | Mode::WUSR).unwrap();
        check_refused(&sandbox.other("fifo"), FileKind::Fifo);
    }
    let error = open_regular(&sandbox.other("link")).unwrap_err().to_string();
    assert!(error.ends_with("link: it is a symbolic link, not a regular file"), "{error}");
}

#[test]
fn a_refused_file_costs_the_tailer_nothing() {
    let mut sandbox = Sandbox::new("one\ntw");
    sandbox.check(&["0: one"]);
    fs::rename(sandbox.path(), sandbox.other("away")).unwrap();
    fs::create_dir(sandbox.path()).unwrap();
    sandbox.tailer.read(&mut |_| ()).unwrap_err();
    fs::remove_dir(sandbox.path()).unwrap();
    fs::rename(sandbox.other("away"), sandbox.path()).unwrap();
    sandbox.append("o\n");
    sandbox.check(&["4: two"]);
}

#[test]
fn a_checkpoint_goes_on_in_the_same_file_only() {
    let mut sandbox = Sandbox::new("one\ntw");
    assert_eq!(sandbox.tailer.checkpoint(), None);
    sandbox.check(&["0: one"]);
    let checkpoint = sandbox.tailer.checkpoint().unwrap();
    let resume = |sandbox: &mut Sandbox, checkpoint: Checkpoint| {
        sandbox.tailer = JsonlTailer::resume(sandbox.path(), checkpoint);
    };
    sandbox.append("o\n");
    resume(&mut sandbox, checkpoint);
    sandbox.check(&["4: two"]);
    assert_eq!(sandbox.tailer.checkpoint().unwrap().offset, 8);
    resume(&mut sandbox, Checkpoint { offset: 5, ..checkpoint });
    sandbox.check(&["reset: Rewritten", "0: one", "4: two"]);
    resume(&mut sandbox, Checkpoint { offset: u64::MAX, ..checkpoint });
    sandbox.check(&["reset: Truncated", "0: one", "4: two"]);
    sandbox.write("ONE\nTWO\n");
    resume(&mut sandbox, checkpoint);
    sandbox.check(&["reset: Rewritten", "0: ONE", "4: TWO"]);
}

#[test]
fn a_range_is_read_whole_or_not_at_all() {
    let sandbox = Sandbox::new("one\ntwo\n");
    assert_eq!(read_range(sandbox.path(), 4, 3).unwrap(), b"two");
    assert_eq!(read_range(sandbox.path(), 8, 0).unwrap(), b"");
    for (offset, length) in [(6, 3), (9, 0), (u64::MAX, 2)] {
        let error = read_range(sandbox.path(), offset, length).unwrap_err();
        assert!(matches!(error, TailError::OutOfRange { .. }), "{error}");
    }
    let error = read_range(sandbox.path(), 0, MAX_LINE_BYTES as u64 + 1).unwrap_err();
    assert!(matches!(error, TailError::RangeTooLong { .. }), "{error}");
    let error = read_range(&sandbox.other("none"), 0, 1).unwrap_err();
    assert!(matches!(error, TailError::Missing { .. }), "{error}");
    drop(File::create(sandbox.other("none")).unwrap());
    assert_eq!(read_range(&sandbox.other("none"), 0, 0).unwrap(), b"");
}
