//! The text by which a tool is found by its meaning; `words.rs` has those for the keyword scorer.

use std::collections::HashSet;

use serde::Deserialize;
use serde::de::{Deserializer, IgnoredAny, MapAccess, Visitor};

use super::row::fields;
use super::sanitize::{clean, unstuffed};
use super::validate::NAME_CHARS;
use super::{Schema, Tool};

/// Beyond this, small embedding models cut the text off anyway: 256 tokens of English are about
/// 1,000 characters.
const EMBEDDED_CHARS: usize = 1_000;

/// More names dilute the description; the first ones of a schema matter most.
const EMBEDDED_PARAMETERS: usize = 12;

/// An identifier as words: `readFile_v2` becomes `read File v2`.
///
/// Splits between an ASCII lower-case letter or digit and an ASCII capital, and makes one space of
/// each run of `_ - / . :`. Letter case is kept, and so is everything else.
pub fn split_identifier(identifier: &str) -> String {
    let mut words = String::with_capacity(identifier.len() + 8);
    let mut previous = '\0';
    for character in identifier.chars() {
        if is_separator(character) {
            if !is_separator(previous) {
                words.push(' ');
            }
        } else {
            let ends_word = previous.is_ascii_lowercase() || previous.is_ascii_digit();
            if ends_word && character.is_ascii_uppercase() {
                words.push(' ');
            }
            words.push(character);
        }
        previous = character;
    }
    words
}

fn is_separator(character: char) -> bool {
    matches!(character, '_' | '-' | '/' | '.' | ':')
}

/// What the embedder reads: `server: name (title). description Parameters: a, b Examples: x; y`,
/// at most 1,000 characters. Absent parts leave no trace, nor does what a reader would not see, and
/// a word that is said over and over counts as often as prose says words.
pub fn embedding_text(tool: &Tool) -> String {
    let text = joined(tool);
    let text = clean(&text);
    let mut text = unstuffed(&text).into_owned();
    if let Some((end, _)) = text.char_indices().nth(EMBEDDED_CHARS) {
        text.truncate(end);
    }
    text
}

/// The whole text as the tool's author wrote its parts.
pub(super) fn joined(tool: &Tool) -> String {
    let mut text = String::new();
    if let Some(server) = tool.server.as_deref().filter(|server| !server.is_empty()) {
        text.push_str(&split_identifier(server));
        text.push_str(": ");
    }
    text.push_str(&split_identifier(name(tool)));
    if let Some(title) = distinct_title(tool) {
        text.push_str(&format!(" ({title})"));
    }
    text.push_str(". ");
    text.push_str(&tool.description);
    let parameters = parameter_names(tool);
    if !parameters.is_empty() {
        let shown = &parameters[..parameters.len().min(EMBEDDED_PARAMETERS)];
        text.push_str(" Parameters: ");
        text.push_str(&split_all(shown, ", "));
    }
    if !tool.examples.is_empty() {
        text.push_str(" Examples: ");
        text.push_str(&tool.examples.join("; "));
    }
    text
}

/// The name, as far as a name goes: a longer one would crowd out the description.
pub(super) fn name(tool: &Tool) -> &str {
    match tool.name.char_indices().nth(NAME_CHARS) {
        Some((end, _)) => &tool.name[..end],
        None => &tool.name,
    }
}

fn split_all(names: &[String], between: &str) -> String {
    names.iter().map(|name| split_identifier(name)).collect::<Vec<_>>().join(between)
}

/// The title, unless it only spells the name out.
pub(super) fn distinct_title(tool: &Tool) -> Option<&str> {
    let title = tool.title.as_deref().map(str::trim).filter(|title| !title.is_empty())?;
    let same =
        split_identifier(title).to_lowercase() == split_identifier(&tool.name).to_lowercase();
    (!same).then_some(title)
}

/// The names of a tool's top-level parameters, in the schema's order.
pub fn parameter_names(tool: &Tool) -> Vec<String> {
    tool.input_schema.as_ref().and_then(property_names).unwrap_or_default()
}

fn property_names(schema: &Schema) -> Option<Vec<String>> {
    let top = fields(schema.raw())?;
    let Keys(names) = serde_json::from_str(top.get("properties")?.get()).ok()?;
    Some(names)
}

/// An object's keys in the order of their first appearance; the values are skipped unread.
struct Keys(Vec<String>);

impl<'de> Deserialize<'de> for Keys {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(KeysVisitor)
    }
}

struct KeysVisitor;

impl<'de> Visitor<'de> for KeysVisitor {
    type Value = Keys;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Keys, A::Error> {
        let mut keys = Vec::new();
        let mut seen = HashSet::new();
        while let Some((key, IgnoredAny)) = map.next_entry::<String, IgnoredAny>()? {
            if seen.insert(key.clone()) {
                keys.push(key);
            }
        }
        Ok(Keys(keys))
    }
}
