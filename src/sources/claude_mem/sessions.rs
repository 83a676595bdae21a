//! Which sessions claude-mem knows.

use rusqlite::Connection;

use super::{
    number,
    schema::{PROMPTS, SESSIONS, Schema},
    text,
};
use crate::{
    sources::clean,
    text::{line::plain_line, time::Moment},
};

/// Characters of the first words.
const WORDS: usize = 60;

/// A session that claude-mem knows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Known {
    /// The host's id.
    pub id: String,
    /// The project, as claude-mem names it.
    pub project: String,
    /// The first words of the person, on one line; empty where none are kept.
    pub words: String,
    /// The last that is known to have happened.
    pub latest: Option<Moment>,
}

/// Sessions with something to show whose ids begin like this.
pub(super) fn sessions(
    schema: &Schema,
    connection: &Connection,
    prefix: &str,
) -> rusqlite::Result<Vec<Known>> {
    let linked = schema.has_column(PROMPTS, "session_db_id");
    let of_prompts = |what: &str, rest: &str| match linked {
        true => format!("(SELECT {what} FROM user_prompts p WHERE p.session_db_id = s.id{rest})"),
        false => "NULL".to_owned(),
    };
    let first = of_prompts("p.prompt_text", " ORDER BY p.prompt_number LIMIT 1");
    let newest = of_prompts("max(p.created_at_epoch)", "");
    let observed = "(SELECT max(o.created_at_epoch) FROM observations o \
                    WHERE o.memory_session_id = s.memory_session_id)";
    let columns = schema.list(SESSIONS, "s", &["content_session_id", "project"]);
    let platform = match schema.has_column(SESSIONS, "platform_source") {
        true => "s.platform_source = 'claude' AND ",
        false => "",
    };
    let query = format!(
        "SELECT {columns}, {first}, {newest}, {observed} FROM sdk_sessions s \
         WHERE {platform}s.content_session_id >= ?1 AND substr(s.content_session_id, 1, ?2) = ?1"
    );
    let mut statement = connection.prepare(&query)?;
    let length = i64::try_from(prefix.chars().count()).unwrap_or(i64::MAX);
    let mut rows = statement.query(rusqlite::params![prefix, length])?;
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        let latest = number(row, 3).max(number(row, 4));
        if latest.is_some() {
            found.push(Known {
                id: text(row, 0).into_owned(),
                project: clean(&text(row, 1)),
                words: plain_line(&clean(&text(row, 2)), WORDS),
                latest: latest.map(Moment),
            });
        }
    }
    Ok(found)
}
