//! Reads arguments from a text, and finds whole numbers that JSON can express but a call cannot pass
//! on exactly.

use serde_json::{Number, Value};
use toolroute_catalog::shortened;

use crate::execution::invoker::Arguments;

/// The expected value in error messages.
pub(super) const WHOLE_NUMBERS: &str =
    "whole numbers from -2^63 to 2^64-1, since others cannot be passed exactly; write it as a text";

/// Reads the arguments of a call: an object, or the text of one. Null and an empty text are an empty
/// object. `expected` names the arguments in an error.
///
/// # Errors
/// What was expected and what was found.
pub fn read_arguments(given: Value, expected: &str) -> Result<Arguments, String> {
    const SHOWN: usize = 60;
    let wrong = |found: &str| {
        Err(format!(
            "expected {expected} as a JSON object such as {{\"path\": \".\"}}, found {found}"
        ))
    };
    match given {
        Value::Object(members) => Ok(members),
        Value::Null => Ok(Arguments::new()),
        Value::String(text) if text.trim().is_empty() => Ok(Arguments::new()),
        Value::String(text) => match (inexact(&text), serde_json::from_str(&text)) {
            (Some(number), _) => Err(format!(
                "expected {expected} with {WHOLE_NUMBERS}; found {}",
                shortened(number, SHOWN)
            )),
            (None, Ok(Value::Object(members))) => Ok(members),
            (None, Ok(other)) => wrong(&shortened(&other.to_string(), SHOWN)),
            (None, Err(error)) => wrong(&format!("a text that is not JSON: {error}")),
        },
        other => wrong(&shortened(&other.to_string(), SHOWN)),
    }
}

/// Returns the first whole number of a JSON text that would lose digits when parsed. A number with
/// a point or an exponent is approximate anyway and is ignored.
pub(super) fn inexact(json: &str) -> Option<&str> {
    let bytes = json.as_bytes();
    let (mut at, mut is_text) = (0, false);
    while at < bytes.len() {
        match bytes[at] {
            b'\\' if is_text => at += 1,
            b'"' => is_text = !is_text,
            b'-' | b'0'..=b'9' if !is_text => {
                let is_of_number = |byte: &u8| byte.is_ascii_digit() || b"+-.eE".contains(byte);
                let length = bytes[at..].iter().take_while(|byte| is_of_number(byte)).count();
                let number = &json[at..at + length];
                if is_whole(number)
                    && number.parse::<i64>().is_err()
                    && number.parse::<u64>().is_err()
                {
                    return Some(number);
                }
                at += length - 1;
            }
            _ => {}
        }
        at += 1;
    }
    None
}

fn is_whole(number: &str) -> bool {
    let digits = number.strip_prefix('-').unwrap_or(number);
    !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())
}

/// Whether the value may be a whole number that lost digits when it was parsed.
pub(super) fn may_be_another(value: &Value) -> bool {
    /// 2^63: larger whole numbers may be parsed as floats.
    const BEYOND: f64 = 9_223_372_036_854_775_808.0;
    let float = value.as_number().filter(|number| number.is_f64()).and_then(Number::as_f64);
    float.is_some_and(|float| float.fract() == 0.0 && float.abs() >= BEYOND)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_whole_numbers_that_are_too_large_are_found() {
        for (json, found) in [
            (r#"{"id": 18446744073709551615, "n": -9223372036854775808}"#, None),
            (r#"{"id": 18446744073709551616}"#, Some("18446744073709551616")),
            (r#"[1, [-9223372036854775809]]"#, Some("-9223372036854775809")),
            (r#"{"id": "18446744073709551616", "1\"99999999999999999999": 1}"#, None),
            (r#"{"x": 1e30, "y": 99999999999999999999.5, "z": -0.1}"#, None),
            ("99999999999999999999", Some("99999999999999999999")),
            ("{", None),
            ("-", None),
            ("", None),
        ] {
            assert_eq!(inexact(json), found, "{json}");
            if let (Ok(value), Some(_)) = (serde_json::from_str::<Value>(json), found)
                && value.is_number()
            {
                assert!(may_be_another(&value), "{json}");
            }
        }
    }
}
