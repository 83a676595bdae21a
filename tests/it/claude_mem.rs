//! claude-mem's database beside transcripts: what bottles, lists and expansions make of it.
//!
//! Databases in `fixtures/claude-mem` were written by claude-mem's own code; what they lack is
//! added with statements of the same schema. Nothing here talks to claude-mem itself.
mod expand;
mod faults;
mod gone;
mod placement;
mod private;
mod service;

use std::{
    fs,
    path::{Path, PathBuf},
};

use rusqlite::Connection;

use crate::harness::Sandbox;

/// The versions of which there are databases.
const VERSIONS: [&str; 2] = ["store-13.15.3", "store-13.25.3"];
/// A session of them, observed over two legs.
const OBSERVED: &str = "11111111-aaaa-4aaa-8aaa-000000000001";
/// A session known on two platforms, and observed on the other.
const TWICE: &str = "33333333-cccc-4ccc-8ccc-000000000003";

fn fixture(inside: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/claude-mem").join(inside)
}

/// Puts one of the databases into a home; its path there.
fn install(sandbox: &Sandbox, version: &str) -> PathBuf {
    let path = sandbox.path(".claude-mem/claude-mem.db");
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::copy(fixture(version).join("claude-mem.db"), &path).unwrap();
    path
}

/// A home with one of the databases, and what it is told beside.
fn with(version: &str, statements: &str) -> Sandbox {
    let sandbox = Sandbox::new();
    let path = install(&sandbox, version);
    Connection::open(path).unwrap().execute_batch(statements).unwrap();
    sandbox
}

/// The transcript of a fixture.
fn transcript(version: &str, id: &str) -> String {
    fs::read_to_string(fixture(version).join(id).join("input.jsonl")).unwrap()
}

/// The mode line of a bottle.
fn mode(bottle: &str) -> &str {
    bottle.lines().find(|line| line.starts_with("mode: ")).unwrap_or_default()
}

/// Statements that make a session with prompts and observations, each at a second of a minute.
fn session(id: &str, platform: &str, prompts: &[(i64, &str)], rows: &[(i64, &str)]) -> String {
    let quoted = |text: &str| text.replace('\'', "''");
    let mut sql = format!(
        "INSERT INTO sdk_sessions (content_session_id, memory_session_id, project, \
         platform_source, user_prompt, started_at, started_at_epoch) VALUES ('{id}', \
         'mem-{platform}-{id}', 'app', '{platform}', 'raw', '', {START});"
    );
    let row = format!(
        "(SELECT id FROM sdk_sessions WHERE content_session_id='{id}' AND platform_source='{platform}')"
    );
    for (number, (second, text)) in (1..).zip(prompts) {
        sql += &format!(
            "INSERT INTO user_prompts (session_db_id, content_session_id, prompt_number, prompt_text, \
             created_at, created_at_epoch) VALUES ({row}, '{id}', {number}, '{}', '', {});",
            quoted(text),
            START + second * 1_000,
        );
    }
    for (second, title) in rows {
        sql += &format!(
            "INSERT INTO observations (memory_session_id, project, type, title, narrative, \
             prompt_number, created_at, created_at_epoch) VALUES ('mem-{platform}-{id}', 'app', \
             'discovery', '{}', 'Told. And more.', 1, '', {});",
            quoted(title),
            START + second * 1_000,
        );
    }
    sql
}

/// The minute at which the transcripts of the harness begin.
const START: i64 = 1_796_032_800_000;
