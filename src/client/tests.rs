//! What a client makes of services that are not there, slow, broken, or of another version.
use std::{
    fs,
    io::{BufRead, BufReader, Write},
    os::unix::{
        fs::MetadataExt,
        net::{UnixListener, UnixStream},
    },
    sync::mpsc,
    thread,
    time::{Duration, Instant},
};

use super::{Client, ClientError, connect};
use crate::{
    engine::request::{Reply, Request},
    paths::Paths,
};

/// More than anything takes that goes well.
const LONG: Duration = Duration::from_secs(20);
const SHORT: Duration = Duration::from_millis(30);

struct Case {
    _folder: tempfile::TempDir,
    paths: Paths,
}

impl Case {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        Self { paths: Paths::new(folder.path()), _folder: folder }
    }

    fn listen(&self) -> UnixListener {
        UnixListener::bind(&self.paths.socket).unwrap()
    }

    /// A service that answers each connection's requests with these bytes, in turn.
    fn serve(&self, answers: &'static [&'static [u8]]) {
        let listener = self.listen();
        thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let mut lines = BufReader::new(stream.try_clone().unwrap());
            for answer in answers {
                lines.read_line(&mut String::new()).unwrap();
                stream.write_all(answer).unwrap();
            }
        });
    }

    fn client(&self) -> Result<Client, ClientError> {
        Client::connect(&self.paths, LONG)
    }

    fn ask(&self, deadline: Duration) -> Result<Reply, ClientError> {
        self.client()?.ask(&Request::Sessions {}, deadline)
    }
}

#[test]
fn nobody_there_is_down() {
    let case = Case::new();
    assert!(matches!(case.client(), Err(ClientError::Down)));
    drop(case.listen());
    assert!(matches!(case.client(), Err(ClientError::Down)));
    fs::remove_file(&case.paths.socket).unwrap();
    fs::write(&case.paths.socket, "").unwrap();
    assert!(matches!(case.client(), Err(ClientError::Down)));
    let paths = Paths::new(case.paths.socket.join("deeper"));
    assert!(matches!(Client::connect(&paths, LONG), Err(ClientError::Down)));
}

#[test]
fn a_path_that_is_too_long_is_an_error() {
    let paths = Paths::new(format!("/{}", "x".repeat(200)));
    let Err(ClientError::Broken(why)) = Client::connect(&paths, LONG) else { panic!() };
    assert!(why.contains("/xxx"), "{why}");
}

#[test]
fn answers_come_in_turn() {
    let case = Case::new();
    case.serve(&[
        b"{\"protocol\":1,\"reply\":\"done\"}\n",
        b"{\"protocol\":1,\"reply\":{\"error\":\"no\"}}\n",
    ]);
    let mut client = case.client().unwrap();
    assert_eq!(client.ask(&Request::Sessions {}, LONG).unwrap(), Reply::Done);
    assert_eq!(client.ask(&Request::Sessions {}, LONG).unwrap(), Reply::Error("no".to_owned()));
    let Err(ClientError::Broken(why)) = client.ask(&Request::Sessions {}, LONG) else { panic!() };
    assert_eq!(why, "it was closed without an answer");
    let Err(ClientError::Broken(why)) = client.ask(&Request::Sessions {}, LONG) else { panic!() };
    assert_eq!(why, "an earlier question failed");
}

#[test]
fn no_answer_is_too_slow() {
    let case = Case::new();
    let _listener = case.listen();
    let started = Instant::now();
    assert!(matches!(case.ask(SHORT), Err(ClientError::TooSlow(SHORT))));
    assert!(started.elapsed() >= SHORT);
    assert!(matches!(case.ask(Duration::ZERO), Err(ClientError::TooSlow(_))));
}

#[test]
fn half_an_answer_is_too_slow() {
    let case = Case::new();
    let listener = case.listen();
    let (end, ended) = mpsc::channel::<()>();
    thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        stream.write_all(b"{\"protocol\":1,\"reply\":").unwrap();
        ended.recv().unwrap_err();
    });
    assert!(matches!(case.ask(SHORT), Err(ClientError::TooSlow(SHORT))));
    drop(end);
}

#[test]
fn a_full_queue_is_too_slow() {
    let case = Case::new();
    let listener = case.listen();
    let mut waiting: Vec<UnixStream> = Vec::new();
    let error = loop {
        match connect::connect(&case.paths.socket, SHORT) {
            Ok(stream) => waiting.push(stream),
            Err(error) => break error,
        }
        assert!(waiting.len() < 100_000, "the queue has no end");
    };
    if cfg!(target_os = "linux") {
        assert!(matches!(error, ClientError::TooSlow(SHORT)), "{error}");
    }
    // A place that becomes free is taken.
    let accepting = listener.try_clone().unwrap();
    let accepting = thread::spawn(move || accepting.accept().map(drop));
    connect::connect(&case.paths.socket, LONG).unwrap();
    accepting.join().unwrap().unwrap();
}

#[test]
fn what_is_no_answer_is_broken() {
    for answer in [&b"what?\n"[..], b"\xff\n", b"{}\n", b"{\"protocol\":1,\"reply\":{\"x\":1}}\n"] {
        let case = Case::new();
        case.serve(Vec::leak(vec![answer]));
        assert!(matches!(case.ask(LONG), Err(ClientError::Broken(_))), "{answer:?}");
    }
}

#[test]
fn another_protocol_is_told() {
    let case = Case::new();
    case.serve(&[b"{\"protocol\":7,\"answer\":[]}\n"]);
    assert!(matches!(case.ask(LONG), Err(ClientError::OtherProtocol { theirs: 7 })));
}

#[test]
fn what_was_said_before_closing_is_heard() {
    let case = Case::new();
    let listener = case.listen();
    thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        stream.write_all(b"{\"protocol\":1,\"reply\":{\"error\":\"full\"}}\n").unwrap();
    });
    let mut client = case.client().unwrap();
    let request = Request::Render { session: "x".repeat(2 << 20) };
    assert_eq!(client.ask(&request, LONG).unwrap(), Reply::Error("full".to_owned()));
}

#[test]
fn the_owner_is_looked_at() {
    let case = Case::new();
    let _listener = case.listen();
    let stream = UnixStream::connect(&case.paths.socket).unwrap();
    connect::check_owner(&stream, &case.paths.socket).unwrap();
    let ours = fs::metadata(&case.paths.home).unwrap().uid();
    assert_eq!(connect::owner_of_file(&case.paths.socket), Some(ours));
    assert_eq!(connect::owner_of_file(&case.paths.home.join("no")), None);
}
