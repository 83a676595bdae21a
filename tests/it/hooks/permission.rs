//! What the agent may read without asking: this session's own bottle and copies, and a parent's
//! where its pointer stands in this session's transcript.
use std::{fs, os::unix::fs::symlink, path::PathBuf};

use serde_json::{Value, json};

use super::{Answer, Hook, Talk, call, settled};
use crate::harness::{Rows, Service};

impl Answer {
    /// Whether it lets a tool call through.
    fn allows(&self) -> bool {
        if self.is_silent() {
            return false;
        }
        let value: Value = serde_json::from_str(&self.stdout).unwrap();
        let expected =
            json!({"hookEventName": "PermissionRequest", "decision": {"behavior": "allow"}});
        assert_eq!(value["hookSpecificOutput"], expected);
        true
    }
}

struct Scene {
    service: Service,
    own: Talk,
    other: Talk,
}

impl Scene {
    fn new(up: bool) -> Self {
        let mut service = Service::up();
        let (own, other) =
            (Talk::with_turns(&service, "own", 2), Talk::with_turns(&service, "other", 2));
        for talk in [&own, &other] {
            settled(&service, talk);
            assert_eq!(call(&service, &talk.compacted()).pointer().unwrap().n, 1);
        }
        if !up {
            service.kill();
        }
        Self { service, own, other }
    }

    fn bottles(&self, name: &str) -> PathBuf {
        self.service.state("bottles").join(name)
    }

    fn may_read(&self, file: impl Into<PathBuf>) -> bool {
        call(&self.service, &self.own.reads(&file.into())).allows()
    }
}

#[test]
fn only_reading_is_allowed() {
    let scene = Scene::new(true);
    let bottle = scene.bottles("own.md");
    let ask = |tool: &Value, input: &Value| {
        let more = json!({"tool_name": tool, "tool_input": input});
        call(&scene.service, &scene.own.event("PermissionRequest", &more)).allows()
    };
    let input = json!({"file_path": bottle});
    for tool in ["Write", "Edit", "MultiEdit", "Bash", "Grep", "Glob", "read", "mcp__x__Read", ""] {
        assert!(!ask(&json!(tool), &input), "{tool}");
    }
    for tool in [json!(null), json!(["Read"]), json!({"Read": 1}), json!(1)] {
        assert!(!ask(&tool, &input), "{tool}");
    }
    let read = json!("Read");
    for input in [
        json!({"path": bottle}),
        json!({"file_path": [bottle]}),
        json!({"file_path": null}),
        json!([bottle]),
        json!(bottle),
        json!(null),
        json!({"file_path": format!("{}\u{0}", bottle.display())}),
        json!({"file_path": format!("{}\n", bottle.display())}),
        json!({"file_path": format!(" {}", bottle.display())}),
        json!({"file_path": "x".repeat(100_000)}),
    ] {
        assert!(!ask(&read, &input), "{input}");
    }
    assert!(ask(&read, &json!({"file_path": bottle, "offset": 1, "limit": 40})));
    // A subagent asks for itself.
    let more = json!({"tool_name": "Read", "tool_input": input, "agent_id": "a1"});
    assert!(!call(&scene.service, &scene.own.event("PermissionRequest", &more)).allows());
}

#[test]
fn a_parents_bottle_may_be_read_where_its_pointer_stands() {
    for up in [true, false] {
        let scene = Scene::new(up);
        let text = call(&scene.service, &scene.other.compacted()).pointer();
        assert!(text.is_none(), "within five seconds");
        let pointer = "<endless-pointer session=\"other\" n=\"1\">\nread it\n</endless-pointer>";
        // Words, tools and what the host notes for itself are no proof.
        let own = &scene.own;
        own.write(&own.user(pointer));
        own.write(&own.agent(pointer));
        own.write(&own.tool_call("c", "Bash", &json!({"command": pointer})));
        own.write(&own.tool_result("c", pointer));
        own.write(&own.row(json!({
            "type": "api-request-blob", "message": {"role": "user", "content": pointer},
        })));
        own.write(&own.arrival("SessionStart", &format!("about {pointer}")));
        for name in ["other.md", "other@1.md"] {
            assert!(!scene.may_read(scene.bottles(name)), "{up} {name}");
        }
        own.write(&own.arrival("SessionStart", pointer));
        for name in ["other.md", "other@1.md", "own.md"] {
            assert!(scene.may_read(scene.bottles(name)), "{up} {name}");
        }
        let third = Rows::new().user("theirs").text();
        scene.service.transcript("-w", "third").append(&third);
        if up {
            scene.service.sync();
            scene.service.current("third");
        } else {
            fs::write(scene.bottles("third.md"), "x").unwrap();
        }
        for name in ["third.md", "archive/7-other.md"] {
            assert!(!scene.may_read(scene.bottles(name)), "{up} {name}");
        }
    }
}

