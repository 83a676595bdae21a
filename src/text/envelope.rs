//! Recognises the wrappers that a host puts around its own words. Pure.
//!
//! A text is an envelope only as a whole: one or more complete `<tag …>…</tag>` with nothing but
//! white space around and between. Anything else is somebody's words, even words about a tag; what
//! an envelope means is the caller's to say. Linear in the text.

/// One `<tag attributes>inner</tag>`; all parts as they stand, nothing decoded or trimmed but the
/// white space around the attributes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Envelope<'a> {
    pub tag: &'a str,
    pub attributes: &'a str,
    pub inner: &'a str,
}

impl<'a> Envelope<'a> {
    /// The value of a quoted attribute, as it stands.
    pub fn attribute(&self, name: &str) -> Option<&'a str> {
        let mut rest = self.attributes;
        while let Some((key, value, after)) = attribute(rest) {
            if key == name {
                return Some(value);
            }
            rest = after;
        }
        None
    }
}

/// The next quoted attribute: its name, its value, and what follows it.
fn attribute(text: &str) -> Option<(&str, &str, &str)> {
    let (before, after) = text.split_once('=')?;
    let key = before.split_whitespace().next_back().unwrap_or_default();
    let value = after.trim_start();
    match value.chars().next().filter(|char| is_quote(*char)) {
        Some(quote) => {
            let (value, rest) = value[1..].split_once(quote)?;
            Some((key, value, rest))
        }
        None => attribute_after_word(value),
    }
}

/// Goes on after an unquoted value, which has no name to be asked for.
fn attribute_after_word(value: &str) -> Option<(&str, &str, &str)> {
    let end = value.find(char::is_whitespace)?;
    Some(("", &value[..end], &value[end..]))
}

fn is_quote(char: char) -> bool {
    matches!(char, '"' | '\'')
}

/// The envelopes that make up the whole text, or none.
pub fn envelopes(text: &str) -> Option<Vec<Envelope<'_>>> {
    let mut found = Vec::new();
    let mut rest = text.trim();
    while !rest.is_empty() {
        let (envelope, after) = envelope(rest)?;
        found.push(envelope);
        rest = after.trim_start();
    }
    (!found.is_empty()).then_some(found)
}

fn envelope(text: &str) -> Option<(Envelope<'_>, &str)> {
    let (tag, rest) = name(text.strip_prefix('<')?)?;
    let end = opening_end(rest)?;
    let (attributes, body) = (rest[..end].trim(), &rest[end + 1..]);
    let (inner, after) = closed(body, tag)?;
    let envelope = Envelope { tag, attributes, inner };
    Some((envelope, after))
}

fn name(text: &str) -> Option<(&str, &str)> {
    let is_part = |char: char| char.is_ascii_alphanumeric() || matches!(char, '_' | '-');
    let end = text.find(|char| !is_part(char))?;
    let starts_well = text.starts_with(|char: char| char.is_ascii_alphabetic());
    let ends_well = text[end..].starts_with(|char: char| char == '>' || char.is_whitespace());
    (starts_well && ends_well).then(|| text.split_at(end))
}

/// Where the `>` of an opening tag stands; quoted values may hold anything.
fn opening_end(text: &str) -> Option<usize> {
    let mut quote = None;
    for (at, char) in text.char_indices() {
        match (quote, char) {
            (Some(open), _) if open == char => quote = None,
            (Some(_), _) => {}
            (None, '>') => return (!text[..at].ends_with('/')).then_some(at),
            (None, '<') => return None,
            (None, _) => quote = is_quote(char).then_some(char),
        }
    }
    None
}

/// The inner text up to the closing tag of its own depth, and what follows that tag.
fn closed<'a>(body: &'a str, tag: &str) -> Option<(&'a str, &'a str)> {
    let mut depth = 1;
    for start in memchr::memchr_iter(b'<', body.as_bytes()) {
        let rest = &body[start + 1..];
        if opens(rest, tag) {
            depth += 1;
        } else if let Some(after) = closes(rest, tag) {
            depth -= 1;
            if depth == 0 {
                return Some((&body[..start], after));
            }
        }
    }
    None
}

