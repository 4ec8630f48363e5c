//! What the tools of a catalog declare, made ready for counting once a catalog.

use std::collections::HashMap;
use std::sync::Arc;

use toolroute_catalog::{ComplexityRange, Cost, LatencyTier, Tool};

use crate::query::{Categories, CategoryWords, Phase, TaskType};

/// Of one tool; nothing declared is neutral.
#[derive(Default)]
pub(super) struct Facts {
    /// A bit a [`Phase`]; 0 where none is declared, or only words that are no phases.
    pub phases: u8,
    pub task_types: u8,
    pub languages: Vec<u16>,
    pub complexity: Option<ComplexityRange>,
    pub priority: Option<u8>,
    pub latency: Option<LatencyTier>,
    pub cost: Option<Cost>,
    pub web: bool,
    pub newcomer: bool,
    /// Numbers of its categories in [`AllFacts::categories`].
    pub categories: Vec<usize>,
    /// Rows that come after it in a declared order.
    pub below: Vec<u32>,
    /// Rows that must not stand beside it, ascending; both sides of a pair hold the other.
    pub conflicts: Vec<u32>,
}

/// Of all tools, by row.
#[derive(Default)]
pub(super) struct AllFacts {
    pub rows: Vec<Facts>,
    /// Numbers of languages by their lower-case name.
    pub languages: HashMap<String, u16>,
    /// Those of all tools, in the order of their numbers.
    pub categories: Categories,
    pub has_hierarchy: bool,
    pub critical: Vec<u32>,
}

/// Words by which a tool's author files it under tools for the web.
const WEB: [&str; 5] = ["web", "web_search", "search_engine", "internet", "browser"];

impl AllFacts {
    pub fn new(
        tools: &[Arc<Tool>],
        row: impl Fn(&str) -> Option<u32>,
        words: &CategoryWords,
    ) -> Self {
        let mut all = Self::default();
        let mut categories: HashMap<&str, usize> = HashMap::new();
        let mut names: Vec<&str> = Vec::new();
        for tool in tools {
            let mut facts = all.facts(tool);
            for name in &tool.categories {
                let number = *categories.entry(name).or_insert_with(|| {
                    names.push(name);
                    names.len() - 1
                });
                facts.categories.push(number);
            }
            all.rows.push(facts);
        }
        all.categories = Categories::new(names, words);
        for (at, tool) in (0u32..).zip(tools) {
            all.relate(at, tool, &row);
        }
        for facts in &mut all.rows {
            for list in [&mut facts.below, &mut facts.conflicts] {
                list.sort_unstable();
                list.dedup();
            }
        }
        all
    }

    fn facts(&mut self, tool: &Tool) -> Facts {
        let facets = &tool.facets;
        let languages = facets.languages.iter().map(|name| {
            let next = u16::try_from(self.languages.len()).unwrap_or(u16::MAX);
            *self.languages.entry(name.to_lowercase()).or_insert(next)
        });
        let filed = tool.categories.iter().chain(&tool.tags);
        Facts {
            languages: languages.collect(),
            phases: bits(&facets.phases, Phase::ALL.iter().map(|phase| phase.as_str())),
            task_types: bits(&facets.task_types, TaskType::ALL.iter().map(|kind| kind.as_str())),
            complexity: facets.complexity,
            priority: tool.routing.priority,
            latency: tool.latency_tier(),
            cost: tool.cost,
            web: filed.into_iter().any(|word| WEB.contains(&word.to_lowercase().as_str())),
            newcomer: tool.routing.newcomer,
            ..Facts::default()
        }
    }

    /// Takes in what the tool says of others. Ids that the catalog lacks say nothing.
    fn relate(&mut self, at: u32, tool: &Tool, row: &impl Fn(&str) -> Option<u32>) {
        if tool.routing.critical {
            self.critical.push(at);
        }
        let chain = tool.routing.fallbacks.iter().filter_map(|fallback| row(&fallback.tool));
        let chain: Vec<u32> = std::iter::once(at).chain(chain).collect();
        for (place, &member) in chain.iter().enumerate() {
            let after = chain[place + 1..].iter().copied().filter(|&other| other != member);
            self.rows[member as usize].below.extend(after);
        }
        self.has_hierarchy |= chain.len() > 1;
        for other in tool.routing.conflicts_with.iter().filter_map(|id| row(id)) {
            if other != at {
                self.rows[at as usize].conflicts.push(other);
                self.rows[other as usize].conflicts.push(at);
            }
        }
    }
}

/// A bit a known word among the declared ones, spelled in any case and with `-` or a space for `_`.
fn bits<'w>(declared: &[String], known: impl Iterator<Item = &'w str>) -> u8 {
    let declared: Vec<String> =
        declared.iter().map(|word| word.to_lowercase().replace(['-', ' '], "_")).collect();
    let bit = |(at, word): (usize, &str)| u8::from(declared.iter().any(|d| d == word)) << at;
    known.enumerate().map(bit).fold(0, |all, bit| all | bit)
}
