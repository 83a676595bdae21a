//! Puts our hooks into the text of settings, and takes them out again.
//!
//! Pure. Invariant: outside of our own entries every byte stays: comments, the order of keys,
//! blanks. Installing twice is installing once; taking out what was put in gives the text from
//! before, but for blanks in what was empty. Refuses: settings in which it can't tell what the host
//! would see, naming the line.

mod place;
mod write;

use super::{
    events::{Hook, is_ours},
    jsonc::{Kind, Node, Wrong, line_of, parse, start},
};
use place::{Change, Container, has_comments, insertion, removal};
use write::{Style, handler, list_of_group};

/// The key of all hooks, and of the handlers in a group.
const HOOKS: &str = "hooks";

/// Settings with exactly these hooks of ours, each once.
pub(super) fn install(text: &str, hooks: &[Hook]) -> Result<String, Wrong> {
    let mut text = match text[start(text)..].trim() {
        "" if !hooks.is_empty() => format!("{}{{}}\n", &text[..start(text)]),
        _ => text.to_owned(),
    };
    loop {
        let root = checked(&text, hooks)?;
        match missing(&text, &root, hooks) {
            Some(change) => text = change.applied(&text),
            None => return Ok(text),
        }
    }
}

/// Settings without any hook of ours.
pub(super) fn uninstall(text: &str) -> Result<String, Wrong> {
    if text[start(text)..].trim().is_empty() { Ok(text.to_owned()) } else { install(text, &[]) }
}

/// What becomes of a file of settings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Wish {
    /// It is as it should be.
    Same,
    /// It is to hold this.
    Text(String),
    /// It is to be what it was before installing, which may be nothing.
    Back(Option<String>),
}

/// What is to become of settings whose hooks of ours shall go. Where installing into the `backup`
/// gives what is there now, the backup is what was there before.
pub(super) fn without(text: &str, backup: Option<&str>) -> Result<Wish, Wrong> {
    let ours = found(text)?;
    if ours.is_empty() {
        return Ok(Wish::Same);
    }
    match backup.filter(|backup| explains(backup, text)) {
        Some(backup) => Ok(Wish::Back(Some(backup.to_owned()))),
        None if explains("", text) => Ok(Wish::Back(None)),
        None => Ok(Wish::Text(uninstall(text)?)),
    }
}

/// Whether a text is what installing made of another, in which there was no hook of ours: then it
/// holds nothing else that is worth keeping.
pub(super) fn explains(before: &str, text: &str) -> bool {
    let ours = found(text).unwrap_or_default();
    let is_clean = found(before).is_ok_and(|hooks| hooks.is_empty());
    is_clean && install(before, &ours).is_ok_and(|made| made == text)
}

/// Our hooks in some settings, in order.
pub(super) fn found(text: &str) -> Result<Vec<Hook>, Wrong> {
    if text[start(text)..].trim().is_empty() {
        return Ok(Vec::new());
    }
    let root = checked(text, &[])?;
    let spot = |spot: Spot<'_>| {
        let timeout = spot.handler.get("timeout").map(|timeout| timeout.value(text));
        Hook {
            event: spot.event.to_owned(),
            command: spot.handler.get("command").and_then(Node::text).unwrap_or_default().into(),
            timeout: timeout.and_then(|it| it.as_u64()?.try_into().ok()).unwrap_or_default(),
        }
    };
    Ok(spots(&root).into_iter().map(spot).collect())
}

/// Where a handler of ours stands.
struct Spot<'a> {
    event: &'a str,
    group: &'a Node,
    handler: &'a Node,
}

impl Spot<'_> {
    /// Nothing narrows down when it is called.
    fn is_plain(&self) -> bool {
        self.group.get("matcher").is_none_or(|matcher| matches!(matcher.text(), Some("" | "*")))
    }
}

fn spots(root: &Node) -> Vec<Spot<'_>> {
    let mut spots = Vec::new();
    for member in root.get(HOOKS).map(Node::members).unwrap_or_default() {
        for group in member.value.items() {
            let handlers = group.get(HOOKS).map(Node::items).unwrap_or_default();
            let ours = handlers
                .iter()
                .filter(|handler| handler.get("command").and_then(Node::text).is_some_and(is_ours));
            spots.extend(ours.map(|handler| Spot { event: &member.key, group, handler }));
        }
    }
    spots
}

