//! The engine itself: from a prompt to tools.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rayon::prelude::*;

use super::builder::EngineBuilder;
use super::ranking::{Ranked, rank};
use super::request::{Degraded, Excluded, SelectRequest, Selected, Selection, Timings};
use super::{EngineConfig, Error, IndexReport, fingerprint};
use crate::catalog::Catalog;
use crate::embedding::{Embedder, Role};
use crate::index::Rows;
use crate::selection::{Explanation, Policy, PolicyOrder, Prompt, Retrieved, Retriever, Strategy};

/// A catalog made searchable. `Send + Sync`, without global state; share it by `Arc`.
pub struct Engine {
    pub(super) config: EngineConfig,
    pub(super) catalog: Arc<Catalog>,
    pub(super) order: PolicyOrder,
    pub(super) embedder: Option<Arc<dyn Embedder>>,
    /// One a strategy, in the order keyword, semantic, hybrid; the last two need a model.
    pub(super) retrievers: Vec<Arc<dyn Retriever>>,
    pub(super) approximate: bool,
    pub(super) report: IndexReport,
}

/// A prompt's vector and what it cost.
#[derive(Clone, Copy, Default)]
struct Embedding<'a> {
    vector: Option<&'a [f32]>,
    tokenize: Duration,
    embed: Duration,
}

impl Engine {
    pub fn builder(catalog: Catalog) -> EngineBuilder {
        EngineBuilder::new(catalog)
    }

    pub fn catalog(&self) -> &Catalog {
        &self.catalog
    }

    pub fn config(&self) -> &EngineConfig {
        &self.config
    }

    /// What building the index took: embedded, reused, and the snapshot's state.
    pub fn index_report(&self) -> &IndexReport {
        &self.report
    }

    /// Tells engines apart that may answer differently: the catalog's tools and the model.
    pub fn fingerprint(&self) -> String {
        let model = self.embedder.as_ref().map_or("", |model| &model.identity().fingerprint);
        fingerprint(&[&self.catalog.to_jsonl(), model])
    }

    /// The tools for one prompt, best first.
    ///
    /// # Errors
    /// [`Error::EmptyPrompt`]; [`Error::NoModel`] for a strategy that needs one;
    /// [`Error::UnknownCandidates`] where no candidate is in the catalog; and what embedding may
    /// raise.
    pub fn select(&self, request: &SelectRequest) -> Result<Selection, Error> {
        let (strategy, _) = self.effective(request)?;
        if !strategy.needs_vector() {
            return self.answer(request, Embedding::default());
        }
        let start = Instant::now();
        let embedded = self.model(strategy)?.embed(&[&request.prompt], Role::Query)?;
        let embedding = Embedding {
            vector: embedded.vectors.as_slice(),
            tokenize: embedded.tokenize,
            embed: start.elapsed().saturating_sub(embedded.tokenize),
        };
        self.answer(request, embedding)
    }

    /// [`Engine::select`] for many prompts: embedded together, equal ones once, and ranked side by
    /// side. One bad request does not fail the others.
    pub fn select_many(&self, requests: &[SelectRequest]) -> Vec<Result<Selection, Error>> {
        let needs = |request: &SelectRequest| {
            self.effective(request).is_ok_and(|(strategy, _)| strategy.needs_vector())
        };
        let embed: Vec<usize> = (0..requests.len()).filter(|&at| needs(&requests[at])).collect();
        let (texts, places) = distinct(embed.iter().map(|&at| requests[at].prompt.as_str()));
        let start = Instant::now();
        let embedded = match &self.embedder {
            Some(embedder) if !texts.is_empty() => embedder.embed(&texts, Role::Query),
            _ => return requests.par_iter().map(|request| self.select(request)).collect(),
        };
        let Ok(embedded) = embedded else {
            // One text may have spoiled the batch: each gets its own answer or its own error.
            return requests.par_iter().map(|request| self.select(request)).collect();
        };
        let share = |time: Duration| time / u32::try_from(texts.len()).unwrap_or(u32::MAX);
        let (tokenize, all) = (share(embedded.tokenize), share(start.elapsed()));
        let mut embeddings = vec![Embedding::default(); requests.len()];
        for (&at, place) in embed.iter().zip(places) {
            let vector = embedded.vectors.row(place).to_slice();
            embeddings[at] = Embedding { vector, tokenize, embed: all.saturating_sub(tokenize) };
        }
        let answer = |(request, embedding)| self.answer(request, embedding);
        requests.par_iter().zip(embeddings).map(answer).collect()
    }

    /// The strategy that a request comes to, and why it is less than it could be.
    fn effective(&self, request: &SelectRequest) -> Result<(Strategy, Option<Degraded>), Error> {
        if request.prompt.trim().is_empty() {
            return Err(Error::EmptyPrompt);
        }
        let strategy = request.strategy.unwrap_or(self.config.strategy);
        match (strategy, &self.embedder) {
            (Strategy::Auto, Some(_)) => Ok((Strategy::Hybrid, None)),
            (Strategy::Auto, None) => Ok((Strategy::Keyword, Some(Degraded::NoModel))),
            (strategy, None) if strategy.needs_vector() => Err(Error::NoModel { strategy }),
            (strategy, _) => Ok((strategy, None)),
        }
    }

    fn model(&self, strategy: Strategy) -> Result<&dyn Embedder, Error> {
        self.embedder.as_deref().ok_or(Error::NoModel { strategy })
    }

