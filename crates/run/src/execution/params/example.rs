//! Example arguments for error messages: valid against the schema, or absent.

use std::collections::BTreeSet;

use jsonschema::Validator;
use serde_json::{Map, Value, json};

use super::super::invoker::Arguments;
use super::{coerce, exact, needed};
use toolroute_catalog::ParameterHints;
use toolroute_catalog::required;

/// The most values of one parameter that are tried.
const MOST_VALUES: usize = 8;

/// The most schemas that are read for one example, because references may expand without end.
const MOST_SCHEMAS: usize = 200;

/// The most items of a list in an example.
const MOST_ITEMS: u64 = 8;

/// The inputs for an example.
pub(super) struct ExampleRequest<'a> {
    pub root: &'a Value,
    pub given: &'a Arguments,
    pub hints: &'a ParameterHints,
    /// `None` for an unusable schema; the example is then not validated.
    pub validator: Option<&'a Validator>,
}

impl ExampleRequest<'_> {
    /// Returns arguments that the schema accepts: the given ones that are valid, and for other
    /// needed or invalid ones an example from the tool's hints, one from the schema, or a value of
    /// the type. Returns null if none were found.
    pub fn example(&self) -> Value {
        let names = self.names();
        let mut values: Vec<Vec<Value>> = names.iter().map(|name| self.values(name)).collect();
        // Each round either drops a value that does not fit or is the last one.
        for _ in 0..names.len() * MOST_VALUES + 1 {
            let first = names.iter().zip(&values);
            let first = first.filter_map(|(name, values)| {
                values.first().map(|value| (name.clone(), value.clone()))
            });
            let example = Value::Object(first.collect());
            let Some(wrong) = self.misfits(&example) else { return example };
            let mut is_other = false;
            for (name, values) in names.iter().zip(&mut values) {
                if wrong.contains(name) && values.len() > 1 {
                    values.remove(0);
                    is_other = true;
                }
            }
            if !is_other {
                break;
            }
        }
        Value::Null
    }

    /// Returns the names of the needed parameters, and of the given ones whose values do not fit.
    fn names(&self) -> Vec<String> {
        let mut names: Vec<String> = needed(self.root, self.hints).map(str::to_owned).collect();
        let given = Value::Object(self.given.clone());
        let unfit = self.misfits(&given).unwrap_or_default();
        for name in self.given.keys().filter(|name| unfit.contains(*name)) {
            let is_known = self.root["properties"].get(name).is_some();
            if is_known && !names.contains(name) {
                names.push(name.clone());
            }
        }
        names
    }

    /// Returns possible values of a parameter, the best first.
    fn values(&self, name: &str) -> Vec<Value> {
        let schema = &self.root["properties"][name];
        let given = self.given.get(name).filter(|value| !exact::may_be_another(value));
        let given = given.filter(|value| has_format(value, schema));
        let mut values: Vec<Value> = given.into_iter().cloned().collect();
        values.extend(self.hints.examples.get(name).cloned());
        let mut budget = MOST_SCHEMAS;
        values.extend(ValueGenerator { root: self.root, budget: &mut budget }.values(name, schema));
        values.truncate(MOST_VALUES);
        values
    }

    /// Returns the parameters whose values do not fit, or `None` if all fit.
    fn misfits(&self, arguments: &Value) -> Option<BTreeSet<String>> {
        let validator = self.validator?;
        if validator.is_valid(arguments) {
            return None;
        }
        let errors = validator.iter_errors(arguments).map(|error| {
            let at = error.instance_path().to_string();
            let first = at.split('/').nth(1).unwrap_or_default();
            first.replace("~1", "/").replace("~0", "~")
        });
        Some(errors.collect())
    }
}

/// Whether a value has the format that a schema names, if it is known. Calls do not check it, because servers read more.
fn has_format(value: &Value, schema: &Value) -> bool {
    let Some(format) = schema.get("format") else { return true };
    let only = json!({"format": format});
    let options = jsonschema::options().should_validate_formats(true);
    options.build(&only).is_ok_and(|validator| validator.is_valid(value))
}

/// Generates values from schemas.
struct ValueGenerator<'a> {
    root: &'a Value,
    budget: &'a mut usize,
}

