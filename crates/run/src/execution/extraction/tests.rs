mod amounts;
mod identifiers;
mod ids;
mod languages;
mod left_over;
mod objects;
mod orders;
mod times;

use serde_json::json;
use serde_json::value::to_raw_value;

use super::*;
use crate::execution::params::is_valid;
use toolroute_catalog::Schema;

fn tool(name: &str, about: &str, schema: &Value) -> Tool {
    let mut tool = Tool::new(Some("test"), name, about);
    tool.input_schema = Some(Schema::new(to_raw_value(schema).unwrap()));
    tool
}

fn prepare(tool: &Tool, prompt: &str) -> PreparedArguments {
    let now: LocalTime = "2026-04-20T10:30:00+02:00".parse().unwrap();
    prepare_arguments(tool, &ArgumentSources::new(prompt, &now))
}

fn object(properties: Value, required: &[&str]) -> Value {
    json!({"type": "object", "properties": properties, "required": required})
}

#[test]
fn schemas_of_generators_are_understood() {
    // The forms in which pydantic writes optional parameters, separate constants and references.
    let schema = json!({
        "type": "object", "required": ["path", "mode"],
        "properties": {
            "path": {"$ref": "#/$defs/where"},
            "lines": {"anyOf": [{"type": "integer", "minimum": 1}, {"type": "null"}], "default": null},
            "mode": {"oneOf": [{"const": "fast"}, {"const": "thorough"}]},
            "version": {"const": 2}},
        "$defs": {"where": {"type": "string", "description": "Path of the file"}}});
    let tool = tool("scan", "Scan a file", &schema);
    let prepared = prepare(&tool, "scan /etc/hosts, lines 5, mode thorough");
    assert_eq!(
        json!(prepared.arguments),
        json!({"path": "/etc/hosts", "lines": 5, "mode": "thorough"})
    );
    assert_eq!(prepared.missing, []);
}

#[test]
fn a_tool_without_a_schema_gets_what_is_given_and_asks_nothing() {
    let tool = Tool::new(None, "anything", "Does anything");
    let prepared = prepare(&tool, "limit 5 of \"x\"");
    assert!(prepared.arguments.is_empty() && prepared.missing.is_empty());
}

#[test]
fn the_only_allowed_value_needs_no_word() {
    let schema = object(json!({"version": {"const": "v2"}}), &["version"]);
    let prepared = prepare(&tool("status", "Tell the status", &schema), "status");
    assert_eq!(prepared.sources[0].source, Source::Schema);
    assert_eq!(
        prepared.sources[0].to_string(),
        "`version` is \"v2\", the only value that is allowed"
    );
}

#[test]
fn required_members_of_an_optional_object_are_asked_for_once_it_is_begun() {
    let range =
        object(json!({"low": {"type": "number"}, "high": {"type": "number"}}), &["low", "high"]);
    let tool = tool("plot", "Plot a function", &object(json!({"range": range}), &[]));
    assert_eq!(prepare(&tool, "plot it").missing, []);
    let begun = prepare(&tool, "plot with low -2.5");
    assert_eq!(json!(begun.arguments), json!({"range": {"low": -2.5}}));
    assert_eq!(begun.missing[0].name, "range/high");
}

#[test]
fn days_are_written_in_the_form_that_the_description_tells() {
    let schema =
        object(json!({"day": {"type": "string", "description": "Day as DD.MM.YYYY"}}), &["day"]);
    let prepared = prepare(&tool("menu", "The menu of a day", &schema), "menu of 3 May 2026");
    assert_eq!(prepared.arguments["day"], "03.05.2026");
}

#[test]
fn what_goes_nowhere_is_told() {
    let schema = object(json!({"name": {"type": "string"}}), &[]);
    let prepared = prepare(&tool("hello", "Say hello", &schema), "hello 7 times");
    assert_eq!(prepared.unused, [UnusedMention { text: "7".into(), kind: "number" }]);
}

