//! Finds the tools in JSON documents.

use std::collections::{HashMap, HashSet};

use serde_json::Value;
use serde_json::value::RawValue;

use super::format::{self, Format};
use super::syntax::Documents;
use super::{Import, ImportedTool, jsonl, openapi, vendors};
use crate::row::{Fields, Row, describe, elements, fields, near_word, string};
use crate::source::Source;
use crate::validate;
use crate::{Problem, Severity, Tool, ToolId};

/// The limit for the depth of a document. The deepest known capture is an array of pages, response,
/// result, tools. The limit keeps a hostile file from exhausting the stack.
const MAX_DEPTH: usize = 8;

/// Members with a list of tools: in most formats, in Gemini's requests, in the rows of the Berkeley
/// Function-Calling Leaderboard, and in ToolBench.
const TOOL_LISTS: [&str; 6] =
    ["tools", "functions", "functionDeclarations", "function_declarations", "function", "api_list"];

/// Members with an object that contains a list of tools: in requests of Bedrock and in sessions of
/// OpenAI's Realtime API.
const ENVELOPES: [&str; 3] = ["toolConfig", "tool_config", "session"];

/// Members of a row of a data set: a prompt, beside the tools that were given to a model with it.
const PROMPTS: [&str; 4] = ["question", "query", "messages", "conversations"];

pub(super) fn walk(source: &Source<'_>, documents: &Documents<'_>) -> Result<Import, Box<Problem>> {
    let mut walker = Walker::new(source);
    // A file of rows is a list too.
    let several = documents.values.iter().map(AsRef::as_ref).filter(|_| documents.values.len() > 1);
    let scope = Scope { list_format: format::detect_list(several), ..Scope::default() };
    for document in &documents.values {
        walker.value(document, &scope);
    }
    walker.import.problems.extend(documents.problems.iter().cloned());
    walker.finish()
}

/// What the enclosing values determine about a place in a document.
#[derive(Clone, Default)]
struct Scope {
    server: Option<String>,
    /// Whether the place is inside a list of tools.
    listed: bool,
    /// Whether the place is inside the result of an MCP response.
    mcp: bool,
    /// [`Format::Own`] or [`Format::Mcp`] if the enclosing list decided between the two.
    list_format: Option<Format>,
    /// Whether the tools belong to a prompt. Other prompts may have the same ones.
    of_prompt: bool,
    /// The line of the place, if the value there was made from another one.
    line: Option<usize>,
    depth: usize,
}

impl Scope {
    fn deeper(&self) -> Self {
        Self { depth: self.depth + 1, ..self.clone() }
    }

    fn of_server(&self, server: Option<String>) -> Self {
        Self { server: server.or_else(|| self.server.clone()), ..self.deeper() }
    }

    fn of_list(self, items: &[&RawValue]) -> Self {
        // A list in an MCP response needs no decision: its tools are MCP's.
        let list_format = if self.mcp { None } else { format::detect_list(items.iter().copied()) };
        Self { listed: true, list_format, ..self }
    }
}

struct Walker<'s, 't> {
    source: &'s Source<'t>,
    import: Import,
    /// Whether the file contains a list of tools, a tool or an API description.
    recognised: bool,
    /// One for each value without a tool.
    unrecognised: Vec<Problem>,
    /// One for each message of a log without a list of tools. They are reported only if no message
    /// has such a list.
    other_messages: Vec<Problem>,
    /// The methods of a log's requests, by the JSON text of their ids.
    methods: HashMap<String, String>,
    /// The name of the server from an earlier response of the same capture.
    server_name: Option<String>,
    /// `Some` if the last MCP page announces another one: the page's line, if that is known.
    missing_next_page: Option<Option<usize>>,
    unknown_fields: HashSet<String>,
    /// The places of the tools of prompts among all tools.
    of_prompts: HashMap<ToolId, usize>,
    /// The tools of prompts that were left out, because an earlier one has the same id.
    variants: Vec<ToolId>,
    /// The first tool without a name of each type.
    nameless: HashMap<ToolId, Value>,
}

