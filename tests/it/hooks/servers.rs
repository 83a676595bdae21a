//! What answers at the socket is not the service that is meant: the hook goes on by itself.
use std::{
    fs,
    io::{BufRead, BufReader, Write},
    os::unix::net::{UnixListener, UnixStream},
    thread,
    time::Duration,
};

use serde_json::json;

use super::{Talk, call, log, prints};
use crate::harness::Service;

/// A home in which something else answers.
fn with_server(answer: impl Fn(UnixStream) + Send + 'static) -> (Service, Talk) {
    let mut service = Service::up();
    let talk = Talk::with_turns(&service, "aa", 2);
    service.sync();
    service.kill();
    fs::remove_file(service.state("endless.sock")).unwrap();
    let listener = UnixListener::bind(service.state("endless.sock")).unwrap();
    thread::spawn(move || {
        for stream in listener.incoming() {
            answer(stream.unwrap());
        }
    });
    (service, talk)
}

fn asked(stream: &UnixStream) {
    let mut line = String::new();
    BufReader::new(stream).read_line(&mut line).unwrap();
}

/// All events end in time, and the pointer comes, once.
fn goes_on_alone(service: &Service, talk: &Talk) {
    for payload in [talk.compacting(), talk.event("Stop", &json!({})), talk.prompted("x")] {
        let answer = call(service, &payload);
        assert!(answer.is_silent() && answer.took < Duration::from_secs(4), "{answer:?}");
    }
    let answer = call(service, &talk.compacted());
    assert!(answer.pointer().is_some(), "{}", log(service));
    assert!(answer.took < Duration::from_secs(2), "{answer:?}");
    assert_eq!(prints(service, "aa").len(), 1);
}

fn answers(line: &'static [u8]) {
    let (service, talk) = with_server(move |mut stream| {
        asked(&stream);
        stream.write_all(line).ok();
        // It is kept open for as long as the process runs.
        std::mem::forget(stream);
    });
    goes_on_alone(&service, &talk);
    assert!(!log(&service).is_empty());
}

#[test]
fn a_service_of_another_protocol() {
    answers(
        b"{\"protocol\":2,\"reply\":{\"print\":{\"text\":\"from tomorrow\",\"path\":\"/\"}}}\n",
    );
    answers(b"{\"protocol\":2,\"answer\":7}\n");
}

#[test]
fn a_service_that_answers_garbage() {
    answers(b"\xff\xfe\0\n");
    answers(b"{\"protocol\":1,\"reply\":{\"what\":1}}\n");
    answers(b"{\"protocol\":1,\"reply\":\"done\"}\n");
    answers(b"\n");
}

#[test]
fn a_service_that_names_a_file_that_is_not_there() {
    answers(
        b"{\"protocol\":1,\"reply\":{\"print\":{\"text\":\"x\",\"path\":\"/nowhere/x.md\"}}}\n",
    );
}

#[test]
fn a_service_that_answers_half_a_line() {
    answers(b"{\"protocol\":1,\"reply\":{\"pri");
}

#[test]
fn a_service_that_closes() {
    let (service, talk) = with_server(drop);
    goes_on_alone(&service, &talk);
    let (service, talk) = with_server(|stream| asked(&stream));
    goes_on_alone(&service, &talk);
}

#[test]
fn a_service_that_never_stops_answering() {
    let (service, talk) = with_server(|mut stream| {
        thread::spawn(move || while stream.write_all(&[b'x'; 1 << 16]).is_ok() {});
    });
    goes_on_alone(&service, &talk);
}

#[test]
fn a_socket_that_lets_nobody_in() {
    let mut service = Service::up();
    let talk = Talk::with_turns(&service, "aa", 2);
    service.sync();
    service.kill();
    fs::remove_file(service.state("endless.sock")).unwrap();
    // Nobody accepts, and the queue is full.
    let _listener = UnixListener::bind(service.state("endless.sock")).unwrap();
    let mut waiting = Vec::new();
    let path = rustix::net::SocketAddrUnix::new(service.state("endless.sock")).unwrap();
    loop {
        use rustix::net::{AddressFamily, SocketType, connect, socket};
        let socket = socket(AddressFamily::UNIX, SocketType::STREAM, None).unwrap();
        rustix::io::ioctl_fionbio(&socket, true).unwrap();
        if connect(&socket, &path).is_err() {
            break;
        }
        waiting.push(socket);
    }
    goes_on_alone(&service, &talk);
}

#[test]
fn what_stands_at_the_sockets_place_is_no_socket() {
    for what in ["file", "folder", "link", "pipe", "dead socket"] {
        let mut service = Service::up();
        let talk = Talk::with_turns(&service, "aa", 2);
        service.sync();
        service.kill();
        let path = service.state("endless.sock");
        if what != "dead socket" {
            fs::remove_file(&path).unwrap();
        }
        match what {
            "file" => fs::write(&path, "mine").unwrap(),
            "folder" => fs::create_dir(&path).unwrap(),
            "link" => std::os::unix::fs::symlink("/nowhere", &path).unwrap(),
            "pipe" => {
                let made = std::process::Command::new("mkfifo").arg(&path).status().unwrap();
                assert!(made.success());
            }
            _ => {}
        }
        goes_on_alone(&service, &talk);
    }
}
