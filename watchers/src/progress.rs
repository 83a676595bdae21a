//! How far one file was read, and how reading goes on from there.
//!
//! Invariant: the splitter has taken exactly the bytes `0..position`, or the lines before a
//! checkpoint; both fingerprints cover the last bytes before their place. No byte is taken unless
//! the bytes read in one go before it are the ones that were taken last.
//! Refuses: to start again by itself (it says why it should), and to keep the file open.

use std::fs::File;
use std::path::{Path, PathBuf};

use crate::identity::{FileHead, FileIdentity, Fingerprint, IdentityChange, fill_at};
use crate::lines::{LineSplitter, Piece};
use crate::open::{TailError, open_regular, read_error};
use crate::tailer::{Checkpoint, ResetReason};

/// How many bytes before a place are compared before reading goes on from it.
const TRAIL_LENGTH: u16 = 64;

/// How much is read at once.
const CHUNK_BYTES: usize = 256 * 1024;

/// The file, open for one read, and the look at it that this read goes by.
pub(crate) struct Source {
    path: PathBuf,
    file: File,
    head: FileHead,
}

impl Source {
    pub(crate) fn open(path: &Path) -> Result<Self, TailError> {
        let file = open_regular(path)?;
        let head = FileHead::read(&file).map_err(|source| read_error(path, source))?;
        Ok(Self { path: path.to_owned(), file, head })
    }

    pub(crate) fn head(&self) -> &FileHead {
        &self.head
    }

    pub(crate) fn length_now(&self) -> Result<u64, TailError> {
        let metadata = self.file.metadata().map_err(|source| read_error(&self.path, source))?;
        Ok(metadata.len())
    }

    fn fill(&self, buffer: &mut [u8], offset: u64) -> Result<usize, TailError> {
        fill_at(&self.file, buffer, offset).map_err(|source| read_error(&self.path, source))
    }

    /// The line at this place; `None` if there is no such line now.
    fn line(&self, offset: u64, length: u64) -> Result<Option<Vec<u8>>, TailError> {
        let mut line = vec![0; usize::try_from(length).unwrap_or(usize::MAX)];
        let got = self.fill(&mut line, offset)?;
        Ok((got == line.len() && memchr::memchr(b'\n', &line).is_none()).then_some(line))
    }

    /// Whether the bytes before `place` still are those of the fingerprint. One that covers fewer
    /// bytes than it should (a damaged checkpoint) never fits.
    fn shows(&self, trail: Fingerprint, place: u64) -> Result<bool, TailError> {
        let length = place.min(TRAIL_LENGTH.into());
        if u64::from(trail.length) != length {
            return Ok(false);
        }
        let mut buffer = [0; TRAIL_LENGTH as usize];
        let before = &mut buffer[..trail.length.into()];
        let got = self.fill(before, place - length)?;
        Ok(trail.begins(&before[..got]))
    }
}

/// What was read of a file, and by what that is known again.
#[derive(Debug)]
pub(crate) struct Progress {
    identity: FileIdentity,
    splitter: LineSplitter,
    /// The last bytes before the torn line.
    before_line: Fingerprint,
    /// The last bytes read, the torn line included.
    before_position: Fingerprint,
}

impl Progress {
    /// Nothing is read yet. The prefix of the identity comes from the bytes that will be read.
    pub(crate) fn start(head: &FileHead, line_limit: usize) -> Self {
        let prefix = Fingerprint::EMPTY;
        Self {
            identity: FileIdentity { device: head.device, inode: head.inode, prefix },
            splitter: LineSplitter::new(0, line_limit),
            before_line: Fingerprint::EMPTY,
            before_position: Fingerprint::EMPTY,
        }
    }

    pub(crate) fn resume(checkpoint: &Checkpoint, line_limit: usize) -> Self {
        Self {
            identity: checkpoint.identity,
            splitter: LineSplitter::new(checkpoint.offset, line_limit),
            before_line: checkpoint.before,
            before_position: checkpoint.before,
        }
    }

    pub(crate) fn checkpoint(&self) -> Checkpoint {
        Checkpoint {
            identity: self.identity,
            offset: self.splitter.offset(),
            before: self.before_line,
        }
    }

    pub(crate) fn splitter(&self) -> &LineSplitter {
        &self.splitter
    }

    /// Why reading can't go on in this file; `None` if it can.
    pub(crate) fn change(&self, source: &Source) -> Result<Option<ResetReason>, TailError> {
        let position = self.splitter.position();
        let identity = self.identity.change(&source.head);
        if identity == Some(IdentityChange::OtherFile) {
            return Ok(Some(ResetReason::Replaced));
        }
        if source.head.length < position {
            return Ok(Some(ResetReason::Truncated));
        }
        let same = identity.is_none()
            && source.shows(self.before_line, self.splitter.offset())?
            && source.shows(self.before_position, position)?;
        Ok((!same).then_some(ResetReason::Rewritten))
    }

