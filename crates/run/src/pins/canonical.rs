//! Parses JSON only if the value represents the text exactly.

use std::fmt;

use serde::de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};

/// Larger whole numbers are rounded by JavaScript and by RFC 8785, so that two of them could have
/// the same canonical form.
const EXACT: u64 = 1 << 53;

/// Returns the value of a JSON text, or `None` if the value would not represent the text exactly:
/// duplicate members, rounded numbers, nesting beyond the parser's limit, invalid JSON.
pub(super) fn parse_exact(text: &str) -> Option<Value> {
    serde_json::from_str(text).ok().map(|Exact(value)| value)
}

struct Exact(Value);

impl<'de> Deserialize<'de> for Exact {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(Reader).map(Self)
    }
}

struct Reader;

impl<'de> Visitor<'de> for Reader {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON without members of one name")
    }

    fn visit_unit<E: Error>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E: Error>(self, flag: bool) -> Result<Value, E> {
        Ok(flag.into())
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Value, E> {
        Ok(text.into())
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<Value, E> {
        if number <= EXACT { Ok(number.into()) } else { Err(E::custom("a number that is rounded")) }
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<Value, E> {
        let exact = number.unsigned_abs() <= EXACT;
        if exact { Ok(number.into()) } else { Err(E::custom("a number that is rounded")) }
    }

    fn visit_f64<E: Error>(self, number: f64) -> Result<Value, E> {
        Number::from_f64(number).map(Value::Number).ok_or_else(|| E::custom("no finite number"))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut list = Vec::new();
        while let Some(Exact(item)) = items.next_element()? {
            list.push(item);
        }
        Ok(list.into())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Value, A::Error> {
        let mut map = Map::new();
        while let Some((name, Exact(value))) = members.next_entry::<String, Exact>()? {
            if map.insert(name, value).is_some() {
                return Err(A::Error::custom("two members of one name"));
            }
        }
        Ok(map.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_texts_that_say_no_more_than_their_value_are_read() {
        assert!(parse_exact(r#"{"a": [1, -2.5, "x", null, true, {}]}"#).is_some());
        for text in
            [r#"{"a": {"b": 1, "b": 2}}"#, "[9007199254740993]", "[-9223372036854775808]", "{"]
        {
            assert_eq!(parse_exact(text), None, "{text}");
        }
    }
}
