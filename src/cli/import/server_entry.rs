//! Converts a server entry of another program to our format.

use std::path::Path;

use serde_json::{Map, Value, json};

use crate::cli::paths;
use toolroute_run::execution::{map_texts, names_private_address};

/// A converted entry, with notes for the user.
pub struct Read {
    pub entry: Map<String, Value>,
    pub notes: Vec<String>,
    /// The note for a server that is disabled because its address is private.
    pub refused: Option<String>,
}

/// Whether an entry is this gateway itself, which must not start itself. The executable may have
/// been renamed, for example after its release.
pub fn is_ours(entry: &Map<String, Value>) -> bool {
    let command = Path::new(entry.get("command").and_then(Value::as_str).unwrap_or_default());
    let stem = command.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
    let is_this = || paths::program().is_ok_and(|program| program == command);
    let args = entry.get("args").and_then(Value::as_array);
    args.is_some_and(|args| args.iter().any(|arg| arg == "mcp"))
        && (stem.starts_with("toolroute") || is_this())
}

/// Why an entry cannot be a server, if it cannot.
pub fn fault(name: &str, entry: &Map<String, Value>) -> Option<&'static str> {
    const REACHED: [&str; 5] = ["command", "url", "serverUrl", "httpUrl", "type"];
    match name.trim() {
        "" => Some("has no name"),
        _ if !REACHED.iter().any(|member| entry.contains_key(*member)) => {
            Some("has neither `command` nor `url`")
        }
        _ => None,
    }
}

/// Converts an entry. Unknown members are kept.
pub fn read(
    name: &str,
    entry: &Value,
    project: Option<&Path>,
    allow_private: bool,
) -> Option<Read> {
    let mut entry = entry.as_object()?.clone();
    let mut notes = Vec::new();
    for value in entry.values_mut() {
        map_texts(value, &[], &mut |text| variables(name, text, project, &mut notes));
    }
    from_codex(&mut entry);
    if entry.get("type") == Some(&json!("sse")) {
        notes.push(format!(
            "server `{name}`: type sse is not supported; write its Streamable HTTP address"
        ));
    }
    if let Some(member) = unread(&entry) {
        let cure = match member {
            "envFile" => "; write its variables into `env`",
            _ => "",
        };
        notes.push(format!("server `{name}`: toolroute does not read `{member}`{cure}"));
    }
    if let (Some(project), None, true) = (project, entry.get("cwd"), entry.contains_key("command"))
    {
        entry.insert("cwd".to_owned(), json!(project));
    }
    let url = ["url", "serverUrl", "httpUrl"].into_iter().find_map(|key| entry.get(key)?.as_str());
    let url = url.map(str::to_owned);
    let refused = url.and_then(|url| guard(name, &url, allow_private, &mut entry));
    Some(Read { entry, notes, refused })
}

/// Checks the address of an imported server. A server at a private address is kept, but not called:
/// the returned note says so.
fn guard(
    name: &str,
    url: &str,
    allow_private: bool,
    entry: &mut Map<String, Value>,
) -> Option<String> {
    let private = names_private_address(url);
    entry.insert("allowPrivate".to_owned(), json!(private && allow_private));
    if !private || allow_private {
        return None;
    }
    let was_disabled = entry.insert("disabled".to_owned(), json!(true)) == Some(json!(true));
    (!was_disabled).then(|| {
        format!(
            "server `{name}`: {url} is an address of this machine or its network, so the server \
             is imported disabled; import again with --allow-private if that is meant"
        )
    })
}

/// Whether an earlier import allowed our entry's private address, and nobody disabled it since.
pub fn is_allowed(ours: &Value) -> bool {
    ours["allowPrivate"] == true && ours["disabled"] != true
}

/// Our entry with the private address that an import with `--allow-private` allows, if that is new.
/// It is enabled if an earlier import disabled it.
pub fn with_private(ours: &Value, imported: &Map<String, Value>) -> Option<Map<String, Value>> {
    let mut entry = ours.as_object()?.clone();
    let is_allowed = |entry: &Map<String, Value>| entry.get("allowPrivate") == Some(&json!(true));
    if !is_allowed(imported) || is_allowed(&entry) {
        return None;
    }
    let was_refused = entry.insert("allowPrivate".to_owned(), json!(true)) == Some(json!(false));
    if was_refused && imported.get("disabled") != Some(&json!(true)) {
        entry.remove("disabled");
    }
    Some(entry)
}

