//! What goes in comes out again, and nothing else changes.

use proptest::prelude::*;
use serde_json::{Map, Value, json};

use super::{
    super::events::{EVENTS, Version, hooks},
    *,
};

fn ours() -> Vec<Hook> {
    hooks("/opt/it's/endless", None, None)
}

/// Settings of any shape, with or without hooks of others.
fn settings() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i32>().prop_map(Value::from),
        "[a-z\"\\\\/*,\\]}é😀\n]{0,8}".prop_map(Value::from),
    ];
    let any_value = leaf.prop_recursive(3, 16, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map("[a-z/]{0,4}", inner, 0..4)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    });
    let handler = "[a-z]{1,6}".prop_map(|word| json!({"type": "command", "command": word}));
    let group = (prop::option::of("[a-z]{1,3}"), prop::collection::vec(handler, 1..3)).prop_map(
        |(matcher, handlers)| match matcher {
            None => json!({"hooks": handlers}),
            Some(matcher) => json!({"matcher": matcher, "hooks": handlers}),
        },
    );
    let events = EVENTS.iter().map(|event| event.name).chain(["PreToolUse", "Future"]);
    let event = prop::sample::select(events.collect::<Vec<_>>());
    let groups = prop::collection::vec(group, 1..3);
    let all = prop::collection::btree_map(event, groups, 1..4);
    let rest = prop::collection::btree_map("[a-gi-z/]{0,6}", any_value, 0..5);
    (rest, prop::option::of(all)).prop_map(|(rest, all)| {
        let mut map: Map<String, Value> = rest.into_iter().collect();
        map.extend(all.map(|all| ("hooks".to_owned(), json!(all))));
        Value::Object(map)
    })
}

/// The same, by values alone.
fn expected(mut settings: Value, hooks: &[Hook]) -> Value {
    for hook in hooks {
        let groups = &mut settings["hooks"][&hook.event];
        let group = json!({"hooks": [hook.handler()]});
        match groups {
            Value::Array(groups) => groups.push(group),
            _ => *groups = json!([group]),
        }
    }
    settings
}

/// A text with comments, blanks and commas put in wherever they may stand.
fn decorated(text: &str, marks: &[usize]) -> String {
    const MARKS: [&str; 6] = [" ", "\n\t", "/* é \" , } */", "// x, ]\r\n", "", "// \u{a0} \n"];
    let (mut all, mut is_text, mut is_escape) = (String::new(), false, false);
    let mut next = marks.iter().cycle();
    for char in text.chars() {
        let is_edge = !is_text && "{}[]:,\"".contains(char);
        if is_edge && char != ':' {
            all.push_str(MARKS[next.next().unwrap_or(&0) % MARKS.len()]);
        }
        all.push(char);
        match char {
            '"' if !is_escape => is_text = !is_text,
            _ => {}
        }
        is_escape = is_text && char == '\\' && !is_escape;
    }
    all
}

/// The comments of a text, in order.
fn comments(text: &str) -> Vec<String> {
    let (mut rest, mut all, mut is_text) = (text, Vec::new(), false);
    while let Some(char) = rest.chars().next() {
        let mut length = char.len_utf8();
        if is_text && char == '\\' {
            length += rest[1..].chars().next().map_or(0, char::len_utf8);
        } else if char == '"' {
            is_text = !is_text;
        } else if !is_text && char == '/' {
            let end = if rest.starts_with("//") {
                rest.find(['\r', '\n'])
            } else {
                rest.find("*/").map(|at| at + 2)
            };
            length = end.unwrap();
            all.push(rest[..length].to_owned());
        }
        rest = &rest[length..];
    }
    all
}

fn value(text: &str) -> Value {
    parse(text).unwrap().value(text)
}

