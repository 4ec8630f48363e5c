//! Each operation of an OpenAPI 3 description as a tool.

use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Map, Value, json};

use super::super::details::{self, Details};
use super::super::row::{Fields, Row, string};
use super::super::source::Source;
use super::super::validate;
use super::super::{Hints, Problem, Schema, Severity, Tool};
use super::refs::Refs;
use super::{Found, Import};

const METHODS: [&str; 8] = ["get", "put", "post", "delete", "options", "head", "patch", "trace"];

/// Tiers, facets and examples beside an operation, or at the top for all operations.
const EXTENSION: &str = "x-toolroute";

pub(super) fn is_document(members: &Fields<'_>) -> bool {
    let version = members.get("openapi").and_then(|raw| string(raw));
    version.is_some_and(|version| version.starts_with("3.")) && members.contains_key("paths")
}

pub(super) fn read(raw: &RawValue, source: &Source<'_>) -> Import {
    let mut import = Import::default();
    let Ok(root) = serde_json::from_str::<Value>(raw.get()) else {
        let cure = "remove the part that nests so deep";
        let found = "a document nested too deep";
        import.problems.push(Problem::new(Severity::Error, "an API description", found, cure));
        return import;
    };
    let server = root["info"]["title"].as_str().map(|title| slug(title, '-'));
    let api = Api { root: &root, server, source };
    for (path, item) in root["paths"].as_object().into_iter().flatten() {
        let item = Refs::new(&root).follow(item);
        for (method, operation) in item.as_object().into_iter().flatten() {
            if METHODS.contains(&method.as_str()) && operation.is_object() {
                api.operation(&Operation { path, method, item, operation }, &mut import);
            }
        }
    }
    import
}

struct Api<'a> {
    root: &'a Value,
    server: Option<String>,
    source: &'a Source<'a>,
}

struct Operation<'a> {
    path: &'a str,
    method: &'a str,
    item: &'a Value,
    operation: &'a Value,
}

impl Api<'_> {
    fn operation(&self, at: &Operation<'_>, import: &mut Import) {
        let name = at.operation["operationId"].as_str().filter(|id| !id.trim().is_empty());
        let name = name.map_or_else(|| named_by_path(at), str::to_owned);
        let mut tool = Tool::new(self.server.as_deref(), &name, &described(at));
        tool.categories = strings(&at.operation["tags"]);
        tool.hints = hints(at.method);
        tool.input_schema = to_raw_value(&self.input_schema(at)).ok().map(Schema::new);
        let mut problems = Vec::new();
        for extended in [self.root, at.operation] {
            problems.extend(self.extend(&mut tool, &extended[EXTENSION]));
        }
        problems.extend(validate::check(&tool));
        if !problems.iter().any(Problem::is_error) {
            import.tools.push(Found { tool, line: None });
        }
        import.problems.extend(problems);
    }

    fn extend(&self, tool: &mut Tool, extension: &Value) -> Vec<Problem> {
        let Some(raw) = to_raw_value(extension).ok().filter(|_| !extension.is_null()) else {
            return Vec::new();
        };
        let Some(mut row) = Row::new(&raw, self.source) else {
            let cure = "write an object with tiers and facets";
            let problem = Problem::new(Severity::Error, "an object", "another type", cure);
            return vec![problem.field(EXTENSION).tool(tool.id.as_str())];
        };
        Details::read(&mut row).apply(tool);
        row.warn_unknown(&details::FIELDS);
        row.problems.into_iter().map(|problem| problem.tool(tool.id.as_str())).collect()
    }

    /// One object of all parameters and the body's members. A body that is no object, or has a
    /// member named like a parameter, becomes the one property `body`.
    fn input_schema(&self, at: &Operation<'_>) -> Value {
        let mut refs = Refs::new(self.root);
        let mut input = Input::default();
        for parameter in self.parameters(at) {
            input.parameter(parameter, &mut refs);
        }
        let body = refs.follow(&at.operation["requestBody"]);
        if let Some(schema) = body["content"].as_object().and_then(json_schema) {
            input.body(refs.resolve(schema), body["required"] == json!(true));
        }
        input.into_schema()
    }

    /// The operation's parameters, then those of its path that it does not redefine.
    fn parameters<'v>(&'v self, at: &'v Operation<'_>) -> Vec<&'v Value> {
        let refs = Refs::new(self.root);
        let mut kept: Vec<&Value> = Vec::new();
        for owner in [at.operation, at.item] {
            for parameter in owner["parameters"].as_array().into_iter().flatten() {
                let parameter = refs.follow(parameter);
                let key = |value: &Value| (value["name"].clone(), value["in"].clone());
                let place = parameter["in"].as_str();
                let asked = matches!(place, Some("path" | "query" | "header"));
                if asked && !kept.iter().any(|known| key(known) == key(parameter)) {
                    kept.push(parameter);
                }
            }
        }
        kept
    }
}

