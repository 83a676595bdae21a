//! What a list shows of a session: read from the first bytes of its transcript.
//!
//! The head is folded into a session like the whole would be, so that a list follows the rules of
//! the bottle: what is private there is private here. A list of thousands must be quick, so reading
//! stops at the first words of the person, and after [`HEAD`] bytes at the latest.

use std::{
    io::{self, Read},
    path::Path,
};

use endless_watchers::{LineSplitter, Piece as LinePiece, TailError, open_regular};

use super::ReadError;
use crate::{
    session::{Session, layout::Message},
    text::line::plain_line,
    transcript::{Host, Line, Speaker, parse_line},
};

/// Bytes that are read at most.
const HEAD: u64 = 256 * 1024;
/// Bytes of one read.
const CHUNK: usize = 32 * 1024;
/// Characters kept of the first words.
const WORDS: usize = 60;

/// The head of a transcript.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Head {
    /// The working folder; empty where no row names one.
    pub folder: String,
    /// The first words of the person, on one line; empty where none were found.
    pub words: String,
}

/// Reads the head of a transcript.
pub fn read_head(path: &Path, host: Host) -> Result<Head, ReadError> {
    let file = open_regular(path)?;
    let failed = |source: io::Error| TailError::Read { path: path.to_owned(), source };
    let mut rest = file.take(HEAD);
    let mut splitter = LineSplitter::new(0, CHUNK.max(HEAD as usize));
    let mut buffer = vec![0; CHUNK];
    let mut session = Session::new("", host);
    loop {
        let length = match rest.read(&mut buffer) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            read => read.map_err(failed)?,
        };
        if length == 0 {
            break;
        }
        splitter.push(&buffer[..length], &mut |piece| fold(&mut session, piece));
        if !session.folder.is_empty() && has_prompt(&session) {
            return Ok(head(&session));
        }
    }
    if let Some(piece) = splitter.partial() {
        fold_whole(&mut session, piece);
    }
    Ok(head(&session))
}

fn fold(session: &mut Session, piece: LinePiece<'_>) {
    if let LinePiece::Line { offset, bytes } = piece {
        parse_line(session.host, bytes, offset, &mut |line| session.fold_line(line));
    }
}

/// A last line without its newline counts where it is whole.
fn fold_whole(session: &mut Session, piece: LinePiece<'_>) {
    let LinePiece::Line { offset, bytes } = piece else { return };
    let mut lines = Vec::new();
    parse_line(session.host, bytes, offset, &mut |line| lines.push(line));
    if !lines.iter().any(|line| matches!(line, Line::Unreadable(_))) {
        lines.into_iter().for_each(|line| session.fold_line(line));
    }
}

fn has_prompt(session: &Session) -> bool {
    session.layout().messages().any(is_prompt)
}

fn is_prompt(message: &Message<'_>) -> bool {
    message.is_prompt && !message.text.trim().is_empty()
}

/// The first prompt; where there is none, the first words in the person's place.
fn head(session: &Session) -> Head {
    let layout = session.layout();
    let mut messages = layout.messages();
    let prompt = messages
        .find(|message| is_prompt(message))
        .or_else(|| layout.messages().find(|message| message.speaker == Speaker::User));
    let words = prompt.map(|message| plain_line(&message.text, WORDS)).unwrap_or_default();
    Head { folder: session.folder.clone(), words }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn check(lines: &[&str], folder: &str, words: &str) {
        let file = tempfile::NamedTempFile::new().unwrap();
        fs::write(file.path(), lines.join("\n")).unwrap();
        let expected = Head { folder: folder.to_owned(), words: words.to_owned() };
        assert_eq!(read_head(file.path(), Host::ClaudeCode).unwrap(), expected);
    }

    #[test]
    fn the_first_words_are_the_persons_and_not_private() {
        check(&[], "", "");
        check(
            &[
                "{broken",
                r#"{"type":"user","isMeta":true,"cwd":"/w","message":{"content":"not these"}}"#,
                r#"{"type":"user","isSidechain":true,"message":{"content":"nor these"}}"#,
                r#"{"type":"user","message":{"content":"<private>secret</private>"}}"#,
                r#"{"type":"user","message":{"content":"do\n\u001b[1mit <private>s</private>now"}}"#,
                r#"{"type":"user","message":{"content":"later"}}"#,
            ],
            "/w",
            "do ␛[1mit now",
        );
    }

    #[test]
    fn a_private_part_that_a_block_leaves_open_goes_on_in_the_next() {
        let blocks = |first: &str, second: &str| {
            let block = |text: &str| format!(r#"{{"type":"text","text":"{text}"}}"#);
            format!(
                r#"{{"type":"user","uuid":"1","cwd":"/w","message":{{"content":[{},{}]}}}}"#,
                block(first),
                block(second)
            )
        };
        check(&[&blocks("<private>", "SECRET</private> x")], "/w", "x");
        check(&[&blocks("a <private>", "SECRET</private> x")], "/w", "a x");
        check(
            &[&blocks("<private>", "SECRET"), r#"{"type":"user","message":{"content":"y"}}"#],
            "/w",
            "y",
        );
    }

    #[test]
    fn words_of_others_stand_in_where_there_is_no_prompt() {
        let other = r#"{"type":"user","uuid":"1","cwd":"/w","origin":{"kind":"coordinator"},"message":{"content":"theirs"}}"#;
        check(&[other], "/w", "theirs");
        let mine = r#"{"type":"user","uuid":"2","parentUuid":"1","message":{"content":"mine"}}"#;
        check(&[other, mine], "/w", "mine");
    }

    #[test]
    fn a_torn_last_line_waits() {
        let row = r#"{"type":"user","cwd":"/w","message":{"content":"words"}}"#;
        check(&[&row[..row.len() - 1]], "", "");
        check(&[&format!("{}{row}", &row[..20])], "", "");
    }

    #[test]
    fn a_long_head_is_not_read_to_its_end() {
        let filler = format!(r#"{{"type":"x","cwd":"/w","y":"{}"}}"#, "z".repeat(300_000));
        let prompt = r#"{"type":"user","message":{"content":"words"}}"#;
        check(&[&filler, prompt], "", "");
        check(&[prompt, &filler], "", "words");
    }
}
