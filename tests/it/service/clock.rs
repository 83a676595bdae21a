//! Times that make no sense: order is by position, and nothing expires early.
use std::{
    fs::File,
    time::{Duration, SystemTime},
};

use serde_json::Value;

use crate::harness::{Service, Transcript, said};

fn set(transcript: &Transcript, time: SystemTime) {
    File::options().append(true).open(&transcript.path).unwrap().set_modified(time).unwrap();
}

#[test]
fn a_change_counts_whatever_time_its_file_has() {
    let service = Service::up();
    service.sync();
    let day = Duration::from_secs(24 * 60 * 60);
    let times = [
        ("epoch", SystemTime::UNIX_EPOCH + day),
        ("past", SystemTime::now() - 4_000 * day),
        ("future", SystemTime::now() + 40_000 * day),
    ];
    for (id, time) in times {
        let transcript = service.transcript("-w", id);
        for number in 0..3 {
            transcript.append(&said(id, number..number + 1));
            set(&transcript, time);
            service.sync();
            service.current(id);
        }
        // Back to the present.
        transcript.append(&said(id, 3..4));
        service.sync();
        service.current(id);
    }
}

#[test]
fn rows_are_in_the_order_of_the_file() {
    let service = Service::up();
    let transcript = service.transcript("-w", "aa");
    let years = ["2026", "2099", "1970", "2026", "9999", "0001"];
    for (number, year) in years.iter().enumerate() {
        let rows = said("aa", number..number + 1).replace("\"2026-", &format!("\"{year}-"));
        transcript.append(&rows);
        service.sync();
        service.current("aa");
    }
    let bottle = service.current("aa");
    let places: Vec<_> = (0..years.len())
        .map(|number| bottle.find(&format!("\nanswer aa {number}.\n")).unwrap())
        .collect();
    assert!(places.is_sorted(), "{bottle}");
}

#[test]
fn a_bottle_is_current_after_a_restart_whatever_time_its_transcript_has() {
    let mut service = Service::up();
    let transcript = service.transcript("-w", "aa");
    transcript.append(&said("aa", 0..1));
    service.sync();
    service.current("aa");
    service.kill();
    transcript.append(&said("aa", 1..2));
    set(&transcript, SystemTime::UNIX_EPOCH + Duration::from_secs(7));
    service.start();
    service.sync();
    service.current("aa");
    let changed = service.session("aa")["changed"].as_i64();
    assert!(changed.is_some(), "{:?}", Value::from(changed));
}
