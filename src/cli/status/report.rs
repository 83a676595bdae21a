//! What `endless status` has to say, before it is words.

use serde::Serialize;

use super::{super::history::History, behind, disk::Bottles};
use crate::{client::ClientError, engine::request::Status};

/// How things stand; the worst that holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Health {
    /// All that is on disk is read.
    Current,
    /// Something on disk is not read yet.
    Behind,
    /// Something went wrong and was not mended yet.
    Troubled,
    /// The service runs, but tells nothing.
    Silent,
    /// The service does not run.
    Down,
}

/// What `--json` prints.
#[derive(Debug, Serialize)]
pub(super) struct Report {
    pub(super) running: bool,
    pub(super) health: Health,
    /// One session was asked for.
    #[serde(skip)]
    pub(super) asked: bool,
    /// Why the service tells nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) problem: Option<String>,
    /// Bytes of live transcripts that are not read.
    pub(super) behind: u64,
    /// What lies in the state folder; only where the service tells nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) bottles: Option<Bottles>,
    /// What was handed over at compactions, of the sessions below.
    pub(super) deliveries: Vec<History>,
    /// What went wrong last in a hook, within a day.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) hooks: Option<String>,
    /// What the service tells; what the disk tells where it does not.
    #[serde(flatten)]
    pub(super) status: Status,
}

impl Report {
    /// What the service told, of all sessions or of the one that was asked for.
    pub(super) fn running(status: Status, asked: bool) -> Self {
        let behind = if asked { behind(&status).sum() } else { status.totals.behind };
        let mut report = Self {
            running: true,
            health: Health::Current,
            asked,
            problem: None,
            behind,
            bottles: None,
            deliveries: Vec::new(),
            hooks: None,
            status,
        };
        if !report.troubles().is_empty() {
            report.health = Health::Troubled;
        } else if behind > 0 {
            report.health = Health::Behind;
        }
        report
    }

    /// What the disk tells, and why the service does not.
    pub(super) fn without(
        error: &ClientError,
        status: Status,
        bottles: Bottles,
        asked: bool,
    ) -> Self {
        let is_down = matches!(error, ClientError::Down);
        Self {
            running: !is_down,
            health: if is_down { Health::Down } else { Health::Silent },
            problem: Some(error.to_string()),
            asked,
            behind: 0,
            bottles: Some(bottles),
            deliveries: Vec::new(),
            hooks: None,
            status,
        }
    }

    /// What went wrong, of the service and of its sessions.
    pub(super) fn troubles(&self) -> Vec<String> {
        let of_sessions = self.status.sessions.iter().filter_map(|session| {
            let trouble = session.trouble.as_ref()?;
            Some(format!("{}: {trouble}", session.id))
        });
        self.status.troubles.iter().cloned().chain(of_sessions).collect()
    }
}
