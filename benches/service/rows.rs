//! Rows that go on where a made-up transcript ends.
use std::{fs, path::Path};

use anyhow::{Context, Result};
use serde_json::{Value, json};

/// Makes one row after the other.
pub(crate) struct Rows {
    session: String,
    parent: String,
    made: u32,
}

impl Rows {
    /// Goes on behind the last row of a transcript.
    pub(crate) fn after(path: &Path) -> Result<Self> {
        let bytes = fs::read(path)?;
        let row = bytes.rsplit(|byte| *byte == b'\n').find_map(|line| {
            let row: Value = serde_json::from_slice(line).ok()?;
            let is_row = matches!(row["type"].as_str()?, "user" | "assistant" | "system");
            (is_row && row["isSidechain"] == false).then_some(row)
        });
        let row = row.context("find a row")?;
        let text = |key: &str| row[key].as_str().map(str::to_owned).context("find an id");
        Ok(Self { session: text("sessionId")?, parent: text("uuid")?, made: 0 })
    }

    /// The next line: the person and the agent speak by turns.
    pub(crate) fn next(&mut self) -> String {
        let (number, id) = (self.made, format!("row-{}", self.made));
        let text = format!("What was said in step {number}, in about as many words as usual.");
        let (kind, message) = if number.is_multiple_of(2) {
            ("user", json!({"role": "user", "content": text}))
        } else {
            let text = json!({"type": "text", "text": text});
            ("assistant", json!({"role": "assistant", "id": id, "content": [text]}))
        };
        let row = json!({
            "parentUuid": self.parent, "isSidechain": false, "userType": "external", "cwd": "/w",
            "sessionId": self.session, "version": "2.1.37", "type": kind, "message": message,
            "uuid": id, "timestamp": "2026-11-30T10:00:00.000Z",
        });
        self.made += 1;
        self.parent = id;
        format!("{row}\n")
    }
}
