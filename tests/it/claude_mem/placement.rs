//! Wherever rows fall, a bottle shows each once, in its turn, and is never poorer for them.
use std::sync::Arc;

use endless::{
    bottle::{Bottle, Options, read_back, render},
    observation::rows::{Observed, Prompt, Row, ToolUse},
    session::Session,
    text::time::{Moment, Zone},
    transcript::tool::{Status, ToolKind},
};
use proptest::prelude::*;
use rusqlite::Connection;
use serde_json::json;

use super::{OBSERVED, START, VERSIONS, mode, session as stored, transcript, with};
use crate::{corpus, harness::Rows};

/// What happens in a session; each row of it is a minute after the one before.
#[derive(Debug, Clone)]
enum Step {
    Prompt,
    Speech,
    Edit(u8),
    Write(u8),
    Command(u8, Option<u8>),
    Read(u8),
    Search,
    Tasks,
    Running(u8),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        2 => Just(Step::Prompt),
        2 => Just(Step::Speech),
        3 => (0..9u8).prop_map(Step::Edit),
        1 => (0..9u8).prop_map(Step::Write),
        3 => (0..9u8, prop::option::of(1..5u8)).prop_map(|(name, exit)| Step::Command(name, exit)),
        3 => (0..9u8).prop_map(Step::Read),
        1 => Just(Step::Search),
        1 => Just(Step::Tasks),
        1 => (0..9u8).prop_map(Step::Running),
    ]
}

/// A path, some of them as long as a line.
fn path(number: u8) -> String {
    let folder = if number > 6 { "long/".repeat(usize::from(number) * 4) } else { String::new() };
    format!("/w/{folder}file-{number}.rs")
}

fn command(number: u8) -> String {
    let more = if number > 6 { " --flag".repeat(usize::from(number) * 3) } else { String::new() };
    format!("run `{number}` * now{more}")
}

fn session(steps: &[Step]) -> Session {
    let mut rows = Rows::new();
    for (number, step) in steps.iter().enumerate() {
        let id = format!("toolu_{number}");
        rows = match step {
            Step::Prompt => rows.user(&format!("prompt {number}")),
            Step::Speech => rows.agent(&format!("answer {number}")),
            Step::Edit(file) => rows
                .call(
                    &id,
                    "Edit",
                    json!({"file_path": path(*file), "old_string": "a", "new_string": "b\nc"}),
                )
                .result(&id, "updated"),
            Step::Write(file) => rows
                .call(&id, "Write", json!({"file_path": path(*file), "content": "x"}))
                .result(&id, "created"),
            Step::Command(name, exit) => {
                rows.call(&id, "Bash", json!({"command": command(*name)})).result(
                    &id,
                    exit.map_or("done".to_owned(), |exit| format!("Exit code {exit}\nbad")),
                )
            }
            Step::Read(file) => {
                rows.call(&id, "Read", json!({"file_path": path(*file)})).result(&id, "text")
            }
            Step::Search => {
                rows.call(&id, "Grep", json!({"pattern": "x"})).result(&id, "Found 1 file")
            }
            Step::Tasks => rows.call(&id, "TodoWrite", json!({"todos": []})).result(&id, "ok"),
            Step::Running(name) => rows.call(&id, "Bash", json!({"command": command(*name)})),
        };
    }
    corpus::session(failing(&rows.text()).as_bytes())
}

/// Results that tell an exit code are errors.
fn failing(text: &str) -> String {
    text.replace("\"content\":\"Exit code", "\"is_error\":true,\"content\":\"Exit code")
}

fn bottle(session: &Session, observed: Option<Observed>) -> Bottle {
    let observed = observed.map(Arc::new);
    render(session, &Options { zone: Zone::utc(), rendered: Moment(0), earlier: None, observed })
}

/// Rows at these minutes, some of them answering calls.
fn observed(rows: &[(i64, i64)], told: &[(u8, u8)]) -> Observed {
    let mut observations: Vec<Row> = (1..)
        .zip(rows)
        .map(|(id, (minute, prompt))| Row {
            id,
            time: Moment(START + minute * 60_000 + 30_000),
            prompt: Some(*prompt),
            text: format!("row {id}"),
        })
        .collect();
    observations.sort_by_key(|row| (row.time, row.id));
    let tool_uses = told.iter().map(|(call, row)| ToolUse {
        call: format!("toolu_{call}"),
        observation: Some(i64::from(*row)),
    });
    Observed { observations, tool_uses: tool_uses.collect(), ..Observed::default() }
}

