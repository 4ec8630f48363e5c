//! Reads each operation of an OpenAPI 3 or Swagger 2.0 description as a tool.

use std::collections::{BTreeSet, HashSet};

use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Value, json};

use super::refs::{DEPTHS, Refs};
use super::{Import, ImportedTool};
use crate::details::{self, Details};
use crate::excerpt::first_names;
use crate::row::{Fields, Row};
use crate::source::Source;
use crate::validate;
use crate::{Hints, Operation as HttpOperation, Problem, Schema, Severity, Tool, ToolId};

mod input;
mod names;
mod swagger;
#[cfg(test)]
mod tests;

use input::Input;
use names::Names;

const METHODS: [&str; 8] = ["get", "put", "post", "delete", "options", "head", "patch", "trace"];

/// The member with tiers, facets and examples: of an operation, or of the document for all
/// operations.
const EXTENSION: &str = "x-toolroute";

/// The number of items that a problem names; it counts the rest.
const NAMED: usize = 8;

/// The limit for all tools of a description together, in bytes: this, or `MAX_EXPANSION_FACTOR`
/// times the size of the file if that is more. Tools can be larger than the file, because
/// operations share parts by reference and each tool has its own copy of them.
const MAX_EXPANDED_BYTES: usize = 64 << 20;
const MAX_EXPANSION_FACTOR: usize = 4;

/// The least share of an operation in this limit, in bytes: enough for its own arguments.
const MIN_SHARE: usize = 4 << 10;

/// The limit for a server's name in characters. The name is made from the title, which may have any
/// length, and is part of every id.
const SERVER_CHARS: usize = 128;

pub(super) fn is_document(members: &Fields<'_>) -> bool {
    // An unquoted version in YAML is a number.
    let is_version = |key: &str, major: &str| {
        let version = members.get(key).map(|raw| raw.get().trim_matches('"'));
        version.is_some_and(|version| version.split('.').next() == Some(major))
    };
    (is_version("openapi", "3") || is_version("swagger", "2")) && members.contains_key("paths")
}

pub(super) fn read(raw: &RawValue, source: &Source<'_>) -> Import {
    let mut import = Import::default();
    let Ok(mut root) = serde_json::from_str::<Value>(raw.get()) else {
        let cure = "remove the part that nests so deep";
        let found = "a document nested too deep";
        import.problems.push(Problem::new(Severity::Error, "an API description", found, cure));
        return import;
    };
    let is_swagger = root.get("openapi").is_none();
    if let Some(server) = swagger::server(&root).filter(|_| is_swagger) {
        root["servers"] = json!([{"url": server}]);
    }
    let server = root["info"]["title"].as_str();
    let server =
        server.map(|title| slug(title, '-').chars().take(SERVER_CHARS).collect::<String>());
    // A title without letters and digits makes an empty name.
    let server = server.filter(|name| !name.is_empty());
    let (shared, problems) = extension(&root[EXTENSION], source);
    // Reported once, not for every operation.
    import.problems.extend(problems);
    let shared_bytes = to_raw_value(&root[EXTENSION]).map_or(0, |raw| raw.get().len());
    let limit = MAX_EXPANDED_BYTES.max(raw.get().len() * MAX_EXPANSION_FACTOR);
    let share = limit / operations(&root).count().max(1);
    let mut api = Api {
        root: &root,
        is_swagger,
        share: share.max(MIN_SHARE),
        names: names::by_path(operations(&root)),
        server,
        source,
        shared,
        shared_bytes,
        expanded_bytes: 0,
        cut: Vec::new(),
        unsupported_bodies: Vec::new(),
        other_separators: Vec::new(),
        unresolved: unresolved_paths(&root),
    };
    for at in operations(&root) {
        if api.expanded_bytes > limit {
            import.problems.push(expansion_problem(limit, &at));
            break;
        }
        api.operation(&at, &mut import);
    }
    import.problems.extend(api.schema_problem());
    import.problems.extend(api.body_problem());
    import.problems.extend(api.separator_problem());
    import.problems.extend(api.reference_problem());
    import
}

