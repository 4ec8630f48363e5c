//! Cuts the tools of a request to a language model down to those that its messages need.
//!
//! It takes the bodies that clients of OpenAI (chat completions, responses) and Anthropic (messages)
//! send. What is not certainly a function of the caller's stays: tools that the provider runs,
//! tools that the request forces, tools that the conversation has used, and whatever is not
//! understood. Of all that stays, every byte stays: models' caches and signatures go by bytes.

mod body;
mod conversation;
mod listed;
#[cfg(test)]
mod tests;
mod uncut;

use std::borrow::Cow;
use std::collections::BTreeSet;

use serde::Serialize;
use serde_json::value::RawValue;
use sha2::{Digest, Sha256};
use thiserror::Error as ThisError;

use crate::catalog::{Catalog, Tool};
use crate::engine::{self, Context, Engine, SelectRequest};
use body::Outline;
use conversation::Conversation;
use listed::Listed;
pub use uncut::Uncut;

/// Tools that are kept for the prompt where nobody says how many.
pub const DEFAULT_KEEP: usize = 10;

/// Tools of a list beyond which it is not looked at: ranking them would take longer than the model.
const MOST_TOOLS: usize = 4_096;

/// The members that may hold the list; `functions` is what `tools` was called at first.
const LISTS: [&str; 2] = ["tools", "functions"];

/// A body, and what became of its tools.
#[derive(Debug)]
pub struct Filtered<'a> {
    pub body: Cow<'a, [u8]>,
    pub report: FilterReport,
}

/// What became of the tools of a body.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct FilterReport {
    /// Tools in the body as it came.
    pub tools: usize,
    /// Tools in the body as it is now.
    pub kept: usize,
    /// Names of those that were cut, in their order.
    pub dropped: Vec<String>,
    /// Why none was looked at, where that is so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub untouched: Option<Uncut>,
}

#[derive(Debug, ThisError)]
#[non_exhaustive]
pub enum FilterError {
    #[error("expected a request body, a JSON object; {0}")]
    NotARequest(String),

    #[error(transparent)]
    Engine(#[from] engine::Error),
}

/// The body with at most `keep` of its tools, beside those that must stay.
///
/// # Errors
/// Where it is no JSON object, and what a selection may raise.
pub fn filter<'a>(
    engine: &Engine,
    body: &'a [u8],
    keep: usize,
) -> Result<Filtered<'a>, FilterError> {
    let text = std::str::from_utf8(body);
    let text =
        text.map_err(|_| FilterError::NotARequest("found bytes that are no UTF-8".into()))?;
    let outline = Outline::parse(text);
    let outline = outline.map_err(|error| FilterError::NotARequest(body::told(&error)))?;
    let Some(list) = LISTS.iter().find_map(|name| outline.list(name)) else {
        return Ok(untouched(body, 0, Uncut::NoTools));
    };
    match dropped(engine, &outline, &list, keep.max(1))? {
        Err(because) => Ok(untouched(body, list.len(), because)),
        Ok(Dropped { rows, names }) => {
            let cut = body::without(text, &list, &rows);
            let report = FilterReport {
                tools: list.len(),
                kept: list.len() - rows.len(),
                dropped: names,
                untouched: None,
            };
            Ok(Filtered { body: Cow::Owned(cut.into_bytes()), report })
        }
    }
}

fn untouched<'a>(body: &'a [u8], tools: usize, because: Uncut) -> Filtered<'a> {
    let report = FilterReport { tools, kept: tools, dropped: Vec::new(), untouched: Some(because) };
    Filtered { body: Cow::Borrowed(body), report }
}

/// Elements of the list that go, ascending.
struct Dropped {
    rows: BTreeSet<usize>,
    names: Vec<String>,
}

/// Which go, or why none does.
fn dropped(
    engine: &Engine,
    outline: &Outline<'_>,
    list: &[&RawValue],
    keep: usize,
) -> Result<Result<Dropped, Uncut>, engine::Error> {
    if list.len() > MOST_TOOLS {
        return Ok(Err(Uncut::ManyTools));
    }
    let keep = capped(engine, outline, keep);
    let listed: Vec<Listed> = list.iter().map(|raw| Listed::read(raw)).collect();
    let functions: BTreeSet<&str> = listed.iter().filter_map(Listed::function).collect();
    if functions.len() <= keep {
        return Ok(Err(Uncut::FewTools));
    }
    let conversation = Conversation::read(outline);
    let Some(prompt) = conversation.prompt() else {
        return Ok(Err(Uncut::NoPrompt));
    };
    let context = Context { conversation: conversation.history(), ..Context::default() };
    let request = SelectRequest::new(prompt).limit(keep).adaptive(false).context(context);
    let tools = || tools(list, &listed);
    let selection = engine.select_among(&key(list, &listed), tools, &request)?;
    let wanted: BTreeSet<&str> =
        selection.tools.iter().map(|found| found.tool.name.as_str()).collect();
    let goes = |name: &&str| !wanted.contains(name) && !conversation.needs(name);
    let rows = listed.iter().enumerate();
    let gone = rows.filter_map(|(row, tool)| tool.function().filter(goes).map(|name| (row, name)));
    let (rows, names) = gone.map(|(row, name)| (row, name.to_owned())).unzip();
    Ok(Ok(Dropped { rows, names }))
}

/// The number of tools for the model that the request names: a small one gets fewer.
fn capped(engine: &Engine, outline: &Outline<'_>, keep: usize) -> usize {
    let model = outline.get("model").and_then(|raw| serde_json::from_str::<String>(raw.get()).ok());
    model.map_or(keep, |model| engine.config().small_models.cap(&model, keep))
}

/// Tells lists apart by what is ranked of them.
fn key(list: &[&RawValue], listed: &[Listed]) -> String {
    let mut hash = Sha256::new();
    for (raw, _) in list.iter().zip(listed).filter(|(_, tool)| tool.function().is_some()) {
        hash.update((raw.get().len() as u64).to_le_bytes());
        hash.update(raw.get().as_bytes());
    }
    toolroute_vectors::durable::hex(&hash.finalize())
}

/// The functions of a list as tools; of two of one name the first.
fn tools(list: &[&RawValue], listed: &[Listed]) -> Vec<Tool> {
    let rows = list.iter().zip(listed);
    rows.filter_map(|(raw, tool)| tool.function().map(|name| read(raw, name))).collect()
}

/// One element as a tool that is known by the name that it is called by. One that is not understood
/// is still ranked by its name.
fn read(raw: &RawValue, name: &str) -> Tool {
    let loaded = Catalog::read(&format!("[{}]", raw.get())).ok();
    let tool = loaded.and_then(|loaded| loaded.catalog.iter().next().cloned());
    let mut tool = tool.unwrap_or_else(|| Tool::new(None, name, ""));
    (tool.id, tool.name, tool.server) = (name.into(), name.to_owned(), None);
    tool
}
