//! Where a JSON string ends: most of a transcript is passed over by this.
//!
//! Code and logs are dense with escapes, and rows with short strings, so that a search for each
//! quote or backslash costs more than looking at every byte, 64 at a time: two bit masks, and one sum
//! that tells which quotes are escaped (the way of simdjson). All strings that end in a block are
//! answered from its mask.
use wide::u8x16;

/// Bytes that are looked at together.
const BLOCK: usize = 64;

/// The ends of the strings of one text, asked for from front to back.
#[derive(Debug, Clone, Default)]
pub(super) struct Ends {
    /// Which bytes of the block are quotes that are not escaped.
    quotes: u64,
    /// Whether the first byte behind the block is escaped.
    carry: u64,
    /// Where the block ends; 0 where there is none yet.
    until: usize,
}

impl Ends {
    /// Where the string ends whose inside begins at `from`; none where it has no end.
    #[inline(always)]
    pub(super) fn after(&mut self, bytes: &[u8], from: usize) -> Option<usize> {
        if from < self.until {
            let start = self.until - BLOCK;
            let quotes = self.quotes & (!0 << (from - start));
            if quotes != 0 {
                return Some(start + quotes.trailing_zeros() as usize);
            }
        }
        self.further(bytes, from)
    }

    #[inline(never)]
    fn further(&mut self, bytes: &[u8], from: usize) -> Option<usize> {
        if from >= self.until {
            // Between strings nothing is escaped.
            self.carry = 0;
            self.until = from;
        }
        while self.until < bytes.len() {
            let start = self.until;
            self.load(bytes, start);
            if self.quotes != 0 {
                return Some(start + self.quotes.trailing_zeros() as usize);
            }
        }
        None
    }

    /// Looks at the block that begins at `start`.
    #[inline]
    fn load(&mut self, bytes: &[u8], start: usize) {
        let rest = bytes.get(start..).unwrap_or_default();
        let (quotes, backslashes) = match rest.first_chunk() {
            Some(block) => block_masks(block),
            None => {
                let mut block = [0; BLOCK];
                block[..rest.len()].copy_from_slice(rest);
                block_masks(&block)
            }
        };
        self.quotes = quotes & !escaped(backslashes, &mut self.carry);
        self.until = start + BLOCK;
    }
}

/// The bytes that stand behind an odd number of backslashes. `carry`: whether the first byte of the
/// next block is one of them.
#[inline]
fn escaped(backslashes: u64, carry: &mut u64) -> u64 {
    const ODD: u64 = 0xAAAA_AAAA_AAAA_AAAA;
    if backslashes == 0 {
        return std::mem::take(carry);
    }
    let starts = backslashes & !*carry;
    let series = ((starts << 1) | ODD).wrapping_sub(starts) ^ ODD;
    let escaped = series ^ (backslashes | *carry);
    *carry = (series & backslashes) >> 63;
    escaped
}

#[inline]
fn block_masks(block: &[u8; BLOCK]) -> (u64, u64) {
    let (mut quotes, mut backslashes) = (0_u64, 0_u64);
    for (index, chunk) in block.as_chunks::<16>().0.iter().enumerate() {
        let (q, b) = masks(chunk);
        quotes |= u64::from(q) << (16 * index);
        backslashes |= u64::from(b) << (16 * index);
    }
    (quotes, backslashes)
}

/// Which bytes are quotes, and which are backslashes.
#[inline]
fn masks(chunk: &[u8; 16]) -> (u32, u32) {
    let bytes = u8x16::new(*chunk);
    let mask = |byte| bytes.simd_eq(u8x16::splat(byte)).to_bitmask();
    (mask(b'"'), mask(b'\\'))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Byte by byte.
    fn plain_end(bytes: &[u8]) -> Option<usize> {
        let mut at = 0;
        while let Some(byte) = bytes.get(at) {
            match byte {
                b'"' => return Some(at),
                b'\\' => at += 2,
                _ => at += 1,
            }
        }
        None
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2_000))]

        #[test]
        fn agrees_with_a_walk_byte_by_byte(
            bytes in prop::collection::vec(
                prop_oneof![6 => Just(b'\\'), 1 => Just(b'"'), 12 => Just(b'a')], 0..300),
        ) {
            prop_assert_eq!(Ends::default().after(&bytes, 0), plain_end(&bytes));
        }
    }

    proptest! {
        #[test]
        fn strings_in_a_row_end_where_each_alone_does(
            strings in prop::collection::vec(
                (prop::collection::vec(prop::sample::select(b"aaaaa\\\"".to_vec()), 0..150), 0usize..90),
                1..20),
        ) {
            let mut text = Vec::new();
            for (inside, gap) in strings {
                text.resize(text.len() + gap, b' ');
                text.push(b'"');
                text.extend(inside);
                text.extend(b"\\\\\"");
            }
            let mut ends = Ends::default();
            let mut at = 0;
            while let Some(start) = text[at..].iter().position(|byte| *byte == b'"') {
                let from = at + start + 1;
                let end = ends.after(&text, from);
                prop_assert_eq!(end, plain_end(&text[from..]).map(|length| from + length));
                let Some(end) = end else { break };
                at = end + 1;
            }
        }
    }

    #[test]
    fn long_runs_of_backslashes_at_every_offset() {
        for before in 0..130 {
            for run in 0..140 {
                let text = format!("{}{}\"x\"", "a".repeat(before), "\\".repeat(run));
                assert_eq!(Ends::default().after(text.as_bytes(), 0), plain_end(text.as_bytes()));
            }
        }
    }
}
