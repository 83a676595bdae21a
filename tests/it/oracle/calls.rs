//! The tool ledger, and what follows from it: changed and read files, commands.

use std::collections::{HashMap, HashSet};

use serde_json::Value;

use super::answers;
use super::rows::{Item, Parsed};
use super::words;
use super::{Reading, normalised};

/// What became of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CallState {
    Running,
    Completed,
    Failed,
    Declined,
    Interrupted,
}

/// One tool call. Only a running call changes its state.
#[derive(Clone, Debug)]
pub(crate) struct Call {
    pub(crate) id: String,
    pub(crate) name: String,
    pub(crate) input: Value,
    pub(crate) state: CallState,
    /// Line of the `tool_use` block.
    pub(crate) row: usize,
    /// Line of the result that settled it.
    pub(crate) result_row: Option<usize>,
    /// The text of that result.
    pub(crate) result: String,
    /// It stands in a rewound stretch.
    pub(crate) rewound: bool,
}

pub(super) fn ledger(parsed: &[Parsed], dead: &HashSet<usize>) -> Vec<Call> {
    let mut calls: Vec<Call> = Vec::new();
    let mut known: HashMap<&str, usize> = HashMap::new();
    for (index, record) in parsed.iter().enumerate() {
        if record.prompt {
            interrupt(&mut calls);
        }
        for item in &record.items {
            match item {
                Item::ToolUse { id, name, input } if !known.contains_key(id.as_str()) => {
                    known.insert(id, calls.len());
                    calls.push(Call {
                        id: id.clone(),
                        name: name.clone(),
                        input: input.clone(),
                        state: CallState::Running,
                        row: record.row,
                        result_row: None,
                        result: String::new(),
                        rewound: dead.contains(&index),
                    });
                }
                Item::ToolResult { id, text, record: result } => {
                    let call = known.get(id.as_str()).map(|at| &mut calls[*at]);
                    if let Some(call) = call.filter(|call| call.state == CallState::Running) {
                        call.state = outcome(result, text);
                        call.result_row = Some(record.row);
                        call.result = text.clone();
                    }
                }
                Item::Note(text) if text.starts_with("[Request interrupted") => {
                    interrupt(&mut calls);
                }
                Item::Boundary => interrupt(&mut calls),
                _ => {}
            }
        }
    }
    calls
}

fn interrupt(calls: &mut [Call]) {
    for call in calls.iter_mut().filter(|call| call.state == CallState::Running) {
        call.state = CallState::Interrupted;
    }
}

fn outcome(result: &Value, text: &str) -> CallState {
    let synthetic = ["[Tool call interrupted", "[Request interrupted by user"];
    if result["toolDenialKind"] == "interrupted"
        || result["toolUseResult"]["interrupted"] == true
        || synthetic.iter().any(|start| text.starts_with(start))
    {
        CallState::Interrupted
    } else if answers::declined(result, text) {
        CallState::Declined
    } else if result["is_error"] == true {
        CallState::Failed
    } else {
        CallState::Completed
    }
}

/// Fills the lists that follow from the calls. Rewound calls count: what they did stays done.
pub(super) fn summarise(reading: &mut Reading) {
    for call in &reading.calls {
        let done = call.state == CallState::Completed;
        let path = ["file_path", "notebook_path"].iter().find_map(|key| call.input[key].as_str());
        match (call.name.as_str(), path) {
            ("Edit" | "MultiEdit" | "Write" | "NotebookEdit", Some(path)) if done => {
                push_new(&mut reading.paths_changed, path);
            }
            ("Read", Some(path)) if done => push_new(&mut reading.paths_read, path),
            ("Bash", _) => {
                let command = call.input["command"].as_str().unwrap_or_default();
                let command = normalised(&words::without_private(command).0);
                reading.commands.push((command, exit_status(call)));
            }
            _ => {}
        }
    }
}

fn push_new(paths: &mut Vec<String>, path: &str) {
    if !paths.iter().any(|known| known == path) {
        paths.push(path.to_owned());
    }
}

/// Unknown for a call that runs, was declined or interrupted, or went to the background.
fn exit_status(call: &Call) -> Option<String> {
    let background = call.input["run_in_background"] == true
        || call.result.starts_with("Command running in background");
    match call.state {
        CallState::Completed if !background => Some("0".to_owned()),
        CallState::Failed => {
            let code = call.result.strip_prefix("Exit code ").and_then(|rest| {
                let code: String = rest.chars().take_while(char::is_ascii_digit).collect();
                (!code.is_empty()).then_some(code)
            });
            Some(code.unwrap_or_else(|| "failed".to_owned()))
        }
        _ => None,
    }
}
