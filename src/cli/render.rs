//! `endless render`: the bottle of a session.

use std::{
    collections::BTreeMap,
    ffi::OsString,
    fs,
    io::Read,
    path::{Path, PathBuf},
    time::Instant,
};

use endless_watchers::{TailError, open_regular};
use jiff::Timestamp;
use serde::Serialize;

use super::{
    failure::Failure,
    list::without_dots,
    observed::observed,
    output,
    session::{self, Source},
};
use crate::{
    bottle::{Bottle, Item, Mode, Options, about, read_back, reconstructed, render},
    config::{Config, Environment},
    files::bottles::{self, Kept},
    paths::SessionId,
    sources::{ReadError, load::Loaded},
    text::{line::plain_line, privacy, time::Moment},
    transcript::{Host, Speaker},
};

/// What a bottle begins with.
const TITLE: &[u8] = b"# Session bottle";

/// Write the bottle of a session and print its path.
///
/// A bottle is a Markdown file: the conversation word for word, and one line in place of each
/// piece of tool traffic. It is made anew from the transcript each time, and left alone where
/// nothing has changed. If the old bottle has messages that the transcript has lost, it goes to
/// the archive first. Where claude-mem knows the session its observations stand beside the tool
/// calls; where the transcript is gone and no bottle is left, one is made of what claude-mem kept.
#[derive(Debug, clap::Args)]
#[command(after_help = AFTER_HELP)]
pub(super) struct Render {
    /// The session: its id, a prefix of it that fits no other, or the path of a transcript.
    session: OsString,
    /// Print the bottle, and write nothing.
    #[arg(long, conflicts_with_all = ["out", "json"])]
    stdout: bool,
    /// Write the bottle to this file, not to the state folder.
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Print what was made as JSON: path, mode, lines, pages, counts, bytes, milliseconds.
    #[arg(long)]
    json: bool,
}

const AFTER_HELP: &str = "\
Examples:
  endless render 0b9f                            the session whose id begins so
  endless render ~/old/0b9f2c1e.jsonl --stdout   any transcript, printed
  endless render 0b9f --json                     what was read, kept and left out

Bottles lie in the state folder: ~/.endless/bottles/<session id>.md.";

impl Render {
    pub(super) fn run(self, environment: &Environment) -> Result<(), Failure> {
        let started = Instant::now();
        let config = Config::load(environment)?;
        let loaded = match session::source(&self.session, &config, environment)? {
            Source::Transcripts(target) => session::read(&target)?,
            Source::Bottle(id) | Source::ClaudeMem(id) => {
                let made = self.without_transcript(&id, &config, environment)?;
                return self.print(&made, &Report::of(&made, started));
            }
        };
        let options = options(&config, &loaded.id);
        let is_left = is_known(&options) || config.paths.bottle(&loaded.id).is_file();
        if loaded.session.message_counts() == (0, 0) && is_left {
            let made = self.without_transcript(&loaded.id, &config, environment)?;
            return self.print(&made, &Report::new(&loaded, &made, started));
        }
        refuse_what_is_no_transcript(&loaded)?;
        let made = if self.stdout {
            Made::printed(render(&loaded.session, &options))
        } else if let Some(out) = &self.out {
            let out = environment.absolute(out);
            write_out(&out, &loaded.files, || render(&loaded.session, &options), &config)?
        } else {
            session::refuse_forgotten(&config, &loaded.id, INSTEAD)?;
            session::keep(&config, &loaded, options)?.into()
        };
        session::warn(&loaded, &made.bottle, made.archived.as_deref());
        self.print(&made, &Report::new(&loaded, &made, started))
    }

