//! The answer to `find_tools`.

use std::sync::{Arc, PoisonError};

use rmcp::model::{CallToolResult, ContentBlock, JsonObject, MetaObject};
use serde::Serialize;
use serde::ser::{SerializeMap, Serializer};
use serde_json::json;
use toolroute_catalog::{Tool, one_line, purpose};
use toolroute_rank::engine::{
    Degradation, Fit, FitReason, HeldMatch, NoTools, Omission, SelectedTool,
};
use toolroute_rank::selection::Exclusion;
use toolroute_run::execution::tokens_of;
use toolroute_session::Session;

use super::arguments::{Detail, FindToolsCall};
use super::definition::{Definition, parameters, to_json};
use super::{Gateway, GatewayState};
use crate::service::{LIST_WAIT, off_thread};
use crate::{About, Error, FindResult, UnavailableServer};

/// The most characters of a description in a compact answer.
const SUMMARY_CHARS: usize = 180;

/// The number of ids that a note names if no tool fits.
const NEAREST: usize = 3;

/// The tokens that an answer saves compared with the definitions of all tools. Tokens are estimated
/// as characters divided by four, without a tokenizer.
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
    /// Whether a tool fits. With `unsure` the agent should check the tools before it calls one.
    fit: Fit,
    #[serde(skip_serializing_if = "Option::is_none")]
    fit_reason: Option<&'a FitReason>,
    /// How the query was read, if that differs from its text.
    #[serde(skip_serializing_if = "Option::is_none")]
    read_as: Option<&'a str>,
    /// The parts of the query around its question that were not ranked for.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    left_out: &'a [Omission],
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<String>,
    /// Absent if the session was told it before.
    #[serde(skip_serializing_if = "Option::is_none")]
    unavailable_servers: Option<&'a [UnavailableServer]>,
    /// Tools that would be in `tools` if the user had approved them.
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
    /// Removes the last tools until the answer has at most `budget` tokens. The first tool always
    /// stays.
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
                out.serialize_entry("description", &description(&selected.tool))?;
                out.serialize_entry("parameters", &parameters(&selected.tool))?;
            }
            Detail::Full => Definition::of(&selected.tool).members(&mut out)?,
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

/// The suspicions about a tool, without the text that raised them: a model must not read it again.
fn warnings(found: &SelectedTool) -> Vec<String> {
    let found = found.suspicions().iter();
    found.map(|found| format!("its {} {}", found.field, found.kind)).collect()
}

impl Gateway {
    /// Finds tools and writes the answer. Reading the schemas of many tools takes long, so it is
    /// done on the runtime's blocking pool.
    pub(super) async fn find_tools(&self, call: FindToolsCall) -> Result<CallToolResult, Error> {
        let FindToolsCall { find, detail, budget_tokens } = call;
        let (server, session) = (find.server.clone(), Arc::clone(&find.session));
        self.shared.service.announced_lists(&find).await;
        let found = self.shared.service.find(find).await?;
        let shared = Arc::clone(&self.shared);
        off_thread(move || {
            let mut answer = shared.find_answer(&found, detail, server.as_deref());
            let is_told = tells_servers(&found, server.as_deref(), &session);
            answer.unavailable_servers = answer.unavailable_servers.filter(|_| is_told);
            shared.write_answer(answer, detail, budget_tokens)
        })
        .await?
    }
}

