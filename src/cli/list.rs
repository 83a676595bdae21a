//! `endless list`: the sessions that there are.

mod gone;
pub(super) mod since;

use std::{
    fs,
    path::{Component, Path, PathBuf},
    time::{Duration, SystemTime},
};

use jiff::Timestamp;
use serde::Serialize;

use super::{failure::Failure, output};
use crate::{
    config::{Config, Environment},
    paths::SessionId,
    sources::{
        heads::{Head, read_head},
        transcripts::{OBSERVERS, Scan, scan, searched},
    },
    text::{
        line::plain_line,
        time::{Moment, Zone},
    },
    transcript::Host,
};

/// Characters of the first words.
const WORDS: usize = 60;
/// Characters that the project's column may be wide.
const PROJECT: usize = 48;

/// List the sessions that are there, the newest first.
///
/// Shown are the id, the last activity, the size of the transcript, the project and the first
/// words of the person.
#[derive(Debug, clap::Args)]
#[command(after_help = AFTER_HELP)]
pub(super) struct List {
    /// Print JSON: an array of id, project, first_words, bytes, last_activity, path; with --all also
    /// source: `transcript`, `bottle` or `claude-mem`.
    #[arg(long)]
    json: bool,
    /// Also sessions whose transcripts are gone: those that have a bottle, and those that claude-mem
    /// knows.
    #[arg(long)]
    all: bool,
    /// Only sessions that began in this folder, or in one inside it.
    #[arg(long, value_name = "DIR")]
    project: Option<PathBuf>,
    /// Only sessions with activity in this time: 30m, 12h, 2d, 3w.
    #[arg(long, value_name = "TIME", value_parser = since::parse)]
    since: Option<Duration>,
}

const AFTER_HELP: &str = "\
Examples:
  endless list
  endless list --since 2d
  endless list --all               also sessions whose transcripts are gone
  endless list --project . --json";

impl List {
    pub(super) fn run(self, environment: &Environment) -> Result<(), Failure> {
        let config = Config::load(environment)?;
        let project = self.project.as_deref();
        let project = project.map(|folder| without_dots(&environment.resolved(folder)));
        let scan = scan(&config.roots);
        let oldest = self.since.and_then(|since| SystemTime::now().checked_sub(since));
        let mut rows = transcripts(&scan, oldest);
        read_heads(&mut rows);
        if self.all {
            rows.iter_mut().for_each(|row| row.source = Some("transcript"));
            rows.extend(gone::rows(&config, &scan));
            newest_first(&mut rows, oldest);
        }
        rows.retain(|row| row.belongs(project.as_deref()));
        if self.json {
            return output::json(&rows);
        }
        if rows.is_empty() {
            let searched = searched(&scan, &config.roots, &config.candidates);
            output::note(&format!("no session to show; {searched}"));
            return Ok(());
        }
        table(&rows, &config.zone)
    }
}

/// A path without `.` and `..`. What is there has none by now; of what is not, nothing but the words
/// can tell.
pub(super) fn without_dots(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => {
                plain.pop();
            }
            part => plain.push(part),
        }
    }
    plain
}

/// A session.
#[derive(Debug, Serialize)]
struct Row {
    id: String,
    project: String,
    first_words: String,
    bytes: u64,
    last_activity: Option<String>,
    path: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    source: Option<&'static str>,
    #[serde(skip)]
    file: PathBuf,
    #[serde(skip)]
    modified: SystemTime,
}

impl Default for Row {
    fn default() -> Self {
        Self {
            id: String::new(),
            project: String::new(),
            first_words: String::new(),
            bytes: 0,
            last_activity: None,
            path: String::new(),
            source: None,
            file: PathBuf::new(),
            modified: SystemTime::UNIX_EPOCH,
        }
    }
}

/// The transcripts that were written to in this time, newest first.
fn transcripts(scan: &Scan, oldest: Option<SystemTime>) -> Vec<Row> {
    let rows = scan.sessions.iter().filter_map(|(id, files)| row(id, files));
    let mut rows: Vec<_> = rows.collect();
    newest_first(&mut rows, oldest);
    rows
}

fn newest_first(rows: &mut Vec<Row>, oldest: Option<SystemTime>) {
    rows.retain(|row| oldest.is_none_or(|oldest| row.modified >= oldest));
    rows.sort_by(|a, b| b.modified.cmp(&a.modified).then_with(|| a.id.cmp(&b.id)));
}

