//! A database that is absent, locked, damaged, too old or too new, or goes away: rendering goes on.
use std::{
    fs,
    os::unix::fs::symlink,
    time::{Duration, Instant},
};

use endless::sources::claude_mem::{ClaudeMem, Place, Unavailable};
use rusqlite::Connection;

use super::{OBSERVED, VERSIONS, fixture, install, mode, transcript};
use crate::harness::Sandbox;

/// A home with a transcript that claude-mem knows, and its database; rows are read from there with
/// little patience.
struct Case {
    sandbox: Sandbox,
    source: ClaudeMem,
}

impl Case {
    fn new(version: &str) -> Self {
        let sandbox = Sandbox::new();
        install(&sandbox, version);
        sandbox.transcript(&format!("-w/{OBSERVED}"), &transcript(version, OBSERVED), 0);
        let place = Place { home: Some(sandbox.path("")), variable: None };
        Self { source: ClaudeMem::new(place, Duration::from_millis(50)), sandbox }
    }

    fn database(&self) -> std::path::PathBuf {
        self.sandbox.path(".claude-mem/claude-mem.db")
    }

    fn connect(&self) -> Connection {
        Connection::open(self.database()).unwrap()
    }

    /// The ids of the observations that are read now.
    fn rows(&mut self) -> Result<Vec<i64>, Unavailable> {
        let observed = self.source.observed(OBSERVED)?;
        Ok(observed.iter().flat_map(|o| &o.observations).map(|row| row.id).collect())
    }

    /// Renders: derived lines, and a note that has these words, or none where there are none.
    fn derived(&self, note: &str) {
        let ran = self.sandbox.run(&["render", "1111", "--stdout"]);
        assert_eq!(mode(&ran.stdout), "mode: full (transcript only) · format: 1", "{}", ran.stderr);
        assert!(ran.stdout.contains("- [t4] Bash `cargo test` → exit 101"), "{}", ran.stdout);
        assert!(
            ran.stderr.contains(note) && ran.stderr.is_empty() == note.is_empty(),
            "{}",
            ran.stderr
        );
    }

    fn with_rows(&mut self) {
        assert_eq!(self.rows(), Ok(vec![1, 2, 3]));
        let bottle = self.sandbox.run(&["render", "1111", "--stdout"]).stdout;
        assert_eq!(mode(&bottle), "mode: full (transcript + observations) · format: 1");
    }
}

#[test]
fn absent() {
    let mut case = Case::new(VERSIONS[1]);
    fs::remove_file(case.database()).unwrap();
    assert!(matches!(case.rows(), Err(Unavailable::Absent { .. })));
    case.derived("");
    assert!(!case.database().exists(), "looking makes nothing");
}

#[test]
fn locked() {
    let mut case = Case::new(VERSIONS[1]);
    // A database in its log keeps nobody out who only reads; one without can be locked.
    let holder = case.connect();
    holder.execute_batch("PRAGMA journal_mode = DELETE; BEGIN EXCLUSIVE").unwrap();
    let began = Instant::now();
    assert!(matches!(case.rows(), Err(Unavailable::Locked { .. })));
    assert!(began.elapsed() < Duration::from_secs(4), "{:?}", began.elapsed());
    case.derived("is locked by another program");
    holder.execute_batch("ROLLBACK").unwrap();
    case.with_rows();
}

#[test]
fn written_to_all_the_time() {
    let mut case = Case::new(VERSIONS[1]);
    let writer = case.connect();
    writer.execute_batch("BEGIN IMMEDIATE; UPDATE observations SET relevance_count = 7").unwrap();
    case.with_rows();
    writer.execute_batch("COMMIT").unwrap();
    case.with_rows();
}

#[test]
fn malformed() {
    for damage in [&b"no database at all"[..], &[0; 100], b""] {
        let mut case = Case::new(VERSIONS[1]);
        let mut bytes = fs::read(case.database()).unwrap();
        match damage {
            // A database of no bytes is an empty one.
            b"" => bytes.clear(),
            b"no database at all" => bytes[..18].copy_from_slice(damage),
            // The schema is there, and nothing of the rows.
            _ => bytes[4_096..].fill(0),
        }
        fs::write(case.database(), bytes).unwrap();
        let error = case.rows().unwrap_err();
        assert!(
            matches!(error, Unavailable::Malformed { .. } | Unavailable::Unknown { .. }),
            "{error}"
        );
        case.derived("claude-mem's database");
    }
}

#[test]
fn an_older_schema() {
    // Sessions had one id, or other names for two.
    let mut case = Case::new(VERSIONS[0]);
    let rename = "ALTER TABLE sdk_sessions RENAME COLUMN content_session_id TO claude_session_id";
    case.connect().execute_batch(rename).unwrap();
    let error = case.rows().unwrap_err();
    assert!(
        error.to_string().ends_with("it has no column sdk_sessions.content_session_id"),
        "{error}"
    );
    case.derived("of a version that can't be read");
    // What came later is not needed.
    let mut case = Case::new(VERSIONS[0]);
    case.connect()
        .execute_batch(
            "DROP TABLE session_summaries; DROP INDEX ux_sdk_sessions_platform_content; DROP INDEX \
             idx_sdk_sessions_platform_source; ALTER TABLE sdk_sessions DROP COLUMN platform_source; \
             ALTER TABLE observations DROP COLUMN subtitle",
        )
        .unwrap();
    case.with_rows();
    case.connect().execute_batch("DROP TABLE observations").unwrap();
    let error = case.rows().unwrap_err();
    assert!(error.to_string().ends_with("it has no table observations"), "{error}");
}