    /// The bottle that was made while there was a transcript, else what claude-mem keeps.
    fn without_transcript(
        &self,
        id: &SessionId,
        config: &Config,
        environment: &Environment,
    ) -> Result<Made, Failure> {
        let path = config.paths.bottle(id);
        let left = bottles::read(&path)?.and_then(left);
        if let Some(bottle) = left.filter(|bottle| bottle.mode != Mode::Reconstructed) {
            output::note("transcript gone: this bottle is what is left of the session");
            return match &self.out {
                None => Ok(Made { path: (!self.stdout).then_some(path), ..Made::printed(bottle) }),
                Some(out) => write_out(&environment.absolute(out), &[], || bottle, config),
            };
        }
        let options = options(config, id);
        let bottle = reconstructed(id.as_str(), Host::ClaudeCode, &options);
        let bottle = bottle.ok_or_else(|| session::nothing_kept(id, config))?;
        if self.stdout {
            return Ok(Made::printed(bottle));
        }
        if let Some(out) = &self.out {
            return write_out(&environment.absolute(out), &[], || bottle, config);
        }
        session::refuse_forgotten(config, id, INSTEAD)?;
        let kept = session::keep_reconstructed(config, id, options)?;
        Ok(kept.ok_or_else(|| session::nothing_kept(id, config))?.into())
    }

    fn print(&self, made: &Made, report: &Report) -> Result<(), Failure> {
        if self.json {
            return output::json(report);
        }
        match &made.path {
            Some(path) => output::print(&format!("{}\n", path.display())),
            None => output::print(&made.bottle.text),
        }
    }
}

/// What can be done with a session that was forgotten.
const INSTEAD: &str = "print it with --stdout";

fn options(config: &Config, id: &SessionId) -> Options {
    let rendered = Moment(Timestamp::now().as_millisecond());
    let observed = observed(config, id);
    Options { zone: config.zone.clone(), rendered, earlier: None, observed }
}

/// A file of anything else is a slip of the hand, and its bottle would stand among the sessions.
fn refuse_what_is_no_transcript(loaded: &Loaded) -> Result<(), Failure> {
    let counts = &loaded.session.counts;
    let has_a_record = loaded.session.message_counts() != (0, 0) || !counts.skipped.is_empty();
    if has_a_record || counts.unreadable == 0 {
        return Ok(());
    }
    let files: Vec<_> = loaded.files.iter().map(|file| file.display().to_string()).collect();
    Err(Failure::failed(format_args!(
        "no line of {} is a record of a transcript; give the path of one, or an id from `endless \
         list`",
        files.join(", ")
    )))
}

/// Whether what claude-mem knows is worth a bottle.
fn is_known(options: &Options) -> bool {
    let observed = options.observed.as_ref();
    observed.is_some_and(|known| !known.prompts.is_empty() || !known.observations.is_empty())
}

/// A bottle whose session can't be read any more, by what it says itself.
fn left(text: String) -> Option<Bottle> {
    let about = about(&text)?;
    let items = read_back(&text)?;
    let count = |wanted| {
        let is_wanted =
            |item: &&Item| matches!(item, Item::Message { speaker, .. } if *speaker == wanted);
        items.iter().filter(is_wanted).count()
    };
    Some(Bottle {
        user: count(Speaker::User),
        assistant: count(Speaker::Assistant),
        mode: about.mode,
        lines: about.lines,
        pages: about.pages,
        calls: about.calls,
        pending: about.pending,
        settled: None,
        text,
    })
}

/// A bottle, and the files that it made.
struct Made {
    bottle: Bottle,
    path: Option<PathBuf>,
    archived: Option<PathBuf>,
}

impl Made {
    fn printed(bottle: Bottle) -> Self {
        Self { bottle, path: None, archived: None }
    }
}

impl From<Kept> for Made {
    fn from(kept: Kept) -> Self {
        let archived = kept.archived().map(Path::to_owned);
        Self { bottle: kept.bottle, path: Some(kept.path), archived }
    }
}

fn write_out(
    path: &Path,
    sources: &[PathBuf],
    bottle: impl FnOnce() -> Bottle,
    config: &Config,
) -> Result<Made, Failure> {
    refuse(path, sources, config)?;
    let old = bottles::read(path)?;
    let bottle = bottle();
    bottles::write(path, old.as_deref(), &bottle.text, None)?;
    Ok(Made { path: Some(path.to_owned()), ..Made::printed(bottle) })
}

