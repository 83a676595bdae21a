//! What the model is to say next: words, tool calls, or an error.
use serde_json::{Value, json};

use crate::pointer::Pointer;

/// One reply of the model.
#[derive(Clone, Default)]
pub(crate) struct Turn {
    pub(crate) blocks: Vec<Block>,
    /// The tokens that it says the request had; 0: few.
    pub(crate) tokens: u64,
    /// Stops behind the first block until it is released.
    pub(crate) held: bool,
    /// An error in place of a reply.
    pub(crate) refusal: Option<&'static str>,
}

#[derive(Clone)]
pub(crate) enum Block {
    Words(String),
    Call {
        tool: &'static str,
        input: Value,
    },
    /// Calls of Read, for all that the newest pointer names.
    ReadPointer,
}

/// Words.
pub(crate) fn says(words: &str) -> Turn {
    Turn { blocks: vec![Block::Words(words.to_owned())], ..Turn::default() }
}

/// Words, and calls of Read for all that the newest pointer names.
pub(crate) fn reads(words: &str) -> Turn {
    let mut turn = says(words);
    turn.blocks.push(Block::ReadPointer);
    turn
}

/// The API's answer to a request that it won't take.
pub(crate) fn refuses(message: &'static str) -> Turn {
    Turn { refusal: Some(message), ..Turn::default() }
}

impl Turn {
    pub(crate) fn calls(mut self, tool: &'static str, input: Value) -> Self {
        self.blocks.push(Block::Call { tool, input });
        self
    }

    /// A command in a shell.
    pub(crate) fn runs(self, command: &str) -> Self {
        self.calls("Bash", json!({"command": command, "description": "run it"}))
    }

    pub(crate) fn tokens(mut self, tokens: u64) -> Self {
        self.tokens = tokens;
        self
    }

    pub(crate) fn held(mut self) -> Self {
        self.held = true;
        self
    }

    /// Whether it goes by a pointer.
    pub(crate) fn reads(&self) -> bool {
        self.blocks.iter().any(|block| matches!(block, Block::ReadPointer))
    }

    /// The blocks as the API knows them, with the pointer that a reading turn goes by.
    pub(crate) fn content(&self, number: usize, pointer: Option<&Pointer>) -> Vec<Value> {
        let mut content = Vec::new();
        for block in &self.blocks {
            match block {
                Block::Words(text) => content.push(json!({"type": "text", "text": text})),
                Block::Call { tool, input } => content.push(call(tool, input)),
                Block::ReadPointer => {
                    let reads = pointer.map(Pointer::reads).unwrap_or_default();
                    content.extend(reads.iter().map(|input| call("Read", input)));
                }
            }
        }
        for (index, block) in content.iter_mut().enumerate() {
            if block["type"] == "tool_use" {
                block["id"] = json!(format!("toolu_{number}_{index}"));
            }
        }
        content
    }

    /// The message around its content.
    pub(crate) fn message(&self, number: usize, model: &Value, content: &[Value]) -> Value {
        let calls = content.iter().any(|block| block["type"] == "tool_use");
        json!({
            "id": format!("msg_{number}"), "type": "message", "role": "assistant",
            "model": model, "content": content, "stop_sequence": null,
            "stop_reason": if calls { "tool_use" } else { "end_turn" },
            "usage": {
                "input_tokens": self.tokens.max(100), "output_tokens": 20,
                "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0,
            },
        })
    }
}

fn call(tool: &str, input: &Value) -> Value {
    json!({"type": "tool_use", "name": tool, "input": input})
}

/// The events of one block.
pub(crate) fn events(index: usize, block: &Value) -> [Value; 3] {
    let mut empty = block.clone();
    let delta = if block["type"] == "tool_use" {
        empty["input"] = json!({});
        json!({"type": "input_json_delta", "partial_json": block["input"].to_string()})
    } else {
        empty["text"] = json!("");
        json!({"type": "text_delta", "text": block["text"]})
    };
    [
        json!({"type": "content_block_start", "index": index, "content_block": empty}),
        json!({"type": "content_block_delta", "index": index, "delta": delta}),
        json!({"type": "content_block_stop", "index": index}),
    ]
}
