//! Compares texts by their words. Pure.
//!
//! White space of any kind and length counts as one gap and none at the ends; everything else
//! counts exactly. The key never changes: it may be stored.

/// Whether two texts are equal but for white space.
pub fn same_words(a: &str, b: &str) -> bool {
    a.split_whitespace().eq(b.split_whitespace())
}

/// A stable 64-bit key (FNV-1a) of the words: the same for texts of the [`same_words`].
pub fn words_key(text: &str) -> u64 {
    let mut key = 0xcbf2_9ce4_8422_2325;
    for word in text.split_whitespace() {
        key = word.bytes().chain([b' ']).fold(key, hashed);
    }
    key
}

fn hashed(key: u64, byte: u8) -> u64 {
    (key ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_key_is_stable() {
        assert_eq!(words_key(""), 0xcbf2_9ce4_8422_2325);
        assert_eq!(words_key(" a\tb\n"), words_key("a b"));
        assert_ne!(words_key("ab"), words_key("a b"));
        assert!(same_words(" a\u{a0}b", "a b ") && !same_words("a b", "ab"));
    }

    proptest! {
        #[test]
        fn same_words_have_equal_keys(words in prop::collection::vec("[a-c]{1,2}", 0..4),
            others in prop::collection::vec("[a-c]{1,2}", 0..4)) {
            let (a, b, other) = (words.join(" "), words.join("\n\t"), others.join(" "));
            prop_assert!(same_words(&a, &b) && words_key(&a) == words_key(&b));
            prop_assert_eq!(same_words(&a, &other), words_key(&a) == words_key(&other));
        }
    }
}
