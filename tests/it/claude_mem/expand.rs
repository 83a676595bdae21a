//! What is behind an observation's line.
use insta::assert_snapshot;

use super::{OBSERVED, START, VERSIONS, session, transcript, with};

#[test]
fn an_observation_is_shown_whole() {
    let shown = VERSIONS.map(|version| with(version, "").show(&["expand", "1111", "#2"]));
    assert_eq!(shown[0], shown[1]);
    assert_snapshot!(shown[0], @r"
        exit 0
        --- out
        #2 · feature · Exponential backoff retry added to http client
        subtitle (1 line):
        Three attempts with jitter on 429 and 5xx.
        narrative (1 line):
        A RetryPolicy was added to src/http.rs with three attempts, exponential backoff and full jitter for 429 and 5xx responses. Idempotent methods only.
        facts (2 lines):
        - RetryPolicy struct added
        - max_attempts=3
        concepts (1 line):
        - what-changed
        files_read (1 line):
        - src/http.rs
        files_modified (1 line):
        - src/http.rs
        content_hash: 8e7b027139e9d6ae
        created_at: 2026-11-30T10:30:00.000Z
        created_at_epoch: 1796034600000
        discovery_tokens: 4200
        generated_by_model: claude-haiku-4-5
        memory_session_id: mem-A-leg2
        project: demo-app
        prompt_number: 1
        relevance_count: 0
        sync_rev: 1
        ");
}

#[test]
fn with_a_transcript_calls_and_observations_may_be_asked_for_together() {
    let sandbox = with("store-13.25.3", "");
    sandbox.transcript(&format!("-w/{OBSERVED}"), &transcript("store-13.25.3", OBSERVED), 0);
    let ran = sandbox.run(&["expand", "1111", "t4", "[#3]", "--json"]);
    let parts: serde_json::Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!((&parts[0]["id"], &parts[1]["id"]), (&"t4".into(), &3.into()));
    assert_eq!(parts[1]["files_modified"], serde_json::json!(["src/http.rs"]));
    assert_eq!(sandbox.run(&["render", "1111"]).status, 0);
    // The line of the bottle stands for four calls.
    let ran = sandbox.run(&["expand", "1111", "t1-t4"]);
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    // A call needs the transcript.
    std::fs::remove_dir_all(sandbox.path(".claude")).unwrap();
    let ran = sandbox.run(&["expand", "1111", "t4"]);
    assert_eq!(
        ran.stderr,
        format!(
            "error: the transcript of this session is gone; its bottle is \
             ~/.endless/bottles/{OBSERVED}.md (`endless pointer {OBSERVED}` hands it to an agent)\n"
        )
    );
}

#[test]
fn an_observation_of_another_session_or_platform_is_not_shown() {
    let other = "bbbbbbbb-0000-4000-8000-00000000000b";
    let sql = session(other, "claude", &[(0, "p")], &[])
        + &session(other, "cursor", &[(0, "p")], &[(1, "of cursor")]);
    let sandbox = with("store-13.25.3", &sql);
    for id in ["#1", "#4", "#99", "#99999999999999999999"] {
        let ran = sandbox.run(&["expand", "bbbb", id]);
        assert_eq!(ran.status, 1, "{}", ran.stdout);
        assert!(ran.stderr.contains("keeps no observation #"), "{}", ran.stderr);
    }
}

#[test]
fn of_a_sensitive_observation_only_the_title_is_shown() {
    let id = "cccccccc-0000-4000-8000-00000000000c";
    let sql = session(id, "claude", &[(0, "p")], &[(1, "A key was rotated")])
        + &format!(
            "UPDATE observations SET type = 'sensitive', narrative = 'It was hunter2.', \
             subtitle = 'hunter2', facts = '[\"hunter2\"]' WHERE created_at_epoch = {};",
            START + 1_000
        );
    let sandbox = with("store-13.25.3", &sql);
    let bottle = sandbox.run(&["render", "cccc", "--stdout"]).stdout;
    assert!(
        bottle.contains("- [#4] A key was rotated\n") && !bottle.contains("hunter2"),
        "{bottle}"
    );
    for arguments in [&["expand", "cccc", "#4"][..], &["expand", "cccc", "#4", "--json"]] {
        let ran = sandbox.run(arguments);
        assert!(ran.stdout.contains("A key was rotated") && !ran.stdout.contains("hunter2"));
    }
}

#[test]
fn where_observations_are_switched_off_they_are_not_asked_for() {
    let sandbox = with("store-13.25.3", "");
    sandbox.write(&sandbox.path(".endless/config.toml"), "observations = 'derived'\n");
    let path =
        sandbox.transcript(&format!("-w/{OBSERVED}"), &transcript("store-13.25.3", OBSERVED), 0);
    let ran = sandbox.run(&["expand", "1111", "#2"]);
    assert!(ran.stderr.contains("`observations` is `derived` in ~/.endless/config.toml"));
    let bottle = sandbox.run(&["render", "1111", "--stdout"]).stdout;
    assert!(
        bottle.contains("mode: full (transcript only)") && !bottle.contains("- [#"),
        "{bottle}"
    );
    std::fs::remove_file(path).unwrap();
    assert_eq!(sandbox.run(&["render", "1111"]).status, 1);
}
