//! Where things stand: the words that a pointer repeats, within the room that there is.

use super::{
    Recap, counted,
    quote::{Kept, list, most, quoted},
};
use crate::text::{line::plain_line, measure::utf16_len};

/// UTF-16 units of the last user message that are shown whole.
const USER: usize = 1_500;
/// Units of the end of the last assistant message.
const ASSISTANT: usize = 800;
/// Units of the original request.
const REQUEST: usize = 300;
/// Units of the task list, its marks included.
const TASKS: usize = 900;
/// Characters of a task's title.
const TITLE: usize = 120;
/// With fewer units words say too little.
const FEWEST: usize = 40;

const OPENING: &str = "\nWhere things stand (lines with `>` quote the conversation):\n";
const NO_ROOM: &str = "… there is no room for more here; page one has it …\n";

/// All sections, in at most this many UTF-16 units. Where there is not enough room, the last user
/// message comes first, then the last assistant message, the original request, the tasks.
pub(super) fn sections(recap: &Recap<'_>, room: usize) -> String {
    let room = room.saturating_sub(utf16_len(OPENING) + utf16_len(NO_ROOM));
    let mut room = Room { left: room, was_short: false };
    let is_one = recap.request.is_some() && recap.request == recap.user;
    let request = recap.request.as_deref().filter(|_| !is_one);
    let user = room.words(user_heading(is_one), recap.user.as_deref(), Kept::HeadAndTail, USER);
    let heading = assistant_heading(recap);
    let assistant = room.words(heading, recap.assistant.as_deref(), Kept::Tail, ASSISTANT);
    let request = room.words("The original request:", request, Kept::Head, REQUEST);
    let tasks = room.tasks(recap);
    let all = [request, user, assistant, tasks].concat();
    let last = if room.was_short { NO_ROOM } else { "" };
    if all.is_empty() { last.to_owned() } else { [OPENING, &all, last].concat() }
}

fn user_heading(is_one: bool) -> &'static str {
    if is_one {
        "The original request, which is also the last user message:"
    } else {
        "The last user message:"
    }
}

fn assistant_heading(recap: &Recap<'_>) -> &'static str {
    match (&recap.user, recap.replied) {
        (None, _) => "The last assistant message:",
        (Some(_), true) => "The last assistant message, said after it:",
        (Some(_), false) => "The last assistant message, said before it; there is no reply yet:",
    }
}

/// What is left of the room.
struct Room {
    left: usize,
    was_short: bool,
}

impl Room {
    /// A section of words; nothing where there are none.
    fn words(&mut self, heading: &str, words: Option<&str>, kept: Kept, units: usize) -> String {
        let Some(words) = words.filter(|words| !words.trim().is_empty()) else {
            return String::new();
        };
        let around = utf16_len(heading) + 1 + most(0);
        let units = units.min(self.left.saturating_sub(around) * 4 / 5);
        self.take(units, || format!("{heading}\n{}", quoted(words, kept, units)))
    }

    /// The task list: what is under way, what is not begun, what is done.
    fn tasks(&mut self, recap: &Recap<'_>) -> String {
        let all = [("active", &recap.active), ("open", &recap.open), ("done", &recap.done)];
        let line = |state, title: &str| format!("{state}: {}", plain_line(title, TITLE));
        let lines = all
            .iter()
            .flat_map(|(state, titles)| titles.iter().map(move |title| line(*state, title)));
        let (done, open) = (recap.done.len(), recap.active.len() + recap.open.len());
        if done + open == 0 {
            return String::new();
        }
        let heading = format!("Tasks, {done} done and {open} not:\n");
        let units = TASKS.min(self.left.saturating_sub(utf16_len(&heading) + most(0)));
        self.take(units, || {
            let (lines, left) = list(lines, units);
            let more = match left {
                0 => String::new(),
                _ => format!("… {} left out …\n", counted(left, "task")),
            };
            [heading, lines, more].concat()
        })
    }

    /// A section, if there is room for enough units of it.
    fn take(&mut self, units: usize, section: impl FnOnce() -> String) -> String {
        if units < FEWEST {
            self.was_short = true;
            return String::new();
        }
        let section = section();
        self.left = self.left.saturating_sub(utf16_len(&section));
        section
    }
}
