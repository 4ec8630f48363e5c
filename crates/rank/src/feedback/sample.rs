//! A few past prompts, kept to see how learned tools score where they are asked for and where they are not.

use std::collections::{BTreeMap, BTreeSet};

use toolroute_catalog::ToolId;

use super::execution::PromptHash;

/// Prompts kept at most: the mean over so many moves by less than 0.01 from sample to sample, they are ranked
/// five times in a second, and they take 400 KB.
const MOST: usize = 256;

/// The prompts with the lowest hashes: as good as drawn by lot, and the same whatever the order in
/// which they came.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Sample {
    pub prompts: BTreeMap<PromptHash, Sampled>,
}

/// One past prompt and all the tools that served it, with how many times that was learned.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Sampled {
    pub vector: Vec<f32>,
    pub tools: BTreeMap<ToolId, u64>,
}

impl Sample {
    pub fn add(&mut self, hash: PromptHash, vector: &[f32], tools: &BTreeSet<ToolId>) {
        let new = || Sampled { vector: vector.to_vec(), tools: BTreeMap::new() };
        let sampled = self.prompts.entry(hash).or_insert_with(new);
        for id in tools {
            *sampled.tools.entry(id.clone()).or_default() += 1;
        }
        if self.prompts.len() > MOST {
            self.prompts.pop_last();
        }
    }

    /// Drops the tool, and prompts that served no other.
    pub fn forget(&mut self, id: &ToolId) {
        self.prompts
            .retain(|_, prompt| !(prompt.tools.remove(id).is_some() && prompt.tools.is_empty()));
    }
}
