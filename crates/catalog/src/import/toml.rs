//! TOML as JSON, so that one set of readers serves both.

use ::toml::Value as Toml;
use serde_json::{Number, Value as Json};

/// A TOML document as a JSON object, keys in their order.
pub(super) fn to_json(text: &str) -> Result<Json, ::toml::de::Error> {
    text.parse::<::toml::Table>().map(|table| json(Toml::Table(table)))
}

fn json(value: Toml) -> Json {
    match value {
        Toml::String(text) => Json::String(text),
        Toml::Integer(whole) => Json::from(whole),
        // JSON has neither infinity nor NaN.
        Toml::Float(float) => Number::from_f64(float).map_or(Json::Null, Json::Number),
        Toml::Boolean(flag) => Json::Bool(flag),
        Toml::Datetime(moment) => Json::String(moment.to_string()),
        Toml::Array(items) => Json::Array(items.into_iter().map(json).collect()),
        Toml::Table(table) => Json::Object(table.into_iter().map(|(k, v)| (k, json(v))).collect()),
    }
}
