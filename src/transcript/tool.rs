//! What a tool call is about and how it ended, in words that no host owns.
//!
//! A dialect fills these; the session keeps them; observations print them. All texts here have
//! been through the privacy function, and none is longer than a line of a bottle can show.
use std::borrow::Cow;

/// What a call is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Tool<'a> {
    /// A shell command.
    Command(String),
    /// A file that is read, and the lines asked for (first, last; 0 where open).
    Read(String, Option<(u64, u64)>),
    /// A file that is changed; lines added and removed as far as the input tells.
    Edit(String, Lines),
    /// A file that is written whole; its number of lines.
    Write(String, u64),
    /// A search: pattern and place.
    Search(String, Option<String>),
    /// Work given to a subagent: its description.
    Agent(String),
    /// Something fetched or searched for outside.
    Fetch(String),
    /// The session's task list changes.
    Tasks(TaskCall<'a>),
    /// A plan put forward.
    Plan,
    /// Questions to the person.
    Question,
    /// Any other tool: its arguments.
    Other(String),
}

/// The kinds of [`Tool`], for those who keep no input.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[expect(missing_docs, reason = "the variants are those of Tool")]
pub enum ToolKind {
    Command,
    Read,
    Edit,
    Write,
    Search,
    Agent,
    Fetch,
    Tasks,
    Plan,
    Question,
    #[default]
    Other,
}

impl Tool<'_> {
    /// The kind.
    pub fn kind(&self) -> ToolKind {
        match self {
            Self::Command(_) => ToolKind::Command,
            Self::Read(..) => ToolKind::Read,
            Self::Edit(..) => ToolKind::Edit,
            Self::Write(..) => ToolKind::Write,
            Self::Search(..) => ToolKind::Search,
            Self::Agent(_) => ToolKind::Agent,
            Self::Fetch(_) => ToolKind::Fetch,
            Self::Tasks(_) => ToolKind::Tasks,
            Self::Plan => ToolKind::Plan,
            Self::Question => ToolKind::Question,
            Self::Other(_) => ToolKind::Other,
        }
    }
}

/// Lines that an edit adds and removes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Lines {
    /// Lines added.
    pub added: u32,
    /// Lines removed.
    pub removed: u32,
}

/// How far a task of the session's list is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TaskState {
    /// Not begun.
    Open,
    /// Under way.
    Active,
    /// Finished.
    Done,
    /// Taken off the list.
    Deleted,
}

/// A call that changes the task list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TaskCall<'a> {
    /// The whole list anew.
    Replace(Vec<(Cow<'a, str>, TaskState)>),
    /// A new task; the host names its id in the result.
    Create(Cow<'a, str>),
    /// A change of the task with this id: its new title and state, where they change.
    Update(Cow<'a, str>, Option<Cow<'a, str>>, Option<TaskState>),
    /// The list is only looked at.
    Look,
}

/// How a call stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Status {
    /// No result yet.
    #[default]
    Running,
    /// It did what was asked.
    Completed,
    /// It failed.
    Failed,
    /// The person, or a rule of theirs, did not allow it.
    Declined,
    /// It was stopped, or its session ended, before it gave a result.
    Interrupted,
}

/// How a call ended.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Outcome {
    /// The state that the call is in now.
    pub status: Status,
    /// The telling line of the result.
    pub line: String,
    /// A command's exit status.
    pub exit: Option<i32>,
    /// Lines added and removed, where the result tells better than the input.
    pub lines: Option<Lines>,
    /// The file did not exist before.
    pub created: bool,
    /// What was found: the number, and what was counted.
    pub found: Option<(u64, Counted)>,
    /// The id that the host gave to a new task.
    pub task: Option<String>,
    /// The person's own words inside the result: answers, or the reason for declining.
    pub said: Vec<String>,
    /// The plan, where the host keeps it in the result.
    pub plan: Option<String>,
    /// The person changed that plan.
    pub plan_edited: bool,
    /// Texts from which private parts were removed.
    pub hidden: u32,
}

/// What a search counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Counted {
    /// Files.
    Files,
    /// Lines of output.
    Lines,
}
