//! What a hook of the host does: tell the service, and print a pointer where one is to be printed.
//!
//! The ladder: the service answers; else, for what must not be lost, this process renders and claims
//! by itself; else nothing is printed, and the host does what it does anyway.
//!
//! Invariant: what is printed is nothing or one JSON object, the exit status is 0, and it ends within
//! the event's time whatever hangs. Refuses: to parse a transcript or to open the database while the
//! service answers, and to print a pointer to a file that it can't open.

mod alone;
pub mod log;
pub mod payload;
mod permission;
pub mod stdin;

use std::{
    fs::File,
    sync::mpsc,
    thread,
    time::{Duration, Instant},
};

use super::{CONNECT, Client, ClientError};
use crate::{
    config::{Config, Resume},
    engine::{
        hook::{HookEvent, HookKind, PrintReply},
        request::{Reply, Request},
    },
};
use alone::Alone;
use payload::{Payload, Wants};

/// How long a hook of an event may take, and how much of that is the service's.
struct Patience {
    whole: Duration,
    service: Duration,
}

fn patience(event: &HookKind) -> Patience {
    let (whole, service) = match event {
        HookKind::Compacted {} | HookKind::Resumed { .. } => (1_000, 500),
        HookKind::Compacting { .. } => (2_000, 1_900),
        HookKind::Prompted { .. } => (200, 120),
        // A fork's transcript is written some 100 ms after its first event.
        HookKind::Permission { .. } => (500, 400),
        // Without a service the hook archives by itself; the host gives it 1.5 seconds.
        HookKind::Cleared {} => (1_000, 50),
        HookKind::Began | HookKind::Ended { .. } => (50, 50),
    };
    let milliseconds = Duration::from_millis;
    Patience { whole: milliseconds(whole), service: milliseconds(service) }
}

/// What a hook leaves: what to print, and what went wrong on the way.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Hooked {
    /// One JSON object, or nothing.
    pub output: Option<String>,
    /// For the log of hooks.
    pub troubles: Vec<String>,
}

/// Does what an event asks for.
pub fn run(config: &Config, payload: &Payload) -> Hooked {
    let began = Instant::now();
    let mut hooked = Hooked::default();
    match &payload.wants {
        Wants::Nothing => {}
        Wants::Read { file } => {
            if permission::is_allowed(config, payload, file, &mut hooked.troubles) {
                hooked.output = Some(payload::allow());
            }
        }
        Wants::Event(event) => {
            let event = with_configuration(event.clone(), config.resume);
            if matches!(event, HookKind::Began) {
                return hooked;
            }
            let printed = tell(config, payload, &event, began, &mut hooked.troubles);
            hooked.output = printed.map(|reply| payload::context(payload.name, &reply.text));
        }
    }
    hooked
}

/// What the configuration says of resumed sessions.
fn with_configuration(event: HookKind, resume: Resume) -> HookKind {
    match (event, resume) {
        (HookKind::Resumed { .. }, Resume::Never) => HookKind::Began,
        (HookKind::Resumed { .. }, resume) => {
            HookKind::Resumed { always: resume == Resume::Always }
        }
        (event, _) => event,
    }
}

/// The pointer to print, if there is one: the service's, else this process's own.
fn tell(
    config: &Config,
    payload: &Payload,
    event: &HookKind,
    began: Instant,
    troubles: &mut Vec<String>,
) -> Option<PrintReply> {
    let patience = patience(event);
    let token = token();
    match ask(config, payload, event, &token, patience.service) {
        Ok(Reply::Print(None) | Reply::Seal(_)) => return None,
        Ok(Reply::Print(Some(reply))) if File::open(&reply.path).is_ok() => return Some(reply),
        Ok(Reply::Print(Some(reply))) => {
            troubles.push(format!("the pointer's file can't be opened: {}", reply.path));
        }
        Ok(Reply::Error(why)) => troubles.push(format!("the service: {why}")),
        // The service may look in other folders than the host writes to. That it is unknown there, or
        // that no service runs, is no trouble of the hook's.
        Ok(Reply::Unknown) | Err(ClientError::Down) => {}
        Ok(other) => troubles.push(format!("the service answered {other:?}")),
        Err(error) => troubles.push(error.to_string()),
    }
    let left = patience.whole.saturating_sub(began.elapsed());
    alone(config, payload, event, token, left, troubles)
}

fn ask(
    config: &Config,
    payload: &Payload,
    event: &HookKind,
    token: &str,
    service: Duration,
) -> Result<Reply, ClientError> {
    let hook = HookEvent {
        session: payload.session.to_string(),
        path: payload.transcript.clone(),
        event: event.clone(),
        token: token.to_owned(),
        deadline: u64::try_from(service.as_millis()).unwrap_or(u64::MAX),
    };
    let began = Instant::now();
    let mut client = Client::connect(&config.paths, CONNECT.min(service))?;
    client.ask(&Request::Hook(Box::new(hook)), service.saturating_sub(began.elapsed()))
}

/// This process does it by itself, on a thread that it does not wait for longer than it may.
fn alone(
    config: &Config,
    payload: &Payload,
    event: &HookKind,
    token: String,
    left: Duration,
    troubles: &mut Vec<String>,
) -> Option<PrintReply> {
    if !Alone::is_for(event) {
        return None;
    }
    let alone = Alone::new(config, payload, event.clone(), token);
    let (sender, receiver) = mpsc::sync_channel(1);
    let work = move || sender.send(alone.run());
    if let Err(error) = thread::Builder::new().name("hook".to_owned()).spawn(work) {
        troubles.push(format!("can't start a thread: {error}"));
        return None;
    }
    match receiver.recv_timeout(left) {
        Ok(Ok(printed)) => printed.filter(|reply| File::open(&reply.path).is_ok()),
        Ok(Err(why)) => {
            troubles.push(why);
            None
        }
        Err(_) => {
            troubles.push("there was not enough time to render the session".to_owned());
            None
        }
    }
}

/// A number that no other hook has.
fn token() -> String {
    use std::hash::{BuildHasher as _, Hasher as _, RandomState};
    let mut random = RandomState::new().build_hasher();
    random.write_u32(std::process::id());
    format!("{:016x}{:016x}", random.finish(), RandomState::new().build_hasher().finish())
}