#[derive(Default)]
struct Input {
    properties: Map<String, Value>,
    required: Vec<Value>,
}

impl Input {
    fn parameter(&mut self, parameter: &Value, refs: &mut Refs<'_>) {
        let Some(name) = parameter["name"].as_str() else { return };
        let content = parameter["content"].as_object().and_then(json_schema);
        let mut schema = match content.or_else(|| parameter.get("schema")) {
            Some(schema) => refs.resolve(schema),
            None => json!({}),
        };
        if let (Some(members), Some(text)) = (schema.as_object_mut(), parameter.get("description"))
        {
            members.entry("description").or_insert_with(|| text.clone());
        }
        if parameter["required"] == json!(true) {
            self.required.push(json!(name));
        }
        self.properties.insert(name.to_owned(), schema);
    }

    fn body(&mut self, schema: Value, required: bool) {
        let members = schema["properties"].as_object();
        let mergeable = members.filter(|m| !m.keys().any(|k| self.properties.contains_key(k)));
        if let Some(members) = mergeable {
            self.properties.extend(members.clone());
            if required {
                self.required.extend(schema["required"].as_array().into_iter().flatten().cloned());
            }
            return;
        }
        if required {
            self.required.push(json!("body"));
        }
        self.properties.insert("body".to_owned(), schema);
    }

    fn into_schema(self) -> Value {
        let mut schema = json!({"type": "object", "properties": self.properties});
        if !self.required.is_empty() {
            schema["required"] = Value::Array(self.required);
        }
        schema
    }
}

/// The schema of the JSON variant among a body's media types.
fn json_schema(content: &Map<String, Value>) -> Option<&Value> {
    let is_json = |kind: &str| {
        let kind = kind.split(';').next().unwrap_or_default().trim().to_lowercase();
        kind == "application/json" || kind.ends_with("+json") || kind == "*/*"
    };
    content.iter().find(|(kind, _)| is_json(kind))?.1.get("schema")
}

/// What the method promises by HTTP's own rules (RFC 9110, section 9.2).
fn hints(method: &str) -> Hints {
    let read_only = matches!(method, "get" | "head" | "options" | "trace");
    let idempotent = read_only || matches!(method, "put" | "delete");
    Hints {
        read_only: Some(read_only),
        destructive: (read_only || method == "delete").then_some(method == "delete"),
        idempotent: idempotent.then_some(true),
    }
}

fn described(at: &Operation<'_>) -> String {
    let text = |value: &Value| value.as_str().map(|t| t.trim().to_owned()).unwrap_or_default();
    let (summary, description) =
        (text(&at.operation["summary"]), text(&at.operation["description"]));
    if description.is_empty() || summary == description {
        return summary;
    }
    if summary.is_empty() {
        return description;
    }
    let stop = if summary.ends_with(['.', '!', '?']) { "" } else { "." };
    format!("{summary}{stop} {description}")
}

fn named_by_path(at: &Operation<'_>) -> String {
    slug(&format!("{} {}", at.method, at.path), '_')
}

fn strings(list: &Value) -> Vec<String> {
    list.as_array().into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect()
}

/// Lower-case letters and digits, anything else as single separators: `Pet Store!` → `pet-store`.
fn slug(text: &str, separator: char) -> String {
    let mut slug = String::new();
    for character in text.chars().flat_map(char::to_lowercase) {
        if character.is_alphanumeric() {
            slug.push(character);
        } else if !slug.is_empty() && !slug.ends_with(separator) {
            slug.push(separator);
        }
    }
    slug.trim_end_matches(separator).to_owned()
}
