//! Hides what must never be written. Pure.
//!
//! `<private>` pairs go wherever they stand, code included; a `<private>` that is never closed
//! takes the rest of the text with it, unless it stands in code as a mere mention. The host's own
//! wrappers go as complete pairs, and stay where their opening tag stands in code: someone writes
//! about them.
//!
//! Invariant: `strip(strip(x)) == strip(x)`. Removal is repeated until nothing is left to remove,
//! because what remains may join into a new tag. A text that needs more than [`ROUNDS`] rounds was
//! built to slip through and is hidden whole, which also bounds the work: linear in the text.

use std::borrow::Cow;
use std::ops::Range;

use super::pairs::hidden;

pub use super::raw::may_hide;

const ROUNDS: usize = 16;

/// A text after privacy, and how many parts it lost.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stripped<'a> {
    pub text: Cow<'a, str>,
    pub removed: u32,
}

/// Removes all private and host-made parts of a text.
pub fn strip(text: &str) -> Stripped<'_> {
    let mut text = Cow::Borrowed(text);
    let mut removed = 0;
    for _ in 0..ROUNDS {
        let hidden = hidden(&text);
        if hidden.is_empty() {
            return Stripped { text, removed };
        }
        let parts = u32::try_from(hidden.len()).unwrap_or(u32::MAX);
        removed = u32::saturating_add(removed, parts);
        text = Cow::Owned(without(&text, &hidden));
    }
    Stripped { text: Cow::Borrowed(""), removed: removed.saturating_add(1) }
}

/// [`strip`] that adds what it removed to a running count.
pub fn clean<'a>(text: &'a str, removed: &mut u32) -> Cow<'a, str> {
    let stripped = strip(text);
    *removed = removed.saturating_add(stripped.removed);
    stripped.text
}

fn without(text: &str, hidden: &[Range<usize>]) -> String {
    let mut kept = String::with_capacity(text.len());
    let mut from = 0;
    for range in hidden {
        kept.push_str(&text[from..range.start]);
        from = range.end;
    }
    kept.push_str(&text[from..]);
    kept
}