/// The lines of a bottle's body, each with the number of prompts before it.
fn body(bottle: &str) -> Vec<(usize, &str)> {
    let (_, body) = bottle.split_once("\n---\n\n").unwrap();
    let mut prompts = 0;
    let numbered = body.lines().map(|line| {
        prompts += usize::from(line.starts_with("**User**"));
        (prompts, line)
    });
    numbered.collect()
}

/// What of this session must be named: changed paths, and failed commands with their exit status.
fn must_be_named(session: &Session) -> Vec<String> {
    let mut named = Vec::new();
    for index in session.layout().calls() {
        let call = &session.ledger().calls()[index as usize];
        let about =
            endless::text::line::one_line(session.text(call.brief).trim_start_matches("/w/"), 180);
        match (call.kind, call.status) {
            (ToolKind::Edit | ToolKind::Write, Status::Completed) => named.push(about),
            (ToolKind::Command, Status::Failed) => {
                let command = endless::text::line::one_line(session.text(call.brief), 150);
                named.push(format!("`{command}` → exit {}", call.exit.unwrap()));
            }
            _ => {}
        }
    }
    named
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(600) })]

    #[test]
    fn a_bottle_is_never_poorer_than_the_one_without_claude_mem(
        steps in prop::collection::vec(step(), 0..28),
        rows in prop::collection::vec((-5..70i64, 0..9i64), 0..12),
        told in prop::collection::vec((0..40u8, 0..14u8), 0..20),
    ) {
        let session = session(&steps);
        let without = bottle(&session, None);
        let with = bottle(&session, Some(observed(&rows, &told)));
        prop_assert_eq!(read_back(&with.text), read_back(&without.text));
        let lists: String = body(&with.text)
            .into_iter()
            .filter(|(_, line)| line.starts_with("- "))
            .map(|(_, line)| format!("{line}\n"))
            .collect();
        for named in must_be_named(&session) {
            prop_assert!(lists.contains(&named), "{} in\n{}", named, with.text);
        }
        let is_too_long = |line: &&str| line.chars().count() > 240;
        prop_assert_eq!(lists.lines().find(is_too_long), None);
        // Each call has a line, or is one of a line's, exactly once.
        let mut numbers: Vec<u32> = lists.lines().flat_map(numbers).collect();
        let shown = numbers.len();
        numbers.sort_unstable();
        numbers.dedup();
        prop_assert_eq!(numbers.len(), shown);
    }

    #[test]
    fn every_row_stands_once_in_the_turn_that_was_open_at_its_time(
        steps in prop::collection::vec(step(), 1..28),
        rows in prop::collection::vec((-5..70i64, 0..9i64), 0..12),
        told in prop::option::of(prop::collection::vec((0..40u8, 0..14u8), 1..20)),
    ) {
        let session = session(&steps);
        let observed = observed(&rows, told.as_deref().unwrap_or_default());
        let with = bottle(&session, Some(observed.clone()));
        let body = body(&with.text);
        let layout = session.layout();
        prop_assume!(!layout.shown.is_empty());
        let prompts: Vec<Moment> = layout
            .messages()
            .filter(|message| message.speaker == endless::transcript::Speaker::User)
            .filter_map(|message| message.time)
            .collect();
        let begins_with_prompt = body.first().is_some_and(|(count, _)| *count == 1);
        let mut order = Vec::new();
        for row in &observed.observations {
            let line = format!("- [#{}] row {}", row.id, row.id);
            let found: Vec<usize> = (0..body.len()).filter(|at| body[*at].1 == line).collect();
            prop_assert_eq!(found.len(), 1, "{}", with.text);
            let open = prompts.iter().filter(|prompt| **prompt <= row.time).count();
            let expected = if begins_with_prompt { open.max(1) } else { open };
            prop_assert_eq!(body[found[0]].0, expected, "{} {}", line, with.text);
            order.push(found[0]);
        }
        if told.is_none() {
            prop_assert!(order.is_sorted(), "{}", with.text);
        }
        // What is finished and stands before the newest row is covered.
        let newest = order.iter().max().copied().unwrap_or(0);
        let stubs = |line: &str| line.starts_with("- ⏳ [");
        for (_, line) in &body[..newest] {
            prop_assert!(!stubs(line) || !line.contains(" → "), "{}", with.text);
        }
        prop_assert_eq!(body.iter().filter(|(_, line)| stubs(line)).count(), with.pending);
        let header = format!(" tool calls, {} pending", with.pending);
        prop_assert!(with.text.contains(&header));
    }
}

