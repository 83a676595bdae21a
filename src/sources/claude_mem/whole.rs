//! One observation with all that is stored of it, for who wants to see what is behind a line.

use rusqlite::{Connection, types::ValueRef};

use super::{
    PLATFORM,
    schema::{OBSERVATIONS, Schema, TOOL_USES},
    text,
};
use crate::{
    observation::rows::SENSITIVE,
    sources::{clean, value::Value},
    transcript::json::Raw,
};

/// Columns that hold JSON arrays as texts.
const LISTS: [&str; 4] = ["facts", "concepts", "files_read", "files_modified"];
/// Columns that come first, in this order; the others follow by name.
const FIRST: [&str; 9] = [
    "id",
    "type",
    "title",
    "subtitle",
    "narrative",
    "facts",
    "concepts",
    "files_read",
    "files_modified",
];
/// What is shown of an observation that must not go any further.
const SHOWN_OF_SENSITIVE: [&str; 5] = ["id", "type", "title", "created_at", "project"];

/// An observation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Whole {
    /// Its columns that are not null, with their values.
    pub columns: Vec<(String, Value)>,
    /// Only its title is shown, as its type asks.
    pub sensitive: bool,
}

/// The observation with this id, if it is one of the session.
pub(super) fn whole(
    schema: &Schema,
    connection: &Connection,
    session: &str,
    id: i64,
) -> rusqlite::Result<Option<Whole>> {
    let mut names = schema.columns(OBSERVATIONS);
    names.sort_by_key(|name| FIRST.iter().position(|first| first == name).unwrap_or(FIRST.len()));
    let query = format!(
        "SELECT {} FROM sdk_sessions s JOIN observations o ON \
         o.memory_session_id = s.memory_session_id WHERE {} AND o.id = ?2",
        schema.list(OBSERVATIONS, "o", &names),
        schema.is_session(),
    );
    let mut statement = connection.prepare(&query)?;
    let mut rows = statement.query(rusqlite::params![session, id])?;
    let Some(row) = rows.next()? else { return Ok(None) };
    let kind = names.iter().position(|name| *name == "type");
    let sensitive = kind.is_some_and(|kind| text(row, kind) == SENSITIVE);
    let mut columns = Vec::new();
    for (column, name) in names.iter().enumerate() {
        let value = match row.get_ref(column)? {
            ValueRef::Null => continue,
            ValueRef::Integer(number) => Value::Number(number.to_string()),
            ValueRef::Real(number) => Value::Number(number.to_string()),
            ValueRef::Text(_) | ValueRef::Blob(_) => value(name, &text(row, column)),
        };
        if !sensitive || SHOWN_OF_SENSITIVE.contains(name) {
            columns.push(((*name).to_owned(), value));
        }
    }
    if schema.has(TOOL_USES) && !sensitive {
        columns.extend(answers(connection, session, id)?);
    }
    Ok(Some(Whole { columns, sensitive }))
}

fn value(name: &str, text: &str) -> Value {
    let is_list = LISTS.contains(&name)
        && serde_json::from_str::<serde_json::Value>(text).is_ok_and(|value| value.is_array());
    if is_list { Value::read(Raw(text.trim().as_bytes())) } else { Value::Text(clean(text)) }
}

/// The calls that were told in the batch which this observation answers.
fn answers(
    connection: &Connection,
    session: &str,
    id: i64,
) -> rusqlite::Result<Option<(String, Value)>> {
    let query = format!(
        "SELECT tool_use_id FROM tool_uses WHERE content_session_id = ?1 AND \
         platform_source = '{PLATFORM}' AND observation_id = ?2 ORDER BY id"
    );
    let mut statement = connection.prepare(&query)?;
    let rows =
        statement.query_map(rusqlite::params![session, id], |row| Ok(text(row, 0).into_owned()))?;
    let calls = rows.collect::<rusqlite::Result<Vec<String>>>()?;
    let calls: Vec<_> = calls.iter().map(|call| Value::Text(clean(call))).collect();
    Ok((!calls.is_empty()).then(|| ("tool_uses".to_owned(), Value::List(calls))))
}
