//! What the conductor can do where nobody names any tools: arithmetic.

use std::collections::BTreeMap;

use serde_json::value::RawValue;

use super::builtin::{Builtin, Builtins};
use toolroute_catalog::{Catalog, Cost, Hints, Reliability, Schema, Tool};

const NAME: &str = "EvalMath";
const SCHEMA: &str = r#"{"type": "object", "properties": {"expression": {"type": "string", "description": "the expression, such as (3 + 4)^2 / 7"}}, "required": ["expression"], "additionalProperties": false}"#;

/// The tool of the source documents' first example, and what runs it.
pub fn default_tools() -> (Catalog, Builtins) {
    let says = "Evaluates an arithmetic expression and returns the number.";
    let mut tool = Tool::new(None, NAME, says);
    let schema = RawValue::from_string(SCHEMA.to_owned());
    let schema = schema.expect("the schema is a constant that the tests read. This is a bug.");
    tool.input_schema = Some(Schema::new(schema));
    tool.examples = vec!["what is 2 + 2 * 10".to_owned()];
    tool.satisfies = vec!["REPORT(query.math)".to_owned()];
    tool.consumes = vec!["math.expression".to_owned()];
    tool.postconditions = vec!["has(outputs.result)".to_owned()];
    (tool.reliability, tool.cost) = (Some(Reliability::High), Some(Cost::Tiny));
    tool.latency_ms = Some(5);
    tool.hints = Hints {
        read_only: Some(true),
        destructive: Some(false),
        idempotent: Some(true),
        ..Hints::default()
    };
    let runner = BTreeMap::from([(NAME.to_owned(), Builtin::Math {})]);
    (Catalog::from_tools(vec![tool]).catalog, Builtins::new(runner, ""))
}
