//! Measures an engine's answers against known ones.

use serde::Serialize;

use super::dataset::Query;
use super::measures::{DEPTH, Measures};
use crate::engine::{Engine, Error, Policy, SelectRequest, Strategy};

/// Prompts embedded together.
const CHUNK: usize = 256;

/// An engine's mean scores over a file of prompts.
#[derive(Clone, Debug, Serialize)]
pub struct Scored {
    pub strategy: Strategy,
    /// Prompts with at least one right tool.
    pub queries: usize,
    #[serde(flatten)]
    pub measures: Measures,
}

/// Answers every query that has gold and takes the mean. `tell` hears how many are done.
///
/// # Errors
/// The first error of the engine: a prompt that cannot be answered would make the mean a lie.
pub fn score(
    engine: &Engine,
    queries: &[Query],
    strategy: Strategy,
    policy: Option<Policy>,
    tell: &dyn Fn(usize, usize),
) -> Result<Scored, Error> {
    let queries: Vec<&Query> = queries.iter().filter(|query| !query.gold.is_empty()).collect();
    let mut all = Vec::with_capacity(queries.len());
    let mut effective = strategy;
    for chunk in queries.chunks(CHUNK) {
        let requests: Vec<SelectRequest> =
            chunk.iter().map(|query| request(query, strategy, policy)).collect();
        for (query, selection) in chunk.iter().zip(engine.select_many(&requests)) {
            let selection = selection?;
            effective = selection.strategy;
            let ranked: Vec<&str> = selection.tools.iter().map(|s| s.tool.id.as_str()).collect();
            all.push(Measures::of(&ranked, &query.gold));
        }
        tell(all.len(), queries.len());
    }
    Ok(Scored { strategy: effective, queries: all.len(), measures: Measures::mean(&all) })
}

fn request(query: &Query, strategy: Strategy, policy: Option<Policy>) -> SelectRequest {
    let candidates = query.candidates.clone();
    let request = SelectRequest { candidates, policy, ..SelectRequest::new(&query.query) };
    request.strategy(strategy).limit(DEPTH)
}
