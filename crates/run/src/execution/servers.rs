//! The `mcpServers` file, which lists servers and how each is reached.
//!
//! MCP clients read the same file. Two types of entry are specific to toolroute: `"process"`, a
//! program that runs once for each call, and `"openapi"`, the target of operations from an API
//! description.

mod faults;

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;

use serde::Deserialize;
use serde_json::Value;

use super::error::Error;
use super::jsonc;
use super::permission::{Offers, Patterns};
use super::redact::{Redactor, is_secret_name, secrets_of};
use toolroute_catalog::{CallHints, MCP_MEMBERS, Schema, Tool, member_fault, type_fault};

/// How one server is reached. Variables are expanded.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Entry {
    /// An MCP server that is a child process.
    Stdio(Program),
    /// An MCP server over Streamable HTTP.
    Http(Remote),
    /// A program that runs once for each call, exchanging JSON, and its tools.
    Process(Program, Vec<Value>),
    /// The base address and headers for operations imported from OpenAPI.
    OpenApi(Remote),
}

/// A program to start.
#[derive(Clone, Default, PartialEq)]
pub struct Program {
    /// The program.
    pub command: String,
    /// Its arguments.
    pub args: Vec<String>,
    /// Its environment, in addition to the base variables of [`super::ProcessOptions`].
    pub env: BTreeMap<String, String>,
    /// The folder that it runs in.
    pub cwd: Option<PathBuf>,
}

// Arguments and the environment may have secrets.
impl fmt::Debug for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Program").field("command", &self.command).finish_non_exhaustive()
    }
}

/// An address to send to.
#[derive(Clone, Default, PartialEq)]
pub struct Remote {
    /// May be empty for `openapi`, where the description names the server.
    pub url: String,
    /// Headers of each request.
    pub headers: BTreeMap<String, String>,
    /// Whether addresses of this machine and its network may be called. By default they may if the
    /// servers file has the address, and may not if it comes from an API description.
    pub allow_private: Option<bool>,
}

// Addresses and headers may have secrets.
impl fmt::Debug for Remote {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Remote").field("allow_private", &self.allow_private).finish_non_exhaustive()
    }
}

/// A parsed servers file. An invalid entry is left out, and the others stay.
#[derive(Clone, Debug, Default)]
pub struct ServersFile {
    /// By name.
    pub entries: BTreeMap<String, Entry>,
    /// The entries that cannot be opened, by name, and why.
    pub left_out: BTreeMap<String, LeftOut>,
    /// The problems of left-out entries and of tools that will be left out, one sentence each.
    pub problems: Vec<String>,
    /// A hash of each entry's text in the file, which detects changed entries.
    pub fingerprints: BTreeMap<String, String>,
    /// Which tools of each server are offered.
    pub offers: Offers,
    /// Call hints of the file by patterns of tool ids, more specific patterns first.
    pub hints: Vec<(Patterns, CallHints)>,
    /// Hides the secrets of the file in logs.
    pub redactor: Redactor,
}

/// Why an entry of the file is not opened.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum LeftOut {
    /// The file disables it.
    Disabled,
    /// It names environment variables that are not set.
    Needs(Vec<String>),
    /// It is invalid, for this reason.
    Wrong(String),
}

impl fmt::Display for LeftOut {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Disabled => f.write_str("disabled"),
            Self::Needs(names) => write!(f, "needs {}", names.join(", ")),
            Self::Wrong(said) => f.write_str(said),
        }
    }
}

/// Returns the value of an environment variable.
pub type Variables<'a> = &'a dyn Fn(&str) -> Option<String>;

