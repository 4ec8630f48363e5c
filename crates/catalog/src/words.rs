//! Builds the texts of a tool in which the keyword scorer counts words, by field.

use std::borrow::Cow;

use serde_json::Value;

use crate::Tool;
use crate::sanitize::{clean, without_stuffing};
use crate::text::{self, distinct_title};

/// The maximum depth of nested parameters. No prompt names parameters that are nested deeper.
const MAX_DEPTH: usize = 6;

/// The maximum number of bytes of a field that are counted: six times the longest description among
/// 42,820 tools.
const FIELD_BYTES: usize = 1 << 16;

/// A tool's words by field, so that a keyword scorer can weight each field.
///
/// Identifiers are not split here: the scorer splits them, and also finds them as a whole.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct KeywordFields {
    /// The name, and the title if its words differ.
    pub name: String,
    pub server: String,
    pub description: String,
    /// The names of all parameters, including nested ones.
    pub parameters: String,
    pub parameter_descriptions: String,
    pub parameter_values: String,
    /// Tags, categories, capabilities, obligations and example prompts.
    pub extra: String,
}

/// Returns the texts in which the keyword scorer counts words.
pub fn keyword_fields(tool: &Tool) -> KeywordFields {
    let mut fields = KeywordFields {
        name: text::name(tool).to_owned(),
        server: tool.server.clone().unwrap_or_default(),
        description: text::description(tool).to_owned(),
        ..KeywordFields::default()
    };
    if let Cow::Owned(english) = text::english(text::description(tool)) {
        append(&mut fields.description, &english);
    }
    append(&mut fields.name, distinct_title(tool).unwrap_or_default());
    let lists = [&tool.tags, &tool.categories, &tool.capabilities, &tool.satisfies, &tool.examples];
    lists.into_iter().flatten().for_each(|text| append(&mut fields.extra, text));
    if let Some(schema) = tool.input_schema.as_ref().and_then(crate::Schema::to_value) {
        fields.add_schema(&schema, 0);
    }
    fields.sanitized()
}

impl KeywordFields {
    /// Removes invisible characters from all fields, and repetitions of words from fields of prose.
    /// Lists of parameters and values repeat words for good reason, and have a low weight.
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
            replace(text, without_stuffing);
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

/// Replaces a text by the result of `make`; most texts stay the same.
fn replace(text: &mut String, make: impl Fn(&str) -> Cow<'_, str>) {
    if let Cow::Owned(made) = make(text) {
        *text = made;
    }
}

fn cut(text: &mut String) {
    text.truncate(text.floor_char_boundary(FIELD_BYTES));
}

/// Appends a text on its own line, so that words of two texts do not join.
fn append(field: &mut String, text: &str) {
    if !field.is_empty() && !text.is_empty() {
        field.push('\n');
    }
    field.push_str(text);
}
