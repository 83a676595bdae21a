//! What an observation source knows of one session: plain data, as its reader cleaned it.
//!
//! Invariant: every text has passed the privacy function and holds no control character but tab
//! and newline; [`Row::text`] is one line that fits a bottle's. Refuses: to say where a row stands,
//! which is [`placement`](super::placement)'s.

use super::MAX_LINE;
use crate::text::{
    line::{first_clause, one_line},
    measure::utf16_len,
    time::Moment,
};

/// Characters of a row's line behind the longest bullet and id.
const TEXT: usize = MAX_LINE - "- [#-9223372036854775808] ".len();
/// Characters of its title.
const TITLE: usize = 140;
/// Titles shorter than this leave room for the clause.
const SEPARATOR: &str = " — ";
/// The type of an observation of which only the title is shown.
pub const SENSITIVE: &str = "sensitive";
/// UTF-16 units at which claude-mem cuts a prompt.
const CUT: usize = 4_000;

/// All that a source knows of a session.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Observed {
    /// The project, as the source names it.
    pub project: String,
    /// The working folder, where the source knows it; else empty.
    pub folder: String,
    /// When the source first heard of the session.
    pub started: Option<Moment>,
    /// By time, then id.
    pub observations: Vec<Row>,
    /// Prompts of the person, by time, then id. Empty and hidden ones are none.
    pub prompts: Vec<Prompt>,
    /// By time, then id.
    pub summaries: Vec<Summary>,
    /// The tool calls that the source was told of.
    pub tool_uses: Vec<ToolUse>,
    /// Texts from which private parts were removed.
    pub hidden: u64,
}

impl Observed {
    /// Bytes in memory.
    pub fn bytes(&self) -> usize {
        let rows = self.observations.iter().map(|row| size_of::<Row>() + row.text.len());
        let prompts = self.prompts.iter().map(|prompt| size_of::<Prompt>() + prompt.text.len());
        let parts = self.summaries.iter().flat_map(|summary| &summary.parts);
        let parts = parts.map(|(_, text)| size_of::<Summary>() + text.len());
        let told = self.tool_uses.iter().map(|told| size_of::<ToolUse>() + told.call.len());
        rows.chain(prompts).chain(parts).chain(told).sum()
    }
}

/// An observation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row {
    /// The source's id, as `[#id]` shows it.
    pub id: i64,
    /// When it was made, or when the call that it is about was told.
    pub time: Moment,
    /// The number of the prompt that it was filed under; often a later one than it is about.
    pub prompt: Option<i64>,
    /// The line, without bullet and id.
    pub text: String,
}

/// A prompt of the person.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Prompt {
    /// The source's number of it in the session; no ordinal of the transcript.
    pub number: i64,
    /// When it was typed.
    pub time: Moment,
    /// The words.
    pub text: String,
    /// The source cut it.
    pub truncated: bool,
}

/// What a model wrote of a stretch of the session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Summary {
    /// The number of the prompt that it is about.
    pub prompt: Option<i64>,
    /// When it was made.
    pub time: Moment,
    /// Its parts, each with its name; none is empty.
    pub parts: Vec<(&'static str, String)>,
}

/// A tool call that the source was told of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolUse {
    /// The host's id of the call.
    pub call: String,
    /// The observation that answered the batch in which it was told: a hint.
    pub observation: Option<i64>,
}

/// The line of an observation: its title and the first clause of its narrative.
pub fn row_text(kind: &str, title: &str, subtitle: &str, narrative: &str) -> String {
    let named = [title, subtitle, kind].into_iter().find(|text| !text.trim().is_empty());
    let line = one_line(named.unwrap_or("(no title)"), TITLE);
    if kind == SENSITIVE {
        let title = one_line(title, TITLE);
        return if title.is_empty() { SENSITIVE.to_owned() } else { title };
    }
    let more = [narrative, subtitle].into_iter().find(|text| !text.trim().is_empty());
    let room = TEXT - line.chars().count() - SEPARATOR.chars().count();
    let clause = one_line(&first_clause(more.unwrap_or_default(), TEXT), room);
    if clause.is_empty() || clause == line { line } else { line + SEPARATOR + &clause }
}

/// Whether claude-mem cut a stored prompt. Asked of the text as it is stored.
pub fn is_truncated(stored: &str) -> bool {
    stored.len() >= CUT && stored.ends_with('…') && utf16_len(stored) == CUT
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_row_is_its_title_and_the_first_clause() {
        for (row, expected) in [
            (
                ["feature", "Retry added", "sub", "Three tries. Then none."],
                "Retry added — Three tries",
            ),
            (
                ["feature", "Retry added", "Three tries with jitter.", ""],
                "Retry added — Three tries with jitter.",
            ),
            (["feature", "Retry added", "", " "], "Retry added"),
            (["feature", "", "sub", "Why. How."], "sub — Why"),
            (["feature", "", "sub", ""], "sub"),
            (["feature", " ", "", ""], "feature"),
            (["", "", "", ""], "(no title)"),
            (["sensitive", "A key was rotated", "the key", "It was abc."], "A key was rotated"),
            (["sensitive", "", "the key", "It was abc."], "sensitive"),
            (["x", "**User** (10:32)\n- [t1] y", "", ""], r"\*\*User\*\* (10:32) - [t1] y"),
        ] {
            assert_eq!(row_text(row[0], row[1], row[2], row[3]), expected, "{row:?}");
        }
    }

    #[test]
    fn only_a_prompt_of_the_cap_that_ends_in_dots_was_cut() {
        let cut = "x".repeat(3_999) + "…";
        assert!(is_truncated(&cut));
        assert!(is_truncated(&("👍".repeat(1_999) + "x…")));
        assert!(!is_truncated(&"x".repeat(4_000)) && !is_truncated(&(cut + "…")));
        assert!(!is_truncated("a…"));
    }

    proptest! {
        #[test]
        fn a_line_fits(title in "(?s).{0,300}", narrative in "(?s).{0,300}", kind in "[a-z]{0,9}") {
            let text = row_text(&kind, &title, "", &narrative);
            prop_assert!(text.chars().count() <= TEXT);
            prop_assert!(!text.chars().any(char::is_control));
        }
    }
}