#[derive(Default, Deserialize)]
#[serde(default)]
struct RawEntry {
    #[serde(rename = "type", alias = "transport")]
    kind: Option<String>,
    command: Option<String>,
    args: Vec<String>,
    env: BTreeMap<String, Value>,
    cwd: Option<String>,
    #[serde(alias = "serverUrl", alias = "httpUrl")]
    url: Option<String>,
    headers: BTreeMap<String, String>,
    disabled: bool,
    tools: Vec<Value>,
    #[serde(rename = "allowPrivate")]
    allow_private: Option<bool>,
    /// Names of tools, with `*` as a wildcard, as in Gemini CLI and Codex.
    #[serde(rename = "includeTools", alias = "enabled_tools")]
    include_tools: Option<Vec<String>>,
    #[serde(rename = "excludeTools", alias = "disabled_tools")]
    exclude_tools: Vec<String>,
    /// Call hints for all tools of the server.
    #[serde(rename = "callHints", alias = "call_hints")]
    call_hints: CallHints,
    /// Call hints for some tools, by name, with `*` as a wildcard.
    #[serde(rename = "toolHints", alias = "tool_hints")]
    tool_hints: BTreeMap<String, CallHints>,
    /// The timeout in milliseconds, as in Gemini CLI.
    timeout: Option<u64>,
    /// The timeout in seconds, as in Codex.
    tool_timeout_sec: Option<f64>,
}

impl ServersFile {
    /// [`ServersFile::left_out`] without secrets, for display.
    #[doc(hidden)] // For our own crates.
    pub fn shown_left_out(&self) -> BTreeMap<String, LeftOut> {
        let clean = |because: &LeftOut| match because {
            LeftOut::Wrong(said) => LeftOut::Wrong(self.redactor.clean(said)),
            other => other.clone(),
        };
        self.left_out.iter().map(|(name, because)| (name.clone(), clean(because))).collect()
    }

    /// Parses `{"mcpServers": {…}}`, or `{"servers": {…}}` as in VS Code. Comments and trailing
    /// commas are allowed, as in editors.
    ///
    /// # Errors
    /// The text is not JSON, or it has neither member.
    pub fn parse(text: &str, variables: Variables<'_>) -> Result<Self, Error> {
        let said = |found: String| Error::ServersFile { found };
        let root = jsonc::value(text).map_err(|error| said(error.to_string()))?;
        let servers = ["mcpServers", "servers"].iter().find_map(|key| root.get(key)?.as_object());
        let servers = servers.ok_or_else(|| said(faults::without_servers(&root)))?;
        let mut file = Self::default();
        for (name, entry) in servers {
            file.add(name, entry, variables);
        }
        file.problems.extend(shared_ids(file.entries.keys()));
        Ok(file)
    }

    fn add(&mut self, name: &str, entry: &Value, variables: Variables<'_>) {
        let mut expand = Expand { variables, missing: Vec::new(), secrets: Vec::new() };
        match self.read(name, entry, &mut expand) {
            Ok(read) => {
                self.redactor.hide(secrets_of(&read));
                self.fingerprints.insert(name.to_owned(), fingerprint(entry));
                self.entries.insert(name.to_owned(), read);
            }
            Err(because) => {
                let cure = match &because {
                    LeftOut::Needs(names)
                        if names.iter().any(|name| name.starts_with("workspaceFolder")) =>
                    {
                        "; that is the folder that is open in an editor: write its path instead"
                    }
                    LeftOut::Needs(_) => "; set it, or write ${NAME:-default}",
                    _ => "",
                };
                if because != LeftOut::Disabled {
                    self.problems.push(format!("server `{name}`: {because}{cure}"));
                }
                self.left_out.insert(name.to_owned(), because);
            }
        }
        self.redactor.hide(expand.secrets);
        // A problem may quote an invalid entry, with its secrets.
        for problem in &mut self.problems {
            *problem = self.redactor.clean(problem);
        }
    }

    /// Reads an entry, and notes which tools it offers and what it says of their calls.
    fn read(
        &mut self,
        name: &str,
        entry: &Value,
        expand: &mut Expand<'_>,
    ) -> Result<Entry, LeftOut> {
        let raw = RawEntry::deserialize(entry).map_err(|error| {
            let fault = member_fault::<RawEntry>(entry);
            LeftOut::Wrong(fault.unwrap_or_else(|| type_fault(&error.to_string())))
        })?;
        let misspelled = faults::misspelled(entry).into_iter();
        self.problems.extend(misspelled.map(|said| format!("server `{name}`: {said}")));
        if raw.disabled {
            return Err(LeftOut::Disabled);
        }
        let read = entry_of(&raw, expand).map_err(LeftOut::Wrong)?;
        if !expand.missing.is_empty() {
            expand.missing.sort();
            expand.missing.dedup();
            return Err(LeftOut::Needs(std::mem::take(&mut expand.missing)));
        }
        let (only, without) = (raw.include_tools.as_deref(), &raw.exclude_tools);
        if only.is_some() || !without.is_empty() {
            self.offers.narrow(name, only, without).map_err(wrong)?;
        }
        self.hint(name, raw).map_err(LeftOut::Wrong)?;
        Ok(read)
    }

