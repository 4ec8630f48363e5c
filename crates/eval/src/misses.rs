//! Prompts whose right tools are not all first in the answer.

use std::collections::BTreeSet;

use serde::Serialize;

use super::dataset::{Query, RowId};
use super::measures::DEPTH;
use super::score::{ranked_always, resolve};
use toolroute_catalog::Catalog;
use toolroute_rank::engine::{Fit, Selection};

/// A prompt that has a wrong tool before a right one, or whose answer has no tool; or one that no
/// tool serves and whose answer fits.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Miss {
    pub id: RowId,
    /// The line number of the row, counted from 1.
    pub line: usize,
    pub query: String,
    /// Ids of the right tools, as answers contain them; empty if no tool serves the prompt.
    pub gold: Vec<String>,
    /// The rank of the best right tool, counted from 1; `None` if it is not among the first ten.
    /// Tools that an answer holds back because none is sure to fit have ranks, too.
    pub rank: Option<usize>,
    /// The first tool.
    pub first: Option<String>,
    pub fit: Fit,
}

impl Miss {
    /// Returns the miss, or `None` if the right tools are the first ones of the answer, or if there is
    /// none and the answer says so or is unsure.
    pub(super) fn of(catalog: &Catalog, query: &Query, selection: &Selection) -> Option<Self> {
        let (ranked, gold) = resolve(catalog, query, ranked_always(selection));
        let gold: BTreeSet<&str> = gold.into_iter().collect();
        let is_right = |id: &&str| gold.contains(id);
        let leading = ranked.iter().take_while(|id| is_right(id)).count();
        let is_right_answer = match query.is_unserved {
            true => selection.fit != Fit::Fits,
            false => !selection.abstained && leading >= gold.len().min(DEPTH),
        };
        if is_right_answer {
            return None;
        }
        Some(Self {
            id: query.id.clone(),
            line: query.line,
            query: query.query.clone(),
            rank: ranked.iter().position(is_right).map(|at| at + 1),
            first: ranked.first().map(|id| (*id).to_owned()),
            gold: gold.into_iter().map(str::to_owned).collect(),
            fit: selection.fit,
        })
    }
}
