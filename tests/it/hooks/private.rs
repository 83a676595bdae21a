//! Private words appear nowhere, and Endless's own words are never taken for anyone's.
use serde_json::json;

use super::{Talk, call, everything, log, settled};
use crate::harness::Service;

const SECRET: &str = "hunter2-0815";

fn nowhere(service: &Service) {
    for (path, _, bytes) in everything(&service.state(""), std::path::Path::new("")) {
        let found = memchr::memmem::find(&bytes, SECRET.as_bytes());
        assert_eq!(found, None, "{}", path.display());
    }
}

#[test]
fn a_pointer_that_comes_back_is_nobodys_words() {
    let service = Service::up();
    let talk = Talk::with_turns(&service, "aa", 2);
    let pointer = call(&service, &talk.compacted()).pointer().unwrap().text;
    talk.write(&talk.boundary());
    talk.write(&talk.arrival("SessionStart:compact", &pointer));
    let reminder = |text: &str| {
        format!(
            "<system-reminder>\nSessionStart hook additional context: {text}\n</system-reminder>"
        )
    };
    // By itself, in the host's envelope, before a person's words, and pasted by the person.
    talk.write(&talk.user(&pointer));
    talk.write(&talk.user(&reminder(&pointer)));
    talk.write(&talk.user(&format!("{}\nwhat I asked then", reminder(&pointer))));
    talk.write(&talk.user(&format!("{pointer}\n\ngo on there")));
    let blocks =
        json!([{"type": "text", "text": reminder(&pointer)}, {"type": "text", "text": "and this"}]);
    talk.write(&talk.row(json!({"type": "user", "message": {"role": "user", "content": blocks}})));
    for kind in ["hook_success", "queued_command", "hook_system_message"] {
        talk.write(&talk.row(json!({
            "type": "attachment",
            "attachment": {"type": kind, "content": pointer, "prompt": pointer, "stdout": pointer},
        })));
    }
    talk.write(&talk.agent("I read it."));
    let bottle = settled(&service, &talk);
    for own in ["endless-pointer", "This is the same session", "Next step: read these ranges"] {
        assert!(!bottle.contains(own), "{own}\n{bottle}");
    }
    for words in ["what I asked then", "go on there", "and this"] {
        assert!(bottle.contains(&format!("\n{words}\n")), "{words}\n{bottle}");
    }
    // The next pointer quotes no pointer.
    let next = call(&service, &talk.compacted()).pointer().unwrap().text;
    assert_eq!(next.matches("This is the same session").count(), 1, "{next}");
    assert_eq!(next.matches("endless-pointer").count(), 2, "{next}");
}

#[test]
fn a_bottle_that_was_read_is_nobodys_words() {
    let service = Service::up();
    let talk = Talk::with_turns(&service, "aa", 3);
    let pointer = call(&service, &talk.compacted()).pointer().unwrap();
    let copy = pointer.copy();
    talk.write(&talk.boundary());
    talk.write(&talk.arrival("SessionStart:compact", &pointer.text));
    let shown: String =
        copy.lines().zip(1..).map(|(line, number)| format!("{number}\t{line}\n")).collect();
    let input = json!({"file_path": pointer.path, "offset": 1, "limit": copy.lines().count()});
    talk.write(&talk.tool_call("c", "Read", &input));
    talk.write(&talk.tool_result("c", &shown));
    talk.write(&talk.agent("I know now where I was."));
    let bottle = settled(&service, &talk);
    assert_eq!(bottle.matches("\nanswer 2 of aa\n").count(), 1, "{bottle}");
    assert_eq!(bottle.matches("# Session bottle").count(), 1, "{bottle}");
    let grown = bottle.len() as f64 / copy.len() as f64;
    assert!(grown < 1.7, "{grown}\n{bottle}");
    // That it was read is noted.
    let status = service.status(&["aa"]).1;
    assert!(bottle.contains("I know now where I was."), "{status}");
}

#[test]
fn private_words_appear_on_no_path() {
    for up in [true, false] {
        let mut service = Service::up();
        if !up {
            service.kill();
        }
        let talk = Talk::with_turns(&service, "aa", 2);
        let private = format!("the key is <private>{SECRET}</private> and the rest is open");
        call(&service, &talk.prompted(&private));
        talk.write(&talk.user(&private));
        talk.write(&talk.tool_call("c", "Bash", &json!({"command": format!("echo '{private}'")})));
        talk.write(&talk.tool_result("c", &private));
        let compacting = json!({"trigger": "manual", "custom_instructions": private});
        call(&service, &talk.event("PreCompact", &compacting));
        talk.write(&talk.agent(&private));
        call(&service, &talk.event("Stop", &json!({"last_assistant_message": private})));
        let answer = call(&service, &talk.compacted());
        let pointer = answer.pointer().unwrap();
        assert!(pointer.text.contains("and the rest is open"), "{}", pointer.text);
        assert!(!answer.stdout.contains(SECRET));
        // A boundary of which nothing was printed, and a title that is private.
        talk.write(&talk.boundary());
        talk.write(&talk.agent(&private));
        let mut resumed = talk.resumed();
        resumed["session_title"] = json!(private);
        assert!(!call(&service, &resumed).stdout.contains(SECRET));
        // What is refused is not quoted.
        let file = format!("<private>{SECRET}</private>/x.md");
        call(&service, &talk.reads(std::path::Path::new(&file)));
        for broken in [
            json!({"session_id": format!("<private>{SECRET}</private>"), "hook_event_name": "Stop"}).to_string(),
            format!("{{\"session_id\":\"aa\",\"prompt\":\"<private>{SECRET}</private>\" {SECRET}"),
            format!("<private>{SECRET}</private>"),
        ] {
            let hook = super::Hook::waiting(&service).given(broken.as_bytes());
            assert!(hook.answer().is_silent());
        }
        assert!(!log(&service).is_empty());
        if up {
            settled(&service, &talk);
        }
        nowhere(&service);
    }
}
