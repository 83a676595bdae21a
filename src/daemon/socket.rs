//! The Unix socket: the only place of the service where tokio lives.
//!
//! One thread accepts connections, reads requests, passes them on, and writes the replies that it
//! is given. It knows the open requests and nothing else.
//!
//! Invariant: nothing that a client does makes another client wait: each has its own task, its
//! deadlines and its bounded buffer. Refuses: other users, lines that are too long, and requests
//! that are not of this protocol, with words that say what was wrong.

mod bind;
mod connection;
mod serve;
#[cfg(test)]
mod tests;

use std::{
    io,
    path::{Path, PathBuf},
    rc::Rc,
    thread::JoinHandle,
    time::Duration,
};

use tokio::{
    runtime::{Builder, Runtime},
    sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel},
    task::LocalSet,
};

use crate::{
    engine::{
        event::RequestId,
        request::{Reply, Request},
    },
    files::FileError,
};

/// What clients do.
#[derive(Debug, PartialEq, Eq)]
pub enum EdgeEvent {
    /// One asks. It is answered by [`Edge::reply`].
    Request(RequestId, Request),
    /// The one that asked this is gone; no reply is needed.
    HungUp(RequestId),
}

/// Why there is no socket.
#[derive(Debug, thiserror::Error)]
pub enum SocketError {
    /// Its folder can't be used.
    #[error(transparent)]
    Folder(#[from] FileError),
    /// A service answers there.
    #[error("another service answers at {path}; `endless stop` ends it")]
    InUse {
        /// The socket.
        path: PathBuf,
    },
    /// Something else has its place.
    #[error("{path} is not a socket; move it away")]
    NotSocket {
        /// What was found.
        path: PathBuf,
    },
    /// It can't be made.
    #[error("failed to open the socket {path}")]
    Bind {
        /// The socket.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// Its thread can't be started.
    #[error("failed to start the socket's thread")]
    Thread(#[source] io::Error),
}

/// How much patience clients are shown.
#[derive(Debug, Clone)]
struct Limits {
    /// Bytes of a request.
    request: usize,
    /// For the rest of a line that has begun.
    line: Duration,
    /// Between requests.
    idle: Duration,
    /// For taking a reply.
    write: Duration,
    /// For all clients to take their last replies when the service ends.
    linger: Duration,
    /// How often it is looked whether a client is still there that has sent all it wants to send.
    look: Duration,
    /// Connections at once.
    connections: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            request: 64 * 1024,
            line: Duration::from_secs(5),
            idle: Duration::from_secs(60),
            write: Duration::from_secs(5),
            linger: Duration::from_secs(1),
            look: Duration::from_millis(100),
            connections: 128,
        }
    }
}

/// The socket, open until this is dropped.
#[derive(Debug)]
pub struct Edge {
    // Dropped in this order: nobody finds the socket any more, then those who are there get what
    // was replied to them, then the thread has ended.
    _file: bind::SocketFile,
    replies: Replies,
    _thread: Joined,
}

type Replies = UnboundedSender<(RequestId, Reply)>;

impl Edge {
    /// Opens the socket. A file that a dead service left there is removed; only the owner of the
    /// state folder may do this. `requests` is called on the socket's thread and must not block.
    ///
    /// # Errors
    /// Where the socket can't be opened, or somebody answers there.
    pub fn start(
        path: &Path,
        requests: impl Fn(EdgeEvent) + Send + 'static,
    ) -> Result<Self, SocketError> {
        Self::with_limits(path, Limits::default(), requests)
    }

    fn with_limits(
        path: &Path,
        limits: Limits,
        requests: impl Fn(EdgeEvent) + Send + 'static,
    ) -> Result<Self, SocketError> {
        let runtime =
            Builder::new_current_thread().enable_all().build().map_err(SocketError::Thread)?;
        let (listener, file) = runtime.block_on(bind::bind(path))?;
        let (replies, inbox) = unbounded_channel();
        let thread = std::thread::Builder::new()
            .name("socket".to_owned())
            .spawn(move || run(&runtime, listener, Box::new(requests), limits, inbox))
            .map_err(SocketError::Thread)?;
        Ok(Self { _file: file, replies, _thread: Joined(Some(thread)) })
    }

    /// Answers a request. Where its client is gone nothing happens.
    pub fn reply(&self, id: RequestId, reply: Reply) {
        // The thread lives as long as this.
        self.replies.send((id, reply)).ok();
    }
}

fn run(
    runtime: &Runtime,
    listener: tokio::net::UnixListener,
    requests: Box<dyn Fn(EdgeEvent)>,
    limits: Limits,
    replies: UnboundedReceiver<(RequestId, Reply)>,
) {
    let shared = Rc::new(serve::Shared::new(requests, limits));
    LocalSet::new().block_on(runtime, serve::serve(listener, shared, replies));
}

/// A thread that is waited for.
#[derive(Debug)]
struct Joined(Option<JoinHandle<()>>);

impl Drop for Joined {
    fn drop(&mut self) {
        if let Some(thread) = self.0.take() {
            // Where it panicked, that was told already.
            thread.join().ok();
        }
    }
}
