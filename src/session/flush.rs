//! Whether the transcript has caught up with what the host told.
//!
//! Hook time is not disk time: the host writes on a timer, so a row that an event is about may come
//! a moment later (facts). What an event tells proves that a row is there; it is never the source
//! of a word. Refuses: to wait (that is the engine's).
use serde::{Deserialize, Serialize};

use super::{Item, ItemKind, Mark, Session};
use crate::{
    text::{line::normalise, privacy},
    transcript::Speaker,
};

/// What must be in the transcript before it is complete for an event.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Barrier {
    /// Nothing: one read to the end.
    #[default]
    Nothing,
    /// This prompt, where one was announced, and the result of every call.
    Prompt(Option<Announced>),
    /// A pointer of this other session, which a fork copies.
    Linked(String),
    /// The end of a turn: the latest one ends with these words of the agent.
    Turn {
        /// The words, or their end.
        words: String,
        /// Bytes before the last words of the turn that was recorded last.
        recorded: Option<u64>,
    },
}

/// A prompt that the host told of.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Announced {
    /// The host's id, where it gives one.
    pub id: Option<String>,
    /// A key of its words: prompts that are typed while the agent works get no row of their own.
    pub words: u64,
    /// Bytes of the transcript that were read when it was told of: the same words before are those
    /// of an earlier prompt. The service's to set.
    pub after: u64,
}

/// How a transcript stands to a barrier.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Held {
    /// All that must be there is there.
    pub holds: bool,
    /// Bytes before the last words of the turn that ended, where a turn was asked for.
    pub turn: Option<u64>,
}

impl Session {
    /// Whether the barrier holds.
    pub fn holds(&self, barrier: &Barrier) -> Held {
        match barrier {
            Barrier::Nothing => Held { holds: true, turn: None },
            Barrier::Prompt(announced) => {
                let is_there = announced.as_ref().is_none_or(|prompt| self.has_prompt(prompt));
                Held { holds: is_there && self.ledger.running() == 0, turn: None }
            }
            Barrier::Linked(parent) => {
                let mut arrivals = self.proof.arrivals().iter();
                let holds = arrivals.any(|arrival| arrival.session == *parent);
                Held { holds, turn: None }
            }
            Barrier::Turn { words, recorded } => {
                let turn = self.ended_turn(words, *recorded);
                Held { holds: turn.is_some(), turn }
            }
        }
    }

    fn has_prompt(&self, prompt: &Announced) -> bool {
        let by_id = prompt.id.as_deref().is_some_and(|id| self.proof.has_prompt(id));
        by_id || self.proof.has_words(prompt.words, prompt.after)
    }

    /// Where the last words of the turn stand that ends with these: the latest turn, or the one
    /// before it where nobody has recorded that one and a newer prompt stands behind it already.
    fn ended_turn(&self, words: &str, recorded: Option<u64>) -> Option<u64> {
        let words = normalise(&privacy::strip(words).text).trim().to_owned();
        let mut turns = 0;
        for item in self.items.iter().rev().filter(|item| !item.hidden) {
            match last_words(item) {
                Spoke::Prompt if turns == 1 => return None,
                Spoke::Prompt => turns += 1,
                Spoke::Agent(span, offset) => {
                    let ends = self.text(span).trim_end().ends_with(words.as_str());
                    let is_new = turns == 0 || recorded.is_none_or(|last| offset > last);
                    return (ends && is_new).then_some(offset);
                }
                Spoke::Neither => {}
            }
        }
        None
    }
}

enum Spoke {
    Prompt,
    Agent(super::Span, u64),
    Neither,
}

