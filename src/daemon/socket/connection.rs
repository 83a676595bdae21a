//! One connection: requests in, replies out, one after the other.
//!
//! Invariant: it holds at most one request and one reply, and ends by itself: every wait but that
//! for the owner's reply has a deadline, and that one ends when the client is gone.
use std::{
    future::{Future, poll_fn},
    io,
    pin::pin,
    rc::Rc,
    task::Poll,
};

use tokio::{
    io::{AsyncWriteExt, Interest},
    net::UnixStream,
    time::{Instant, sleep, timeout, timeout_at},
};

use super::serve::{ENDING, Idle, Place, Shared};
use crate::engine::{
    request::Reply,
    wire::{self, WireError},
};

/// Bytes of a read.
const CHUNK: usize = 4096;

/// Why a connection ends.
enum Close {
    /// Nobody is there, or nobody reads.
    Gone,
    /// What came is not accepted.
    Refused(String),
}

impl From<WireError> for Close {
    fn from(error: WireError) -> Self {
        Self::Refused(error.to_string())
    }
}

struct Connection {
    stream: UnixStream,
    /// What has come and is no request yet.
    buffer: Vec<u8>,
    /// Bytes of it that hold no newline.
    scanned: usize,
    /// The client sends nothing more.
    ended: bool,
    place: Place,
}

/// Answers the requests of a client until it has no more, or asks what can't be answered.
pub(super) async fn serve(stream: UnixStream, place: Place) {
    let mut connection = Connection { stream, buffer: Vec::new(), scanned: 0, ended: false, place };
    loop {
        match connection.serve_one().await {
            Ok(()) => {}
            Err(Close::Gone) => return,
            Err(Close::Refused(why)) => {
                connection.write(&Reply::Error(why)).await.ok();
                return;
            }
        }
    }
}

impl Connection {
    async fn serve_one(&mut self) -> Result<(), Close> {
        let line = self.line().await?;
        let request = wire::read_request(&line)?;
        drop(line);
        let shared = Rc::clone(self.shared());
        let (id, reply) = shared.ask(request);
        match first(reply, self.hung_up()).await {
            First::One(Ok(reply)) => self.write(&reply).await,
            First::One(Err(_)) => Err(Close::Refused(ENDING.to_owned())),
            First::Other(()) => {
                shared.hang_up(id);
                Err(Close::Gone)
            }
        }
    }

    fn shared(&self) -> &Rc<Shared> {
        &self.place.shared
    }

    /// The next line.
    async fn line(&mut self) -> Result<Vec<u8>, Close> {
        let shared = Rc::clone(self.shared());
        if shared.is_ending() {
            return Err(Close::Gone);
        }
        let mut idle = Idle::new(&shared);
        let idle_until = Instant::now() + shared.limits.idle;
        let mut line_until = None;
        loop {
            if let Some(line) = self.take_line()? {
                return Ok(line);
            }
            if self.ended {
                return Err(self.incomplete("the line has no newline at its end"));
            }
            let until = if self.buffer.is_empty() {
                idle_until
            } else {
                *line_until.get_or_insert_with(|| Instant::now() + shared.limits.line)
            };
            match first(&mut idle.dismissed, timeout_at(until, self.fill())).await {
                First::One(Ok(why)) => return Err(Close::Refused(why.to_owned())),
                First::One(Err(_)) => return Err(self.incomplete(ENDING)),
                First::Other(Ok(filled)) => filled.map_err(|_| Close::Gone)?,
                First::Other(Err(_)) => {
                    return Err(self.incomplete("the rest of the line did not come in time"));
                }
            }
        }
    }

    /// Somebody who has not begun to ask is told nothing.
    fn incomplete(&self, why: &str) -> Close {
        if self.buffer.is_empty() { Close::Gone } else { Close::Refused(why.to_owned()) }
    }

    fn take_line(&mut self) -> Result<Option<Vec<u8>>, Close> {
        let most = self.shared().limits.request;
        let newline = memchr::memchr(b'\n', &self.buffer[self.scanned..]);
        let length = newline.map_or(self.buffer.len(), |at| self.scanned + at);
        if length > most {
            return Err(Close::Refused(format!("a request has at most {most} bytes")));
        }
        self.scanned = length;
        if newline.is_none() {
            return Ok(None);
        }
        let rest = self.buffer.split_off(length + 1);
        self.scanned = 0;
        Ok(Some(std::mem::replace(&mut self.buffer, rest)))
    }

    /// Takes what has come, or notes that nothing more will.
    async fn fill(&mut self) -> io::Result<()> {
        loop {
            self.stream.readable().await?;
            self.buffer.reserve(CHUNK);
            match self.stream.try_read_buf(&mut self.buffer) {
                Ok(read) => {
                    self.ended = read == 0;
                    return Ok(());
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// Waits until the client is gone. It may well have sent all that it has to send, and wait.
    async fn hung_up(&mut self) {
        while !self.ended && self.buffer.len() <= self.shared().limits.request {
            if self.fill().await.is_err() {
                return;
            }
        }
        while !self.is_closed().await {
            sleep(self.shared().limits.look).await;
        }
    }

    /// Whether the client reads nothing more either.
    async fn is_closed(&self) -> bool {
        let ready = self.stream.ready(Interest::READABLE | Interest::WRITABLE).await;
        ready.map_or(true, tokio::io::Ready::is_write_closed)
    }

    async fn write(&mut self, reply: &Reply) -> Result<(), Close> {
        let line = wire::write_reply(reply).map_err(|_| Close::Gone)?;
        match timeout(self.shared().limits.write, self.stream.write_all(&line)).await {
            Ok(Ok(())) => Ok(()),
            Ok(Err(_)) | Err(_) => Err(Close::Gone),
        }
    }
}

/// What was ready first.
enum First<A, B> {
    One(A),
    Other(B),
}

/// Waits for either; where both are ready, for the first.
async fn first<A, B>(one: impl Future<Output = A>, other: impl Future<Output = B>) -> First<A, B> {
    let (mut one, mut other) = (pin!(one), pin!(other));
    poll_fn(|context| match one.as_mut().poll(context) {
        Poll::Ready(value) => Poll::Ready(First::One(value)),
        Poll::Pending => other.as_mut().poll(context).map(First::Other),
    })
    .await
}
