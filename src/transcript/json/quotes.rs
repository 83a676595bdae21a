//! Where a JSON string ends: most of a transcript is passed over by this.
//!
//! Code and logs are dense with escapes, so that a search for each quote or backslash costs more
//! than looking at every byte, 64 at a time: two bit masks, and one sum that tells which quotes are
//! escaped (the way of simdjson).
use wide::u8x16;

/// The bytes of the string whose inside starts here; none where it has no end.
#[inline]
pub(super) fn string_end(bytes: &[u8]) -> Option<usize> {
    // Keys and ids are short and have no escapes.
    if let Some(chunk) = bytes.first_chunk::<16>() {
        let (quotes, backslashes) = masks(chunk);
        if quotes.trailing_zeros() < backslashes.trailing_zeros() {
            return Some(quotes.trailing_zeros() as usize);
        }
    }
    long_end(bytes)
}

fn long_end(bytes: &[u8]) -> Option<usize> {
    let mut at = 0;
    let mut carry = 0;
    while let Some(block) = bytes[at..].first_chunk::<64>() {
        let (quotes, backslashes) = block_masks(block);
        let ends = quotes & !escaped(backslashes, &mut carry);
        if ends != 0 {
            return Some(at + ends.trailing_zeros() as usize);
        }
        at += 64;
    }
    at += usize::from(carry == 1);
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'"' => return Some(at),
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
    None
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
fn block_masks(block: &[u8; 64]) -> (u64, u64) {
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
            prop_assert_eq!(string_end(&bytes), plain_end(&bytes));
        }
    }

    #[test]
    fn long_runs_of_backslashes_at_every_offset() {
        for before in 0..130 {
            for run in 0..140 {
                let text = format!("{}{}\"x\"", "a".repeat(before), "\\".repeat(run));
                assert_eq!(string_end(text.as_bytes()), plain_end(text.as_bytes()));
            }
        }
    }
}