/// Returns what `x-toolroute` declares, or nothing if it contains an error; and its problems.
fn extension(value: &Value, source: &Source<'_>) -> (Details, Vec<Problem>) {
    let Some(raw) = to_raw_value(value).ok().filter(|_| !value.is_null()) else {
        return Default::default();
    };
    let Some(mut row) = Row::new(&raw, source) else {
        let cure = "write an object with tiers and facets";
        let problem = Problem::new(Severity::Error, "an object", "another type", cure);
        return (Details::default(), vec![problem.field(EXTENSION)]);
    };
    let details = Details::read(&mut row);
    row.warn_unknown(details::fields());
    (if row.failed() { Details::default() } else { details }, row.problems)
}

fn operations(root: &Value) -> impl Iterator<Item = Operation<'_>> {
    let paths = root["paths"].as_object().into_iter().flatten();
    paths.flat_map(|(path, item)| {
        let item = Refs::new(root).follow(item);
        let members = item.as_object().into_iter().flatten();
        members
            .filter(|(method, value)| METHODS.contains(&method.as_str()) && value.is_object())
            .map(move |(method, operation)| Operation { path, method, item, operation })
    })
}

/// Returns the references in `paths` that could not be followed.
fn unresolved_paths(root: &Value) -> BTreeSet<String> {
    let mut refs = Refs::new(root);
    for item in root["paths"].as_object().into_iter().flat_map(|paths| paths.values()) {
        refs.record_unresolved(refs.follow(item));
    }
    refs.unresolved
}

fn expansion_problem(limit: usize, at: &Operation<'_>) -> Problem {
    let expected = format!("operations that unfold to at most {} MiB", limit >> 20);
    let found = format!("more; {} {} and what follows were left out", at.method, at.path);
    let cure = "split the description, or share less by reference";
    Problem::new(Severity::Error, expected, found, cure)
}

struct Api<'a> {
    root: &'a Value,
    is_swagger: bool,
    /// The limit for the schemas of one operation in bytes.
    share: usize,
    names: Names<'a>,
    server: Option<String>,
    source: &'a Source<'a>,
    /// What the document declares for every tool, and its size in bytes.
    shared: Details,
    shared_bytes: usize,
    /// The size of all tools so far in bytes.
    expanded_bytes: usize,
    /// The tools whose schemas were cut at the limits.
    cut: Vec<ToolId>,
    /// The tools whose body cannot be sent, each with the body's media type.
    unsupported_bodies: Vec<(ToolId, String)>,
    /// The tools with lists whose separator calls do not send, each with its name.
    other_separators: Vec<(ToolId, String)>,
    /// The references that could not be followed.
    unresolved: BTreeSet<String>,
}

struct Operation<'a> {
    path: &'a str,
    method: &'a str,
    item: &'a Value,
    operation: &'a Value,
}

