use proptest::prelude::*;

use super::*;
use crate::applet::Event;

fn wiring() -> Wiring {
    let entries = [Event::PreToolUse.wire(), Event::Stop.wire()];
    Wiring {
        entries: entries.iter().map(|row| Entry::installed(row, "/b/octo-hook")).collect(),
        folders: vec!["/home/dev/.octorato".to_owned()],
        prefix: Some("/b/octo-sh".to_owned()),
    }
}

/// Settings as people have them: every layout that the merge must leave alone.
const LAYOUTS: &[&str] = &[
    "{}",
    "{}\n",
    "{ }",
    "{\n}\n",
    "\u{feff}{\n  \"model\": \"opus\"\n}\n",
    "{\n  \"hooks\": {}\n}\n",
    "{\n  \"hooks\": { },\n  \"env\": {\n  }\n}",
    "{\"hooks\":{\"Stop\":[]},\"permissions\":{\"allow\":[\"Bash\"]}}",
    "{\r\n\t\"env\": {\"A\": \"1\"},\r\n\t\"hooks\": {\r\n\t\t\"PreToolUse\": [ ]\r\n\t}\r\n}\r\n",
    "{\n    \"hooks\": {\n        \"Stop\": [\n            {\"hooks\": [{\"type\": \"command\", \"command\": \"x\"}]}\n        ]\n    },\n    \"permissions\": {\"additionalDirectories\": [\"/x\"]}\n}\n",
    "{\n  \"z\": 1e3,\n  \"a\": \"\\u00e9\\/\",\n\n\n  \"hooks\":{\"Other\":[{\"matcher\":\"\",\"hooks\":[]}]}\n}\n\n",
];

#[test]
fn in_and_out_gives_back_the_very_bytes() {
    for layout in LAYOUTS {
        let (wired, marks) = merge(layout, &wiring()).unwrap();
        assert!(holds(&wired, &wiring()).unwrap(), "{wired}");
        assert_eq!(unmerge(&wired, Some(&marks)).unwrap(), *layout, "through {wired}");
        let json: Value = serde_json::from_str(wired.trim_start_matches('\u{feff}')).unwrap();
        let groups = json["hooks"]["PreToolUse"].as_array().unwrap();
        assert_eq!(groups.last().unwrap()["hooks"][0]["onFailure"], "block");
    }
}

#[test]
fn every_other_key_keeps_its_bytes_and_order() {
    let text = "{\n  \"b\" : 1,\n  \"a\":[ 1,2 ],\n  \"hooks\": {\"Stop\": [{\"hooks\": []}]}\n}\n";
    let (wired, _) = merge(text, &wiring()).unwrap();
    assert!(wired.starts_with(
        "{\n  \"b\" : 1,\n  \"a\":[ 1,2 ],\n  \"hooks\": {\"Stop\": [{\"hooks\": []}"
    ));
}

#[test]
fn edits_made_in_between_survive_the_removal() {
    let before = "{\n  \"model\": \"opus\"\n}\n";
    let (wired, marks) = merge(before, &wiring()).unwrap();
    let edited = wired
        .replace("\"opus\"", "\"sonnet\"")
        .replace("\"hooks\": {\n", "\"hooks\": {\n    \"Notification\": [],\n");
    let bare = unmerge(&edited, Some(&marks)).unwrap();
    assert_eq!(
        bare,
        "{\n  \"model\": \"sonnet\",\n  \"hooks\": {\n    \"Notification\": []\n  }\n}\n"
    );
}

#[test]
fn a_handler_the_user_added_to_our_group_stays() {
    let (wired, marks) =
        merge("{}", &Wiring { folders: vec![], prefix: None, ..wiring() }).unwrap();
    let mine = "{\"type\": \"command\", \"command\": \"mine\"}";
    let edited = wired.replacen("\"hooks\": [", &format!("\"hooks\": [{mine},"), 1);
    let bare = unmerge(&edited, Some(&marks)).unwrap();
    let json: Value = serde_json::from_str(&bare).unwrap();
    assert_eq!(
        json["hooks"]["PreToolUse"][0]["hooks"],
        json!([{"type": "command", "command": "mine"}])
    );
    assert!(json["hooks"].get("Stop").is_none());
}

