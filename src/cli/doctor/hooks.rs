//! The hooks: whether the host calls Endless at all, rightly, and once.

use super::{Findings, in_full};
use crate::{
    config::{Config, Environment},
    install::{
        Setting,
        hooks::{self, Look, Standing, events::OLDEST_HOST},
    },
};

const NAME: &str = "hooks";
const AGAIN: &str = "`endless install hooks`";

/// How the hooks stand in every root.
pub(super) fn installed(environment: &Environment, config: &Config, findings: &mut Findings) {
    let setting = Setting { environment, config, dry_run: true };
    for path in hooks::files(config) {
        match hooks::look(&setting, &path) {
            Ok(look) => root(&look, findings),
            Err(error) => findings.problem(
                NAME,
                in_full(error),
                "then `endless install hooks`; Claude Code can't use such a file either",
            ),
        }
    }
}

fn root(look: &Look, findings: &mut Findings) {
    let path = look.settings.display();
    match (look.standing, &look.plugin) {
        (Standing::Absent, Some(plugin)) => {
            findings.ok(NAME, format!("the plugin {plugin} has them ({path})"));
        }
        (Standing::Absent, None) => findings.warn(
            NAME,
            format!("{path} has none: no session gets its bottle after a compaction"),
            AGAIN,
        ),
        (_, Some(plugin)) => findings.warn(
            NAME,
            format!("{path} has them, and the plugin {plugin} too: each runs twice"),
            format!("`endless uninstall hooks`, or switch the plugin off: `claude plugin disable {plugin}`"),
        ),
        (Standing::Current, None) => {
            findings.ok(NAME, format!("{path} has all {} and they are current", look.count));
        }
        (Standing::Other, None) => findings.warn(
            NAME,
            format!("{path} has {}, of another program, version or environment", look.count),
            AGAIN,
        ),
    }
    what_keeps_them_from_running(look, findings);
}

fn what_keeps_them_from_running(look: &Look, findings: &mut Findings) {
    let path = look.settings.display();
    if let Some(program) = &look.gone {
        let text = format!("{path} calls {program}, which is not there: nothing happens");
        findings.problem(NAME, text, "`endless install hooks`, or `endless uninstall hooks`");
    }
    if look.are_disabled {
        let text = format!("{path} says `disableAllHooks: true`: Claude Code runs none");
        findings.warn(NAME, text, "take that out");
    }
    if !look.is_plain {
        let text =
            format!("{path} has comments or spare commas: Claude Code ignores the whole file");
        let todo = "take them out; Claude Code reads plain JSON only";
        match look.standing {
            Standing::Absent => findings.warn(NAME, text, todo),
            Standing::Current | Standing::Other => findings.problem(NAME, text, todo),
        }
    }
    let Some(host) = look.host.as_ref().filter(|host| host.version < OLDEST_HOST) else { return };
    let (version, seen) = (host.version, host.seen.display());
    match look.unknown {
        Some(event) => findings.problem(
            NAME,
            format!(
                "Claude Code {version} ({seen}) does not know {event} and ignores all of {path}"
            ),
            "update it, or `endless install hooks` leaves out what it does not know",
        ),
        None => findings.warn(
            NAME,
            format!(
                "Claude Code {version} ({seen}) does not know all events; some hooks are left out"
            ),
            format!("update it to {OLDEST_HOST} or newer, then `endless install hooks`"),
        ),
    }
}