impl ValueGenerator<'_> {
    /// Returns the values that the schema names, and then a value of its type.
    fn values(&mut self, name: &str, schema: &Value) -> Vec<Value> {
        let schema = coerce::resolved(schema, self.root);
        let mut values: Vec<Value> = schema.get("const").cloned().into_iter().collect();
        values
            .extend(schema["examples"].as_array().into_iter().flatten().take(MOST_VALUES).cloned());
        values.extend([&schema["example"], &schema["default"]].map(Value::clone));
        values.extend(schema["enum"].as_array().into_iter().flatten().take(MOST_VALUES).cloned());
        values.retain(|value| !value.is_null());
        values.truncate(MOST_VALUES - 1);
        values.push(self.generate(name, schema));
        values
    }

    fn value(&mut self, name: &str, schema: &Value) -> Value {
        self.values(name, schema).into_iter().next().unwrap_or_default()
    }

    /// Returns a value of the schema's type, within the usual bounds.
    fn generate(&mut self, name: &str, schema: &Value) -> Value {
        if *self.budget == 0 {
            return Value::Null;
        }
        *self.budget -= 1;
        let several = ["anyOf", "oneOf", "allOf"].into_iter();
        let mut one = several.flat_map(|key| schema[key].as_array().into_iter().flatten());
        match coerce::type_names(schema).find(|kind| *kind != "null") {
            Some(kind @ ("integer" | "number")) => number(schema, kind == "integer"),
            Some("boolean") => json!(true),
            Some("array") => self.list(name, schema),
            Some("object") => self.object(schema),
            Some(_) => json!(text(name, schema)),
            None if schema["properties"].is_object() => self.object(schema),
            None => match one.find(|one| one["type"] != "null") {
                Some(one) => self.value(name, one),
                None => json!(text(name, schema)),
            },
        }
    }

    fn list(&mut self, name: &str, schema: &Value) -> Value {
        let least = schema["minItems"].as_u64().unwrap_or(1).clamp(1, MOST_ITEMS);
        let count = schema["maxItems"].as_u64().map_or(least, |most| least.min(most));
        let items = &schema["items"];
        if !items.is_object() {
            return json!(vec![
                format!("<{name}>");
                schema["minItems"].as_u64().map_or(0, |_| count as usize)
            ]);
        }
        let values = self.values(name, items);
        // Different values if possible: the list may require unique items.
        let items = (0..count as usize).map(|at| values[at % values.len()].clone());
        Value::Array(items.collect())
    }

    fn object(&mut self, schema: &Value) -> Value {
        let mut members = Map::new();
        for name in required(schema) {
            let value = self.value(name, &schema["properties"][name]);
            members.insert(name.to_owned(), value);
        }
        Value::Object(members)
    }
}

/// Returns 1, or a number close to it that the schema accepts.
fn number(schema: &Value, is_whole: bool) -> Value {
    let bound = |name: &str| schema[name].as_f64();
    let step = bound("multipleOf").filter(|step| *step > 0.0);
    let unit = step.unwrap_or(1.0);
    let mut value: f64 = unit.max(1.0);
    if let Some(step) = step {
        value = (value / step).ceil() * step;
    }
    let up = |from: f64| step.map_or(from, |step| (from / step).ceil() * step);
    let down = |from: f64| step.map_or(from, |step| (from / step).floor() * step);
    if let Some(least) = bound("minimum").filter(|least| value < *least) {
        value = up(least);
    }
    if let Some(above) = bound("exclusiveMinimum").filter(|above| value <= *above) {
        value = up(above + unit);
    }
    if let Some(most) = bound("maximum").filter(|most| value > *most) {
        value = down(most);
    }
    if let Some(below) = bound("exclusiveMaximum").filter(|below| value >= *below) {
        let least = bound("minimum").or(bound("exclusiveMinimum"));
        value = match least {
            Some(least) if !is_whole && below - unit <= least => f64::midpoint(least, below),
            _ => down(below - unit),
        };
    }
    if is_whole || value.fract() == 0.0 && value.abs() < 1e15 {
        #[expect(clippy::cast_possible_truncation, reason = "a float beyond it is its nearest")]
        return json!(value.ceil() as i64);
    }
    json!(value)
}

