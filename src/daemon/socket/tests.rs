//! Clients of every kind, against a socket with a made-up owner.
use std::{
    fs,
    io::{BufRead, BufReader, Read, Write},
    net::Shutdown,
    os::unix::{
        fs::{MetadataExt, PermissionsExt},
        net::{UnixListener, UnixStream},
    },
    path::PathBuf,
    sync::{Arc, Weak, mpsc},
    thread,
    time::Duration,
};

use super::{Edge, EdgeEvent, Limits, SocketError};
use crate::engine::{
    event::RequestId,
    request::{Reply, Request},
};

/// More than anything takes that goes well.
const LONG: Duration = Duration::from_secs(20);
const SHORT: Duration = Duration::from_millis(50);

const SESSIONS: &str = r#"{"protocol":1,"request":{"sessions":{}}}"#;
const EMPTY: &str = r#"{"protocol":1,"reply":{"sessions":[]}}"#;

struct Service {
    _folder: tempfile::TempDir,
    path: PathBuf,
    edge: Option<Arc<Edge>>,
    opened: mpsc::Receiver<RequestId>,
    hung_up: mpsc::Receiver<RequestId>,
}

fn patient() -> Limits {
    Limits { line: LONG, idle: LONG, write: LONG, linger: LONG, ..Limits::default() }
}

impl Service {
    fn start(limits: Limits) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("endless.sock");
        let (events, inbox) = mpsc::channel();
        let edge = Edge::with_limits(&path, limits, move |event| events.send(event).unwrap());
        let edge = Arc::new(edge.unwrap());
        let (open, opened) = mpsc::channel();
        let (hang_up, hung_up) = mpsc::channel();
        let weak = Arc::downgrade(&edge);
        thread::spawn(move || {
            for event in inbox {
                match event {
                    EdgeEvent::Request(id, request) => answer(&weak, id, request, &open),
                    EdgeEvent::HungUp(id) => hang_up.send(id).unwrap(),
                }
            }
        });
        Self { _folder: folder, path, edge: Some(edge), opened, hung_up }
    }

    fn connect(&self) -> Client {
        let stream = UnixStream::connect(&self.path).unwrap();
        stream.set_read_timeout(Some(LONG)).unwrap();
        stream.set_write_timeout(Some(LONG)).unwrap();
        Client { lines: BufReader::new(stream) }
    }

    /// Others are served.
    fn check_others(&self) {
        let mut client = self.connect();
        client.say(SESSIONS);
        assert_eq!(client.line(), EMPTY);
    }

    fn reply(&self, id: RequestId, reply: Reply) {
        self.edge.as_ref().unwrap().reply(id, reply);
    }
}

/// `flush` stays open, and `render` gets an answer that is long.
fn answer(edge: &Weak<Edge>, id: RequestId, request: Request, open: &mpsc::Sender<RequestId>) {
    let reply = match request {
        Request::Flush { .. } => return open.send(id).unwrap(),
        Request::Render { .. } => Reply::Error("x".repeat(8 << 20)),
        Request::Status { session, .. } => Reply::Error(session.unwrap_or_default()),
        _ => Reply::Sessions(Vec::new()),
    };
    if let Some(edge) = edge.upgrade() {
        edge.reply(id, reply);
    }
}

struct Client {
    lines: BufReader<UnixStream>,
}

impl Client {
    fn say(&mut self, line: &str) {
        self.lines.get_mut().write_all(format!("{line}\n").as_bytes()).unwrap();
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        self.lines.read_line(&mut line).unwrap();
        line.trim_end().to_owned()
    }