proptest! {
    #[test]
    fn installing_adds_our_hooks_and_nothing_else(settings in settings(), is_tall: bool) {
        let before = if is_tall {
            serde_json::to_string_pretty(&settings).unwrap()
        } else {
            settings.to_string()
        };
        let after = install(&before, &ours()).unwrap();
        prop_assert_eq!(serde_json::from_str::<Value>(&after).unwrap(), expected(settings, &ours()));
        prop_assert_eq!(&install(&after, &ours()).unwrap(), &after);
        prop_assert_eq!(found(&after).unwrap().len(), EVENTS.len());
        prop_assert_eq!(uninstall(&after).unwrap(), before);
    }

    #[test]
    fn comments_and_blanks_stay(
        settings in settings(),
        marks in prop::collection::vec(0..6_usize, 1..40),
    ) {
        let before = decorated(&settings.to_string(), &marks);
        prop_assert_eq!(&value(&before), &settings);
        let after = install(&before, &ours()).unwrap();
        prop_assert_eq!(value(&after), expected(settings.clone(), &ours()));
        prop_assert_eq!(comments(&after), comments(&before));
        prop_assert_eq!(&install(&after, &ours()).unwrap(), &after);
        let gone = uninstall(&after).unwrap();
        prop_assert_eq!(value(&gone), settings);
        if value(&before) != json!({}) {
            prop_assert_eq!(gone, before);
        }
    }

    #[test]
    fn another_path_replaces_in_place(settings in settings(), marks in prop::collection::vec(0..6_usize, 1..40)) {
        let before = decorated(&settings.to_string(), &marks);
        let after = install(&before, &ours()).unwrap();
        let other = hooks("/usr/bin/endless", Some("/s"), None);
        let upgraded = install(&after, &other).unwrap();
        let (old, new) = (write::string(&ours()[0].command), write::string(&other[0].command));
        prop_assert_eq!(upgraded, after.replace(&old, &new));
    }

    /// Whatever is in the file: no panic, and what is refused is left alone.
    #[test]
    fn any_text_is_edited_or_refused(text in "[{}\\[\\]:,\"/* \nhoks1\\\\-]{0,40}") {
        if let Ok(after) = install(&text, &ours()) {
            prop_assert!(parse(&after).is_ok(), "{}", after);
            prop_assert!(uninstall(&after).is_ok());
        }
    }

    /// Our handlers come out of groups of others, from between others, whatever stands around them.
    #[test]
    fn ours_are_taken_out_from_among_others(
        places in prop::collection::vec((0..3_usize, any::<bool>()), 1..5),
        marks in prop::collection::vec(0..6_usize, 1..40),
    ) {
        let handler = |is_ours| match is_ours {
            true => ours()[0].handler(),
            false => json!({"command": "theirs"}),
        };
        let mut groups = vec![Vec::new(); 3];
        for (group, is_ours) in &places {
            groups[*group].push(handler(*is_ours));
        }
        groups.retain(|group| !group.is_empty());
        let text = json!({"hooks": {"Stop": groups.iter().map(|it| json!({"hooks": it})).collect::<Vec<_>>()}});
        let text = decorated(&text.to_string(), &marks);
        let gone = uninstall(&text).unwrap();
        let theirs = places.iter().filter(|(_, is_ours)| !is_ours).count();
        prop_assert_eq!(gone.matches("theirs").count(), theirs);
        prop_assert!(!gone.contains("claude-code"));
        prop_assert!(parse(&gone).is_ok());
        prop_assert!(install(&text, &ours()).is_ok());
    }
}

#[test]
fn what_is_left_over_or_moved_is_put_right() {
    let hook = &ours()[..1];
    let command = &hook[0].command;
    let wanted = json!({"hooks": {"SessionStart": [{"hooks": [hook[0].handler()]}]}});
    for settings in [
        json!({"hooks": {"SessionStart": [{"matcher": "compact", "hooks": [hook[0].handler()]}]}}),
        json!({"hooks": {"SessionStart": [{"hooks": [{"command": command, "async": true}]}]}}),
        json!({"hooks": {
            "SessionStart": [{"hooks": [hook[0].handler()]}, {"hooks": [hook[0].handler()]}],
            "Future": [{"hooks": [hook[0].handler()]}],
        }}),
    ] {
        let after = install(&settings.to_string(), hook).unwrap();
        assert_eq!(value(&after), wanted, "{settings}");
    }
}

#[test]
fn an_older_host_is_spared_what_it_does_not_know() {
    let after =
        install(&install("", &ours()).unwrap(), &hooks("/e", None, Version::read("2.1.76")));
    let after = found(&after.unwrap()).unwrap();
    assert_eq!(after.len(), 7);
    assert!(after.iter().all(|hook| hook.event != "StopFailure" && hook.command.contains("'/e'")));
}

#[test]
fn what_can_not_be_told_is_refused_with_its_line() {
    for (text, line, message) in [
        ("[]", 1, "a list stands where settings should be"),
        ("\n{\"hooks\": []}", 2, "`hooks` must be an object and is a list"),
        ("{\n\"hooks\":\nnull}", 3, "`hooks` must be an object and is no object"),
        ("{\"hooks\": {\"Stop\": {}}}", 1, "`Stop` must be a list and is an object"),
        ("{\"hooks\": {},\n\"hooks\": {}}", 2, "`hooks` is there twice; remove one of them"),
        (
            "{\"hooks\": {\"Stop\": [],\n\"Stop\": []}}",
            2,
            "`Stop` is there twice; remove one of them",
        ),
        ("{,}", 1, "`,` stands where a key in double quotes should be"),
        ("{\n", 2, "the text ends where a key in double quotes should be"),
    ] {
        let wrong = install(text, &ours()).unwrap_err();
        assert_eq!((wrong.line, &*wrong.message), (line, message), "{text}");
    }
    // Where there can be none of ours, there is nothing to be taken out.
    for text in ["", "\n", "\u{feff}", "{\"hooks\": []}", "{\"hooks\": {\"Stop\": 1}}"] {
        assert_eq!(uninstall(text).unwrap(), text);
    }
}
