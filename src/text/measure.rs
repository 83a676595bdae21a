//! Measures text the way hosts do. Pure.
//!
//! Token counts are estimates that err high, never below a quarter of the bytes. UTF-16 units are
//! exact; a cut never splits a character and never gives more units than asked for.

/// An estimate of the tokens that a text costs.
pub fn tokens(text: &str) -> usize {
    if text.is_ascii() {
        return text.len().div_ceil(4);
    }
    let ascii = text.bytes().filter(u8::is_ascii).count();
    let others = text.bytes().filter(|byte| *byte >= 0xC0).count();
    ascii.div_ceil(4) + others
}

/// The length in UTF-16 units.
pub fn utf16_len(text: &str) -> usize {
    let chars = text.bytes().filter(|byte| byte & 0xC0 != 0x80).count();
    let pairs = text.bytes().filter(|byte| *byte >= 0xF0).count();
    chars + pairs
}

/// The longest head of at most `units` UTF-16 units.
pub fn utf16_head(text: &str, units: usize) -> &str {
    let mut left = units;
    let cut = text.char_indices().find(|(_, char)| !take(&mut left, *char));
    cut.map_or(text, |(at, _)| &text[..at])
}

/// The longest tail of at most `units` UTF-16 units.
pub fn utf16_tail(text: &str, units: usize) -> &str {
    let mut left = units;
    let mut chars = text.char_indices().rev();
    let cut = chars.find(|(_, char)| !take(&mut left, *char));
    cut.map_or(text, |(at, char)| &text[at + char.len_utf8()..])
}

/// A number with its thousands apart: `167,212`.
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

fn take(left: &mut usize, char: char) -> bool {
    let rest = left.checked_sub(char.len_utf16());
    *left = rest.unwrap_or(0);
    rest.is_some()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn tokens_err_high() {
        for (text, expected) in
            [("", 0), ("a", 1), ("abcd", 1), ("abcde", 2), ("é", 1), ("a日本👍", 4)]
        {
            assert_eq!(tokens(text), expected, "{text:?}");
        }
    }

    #[test]
    fn thousands_stand_apart() {
        for (number, expected) in
            [(0, "0"), (999, "999"), (1_000, "1,000"), (1_234_567, "1,234,567")]
        {
            assert_eq!(grouped(number), expected);
        }
    }

    #[test]
    fn cuts_respect_pairs() {
        for (units, head, tail) in
            [(0, "", ""), (1, "a", "b"), (2, "a", "b"), (3, "a👍", "👍b"), (9, "a👍b", "a👍b")]
        {
            assert_eq!(utf16_head("a👍b", units), head, "{units}");
            assert_eq!(utf16_tail("a👍b", units), tail, "{units}");
        }
    }

    proptest! {
        #[test]
        fn lengths_agree(text in any::<String>()) {
            prop_assert_eq!(utf16_len(&text), text.encode_utf16().count());
            prop_assert!(tokens(&text) * 4 >= text.len());
        }

        #[test]
        fn cuts_are_the_longest_that_fit(text in any::<String>(), units in 0usize..40) {
            let (head, tail) = (utf16_head(&text, units), utf16_tail(&text, units));
            prop_assert!(text.starts_with(head) && text.ends_with(tail));
            let least = utf16_len(&text).min(units.saturating_sub(1));
            for part in [head, tail] {
                prop_assert!((least..=units).contains(&utf16_len(part)));
            }
        }
    }
}
