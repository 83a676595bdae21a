//! Which tables and columns this version of claude-mem has, and the queries that follow from it.
//!
//! Looked at once for each version of the schema: SQLite numbers those itself. Columns are always
//! named, since their order differs between versions; one that is missing reads as null. Refuses a
//! database without the few columns that every version since sessions have two ids has.

use std::collections::{BTreeMap, BTreeSet};

use rusqlite::Connection;

/// The tables that are read, and of each the columns without which it is none.
const TABLES: [(&str, &[&str]); 5] = [
    (SESSIONS, &["id", "content_session_id", "memory_session_id"]),
    (OBSERVATIONS, &["id", "memory_session_id", "created_at_epoch"]),
    (PROMPTS, &["id", "prompt_number", "prompt_text", "created_at_epoch"]),
    (SUMMARIES, &["id", "memory_session_id", "created_at_epoch"]),
    (TOOL_USES, &["id", "tool_use_id", "content_session_id", "platform_source"]),
];
pub(super) const SESSIONS: &str = "sdk_sessions";
pub(super) const OBSERVATIONS: &str = "observations";
pub(super) const PROMPTS: &str = "user_prompts";
pub(super) const SUMMARIES: &str = "session_summaries";
pub(super) const TOOL_USES: &str = "tool_uses";

/// Tables that must be there.
const REQUIRED: [&str; 2] = [SESSIONS, OBSERVATIONS];

/// Why nothing was read.
#[derive(Debug)]
pub(super) enum Failure {
    /// SQLite says so.
    Sqlite(rusqlite::Error),
    /// A table or column is not there.
    Missing(String),
}

impl From<rusqlite::Error> for Failure {
    fn from(error: rusqlite::Error) -> Self {
        Self::Sqlite(error)
    }
}

/// Tables and columns as they were when SQLite's number of the schema was this.
#[derive(Debug, Default)]
pub(super) struct Schema {
    number: Option<i64>,
    tables: BTreeMap<&'static str, BTreeSet<String>>,
}

impl Schema {
    /// Looks again if the schema has changed.
    pub(super) fn refresh(&mut self, connection: &Connection) -> Result<(), Failure> {
        let number = connection.pragma_query_value(None, "schema_version", |row| row.get(0))?;
        if self.number == Some(number) {
            return Ok(());
        }
        self.tables.clear();
        for (table, needed) in TABLES {
            let columns = columns(connection, table)?;
            let missing = needed.iter().find(|column| !columns.contains(**column));
            match missing {
                None => drop(self.tables.insert(table, columns)),
                Some(column) if REQUIRED.contains(&table) => {
                    return Err(Failure::Missing(match columns.is_empty() {
                        true => format!("table {table}"),
                        false => format!("column {table}.{column}"),
                    }));
                }
                // Without it there is less to show.
                Some(_) => {}
            }
        }
        self.number = Some(number);
        Ok(())
    }

    pub(super) fn has(&self, table: &str) -> bool {
        self.tables.contains_key(table)
    }

    pub(super) fn has_column(&self, table: &str, column: &str) -> bool {
        self.tables.get(table).is_some_and(|columns| columns.contains(column))
    }

    /// Columns of a table for a query, each behind the table's short name, null where it has none.
    pub(super) fn list(&self, table: &str, short: &str, columns: &[&str]) -> String {
        let one = |column: &&str| match self.has_column(table, column) {
            true => format!("{short}.{column}"),
            false => "NULL".to_owned(),
        };
        columns.iter().map(one).collect::<Vec<_>>().join(", ")
    }

    /// Every column of a table.
    pub(super) fn columns(&self, table: &str) -> Vec<&str> {
        let columns = self.tables.get(table).into_iter().flatten();
        columns.map(String::as_str).collect()
    }

    /// What a row of sessions, known as `s`, must fulfil to be the session `?1` of our platform.
    /// Before there were platforms all sessions were of one.
    pub(super) fn is_session(&self) -> &'static str {
        match self.has_column(SESSIONS, "platform_source") {
            true => "s.platform_source = 'claude' AND s.content_session_id = ?1",
            false => "s.content_session_id = ?1",
        }
    }
}

fn columns(connection: &Connection, table: &str) -> rusqlite::Result<BTreeSet<String>> {
    let mut statement = connection.prepare("SELECT name FROM pragma_table_info(?1)")?;
    statement.query_map([table], |row| row.get(0))?.collect()
}
