//! Mistakes in the schema of a tool, for those who write tools.

use jsonschema::ValidationError;
use jsonschema::error::ValidationErrorKind;
use serde_json::Value;

use super::{options, shown};
use toolroute_catalog::required;
use toolroute_catalog::{Expansion, Problem, Severity, Tool};

/// Keywords beside `properties` by which a schema may declare a property.
const DECLARING: [&str; 6] = ["$ref", "allOf", "anyOf", "oneOf", "patternProperties", "then"];

/// Returns a warning for each mistake in the schema of a tool. The tool can be called, but its
/// arguments are not checked, or nobody can know what a parameter is. It takes as long as a first
/// call, so loading a catalog does not look for it.
#[doc(hidden)] // For our own crates.
pub fn schema_warnings(tool: &Tool) -> Vec<Problem> {
    let schema = tool.input_schema.as_ref().and_then(|schema| schema.to_value());
    let Some(schema) = schema else { return Vec::new() };
    let expansion = Expansion::of(&schema);
    let is_checkable = expansion.is_closed() && expansion.fits().is_ok();
    let invalid = is_checkable.then(|| options().build(&schema).err().map(of_error)).flatten();
    let undeclared = undeclared(&schema).map(of_undeclared);
    let mut problems: Vec<Problem> = invalid.into_iter().chain(undeclared).collect();
    for problem in &mut problems {
        problem.tool = Some(tool.id.to_string());
        problem.field = Some("input_schema".to_owned());
    }
    problems
}

fn of_error(error: ValidationError<'_>) -> Problem {
    let at = error.instance_path().to_string();
    // That a value is none of several kinds says less than the value.
    let found = match error.kind() {
        ValidationErrorKind::AnyOf { .. } => shown(error.instance()),
        _ => error.to_string().chars().take(200).collect(),
    };
    let found = if at.is_empty() { found } else { format!("{found} at {at}") };
    let cure = "correct it; until then the arguments of calls are not checked";
    Problem::new(Severity::Warning, "a valid JSON Schema", found, cure)
}

/// The required names that no property of the schema has.
fn undeclared(schema: &Value) -> impl Iterator<Item = &str> {
    let known = schema["properties"].as_object();
    let known = known.filter(|_| DECLARING.iter().all(|word| schema.get(word).is_none()));
    let is_unknown = move |name: &&str| known.is_some_and(|known| !known.contains_key(*name));
    required(schema).filter(is_unknown)
}

fn of_undeclared(name: &str) -> Problem {
    let found = shown(&Value::from(name));
    let cure = "add it to `properties`, or remove it from `required`";
    Problem::new(Severity::Warning, "required names that are in `properties`", found, cure)
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use serde_json::value::to_raw_value;
    use toolroute_catalog::Schema;

    use super::*;

    fn warnings(schema: &Value) -> Vec<String> {
        let mut tool = Tool::new(Some("s"), "t", "");
        tool.input_schema = Some(Schema::new(to_raw_value(schema).unwrap()));
        let problems = schema_warnings(&tool);
        problems.iter().map(|problem| format!("{problem:#}")).collect()
    }

    #[test]
    fn a_schema_that_is_none_and_a_name_without_a_property_are_told() {
        let wrong = warnings(&json!({"type": "objekt"}));
        assert_eq!(wrong.len(), 1, "{wrong:?}");
        assert!(wrong[0].contains("found \"objekt\" at /type"), "{wrong:?}");
        let pattern = json!({"type": "object", "properties": {"a": {"pattern": "("}}});
        assert_eq!(warnings(&pattern).len(), 1);
        let name = json!({"type": "object", "properties": {"x": {}}, "required": ["x", "y"]});
        assert!(warnings(&name)[0].contains("found \"y\""), "{:?}", warnings(&name));
        for sound in [
            json!({"type": "object", "required": ["y"]}),
            json!({"properties": {"x": {}}, "required": ["y"], "allOf": [{"properties": {"y": {}}}]}),
            json!({"$schema": "http://json-schema.org/draft-07/schema#", "type": "object"}),
            json!({}),
        ] {
            assert_eq!(warnings(&sound), [] as [&str; 0], "{sound}");
        }
    }
}