    /// Adds the call hints of an entry.
    fn hint(&mut self, name: &str, raw: RawEntry) -> Result<(), String> {
        let mut of_all = raw.call_hints;
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "bounded below"
        )]
        let seconds = raw.tool_timeout_sec.map(|seconds| (seconds.max(0.0) * 1_000.0) as u64);
        of_all.timeout_ms = of_all.timeout_ms.or(raw.timeout).or(seconds);
        // More specific patterns come first: names, then longer patterns.
        let mut all: Vec<(String, CallHints)> = raw.tool_hints.into_iter().collect();
        all.sort_by_key(|(pattern, _)| (pattern.contains(['*', '?', '[']), Reverse(pattern.len())));
        let all = all.into_iter().chain([("*".to_owned(), of_all)]);
        for (pattern, hints) in all.filter(|(_, hints)| !hints.is_empty()) {
            if hints.typical_tokens.is_some() {
                return Err(
                    "`typical_tokens` is for a tool or an overlay; remove it here".to_owned()
                );
            }
            if let Some((member, expected, found)) = hints.fault() {
                return Err(format!("`{member}`: expected {expected}, found {found}"));
            }
            let ids = format!("{}__{pattern}", globset::escape(name));
            let patterns = Patterns::new([ids]).map_err(|error| error.to_string())?;
            self.hints.push((patterns, hints));
        }
        Ok(())
    }
}

/// Warnings for servers whose tool ids are ambiguous: `a__b__c` is `c` of `a__b`, or `b__c` of `a`.
fn shared_ids<'a>(names: impl Iterator<Item = &'a String> + Clone) -> Vec<String> {
    let pairs = names.clone().flat_map(|short| names.clone().map(move |long| (short, long)));
    let alike = pairs.filter(|(short, long)| {
        long.strip_prefix(short.as_str()).is_some_and(|rest| rest == "_" || rest.starts_with("__"))
    });
    alike
        .map(|(short, long)| {
            format!(
                "server `{short}`: tools of it whose names begin as `{}` are left out: their ids are \
                 those of the server `{long}`; rename one of the two servers",
                &format!("{long}__")[short.len() + 2..]
            )
        })
        .collect()
}

fn fingerprint(entry: &Value) -> String {
    toolroute_vectors::durable::sha256_hex(entry.to_string().as_bytes())[..16].to_owned()
}

fn wrong(error: impl fmt::Display) -> LeftOut {
    LeftOut::Wrong(error.to_string())
}

fn entry_of(raw: &RawEntry, expand: &mut Expand<'_>) -> Result<Entry, String> {
    let kind = raw.kind.as_deref().unwrap_or(if raw.command.is_some() { "stdio" } else { "http" });
    Ok(match kind {
        "stdio" => Entry::Stdio(program(raw, expand)?),
        "process" => Entry::Process(program(raw, expand)?, raw.tools.clone()),
        "http" | "streamable-http" | "streamableHttp" | "streamable_http" => {
            Entry::Http(remote(raw, true, expand)?)
        }
        "openapi" => Entry::OpenApi(remote(raw, false, expand)?),
        other => {
            return Err(format!(
                "expected type stdio, http, process or openapi, found `{other}`{}",
                if other == "sse" { "; use the server's Streamable HTTP address" } else { "" }
            ));
        }
    })
}

fn program(raw: &RawEntry, expand: &mut Expand<'_>) -> Result<Program, String> {
    let command = raw.command.as_deref().filter(|command| !command.trim().is_empty());
    let command = command.ok_or("expected a `command`, found none")?;
    let env = raw.env.iter().map(|(name, value)| {
        let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        (name.clone(), expand.named(name, &text))
    });
    Ok(Program {
        env: env.collect(),
        command: expand.text(command),
        args: raw.args.iter().map(|arg| expand.text(arg)).collect(),
        cwd: raw.cwd.as_deref().map(|cwd| PathBuf::from(expand.text(cwd))),
    })
}

