//! Errors of serde in the words of a person who writes JSON or TOML: serde names types of Rust, and
//! not the member that is wrong.

use serde::de::DeserializeOwned;
use serde_json::Value;

/// Rewords an error about the type of a value: what was expected, what came. Other errors stay as
/// they are.
pub fn type_fault(said: &str) -> String {
    let (fault, place) = match said.rsplit_once(" at line ") {
        Some((fault, place)) => (fault, format!(" at line {place}")),
        None => (said, String::new()),
    };
    let about = ["invalid type: ", "invalid value: ", "invalid length "];
    let rest = about.iter().find_map(|about| fault.strip_prefix(about));
    match rest.and_then(|rest| rest.split_once(", expected ")) {
        Some((found, expected)) => {
            format!("expected {}, found {}{place}", expected_as(expected), found_as(found))
        }
        None => said.to_owned(),
    }
}

fn expected_as(expected: &str) -> &str {
    match expected {
        "a string" => "a text",
        "a sequence" => "a list",
        "a boolean" => "true or false",
        "f32" | "f64" => "a number",
        "u8" | "u16" | "u32" | "u64" | "usize" => "a whole number from 0",
        "i8" | "i16" | "i32" | "i64" | "isize" => "a whole number",
        "a map" => "an object",
        other if other.starts_with("struct ") => "an object",
        other => other,
    }
}

fn found_as(found: &str) -> &str {
    match found {
        "sequence" => "a list",
        "map" => "an object",
        other => {
            let kinds = ["string ", "integer ", "floating point ", "boolean "];
            let value = kinds.iter().find_map(|kind| other.strip_prefix(kind)).unwrap_or(other);
            value.trim_matches('`')
        }
    }
}

/// Rewords an error of parsing a JSON text, and adds the member whose value does not fit.
pub fn json_fault(text: &str, error: &serde_json::Error) -> String {
    let raw = error.to_string();
    let said = type_fault(&raw);
    let member = member_before(text, error.line(), error.column()).filter(|_| said != raw);
    member.map_or(said.clone(), |member| format!("`{member}`: {said}"))
}

/// Rewords an error of parsing one line of a file. Its caller says which line that is.
pub fn row_fault(error: &serde_json::Error) -> String {
    format!("{} at column {}", value_fault(error), error.column())
}

/// The same for a value within a line, whose place there serde does not know.
pub fn value_fault(error: &serde_json::Error) -> String {
    let said = type_fault(&error.to_string());
    said.rsplit_once(" at line ").map_or(said.clone(), |(fault, _)| fault.to_owned())
}

/// Returns the first member of an object whose value does not fit the type of the object, with what
/// is wrong. A value that was parsed before has no place in a text.
pub fn member_fault<T: DeserializeOwned>(object: &Value) -> Option<String> {
    object.as_object()?.iter().find_map(|(name, value)| {
        let alone = Value::Object([(name.clone(), value.clone())].into_iter().collect());
        let raw = T::deserialize(&alone).err()?.to_string();
        let is_of_object = raw.starts_with("missing field") || raw.contains(&format!("`{name}`"));
        (!is_of_object).then(|| format!("`{name}`: {}", type_fault(&raw)))
    })
}

/// The name of the last member that begins before this place, unless the place is after a whole
/// object or list: then it does not say which member of it is wrong.
fn member_before(text: &str, line: usize, column: usize) -> Option<&str> {
    let start: usize = text.split_inclusive('\n').take(line.checked_sub(1)?).map(str::len).sum();
    let before = text.get(..(start + column).min(text.len()))?;
    if before.trim_end().ends_with(['}', ']']) {
        return None;
    }
    // The value itself may be a text with a colon in it, so the colon must follow a quote.
    before.match_indices(':').rev().find_map(|(at, _)| {
        let name =
            before[..at].trim_end().strip_suffix('"').filter(|name| !name.ends_with('\\'))?;
        let name = &name[name.rfind('"')? + 1..];
        (!name.is_empty()).then_some(name)
    })
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;

    use super::*;

    #[derive(Debug, Deserialize)]
    #[expect(dead_code, reason = "only read")]
    struct Options {
        names: Vec<String>,
        limit: Option<u32>,
    }

    #[test]
    fn a_wrong_type_is_told_with_its_member_and_without_types_of_rust() {
        for (text, said) in [
            (
                "{\"names\": \"a: b\"}",
                "`names`: expected a list, found \"a: b\" at line 1 column 16",
            ),
            (
                "{\"names\": [\"a\"],\n \"limit\": -3}",
                "`limit`: expected a whole number from 0, found -3",
            ),
            ("{\"names\": [3]}", "`names`: expected a text, found 3 at line"),
            ("3", "expected an object, found 3 at line"),
            ("{\"limit\": 1}", "missing field `names` at line"),
            ("{\"limit\"", "EOF while parsing"),
        ] {
            let error = serde_json::from_str::<Options>(text).unwrap_err();
            let told = json_fault(text, &error);
            assert!(told.starts_with(said), "{told}");
        }
    }
}