#[test]
fn many_may_ask_at_once() {
    let scene = Scene::new(true);
    let own = &scene.own;
    own.write(&own.arrival("SessionStart", "<endless-pointer session=\"other\" n=\"1\">\n"));
    fs::write(scene.bottles("third.md"), "x").unwrap();
    let files = ["own.md", "other@1.md", "own@1.md", "third.md", "other.md", "archive/x.md"];
    let hooks = files.map(|_| Hook::waiting(&scene.service));
    let hooks = hooks
        .into_iter()
        .zip(files)
        .map(|(hook, file)| hook.given(own.reads(&scene.bottles(file)).to_string().as_bytes()));
    let hooks: Vec<_> = hooks.collect();
    let allowed: Vec<bool> = hooks.into_iter().map(|hook| hook.answer().allows()).collect();
    assert_eq!(allowed, [true, true, true, false, true, false]);
}

#[test]
fn a_session_may_read_its_own_bottle_and_copies_and_nothing_else() {
    for up in [true, false] {
        let scene = Scene::new(up);
        let (service, home) = (&scene.service, scene.service.sandbox.path(""));
        for name in ["own.md", "own@1.md"] {
            assert!(scene.may_read(scene.bottles(name)), "{up} {name}");
        }
        fs::write(scene.bottles("archive/7-own.md"), "x").unwrap();
        fs::write(scene.bottles("own.md.bak"), "x").unwrap();
        fs::write(scene.bottles("own@x.md"), "x").unwrap();
        fs::write(home.join("own.md"), "x").unwrap();
        symlink(scene.bottles("own.md"), scene.bottles("own@7.md")).unwrap();
        symlink("/etc/hostname", scene.bottles("own@8.md")).unwrap();
        fs::create_dir(scene.bottles("own@9.md")).unwrap();
        symlink(scene.bottles("own.md"), home.join("linked.md")).unwrap();
        fs::create_dir(home.join("l")).unwrap();
        symlink(scene.bottles("own.md"), home.join("l/own.md")).unwrap();
        symlink(scene.bottles(""), home.join("bottles")).unwrap();
        for file in [
            scene.bottles("other.md"),
            scene.bottles("other@1.md"),
            scene.bottles("archive/7-own.md"),
            scene.bottles("archive/../own.md"),
            scene.bottles("../bottles/own.md"),
            scene.bottles("own.md/../own.md"),
            scene.bottles("own.md.bak"),
            scene.bottles("own@x.md"),
            scene.bottles("own@+1.md"),
            scene.bottles("own@01.md"),
            scene.bottles("own@2.md"),
            scene.bottles("own@7.md"),
            scene.bottles("own@8.md"),
            scene.bottles("own@9.md"),
            scene.bottles("own"),
            scene.bottles("OWN.md"),
            scene.bottles(""),
            home.join("own.md"),
            home.join("linked.md"),
            home.join("l/own.md"),
            home.join("bottles/own.md"),
            service.state("endless.db"),
            service.state("config.toml"),
            scene.own.transcript.path.clone(),
            PathBuf::from("state/bottles/own.md"),
            PathBuf::from("own.md"),
            PathBuf::from("~/state/bottles/own.md"),
            PathBuf::from(""),
            PathBuf::from("/"),
            PathBuf::from("/etc/passwd"),
            PathBuf::from("/dev/stdin"),
        ] {
            assert!(!scene.may_read(&file), "{up} {}", file.display());
        }
    }
}
