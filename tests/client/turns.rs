//! Turns that are not one question and one answer.
use std::fs;

use serde_json::{Value, json};

use crate::{
    harness::until,
    request::Kind,
    scene::{Scene, appears, numbers},
    turn::{reads, says},
};

#[test]
#[ignore = "needs the real client: tests/client/run"]
fn a_compaction_right_behind_a_queued_prompt() {
    let scene = Scene::new();
    scene.model.then([
        says("answer 1a").runs("mkfifo gate; cat gate"),
        says("answer 1b"),
        reads("answer 3a"),
        says("answer 3b"),
    ]);
    let mut client = scene.start();
    client.say("question 1");
    let gate = scene.project().join("gate");
    appears(&gate);
    client.say("question 2");
    until("the question waits", || scene.transcript(&scene.id).contains("question 2"));
    client.say("/compact");
    fs::write(gate, "out-1").unwrap();
    client.result();
    client.result();
    client.ask("question 3");
    client.end();
    assert_eq!(scene.pointers(), [vec![], vec![], vec![1], vec![1]]);
    let readings = scene.readings();
    assert_eq!(numbers(&readings), [1]);
    assert_eq!(readings[0].said, ["question 1", "answer 1a", "question 2", "answer 1b"]);
    scene.bottle(&scene.id, 2, &scene.model.said());
    assert_eq!(
        scene.proof(&scene.id),
        ["sealed manual, gap 0", "printed #1 compact, arrived, read"]
    );
    scene.end();
}

#[test]
#[ignore = "needs the real client: tests/client/run"]
fn interrupted_turns() {
    let scene = Scene::new();
    scene.model.then([
        says("answer 1").runs("touch running; cat /dev/zero > /dev/null"),
        says("answer 2").runs("true").held(),
        reads("answer 3a"),
        says("answer 3b"),
    ]);
    let mut client = scene.start();
    client.say("question 1");
    appears(&scene.project().join("running"));
    client.interrupt();
    client.result();
    client.say("question 2");
    client.prints("the answer", |line| line.to_string().contains("answer 2"));
    client.interrupt();
    client.result();
    scene.model.release();
    client.ask("/compact");
    client.ask("question 3");
    client.end();
    assert_eq!(scene.pointers(), [vec![], vec![], vec![1], vec![1]]);
    let readings = scene.readings();
    assert_eq!(numbers(&readings), [1]);
    assert_eq!(readings[0].said, ["question 1", "answer 1", "question 2", "answer 2"]);
    scene.bottle(&scene.id, 2, &scene.model.said());
    assert_eq!(
        scene.proof(&scene.id),
        ["sealed manual, gap 0", "printed #1 compact, arrived, read"]
    );
    scene.end();
}

#[test]
#[ignore = "needs the real client: tests/client/run"]
fn a_subagent_that_is_compacted() {
    let scene = Scene::new().window(100_000);
    let task = json!({
        "description": "look", "prompt": "look at it",
        "subagent_type": "general-purpose", "run_in_background": false,
    });
    scene.model.then([
        says("answer 1a").calls("Agent", task),
        says("answer 1b"),
        reads("answer 2a"),
        says("answer 2b"),
    ]);
    scene.model.subagent([
        says("sub 1").runs("echo out-1"),
        says("sub 2").runs("echo out-2").tokens(150_000),
        says("sub 3"),
    ]);
    let mut client = scene.start();
    client.ask("question 1");
    let compacted = |payload: &Value| {
        payload["hook_event_name"] == "SessionStart" && payload["source"] == "compact"
    };
    let of_agents: Vec<_> = scene.noted().into_iter().filter(compacted).collect();
    assert_eq!(of_agents.len(), 1, "the subagent was compacted");
    assert!(of_agents[0]["agent_id"].is_string(), "{of_agents:#?}");
    assert_eq!(scene.service.current(&scene.id).matches(" · legs: 1 · ").count(), 1);
    client.ask("/compact");
    client.ask("question 2");
    client.end();
    assert_eq!(scene.pointers(), [vec![], vec![], vec![1], vec![1]]);
    for request in scene.model.requests(Kind::Subagent) {
        assert!(request.pointers().is_empty());
    }
    assert_eq!(numbers(&scene.readings()), [1]);
    scene.bottle(&scene.id, 2, &scene.model.said());
    assert_eq!(
        scene.proof(&scene.id),
        ["sealed manual, gap 0", "printed #1 compact, arrived, read"]
    );
    scene.end();
}
