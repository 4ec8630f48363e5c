//! Completes an answer: adds a tool that provides an id next to a tool that requires it.

use super::candidate_scorer::AdmissionRules;
use super::ranking::{Ranking, Supplied};
use super::state::State;
use crate::catalog::{RequiredId, Supplier};
use crate::query::PromptIds;
use crate::selection::{Candidate, Supply};

/// The number of first ranks that are completed: a tool in them that requires an id gets a
/// supplier, a tool that provides it. Within these ranks, an answer does not depend on its limit.
const COMPLETED_RANKS: usize = 5;

/// The minimum score of a supplier, as a share of the score of the tool that needs it. A tool of
/// the same server that is far from the prompt provides ids of something else. On four
/// tool-retrieval sets, shares of 0.3 to 0.7 change nDCG@5 by at most 0.003, and a lower share
/// finds more of what multi-step prompts need (`docs/routing.md`).
const LEAST_SUPPLY: f32 = 0.3;

/// The same for a supplier of the first tool, which is most likely what is wanted. With 0.3 as for the others, *tasks* have
/// a COMP@5 of 0.351 instead of 0.364, and *trial* 0.001 more nDCG@5; the choice sets have the same. At 0, a tool with a
/// tenth of the first one's score stood second.
const LEAST_FIRST: f32 = 0.15;

/// The limit below which the last tool of a full answer stays instead of a supplier if its score is at
/// least [`NEAR_FIRST`] of the first one's: it may be what the prompt asks for besides. With larger limits
/// too, fewer multi-step prompts get all their tools (`docs/routing.md`).
const SMALL_LIMIT: usize = 3;

/// See [`SMALL_LIMIT`].
const NEAR_FIRST: f32 = 0.8;

impl State {
    /// Inserts the best supplier of each required id directly after the tool that requires it,
    /// unless the prompt contains the id or a supplier is among the first ranks. A full answer loses
    /// the [least needed](least_needed) tool, unless the limit is small and the last one fits about as
    /// well as the first. The first rank never changes.
    pub fn complete(
        &self,
        ranking: &mut Ranking,
        rules: &AdmissionRules<'_>,
        prompt: &str,
        limit: usize,
    ) {
        let within = limit.min(COMPLETED_RANKS);
        let first: Vec<Candidate> = ranking.chosen.iter().take(within).copied().collect();
        let required = |found: &Candidate| self.catalog.required_ids(found.row);
        // Most prompts get no such tool, and are not searched for ids.
        if first.iter().all(|found| required(found).is_empty()) {
            return;
        }
        let ids = PromptIds::new(prompt);
        let lacked =
            first.iter().flat_map(|found| ids.lacked(required(found)).map(|id| (*found, id)));
        let needing: Vec<(Candidate, &RequiredId)> = lacked.collect();
        let is_lacking = |needing: &(Candidate, &RequiredId)| lacks(ranking, *needing, within);
        if !needing.iter().any(is_lacking) {
            return;
        }
        let suppliers = self.scored(&needing, &ranking.all);
        let best = first[0].row;
        for &(tool, required) in &needing {
            if !lacks(ranking, (tool, required), within) {
                continue;
            }
            let least = if tool.row == best { LEAST_FIRST } else { LEAST_SUPPLY };
            let asked = (required, least * tool.score);
            let full = ranking.chosen.len() >= limit;
            let lost = full.then(|| least_needed(&ranking.chosen, &needing, tool.row));
            let Some(found) = supplier(&suppliers, rules, (ranking, lost), asked) else {
                continue;
            };
            let is_near =
                |last: &Candidate| limit < SMALL_LIMIT && last.score >= NEAR_FIRST * first[0].score;
            let takes_place = ranking.chosen.iter().all(|other| other.row != found.row);
            if takes_place && ranking.chosen.get(limit - 1).is_some_and(is_near) {
                continue;
            }
            ranking.chosen = stay(ranking, &found, lost);
            let at = ranking.chosen.iter().position(|other| other.row == tool.row);
            ranking.chosen.insert(at.map_or(0, |at| at + 1), found);
            let parameter = required.parameter.clone();
            ranking.supplied.push(Supplied { row: found.row, to: tool.row, parameter });
        }
    }

