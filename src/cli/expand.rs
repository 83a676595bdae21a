//! `endless expand`: what is behind a line of a bottle.

mod ids;
mod lines;
mod show;

use std::{collections::BTreeSet, ffi::OsString, ops::Range};

use super::{
    failure::Failure,
    observed::source,
    output,
    session::{self, Source},
};
use crate::{
    config::{Config, Environment},
    files::bottles,
    paths::SessionId,
    session::{Session, layout::Layout},
    sources::{
        bodies::{Bodies, read_bodies},
        claude_mem::Whole,
        load::Loaded,
    },
};
use ids::Wanted;
use lines::Lines;

/// Print the whole input and output behind lines of a bottle.
///
/// A bottle shows one line for each piece of tool traffic, with an id: `[t17]`. This prints what
/// is behind it, read back from the transcript (or from the file that the host kept it in). Behind
/// an observation of claude-mem, `[#102401]`, is its whole row.
/// Private parts are left out here too. Where the transcript was rewritten since the bottle was,
/// and an id no longer means what the bottle says, nothing is printed.
#[derive(Debug, clap::Args)]
#[command(after_help = AFTER_HELP)]
pub(super) struct Expand {
    /// The session: its id, a prefix of it that fits no other, or the path of a transcript.
    session: OsString,
    /// Lines: `t17`, `t18-t22`, a rewound stretch `r1`, an observation `#102401`, or the host's own id
    /// of a call.
    #[arg(required = true, value_name = "ID")]
    ids: Vec<String>,
    /// Print JSON: an array of id, tool, call_id, status, input, output; of an observation its columns.
    #[arg(long)]
    json: bool,
}

const AFTER_HELP: &str = "\
Examples:
  endless expand 0b9f t17              one tool call
  endless expand 0b9f t18-t22 t40      several
  endless expand 0b9f r1               what was said and done before the person rewound
  endless expand 0b9f '#102401'        an observation of claude-mem, whole
  endless expand 0b9f toolu_01AbC…     a call by the host's id";

impl Expand {
    pub(super) fn run(self, environment: &Environment) -> Result<(), Failure> {
        let wanted = self.ids.iter().map(|id| ids::parse(id)).collect::<Result<Vec<_>, _>>();
        let wanted = wanted.map_err(Failure::usage)?;
        let config = Config::load(environment)?;
        let only_rows = wanted.iter().all(|wanted| matches!(wanted, Wanted::Row(_)));
        let loaded = match session::source(&self.session, &config, environment)? {
            Source::Transcripts(target) => session::read(&target)?,
            // claude-mem needs no transcript.
            Source::Bottle(id) | Source::ClaudeMem(id) if only_rows => {
                let found = wanted.iter().map(|wanted| row(wanted, &id, &config));
                let found = found.collect::<Result<Vec<_>, _>>()?;
                let shown: Vec<_> = found.iter().flatten().map(show::row).collect();
                return self.print(&shown, &config);
            }
            Source::Bottle(id) | Source::ClaudeMem(id) => return Err(session::gone(&id, &config)),
        };
        let layout = loaded.session.layout();
        let found = wanted.iter().map(|wanted| match row(wanted, &loaded.id, &config)? {
            Some(whole) => Ok(Found::Row(whole)),
            None => resolve(wanted, &loaded.session, &layout),
        });
        let found = found.collect::<Result<Vec<_>, Failure>>()?;
        refuse_rewritten(&found, &loaded, &layout, &config)?;
        let bodies = read_bodies(&loaded, &asked(&found, &layout))?;
        let shown: Vec<_> =
            found.iter().flat_map(|found| parts(found, &loaded, &layout, &bodies)).collect();
        self.print(&shown, &config)
    }

