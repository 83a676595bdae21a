//! Ends a service that the service manager knows nothing of.

use std::{
    path::PathBuf,
    thread,
    time::{Duration, Instant},
};

use super::work::Work;
use crate::{
    client::{Client, ClientError},
    engine::request::Request,
    paths::Paths,
};

/// How long a service may take to end.
const PATIENCE: Duration = Duration::from_secs(15);
const CONNECT: Duration = Duration::from_secs(1);
const PAUSE: Duration = Duration::from_millis(50);

/// A service does not end.
#[derive(Debug, thiserror::Error)]
#[error("a service still uses {home}: stop it, then do this again")]
pub struct StillRunning {
    /// The state folder.
    pub home: PathBuf,
    /// Why it did not end; none where it only takes long.
    pub source: Option<ClientError>,
}

/// Ends the service that uses the state folder, if one does.
pub(super) fn end(work: &mut Work<'_>, paths: &Paths) -> Result<(), StillRunning> {
    let running = |source| StillRunning { home: paths.home.clone(), source };
    let mut client = match Client::connect(paths, CONNECT) {
        Err(ClientError::Down) => return Ok(()),
        connected => connected.map_err(|error| running(Some(error)))?,
    };
    work.step("stopped", "stop", "the service that runs now");
    if work.dry_run {
        return Ok(());
    }
    let asked = client.ask(&Request::Shutdown {}, PATIENCE);
    asked.map_err(|error| running(Some(error)))?;
    let until = Instant::now() + PATIENCE;
    while !matches!(Client::connect(paths, CONNECT), Err(ClientError::Down)) {
        if Instant::now() > until {
            return Err(running(None));
        }
        thread::sleep(PAUSE);
    }
    Ok(())
}
