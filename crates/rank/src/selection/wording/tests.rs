use serde_json::value::RawValue;

use super::*;

/// Returns the score of the second of two tools, such as `vault_key_list`, after a first one
/// such as `vault_key_get` with a score of 1.0.
fn listed(prompt: &str, names: [&str; 2], score: f32) -> f32 {
    let tools = names.map(|name| Arc::new(Tool::new(Some("vault"), name, "")));
    let candidate = |(row, score)| Candidate { row, score, ..Candidate::default() };
    let mut candidates: Vec<Candidate> = [(0, 1.0), (1, score)].map(candidate).into();
    by_wording(prompt, &mut candidates, &tools);
    assert_eq!(candidates[0].score, 1.0);
    assert!((candidates[1].score - candidates[1].wording - score).abs() < 1e-6);
    candidates[1].score
}

#[test]
fn a_plural_puts_the_list_first() {
    for names in
        [["key_get", "key_list"], ["getKey", "listKeys"], ["describe-key", "list-all-keys"]]
    {
        assert!(listed("show me the keys", names, 0.7) > 1.0, "{names:?}");
    }
    assert!(listed("list key names", ["key_get", "key_list"], 0.7) > 1.0);
}

#[test]
fn a_deprecated_tool_ranks_after_the_one_to_use_instead() {
    let ranked = |[first, second]: [&str; 2], score| {
        let tools = [("read", first), ("read_text", second), ("list", "Lists files")]
            .map(|(name, text)| Arc::new(Tool::new(Some("files"), name, text)));
        let scores = [1.0, score, 0.1];
        let mut candidates: Vec<Candidate> = (0..)
            .zip(scores)
            .map(|(row, score)| Candidate { row, score, ..Candidate::default() })
            .collect();
        by_wording("read it", &mut candidates, &tools);
        candidates.sort_by(|a, b| by_score(b, a));
        candidates[0].row
    };
    let old = "Reads a file. DEPRECATED: use read_text";
    assert_eq!(ranked([old, "Reads a text"], 0.9), 1);
    assert_eq!(ranked([old, "Reads a text"], 0.7), 0, "it is far");
    assert_eq!(ranked([old, old], 0.9), 0);
    assert_eq!(ranked(["Reads a file", old], 0.9), 0);
}

#[test]
fn the_tool_that_requires_a_time_goes_before_one_that_takes_none() {
    let schema = |required: &str| {
        let text = format!(
            r#"{{"properties": {{"zone": {{}}, "{required}": {{}}}}, "required": ["{required}"]}}"#
        );
        Schema::new(RawValue::from_string(text).unwrap())
    };
    let ranked = |prompt: &str, [one, other]: [&str; 2]| {
        let tools = [("get_time", one), ("convert", other)].map(|(name, required)| {
            let tool = Tool::new(Some("time"), name, "");
            Arc::new(Tool { input_schema: Some(schema(required)), ..tool })
        });
        let candidate = |(row, score)| Candidate { row, score, ..Candidate::default() };
        let mut candidates: Vec<Candidate> = [(0, 1.0), (1, 0.7)].map(candidate).into();
        by_wording(prompt, &mut candidates, &tools);
        candidates[1].score > 1.0
    };
    assert!(ranked("9am in Tel Aviv, what is that in New York?", ["city", "start_time"]));
    assert!(!ranked("what time is it in New York?", ["city", "start_time"]));
    assert!(!ranked("be there at 18:00", ["city", "zone"]));
    assert!(!ranked("be there at 18:00", ["until", "start_time"]));
}

#[test]
fn all_else_stays_as_it_is() {
    let pair = ["key_get", "key_list"];
    assert_eq!(listed("show me the key", pair, 0.7), 0.7);
    assert_eq!(listed("show me the keys", pair, 0.5), 0.5, "it is far");
    assert_eq!(listed("show me the keys", ["key_list", "key_get"], 0.7), 0.7);
    assert_eq!(listed("show me the keys", ["key_get", "secret_list"], 0.7), 0.7);
    assert_eq!(listed("show me the keys", ["key_delete", "key_list"], 0.7), 0.7);
    assert_eq!(listed("show me the keys", ["get_keys", "list_keys"], 0.7), 0.7);
    assert_eq!(listed("get all", ["get", "list"], 0.7), 0.7);
}

#[test]
fn the_verb_that_is_said_goes_before_another() {
    for (prompt, names) in [
        ("Create a weekly policy", ["policy_update", "policy_create"]),
        ("I want to cancel it", ["setAlarm", "cancelAlarm"]),
        ("commit the staged changes", ["git_diff_staged", "git_commit"]),
        ("Create a policy", ["policy", "policy_create"]),
        ("sign off on request 44", ["unapprove_request", "approve_request"]),
        ("erase the tag", ["create_tag", "delete_tag"]),
        ("register tom for the meeting", ["webinar_registrant_add", "meeting_registrant_add"]),
    ] {
        assert!(listed(prompt, names, 0.9) > 1.0, "{prompt}");
        assert_eq!(listed(prompt, names, 0.7), 0.7, "it is far");
        assert_eq!(listed(prompt, [names[1], names[0]], 0.9), 0.9, "{prompt}");
    }
    for (prompt, names) in [
        ("Create a policy and update it", ["policy_update", "policy_create"]),
        ("Create a policy", ["policy_update", "group_create"]),
        ("Convert it to a colour", ["hsl_hex", "hsl_rgb"]),
        ("Create a database on server X", ["db_create", "server_create"]),
        ("Show the history", ["history_log", "history_show"]),
        ("who may create a policy?", ["policy_update", "policy_create"]),
    ] {
        assert_eq!(listed(prompt, names, 0.9), 0.9, "{prompt}");
    }
}

#[test]
fn the_opposite_that_is_said_goes_before_the_other() {
    for (prompt, names) in [
        ("mark room 203 as clean", ["mark_room_dirty", "mark_room_clean"]),
        ("check out the guest in room 5", ["checkIn", "checkOut"]),
        ("room 305 checks out", ["check_in", "check_out"]),
        ("turn it off", ["turn_on", "turn_off"]),
    ] {
        assert!(listed(prompt, names, 0.9) > 1.0, "{prompt}");
        assert_eq!(listed(prompt, [names[1], names[0]], 0.9), 0.9, "{prompt}");
    }
    for (prompt, names) in [
        ("clean the dirty room", ["mark_room_dirty", "mark_room_clean"]),
        ("in room 5 somebody must check in", ["checkIn", "checkOut"]),
        ("show the users of my groups", ["show_teams", "show_groups"]),
        ("show teams and groups", ["show_teams", "show_groups"]),
    ] {
        assert_eq!(listed(prompt, names, 0.9), 0.9, "{prompt}");
    }
}