#[test]
fn a_newer_schema() {
    let mut case = Case::new(VERSIONS[1]);
    case.rows().unwrap();
    case.connect()
        .execute_batch(
            "ALTER TABLE observations ADD COLUMN mood TEXT; ALTER TABLE sdk_sessions ADD COLUMN x; \
             CREATE TABLE endless_mode (id); UPDATE observations SET mood = 'good'; \
             INSERT INTO schema_versions (version, applied_at) VALUES (999, '')",
        )
        .unwrap();
    case.with_rows();
    let ran = case.sandbox.run(&["expand", "1111", "#1", "--json"]);
    assert!(ran.stdout.contains("\"mood\": \"good\""), "{}", ran.stdout);
}

#[test]
fn a_log_without_its_index() {
    let mut case = Case::new(VERSIONS[1]);
    let writer = case.connect();
    writer
        .execute_batch(
            "PRAGMA wal_autocheckpoint = 0; UPDATE observations SET title = 'from the log' WHERE id = 3",
        )
        .unwrap();
    // Nothing was moved from the log yet; its index goes, as after a copy or a crash.
    let (database, log) = (case.database(), case.database().with_extension("db-wal"));
    let copies = [fs::read(&database).unwrap(), fs::read(&log).unwrap()];
    drop(writer);
    for name in ["claude-mem.db", "claude-mem.db-wal", "claude-mem.db-shm"] {
        fs::remove_file(database.with_file_name(name)).ok();
    }
    fs::write(&database, &copies[0]).unwrap();
    fs::write(&log, &copies[1]).unwrap();
    case.with_rows();
    let bottle = case.sandbox.run(&["render", "1111", "--stdout"]).stdout;
    assert!(bottle.contains("- [#3] from the log — "), "{bottle}");
    assert_eq!(fs::read(&database).unwrap(), copies[0], "reading moves nothing");
}

#[test]
fn deleted_and_replaced_while_open() {
    let mut case = Case::new(VERSIONS[1]);
    case.with_rows();
    for name in ["claude-mem.db", "claude-mem.db-wal", "claude-mem.db-shm"] {
        fs::remove_file(case.database().with_file_name(name)).ok();
    }
    assert!(matches!(case.rows(), Err(Unavailable::Absent { .. })));
    case.derived("");
    fs::copy(fixture(VERSIONS[0]).join("claude-mem.db"), case.database()).unwrap();
    let version = case.source.version().unwrap();
    case.with_rows();
    case.connect().execute("DELETE FROM observations WHERE id = 1", []).unwrap();
    assert_ne!(case.source.version(), Ok(version));
    assert_eq!(case.rows(), Ok(vec![2, 3]));
}

#[test]
fn rows_deleted() {
    let mut case = Case::new(VERSIONS[1]);
    let mark = case.source.mark(OBSERVED).unwrap();
    assert_eq!(case.source.mark(OBSERVED).unwrap(), mark);
    for (sql, rows) in [
        ("DELETE FROM observations WHERE id = 2", &[1, 3][..]),
        ("DELETE FROM user_prompts WHERE id = 2", &[1, 3]),
        ("DELETE FROM session_summaries", &[1, 3]),
        ("DELETE FROM observations", &[]),
    ] {
        let before = case.source.mark(OBSERVED).unwrap();
        case.connect().execute_batch(sql).unwrap();
        assert_ne!(case.source.mark(OBSERVED).unwrap(), before, "{sql}");
        assert_eq!(case.rows().as_deref(), Ok(rows), "{sql}");
    }
    case.connect().execute_batch("DELETE FROM sdk_sessions").unwrap();
    assert_eq!(case.source.mark(OBSERVED), Ok(None));
    case.derived("");
}

#[test]
fn no_query_walks_a_table() {
    for version in VERSIONS {
        let mut case = Case::new(version);
        let plans = case.source.plans().unwrap();
        assert!(plans.len() >= 8, "{plans:#?}");
        let walks: Vec<_> = plans.iter().filter(|step| step.contains(": SCAN")).collect();
        assert!(walks.is_empty(), "{walks:#?}");
    }
}

#[test]
fn on_a_server() {
    let mut case = Case::new(VERSIONS[1]);
    let settings = case.sandbox.path(".claude-mem/settings.json");
    case.sandbox.write(&settings, r#"{"CLAUDE_MEM_RUNTIME":"server"}"#);
    assert!(matches!(case.rows(), Err(Unavailable::Server { .. })));
    case.derived("claude-mem writes to a server");
}

#[test]
fn a_link_or_folder_in_its_place() {
    let mut case = Case::new(VERSIONS[1]);
    let other = case.sandbox.path("other.db");
    fs::rename(case.database(), &other).unwrap();
    symlink(&other, case.database()).unwrap();
    assert!(matches!(case.rows(), Err(Unavailable::Unreadable { .. })));
    fs::remove_file(case.database()).unwrap();
    fs::create_dir(case.database()).unwrap();
    assert!(matches!(case.rows(), Err(Unavailable::Unreadable { .. })));
    case.derived("it is no regular file");
    // The folder itself may be a link.
    fs::remove_dir(case.database()).unwrap();
    fs::rename(other, case.database()).unwrap();
    let folder = case.sandbox.path("elsewhere");
    fs::rename(case.sandbox.path(".claude-mem"), &folder).unwrap();
    symlink(&folder, case.sandbox.path(".claude-mem")).unwrap();
    case.with_rows();
}

#[test]
fn what_was_wrong_with_it_is_forgotten_once_it_is_right() {
    let mut case = Case::new(VERSIONS[1]);
    let good = fs::read(case.database()).unwrap();
    fs::write(case.database(), "no database at all, but as long as one would be").unwrap();
    case.rows().unwrap_err();
    fs::write(case.database(), good).unwrap();
    case.with_rows();
}