/// Returns a text in the schema's format, or a placeholder with the parameter's name.
fn text(name: &str, schema: &Value) -> String {
    let known = match schema["format"].as_str() {
        Some("date") => "2026-01-31",
        Some("date-time") => "2026-01-31T09:30:00Z",
        Some("time") => "09:30:00Z",
        Some("duration") => "PT1H",
        Some("email" | "idn-email") => "name@example.com",
        Some("uri" | "url" | "iri" | "uri-reference" | "iri-reference") => "https://example.com/",
        Some("hostname" | "idn-hostname") => "example.com",
        Some("ipv4") => "192.0.2.1",
        Some("ipv6") => "2001:db8::1",
        Some("uuid") => "123e4567-e89b-12d3-a456-426614174000",
        _ => "",
    };
    if !known.is_empty() {
        return known.to_owned();
    }
    let most = schema["maxLength"].as_u64().map_or(usize::MAX, |most| most as usize);
    // A longer example would not help.
    let least = schema["minLength"].as_u64().unwrap_or(0).min(200) as usize;
    let text = format!("<{name}>");
    let text = if text.chars().count() > most { name.to_owned() } else { text };
    let mut text: String = text.chars().take(most).collect();
    while text.chars().count() < least {
        text.push('x');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn example(schema: &Value, given: Value) -> Value {
        let Value::Object(given) = given else { panic!("an object") };
        let validator = jsonschema::validator_for(schema).unwrap();
        let hints = ParameterHints::default();
        let request = ExampleRequest {
            root: schema,
            given: &given,
            hints: &hints,
            validator: Some(&validator),
        };
        let example = request.example();
        assert!(example.is_null() || validator.is_valid(&example), "{example}");
        example
    }

    #[test]
    fn an_example_is_of_the_right_types_whatever_was_given() {
        let schema = json!({"type": "object", "required": ["a"], "properties": {
            "a": {"type": "number"}, "b": {"type": "integer"}, "unit": {"enum": ["C", "F"]}}});
        assert_eq!(example(&schema, json!({"a": "two"})), json!({"a": 1}));
        assert_eq!(example(&schema, json!({"a": 7, "b": "x"})), json!({"a": 7, "b": 1}));
        assert_eq!(example(&schema, json!({"a": 7, "unit": "K"})), json!({"a": 7, "unit": "C"}));
        assert_eq!(example(&schema, json!({})), json!({"a": 1}));
        let day = json!({"type": "object", "required": ["at", "to"], "properties": {
            "at": {"type": "string", "format": "date"}, "to": {"type": "string"}}});
        let given = example(&day, json!({"at": "soon"}));
        assert_eq!(given, json!({"at": "2026-01-31", "to": "<to>"}), "of the format");
        assert_eq!(example(&day, json!({"at": "2027-02-01"}))["at"], "2027-02-01");
    }

    #[test]
    fn bounds_formats_and_nested_members_are_kept() {
        for (part, value) in [
            (json!({"type": "integer", "minimum": 5}), json!(5)),
            (json!({"type": "integer", "exclusiveMinimum": 5}), json!(6)),
            (json!({"type": "number", "maximum": 0.5}), json!(0.5)),
            (json!({"type": "number", "minimum": 0, "exclusiveMaximum": 1}), json!(0.5)),
            (json!({"type": "integer", "multipleOf": 10, "minimum": 15}), json!(20)),
            (json!({"type": "string", "format": "date"}), json!("2026-01-31")),
            (json!({"type": "string", "maxLength": 2}), json!("p")),
            (json!({"type": "string", "minLength": 6}), json!("<p>xxx")),
            (json!({"type": ["null", "boolean"]}), json!(true)),
            (
                json!({"type": "array", "items": {"enum": ["x", "y"]}, "minItems": 2, "uniqueItems": true}),
                json!(["x", "y"]),
            ),
            (json!({"anyOf": [{"type": "null"}, {"type": "integer"}]}), json!(1)),
            (json!({"const": "only"}), json!("only")),
            (
                json!({"type": "object", "required": ["lat"], "properties": {"lat": {"type": "number"}}}),
                json!({"lat": 1}),
            ),
            // A default that the schema does not accept is not an example.
            (json!({"type": "integer", "default": "ten"}), json!(1)),
        ] {
            let schema = json!({"type": "object", "required": ["p"], "properties": {"p": part}});
            assert_eq!(example(&schema, json!({"p": {}}))["p"], value, "{part}");
        }
    }

    #[test]
    fn there_is_none_where_none_is_found_and_references_without_end_cost_little() {
        let pattern = json!({"required": ["p"], "properties": {"p": {"type": "string", "pattern": "^[0-9]{9}$"}}});
        assert_eq!(example(&pattern, json!({"p": "x"})), Value::Null);
        let ring = json!({"required": ["p"], "properties": {"p": {"$ref": "#/$defs/n"}},
            "$defs": {"n": {"type": "object", "required": ["a", "b"],
                "properties": {"a": {"$ref": "#/$defs/n"}, "b": {"$ref": "#/$defs/n"}}}}});
        assert_eq!(example(&ring, json!({})), Value::Null);
    }
}