impl<'s, 't> Walker<'s, 't> {
    fn new(source: &'s Source<'t>) -> Self {
        Self {
            source,
            import: Import::default(),
            recognised: false,
            unrecognised: Vec::new(),
            other_messages: Vec::new(),
            methods: HashMap::new(),
            server_name: None,
            missing_next_page: None,
            unknown_fields: HashSet::new(),
            of_prompts: HashMap::new(),
            variants: Vec::new(),
            nameless: HashMap::new(),
        }
    }

    fn finish(mut self) -> Result<Import, Box<Problem>> {
        if let Some(line) = self.missing_next_page {
            let cure = "capture the pages that follow the cursor too";
            let found = "a last page with nextCursor";
            let problem = Problem::new(Severity::Warning, "all pages of tools/list", found, cure);
            self.import.problems.push(self.source.locate(problem, line));
        }
        let variants = self.variant_problem();
        self.import.problems.extend(variants);
        if self.recognised {
            self.import.skipped = self.other_messages.len();
        } else {
            self.unrecognised.append(&mut self.other_messages);
        }
        if !self.recognised && !self.unrecognised.is_empty() {
            return Err(Box::new(self.unrecognised.swap_remove(0)));
        }
        self.import.problems.append(&mut self.unrecognised);
        self.import.problems.sort_by_key(|problem| problem.line);
        Ok(self.import)
    }

    fn value(&mut self, raw: &RawValue, scope: &Scope) {
        if scope.depth > MAX_DEPTH {
            self.reject(raw);
        } else if let Some(items) = elements(raw) {
            self.recognised |= items.is_empty();
            let inside = scope.deeper().of_list(&items);
            items.into_iter().for_each(|item| self.value(item, &inside));
        } else if let Some(members) = fields(raw) {
            self.object(raw, &members, scope);
        } else {
            self.reject(raw);
        }
    }

    fn object(&mut self, raw: &RawValue, members: &Fields<'_>, scope: &Scope) {
        let is_object = |key: &str| members.get(key).is_some_and(|raw| fields(raw).is_some());
        if openapi::is_document(members) {
            self.recognised = true;
            self.import_api(raw);
        } else if is_object("result") && !members.contains_key("name") {
            self.response(members, scope);
        } else if members.contains_key("jsonrpc") && self.is_other_message(members) {
            self.other_message(raw);
        } else if self.lists(members, scope) {
            self.recognised = true;
        } else if let Some(format) = format::detect(members, scope.listed, scope.mcp) {
            self.recognised = true;
            self.tool(raw, format, scope);
        } else if let Some(servers) = servers(members) {
            self.captures(servers, scope);
        } else if is_capture_map(members) {
            self.captures(raw, scope);
        } else if let Some(inner) = ENVELOPES.iter().find(|key| is_object(key)) {
            self.value(members[*inner], &scope.deeper());
        } else if is_tool_map(members, false) {
            self.recognised = true;
            self.tool_map(raw, scope);
        } else {
            self.reject(raw);
        }
    }

    /// Reads a JSON-RPC response. The response to `initialize` contains no tools, but it names the
    /// server of the tools that follow.
    fn response(&mut self, response: &Fields<'_>, scope: &Scope) {
        let result = response["result"];
        let Some(members) = fields(result) else { return self.reject(result) };
        if let Some(server) = server_name(&members) {
            self.server_name = Some(server);
        }
        let inside = Scope { mcp: true, ..scope.deeper() };
        if self.lists(&members, &inside) {
            self.recognised = true;
        } else if !members.contains_key("serverInfo") {
            match response.contains_key("jsonrpc") {
                true => self.other_message(result),
                false => self.reject(result),
            }
        }
    }

    /// Whether a message without a result cannot contain tools, because it is a request, or the
    /// error response to a request other than `tools/list`.
    fn is_other_message(&mut self, message: &Fields<'_>) -> bool {
        let id = message.get("id").map(|id| id.get().to_owned());
        if let Some(method) = message.get("method").and_then(|raw| string(raw)) {
            self.methods.extend(id.map(|id| (id, method)));
            return true;
        }
        let methods = id.and_then(|id| self.methods.get(&id));
        message.contains_key("error") && methods.is_some_and(|method| method != "tools/list")
    }

