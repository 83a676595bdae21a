//! Splits a stream of bytes into lines. Pure: never touches a file.
//!
//! Bytes pushed in any chunks give the same lines at the same offsets. A line that lies wholly in
//! one chunk is handed out as a slice of it; only a line that crosses chunks is copied.
//!
//! Invariant: `offset` only ever moves past the `\n` that ended a line; a torn last line waits.
//! Memory: at most [`HELD_BYTES`] of one line. A longer one is counted while it streams past, and
//! reported by its place: within `limit` as one to be read again, beyond it as one to be skipped.
//! Refuses: to split on anything but `\n`, to strip a `\r`, to judge what a line holds.

use memchr::memchr_iter;

/// The longest line that is kept in memory: 64 MiB.
pub const MAX_LINE_BYTES: usize = 64 * 1024 * 1024;

/// The longest line that is held while its end is looked for: 16 MiB.
pub const HELD_BYTES: usize = 16 * 1024 * 1024;

/// Room that the carry buffer may keep between lines of one read; more is given back.
const KEPT_CAPACITY: usize = 8 * 1024 * 1024;
/// Room that it may keep between reads.
const RESTING_CAPACITY: usize = 64 * 1024;

/// A line, or what is known of one that was too long to keep.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Piece<'a> {
    /// A line within the limit.
    Line {
        /// Where its first byte stands in the stream.
        offset: u64,
        /// The line without its `\n`; a `\r` stays.
        bytes: &'a [u8],
    },
    /// A line within the limit that was too long to be held: read it at its place.
    Long {
        /// Where its first byte stands in the stream.
        offset: u64,
        /// Its length without the `\n`.
        length: u64,
    },
    /// A line over the limit, skipped.
    TooLong {
        /// Where its first byte stands in the stream.
        offset: u64,
        /// Its length without the `\n`, as `bytes.len()` would be.
        length: u64,
    },
}

/// Cuts pushed chunks into lines; see the module header.
#[derive(Debug)]
pub struct LineSplitter {
    /// Start of the line that is now being gathered.
    offset: u64,
    limit: usize,
    pending: Pending,
}

/// The line that has not ended yet.
#[derive(Debug)]
enum Pending {
    Kept(Vec<u8>),
    Skipped(u64),
}

impl LineSplitter {
    /// A splitter for a stream whose next byte stands at `offset`, which begins a line.
    /// Lines over `limit` bytes are skipped: pass [`MAX_LINE_BYTES`] unless testing.
    pub fn new(offset: u64, limit: usize) -> Self {
        Self { offset, limit, pending: Pending::Kept(Vec::new()) }
    }

    /// Takes the next bytes of the stream and hands every line that ends in them to `sink`.
    pub fn push(&mut self, chunk: &[u8], sink: &mut impl FnMut(Piece<'_>)) {
        let mut start = 0;
        for end in memchr_iter(b'\n', chunk) {
            self.end_line(&chunk[start..end], sink);
            start = end + 1;
        }
        self.keep(&chunk[start..]);
    }

    /// The torn tail, as the piece it would be if the stream ended here; `None` if nothing waits.
    ///
    /// For callers that take the stream as complete (a file without a final newline). It stays
    /// where it is, and appears again, whole, once its `\n` comes.
    pub fn partial(&self) -> Option<Piece<'_>> {
        (self.waiting() > 0).then(|| self.pending_piece())
    }

    /// Start of the line that has not ended yet: all before it was handed out or reported.
    pub fn offset(&self) -> u64 {
        self.offset
    }

    /// How many bytes of the line that has not ended yet were pushed.
    pub fn waiting(&self) -> u64 {
        match &self.pending {
            Pending::Kept(carry) => carry.len() as u64,
            Pending::Skipped(length) => *length,
        }
    }

    /// Where the next pushed byte stands in the stream.
    pub fn position(&self) -> u64 {
        self.offset + self.waiting()
    }

    /// No more will be pushed for a while: gives memory back.
    pub fn rest(&mut self) {
        if let Pending::Kept(carry) = &mut self.pending {
            carry.shrink_to(RESTING_CAPACITY);
        }
    }

    fn end_line(&mut self, last: &[u8], sink: &mut impl FnMut(Piece<'_>)) {
        if self.waiting() == 0 && last.len() <= self.limit {
            sink(Piece::Line { offset: self.offset, bytes: last });
            self.offset += last.len() as u64 + 1;
            return;
        }
        self.keep(last);
        sink(self.pending_piece());
        self.offset = self.position() + 1;
        self.forget_pending();
    }

    fn keep(&mut self, bytes: &[u8]) {
        match &mut self.pending {
            Pending::Kept(carry) if carry.len() + bytes.len() <= self.limit.min(HELD_BYTES) => {
                carry.extend_from_slice(bytes);
            }
            Pending::Kept(carry) => {
                self.pending = Pending::Skipped((carry.len() + bytes.len()) as u64);
            }
            Pending::Skipped(length) => *length += bytes.len() as u64,
        }
    }

    fn pending_piece(&self) -> Piece<'_> {
        match &self.pending {
            Pending::Kept(carry) => Piece::Line { offset: self.offset, bytes: carry },
            Pending::Skipped(length) if *length <= self.limit as u64 => {
                Piece::Long { offset: self.offset, length: *length }
            }
            Pending::Skipped(length) => Piece::TooLong { offset: self.offset, length: *length },
        }
    }