/// Converts the variables of editors. Values that the editor asks its user for become environment
/// variables.
fn variables(server: &str, text: &mut String, project: Option<&Path>, notes: &mut Vec<String>) {
    if !text.contains("${") {
        return;
    }
    let mut new = text.replace("${userHome}", "${HOME}");
    for slash in ["${pathSeparator}", "${/}"] {
        new = new.replace(slash, std::path::MAIN_SEPARATOR_STR);
    }
    if let Some(project) = project {
        let name = project.file_name().unwrap_or_default().to_string_lossy();
        new = new.replace("${workspaceFolderBasename}", &name);
        new = new.replace("${workspaceFolder}", &project.to_string_lossy());
    }
    if let Some(at) = new.find("${workspaceFolder") {
        let variable = new[at..].split_inclusive('}').next().unwrap_or_default();
        notes.push(format!(
            "server `{server}`: {variable} is the folder that is open in its program, which this \
             file does not name; write the path of a folder instead"
        ));
    }
    while let Some(at) = new.find("${input:") {
        let Some(end) = new[at..].find('}') else { break };
        let id = &new[at + "${input:".len()..at + end];
        let upper: String = id
            .chars()
            .map(|c| if c.is_alphanumeric() { c.to_ascii_uppercase() } else { '_' })
            .collect();
        notes.push(format!(
            "server `{server}`: its program asks for `{id}`; set the variable {upper} instead"
        ));
        new = format!("{}${{{upper}}}{}", &new[..at], &new[at + end + 1..]);
    }
    *text = new;
}

/// Converts members that only Codex uses.
fn from_codex(entry: &mut Map<String, Value>) {
    let mut headers = Map::new();
    if let Some(Value::String(variable)) = entry.remove("bearer_token_env_var") {
        headers.insert("Authorization".to_owned(), json!(format!("Bearer ${{{variable}}}")));
    }
    if let Some(Value::Object(fixed)) = entry.remove("http_headers") {
        headers.extend(fixed);
    }
    if let Some(Value::Object(from)) = entry.remove("env_http_headers") {
        let named = from.into_iter().filter_map(|(header, variable)| {
            let variable = variable.as_str()?;
            Some((header, json!(format!("${{{variable}}}"))))
        });
        headers.extend(named);
    }
    join(entry, "headers", headers);
    let mut env = Map::new();
    if let Some(Value::Array(names)) = entry.remove("env_vars") {
        let names = names.iter().filter_map(Value::as_str);
        env.extend(names.map(|name| (name.to_owned(), json!(format!("${{{name}}}")))));
    }
    join(entry, "env", env);
    if entry.remove("enabled") == Some(json!(false)) {
        entry.insert("disabled".to_owned(), json!(true));
    }
}

fn join(entry: &mut Map<String, Value>, name: &str, more: Map<String, Value>) {
    if more.is_empty() {
        return;
    }
    let there = entry.entry(name).or_insert_with(|| json!({}));
    if let Value::Object(there) = there {
        there.extend(more);
    }
}

/// Members that identify a server and the tools that it offers. Other members, such as rules for
/// confirming calls, are ignored in comparisons.
const REACH: [&str; 11] = [
    "command",
    "args",
    "env",
    "cwd",
    "url",
    "headers",
    "tools",
    "includeTools",
    "excludeTools",
    "enabled_tools",
    "disabled_tools",
];

/// Members of other programs that change how a server is reached or restricted and that we do not
/// support. Without them, it would be a different server.
const UNREAD: [&str; 6] =
    ["envFile", "oauth", "auth", "authProviderType", "sandbox", "sandboxEnabled"];

/// Returns the first member of an entry that affects how the server is reached and that we do not
/// support.
pub fn unread(entry: &Map<String, Value>) -> Option<&str> {
    let mut said = entry.iter().filter(|(name, value)| !is_empty(name, value));
    said.find(|(name, _)| UNREAD.contains(&name.as_str())).map(|(name, _)| name.as_str())
}

/// Whether two entries mean the same server, whichever program wrote them. The type stdio and an
/// empty environment are defaults.
pub fn same(a: &Map<String, Value>, b: &Map<String, Value>) -> bool {
    reach(a) == reach(b)
}

fn reach(entry: &Map<String, Value>) -> Map<String, Value> {
    let mut reach = Map::new();
    for (name, value) in entry {
        let name = if matches!(name.as_str(), "serverUrl" | "httpUrl") { "url" } else { name };
        if (REACH.contains(&name) || UNREAD.contains(&name)) && !is_empty(name, value) {
            reach.insert(name.to_owned(), value.clone());
        }
    }
    let kind = entry.get("type").or_else(|| entry.get("transport")).and_then(Value::as_str);
    // Any other entry with a command or an address has the usual type.
    if let Some(kind) = kind.filter(|kind| matches!(*kind, "sse" | "process" | "openapi")) {
        reach.insert("type".to_owned(), json!(kind));
    }
    reach
}

