//! Sessions that end, go on, are forked or forgotten, and what each may read.
use serde_json::{Value, json};

use crate::{
    harness::is_gone,
    request::Kind,
    scene::{Scene, new_id, numbers},
    turn::{reads, says},
};

#[test]
#[ignore = "needs the real client: tests/client/run"]
fn a_resume_with_nothing_missed() {
    let scene = Scene::new();
    scene.model.then([
        says("answer 1"),
        says("answer 2"),
        reads("answer 3a"),
        says("answer 3b"),
        says("answer 4"),
    ]);
    let mut client = scene.start();
    client.ask("question 1");
    client.end();
    let mut client = scene.resume();
    client.ask("question 2");
    // The pointer is printed and nobody asks anything before the end.
    client.ask("/compact");
    client.end();
    let mut client = scene.resume();
    client.ask("question 3");
    client.end();
    let mut client = scene.resume();
    client.ask("question 4");
    client.end();
    assert_eq!(scene.happened("SessionStart", "source", "resume"), 3);
    assert_eq!(scene.pointers(), [vec![], vec![], vec![1], vec![1], vec![1]]);
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
fn a_cleared_session() {
    let scene = Scene::new();
    scene.model.then([
        says("answer 1"),
        says("answer 2"),
        says("answer 3"),
        reads("answer 4a"),
        says("answer 4b"),
    ]);
    let mut client = scene.start();
    client.ask("question 1");
    client.ask("/compact");
    client.ask("question 2");
    let before = scene.model.forget();
    client.ask("/clear");
    assert_eq!(scene.happened("SessionStart", "source", "clear"), 1);
    let new = session(&client.ask("question 3"));
    assert_ne!(new, scene.id);
    client.ask("/compact");
    client.ask("question 4");
    client.end();
    let pointers: Vec<Vec<(String, u32)>> = scene.all_pointers();
    let (old, new_one) = ((scene.id.clone(), 1), (new.clone(), 1));
    let new_one = || vec![new_one.clone()];
    assert_eq!(pointers, [vec![], vec![old], vec![], new_one(), new_one()]);
    let readings = scene.readings();
    assert_eq!(readings[0].said, ["question 3", "answer 3"]);
    scene.bottle(&new, 2, &scene.model.said());
    assert_eq!(scene.proof(&new), ["sealed manual, gap 0", "printed #1 compact, arrived, read"]);
    assert!(is_gone(&scene.service.bottle_path(&scene.id)), "the old bottle is archived");
    let archive = scene.service.archive();
    let is_kept = |text: &&String| before.iter().all(|words| text.contains(words.as_str()));
    assert_eq!(archive.iter().filter(is_kept).count(), 1, "{archive:#?}");
    scene.end();
}

#[test]
#[ignore = "needs the real client: tests/client/run"]
fn a_fork() {
    let scene = Scene::new();
    scene.model.then([says("answer 1"), says("answer 2"), reads("answer 3a"), says("answer 3b")]);
    let mut client = scene.start();
    client.ask("question 1");
    client.end();
    let mut client = scene.fork();
    let fork = session(&client.ask("question 2"));
    assert_ne!(fork, scene.id);
    client.ask("/compact");
    client.ask("question 3");
    client.end();
    assert_eq!(scene.happened("SessionStart", "source", "fork"), 1);
    let own = || vec![(fork.clone(), 1)];
    assert_eq!(scene.all_pointers(), [vec![], vec![], own(), own()]);
    assert_eq!(numbers(&scene.readings()), [1]);
    scene.bottle(&fork, 2, &scene.model.said());
    assert_eq!(scene.proof(&fork), ["sealed manual, gap 0", "printed #1 compact, arrived, read"]);
    scene.end();
}

#[test]
#[ignore = "needs the real client: tests/client/run"]
fn a_fork_of_a_compacted_session() {
    let scene = Scene::new();
    scene.model.then([
        says("answer 1"),
        says("answer 2"),
        reads("answer 3a"),
        says("answer 3b"),
        reads("answer 4a"),
        says("answer 4b"),
    ]);
    let mut client = scene.start();
    client.ask("question 1");
    client.ask("/compact");
    client.ask("question 2");
    client.end();
    let mut client = scene.fork();
    let fork = session(&client.ask("question 3"));
    client.ask("/compact");
    client.ask("question 4");
    client.end();
    let parent = || vec![(scene.id.clone(), 1)];
    let own = || vec![(fork.clone(), 1)];
    assert_eq!(scene.all_pointers(), [vec![], parent(), parent(), parent(), own(), own()]);
    let readings = scene.readings();
    assert_eq!(readings.len(), 2);
    // The fork may read its parent's copy.
    assert_eq!((&readings[0].pointer.session, readings[0].said.len()), (&scene.id, 2));
    // The client copies what stands behind the last compaction, and no more: what was said before
    // it is in the parent's bottle, which the fork's own pointer names and the fork may read.
    assert_eq!((&readings[1].pointer.session, readings[1].said.len()), (&fork, 7));
    let parents: Vec<_> = readings[1].others().into_iter().map(|(path, _)| path).collect();
    assert_eq!(parents, [scene.service.bottle_path(&scene.id)]);
    assert_eq!(scene.asked_to_read(), readings[0].calls() + readings[1].calls());
    scene.bottle(&fork, 3, &scene.model.said()[2..]);
    let printed = "printed #1 compact, arrived";
    let parent = ["sealed manual, gap 0".to_owned(), format!("{printed}, not read")];
    assert_eq!(scene.proof(&scene.id), parent);
    assert_eq!(scene.proof(&fork), ["sealed manual, gap 0".to_owned(), format!("{printed}, read")]);
    scene.end();
}

#[test]
#[ignore = "needs the real client: tests/client/run"]
fn nothing_but_its_own_bottle_may_be_read() {
    let scene = Scene::new();
    scene.model.then([says("answer 1")]);
    let mut client = scene.start();
    client.ask("question 1");
    client.end();
    let own = new_id();
    let bottle = |id: &str| scene.service.bottle_path(id);
    scene.service.sandbox.write(&scene.service.state("config.toml"), "");
    let others = [
        bottle(&scene.id),
        scene.service.state("config.toml"),
        scene.path(".claude.json"),
        bottle(&own).with_file_name(format!("../bottles/{}.md", scene.id)),
    ];
    let read = |path: &std::path::Path| json!({"file_path": path});
    let write = json!({"file_path": bottle(&own), "content": "other words"});
    let mut turn = says("answer 3").calls("Read", read(&bottle(&own))).calls("Write", write);
    for path in &others {
        turn = turn.calls("Read", read(path));
    }
    scene.model.then([says("answer 2"), turn, says("answer 4")]);
    let mut client = scene.client(&["--session-id", &own]);
    client.ask("question 2");
    scene.service.current(&own);
    client.ask("question 3");
    client.end();
    let outcomes = scene.model.requests(Kind::Main).pop().unwrap().outcomes();
    let failed: Vec<(&str, bool)> =
        outcomes.iter().map(|outcome| (outcome.id.as_str(), outcome.failed)).collect();
    let mut sorted = failed.clone();
    sorted.sort_unstable();
    let failed: Vec<bool> = sorted.into_iter().map(|(_, failed)| failed).collect();
    assert_eq!(failed, [false, true, true, true, true, true], "{outcomes:#?}");
    assert!(!scene.service.bottle(&own).unwrap().contains("other words"));
    scene.end();
}

/// The session that a result is of.
fn session(result: &Value) -> String {
    result["session_id"].as_str().unwrap().to_owned()
}
