//! New parts of settings as text, indented as the rest of the file is.
//!
//! Pure. Invariant: what is written is JSON in any style.

use super::{
    super::{
        events::Hook,
        jsonc::{Member, Node},
    },
    HOOKS,
};

/// How the file is written.
pub(super) struct Style {
    /// What one step of indentation is.
    pub(super) unit: String,
    pub(super) newline: &'static str,
}

impl Style {
    pub(super) fn of(text: &str, root: &Node) -> Self {
        let newline = match text.find('\n') {
            Some(at) if text[..at].ends_with('\r') => "\r\n",
            _ => "\n",
        };
        let first = root.members().first().map(|member: &Member| member.span.start);
        let own_line = first.filter(|first| text[root.span.start..*first].contains('\n'));
        let unit = own_line.map_or_else(|| "  ".to_owned(), |first| indent_at(text, first));
        Self { unit, newline }
    }
}

/// The blanks that the line of this byte begins with.
pub(super) fn indent_at(text: &str, at: usize) -> String {
    let line = &text[text[..at].rfind('\n').map_or(0, |newline| newline + 1)..at];
    line.chars().take_while(|char| matches!(char, ' ' | '\t')).collect()
}

/// Something to be written.
pub(super) enum New<'a> {
    Member(&'a str, Box<Self>),
    Object(Vec<Self>),
    List(Vec<Self>),
    Text(&'a str),
    Number(u32),
}

fn member<'a>(key: &'a str, value: New<'a>) -> New<'a> {
    New::Member(key, Box::new(value))
}

/// The innermost object of a hook.
pub(super) fn handler(hook: &Hook) -> New<'_> {
    New::Object(vec![
        member("type", New::Text("command")),
        member("command", New::Text(&hook.command)),
        member("timeout", New::Number(hook.timeout)),
    ])
}

/// A group with one handler.
pub(super) fn list_of_group(hook: &Hook) -> New<'_> {
    New::Object(vec![member(HOOKS, New::List(vec![handler(hook)]))])
}

/// An event with one group.
pub(super) fn event(hook: &Hook) -> New<'_> {
    member(&hook.event, New::List(vec![list_of_group(hook)]))
}

/// The member of the settings, with one event.
pub(super) fn all_hooks(hook: &Hook) -> New<'_> {
    member(HOOKS, New::Object(vec![event(hook)]))
}

/// A string of JSON.
pub(super) fn string(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

impl New<'_> {
    /// As text; without an indentation on one line.
    pub(super) fn to_text(&self, style: &Style, indent: Option<String>) -> String {
        match self {
            Self::Text(text) => string(text),
            Self::Number(number) => number.to_string(),
            Self::Member(key, value) => {
                format!("{}: {}", string(key), value.to_text(style, indent))
            }
            Self::Object(items) => framed("{}", items, style, indent),
            Self::List(items) => framed("[]", items, style, indent),
        }
    }
}

fn framed(brackets: &str, items: &[New<'_>], style: &Style, indent: Option<String>) -> String {
    let (open, close) = brackets.split_at(1);
    let inner = indent.as_ref().map(|indent| format!("{indent}{}", style.unit));
    let items: Vec<_> = items.iter().map(|item| item.to_text(style, inner.clone())).collect();
    match (indent, inner) {
        (Some(indent), Some(inner)) => {
            let before = format!("{}{inner}", style.newline);
            let items = items.join(&format!(",{before}"));
            format!("{open}{before}{items}{}{indent}{close}", style.newline)
        }
        _ => format!("{open}{}{close}", items.join(", ")),
    }
}
