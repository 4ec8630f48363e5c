//! Builds the text of a tool that is embedded; `words.rs` builds the texts for the keyword scorer.

use std::borrow::Cow;
use std::collections::HashSet;

use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;
use toolroute_translation::in_english;

use crate::excerpt::first_chars;
use crate::row::fields;
use crate::sanitize::{clean, without_stuffing};
use crate::validate::{DESCRIPTION_CHARS, NAME_CHARS};
use crate::{Members, Schema, Tool};

/// The maximum number of characters of an embedded text. Small embedding models cut off longer
/// texts anyway: 256 tokens of English are about 1,000 characters.
const EMBEDDED_CHARS: usize = 1_000;

/// The maximum number of embedded parameters. More would dilute the description, and the first ones
/// of a schema matter most.
const EMBEDDED_PARAMETERS: usize = 12;

/// The maximum number of characters of a parameter's description, in whole words. Of 40, 50, 60 and
/// 80, this is the best on most of nine sets. It adds 0.004 to the mean of the dev sets
/// (docs/benchmarks.md).
const MEANING_CHARS: usize = 50;

/// The maximum number of values of a parameter that are embedded.
const EMBEDDED_VALUES: usize = 4;

/// Splits an identifier into words: `readFile_v2` becomes `read File v2`.
///
/// The identifier is split between an ASCII lower-case letter or digit and an ASCII capital, and
/// each run of `_ - / . :` becomes a space. Everything else is kept, including case.
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

/// Returns the words of an identifier or a text, in lower case.
pub fn words_of(text: &str) -> Vec<String> {
    let text = split_identifier(text).to_lowercase();
    let words = text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    words.map(str::to_owned).collect()
}

/// Whether a word is in a list of words with spaces between them.
pub(super) fn is_listed(list: &str, word: &str) -> bool {
    list.split(' ').any(|listed| listed == word)
}

fn is_separator(character: char) -> bool {
    matches!(character, '_' | '-' | '/' | '.' | ':')
}

/// Returns the text that is embedded, at most 1,000 characters:
/// `server: name (title). description Examples: x; y Parameters: a: what it is (value, value); b`.
/// Absent parts are left out, as are invisible characters and repetitions of a word beyond those of
/// prose.
pub fn embedding_text(tool: &Tool) -> String {
    let text = joined(tool);
    let text = clean(&text);
    first_chars(&without_stuffing(&text), EMBEDDED_CHARS).to_owned()
}

/// Returns the whole text, with its parts as the tool's author wrote them.
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
    text.push_str(&english(description(tool)));
    // Examples come before the parameters, which may fill all the remaining space.
    if !tool.examples.is_empty() {
        text.push_str(" Examples: ");
        text.push_str(&tool.examples.join("; "));
    }
    let parameters = parameter_texts(tool);
    if !parameters.is_empty() {
        // Bare names are joined as in the texts that the encoder was trained on.
        let is_bare = parameters.iter().all(|text| !text.contains([':', '(']));
        text.push_str(" Parameters: ");
        text.push_str(&parameters.join(if is_bare { ", " } else { "; " }));
    }
    text
}

/// Returns a description in English words if it is in another language for which there is a
/// lexicon, because the encoder reads English.
pub(super) fn english(description: &str) -> Cow<'_, str> {
    match in_english(description) {
        Some(found) => Cow::Owned(found.text),
        None => Cow::Borrowed(description),
    }
}

/// Returns the part of the description that is searched. To read a text of a megabyte as prose takes a
/// second at each start.
pub(super) fn description(tool: &Tool) -> &str {
    first_chars(&tool.description, DESCRIPTION_CHARS)
}

/// Returns the name, truncated if it would leave too little space for the description.
pub(super) fn name(tool: &Tool) -> &str {
    first_chars(&tool.name, NAME_CHARS)
}

/// Returns the texts of the first top-level parameters.
fn parameter_texts(tool: &Tool) -> Vec<String> {
    let parameters = tool.input_schema.as_ref().and_then(properties).unwrap_or_default();
    let text = |(name, schema): &(String, &RawValue)| {
        let schema = serde_json::from_str::<ParameterSchema>(schema.get()).unwrap_or_default();
        let mut text = split_identifier(name);
        let meaning = schema.description.as_ref().and_then(Value::as_str).map(short_sentence);
        if let Some(meaning) = meaning.filter(|meaning| !meaning.is_empty()) {
            text.push_str(": ");
            text.push_str(meaning);
        }
        let values = schema.values.as_ref().and_then(Value::as_array).into_iter().flatten();
        let values = values.filter_map(Value::as_str).take(EMBEDDED_VALUES).collect::<Vec<_>>();
        if !values.is_empty() {
            text.push_str(&format!(" ({})", values.join(", ")));
        }
        text
    };
    parameters.iter().take(EMBEDDED_PARAMETERS).map(text).collect()
}

/// The members of a parameter's schema that are embedded. They may be of any type; unexpected types
/// are ignored.
#[derive(Default, Deserialize)]
struct ParameterSchema {
    description: Option<Value>,
    #[serde(rename = "enum")]
    values: Option<Value>,
}

/// Returns the first sentence or line of a text, truncated to [`MEANING_CHARS`].
fn short_sentence(text: &str) -> &str {
    let sentence = first_sentence(text);
    let cut = first_chars(sentence, MEANING_CHARS);
    if cut.len() == sentence.len() {
        return sentence;
    }
    cut.rfind(' ').map_or(cut, |space| cut[..space].trim_end())
}

