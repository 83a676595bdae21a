//! How a tool call of Claude Code ended: the few words of its result that a bottle keeps.
//!
//! A result's body can be megabytes; only what the kind of call needs is looked at, and only a
//! tail of it decoded, unless private text may stand in it: then it is stripped whole first.
use std::borrow::Cow;

use super::excerpt::{HEAD, decoded, head, last_line, near, texts, whole_text};
use crate::{
    text::{
        envelope::envelopes,
        line::{first_clause, plain_line, told_clause},
        privacy,
    },
    transcript::{
        ToolResult,
        json::{Quoted, Raw},
        tool::{Counted, Lines, Outcome, Status, ToolKind},
    },
};

/// Characters kept of a telling line.
const LINE: usize = 160;
/// Words that mark the line of a failed command that says why.
const TELLING: &[&str] =
    &["error", "failed", "failure", "panicked", "fatal", "exception", "denied", "not found"];

/// Lines that only sum up the errors above them.
const SUMS: &[&str] = &["could not compile", "aborting due to", "for more information about"];

/// How the results of declined calls begin (versions 1.0 to 2.1).
const DECLINED: &[&str] = &[
    "The user doesn't want to proceed with this tool use",
    "The user doesn't want to take this action right now",
    "The agent proposed a plan that was rejected by the user",
    "User chose to stay in plan mode",
    "User rejected",
    "The user rejected",
    "Permission for this tool use was denied",
    "Permission to use ",
    "Claude requested permissions to ",
];
/// What a host of version 2.1.332 adds where the call ran already: it was no refusal.
const STOPPED: &str = "this call was stopped while running";
/// Behind these stands what the person wrote.
const SAID: &[&str] = &["the user said:\n", "The user said:\n"];
/// When a person puts questions back the host writes this in their place, and their answers into a
/// list.
const PUT_BACK: &[&str] = &[
    "The user wants to clarify these questions",
    "The user has indicated they have provided enough answers",
];
/// Before each answer of that list.
const ANSWER: &str = "Answer: ";
/// What the host adds behind the person's words.
const HINT: &str = "\n\nNote: The user's next message may contain a correction";

impl<'a> ToolResult<'a> {
    /// What the host's own record has at `key`.
    fn detail(&self, key: &str) -> Option<Raw<'a>> {
        self.detail.as_ref()?.members.get(key)
    }

    /// What the result says of a call of this kind.
    pub fn outcome(&self, kind: ToolKind) -> Outcome {
        let mut outcome = Outcome { status: Status::Completed, ..Outcome::default() };
        if self.failed || self.denial.is_some() {
            failed(self, kind, &mut outcome);
        } else {
            completed(self, kind, &mut outcome);
        }
        outcome
    }
}

fn failed(result: &ToolResult<'_>, kind: ToolKind, outcome: &mut Outcome) {
    let text =
        short_failure(result, kind).unwrap_or_else(|| whole_text(result, &mut outcome.hidden));
    outcome.status = failure(result, &text);
    match outcome.status {
        Status::Declined => {
            outcome.line = refusal(result, &text, outcome);
            outcome.said = words_of_the_person(result, &text, outcome);
        }
        Status::Failed if kind == ToolKind::Command => {
            outcome.exit = exit_code(&text);
            let output = if outcome.exit.is_some() { after_first_line(&text) } else { &text };
            outcome.line = plain_line(telling_line(output), LINE);
        }
        // Old hosts put a person's objection here, unmarked: as much of it as fits.
        Status::Failed => outcome.line = plain_line(untagged(&text), LINE),
        _ => {}
    }
}

/// The start of a failed result, where it tells all that is kept of the whole.
fn short_failure(result: &ToolResult<'_>, kind: ToolKind) -> Option<String> {
    if kind == ToolKind::Command || result.denial.is_some() {
        return None;
    }
    let text = near(result.content)?;
    // No character that is cut in two, no closing tag that may be.
    let text = text.trim_end_matches(char::REPLACEMENT_CHARACTER);
    let said = untagged(text);
    let line = plain_line(said, LINE);
    let is_full = line.ends_with('…') && line.chars().count() == LINE && !said.contains('<');
    (is_full && !is_declined(text)).then(|| text.to_owned())
}