fn last_words(item: &Item) -> Spoke {
    let ItemKind::Said(said) = &item.kind else { return Spoke::Neither };
    match said.speaker {
        Speaker::User if said.opens => Spoke::Prompt,
        Speaker::Assistant if said.mark == Mark::None => Spoke::Agent(said.text, said.place.offset),
        _ => Spoke::Neither,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::transcript::{Host, parse_line};

    fn session(rows: &[&str]) -> Session {
        let mut session = Session::new("s", Host::ClaudeCode);
        let mut offset = 0;
        for row in rows {
            parse_line(Host::ClaudeCode, row.as_bytes(), offset, &mut |line| {
                session.fold_line(line);
            });
            offset += 100;
        }
        session
    }

    const PROMPT: &str =
        r#"{"type":"user","uuid":"1","promptId":"p1","message":{"content":"do it"}}"#;
    const ANSWER: &str = r#"{"type":"assistant","uuid":"2","message":{"id":"m","content":[{"type":"text","text":"Done.\n"}]}}"#;
    const CALL: &str = r#"{"type":"assistant","uuid":"3","message":{"id":"m","content":[{"type":"tool_use","id":"c","name":"Bash","input":{"command":"ls"}}]}}"#;
    const RESULT: &str = r#"{"type":"user","uuid":"4","promptId":"p1","message":{"content":[{"type":"tool_result","tool_use_id":"c","content":"a"}]}}"#;
    const NEXT: &str =
        r#"{"type":"user","uuid":"5","promptId":"p2","message":{"content":"and that"}}"#;
    const QUEUED: &str =
        r#"{"type":"queue-operation","operation":"enqueue","content":"and  that"}"#;

    fn announced(id: Option<&str>, words: &str) -> Barrier {
        let words = crate::text::line::words_key(words);
        Barrier::Prompt(Some(Announced { id: id.map(str::to_owned), words, after: 0 }))
    }

    /// The same, told of when so many bytes were read.
    fn announced_at(after: u64, words: &str) -> Barrier {
        let words = crate::text::line::words_key(words);
        Barrier::Prompt(Some(Announced { id: None, words, after }))
    }

    fn turn(words: &str, recorded: Option<u64>) -> Barrier {
        Barrier::Turn { words: words.to_owned(), recorded }
    }

    #[test]
    fn a_prompt_is_there_by_its_id_or_its_words_once_all_calls_have_ended() {
        for (rows, barrier, expected) in [
            (&[][..], Barrier::Nothing, true),
            (&[], Barrier::Prompt(None), true),
            (&[PROMPT], announced(Some("p1"), "other"), true),
            (&[PROMPT], announced(Some("p2"), "other"), false),
            (&[PROMPT], announced(None, " do it "), true),
            (&[PROMPT, QUEUED], announced(Some("p9"), "and that"), true),
            (&[PROMPT, CALL], announced(Some("p1"), ""), false),
            (&[PROMPT, CALL], Barrier::Prompt(None), false),
            // The same words of an earlier prompt are no proof.
            (&[PROMPT], announced_at(100, "do it"), false),
            (&[PROMPT, PROMPT], announced_at(100, "do it"), false),
            (&[PROMPT, QUEUED, NEXT], announced_at(200, "and that"), true),
            (&[PROMPT, QUEUED, QUEUED], announced_at(200, "and that"), true),
            (&[PROMPT, QUEUED, NEXT], announced_at(300, "and that"), false),
            (&[PROMPT, CALL, RESULT], announced(Some("p1"), ""), true),
            // A new prompt shows that the call will never have one.
            (&[PROMPT, CALL, NEXT], announced(Some("p2"), ""), true),
        ] {
            assert_eq!(session(rows).holds(&barrier).holds, expected, "{rows:?} {barrier:?}");
        }
    }

    #[test]
    fn a_turn_has_ended_when_the_latest_one_ends_with_the_words() {
        for (rows, barrier, expected) in [
            (&[PROMPT][..], turn("Done.", None), None),
            (&[PROMPT, ANSWER], turn("Done.", None), Some(100)),
            (&[PROMPT, ANSWER], turn(" one.\n", None), Some(100)),
            (&[PROMPT, ANSWER], turn("Other.", None), None),
            // The same words of an older turn do not count once that was recorded.
            (&[PROMPT, ANSWER, NEXT], turn("Done.", Some(100)), None),
            // A newer prompt was quicker than the event.
            (&[PROMPT, ANSWER, NEXT], turn("Done.", None), Some(100)),
            // A file that has lost its head.
            (&[ANSWER], turn("Done.", None), Some(0)),
        ] {
            assert_eq!(session(rows).holds(&barrier).turn, expected, "{rows:?} {barrier:?}");
        }
    }

    #[test]
    fn private_words_are_compared_as_they_are_kept() {
        let row = ANSWER.replace("Done.", "The key is <private>k</private> here");
        let barrier = turn("The key is <private>k</private> here", None);
        assert!(session(&[PROMPT, &row]).holds(&barrier).holds);
    }
}
