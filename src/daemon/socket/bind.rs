//! Opens the socket's file, and takes it away.
//!
//! Invariant: nobody can connect before the file is private, since the socket listens only then.
//! Refuses: to remove a file that is no socket, or that somebody answers at.
use std::{
    fs::{self, Permissions},
    io,
    os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt},
    path::{Path, PathBuf},
    time::Duration,
};

use tokio::{
    net::{UnixListener, UnixSocket, UnixStream},
    time::timeout,
};

use super::SocketError;
use crate::files::private_folder;

/// Connections that may wait to be accepted; the system may allow fewer.
const BACKLOG: u32 = 1024;
/// How long somebody who holds the socket may take to show it.
const PATIENCE: Duration = Duration::from_secs(1);

/// The socket's file: removed when this is dropped, if it is still ours.
#[derive(Debug)]
pub(super) struct SocketFile {
    path: PathBuf,
    identity: (u64, u64),
}

/// Opens the socket at `path`.
pub(super) async fn bind(path: &Path) -> Result<(UnixListener, SocketFile), SocketError> {
    if let Some(folder) = path.parent() {
        private_folder(folder)?;
    }
    remove_stale(path).await?;
    let failed = |source| SocketError::Bind { path: path.to_owned(), source };
    let socket = UnixSocket::new_stream().map_err(failed)?;
    socket.bind(path).map_err(failed)?;
    fs::set_permissions(path, Permissions::from_mode(0o600)).map_err(failed)?;
    let file = SocketFile { path: path.to_owned(), identity: identity(path).map_err(failed)? };
    Ok((socket.listen(BACKLOG).map_err(failed)?, file))
}

/// Removes what a service left that was killed.
async fn remove_stale(path: &Path) -> Result<(), SocketError> {
    let failed = |source| SocketError::Bind { path: path.to_owned(), source };
    match fs::symlink_metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(failed(error)),
        Ok(data) if !data.file_type().is_socket() => {
            return Err(SocketError::NotSocket { path: path.to_owned() });
        }
        Ok(_) => {}
    }
    match timeout(PATIENCE, UnixStream::connect(path)).await {
        Ok(Err(error)) if error.kind() == io::ErrorKind::ConnectionRefused => {}
        Ok(Err(error)) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        // Where too many wait already (`WouldBlock`), somebody is there as well.
        Ok(_) | Err(_) => return Err(SocketError::InUse { path: path.to_owned() }),
    }
    fs::remove_file(path).map_err(failed)
}

fn identity(path: &Path) -> io::Result<(u64, u64)> {
    fs::symlink_metadata(path).map(|data| (data.dev(), data.ino()))
}

impl Drop for SocketFile {
    fn drop(&mut self) {
        if identity(&self.path).is_ok_and(|identity| identity == self.identity) {
            // A file that stays is taken for what it is by the next service.
            fs::remove_file(&self.path).ok();
        }
    }
}
