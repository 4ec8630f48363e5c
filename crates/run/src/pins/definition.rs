//! The part of a tool that is pinned, as canonical text.

use serde::Serialize;
use serde_json::{Map, Value, json};

use super::canonical::parse_exact;
use toolroute_catalog::{Tool, pointer_part};
use toolroute_vectors::durable::sha256_hex;

/// The fields of a tool that its server controls. Tiers, tags and routing are the user's, and hints
/// come from the annotations, which are part of `mcp`.
const FIELDS: [&str; 7] =
    ["server", "name", "title", "description", "input_schema", "operation", "mcp"];

/// The members that only describe the tool, so that no call depends on them. Descriptions of
/// parameters are part of the schema and do not belong here.
const DESCRIPTIVE_FIELDS: [&str; 3] = ["title", "description", "mcp/annotations/title"];

/// A tool's definition in canonical form (RFC 8785), and its hash.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Definition {
    /// The canonical text that was hashed.
    pub(super) canonical: String,
    /// The hash, as 64 hexadecimal digits.
    pub(super) sha256: String,
}

impl Definition {
    pub fn of(tool: &Tool) -> Self {
        let whole = serde_json::to_string(tool).unwrap_or_default();
        let members: Map<String, Value> = fields(&whole)
            .into_iter()
            .filter(|(name, _)| FIELDS.contains(&name.as_str()))
            .collect();
        Self::of_value(&Value::Object(members))
    }

    /// Returns a hash of the whole serialised tool, including overlays. Equal hashes imply equal
    /// definitions; the reverse does not hold. It takes a tenth of the time of computing the
    /// definition.
    pub(super) fn shortcut(tool: &Tool) -> String {
        sha256_hex(serde_json::to_string(tool).unwrap_or_default().as_bytes())
    }

    pub(super) fn of_value(value: &Value) -> Self {
        let canonical = serde_json_canonicalizer::to_string(value);
        // This cannot fail for a value, and the plain text would be just as strict.
        let canonical = canonical.unwrap_or_else(|_| value.to_string());
        let sha256 = sha256_hex(canonical.as_bytes());
        Self { canonical, sha256 }
    }
}

/// Returns a tool's members. A member whose value would not represent its text exactly is kept as
/// text.
fn fields(tool: &str) -> Map<String, Value> {
    let raw: std::collections::BTreeMap<String, Box<serde_json::value::RawValue>> =
        serde_json::from_str(tool).unwrap_or_default();
    let value = |text: &str| parse_exact(text).unwrap_or_else(|| json!({"as_written": text}));
    raw.into_iter().map(|(name, raw)| (name, value(raw.get()))).collect()
}

/// One place at which two definitions differ.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FieldChange {
    /// The place, as a JSON pointer without its first slash.
    pub path: String,
    /// The text when it was agreed to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub before: Option<Value>,
    /// The text now.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub after: Option<Value>,
}

/// Whether two definitions differ only in descriptions of the tool.
pub(super) fn is_reworded(before: &Value, after: &Value) -> bool {
    let found = changes(before, after);
    !found.is_empty()
        && found.iter().all(|change| DESCRIPTIVE_FIELDS.contains(&change.path.as_str()))
}

/// Whether two definitions differ only in the order of names between commas, in defaults of parameters: a server that
/// joins a set writes them in another order at each start. Two values, or numbers, may be a pair whose order counts.
pub(super) fn is_reordered(before: &Value, after: &Value) -> bool {
    let is_order = |change: &FieldChange| {
        let path: Vec<&str> = change.path.split('/').collect();
        let text = |value: Option<&'_ Value>| value.and_then(Value::as_str).map(str::to_owned);
        let texts = [text(change.before.as_ref()), text(change.after.as_ref())];
        let [before, after] = texts.each_ref().map(|text| sorted_names(text.as_deref()?));
        matches!(path[..], ["input_schema", "properties", _, "default"])
            && before.is_some()
            && before == after
    };
    let found = changes(before, after);
    !found.is_empty() && found.iter().all(is_order)
}

/// The names in a text with commas, sorted; `None` for any other text.
fn sorted_names(text: &str) -> Option<Vec<&str>> {
    let mut names: Vec<&str> = text.split(',').collect();
    let is_name = |name: &&str| {
        name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
            && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
    };
    names.sort_unstable();
    (names.len() > 2 && names.iter().all(is_name)).then_some(names)
}

/// Returns all places at which two definitions differ, by path.
pub(super) fn changes(before: &Value, after: &Value) -> Vec<FieldChange> {
    let mut found = Vec::new();
    compare("", Some(before), Some(after), &mut found);
    found
}

fn compare(
    path: &str,
    before: Option<&Value>,
    after: Option<&Value>,
    found: &mut Vec<FieldChange>,
) {
    if before == after {
        return;
    }
    let (Some(Value::Object(old)), Some(Value::Object(new))) = (before, after) else {
        let path = path.trim_start_matches('/').to_owned();
        found.push(FieldChange { path, before: before.cloned(), after: after.cloned() });
        return;
    };
    let mut names: Vec<&String> = old.keys().chain(new.keys()).collect();
    names.sort_unstable();
    names.dedup();
    for name in names {
        let inner = format!("{path}/{}", pointer_part(name));
        compare(&inner, old.get(name), new.get(name), found);
    }
}