    fn other_message(&mut self, raw: &RawValue) {
        let problem = self.rejection(raw);
        self.other_messages.push(problem);
    }

    /// Reads an object with a list of tools: an MCP result, a request body, or a file in our
    /// format. The list may be a string of JSON, or map names to tools. Returns `false` for other
    /// objects.
    fn lists(&mut self, members: &Fields<'_>, scope: &Scope) -> bool {
        let of_key = |key: &&str| members.get(*key).copied();
        let text = |raw: &RawValue| RawValue::from_string(string(raw)?).ok();
        let texts: Vec<_> = TOOL_LISTS.iter().filter_map(of_key).filter_map(text).collect();
        let lists = TOOL_LISTS.iter().filter_map(of_key).chain(texts.iter().map(AsRef::as_ref));
        let lists: Vec<_> = lists.filter_map(elements).collect();
        let map = of_key(&"tools").filter(|raw| fields(raw).is_some_and(|m| is_tool_map(&m, true)));
        if lists.is_empty() && map.is_none() {
            return false;
        }
        let items: Vec<&RawValue> = lists.into_iter().flatten().collect();
        let mut inside = scope.of_server(server_name(members)).of_list(&items);
        inside.of_prompt = PROMPTS.iter().any(|key| members.contains_key(*key));
        for item in items {
            self.value(item, &inside);
        }
        if let Some(map) = map {
            self.tool_map(map, &inside);
        }
        self.warn_misspelt_lists(members);
        let more = members.get("nextCursor").filter(|raw| string(raw).is_some());
        self.missing_next_page = more.map(|raw| self.source.line_of(raw.get()));
        true
    }

    /// Reads `{"a name": {"description": …, "parameters": …}}`, as the Vercel AI SDK has it.
    fn tool_map(&mut self, raw: &RawValue, scope: &Scope) {
        for (name, tool) in ordered(raw).into_iter().flatten() {
            let line = self.source.line_of(tool.get());
            let Some(body) = fields(tool).filter(|body| format::is_body(body, true)) else {
                let cure = "describe it, or move it out of the tools";
                let expected = "a tool with a description or parameters";
                let found = with_keys(tool, fields(tool).as_ref());
                let problem = Problem::new(Severity::Error, expected, found, cure);
                self.import.problems.push(self.source.locate(problem.tool(&name), line));
                continue;
            };
            // A name of its own follows and takes precedence.
            let members = tool.get().trim_start_matches('{');
            let named = format!("{{\"name\":{},{members}", Value::from(name));
            if let Ok(named) = RawValue::from_string(named) {
                let inside = Scope { line, list_format: None, ..scope.deeper() };
                self.tool(&named, format::of_body(&body), &inside);
            }
        }
    }

    /// Warns of a list beside the tools whose name is nearly that of a list of tools.
    fn warn_misspelt_lists(&mut self, members: &Fields<'_>) {
        const USUAL: [&str; 2] = ["tools", "functions"];
        for (key, raw) in members.iter().filter(|(key, _)| !TOOL_LISTS.contains(&key.as_str())) {
            if let (Some(meant), Some(_)) = (near_word(key, &USUAL), elements(raw)) {
                let found = format!("the list {key:?}, which was not read");
                let cure = format!("did you mean {meant:?}?");
                let problem = Problem::new(Severity::Warning, "a list of tools", found, cure);
                let line = self.source.line_of(raw.get());
                self.import.problems.push(self.source.locate(problem, line));
            }
        }
    }

    /// Reads `{"one server": {"tools": […]}, "another": […]}`, or a list of captures that contain
    /// their names.
    fn captures(&mut self, raw: &RawValue, scope: &Scope) {
        if elements(raw).is_some() {
            return self.value(raw, &Scope { mcp: true, ..scope.clone() });
        }
        let Some(servers) = ordered(raw) else { return self.reject(raw) };
        for (server, capture) in servers {
            self.value(capture, &Scope { mcp: true, ..scope.of_server(Some(server)) });
        }
    }

