//! What a tool call of Claude Code is about: its input, read once, kept as a line.
//!
//! Every text passes the privacy function whole, before it is cut. Bodies (file contents, prompts
//! for subagents) are only counted.
use std::borrow::Cow;

use memchr::memmem;

use crate::{
    text::{line::plain_line, privacy},
    transcript::{
        json::{Members, Quoted, Raw},
        tool::{Lines, TaskCall, TaskState, Tool},
    },
};

/// Characters of a command that a bottle shows (bottle format 1).
const COMMAND: usize = 120;
/// Characters kept of a path.
const PATH: usize = 1_000;
/// Characters kept of any other argument.
const ARGUMENT: usize = 80;
/// Characters kept of the arguments of an unknown tool.
const ARGUMENTS: usize = 160;
/// Arguments of an unknown tool that are looked at.
const MAX_ARGUMENTS: usize = 8;

/// What the call of the tool `name` is about. `hidden` counts texts with private parts.
pub(super) fn tool<'a>(name: &str, input: &Members<'a>, hidden: &mut u32) -> Tool<'a> {
    let mut read = Reader { input, hidden };
    match name {
        "Bash" | "PowerShell" => Tool::Command(read.line("command", COMMAND)),
        "Read" => Tool::Read(read.path(), read.range()),
        "Edit" => Tool::Edit(read.path(), edit(input)),
        "MultiEdit" => Tool::Edit(read.path(), edits(input)),
        "NotebookEdit" => Tool::Edit(read.path(), notebook(input)),
        "Write" => Tool::Write(read.path(), content_lines(input)),
        "Grep" | "Glob" => {
            let place = read.line("path", PATH);
            Tool::Search(read.line("pattern", ARGUMENT), (!place.is_empty()).then_some(place))
        }
        "Task" | "Agent" => Tool::Agent(read.line("description", ARGUMENT)),
        "WebFetch" => {
            let url = read.line("url", COMMAND);
            let bare = url.strip_prefix("https://").or_else(|| url.strip_prefix("http://"));
            Tool::Fetch(bare.unwrap_or(&url).to_owned())
        }
        "WebSearch" => Tool::Fetch(read.line("query", COMMAND)),
        "TodoWrite" => Tool::Tasks(todos(input)),
        "TaskCreate" => Tool::Tasks(TaskCall::Create(input.text("subject").unwrap_or_default())),
        "TaskUpdate" => Tool::Tasks(task_update(input)),
        "TaskList" | "TaskGet" | "TodoRead" => Tool::Tasks(TaskCall::Look),
        "ExitPlanMode" => Tool::Plan,
        "AskUserQuestion" => Tool::Question,
        _ => Tool::Other(read.arguments()),
    }
}

/// The name that people know: `mcp__server__tool` is `server.tool`.
pub(super) fn shown_name(name: Cow<'_, str>) -> Cow<'_, str> {
    match name.strip_prefix("mcp__").and_then(|rest| rest.split_once("__")) {
        Some((server, tool)) => Cow::Owned(format!("{server}.{tool}")),
        None => name,
    }
}

struct Reader<'a, 'i> {
    input: &'i Members<'a>,
    hidden: &'i mut u32,
}

impl Reader<'_, '_> {
    fn line(&mut self, key: &str, characters: usize) -> String {
        self.input.text(key).map_or_else(String::new, |text| self.clean(&text, characters))
    }

    fn clean(&mut self, text: &str, characters: usize) -> String {
        plain_line(&privacy::clean(text, self.hidden), characters)
    }

    fn path(&mut self) -> String {
        for key in ["file_path", "notebook_path", "path"] {
            let path = self.line(key, PATH);
            if !path.is_empty() {
                return path;
            }
        }
        String::new()
    }

    fn range(&self) -> Option<(u64, u64)> {
        let number = |key| self.input.get(key).and_then(Raw::number);
        let (offset, limit) = (number("offset"), number("limit"));
        if offset.is_none() && limit.is_none() {
            return None;
        }
        let first = offset.unwrap_or(1).max(1);
        Some((first, limit.map_or(0, |limit| first.saturating_add(limit).saturating_sub(1))))
    }

    /// `key=value, …`, values cut short; nested values by their shape only.
    fn arguments(&mut self) -> String {
        let mut parts = Vec::new();
        let members = self.input;
        for (key, value) in members.iter().take(MAX_ARGUMENTS) {
            let value = match value.0.first() {
                Some(b'{') => Cow::Borrowed("{…}"),
                Some(b'[') => Cow::Borrowed("[…]"),
                Some(b'"') => value.quoted().map(Quoted::decode).unwrap_or_default(),
                _ => String::from_utf8_lossy(value.0),
            };
            let key = self.clean(&String::from_utf8_lossy(key), ARGUMENT);
            parts.push(format!("{key}={}", self.clean(&value, ARGUMENT)));
        }
        plain_line(&parts.join(", "), ARGUMENTS)
    }
}

/// The questions put to the person, each with the options that were offered.
pub(super) fn questions<'a>(input: &Members<'a>) -> Vec<Cow<'a, str>> {
    let questions = input.get("questions").map(Raw::elements).unwrap_or_default();
    questions.into_iter().map(|question| Cow::Owned(with_options(question))).collect()
}

