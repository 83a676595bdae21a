//! What is done step by step, or only told.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use super::{
    InstallError,
    tools::{Call, Said, Tools},
    unit,
};
use crate::files;

/// What was done, for a person.
#[derive(Debug, Default)]
pub struct Report {
    /// The steps, in order.
    pub steps: Vec<String>,
    /// What is worth knowing beside them.
    pub notes: Vec<String>,
}

impl Report {
    /// Both, one after the other.
    pub fn and(mut self, next: Self) -> Self {
        self.steps.extend(next.steps);
        self.notes.extend(next.notes);
        self
    }
}

/// What became of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Change {
    New,
    Replaced,
    Same,
}

/// Does steps, or tells them.
pub(super) struct Work<'a> {
    pub(super) tools: &'a Tools,
    pub(super) dry_run: bool,
    pub(super) report: Report,
}

impl<'a> Work<'a> {
    pub(super) fn new(tools: &'a Tools, dry_run: bool) -> Self {
        Self { tools, dry_run, report: Report::default() }
    }

    pub(super) fn note(&mut self, note: impl Into<String>) {
        self.report.notes.push(note.into());
    }

    /// Records a step, in the past or in the conditional.
    pub(super) fn step(&mut self, done: &str, would: &str, what: &str) {
        let verb = if self.dry_run { format!("would {would}") } else { done.to_owned() };
        self.report.steps.push(format!("{verb} {what}"));
    }

    /// Writes a unit whole, unless it says the same.
    pub(super) fn write(&mut self, path: &Path, text: &str) -> Result<Change, InstallError> {
        let change = match read_unit(path)? {
            Some(old) if old == text => {
                self.report.steps.push(format!("{} is as it should be", path.display()));
                return Ok(Change::Same);
            }
            Some(old) if !unit::is_ours(&old) => {
                return Err(InstallError::Foreign { path: path.to_owned() });
            }
            Some(_) => Change::Replaced,
            None => Change::New,
        };
        if !self.dry_run {
            let folder = path.parent().unwrap_or(Path::new("/"));
            fs::create_dir_all(folder)
                .map_err(|source| InstallError::Unit { path: folder.to_owned(), source })?;
            files::write_whole(path, text)?;
        }
        let (done, would) = match change {
            Change::Replaced => ("replaced", "replace"),
            Change::New | Change::Same => ("wrote", "write"),
        };
        self.step(done, would, &path.display().to_string());
        if self.dry_run {
            self.report.steps.extend(text.lines().map(|line| format!("  | {line}")));
        }
        Ok(change)
    }

    /// Removes a unit of ours; false where there is none.
    pub(super) fn remove(&mut self, path: &Path) -> Result<bool, InstallError> {
        if !is_ours(path)? {
            return Ok(false);
        }
        if !self.dry_run {
            fs::remove_file(path)
                .map_err(|source| InstallError::Unit { path: path.to_owned(), source })?;
        }
        self.step("removed", "remove", &path.display().to_string());
        Ok(true)
    }

    /// Runs a tool that must succeed.
    pub(super) fn run(&mut self, call: Call<'_>) -> Result<(), InstallError> {
        match self.attempt(call)? {
            Some(said) if !said.done => {
                Err(InstallError::Failed { call: call.to_string(), trouble: said.trouble })
            }
            _ => Ok(()),
        }
    }

    /// Runs a tool that may fail.
    pub(super) fn attempt(&mut self, call: Call<'_>) -> Result<Option<Said>, InstallError> {
        self.step("ran", "run", &call.to_string());
        if self.dry_run {
            return Ok(None);
        }
        let said = self.tools.run(call);
        said.map(Some).map_err(|source| InstallError::NotRun { call: call.to_string(), source })
    }
}

/// What stands in a unit's place. A link is nobody's business but of who made it.
pub(super) fn read_unit(path: &Path) -> Result<Option<String>, InstallError> {
    let failed = |source| InstallError::Unit { path: path.to_owned(), source };
    match fs::symlink_metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(failed(error)),
        Ok(data) if !data.is_file() => Ok(Some(String::new())),
        Ok(_) => Ok(Some(String::from_utf8_lossy(&fs::read(path).map_err(failed)?).into_owned())),
    }
}

/// Whether a unit is there and ours.
pub(super) fn is_ours(path: &Path) -> Result<bool, InstallError> {
    match read_unit(path)? {
        None => Ok(false),
        Some(text) if unit::is_ours(&text) => Ok(true),
        Some(_) => Err(InstallError::Foreign { path: PathBuf::from(path) }),
    }
}
