use proptest::prelude::*;
use serde_json::value::to_raw_value;
use serde_json::{Value, json};

use super::*;
use toolroute_catalog::Tool;

fn tool(schema: &Value) -> Tool {
    let mut tool = Tool::new(Some("web"), "search", "Searches");
    tool.input_schema = Some(Schema::new(to_raw_value(schema).unwrap()));
    tool
}

fn prepare(schema: &Value, given: Value) -> Result<Prepared, Box<Clarification>> {
    Parameters::default().prepare(&tool(schema), &into_members(given))
}

fn search() -> Value {
    json!({"type": "object", "additionalProperties": false, "required": ["query"], "properties": {
        "query": {"type": "string", "description": "What to look for"},
        "maxResults": {"type": "integer", "default": 10, "minimum": 1},
        "safe": {"type": "boolean"},
        "sites": {"type": "array", "items": {"type": "string"}},
        "depth": {"enum": ["basic", "advanced"]},
        "near": {"$ref": "#/$defs/point"}},
        "$defs": {"point": {"type": "object", "properties": {"lat": {"type": "number"}}}}})
}

#[test]
fn patterns_that_take_much_memory_are_not_compiled_and_ordinary_ones_are() {
    let large = |count: usize| {
        let one =
            |at: usize| (format!("p{at}"), json!({"pattern": format!("^\\p{{L}}{{400}}x{at}$")}));
        json!({"type": "object", "properties": (0..count).map(one).collect::<Map<_, _>>()})
    };
    let prepared = prepare(&large(200), json!({"p1": "a"})).unwrap();
    assert!(prepared.unchecked, "a single one is too large");
    let admitted = Parameters::default().admit(&tool(&large(5_000)), &Map::new());
    assert_eq!(admitted, Err(TooLarge::Patterns));
    for (pattern, fits, unfit) in [
        ("^[a-z0-9-]{1,64}$", "a-b", "A"),
        (r"^[\w.+-]+@[\w-]+\.[\w.]{2,}$", "me@example.org", "me"),
        (r"^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}Z$", "2026-01-02T03:04:05Z", "now"),
        (r"^(?=.*[A-Z])(?!.*\s).{8,128}$", "Abcdefghi", "abc defgh"),
        (r"^\p{L}[\p{L}\p{N} ]{0,9}$", "Müller 1", "-"),
        ("^.{1,500}$", "a", ""),
    ] {
        let schema =
            json!({"type": "object", "properties": {"a": {"type": "string", "pattern": pattern}}});
        let prepared = prepare(&schema, json!({"a": fits})).unwrap();
        assert!(!prepared.unchecked, "{pattern}");
        assert!(prepare(&schema, json!({"a": unfit})).is_err(), "{pattern}");
    }
}

