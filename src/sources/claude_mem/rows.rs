//! The rows of one session, cleaned.
//!
//! One join finds them: a session's row names the memory that its observations and summaries are
//! filed under. That name may be given anew, and all rows follow it, so that what is found is of
//! every leg. Sorting is done here: an order asked of SQLite could tempt it to walk a whole table.

use std::borrow::Cow;

use rusqlite::Connection;

use super::{
    PLATFORM, number,
    schema::{OBSERVATIONS, PROMPTS, SESSIONS, SUMMARIES, Schema, TOOL_USES},
    text,
};
use crate::{
    observation::rows::{Observed, Prompt, Row, Summary, ToolUse, is_truncated, row_text},
    text::{envelope::envelopes, line::normalise, privacy, time::Moment},
};

/// Wrappers in which the host speaks; a stored prompt that is nothing else is nobody's words.
const HOSTS_OWN: [&str; 5] = [
    "task-notification",
    "local-command-stdout",
    "local-command-stderr",
    "local-command-caveat",
    "system-reminder",
];
/// The parts of a summary that are shown, and their names.
const PARTS: [(&str, &str); 6] = [
    ("request", "Request"),
    ("investigated", "Investigated"),
    ("learned", "Learned"),
    ("completed", "Completed"),
    ("next_steps", "Next steps"),
    ("notes", "Notes"),
];

/// What changes whenever the rows of a session do: of each table how many there are, the newest,
/// and a sum of their ids.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mark([(i64, i64, u64); 4]);

/// The row of the session itself.
struct Session {
    id: i64,
    memory: String,
    /// No other platform knows this id: rows without a platform are this session's.
    alone: bool,
}

/// Private parts are counted as they are removed.
struct Cleaner {
    hidden: u64,
}

impl Cleaner {
    fn clean<'t>(&mut self, text: &'t str) -> Cow<'t, str> {
        let stripped = privacy::strip(text);
        self.hidden += u64::from(stripped.removed > 0);
        match stripped.text {
            Cow::Borrowed(text) => normalise(text),
            Cow::Owned(text) => Cow::Owned(normalise(&text).into_owned()),
        }
    }
}

/// All rows of a session.
pub(super) fn observed(
    schema: &Schema,
    connection: &Connection,
    id: &str,
) -> rusqlite::Result<Option<Observed>> {
    let mut observed = Observed::default();
    let Some(session) = session(schema, connection, id, &mut observed)? else { return Ok(None) };
    let mut cleaner = Cleaner { hidden: 0 };
    observed.observations = observations(schema, connection, &session, &mut cleaner)?;
    observed.prompts = prompts(schema, connection, (&session, id), &mut cleaner)?;
    observed.summaries = summaries(schema, connection, &session, &mut cleaner)?;
    tool_uses(schema, connection, id, &mut observed)?;
    observed.project = cleaner.clean(&observed.project).into_owned();
    observed.folder = cleaner.clean(&observed.folder).into_owned();
    observed.hidden = cleaner.hidden;
    Ok(Some(observed))
}

fn session(
    schema: &Schema,
    connection: &Connection,
    id: &str,
    observed: &mut Observed,
) -> rusqlite::Result<Option<Session>> {
    let mut statement = connection.prepare(&session_query(schema))?;
    let mut rows = statement.query([id])?;
    let Some(row) = rows.next()? else { return Ok(None) };
    observed.project = text(row, 2).into_owned();
    observed.started = number(row, 3).map(Moment);
    let (number, memory) = (number(row, 0).unwrap_or_default(), text(row, 1).into_owned());
    let alone = "SELECT count(*) FROM sdk_sessions WHERE content_session_id = ?1";
    let mut alone = connection.prepare(alone)?;
    let alone = alone.query_row([id], |row| row.get::<_, i64>(0))? == 1;
    Ok(Some(Session { id: number, memory, alone }))
}

fn session_query(schema: &Schema) -> String {
    let columns = ["id", "memory_session_id", "project", "started_at_epoch"];
    let columns = schema.list(SESSIONS, "s", &columns);
    format!("SELECT {columns} FROM sdk_sessions s WHERE {}", schema.is_session())
}