fn remote(raw: &RawEntry, needs_url: bool, expand: &mut Expand<'_>) -> Result<Remote, String> {
    let url = raw.url.as_deref().map(|url| expand.text(url)).unwrap_or_default();
    let is_url = url.starts_with("http://") || url.starts_with("https://");
    if url.is_empty() && needs_url {
        return Err("expected a `command` that starts the server, or its `url`".to_owned());
    }
    if !is_url && !url.is_empty() {
        return Err(format!("expected a `url` with http:// or https://, found `{url}`"));
    }
    let headers = raw.headers.iter();
    let headers = headers.map(|(name, value)| (name.clone(), expand.named(name, value)));
    Ok(Remote { url, headers: headers.collect(), allow_private: raw.allow_private })
}

/// Expands variables: `${NAME}`, `${NAME:-default}` and `${env:NAME}`.
struct Expand<'a> {
    variables: Variables<'a>,
    missing: Vec<String>,
    /// Values of variables and members whose names mark them as secrets.
    secrets: Vec<String>,
}

impl Expand<'_> {
    fn named(&mut self, name: &str, text: &str) -> String {
        let value = self.text(text);
        if is_secret_name(name) {
            // `Bearer abc`: the second word is the secret.
            self.secrets.extend(value.split_whitespace().last().map(str::to_owned));
        }
        value
    }

    fn text(&mut self, text: &str) -> String {
        let mut expanded = String::new();
        let mut rest = text;
        while let Some(at) = rest.find("${") {
            let Some(end) = rest[at..].find('}') else { break };
            expanded.push_str(&rest[..at]);
            expanded.push_str(&self.variable(&rest[at + 2..at + end]));
            rest = &rest[at + end + 1..];
        }
        expanded + rest
    }

    fn variable(&mut self, inside: &str) -> String {
        let inside = inside.strip_prefix("env:").unwrap_or(inside);
        let (name, default) = inside.split_once(":-").unwrap_or((inside, ""));
        let value = (self.variables)(name).filter(|value| !value.is_empty());
        if let Some(value) = &value
            && is_secret_name(name)
        {
            self.secrets.push(value.clone());
        } else if value.is_none() && name == inside {
            self.missing.push(name.to_owned());
        }
        value.unwrap_or_else(|| default.to_owned())
    }
}

/// A servers file with these entries, for tests and for programs that have no file.
impl FromIterator<(String, Entry)> for ServersFile {
    fn from_iter<I: IntoIterator<Item = (String, Entry)>>(entries: I) -> Self {
        Self { entries: entries.into_iter().collect(), ..Self::default() }
    }
}

/// Parses tools in the form of MCP's `tools/list`. Warns of those without a name, which cannot be
/// called.
pub(super) fn tools_of(server: &str, values: &[Value]) -> Vec<Tool> {
    let tools: Vec<Tool> = values.iter().filter_map(|value| tool_of(server, value)).collect();
    if tools.len() < values.len() {
        let first = values.iter().position(|value| tool_of(server, value).is_none());
        tracing::warn!(
            "server `{server}`: {} of {} tools are left out, because they have no name, expected \
             a text `name`; the first is number {}",
            values.len() - tools.len(),
            values.len(),
            first.unwrap_or_default() + 1
        );
    }
    tools
}