/// Of several files of a session the largest stands for it, and the newest for its activity.
fn row(id: &SessionId, files: &[PathBuf]) -> Option<Row> {
    let looked = files.iter().filter_map(|file| Some((file, fs::symlink_metadata(file).ok()?)));
    let looked: Vec<_> = looked.collect();
    let (file, data) = looked.iter().max_by_key(|(_, data)| data.len())?;
    let modified = looked.iter().filter_map(|(_, data)| data.modified().ok()).max();
    let modified = modified.unwrap_or(SystemTime::UNIX_EPOCH);
    Some(Row {
        id: id.to_string(),
        bytes: data.len(),
        last_activity: time(modified).map(|time| time.to_string()),
        path: file.display().to_string(),
        file: (*file).clone(),
        modified,
        ..Row::default()
    })
}

/// To the second: what is finer tells nobody anything.
fn time(moment: SystemTime) -> Option<Timestamp> {
    let time = Timestamp::try_from(moment).ok()?;
    Timestamp::from_second(time.as_second()).ok()
}

/// A transcript that can't be read has no words; it is listed all the same.
fn read_heads(rows: &mut [Row]) {
    let mut progress = output::Progress::start();
    let count = rows.len();
    for (index, row) in rows.iter_mut().enumerate() {
        progress.reached("reading transcript", index, count);
        let Head { folder, words } = read_head(&row.file, Host::ClaudeCode).unwrap_or_default();
        row.project = folder;
        row.first_words = words;
    }
}

impl Row {
    fn belongs(&self, project: Option<&Path>) -> bool {
        let folder = Path::new(&self.project);
        let of_observer = folder.components().any(|part| part.as_os_str() == OBSERVERS);
        !of_observer && project.is_none_or(|project| folder.starts_with(project))
    }

    fn cells(&self, zone: &Zone) -> [String; 5] {
        let active = time(self.modified).map(|time| Moment(time.as_millisecond()));
        let active = active.map(|time| format!("{} {}", zone.date(time), zone.minute(time)));
        [
            self.id.clone(),
            active.unwrap_or_default(),
            match self.source {
                None | Some("transcript") => size(self.bytes),
                Some(source) => source.to_owned(),
            },
            last_part(&plain_line(&self.project, usize::MAX)),
            self.first_words.clone(),
        ]
    }
}

fn table(rows: &[Row], zone: &Zone) -> Result<(), Failure> {
    let rows: Vec<_> = rows.iter().map(|row| row.cells(zone)).collect();
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max();
    let [id, active, size, project] = [0, 1, 2, 3].map(|column| width(column).unwrap_or_default());
    let mut page = output::Page::default();
    for row in &rows {
        page.strong(&format!("{:id$}", row[0]));
        page.plain(&format!("  {:active$}  {:>size$}", row[1], row[2]));
        let line = format!("  {:project$}  {}", row[3], row[4]);
        page.plain(line.trim_end());
        page.plain("\n");
    }
    page.print()
}

/// The end of a long path, which tells more than its beginning.
pub(super) fn last_part(path: &str) -> String {
    let length = path.chars().count();
    if length <= PROJECT {
        return path.to_owned();
    }
    let end: String = path.chars().skip(length + 1 - PROJECT).collect();
    format!("…{end}")
}

/// `4.1 MB`
pub(super) fn size(bytes: u64) -> String {
    let (unit, name) = match bytes {
        0..1_000 => return format!("{bytes} B"),
        1_000..1_000_000 => (1_000, "KB"),
        1_000_000..1_000_000_000 => (1_000_000, "MB"),
        _ => (1_000_000_000, "GB"),
    };
    let tenths = bytes / (unit / 10);
    if tenths < 100 {
        format!("{}.{} {name}", tenths / 10, tenths % 10)
    } else {
        format!("{} {name}", bytes / unit)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_short() {
        for (bytes, expected) in [
            (0, "0 B"),
            (999, "999 B"),
            (1_000, "1.0 KB"),
            (9_999, "9.9 KB"),
            (10_000, "10 KB"),
            (4_150_000, "4.1 MB"),
            (14_000_000_000, "14 GB"),
        ] {
            assert_eq!(size(bytes), expected);
        }
    }

    #[test]
    fn long_paths_keep_their_end() {
        let path = format!("/{}", "é".repeat(60));
        assert_eq!(last_part(&path), format!("…{}", "é".repeat(47)));
        assert_eq!(last_part("/a"), "/a");
    }
}
