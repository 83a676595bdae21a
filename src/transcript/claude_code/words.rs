//! Texts in the person's place: whose words are they?
//!
//! Wrappers count only as whole envelopes, so that a person who writes about `<bash-stdout>`
//! keeps their words. What is not known to be the host's is the person's: losing words is the
//! worse fault.
use std::borrow::Cow;

use super::commands::is_host_only;
use crate::{
    text::{
        envelope::{Envelope, envelopes},
        line::normalise,
        mark::behind_pointers,
        privacy,
    },
    transcript::{Entry, Label, Opens, Piece, json::Raw},
};

/// Why a text is not shown.
const HOSTS: &str = "user: the host's own words";

/// Why a pointer is not shown.
const OURS: &str = "user: a pointer of Endless";

/// Envelopes that hold the host's words or a tool's, never a person's.
const OF_THE_HOST: &[&str] = &[
    "local-command-caveat",
    "context_guidance",
    "ide_opened_file",
    "ide_selection",
    "system-reminder",
    "user-prompt-submit-hook",
];

/// Envelopes around a program's output, which may hold anything, their own closing tag included.
const OUTPUT: &[&str] = &[
    "local-command-stdout",
    "local-command-stderr",
    "bash-stdout",
    "bash-stderr",
    "tool-result",
    "task-notification",
];

/// Lines that hosts of version 2.1 write behind a task notification.
const NOTIFICATION_TAILS: &[&str] =
    &["Read the output file to retrieve the result:", "Full transcript available at:"];

/// Words found inside envelopes.
struct Own {
    text: String,
    label: Label<'static>,
    opens: Opens,
}

/// The label of a row: where its words come from when not from the person.
pub(super) fn origin(raw: Option<Raw<'_>>) -> Label<'_> {
    let Some(kind) = raw.and_then(|raw| raw.text("kind")) else { return Label::None };
    if matches!(kind.as_ref(), "human" | "cli" | "") { Label::None } else { Label::From(kind) }
}

/// The same for words that came through the queue.
pub(super) fn queued(raw: Option<Raw<'_>>) -> Label<'_> {
    match origin(raw) {
        Label::None => Label::Queued,
        other => other,
    }
}

/// Adds what a text in the person's place says.
pub(super) fn user<'a>(text: Cow<'a, str>, label: &Label<'a>, opens: Opens, entry: &mut Entry<'a>) {
    if says_nothing(&text) {
        return;
    }
    let trimmed = text.trim();
    if let Some(behind) = behind_pointers(trimmed) {
        entry.dropped = Some(OURS);
        // A person who pasted a pointer may have gone on below it.
        return user(Cow::Owned(behind.to_owned()), label, opens, entry);
    }
    let mut hidden = 0;
    let cleaned = without_private(trimmed, &mut hidden);
    let trimmed = cleaned.trim();
    if is_interrupt(trimmed) {
        entry.pieces.push(Piece::Interrupted);
    } else if is_of_the_host(trimmed) {
        entry.dropped = Some(HOSTS);
    } else if let Some(found) = unwrap(trimmed) {
        entry.hidden += hidden;
        if found.is_empty() {
            entry.dropped = Some(HOSTS);
        }
        for own in found {
            let label = if own.label == Label::None { label.clone() } else { own.label };
            push(own.text.into(), label, own.opens.min(opens), entry);
        }
    } else {
        // Stripped again, and counted, when it enters the session.
        push(text, label.clone(), opens, entry);
    }
}

/// Nothing but white space, as it will be shown: a control character that counts as white space has a
/// picture.
fn says_nothing(text: &str) -> bool {
    text.trim().is_empty() && normalise(text).trim().is_empty()
}

fn push<'a>(text: Cow<'a, str>, label: Label<'a>, opens: Opens, entry: &mut Entry<'a>) {
    let opens = if label == Label::None { opens } else { Opens::Nothing };
    entry.pieces.push(Piece::Prompt { text, label, opens });
}

/// Envelopes are taken apart only once private parts are gone from the whole: a part may begin in one
/// and end in another.
fn without_private<'t>(text: &'t str, hidden: &mut u32) -> Cow<'t, str> {
    let begins = |at: usize| {
        text.get(at + 1..at + 8).is_some_and(|name| name.eq_ignore_ascii_case("private"))
    };
    let is_envelope = text.trim_start().starts_with('<');
    if is_envelope && text.match_indices('<').any(|(at, _)| begins(at)) {
        return privacy::clean(text, hidden);
    }
    Cow::Borrowed(text)
}

/// The words that were typed into the queue, as the row that brings them would show them.
pub(super) fn typed(text: Cow<'_, str>) -> Vec<(Cow<'_, str>, Label<'_>)> {
    if let Some(behind) = behind_pointers(&text) {
        return typed(Cow::Owned(behind.to_owned()));
    }
    let cleaned = without_private(&text, &mut 0);
    let trimmed = cleaned.trim();
    if says_nothing(&cleaned) || is_of_the_host(trimmed) || is_bare_host_command(trimmed) {
        return Vec::new();
    }
    let queued = |own: Own| {
        let label = if own.label == Label::None { Label::Queued } else { own.label };
        (Cow::Owned(own.text), label)
    };
    match unwrap(trimmed) {
        Some(found) => found.into_iter().map(queued).collect(),
        None => vec![(text, Label::Queued)],
    }
}

