//! Edits Codex's configuration, which is TOML, in place.

use std::collections::BTreeSet;

use anyhow::Context as _;
use serde_json::Value;
use toml_edit::{DocumentMut, Item, Table, value as item};

const SERVERS: &str = "mcp_servers";

/// Converts the document to JSON.
pub fn value(text: &str) -> anyhow::Result<Value> {
    let root: toml::Table = toml::from_str(text).context("no TOML")?;
    Ok(serde_json::to_value(root)?)
}

/// Adds a server with this name, command and arguments, and removes the servers that it replaces.
pub fn set(
    text: &str,
    name: &str,
    entry: &Value,
    replaced_servers: &BTreeSet<String>,
) -> anyhow::Result<String> {
    let mut document: DocumentMut = text.parse().context("no TOML")?;
    let servers = document.entry(SERVERS).or_insert_with(|| {
        let mut table = Table::new();
        table.set_implicit(true);
        Item::Table(table)
    });
    let servers = servers.as_table_like_mut().context("`mcp_servers` is no table")?;
    replaced_servers
        .iter()
        .filter(|other| *other != name)
        .for_each(|other| _ = servers.remove(other));
    let mut table = Table::new();
    table["command"] = item(entry["command"].as_str().unwrap_or_default());
    let args = entry["args"].as_array().into_iter().flatten().filter_map(Value::as_str);
    table["args"] = item(args.collect::<toml_edit::Array>());
    servers.insert(name, Item::Table(table));
    Ok(document.to_string())
}

/// Removes a server, and restores those of `before` that are missing.
pub fn restore(text: &str, name: &str, before: &str) -> anyhow::Result<String> {
    let mut document: DocumentMut = text.parse().context("no TOML")?;
    let before: DocumentMut = before.parse().unwrap_or_default();
    if let Some(servers) = document.get_mut(SERVERS).and_then(Item::as_table_like_mut) {
        servers.remove(name);
        let earlier = before.get(SERVERS).and_then(Item::as_table_like);
        for (other, entry) in earlier.into_iter().flat_map(|table| table.iter()) {
            if !servers.contains_key(other) {
                servers.insert(other, entry.clone());
            }
        }
    }
    Ok(document.to_string())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const TEXT: &str = "model = \"x\" # mine\n\n[mcp_servers.a]\ncommand = \"c\"\n";

    #[test]
    fn what_is_not_meant_stays_as_it_is() {
        let ours = json!({"command": "toolroute", "args": ["mcp"]});
        let none = BTreeSet::new();
        let set_text = set(TEXT, "toolroute", &ours, &none).unwrap();
        assert!(
            set_text.starts_with(TEXT) && set_text.contains("[mcp_servers.toolroute]"),
            "{set_text}"
        );
        assert_eq!(value(&set_text).unwrap()["mcp_servers"]["toolroute"], ours);
        assert_eq!(set(&set_text, "toolroute", &ours, &none).unwrap(), set_text);
        let alone = set(TEXT, "toolroute", &ours, &["a".to_owned()].into()).unwrap();
        assert_eq!(value(&alone).unwrap()["mcp_servers"].as_object().unwrap().len(), 1);
        let back = restore(&alone, "toolroute", TEXT).unwrap();
        assert_eq!(value(&back).unwrap(), value(TEXT).unwrap());
        assert_eq!(value(&set("", "t", &ours, &none).unwrap()).unwrap()["mcp_servers"]["t"], ours);
    }
}
