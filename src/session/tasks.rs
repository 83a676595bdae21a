//! The session's own task list, as the agent keeps it.
//!
//! Changes are kept in file order and replayed when the list is looked at, so that those of a
//! rewound branch do not count.
use super::Span;
use crate::transcript::tool::TaskState;

/// A change of the list, at the call that made it.
#[derive(Debug, Clone)]
pub(super) struct Change {
    pub(super) call: u32,
    pub(super) kind: ChangeKind,
}

#[derive(Debug, Clone)]
pub(super) enum ChangeKind {
    Replace(Vec<(Span, TaskState)>),
    Create { title: Span, id: Span },
    Update { id: Span, title: Option<Span>, state: Option<TaskState> },
}

/// A task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Task<'a> {
    /// What is to be done.
    pub title: &'a str,
    /// How far it is.
    pub state: TaskState,
    id: &'a str,
}

/// The list after these changes.
pub(super) fn replay<'a>(
    changes: impl Iterator<Item = &'a Change>,
    text: impl Fn(Span) -> &'a str,
) -> Vec<Task<'a>> {
    let mut list: Vec<Task<'a>> = Vec::new();
    for change in changes {
        match &change.kind {
            ChangeKind::Replace(items) => {
                let task = |(title, state): &(Span, TaskState)| Task {
                    title: text(*title),
                    state: *state,
                    id: "",
                };
                list = items.iter().map(task).collect();
            }
            ChangeKind::Create { title, id } => {
                list.push(Task { title: text(*title), state: TaskState::Open, id: text(*id) });
            }
            ChangeKind::Update { id, title, state } => {
                let id = text(*id);
                if let Some(task) = list.iter_mut().find(|task| !id.is_empty() && task.id == id) {
                    task.title = title.map_or(task.title, &text);
                    task.state = state.unwrap_or(task.state);
                }
            }
        }
    }
    list.retain(|task| task.state != TaskState::Deleted);
    list
}
