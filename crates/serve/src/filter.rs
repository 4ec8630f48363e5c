//! Removes tools that the messages of a request to a language model do not need.
//!
//! The filter reads request bodies of OpenAI (chat completions, responses) and Anthropic
//! (messages). It removes only functions of the caller. Tools that the provider runs, that the
//! request forces or that the conversation has used stay, and so does every element that the filter
//! does not understand. All other bytes stay as they are, because the providers' caches and
//! signatures depend on them.
//!
//! A request may contain a text `prompt` beside its messages. The tools are then ranked for it
//! instead of the user's last message.

mod body;
mod conversation;
mod element;
mod skip_reason;

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use element::ListElement;
use serde::Serialize;
use serde_json::value::RawValue;
use sha2::{Digest, Sha256};
use thiserror::Error as ThisError;
use toolroute_catalog::{Catalog, Tool};
use toolroute_rank::engine::{self, Context, Engine, SelectRequest, Selection};
use utoipa::ToSchema;

use body::Outline;
pub use conversation::Conversation;
use conversation::own_prompt;
pub use skip_reason::SkipReason;

/// The default number of tools to keep.
pub const DEFAULT_KEEP: usize = 10;

/// The longest list of tools that is ranked. Ranking more would take longer than the model does.
pub(crate) const MOST_TOOLS: usize = 4_096;

/// The members that may contain the list. OpenAI first called it `functions`.
const LISTS: [&str; 2] = ["tools", "functions"];

/// A body after filtering, with a report.
#[derive(Debug)]
pub struct FilteredBody<'a> {
    pub body: Cow<'a, [u8]>,
    pub report: FilterReport,
}

/// How many tools were removed, and which: the member `toolroute` of an answer with `report=body`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, ToSchema)]
#[schema(as = CutReport)]
pub struct FilterReport {
    /// The number of tools before.
    pub tools: usize,
    /// The number of tools after.
    pub kept: usize,
    /// Names of the removed tools, in their order.
    pub dropped: Vec<String>,
    /// Why the tools were not ranked, if they were not.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, required = false, nullable = false)]
    pub untouched: Option<SkipReason>,
    /// Each function of the request with its score, in their order, if they were ranked and scores
    /// were asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(required = false, nullable = false)]
    pub scores: Option<Vec<ToolScore>>,
}

/// How well a function of a request fits its prompt.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
#[schema(as = ScoreDoc)]
pub struct ToolScore {
    pub name: String,
    /// The score in a selection; absent if no part of the tool matches the prompt.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(required = false, nullable = false)]
    pub score: Option<f32>,
    /// Whether the tool is kept.
    pub kept: bool,
}

#[derive(Debug, ThisError)]
#[non_exhaustive]
pub enum FilterError {
    #[error("expected a request body, a JSON object; {0}")]
    NotARequest(String),

    #[error("expected `prompt` or `query`, found both with different texts")]
    TwoPrompts,

    #[error(transparent)]
    Engine(#[from] engine::Error),
}

/// Filters a body. At most `keep` tools stay, in addition to those that must stay.
pub fn filter<'a>(
    engine: &Engine,
    body: &'a [u8],
    keep: usize,
) -> Result<FilteredBody<'a>, FilterError> {
    filtered(engine, body, keep, false)
}

/// [`filter`], with the score of each function in the report if `with_scores`.
pub fn filtered<'a>(
    engine: &Engine,
    body: &'a [u8],
    keep: usize,
    with_scores: bool,
) -> Result<FilteredBody<'a>, FilterError> {
    let text = std::str::from_utf8(body);
    let text = text.map_err(|_| {
        let found = "found bytes that are no UTF-8, such as those of a compressed body";
        FilterError::NotARequest(found.into())
    })?;
    let outline = Outline::parse(text);
    let outline = outline.map_err(|error| FilterError::NotARequest(body::place_of(&error)))?;
    let prompt = own_prompt(&outline)?;
    let lists = outline.lists(&LISTS);
    let list = match lists.as_slice() {
        [] => return Ok(untouched(body, 0, SkipReason::NoTools)),
        [list] => list,
        more => {
            return Ok(untouched(body, more.iter().map(Vec::len).sum(), SkipReason::TwoLists));
        }
    };
    let wanted = CutRequest { prompt, keep: keep.max(1), with_scores };
    match cut(engine, &outline, list, wanted)? {
        Err(because) => Ok(untouched(body, list.len(), because)),
        Ok((rows, report)) => {
            let text = body::without(text, list, &rows);
            Ok(FilteredBody { body: Cow::Owned(text.into_bytes()), report })
        }
    }
}

fn untouched<'a>(body: &'a [u8], tools: usize, because: SkipReason) -> FilteredBody<'a> {
    let untouched = Some(because);
    let report = FilterReport { tools, kept: tools, untouched, ..FilterReport::default() };
    FilteredBody { body: Cow::Borrowed(body), report }
}

