//! Tells systemd that the service is ready (`Type=notify`).
//!
//! One datagram to the socket that `NOTIFY_SOCKET` names; nothing where there is none.
use std::{ffi::OsStr, os::unix::net::UnixDatagram};

/// Sends a state, such as `READY=1`.
pub(super) fn tell(socket: Option<&OsStr>, state: &str) {
    let Some(path) = socket else { return };
    let sent = UnixDatagram::unbound().and_then(|datagram| send(&datagram, path, state));
    if let Err(error) = sent {
        tracing::warn!("systemd was not told `{state}`: {error}");
    }
}

#[cfg(target_os = "linux")]
fn send(datagram: &UnixDatagram, path: &OsStr, state: &str) -> std::io::Result<usize> {
    use std::os::{
        linux::net::SocketAddrExt,
        unix::{ffi::OsStrExt, net::SocketAddr},
    };
    let address = match path.as_bytes().strip_prefix(b"@") {
        Some(name) => SocketAddr::from_abstract_name(name)?,
        None => SocketAddr::from_pathname(path)?,
    };
    datagram.send_to_addr(state.as_bytes(), &address)
}

#[cfg(not(target_os = "linux"))]
fn send(datagram: &UnixDatagram, path: &OsStr, state: &str) -> std::io::Result<usize> {
    datagram.send_to(state.as_bytes(), path)
}
