//! The words of a session in one string: no allocation for each of ten thousand messages.

/// A piece of a session's text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Span {
    start: u64,
    length: u32,
}

impl Span {
    /// Bytes.
    pub fn len(self) -> usize {
        self.length as usize
    }

    /// Whether there is no text.
    pub fn is_empty(self) -> bool {
        self.length == 0
    }
}

#[derive(Debug, Clone, Default)]
pub(super) struct Arena {
    text: String,
}

impl Arena {
    /// Keeps a text. What is over 4 GiB in one piece is cut: no line is that long.
    pub(super) fn push(&mut self, text: &str) -> Span {
        if text.is_empty() {
            return Span::default();
        }
        let start = self.text.len() as u64;
        let length = u32::try_from(text.len()).unwrap_or(u32::MAX);
        self.text.push_str(text);
        Span { start, length }
    }

    pub(super) fn get(&self, span: Span) -> &str {
        let start = usize::try_from(span.start).unwrap_or(usize::MAX);
        self.text.get(start..start.saturating_add(span.len())).unwrap_or_default()
    }

    pub(super) fn bytes(&self) -> usize {
        self.text.len()
    }
}
