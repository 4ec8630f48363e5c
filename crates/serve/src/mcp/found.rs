//! The answer to `find_tools`.

use std::sync::PoisonError;

use rmcp::model::{CallToolResult, ContentBlock, JsonObject, MetaObject};
use serde::Serialize;
use serde::ser::{SerializeMap, Serializer};
use serde_json::json;

use super::super::{About, Error, Found, Unavailable};
use super::Gateway;
use super::arguments::{Asked, Detail};
use super::definition::{Definition, parameters};
use crate::engine::{Degradation, HeldMatch, NoTools, SelectedTool};
use crate::execution::tokens_of;

/// Characters of a description in a compact answer.
const SUMMARY_CHARS: usize = 180;

/// Ids that are named where nothing fits.
const NEAREST: usize = 3;

/// What an answer saves against all definitions at once. Tokens are characters divided by four: no
/// tokenizer is asked, so they are estimates, and say so.
#[derive(Serialize)]
struct TokenMetrics {
    baseline_tokens: usize,
    returned_tokens: usize,
    savings_percent: f64,
    estimated: bool,
}

#[derive(Serialize)]
struct Answer<'a> {
    tools: Vec<Entry<'a>>,
    /// The query as it was understood, where that is not what was written.
    #[serde(skip_serializing_if = "Option::is_none")]
    read_as: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<String>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    unavailable_servers: &'a [Unavailable],
    /// Tools that would stand here and that the user has to approve first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    held_back: Vec<HeldEntry<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    token_metrics: Option<TokenMetrics>,
}

#[derive(Serialize)]
struct HeldEntry<'a> {
    id: &'a str,
    because: String,
}

fn held(held: &[HeldMatch]) -> Vec<HeldEntry<'_>> {
    let because = |held: &HeldMatch| format!("Tell the user: {}", held.because);
    held.iter().map(|held| HeldEntry { id: held.id.as_str(), because: because(held) }).collect()
}

impl Answer<'_> {
    /// Leaves the last tools out until it has so many tokens at most; the first stays in any case.
    fn fit(&mut self, budget: usize) {
        let mut left_out = 0;
        while self.tools.len() > 1 && tokens_of(to_json(self).chars().count()) > budget {
            self.tools.pop();
            left_out += 1;
            let more = "more fit, but not into budget_tokens";
            self.note = Some(format!("{left_out} {more}."));
        }
    }
}

/// One tool of an answer.
struct Entry<'a> {
    selected: &'a SelectedTool,
    about: About,
    detail: Detail,
}

impl Serialize for Entry<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut out = serializer.serialize_map(None)?;
        let Self { selected, about, detail } = self;
        match detail {
            Detail::Compact => {
                out.serialize_entry("id", &selected.tool.id)?;
                out.serialize_entry("description", &summary(&selected.tool.description))?;
                out.serialize_entry("parameters", &parameters(&selected.tool))?;
            }
            Detail::Full => Definition(&selected.tool).members(&mut out)?,
        }
        out.serialize_entry("about", about)?;
        out.serialize_entry("score", &rounded(selected.score))?;
        if *detail == Detail::Full {
            let parts = selected.explanation.parts.iter();
            let signals: JsonObject = parts
                .map(|part| (part.name.to_owned(), json!(rounded(part.contribution))))
                .collect();
            out.serialize_entry("signals", &signals)?;
        }
        out.serialize_entry("why", &selected.explanation.why)?;
        let warnings = warnings(selected);
        if !warnings.is_empty() {
            out.serialize_entry("warnings", &warnings)?;
        }
        out.end()
    }
}

/// What is suspicious in a tool, without the words that made it so: a model must not read them
/// twice.
fn warnings(found: &SelectedTool) -> Vec<String> {
    let found = found.suspicions().iter();
    found.map(|found| format!("its {} {}", found.field, found.kind)).collect()
}

impl Gateway {
    /// Finds what was asked and writes it down.
    pub(super) async fn found(&self, asked: Asked) -> Result<CallToolResult, Error> {
        let (detail, server) = (asked.detail, asked.find.server.clone());
        let service = &self.shared.service;
        let found = service.find(asked.find).await?;
        let baseline = self.baseline()?;
        let tools = found.selection.tools.iter().map(|selected| Entry {
            selected,
            about: service.about(&selected.tool),
            detail,
        });
        let mut answer = Answer {
            tools: tools.collect(),
            read_as: found.selection.read_as.as_deref(),
            note: starting(&found).or_else(|| self.note(&found, server.as_deref())),
            unavailable_servers: &found.unavailable,
            held_back: held(&found.selection.held_back),
            token_metrics: None,
        };
        if let Some(budget) = asked.budget_tokens {
            answer.fit(budget);
        }
        let returned = to_json(&answer).chars().count();
        let metrics = metrics(baseline, returned);
        let mut meta = MetaObject::default();
        match detail {
            // What only people look at must not cost the agent's tokens.
            Detail::Compact => {
                let told = serde_json::to_value(&metrics).unwrap_or_default();
                meta.0.insert("toolroute/token_metrics".to_owned(), told);
            }
            Detail::Full => answer.token_metrics = Some(metrics),
        }
        let mut result = CallToolResult::success(vec![ContentBlock::text(to_json(&answer))]);
        result.meta = (!meta.0.is_empty()).then_some(meta);
        Ok(result)
    }

