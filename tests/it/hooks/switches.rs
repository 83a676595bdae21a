//! Where nothing is wanted nothing is done: subagents, switches, excluded and forgotten sessions.
use std::path::Path;

use serde_json::{Value, json};

use super::{Hook, Talk, call, everything, log, prints, settled};
use crate::harness::{Service, is_gone};

fn events(talk: &Talk) -> [Value; 6] {
    [
        talk.compacting(),
        talk.compacted(),
        talk.resumed(),
        talk.prompted("words"),
        talk.event("Stop", &json!({"last_assistant_message": "answer 1 of aa"})),
        talk.event("SessionEnd", &json!({"reason": "clear"})),
    ]
}

#[test]
fn a_subagents_events_do_nothing() {
    for up in [true, false] {
        let mut service = Service::up();
        let talk = Talk::with_turns(&service, "aa", 2);
        settled(&service, &talk);
        talk.missed_compaction();
        settled(&service, &talk);
        if !up {
            service.kill();
        }
        let before = service.sandbox.files("state/bottles");
        for mut payload in events(&talk) {
            payload["agent_id"] = json!("a1b2");
            payload["agent_type"] = json!("general-purpose");
            assert!(call(&service, &payload).is_silent());
        }
        assert_eq!(service.sandbox.files("state/bottles"), before);
        assert_eq!(prints(&service, "aa"), []);
        assert_eq!(log(&service), "");
        // No agent's id.
        let mut payload = talk.compacted();
        payload["agent_id"] = json!("");
        assert!(call(&service, &payload).pointer().is_some());
    }
}

/// All events, with this variable set: nothing is printed, and nothing in the home changes.
fn switched_off(service: &Service, variable: Option<(&str, &str)>) {
    let talk = Talk::with_turns(service, "aa", 2);
    talk.missed_compaction();
    let all = || everything(&service.sandbox.path(""), Path::new(""));
    let before = all();
    let broken = [json!("no payload")];
    for payload in events(&talk).iter().chain(&broken) {
        let mut command = service.command();
        command.envs(variable).args(["hook", "claude-code"]);
        let answer = Hook::start(&mut command).given(payload.to_string().as_bytes()).answer();
        assert!(answer.is_silent(), "{variable:?} {answer:?}");
    }
    assert!(all() == before, "{variable:?}");
}

#[test]
fn excluded_and_ignored_projects_are_left_alone() {
    for up in [true, false] {
        let mut service = Service::down();
        let private = service.sandbox.path("private/project");
        let ignored = service.sandbox.path("ignored/deep");
        std::fs::create_dir_all(&private).unwrap();
        std::fs::create_dir_all(&ignored).unwrap();
        std::fs::write(service.sandbox.path("ignored/.endless-ignore"), "").unwrap();
        let exclude = service.sandbox.path("private/**").display().to_string();
        let config = format!("exclude = [\"{exclude}\"]\n");
        service.sandbox.write(&service.state("config.toml"), &config);
        service.start();
        if !up {
            service.kill();
        }
        for (id, folder) in [("aa", &private), ("bb", &ignored)] {
            let talk = Talk::in_folder(&service, id, folder.to_str().unwrap());
            talk.turn(0);
            talk.missed_compaction();
            if up {
                service.sync();
            }
            for payload in &events(&talk)[..5] {
                let answer = call(&service, payload);
                assert!(answer.is_silent(), "{up} {id} {answer:?}");
            }
            assert!(is_gone(&service.bottle_path(id)), "{up} {id}");
            assert_eq!(prints(&service, id), []);
        }
        assert_eq!(service.sandbox.files("state/bottles").len(), 0);
    }
}

#[test]
fn what_is_switched_off_does_and_writes_nothing() {
    let off = [
        ("ENDLESS_DISABLE", "1"),
        ("ENDLESS_DISABLE", "true"),
        ("CLAUDE_MEM_ENDLESS_MODE_ENABLED", "false"),
    ];
    for variable in off {
        let service = Service::down();
        switched_off(&service, Some(variable));
        // Also where there is a state folder, whatever stands in the configuration.
        std::fs::create_dir_all(service.state("logs")).unwrap();
        service.sandbox.write(&service.state("config.toml"), "zone = 7\n");
        switched_off(&service, Some(variable));
    }
    let service = Service::down();
    service.sandbox.write(&service.state("config.toml"), "enabled = false\n");
    switched_off(&service, None);
}

#[test]
fn only_false_switches_off() {
    for value in ["true", "1", "", "0", "no", "False", "off", "false "] {
        let service = Service::down();
        let talk = Talk::with_turns(&service, "aa", 2);
        let mut command = service.command();
        command.env("CLAUDE_MEM_ENDLESS_MODE_ENABLED", value).args(["hook", "claude-code"]);
        let hook = Hook::start(&mut command).given(talk.compacted().to_string().as_bytes());
        assert!(hook.answer().pointer().is_some(), "{value:?} {}", log(&service));
    }
}

#[test]
fn a_spoilt_configuration_that_may_keep_sessions_out_is_obeyed() {
    for (config, expected) in [
        ("zone = 7\n", true),
        ("# exclude = []\nzone = 7\n", true),
        ("zone = 7\n exclude = [\"/w/**\"]\n", false),
        ("enabled = false\nzone = 7\n", false),
        ("exclude = [\"/w/**\"\n", false),
    ] {
        let mut service = Service::down();
        let talk = Talk::with_turns(&service, "aa", 2);
        service.sandbox.write(&service.state("config.toml"), config);
        let printed = call(&service, &talk.compacted()).pointer();
        assert_eq!(printed.is_some(), expected, "{config}");
        if expected {
            continue;
        }
        assert!(is_gone(&service.bottle_path("aa")), "{config}");
        // A service that understood it before knows.
        std::fs::remove_file(service.state("config.toml")).unwrap();
        service.start();
        std::fs::write(service.state("config.toml"), config).unwrap();
        assert!(call(&service, &talk.compacted()).pointer().is_some(), "{config}");
    }
}

#[test]
fn a_forgotten_session_is_left_alone() {
    for up in [true, false] {
        let mut service = Service::up();
        let talk = Talk::with_turns(&service, "aa", 2);
        settled(&service, &talk);
        assert!(call(&service, &talk.compacted()).pointer().is_some());
        if !up {
            service.kill();
        }
        let output = service.command().args(["forget", "aa", "--yes"]).output().unwrap();
        assert!(output.status.success(), "{output:?}");
        talk.missed_compaction();
        for payload in events(&talk) {
            let answer = call(&service, &payload);
            assert!(answer.is_silent(), "{up} {answer:?}");
        }
        assert_eq!(service.sandbox.files("state/bottles").len(), 0, "{up}");
        assert_eq!(prints(&service, "aa"), []);
    }
}