    /// Reads to the length that the source had when it was opened. A reason means that the file
    /// changed meanwhile: what was handed out is void.
    ///
    /// Each chunk is read with the trail before it, so that both come from one state of the file.
    pub(crate) fn advance(
        &mut self,
        source: &Source,
        sink: &mut impl FnMut(Piece<'_>),
    ) -> Result<Option<ResetReason>, TailError> {
        let length = source.head.length;
        let room = length.saturating_sub(self.splitter.position()) + u64::from(TRAIL_LENGTH);
        let mut buffer = vec![0; at_most(room, CHUNK_BYTES)];
        while self.splitter.position() < length {
            let trail = usize::from(self.before_position.length);
            let start = self.splitter.position() - trail as u64;
            let wanted = at_most(length - start, buffer.len());
            let got = source.fill(&mut buffer[..wanted], start)?;
            if got < trail {
                return Ok(Some(ResetReason::Truncated));
            }
            if !self.before_position.begins(&buffer[..got]) {
                return Ok(Some(ResetReason::Rewritten));
            }
            if got == trail {
                break;
            }
            if !self.take_from(source, &buffer[..got], trail, sink) {
                return Ok(Some(ResetReason::Rewritten));
            }
        }
        self.splitter.rest();
        Ok(None)
    }

    /// Takes bytes; lines too long to be held are read again at their place. False where they are
    /// not there any more.
    fn take_from(
        &mut self,
        source: &Source,
        buffer: &[u8],
        trail: usize,
        sink: &mut impl FnMut(Piece<'_>),
    ) -> bool {
        let mut is_there = true;
        self.take(buffer, trail, &mut |piece| match piece {
            Piece::Long { offset, length } => match source.line(offset, length) {
                Ok(Some(line)) => sink(Piece::Line { offset, bytes: &line }),
                Ok(None) => is_there = false,
                // The line is passed already: it can only be had by beginning again.
                Err(_) => is_there = false,
            },
            piece => sink(piece),
        });
        is_there
    }

    /// Takes the bytes of `buffer` after the trail, which were taken before.
    fn take(&mut self, buffer: &[u8], trail: usize, sink: &mut impl FnMut(Piece<'_>)) {
        let position = self.splitter.position();
        self.splitter.push(&buffer[trail..], sink);
        self.identity.extend(position, &buffer[trail..]);
        self.before_position = Fingerprint::of_last(buffer, TRAIL_LENGTH);
        if let Some(ended) = self.splitter.offset().checked_sub(position).filter(|n| *n > 0) {
            let line = trail + at_most(ended, buffer.len() - trail);
            self.before_line = Fingerprint::of_last(&buffer[..line], TRAIL_LENGTH);
        }
    }
}

fn at_most(wanted: u64, limit: usize) -> usize {
    usize::try_from(wanted).map_or(limit, |wanted| wanted.min(limit))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    /// Reads `before`, then changes the file after the look and the checks of a second read.
    fn change_during_a_read(before: &[u8], seen: &[u8], then: &[u8]) -> Option<ResetReason> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.jsonl");
        fs::write(&path, before).unwrap();
        let first = Source::open(&path).unwrap();
        let mut progress = Progress::start(first.head(), 1 << 20);
        assert_eq!(progress.advance(&first, &mut |_| ()).unwrap(), None);
        fs::write(&path, seen).unwrap();
        let second = Source::open(&path).unwrap();
        assert_eq!(progress.change(&second).unwrap(), None);
        fs::write(&path, then).unwrap();
        let mut handed = 0;
        let reason = progress.advance(&second, &mut |_| handed += 1).unwrap();
        assert!(reason.is_none() || handed == 0, "lines of a changed file were handed out");
        reason
    }

    #[test]
    fn a_file_cut_between_look_and_read_gives_no_wrong_line() {
        let seen = b"one\ntwo\nthree\n";
        assert_eq!(change_during_a_read(b"one\ntw", seen, b"one"), Some(ResetReason::Truncated));
        assert_eq!(change_during_a_read(b"one\ntw", seen, b"one\ntw"), None);
        assert_eq!(change_during_a_read(b"one\ntw", seen, b"one\ntwo\nth"), None);
    }

    #[test]
    fn a_file_rewritten_between_look_and_read_gives_no_wrong_line() {
        let (before, seen) = (b"one\ntw", b"one\ntwo\nthree\n");
        let reason = change_during_a_read(before, seen, b"ONE\nTWO\nTHREE\n");
        assert_eq!(reason, Some(ResetReason::Rewritten));
    }

    #[test]
    fn a_read_ends_at_the_length_seen_at_its_start() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.jsonl");
        fs::write(&path, b"one\n").unwrap();
        let source = Source::open(&path).unwrap();
        fs::write(&path, b"one\ntwo\n").unwrap();
        let mut progress = Progress::start(source.head(), 1 << 20);
        assert_eq!(progress.advance(&source, &mut |_| ()).unwrap(), None);
        assert_eq!(progress.splitter().position(), 4);
        assert_eq!(source.length_now().unwrap(), 8);
    }
}