/// Whether a member has no effect.
fn is_empty(name: &str, value: &Value) -> bool {
    match value {
        // An empty list of offered tools means that none are offered.
        Value::Array(_) if matches!(name, "includeTools" | "enabled_tools") => false,
        Value::Null | Value::Bool(false) => true,
        Value::Array(items) => items.is_empty(),
        // An object may have an effect without members: `"sandbox": {}` requests a sandbox.
        Value::Object(members) => members.is_empty() && !UNREAD.contains(&name),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(value: Value) -> Read {
        read("s", &value, Some(Path::new("/p/app")), false).unwrap()
    }

    #[test]
    fn variables_of_editors_and_fields_of_codex_become_ours() {
        let read = entry(json!({"command": "${userHome}/x", "args": ["${workspaceFolder}/a"],
            "env": {"T": "${input:git-hub token}", "E": "${env:E}"}, "env_vars": ["PASS"], "x": [1]}));
        assert_eq!(
            Value::Object(read.entry),
            json!({"command": "${HOME}/x", "args": ["/p/app/a"],
            "env": {"T": "${GIT_HUB_TOKEN}", "E": "${env:E}", "PASS": "${PASS}"}, "x": [1], "cwd": "/p/app"})
        );
        assert!(read.notes[0].contains("GIT_HUB_TOKEN"));
        let read = entry(json!({"url": "https://example.org/mcp", "bearer_token_env_var": "TOK",
            "http_headers": {"A": "b"}, "env_http_headers": {"C": "D"}, "enabled": false}));
        assert_eq!(
            Value::Object(read.entry),
            json!({"url": "https://example.org/mcp", "disabled": true,
            "headers": {"Authorization": "Bearer ${TOK}", "A": "b", "C": "${D}"}, "allowPrivate": false})
        );
    }

    #[test]
    fn private_addresses_come_in_disabled_whatever_the_file_says() {
        for url in [
            "http://localhost:3000/mcp",
            "http://169.254.169.254/",
            "http://0x7f.1/",
            "http://[::1]/",
        ] {
            let read = entry(json!({"url": url, "allowPrivate": true}));
            assert_eq!(
                (&read.entry["disabled"], &read.entry["allowPrivate"]),
                (&json!(true), &json!(false)),
                "{url}"
            );
        }
        let allowed =
            super::read("s", &json!({"url": "http://localhost:3000"}), None, true).unwrap();
        assert_eq!(
            Value::Object(allowed.entry),
            json!({"url": "http://localhost:3000", "allowPrivate": true})
        );
    }

    #[test]
    fn a_folder_that_no_project_gives_is_told() {
        let value = json!({"command": "x", "args": ["--root=${workspaceFolder}/a"]});
        let read = super::read("s", &value, None, false).unwrap();
        assert_eq!(read.entry["args"], json!(["--root=${workspaceFolder}/a"]));
        assert!(read.notes[0].starts_with("server `s`: ${workspaceFolder} is"), "{:?}", read.notes);
        assert!(entry(value).notes.is_empty());
    }

    #[test]
    fn what_an_earlier_import_disabled_is_enabled_and_nothing_else() {
        let allowed = json!({"url": "http://localhost:1", "allowPrivate": true});
        let allow = |ours: Value| with_private(&ours, allowed.as_object().unwrap());
        let ours = json!({"url": "http://localhost:1", "disabled": true, "allowPrivate": false});
        assert_eq!(allow(ours).map(Value::Object), Some(allowed.clone()));
        let own = json!({"url": "http://localhost:1", "disabled": true});
        assert_eq!(allow(own).unwrap()["disabled"], true);
        assert_eq!(allow(json!({"disabled": true, "allowPrivate": true})), None);
    }

    #[test]
    fn the_gateway_itself_is_told() {
        let ours = json!({"command": "/usr/bin/toolroute", "args": ["mcp"]});
        assert!(is_ours(ours.as_object().unwrap()));
        let release = json!({"command": "/opt/toolroute-0.1.0-linux", "args": ["mcp"]});
        assert!(is_ours(release.as_object().unwrap()));
        let program = std::env::current_exe().unwrap();
        let renamed = json!({"command": program, "args": ["mcp", "--servers", "servers.json"]});
        assert!(is_ours(renamed.as_object().unwrap()));
        let other = json!({"command": "/usr/bin/toolroute", "args": ["serve"]});
        assert!(!is_ours(other.as_object().unwrap()));
        assert!(!is_ours(json!({"command": "npx", "args": ["mcp"]}).as_object().unwrap()));
    }
}