fn failure(result: &ToolResult<'_>, text: &str) -> Status {
    let denial = result.denial.map(Quoted::decode);
    if denial.as_deref() == Some("interrupted")
        || text.starts_with("[Tool call interrupted")
        || text.starts_with("[Request interrupted by user")
        || was_stopped(text)
    {
        return Status::Interrupted;
    }
    if denial.is_some() || is_declined(text) {
        return Status::Declined;
    }
    Status::Failed
}

/// The host says so itself; what the person wrote does not count.
fn was_stopped(text: &str) -> bool {
    let hosts = || SAID.iter().find_map(|mark| text.split_once(mark)).map_or(text, |split| split.0);
    is_declined(text) && hosts().contains(STOPPED)
}

fn is_declined(text: &str) -> bool {
    DECLINED.iter().any(|opening| text.starts_with(opening))
}

/// Who or what did not allow a call, where it was not the person.
fn refusal(result: &ToolResult<'_>, text: &str, outcome: &mut Outcome) -> String {
    let kind = result.denial.map(Quoted::decode).unwrap_or_default();
    let kind = privacy::clean(&kind, &mut outcome.hidden);
    if kind == "permission-rule" || text.starts_with("Permission to use ") {
        "by a permission rule".to_owned()
    } else if text.starts_with("Claude requested permissions to ") {
        "for want of a permission".to_owned()
    } else if kind.is_empty() || kind.starts_with("user") {
        String::new()
    } else {
        plain_line(&format!("({kind})"), LINE)
    }
}

/// What the person wrote when they declined. The sentence before it is the host's.
fn words_of_the_person(result: &ToolResult<'_>, text: &str, outcome: &mut Outcome) -> Vec<String> {
    let said = match result.feedback {
        Some(feedback) => feedback.decode(),
        None if is_declined(text) => {
            let Some((_, said)) = SAID.iter().find_map(|mark| text.split_once(mark)) else {
                return Vec::new();
            };
            Cow::Borrowed(said)
        }
        None => return Vec::new(),
    };
    // Whole, before it is taken apart.
    let said = privacy::clean(&said, &mut outcome.hidden);
    let said = said.rsplit_once(HINT).map_or(&*said, |(said, _)| said);
    if PUT_BACK.iter().any(|opening| said.starts_with(opening)) {
        listed_answers(said)
    } else {
        vec![said.to_owned()]
    }
}

/// The answers in a host's list of questions and answers, each with its further lines.
fn listed_answers(list: &str) -> Vec<String> {
    let mut answers: Vec<String> = Vec::new();
    let mut open = false;
    for line in list.lines() {
        if let Some(answer) = line.trim_start().strip_prefix(ANSWER) {
            answers.push(answer.to_owned());
            open = true;
        } else if line.starts_with("- \"") || line.trim_start().starts_with("(No answer") {
            open = false;
        } else if let Some(answer) = answers.last_mut().filter(|_| open) {
            answer.push('\n');
            answer.push_str(line);
        }
    }
    answers
}

fn completed(result: &ToolResult<'_>, kind: ToolKind, outcome: &mut Outcome) {
    match kind {
        ToolKind::Command => command(result, outcome),
        ToolKind::Edit | ToolKind::Write => {
            patch(result, outcome);
        }
        ToolKind::Search => outcome.found = found(result, outcome),
        ToolKind::Tasks => outcome.task = task(result),
        ToolKind::Question => outcome.said = answers(result, outcome),
        ToolKind::Plan => {
            outcome.line = "approved".to_owned();
            let detail = |key| result.detail(key);
            outcome.plan =
                detail("plan").and_then(Raw::quoted).map(|plan| plan.decode().into_owned());
            outcome.plan_edited = detail("planWasEdited").is_some_and(Raw::is_true);
        }
        ToolKind::Agent => outcome.line = report(result, outcome),
        ToolKind::Fetch | ToolKind::Other => {
            outcome.line = near_clause(result.content).unwrap_or_else(|| {
                let text = head(result.content, &mut outcome.hidden);
                first_clause(behind_heading(untagged(&text)), LINE)
            });
        }
        ToolKind::Read => {}
    }
}

fn command(result: &ToolResult<'_>, outcome: &mut Outcome) {
    let detail = |key| result.detail(key);
    if detail("interrupted").is_some_and(Raw::is_true) {
        outcome.status = Status::Interrupted;
        return;
    }
    if detail("backgroundTaskId").is_some_and(|raw| raw.quoted().is_some()) {
        outcome.line = "in the background".to_owned();
        return;
    }
    outcome.exit = Some(0);
    let mut line = last_line(result.content, &mut outcome.hidden);
    if line.is_empty() {
        line = last_line(detail("stdout"), &mut outcome.hidden);
    }
    outcome.line = plain_line(&line, LINE);
}