    fn print(&self, shown: &[show::Part<'_>], config: &Config) -> Result<(), Failure> {
        if self.json {
            return output::json(&shown);
        }
        let mut page = output::Page::default();
        for part in shown {
            part.write(&mut page, &config.zone);
        }
        page.print()
    }
}

/// The observation that is wanted; none where something else is.
fn row(wanted: &Wanted, id: &SessionId, config: &Config) -> Result<Option<Whole>, Failure> {
    let Wanted::Row(number) = wanted else { return Ok(None) };
    let mut source = source(config).ok_or_else(|| {
        Failure::failed(format_args!(
            "#{number} is an observation of claude-mem, and `observations` is `derived` in {}",
            config.paths.config.display()
        ))
    })?;
    let found = source.whole(id.as_str(), *number)?;
    found.map(Some).ok_or_else(|| {
        Failure::failed(format_args!("claude-mem keeps no observation #{number} of this session"))
    })
}

/// What an id stands for.
enum Found {
    /// Calls by their numbers in a bottle: indexes in the ledger.
    Calls(Range<u32>),
    /// A call by the host's id: its index in the ledger.
    Named(u32),
    /// A rewound stretch, by its index.
    Stretch(usize),
    /// An observation of claude-mem.
    Row(Whole),
}

fn resolve(wanted: &Wanted, session: &Session, layout: &Layout<'_>) -> Result<Found, Failure> {
    match wanted {
        Wanted::Calls(first, last) => calls(*first, *last, session),
        Wanted::Stretch(number) => {
            let index = number.checked_sub(1).filter(|index| *index < layout.rewound.len());
            let there = range('r', layout.rewound.len(), "rewound stretches");
            index.map(Found::Stretch).ok_or_else(|| {
                Failure::failed(format_args!("there is no r{number}: this session has {there}"))
            })
        }
        Wanted::Row(number) => Err(Failure::failed(format_args!("there is no #{number}"))),
        Wanted::HostId(id) => {
            let calls = session.ledger().calls();
            let index = calls.iter().position(|call| session.text(call.id) == id);
            let index = index.and_then(|index| u32::try_from(index).ok());
            index.map(Found::Named).ok_or_else(|| {
                let there = range('t', calls.len(), "tool calls");
                Failure::failed(format_args!(
                    "no tool call of this session has the id {id}: it has {there}"
                ))
            })
        }
    }
}

fn calls(first: usize, last: usize, session: &Session) -> Result<Found, Failure> {
    let count = session.ledger().calls().len();
    if first >= 1 && last <= count {
        let index = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
        return Ok(Found::Calls(index(first - 1)..index(last)));
    }
    let asked = if first == last { format!("t{first}") } else { format!("t{first}-t{last}") };
    let there = range('t', count, "tool calls");
    Err(Failure::failed(format_args!("there is no {asked}: this session has {there}")))
}

/// The ids that there are.
fn range(letter: char, count: usize, what: &str) -> String {
    match count {
        0 => format!("no {what}"),
        1 => format!("only {letter}1"),
        _ => format!("{letter}1–{letter}{count}"),
    }
}

/// Ids of lines mean what the bottle says, or nothing: the person read them there.
fn refuse_rewritten(
    found: &[Found],
    loaded: &Loaded,
    layout: &Layout<'_>,
    config: &Config,
) -> Result<(), Failure> {
    let bottle = bottles::read(&config.paths.bottle(&loaded.id)).unwrap_or_else(|error| {
        output::note(&format!("{error}; the ids are not compared with it"));
        None
    });
    let Some(bottle) = bottle else { return Ok(()) };
    let lines = Lines::of(&bottle);
    let shown: BTreeSet<u32> = layout.calls().collect();
    let numbered = found.iter().filter_map(|found| match found {
        Found::Calls(range) => Some(range.clone()),
        Found::Named(_) | Found::Stretch(_) | Found::Row(_) => None,
    });
    for index in numbered.flatten() {
        let is_shown = shown.contains(&index);
        if let Some(now) = lines.differs(&loaded.session, index, is_shown, &config.zone) {
            return Err(Failure::failed(format_args!(
                "the transcript was rewritten since the bottle was written: [t{}] is `{}` there \
                 and `{}` now; run `endless render {}` first",
                index + 1,
                now.there,
                now.here,
                loaded.id,
            )));
        }
    }
    Ok(())
}

/// The calls of all that was found.
fn asked(found: &[Found], layout: &Layout<'_>) -> BTreeSet<u32> {
    let mut asked = BTreeSet::new();
    for found in found {
        match found {
            Found::Calls(range) => asked.extend(range.clone()),
            Found::Named(index) => asked.extend([*index]),
            Found::Stretch(index) => asked.extend(&layout.rewound[*index].calls),
            Found::Row(_) => {}
        }
    }
    asked
}

fn parts<'a>(
    found: &'a Found,
    loaded: &'a Loaded,
    layout: &'a Layout<'_>,
    bodies: &'a Bodies,
) -> Vec<show::Part<'a>> {
    match found {
        Found::Calls(range) => show::calls(loaded, bodies, range.clone()),
        Found::Named(index) => show::calls(loaded, bodies, [*index]),
        Found::Stretch(index) => vec![show::stretch(loaded, layout, bodies, *index)],
        Found::Row(whole) => vec![show::row(whole)],
    }
}
