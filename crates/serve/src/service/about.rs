//! Facts about a tool that help an agent to choose it, in addition to its definition.

use std::collections::BTreeMap;

use serde::Serialize;
use toolroute_catalog::{
    EffectKind, Effects, Expansion, LatencyTier, Need, Tool, one_line, shortened,
};
use toolroute_run::execution::tokens_of;

use super::{Error, Service};

/// The effects, cost and requirements of a tool's calls. Unknown values are left out.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct About {
    /// `reads only`, `writes` or `may destroy`; `seems to read only` if nothing declares it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub effects: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub latency: Option<LatencyTier>,
    /// The usual duration of a call in milliseconds: measured, or else declared.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub usual_ms: Option<u64>,
    /// The estimated tokens of a usual answer: measured, or else declared.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub answer_tokens: Option<usize>,
    /// The required parameters, each with an example, its description or its type.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub required: BTreeMap<String, String>,
    /// The tools that return the ids that this one requires.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub ids: Vec<Need>,
    /// Why calls of the tool are refused, whatever their arguments are.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub refused: Option<String>,
}

/// The most characters of a hint on a parameter.
const HINT_CHARS: usize = 80;

impl Service {
    /// The effects, cost and requirements of a tool's calls, with the `ids` that it requires. It reads the tool's schema, which may
    /// be large, so it must not run on a thread that serves connections.
    #[doc(hidden)] // For our own crates.
    pub fn about(&self, tool: &Tool, ids: Vec<Need>) -> About {
        let estimate = self.executor().map(|executor| executor.estimate(tool));
        let measured = estimate.filter(|estimate| estimate.learned);
        let declared = tool.routing.call_hints.typical_tokens.map(|tokens| tokens as usize);
        let measured_ms = measured.and_then(|estimate| estimate.latency_ms);
        let usual_ms = measured_ms.or(tool.latency_ms);
        About {
            effects: named(tool.effects()),
            latency: usual_ms.map(LatencyTier::from_ms).or(tool.latency_tier()),
            usual_ms,
            answer_tokens: measured.map(|estimate| tokens_of(estimate.chars)).or(declared),
            required: required(tool),
            ids,
            refused: tool.input_schema.as_ref().and_then(Expansion::refusal).map(|e| e.to_string()),
        }
    }

    /// The tools that return the ids that a tool requires, as far as the profile admits them.
    pub(crate) fn needs(&self, tool: &Tool, profile: Option<&str>) -> Result<Vec<Need>, Error> {
        let (view, catalog) = (self.view(profile)?, self.catalog());
        let tools = catalog.tools();
        Ok(catalog.needs_from(tool, |row| view.admits(&tools[row as usize])))
    }
}

/// A guess that a tool only reads is told as one, because `--read-only` does not count it.
fn named(effects: Effects) -> Option<&'static str> {
    match effects.kind {
        EffectKind::Unknown => None,
        EffectKind::ReadsOnly if !effects.declares_reads_only() => Some("seems to read only"),
        kind => Some(kind.as_str()),
    }
}

fn required(tool: &Tool) -> BTreeMap<String, String> {
    let schema = tool.input_schema.as_ref().and_then(|schema| schema.to_value());
    let schema = schema.unwrap_or_default();
    let hints = &tool.routing.parameter_hints;
    let names =
        toolroute_catalog::required(&schema).chain(hints.required.iter().map(String::as_str));
    let hint = |name: &str| {
        let about = &schema["properties"][name];
        let said = hints
            .examples
            .get(name)
            .or_else(|| about["examples"].get(0))
            .or_else(|| about.get("example"))
            .or_else(|| about.get("default"))
            .map(|example| format!("such as {example}"))
            .or_else(|| about["description"].as_str().map(str::to_owned))
            .or_else(|| about["type"].as_str().map(str::to_owned));
        (
            name.to_owned(),
            shortened(&one_line(&said.unwrap_or_else(|| "any".to_owned())), HINT_CHARS),
        )
    };
    names.map(hint).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use serde_json::value::to_raw_value;
    use toolroute_catalog::Schema;

    use super::*;

    #[test]
    fn a_required_parameter_has_an_example_or_a_hint() {
        let mut tool = Tool::new(None, "query", "");
        let schema = json!({
            "type": "object", "required": ["q", "year", "at", "kind", "else"],
            "properties": {
                "q": {"type": "string", "description": "Words"},
                "year": {"type": "integer", "examples": [1998]},
                "at": {"type": "string", "description": "Where  it\n happened. ".repeat(9)},
                "kind": {"type": "boolean"},
            },
        });
        tool.input_schema = Some(Schema::new(to_raw_value(&schema).unwrap()));
        tool.routing.parameter_hints.examples.insert("q".into(), json!("population of Haifa"));
        let hints = required(&tool);
        assert_eq!(hints["q"], "such as \"population of Haifa\"");
        assert_eq!((hints["year"].as_str(), hints["kind"].as_str()), ("such as 1998", "boolean"));
        assert!(hints["at"].ends_with('…') && hints["at"].chars().count() <= HINT_CHARS + 1);
        assert_eq!(hints["else"], "any");
    }
}
