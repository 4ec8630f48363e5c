use proptest::prelude::*;
use serde_json::value::RawValue;
use tempfile::TempDir;

use super::*;
use toolroute_catalog::{Schema, Tool};
use toolroute_vectors::durable::now_s;

const SCHEMA: &str = r#"{"type": "object", "properties": {"path": {"type": "string", "description": "Where", "maxLength": 9}}, "required": ["path"]}"#;

fn tool(schema: &str) -> Tool {
    let mut tool = Tool::new(Some("files"), "read", "Reads a file.");
    tool.title = Some("Read".into());
    tool.mcp = Some(raw(r#"{"annotations": {"readOnlyHint": true}, "_meta": {"build": 1}}"#));
    tool.input_schema = Some(raw(schema));
    tool
}

fn raw(text: &str) -> Schema {
    Schema::new(RawValue::from_string(text.into()).unwrap())
}

fn pins(mode: Mode) -> (TempDir, Pins) {
    let folder = tempfile::tempdir().unwrap();
    let pins = Pins::new(folder.path().join("deep/pins.json"), mode);
    (folder, pins)
}

fn accepts(pins: &Pins, tool: &Tool) -> bool {
    !pins.check("files", vec![tool.clone()]).unwrap().accepted.is_empty()
}

#[test]
fn the_same_definition_in_other_bytes_is_the_same() {
    let (_folder, pins) = pins(Mode::FirstUse);
    assert!(accepts(&pins, &tool(SCHEMA)));
    let value: serde_json::Value = serde_json::from_str(SCHEMA).unwrap();
    let turned = r#"{"required":["path"],"properties":{"path":{"maxLength":9.0,"description":"\u0057here","type":"string"}},"type":"object"}"#;
    assert!(accepts(&pins, &tool(&value.to_string())) && accepts(&pins, &tool(turned)));
}

#[test]
fn names_in_another_order_are_the_same_unless_strict() {
    let schema = |fields: &str| {
        let text = r#"{"properties": {"fields": {"type": "string", "default": "FIELDS"}}}"#;
        tool(&text.replace("FIELDS", fields))
    };
    let (_folder, loose) = pins(Mode::FirstUse);
    let (first, other) = (schema("status,created,labels"), schema("created,labels,status"));
    assert!(accepts(&loose, &first) && accepts(&loose, &other) && accepts(&loose, &first));
    let again = loose.check_again("files", vec![other.clone()]).unwrap();
    assert_eq!((again.accepted.len(), again.reworded.len()), (1, 0));
    for changed in ["created,labels", "status,created,label", "status, created, labels"] {
        assert!(!accepts(&loose, &schema(changed)), "{changed}");
    }
    for (pair, turned) in [("from,to", "to,from"), ("1,2,3", "3,2,1"), ("rm a,b,c", "b,c,rm a")] {
        let (_folder, loose) = pins(Mode::FirstUse);
        assert!(accepts(&loose, &schema(pair)) && !accepts(&loose, &schema(turned)), "{pair}");
    }
    let (_folder, strict) = pins(Mode::Strict);
    assert!(!accepts(&strict, &first));
    strict.approve(&Approve::All).unwrap();
    assert!(accepts(&strict, &first) && !accepts(&strict, &other));
}

#[test]
fn what_the_user_adds_is_free() {
    let (_folder, pins) = pins(Mode::FirstUse);
    let mut other = tool(SCHEMA);
    assert!(accepts(&pins, &other));
    other.tags = vec!["mine".into()];
    other.hints.destructive = Some(true);
    assert!(accepts(&pins, &other));
}

#[test]
fn what_comes_after_the_others_is_a_newcomer_for_two_weeks_or_until_it_is_approved() {
    const DAY: u64 = 24 * 3600;
    let (_folder, pins) = pins(Mode::FirstUse);
    let start = now_s();
    let newcomer = |name: &str, words: &str, at: u64| {
        let tool = Tool::new(Some(name), "read", words);
        pins.check_at(at, name, vec![tool]).unwrap().accepted[0].routing.newcomer
    };
    assert!(!newcomer("files", "Reads a file.", start - 30 * DAY), "there is nothing before it");
    assert!(!newcomer("notes", "Reads a note.", start - 30 * DAY + 3600), "set up together");
    assert!(newcomer("web", "Reads a page.", start - 20 * DAY));
    assert!(newcomer("web", "Reads a page.", start - 7 * DAY));
    assert!(!newcomer("web", "Reads a page.", start - 6 * DAY), "after two weeks");
    assert!(newcomer("files", "Reads files.", start), "nobody knows the new words");
    let marked = || pins.list().unwrap().iter().filter(|pin| pin.newcomer).count();
    assert_eq!(marked(), 1);
    let approved = pins.approve(&Approve::Server("files".into())).unwrap();
    assert_eq!((approved.len(), marked()), (1, 0));
    assert!(!newcomer("files", "Reads files.", start));
    assert_eq!(pins.approve(&Approve::All).unwrap(), [], "the others have nothing to approve");
}

#[test]
fn no_byte_of_the_file_can_change_unnoticed() {
    let (_folder, pins) = pins(Mode::FirstUse);
    assert!(accepts(&pins, &tool(SCHEMA)));
    let whole = std::fs::read(pins.path()).unwrap();
    for at in 0..whole.len() {
        for flip in [1, 3, 0x20] {
            let mut damaged = whole.clone();
            damaged[at] ^= flip;
            std::fs::write(pins.path(), &damaged).unwrap();
            let fresh = Pins::new(pins.path(), Mode::FirstUse);
            let checked = fresh.check("files", vec![tool("{}")]);
            // Damage to white space between members may stay undetected; nothing else differs then.
            let taken = checked.map(|checked| checked.accepted.len()).unwrap_or_default();
            assert_eq!(taken, 0, "byte {at} ^ {flip}");
        }
    }
}

#[test]
fn a_text_that_hides_a_member_behind_another_is_not_the_same() {
    let (_folder, pins) = pins(Mode::FirstUse);
    assert!(accepts(&pins, &tool(r#"{"a": {"description": "good"}}"#)));
    assert!(!accepts(&pins, &tool(r#"{"a": {"description": "evil", "description": "good"}}"#)));
}

#[test]
fn tools_that_are_checked_again_pin_nothing() {
    let (_folder, pins) = pins(Mode::Strict);
    let remembered = tool(SCHEMA);
    let listed = Tool { description: "Reads any file.".into(), ..remembered.clone() };
    let accepts_again = |tool: &Tool| {
        let stamp = pins.stamp();
        let checked = pins.check_again("files", vec![tool.clone()]).unwrap();
        assert_eq!(pins.stamp(), stamp);
        checked.accepted.len() == 1
    };
    assert!(!accepts_again(&remembered), "nothing is known of it");
    // Another gateway reads the newer list.
    assert!(!accepts(&pins, &remembered) && !accepts(&pins, &listed));
    assert!(!accepts_again(&remembered));
    let shown = pins.diff("files__read").unwrap().held_sha256;
    let approve = Approve::Tool { id: "files__read".into(), sha256: shown };
    assert_eq!(pins.approve(&approve).unwrap().len(), 1);
    assert!(!accepts_again(&remembered) && accepts_again(&listed));
}

#[test]
fn a_change_is_held_back_until_it_is_approved_or_taken_back() {
    let (_folder, pins) = pins(Mode::FirstUse);
    let before = tool(SCHEMA);
    let after = Tool { description: "Reads a file. <IMPORTANT>".into(), ..before.clone() };
    assert!(accepts(&pins, &before) && !accepts(&pins, &after) && !accepts(&pins, &after));
    assert_eq!(pins.list().unwrap()[0].state, PinState::Changed);
    let changes = pins.diff("files:read").unwrap().changes;
    assert_eq!((changes.len(), &*changes[0].path), (1, "description"));
    assert!(accepts(&pins, &before));
    assert_eq!(pins.list().unwrap()[0].state, PinState::FirstUse);
    assert!(!accepts(&pins, &after));
    let one =
        |sha256: &str| Approve::Tool { id: "files__read".into(), sha256: Some(sha256.into()) };
    assert!(matches!(pins.approve(&one("00ff00ff")), Err(Error::OtherHash { .. })));
    let held = pins.list().unwrap()[0].held_sha256.clone().unwrap();
    assert_eq!(pins.approve(&one(&held[..8])).unwrap().len(), 1);
    let strict = Pins::new(pins.path(), Mode::Strict);
    assert!(accepts(&pins, &after) && !accepts(&strict, &before));
}

#[test]
fn strict_holds_back_what_is_new_and_an_unreadable_file_everything() {
    let (_folder, pins) = pins(Mode::Strict);
    assert!(!accepts(&pins, &tool(SCHEMA)));
    let lax = Pins::new(pins.path(), Mode::FirstUse);
    assert!(!accepts(&lax, &tool(SCHEMA)), "what waits for approval does not slip in");
    pins.approve(&Approve::All).unwrap();
    assert!(accepts(&pins, &tool(SCHEMA)));
    assert!(matches!(pins.approve(&Approve::Server("x".into())), Err(Error::UnknownServer { .. })));
    std::fs::write(pins.path(), "{}").unwrap();
    assert!(pins.check("files", vec![tool(SCHEMA)]).is_err());
    assert_eq!(std::fs::read_to_string(pins.path()).unwrap(), "{}");
}

#[test]
fn of_two_tools_of_one_name_the_first_counts() {
    let (_folder, pins) = pins(Mode::FirstUse);
    let other = Tool { description: "Sends a file away.".into(), ..tool(SCHEMA) };
    for _ in 0..2 {
        let checked = pins.check("files", vec![tool(SCHEMA), other.clone()]).unwrap();
        assert_eq!(checked.accepted.len(), 1);
        assert_eq!(checked.quarantined[0].reason, Reason::Duplicate);
    }
}

#[test]
fn one_name_in_two_servers_files_is_two_servers() {
    let (_folder, pins) = pins(Mode::FirstUse);
    let (one, two) = (Pins::key("files", "00000000000000aa"), Pins::key("files", "bb"));
    let other = Tool { input_schema: None, ..tool(SCHEMA) };
    let check = |key: &str, tool: &Tool| pins.check(key, vec![tool.clone()]).unwrap();
    assert_eq!(check(&one, &tool(SCHEMA)).accepted.len(), 1);
    assert_eq!(check(&two, &other).accepted.len(), 1);
    assert_eq!(check(&two, &tool(SCHEMA)).quarantined[0].server, "files");
    assert_eq!(pins.diff("files__read").unwrap().changes.len(), 1);
    assert_eq!(pins.approve(&Approve::Server("files".into())).unwrap()[0].as_str(), "files__read");
    assert_eq!(check(&two, &tool(SCHEMA)).accepted.len(), 1);
    assert_eq!(check(&one, &tool(SCHEMA)).accepted.len(), 1);
}

#[test]
fn several_processes_lose_no_pin_of_one_another() {
    let (_folder, pins) = pins(Mode::FirstUse);
    std::thread::scope(|scope| {
        for server in 0..8 {
            let pins = &pins;
            scope.spawn(move || pins.check(&format!("s{server}"), vec![tool(SCHEMA)]).unwrap());
        }
    });
    assert_eq!(pins.list().unwrap().len(), 8);
}

/// Generates a tool whose definition differs from that of [`tool`] in one place.
fn mutated() -> impl Strategy<Value = Tool> {
    let text = || prop_oneof!["[a-z ]{0,20}", "[\\x00-\\x1f\u{200b}\u{202e}é]{1,3}"];
    let schema = prop_oneof![
        text().prop_map(|t| SCHEMA.replace(
            "Where",
            serde_json::json!(format!("{t}x")).to_string()[1..].trim_end_matches('"')
        )),
        (10u64..u64::MAX).prop_map(|n| SCHEMA.replace('9', &n.to_string())),
        Just(SCHEMA.replace(r#""required": ["path"]"#, r#""required": []"#)),
        Just(SCHEMA.replace(r#""type": "object""#, r#""type": "object", "x": null"#)),
        Just(SCHEMA.replace(r#""type": "object""#, r#""type": "object", "type": "object""#)),
    ];
    prop_oneof![
        text().prop_map(|t| Tool { description: format!("Reads a file.{t} "), ..tool(SCHEMA) }),
        text().prop_map(|t| Tool { title: Some(format!("Read{t}!")), ..tool(SCHEMA) }),
        Just(Tool { title: None, ..tool(SCHEMA) }),
        schema.prop_map(|schema| tool(&schema)),
        (any::<bool>(), "[a-z]{1,8}").prop_map(|(flag, name)| {
            let mcp =
                serde_json::json!({"annotations": {"readOnlyHint": true, name: flag, "x": 1}});
            Tool { mcp: Some(raw(&mcp.to_string())), ..tool(SCHEMA) }
        }),
        Just(Tool { mcp: None, ..tool(SCHEMA) }),
        Just(Tool { input_schema: None, ..tool(SCHEMA) }),
    ]
}

proptest! {
    #[test]
    fn every_changed_definition_is_held_back_and_words_only_if_strict(changed in mutated()) {
        let (folder, first) = pins(Mode::FirstUse);
        prop_assert!(accepts(&first, &tool(SCHEMA)));
        let strict = Pins::new(folder.path().join("deep/pins.json"), Mode::Strict);
        prop_assert!(!accepts(&strict, &changed), "{changed:?}");
        let before = tool(SCHEMA);
        let same = Tool { title: before.title, description: before.description, ..changed.clone() };
        prop_assert!(same == tool(SCHEMA) || !accepts(&first, &changed), "{changed:?}");
    }
}

#[test]
fn a_command_that_is_told_runs_nothing_that_a_servers_tool_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let pins = Pins::new(folder.path().join("pins.json"), Mode::Strict);
    let tool = Tool::new(Some("s"), "x; touch pwned #", "Adds");
    let checked = pins.check("s", vec![tool]).unwrap();
    let because = checked.quarantined[0].because();
    assert!(because.contains("`toolroute pins approve 's__x; touch pwned #'`"), "{because}");
}

#[test]
fn commands_in_messages_name_a_file_of_pins_that_was_named() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("my pins.json");
    let pins = Pins::new(&path, Mode::Strict).name_file_in_commands();
    let option = format!(" --pins '{}'`", path.display());
    let screened = pins.screen("s", "", vec![Tool::new(Some("s"), "add", "Adds")]);
    let (_, because) = &screened.held[0];
    assert!(because.contains(&format!("`toolroute pins approve s__add{option}")), "{because}");
    assert!(because.contains(&format!("`toolroute pins diff s__add{option}")), "{because}");
    assert!(screened.notes[0].ends_with(because.as_str()), "{:?}", screened.notes);
    let unknown = pins.diff("s__other").unwrap_err().to_string();
    assert!(unknown.contains(&format!("`toolroute pins list{option}")), "{unknown}");
}
