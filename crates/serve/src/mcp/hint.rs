//! A short hint on what the catalog contains. Without it, agents do not search.

use std::collections::{BTreeMap, BTreeSet};

use toolroute_catalog::{Tool, split_identifier};

use crate::{Error, ServerState, Service, Status};

/// The most characters of a hint: about 150 tokens, which every request costs.
const MOST_CHARS: usize = 600;

const SUBJECTS: usize = 5;

/// Words in names of tools that are not subjects.
const EMPTY_WORDS: [&str; 28] = [
    "a", "add", "all", "and", "by", "call", "create", "delete", "do", "for", "from", "get", "in",
    "is", "list", "of", "on", "one", "or", "read", "remove", "run", "set", "the", "to", "tool",
    "update", "with",
];

/// The hint for clients of a profile: the number of tools, the names of the servers, and as many
/// subjects of each as there is room for. A server without known tools is named unless it is never
/// started or its tools are held back. Whether it has failed by now is not considered: a failure
/// takes as long as it takes, and equal configurations are to give equal hints.
pub fn catalog_hint(service: &Service, profile: Option<&str>) -> Result<String, Error> {
    let catalog = service.catalog();
    let mut by_server: BTreeMap<String, Vec<&Tool>> = BTreeMap::new();
    for tool in catalog.iter() {
        if service.sees(tool, profile)? {
            let server = tool.server.clone().unwrap_or_default();
            by_server.entry(server).or_default().push(tool);
        }
    }
    let may_have = |state: &ServerState| {
        !matches!(state.status, Status::LeftOut { .. }) && state.held_back == 0
    };
    for state in service.visible_servers(profile)?.into_iter().filter(may_have) {
        by_server.entry(state.name).or_default();
    }
    Ok(written(&by_server))
}

fn written(by_server: &BTreeMap<String, Vec<&Tool>>) -> String {
    let tools: usize = by_server.values().map(Vec::len).sum();
    if by_server.is_empty() {
        return String::new();
    }
    let mut hint = match tools {
        0 => "There are tools of:".to_owned(),
        1 => "There is 1 tool:".to_owned(),
        _ => format!("There are {tools} tools:"),
    };
    let mut room = MOST_CHARS.saturating_sub(hint.chars().count());
    let mut named = Vec::new();
    for (server, tools) in by_server {
        let name = if server.is_empty() { "others" } else { server };
        let Some(left) = room.checked_sub(name.chars().count() + "; ".len()) else { break };
        room = left;
        named.push((name, subjects(server, tools), 0));
    }
    // Each server gets its next word in turn, so that none has five while another has none.
    for nth in 0..SUBJECTS {
        for (_, subjects, shown) in &mut named {
            let Some(word) = subjects.get(nth).filter(|_| *shown == nth) else { continue };
            // The brackets of the first word, the comma before any other.
            let around = if nth == 0 { " ()" } else { ", " }.len();
            let Some(left) = room.checked_sub(word.chars().count() + around) else { continue };
            (room, *shown) = (left, nth + 1);
        }
    }
    for (name, subjects, shown) in &named {
        hint.push_str(&match subjects[..*shown].join(", ") {
            about if about.is_empty() => format!(" {name};"),
            about => format!(" {name} ({about});"),
        });
    }
    let left = by_server.len() - named.len();
    if left > 0 {
        hint.push_str(&format!(" and {left} more servers;"));
    }
    hint.pop();
    hint.push('.');
    hint
}

/// The most frequent words in the names of the server's tools. Equally frequent words are sorted
/// alphabetically.
fn subjects(server: &str, tools: &[&Tool]) -> Vec<String> {
    let own = split_identifier(server).to_lowercase();
    let own: BTreeSet<&str> = own.split_whitespace().collect();
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for tool in tools {
        let words = split_identifier(&tool.name).to_lowercase();
        let words: BTreeSet<&str> = words.split_whitespace().collect();
        let says = |word: &&str| {
            word.chars().count() > 2 && !EMPTY_WORDS.contains(word) && !own.contains(word)
        };
        for word in words.into_iter().filter(says) {
            *counts.entry(word.to_owned()).or_default() += 1;
        }
    }
    let mut counts: Vec<(String, usize)> = counts.into_iter().collect();
    counts.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    counts.into_iter().take(SUBJECTS).map(|(word, _)| word).collect()
}

#[cfg(test)]
mod tests {
    use toolroute_catalog::Catalog;

    use super::*;

    fn hint(tools: &[(&str, &str)]) -> String {
        let tools: Vec<Tool> =
            tools.iter().map(|(server, name)| Tool::new(Some(server), name, "x")).collect();
        let catalog = Catalog::from_tools(tools).catalog;
        let mut by_server: BTreeMap<String, Vec<&Tool>> = BTreeMap::new();
        for tool in catalog.iter() {
            by_server.entry(tool.server.clone().unwrap()).or_default().push(tool);
        }
        written(&by_server)
    }

    #[test]
    fn a_hint_names_servers_and_what_their_tools_are_about() {
        let tools = [
            ("files", "read_text_file"),
            ("files", "list_directory"),
            ("files", "create_directory"),
            ("mail", "send_email"),
        ];
        assert_eq!(
            hint(&tools),
            "There are 4 tools: files (directory, file, text); mail (email, send)."
        );
    }

    #[test]
    fn servers_are_named_before_anything_is_said_about_them() {
        let names: Vec<String> = (0..30).map(|n| format!("server{n:02}")).collect();
        let tools = ["alpha", "bravo", "carol", "delta", "early"];
        let tools: Vec<(&str, &str)> =
            names.iter().flat_map(|name| tools.map(|tool| (name.as_str(), tool))).collect();
        let hint = hint(&tools);
        assert!(names.iter().all(|name| hint.contains(name)), "{hint}");
        assert!(hint.chars().count() <= MOST_CHARS && !hint.contains("more servers"), "{hint}");
        let has_a_word = |name: &String| hint.contains(&format!("{name} (alpha"));
        assert!(names.iter().all(has_a_word), "{hint}");
        assert!(hint.contains("server00 (alpha, bravo); "), "{hint}");
        assert!(hint.contains("server29 (alpha)."), "{hint}");
    }

    #[test]
    fn a_hint_stays_short() {
        let names: Vec<String> = (0..500).map(|n| format!("server-number-{n:03}")).collect();
        let tools: Vec<(&str, &str)> = names.iter().map(|name| (name.as_str(), "look")).collect();
        let hint = hint(&tools);
        assert!(hint.chars().count() <= MOST_CHARS + 30, "{hint}");
        assert!(hint.ends_with(" more servers."), "{hint}");
    }
}