/// The form in which queued words are compared.
pub(super) fn comparable(text: Cow<'_, str>) -> Cow<'_, str> {
    match unwrap(text.trim()).and_then(|found| found.into_iter().next()) {
        Some(own) => own.text.into(),
        None => text,
    }
}

fn is_bare_host_command(text: &str) -> bool {
    text.starts_with('/') && is_host_only(text)
}

/// `[Request interrupted by user]`, `[Request interrupted by user for tool use]`.
fn is_interrupt(text: &str) -> bool {
    matches!(text, "[Request interrupted by user]" | "[Request interrupted by user for tool use]")
}

/// Nothing but the host's or a program's words, though no plain row of envelopes.
fn is_of_the_host(text: &str) -> bool {
    // Versions before 2.1 write the caveat as plain text, not always marked as the host's.
    if text.starts_with("Caveat: The messages below were generated by the user while running") {
        return true;
    }
    let opening = OUTPUT.iter().find(|tag| is_tag(text.strip_prefix('<'), tag));
    let Some(opening) = opening else { return false };
    let closed = OUTPUT.iter().any(|tag| text.ends_with(&format!("</{tag}>")));
    if *opening == "task-notification"
        && let Some(notification) = without_tail(text)
    {
        return !has_words_between(notification);
    }
    closed && !has_words_between(text)
}

/// Words outside of output envelopes: a person pasted several outputs. Where there are more closing
/// tags than opening ones, an output holds a closing tag itself, and nothing is outside.
fn has_words_between(text: &str) -> bool {
    let count = |mark: &str| text.matches(mark).count();
    let inside = OUTPUT.iter().any(|tag| count(&format!("</{tag}>")) > count(&format!("<{tag}>")));
    let mut rest = text.trim_start();
    while let Some(tag) = OUTPUT.iter().find(|tag| is_tag(rest.strip_prefix('<'), tag)) {
        let closing = format!("</{tag}>");
        let Some((_, behind)) = rest.split_once(&closing) else { return false };
        rest = behind.trim_start();
    }
    !inside && !rest.is_empty()
}

fn is_tag(rest: Option<&str>, tag: &str) -> bool {
    rest.and_then(|rest| rest.strip_prefix(tag)).is_some_and(|rest| rest.starts_with(['>', ' ']))
}

/// A task notification without the lines that the host writes behind it, if nothing else stands
/// there.
fn without_tail(text: &str) -> Option<&str> {
    const CLOSING: &str = "</task-notification>";
    let end = text.rfind(CLOSING)? + CLOSING.len();
    let mut lines = text[end..].lines().filter(|line| !line.trim().is_empty()).peekable();
    lines.peek()?;
    lines
        .all(|line| NOTIFICATION_TAILS.iter().any(|known| line.starts_with(known)))
        .then_some(&text[..end])
}

/// What stands in a text that is nothing but known envelopes; none where it is anything else.
fn unwrap(text: &str) -> Option<Vec<Own>> {
    if !text.starts_with('<') {
        return None;
    }
    let parts = envelopes(text)?;
    if !parts.iter().all(is_known) {
        return None;
    }
    let mut found = Vec::new();
    found.extend(command(&parts).map(|text| Own { text, label: Label::None, opens: Opens::Turn }));
    found.extend(parts.iter().filter_map(inside));
    Some(found)
}

fn is_known(part: &Envelope<'_>) -> bool {
    OF_THE_HOST.contains(&part.tag)
        || OUTPUT.contains(&part.tag)
        || part.tag.starts_with("command-")
        || matches!(part.tag, "bash-input" | "teammate-message" | "skill-format")
}

/// A slash command as typed; none where the host keeps it to itself and it carries no words.
fn command(parts: &[Envelope<'_>]) -> Option<String> {
    let inner = |tag| parts.iter().find(|part| part.tag == tag).map(|part| part.inner.trim());
    let name = inner("command-name")?.trim_start_matches('/');
    let arguments = inner("command-args").unwrap_or_default();
    match arguments {
        "" if is_host_only(name) || name.is_empty() => None,
        "" => Some(format!("/{name}")),
        _ => Some(format!("/{name} {arguments}")),
    }
}

/// A `!` command, or a teammate's message.
fn inside(part: &Envelope<'_>) -> Option<Own> {
    let (text, label) = match part.tag {
        "bash-input" => (format!("! {}", part.inner), Label::None),
        "teammate-message" => {
            let name = part.attribute("teammate_id").or_else(|| part.attribute("from"));
            let label = Label::From(format!("teammate {}", name.unwrap_or("?")).into());
            (inner_text(part.inner).to_owned(), label)
        }
        _ => return None,
    };
    Some(Own { text, label, opens: Opens::Nothing })
}

/// Without the newline that the host puts at each end.
fn inner_text(inner: &str) -> &str {
    let inner = inner.strip_prefix('\n').unwrap_or(inner);
    inner.strip_suffix('\n').unwrap_or(inner)
}