proptest::proptest! {
    /// For any prompt, the extracted values fit the schema, and each has a place in the prompt.
    #[test]
    fn what_is_taken_fits_the_schema(parts in proptest::collection::vec(
        proptest::sample::select(vec![
            "limit", "5", "500", "-3", "to", "from", "a@x.org", "\"text\"", "3 May", "tomorrow", "at 5", "10 km", "$20",
            "open", "high", "priority", ",", "and", "between", "/tmp/a", "in Berlin", "it", "#17", "EUR", "2 hours",
            "https://x.org", "saying", ":", "not", "results",
        ]), 0..12)) {
        let schema = object(json!({
            "limit": {"type": "integer", "minimum": 1, "maximum": 100},
            "to": {"type": "array", "items": {"type": "string", "format": "email"}},
            "start": {"type": "string", "format": "date-time"},
            "since": {"type": "string", "format": "date"},
            "until": {"type": "string", "format": "date"},
            "radius_km": {"type": "number", "exclusiveMinimum": 0},
            "priority": {"enum": ["low", "high"]},
            "text": {"type": "string"},
            "city": {"type": "string"},
            "amount": {"type": "number", "description": "in cents"}}), &["text", "limit"]);
        let tool = tool("post_things", "Post things", &schema);
        let prompt = parts.join(" ");
        let prepared = prepare(&tool, &prompt);
        let mut optional = schema.clone();
        optional["required"] = json!([]);
        let sent = Value::Object(prepared.arguments.clone());
        proptest::prop_assert!(is_valid(&optional, &sent), "{prompt}: {sent}");
        for taken in &prepared.sources {
            let Source::Prompt { start, end, text } = &taken.source else { panic!("{taken}") };
            proptest::prop_assert_eq!(&prompt[*start..*end], text);
        }
        proptest::prop_assert_eq!(&prepared, &prepare(&tool, &prompt));
    }
}

#[test]
fn a_time_that_no_parameter_took_is_a_moment() {
    let schema = object(json!({"minutes": {"type": "number"}}), &[]);
    let tool = tool("start_mixer", "Starts the mixer", &schema);
    let moments = |prompt: &str| {
        let prepared = prepare(&tool, prompt);
        let said = prepared.moments.into_iter().map(|at| prompt[at].to_owned());
        said.collect::<Vec<_>>()
    };
    assert_eq!(moments("start the mixer for 5 minutes"), [] as [&str; 0]);
    assert_eq!(moments("start the mixer for 5 minutes tomorrow"), ["tomorrow"]);
    assert_eq!(moments("start the mixer in May"), ["May"]);
    assert_eq!(moments("start the mixer at 5"), ["5"]);
    assert_eq!(moments("start mixer 5"), [] as [&str; 0]);
    let given = json!({"minutes": 5});
    let now: LocalTime = "2026-04-20T10:30:00+02:00".parse().unwrap();
    let prompt = "start the mixer for 5 minutes";
    let sources =
        ArgumentSources { given: given.as_object(), ..ArgumentSources::new(prompt, &now) };
    assert!(prepare_arguments(&tool, &sources).moments.is_empty());
}

#[test]
fn a_parameter_whose_name_has_no_letters_is_no_fault() {
    for kind in ["boolean", "integer", "string"] {
        let schema = object(json!({"_": {"type": kind}}), &["_"]);
        let prepared = prepare(&tool("odd", "Does odd things", &schema), "do 5 things: \"a\" no");
        assert!(prepared.missing.len() <= 1, "{kind}");
    }
}

/// A tool that writes, with an id, a number and a person.
fn booking() -> Tool {
    let about = "Sets the table of a booking";
    let schema = object(
        json!({"table": {"type": "string"}, "guests": {"type": "integer"},
            "waiter": {"type": "string"}, "area": {"enum": ["terrace", "hall"]}}),
        &["table"],
    );
    tool("set_table", about, &schema)
}

fn given(tool: &Tool, prompt: &str) -> Value {
    let prepared = prepare(tool, prompt);
    assert_eq!(prepared.missing, [], "{prompt}");
    Value::Object(prepared.arguments)
}

fn asked(tool: &Tool, prompt: &str) -> Vec<String> {
    prepare(tool, prompt).missing.into_iter().map(|question| question.name).collect()
}

#[test]
fn a_value_that_another_replaces_is_not_taken() {
    let new = json!({"table": "12", "guests": 6});
    let changed = prepare(&booking(), "change the guests from 4 to 6 for table 12");
    assert_eq!(json!(changed.arguments), new);
    assert!(changed.lost.is_empty());
    for prompt in ["set table 12 with 6 guests instead of 4", "set table 12 with 6 guests, not 4"] {
        let prepared = prepare(&booking(), prompt);
        assert_eq!(json!(prepared.arguments), new, "{prompt}");
        assert_eq!(prepared.lost.len(), 1, "{prompt}");
    }
    let prompt =
        "set table 12 to waiter Olga instead of waiter Marek, area hall instead of terrace";
    assert_eq!(given(&booking(), prompt), json!({"table": "12", "waiter": "Olga", "area": "hall"}));
    let schema = object(json!({"min_stay": {"type": "integer"}, "from": {"format": "date"}}), &[]);
    let rules = tool("set_rules", "Sets the rules of a rate", &schema);
    let prompt = "change the minimum stay from 2 to 3 nights";
    assert_eq!(given(&rules, prompt), json!({"min_stay": 3}));
    // What is not to be done may be meant for the same table.
    let prompt = "instead of leaving table 9, set waiter to Olga";
    assert_eq!(asked(&booking(), prompt), ["table"]);
}