    fn tool(&mut self, raw: &RawValue, format: Format, scope: &Scope) {
        let Some(mut row) = Row::new(raw, self.source) else { return self.reject(raw) };
        let format = match format {
            Format::Own | Format::Mcp => scope.list_format.unwrap_or(format),
            format => format,
        };
        let server = scope.server.clone().or_else(|| self.server_name.clone()).or_else(|| {
            // Only MCP results are lists of one server that may omit its name.
            (format == Format::Mcp).then(|| self.source.stem().map(str::to_owned)).flatten()
        });
        let server = server.as_deref();
        let tool = match format {
            Format::Mcp => vendors::read_mcp(&mut row, server),
            Format::OpenAiFlat => vendors::read_openai_flat(&mut row, server),
            Format::Anthropic => vendors::read_anthropic(&mut row, server),
            Format::VllmEntry => vendors::read_vllm_entry(&mut row, server),
            Format::Wrapped(key) => vendors::read_wrapped(&mut row, key, server),
            Format::TitledSchema => vendors::read_titled_schema(&mut row, raw, server),
            Format::Own => jsonl::read(&mut row, server),
        };
        if format == Format::Anthropic && row.value("name").is_none() {
            row.problems.extend(tool.as_ref().and_then(|tool| self.second_of_type(tool, raw)));
        }
        let name = tool
            .as_ref()
            .map(|tool| tool.id.to_string())
            .or_else(|| row.value("name").and_then(string));
        for problem in &mut row.problems {
            problem.tool.clone_from(&name);
        }
        let line = row.line.or(scope.line);
        row.problems.extend(tool.iter().flat_map(validate::check));
        let failed = row.failed();
        let Some(tool) = tool.filter(|_| !failed).filter(|tool| !self.is_repeated(tool, scope))
        else {
            return self.report(row.problems, line);
        };
        self.report(row.problems, line);
        self.import.tools.push(ImportedTool { tool: tool.into(), line });
    }

    /// Whether a tool of a prompt has the id of an earlier prompt's tool, which is kept.
    fn is_repeated(&mut self, tool: &Tool, scope: &Scope) -> bool {
        if !scope.of_prompt {
            return false;
        }
        let next = self.import.tools.len();
        let first = *self.of_prompts.entry(tool.id.clone()).or_insert(next);
        let Some(first) = self.import.tools.get(first) else { return false };
        if *first.tool != *tool {
            self.variants.push(tool.id.clone());
        }
        true
    }

    /// Returns one error for all tools of prompts that differ from earlier ones of the same name,
    /// because a data set may have thousands.
    fn variant_problem(&self) -> Option<Problem> {
        let first = self.variants.first()?;
        let found = format!("{} different ones in later rows, this one first", self.variants.len());
        let cure = "the first of each name was kept; rename the others";
        let problem = Problem::new(Severity::Error, "one tool of each name", found, cure);
        Some(self.source.locate(problem.tool(first.as_str()).field("name"), None))
    }

    /// Returns an error for a vendor's tool without a name that differs from an earlier one of the
    /// same type. Such a tool is named by its type, and the members that make the two differ are
    /// not kept.
    fn second_of_type(&mut self, tool: &Tool, raw: &RawValue) -> Option<Problem> {
        let value: Value = serde_json::from_str(raw.get()).ok()?;
        let first = self.nameless.entry(tool.id.clone()).or_insert_with(|| value.clone());
        (*first != value).then(|| {
            let cure = "give each of them a name; the first was kept";
            let found = "a second, different tool of the same type and without a name";
            Problem::new(Severity::Error, "a name", found, cure).field("name")
        })
    }

    fn import_api(&mut self, raw: &RawValue) {
        let api = openapi::read(raw, self.source);
        self.import.tools.extend(api.tools);
        self.report(api.problems, None);
    }

    /// Adds problems. An unknown field is reported once per file instead of once per tool.
    fn report(&mut self, problems: Vec<Problem>, line: Option<usize>) {
        for problem in problems {
            let unknown = problem.found.starts_with("the unknown field");
            if !unknown || self.unknown_fields.insert(problem.found.clone()) {
                self.import.problems.push(self.source.locate(problem, line));
            }
        }
    }

