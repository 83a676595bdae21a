//! A pointer as the model sees it: nothing is known here of how it is worded.
//!
//! It is whatever stands in the envelope; what counts is the path of a copy of the session, and
//! the line ranges, wherever they stand in it.
use std::path::PathBuf;

use serde_json::{Value, json};

const OPENING: &str = "<endless-pointer session=\"";
const CLOSING: &str = "</endless-pointer>";
/// What the host takes of one hook's output, in UTF-16 units.
const HOST_LIMIT: usize = 10_000;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Pointer {
    pub(crate) session: String,
    pub(crate) n: u32,
    pub(crate) text: String,
}

/// The pointers that stand in a text.
pub(crate) fn pointers(text: &str) -> Vec<Pointer> {
    text.split(OPENING).skip(1).map(pointer).collect()
}

fn pointer(behind: &str) -> Pointer {
    let (session, rest) = behind.split_once("\" n=\"").expect("a session in the marker");
    let (n, rest) = rest.split_once("\">").expect("a number in the marker");
    let (text, _) = rest.split_once(CLOSING).unwrap_or_else(|| panic!("it is cut: {rest}"));
    assert!(text.encode_utf16().count() < HOST_LIMIT, "the host cuts it: {text}");
    Pointer { session: session.to_owned(), n: n.parse().unwrap(), text: text.to_owned() }
}

impl Pointer {
    /// The file that it names.
    pub(crate) fn path(&self) -> PathBuf {
        let name = format!("/{}@{}.md", self.session, self.n);
        let at = self.text.find(&name).unwrap_or_else(|| panic!("no {name} in {}", self.text));
        let before = &self.text[..at];
        let is_around = |c: char| c.is_whitespace() || matches!(c, '`' | '"' | '\'' | '(' | '<');
        let start = before.rfind(is_around).map_or(0, |around| around + 1);
        let path = PathBuf::from(format!("{}{name}", &before[start..]));
        assert!(path.is_absolute(), "{path:?}");
        path
    }

    /// The ranges that it names, in its order: words that are two numbers with a dash between.
    pub(crate) fn ranges(&self) -> Vec<(usize, usize)> {
        let words = self.text.split(|c: char| c.is_whitespace() || matches!(c, ',' | ';'));
        let words = words.map(|word| word.trim_matches(|c: char| !c.is_ascii_digit()));
        let ranges: Vec<_> = words.filter_map(range).collect();
        assert!(!ranges.is_empty(), "no ranges in {}", self.text);
        ranges
    }

    /// The other bottles that it names: files beside its own.
    pub(crate) fn others(&self) -> Vec<PathBuf> {
        let own = self.path();
        let folder = format!("{}/", own.parent().unwrap().display());
        let is_end = |c: char| c.is_whitespace() || matches!(c, '`' | '"' | '\'' | ')' | '>' | ',');
        let named = self.text.match_indices(&folder).map(|(at, _)| {
            let path = self.text[at..].split(is_end).next().unwrap_or_default();
            PathBuf::from(path.trim_end_matches('.'))
        });
        let mut others: Vec<_> = named.filter(|path| *path != own).collect();
        others.dedup();
        others
    }

    /// The inputs of the calls of Read that it asks for: its ranges, then the other bottles whole.
    pub(crate) fn reads(&self) -> Vec<Value> {
        let path = self.path();
        let range =
            |(first, last)| json!({"file_path": path, "offset": first, "limit": last - first + 1});
        let whole = |path| json!({"file_path": path});
        let ranges = self.ranges().into_iter().map(range);
        ranges.chain(self.others().into_iter().map(whole)).collect()
    }
}

fn range(word: &str) -> Option<(usize, usize)> {
    let (first, last) = word.split_once(['-', '–'])?;
    let range = (first.parse().ok()?, last.parse().ok()?);
    (range.0 >= 1 && range.0 <= range.1).then_some(range)
}

#[test]
fn a_pointer_is_read_however_it_is_worded() {
    let text = "before\n<endless-pointer session=\"a-1\" n=\"2\">\nOf 2026-11-30 10:12, see \
                `/x/y/a-1@2.md` (lines 1-27): read 28-155, then **156–156**; a-1 stays.\n\
                It came from /x/y/b-2.md, not from /x/z/c-3.md.\n\
                </endless-pointer>\nbehind 7-8";
    let found = pointers(text);
    assert_eq!(found.len(), 1);
    assert_eq!((found[0].session.as_str(), found[0].n), ("a-1", 2));
    assert_eq!(found[0].path(), PathBuf::from("/x/y/a-1@2.md"));
    assert_eq!(found[0].ranges(), [(1, 27), (28, 155), (156, 156)]);
    assert_eq!(found[0].others(), [PathBuf::from("/x/y/b-2.md")]);
    assert!(!found[0].text.contains("behind"));
}