/// How the tools of a request are ranked.
struct CutRequest {
    /// The text to rank for, if it is not the last message of the user.
    prompt: Option<String>,
    keep: usize,
    with_scores: bool,
}

/// The positions of the elements to remove, with the report, or the reason why all stay.
fn cut(
    engine: &Engine,
    outline: &Outline<'_>,
    list: &[&RawValue],
    CutRequest { prompt, keep, with_scores }: CutRequest,
) -> Result<Result<(BTreeSet<usize>, FilterReport), SkipReason>, engine::Error> {
    if list.len() > MOST_TOOLS {
        return Ok(Err(SkipReason::ManyTools));
    }
    let keep = capped(engine, outline, keep);
    let listed: Vec<ListElement> = list.iter().map(|raw| ListElement::read(raw)).collect();
    let functions: BTreeSet<&str> = listed.iter().filter_map(ListElement::function).collect();
    if functions.is_empty() && listed.contains(&ListElement::Unread) {
        return Ok(Err(SkipReason::Format));
    }
    if functions.len() <= keep {
        return Ok(Err(SkipReason::FewTools));
    }
    let conversation = Conversation::read(outline);
    let (prompt, conversation_before) = match prompt {
        Some(prompt) => (Some(prompt.clone()), conversation.before(&prompt)),
        None => (conversation.prompt(), conversation.history()),
    };
    let Some(prompt) = prompt else {
        return Ok(Err(SkipReason::NoPrompt));
    };
    let context = Context { conversation: conversation_before, ..Context::default() };
    let request = SelectRequest::new(prompt).limit(keep).adaptive(false).context(context);
    let (key, tools) = (key(list, &listed), || tools(list, &listed));
    let selection = engine.select_among(&key, tools, &request)?;
    if selection.degraded == Some(engine::Degradation::UnreadLanguage) {
        return Ok(Err(SkipReason::Language));
    }
    let selected: BTreeSet<&str> =
        selection.tools.iter().map(|found| found.tool.name.as_str()).collect();
    let goes = |name: &&str| !selected.contains(name) && !conversation.needs(name);
    let rows = listed.iter().enumerate();
    let gone = rows.filter_map(|(row, tool)| tool.function().filter(goes).map(|name| (row, name)));
    let (rows, dropped): (BTreeSet<usize>, _) =
        gone.map(|(row, name)| (row, name.to_owned())).unzip();
    let scores = match with_scores {
        // A separate selection, because the limit of the answer decides how it is divided among the
        // things that a prompt asks for.
        true => {
            let all = engine.select_among(&key, tools, &request.limit(functions.len()))?;
            Some(scores(&all, &listed, |name| !goes(&name)))
        }
        false => None,
    };
    let (tools, kept) = (list.len(), list.len() - rows.len());
    Ok(Ok((rows, FilterReport { tools, kept, dropped, untouched: None, scores })))
}

/// Each function of the list, with its score in a selection among all of them.
fn scores(all: &Selection, listed: &[ListElement], stays: impl Fn(&str) -> bool) -> Vec<ToolScore> {
    let found = all.tools.iter().map(|found| (found.tool.name.as_str(), found.score));
    let found: BTreeMap<&str, f32> = found.collect();
    let functions = listed.iter().filter_map(ListElement::function);
    let score = |name: &str| ToolScore {
        name: name.to_owned(),
        score: found.get(name).copied(),
        kept: stays(name),
    };
    functions.map(score).collect()
}

/// The number of tools to keep for the model that the request names: a small model gets fewer.
fn capped(engine: &Engine, outline: &Outline<'_>, keep: usize) -> usize {
    let model = outline.get("model").and_then(|raw| serde_json::from_str::<String>(raw.get()).ok());
    model.map_or(keep, |model| engine.config().small_models.cap(&model, keep))
}

/// A hash of the elements that are ranked: equal lists have equal keys.
fn key(list: &[&RawValue], listed: &[ListElement]) -> String {
    let mut hash = Sha256::new();
    for (raw, _) in list.iter().zip(listed).filter(|(_, tool)| tool.function().is_some()) {
        hash.update((raw.get().len() as u64).to_le_bytes());
        hash.update(raw.get().as_bytes());
    }
    toolroute_vectors::durable::hex(&hash.finalize())
}

/// The functions of a list as tools. If two have the same name, the first is used.
fn tools(list: &[&RawValue], listed: &[ListElement]) -> Vec<Tool> {
    let rows = list.iter().zip(listed);
    rows.filter_map(|(raw, tool)| tool.function().map(|name| read(raw, name))).collect()
}

/// Reads an element as a tool, with its name as id. An element that cannot be read is ranked by its
/// name alone.
fn read(raw: &RawValue, name: &str) -> Tool {
    let loaded = Catalog::read(&format!("[{}]", raw.get())).ok();
    let tool = loaded.and_then(|loaded| loaded.catalog.iter().next().cloned());
    let mut tool = tool.unwrap_or_else(|| Tool::new(None, name, ""));
    (tool.id, tool.name, tool.server) = (name.into(), name.to_owned(), None);
    tool
}
