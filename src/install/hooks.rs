//! Hooks: the commands by which the host tells Endless what happens, and Endless answers. They are
//! put into the settings of every root, and taken out again.
//!
//! Invariant: nothing is written before all settings were found fit for it; only our own entries
//! change (`edit.rs`), whole or not at all (`settings.rs`). A host that would ignore all its settings
//! for an event that it does not know gets none of those. Refuses: to guess in settings that it
//! can't understand.

mod edit;
pub mod events;
mod host;
mod jsonc;
mod look;
mod settings;

use std::path::{Path, PathBuf};

pub use host::Host;
pub use look::{Look, Standing, look};
pub use settings::SettingsError;

use super::{InstallError, Setting, program, tools::Tools, word, work::Report};
use crate::config::{Config, Origin};
use edit::Wish;
use events::{Hook, OLDEST_HOST, TOLERANT, known_to};
use settings::{Changed, change};

/// What the lines of a difference begin with.
const INDENT: &str = "  ";
/// Pairs of lines that are compared to show a change by its lines; above that, all is shown.
const COMPARED: usize = 1 << 20;

/// The settings that hooks go into: those of every root. Of the usual roots people have one; where
/// there is none at all, the first is made.
pub fn files(config: &Config) -> Vec<PathBuf> {
    let is_usual = config.origin("roots") == Origin::Default;
    let is_used = |root: &Path| root.join("projects").is_dir() || is_there(&file(root));
    let mut folders: Vec<&PathBuf> = Vec::new();
    for (index, root) in config.candidates.iter().enumerate() {
        let counts = root.is_dir() && (index == 0 || !is_usual || is_used(root));
        let is_new = |other: &&PathBuf| other.canonicalize().ok() != root.canonicalize().ok();
        if counts && folders.iter().all(is_new) {
            folders.push(root);
        }
    }
    if folders.is_empty() && is_usual {
        folders.extend(config.candidates.first());
    }
    folders.into_iter().map(|root| file(root)).collect()
}

fn file(root: &Path) -> PathBuf {
    root.join(settings::NAME)
}

fn is_there(path: &Path) -> bool {
    std::fs::symlink_metadata(path).is_ok()
}

/// Fails where installing would, and changes nothing.
pub fn check(setting: &Setting<'_>) -> Result<(), InstallError> {
    install(&Setting { dry_run: true, ..*setting }).map(drop)
}

/// Puts our hooks into all settings, or brings them up to date.
pub fn install(setting: &Setting<'_>) -> Result<Report, InstallError> {
    let paths = files(setting.config);
    if paths.is_empty() {
        return Err(InstallError::NoRoot);
    }
    let tools = Tools::new(setting.environment);
    let mut plans = Vec::new();
    for path in paths {
        let host = path.parent().and_then(|root| host::oldest(&tools, root));
        let hooks = wanted(setting, host.as_ref())?;
        plans.push((path, host, hooks));
    }
    let put = |path: &Path, hooks: &[Hook], dry_run| {
        change(path, dry_run, &mut |text, _| {
            edit::install(text.unwrap_or_default(), hooks).map(Wish::Text)
        })
    };
    for (path, _, hooks) in &plans {
        put(path, hooks, true)?;
    }
    let mut report = Report::default();
    for (path, host, hooks) in &plans {
        let changed = put(path, hooks, setting.dry_run)?;
        let count = hooks.len();
        if changed.is_same() {
            report.steps.push(format!("{} has all {count} hooks", path.display()));
        } else {
            let what = format!("{count} hooks into {}", path.display());
            tell(&mut report, setting.dry_run, ["put", "put"], &what, &changed);
        }
        advise(&mut report, path, host.as_ref(), changed.after.as_deref().unwrap_or_default());
    }
    Ok(report)
}

/// Takes our hooks out of all settings.
pub fn uninstall(setting: &Setting<'_>) -> Result<Report, InstallError> {
    let paths: Vec<_> = setting.config.candidates.iter().map(|root| file(root)).collect();
    let mut report = Report::default();
    let take = |path: &Path, dry_run| {
        change(path, dry_run, &mut |text, backup| match text {
            None => Ok(Wish::Same),
            Some(text) => edit::without(text, backup),
        })
    };
    for path in &paths {
        take(path, true)?;
    }
    for path in &paths {
        let changed = take(path, setting.dry_run)?;
        let path = path.display();
        if changed.is_same() {
            continue;
        } else if changed.after.is_some() {
            let what = format!("the hooks out of {path}");
            tell(&mut report, setting.dry_run, ["took", "take"], &what, &changed);
        } else {
            let what = format!("{path}, which held nothing but the hooks");
            tell(&mut report, setting.dry_run, ["removed", "remove"], &what, &changed);
        }
    }
    if report.steps.is_empty() {
        let shown: Vec<_> = paths.iter().map(|path| path.display().to_string()).collect();
        report.notes.push(format!("no hook of Endless is in {}", shown.join(" or ")));
    }
    Ok(report)
}

