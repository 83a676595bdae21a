//! `endless status` and `endless stop`: without a service, and with one that says what it is told.
use std::{
    fs,
    io::{BufRead, BufReader, Write},
    os::unix::net::UnixListener,
    process::Stdio,
    thread,
    time::SystemTime,
};

use insta::assert_snapshot;
use serde_json::{Value, json};

use crate::harness::{Rows, Sandbox};

/// A service that gives each request the next answer; then it is gone. What it was asked is told.
fn serve(sandbox: &Sandbox, answers: Vec<Value>) -> thread::JoinHandle<Vec<Value>> {
    let path = sandbox.path(".endless/endless.sock");
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    let listener = UnixListener::bind(&path).unwrap();
    thread::spawn(move || {
        let mut asked = Vec::new();
        for answer in answers {
            let (mut stream, _) = listener.accept().unwrap();
            let mut line = String::new();
            BufReader::new(stream.try_clone().unwrap()).read_line(&mut line).unwrap();
            asked.push(serde_json::from_str(&line).unwrap());
            stream.write_all(format!("{answer}\n").as_bytes()).unwrap();
        }
        fs::remove_file(path).unwrap();
        asked
    })
}

fn reply(reply: &Value) -> Value {
    json!({"protocol": 1, "reply": reply})
}

fn current() -> Value {
    reply(&json!({"status": {
        "process": {"pid": 7, "version": "0.1.0", "started": 1_000, "now": 61_000, "memory": 0},
        "watch": {"mode": "native", "folders": 2, "polled": 0},
        "roots": ["/w"],
        "totals": {"sessions": 1, "newest_read": 59_000, "newest_on_disk": 59_000, "bytes": 10},
        "sessions": [],
        "troubles": [],
    }}))
}

#[test]
fn without_a_service_the_disk_is_shown() {
    let sandbox = Sandbox::new();
    let text = Rows::new().user("one").text();
    sandbox.transcript("-w/17aa", &text, 0);
    let live = sandbox.transcript("-w/0b9f2c1e", &text, 0);
    assert_eq!(sandbox.run(&["render", "0b9f"]).status, 0);
    let now = SystemTime::now();
    for path in [&live, &sandbox.path(".endless/bottles/0b9f2c1e.md")] {
        fs::File::options().append(true).open(path).unwrap().set_modified(now).unwrap();
    }
    let ran = sandbox.shell("$endless status");
    let old: Vec<_> = ran.stdout.split(", the newest changed ").collect();
    assert!(old[1].starts_with("just now") || old[1].contains(" s ago"), "{}", ran.stdout);
    assert!(ran.stdout.contains("/w       0b9f2c1e     -  -        ? of "), "{}", ran.stdout);
    assert_eq!(ran.status, 1);

    let ran = sandbox.shell("$endless status 17 --json");
    let report: Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!(
        (ran.status, &report["running"], &report["health"]),
        (1, &json!(false), &json!("down"))
    );
    assert_eq!(report["sessions"][0]["id"], "17aa");
    assert_eq!(report["bottles"]["count"], 1);
    assert_snapshot!(sandbox.show(&["status", "zz"]), @"
    exit 1
    --- err
    error: the service is not running, and no transcript begins with `zz`
    ");
}

#[test]
fn where_nothing_is_it_says_so() {
    let sandbox = Sandbox::new();
    assert_snapshot!(sandbox.shell("$endless status").show(), @"
    exit 1
    --- out
    down: the service is not running; start it with `endless run`, or for good with `endless install service`
    roots     ~/.claude, ~/.config/claude
    observed  derived: claude-mem is not there: there is no ~/.claude-mem/claude-mem.db
    sessions  0, 0 live; 0 B of transcripts
    bottles   0 bottles in ~/.endless/bottles
    ");
    assert!(!sandbox.path(".endless").exists());
}

#[test]
fn a_service_is_asked_what_was_asked() {
    let sandbox = Sandbox::new();
    let service = serve(&sandbox, vec![current(), current()]);
    assert_snapshot!(sandbox.show(&["status"]), @"
    exit 0
    --- out
    current: all is read, newest change 2 s ago
    service   pid 7, endless 0.1.0, up 1 min
    watching  native, 2 folders
    roots     /w
    sessions  1, 0 live, 0 in memory; 10 B of transcripts; 0 bottles written since the start
    ");
    assert_eq!(sandbox.run(&["status", "0b9f", "--sync", "--json"]).status, 0);
    let requests = [
        json!({"protocol": 1, "request": {"status": {"session": null, "sync": false}}}),
        json!({"protocol": 1, "request": {"status": {"session": "0b9f", "sync": true}}}),
    ];
    assert_eq!(service.join().unwrap(), requests);
}

#[test]
fn what_a_service_can_not_say_is_said() {
    let sandbox = Sandbox::new();
    let answers = vec![
        reply(&json!({"error": "the service knows no session `zz`"})),
        json!({"protocol": 7, "answer": {}}),
        reply(&json!("done")),
    ];
    let service = serve(&sandbox, answers);
    assert_snapshot!(sandbox.show(&["status", "zz"]), @"
    exit 1
    --- err
    error: the service knows no session `zz`
    ");
    let mut shown = String::new();
    for _ in 0..2 {
        let ran = sandbox.shell("$endless status");
        shown.push_str(&format!("{} {}\n", ran.status, ran.stdout.lines().next().unwrap()));
    }
    assert_snapshot!(shown, @"
    1 no answer: the service speaks protocol 7, this program speaks protocol 1: update the older of the two, and start the service again
    1 no answer: the connection to the service failed: it answered something else
    ");
    service.join().unwrap();
}

#[test]
fn watching_ends_with_its_reader() {
    let sandbox = Sandbox::new();
    drop(serve(&sandbox, vec![current(); 9]));
    let mut command = sandbox.command();
    let mut child = command.args(["status", "--watch"]).stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let headline = lines.next().unwrap().unwrap();
    let second = lines.find(|line| line.as_ref().is_ok_and(|line| *line == headline));
    assert!(second.is_some());
    drop(lines);
    assert_eq!(child.wait().unwrap().code(), Some(0));
}

#[test]
fn stop_waits_until_the_service_is_gone() {
    let sandbox = Sandbox::new();
    let service = serve(&sandbox, vec![reply(&json!("done"))]);
    assert_snapshot!(sandbox.show(&["stop"]), @"
    exit 0
    --- out
    the service has ended
    ");
    let request = json!({"protocol": 1, "request": {"shutdown": {}}});
    assert_eq!(service.join().unwrap(), [request]);
    assert_snapshot!(sandbox.show(&["stop"]), @"
    exit 0
    --- err
    note: the service is not running
    ");
}
