//! The words by which a tool is found, by where they stand.

use std::borrow::Cow;

use serde_json::Value;

use crate::Tool;
use crate::sanitize::{clean, unstuffed};
use crate::text::{self, distinct_title};

/// Deeper parameters than this are detail that no prompt names.
const MAX_DEPTH: usize = 6;

/// Bytes of a field that are counted: six times the longest description among 42,820 tools.
const FIELD_BYTES: usize = 1 << 16;

/// A tool's words by where they stand, so that a keyword scorer can weigh each place.
///
/// Identifiers stand as they are: the scorer splits them, and finds them whole as well.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct KeywordFields {
    /// The name, and the title where it says more.
    pub name: String,
    pub server: String,
    pub description: String,
    /// The names of all parameters, nested ones too.
    pub parameters: String,
    /// What the schema says of each parameter.
    pub parameter_descriptions: String,
    /// The words that parameters may take as values.
    pub parameter_values: String,
    /// Tags, categories, capabilities, obligations and example prompts.
    pub extra: String,
}

/// The texts that the keyword scorer counts words in.
pub fn keyword_fields(tool: &Tool) -> KeywordFields {
    let mut fields = KeywordFields {
        name: text::name(tool).to_owned(),
        server: tool.server.clone().unwrap_or_default(),
        description: tool.description.clone(),
        ..KeywordFields::default()
    };
    append(&mut fields.name, distinct_title(tool).unwrap_or_default());
    let lists = [&tool.tags, &tool.categories, &tool.capabilities, &tool.satisfies, &tool.examples];
    lists.into_iter().flatten().for_each(|text| append(&mut fields.extra, text));
    if let Some(schema) = tool.input_schema.as_ref().and_then(crate::Schema::to_value) {
        fields.add_schema(&schema, 0);
    }
    fields.sanitized()
}

impl KeywordFields {
    /// Without what nobody sees, and without the repetitions of stuffed words where prose stands:
    /// lists of parameters and their values repeat words honestly, and count little.
    fn sanitized(mut self) -> Self {
        let lists = [
            &mut self.server,
            &mut self.parameters,
            &mut self.parameter_descriptions,
            &mut self.parameter_values,
        ];
        for text in lists {
            replace(text, clean);
            cut(text);
        }
        for text in [&mut self.name, &mut self.description, &mut self.extra] {
            replace(text, clean);
            replace(text, unstuffed);
            cut(text);
        }
        self
    }

    fn add_schema(&mut self, schema: &Value, depth: usize) {
        if depth > MAX_DEPTH {
            return;
        }
        for (name, parameter) in
            schema.get("properties").and_then(Value::as_object).into_iter().flatten()
        {
            append(&mut self.parameters, name);
            let description = parameter.get("description").and_then(Value::as_str);
            append(&mut self.parameter_descriptions, description.unwrap_or_default());
            self.add_schema(parameter, depth + 1);
        }
        for value in list(schema, "enum").filter_map(Value::as_str) {
            append(&mut self.parameter_values, value);
        }
        let alternatives =
            ["anyOf", "oneOf", "allOf"].into_iter().flat_map(|key| list(schema, key));
        for part in schema.get("items").into_iter().chain(alternatives) {
            self.add_schema(part, depth + 1);
        }
    }
}

fn list<'a>(schema: &'a Value, key: &str) -> impl Iterator<Item = &'a Value> {
    schema.get(key).and_then(Value::as_array).into_iter().flatten()
}

/// Makes another text of one; most stay as they are.
fn replace(text: &mut String, make: impl Fn(&str) -> Cow<'_, str>) {
    if let Cow::Owned(made) = make(text) {
        *text = made;
    }
}

fn cut(text: &mut String) {
    let end = (0..=FIELD_BYTES.min(text.len())).rev().find(|&at| text.is_char_boundary(at));
    text.truncate(end.unwrap_or_default());
}

/// Adds a text on a line of its own: words of two texts must not meet.
fn append(field: &mut String, text: &str) {
    if !field.is_empty() && !text.is_empty() {
        field.push('\n');
    }
    field.push_str(text);
}

#[cfg(test)]
mod tests {
    use serde_json::value::RawValue;

    use super::*;
    use crate::Schema;

    #[test]
    fn a_schema_gives_names_descriptions_and_values_at_every_depth() {
        let schema = r#"{"properties": {
            "unit": {"enum": ["celsius", "kelvin", 3], "description": "Which scale"},
            "places": {"items": {"properties": {"zipCode": {"type": "string"}}}},
            "when": {"anyOf": [{"enum": ["now"]}, {"type": "null"}]}}}"#;
        let mut tool = Tool::new(Some("meteo"), "get_weather", "Tells the weather");
        tool.input_schema = Some(Schema::new(RawValue::from_string(schema.into()).unwrap()));
        tool.tags = vec!["climate".into()];
        let fields = keyword_fields(&tool);
        assert_eq!(fields.name, "get_weather");
        assert_eq!(fields.parameters, "unit\nplaces\nzipCode\nwhen");
        assert_eq!(fields.parameter_descriptions, "Which scale");
        assert_eq!(fields.parameter_values, "celsius\nkelvin\nnow");
        assert_eq!(fields.extra, "climate");
    }

    #[test]
    fn a_schema_without_a_bottom_is_left_at_some_depth() {
        let mut schema = "{}".to_owned();
        for _ in 0..40 {
            schema = format!(r#"{{"properties": {{"p": {schema}}}}}"#);
        }
        let mut tool = Tool::new(None, "t", "");
        tool.input_schema = Some(Schema::new(RawValue::from_string(schema).unwrap()));
        assert_eq!(keyword_fields(&tool).parameters.lines().count(), MAX_DEPTH + 1);
    }
}
