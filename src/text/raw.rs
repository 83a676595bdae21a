//! Judges text that is still encoded as it stands in a transcript. Pure.
//!
//! Most lines hold no tag, and most of their bytes need not be decoded to know it. The answer may be
//! a needless yes, never a wrong no: only an opening tag can make privacy remove anything, and every
//! way that JSON can write one is looked for. Decodes nothing.

use std::sync::LazyLock;

use memchr::memmem::Finder;

use super::tags::NAMES;

/// Whether [`super::privacy::strip`] could change the text that these bytes of a JSON string decode to.
///
/// Cheap and careful: it may say yes for nothing, never no for something. It takes the bytes as
/// they stand in the file, escapes not decoded; only an opening tag matters.
pub fn may_hide(raw: &[u8]) -> bool {
    let plain = memchr::memchr_iter(b'<', raw).map(|at| at + 1);
    let escaped = ESCAPE
        .find_iter(raw)
        .map(|at| at + ESCAPE.needle().len())
        .filter(|at| matches!(raw.get(*at), Some(b'c' | b'C')))
        .map(|at| at + 1);
    plain.chain(escaped).any(|at| may_be_name(&raw[at..]))
}

/// How an escaped `<` begins.
static ESCAPE: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new(br"\u003"));

fn may_be_name(raw: &[u8]) -> bool {
    // Most of what stands behind a `<` differs in its first letter.
    let Some(first) = raw.first() else { return false };
    let begins = |name: &&&str| *first == b'\\' || first.eq_ignore_ascii_case(&name.as_bytes()[0]);
    NAMES.iter().filter(begins).any(|name| {
        let mut pairs = raw.iter().zip(name.bytes());
        let differs = pairs.find(|(byte, wanted)| !byte.eq_ignore_ascii_case(wanted));
        match differs {
            Some((byte, _)) => *byte == b'\\',
            None => raw.len() >= name.len(),
        }
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::text::privacy::strip;
    use crate::text::privacy::tests::soup;

    #[test]
    fn may_hide_stays_quiet_for_ordinary_text() {
        for raw in [r"a < b", r"Vec<u8>", r"<p>\u0041", r"<", r"\u003", r"a\n<div>", r"<priva"] {
            assert!(!may_hide(raw.as_bytes()), "{raw:?}");
        }
        for raw in
            ["<Private>", r"\u003Cprivate", r"<\u0070rivate", r"<pri\u0076ate", "<system-reminder"]
        {
            assert!(may_hide(raw.as_bytes()), "{raw:?}");
        }
    }

    /// JSON-encodes a text, the n-th character as an escape where `escapes` says so.
    fn encoded(text: &str, escapes: &[u8]) -> Vec<u8> {
        let mut raw = String::new();
        for (char, kind) in text.chars().zip(escapes.iter().cycle()) {
            match (char, kind) {
                ('/', 0) => raw.push_str("\\/"),
                ('\n', 0) => raw.push_str("\\n"),
                (_, 0 | 1) if (char as u32) < 0x80 => {
                    raw.push_str(&format!("\\u{:04x}", char as u32));
                }
                (_, 2) if (char as u32) < 0x80 => {
                    raw.push_str(&format!("\\u{:04X}", char as u32));
                }
                ('"' | '\\', _) => raw.extend(['\\', char]),
                _ if char < ' ' => raw.push_str(&format!("\\u{:04x}", char as u32)),
                _ => raw.push(char),
            }
        }
        raw.into_bytes()
    }

    proptest! {
        #[test]
        fn may_hide_never_misses(text in soup(), escapes in prop::collection::vec(0u8..9, 1..50)) {
            let raw = encoded(&text, &escapes);
            let json = format!("\"{}\"", String::from_utf8_lossy(&raw));
            prop_assert_eq!(serde_json::from_str::<String>(&json).ok(), Some(text.clone()));
            prop_assert!(may_hide(&raw) || strip(&text).removed == 0);
        }
    }
}