impl GatewayState {
    fn find_answer<'a>(
        &self,
        found: &'a FindResult,
        detail: Detail,
        server: Option<&str>,
    ) -> Answer<'a> {
        let tools = found.selection.tools.iter().map(|selected| Entry {
            selected,
            about: self.service.about(&selected.tool, selected.needs.clone()),
            detail,
        });
        Answer {
            tools: tools.collect(),
            fit: found.selection.fit,
            fit_reason: found.selection.fit_reason.as_ref(),
            read_as: found.selection.read_as.as_deref(),
            left_out: &found.selection.left_out,
            note: joined(
                starting(found).or_else(|| changing(found)).or_else(|| self.note(found, server)),
                self.hidden_by_read_only(found, server),
            ),
            unavailable_servers: Some(&found.unavailable),
            held_back: held(&found.selection.held_back),
            token_metrics: None,
        }
    }

    /// The answer as JSON, with the tokens that it saves compared with all definitions.
    fn write_answer(
        &self,
        mut answer: Answer<'_>,
        detail: Detail,
        budget_tokens: Option<usize>,
    ) -> Result<CallToolResult, Error> {
        if let Some(budget) = budget_tokens {
            answer.fit(budget);
        }
        let returned = to_json(&answer).chars().count();
        let metrics = metrics(self.baseline()?, returned);
        let mut meta = MetaObject::default();
        match detail {
            // In `_meta`, which costs the agent no tokens: only people read the metrics.
            Detail::Compact => {
                let metrics = serde_json::to_value(&metrics).unwrap_or_default();
                meta.0.insert("toolroute/token_metrics".to_owned(), metrics);
            }
            Detail::Full => answer.token_metrics = Some(metrics),
        }
        let mut result = CallToolResult::success(vec![ContentBlock::text(to_json(&answer))]);
        result.meta = (!meta.0.is_empty()).then_some(meta);
        Ok(result)
    }

    /// The note of an answer without tools, the reason and the nearest tools that the client may see, or of one to a prompt
    /// that is not read.
    fn note(&self, found: &FindResult, server: Option<&str>) -> Option<String> {
        let unread =
            "The prompt is in a language that the model here does not read. Ask again in English.";
        let is_unread = found.selection.degraded == Some(Degradation::UnreadLanguage);
        if !found.selection.tools.is_empty() {
            return is_unread.then(|| unread.to_owned());
        }
        let (service, profile) = (&self.service, self.profile.as_deref());
        let excluded = found
            .selection
            .excluded
            .iter()
            .filter(|held| matches!(held.because, Exclusion::Unfit { .. }));
        let visible = excluded.filter_map(|near| service.describe(near.id.as_str(), profile).ok());
        let meant = visible.filter(|tool| server.is_none() || tool.server.as_deref() == server);
        let nearest: Vec<String> = meant.take(NEAREST).map(|tool| tool.id.to_string()).collect();
        // A person or an agent named this server, so the reason matters more than the words.
        if let Some(lost) = found.unavailable.iter().find(|lost| lost.is_lost && server.is_some()) {
            let (server, because) = (lost.server.clone(), lost.because.clone());
            return Some(Error::Unavailable { server, because }.to_string());
        }
        Some(match nearest.is_empty() {
            _ if is_unread => unread.into(),
            _ if found.selection.no_tools == Some(NoTools::EmptyCatalog) => {
                let because = service.all_held(profile).unwrap_or_else(|| {
                    let permissions = "`--allow`, `--deny`, `--read-only`";
                    format!("no server has listed one that is allowed ({permissions})")
                });
                format!(
                    "There is no tool here to choose from: {because}. Asking with other words does \
                     not help."
                )
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

    /// The note if no tool is sure to fit and read-only mode hides some: without it, "no tool here
    /// creates" would be said of a server that has one.
    fn hidden_by_read_only(&self, found: &FindResult, server: Option<&str>) -> Option<String> {
        if found.selection.fit == Fit::Fits {
            return None;
        }
        match self.service.hidden_by_read_only(self.profile.as_deref(), server) {
            0 => None,
            hidden => Some(format!(
                "`--read-only` hides what does not declare that it only reads ({hidden} of the tools), and that may fit."
            )),
        }
    }

    /// The number of characters in the definitions of all tools that the profile admits.
    fn baseline(&self) -> Result<usize, Error> {
        let version = self.service.engine().version();
        let known = *self.baseline.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, chars)) = known.filter(|(of, _)| *of == version) {
            return Ok(chars);
        }
        let mut chars = 0;
        for tool in self.service.catalog().iter() {
            if self.service.sees(tool, self.profile.as_deref())? {
                chars += to_json(&Definition::of(tool)).chars().count();
            }
        }
        *self.baseline.lock().unwrap_or_else(PoisonError::into_inner) = Some((version, chars));
        Ok(chars)
    }
}

/// Whether an answer lists the unavailable servers. An agent keeps what it was told in its context, so
/// the session is told the list once and again when it changes, then also when it became empty.
/// Who names a server, or finds nothing, has to know it anyway.
fn tells_servers(found: &FindResult, server: Option<&str>, session: &Session) -> bool {
    let is_some = !found.unavailable.is_empty();
    if server.is_some() {
        return is_some;
    }
    let said = if is_some { to_json(&found.unavailable) } else { String::new() };
    let is_news = session.is_news(&said);
    is_news || (is_some && found.selection.tools.is_empty())
}

/// Both notes, if there are two.
fn joined(first: Option<String>, second: Option<String>) -> Option<String> {
    match (first, second) {
        (Some(first), Some(second)) => Some(format!("{first} {second}")),
        (first, second) => first.or(second),
    }
}

/// The note if tools may be missing because their servers are starting.
fn starting(found: &FindResult) -> Option<String> {
    let starting = found.unavailable.iter().filter(|server| server.is_starting);
    let names: Vec<&str> = starting.map(|server| server.server.as_str()).collect();
    let still = match names.as_slice() {
        [] => return None,
        [one] => format!("The server {one} is still starting, and its"),
        many => format!("The servers {} are still starting, and their", many.join(", ")),
    };
    Some(format!("{still} tools are not in this answer. Ask again in a few seconds."))
}

/// The note if new tools may be missing because their servers have not listed them in time.
fn changing(found: &FindResult) -> Option<String> {
    let changing = found.unavailable.iter().filter(|server| server.is_changing);
    let names: Vec<&str> = changing.map(|server| server.server.as_str()).collect();
    let seconds = LIST_WAIT.as_secs();
    (!names.is_empty()).then(|| {
        format!(
            "{} announced other tools and has not listed them within {seconds} s, so new ones may be \
             missing. Ask again in a few seconds.",
            names.join(", ")
        )
    })
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

/// The summary of a tool's description. That the tool is deprecated is often said later in the text.
fn description(tool: &Tool) -> String {
    let text = summary(&tool.description);
    match tool.is_deprecated() && !text.to_lowercase().contains("deprecated") {
        true => format!("{text} (deprecated)"),
        false => text,
    }
}

/// The first sentence of a description, cut to [`SUMMARY_CHARS`].
fn summary(description: &str) -> String {
    let text = one_line(purpose(description));
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
    use std::time::{Duration, Instant};

    use serde_json::value::to_raw_value;
    use toolroute_catalog::{Catalog, Schema};

    use super::*;
    use crate::mcp::arguments;
    use crate::{Assembly, FindRequest, GatewayOptions};

    /// A tool whose schema takes long to read.
    fn large_tool() -> Tool {
        let properties: JsonObject =
            (0..20_000).map(|n| (format!("p{n}"), json!({"type": "integer"}))).collect();
        let schema = json!({"type": "object", "properties": properties});
        let mut tool = Tool::new(Some("s"), "add", "Adds numbers");
        tool.input_schema = Some(Schema::new(to_raw_value(&schema).unwrap()));
        tool
    }

    #[tokio::test(flavor = "current_thread")]
    async fn large_schemas_do_not_keep_other_requests_waiting() {
        let catalog = Catalog::from_tools(vec![large_tool()]).catalog;
        let service = Assembly { catalog, ..Assembly::default() }.build().unwrap();
        let gateway = Gateway::new(service, &GatewayOptions::default()).unwrap();
        let found = gateway.shared.service.find(FindRequest::new("add")).await.unwrap();
        let began = Instant::now();
        to_json(&gateway.shared.find_answer(&found, Detail::Compact, None));
        let reading = began.elapsed();
        // A busy machine may pause any thread, so one good try out of several is enough.
        for _ in 0..5 {
            let given = JsonObject::from_iter([("query".to_owned(), json!("add"))]);
            let call = arguments::find(&given, None).unwrap();
            let mut answered = std::pin::pin!(gateway.find_tools(call));
            let (mut latest, mut longest) = (Instant::now(), Duration::ZERO);
            while tokio::time::timeout(Duration::from_millis(1), &mut answered).await.is_err() {
                longest = longest.max(latest.elapsed());
                latest = Instant::now();
            }
            if longest.max(latest.elapsed()) < reading / 2 {
                return;
            }
        }
        panic!("the thread of connections reads schemas, which takes {reading:?}");
    }

    #[test]
    fn a_summary_is_a_sentence() {
        assert_eq!(summary("Reads a file.\n  Then more. And more."), "Reads a file.");
        assert_eq!(summary("No end"), "No end");
        let headed = "\n  🛡️ Guardrails:\n    1.  Warning: it modifies data.\n\n  🎯 Purpose:\n    1. Creates objects\n       in a call. 2. More.\n\n  Returns:\n    1. Ids.";
        assert_eq!(summary(headed), "Creates objects in a call.");
        assert_eq!(
            summary("Notion | Create a page\nError Responses:\n400: Bad"),
            "Notion | Create a page"
        );
        assert_eq!(
            summary("Lists all files\n- of a folder. Now"),
            "Lists all files - of a folder."
        );
        for whole in [
            "Deletes the record.\n\nReturn description:\n- Returns the id",
            "Delete user:\nReturns the deleted user",
            "Deletes:\n- the given file",
        ] {
            assert!(summary(whole).starts_with("Delete"), "{whole}");
        }
        for odd in ["Args:", "- ", "Purpose:\n", ""] {
            assert_eq!(summary(odd), odd.trim());
        }
        let old = Tool::new(None, "read_file", "Reads a file. DEPRECATED: use read_text");
        assert_eq!(description(&old), "Reads a file. (deprecated)");
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