#[test]
fn a_number_of_a_value_is_the_quantity() {
    let schema = object(
        json!({"article": {"enum": ["pallet", "crate"]}, "quantity": {"type": "integer", "default": 1},
            "urgent": {"type": "boolean"}}),
        &["article"],
    );
    let order = tool("order_goods", "Orders goods", &schema);
    assert_eq!(given(&order, "order 5 crates"), json!({"article": "crate", "quantity": 5}));
    assert_eq!(given(&order, "order five crates"), json!({"article": "crate", "quantity": 5}));
    assert_eq!(given(&order, "order a crate"), json!({"article": "crate"}));
    for prompt in
        ["order 5 large crates", "order a crate for 3 people", "order 2 crates and 3 boxes"]
    {
        assert_eq!(asked(&order, prompt), ["quantity"], "{prompt}");
    }
    // A number that only may be meant for a parameter.
    let schema = object(
        json!({"role": {"enum": ["cook", "host"]}, "people": {"type": "integer"}}),
        &["role"],
    );
    let plan = tool("plan_staff", "Plans the staff", &schema);
    assert_eq!(asked(&plan, "plan 8 cooks"), ["people"]);
    assert_eq!(given(&plan, "plan 8 people as cook"), json!({"role": "cook", "people": 8}));
}

#[test]
fn a_number_of_things_is_no_price() {
    let price = json!({"type": "number", "description": "EUR per night"});
    let schema = object(json!({"price": price}), &["price"]);
    let rates = tool("set_rate", "Overwrites the price per night of a rate", &schema);
    assert_eq!(asked(&rates, "set a minimum stay of 3 nights"), ["price"]);
    for prompt in
        ["set the rate to 189", "set the rate to 189 per night", "set 189 euros for a night"]
    {
        assert_eq!(given(&rates, prompt), json!({"price": 189}), "{prompt}");
    }
    let nights = json!({"type": "integer", "description": "Number of nights"});
    let stay = tool("set_stay", "Sets the stay", &object(json!({"stay": nights}), &["stay"]));
    assert_eq!(given(&stay, "set a minimum of 3 nights"), json!({"stay": 3}));
}

#[test]
fn a_number_after_a_name_ends_before_how_the_thing_is() {
    let schema = object(json!({"room": {"type": "string"}}), &["room"]);
    let clean = tool("mark_room_clean", "Set a room to clean", &schema);
    for prompt in ["mark room 203 clean", "mark room 203 as clean", "set room 203 to clean today"] {
        assert_eq!(given(&clean, prompt), json!({"room": "203"}), "{prompt}");
    }
    assert_eq!(asked(&clean, "mark room 203 and room 204 clean"), ["room"]);
    let dirty = tool("mark_room_dirty", "Set a room back to dirty", &schema);
    assert_eq!(asked(&dirty, "mark room 203 clean"), ["room"]);
    let delete = tool("delete_room", "Deletes a room with its data", &schema);
    assert_eq!(asked(&delete, "delete room 203 data"), ["room"]);
}

#[test]
fn a_name_after_to_is_the_person() {
    let schema = object(
        json!({"ticket_id": {"type": "string"}, "technician": {"type": "string"}}),
        &["ticket_id", "technician"],
    );
    let assign = tool("assign_technician", "Assign a technician to a ticket", &schema);
    let expected = json!({"ticket_id": "T-503", "technician": "Marek Novak"});
    for prompt in [
        "assign ticket T-503 to Marek Novak",
        "assign T-503 to technician Marek Novak today",
        "assign T-503 for Marek Novak",
    ] {
        assert_eq!(given(&assign, prompt), expected, "{prompt}");
    }
    for prompt in ["assign T-503 to Marek and Olga", "assign T-503 in Rome"] {
        assert_eq!(asked(&assign, prompt), ["technician"], "{prompt}");
    }
}