/// Lines added and removed, from the host's own patch.
fn patch(result: &ToolResult<'_>, outcome: &mut Outcome) {
    outcome.created = result.detail("type").is_some_and(|kind| kind.0 == br#""create""#);
    let hunks = result.detail("structuredPatch").map(Raw::elements).unwrap_or_default();
    if hunks.is_empty() {
        return;
    }
    let mut lines = Lines::default();
    for hunk in hunks {
        for line in hunk.member("lines").map(Raw::elements).unwrap_or_default() {
            match line.0 {
                [b'"', b'+', ..] => lines.added += 1,
                [b'"', b'-', ..] => lines.removed += 1,
                _ => {}
            }
        }
    }
    outcome.lines = Some(lines);
}

fn found(result: &ToolResult<'_>, outcome: &mut Outcome) -> Option<(u64, Counted)> {
    let number = |key| result.detail(key).and_then(Raw::number);
    if let Some(lines) = number("numLines").filter(|lines| *lines > 0) {
        return Some((lines, Counted::Lines));
    }
    if let Some(files) = number("numFiles") {
        return Some((files, Counted::Files));
    }
    if tells_no_number(result.content) {
        return None;
    }
    files(&head(result.content, &mut outcome.hidden))
}

/// How many files a search says that it found.
fn files(text: &str) -> Option<(u64, Counted)> {
    let text = text.trim();
    if text.is_empty() || text.starts_with("No files found") || text.starts_with("No matches found")
    {
        return Some((0, Counted::Files));
    }
    let counted = text.strip_prefix("Found ").and_then(|rest| rest.split(' ').next()?.parse().ok());
    counted.map(|files| (files, Counted::Files))
}

/// Whether a search's text begins with something that it found.
fn tells_no_number(content: Option<Raw<'_>>) -> bool {
    near(content).is_some_and(|start| {
        let is_other = |first: char| first.is_ascii() && !matches!(first, 'N' | 'F');
        start.trim_start().starts_with(is_other)
    })
}

/// `Task #3 created successfully: …`
fn task(result: &ToolResult<'_>) -> Option<String> {
    let id = result.detail("task").and_then(|task| task.text("id"));
    if let Some(id) = id {
        return Some(id.into_owned());
    }
    let text = decoded(result.content, HEAD);
    let (_, rest) = text.split_once("Task #")?;
    let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
    (!digits.is_empty()).then_some(digits)
}

/// The person's answers, in the order of the questions.
fn answers(result: &ToolResult<'_>, outcome: &mut Outcome) -> Vec<String> {
    let mut said = Vec::new();
    if let Some(answers) = result.detail("answers") {
        let walked = answers.cursor().members(|_, cursor| {
            let answer = cursor.raw()?;
            let parts = if answer.quoted().is_some() { vec![answer] } else { answer.elements() };
            said.extend(
                parts.into_iter().filter_map(Raw::quoted).map(|part| part.decode().into_owned()),
            );
            Ok(())
        });
        if walked.is_ok() && !said.is_empty() {
            said.extend(notes(result));
            return said;
        }
    }
    let text = whole_text(result, &mut outcome.hidden);
    quoted_answers(&text).map(|inner| vec![inner.to_owned()]).unwrap_or_default()
}

/// `"question"="answer", …` inside the host's sentence, whatever its words.
fn quoted_answers(text: &str) -> Option<&str> {
    let inner = &text[text.find('"').filter(|_| text.contains("\"=\""))?..];
    Some(inner.rsplit_once(". You can now continue").map_or(inner, |(inner, _)| inner).trim_end())
}

/// What the person wrote beside the chosen answers.
fn notes(result: &ToolResult<'_>) -> Vec<String> {
    let Some(annotations) = result.detail("annotations") else {
        return Vec::new();
    };
    let mut notes = Vec::new();
    let walked = annotations.cursor().members(|_, cursor| {
        notes.extend(cursor.raw()?.text("notes").map(Cow::into_owned));
        Ok(())
    });
    if walked.is_ok() { notes } else { Vec::new() }
}

/// The first clause of a subagent's report, behind what the host puts before it.
fn report(result: &ToolResult<'_>, outcome: &mut Outcome) -> String {
    for content in [result.detail("content"), result.content].into_iter().flatten() {
        // Whole: a private part may begin in one block and end in another.
        let text = texts(content).join("\n");
        let text = privacy::clean(&text, &mut outcome.hidden);
        let of_the_host =
            |line: &&str| envelopes(line).is_some() || line.trim_start().starts_with("[Subagent");
        let own: Vec<&str> = text.lines().filter(|line| !of_the_host(line)).collect();
        let clause = first_clause(untagged(&own.join("\n")), LINE);
        if !clause.is_empty() {
            return clause;
        }
    }
    String::new()
}

/// The first clause of a text, where it stands in a whole line near the start and nothing that a
/// host puts before it does.
fn near_clause(content: Option<Raw<'_>>) -> Option<String> {
    let start = near(content)?;
    let (lines, _) = start.rsplit_once('\n')?;
    let is_marked = lines.trim_start().starts_with(['<', 'W']);
    if is_marked { None } else { told_clause(lines, LINE) }
}

/// Without the heading and the list of links that a web search begins with.
fn behind_heading(text: &str) -> &str {
    let Some(rest) = text.strip_prefix("Web search results for query:") else { return text };
    let mut rest = after_first_line(rest).trim_start();
    while rest.starts_with("Links:") {
        rest = after_first_line(rest).trim_start();
    }
    if rest.is_empty() { text } else { rest }
}

/// The exit status that stands in the first line of a failed command's result.
fn exit_code(text: &str) -> Option<i32> {
    let first = text.lines().next()?.trim();
    let digits =
        first.strip_prefix("Exit code ").or_else(|| first.strip_prefix("Error: Exit code "));
    digits?.trim().parse().ok()
}

fn after_first_line(text: &str) -> &str {
    text.split_once('\n').map_or("", |(_, rest)| rest)
}

/// The line of a failed command's output that says why: the last with a telling word that is more
/// than a sum of errors above it, else the last.
fn telling_line(text: &str) -> &str {
    let lines = || text.lines().rev().filter(|line| !line.trim().is_empty());
    let has = |line: &str, words: &[&str]| {
        let line = line.to_ascii_lowercase();
        words.iter().any(|word| line.contains(word))
    };
    lines()
        .find(|line| has(line, TELLING) && !has(line, SUMS))
        .or_else(|| lines().find(|line| has(line, TELLING)))
        .or_else(|| lines().next())
        .unwrap_or_default()
}

/// Without the host's mark around a tool's own error.
fn untagged(text: &str) -> &str {
    let text = text.trim();
    text.strip_prefix("<tool_use_error>")
        .map_or(text, |rest| rest.trim_end_matches("</tool_use_error>"))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn outcome(text: &str, kind: ToolKind, failed: bool) -> Outcome {
        let content = serde_json::Value::from(text).to_string();
        let content = Some(Raw(content.as_bytes()));
        let id = Cow::Borrowed("");
        ToolResult { id, failed, denial: None, feedback: None, content, detail: None }.outcome(kind)
    }

    fn soup() -> impl Strategy<Value = String> {
        let piece = prop::sample::select(vec![
            "a",
            "word ",
            "字",
            "\u{3000}",
            "\u{200b}",
            "…",
            "\n",
            "\r",
            " ",
            "\\",
            "\"",
            "```",
            "1. ",
            "- ",
            ". ",
            "Found 3 files",
            "No files found",
            "Web search results for query:",
            "Links:",
            "<tool_use_error>",
            "</tool_use_error>",
            "The user rejected",
            "[Request interrupted by user",
        ]);
        let run = (piece, prop_oneof![3 => 1_usize..4, 1 => 100_usize..260]);
        prop::collection::vec(run.prop_map(|(piece, times)| piece.repeat(times)), 0..9)
            .prop_map(|runs| runs.concat())
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2_000))]

        #[test]
        fn the_start_of_a_result_tells_what_the_whole_does(text in soup()) {
            let text: String = text.chars().take(1_000).collect();
            let failed = outcome(&text, ToolKind::Edit, true);
            if failed.status == Status::Failed {
                prop_assert_eq!(failed.line, plain_line(untagged(&text), LINE));
            }
            let other = outcome(&text, ToolKind::Other, false).line;
            prop_assert_eq!(other, first_clause(behind_heading(untagged(&text)), LINE));
            prop_assert_eq!(outcome(&text, ToolKind::Search, false).found, files(&text));
        }
    }
}