/// Parses a tool in the form of MCP's `tools/list`, which `process` entries use too. Invalid
/// annotations are ignored, so that the tool stays usable.
fn tool_of(server: &str, value: &Value) -> Option<Tool> {
    let text = |value: &Value| value.as_str().map(str::to_owned);
    let name = value["name"].as_str().filter(|name| !name.trim().is_empty())?;
    let mut tool = Tool::new(Some(server), name, value["description"].as_str().unwrap_or_default());
    tool.title = text(&value["title"]).or_else(|| text(&value["annotations"]["title"]));
    let schema = ["inputSchema", "input_schema"].iter().find_map(|key| value.get(key));
    let schema = schema.filter(|schema| schema.is_object());
    tool.input_schema =
        schema.and_then(|schema| serde_json::value::to_raw_value(schema).ok()).map(Schema::new);
    let hint = |key: &str| value["annotations"][key].as_bool();
    tool.hints.read_only = hint("readOnlyHint");
    tool.hints.destructive = hint("destructiveHint");
    tool.hints.idempotent = hint("idempotentHint");
    let beside = MCP_MEMBERS.iter().filter_map(|key| Some(((*key).to_owned(), value.get(*key)?)));
    let beside: serde_json::Map<String, Value> =
        beside.filter(|(_, value)| !value.is_null()).map(|(key, v)| (key, v.clone())).collect();
    if !beside.is_empty() {
        tool.mcp = serde_json::value::to_raw_value(&beside).ok().map(Schema::new);
    }
    Some(tool)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> ServersFile {
        ServersFile::parse(text, &|name| match name {
            "TOKEN" => Some("s3cr3t-value".to_owned()),
            "HOME" => Some("/home/me".to_owned()),
            _ => None,
        })
        .unwrap()
    }

    #[test]
    fn entries_of_every_kind_are_read_and_variables_put_in() {
        let file = parse(
            r#"{"mcpServers": {
                "files": {"command": "npx", "args": ["-y", "server", "${HOME}/docs"], "env": {"N": 1}, "cwd": "${DIR:-/tmp}"},
                "web": {"type": "streamable-http", "url": "https://example.org/mcp", "headers": {"Authorization": "Bearer ${env:TOKEN}"}},
                "local": {"type": "process", "command": "./run", "tools": [{"name": "add"}]},
                "pets": {"type": "openapi"},
                "off": {"command": "x", "disabled": true}}}"#,
        );
        assert_eq!(file.problems, [] as [&str; 0]);
        let Entry::Stdio(files) = &file.entries["files"] else { panic!("stdio") };
        assert_eq!(files.args[2], "/home/me/docs");
        assert_eq!((files.cwd.as_deref(), &*files.env["N"]), (Some("/tmp".as_ref()), "1"));
        let Entry::Http(web) = &file.entries["web"] else { panic!("http") };
        assert_eq!(web.headers["Authorization"], "Bearer s3cr3t-value");
        assert_eq!(file.redactor.clean("got s3cr3t-value back"), "got [secret] back");
        assert!(matches!(&file.entries["local"], Entry::Process(_, tools) if tools.len() == 1));
        assert!(!file.entries.contains_key("off"));
        assert_eq!(file.left_out["off"], LeftOut::Disabled);
    }

    #[test]
    fn names_that_may_give_two_tools_one_id_are_told() {
        let said = |names: &[&str]| {
            let entries = names.iter().map(|name| format!("\"{name}\": {{\"command\": \"x\"}}"));
            let entries: Vec<String> = entries.collect();
            parse(&format!("{{\"mcpServers\": {{{}}}}}", entries.join(", "))).problems
        };
        assert_eq!(said(&["a", "ab", "a_b", "b__a"]), [] as [&str; 0]);
        let told = said(&["a__b", "a"]);
        assert!(told[0].starts_with("server `a`: ") && told[0].contains("`b__`"), "{told:?}");
        assert!(told[0].contains("`a__b`; rename") && told.len() == 1, "{told:?}");
        assert!(said(&["a_", "a"])[0].contains("begin as `_` "), "a___x is both");
    }

    #[test]
    fn a_bad_entry_costs_only_itself() {
        let file = parse(
            r#"{"servers": {"a": {"command": "x", "env": {"K": "${NOT_SET}"}}, "b": {"type": "sse", "url": "http://x"},
                "c": {"url": "ftp://x"}, "d": {"command": "ok"}}}"#,
        );
        assert_eq!(file.entries.keys().collect::<Vec<_>>(), ["d"]);
        assert_eq!(file.problems.len(), 3);
        assert!(file.problems[0].contains("NOT_SET"), "{:?}", file.problems);
        assert_eq!(file.left_out["a"].to_string(), "needs NOT_SET");
        assert!(ServersFile::parse("{}", &|_| None).is_err());
    }
}
