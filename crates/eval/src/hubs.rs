//! Tools that come up for too much: asked with prompts that are none of theirs.
//!
//! In a space of vectors some points are near to many, and a hostile description is written to be
//! one. Each tool is asked for by its own words, a list of everyday prompts is added, and it is
//! counted who stands in the answers to what others are for.

use serde::Serialize;

use crate::catalog::{Tool, ToolId, everyday_prompts, split_identifier};
use crate::engine::{Engine, Error, SelectRequest, Strategy};

/// Tools whose own words are asked with, at most; beyond that evenly spread ones.
const MOST_PROBES: usize = 2_000;

/// Characters of a description that make a prompt.
const PROMPT_CHARS: usize = 160;

/// A tool in so small a share of the answers is no hub, however rare the others are.
const LEAST_SHARE: f64 = 0.05;

/// A hub has at least so many times the share that one tool in twenty has or exceeds.
const TIMES: f64 = 3.0;

/// Prompts that are asked together.
const CHUNK: usize = 256;

/// What probing found.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Probed {
    pub prompts: usize,
    /// Tools an answer.
    pub limit: usize,
    /// The share of foreign prompts from which a tool counts as a hub.
    pub threshold: f64,
    /// Most frequent first.
    pub hubs: Vec<Hub>,
}

/// A tool that stands in the answers to many prompts that are others'.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Hub {
    pub id: ToolId,
    /// The share of the foreign prompts in whose answers it stands.
    pub share: f64,
}

/// Asks an engine for what its own tools say they do, and for everyday things.
///
/// # Errors
/// What [`Engine::select_many`] may raise.
pub fn probe(engine: &Engine, limit: usize) -> Result<Probed, Error> {
    let catalog = engine.catalog();
    let tools = catalog.tools();
    let prompts = prompts(tools.iter().map(AsRef::as_ref), tools.len());
    let mut shown = vec![0usize; tools.len()];
    for chunk in prompts.chunks(CHUNK) {
        let ask = |(_, prompt): &(Option<u32>, String)| {
            SelectRequest::new(prompt.as_str()).strategy(Strategy::Auto).limit(limit)
        };
        let requests: Vec<SelectRequest> = chunk.iter().map(ask).collect();
        for (answer, (own, _)) in engine.select_many(&requests).into_iter().zip(chunk) {
            let rows =
                answer?.tools.into_iter().filter_map(|found| catalog.row(found.tool.id.as_str()));
            rows.filter(|row| Some(*row) != *own).for_each(|row| shown[row as usize] += 1);
        }
    }
    let share = |count: usize| count as f64 / prompts.len().max(1) as f64;
    let shares: Vec<f64> = shown.into_iter().map(share).collect();
    let threshold = threshold(&shares);
    let found = shares.iter().zip(tools).filter(|(share, _)| **share > threshold);
    let mut hubs: Vec<Hub> =
        found.map(|(share, tool)| Hub { id: tool.id.clone(), share: *share }).collect();
    hubs.sort_by(|a, b| b.share.total_cmp(&a.share).then_with(|| a.id.cmp(&b.id)));
    Ok(Probed { prompts: prompts.len(), limit, threshold, hubs })
}

/// Prompts, those of a tool with its row.
fn prompts<'a>(tools: impl Iterator<Item = &'a Tool>, count: usize) -> Vec<(Option<u32>, String)> {
    let step = count.div_ceil(MOST_PROBES).max(1);
    let own = (0u32..).zip(tools).step_by(step).map(|(row, tool)| (Some(row), own_prompt(tool)));
    let generic = everyday_prompts().map(|line| (None, line.to_owned()));
    own.filter(|(_, prompt)| !prompt.trim().is_empty()).chain(generic).collect()
}

/// What somebody would say who wants this tool: one of its examples, or else the first sentence of
/// its description, or its name.
fn own_prompt(tool: &Tool) -> String {
    if let Some(example) = tool.examples.first() {
        return example.clone();
    }
    let first = tool.description.split(['.', '\n', '。']).find(|part| !part.trim().is_empty());
    match first {
        Some(sentence) => sentence.trim().chars().take(PROMPT_CHARS).collect(),
        None => split_identifier(&tool.name),
    }
}

/// Where abnormal begins: well above what the most frequent twentieth of the tools reaches, which a
/// few hostile tools cannot move.
fn threshold(shares: &[f64]) -> f64 {
    let mut sorted = shares.to_vec();
    sorted.sort_by(f64::total_cmp);
    let at = (sorted.len() * 19 / 20).min(sorted.len().saturating_sub(1));
    sorted.get(at).map_or(LEAST_SHARE, |common| (common * TIMES).clamp(LEAST_SHARE, 1.0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalog::Catalog;

    #[test]
    fn a_tool_that_comes_up_for_everything_is_a_hub() {
        let verbs = ["list", "read", "write", "delete", "update", "create", "search", "send"];
        let things = ["file", "issue", "mail", "user", "order", "ticket", "photo", "song"];
        let honest = verbs.iter().flat_map(|verb| {
            things.map(|thing| {
                let (name, said) =
                    (format!("{verb}_{thing}"), format!("{verb} a {thing} of yours"));
                Tool::new(Some("s"), &name, &said)
            })
        });
        let all = [verbs, things].concat();
        let flood = Tool::new(Some("x"), &all.join("_"), &all.join(" "));
        let mut tools: Vec<Tool> = honest.collect();
        let quiet = Engine::builder(Catalog::from_tools(tools.clone()).catalog).build().unwrap();
        assert_eq!(probe(&quiet, 5).unwrap().hubs, []);
        tools.push(flood);
        let engine = Engine::builder(Catalog::from_tools(tools).catalog).build().unwrap();
        let probed = probe(&engine, 5).unwrap();
        let found: Vec<&str> = probed.hubs.iter().map(|hub| hub.id.as_str()).collect();
        assert!(matches!(found[..], [id] if id.starts_with("x__")), "{probed:?}");
    }
}
