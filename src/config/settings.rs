//! What `config.toml` says, checked, each value with its line.
//!
//! Invariant: an error names the line, what is wrong there, and what may stand there. Refuses:
//! unknown keys, and numbers that make no sense.

use std::{
    ops::{Range, RangeInclusive},
    path::{Path, PathBuf},
};

use serde::Deserialize;
use toml::Spanned;

use super::{ConfigError, Environment, Observations, Origin, Resume, Value, nearest};
use crate::text::time::Zone;

/// Every key, in the order in which they are shown.
pub(super) const KEYS: &[&str] = &[
    "enabled",
    "roots",
    "exclude",
    "zone",
    "memory_mb",
    "idle_minutes",
    "hot_minutes",
    "archive_after_days",
    "keep_days",
    "resume",
    "observations",
];

pub(super) const MEMORY_MB: RangeInclusive<u32> = 16..=65_536;
const IDLE_MINUTES: RangeInclusive<u32> = 1..=7 * 24 * 60;
const HOT_MINUTES: RangeInclusive<u32> = 1..=24 * 60;
const DAYS: RangeInclusive<u32> = 1..=36_500;

/// The file, as it stands.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Raw {
    enabled: Option<Spanned<bool>>,
    roots: Option<Spanned<Vec<Spanned<PathBuf>>>>,
    exclude: Option<Spanned<Vec<Spanned<PathBuf>>>>,
    zone: Option<Spanned<String>>,
    memory_mb: Option<Spanned<i64>>,
    idle_minutes: Option<Spanned<i64>>,
    hot_minutes: Option<Spanned<i64>>,
    archive_after_days: Option<Spanned<i64>>,
    keep_days: Option<Spanned<i64>>,
    resume: Option<Spanned<Resume>>,
    observations: Option<Spanned<Observations>>,
}

/// What the file says, with names resolved. What it does not say is none.
#[derive(Debug, Default)]
pub(super) struct Settings {
    pub(super) enabled: Option<Value<bool>>,
    pub(super) roots: Option<Value<Vec<PathBuf>>>,
    pub(super) exclude: Option<Value<Vec<PathBuf>>>,
    pub(super) zone: Option<Value<Zone>>,
    pub(super) memory_mb: Option<Value<u32>>,
    pub(super) idle_minutes: Option<Value<u32>>,
    pub(super) hot_minutes: Option<Value<u32>>,
    pub(super) archive_after_days: Option<Value<u32>>,
    pub(super) keep_days: Option<Value<u32>>,
    pub(super) resume: Option<Value<Resume>>,
    pub(super) observations: Option<Value<Observations>>,
}

/// The text of a configuration, and whose.
pub(super) struct Source<'a> {
    pub(super) path: &'a Path,
    pub(super) text: &'a str,
    pub(super) environment: &'a Environment,
}

impl Source<'_> {
    pub(super) fn settings(&self) -> Result<Settings, ConfigError> {
        let raw: Raw = toml::from_str(self.text).map_err(|error| {
            let span = error.span().unwrap_or_default();
            self.wrong(span.start, self.explain(error.message(), span))
        })?;
        Ok(Settings {
            enabled: raw.enabled.map(|value| self.value(&value, *value.as_ref())),
            roots: raw.roots.map(|list| self.list(&list, "")).transpose()?,
            exclude: raw.exclude.map(|list| self.list(&list, ", or with `**/`")).transpose()?,
            zone: raw.zone.map(|zone| self.zone(&zone)).transpose()?,
            memory_mb: self.number("memory_mb", raw.memory_mb, &MEMORY_MB)?,
            idle_minutes: self.number("idle_minutes", raw.idle_minutes, &IDLE_MINUTES)?,
            hot_minutes: self.number("hot_minutes", raw.hot_minutes, &HOT_MINUTES)?,
            archive_after_days: self.number("archive_after_days", raw.archive_after_days, &DAYS)?,
            keep_days: self.number("keep_days", raw.keep_days, &DAYS)?,
            resume: raw.resume.map(|word| self.value(&word, *word.as_ref())),
            observations: raw.observations.map(|word| self.value(&word, *word.as_ref())),
        })
    }

    fn value<T, U>(&self, spanned: &Spanned<U>, value: T) -> Value<T> {
        Value { value, origin: Origin::File { line: self.line(spanned.span().start) } }
    }

    /// A misspelt key gets the one that was probably meant.
    fn explain(&self, message: &str, span: Range<usize>) -> String {
        if !message.starts_with("unknown field") {
            return message
                .replace("expected a sequence", "expected a list, like [\"/a\", \"/b\"]");
        }
        let key = self.text.get(span).unwrap_or_default().trim_matches(['"', '\'']);
        match nearest::nearest(key, KEYS) {
            Some(meant) => format!("unknown key `{key}`; did you mean `{meant}`?"),
            None => format!("unknown key `{key}`; the keys are `{}`", KEYS.join("`, `")),
        }
    }

    fn zone(&self, zone: &Spanned<String>) -> Result<Value<Zone>, ConfigError> {
        let found = super::zone(zone.as_ref());
        let found = found.map_err(|message| self.wrong(zone.span().start, message))?;
        Ok(self.value(zone, found))
    }

    fn list(
        &self,
        list: &Spanned<Vec<Spanned<PathBuf>>>,
        or: &str,
    ) -> Result<Value<Vec<PathBuf>>, ConfigError> {
        let paths = list.as_ref().iter().map(|path| self.path(path, or)).collect::<Result<_, _>>();
        Ok(self.value(list, paths?))
    }

    fn path(&self, path: &Spanned<PathBuf>, or: &str) -> Result<PathBuf, ConfigError> {
        let full = self.environment.expanded(path.as_ref());
        if full.is_absolute() {
            return Ok(full);
        }
        if !or.is_empty() && full.starts_with("**") {
            return Ok(Path::new("/").join(full));
        }
        let message = format!("`{}` must begin with `/` or `~/`{or}", full.display());
        Err(self.wrong(path.span().start, message))
    }

    fn number(
        &self,
        key: &str,
        number: Option<Spanned<i64>>,
        range: &RangeInclusive<u32>,
    ) -> Result<Option<Value<u32>>, ConfigError> {
        let Some(number) = number else { return Ok(None) };
        let value = u32::try_from(*number.as_ref()).ok().filter(|value| range.contains(value));
        let wrong = || {
            let message = out_of_range(&format!("`{key}`"), number.as_ref(), range);
            self.wrong(number.span().start, message)
        };
        value.map(|value| Some(self.value(&number, value))).ok_or_else(wrong)
    }

    fn line(&self, at: usize) -> usize {
        let before = &self.text.as_bytes()[..at.min(self.text.len())];
        1 + memchr::memchr_iter(b'\n', before).count()
    }

    fn wrong(&self, at: usize, message: String) -> ConfigError {
        ConfigError::Wrong { path: self.path.to_owned(), line: self.line(at), message }
    }
}

/// What is said of a number that makes no sense.
pub(super) fn out_of_range(
    what: &str,
    value: &dyn std::fmt::Display,
    range: &RangeInclusive<u32>,
) -> String {
    format!("{what} is {value}, and may be {} to {}", range.start(), range.end())
}
