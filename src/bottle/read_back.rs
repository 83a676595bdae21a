//! Reads a bottle back: the exact messages that it was rendered from.
//!
//! The archive rule rests on this: whether an old bottle has words that a session has lost is
//! asked of the bottle itself, no database is needed.
use std::collections::HashMap;

use super::escape::{
    ASSISTANT, Content, DOCUMENT, IMAGE, TITLE, USER, looks_like_structure, unescape,
};
use crate::{session::Session, transcript::Speaker};

/// What a bottle shows, in order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Item {
    /// Words.
    Message {
        /// Who speaks.
        speaker: Speaker,
        /// The label as it is shown, without the time.
        label: String,
        /// The words, exact.
        text: String,
    },
    /// An image or document, with its brackets.
    Placeholder(String),
}

/// The messages and placeholders of a bottle; none where the text is no bottle.
pub fn read_back(text: &str) -> Option<Vec<Item>> {
    if !text.starts_with(TITLE) {
        return None;
    }
    let body = text.split_once("\n---\n").map(|(_, body)| body)?;
    let mut items = Vec::new();
    let mut open: Option<Open> = None;
    for line in body.split_terminator('\n') {
        if !looks_like_structure(line) {
            if let Some(open) = &mut open {
                open.add(line);
            }
            continue;
        }
        items.extend(open.take().map(Open::close));
        if let Some((speaker, label)) = speaker(line) {
            open = Some(Open { speaker, label, text: String::new() });
        } else if line.starts_with(IMAGE) || line.starts_with(DOCUMENT) {
            items.push(Item::Placeholder(line.to_owned()));
        }
    }
    items.extend(open.take().map(Open::close));
    Some(items)
}

/// A message whose end is not seen yet. Each line is kept with its newline.
struct Open {
    speaker: Speaker,
    label: String,
    text: String,
}

impl Open {
    fn add(&mut self, line: &str) {
        match unescape(line) {
            Content::Line(line) => self.text.push_str(&line),
            Content::Continued(more) => {
                self.text.pop();
                self.text.push_str(more);
            }
        }
        self.text.push('\n');
    }

    /// A message is followed by one newline and one empty line.
    fn close(mut self) -> Item {
        let text = self.text.strip_suffix("\n\n").unwrap_or(&self.text);
        self.text.truncate(text.len());
        Item::Message { speaker: self.speaker, label: self.label, text: self.text }
    }
}

/// Reads a speaker's line.
fn speaker(line: &str) -> Option<(Speaker, String)> {
    let (speaker, rest) = match line.strip_prefix(USER) {
        Some(rest) => (Speaker::User, rest),
        None => (Speaker::Assistant, line.strip_prefix(ASSISTANT)?),
    };
    let inside = rest.strip_prefix(" (").and_then(|rest| rest.strip_suffix(')')).unwrap_or("");
    let label = match inside.split_once(", ") {
        Some((time, label)) if is_time(time) => label,
        _ if is_time(inside) => "",
        _ => inside,
    };
    Some((speaker, label.to_owned()))
}

fn is_time(text: &str) -> bool {
    matches!(text.as_bytes(), [a, b, b':', c, d]
        if [a, b, c, d].iter().all(|digit| digit.is_ascii_digit()))
}

/// How many messages of an old bottle the session has nowhere, each counted as often as it
/// stands there. Rewound stretches count as there; so does a message that has grown since, and
/// one that now has another label.
pub fn missing_from(old: &[Item], session: &Session) -> usize {
    let layout = session.layout();
    let rewound = layout.rewound.iter().flat_map(|stretch| &stretch.messages);
    let now: Vec<(Speaker, &str)> = layout
        .messages()
        .chain(rewound)
        .map(|message| (message.speaker, message.text.as_ref()))
        .collect();
    let mut there: HashMap<(Speaker, &str), usize> = HashMap::new();
    for key in &now {
        *there.entry(*key).or_default() += 1;
    }
    let mut sorted = now.clone();
    sorted.sort_unstable();
    let mut missing = 0;
    for item in old {
        let Item::Message { speaker, text, .. } = item else { continue };
        match there.get_mut(&(*speaker, text.as_str())) {
            Some(count) if *count > 0 => *count -= 1,
            _ if has_grown(*speaker, text, &sorted) => {}
            _ => missing += 1,
        }
    }
    missing
}

/// Whether a message is there with more words: blocks of it that came later stand behind an empty
/// line.
fn has_grown(speaker: Speaker, old: &str, sorted: &[(Speaker, &str)]) -> bool {
    let longer = format!("{old}\n\n");
    let at = sorted.partition_point(|(who, words)| (*who, *words) < (speaker, &longer));
    sorted.get(at).is_some_and(|(who, words)| *who == speaker && words.starts_with(&longer))
}