/// Words of headings that stand before what a tool does, or after it.
const HEADINGS: &str = "args arguments description error example examples guardrails guidance important input inputs note \
    notes output outputs overview parameters params prerequisites purpose response responses return returns summary \
    usage warning warnings";

/// Returns the part of a description that says what the tool does, for a summary: if it begins with a heading, what
/// stands behind the heading "Purpose" or the like, or else behind the first one. It ends at the next heading ("Args:").
pub fn purpose(description: &str) -> &str {
    let place = |line: &str| line.as_ptr() as usize - description.as_ptr() as usize;
    let lines: Vec<&str> =
        description.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    // The length of the mark of a list.
    let item = |line: &str| {
        let rest = line.trim_start_matches(|c: char| c.is_ascii_digit());
        let is_numbered = rest.len() < line.len();
        let marks = if is_numbered { &['.', ')'][..] } else { &['-', '*', '•'] };
        let rest = rest.strip_prefix(marks)?;
        rest.starts_with(' ').then(|| line.len() - rest.len())
    };
    let is_heading = |at: usize| {
        let words =
            lines[at].split_whitespace().filter(|word| word.contains(char::is_alphanumeric));
        let is_followed = || lines.get(at + 1).is_some_and(|next| item(next).is_some());
        let is_known = || words_of(lines[at]).iter().all(|word| is_listed(HEADINGS, word));
        match words.count() {
            1 => is_known() && (lines[at].ends_with(':') || is_followed()),
            2 => is_known() && lines[at].ends_with(':'),
            _ => false,
        }
    };
    let is_purpose = |line: &str| {
        let heading = words_of(line).join(" ");
        matches!(&*heading, "purpose" | "description" | "summary" | "overview")
    };
    let headings: Vec<usize> = (0..lines.len()).filter(|at| is_heading(*at)).collect();
    let begin = match headings.first() {
        Some(0) => {
            let purpose = headings.iter().find(|at| is_purpose(lines[**at])).map(|at| at + 1);
            let is_text = |at: &usize| *at < lines.len() && !headings.contains(at);
            purpose.filter(is_text).or_else(|| (0..lines.len()).find(is_text))
        }
        _ => Some(0),
    };
    let Some(first) = begin.and_then(|at| lines.get(at)) else { return description };
    let from = place(first) + item(first).unwrap_or(0);
    let next = headings.iter().find(|at| Some(**at) > begin);
    let to = next.map_or(description.len(), |at| place(lines[*at]));
    description[from..to].trim()
}

/// Returns the first sentence or line of a text.
pub(super) fn first_sentence(text: &str) -> &str {
    let text = text.trim();
    let ends = text.char_indices().zip(text.chars().skip(1)).find_map(|((at, sign), next)| {
        let is_mark = matches!(sign, '.' | '!' | '?') && next.is_whitespace();
        let end = at + sign.len_utf8();
        (next == '\n' || is_mark && !continues(text.split_at(end))).then_some(end)
    });
    text[..ends.unwrap_or(text.len())].trim_end()
}

/// Whether a sentence goes on after its mark: a small letter follows ("etc. of"), or the mark belongs
/// to an abbreviation of single letters ("e.g. SKU-1").
fn continues((before, after): (&str, &str)) -> bool {
    let last = before.rsplit(|c: char| !c.is_alphanumeric() && c != '.').next().unwrap_or_default();
    let mut parts = last.trim_end_matches('.').split('.');
    let is_letter = |part: &str| part.len() == 1 && part.starts_with(char::is_alphabetic);
    let is_abbreviation = last.matches('.').count() > 1 && parts.all(is_letter);
    is_abbreviation || after.trim_start().starts_with(char::is_lowercase)
}

/// The sentences of a text, line by line.
pub(super) fn sentences(text: &str) -> impl Iterator<Item = &str> {
    text.split('\n').flat_map(|line| line.split_inclusive(". ")).filter(|it| !it.trim().is_empty())
}

/// The words and identifiers of a text.
pub(super) fn tokens(text: &str) -> impl Iterator<Item = &str> {
    let is_end = |c: char| !(c.is_alphanumeric() || matches!(c, '_' | '-'));
    text.split(is_end).map(|token| token.trim_matches('-')).filter(|token| !token.is_empty())
}

/// Returns the title, unless it has the same words as the name.
pub(super) fn distinct_title(tool: &Tool) -> Option<&str> {
    let title = tool.title.as_deref().map(str::trim).filter(|title| !title.is_empty())?;
    let same =
        split_identifier(title).to_lowercase() == split_identifier(&tool.name).to_lowercase();
    (!same).then_some(title)
}

/// Returns the names of a tool's top-level parameters, in the schema's order.
#[cfg(test)]
pub(super) fn parameter_names(tool: &Tool) -> Vec<String> {
    let parameters = tool.input_schema.as_ref().and_then(properties).unwrap_or_default();
    parameters.into_iter().map(|(name, _)| name).collect()
}

/// Returns the top-level parameters of a schema, in the order of their first appearance.
pub(super) fn properties(schema: &Schema) -> Option<Vec<(String, &RawValue)>> {
    let top = fields(schema.raw())?;
    let Members(mut members) = serde_json::from_str(top.get("properties")?.get()).ok()?;
    let mut seen = HashSet::new();
    members.retain(|(name, _)| seen.insert(name.clone()));
    Some(members)
}
