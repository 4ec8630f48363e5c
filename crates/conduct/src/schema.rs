//! Validation with JSON Schema: of requests against a shipped schema, and of arguments.

use std::sync::OnceLock;

use jsonschema::{PatternOptions, Validator};
use serde_json::Value;

use toolroute_catalog::Expansion;

/// The shipped schema of the documents that the conductor reads.
pub const OBLIGATIONS_SCHEMA: &str = include_str!("obligations.schema.json");

/// A schema violation and its location.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// A JSON pointer to the location; empty for the whole value.
    pub place: String,
    pub said: String,
}

/// Returns the first violation in a request.
pub fn fault_of_request(request: &Value) -> Option<Fault> {
    static SCHEMA: OnceLock<Validator> = OnceLock::new();
    let validator = SCHEMA.get_or_init(|| {
        let schema = serde_json::from_str(OBLIGATIONS_SCHEMA);
        let schema: Value = schema.expect("the shipped schema is JSON. This is a bug.");
        jsonschema::validator_for(&schema).expect("the shipped schema is a schema. This is a bug.")
    });
    faults(validator, request).into_iter().next()
}

/// Returns the violations in arguments. An invalid schema, or one with external references, accepts
/// everything, because nothing is fetched. A schema that is too large to check is itself a
/// violation.
pub fn faults_of_arguments(schema: &Value, arguments: &Value) -> Vec<Fault> {
    let expansion = Expansion::of(schema);
    if !expansion.is_closed() {
        return Vec::new();
    }
    if let Err(error) = expansion.fits_with(schema, arguments) {
        return vec![Fault { place: String::new(), said: error.to_string() }];
    }
    let patterns = PatternOptions::fancy_regex()
        .size_limit(Expansion::PATTERN_SIZE)
        .dfa_size_limit(Expansion::PATTERN_SIZE / 4)
        .backtrack_limit(Expansion::PATTERN_STEPS);
    match jsonschema::options().with_pattern_options(patterns).build(schema) {
        Ok(validator) => faults(&validator, arguments),
        Err(error) => {
            tracing::debug!("a tool's schema cannot be used: {error}");
            Vec::new()
        }
    }
}

fn faults(validator: &Validator, value: &Value) -> Vec<Fault> {
    let fault = |error: jsonschema::ValidationError<'_>| Fault {
        place: error.instance_path().to_string(),
        said: super::json::shown(&Value::String(error.to_string())),
    };
    validator.iter_errors(value).map(fault).collect()
}
