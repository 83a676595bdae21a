//! `endless status` as a page: how things stand first, what is looked up less often below.

use super::{
    super::{list::size, output::Page},
    behind, now,
    report::{Health, Report},
    table::table,
    words::{ago, count, span, thousands},
};
use crate::{
    engine::request::{Served, SessionStatus, WatchStatus},
    paths::Paths,
    text::{line::plain_line, time::Zone},
};

const START: &str = "start it with `endless run`, or for good with `endless install service`";
/// Characters of a line.
const LINE: usize = 1_000;

/// The whole page.
pub(super) fn page(report: &Report, paths: &Paths, zone: &Zone) -> Page {
    let process = &report.status.process;
    let now = if process.now > 0 { process.now } else { now().0 };
    let mut page = Page::default();
    page.strong(&plain_line(&headline(report, now), LINE));
    page.plain("\n");
    // The first stands in the headline.
    for trouble in report.troubles().iter().skip(1) {
        line(&mut page, "trouble", trouble);
    }
    if report.problem.is_none() {
        line(&mut page, "service", &service(report, now));
        line(&mut page, "watching", &watching(&report.status.watch));
    }
    line(&mut page, "roots", &roots(report));
    let served = &report.status.observations;
    if !served.source.is_empty() {
        line(&mut page, "observed", &observed(served));
    }
    line(&mut page, "sessions", &sessions(report, now));
    if let Some(bottles) = &report.bottles {
        let folder = paths.bottles.display();
        let mut text = format!("{} in {folder}", count(bottles.count, "bottle"));
        if bottles.newest > 0 {
            text.push_str(&format!(", the newest written {}", ago(bottles.newest, now)));
        }
        if bottles.outdated > 0 {
            text.push_str(&format!("; {} behind their transcripts", bottles.outdated));
        }
        line(&mut page, "bottles", &text);
    }
    if let Some(trouble) = &report.hooks {
        line(&mut page, "hooks", &format!("last trouble: {trouble}"));
    }
    if !report.status.sessions.is_empty() {
        page.plain("\n");
        table(&mut page, &report.status.sessions, now, report.problem.is_none());
    }
    if !report.deliveries.is_empty() {
        page.plain("\n");
    }
    for history in &report.deliveries {
        let id: String = history.session.chars().take(8).collect();
        line(&mut page, &id, &history.proof(zone));
    }
    if let [session] = report.status.sessions.as_slice()
        && report.asked
    {
        page.plain("\n");
        details(&mut page, session);
    }
    page
}

fn line(page: &mut Page, name: &str, text: &str) {
    page.faint(&format!("{name:10}"));
    page.plain(&plain_line(text, LINE));
    page.plain("\n");
}

fn headline(report: &Report, now: i64) -> String {
    let totals = &report.status.totals;
    let problem = report.problem.as_deref().unwrap_or_default();
    match report.health {
        Health::Down => format!("down: {problem}; {START}"),
        Health::Silent => format!("no answer: {problem}"),
        Health::Troubled => {
            let trouble = report.troubles().into_iter().next().unwrap_or_default();
            let behind = match report.behind {
                0 => String::new(),
                bytes => format!(" and behind by {}", size(bytes)),
            };
            format!("in trouble{behind}: {trouble}")
        }
        Health::Behind => {
            // Only so many sessions are told; those that are behind are live, and so the first.
            let sessions = count(behind(&report.status).count().max(1) as u64, "session");
            format!("behind by {} in {sessions}", size(report.behind))
        }
        Health::Current if totals.sessions == 0 => "current: there is no session yet".to_owned(),
        Health::Current => match newest_read(report) {
            0 => "current: nothing new to read".to_owned(),
            newest => format!("current: all is read, newest change {}", ago(newest, now)),
        },
    }
}

/// The newest change that was read: of all sessions, or of the one that was asked for.
fn newest_read(report: &Report) -> i64 {
    match report.status.sessions.as_slice() {
        [session] if report.asked => session.facts.as_ref().map_or(0, |_| session.changed),
        _ => report.status.totals.newest_read,
    }
}

fn service(report: &Report, now: i64) -> String {
    let process = &report.status.process;
    let mut text = format!("pid {}, endless {}", process.pid, process.version);
    if process.version != env!("CARGO_PKG_VERSION") {
        text.push_str(&format!(" (this program is {})", env!("CARGO_PKG_VERSION")));
    }
    text.push_str(&format!(", up {}", span(now.saturating_sub(process.started))));
    if process.memory > 0 {
        text.push_str(&format!(", {} of memory", size(process.memory)));
    }
    text
}

fn watching(watch: &WatchStatus) -> String {
    let mut text = if watch.mode.is_empty() { "starting".to_owned() } else { watch.mode.clone() };
    if watch.folders > 0 {
        text.push_str(&format!(", {}", count(watch.folders, "folder")));
    }
    if watch.polled > 0 {
        text.push_str(&format!(", {} polled", count(watch.polled, "file")));
    }
    if let Some(reason) = &watch.reason {
        text.push_str(&format!(": {reason}"));
    }
    text
}

