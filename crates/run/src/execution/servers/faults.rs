//! What is wrong with a servers file or an entry, in words that name the member.

use serde_json::Value;

/// What a file has in place of an object of servers.
pub(super) fn without_servers(root: &Value) -> String {
    match root {
        Value::Object(members) if members.contains_key("mcpServers") => {
            "one whose `mcpServers` is no object".to_owned()
        }
        Value::Object(members) if members.is_empty() => "an empty object".to_owned(),
        Value::Object(members) => {
            let names: Vec<&str> = members.keys().take(3).map(String::as_str).collect();
            format!("an object with `{}`", names.join("`, `"))
        }
        Value::Array(_) => "a list".to_owned(),
        other => other.to_string(),
    }
}

/// Members that decide what is started and what it may do. A misspelled one has no effect; other
/// unknown members belong to other programs.
const CAREFUL: [&str; 6] =
    ["command", "url", "disabled", "includeTools", "excludeTools", "allowPrivate"];

/// The members of an entry that differ from [`CAREFUL`] ones in case, separators or an `s` only.
pub(super) fn misspelled(entry: &Value) -> Vec<String> {
    let letters = |name: &str| {
        let letters: String = name.chars().filter(|letter| letter.is_alphanumeric()).collect();
        letters.to_lowercase().trim_end_matches('s').to_owned()
    };
    let names = entry.as_object().into_iter().flatten().map(|(name, _)| name);
    let near = names.filter_map(|name| {
        let meant = CAREFUL.iter().find(|known| letters(known) == letters(name))?;
        (name.as_str() != *meant)
            .then(|| format!("unknown member `{name}`; did you mean `{meant}`?"))
    });
    near.collect()
}