fn observations(
    schema: &Schema,
    connection: &Connection,
    session: &Session,
    cleaner: &mut Cleaner,
) -> rusqlite::Result<Vec<Row>> {
    let mut statement = connection.prepare(&observations_query(schema))?;
    let mut rows = statement.query([&session.memory])?;
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        let texts = [3, 4, 5, 6, 7].map(|column| text(row, column));
        let [kind, title, subtitle, narrative, legacy] =
            texts.each_ref().map(|text| cleaner.clean(text));
        let narrative = if narrative.trim().is_empty() { legacy } else { narrative };
        found.push(Row {
            id: number(row, 0).unwrap_or_default(),
            time: Moment(number(row, 1).unwrap_or_default()),
            prompt: number(row, 2),
            text: row_text(&kind, &title, &subtitle, &narrative),
        });
    }
    found.sort_by_key(|row| (row.time, row.id));
    Ok(found)
}

fn observations_query(schema: &Schema) -> String {
    let columns = [
        "id",
        "created_at_epoch",
        "prompt_number",
        "type",
        "title",
        "subtitle",
        "narrative",
        "text",
    ];
    let columns = schema.list(OBSERVATIONS, "o", &columns);
    format!("SELECT {columns} FROM observations o WHERE o.memory_session_id = ?1")
}

fn prompts(
    schema: &Schema,
    connection: &Connection,
    (session, id): (&Session, &str),
    cleaner: &mut Cleaner,
) -> rusqlite::Result<Vec<Prompt>> {
    let mut found: Vec<(i64, Prompt)> = Vec::new();
    for (query, value) in prompts_queries(schema, session, id) {
        let mut statement = connection.prepare(&query)?;
        let mut rows = statement.query([value])?;
        while let Some(row) = rows.next()? {
            let stored = text(row, 3);
            let clean = cleaner.clean(&stored);
            let words = clean.trim();
            if words.is_empty() || is_hosts_own(words) {
                continue;
            }
            let prompt = Prompt {
                number: number(row, 1).unwrap_or_default(),
                time: Moment(number(row, 2).unwrap_or_default()),
                text: words.to_owned(),
                truncated: is_truncated(&stored),
            };
            found.push((number(row, 0).unwrap_or_default(), prompt));
        }
    }
    found.sort_by_key(|(id, prompt)| (prompt.time, *id));
    Ok(found.into_iter().map(|(_, prompt)| prompt).collect())
}

/// Prompts name the session's row; those that name none have its id only, which is enough where no
/// other platform has the same.
fn prompts_queries(
    schema: &Schema,
    session: &Session,
    id: &str,
) -> Vec<(String, rusqlite::types::Value)> {
    let columns = ["id", "prompt_number", "created_at_epoch", "prompt_text"];
    let columns = schema.list(PROMPTS, "p", &columns);
    let select = format!("SELECT {columns} FROM user_prompts p WHERE");
    let (linked, named) = (
        schema.has_column(PROMPTS, "session_db_id"),
        schema.has_column(PROMPTS, "content_session_id") && session.alone,
    );
    let mut queries = Vec::new();
    if linked {
        queries.push((format!("{select} p.session_db_id = ?1"), session.id.into()));
    }
    if named {
        let unlinked = if linked { " AND p.session_db_id IS NULL" } else { "" };
        let query = format!("{select} p.content_session_id = ?1{unlinked}");
        queries.push((query, id.to_owned().into()));
    }
    queries
}

fn is_hosts_own(words: &str) -> bool {
    let is_host = |tag: &str| HOSTS_OWN.contains(&tag);
    envelopes(words).is_some_and(|all| all.iter().all(|envelope| is_host(envelope.tag)))
}

fn summaries(
    schema: &Schema,
    connection: &Connection,
    session: &Session,
    cleaner: &mut Cleaner,
) -> rusqlite::Result<Vec<Summary>> {
    if !schema.has(SUMMARIES) {
        return Ok(Vec::new());
    }
    let mut statement = connection.prepare(&summaries_query(schema))?;
    let mut rows = statement.query([&session.memory])?;
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        let mut parts = Vec::new();
        for (column, (_, name)) in (3..).zip(PARTS) {
            let stored = text(row, column);
            let part = cleaner.clean(&stored);
            if !part.trim().is_empty() {
                parts.push((name, part.into_owned()));
            }
        }
        let id = number(row, 0).unwrap_or_default();
        let time = Moment(number(row, 1).unwrap_or_default());
        if !parts.is_empty() {
            found.push((id, Summary { prompt: number(row, 2), time, parts }));
        }
    }
    found.sort_by_key(|(id, summary)| (summary.time, *id));
    Ok(found.into_iter().map(|(_, summary)| summary).collect())
}

