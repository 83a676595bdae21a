//! `endless pointer`: what hands a bottle to another session.

use std::{ffi::OsString, path::Path};

use jiff::Timestamp;
use serde::Serialize;

use super::{
    failure::Failure,
    observed::observed,
    output,
    session::{self, Source},
};
use crate::{
    bottle::{Options, about, read_back},
    config::{Config, Environment},
    files::bottles,
    paths::SessionId,
    pointer::{self, Place, Recap},
    sources::load::Loaded,
    text::{measure::utf16_len, time::Moment},
};

/// Print the pointer to a session's bottle: what to paste into another session.
///
/// A pointer is a short text that names the bottle, the lines of it to read first, and where things
/// stand: the original request, the last messages, the task list. An agent that is given it reads
/// the bottle and goes on from there. The bottle is made anew first, as `endless render` does it.
/// Where the transcript is gone, the bottle that is left is what the pointer names, or one that is
/// made of what claude-mem kept.
///
/// It has at most 6,000 UTF-16 units (9,500 where the path is very long), and no output of tools.
#[derive(Debug, clap::Args)]
#[command(after_help = AFTER_HELP)]
pub(super) struct Pointer {
    /// The session: its id, a prefix of it that fits no other, or the path of a transcript.
    session: OsString,
    /// Print JSON: path, mode, transcript_gone, lines, ranges (first and last line), text,
    /// utf16_units.
    #[arg(long)]
    json: bool,
}

const AFTER_HELP: &str = "\
Examples:
  endless pointer 0b9f                     the session whose id begins so
  endless pointer 0b9f | xclip             into the clipboard (macOS: pbcopy, WSL: clip.exe)
  claude \"$(endless pointer 0b9f)\"         a new session that goes on there
  endless pointer 0b9f --json              which lines to read, for a program

The agent must be allowed to read the bottle: ~/.endless/bottles/<session id>.md.";

/// What is said of a session that was forgotten.
const NOTHING: &str = "there is nothing to point to";

impl Pointer {
    pub(super) fn run(self, environment: &Environment) -> Result<(), Failure> {
        let config = Config::load(environment)?;
        let report = match session::source(&self.session, &config, environment)? {
            Source::Transcripts(target) => {
                let loaded = session::read(&target)?;
                let has_bottle = config.paths.bottle(&loaded.id).is_file();
                // A transcript without a message is as good as none.
                if loaded.session.message_counts() == (0, 0) && has_bottle {
                    left(&loaded.id, &config)?
                } else {
                    fresh(&loaded, &config)?
                }
            }
            Source::Bottle(id) => left(&id, &config)?,
            Source::ClaudeMem(id) => {
                session::refuse_forgotten(&config, &id, NOTHING)?;
                let options = options(&config, &id);
                let kept = session::keep_reconstructed(&config, &id, options)?;
                kept.ok_or_else(|| session::nothing_kept(&id, &config))?;
                left(&id, &config)?
            }
        };
        if self.json {
            return output::json(&report);
        }
        output::print(&format!("{}\n", report.text))
    }
}

/// The pointer to a bottle that is made now.
fn fresh(loaded: &Loaded, config: &Config) -> Result<Report, Failure> {
    session::refuse_forgotten(config, &loaded.id, NOTHING)?;
    let options = options(config, &loaded.id);
    let kept = session::keep(config, loaded, options)?;
    session::warn(loaded, &kept.bottle, kept.archived());
    let layout = loaded.session.layout();
    let (last, path) = (kept.last(), shown(&kept.path));
    let place = Place::of(last.about(), loaded.id.as_str(), &path, &config.zone);
    Ok(Report::new(&place, &Recap::of_session(&layout)))
}

fn options(config: &Config, id: &SessionId) -> Options {
    let rendered = Moment(Timestamp::now().as_millisecond());
    let observed = observed(config, id);
    Options { zone: config.zone.clone(), rendered, earlier: None, observed }
}

/// The pointer to the bottle that is left of a session.
fn left(id: &SessionId, config: &Config) -> Result<Report, Failure> {
    session::refuse_forgotten(config, id, NOTHING)?;
    let path = config.paths.bottle(id);
    let text = bottles::read(&path)?.unwrap_or_default();
    let (Some(about), Some(items)) = (about(&text), read_back(&text)) else {
        return Err(Failure::failed(format_args!(
            "the transcript of this session is gone, and {} is no bottle that this version of \
             Endless can read",
            path.display()
        )));
    };
    let path = shown(&path);
    let place = Place { gone: true, ..Place::of(&about, id.as_str(), &path, &config.zone) };
    Ok(Report::new(&place, &Recap::of_bottle(&items)))
}

fn shown(path: &Path) -> String {
    path.display().to_string()
}

/// What `--json` prints.
#[derive(Debug, Serialize)]
struct Report {
    path: String,
    mode: &'static str,
    transcript_gone: bool,
    lines: usize,
    ranges: Vec<(usize, usize)>,
    text: String,
    utf16_units: usize,
}

impl Report {
    fn new(place: &Place<'_>, recap: &Recap<'_>) -> Self {
        let pointer = pointer::pointer(place, recap);
        Self {
            path: place.path.to_owned(),
            mode: place.mode.as_str(),
            transcript_gone: place.gone,
            lines: place.lines,
            ranges: pointer.ranges,
            utf16_units: utf16_len(&pointer.text),
            text: pointer.text,
        }
    }
}
