//! Which sessions are meant: those with a transcript, and those of which only a bottle is left.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    io::{BufRead, BufReader},
    path::{Path, PathBuf},
    time::SystemTime,
};

use endless_watchers::open_regular;

use super::Failure;
use crate::{
    config::Config,
    files::forget::kept,
    paths::SessionId,
    sources::{
        heads::read_head,
        transcripts::{scan, searched},
    },
    transcript::Host,
};

/// Lines of a bottle among which its folder is named.
const HEAD: usize = 5;

/// A session that is meant.
#[derive(Debug)]
pub(super) struct Chosen {
    pub(super) id: SessionId,
    /// What the state folder has of it.
    pub(super) files: Vec<PathBuf>,
}

/// What sessions must be to be meant.
pub(super) struct Filter {
    /// They began in this folder, or inside it.
    pub(super) project: Option<PathBuf>,
    /// They have not changed since.
    pub(super) before: Option<SystemTime>,
}

/// All that there is of a session.
#[derive(Debug, Default)]
struct Known {
    transcripts: Vec<PathBuf>,
    files: Vec<PathBuf>,
}

/// The sessions that fit.
pub(super) fn fitting(config: &Config, filter: &Filter) -> Result<Vec<Chosen>, Failure> {
    let all = all(config)?.into_iter().filter(|(_, known)| known.fits(filter));
    Ok(all.map(|(id, known)| Chosen { id, files: known.files }).collect())
}

/// The sessions that are named, by id or by a prefix of exactly one.
pub(super) fn named(config: &Config, names: &[String]) -> Result<Vec<Chosen>, Failure> {
    let mut all = all(config)?;
    let mut found = BTreeSet::new();
    for name in names {
        found.insert(find(config, &all, name)?);
    }
    let chosen = found.into_iter().map(|id| {
        let files = all.remove(&id).unwrap_or_default().files;
        Chosen { id, files }
    });
    Ok(chosen.collect())
}

fn find(
    config: &Config,
    all: &BTreeMap<SessionId, Known>,
    name: &str,
) -> Result<SessionId, Failure> {
    let id: SessionId = name.parse().map_err(Failure::usage)?;
    if all.contains_key(&id) {
        return Ok(id);
    }
    let fitting: Vec<_> = all.keys().filter(|id| id.as_str().starts_with(name)).collect();
    match fitting.as_slice() {
        [one] => Ok((*one).clone()),
        [] => {
            let searched = searched(&scan(&config.roots), &config.roots, &config.candidates);
            Err(Failure::failed(format_args!(
                "no session and no bottle begins with `{name}`; {searched}"
            )))
        }
        [one, two, ..] => Err(Failure::usage(format_args!(
            "`{name}` fits {} sessions, give more of the id: {one}, {two}{}",
            fitting.len(),
            if fitting.len() > 2 { ", …" } else { "" }
        ))),
    }
}

fn all(config: &Config) -> Result<BTreeMap<SessionId, Known>, Failure> {
    let mut all: BTreeMap<SessionId, Known> = BTreeMap::new();
    for (id, transcripts) in scan(&config.roots).sessions {
        all.entry(id).or_default().transcripts = transcripts;
    }
    for (id, file) in kept(&config.paths)? {
        all.entry(id).or_default().files.push(file);
    }
    Ok(all)
}

impl Known {
    fn fits(&self, filter: &Filter) -> bool {
        filter.before.is_none_or(|before| self.changed().is_some_and(|changed| changed < before))
            && filter.project.as_deref().is_none_or(|project| self.is_of(project))
    }

    /// The last change: of the transcripts where there are any, since a bottle may be rendered late.
    fn changed(&self) -> Option<SystemTime> {
        let files = if self.transcripts.is_empty() { &self.files } else { &self.transcripts };
        files.iter().filter_map(|file| fs::symlink_metadata(file).ok()?.modified().ok()).max()
    }

    fn is_of(&self, project: &Path) -> bool {
        let heads = self.transcripts.iter().filter_map(|file| {
            let head = read_head(file, Host::ClaudeCode).ok()?;
            Some(PathBuf::from(head.folder))
        });
        let bottles = self.files.iter().filter_map(|file| folder_of(file));
        heads.chain(bottles).any(|folder| folder.starts_with(project))
    }
}

/// The folder that a bottle names.
fn folder_of(bottle: &Path) -> Option<PathBuf> {
    let lines = BufReader::new(open_regular(bottle).ok()?).lines().take(HEAD);
    lines.map_while(Result::ok).find_map(|line| {
        let (folder, _) = line.strip_prefix("project: ")?.split_once(" · host: ")?;
        Some(PathBuf::from(folder))
    })
}
