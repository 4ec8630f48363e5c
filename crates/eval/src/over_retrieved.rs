//! Finds tools that are retrieved for prompts that other tools serve.
//!
//! In a vector space, some points are near many others (hubs), and a hostile description may be
//! written to become one. The engine is asked a prompt made from each tool's own words, and a list
//! of everyday prompts. A tool that is in the answers to many prompts of other tools is
//! over-retrieved.

use serde::Serialize;

use toolroute_catalog::{Tool, ToolId, everyday_prompts, split_identifier};
use toolroute_rank::engine::{Engine, Error, SelectRequest, Strategy};
use toolroute_rank::query::says_nothing;

/// The maximum number of prompts that are made from tools. From a larger catalog, evenly spaced
/// tools are taken.
const MOST_PROBES: usize = 2_000;

/// The maximum number of characters of a description that a prompt is made from.
const PROMPT_CHARS: usize = 160;

/// The minimum share of the answers of an over-retrieved tool, however rare the other tools are.
const LEAST_SHARE: f64 = 0.05;

/// An over-retrieved tool has at least this many times the share of the tool at the 95th
/// percentile.
const TIMES: f64 = 3.0;

/// The number of prompts that are asked together.
const CHUNK: usize = 256;

/// The over-retrieved tools of a catalog.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[non_exhaustive]
pub struct ProbeReport {
    pub prompts: usize,
    /// The number of tools in an answer.
    pub limit: usize,
    /// The share of the prompts of other tools, 0 to 1, above which a tool is over-retrieved.
    pub threshold: f64,
    /// The over-retrieved tools, most frequent first.
    pub hubs: Vec<OverRetrieved>,
}

/// A tool that is in the answers to many prompts of other tools.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct OverRetrieved {
    pub id: ToolId,
    /// The share of the prompts of other tools, 0 to 1, whose answers contain it.
    pub share: f64,
}

/// Asks an engine for what its tools say they do, and for everyday things.
pub fn probe(engine: &Engine, limit: usize) -> Result<ProbeReport, Error> {
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
    let mut hubs: Vec<OverRetrieved> =
        found.map(|(share, tool)| OverRetrieved { id: tool.id.clone(), share: *share }).collect();
    hubs.sort_by(|a, b| b.share.total_cmp(&a.share).then_with(|| a.id.cmp(&b.id)));
    Ok(ProbeReport { prompts: prompts.len(), limit, threshold, hubs })
}

/// Returns the prompts, each with the row of the tool that it is made from, if any.
fn prompts<'a>(tools: impl Iterator<Item = &'a Tool>, count: usize) -> Vec<(Option<u32>, String)> {
    let step = count.div_ceil(MOST_PROBES).max(1);
    let own = (0u32..).zip(tools).step_by(step).map(|(row, tool)| (Some(row), own_prompt(tool)));
    let generic = everyday_prompts().map(|line| (None, line.to_owned()));
    own.filter(|(_, prompt)| !says_nothing(prompt)).chain(generic).collect()
}

/// Returns a prompt of somebody who wants this tool: its first example, otherwise the first
/// sentence of its description, otherwise its name.
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

/// Returns the threshold. It is relative to the share of the tool at the 95th percentile, which a
/// few hostile tools cannot change.
fn threshold(shares: &[f64]) -> f64 {
    let mut sorted = shares.to_vec();
    sorted.sort_by(f64::total_cmp);
    let at = (sorted.len() * 19 / 20).min(sorted.len().saturating_sub(1));
    sorted.get(at).map_or(LEAST_SHARE, |common| (common * TIMES).clamp(LEAST_SHARE, 1.0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use toolroute_catalog::Catalog;

    #[test]
    fn a_tool_that_comes_up_for_everything_is_found() {
        let verbs = ["list", "read", "write", "delete", "update", "create", "search", "send"];
        let things = ["file", "issue", "mail", "user", "order", "ticket", "photo", "song"];
        let honest = verbs.iter().flat_map(|verb| {
            things.map(|thing| {
                let (name, description) =
                    (format!("{verb}_{thing}"), format!("{verb} a {thing} of yours"));
                Tool::new(Some("s"), &name, &description)
            })
        });
        let all = [verbs, things].concat();
        let flood = Tool::new(Some("x"), &all.join("_"), &all.join(" "));
        let mut tools: Vec<Tool> = honest.collect();
        let quiet = Engine::builder(Catalog::from_tools(tools.clone()).catalog).build().unwrap();
        assert_eq!(probe(&quiet, 5).unwrap().hubs, []);
        tools.push(flood);
        let engine = Engine::builder(Catalog::from_tools(tools).catalog).build().unwrap();
        let report = probe(&engine, 5).unwrap();
        let found: Vec<&str> = report.hubs.iter().map(|hub| hub.id.as_str()).collect();
        assert!(matches!(found[..], [id] if id.starts_with("x__")), "{report:?}");
    }
}
