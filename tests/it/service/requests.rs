//! The socket: hostile clients, and requests that outlive the service.
use std::{
    io::{Read, Write},
    os::unix::net::UnixStream,
    time::{Duration, Instant},
};

use serde_json::{Value, json};

use crate::harness::{Service, equal, is_gone, said, until};

fn connect(service: &Service) -> Option<UnixStream> {
    UnixStream::connect(service.state("endless.sock")).ok()
}

/// Asks to render a session, which must not take long whatever others do, and covers all there is.
fn renders(service: &Service, id: &str) {
    let cold = service.cold(id);
    let began = Instant::now();
    let reply = service.ask(&json!({"render": {"session": id}}));
    assert_eq!(reply["session"]["id"], *id, "{reply}");
    let took = began.elapsed();
    assert!(took < Duration::from_secs(1), "{took:?}");
    assert!(equal(&service.bottle(id).unwrap(), &cold));
}

#[test]
fn hostile_clients_disturb_nobody() {
    let service = Service::up();
    let transcript = service.transcript("-w", "aa");
    transcript.append(&said("aa", 0..1));
    renders(&service, "aa");
    let mut kept = Vec::new();
    for number in 0..200 {
        let Some(mut stream) = connect(&service) else { continue };
        let line: &[u8] = match number % 5 {
            0 => b"{\"protocol\":1,\"request\":{\"sta",
            1 => b"\xff\xfe\0garbage\n",
            2 => b"",
            3 => b"{\"protocol\":9,\"request\":{}}\n",
            // Asks and never reads.
            _ => b"{\"protocol\":1,\"request\":{\"sessions\":{}}}\n",
        };
        stream.write_all(line).ok();
        kept.push(stream);
        if number % 50 == 0 {
            transcript.append(&said("aa", number / 50 + 1..number / 50 + 2));
            renders(&service, "aa");
        }
    }
    // A line without an end is cut off, not gathered.
    let mut endless = connect(&service).unwrap();
    endless.set_write_timeout(Some(Duration::from_secs(10))).unwrap();
    let chunk = vec![b'x'; 64 << 10];
    let sent = (0..1_600).take_while(|_| endless.write_all(&chunk).is_ok()).count();
    assert!(sent < 100, "{sent} chunks were taken");
    renders(&service, "aa");
    assert!(service.current("aa").contains("word aa 4."));
    let memory = service.sync()["process"]["memory"].as_u64().unwrap();
    assert!(memory < 100 << 20, "{memory}");
    drop(kept);
    renders(&service, "aa");
}

#[test]
fn who_speaks_wrongly_is_told_what_was_wrong() {
    let service = Service::up();
    let told = |line: &str| -> String {
        let mut stream = connect(&service).unwrap();
        stream.write_all(format!("{line}\n").as_bytes()).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
        stream.shutdown(std::net::Shutdown::Write).unwrap();
        let mut text = String::new();
        stream.read_to_string(&mut text).unwrap();
        let reply: Value = serde_json::from_str(&text).unwrap();
        reply["reply"]["error"].as_str().unwrap().to_owned()
    };
    assert!(told("status").contains("no JSON object"));
    assert!(told("{\"protocol\":2}").contains("you sent protocol 2"));
    let render = |id: &str| {
        told(&json!({"protocol": 1, "request": {"render": {"session": id}}}).to_string())
    };
    let long = "x".repeat(5_000);
    for id in ["../../x", "", "a\nb", "none", &long] {
        assert!(render(id).contains("knows no session"), "{id}");
    }
}

#[test]
fn a_forgotten_session_never_comes_back() {
    let mut service = Service::up();
    let (gone, stays) = (service.transcript("-w", "gone-1"), service.transcript("-w", "gone-10"));
    gone.append(&said("aa", 0..3));
    stays.append(&said("bb", 0..1));
    service.sync();
    service.current("gone-1");
    gone.replace(&said("aa", 0..1));
    service.sync();
    service.current("gone-1");
    assert_eq!(service.archive().len(), 1);
    let output = service.command().args(["forget", "gone-1", "--yes"]).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let check = |service: &Service, number: usize| {
        gone.append(&said("aa", number..number + 1));
        stays.append(&said("bb", number..number + 1));
        service.sync();
        service.current("gone-10");
        let reply = service.ask(&json!({"render": {"session": "gone-1"}}));
        assert!(!reply["session"]["id"].is_null() || reply["error"].is_string(), "{reply}");
        assert!(is_gone(&service.bottle_path("gone-1")), "{reply}");
        assert_eq!(service.archive().len(), 0);
    };
    check(&service, 1);
    service.kill();
    service.start();
    check(&service, 2);
    // Forgotten while nothing runs.
    service.kill();
    let output = service.command().args(["forget", "gone-10", "--yes"]).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    service.start();
    stays.append(&said("bb", 3..4));
    service.sync();
    assert!(service.bottle("gone-10").is_none());
}

#[test]
fn an_archived_session_is_rendered_again_after_new_words_only() {
    let mut service = Service::up();
    let transcript = service.transcript("-w", "aa");
    transcript.append(&said("aa", 0..2));
    service.sync();
    let bottle = service.current("aa");
    assert_eq!(service.ask(&json!({"archive": {"session": "aa"}})), "done");
    assert!(service.bottle("aa").is_none());
    assert_eq!(service.archive(), [bottle]);
    for _ in 0..2 {
        // A row that says nothing.
        transcript.append("{\"type\":\"file-history-snapshot\",\"sessionId\":\"aa\"}\n");
        service.sync();
        let reply = service.ask(&json!({"flush": {"session": "aa"}}));
        assert_eq!(reply["session"]["bottle"], Value::Null, "{reply}");
        assert!(service.bottle("aa").is_none());
        service.kill();
        service.start();
        service.sync();
        assert!(service.bottle("aa").is_none());
    }
    transcript.append(&said("aa", 2..3));
    service.sync();
    assert!(service.current("aa").contains("word aa 2."));
    until("the reply names the bottle", || service.session("aa")["bottle"]["path"].is_string());
}

#[test]
fn a_stop_request_writes_what_is_unwritten() {
    let mut service = Service::up();
    for number in 0..3 {
        service.transcript("-w", "aa").append(&said("aa", number..number + 1));
        service.sync();
    }
    assert_eq!(service.ask(&json!({"shutdown": {}})), "done");
    assert_eq!(service.ended(), 0);
    service.current("aa");
}

#[test]
fn a_stale_socket_and_what_stands_in_its_place() {
    let mut service = Service::up();
    service.kill();
    assert!(!is_gone(&service.state("endless.sock")), "a killed service leaves its socket");
    service.start();
    service.kill();
    std::fs::remove_file(service.state("endless.sock")).unwrap();
    std::fs::write(service.state("endless.sock"), "mine").unwrap();
    service.spawn();
    assert_eq!(service.ended(), 1);
    assert!(service.log().contains("is not a socket; move it away"), "{}", service.log());
    assert_eq!(std::fs::read_to_string(service.state("endless.sock")).unwrap(), "mine");
}
