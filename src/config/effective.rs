//! What holds in the end: the environment over the file over the defaults.

use std::{ffi::OsStr, path::PathBuf};

use serde::{Serialize, Serializer};
use toml::Value as Toml;

use super::{
    ConfigError, Environment, Observations, Origin, Overrides, Resume, Value, default_roots,
    path_list,
    settings::{MEMORY_MB, Settings, out_of_range},
    zone,
};
use crate::text::time::Zone;

/// A key, its value, and where that comes from.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Effective {
    /// The key.
    pub key: &'static str,
    /// As it would stand in the file; none where the key has no value.
    pub value: Option<Toml>,
    /// Where it comes from.
    #[serde(serialize_with = "as_text")]
    pub origin: Origin,
}

fn as_text<S: Serializer>(origin: &Origin, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(origin)
}

/// Every value.
#[derive(Debug)]
pub(super) struct All {
    pub(super) enabled: Value<bool>,
    pub(super) roots: Value<Vec<PathBuf>>,
    pub(super) exclude: Value<Vec<PathBuf>>,
    pub(super) zone: Value<Zone>,
    pub(super) memory_mb: Value<u32>,
    pub(super) idle_minutes: Value<u32>,
    pub(super) hot_minutes: Value<u32>,
    pub(super) archive_after_days: Value<u32>,
    pub(super) keep_days: Value<Option<u32>>,
    pub(super) resume: Value<Resume>,
    pub(super) observations: Value<Observations>,
}

impl All {
    pub(super) fn new(environment: &Environment, file: Settings) -> Result<Self, ConfigError> {
        let variables = &environment.overrides;
        let number = |value: Option<Value<u32>>, default| value.unwrap_or(Value::default(default));
        let keep = |keep: Value<u32>| Value { value: Some(keep.value), origin: keep.origin };
        let roots = match (&variables.roots, file.roots) {
            (Some(list), _) => Value::of("ENDLESS_ROOTS", path_list(list, environment)),
            (None, Some(roots)) => roots,
            (None, None) => default_roots(environment)?,
        };
        let zone = match &variables.zone {
            Some(name) => variable("ENDLESS_ZONE", name, zone)?,
            None => file.zone.unwrap_or_else(|| Value::default(environment.zone.clone())),
        };
        let memory_mb = match &variables.memory_mb {
            Some(number) => variable("ENDLESS_MEMORY_MB", number, memory)?,
            None => number(file.memory_mb, 256),
        };
        Ok(Self {
            enabled: enabled(variables, file.enabled)?,
            roots,
            exclude: file.exclude.unwrap_or(Value::default(Vec::new())),
            zone,
            memory_mb,
            idle_minutes: number(file.idle_minutes, 60),
            hot_minutes: number(file.hot_minutes, 10),
            archive_after_days: number(file.archive_after_days, 90),
            keep_days: file.keep_days.map_or(Value::default(None), keep),
            resume: file.resume.unwrap_or(Value::default(Resume::default())),
            observations: file.observations.unwrap_or(Value::default(Observations::default())),
        })
    }

    /// In the order of [`super::settings::KEYS`].
    pub(super) fn effective(&self) -> Vec<Effective> {
        let paths = |value: &Vec<PathBuf>| {
            let shown = value.iter().map(|path| Toml::from(path.display().to_string()));
            Toml::Array(shown.collect())
        };
        let keep_days = &self.keep_days;
        vec![
            effective("enabled", &self.enabled, |value| Some(Toml::from(*value))),
            effective("roots", &self.roots, |value| Some(paths(value))),
            effective("exclude", &self.exclude, |value| Some(paths(value))),
            effective("zone", &self.zone, |zone| zone.zone().iana_name().map(Toml::from)),
            effective("memory_mb", &self.memory_mb, integer),
            effective("idle_minutes", &self.idle_minutes, integer),
            effective("hot_minutes", &self.hot_minutes, integer),
            effective("archive_after_days", &self.archive_after_days, integer),
            effective("keep_days", keep_days, |days| days.as_ref().and_then(integer)),
            effective("resume", &self.resume, |value| Toml::try_from(value).ok()),
            effective("observations", &self.observations, |value| Toml::try_from(value).ok()),
        ]
    }
}

fn integer(value: &u32) -> Option<Toml> {
    Some(Toml::from(*value))
}

fn effective<T>(
    key: &'static str,
    value: &Value<T>,
    shown: impl Fn(&T) -> Option<Toml>,
) -> Effective {
    Effective { key, value: shown(&value.value), origin: value.origin.clone() }
}

/// The variables can only switch off. claude-mem's has values of its own, of which one is known.
fn enabled(variables: &Overrides, file: Option<Value<bool>>) -> Result<Value<bool>, ConfigError> {
    const NAME: &str = "ENDLESS_DISABLE";
    const CLAUDE_MEM: &str = "CLAUDE_MEM_ENDLESS_MODE_ENABLED";
    if let Some(disable) = &variables.disable
        && variable(NAME, disable, switch)?.value
    {
        return Ok(Value::of(NAME, false));
    }
    if variables.claude_mem.as_deref() == Some(OsStr::new("false")) {
        return Ok(Value::of(CLAUDE_MEM, false));
    }
    Ok(file.unwrap_or(Value::default(true)))
}

fn switch(word: &str) -> Result<bool, String> {
    match word {
        "1" | "true" | "yes" | "on" => Ok(true),
        "0" | "false" | "no" | "off" => Ok(false),
        word => Err(format!("it is `{word}`; write 1 or 0")),
    }
}

/// Whether a switch of the environment is understood.
pub(super) fn is_switch(word: &OsStr) -> bool {
    word.to_str().is_some_and(|word| switch(word).is_ok())
}

fn memory(number: &str) -> Result<u32, String> {
    let value = number.parse().ok().filter(|value| MEMORY_MB.contains(value));
    value.ok_or_else(|| out_of_range("it", &format_args!("`{number}`"), &MEMORY_MB))
}

fn variable<T>(
    name: &'static str,
    value: &OsStr,
    read: impl Fn(&str) -> Result<T, String>,
) -> Result<Value<T>, ConfigError> {
    let read = read(&value.to_string_lossy());
    read.map(|value| Value::of(name, value))
        .map_err(|message| ConfigError::Variable { name, message })
}
