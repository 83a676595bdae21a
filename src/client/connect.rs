//! Connects to a socket, within a time, and looks at who listens there.
//!
//! The standard library connects without a deadline, and a connect to a socket whose queue is full
//! waits for as long as that takes.
use std::{
    os::unix::net::UnixStream,
    path::Path,
    thread,
    time::{Duration, Instant},
};

use rustix::{
    io::{Errno, FdFlags, fcntl_setfd, ioctl_fionbio},
    net::{AddressFamily, SocketAddrUnix, SocketType, socket},
};

use super::{ClientError, broken};

/// How long it is waited until a full queue is tried again.
const PAUSE: Duration = Duration::from_millis(1);

/// Connects to the socket at `path`.
pub(super) fn connect(path: &Path, timeout: Duration) -> Result<UnixStream, ClientError> {
    let until = Instant::now() + timeout;
    let failed = |error: Errno| broken(format_args!("{}: {error}", path.display()));
    let address = SocketAddrUnix::new(path).map_err(failed)?;
    let socket = socket(AddressFamily::UNIX, SocketType::STREAM, None).map_err(failed)?;
    fcntl_setfd(&socket, FdFlags::CLOEXEC).map_err(failed)?;
    ioctl_fionbio(&socket, true).map_err(failed)?;
    loop {
        match rustix::net::connect(&socket, &address) {
            Ok(()) => break,
            Err(Errno::NOENT | Errno::NOTDIR | Errno::CONNREFUSED) => {
                return Err(ClientError::Down);
            }
            Err(Errno::AGAIN | Errno::INTR) if Instant::now() < until => thread::sleep(PAUSE),
            Err(Errno::AGAIN | Errno::INTR) => return Err(ClientError::TooSlow(timeout)),
            Err(error) => return Err(failed(error)),
        }
    }
    ioctl_fionbio(&socket, false).map_err(failed)?;
    Ok(socket.into())
}

/// Refuses a service of another user.
pub(super) fn check_owner(stream: &UnixStream, path: &Path) -> Result<(), ClientError> {
    let ours = rustix::process::geteuid().as_raw();
    if owner(stream, path) == Some(ours) {
        return Ok(());
    }
    Err(ClientError::NotOurs { path: path.to_owned() })
}

#[cfg(target_os = "linux")]
fn owner(stream: &UnixStream, _path: &Path) -> Option<u32> {
    rustix::net::sockopt::socket_peercred(stream).ok().map(|peer| peer.uid.as_raw())
}

#[cfg(not(target_os = "linux"))]
fn owner(_stream: &UnixStream, path: &Path) -> Option<u32> {
    owner_of_file(path)
}

/// The user that both the file and its folder belong to.
#[cfg(any(test, not(target_os = "linux")))]
pub(super) fn owner_of_file(path: &Path) -> Option<u32> {
    use std::{fs, os::unix::fs::MetadataExt};
    let file = fs::symlink_metadata(path).ok()?.uid();
    let folder = fs::metadata(path.parent()?).ok()?.uid();
    (file == folder).then_some(file)
}