/// What lines of tool traffic come from, and why not from claude-mem.
fn observed(served: &Served) -> String {
    match &served.why {
        None => format!("from {}, where it knows the session", served.source),
        Some(why) => format!("{}: {why}", served.source),
    }
}

fn roots(report: &Report) -> String {
    let roots = &report.status.roots;
    if roots.is_empty() { "none".to_owned() } else { roots.join(", ") }
}

fn sessions(report: &Report, now: i64) -> String {
    let totals = &report.status.totals;
    let mut text = format!("{}, {} live", totals.sessions, totals.hot);
    if report.problem.is_none() {
        text.push_str(&format!(", {} in memory", totals.resident));
    }
    text.push_str(&format!("; {} of transcripts", size(totals.bytes)));
    if report.problem.is_some() && totals.newest_on_disk > 0 {
        text.push_str(&format!(", the newest changed {}", ago(totals.newest_on_disk, now)));
    }
    if report.problem.is_none() {
        text.push_str(&format!("; {} written since the start", count(totals.written, "bottle")));
        if totals.unwritten > 0 {
            text.push_str(&format!(", {} to be written in their turn", totals.unwritten));
        }
    }
    text
}

/// What is worth a line where one session alone is shown.
fn details(page: &mut Page, session: &SessionStatus) {
    line(page, "id", &session.id);
    for file in &session.files {
        line(page, "file", file);
    }
    if let Some(bottle) = &session.bottle {
        line(page, "bottle", &bottle.path);
        let served = &bottle.observations;
        if !served.source.is_empty() {
            let why = served.why.as_ref().map(|why| format!(": {why}")).unwrap_or_default();
            line(page, "lines", &format!("{}{why}", served.source));
        }
    }
    if let Some(facts) = session.facts.as_ref().filter(|facts| facts.legs > 0) {
        let context = facts
            .context
            .map_or(String::new(), |tokens| format!("; {} tokens of context", thousands(tokens)));
        let text = format!(
            "{} of the person, {} of the agent, {}{context}",
            count(facts.user, "message"),
            facts.assistant,
            count(facts.calls, "tool call"),
        );
        line(page, "words", &text);
        line(page, "host", &facts.host);
    }
}

#[cfg(test)]
mod tests {
    use insta::assert_snapshot;

    use super::*;
    use crate::cli::history::{Delivery, History};
    use crate::engine::request::{BottleStatus, Facts, Process, Source, Status, Totals};

    const NOW: i64 = 1_796_032_800_000;

    fn live(id: &str, project: &str) -> SessionStatus {
        SessionStatus {
            id: id.to_owned(),
            files: vec![format!("/h/.claude/projects/-w/{id}.jsonl")],
            disk: 12_000_000,
            read: 12_000_000,
            changed: NOW - 2_000,
            hot: true,
            resident: true,
            facts: Some(Facts {
                project: project.to_owned(),
                host: "claude-code 2.1.332".to_owned(),
                legs: 3,
                model: "claude-opus-4-5".to_owned(),
                context: Some(141_234),
                user: 12,
                assistant: 130,
                calls: 1,
                ..Facts::default()
            }),
            bottle: Some(BottleStatus {
                path: format!("/s/bottles/{id}.md"),
                checked: NOW - 2_100,
                bytes: 412_000,
                covers: 12_000_000,
                observations: Served::claude_mem(),
            }),
            ..SessionStatus::default()
        }
    }

    fn status(sessions: Vec<SessionStatus>) -> Status {
        Status {
            process: Process {
                pid: 4711,
                version: "0.1.0".to_owned(),
                started: NOW - 11_520_000,
                now: NOW,
                memory: 41_000_000,
                generation: 3,
            },
            watch: WatchStatus { mode: "native".to_owned(), folders: 12, ..WatchStatus::default() },
            roots: vec!["/h/.claude".to_owned(), "/h/.config/claude".to_owned()],
            observations: Served::derived("claude-mem is not there".to_owned()),
            totals: Totals {
                sessions: 312,
                hot: 2,
                resident: 3,
                bytes: 1_234_000_000,
                newest_on_disk: NOW - 2_000,
                newest_read: NOW - 2_000,
                written: 14,
                ..Totals::default()
            },
            sessions,
            ..Status::default()
        }
    }

    fn shown(status: Status, asked: bool) -> String {
        page(&Report::running(status, asked), &Paths::new("/s"), &Zone::utc()).text()
    }