    /// The last error, after which nothing comes.
    fn refusal(&mut self) -> String {
        let line = self.line();
        let line = line.strip_prefix(r#"{"protocol":1,"reply":{"error":""#);
        let error = line.unwrap().strip_suffix(r#""}}"#).unwrap().to_owned();
        assert!(self.is_closed());
        error
    }

    /// A close with unread bytes is seen as a reset.
    fn is_closed(&mut self) -> bool {
        match self.lines.read(&mut [0]) {
            Ok(read) => read == 0,
            Err(error) => error.kind() == std::io::ErrorKind::ConnectionReset,
        }
    }
}

fn flush(session: &str) -> String {
    format!(r#"{{"protocol":1,"request":{{"flush":{{"session":"{session}"}}}}}}"#)
}

#[test]
fn several_requests_are_answered_in_order() {
    let service = Service::start(patient());
    let mut client = service.connect();
    let status = |n: u32| format!(r#"{{"protocol":1,"request":{{"status":{{"session":"{n}"}}}}}}"#);
    let lines: Vec<_> = (0..200).map(status).collect();
    client.say(&lines.join("\n"));
    for n in 0..200 {
        assert_eq!(client.line(), format!(r#"{{"protocol":1,"reply":{{"error":"{n}"}}}}"#));
    }
    client.say(SESSIONS);
    assert_eq!(client.line(), EMPTY);
}

#[test]
fn an_open_request_keeps_nobody_waiting() {
    let service = Service::start(patient());
    let (mut one, mut other) = (service.connect(), service.connect());
    one.say(&flush("a"));
    let first = service.opened.recv_timeout(LONG).unwrap();
    other.say(&flush("b"));
    let second = service.opened.recv_timeout(LONG).unwrap();
    service.check_others();
    service.reply(second, Reply::Done);
    assert_eq!(other.line(), r#"{"protocol":1,"reply":"done"}"#);
    service.reply(first, Reply::Session(Box::default()));
    assert!(one.line().starts_with(r#"{"protocol":1,"reply":{"session":{"id":"","#));
    service.reply(first, Reply::Done);
    one.say(SESSIONS);
    assert_eq!(one.line(), EMPTY);
}

#[test]
fn what_is_not_understood_is_refused_with_a_reason() {
    let service = Service::start(patient());
    for (line, expected) in [
        (&b"status\n"[..], "the line is no JSON object: expected value"),
        (b"\n", "the line is no JSON object: EOF"),
        (b"{\"protocol\":1,\"request\":\"\xff\"}\n", "the line is not UTF-8"),
        (b"{\"protocol\":1,\"request\":{\"unseal\":{}}}\n", "unknown variant `unseal`"),
        (b"{\"protocol\":1,\"request\":{\"status\":{\"x\":1}}}\n", "unknown field `x`"),
        (
            b"{\"protocol\":7,\"query\":[]}\n",
            "this service speaks protocol 1 (endless 0.1.0), you sent protocol 7: update the older \
             of the two",
        ),
    ] {
        let mut client = service.connect();
        client.lines.get_mut().write_all(line).unwrap();
        let refusal = client.refusal();
        assert!(refusal.contains(expected), "{refusal}");
    }
    service.check_others();
}

#[test]
fn half_a_line_has_a_deadline() {
    let service = Service::start(Limits { line: SHORT, ..patient() });
    let mut client = service.connect();
    client.lines.get_mut().write_all(b"{\"protocol\":").unwrap();
    service.check_others();
    assert_eq!(client.refusal(), "the rest of the line did not come in time");

    let mut client = service.connect();
    client.lines.get_mut().write_all(SESSIONS.as_bytes()).unwrap();
    client.lines.get_mut().shutdown(Shutdown::Write).unwrap();
    assert_eq!(client.refusal(), "the line has no newline at its end");
}

#[test]
fn who_asks_nothing_is_let_go() {
    let service = Service::start(Limits { idle: SHORT, ..patient() });
    let mut silent = service.connect();
    let mut client = service.connect();
    client.say(SESSIONS);
    assert_eq!(client.line(), EMPTY);
    assert!(client.is_closed() && silent.is_closed());
}

#[test]
fn a_line_of_100_mb_is_refused_early() {
    let service = Service::start(patient());
    let mut client = service.connect();
    let piece = vec![b'x'; 1 << 20];
    let mut sent = 0;
    while sent < 100 && client.lines.get_mut().write_all(&piece).is_ok() {
        sent += 1;
        service.check_others();
    }
    assert!(sent < 10, "{sent} MB were taken");
    assert_eq!(client.refusal(), "a request has at most 65536 bytes");

    let mut client = service.connect();
    let padding = " ".repeat(64 * 1024 - SESSIONS.len());
    client.say(&format!("{SESSIONS}{padding}"));
    assert_eq!(client.line(), EMPTY);
    client.say(&format!("{SESSIONS}{padding} "));
    assert_eq!(client.refusal(), "a request has at most 65536 bytes");
}

#[test]
fn who_never_reads_loses_the_reply() {
    let service = Service::start(Limits { write: SHORT, ..patient() });
    let mut client = service.connect();
    client.say(r#"{"protocol":1,"request":{"render":{"session":"a"}}}"#);
    service.check_others();
    // The service closes: nothing can be written any more.
    while client.lines.get_mut().write_all(b"\n").is_ok() {
        thread::yield_now();
    }
    let mut got = Vec::new();
    client.lines.read_to_end(&mut got).ok();
    assert!(!got.is_empty() && got.len() < 8 << 20, "{}", got.len());
}

#[test]
fn a_long_reply_arrives_whole() {
    let service = Service::start(patient());
    let mut client = service.connect();
    client.say(r#"{"protocol":1,"request":{"render":{"session":"a"}}}"#);
    assert_eq!(client.line().len(), (8 << 20) + r#"{"protocol":1,"reply":{"error":""}}"#.len());
}

#[test]
fn of_200_idle_connections_the_oldest_give_way() {
    let service = Service::start(patient());
    let mut idle: Vec<_> = (0..200).map(|_| service.connect()).collect();
    service.check_others();
    for client in &mut idle[..72] {
        assert_eq!(client.refusal(), "the service has too many connections");
    }
    let last = &mut idle[199];
    last.say(SESSIONS);
    assert_eq!(last.line(), EMPTY);
}

#[test]
fn busy_connections_do_not_give_way() {
    let service = Service::start(Limits { connections: 2, ..patient() });
    let mut busy = [service.connect(), service.connect()];
    let ids = busy.each_mut().map(|client| {
        client.say(&flush("a"));
        service.opened.recv_timeout(LONG).unwrap()
    });
    assert_eq!(service.connect().refusal(), "the service has too many connections");
    for (id, client) in ids.into_iter().zip(&mut busy) {
        service.reply(id, Reply::Done);
        assert_eq!(client.line(), r#"{"protocol":1,"reply":"done"}"#);
    }
    service.check_others();
}

#[test]
fn who_hangs_up_is_told_to_the_owner() {
    let service = Service::start(patient());
    let mut client = service.connect();
    client.say(&flush("a"));
    let id = service.opened.recv_timeout(LONG).unwrap();
    drop(client);
    assert_eq!(service.hung_up.recv_timeout(LONG), Ok(id));
    service.reply(id, Reply::Done);

    // One that has sent more than is read meanwhile.
    let mut client = service.connect();
    client.say(&flush("b"));
    let id = service.opened.recv_timeout(LONG).unwrap();
    client.lines.get_mut().write_all(&vec![b' '; 100_000]).unwrap();
    drop(client);
    assert_eq!(service.hung_up.recv_timeout(LONG), Ok(id));
    service.check_others();
}

#[test]
fn who_has_said_all_may_wait_for_the_reply() {
    let service = Service::start(Limits { look: SHORT, ..patient() });
    let ask = || {
        let mut client = service.connect();
        client.say(&flush("a"));
        client.lines.get_mut().shutdown(Shutdown::Write).unwrap();
        (client, service.opened.recv_timeout(LONG).unwrap())
    };
    let (mut client, id) = ask();
    assert!(service.hung_up.recv_timeout(3 * SHORT).is_err());
    service.reply(id, Reply::Done);
    assert_eq!(client.line(), r#"{"protocol":1,"reply":"done"}"#);
    assert!(client.is_closed());

    let (client, id) = ask();
    drop(client);
    assert_eq!(service.hung_up.recv_timeout(LONG), Ok(id));
}

#[test]
fn the_end_delivers_what_was_replied() {
    let mut service = Service::start(patient());
    let (mut told, mut open, mut idle) = (service.connect(), service.connect(), service.connect());
    told.say(&flush("a"));
    let id = service.opened.recv_timeout(LONG).unwrap();
    open.say(&flush("b"));
    service.opened.recv_timeout(LONG).unwrap();
    idle.say(SESSIONS);
    assert_eq!(idle.line(), EMPTY);
    service.reply(id, Reply::Error("x".repeat(1 << 20)));
    let path = service.path.clone();
    let edge = service.edge.take();
    let ending = thread::spawn(move || drop(edge));
    assert!(told.line().len() > 1 << 20);
    assert!(told.is_closed());
    assert_eq!(open.refusal(), "the service is ending");
    assert!(idle.is_closed());
    ending.join().unwrap();
    assert!(!path.exists());
}

#[test]
fn the_end_waits_for_nobody_who_does_not_read() {
    let mut service = Service::start(Limits { linger: SHORT, ..patient() });
    let mut client = service.connect();
    client.say(r#"{"protocol":1,"request":{"render":{"session":"a"}}}"#);
    service.check_others();
    drop(service.edge.take());
    client.lines.read_to_end(&mut Vec::new()).ok();
}

#[test]
fn the_file_is_private_and_goes_if_it_is_ours() {
    let mut service = Service::start(patient());
    let mode = fs::metadata(&service.path).unwrap().mode();
    assert_eq!(mode & 0o777, 0o600);
    drop(service.edge.take());
    assert!(!service.path.exists());

    let mut service = Service::start(patient());
    fs::remove_file(&service.path).unwrap();
    let _other = UnixListener::bind(&service.path).unwrap();
    drop(service.edge.take());
    assert!(service.path.exists());
}

#[test]
fn a_stale_file_is_replaced_and_nothing_else_is() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("deep/endless.sock");
    let start = || Edge::start(&path, |_| {});
    drop(start().unwrap());
    assert_eq!(fs::metadata(path.parent().unwrap()).unwrap().mode() & 0o777, 0o700);
    drop(UnixListener::bind(&path).unwrap());
    drop(start().unwrap());

    let listener = UnixListener::bind(&path).unwrap();
    assert!(matches!(start(), Err(SocketError::InUse { .. })));
    drop(listener);
    fs::remove_file(&path).unwrap();
    fs::write(&path, "mine").unwrap();
    assert!(matches!(start(), Err(SocketError::NotSocket { .. })));
    assert_eq!(fs::read_to_string(&path).unwrap(), "mine");
    fs::remove_file(&path).unwrap();
    fs::set_permissions(path.parent().unwrap(), fs::Permissions::from_mode(0o777)).unwrap();
    assert!(matches!(start(), Err(SocketError::Folder(_))));
}

#[test]
fn a_path_that_is_too_long_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x".repeat(200)).join("endless.sock");
    let error = Edge::start(&path, |_| {}).unwrap_err();
    assert!(matches!(error, SocketError::Bind { .. }), "{error}");
}