#[cfg(test)]
pub(super) mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::text::tags::NAMES;

    fn check(text: &str, expected: &str, removed: u32) {
        let stripped = strip(text);
        assert_eq!(stripped.text, expected, "{text:?}");
        assert_eq!(stripped.removed, removed, "{text:?}");
    }

    #[test]
    fn private_pairs_go_wherever_they_stand() {
        check("a<private>b</private>c", "ac", 1);
        check("a <PRIVATE\n>b\r\nc</Private > d", "a  d", 1);
        check("<private reason=\"a > b\">s</private>x", "x", 1);
        check("<private reason=\"a<b\">s</private>x", "x", 1);
        check("<private reason=\"</private>\">s</private>x", "x", 1);
        check("<private path=/>s</private>x", "x", 1);
        check("<private>a</private><private>b</private>", "", 2);
        check("<private>a<private>b</private>c</private>d", "d", 1);
        check("`<private>a</private>`", "``", 1);
        check("```\n<private>a</private>\n```", "```\n\n```", 1);
        check("<private\nsecret\n</private> words", " words", 1);
        check("<private>a</private>b</private>", "b</private>", 1);
    }

    #[test]
    fn an_unclosed_private_hides_the_rest_unless_mentioned_in_code() {
        check("a <private>secret", "a ", 1);
        check("a<private>b</private>c<private>d", "ac", 2);
        check("a<private>b<private>c</private>d", "a", 1);
        check("use `<private>` here", "use `<private>` here", 0);
        check("```\n<private>\n```\nb", "```\n<private>\n```\nb", 0);
        check("`<private>` <private>s</private> t", "`<private>`  t", 1);
        check("`<private>` <private>s", "`<private>` ", 1);
        check("```\n\n<private>s", "```\n\n", 1);
        check("`a\n\n<private>s`", "`a\n\n", 1);
        check("<private>a `<private>` b</private> c", "", 1);
    }

    #[test]
    fn what_is_no_tag_stays() {
        for text in [
            "",
            "plain > text",
            "< private>a</private>",
            "<privateer>a</privateer>",
            "<private/>a",
            "<pri\u{200b}vate>a</pri\u{200b}vate>",
            "a</private>b",
            "<system-reminder>a",
            "a</system-reminder>",
            "<system>a</system>",
            "<system_instruction>a</system-instruction>",
        ] {
            check(text, text, 0);
            assert!(matches!(strip(text).text, Cow::Borrowed(_)));
        }
    }

    #[test]
    fn host_pairs_go_unless_their_opening_stands_in_code() {
        for name in &NAMES[1..] {
            check(&format!("a<{name}>b</{name}>c"), "ac", 1);
            check(&format!("a<{name} x='y'>b\n</{name}\n>c"), "ac", 1);
            check(&format!("<{name}>a<{name}>b</{name}>c</{name}>d"), "d", 1);
            check(&format!("<{name}>`<{name}>`</{name}>d"), "d", 1);
            check(&format!("<{name}>don`t</{name}> d ` e"), " d ` e", 1);
            for text in [
                format!("say `<{name}>` and `</{name}>`"),
                format!("say `<{name}>` and </{name}>"),
                format!("```\n<{name}>\na\n</{name}>\n```"),
            ] {
                check(&text, &text, 0);
            }
        }
    }

    #[test]
    fn a_private_mention_of_the_host_costs_no_words() {
        let text = "<system-reminder>about <private></system-reminder>words";
        check(text, "words", 1);
    }

    #[test]
    fn what_remains_makes_no_new_tag() {
        let text = "<pri<private>x</private>vate>secret</private>";
        check(text, "", 2);
        check("<pri<system-reminder>x</system-reminder>vate>secret", "", 2);
        check("`<private>` a <private>`</private> b `", "`<private>` a  b `", 1);
        check("`<private> <private>`</private> b", "`", 2);
    }

    #[test]
    fn a_text_built_to_slip_through_is_hidden_whole() {
        let depth = 40_000;
        let text = format!(
            "a{}<private>x</private>{}",
            "<pri".repeat(depth),
            "vate>x</private>".repeat(depth)
        );
        check(&text, "", 17);
    }

    #[test]
    fn a_megabyte_of_anything_takes_one_look() {
        let size = 1 << 20;
        for piece in [
            "<private>",
            "<private ",
            "<private \"",
            "`<private>",
            "`<private>`",
            "</private>",
            "<private>x</private>",
            "<system-reminder>",
            "`<system-reminder>`",
            "`",
            "```x\n",
            "<private",
            "\n",
            "` `` ",
        ] {
            let text = piece.repeat(size / piece.len());
            let once = strip(&format!("<private/><private>{text}")).text.into_owned();
            assert!(once.len() <= text.len() + 19);
            let mention = format!("`<private>`{text}");
            assert!(strip(&mention).text.len() <= mention.len());
        }
        let ticks: String = (1..1400).rev().map(|n| "`".repeat(n) + "x\n").collect();
        let text = ticks + "\n\n`<private>`";
        assert_eq!(strip(&text).removed, 0);
    }

    #[test]
    fn clean_adds_to_the_count() {
        let mut removed = u32::MAX - 1;
        assert_eq!(clean("a<private>b</private><private>c", &mut removed), "a");
        assert_eq!(removed, u32::MAX);
    }

    pub(in super::super) fn soup() -> impl Strategy<Value = String> {
        let piece = prop::sample::select(vec![
            "<private>",
            "</private>",
            "<PRIVATE a='>'>",
            "</private\n>",
            "<private/>",
            "<pri",
            "vate>",
            "<private ",
            "</",
            ">",
            "\"",
            "=\"",
            "`",
            "``",
            "```",
            "\n",
            "\n\n",
            "\r",
            "\n```\n",
            "a",
            "é ",
            "<system-reminder>",
            "</system-reminder>",
            "<system-",
            "reminder>",
            "<persisted-output>",
            "</persisted-output>",
            "\u{200b}",
            "\\",
            "<",
            "/",
        ]);
        prop::collection::vec(piece, 0..40).prop_map(|pieces| pieces.concat())
    }

    proptest! {
        #[test]
        fn strip_is_idempotent(text in soup()) {
            let once = strip(&text).text.into_owned();
            let twice = strip(&once);
            prop_assert_eq!(twice.removed, 0);
            prop_assert_eq!(twice.text, once.as_str());
        }

        #[test]
        fn no_closed_secret_survives(a in soup(), b in "[a-z ]{0,9}", c in soup()) {
            let text = format!("{a}<private>SECRET{b}</private>{c}");
            prop_assert!(!strip(&text).text.contains("SECRET"));
        }
    }
}