/// What is not ours is never written to, what is ours has its own writers, and nothing is replaced
/// but a bottle.
fn refuse(path: &Path, sources: &[PathBuf], config: &Config) -> Result<(), Failure> {
    let usage = |why: &str| Err(Failure::usage(format_args!("{} {why}", path.display())));
    let there = fs::symlink_metadata(path).ok();
    if there.as_ref().is_some_and(|data| !data.is_file()) {
        return usage("is not a regular file; name another, or use --stdout");
    }
    let real = real_path(path);
    let is_source = sources.iter().any(|file| real_path(file) == real);
    if is_source || config.roots.iter().any(|root| real.starts_with(root)) {
        return usage("belongs to the host; name another file");
    }
    if real.starts_with(real_path(&config.paths.home)) {
        return usage("lies in the state folder; name another file, or leave --out away");
    }
    if let Some(folder) = path.parent().filter(|folder| !folder.is_dir()) {
        let folder = folder.display();
        return Err(Failure::usage(format_args!("there is no folder {folder}; make it first")));
    }
    if there.is_some_and(|data| data.len() > 0) && !is_bottle(path)? {
        return usage("is there and is no bottle; name another file, or move it away");
    }
    Ok(())
}

fn is_bottle(path: &Path) -> Result<bool, ReadError> {
    let mut head = Vec::new();
    let read = open_regular(path)?.take(TITLE.len() as u64).read_to_end(&mut head);
    read.map_err(|source| TailError::Read { path: path.to_owned(), source })?;
    Ok(head == TITLE)
}

/// The path without links, as far as it exists.
fn real_path(path: &Path) -> PathBuf {
    let real = |folder: &Path| fs::canonicalize(folder).ok();
    let there = path.ancestors().find_map(|folder| Some((folder, real(folder)?)));
    match there {
        Some((folder, real)) => match path.strip_prefix(folder) {
            Ok(rest) => without_dots(&real.join(rest)),
            Err(_) => real,
        },
        None => without_dots(path),
    }
}

/// What `--json` prints.
#[derive(Debug, Serialize)]
struct Report {
    path: Option<String>,
    mode: &'static str,
    lines: usize,
    pages: Vec<(usize, usize)>,
    messages: Messages,
    tool_calls: usize,
    pending: usize,
    unreadable_lines: u64,
    skipped: BTreeMap<String, u64>,
    private_texts: u64,
    bytes: u64,
    bottle_bytes: usize,
    milliseconds: u128,
    torn_bytes: u64,
    archived: Option<String>,
}

#[derive(Debug, Serialize)]
struct Messages {
    user: usize,
    assistant: usize,
}

impl Report {
    fn new(loaded: &Loaded, made: &Made, started: Instant) -> Self {
        let counts = &loaded.session.counts;
        Self {
            unreadable_lines: counts.unreadable + counts.too_long,
            skipped: skipped(&counts.skipped),
            private_texts: counts.hidden,
            bytes: loaded.bytes,
            torn_bytes: loaded.torn,
            ..Self::of(made, started)
        }
    }

    /// What is known without a transcript.
    fn of(made: &Made, started: Instant) -> Self {
        let bottle = &made.bottle;
        let shown = |path: &Option<PathBuf>| path.as_ref().map(|path| path.display().to_string());
        Self {
            path: shown(&made.path),
            mode: bottle.mode.as_str(),
            lines: bottle.lines,
            pages: bottle.pages.clone(),
            messages: Messages { user: bottle.user, assistant: bottle.assistant },
            tool_calls: bottle.calls,
            pending: bottle.pending,
            unreadable_lines: 0,
            skipped: BTreeMap::new(),
            private_texts: 0,
            bytes: 0,
            bottle_bytes: bottle.text.len(),
            milliseconds: started.elapsed().as_millis(),
            torn_bytes: 0,
            archived: shown(&made.archived),
        }
    }
}

/// The host's types are text of a file like any other.
fn skipped(counts: &BTreeMap<String, u64>) -> BTreeMap<String, u64> {
    let mut shown = BTreeMap::new();
    for (kind, count) in counts {
        *shown.entry(plain_line(&privacy::strip(kind).text, 100)).or_default() += count;
    }
    shown
}