/// The calls that a line stands for. A line of several does not say which of them it skips, so its
/// ends are taken.
fn numbers(line: &str) -> Vec<u32> {
    let Some((ids, _)) = line.split_once("] ") else { return Vec::new() };
    let ids = ids.trim_start_matches("- ").trim_start_matches("⏳ ").trim_start_matches('[');
    let number = |id: &str| id.strip_prefix('t').and_then(|id| id.parse().ok());
    ids.split('-').filter_map(number).collect()
}

#[test]
fn turns_without_a_time_are_found_by_their_words() {
    let rows = Rows::new()
        .user("go  on")
        .call("toolu_1", "Bash", json!({"command": "one"}))
        .result("toolu_1", "x")
        .user("go on")
        .call("toolu_2", "Bash", json!({"command": "two"}))
        .result("toolu_2", "x")
        .with("timestamp", &json!(null));
    let prompt = |number, minute: i64| Prompt {
        number,
        time: Moment(START + minute * 60_000),
        text: "go on".to_owned(),
        truncated: false,
    };
    let mut observed = observed(&[(1, 9), (11, 9)], &[]);
    observed.prompts = vec![prompt(7, 0), prompt(9, 10)];
    let bottle = bottle(&corpus::session(rows.text().as_bytes()), Some(observed));
    let lines: Vec<_> =
        body(&bottle.text).into_iter().filter(|(_, line)| line.starts_with("- ")).collect();
    assert_eq!(
        lines,
        [
            (1, "- [#1] row 1"),
            (1, "- [t1] Bash `one` → exit 0 · x"),
            (2, "- [#2] row 2"),
            (2, "- [t2] Bash `two` → exit 0 · x"),
        ]
    );
}

#[test]
fn row_05_observations_of_prior_legs_are_all_there() {
    for version in VERSIONS {
        let sandbox = with(version, "");
        sandbox.transcript(&format!("-w/{OBSERVED}"), &transcript(version, OBSERVED), 0);
        // A new leg gives the session's memory another name, and all rows follow.
        for leg in ["mem-A-leg2", "mem-A-leg3"] {
            let database = Connection::open(sandbox.path(".claude-mem/claude-mem.db")).unwrap();
            database
                .execute_batch(&format!(
                    "PRAGMA foreign_keys = ON; UPDATE sdk_sessions SET memory_session_id = '{leg}' \
                     WHERE content_session_id = '{OBSERVED}'"
                ))
                .unwrap();
            let bottle = sandbox.run(&["render", "1111", "--stdout"]).stdout;
            for id in 1..=3 {
                assert_eq!(bottle.matches(&format!("- [#{id}] ")).count(), 1, "{version} {leg}");
            }
        }
    }
}

#[test]
fn rows_of_the_same_id_on_another_platform_are_not_shown() {
    let id = "eeeeeeee-0000-4000-8000-00000000000e";
    let sql = stored(id, "codex", &[(0, "of codex")], &[(0, "codex row")])
        + &stored(id, "claude", &[(0, "of claude")], &[(0, "claude row")])
        + &format!(
            "INSERT INTO user_prompts (content_session_id, prompt_number, prompt_text, created_at, \
             created_at_epoch) VALUES ('{id}', 2, 'of nobody', '', {START});"
        );
    let sandbox = with("store-13.25.3", &sql);
    let gone = sandbox.run(&["render", "eeee", "--stdout"]).stdout;
    let rows = Rows::new().user("of claude").call("t", "Bash", json!({"command": "ls"}));
    sandbox.transcript(&format!("-w/{id}"), &rows.text(), 0);
    let here = sandbox.run(&["render", "eeee", "--stdout"]).stdout;
    assert!(mode(&here).contains("(transcript + observations)"), "{here}");
    for bottle in [gone, here] {
        assert!(bottle.contains("] claude row — Told\n"), "{bottle}");
        assert!(!bottle.contains("codex") && !bottle.contains("nobody"), "{bottle}");
    }
}
