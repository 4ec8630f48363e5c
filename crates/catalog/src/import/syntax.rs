//! Parses a file of any supported syntax as JSON documents.

use std::borrow::Cow;

use serde_json::value::RawValue;
use serde_json::{Number, Value as Json};
use toml::Value as Toml;

use crate::source::Source;
use crate::{Problem, Severity};

/// The JSON values of a source, in order, and a problem for each invalid line.
#[derive(Debug, Default)]
pub(crate) struct Documents<'a> {
    pub values: Vec<Cow<'a, RawValue>>,
    pub problems: Vec<Problem>,
}

/// Parses the text with the first syntax that fits: a sequence of JSON values, JSON lines (some of
/// which may be broken), TOML, YAML. YAML is last, because nearly every text is valid YAML.
///
/// Bytes that are not text invalidate only their line in JSON lines, and the whole file in any
/// other syntax.
pub(crate) fn documents<'a>(source: &Source<'a>) -> Result<Documents<'a>, Box<Problem>> {
    let text = source.text;
    if text.trim().is_empty() {
        let cure = "write the tools into it, or leave the file out";
        let problem = Problem::new(Severity::Error, "a file with tools", "an empty file", cure);
        return Err(Box::new(problem));
    }
    if let Some(&line) = source.invalid_lines.first() {
        let documents = json_lines(source);
        return documents.ok_or_else(|| Box::new(source.locate(no_text(), Some(line))));
    }
    if source.has_extension(&["md"])
        && let Some(rest) = opened_front_matter(text)
    {
        return match rest.split_once("\n---") {
            Some((header, _)) => skill(source, header),
            None => Err(Box::new(source.locate(unclosed_front_matter(), Some(1)))),
        };
    }
    let json = match json_values(text) {
        Ok(values) => return Ok(Documents { values, problems: Vec::new() }),
        Err(error) => error,
    };
    if let Some(documents) = json_lines(source) {
        return Ok(documents);
    }
    if ["//", "/*"].iter().any(|comment| text.trim_start().starts_with(comment)) {
        let cure = "remove it, and commas behind the last element of a list";
        let problem = Problem::new(Severity::Error, "JSON", "a comment", cure);
        return Err(Box::new(source.locate(problem, Some(1))));
    }
    if looks_like_json(text) {
        return Err(broken(source, "JSON", &json.to_string(), (json.line(), json.column())));
    }
    let toml = match toml_to_json(text) {
        Ok(value) => return Ok(converted(value)),
        Err(error) => error,
    };
    match yaml(text) {
        Ok(value) if value.is_object() || value.is_array() => Ok(converted(value)),
        Err(error) if is_second_document(&error) => Err(Box::new(second_document())),
        _ if looks_like_toml(text) => {
            let start = toml.span().map_or(0, |span| span.start);
            let place = (source.line_at(start), source.column_at(start));
            Err(broken(source, "TOML", toml.message(), place))
        }
        Ok(_) => Err(Box::new(no_syntax())),
        Err(error) => {
            let place = error.location().map(|at| (at.line() as usize, at.column() as usize));
            let named = source.has_extension(&["yaml", "yml"]);
            let expected = if named { "YAML" } else { "JSON, TOML or YAML" };
            Err(broken(source, expected, &error.to_string(), place.unwrap_or((1, 1))))
        }
    }
}

/// Returns what follows the first line of a Markdown file, if that line opens a header of YAML.
fn opened_front_matter(text: &str) -> Option<&str> {
    text.strip_prefix("---")?.trim_start_matches(['\r', ' ']).strip_prefix('\n')
}

/// Reads an agent skill as a tool without parameters: the name and the description of its
/// `SKILL.md`. The rest is for the agent that loads the skill.
fn skill<'a>(source: &Source<'a>, header: &str) -> Result<Documents<'a>, Box<Problem>> {
    match yaml(header) {
        Ok(header) => {
            let of = |key: &str| header.get(key).cloned().unwrap_or_default();
            let (name, description) = (of("name"), of("description"));
            if name.is_null() {
                let cure = "write `name: …` between the two lines of ---";
                let problem = Problem::new(Severity::Error, "the name of a skill", "none", cure);
                return Err(Box::new(source.locate(problem, Some(1))));
            }
            Ok(converted(serde_json::json!([{"name": name, "description": description}])))
        }
        Err(error) => {
            // The line of the three hyphens comes first.
            let place = error.location().map(|at| (at.line() as usize + 1, at.column() as usize));
            Err(broken(source, "YAML", &error.to_string(), place.unwrap_or((1, 1))))
        }
    }
}

/// Parses YAML by the core schema of YAML 1.2, as OpenAPI requires: `no` is a string (Norway's country
/// code), and only `true` and `false`, also in capitals, are booleans.
fn yaml(text: &str) -> Result<serde_json::Value, serde_saphyr::Error> {
    let options = serde_saphyr::options! { strict_booleans: true };
    serde_saphyr::from_str_with_options(text, options)
}

fn json_values(text: &str) -> Result<Vec<Cow<'_, RawValue>>, serde_json::Error> {
    serde_json::Deserializer::from_str(text)
        .into_iter::<&RawValue>()
        .map(|value| value.map(Cow::Borrowed))
        .collect()
}

