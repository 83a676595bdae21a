//! Values found in bytes, well-formed and broken.

use proptest::prelude::*;

use super::*;

fn skips(text: &str) -> bool {
    let mut cursor = Cursor::new(text.as_bytes());
    cursor.skip().is_ok() && cursor.peek().is_none()
}

#[test]
fn structure_is_checked_everywhere() {
    for good in ["{}", "[]", r#"{"a":[1,{"b":null}],"c":"\\\""}"#, " [ 1 , -2.5e+3 ] "] {
        assert!(skips(good), "{good}");
    }
    for bad in [
        "",
        "{",
        r#"{"a"}"#,
        r#"{"a":}"#,
        r#"{"a":1,}"#,
        "[1 2]",
        "[1,]",
        r#"["a]"#,
        "{]",
        "[}",
        r#"{"type":"us{"type":"user"}"#,
        r#"{"a":{"b":"x{"user":1}}}"#,
        "nul",
        r#"{"a":1}}"#,
    ] {
        assert!(!skips(bad), "{bad}");
    }
}

#[test]
fn depth_costs_no_stack() {
    let deep = format!("{}1{}", "[{\"a\":".repeat(100_000), "}]".repeat(100_000));
    assert!(skips(&deep));
    assert!(!skips(&deep.replacen("}]", "]}", 1)));
}

#[test]
fn escapes_are_resolved_and_lone_surrogates_replaced() {
    for (raw, expected) in [
        (r"a\nb\t\/\\\u0041", "a\nb\t/\\A"),
        (r"\ud83d\ude80", "🚀"),
        (r"x\ud83d y", "x\u{fffd} y"),
        (r"\ud83d\u0041", "\u{fffd}A"),
        (r"\ude80", "\u{fffd}"),
        (r"\q\u12", r"\q\u12"),
    ] {
        assert_eq!(Quoted(raw.as_bytes()).decode(), expected, "{raw}");
    }
    assert_eq!(Quoted(b"a\xffb").decode(), "a\u{fffd}b");
}

#[test]
fn the_last_of_two_equal_keys_wins() {
    let raw = Raw(br#"{"a":1,"\u0061":2}"#);
    assert_eq!(raw.member("a").and_then(Raw::number), Some(2));
}

fn value() -> impl Strategy<Value = serde_json::Value> {
    let leaf = prop_oneof![
        Just(serde_json::Value::Null),
        any::<bool>().prop_map(Into::into),
        any::<f64>().prop_map(Into::into),
        any::<u64>().prop_map(Into::into),
        ".*".prop_map(serde_json::Value::from),
    ];
    leaf.prop_recursive(6, 64, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Into::into),
            prop::collection::btree_map(".*", inner, 0..6)
                .prop_map(|map| map.into_iter().collect::<serde_json::Map<_, _>>().into()),
        ]
    })
}

proptest! {
    #[test]
    fn agrees_with_serde_json(value in value(), pretty: bool, key in ".*") {
        let mut value = value;
        if let Some(object) = value.as_object_mut() {
            object.insert(key.clone(), "there".into());
        }
        let text = if pretty {
            serde_json::to_string_pretty(&value).unwrap()
        } else {
            value.to_string()
        };
        prop_assert!(skips(&text));
        if value.is_object() {
            let raw = Raw(text.as_bytes());
            prop_assert_eq!(raw.text(&key).unwrap_or_default(), "there");
        }
    }

    #[test]
    fn strings_agree_with_serde_json(text: String) {
        let encoded = serde_json::to_string(&text).unwrap();
        prop_assert_eq!(Raw(encoded.as_bytes()).quoted().unwrap().decode(), text);
    }

    #[test]
    fn cut_text_is_never_taken_for_whole(value in value(), cut: prop::sample::Index) {
        let text = value.to_string();
        let cut = cut.index(text.len());
        if (text.starts_with('{') || text.starts_with('[')) && text.is_char_boundary(cut) {
            prop_assert!(!skips(&text[..cut]));
        }
    }
}