fn with_options(question: Raw<'_>) -> String {
    let mut text = question.text("question").unwrap_or_default().into_owned();
    for option in question.member("options").map(Raw::elements).unwrap_or_default() {
        let label = option.text("label").unwrap_or_default();
        text += &match option.text("description").filter(|text| !text.is_empty()) {
            Some(description) => format!("\n- {label}: {description}"),
            None => format!("\n- {label}"),
        };
    }
    text
}

fn edit(input: &Members<'_>) -> Lines {
    changed(body(input.get("old_string")), body(input.get("new_string")))
}

fn edits(input: &Members<'_>) -> Lines {
    let mut sum = Lines::default();
    for one in input.get("edits").map(Raw::elements).unwrap_or_default() {
        let lines = changed(body(one.member("old_string")), body(one.member("new_string")));
        sum.added = sum.added.saturating_add(lines.added);
        sum.removed = sum.removed.saturating_add(lines.removed);
    }
    sum
}

fn notebook(input: &Members<'_>) -> Lines {
    changed(b"", body(input.get("new_source")))
}

fn content_lines(input: &Members<'_>) -> u64 {
    lines(body(input.get("content"))).into()
}

/// The raw inside of a string: bodies are counted, never decoded.
fn body(value: Option<Raw<'_>>) -> &[u8] {
    value.and_then(Raw::quoted).map_or(b"", |quoted| quoted.0)
}

/// Lines that differ once the common first and last lines are taken off: what the host's patch would
/// show for one place. Used until the patch is there.
fn changed(old: &[u8], new: &[u8]) -> Lines {
    let head = old.iter().zip(new).take_while(|(a, b)| a == b).count();
    let head = if head == old.len() && head == new.len() {
        head
    } else {
        memmem::rfind(&old[..head], NEWLINE).map_or(0, |at| at + NEWLINE.len())
    };
    let (old, new) = (&old[head..], &new[head..]);
    let tail = old.iter().rev().zip(new.iter().rev()).take_while(|(a, b)| a == b).count();
    let tail = memmem::find(&old[old.len() - tail..], NEWLINE).map_or(0, |at| tail - at);
    Lines { added: lines(&new[..new.len() - tail]), removed: lines(&old[..old.len() - tail]) }
}

/// How a newline stands in a raw string. (Behind a backslash it is something else; then a count may
/// be off by one.)
const NEWLINE: &[u8] = b"\\n";

/// The lines of a raw string.
fn lines(raw: &[u8]) -> u32 {
    let ended = memmem::find_iter(raw, NEWLINE).count();
    let open = !raw.is_empty() && !raw.ends_with(NEWLINE);
    u32::try_from(ended + usize::from(open)).unwrap_or(u32::MAX)
}

fn todos<'a>(input: &Members<'a>) -> TaskCall<'a> {
    let items = input.get("todos").map(Raw::elements).unwrap_or_default();
    let item = |todo: Raw<'_>| {
        Some((
            Cow::Owned(todo.text("content")?.into_owned()),
            todo.text("status").and_then(|status| state(&status)).unwrap_or(TaskState::Open),
        ))
    };
    TaskCall::Replace(items.into_iter().filter_map(item).collect())
}

fn task_update<'a>(input: &Members<'a>) -> TaskCall<'a> {
    let id = input.get("taskId").map_or(Cow::Borrowed(""), |raw| match raw.quoted() {
        Some(text) => text.decode(),
        None => String::from_utf8_lossy(raw.0),
    });
    TaskCall::Update(id, input.text("subject"), input.text("status").and_then(|s| state(&s)))
}

fn state(status: &str) -> Option<TaskState> {
    match status {
        "pending" => Some(TaskState::Open),
        "in_progress" => Some(TaskState::Active),
        "completed" => Some(TaskState::Done),
        "deleted" | "cancelled" => Some(TaskState::Deleted),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn members(input: &str) -> Members<'_> {
        Raw(input.as_bytes()).cursor().raw_members().unwrap().1
    }

    fn check(name: &str, input: &str, expected: &Tool<'_>) {
        assert_eq!(&tool(name, &members(input), &mut 0), expected, "{name} {input}");
    }

    #[test]
    fn inputs_become_lines() {
        check("Bash", r#"{"command":"ls\n -l"}"#, &Tool::Command("ls -l".into()));
        check("Read", r#"{"file_path":"/a"}"#, &Tool::Read("/a".into(), None));
        check(
            "Read",
            r#"{"file_path":"/a","offset":40,"limit":81}"#,
            &Tool::Read("/a".into(), Some((40, 120))),
        );
        check(
            "Edit",
            r#"{"file_path":"/a","old_string":"x\ny\nz","new_string":"x\nq\nr\nz"}"#,
            &Tool::Edit("/a".into(), Lines { added: 2, removed: 1 }),
        );
        check("Write", r#"{"file_path":"/a","content":"1\n2\n"}"#, &Tool::Write("/a".into(), 2));
        check("mcp__s__t", r#"{"a":1,"b":"two","c":{}}"#, &Tool::Other("a=1, b=two, c={…}".into()));
        check("Bash", "{}", &Tool::Command(String::new()));
        check("Bash", "[]", &Tool::Command(String::new()));
    }

    #[test]
    fn private_parts_never_enter_a_brief() {
        let mut hidden = 0;
        let input = members(r#"{"command":"login <private>secret</private> now"}"#);
        let Tool::Command(line) = tool("Bash", &input, &mut hidden) else { panic!("a command") };
        assert!(!line.contains("secret") && line.contains("now"), "{line}");
        assert_eq!(hidden, 1);
    }
}
