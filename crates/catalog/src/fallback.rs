//! The declared fallbacks of a tool.

use std::collections::HashSet;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::row::Row;
use crate::{EffectKind, Problem, Severity, Tool};

/// A tool that is called if another one fails. In JSON and TOML it is an id, or
/// `{"tool": "web__search", "safe_after_write": true}`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "IdOrObject", into = "IdOrObject")]
pub struct Fallback {
    /// The id of the tool.
    pub tool: String,
    /// Whether the tool may be called even if the failed tool may have changed something, because
    /// no action is then done twice.
    pub safe_after_write: bool,
}

#[derive(Serialize, Deserialize)]
#[serde(untagged, deny_unknown_fields)]
enum IdOrObject {
    Id(String),
    Object {
        tool: String,
        #[serde(default)]
        safe_after_write: bool,
    },
}

impl From<IdOrObject> for Fallback {
    fn from(form: IdOrObject) -> Self {
        match form {
            IdOrObject::Id(tool) => Self { tool, safe_after_write: false },
            IdOrObject::Object { tool, safe_after_write } => Self { tool, safe_after_write },
        }
    }
}

impl From<&str> for Fallback {
    fn from(id: &str) -> Self {
        Self { tool: id.to_owned(), safe_after_write: false }
    }
}

impl From<Fallback> for IdOrObject {
    fn from(Fallback { tool, safe_after_write }: Fallback) -> Self {
        if safe_after_write { Self::Object { tool, safe_after_write } } else { Self::Id(tool) }
    }
}

const EXPECTED: &str =
    "a list of ids, or of objects such as {\"tool\": \"web__search\", \"safe_after_write\": true}";

/// Reads the member `fallbacks`. A single id is read as a list of one.
pub(super) fn read(routing: &mut Row<'_>) -> Option<Vec<Fallback>> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum OneOrMany {
        One(Fallback),
        Many(Vec<Fallback>),
    }
    Some(match routing.typed("fallbacks", EXPECTED)? {
        OneOrMany::One(one) => vec![one],
        OneOrMany::Many(many) => many,
    })
}

/// Warns of fallbacks that cannot work: ids that no tool has, and fallbacks that would be called
/// only if the tool before them was never reached.
pub(super) fn check(tools: &[Arc<Tool>]) -> Vec<Problem> {
    let mut with_fallbacks =
        tools.iter().filter(|tool| !tool.routing.fallbacks.is_empty()).peekable();
    if with_fallbacks.peek().is_none() {
        return Vec::new();
    }
    let known: HashSet<&str> =
        tools.iter().flat_map(|tool| [tool.id.as_str(), tool.name.as_str()]).collect();
    with_fallbacks.flat_map(|tool| unknown(tool, &known).chain(never_called(tool))).collect()
}

fn unknown(tool: &Tool, known: &HashSet<&str>) -> impl Iterator<Item = Problem> {
    let is_known = |id: &str| known.contains(id) || known.contains(&*id.replacen(':', "__", 1));
    let missing = tool.routing.fallbacks.iter().filter(move |fallback| !is_known(&fallback.tool));
    missing.map(|fallback| {
        let cure = "compare it with the ids of `toolroute tools list`, or take it out";
        warning(tool, "the id of a tool of this catalog", format!("{:?}", fallback.tool), cure)
    })
}

fn never_called(tool: &Tool) -> Option<Problem> {
    let fallbacks = &tool.routing.fallbacks;
    if tool.effects().reads_only() || fallbacks.iter().any(|fallback| fallback.safe_after_write) {
        return None;
    }
    let found = match tool.effects().kind {
        EffectKind::Unknown => "one of unknown effects".to_owned(),
        kind => format!("one that {kind}"),
    };
    let cure = "where it fails after it was reached, no fallback is tried; if it only reads, write \
                hints = { read_only = true } in an overlay, and if a fallback may run all the same, \
                write it as { tool = \"…\", safe_after_write = true }";
    Some(warning(tool, "fallbacks of a tool that only reads", found, cure))
}

fn warning(tool: &Tool, expected: &str, found: String, cure: &str) -> Problem {
    let mut problem = Problem::new(Severity::Warning, expected, found, cure);
    problem.tool = Some(tool.id.to_string());
    problem.field("routing.fallbacks")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tool(name: &str, fallbacks: &[Fallback]) -> Tool {
        let mut tool = Tool::new(Some("s"), name, "");
        tool.routing.fallbacks = fallbacks.to_vec();
        tool
    }

    #[test]
    fn it_is_read_and_written_as_an_id_or_whole() {
        let text = r#"["a",{"tool":"b","safe_after_write":true}]"#;
        let read: Vec<Fallback> = serde_json::from_str(text).unwrap();
        assert!(!read[0].safe_after_write && read[1].safe_after_write);
        assert_eq!(serde_json::to_string(&read).unwrap(), text);
        assert!(serde_json::from_str::<Fallback>(r#"{"tool":"b","safe":true}"#).is_err());
    }

    #[test]
    fn fallbacks_that_cannot_work_are_reported() {
        let safe = Fallback { safe_after_write: true, ..Fallback::from("s__search") };
        let tools = [
            tool("search", &["s__query".into(), "s:query".into()]),
            tool("query", &[]),
            tool("ask", &["s__search".into()]),
            tool("create_issue", &["s__search".into()]),
            tool("update_issue", &[safe]),
            tool("fetch", &["s__gone".into()]),
        ]
        .map(Arc::new);
        let warnings: Vec<String> = check(&tools).iter().map(ToString::to_string).collect();
        let [ask, create, fetch] = warnings.as_slice() else { panic!("{warnings:?}") };
        assert!(ask.contains("s__ask") && ask.contains("one of unknown effects"), "{ask}");
        assert!(create.contains("one that writes") && create.contains("safe_after_write"));
        assert!(fetch.contains("\"s__gone\""), "{fetch}");
    }
}
