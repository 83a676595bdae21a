//! Cuts a bottle into pages: line ranges that each fit one Read call of every host.
//!
//! Facts: hosts refuse a range over 25,000 tokens by their estimate of 4 bytes a token, the
//! desktop one at 10,000, and files over 256 KB without a range; Read puts a number before each
//! line. Pages are cut at lines, inside a message where need be, and from the body alone, so that
//! the header's length never depends on them.
use crate::text::measure::tokens;

/// Lines of a page.
pub const MAX_PAGE_LINES: usize = 2_000;
/// Estimated tokens of a page.
pub const MAX_PAGE_TOKENS: usize = 6_000;
/// Bytes of a page.
pub const MAX_PAGE_BYTES: usize = 200_000;
/// Bytes that Read adds to a line, its newline not counted.
const NUMBER: usize = 8;

/// How much of a page is used.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Size {
    lines: usize,
    tokens: usize,
    bytes: usize,
}

impl Size {
    pub(super) fn of(line: &str) -> Self {
        let bytes = line.len() + 1 + NUMBER;
        Self { lines: 1, tokens: tokens(line) + (1 + NUMBER).div_ceil(4), bytes }
    }

    pub(super) fn of_text(text: &str) -> Self {
        text.lines().map(Self::of).fold(Self::default(), Self::plus)
    }

    pub(super) fn plus(self, more: Self) -> Self {
        Self {
            lines: self.lines + more.lines,
            tokens: self.tokens + more.tokens,
            bytes: self.bytes + more.bytes,
        }
    }

    pub(super) fn fits(self) -> bool {
        self.lines <= MAX_PAGE_LINES
            && self.tokens <= MAX_PAGE_TOKENS
            && self.bytes <= MAX_PAGE_BYTES
    }
}

/// First and last line of each page of `text`, from 1.
pub(super) fn cut(text: &str) -> Vec<(usize, usize)> {
    let mut pages = Pages::default();
    pages.add(text);
    pages.close();
    pages.full
}

/// The pages of a text that comes in portions of whole lines.
#[derive(Debug, Clone, Default)]
pub(super) struct Pages {
    /// First and last line of each page that nothing is added to any more, from 1.
    pub(super) full: Vec<(usize, usize)>,
    pub(super) open: Open,
}

/// The page that the next line may stand on.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Open {
    /// Lines of the pages before it.
    before: usize,
    used: Size,
}

impl Pages {
    pub(super) fn add(&mut self, text: &str) {
        for line in text.lines() {
            let size = Size::of(line);
            if self.open.used.lines > 0 && !self.open.used.plus(size).fits() {
                self.close();
            }
            self.open.used = self.open.used.plus(size);
        }
    }

    /// Ends the open page.
    pub(super) fn close(&mut self) {
        let Open { before, used } = self.open;
        if used.lines > 0 {
            let last = before + used.lines;
            self.full.push((before + 1, last));
            self.open = Open { before: last, used: Size::default() };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_hold_every_line_once_and_fit() {
        let text: String = (0..5_000).map(|n| format!("{}\n", "x".repeat(n % 300))).collect();
        let pages = cut(&text);
        let lines: Vec<&str> = text.lines().collect();
        let mut next = 1;
        for (first, last) in &pages {
            assert_eq!(*first, next);
            let size = lines[first - 1..*last].iter().map(|line| Size::of(line));
            assert!(size.fold(Size::default(), Size::plus).fits());
            next = last + 1;
        }
        assert_eq!(next, lines.len() + 1);
        assert!(pages.len() > 20);
    }
}
