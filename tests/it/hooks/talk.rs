//! A conversation as the host writes it, with the host's own times, and the payloads that go with
//! it.
use std::cell::{Cell, RefCell};

use jiff::Timestamp;
use serde_json::{Value, json};

use crate::harness::{Service, Transcript};

/// A session that is under way.
pub(crate) struct Talk {
    pub(crate) id: String,
    pub(crate) transcript: Transcript,
    folder: String,
    rows: Cell<usize>,
    parent: RefCell<Option<String>>,
    prompt: Cell<usize>,
}

impl Talk {
    /// A session in which nothing was said.
    pub(crate) fn new(service: &Service, id: &str) -> Self {
        Self::in_folder(service, id, "/w")
    }

    pub(crate) fn in_folder(service: &Service, id: &str, folder: &str) -> Self {
        let transcript = service.transcript("-w", id);
        let (rows, parent, prompt) = (Cell::new(0), RefCell::new(None), Cell::new(0));
        Self { id: id.to_owned(), transcript, folder: folder.to_owned(), rows, parent, prompt }
    }

    /// A session with these turns.
    pub(crate) fn with_turns(service: &Service, id: &str, turns: usize) -> Self {
        let talk = Self::new(service, id);
        for turn in 0..turns {
            talk.turn(turn);
        }
        talk
    }

    /// A question and its answer.
    pub(crate) fn turn(&self, number: usize) {
        self.write(&self.user(&format!("question {number} of {}", self.id)));
        self.write(&self.agent(&format!("answer {number} of {}", self.id)));
    }

    pub(crate) fn write(&self, rows: &str) {
        self.transcript.append(rows);
    }

    /// The id that the host gives the prompt under way.
    pub(crate) fn prompt_id(&self) -> String {
        format!("{}-p{}", self.id, self.prompt.get())
    }

    /// The next prompt of the person.
    pub(crate) fn user(&self, words: &str) -> String {
        self.prompt.set(self.prompt.get() + 1);
        self.message("user", &json!(words))
    }

    pub(crate) fn agent(&self, words: &str) -> String {
        self.message("assistant", &json!([{"type": "text", "text": words}]))
    }

    pub(crate) fn tool_call(&self, call: &str, tool: &str, input: &Value) -> String {
        let block = json!({"type": "tool_use", "id": call, "name": tool, "input": input});
        self.message("assistant", &json!([block]))
    }

    pub(crate) fn tool_result(&self, call: &str, output: &str) -> String {
        let block = json!({"type": "tool_result", "tool_use_id": call, "content": output});
        self.message("user", &json!([block]))
    }

    fn message(&self, role: &str, content: &Value) -> String {
        let message = format!("m-{}-{}", self.id, self.rows.get());
        let message = json!({"role": role, "id": message, "content": content});
        let mut fields = json!({"type": role, "message": message});
        if role == "user" {
            fields["promptId"] = json!(self.prompt_id());
        }
        self.row(fields)
    }

    /// The host has compacted: its boundary and its summary.
    pub(crate) fn boundary(&self) -> String {
        self.parent.replace(None);
        let about = json!({"trigger": "auto", "preTokens": 1000, "postTokens": 10});
        let boundary = self.row(json!({
            "type": "system", "subtype": "compact_boundary", "content": "Conversation compacted",
            "compactMetadata": about,
        }));
        let summary = self.row(json!({
            "type": "user", "isCompactSummary": true, "isVisibleInTranscriptOnly": true,
            "message": {"role": "user", "content": "This session is being continued."},
        }));
        boundary + &summary
    }

    /// What a hook printed was given to the model.
    pub(crate) fn arrival(&self, event: &str, text: &str) -> String {
        self.row(json!({
            "type": "attachment",
            "attachment": {"type": "hook_additional_context", "hookEvent": event,
                "hookName": event, "content": [text]},
        }))
    }

    /// A prompt that was typed while the agent worked.
    pub(crate) fn queued(&self, words: &str) -> String {
        let added = json!({
            "type": "queue-operation", "operation": "enqueue", "content": words,
            "sessionId": self.id, "timestamp": now(),
        });
        format!("{added}\n")
            + &self.row(json!({
                "type": "attachment", "attachment": {"type": "queued_command", "prompt": words},
            }))
    }

    /// A row with the common fields.
    pub(crate) fn row(&self, mut fields: Value) -> String {
        let name = format!("{}-r{}", self.id, self.rows.get());
        let parent = self.parent.replace(Some(name.clone()));
        self.rows.set(self.rows.get() + 1);
        let common = json!({
            "uuid": name, "parentUuid": parent,
            "timestamp": now(), "isSidechain": false, "sessionId": self.id, "cwd": self.folder,
            "version": "2.1.332",
        });
        for (key, value) in common.as_object().unwrap() {
            fields[key] = value.clone();
        }
        format!("{fields}\n")
    }

    /// The payload of an event.
    pub(crate) fn event(&self, name: &str, more: &Value) -> Value {
        let mut payload = json!({
            "session_id": self.id, "transcript_path": self.transcript.path, "cwd": self.folder,
            "hook_event_name": name,
        });
        for (key, value) in more.as_object().unwrap() {
            payload[key] = value.clone();
        }
        payload
    }

    pub(crate) fn compacting(&self) -> Value {
        self.event("PreCompact", &json!({"trigger": "auto", "custom_instructions": null}))
    }

    pub(crate) fn compacted(&self) -> Value {
        self.event("SessionStart", &json!({"source": "compact", "model": "m"}))
    }

    pub(crate) fn resumed(&self) -> Value {
        self.event("SessionStart", &json!({"source": "resume"}))
    }

    /// A prompt whose row is not written yet.
    pub(crate) fn prompted(&self, words: &str) -> Value {
        let id = format!("{}-p{}", self.id, self.prompt.get() + 1);
        self.event("UserPromptSubmit", &json!({"prompt": words, "prompt_id": id}))
    }

    pub(crate) fn reads(&self, file: &std::path::Path) -> Value {
        let input = json!({"file_path": file});
        self.event("PermissionRequest", &json!({"tool_name": "Read", "tool_input": input}))
    }

    /// A compaction happened whose pointer nobody printed, and the agent goes on.
    pub(crate) fn missed_compaction(&self) {
        self.write(&self.boundary());
        self.write(&self.agent("I go on without knowing."));
    }
}

fn now() -> String {
    format!("{:.3}", Timestamp::now())
}