    fn reject(&mut self, raw: &RawValue) {
        let problem = self.rejection(raw);
        self.unrecognised.push(problem);
    }

    fn rejection(&self, raw: &RawValue) -> Problem {
        let members = fields(raw);
        let has = |key: &str| members.as_ref().is_some_and(|m| m.contains_key(key));
        let (found, cure) = if has("discoveryVersion") {
            ("a Google discovery document".into(), "convert it to OpenAPI 3")
        } else if has("mcpServers") {
            (
                "a list of servers to start".into(),
                "name the file with --servers, or give the tools/list results of its servers",
            )
        } else if has("jsonrpc") && has("error") {
            ("an error response".into(), "capture the response again")
        } else if has("jsonrpc") && has("method") {
            ("a request".into(), "capture the answer to tools/list too")
        } else {
            let formats = "write the tools as MCP, OpenAI, Anthropic, Gemini, Bedrock, OpenAPI \
                           or toolroute's own rows; docs/catalog.md has all formats";
            (with_keys(raw, members.as_ref()), formats)
        };
        let problem = Problem::new(Severity::Error, "a tool or a list of tools", found, cure);
        let line = self.source.line_of(raw.get());
        self.source.locate(problem, line)
    }
}

fn with_keys(raw: &RawValue, members: Option<&Fields<'_>>) -> String {
    const SHOWN: usize = 5;
    let keys: Vec<&str> = members.iter().flat_map(|m| m.keys()).map(String::as_str).collect();
    match keys.as_slice() {
        [] => describe(raw),
        keys => format!("an object with {}", keys[..keys.len().min(SHOWN)].join(", ")),
    }
}

/// Returns the name of a capture's server: `serverInfo.name`, `server`, or the capture's `name`.
fn server_name(members: &Fields<'_>) -> Option<String> {
    let inner = |key: &str| {
        let info = fields(members.get(key)?)?;
        string(info.get("name")?)
    };
    let plain = |key: &str| members.get(key).and_then(|raw| string(raw));
    inner("serverInfo")
        .or_else(|| plain("server"))
        .or_else(|| inner("server"))
        .or_else(|| plain("name"))
        .or_else(|| plain("standardized_name"))
}

fn servers<'a>(members: &Fields<'a>) -> Option<&'a RawValue> {
    members.get("servers").copied().filter(|raw| fields(raw).is_some() || elements(raw).is_some())
}

/// Whether every member is a capture, so that the keys are names of servers. The keys of lists in
/// exports of stores of tools are no names, and neither are those of envelopes.
fn is_capture_map(members: &Fields<'_>) -> bool {
    let is_capture = |raw: &&RawValue| {
        elements(raw).is_some_and(|items| format::is_list(&items))
            || fields(raw).is_some_and(|inner| {
                let lists = inner.get("tools").is_some_and(|tools| elements(tools).is_some());
                lists || inner.get("result").is_some_and(|result| fields(result).is_some())
            })
    };
    let is_list = |key: &&str| members.get(*key).is_some_and(|raw| elements(raw).is_some());
    let is_page = ["items", "data", "results"].iter().any(is_list);
    let is_envelope = members.keys().all(|key| ENVELOPES.contains(&key.as_str()));
    !is_envelope && !is_page && members.values().all(is_capture)
}

/// Whether at least half of the members are tools without their names, so that the keys are names of
/// tools.
fn is_tool_map(members: &Fields<'_>, listed: bool) -> bool {
    let is_tool = |raw: &&&RawValue| fields(raw).is_some_and(|tool| format::is_body(&tool, listed));
    !members.is_empty() && members.values().filter(is_tool).count() * 2 >= members.len()
}

/// Returns an object's members in the order of the file, which is the order of the catalog.
fn ordered(raw: &RawValue) -> Option<Vec<(String, &RawValue)>> {
    let members = fields(raw)?;
    // Members are slices of one text, so sorting by address restores their order.
    let mut members: Vec<_> = members.into_iter().collect();
    members.sort_by_key(|(_, value)| value.get().as_ptr());
    Some(members)
}
