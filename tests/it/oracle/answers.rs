//! The person's words inside tool results: answers, and reasons for a refusal.

use serde_json::Value;

use super::Speaker;
use super::rows::{Item, said};

/// After these words of the host, the person's own begin.
const USER_SAID: [&str; 2] = ["To tell you how to proceed, the user said:\n", "The user said:\n"];

/// Newer hosts put a hint of their own behind the reason.
const HINT: &str = "\n\nNote: The user's next message may contain a correction or preference.";

/// Openings by which hosts say that a call was not allowed to run.
const REFUSALS: [&str; 8] = [
    "The user doesn't want to proceed with this tool use",
    "The user doesn't want to take this action right now",
    "Permission for this tool use was denied",
    "Permission to use ",
    "Claude requested permissions to ",
    "User chose to stay in plan mode",
    "The agent proposed a plan that was rejected by the user",
    "User rejected tool use",
];

/// The question texts of an AskUserQuestion call.
pub(super) fn questions(input: &Value) -> Vec<String> {
    let questions = input["questions"].as_array().map_or(&[][..], Vec::as_slice);
    let text = |question: &Value| question["question"].as_str().map(str::to_owned);
    questions.iter().filter_map(text).collect()
}

/// Is this result a refusal, by its fields or by the host's opening words?
pub(super) fn declined(record: &Value, text: &str) -> bool {
    match record["toolDenialKind"].as_str() {
        Some(kind) => kind != "interrupted",
        None => record["is_error"] == true && REFUSALS.iter().any(|start| text.starts_with(start)),
    }
}

/// What the person said in the result of the call `name` with this `input`.
pub(super) fn in_result(name: &str, input: &Value, text: &str, record: &Value) -> Vec<Item> {
    if declined(record, text) {
        let label = format!("declined {name}");
        let reason = record["userFeedback"].as_str().or_else(|| reason(text));
        return reason.map(|it| said(Speaker::User, &label, it.to_owned())).into_iter().collect();
    }
    match name {
        "AskUserQuestion" if record["is_error"] != true => answers(input, text, record)
            .into_iter()
            .map(|answer| said(Speaker::User, "answer", answer))
            .collect(),
        "ExitPlanMode" if input["plan"].as_str().is_none() => {
            let plan = record["toolUseResult"]["plan"].as_str();
            plan.map(|it| said(Speaker::Assistant, "plan", it.to_owned())).into_iter().collect()
        }
        _ => Vec::new(),
    }
}

fn reason(text: &str) -> Option<&str> {
    let (_, words) = USER_SAID.iter().find_map(|start| text.split_once(start))?;
    Some(words.split_once(HINT).map_or(words, |(words, _)| words))
}

/// One answer per question, in the order of the questions, then the notes typed beside them.
fn answers(input: &Value, text: &str, record: &Value) -> Vec<String> {
    let result = &record["toolUseResult"];
    let mut asked = questions(input);
    if asked.is_empty() {
        asked = questions(result);
    }
    let Some(given) = result["answers"].as_object() else {
        return answers_in_text(&asked, text);
    };
    let mut answers = Vec::new();
    let rest = given.keys().filter(|question| !asked.contains(question));
    for question in asked.iter().chain(rest) {
        match given.get(question) {
            Some(Value::String(answer)) => answers.push(answer.clone()),
            Some(Value::Array(several)) => {
                let several: Vec<&str> = several.iter().filter_map(Value::as_str).collect();
                answers.push(several.join(", "));
            }
            _ => {}
        }
        if let Some(notes) = result["annotations"][question]["notes"].as_str() {
            answers.push(notes.to_owned());
        }
    }
    answers
}

/// Where the structured result is missing: `"question"="answer"` in the host's sentence.
fn answers_in_text(asked: &[String], text: &str) -> Vec<String> {
    let mark = |question: &String| format!("\"{question}\"=\"");
    let mut answers = Vec::new();
    for (index, question) in asked.iter().enumerate() {
        let Some((_, rest)) = text.split_once(&mark(question)) else { continue };
        let next = asked[index + 1..].iter().find_map(|it| rest.split_once(&mark(it)));
        let answer = match next {
            Some((part, _)) => part.strip_suffix("\", ").unwrap_or(part),
            None => rest.rsplit_once("\". You can now").map_or(rest, |(part, _)| part),
        };
        answers.push(answer.to_owned());
    }
    answers
}