/// The next thing to be changed.
fn missing(text: &str, root: &Node, hooks: &[Hook]) -> Option<Change> {
    let spots = spots(root);
    let kept = |hook: &Hook| spots.iter().position(|it| it.event == hook.event && it.is_plain());
    for (index, spot) in spots.iter().enumerate() {
        match hooks.iter().find(|hook| hook.event == spot.event && kept(hook) == Some(index)) {
            None => return Some(remove(text, root, spot)),
            Some(hook) if spot.handler.value(text) != hook.handler() => {
                return Some(replace(text, root, spot, hook));
            }
            Some(_) => {}
        }
    }
    hooks.iter().find(|hook| kept(hook).is_none()).map(|hook| add(text, root, hook))
}

/// Adds a hook behind all that is there.
fn add(text: &str, root: &Node, hook: &Hook) -> Change {
    let style = Style::of(text, root);
    let root = Container::new(text, root, true);
    let Some(all) = root.node.get(HOOKS) else {
        return insertion(text, &root, &style, &write::all_hooks(hook));
    };
    let all = Container::new(text, all, root.is_tall);
    match all.node.get(&hook.event) {
        None => insertion(text, &all, &style, &write::event(hook)),
        Some(groups) => {
            let groups = Container::new(text, groups, all.is_tall);
            insertion(text, &groups, &style, &list_of_group(hook))
        }
    }
}

/// Brings a hook up to date; where only its command differs, nothing else is touched.
fn replace(text: &str, root: &Node, spot: &Spot<'_>, hook: &Hook) -> Change {
    let mut value = spot.handler.value(text);
    if let Some(command) = value.get_mut("command") {
        *command = hook.command.as_str().into();
    }
    match spot.handler.get("command") {
        Some(command) if value == hook.handler() => {
            Change::replace(command.span.clone(), write::string(&hook.command))
        }
        _ => {
            let span = spot.handler.span.clone();
            let style = Style::of(text, root);
            let is_tall = text[span.clone()].contains('\n');
            let indent = is_tall.then(|| write::indent_at(text, span.start));
            Change::replace(span, handler(hook).to_text(&style, indent))
        }
    }
}

/// Takes out a hook, and around it what it leaves empty; no comment goes with it.
fn remove(text: &str, root: &Node, spot: &Spot<'_>) -> Change {
    let mut target = (spot.group.get(HOOKS).unwrap_or(spot.group), spot.handler.span.clone());
    let all = root.get(HOOKS).unwrap_or(root);
    let member = all.members().iter().find(|member| member.value.span.end >= spot.group.span.end);
    let around = member.map(|member| (&member.value, member.span.clone()));
    let whole = root.members().iter().rev().find(|member| member.key == HOOKS);
    let outer = [
        around.as_ref().map(|(groups, _)| (*groups, spot.group.span.clone())),
        around.as_ref().map(|(_, span)| (all, span.clone())),
        whole.map(|member| (root, member.span.clone())),
    ];
    for (container, span) in outer.into_iter().flatten() {
        let is_sole = Container::new(text, target.0, true).spans().len() == 1;
        if !is_sole || has_comments(text, &span, &target.1) {
            break;
        }
        target = (container, span);
    }
    removal(text, &Container::new(text, target.0, true), &target.1)
}

/// Settings that can be understood, and have nothing where our hooks go that is no place for them.
fn checked(text: &str, hooks: &[Hook]) -> Result<Node, Wrong> {
    let root = parse(text)?;
    let wrong = |node: &Node, message| Err(Wrong { line: line_of(text, node.span.start), message });
    if !matches!(root.kind, Kind::Object(_)) {
        return wrong(&root, format!("{} stands where settings should be", root.name()));
    }
    once(text, &root, HOOKS)?;
    let Some(all) = root.get(HOOKS) else { return Ok(root) };
    if !hooks.is_empty() && !matches!(all.kind, Kind::Object(_)) {
        return wrong(all, format!("`hooks` must be an object and is {}", all.name()));
    }
    for member in all.members() {
        let is_wanted = hooks.iter().any(|hook| hook.event == member.key);
        if is_wanted && !matches!(member.value.kind, Kind::List(_)) {
            let message = format!("`{}` must be a list and is {}", member.key, member.value.name());
            return wrong(&member.value, message);
        }
        once(text, all, &member.key)?;
        for group in member.value.items() {
            once(text, group, HOOKS)?;
            for handler in group.get(HOOKS).map(Node::items).unwrap_or_default() {
                once(text, handler, "command")?;
            }
        }
    }
    Ok(root)
}

/// Of two members with one key nobody can tell which is meant.
fn once(text: &str, object: &Node, key: &str) -> Result<(), Wrong> {
    let mut same = object.members().iter().filter(|member| member.key == key).skip(1);
    let Some(second) = same.next() else { return Ok(()) };
    let line = line_of(text, second.span.start);
    Err(Wrong { line, message: format!("`{key}` is there twice; remove one of them") })
}

#[cfg(test)]
mod tests;