    #[test]
    fn all_is_current() {
        let mut gone = live("17aa0b9f-77c1", "/w/a-longer-name");
        gone.source = Source::Gone;
        gone.facts.as_mut().unwrap().pending = 12;
        let new = SessionStatus {
            id: "5d0f".to_owned(),
            source: Source::NeverWritten,
            ..SessionStatus::default()
        };
        assert_snapshot!(shown(status(vec![live("0b9f2c1e-9e1d", "/w/app"), gone, new]), false), @"
        current: all is read, newest change 2 s ago
        service   pid 4711, endless 0.1.0, up 3 h 12 min, 41 MB of memory
        watching  native, 12 folders
        roots     /h/.claude, /h/.config/claude
        observed  derived: claude-mem is not there
        sessions  312, 2 live, 3 in memory; 1.2 GB of transcripts; 14 bottles written since the start

        project           session   legs  context               read   pending  unreadable  bottle           lines       source
        /w/app            0b9f2c1e     3  141k claude-opus-4-5  12 MB        0           0  412 KB, 2 s ago  claude-mem  present
        /w/a-longer-name  17aa0b9f     3  141k claude-opus-4-5  12 MB       12           0  412 KB, 2 s ago  claude-mem  gone
        -                 5d0f         -  -                     0 B          -           -  none             -           never written
        ");
    }

    #[test]
    fn one_session_is_told_in_full() {
        assert_snapshot!(shown(status(vec![live("0b9f2c1e-9e1d", "/w/app")]), true), @"
        current: all is read, newest change 2 s ago
        service   pid 4711, endless 0.1.0, up 3 h 12 min, 41 MB of memory
        watching  native, 12 folders
        roots     /h/.claude, /h/.config/claude
        observed  derived: claude-mem is not there
        sessions  312, 2 live, 3 in memory; 1.2 GB of transcripts; 14 bottles written since the start

        project  session   legs  context               read   pending  unreadable  bottle           lines       source
        /w/app   0b9f2c1e     3  141k claude-opus-4-5  12 MB        0           0  412 KB, 2 s ago  claude-mem  present

        id        0b9f2c1e-9e1d
        file      /h/.claude/projects/-w/0b9f2c1e-9e1d.jsonl
        bottle    /s/bottles/0b9f2c1e-9e1d.md
        lines     claude-mem
        words     12 messages of the person, 130 of the agent, 1 tool call; 141k tokens of context
        host      claude-code 2.1.332
        ");
    }

    #[test]
    fn the_first_line_says_how_things_stand() {
        let headline = |status, asked| shown(status, asked).lines().next().unwrap().to_owned();
        let mut late = live("0b9f2c1e", "/w");
        late.read = 11_988_000;
        let mut behind = status(vec![late, live("17aa", "/w")]);
        behind.totals.behind = 12_000;
        let mut empty = status(Vec::new());
        empty.totals = Totals::default();
        let mut new = status(Vec::new());
        new.totals.newest_read = 0;
        let mut troubled = behind.clone();
        troubled.troubles.push("endless.db: disk full\u{1b}[2J".to_owned());
        troubled.sessions[1].trouble = Some("can't read it".to_owned());
        for (status, asked, expected) in [
            (behind.clone(), false, "behind by 12 KB in 1 session"),
            (behind, true, "behind by 12 KB in 1 session"),
            (empty, false, "current: there is no session yet"),
            (new, false, "current: nothing new to read"),
            (troubled.clone(), false, "in trouble and behind by 12 KB: endless.db: disk full␛[2J"),
        ] {
            assert_eq!(headline(status, asked), expected);
        }
        let shown = shown(troubled, false);
        let troubles: Vec<_> = shown.lines().filter(|line| line.starts_with("trouble")).collect();
        assert_eq!(troubles, ["trouble   17aa: can't read it"]);
    }

    #[test]
    fn what_was_handed_over_has_a_line_for_each_session() {
        let mut report = Report::running(status(vec![live("0b9f2c1e-9e1d", "/w/app")]), false);
        report.hooks = Some("2026-11-30T10:00:00Z Stop: it broke".to_owned());
        report.deliveries = vec![History {
            session: "0b9f2c1e-9e1d".to_owned(),
            seals: Vec::new(),
            deliveries: vec![Delivery {
                n: 1,
                cause: "compact".to_owned(),
                printed: NOW,
                gap: 0,
                boundary: None,
                ranges: "1-64".to_owned(),
                arrived: Some(NOW + 1_000),
                reads: "1-64".to_owned(),
            }],
        }];
        let shown = page(&report, &Paths::new("/s"), &Zone::utc()).text();
        let lines: Vec<_> = shown.lines().collect();
        assert_eq!(lines[6], "hooks     last trouble: 2026-11-30T10:00:00Z Stop: it broke");
        assert_eq!(lines[11], "0b9f2c1e  printed 10:00:00 → arrived 10:00:01 → read 1-64");
    }

    #[test]
    fn how_changes_are_noticed_is_said_with_the_reason() {
        let watch = WatchStatus {
            mode: "degraded".to_owned(),
            reason: Some("the limit of watches is reached".to_owned()),
            folders: 1,
            polled: 900,
            ..WatchStatus::default()
        };
        assert_eq!(
            watching(&watch),
            "degraded, 1 folder, 900 files polled: the limit of watches is reached"
        );
        assert_eq!(watching(&WatchStatus::default()), "starting");
    }
}