/// The hooks as a file of settings that holds nothing else, for the oldest host that there is.
pub fn print(setting: &Setting<'_>) -> Result<String, InstallError> {
    let tools = Tools::new(setting.environment);
    let paths = files(setting.config);
    let hosts = paths.iter().filter_map(|path| host::oldest(&tools, path.parent()?));
    let hooks = wanted(setting, hosts.min_by_key(|host| host.version).as_ref())?;
    let path = PathBuf::from("hooks");
    edit::install("", &hooks).map_err(|wrong| {
        SettingsError::Wrong { path, line: wrong.line, message: wrong.message }.into()
    })
}

/// The hooks that settings should have which this host reads.
fn wanted(setting: &Setting<'_>, host: Option<&Host>) -> Result<Vec<Hook>, InstallError> {
    let Setting { environment, config, .. } = setting;
    let program = program(environment).ok_or(InstallError::NoProgram)?;
    let program = word("the path of this program", &program)?;
    let home = match environment.endless_home {
        Some(_) => Some(word("ENDLESS_HOME", &config.paths.home)?),
        None => None,
    };
    Ok(events::hooks(&program, home.as_deref(), host.map(|host| host.version)))
}

/// Says what was done to a file, and in a dry run how it would differ.
fn tell(
    report: &mut Report,
    dry_run: bool,
    [done, would]: [&str; 2],
    what: &str,
    changed: &Changed,
) {
    let verb = if dry_run { format!("would {would}") } else { done.to_owned() };
    report.steps.push(format!("{verb} {what}"));
    if dry_run {
        let [before, after] = [&changed.before, &changed.after].map(|text| text.as_deref());
        report.steps.extend(difference(before.unwrap_or_default(), after.unwrap_or_default()));
    }
}

/// What is worth knowing about settings that hold our hooks.
fn advise(report: &mut Report, path: &Path, host: Option<&Host>, text: &str) {
    let path = path.display();
    if let Some(host) = host.filter(|host| host.version < OLDEST_HOST) {
        let names: Vec<_> = events::EVENTS
            .iter()
            .filter(|event| known_to(Some(host.version)).all(|known| known.name != event.name))
            .map(|event| event.name)
            .collect();
        report.notes.push(format!(
            "Claude Code {} ({}) does not know {}: left out; versions before {TOLERANT} ignore all \
             settings for such a hook. Update it to {OLDEST_HOST} or newer, then install again",
            host.version,
            host.seen.display(),
            names.join(", "),
        ));
    }
    if look::are_disabled(text) {
        report.notes.push(format!(
            "{path} says `disableAllHooks: true`: Claude Code runs no hooks until you take that out"
        ));
    }
    if !look::is_plain(text) {
        report.notes.push(format!(
            "{path} has comments or spare commas: Claude Code reads plain JSON only, and ignores \
             the whole file until you take them out"
        ));
    }
}

/// The lines that differ between two texts.
fn difference(before: &str, after: &str) -> Vec<String> {
    let [old, new] = [before, after].map(|text| text.lines().collect::<Vec<_>>());
    let same = old.iter().zip(&new).take_while(|(old, new)| old == new).count();
    let [old, new] = [&old[same..], &new[same..]];
    let ends = old.iter().rev().zip(new.iter().rev()).take_while(|(old, new)| old == new).count();
    changes(&old[..old.len() - ends], &new[..new.len() - ends])
}

/// What goes and what comes between two texts, so that as many lines as can be stay.
fn changes(old: &[&str], new: &[&str]) -> Vec<String> {
    if old.len().saturating_mul(new.len()) > COMPARED {
        let gone = old.iter().map(|line| format!("{INDENT}- {line}"));
        return gone.chain(new.iter().map(|line| format!("{INDENT}+ {line}"))).collect();
    }
    // How many lines can stay of what follows line `i` of the old and line `j` of the new.
    let mut stay = vec![vec![0_usize; new.len() + 1]; old.len() + 1];
    for i in (0..old.len()).rev() {
        for j in (0..new.len()).rev() {
            stay[i][j] = if old[i] == new[j] {
                stay[i + 1][j + 1] + 1
            } else {
                stay[i + 1][j].max(stay[i][j + 1])
            };
        }
    }
    let (mut i, mut j, mut lines) = (0, 0, Vec::new());
    while i < old.len() || j < new.len() {
        if i < old.len() && j < new.len() && old[i] == new[j] {
            (i, j) = (i + 1, j + 1);
        } else if j == new.len() || (i < old.len() && stay[i + 1][j] >= stay[i][j + 1]) {
            lines.push(format!("{INDENT}- {}", old[i]));
            i += 1;
        } else {
            lines.push(format!("{INDENT}+ {}", new[j]));
            j += 1;
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_that_stays_is_no_difference() {
        let shown = difference("{\na\nb\nc\n}", "{\na, x\nb\nc,\nd\n}");
        assert_eq!(shown, ["  - a", "  + a, x", "  - c", "  + c,", "  + d"]);
        assert_eq!(difference("a", "a"), Vec::<String>::new());
        assert_eq!(difference("", "a"), ["  + a"]);
    }
}