fn opens(text: &str, tag: &str) -> bool {
    text.strip_prefix(tag).is_some_and(|rest| {
        let is_tag = rest.starts_with(|char: char| char == '>' || char.is_whitespace());
        is_tag && !rest.starts_with(" />")
    })
}

fn closes<'a>(text: &'a str, tag: &str) -> Option<&'a str> {
    let rest = text.strip_prefix('/')?.strip_prefix(tag)?;
    rest.trim_start().strip_prefix('>')
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn check(text: &str, expected: &[(&str, &str, &str)]) {
        let found = envelopes(text).unwrap_or_default();
        let found: Vec<_> = found.iter().map(|e| (e.tag, e.attributes, e.inner)).collect();
        assert_eq!(found, expected, "{text:?}");
    }

    #[test]
    fn whole_texts_are_envelopes() {
        check("<a>b</a>", &[("a", "", "b")]);
        check(
            " <command-name>/x</command-name>\n\t<command-args></command-args>\n",
            &[("command-name", "", "/x"), ("command-args", "", "")],
        );
        check("<a b=\"c > d\" >\ne\n</a\n>", &[("a", "b=\"c > d\"", "\ne\n")]);
        check("<a>1<a x>2</a>3</a>", &[("a", "", "1<a x>2</a>3")]);
        check("<a>x<a />y<b></a>", &[("a", "", "x<a />y<b>")]);
        check("<a><ab></a>", &[("a", "", "<ab>")]);
        check("<a>1</a><a>2</a>", &[("a", "", "1"), ("a", "", "2")]);
    }

    #[test]
    fn words_beside_or_about_a_tag_are_words() {
        for text in [
            "",
            "  ",
            "words",
            "<a>b</a> words",
            "words <a>b</a>",
            "<a>b</a> x <a>c</a>",
            "<a>b",
            "<a>b</c>",
            "<a/>",
            "<a x/>",
            "<1>b</1>",
            "< a>b</a>",
            "<a <b>c</a>",
            "<a x=\">b</a>",
            "<a>b</A>",
            "<",
            "<a",
            "<é>x</é>",
            "`<a>b</a>`",
            "<a>x<a>y</a>",
        ] {
            assert_eq!(envelopes(text), None, "{text:?}");
        }
    }

    #[test]
    fn attributes_are_found_by_name() {
        let attributes = r#"flag id="al ice" n=5 summary = 'a="b" > c' empty="" é='x'"#;
        let envelope = Envelope { tag: "a", attributes, inner: "" };
        for (name, expected) in [
            ("id", Some("al ice")),
            ("summary", Some("a=\"b\" > c")),
            ("empty", Some("")),
            ("é", Some("x")),
            ("flag", None),
            ("n", None),
            ("a", None),
            ("d", None),
        ] {
            assert_eq!(envelope.attribute(name), expected, "{name}");
        }
    }

    #[test]
    fn a_megabyte_of_openings_takes_one_look() {
        for piece in ["<a>", "<a x=\"", "<a x='\"", "</a", "<a></a>"] {
            let text = piece.repeat((1 << 20) / piece.len());
            assert_eq!(envelopes(&text).is_some(), piece == "<a></a>");
        }
    }

    proptest! {
        #[test]
        fn what_was_wrapped_is_found(inner in "[^<]{0,20}", value in "[^\"]{0,9}") {
            let text = format!("<a-b k=\"{value}\">{inner}</a-b>");
            let found = envelopes(&text).unwrap_or_default();
            prop_assert_eq!(found.len(), 1);
            prop_assert_eq!(found[0].inner, inner);
            prop_assert_eq!(found[0].attribute("k"), Some(value.as_str()));
        }

        #[test]
        fn any_text_gives_an_answer(text in "[<>/ab =\"'é\n]{0,40}") {
            for envelope in envelopes(&text).unwrap_or_default() {
                prop_assert!(envelope.attribute("a").is_none_or(|value| text.contains(value)));
            }
        }
    }
}
