//! The bottle of a session whose transcript is not there: what an observation source kept of it.
//!
//! The words of the person are exact, as far as the source kept them; one that it cut says so.
//! Nothing stands in the agent's place: what the agent said is not preserved, and what a model
//! summarised stands in blocks that say that they are generated.

use std::{collections::BTreeMap, sync::Arc};

use super::{Bottle, Mode, Options, body::Beside, settled::Start, write};
use crate::{
    observation::{
        placement::Placement,
        rows::{Observed, Prompt},
    },
    session::{
        Session,
        layout::{Layout, Message, Shown},
    },
    text::time::Moment,
    transcript::Host,
};

/// Renders what `options.observed` knows of a session; none where that is no prompt, observation or
/// summary.
pub fn reconstructed(id: &str, host: Host, options: &Options) -> Option<Bottle> {
    let observed: &Arc<Observed> = options.observed.as_ref()?;
    if observed.prompts.is_empty()
        && observed.observations.is_empty()
        && observed.summaries.is_empty()
    {
        return None;
    }
    let mut session = Session::new(id, host);
    session.folder =
        if observed.folder.is_empty() { &observed.project } else { &observed.folder }.clone();
    session.started = observed.started;
    session.counts.hidden = observed.hidden;
    let prompts = observed.prompts.iter();
    let shown = prompts.map(|prompt| Shown::Message(Message::prompt(&prompt.text, prompt.time)));
    let layout = Layout { shown: shown.collect(), rewound: Vec::new(), tasks: Vec::new() };
    let start = Start::anew(&session, &options.zone);
    Some(write(&session, &layout, &beside(observed), Mode::Reconstructed, options, start))
}

/// What stands behind each prompt.
fn beside(observed: &Observed) -> Beside<'_> {
    let prompts = &observed.prompts;
    let mut placement = Placement::default();
    for (index, row) in observed.observations.iter().enumerate() {
        let place = open_at(prompts, row.time).or_else(|| numbered(prompts, row.prompt));
        placement.rows.entry(place.unwrap_or(0)).or_default().push(index);
    }
    placement.covered = placement.rows.keys().next_back().copied();
    let mut summaries: BTreeMap<usize, Vec<_>> = BTreeMap::new();
    for summary in &observed.summaries {
        let place = numbered(prompts, summary.prompt).or_else(|| open_at(prompts, summary.time));
        summaries.entry(place.unwrap_or(0)).or_default().push(summary);
    }
    let cut = prompts.iter().enumerate().filter(|(_, prompt)| prompt.truncated);
    let truncated = cut.map(|(index, _)| index).collect();
    Beside { rows: Some((observed, placement)), truncated, summaries }
}

/// The prompt whose turn was open at this time.
fn open_at(prompts: &[Prompt], time: Moment) -> Option<usize> {
    prompts.partition_point(|prompt| prompt.time <= time).checked_sub(1)
}

/// The last prompt with this number: numbers are given again where prompts were deleted.
fn numbered(prompts: &[Prompt], number: Option<i64>) -> Option<usize> {
    let number = number?;
    prompts.iter().rposition(|prompt| prompt.number == number)
}
