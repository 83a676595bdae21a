//! What Endless itself tells of its seals and prints, held against what really happened.
use serde_json::{Value, json};

use crate::{request::Kind, scene::Scene};

impl Scene {
    /// What `endless log` tells of a session, in order: `sealed manual, gap 0`, then
    /// `printed #1 compact, arrived, read`. A print has arrived where the model was given it, names
    /// the ranges that the model was told, and of its copy was read what the model asked for.
    pub(crate) fn proof(&self, id: &str) -> Vec<String> {
        self.service.sync();
        let history = self.history(id);
        let mut told: Vec<(i64, String)> = each(&history, "seals").map(sealed).collect();
        for print in each(&history, "deliveries") {
            told.push((print["printed"].as_i64().unwrap(), self.printed(id, print)));
        }
        let numbers = each(&history, "deliveries").map(|print| print["n"].as_u64().unwrap());
        assert!(numbers.eq(1..=each(&history, "deliveries").count() as u64), "{history:#}");
        told.sort_by_key(|(at, _)| *at);
        told.into_iter().map(|(_, event)| event).collect()
    }

    /// What `endless log` and `endless status` tell of a session, which is the same.
    fn history(&self, id: &str) -> Value {
        let log = self.endless(&["log", id, "--json"]);
        let log: Value = serde_json::from_str(&log).unwrap();
        let (_, status) = self.service.status(&[id]);
        assert_eq!(log, status["deliveries"]);
        assert_eq!(log[0]["session"], id);
        log[0].clone()
    }

    fn printed(&self, id: &str, print: &Value) -> String {
        let n = print["n"].as_u64().unwrap();
        assert!(print["boundary"].is_string(), "it is for a compaction: {print:#}");
        let mut event = format!("printed #{n} {}", print["cause"].as_str().unwrap());
        let given = self.model.requests(Kind::Main).iter().find_map(|request| {
            let mut pointers = request.pointers().into_iter();
            pointers.find(|pointer| pointer.session == id && u64::from(pointer.n) == n)
        });
        let arrived = !print["arrived"].is_null();
        assert_eq!(arrived, given.is_some(), "whether it arrived: {print:#}");
        if let Some(pointer) = &given {
            assert_eq!(print["ranges"], json!(ranges(&pointer.ranges())));
        }
        event += if arrived { ", arrived" } else { ", lost" };
        // What another session read of it, which was forked from this one, is in that one's log.
        let readings = self.model.readings().into_iter();
        let read = readings.filter(|reading| reading.by.contains(id)).map(|read| read.pointer);
        let read = read.filter(|pointer| Some(pointer) == given.as_ref());
        let read: Vec<_> = read.flat_map(|pointer| pointer.ranges()).collect();
        assert_eq!(print["reads"], json!(ranges(&read)));
        event += if read.is_empty() { ", not read" } else { ", read" };
        event
    }
}

fn each<'a>(history: &'a Value, key: &str) -> impl Iterator<Item = &'a Value> {
    history[key].as_array().into_iter().flatten()
}

fn sealed(seal: &Value) -> (i64, String) {
    let held = if seal["held"] == true { "" } else { ", not held" };
    let cause = seal["cause"].as_str().unwrap();
    (seal["at"].as_i64().unwrap(), format!("sealed {cause}, gap {}{held}", seal["gap"]))
}

/// As Endless writes them: `1-64, 610-830`.
fn ranges(ranges: &[(usize, usize)]) -> String {
    let shown: Vec<_> = ranges.iter().map(|(first, last)| format!("{first}-{last}")).collect();
    shown.join(", ")
}
