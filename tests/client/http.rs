//! As much of HTTP/1.1 as the client speaks: requests with a length, replies whole or in chunks.
use std::{
    io::{self, BufRead, BufReader, Read, Write},
    net::TcpStream,
};

use serde_json::{Value, json};

/// What was asked for.
pub(crate) struct Asked {
    pub(crate) method: String,
    /// Without the query.
    pub(crate) path: String,
    /// What came with it; null where that is no JSON.
    pub(crate) body: Value,
    /// Bytes of the body.
    pub(crate) length: usize,
}

/// One connection, over which requests come one after the other.
pub(crate) struct Connection {
    from: BufReader<TcpStream>,
    to: TcpStream,
}

impl Connection {
    pub(crate) fn new(stream: TcpStream) -> io::Result<Self> {
        stream.set_nodelay(true)?;
        Ok(Self { from: BufReader::new(stream.try_clone()?), to: stream })
    }

    /// The next request; none where the client has hung up.
    pub(crate) fn next(&mut self) -> io::Result<Option<Asked>> {
        let mut line = String::new();
        if self.from.read_line(&mut line)? == 0 {
            return Ok(None);
        }
        let mut words = line.split_whitespace();
        let method = words.next().unwrap_or_default().to_owned();
        let target = words.next().unwrap_or_default();
        let path = target.split('?').next().unwrap_or_default().to_owned();
        let length = self.length()?;
        let mut body = vec![0; length];
        self.from.read_exact(&mut body)?;
        let body = serde_json::from_slice(&body).unwrap_or_default();
        Ok(Some(Asked { method, path, body, length }))
    }

    /// Reads the headers: the length of the body.
    fn length(&mut self) -> io::Result<usize> {
        let mut length = 0;
        loop {
            let mut line = String::new();
            if self.from.read_line(&mut line)? == 0 || line.trim().is_empty() {
                return Ok(length);
            }
            let (name, value) = line.split_once(':').unwrap_or_default();
            if name.eq_ignore_ascii_case("content-length") {
                length = value.trim().parse().unwrap_or_default();
            }
        }
    }

    /// A whole reply.
    pub(crate) fn reply(&mut self, status: u16, body: &Value) -> io::Result<()> {
        let body = body.to_string();
        let length = body.len();
        write!(
            self.to,
            "HTTP/1.1 {status} {status}\r\ncontent-type: application/json\r\n\
             content-length: {length}\r\n\r\n{body}"
        )
    }

    /// The reply to a HEAD: no body.
    pub(crate) fn nothing(&mut self) -> io::Result<()> {
        self.to.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n")
    }

    /// An error as the API tells it.
    pub(crate) fn refuse(&mut self, status: u16, kind: &str, message: &str) -> io::Result<()> {
        let error = json!({"type": kind, "message": message});
        self.reply(status, &json!({"type": "error", "error": error}))
    }

    /// Begins a reply of events.
    pub(crate) fn stream(&mut self) -> io::Result<()> {
        self.to.write_all(
            b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream; charset=utf-8\r\n\
              cache-control: no-cache\r\ntransfer-encoding: chunked\r\n\r\n",
        )
    }

    /// One event; its name stands in it too.
    pub(crate) fn event(&mut self, event: &Value) -> io::Result<()> {
        let name = event["type"].as_str().unwrap_or_default();
        let text = format!("event: {name}\ndata: {event}\n\n");
        write!(self.to, "{:x}\r\n{text}\r\n", text.len())
    }

    /// Ends a reply of events.
    pub(crate) fn end(&mut self) -> io::Result<()> {
        self.to.write_all(b"0\r\n\r\n")
    }
}