#[test]
fn a_lost_receipt_still_takes_everything_of_ours() {
    let (wired, _) =
        merge("{\n  \"model\": \"opus\"\n}\n", &Wiring { folders: vec![], ..wiring() }).unwrap();
    assert_eq!(unmerge(&wired, None).unwrap(), "{\n  \"model\": \"opus\"\n}\n");
}

#[test]
fn an_older_or_doubled_wiring_does_not_hold() {
    let (wired, _) = merge("{}", &wiring()).unwrap();
    assert!(!holds(&wired.replace("\"/b/octo-hook\"", "\"/old/octo-hook\""), &wiring()).unwrap());
    assert!(!holds(&wired.replace("\"timeout\": 20", "\"timeout\": 1"), &wiring()).unwrap());
    let (twice, _) = merge(&wired, &wiring()).unwrap();
    assert!(!holds(&twice, &wiring()).unwrap());
    assert!(!holds("{}", &wiring()).unwrap());
}

#[test]
fn a_prefix_of_somebody_else_is_not_taken_over() {
    let text = format!("{{\"env\": {{\"{PREFIX}\": \"/usr/bin/other\"}}}}");
    assert!(merge(&text, &wiring()).is_err());
    let plain = Wiring { prefix: None, ..wiring() };
    let (wired, marks) = merge(&text, &plain).unwrap();
    assert_eq!(unmerge(&wired, Some(&marks)).unwrap(), text);
}

#[test]
fn a_hooks_key_of_another_kind_is_refused_not_overwritten() {
    for text in ["{\"hooks\": []}", "{\"hooks\": null}", "{\"hooks\": {\"Stop\": {}}}", "[]", "3"] {
        assert!(merge(text, &wiring()).is_err(), "{text}");
    }
}

fn any_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i32>().prop_map(Value::from),
        "[a-z\"\\\\é/ ]{0,6}".prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 24, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map("[a-z ]{0,4}", inner, 0..4)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

fn any_settings() -> impl Strategy<Value = Value> {
    let group = json!({"matcher": "Bash", "hooks": [{"type": "command", "command": "x"}]});
    let hooks = prop_oneof![
        Just(None),
        Just(Some(json!({}))),
        Just(Some(json!({"Stop": []}))),
        Just(Some(json!({"PreToolUse": [group.clone(), group]}))),
    ];
    let rest = prop::collection::btree_map("[a-z]{1,5}", any_value(), 0..4);
    (hooks, rest, any::<bool>()).prop_map(|(hooks, rest, first)| {
        let mut map: serde_json::Map<String, Value> = rest.into_iter().collect();
        map.remove("hooks");
        map.remove("env");
        let mut all = serde_json::Map::new();
        if first {
            all.extend(map.clone());
        }
        all.extend(hooks.map(|hooks| ("hooks".to_owned(), hooks)));
        all.extend(map);
        Value::Object(all)
    })
}

/// Sprinkles legal white space between tokens, seeded.
fn scatter(value: &Value, seed: u64) -> String {
    let compact = value.to_string();
    let (mut out, mut state, mut inside, mut escaped) = (String::new(), seed, false, false);
    for c in compact.chars() {
        if !inside && "{}[],:".contains(c) {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let gap = ["", " ", "\n", "\n  ", "\t", "\r\n", "", ""][(state >> 61) as usize];
            out.push_str(gap);
            out.push(c);
            out.push_str(gap);
        } else {
            out.push(c);
        }
        if c == '"' && !escaped {
            inside = !inside;
        }
        escaped = inside && c == '\\' && !escaped;
    }
    out
}

proptest! {
    #[test]
    fn any_layout_comes_back_byte_for_byte(value in any_settings(), seed in any::<u64>()) {
        let text = scatter(&value, seed);
        let (wired, marks) = merge(&text, &wiring()).unwrap();
        prop_assert!(holds(&wired, &wiring()).unwrap());
        let mut back: Value = serde_json::from_str(&wired).unwrap();
        prop_assert_eq!(unmerge(&wired, Some(&marks)).unwrap(), text);
        // Every foreign key is still there, in order, with its value.
        for key in ["permissions", "env", "hooks"] {
            back.as_object_mut().unwrap().shift_remove(key);
        }
        let mut kept = value.as_object().unwrap().clone();
        kept.shift_remove("hooks");
        prop_assert_eq!(back.as_object().unwrap(), &kept);
    }
}
