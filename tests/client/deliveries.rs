//! A pointer that did not arrive is printed once more, and only once.
use serde_json::json;

use crate::{
    request::Kind,
    scene::{Scene, numbers},
    turn::{reads, says},
};

#[test]
#[ignore = "needs the real client: tests/client/run"]
fn a_resume_after_a_missed_delivery() {
    let scene = Scene::new();
    scene.uninstall();
    let bottle = scene.service.bottle_path(&scene.id);
    scene.model.then([
        says("answer 1a").calls("Read", json!({"file_path": bottle})),
        says("answer 1b"),
        reads("answer 2a"),
        says("answer 2b"),
        says("answer 3"),
        says("answer 4"),
    ]);
    let mut client = scene.start();
    client.ask("question 1");
    client.ask("/compact");
    client.end();
    let outcomes = scene.model.requests(Kind::Main)[1].outcomes();
    assert!(outcomes[0].failed, "without the hooks nothing may be read: {outcomes:#?}");
    scene.install();
    let mut client = scene.resume();
    client.ask("question 2");
    client.ask("question 3");
    client.end();
    let mut client = scene.resume();
    client.ask("question 4");
    client.end();
    assert_eq!(scene.pointers(), [vec![], vec![], vec![1], vec![1], vec![1], vec![1]]);
    assert_eq!(numbers(&scene.readings()), [1]);
    scene.bottle(&scene.id, 2, &scene.model.said());
    assert_eq!(scene.proof(&scene.id), ["printed #1 due, arrived, read"]);
    scene.end();
}

#[test]
#[ignore = "needs the real client: tests/client/run"]
fn a_print_that_was_lost() {
    let scene = Scene::new();
    scene.change_hook("SessionStart", |command| format!("({command}) > /dev/null"));
    scene.model.then([
        says("answer 1"),
        says("answer 2"),
        reads("answer 3a"),
        says("answer 3b"),
        says("answer 4"),
    ]);
    let mut client = scene.start();
    client.ask("question 1");
    client.ask("/compact");
    // Only the answer proves that nothing arrived.
    client.ask("question 2");
    client.ask("question 3");
    client.ask("question 4");
    client.end();
    assert_eq!(scene.pointers(), [vec![], vec![], vec![2], vec![2], vec![2]]);
    let log = scene.endless(&["log"]);
    let lost = log.lines().find(|line| line.contains("printed #1 ")).unwrap_or(&log);
    assert!(lost.ends_with("not seen in the transcript"), "{log}");
    assert_eq!(numbers(&scene.readings()), [2]);
    scene.bottle(&scene.id, 2, &scene.model.said());
    assert_eq!(
        scene.proof(&scene.id),
        [
            "sealed manual, gap 0",
            "printed #1 compact, lost, not read",
            "printed #2 due, arrived, read"
        ]
    );
    scene.end();
}

#[test]
#[ignore = "needs the real client: tests/client/run"]
fn hooks_that_are_installed_twice() {
    let mut scene = Scene::new();
    scene.install_plugin();
    scene.model.then([says("answer 1"), reads("answer 2a"), says("answer 2b")]);
    let mut client = scene.start();
    client.ask("question 1");
    client.ask("/compact");
    client.ask("question 2");
    client.end();
    assert_eq!(scene.pointers(), [vec![], vec![1], vec![1]]);
    assert_eq!(numbers(&scene.readings()), [1]);
    scene.bottle(&scene.id, 2, &scene.model.said());
    // Sealed as often as it was asked for, printed once.
    let sealed = "sealed manual, gap 0";
    assert_eq!(scene.proof(&scene.id), [sealed, sealed, "printed #1 compact, arrived, read"]);
    scene.end();
}

#[test]
#[ignore = "needs the real client: tests/client/run"]
fn hooks_of_the_plugin() {
    let mut scene = Scene::new();
    scene.uninstall();
    scene.install_plugin();
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
