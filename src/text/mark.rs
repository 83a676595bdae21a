//! The envelope around a pointer: how Endless knows its own words again. Pure.
//!
//! A pointer is `<endless-pointer session="…" n="2">`, its text, and `</endless-pointer>`, each tag
//! on a line of its own. The first line is the marker: it names the session and the number of the
//! print. Nothing inside can close the envelope early, so that whatever follows it is somebody's
//! own words. A session id holds no quote and no bracket, and needs no escaping.

const OPENING: &str = "<endless-pointer session=\"";
const CLOSING: &str = "</endless-pointer>";

/// The marker of a pointer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mark<'a> {
    /// The session that the pointer is about.
    pub session: &'a str,
    /// The number of the print, from 1; 0 where it was printed for a person to paste.
    pub n: u32,
}

impl Mark<'_> {
    /// The pointer with this text.
    pub fn around(self, text: &str) -> String {
        let Mark { session, n } = self;
        let text = inside(text);
        format!("{OPENING}{session}\" n=\"{n}\">\n{}\n{CLOSING}", text.trim_end())
    }
}

/// A text in which nothing closes the envelope early.
pub fn inside(text: &str) -> String {
    text.replace("</endless-pointer", "<\\/endless-pointer")
}

/// The marker with which a text begins, and what follows the whole pointer; nothing follows one
/// that was cut.
pub fn pointer(text: &str) -> Option<(Mark<'_>, &str)> {
    let inside = text.trim_start().strip_prefix(OPENING)?;
    let (session, rest) = inside.split_once("\" n=\"")?;
    let (n, rest) = rest.split_once("\">")?;
    let is_part = |char: char| char.is_ascii_alphanumeric() || matches!(char, '.' | '_' | '-');
    if session.is_empty() || !session.chars().all(is_part) {
        return None;
    }
    let mark = Mark { session, n: n.parse().ok()? };
    Some((mark, rest.split_once(CLOSING).map_or("", |(_, behind)| behind)))
}

/// What follows the pointers that a text begins with, without the white space between; none where
/// it begins with none.
pub fn behind_pointers(text: &str) -> Option<&str> {
    let (_, mut behind) = pointer(text)?;
    while let Some((_, next)) = pointer(behind) {
        behind = next;
    }
    Some(behind.trim_start())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_pointer_is_known_by_its_first_line() {
        let mark = Mark { session: "0b9f-a", n: 3 };
        let text = mark.around("what it says\n");
        assert_eq!(
            text,
            "<endless-pointer session=\"0b9f-a\" n=\"3\">\nwhat it says\n</endless-pointer>"
        );
        assert_eq!(pointer(&text), Some((mark, "")));
        assert_eq!(pointer(&format!("\n{text}\n\nand this")), Some((mark, "\n\nand this")));
        assert_eq!(pointer(&text[..50]), Some((mark, "")));
        assert_eq!(behind_pointers(&format!("{text}\n{text} then")), Some("then"));
        assert_eq!(behind_pointers("then"), None);
        for other in [
            "",
            "about <endless-pointer session=\"a\" n=\"1\">",
            "<endless-pointer session=\"\" n=\"1\">",
            "<endless-pointer session=\"a b\" n=\"1\">",
            "<endless-pointer session=\"a\" n=\"x\">",
            "<endless-pointer session=\"a\" n=\"1\"",
            "<endless-pointer>",
        ] {
            assert_eq!(pointer(other), None, "{other}");
        }
    }

    proptest! {
        #[test]
        fn nothing_inside_closes_it(text in "(?s)(.{0,20}(</endless-pointer>)?){0,3}", behind in "[a-z]{0,5}") {
            let mark = Mark { session: "a", n: 1 };
            let whole = mark.around(&text) + &behind;
            prop_assert_eq!(pointer(&whole), Some((mark, behind.as_str())));
        }
    }
}