fn summaries_query(schema: &Schema) -> String {
    let mut columns = vec!["id", "created_at_epoch", "prompt_number"];
    columns.extend(PARTS.map(|(column, _)| column));
    let columns = schema.list(SUMMARIES, "o", &columns);
    format!("SELECT {columns} FROM session_summaries o WHERE o.memory_session_id = ?1")
}

fn tool_uses(
    schema: &Schema,
    connection: &Connection,
    id: &str,
    observed: &mut Observed,
) -> rusqlite::Result<()> {
    if !schema.has(TOOL_USES) {
        return Ok(());
    }
    let mut statement = connection.prepare(&tool_uses_query(schema))?;
    let mut rows = statement.query([id])?;
    while let Some(row) = rows.next()? {
        if observed.folder.is_empty() {
            observed.folder = text(row, 2).into_owned();
        }
        let call = text(row, 0).into_owned();
        observed.tool_uses.push(ToolUse { call, observation: number(row, 1) });
    }
    Ok(())
}

fn tool_uses_query(schema: &Schema) -> String {
    let columns = schema.list(TOOL_USES, "t", &["tool_use_id", "observation_id", "cwd"]);
    format!(
        "SELECT {columns} FROM tool_uses t WHERE t.content_session_id = ?1 AND \
         t.platform_source = '{PLATFORM}'"
    )
}

/// A session's mark: the same queries, but nothing of the rows is read.
pub(super) fn mark(
    schema: &Schema,
    connection: &Connection,
    id: &str,
) -> rusqlite::Result<Option<Mark>> {
    let Some(session) = session(schema, connection, id, &mut Observed::default())? else {
        return Ok(None);
    };
    let mut mark = [(0, 0, 0); 4];
    for (slot, (query, value)) in mark.iter_mut().zip(mark_queries(schema, &session, id)) {
        let mut statement = connection.prepare(&query)?;
        *slot = statement.query_row([value], |row| {
            let newest = row.get::<_, Option<i64>>(1)?.unwrap_or_default();
            Ok((row.get(0)?, newest, row.get::<_, f64>(2)?.to_bits()))
        })?;
    }
    Ok(Some(Mark(mark)))
}

fn mark_queries(
    schema: &Schema,
    session: &Session,
    id: &str,
) -> Vec<(String, rusqlite::types::Value)> {
    let count =
        |sum: &str, rest: &str| format!("SELECT count(*), max(id), total({sum}) FROM {rest}");
    let of_memory = |table| count("id", &format!("{table} WHERE memory_session_id = ?1"));
    let memory = || rusqlite::types::Value::from(session.memory.clone());
    let mut queries = vec![(of_memory(OBSERVATIONS), memory())];
    if schema.has(SUMMARIES) {
        queries.push((of_memory(SUMMARIES), memory()));
    }
    if schema.has_column(PROMPTS, "session_db_id") {
        queries.push((count("id", "user_prompts WHERE session_db_id = ?1"), session.id.into()));
    }
    if schema.has(TOOL_USES) {
        let rest =
            format!("tool_uses WHERE content_session_id = ?1 AND platform_source = '{PLATFORM}'");
        queries.push((count("observation_id", &rest), id.to_owned().into()));
    }
    queries
}

/// The plans of all queries.
pub(super) fn plans(schema: &Schema, connection: &Connection) -> rusqlite::Result<Vec<String>> {
    let session = Session { id: 1, memory: String::new(), alone: true };
    let mut queries = vec![session_query(schema), observations_query(schema)];
    queries.extend(prompts_queries(schema, &session, "").into_iter().map(|(query, _)| query));
    queries.extend(mark_queries(schema, &session, "").into_iter().map(|(query, _)| query));
    if schema.has(SUMMARIES) {
        queries.push(summaries_query(schema));
    }
    if schema.has(TOOL_USES) {
        queries.push(tool_uses_query(schema));
    }
    let mut plans = Vec::new();
    for query in queries {
        let mut statement = connection.prepare(&format!("EXPLAIN QUERY PLAN {query}"))?;
        let steps = statement.query_map([""], |row| row.get::<_, String>(3))?;
        for step in steps {
            plans.push(format!("{query}: {}", step?));
        }
    }
    Ok(plans)
}