    /// What is said where there is no tool: the nearest ones that the client may see.
    fn note(&self, found: &Found, server: Option<&str>) -> Option<String> {
        if !found.selection.tools.is_empty() {
            return None;
        }
        let (service, profile) = (&self.shared.service, self.shared.profile.as_deref());
        let excluded = found.selection.excluded.iter();
        let seen = excluded.filter_map(|near| service.describe(near.id.as_str(), profile).ok());
        let meant = seen.filter(|tool| server.is_none() || tool.server.as_deref() == server);
        let nearest: Vec<String> = meant.take(NEAREST).map(|tool| tool.id.to_string()).collect();
        let unread =
            "The prompt is in a language that the model here does not read. Ask again in English.";
        let is_unread = found.selection.degraded == Some(Degradation::UnreadLanguage);
        Some(match nearest.is_empty() {
            _ if is_unread => unread.into(),
            _ if found.selection.no_tools == Some(NoTools::EmptyCatalog) => {
                "There is no tool here to choose from: no server has listed any. Asking with other \
                 words does not help."
                    .into()
            }
            _ if found.selection.no_tools == Some(NoTools::Filtered) => {
                "Tools were found, and the filters leave none of them: the profile, server, \
                 min_score or context. Ask without them."
                    .into()
            }
            true => "No tool fits. Ask with other words, or without server and min_score.".into(),
            false => format!(
                "No tool fits well enough. The nearest are {}; describe_tool shows what they do.",
                nearest.join(", ")
            ),
        })
    }

    /// Characters of all definitions that this gateway stands for.
    fn baseline(&self) -> Result<usize, Error> {
        let shared = &self.shared;
        let version = shared.service.engine().version();
        let known = *shared.baseline.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, chars)) = known.filter(|(of, _)| *of == version) {
            return Ok(chars);
        }
        let mut chars = 0;
        for tool in shared.service.catalog().iter() {
            if shared.service.sees(tool, shared.profile.as_deref())? {
                chars += Definition(tool).to_json().chars().count();
            }
        }
        *shared.baseline.lock().unwrap_or_else(PoisonError::into_inner) = Some((version, chars));
        Ok(chars)
    }
}

/// What is said where tools of servers that are starting may be missing.
fn starting(found: &Found) -> Option<String> {
    let starting = found.unavailable.iter().filter(|server| server.is_starting);
    let names: Vec<&str> = starting.map(|server| server.server.as_str()).collect();
    let still = match names.as_slice() {
        [] => return None,
        [one] => format!("The server {one} is still starting, and its"),
        many => format!("The servers {} are still starting, and their", many.join(", ")),
    };
    Some(format!("{still} tools are not in this answer. Ask again in a few seconds."))
}

fn to_json(answer: &Answer<'_>) -> String {
    serde_json::to_string(answer).expect("an answer has string keys only. This is a bug.")
}

fn metrics(baseline: usize, returned: usize) -> TokenMetrics {
    let (baseline, returned) = (tokens_of(baseline), tokens_of(returned));
    let saved = baseline.saturating_sub(returned);
    let percent = 100.0 * saved as f64 / baseline.max(1) as f64;
    TokenMetrics {
        baseline_tokens: baseline,
        returned_tokens: returned,
        savings_percent: (percent * 10.0).round() / 10.0,
        estimated: true,
    }
}

fn rounded(score: f32) -> f64 {
    (f64::from(score) * 1_000.0).round() / 1_000.0
}

/// The first sentence, or as much as is short.
fn summary(description: &str) -> String {
    let text: Vec<&str> = description.split_whitespace().collect();
    let text = text.join(" ");
    let sentence = text.find(". ").map_or(text.as_str(), |end| &text[..=end]);
    if sentence.chars().count() <= SUMMARY_CHARS {
        return sentence.to_owned();
    }
    let cut: String = sentence.chars().take(SUMMARY_CHARS).collect();
    let end = cut.rfind(' ').unwrap_or(cut.len());
    format!("{}…", &cut[..end])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_summary_is_a_sentence() {
        assert_eq!(summary("Reads a file.\n  Then more. And more."), "Reads a file.");
        assert_eq!(summary("No end"), "No end");
        let long = summary(&"Ünïcödé words ".repeat(100));
        assert!(long.chars().count() <= SUMMARY_CHARS + 1 && long.ends_with('…'), "{long}");
    }

    #[test]
    fn savings_never_go_below_nothing() {
        assert_eq!(metrics(40, 400).savings_percent, 0.0);
        assert_eq!(metrics(0, 0).savings_percent, 0.0);
        assert_eq!(metrics(4_000, 400).savings_percent, 90.0);
    }
}