    fn forget_pending(&mut self) {
        match &mut self.pending {
            Pending::Kept(carry) => {
                carry.clear();
                carry.shrink_to(KEPT_CAPACITY);
            }
            Pending::Skipped(_) => self.pending = Pending::Kept(Vec::new()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// A piece that owns its bytes: offset, then the line, or the length of a skipped one.
    type Owned = (u64, Result<Vec<u8>, u64>);

    fn own(piece: Piece<'_>) -> Owned {
        match piece {
            Piece::Line { offset, bytes } => (offset, Ok(bytes.to_vec())),
            Piece::Long { offset, length } | Piece::TooLong { offset, length } => {
                (offset, Err(length))
            }
        }
    }

    /// The lines by the plainest means, and the torn tail.
    fn reference(stream: &[u8], limit: usize) -> (Vec<Owned>, Option<Owned>) {
        let mut offset = 0;
        let mut pieces = Vec::new();
        for line in stream.split(|&byte| byte == b'\n') {
            let length = line.len() as u64;
            let kept = if line.len() > limit { Err(length) } else { Ok(line.to_vec()) };
            pieces.push((offset, kept));
            offset += length + 1;
        }
        let tail = pieces.pop().filter(|tail| tail.1 != Ok(Vec::new()));
        (pieces, tail)
    }

    fn split(chunks: &[&[u8]], limit: usize) -> (Vec<Owned>, Option<Owned>) {
        let mut splitter = LineSplitter::new(0, limit);
        let mut pieces = Vec::new();
        for chunk in chunks {
            splitter.push(chunk, &mut |piece| pieces.push(own(piece)));
        }
        (pieces, splitter.partial().map(own))
    }

    fn stream() -> impl Strategy<Value = Vec<u8>> {
        let byte = prop_oneof![2 => Just(b'\n'), 9 => prop::sample::select(b"a\r\0\xe2".to_vec())];
        prop_oneof![
            prop::collection::vec(byte, 0..200),
            prop::collection::vec(prop_oneof![1 => Just(b'\n'), 20 => any::<u8>()], 0..400),
        ]
    }

    proptest! {
        #[test]
        fn any_chunking_gives_the_reference_split(
            stream in stream(),
            sizes in prop::collection::vec(0usize..40, 0..60),
            limit in prop::sample::select(vec![0, 1, 16, MAX_LINE_BYTES]),
        ) {
            let mut rest = stream.as_slice();
            let mut chunks = Vec::new();
            for size in sizes {
                let (chunk, after) = rest.split_at(size.min(rest.len()));
                chunks.push(chunk);
                rest = after;
            }
            chunks.push(rest);
            prop_assert_eq!(split(&chunks, limit), reference(&stream, limit));
        }

        #[test]
        fn offset_only_moves_past_a_newline(stream in stream(), size in 1usize..40) {
            let mut splitter = LineSplitter::new(0, 16);
            let mut pushed = 0;
            for chunk in stream.chunks(size) {
                splitter.push(chunk, &mut |_| ());
                pushed += chunk.len();
                prop_assert_eq!(splitter.position(), pushed as u64);
                let ended = memchr::memrchr(b'\n', &stream[..pushed]).map_or(0, |end| end + 1);
                prop_assert_eq!(splitter.offset(), ended as u64);
            }
        }
    }

    #[test]
    fn crlf_stays_in_the_bytes() {
        let (pieces, tail) = split(&[b"a\r", b"\nb\r\n\r\n"], 16);
        let lines = vec![(0, Ok(b"a\r".to_vec())), (3, Ok(b"b\r".to_vec())), (6, Ok(vec![b'\r']))];
        assert_eq!((pieces, tail), (lines, None));
    }

    #[test]
    fn a_line_inside_one_chunk_is_not_copied() {
        let chunk = b"first\nsecond\n".as_slice();
        let mut splitter = LineSplitter::new(0, 16);
        splitter.push(chunk, &mut |piece| {
            let Piece::Line { offset, bytes } = piece else { panic!("line skipped") };
            assert_eq!(bytes.as_ptr(), chunk[offset as usize..].as_ptr());
        });
    }

    #[test]
    fn a_huge_carried_line_gives_its_room_back() {
        let mut splitter = LineSplitter::new(0, MAX_LINE_BYTES);
        splitter.push(&vec![b'x'; 4 * KEPT_CAPACITY], &mut |_| ());
        splitter.push(b"\n", &mut |_| ());
        let Pending::Kept(carry) = &splitter.pending else { panic!("line skipped") };
        assert!(carry.capacity() <= KEPT_CAPACITY, "{} bytes kept", carry.capacity());
    }

    #[test]
    fn a_line_past_the_limit_holds_no_memory_while_it_streams() {
        let mut splitter = LineSplitter::new(7, 16);
        splitter.push(&[b'x'; 10], &mut |_| ());
        splitter.push(&[b'x'; 10], &mut |_| ());
        assert!(matches!(splitter.pending, Pending::Skipped(20)));
        assert_eq!(splitter.partial(), Some(Piece::TooLong { offset: 7, length: 20 }));
    }

    #[test]
    fn a_line_too_long_to_be_held_is_reported_by_its_place() {
        let line = vec![b'a'; HELD_BYTES + 1];
        let (pieces, tail) = split(&[b"x\n", &line, b"\ny"], MAX_LINE_BYTES);
        assert_eq!(pieces, [(0, Ok(b"x".to_vec())), (2, Err(line.len() as u64))]);
        assert_eq!(tail, Some((line.len() as u64 + 3, Ok(b"y".to_vec()))));
    }
}