    fn retriever(&self, strategy: Strategy) -> Result<&dyn Retriever, Error> {
        let serves = |retriever: &&Arc<dyn Retriever>| retriever.strategy() == strategy;
        let found = self.retrievers.iter().find(serves);
        found.map(AsRef::as_ref).ok_or(Error::NoModel { strategy })
    }

    fn answer(
        &self,
        request: &SelectRequest,
        embedding: Embedding<'_>,
    ) -> Result<Selection, Error> {
        let (strategy, degraded) = self.effective(request)?;
        let retriever = self.retriever(strategy)?;
        let policy = request.policy.unwrap_or(self.config.policy);
        // A limit from outside may be any number, and no answer has more tools than there are.
        let limit = request.limit.unwrap_or(self.config.limit).min(self.catalog.len());
        let (rows, unknown_candidates) = self.candidate_rows(request)?;
        let prompt = Prompt {
            text: &request.prompt,
            vector: embedding.vector,
            rows: rows.as_deref().map_or(Rows::All, Rows::Only),
            limit,
        };
        let (ranked, times, policy_time) = self.ranked(retriever, &prompt, &policy)?;
        let start = Instant::now();
        let tools = ranked.chosen.iter().map(|candidate| {
            let tool = self.catalog.tools()[candidate.row as usize].clone();
            let matched = retriever.matched_terms(&request.prompt, candidate.row);
            let explanation = Explanation::new(candidate, matched, &tool);
            Selected { tool, score: candidate.score, explanation }
        });
        let tools = tools.collect();
        let excluded = ranked.excluded.into_iter().map(|(candidate, because)| {
            let id = self.catalog.tools()[candidate.row as usize].id.clone();
            Excluded { id, score: candidate.score, because }
        });
        let timings = Timings {
            tokenize: embedding.tokenize,
            embed: embedding.embed,
            search: times.search,
            keyword: times.keyword,
            fuse: times.fuse,
            policy: policy_time + start.elapsed(),
        };
        let excluded = excluded.collect();
        Ok(Selection { strategy, degraded, tools, excluded, unknown_candidates, timings })
    }

    /// Retrieves and ranks. Where an approximate index gave too few that the policy admits, all
    /// that it admits are scored instead: a filter must cost time, never tools.
    fn ranked(
        &self,
        retriever: &dyn Retriever,
        prompt: &Prompt<'_>,
        policy: &Policy,
    ) -> Result<(Ranked, crate::selection::StageTimes, Duration), Error> {
        let tool = |row: u32| self.catalog.tools()[row as usize].as_ref();
        let Retrieved { candidates, times } = retriever.retrieve(prompt)?;
        let start = Instant::now();
        let ranked = rank(candidates, prompt.limit, policy, &self.order, tool);
        let starved = ranked.chosen.len() < prompt.limit && !ranked.excluded.is_empty();
        if !(starved && self.approximate && matches!(prompt.rows, Rows::All)) {
            return Ok((ranked, times, start.elapsed()));
        }
        let rows = 0..self.catalog.len() as u32;
        let admitted: Vec<u32> = rows.filter(|&row| policy.admit(tool(row)).is_ok()).collect();
        let prompt = Prompt { rows: Rows::Only(&admitted), ..*prompt };
        let Retrieved { candidates, times } = retriever.retrieve(&prompt)?;
        let all = rank(candidates, prompt.limit, policy, &self.order, tool);
        Ok((Ranked { chosen: all.chosen, excluded: ranked.excluded }, times, start.elapsed()))
    }

    /// The rows of the request's candidates, ascending, and the ids that lead to none.
    fn candidate_rows(
        &self,
        request: &SelectRequest,
    ) -> Result<(Option<Vec<u32>>, Vec<String>), Error> {
        let Some(ids) = &request.candidates else { return Ok((None, Vec::new())) };
        let (mut rows, unknown) = self.known_rows(ids)?;
        rows.sort_unstable();
        rows.dedup();
        Ok((Some(rows), unknown))
    }

    /// Whether a request with these candidates can be answered; no candidates are no hindrance.
    ///
    /// # Errors
    /// [`Error::UnknownCandidates`] where none of them is in the catalog.
    pub fn check_candidates(&self, ids: &[String]) -> Result<(), Error> {
        self.known_rows(ids).map(drop)
    }

    fn known_rows(&self, ids: &[String]) -> Result<(Vec<u32>, Vec<String>), Error> {
        let (mut rows, mut unknown) = (Vec::with_capacity(ids.len()), Vec::new());
        for id in ids {
            match self.catalog.row(id) {
                Some(row) => rows.push(row),
                None => unknown.push(id.clone()),
            }
        }
        if let (true, Some(first)) = (rows.is_empty(), unknown.first()) {
            let near = self.catalog.near(first, 2).into_iter().map(|id| id.to_string()).collect();
            return Err(Error::UnknownCandidates { count: ids.len(), first: first.clone(), near });
        }
        Ok((rows, unknown))
    }
}

/// Texts without their repetitions, and the place of each among them: several strategies may be
/// asked one prompt.
fn distinct<'a>(texts: impl Iterator<Item = &'a str>) -> (Vec<&'a str>, Vec<usize>) {
    let (mut all, mut known) = (Vec::new(), HashMap::new());
    let place = |text| {
        *known.entry(text).or_insert_with(|| {
            all.push(text);
            all.len() - 1
        })
    };
    let places = texts.map(place).collect();
    (all, places)
}
