//! The agent goes on after a compaction, whoever asked for it and whatever else was amiss.
use crate::{
    request::Kind,
    scene::{Scene, numbers},
    turn::{reads, refuses, says},
};

/// Many words, so that a bottle has several pages.
fn long(name: &str) -> String {
    let line =
        |number: usize| format!("{name} {number}: whatever else it says, it says it here.\n");
    (0..400).map(line).collect::<String>().trim_end().to_owned()
}

#[test]
#[ignore = "needs the real client: tests/client/run"]
fn a_manual_compaction() {
    let scene = Scene::new();
    scene.model.then([
        says("answer 1a").runs("echo out-1"),
        says("answer 1b"),
        says(&long("answer 2")),
        reads("answer 3a"),
        says("answer 3b"),
        says("answer 4"),
    ]);
    let mut client = scene.start();
    client.ask("question 1\n\nof two paragraphs");
    client.ask(&long("question 2"));
    client.ask("/compact keep the numbers");
    client.ask("question 3");
    client.ask("question 4");
    client.end();
    assert_eq!(scene.pointers(), [vec![], vec![], vec![], vec![1], vec![1], vec![1]]);
    let readings = scene.readings();
    assert_eq!(numbers(&readings), [1]);
    assert_eq!(readings[0].said.len(), 5);
    assert!(readings[0].pages().len() > 2, "several pages");
    let summary = &scene.model.requests(Kind::Summary)[0];
    assert!(summary.contains("keep the numbers"));
    assert!(summary.pointers().is_empty());
    scene.bottle(&scene.id, 2, &scene.model.said());
    scene.end();
}

#[test]
#[ignore = "needs the real client: tests/client/run"]
fn a_model_that_is_told_by_the_system() {
    let mut scene = Scene::new();
    scene.environment.retain(|(name, _)| *name != "ANTHROPIC_MODEL");
    scene.model.then([says("answer 1"), reads("answer 2a"), says("answer 2b")]);
    let mut client = scene.start();
    client.ask("question 1");
    client.ask("/compact");
    client.ask("question 2");
    client.end();
    assert_eq!(scene.pointers(), [vec![], vec![1], vec![1]]);
    assert_eq!(numbers(&scene.readings()), [1]);
    scene.bottle(&scene.id, 2, &scene.model.said());
    scene.end();
}

#[test]
#[ignore = "needs the real client: tests/client/run"]
fn an_automatic_compaction_in_the_middle_of_a_turn() {
    let scene = Scene::new().window(100_000);
    scene.model.then([
        says("answer 1"),
        says("answer 2a").runs("echo out-$((40 + 2))").tokens(150_000),
        reads("answer 2b"),
        says("answer 2c"),
        says("answer 3"),
    ]);
    let mut client = scene.start();
    client.ask("question 1");
    client.ask("question 2");
    client.ask("question 3");
    client.end();
    assert_eq!(scene.happened("PreCompact", "trigger", "auto"), 1);
    assert_eq!(scene.pointers(), [vec![], vec![], vec![1], vec![1], vec![1]]);
    let readings = scene.readings();
    assert_eq!(numbers(&readings), [1]);
    assert_eq!(readings[0].said.last().unwrap(), "answer 2a");
    // What the tool gave was not on disk yet when the compaction began.
    let read = readings[0].text();
    assert!(read.contains("out-42") && read.contains(", 0 pending"), "{read}");
    scene.bottle(&scene.id, 2, &scene.model.said());
    scene.end();
}

#[test]
#[ignore = "needs the real client: tests/client/run"]
fn a_compaction_because_the_model_refused() {
    let scene = Scene::new();
    scene.model.then([
        says("answer 1"),
        says("answer 2a").runs("echo out-2"),
        refuses("prompt is too long: 210000 tokens > 200000 maximum"),
        reads("answer 2b"),
        says("answer 2c"),
    ]);
    let mut client = scene.start();
    client.ask("question 1");
    client.ask("question 2");
    client.end();
    assert_eq!(scene.happened("PreCompact", "trigger", "auto"), 1);
    assert_eq!(scene.pointers(), [vec![], vec![], vec![], vec![1], vec![1]]);
    assert_eq!(numbers(&scene.readings()), [1]);
    scene.bottle(&scene.id, 2, &scene.model.said());
    scene.end();
}

#[test]
#[ignore = "needs the real client: tests/client/run"]
fn two_compactions() {
    let scene = Scene::new();
    scene.model.then([
        says("answer 1"),
        reads("answer 2a"),
        says("answer 2b"),
        reads("answer 3a"),
        says("answer 3b"),
    ]);
    let mut client = scene.start();
    client.ask("question 1");
    client.ask("/compact");
    client.ask("question 2");
    client.ask("/compact");
    client.ask("question 3");
    client.end();
    assert_eq!(scene.pointers(), [vec![], vec![1], vec![1], vec![2], vec![2]]);
    let readings = scene.readings();
    assert_eq!(numbers(&readings), [1, 2]);
    assert_eq!(readings[1].said.len(), 5);
    scene.bottle(&scene.id, 3, &scene.model.said());
    scene.end();
}

#[test]
#[ignore = "needs the real client: tests/client/run"]
fn a_compaction_without_the_service() {
    let mut scene = Scene::new();
    scene.model.then([says("answer 1"), reads("answer 2a"), says("answer 2b")]);
    let mut client = scene.start();
    client.ask("question 1");
    scene.service.kill();
    client.ask("/compact");
    client.ask("question 2");
    client.end();
    assert_eq!(scene.pointers(), [vec![], vec![1], vec![1]]);
    assert_eq!(numbers(&scene.readings()), [1]);
    scene.service.start();
    scene.bottle(&scene.id, 2, &scene.model.said());
    scene.end();
}

#[test]
#[ignore = "needs the real client: tests/client/run"]
fn a_compaction_that_was_not_announced() {
    let scene = Scene::new().window(100_000);
    scene.change_hook("PreCompact", |_| String::new());
    scene.model.then([
        says("answer 1"),
        says("answer 2a").runs("echo out-2").tokens(150_000),
        reads("answer 2b"),
        says("answer 2c"),
    ]);
    let mut client = scene.start();
    client.ask("question 1");
    client.ask("question 2");
    client.end();
    assert_eq!(scene.pointers(), [vec![], vec![], vec![1], vec![1]]);
    assert_eq!(numbers(&scene.readings()), [1]);
    scene.bottle(&scene.id, 2, &scene.model.said());
    scene.end();
}

#[test]
#[ignore = "needs the real client: tests/client/run"]
fn a_compaction_that_failed_and_one_that_did_not() {
    let scene = Scene::new();
    scene.model.then([says("answer 1"), says("answer 2"), reads("answer 3a"), says("answer 3b")]);
    scene.model.fails_to_summarize(true);
    let mut client = scene.start();
    client.ask("question 1");
    client.ask("/compact");
    client.ask("question 2");
    assert_eq!(scene.happened("SessionStart", "source", "compact"), 0);
    scene.model.fails_to_summarize(false);
    client.ask("/compact");
    client.ask("question 3");
    client.end();
    assert_eq!(scene.happened("PreCompact", "trigger", "manual"), 2);
    assert_eq!(scene.happened("SessionStart", "source", "compact"), 1);
    assert_eq!(scene.pointers(), [vec![], vec![], vec![1], vec![1]]);
    assert_eq!(numbers(&scene.readings()), [1]);
    scene.bottle(&scene.id, 2, &scene.model.said());
    scene.end();
}