impl Api<'_> {
    fn operation(&mut self, at: &Operation<'_>, import: &mut Import) {
        let by_path = || self.names.get(&(at.method, at.path)).map(String::as_str);
        let name = names::operation_id(at).or_else(by_path).unwrap_or_default();
        let mut tool = Tool::new(self.server.as_deref(), name, &described(at));
        tool.categories = strings(&at.operation["tags"]);
        tool.hints = hints(at.method);
        let (mut input, cut, unresolved) = self.input(at);
        self.unresolved.extend(unresolved);
        let separator = input.other_separator.take();
        self.other_separators.extend(separator.map(|word| (tool.id.clone(), word)));
        tool.operation = Some(Box::new(self.http_operation(at, &input)));
        tool.input_schema = to_raw_value(&input.into_schema()).ok().map(Schema::new);
        if cut {
            self.cut.push(tool.id.clone());
        }
        let unknown = tool.operation.as_ref().filter(|sent| !sent.is_body_known());
        if let Some(body) = unknown.and_then(|sent| sent.body.as_ref()) {
            self.unsupported_bodies.push((tool.id.clone(), body.media_type.clone()));
        }
        self.expanded_bytes += self.shared_bytes + size(&tool);
        self.shared.apply(&mut tool);
        let (own, mut problems) = extension(&at.operation[EXTENSION], self.source);
        own.apply(&mut tool);
        for problem in &mut problems {
            problem.tool = Some(tool.id.to_string());
        }
        problems.extend(validate::check(&tool));
        if !problems.iter().any(Problem::is_error) {
            import.tools.push(ImportedTool { tool: tool.into(), line: None });
        }
        import.problems.extend(problems);
    }

    /// Returns one warning for all tools whose schemas were cut, because an API may have thousands
    /// of operations.
    fn schema_problem(&self) -> Option<Problem> {
        let first = self.cut.first()?;
        let found = format!("{} larger, with only the outer schemas of each", self.cut.len());
        let cure = "what is left out is not checked; use smaller schemas where it should be";
        let expected = "input schemas that fit in a prompt";
        let problem = Problem::new(Severity::Warning, expected, found, cure);
        Some(problem.tool(first.as_str()).field("input_schema"))
    }

    /// Returns one warning for all tools whose body cannot be sent. The tools are kept, because
    /// calls without the body work if it is optional.
    fn body_problem(&self) -> Option<Problem> {
        let cure = "a call is refused where the body is required, and sent without it elsewhere";
        let expected = "bodies of JSON, a form or named parts";
        Some(of_tools(&self.unsupported_bodies, expected, cure)?.field("requestBody"))
    }

    /// Returns one warning for all tools with lists that calls send with another separator.
    fn separator_problem(&self) -> Option<Problem> {
        let cure = "a call joins these lists by commas or repeats their name; give one value only";
        let expected = "lists joined by commas, or a name repeated for each value";
        Some(of_tools(&self.other_separators, expected, cure)?.field("parameters"))
    }

    /// Returns one warning for all references that could not be followed. What they refer to is
    /// missing from the arguments or is not validated.
    fn reference_problem(&self) -> Option<Problem> {
        let found =
            (!self.unresolved.is_empty()).then(|| first_names(self.unresolved.iter(), NAMED))?;
        let cure = "write what they name into the same file; without it arguments, or whole \
                    operations, are missing or not checked";
        let expected = "references within the file";
        Some(Problem::new(Severity::Warning, expected, found, cure).field("$ref"))
    }

    /// Returns an object with all parameters and the members of the body, whether the limits cut a
    /// schema, and the references that could not be followed.
    ///
    /// A body that is not an object, or has a member with the name of a parameter, becomes one
    /// property: `body`, or `body_content` if that name is taken.
    fn input(&self, at: &Operation<'_>) -> (Input, bool, BTreeSet<String>) {
        let [all, fewer @ ..] = DEPTHS;
        let (mut input, mut refs) = self.input_within(at, all);
        for depth in fewer {
            if !refs.overflowed {
                break;
            }
            (input, refs) = self.input_within(at, depth);
        }
        (input, refs.cut, refs.unresolved)
    }

    fn input_within<'v>(&'v self, at: &'v Operation<'_>, depth: usize) -> (Input, Refs<'v>) {
        let mut refs = Refs::within(self.root, self.share, depth);
        let mut input = Input::new(self.is_swagger);
        for parameter in self.parameters(at, &["path", "query", "header"]) {
            input.parameter(parameter, at.path, &mut refs);
        }
        if self.is_swagger {
            let body = self.parameters(at, &["body", "formData"]);
            let consumed = swagger::consumed(at.operation, self.root);
            swagger::add_body(&mut input, &body, consumed, &mut refs);
        } else {
            input.body(&at.operation["requestBody"], &mut refs);
        }
        (input, refs)
    }

    /// Returns how the operation is sent: to the first server in the `servers` of the operation, of
    /// its path or of the document, in this order.
    fn http_operation(&self, at: &Operation<'_>, input: &Input) -> HttpOperation {
        let owners = [at.operation, at.item, self.root];
        let server = owners.iter().find_map(|owner| address(&owner["servers"][0]));
        HttpOperation {
            method: at.method.to_uppercase(),
            path: at.path.to_owned(),
            server,
            arguments: input.arguments.clone(),
            body: input.other_body.clone(),
        }
    }

    /// Returns the operation's parameters in these places, then those of its path that it does not
    /// redefine. References that could not be followed are included, so that they are reported.
    fn parameters<'v>(&'v self, at: &'v Operation<'_>, places: &[&str]) -> Vec<&'v Value> {
        let refs = Refs::new(self.root);
        let mut kept: Vec<&Value> = Vec::new();
        let mut seen = HashSet::new();
        for owner in [at.operation, at.item] {
            for entry in owner["parameters"].as_array().into_iter().flatten() {
                let parameter = refs.follow(entry);
                let (name, place) = (parameter["name"].as_str(), parameter["in"].as_str());
                let asked = place.is_some_and(|place| places.contains(&place));
                let asked = asked && !(place == Some("header") && name.is_some_and(is_ignored));
                let lost = name.is_none() && parameter.get("$ref").is_some();
                if lost || asked && name.is_some() && seen.insert((name, place)) {
                    kept.push(entry);
                }
            }
        }
        kept
    }
}

