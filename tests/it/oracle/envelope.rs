//! The host's wrappers around text in `user` rows, recognised as whole envelopes only.

/// Wrappers whose content is not the person's: dropped.
const DROPPED: [&str; 11] = [
    "local-command-stdout",
    "local-command-stderr",
    "bash-stdout",
    "bash-stderr",
    "context_guidance",
    "tool-result",
    "local-command-caveat",
    "ide_opened_file",
    "ide_selection",
    "task-notification",
    "system-reminder",
];

/// Wrappers that carry something the person did, or the words of a teammate.
const KEPT: [&str; 7] = [
    "bash-input",
    "teammate-message",
    "command-name",
    "command-message",
    "command-args",
    "command-contents",
    "skill-format",
];

/// Wrappers whose content may itself hold any tag, its own closer included.
const LOOSE: [&str; 9] = [
    "local-command-stdout",
    "local-command-stderr",
    "bash-stdout",
    "bash-stderr",
    "tool-result",
    "ide_selection",
    "task-notification",
    "command-args",
    "command-contents",
];

/// Commands that only steer the host. Dropped unless they carry words.
const HOST_COMMANDS: &str = "add-dir agents allowed-tools bashes branch bug checkpoint chrome \
    clear color compact config context continue copy cost desktop diff doctor effort exit export \
    extra-usage fast feedback fork help hooks ide install-github-app install-slack-app \
    keybindings login logout mcp memory migrate-installer mobile model new output-style passes \
    permissions plugin plugins plan privacy-settings quit rate-limit-options release-notes \
    reload-plugins remote-control remote-env rename reset resume rewind sandbox settings skills \
    stats status statusline stickers tag tasks terminal-setup theme think-back todos upgrade \
    usage vim voice";

/// What one text of a `user` row or of the queue is.
pub(super) enum Text {
    /// The person's own, word for word.
    Own(String),
    /// `/name args` or `! command`.
    Typed(String),
    /// From a teammate: name, words.
    Teammate(String, String),
    /// `[Request interrupted by user…]`.
    Interrupt(String),
}

/// Takes a text apart. Empty where the host wrote it all.
pub(super) fn texts(text: &str) -> Vec<Text> {
    let trimmed = text.trim();
    if trimmed.is_empty() || is_caveat(trimmed) || is_notification_with_tail(trimmed) {
        return Vec::new();
    }
    if is_interrupt(trimmed) {
        return vec![Text::Interrupt(trimmed.to_owned())];
    }
    let Some(envelopes) = sequence(trimmed) else {
        return vec![Text::Own(text.to_owned())];
    };
    let mut texts = Vec::new();
    if let Some(command) = command(&envelopes) {
        texts.extend(shown_command(&command).then_some(Text::Typed(command)));
    }
    for envelope in envelopes {
        match envelope.tag {
            "bash-input" => texts.push(Text::Typed(format!("! {}", envelope.inner))),
            "teammate-message" => {
                let name = attribute(envelope.attributes, "teammate_id").unwrap_or_default();
                texts.push(Text::Teammate(name, unpadded(envelope.inner).to_owned()));
            }
            _ => {}
        }
    }
    texts
}

/// The same for text that was queued: a command stands there as it was typed.
pub(super) fn queued_texts(text: &str) -> Vec<Text> {
    if text.trim_start().starts_with('/') && !shown_command(text.trim()) {
        return Vec::new();
    }
    texts(text)
}

/// What two records must share for one to settle the other: commands by name and arguments.
pub(super) fn key(text: &str) -> String {
    let trimmed = text.trim();
    let command = sequence(trimmed).and_then(|envelopes| command(&envelopes));
    command.unwrap_or_else(|| trimmed.to_owned())
}

/// False for a host-only command without words.
fn shown_command(command: &str) -> bool {
    let name = command.trim_start_matches('/');
    !HOST_COMMANDS.split_whitespace().any(|host| host == name)
}

fn is_caveat(text: &str) -> bool {
    text.starts_with("Caveat: The messages below")
}

fn is_interrupt(text: &str) -> bool {
    text.strip_prefix("[Request interrupted by user")
        .and_then(|rest| rest.strip_suffix(']'))
        .is_some_and(|rest| !rest.contains([']', '\n']))
}

/// Old hosts write a pointer to the output behind the notification, outside the envelope.
fn is_notification_with_tail(text: &str) -> bool {
    let tails = ["Read the output file to retrieve the result:", "Full transcript available at:"];
    text.starts_with("<task-notification>")
        && text.rsplit_once("</task-notification>").is_some_and(|(_, tail)| {
            let tail = tail.trim();
            !tail.contains('\n') && tails.iter().any(|start| tail.starts_with(start))
        })
}

struct Envelope<'a> {
    tag: &'static str,
    attributes: &'a str,
    inner: &'a str,
}

/// The envelopes of which `text` consists; `None` if anything else stands in it.
fn sequence(text: &str) -> Option<Vec<Envelope<'_>>> {
    if text.is_empty() {
        return Some(Vec::new());
    }
    let opener_end = text.find('>')?;
    let opener = text[..opener_end].strip_prefix('<')?;
    let (name, attributes) = opener.split_once(char::is_whitespace).unwrap_or((opener, ""));
    let tag = DROPPED.into_iter().chain(KEPT).find(|tag| *tag == name)?;
    let body = &text[opener_end + 1..];
    let closer = format!("</{tag}>");
    body.match_indices(&closer).find_map(|(at, _)| {
        let inner = &body[..at];
        let balanced = inner.matches(&format!("<{tag}")).count() == inner.matches(&closer).count();
        if !balanced && !LOOSE.contains(&tag) {
            return None;
        }
        let mut rest = sequence(body[at + closer.len()..].trim_start())?;
        rest.insert(0, Envelope { tag, attributes, inner });
        Some(rest)
    })
}

/// `/name args` of a command row; the parts may stand in any order.
fn command(envelopes: &[Envelope<'_>]) -> Option<String> {
    let part = |tag: &str| envelopes.iter().find(|part| part.tag == tag).map(|e| e.inner.trim());
    let name = part("command-name")?;
    let slash = if name.starts_with('/') { "" } else { "/" };
    let args = part("command-args").unwrap_or_default();
    let gap = if args.is_empty() { "" } else { " " };
    Some(format!("{slash}{name}{gap}{args}"))
}

fn attribute(attributes: &str, name: &str) -> Option<String> {
    let (_, rest) = attributes.split_once(&format!("{name}=\""))?;
    Some(rest.split_once('"')?.0.to_owned())
}

/// Without the one newline that the host puts after the opener and before the closer.
fn unpadded(inner: &str) -> &str {
    let inner = inner.strip_prefix('\n').unwrap_or(inner);
    inner.strip_suffix('\n').unwrap_or(inner)
}
