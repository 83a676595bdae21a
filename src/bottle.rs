//! The bottle: a session as Markdown that an agent reads and goes on from.
//!
//! `render` is pure and deterministic: the same session, zone and format give the same bytes but
//! for the value of `rendered:`. What was said is exact, and [`read_back`](read_back::read_back)
//! gives it back; what tools did is one line each; nothing that was said or printed can pose as
//! structure.
//!
//! The pages that the header names each fit one Read call of every host.

pub mod about;
mod body;
pub mod escape;
mod header;
mod pages;
pub mod read_back;
mod reconstructed;
mod settled;

use std::sync::Arc;

use body::Beside;
use settled::Start;

use crate::{
    observation::{placement::place, rows::Observed},
    session::{Session, layout::Layout},
    text::time::{Moment, Zone},
    transcript::Speaker,
};

pub use about::{About, about};
pub use pages::{MAX_PAGE_BYTES, MAX_PAGE_LINES, MAX_PAGE_TOKENS};
pub use read_back::{Item, missing_from, read_back};
pub use reconstructed::reconstructed;
pub use settled::Settled;

/// The version of the format, as the header tells it.
pub const FORMAT: u32 = 1;

/// What a rendering depends on beside the session.
#[derive(Debug, Clone)]
pub struct Options {
    /// The zone that times are shown in.
    pub zone: Zone,
    /// The time of rendering.
    pub rendered: Moment,
    /// An older bottle that has words which the session has lost.
    pub earlier: Option<Earlier>,
    /// What an observation source knows of the session; none where none does.
    pub observed: Option<Arc<Observed>>,
}

/// An older bottle in the archive.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Earlier {
    /// Its path, relative to the folder of bottles.
    pub path: String,
    /// How many messages it has.
    pub messages: usize,
}

/// Where a bottle's content comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// The transcript is there, whole.
    Full,
    /// The transcript is there, and what observed it.
    FullWithObservations,
    /// No transcript: what others kept of the session.
    Reconstructed,
}

impl Mode {
    /// The words of the header; agents and hooks rely on them.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Full => "full (transcript only)",
            Self::FullWithObservations => "full (transcript + observations)",
            Self::Reconstructed => {
                "reconstructed (transcript unavailable) — user messages verbatim; assistant messages \
                 not preserved; summaries are generated"
            }
        }
    }

    /// The mode that a header names in these words.
    pub fn named(words: &str) -> Option<Self> {
        let all = [Self::Full, Self::FullWithObservations, Self::Reconstructed];
        all.into_iter().find(|mode| mode.as_str() == words)
    }
}

/// A rendered session.
#[derive(Debug, Clone)]
pub struct Bottle {
    /// The Markdown.
    pub text: String,
    /// Where it comes from.
    pub mode: Mode,
    /// Lines.
    pub lines: usize,
    /// First and last line of each page, from 1.
    pub pages: Vec<(usize, usize)>,
    /// Messages in the person's place.
    pub user: usize,
    /// Messages of the agent.
    pub assistant: usize,
    /// Tool calls, rewound ones included.
    pub calls: usize,
    /// Tool calls that are shown as stubs.
    pub pending: usize,
    /// What [`render_grown`] needs; none where every rendering begins anew.
    pub settled: Option<Settled>,
}

impl Bottle {
    /// What stays of it when the text goes.
    pub fn about(&self, session: &Session, options: &Options) -> About {
        About {
            mode: self.mode,
            lines: self.lines,
            pages: self.pages.clone(),
            legs: session.legs(),
            rendered: options.rendered,
            calls: self.calls,
            pending: self.pending,
        }
    }
}

/// Renders a session.
pub fn render(session: &Session, options: &Options) -> Bottle {
    let layout = session.layout();
    let observed = options.observed.as_deref();
    let rows = observed.map(|observed| (observed, place(session, &layout, observed)));
    let mode = if rows.is_some() { Mode::FullWithObservations } else { Mode::Full };
    let beside = Beside { rows, ..Beside::default() };
    write(session, &layout, &beside, mode, options, Start::anew(session, &options.zone))
}

/// Renders a session of which a bottle is there: `old` is its text, `settled` what its rendering
/// left. Gives what [`render`] gives, and is quick where little of what is shown has changed.
pub fn render_grown(
    session: &Session,
    options: &Options,
    settled: &Settled,
    old: String,
) -> Bottle {
    if options.observed.is_some() {
        return render(session, options);
    }
    let layout = session.layout();
    let start = settled.start(session, &layout, &options.zone, old);
    let start = start.unwrap_or_else(|| Start::anew(session, &options.zone));
    write(session, &layout, &Beside::default(), Mode::Full, options, start)
}

fn write(
    session: &Session,
    layout: &Layout<'_>,
    beside: &Beside<'_>,
    mode: Mode,
    options: &Options,
    start: Start,
) -> Bottle {
    let mut body = body::body(session, layout, beside, &options.zone, start);
    let count = |speaker| layout.messages().filter(|message| message.speaker == speaker).count();
    let told = beside.rows.as_ref().map_or(0, |(observed, _)| observed.tool_uses.len());
    let mut bottle = Bottle {
        text: String::new(),
        mode,
        lines: 0,
        pages: Vec::new(),
        user: count(Speaker::User),
        assistant: count(Speaker::Assistant),
        calls: match mode {
            Mode::Reconstructed => told,
            Mode::Full | Mode::FullWithObservations => session.ledger().calls().len(),
        },
        pending: body.pending,
        settled: None,
    };
    header::Header { session, layout, options, body: &body }.write(&mut bottle);
    bottle.lines = bottle.text.lines().count() + body.lines;
    // In front of the body, in place: a bottle can be large, and is never there twice.
    let mut text = std::mem::take(&mut body.text);
    let settled = Settled::new(text.len(), options.zone.clone(), body);
    text.insert_str(0, &bottle.text);
    bottle.text = text;
    bottle.settled = (mode == Mode::Full).then_some(settled);
    bottle
}

/// Whether two bottles are equal but for the value of `rendered:`.
pub fn same_but_rendered(old: &str, new: &str) -> bool {
    without_rendered(old) == without_rendered(new)
}

/// A bottle before and behind the value of `rendered:`.
pub fn without_rendered(text: &str) -> (&str, &str) {
    around_rendered(text).map_or((text, ""), |(before, _, behind)| (before, behind))
}

/// The older bottle that a bottle's header names.
pub fn earlier_of(text: &str) -> Option<Earlier> {
    let (_, value, _) = around_rendered(text)?;
    let (_, earlier) = value.split_once(header::EARLIER)?;
    let (path, messages) = earlier.rsplit_once(" (")?;
    let messages = messages.strip_suffix(" messages)")?.parse().ok()?;
    Some(Earlier { path: path.to_owned(), messages })
}

/// The text before the value of `rendered:`, the value, and the text behind it. The value ends the
/// second line; what stands before it on that line may look like anything.
fn around_rendered(text: &str) -> Option<(&str, &str, &str)> {
    let second = text.find('\n')? + 1;
    let end = second + text[second..].find('\n')?;
    let start = second + text[second..end].rfind(header::RENDERED)? + header::RENDERED.len();
    Some((&text[..start], &text[start..end], &text[end..]))
}