#[test]
fn the_text_after_a_name_or_a_colon_is_the_value() {
    let text = json!({"type": "string"});
    let schema = object(
        json!({"ticket_id": text, "solution": text, "hours": {"type": "integer"}}),
        &["ticket_id", "solution"],
    );
    let close = tool("close_ticket", "Close a ticket with what was done", &schema);
    let expected = json!({"ticket_id": "T-507", "solution": "replaced the valve"});
    for prompt in [
        "close ticket T-507, solution: replaced the valve",
        "close ticket T-507: replaced the valve",
        "close T-507 saying replaced the valve",
        "close ticket T-507 with solution = replaced the valve.",
    ] {
        assert_eq!(given(&close, prompt), expected, "{prompt}");
    }
    let prompt = "close ticket T-507, solution: replaced the valve, hours: 2";
    assert_eq!(given(&close, prompt)["hours"], 2);
    assert_eq!(given(&close, prompt)["solution"], "replaced the valve");
    for prompt in [
        "Hi: close ticket T-507",
        "close ticket T-507, solution: replaced the valve, tested it",
        "close ticket T-507: hours 2",
        "close ticket T-507, replaced the valve",
    ] {
        assert_eq!(asked(&close, prompt), ["solution"], "{prompt}");
    }
    let schema =
        object(json!({"name": text, "email": {"type": "string", "format": "email"}}), &["name"]);
    let enrol = tool("members_enroll", "Enrolment of a new member", &schema);
    let expected = json!({"name": "Daniel Roth", "email": "d@example.org"});
    for prompt in [
        "enroll a new member named Daniel Roth, email d@example.org",
        "enroll d@example.org, name: Daniel Roth",
        "enroll a member with name Daniel Roth and email d@example.org",
    ] {
        assert_eq!(given(&enrol, prompt), expected, "{prompt}");
    }
    // The name may be longer, or that of another thing.
    for prompt in ["enroll a member called the great", "enroll a friend of a man named Daniel"] {
        assert_eq!(asked(&enrol, prompt), ["name"], "{prompt}");
    }
}

#[test]
fn a_tool_that_reads_what_was_takes_past_days() {
    let day = || json!({"type": "string", "format": "date"});
    let search = tool(
        "search_transactions",
        "Searches transactions",
        &object(json!({"from": day(), "to": day()}), &[]),
    );
    let expected = json!({"from": "2025-07-01", "to": "2025-07-31"});
    assert_eq!(given(&search, "transactions from 1 July to 31 July"), expected);
}

#[test]
fn a_prompt_after_the_last_result_is_as_new() {
    let schema = object(json!({"ticket_id": {"type": "string"}}), &["ticket_id"]);
    let close = tool("close_ticket", "Closes a ticket", &schema);
    let now: LocalTime = "2026-04-20T10:30:00+02:00".parse().unwrap();
    let result = json!({"ticket_id": "T-1"});
    let read = |earlier: &[&str], newer: usize| {
        let last_result = Some(&result);
        let sources = ArgumentSources::new("close it", &now);
        prepare_arguments(&close, &ArgumentSources { earlier, newer, last_result, ..sources })
    };
    let other = ["create a ticket", "close ticket T-7 if it is old"];
    assert_eq!(read(&other, 0).arguments["ticket_id"], "T-1");
    let unclear = read(&other, 1);
    assert!(unclear.arguments.is_empty(), "{unclear:?}");
    assert_eq!(unclear.missing[0].candidates, ["T-1", "T-7"]);
    for same in ["show ticket T-1", "show the tickets"] {
        assert_eq!(read(&["close ticket T-7", same], 1).arguments["ticket_id"], "T-1", "{same}");
    }
}

#[test]
fn an_earlier_id_of_something_else_is_not_taken() {
    let schema = object(json!({"patient_id": {"type": "string"}}), &["patient_id"]);
    let text = tool("send_sms", "Texts a patient", &schema);
    let now: LocalTime = "2026-04-20T10:30:00+02:00".parse().unwrap();
    for (earlier, taken) in [
        ("please cancel the appointment A-5512", false),
        ("please call patient P-5512 back", true),
        ("what did P-5512 say", true),
    ] {
        let sources = ArgumentSources::new("tell them that it is cancelled", &now);
        let read = prepare_arguments(&text, &ArgumentSources { earlier: &[earlier], ..sources });
        assert_eq!(read.arguments.contains_key("patient_id"), taken, "{earlier}");
    }
}

#[test]
fn the_first_of_two_days_of_what_is_raised_is_not_dropped() {
    let day = json!({"type": "string", "format": "date"});
    let schema = object(json!({"day": day}), &["day"]);
    let raise = tool("raise_ticket", "Raises a ticket for an outage", &schema);
    let prompt = "raise a ticket for the outage from 3 May to 5 May";
    assert_eq!(asked(&raise, prompt), ["day"]);
    let schema = object(json!({"limit": {"type": "integer"}}), &["limit"]);
    let limit = tool("set_limit", "Sets the limit", &schema);
    assert_eq!(given(&limit, "raise the limit from 5 to 10"), json!({"limit": 10}));
}

#[test]
fn a_reason_after_a_colon_is_no_name() {
    let text = json!({"type": "string"});
    for (name, slot) in
        [("block_member", "name"), ("block_member", "member"), ("delete_note", "about")]
    {
        let block = tool(name, "Does it", &object(json!({slot: text}), &[slot]));
        for prompt in ["block the member: he stole a bike", "delete the note: it is old"] {
            assert_eq!(asked(&block, prompt), [slot], "{prompt}");
        }
    }
    let block = tool("block_member", "Does it", &object(json!({"member": text}), &["member"]));
    assert_eq!(given(&block, "block member: Dana Roth"), json!({"member": "Dana Roth"}));
}
