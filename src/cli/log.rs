//! `endless log`: what was sealed, printed, and seen to arrive.

use super::{
    failure::Failure,
    history::{self, History},
    output,
};
use crate::{
    config::{Config, Environment},
    store::Store,
    text::time::{Moment, Zone},
};

/// Show what was handed over at compactions: each seal, each print, and what became of it.
///
/// A seal is made when the host announces a compaction. A print is the pointer that the next context
/// was given; it has arrived when the transcript shows it, and is read when the agent has read lines
/// of the copy that it names. The newest prints and the last 20 seals of a session are known.
#[derive(Debug, clap::Args)]
#[command(after_help = AFTER_HELP)]
pub(super) struct Log {
    /// Only this session: its id, or a prefix of it that fits no other.
    session: Option<String>,
    /// Print JSON: an array of session, seals and deliveries, times in milliseconds.
    #[arg(long)]
    json: bool,
}

const AFTER_HELP: &str = "\
Examples:
  endless log                all sessions, the newest first
  endless log 0b9f           one session
  endless log --json";

impl Log {
    pub(super) fn run(self, environment: &Environment) -> Result<(), Failure> {
        let config = Config::load(environment)?;
        let histories = match history::open(&config.paths)? {
            None => Vec::new(),
            Some(store) => self.histories(&store)?,
        };
        if self.json {
            return output::json(&histories);
        }
        if histories.is_empty() {
            output::note(
                "nothing was sealed or printed yet; `endless doctor` tells whether the hooks are \
                 installed",
            );
            return Ok(());
        }
        let shown: Vec<String> =
            histories.iter().map(|history| page(history, &config.zone)).collect();
        output::print(&shown.join("\n"))
    }

    fn histories(&self, store: &Store) -> Result<Vec<History>, Failure> {
        let mut sessions = store.delivered_sessions()?;
        if let Some(asked) = &self.session {
            sessions = fitting(sessions, asked)?;
        }
        sessions.iter().map(|session| Ok(history::of(store, session)?)).collect()
    }
}

/// The session that is asked for.
fn fitting(mut sessions: Vec<String>, asked: &str) -> Result<Vec<String>, Failure> {
    if sessions.iter().any(|session| session == asked) {
        return Ok(vec![asked.to_owned()]);
    }
    sessions.retain(|session| session.starts_with(asked) && !asked.is_empty());
    match sessions.len() {
        1 => Ok(sessions),
        0 => Err(Failure::failed(format_args!(
            "nothing was sealed or printed of a session that begins with `{asked}`"
        ))),
        _ => Err(Failure::usage(format_args!(
            "`{asked}` fits {} sessions, give more of the id: {}",
            sessions.len(),
            sessions.iter().take(3).map(String::as_str).collect::<Vec<_>>().join(", ")
        ))),
    }
}

/// A session's events in the order in which they happened.
fn page(history: &History, zone: &Zone) -> String {
    let time = |at: i64| zone.second(Moment(at));
    let mut lines: Vec<(i64, String)> = Vec::new();
    for seal in &history.seals {
        let held = if seal.held { "" } else { ", not all that was announced had come" };
        let text = format!(
            "sealed ({}), gap {}, {} ms{held} · {}",
            seal.cause, seal.gap, seal.milliseconds, seal.mode
        );
        lines.push((seal.at, text));
    }
    for print in &history.deliveries {
        let named = if print.ranges.is_empty() {
            "the hook ended before it printed".to_owned()
        } else {
            format!("lines {}", print.ranges)
        };
        let fate = print.fate(&time).join(", ");
        lines.push((
            print.printed,
            format!("printed #{} ({}): {named} · {fate}", print.n, print.cause),
        ));
    }
    lines.sort_by_key(|(at, _)| *at);
    let mut page = format!("{}\n", history.session);
    for (at, text) in lines {
        page += &format!("  {} {}  {text}\n", zone.date(Moment(at)), time(at));
    }
    page
}