    /// Returns the candidates that provide an id which one of the tools requires.
    fn scored(&self, needing: &[(Candidate, &RequiredId)], all: &[Candidate]) -> Vec<Candidate> {
        let mut is_supplier = vec![false; self.catalog.len()];
        for supplier in needing.iter().flat_map(|(_, required)| &required.suppliers) {
            is_supplier[supplier.row as usize] = true;
        }
        all.iter().filter(|found| is_supplier[found.row as usize]).copied().collect()
    }

    /// Why a tool was added to the answer, if another one needs it.
    pub fn supply_of(&self, supplied: &[Supplied], row: u32) -> Option<Supply> {
        let found = supplied.iter().find(|supplied| supplied.row == row)?;
        let to = self.catalog.tools()[found.to as usize].id.clone();
        Some(Supply { parameter: found.parameter.clone(), to })
    }
}

/// Whether a tool of the first ranks has room for a supplier of an id and none is there.
fn lacks(ranking: &Ranking, (tool, required): (Candidate, &RequiredId), within: usize) -> bool {
    let there = &ranking.chosen[..within.min(ranking.chosen.len())];
    let at = there.iter().position(|found| found.row == tool.row);
    at.is_some_and(|at| at + 1 < within && !gives(required, there, at))
}

/// Returns the best supplier of an id with at least the score `least`.
fn supplier(
    suppliers: &[Candidate],
    rules: &AdmissionRules<'_>,
    (ranking, lost): (&Ranking, Option<u32>),
    (required, least): (&RequiredId, f32),
) -> Option<Candidate> {
    // A stated supplier may share no word with the prompt: it turns `WEB-7` into a UUID.
    let is_fit = |found: &&Candidate| {
        (required.is_stated || found.score >= least)
            && reader(required, found.row).is_some()
            && admits(rules, ranking, found, lost)
    };
    // A tool for exactly this entity is preferred: `listOrders` to `listPurchaseOrders`.
    let is_other = |found: &Candidate| !reader(required, found.row).is_some_and(|it| it.is_exact);
    let order = |a: &&Candidate, b: &&Candidate| {
        is_other(a).cmp(&is_other(b)).then_with(|| rules.better(a, b))
    };
    suppliers.iter().filter(is_fit).min_by(order).copied()
}

/// Whether one of the tools provides the id to the tool at the place `to`. One that creates the entity
/// does so only before it: after `update_event`, `create_event` is there as a similar tool.
fn gives(required: &RequiredId, tools: &[Candidate], to: usize) -> bool {
    required.suppliers.iter().any(|supplier| {
        let before = if supplier.creates { to } else { tools.len() };
        tools[..before].iter().any(|found| found.row == supplier.row)
    })
}

/// Returns the tool as a supplier if it finds the id, instead of creating the entity.
fn reader(required: &RequiredId, row: u32) -> Option<&Supplier> {
    required.suppliers.iter().find(|supplier| supplier.row == row && !supplier.creates)
}

/// Returns the row that a full answer loses for a supplier: that of the last tool, without those that
/// give an id to the first one.
fn least_needed(chosen: &[Candidate], needing: &[(Candidate, &RequiredId)], to: u32) -> u32 {
    let is_supplier = |row: u32| {
        let mut ids = needing.iter().filter(|(tool, _)| tool.row == chosen[0].row);
        ids.any(|(_, required)| reader(required, row).is_some())
    };
    let mut rows = chosen.iter().rev().map(|found| found.row).take_while(|row| *row != to);
    let last = chosen[chosen.len() - 1].row;
    rows.find(|row| !is_supplier(*row)).unwrap_or(last)
}

/// Returns the tools of the answer that stay beside a supplier.
fn stay(ranking: &Ranking, found: &Candidate, lost: Option<u32>) -> Vec<Candidate> {
    let is_there = ranking.chosen.iter().any(|other| other.row == found.row);
    let leaves = if is_there { Some(found.row) } else { lost };
    ranking.chosen.iter().filter(|other| Some(other.row) != leaves).copied().collect()
}

/// Whether every rule for the answer admits the tool together with those that stay.
fn admits(
    rules: &AdmissionRules<'_>,
    ranking: &Ranking,
    found: &Candidate,
    lost: Option<u32>,
) -> bool {
    let others = stay(ranking, found, lost);
    let is_near = || match rules.measure(&ranking.all) {
        Some(best) => rules.admit_near(found, &best).is_ok(),
        None => true,
    };
    rules.admit(found.row, &others).is_ok()
        && rules.admit_beside(found.row, &others).is_ok()
        && is_near()
}
