//! What `expand` prints: tool calls whole, and rewound stretches.

use serde::{Serialize, Serializer};

use crate::{
    cli::output::Page,
    session::layout::{Layout, Message},
    sources::{
        bodies::{Bodies, Body},
        claude_mem::Whole,
        load::Loaded,
        value::Value,
    },
    text::{
        line::plain_line,
        time::{Moment, Zone},
    },
    transcript::{
        Speaker,
        tool::{Status, ToolKind},
    },
};

/// Columns of an observation that the first line shows.
const HEAD: [&str; 3] = ["id", "type", "title"];
/// Columns of it that hold texts.
const BLOCKS: [&str; 3] = ["subtitle", "narrative", "text"];
/// Characters of a line of it.
const TITLE: usize = 1_000;

/// One thing that is shown.
#[derive(Debug, Serialize)]
#[serde(untagged)]
pub(super) enum Part<'a> {
    /// A tool call.
    Call(Call<'a>),
    /// A rewound stretch.
    Stretch(Stretch<'a>),
    /// An observation of claude-mem.
    Row(Row<'a>),
}

/// A tool call.
#[derive(Debug, Serialize)]
pub(super) struct Call<'a> {
    id: String,
    tool: &'a str,
    call_id: &'a str,
    status: &'static str,
    input: &'a Value,
    output: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<&'a str>,
    #[serde(skip)]
    kind: ToolKind,
    #[serde(skip)]
    called: Option<Moment>,
}

/// A rewound stretch.
#[derive(Debug, Serialize)]
pub(super) struct Stretch<'a> {
    id: String,
    messages: Vec<Said<'a>>,
    calls: Vec<Call<'a>>,
}

/// An observation of claude-mem.
#[derive(Debug)]
pub(super) struct Row<'a>(&'a Whole);

impl Serialize for Row<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.columns.iter().map(|(name, value)| (name, value)))
    }
}

/// A message of a rewound stretch.
#[derive(Debug, Serialize)]
struct Said<'a> {
    speaker: &'static str,
    label: &'a str,
    text: &'a str,
    #[serde(skip)]
    time: Option<Moment>,
}

/// The calls with these indexes.
pub(super) fn calls<'a>(
    loaded: &'a Loaded,
    bodies: &'a Bodies,
    indexes: impl IntoIterator<Item = u32>,
) -> Vec<Part<'a>> {
    let calls = indexes.into_iter().filter_map(|index| call(loaded, bodies, index));
    calls.map(Part::Call).collect()
}

/// The rewound stretch with this index.
pub(super) fn stretch<'a>(
    loaded: &'a Loaded,
    layout: &'a Layout<'_>,
    bodies: &'a Bodies,
    index: usize,
) -> Part<'a> {
    let stretch = &layout.rewound[index];
    let calls = stretch.calls.iter().filter_map(|index| call(loaded, bodies, *index)).collect();
    let messages = stretch.messages.iter().map(said).collect();
    Part::Stretch(Stretch { id: format!("r{}", index + 1), messages, calls })
}

/// An observation.
pub(super) fn row(whole: &Whole) -> Part<'_> {
    Part::Row(Row(whole))
}

fn call<'a>(loaded: &'a Loaded, bodies: &'a Bodies, index: u32) -> Option<Call<'a>> {
    let call = loaded.session.ledger().calls().get(index as usize)?;
    let Body { input, output } = bodies.get(index)?;
    Some(Call {
        id: format!("t{}", index + 1),
        tool: loaded.session.text(call.name),
        call_id: loaded.session.text(call.id),
        status: status(call.status),
        input,
        output: output.as_ref().map(|output| output.text.as_str()),
        note: output.as_ref().and_then(|output| output.note.as_deref()),
        kind: call.kind,
        called: call.called,
    })
}

fn said<'a>(message: &'a Message<'_>) -> Said<'a> {
    Said {
        speaker: match message.speaker {
            Speaker::User => "user",
            Speaker::Assistant => "assistant",
        },
        label: &message.label,
        text: &message.text,
        time: message.time,
    }
}

