//! The declarations of a catalog's tools, prepared once per catalog for the signals.

use std::collections::HashMap;
use std::sync::Arc;

use toolroute_catalog::{ComplexityRange, Cost, Tool};

use crate::feedback::RunStats;
use crate::query::{Categories, CategoryWords, Phase, TaskType};

/// The declarations of one tool. Undeclared ones are neutral.
#[derive(Default)]
pub(super) struct ToolFacts {
    /// One bit per [`Phase`]; 0 if no known phase is declared.
    pub phases: u8,
    /// One bit per [`TaskType`]; 0 if no known type is declared.
    pub task_types: u8,
    /// Its languages, as indices from [`CatalogFacts::languages`].
    pub languages: Vec<u16>,
    pub complexity: Option<ComplexityRange>,
    pub priority: Option<u8>,
    /// The declared latency in milliseconds.
    pub latency_ms: Option<f64>,
    pub cost: Option<Cost>,
    pub web: bool,
    pub newcomer: bool,
    /// Its categories, as indices into [`CatalogFacts::categories`].
    pub categories: Vec<usize>,
    /// The rows after this tool in a declared order of fallbacks.
    pub fallbacks: Vec<u32>,
    /// The rows of conflicting tools, ascending. Each tool of a pair lists the other.
    pub conflicts: Vec<u32>,
}

impl ToolFacts {
    /// Whether the tool declares something that counts for every prompt: a priority, fallbacks, or
    /// that it is a newcomer.
    pub fn always_counts(&self) -> bool {
        self.priority.is_some() || !self.fallbacks.is_empty() || self.newcomer
    }
}

/// The declarations of all tools.
#[derive(Default)]
pub(super) struct CatalogFacts {
    /// By row.
    pub rows: Vec<ToolFacts>,
    /// The index of each language, by its lower-case name.
    pub languages: HashMap<String, u16>,
    /// The categories of all tools, in the order of their indices.
    pub categories: Categories,
    /// Whether any tool declares a fallback that is in the catalog.
    pub has_hierarchy: bool,
    /// Whether any tool declares something that counts for every prompt, a conflict, or that it is
    /// critical.
    pub any_counts: bool,
    /// Whether any tool searches the web.
    pub any_web: bool,
    /// Whether any tool declares a latency.
    pub any_latency: bool,
    /// Whether any tool declares a cost.
    pub any_cost: bool,
    /// The rows of the critical tools, ascending.
    pub critical: Vec<u32>,
}

/// The categories and tags of tools for the web, in lower case.
const WEB: [&str; 5] = ["web", "web_search", "search_engine", "internet", "browser"];

impl CatalogFacts {
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
            all.add_relations(at, tool, &row);
        }
        for facts in &mut all.rows {
            for list in [&mut facts.fallbacks, &mut facts.conflicts] {
                list.sort_unstable();
                list.dedup();
            }
        }
        let counts = |facts: &ToolFacts| facts.always_counts() || !facts.conflicts.is_empty();
        all.any_counts = !all.critical.is_empty() || all.rows.iter().any(counts);
        all.any_web = all.rows.iter().any(|facts| facts.web);
        all.any_latency = all.rows.iter().any(|facts| facts.latency_ms.is_some());
        all.any_cost = all.rows.iter().any(|facts| facts.cost.is_some());
        all
    }

    fn facts(&mut self, tool: &Tool) -> ToolFacts {
        let facets = &tool.facets;
        let languages = facets.languages.iter().map(|name| {
            let next = u16::try_from(self.languages.len()).unwrap_or(u16::MAX);
            *self.languages.entry(name.to_lowercase()).or_insert(next)
        });
        let labels = tool.categories.iter().chain(&tool.tags);
        ToolFacts {
            languages: languages.collect(),
            phases: bits(&facets.phases, Phase::ALL.iter().map(|phase| phase.as_str())),
            task_types: bits(&facets.task_types, TaskType::ALL.iter().map(|kind| kind.as_str())),
            complexity: facets.complexity,
            priority: tool.routing.priority,
            latency_ms: RunStats::latency_ms(None, tool),
            cost: tool.cost,
            web: labels.into_iter().any(|word| WEB.contains(&word.to_lowercase().as_str())),
            newcomer: tool.routing.newcomer,
            ..ToolFacts::default()
        }
    }

    /// Adds the tool's declarations about other tools. Ids that are not in the catalog are ignored.
    fn add_relations(&mut self, at: u32, tool: &Tool, row: &impl Fn(&str) -> Option<u32>) {
        if tool.routing.critical {
            self.critical.push(at);
        }
        let chain = tool.routing.fallbacks.iter().filter_map(|fallback| row(&fallback.tool));
        let chain: Vec<u32> = std::iter::once(at).chain(chain).collect();
        for (place, &member) in chain.iter().enumerate() {
            let after = chain[place + 1..].iter().copied().filter(|&other| other != member);
            self.rows[member as usize].fallbacks.extend(after);
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

/// Returns one bit for each known word that is declared. Case is ignored, and `-` and space count
/// as `_`.
fn bits<'w>(declared: &[String], known: impl Iterator<Item = &'w str>) -> u8 {
    let declared: Vec<String> =
        declared.iter().map(|word| word.to_lowercase().replace(['-', ' '], "_")).collect();
    let bit = |(at, word): (usize, &str)| u8::from(declared.iter().any(|d| d == word)) << at;
    known.enumerate().map(bit).fold(0, |all, bit| all | bit)
}
