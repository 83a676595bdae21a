//! The agent goes on after a compaction, whoever asked for it and whatever else was amiss.
use rustix::process::Signal;

use crate::{
    harness::until,
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
    // Their Reads are in one message: each is asked for by itself, and allowed.
    assert!(readings[0].pages().len() > 2, "several pages");
    assert_eq!(scene.asked_to_read(), readings[0].calls());
    let summary = &scene.model.requests(Kind::Summary)[0];
    assert!(summary.contains("keep the numbers"));
    assert!(summary.pointers().is_empty());
    scene.bottle(&scene.id, 2, &scene.model.said());
    assert_eq!(
        scene.proof(&scene.id),
        ["sealed manual, gap 0", "printed #1 compact, arrived, read"]
    );
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
    assert_eq!(
        scene.proof(&scene.id),
        ["sealed manual, gap 0", "printed #1 compact, arrived, read"]
    );
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
    assert_eq!(scene.proof(&scene.id), ["sealed auto, gap 0", "printed #1 compact, arrived, read"]);
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
    assert_eq!(scene.proof(&scene.id), ["sealed auto, gap 0", "printed #1 compact, arrived, read"]);
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
    assert_eq!(
        scene.proof(&scene.id),
        [
            "sealed manual, gap 0",
            "printed #1 compact, arrived, read",
            "sealed manual, gap 0",
            "printed #2 compact, arrived, read"
        ]
    );
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
    assert_eq!(scene.proof(&scene.id), ["printed #1 compact, arrived, read"]);
    scene.end();
}

#[test]
#[ignore = "needs the real client: tests/client/run"]
fn a_service_that_starts_during_the_compaction() {
    let mut scene = Scene::new();
    scene.model.then([says("answer 1"), reads("answer 2a"), says("answer 2b")]);
    let mut client = scene.start();
    client.ask("question 1");
    scene.service.kill();
    scene.model.holds_summaries();
    client.say("/compact");
    // PreCompact's hooks have ended by then.
    until("the summary is asked for", || !scene.model.requests(Kind::Summary).is_empty());
    scene.service.start();
    scene.model.release();
    client.result();
    client.ask("question 2");
    client.end();
    assert_eq!(scene.pointers(), [vec![], vec![1], vec![1]]);
    assert_eq!(numbers(&scene.readings()), [1]);
    scene.bottle(&scene.id, 2, &scene.model.said());
    assert_eq!(scene.proof(&scene.id), ["printed #1 compact, arrived, read"]);
    scene.end();
}

#[test]
#[ignore = "needs the real client: tests/client/run"]
fn a_service_that_hangs_during_the_compaction() {
    let scene = Scene::new();
    scene.model.then([says("answer 1"), reads("answer 2a"), says("answer 2b"), says("answer 3")]);
    let mut client = scene.start();
    client.ask("question 1");
    scene.service.current(&scene.id);
    scene.service.signal(Signal::STOP);
    client.ask("/compact");
    client.ask("question 2");
    // It finds all that the hooks have asked for meanwhile, and nobody who waits for it.
    scene.service.signal(Signal::CONT);
    scene.service.current(&scene.id);
    client.ask("question 3");
    client.end();
    assert_eq!(scene.pointers(), [vec![], vec![1], vec![1], vec![1]]);
    assert_eq!(numbers(&scene.readings()), [1]);
    scene.bottle(&scene.id, 2, &scene.model.said());
    // What it was asked for at PreCompact it did when it could.
    let told = ["printed #1 compact, arrived, read", "sealed manual, gap 0"];
    assert_eq!(scene.proof(&scene.id), told);
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
    assert_eq!(scene.proof(&scene.id), ["printed #1 compact, arrived, read"]);
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
    assert_eq!(
        scene.proof(&scene.id),
        ["sealed manual, gap 0", "sealed manual, gap 0", "printed #1 compact, arrived, read"]
    );
    scene.end();
}