fn status(status: Status) -> &'static str {
    match status {
        Status::Running => "running",
        Status::Completed => "completed",
        Status::Failed => "failed",
        Status::Declined => "declined",
        Status::Interrupted => "interrupted",
    }
}

impl Part<'_> {
    /// Writes it for a person, or an agent, to read.
    pub(super) fn write(&self, page: &mut Page, zone: &Zone) {
        match self {
            Self::Call(call) => call.write(page, zone),
            Self::Stretch(stretch) => stretch.write(page, zone),
            Self::Row(row) => row.write(page),
        }
    }
}

impl Row<'_> {
    /// What it is in the first line, its texts and lists as blocks, the rest a line each.
    fn write(&self, page: &mut Page) {
        let value = |wanted: &str| {
            let found = self.0.columns.iter().find(|(name, _)| name == wanted);
            found.map(|(_, value)| words(value)).unwrap_or_default()
        };
        let title = plain_line(&value("title"), TITLE);
        page.strong(&format!("#{} · {} · {title}\n", value("id"), value("type")));
        for (name, value) in &self.0.columns {
            match value {
                Value::Text(text) if BLOCKS.contains(&name.as_str()) => block(page, name, text),
                Value::List(list) if list.is_empty() => {}
                Value::List(list) => {
                    let lines: Vec<_> =
                        list.iter().map(|value| format!("- {}", words(value))).collect();
                    block(page, name, &lines.join("\n"));
                }
                _ if HEAD.contains(&name.as_str()) => {}
                _ => page.plain(&format!("{name}: {}\n", plain_line(&words(value), TITLE))),
            }
        }
        if self.0.sensitive {
            page.plain("(sensitive: only its title is shown; claude-mem has the rest)\n");
        }
        page.plain("\n");
    }
}

/// A value as somebody would write it.
fn words(value: &Value) -> String {
    match value {
        Value::Text(text) | Value::Number(text) => text.clone(),
        other => other.pretty(),
    }
}

impl Call<'_> {
    fn write(&self, page: &mut Page, zone: &Zone) {
        page.strong(&format!("{} · {} · {}", self.id, self.tool, self.status));
        page.faint(&format!(" · {}{}\n", self.call_id, time(self.called, zone)));
        self.write_input(page);
        match (self.output, self.status) {
            (Some(text), _) => block(page, "output", text),
            (None, "running") => page.plain("no output yet: it still runs\n"),
            (None, _) => page.plain("no output\n"),
        }
        if let Some(note) = self.note {
            page.plain(&format!("({note})\n"));
        }
        page.plain("\n");
    }

    /// A command as it was typed; everything else as JSON.
    fn write_input(&self, page: &mut Page) {
        let command = self.input.text("command").filter(|_| self.kind == ToolKind::Command);
        let Some(command) = command else {
            return block(page, "input", &self.input.pretty());
        };
        block(page, "input", command);
        let rest = self.input.without("command");
        if !rest.is_empty() {
            block(page, "with", &rest.pretty());
        }
    }
}

impl Stretch<'_> {
    fn write(&self, page: &mut Page, zone: &Zone) {
        let messages = counted(self.messages.len(), "message");
        let calls = counted(self.calls.len(), "tool call");
        page.strong(&format!("{} · rewound: {messages}, {calls}\n", self.id));
        for said in &self.messages {
            let label = if said.label.is_empty() { "" } else { ", " };
            let time = time(said.time, zone);
            let heading = format!("{}{label}{}{time}", said.speaker, said.label);
            block(page, &heading, said.text);
        }
        page.plain("\n");
        for call in &self.calls {
            call.write(page, zone);
        }
    }
}

fn time(time: Option<Moment>, zone: &Zone) -> String {
    time.map(|time| format!(" · {}", zone.stamp_seconds(time))).unwrap_or_default()
}

/// A text with a heading that says how many lines it has: nothing in it can pose as the next one.
fn block(page: &mut Page, name: &str, text: &str) {
    let lines = counted(text.split_terminator('\n').count(), "line");
    page.faint(&format!("{name} ({lines}):\n"));
    page.plain(text);
    if !text.ends_with('\n') && !text.is_empty() {
        page.plain("\n");
    }
}

fn counted(count: usize, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}
