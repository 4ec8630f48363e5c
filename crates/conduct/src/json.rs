//! Canonical JSON, and comparison of values in the ledger.

use serde_json::Value;
use toolroute_catalog::shortened;

/// Returns the canonical JSON of a value: members sorted by name, no white space.
pub fn canonical(value: &Value) -> String {
    let mut sorted = value.clone();
    sorted.sort_all_objects();
    sorted.to_string()
}

/// Returns `true` if two statements about one subject contradict each other. Objects contradict
/// each other if a member that both have differs, other values if they are not equal.
pub fn contradict(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Object(one), Value::Object(other)) => {
            let differs = |(name, value): (&String, &Value)| {
                other.get(name).is_some_and(|said| contradict(value, said))
            };
            one.iter().any(differs)
        }
        (Value::Number(one), Value::Number(other)) => one.as_f64() != other.as_f64(),
        (one, other) => canonical(one) != canonical(other),
    }
}

/// Formats a value for a message, truncated if it is long.
pub fn shown(value: &Value) -> String {
    const MOST: usize = 400;
    let text = match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    shortened(&text, MOST)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn equal_values_are_spelled_alike() {
        let one: Value =
            serde_json::from_str(r#"{"b": [1, {"y": 2, "x": 1}], "a": null}"#).unwrap();
        assert_eq!(canonical(&one), r#"{"a":null,"b":[1,{"x":1,"y":2}]}"#);
    }

    #[test]
    fn only_what_both_speak_of_can_contradict() {
        assert!(contradict(&json!({"n": 1}), &json!({"n": 2})));
        assert!(!contradict(&json!({"n": 1}), &json!({"n": 1.0, "unit": "m"})));
        assert!(!contradict(&json!({"a": 1}), &json!({"b": 2})));
        assert!(contradict(&json!("x"), &json!("y")));
        assert!(contradict(&json!([1, 2]), &json!([2, 1])));
    }
}
