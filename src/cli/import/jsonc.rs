//! Edits JSON with comments in place; all other bytes stay the same.

use std::collections::BTreeMap;
use std::ops::Range;

use serde_json::Value;
use serde_json::value::RawValue;

pub use toolroute_run::execution::jsonc::{blank, value};

/// The position of a member's value in a text whose comments are blanked.
fn span(blanked: &str, path: &[&str]) -> Option<Range<usize>> {
    let mut part = blanked.trim();
    for name in path {
        let members: BTreeMap<String, &RawValue> = serde_json::from_str(part).ok()?;
        part = members.get(*name)?.get();
    }
    let start = part.as_ptr() as usize - blanked.as_ptr() as usize;
    Some(start..start + part.len())
}

/// Sets the member `name` of the object at `path`, which is created if missing. Returns `None` if
/// something on the path is not an object.
pub fn set(text: &str, path: &[&str], name: &str, value: &Value) -> Option<String> {
    let blanked = blank(text);
    let full = [path, &[name]].concat();
    if let Some(there) = span(&blanked, &full) {
        let new = indented(value, full.len());
        return Some(format!("{}{new}{}", &text[..there.start], &text[there.end..]));
    }
    let Some(object) = span(&blanked, path) else {
        let (last, above) = path.split_last()?;
        let member = serde_json::json!({ name: value });
        return set(text, above, last, &member);
    };
    let inside = blanked[object.clone()].strip_prefix('{')?.strip_suffix('}')?;
    let (open, gap) = (object.start + 1, "  ".repeat(full.len()));
    let member = format!("\n{gap}{}: {}", Value::from(name), indented(value, full.len()));
    let end = if !inside.trim().is_empty() {
        ",".to_owned()
    } else if text[object.clone()].contains('\n') {
        String::new()
    } else {
        format!("\n{}", "  ".repeat(full.len() - 1))
    };
    Some(format!("{}{member}{end}{}", &text[..open], &text[open..]))
}

/// Removes a member and its comma.
pub fn remove(text: &str, path: &[&str], name: &str) -> Option<String> {
    let blanked = blank(text);
    let value = span(&blanked, &[path, &[name]].concat())?;
    let bytes = blanked.as_bytes();
    let back = |from: usize, byte: u8| {
        (0..from).rev().find(|&at| bytes[at] == byte && !is_escaped(bytes, at))
    };
    let key_end = back(back(value.start, b':')?, b'"')?;
    let mut start = back(key_end, b'"')?;
    let mut end = value.end;
    let after = blanked[end..].len() - blanked[end..].trim_start().len() + end;
    if bytes.get(after) == Some(&b',') {
        end = after + 1;
    } else if let Some(before) = blanked[..start].trim_end().strip_suffix(',') {
        start = before.len();
    }
    let line = text[..start].trim_end_matches([' ', '\t']).len();
    if text[..line].ends_with('\n') && text[end..].starts_with('\n') {
        start = line - 1;
    }
    Some(format!("{}{}", &text[..start], &text[end..]))
}

fn is_escaped(bytes: &[u8], at: usize) -> bool {
    bytes[..at].iter().rev().take_while(|byte| **byte == b'\\').count() % 2 == 1
}

/// Formats a value over several lines, indented by `levels`.
fn indented(value: &Value, levels: usize) -> String {
    let text = serde_json::to_string_pretty(value).unwrap_or_default();
    text.replace('\n', &format!("\n{}", "  ".repeat(levels)))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    const TEXT: &str = "{\n  // mine, \"all\"\n  \"servers\": {\n    \"a\": {\"url\": \"http://x//y\"}, /* b */\n    \"b\": [1, 2,],\n  },\n  \"other\": true\n}\n";

    #[test]
    fn comments_are_blank_and_stay() {
        assert_eq!(blank(TEXT).len(), TEXT.len());
        assert_eq!(value(TEXT).unwrap()["servers"]["a"]["url"], "http://x//y");
        let more = set(TEXT, &["servers"], "new", &json!({"command": "c"})).unwrap();
        assert!(more.contains("// mine") && more.contains("/* b */"), "{more}");
        assert_eq!(value(&more).unwrap()["servers"]["new"]["command"], "c");
        assert_eq!(remove(&more, &["servers"], "new").unwrap(), TEXT);
        let other = set(&more, &["servers"], "new", &json!(7)).unwrap();
        assert_eq!(value(&other).unwrap()["servers"]["new"], 7);
    }

    #[test]
    fn what_is_missing_on_the_way_is_made() {
        for text in ["{}", "{\n}\n", "{ // nothing\n}", "{\"a\": 1}"] {
            let set = set(text, &["mcp", "servers"], "x", &json!({"k": []})).unwrap();
            assert_eq!(value(&set).unwrap()["mcp"]["servers"]["x"], json!({"k": []}), "{set}");
        }
        assert_eq!(set("[]", &[], "x", &json!(1)), None);
        assert_eq!(set("{\"a\": 1}", &["a"], "x", &json!(1)), None);
    }

    #[test]
    fn the_last_and_the_only_member_go_with_their_comma() {
        for name in ["a", "b"] {
            let less = remove(TEXT, &["servers"], name).unwrap();
            let servers = value(&less).unwrap()["servers"].clone();
            assert_eq!(servers.as_object().unwrap().len(), 1, "{less}");
        }
        assert_eq!(value(&remove("{\"a\": 1}", &[], "a").unwrap()).unwrap(), json!({}));
    }

    proptest! {
        #[test]
        fn whatever_is_set_is_there_and_goes_again(
            names in prop::collection::btree_set("[a-z\"\\\\/, ]{1,6}", 0..5), name in "[a-z\"\\\\:/]{1,5}"
        ) {
            let members: serde_json::Map<_, _> = names.into_iter().map(|n| (n, json!({"v": ["/*", "//"]}))).collect();
            let text = serde_json::to_string_pretty(&json!({"s": members, "z": 1})).unwrap();
            let more = set(&text, &["s"], &name, &json!({"n": 1})).unwrap();
            let found = value(&more).unwrap();
            prop_assert_eq!(&found["s"][&name], &json!({"n": 1}));
            prop_assert_eq!(&found["z"], 1);
            let less = value(&remove(&more, &["s"], &name).unwrap()).unwrap();
            prop_assert_eq!(less["s"].as_object().unwrap().len(), found["s"].as_object().unwrap().len() - 1);
        }

        #[test]
        fn no_text_makes_it_panic(text in "[{}\\[\\],:\"/* a\\\\\n]{0,40}") {
            let _ = (value(&text), set(&text, &["a"], "b", &json!(1)), remove(&text, &[], "a"));
        }
    }
}