#[test]
fn a_whole_number_that_became_another_is_not_passed_on() {
    let schema = json!({"type": "object", "properties": {
        "id": {"type": "integer"}, "name": {"type": "string"}, "size": {"type": "number"}, "any": {},
        "ids": {"type": "array", "items": {"type": "integer"}}}});
    let read = |text: &str| prepare(&schema, serde_json::from_str(text).unwrap());
    for (text, at) in [
        (r#"{"id": 18446744073709551616}"#, "`id`: expected whole numbers from"),
        (r#"{"name": 18446744073709551616}"#, "`name`: expected whole numbers from"),
        (r#"{"ids": [1, -9223372036854775809]}"#, "`ids/1`: expected whole numbers from"),
    ] {
        let unfit = read(text).unwrap_err().unfit;
        assert!(unfit[0].starts_with(at) && unfit[0].contains("write it as a text"), "{unfit:?}");
    }
    for text in [
        r#"{"id": 18446744073709551615, "ids": [-9223372036854775808]}"#,
        r#"{"size": 1e30, "any": 1e30}"#,
    ] {
        let given: Value = serde_json::from_str(text).unwrap();
        assert_eq!(Value::Object(read(text).unwrap().arguments), given);
    }
    let within = read(r#"{"ids": "[18446744073709551616]"}"#);
    assert!(within.is_err(), "a text that holds one is not opened");
}

#[test]
fn names_and_types_are_put_right_and_told() {
    let given = json!({"q": 42, "max_results": "5", "safe": "true", "sites": "a.org",
        "depth": "Advanced", "near": "{\"lat\": \"1.5\"}"});
    let prepared = prepare(&search(), given).unwrap();
    let expected = json!({"query": "42", "maxResults": 5, "safe": true, "sites": ["a.org"],
        "depth": "advanced", "near": {"lat": 1.5}});
    assert_eq!(Value::Object(prepared.arguments), expected);
    let said: Vec<_> = prepared.changes.iter().map(ToString::to_string).collect();
    assert!(said.contains(&"`q` is called `query`".to_owned()), "{said:?}");
    assert!(said.contains(&"`maxResults`: \"5\" became 5".to_owned()), "{said:?}");
}

#[test]
fn a_number_of_things_is_no_size() {
    let schema = json!({"type": "object", "properties": {"size": {"type": "integer"}}});
    let mut tool = Tool::new(None, "create_volume", "Creates a volume of a size in GB");
    tool.input_schema = Some(Schema::new(to_raw_value(&schema).unwrap()));
    let given = json!({"count": 2});
    let refused = Parameters::default().prepare(&tool, given.as_object().unwrap()).unwrap_err();
    assert_eq!(refused.unfit, ["`count` is no parameter of create_volume; expected size"]);
}

#[test]
fn an_argument_that_is_no_parameter_is_told_to_readers_and_refused_to_writers() {
    let mut schema = json!({"type": "object", "required": ["text"], "properties": {
        "text": {"type": "string"}, "channel": {"enum": ["sms", "mail"]}}});
    let prepare = |name: &str, schema: &Value, given: &Value| {
        let mut tool = Tool::new(None, name, "");
        tool.input_schema = Some(Schema::new(to_raw_value(schema).unwrap()));
        Parameters::default().prepare(&tool, given.as_object().unwrap())
    };
    let given = json!({"text": "hi", "chanel": "sms", "urgent": true});
    let prepared = prepare("list_messages", &schema, &given).unwrap();
    assert_eq!(Value::Object(prepared.arguments), given);
    let said: Vec<_> = prepared.changes.iter().map(ToString::to_string).collect();
    let misspelt = "`chanel` is no parameter of list_messages; did you mean `channel`?";
    let ignored = "`urgent` is no parameter of list_messages, which may have ignored it";
    assert_eq!(said, [misspelt, ignored]);
    let refused = |schema: &Value| prepare("send_message", schema, &given).unwrap_err().unfit;
    let misspelt = "`chanel` is no parameter of send_message; did you mean `channel`?";
    let unknown = "`urgent` is no parameter of send_message; expected one of text, channel";
    assert_eq!(refused(&schema), [misspelt, unknown]);
    schema["additionalProperties"] = json!(false);
    assert_eq!(refused(&schema), [misspelt, unknown], "each is told once");
    let refused = prepare("list_messages", &schema, &given).unwrap_err();
    assert!(refused.unfit[0].contains("chanel"), "{refused}");
    schema["additionalProperties"] = json!(true);
    assert_eq!(prepare("send_message", &schema, &given).unwrap().changes, []);
    let none = json!({"type": "object", "properties": {}});
    assert_eq!(prepare("stop_all", &none, &given).unwrap().changes, [], "a client's own members");
}

#[test]
fn nothing_is_changed_that_would_lose_something() {
    for given in ["5.5", "007", "five", "1e3", "99999999999999999999"] {
        let refused = prepare(&search(), json!({"query": "x", "maxResults": given})).unwrap_err();
        assert!(refused.unfit[0].contains("maxResults"), "{given}: {refused}");
    }
    let kept = prepare(&search(), json!({"query": "007", "sites": ["b"]})).unwrap();
    assert_eq!(kept.arguments["query"], "007");
    assert_eq!(kept.changes, [Change::Default { name: "maxResults".into(), value: "10".into() }]);
}

#[test]
fn all_allowed_values_are_listed_and_null_is_no_alternative() {
    let values = ["projector", "microphone", "screen", "stage", "lights", "flip chart"];
    let many: Vec<String> = (0..40).map(|number| format!("v{number}")).collect();
    let schema = json!({"type": "object", "properties": {
        "item": {"enum": values},
        "kind": {"anyOf": [{"enum": ["a", "b"]}, {"type": "null"}]},
        "size": {"anyOf": [{"enum": ["a", "b"]}, {"type": "integer"}]},
        "many": {"enum": many}}});
    let unfit = |given: Value| prepare(&schema, given).unwrap_err().unfit.join("; ");
    let said = unfit(json!({"item": "beamer"}));
    assert!(values.iter().all(|value| said.contains(value)), "{said}");
    assert_eq!(unfit(json!({"kind": "c"})), r#"`kind`: "c" is not one of "a", "b""#);
    assert!(unfit(json!({"size": "c"})).contains("anyOf"));
    let said = unfit(json!({"many": "x"}));
    assert!(said.ends_with(r#""v28", "v29" or 10 others"#), "{said}");
}

#[test]
fn hints_of_the_tool_say_what_else_is_needed_and_give_the_example() {
    let mut tool = tool(&search());
    let hints = &mut tool.routing.parameter_hints;
    hints.required = vec!["query".into(), "depth".into(), "unheard_of".into()];
    hints.examples = into_members(json!({"query": "population of Haifa"}));
    let asked = Parameters::default().prepare(&tool, &Arguments::new()).unwrap_err();
    let missing: Vec<&str> = asked.missing.iter().map(|missing| missing.name.as_str()).collect();
    assert_eq!(missing, ["query", "depth"]);
    assert_eq!(asked.example, json!({"query": "population of Haifa", "depth": "basic"}));
    let given = into_members(json!({"query": "x", "depth": "basic"}));
    assert!(Parameters::default().prepare(&tool, &given).is_ok());
}

#[test]
fn what_is_missing_is_asked_for_with_an_example() {
    let asked = prepare(&search(), json!({"safe": null})).unwrap_err();
    assert_eq!(asked.missing[0].name, "query");
    assert_eq!(asked.example, json!({"query": "<query>"}));
    let said = asked.to_string();
    assert_eq!(said, r#"`query` (What to look for) is needed; for example {"query":"<query>"}"#);
    assert!(prepare(&search(), json!({"query": null})).is_err());
}

#[test]
fn a_schema_that_is_none_checks_nothing_and_stops_nothing() {
    for schema in [
        json!({"type": 7}),
        json!({"$ref": "https://example.org/schema.json"}),
        json!({"properties": {"a": {"pattern": "("}}}),
    ] {
        assert!(prepare(&schema, json!({"a": 1})).unwrap().unchecked, "{schema}");
    }
    let ring = json!({"properties": {"a": {"$ref": "#/properties/a"}}});
    prepare(&ring, json!({"a": 1})).ok();
}

fn any_schema() -> impl Strategy<Value = Value> {
    let leaf = prop::sample::select(vec![
        json!({"type": "string"}),
        json!({"type": "integer", "minimum": 0}),
        json!({"type": "number"}),
        json!({"type": "boolean", "default": true}),
        json!({"type": ["integer", "null"]}),
        json!({"enum": ["one", "Two", 3]}),
        json!({"anyOf": [{"type": "integer"}, {"type": "string", "maxLength": 2}]}),
        json!({"type": "string", "format": "date", "default": 5}),
    ]);
    let nested = leaf.prop_recursive(2, 8, 3, |inner| {
        prop_oneof![
            inner.clone().prop_map(|items| json!({"type": "array", "items": items})),
            inner.prop_map(
                |of| json!({"type": "object", "properties": {"a": of}, "required": ["a"]})
            ),
        ]
    });
    let names = prop::sample::subsequence(vec!["query", "maxResults", "path", "a"], 1..4);
    (names, prop::collection::vec(nested, 4), any::<bool>()).prop_map(|(names, schemas, closed)| {
        let properties: Map<String, Value> =
            names.iter().map(|name| (*name).to_owned()).zip(schemas).collect();
        json!({"type": "object", "properties": properties, "required": [names[0]],
            "additionalProperties": !closed})
    })
}

fn any_arguments() -> impl Strategy<Value = Value> {
    let texts = r#"5 true -0 1.50 TWO 3 [1,2] {"a":"1"} x "#;
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        prop::sample::select(texts.split(' ').collect::<Vec<_>>()).prop_map(Value::from),
    ];
    let value = leaf.prop_recursive(2, 8, 3, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..3).prop_map(Value::from),
            inner.prop_map(|value| json!({"a": value})),
        ]
    });
    let names = "query q max_results maxResults file path a z";
    let name = prop::sample::select(names.split(' ').collect::<Vec<_>>());
    prop::collection::btree_map(name, value, 0..5)
        .prop_map(|members| members.into_iter().map(|(k, v)| (k.to_owned(), v)).collect())
}

proptest! {
    #[test]
    fn what_is_sent_fits_the_schema_or_nothing_is_sent(schema in any_schema(), given in any_arguments()) {
        if let Ok(prepared) = prepare(&schema, given) {
            let sent = Value::Object(prepared.arguments);
            prop_assert!(jsonschema::is_valid(&schema, &sent), "{schema} {sent}");
        }
    }

    #[test]
    fn what_fits_already_is_sent_as_it_is_but_for_defaults(schema in any_schema(), given in any_arguments()) {
        if jsonschema::is_valid(&schema, &given)
            && let Ok(prepared) = prepare(&schema, given.clone())
        {
            for (name, value) in given.as_object().unwrap() {
                if schema["properties"].get(name).is_some() && !value.is_null() {
                    prop_assert_eq!(&prepared.arguments[name], value);
                }
            }
        }
    }
}

#[test]
fn a_time_of_the_day_may_have_an_offset() {
    let schema =
        json!({"type": "object", "properties": {"time": {"type": "string", "format": "time"}}});
    let checker = Checker::new(&schema);
    let fits = |time: &str| checker.misfit(&["time".to_owned()], false, &time.into()).is_none();
    for time in ["06:30", "06:30:00", "09:30:00Z", "09:30:00.5+02:00", "23:59:59-05:00"] {
        assert!(fits(time), "{time}");
    }
    for time in ["6:30", "24:00:00", "12:60", "noon", "12", ""] {
        assert!(!fits(time), "{time}");
    }
}
