//! Asks the service: quickly, or not at all.
//!
//! Hooks use this, so it is blocking and small, and every wait has a deadline. Invariant: nothing
//! is sent to, or taken from, a service of another user. Refuses: to go on with a connection on
//! which a question has failed, since the next answer there may be that of the failed one.

mod connect;
pub mod hook;
#[cfg(test)]
mod tests;

use std::{
    fmt,
    io::{self, Read, Write},
    os::unix::net::UnixStream,
    path::PathBuf,
    time::{Duration, Instant},
};

use crate::{
    engine::{
        request::{PROTOCOL, Reply, Request},
        wire::{self, WireError},
    },
    paths::Paths,
};

/// How long a hook waits to be let in.
pub const CONNECT: Duration = Duration::from_millis(50);
/// Bytes of an answer.
const LONGEST: usize = 64 << 20;
/// Bytes of a read.
const CHUNK: usize = 64 * 1024;

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// Nobody listens.
    #[error("the service is not running")]
    Down,
    /// The deadline has passed.
    #[error("the service did not answer within {0:?}")]
    TooSlow(Duration),
    /// The service is of another version.
    #[error(
        "the service speaks protocol {theirs}, this program speaks protocol {PROTOCOL}: update the \
         older of the two, and start the service again"
    )]
    OtherProtocol {
        /// The service's protocol.
        theirs: u64,
    },
    /// Another user listens there.
    #[error("{path} is the socket of another user")]
    NotOurs {
        /// The socket.
        path: PathBuf,
    },
    /// The connection failed, or what came is no answer.
    #[error("the connection to the service failed: {0}")]
    Broken(String),
}

/// A connection to the service.
#[derive(Debug)]
pub struct Client {
    /// None once a question has failed.
    stream: Option<UnixStream>,
}

impl Client {
    /// Connects to the service of this state folder. Hooks wait for [`CONNECT`].
    ///
    /// # Errors
    /// [`ClientError::Down`] where nobody listens.
    pub fn connect(paths: &Paths, timeout: Duration) -> Result<Self, ClientError> {
        let stream = connect::connect(&paths.socket, timeout)?;
        connect::check_owner(&stream, &paths.socket)?;
        Ok(Self { stream: Some(stream) })
    }

    /// Asks, and waits for the answer. [`Reply::Error`] is an answer.
    ///
    /// # Errors
    /// Where none came in time. This connection is then of no further use.
    pub fn ask(&mut self, request: &Request, deadline: Duration) -> Result<Reply, ClientError> {
        let until = Instant::now() + deadline;
        let stream = self.stream.take().ok_or_else(|| broken("an earlier question failed"))?;
        let line = wire::write_request(request).map_err(broken)?;
        let sent = send(&stream, &line, until);
        // Whoever refuses a client may say why before it has read what is asked.
        let answer = receive(&stream, until).map_err(|error| sent.err().unwrap_or(error));
        let answer = answer.map_err(|error| explain(&error, deadline))?;
        let reply = wire::read_reply(&answer).map_err(|error| match error {
            WireError::OtherProtocol { theirs } => ClientError::OtherProtocol { theirs },
            error => broken(error),
        })?;
        self.stream = Some(stream);
        Ok(reply)
    }
}

fn broken(why: impl fmt::Display) -> ClientError {
    ClientError::Broken(why.to_string())
}

fn explain(error: &io::Error, deadline: Duration) -> ClientError {
    match error.kind() {
        io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => ClientError::TooSlow(deadline),
        io::ErrorKind::UnexpectedEof
        | io::ErrorKind::BrokenPipe
        | io::ErrorKind::ConnectionReset => broken("it was closed without an answer"),
        _ => broken(error),
    }
}

fn send(mut stream: &UnixStream, mut line: &[u8], until: Instant) -> io::Result<()> {
    while !line.is_empty() {
        stream.set_write_timeout(Some(left(until)?))?;
        match stream.write(line) {
            Ok(written) => line = &line[written..],
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// The answer, without the newline at its end.
fn receive(mut stream: &UnixStream, until: Instant) -> io::Result<Vec<u8>> {
    let mut answer = Vec::new();
    let mut chunk = vec![0; CHUNK];
    loop {
        stream.set_read_timeout(Some(left(until)?))?;
        let part = match stream.read(&mut chunk) {
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(read) => &chunk[..read],
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        let newline = memchr::memchr(b'\n', part);
        answer.extend_from_slice(&part[..newline.unwrap_or(part.len())]);
        if newline.is_some() {
            return Ok(answer);
        }
        if answer.len() > LONGEST {
            return Err(io::Error::other("the answer is too long"));
        }
    }
}

fn left(until: Instant) -> io::Result<Duration> {
    let left = until.saturating_duration_since(Instant::now());
    if left.is_zero() { Err(io::ErrorKind::TimedOut.into()) } else { Ok(left) }
}