/// Returns one warning for tools, each with a word of the description that tells what is wrong.
fn of_tools(tools: &[(ToolId, String)], expected: &str, cure: &str) -> Option<Problem> {
    let (first, _) = tools.first()?;
    let found = first_names(tools.iter().map(|(tool, word)| format!("{word} ({tool})")), NAMED);
    Some(Problem::new(Severity::Warning, expected, found, cure).tool(first.as_str()))
}

/// Returns the effects that HTTP defines for a method (RFC 9110, section 9.2).
fn hints(method: &str) -> Hints {
    let read_only = matches!(method, "get" | "head" | "options" | "trace");
    let idempotent = read_only || matches!(method, "put" | "delete");
    Hints {
        read_only: Some(read_only),
        destructive: (read_only || method == "delete").then_some(method == "delete"),
        idempotent: idempotent.then_some(true),
        from_overlay: false,
    }
}

/// Whether OpenAPI ignores a header parameter of this name. The security scheme and the media types
/// set these headers.
fn is_ignored(header: &str) -> bool {
    ["accept", "content-type", "authorization"].iter().any(|name| name.eq_ignore_ascii_case(header))
}

/// Returns a server's address with the defaults of its variables. Variables within a default are
/// not replaced. An address that would become too long is returned unchanged.
fn address(server: &Value) -> Option<String> {
    const MOST: usize = 2_048;
    let url = server["url"].as_str()?;
    let mut address = String::new();
    let mut rest = url;
    while let Some((before, (name, after))) =
        rest.split_once('{').and_then(|(before, rest)| Some((before, rest.split_once('}')?)))
    {
        address.push_str(before);
        match &server["variables"][name]["default"] {
            Value::String(text) => address.push_str(text),
            // An unquoted port is a number.
            Value::Number(number) => address.push_str(&number.to_string()),
            _ => address.extend(["{", name, "}"]),
        }
        if address.len() > MOST {
            return Some(url.to_owned());
        }
        rest = after;
    }
    address.push_str(rest);
    Some(address)
}

/// Returns the number of bytes that a tool copies from the document.
fn size(tool: &Tool) -> usize {
    let schema = tool.input_schema.as_ref().map_or(0, |schema| schema.as_str().len());
    let categories: usize = tool.categories.iter().map(String::len).sum();
    let arguments = tool.operation.iter().flat_map(|operation| &operation.arguments);
    let arguments: usize = arguments.map(|one| size_of_val(one) + one.name.len()).sum();
    let texts = tool.id.as_str().len() + tool.name.len() + tool.description.len();
    texts + categories + schema + arguments
}

fn described(at: &Operation<'_>) -> String {
    let text = |value: &Value| value.as_str().map(|t| t.trim().to_owned()).unwrap_or_default();
    let texts = |of: &Value| (text(&of["summary"]), text(&of["description"]));
    // The text of a path is about all of its operations.
    let (summary, description) = [at.operation, at.item]
        .into_iter()
        .map(texts)
        .find(|(summary, description)| !summary.is_empty() || !description.is_empty())
        .unwrap_or_default();
    let stop = if summary.ends_with(['.', '!', '?']) { "" } else { "." };
    let said = match (summary.is_empty(), description.is_empty() || summary == description) {
        (_, true) => summary,
        (true, false) => description,
        (false, false) => format!("{summary}{stop} {description}"),
    };
    match at.operation["deprecated"].as_bool() {
        Some(true) => format!("{said} (deprecated)"),
        _ => said,
    }
}

fn strings(list: &Value) -> Vec<String> {
    list.as_array().into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect()
}

/// Returns the text in lower case, with letters and digits only; each run of other characters
/// becomes one separator: `Pet Store!` → `pet-store`.
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