/// Parses line by line if at least half of the lines look like JSON objects. A broken line does not
/// affect the others. Returns `None` if no line is valid.
fn json_lines<'a>(source: &Source<'a>) -> Option<Documents<'a>> {
    let lines = || source.text.lines().map(str::trim).filter(|line| !line.is_empty());
    let alike = lines().filter(|line| line.starts_with('{') && line.ends_with('}')).count();
    if alike * 2 < lines().count() {
        return None;
    }
    let mut documents = Documents::default();
    for (number, line) in (1..).zip(source.text.lines().map(str::trim)) {
        if line.is_empty() {
            continue;
        }
        if source.invalid_lines.binary_search(&number).is_ok() {
            documents.problems.push(source.locate(no_text(), Some(number)));
            continue;
        }
        match serde_json::from_str::<&RawValue>(line) {
            Ok(value) => documents.values.push(Cow::Borrowed(value)),
            Err(error) => {
                let place = (number, error.column());
                let problem = broken(source, "a line of JSON", &error.to_string(), place);
                documents.problems.push(*problem);
            }
        }
    }
    (!documents.values.is_empty()).then_some(documents)
}

fn looks_like_json(text: &str) -> bool {
    let mut start = text.trim_start().chars();
    match start.next() {
        Some('{') => true,
        // `[[tools]]` and `[section]` are TOML.
        Some('[') => {
            matches!(start.find(|c| !c.is_whitespace()), Some('{' | '"' | ']') | None)
        }
        _ => false,
    }
}

fn looks_like_toml(text: &str) -> bool {
    text.lines().map(str::trim_start).any(|line| line.starts_with("[[") || line.contains(" = "))
}

fn converted<'a>(value: serde_json::Value) -> Documents<'a> {
    let value = serde_json::value::to_raw_value(&value)
        .expect("a JSON value has string keys and finite numbers only. This is a bug.");
    Documents { values: vec![Cow::Owned(value)], problems: Vec::new() }
}

/// Converts a TOML document to a JSON object with the same order of keys, so that the same readers
/// serve both.
fn toml_to_json(text: &str) -> Result<Json, toml::de::Error> {
    text.parse::<toml::Table>().map(|table| toml_value_to_json(Toml::Table(table)))
}

fn toml_value_to_json(value: Toml) -> Json {
    match value {
        Toml::String(text) => Json::String(text),
        Toml::Integer(whole) => Json::from(whole),
        // JSON has neither infinity nor NaN.
        Toml::Float(float) => Number::from_f64(float).map_or(Json::Null, Json::Number),
        Toml::Boolean(flag) => Json::Bool(flag),
        Toml::Datetime(moment) => Json::String(moment.to_string()),
        Toml::Array(items) => Json::Array(items.into_iter().map(toml_value_to_json).collect()),
        Toml::Table(table) => {
            Json::Object(table.into_iter().map(|(k, v)| (k, toml_value_to_json(v))).collect())
        }
    }
}

/// A text that a parser rejects at this line and column, with what stands there.
fn broken(
    source: &Source<'_>,
    expected: &str,
    error: &str,
    (line, column): (usize, usize),
) -> Box<Problem> {
    // A parser's message may have several lines with an excerpt, but a problem has one line.
    let said = error.lines().next().unwrap_or_default();
    let said = said.trim_start_matches("error: ").trim_end_matches(':');
    // The parsers write the place in their own ways, and advise users of their library.
    let said = match said.strip_prefix("line ").and_then(|rest| rest.split_once(": ")) {
        Some((_, said)) => said,
        None => said.rsplit_once(" at line ").map_or(said, |(said, _)| said),
    };
    let said = said.split(", set DuplicateKeyPolicy").next().unwrap_or(said);
    let found = match source.excerpt(line, column) {
        text if text.is_empty() => said.to_owned(),
        text => format!("`{text}`: {said}"),
    };
    let problem = Problem::new(Severity::Error, expected, found, "correct the text at this place");
    // At the end of a line, the parser of JSON counts the next column as 0.
    let problem = Problem { column: Some(column).filter(|&column| column > 0), ..problem };
    Box::new(source.locate(problem, Some(line)))
}

fn is_second_document(error: &serde_saphyr::Error) -> bool {
    match error {
        serde_saphyr::Error::WithSnippet { error, .. } => is_second_document(error),
        error => matches!(error, serde_saphyr::Error::MultipleDocuments { .. }),
    }
}

fn second_document() -> Problem {
    let cure = "write each document into a file of its own";
    let found = "a second one after a line of ---";
    Problem::new(Severity::Error, "one YAML document a file", found, cure)
}

fn unclosed_front_matter() -> Problem {
    let expected = "a second line of --- behind the name and the description of a skill";
    Problem::new(Severity::Error, expected, "none", "write --- on a line of its own")
}

fn no_text() -> Problem {
    let cure = "save it as UTF-8";
    let found = "bytes of another encoding";
    Problem::new(Severity::Error, "text in UTF-8, or UTF-16 with a byte-order mark", found, cure)
}

fn no_syntax() -> Problem {
    let expected = "JSON, JSON lines, TOML or YAML";
    Problem::new(Severity::Error, expected, "plain text", "check that this is the right file")
}
