use serde_json::json;
use serde_json::value::RawValue;

use super::*;

/// `levels` definitions, each of which names the next `times` times.
fn bomb(keyword: &str, times: usize, levels: usize) -> Value {
    let level = |at: usize| {
        let next = json!({"$ref": format!("#/$defs/d{}", at + 1)});
        (format!("d{at}"), json!({keyword: vec![next; times]}))
    };
    let mut defs: Map<String, Value> = (0..levels).map(level).collect();
    defs.insert(format!("d{levels}"), json!({"type": "object"}));
    json!({"$ref": "#/$defs/d0", "$defs": defs})
}

#[test]
fn what_unfolds_without_end_is_counted_at_once() {
    for keyword in ["allOf", "anyOf", "oneOf"] {
        let schema = bomb(keyword, 10, 12);
        let expansion = Expansion::of(&schema);
        assert_eq!(expansion.fits(), Err(TooLarge::Parts), "{keyword}");
        assert!(expansion.fits_with(&schema, &json!({})).is_err());
    }
    assert_eq!(Expansion::of(&bomb("allOf", 10, 40)).parts, u64::MAX, "it saturates");
    assert!(Expansion::of(&bomb("allOf", 1, 10_000)).fits().is_err(), "too deep for a stack");
    assert_eq!(Expansion::of(&bomb("allOf", 10, 3)).fits(), Ok(()));
}

#[test]
fn names_are_no_keywords_and_data_is_no_schema() {
    let named = json!({"properties": {"$defs": {"type": "string"}, "enum": {}, "$ref": {}},
                       "enum": [{"$ref": "#/nowhere"}], "$defs": {"unused": {"$ref": "http://x"}}});
    let expansion = Expansion::of(&named);
    assert_eq!((expansion.parts, expansion.is_closed()), (5, true));
    assert!(!Expansion::of(&json!({"items": {"$ref": "other.json"}})).is_closed());
    assert!(!Expansion::of(&json!({"items": {"$id": "x", "$ref": "#"}})).is_closed());
    let by_anchor = json!({"items": {"$ref": "#a"}, "$defs": {"x": {"$anchor": "a", "not": {}}}});
    assert!(Expansion::of(&by_anchor).is_closed() && Expansion::of(&by_anchor).parts >= 4);
    let quoted = json!({"items": {"$ref": "#/$defs/a%20b"}, "$defs": {"a b": {}}});
    assert!(Expansion::of(&quoted).is_closed());
}

#[test]
fn what_refers_to_itself_is_counted_with_the_value() {
    let tree = json!({"properties": {"left": {"$ref": "#"}, "right": {"$ref": "#"}}});
    let doubled = json!({"properties": {"next": {"allOf": [{"$ref": "#"}, {"$ref": "#"}]}}});
    let chain = |name: &str, levels| (0..levels).fold(json!({}), |inner, _| json!({name: inner}));
    let fits = |schema: &Value, value: &Value| Expansion::of(schema).fits_with(schema, value);
    assert_eq!(fits(&tree, &chain("left", 100)), Ok(()));
    assert_eq!(fits(&doubled, &chain("next", 10)), Ok(()));
    assert_eq!(fits(&doubled, &chain("next", 60)), Err(TooLarge::Visits));
    let endless = json!({"$ref": "#/$defs/a", "$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}}});
    assert_eq!(fits(&endless, &json!({})), Ok(()));
}

#[test]
fn many_values_of_a_plain_schema_are_no_bomb() {
    let row =
        json!({"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "number"}}});
    let schema = json!({"properties": {"rows": {"type": "array", "items": row}}});
    let rows: Vec<Value> = (0..20_000).map(|at| json!({"a": "x", "b": at})).collect();
    let value = json!({"rows": rows});
    assert_eq!(Expansion::of(&schema).fits_with(&schema, &value), Ok(()));
}

#[test]
fn patterns_are_counted_once_each_and_with_the_text_that_they_are_matched_with() {
    let many = |count: usize| {
        let named = (0..count).map(|at| (format!("p{at}"), json!({"pattern": format!("a{at}")})));
        json!({"properties": named.collect::<Map<_, _>>()})
    };
    assert_eq!(Expansion::of(&many(250)).fits(), Ok(()));
    assert_eq!(Expansion::of(&many(251)).fits(), Err(TooLarge::Patterns));
    let schema = Schema::new(RawValue::from_string(many(251).to_string()).unwrap());
    assert_eq!(Expansion::refusal(&schema), Some(TooLarge::Patterns));
    let by_name = json!({"patternProperties": {"a".repeat(100_001): {}}});
    assert_eq!(Expansion::of(&by_name).fits(), Err(TooLarge::Patterns));
    let same = json!({"anyOf": vec![json!({"pattern": "^a$"}); 2_000]});
    assert_eq!(Expansion::of(&same).fits(), Ok(()));
    let long = Value::String("a".repeat(10_000_000));
    assert_eq!(Expansion::of(&same).fits_with(&same, &long), Err(TooLarge::Visits));
    assert_eq!(Expansion::of(&same).fits_with(&same, &json!("a")), Ok(()));
}

#[test]
fn a_reference_that_is_written_with_escapes_is_one() {
    let text = bomb("allOf", 10, 12).to_string().replace("$ref", r"\u0024ref");
    let schema = Schema::new(RawValue::from_string(text).unwrap());
    assert!(schema.as_str().contains(r"\u0024ref"), "the text stays as it came");
    assert_eq!(Expansion::refusal(&schema), Some(TooLarge::Parts));
}

#[test]
fn a_text_is_as_deep_as_its_brackets_outside_quotes() {
    assert_eq!(depth(r#"{"a": "[[[{\"", "b": [{}]}"#), 3);
    assert_eq!(depth(&"[".repeat(100_000)), 100_000);
    assert_eq!(depth("1"), 0);
}
