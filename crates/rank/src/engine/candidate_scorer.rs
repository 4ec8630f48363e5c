//! Turns candidates into the tools of an answer: signals, filters, minimum shares and critical
//! tools.

use std::cmp::Ordering;
use std::collections::HashSet;
use std::sync::Arc;

use super::live_inputs::RowObservations;
use super::ranking::{Order, Ranking, rank};
use super::state::State;
use super::{Context, EngineConfig, Error, SelectRequest};
use crate::catalog::{Facet, Tool};
use crate::feedback::{self, Observations, RunStats};
use crate::index::Rows;
use crate::query::{ContextFeatures, Reading};
use crate::selection::{
    Assessment, Candidate, Exclusion, Fusion, OpenBreakers, Policy, Signal, SignalInputs,
    SignalWeights, Signals, Strategy, TAIL_FROM, ToolFilter, band_of,
};

/// The minimum score of another tool of the same server, as a share of the best tool's score, to
/// confirm the best tool.
const CONFIRMING_SHARE: f32 = 0.5;

/// The minimum number of tools in an answer that each part of the hybrid strategy contributes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct MinShares {
    /// Tools that are best by meaning.
    pub semantic: usize,
    /// Tools that are best by keywords.
    pub keyword: usize,
}

/// The values of the source design (`docs/source-systems/selection.md`).
impl Default for MinShares {
    fn default() -> Self {
        Self { semantic: 3, keyword: 2 }
    }
}

/// The rules for the candidates of one request, the same for all strategies.
pub(super) struct CandidateScorer<'a> {
    pub policy: Policy,
    pub blocked: &'a OpenBreakers,
    pub filters: [ToolFilter; 2],
    pub weights: SignalWeights,
    pub shares: Option<MinShares>,
    /// The band is as configured and not yet scaled to the scores.
    pub order: Order<'a>,
    /// The score of the strategy that corresponds to a cosine of 1.
    pub unit: f32,
    pub signals: &'a Signals,
    pub tools: &'a [Arc<Tool>],
    pub situation: SignalInputs<'a>,
    pub log: LogView<'a>,
    /// Maximum number of tokens of all definitions in an answer.
    pub budget_tokens: Option<usize>,
}

/// The observations from the log, and the context of this prompt to compare them with.
#[derive(Clone, Copy)]
pub(super) struct LogView<'a> {
    pub observations: &'a Observations,
    pub now: feedback::CurrentContext<'a>,
}

/// Decides whether a row is admitted to the answer together with those chosen so far.
pub(super) struct AdmissionRules<'a> {
    scorer: &'a CandidateScorer<'a>,
    /// Rows that declare to serve this prompt exclusively, with the intent.
    exclusive: Vec<(u32, String)>,
}

impl<'a> CandidateScorer<'a> {
    pub fn new(
        state: &'a State,
        (request, reading): (&'a SelectRequest, &'a Reading),
        named: &'a RequestRows,
        (strategy, vector): (Strategy, Option<&'a [f32]>),
    ) -> Result<Self, Error> {
        let config: &EngineConfig = &state.config;
        let context = request.context.as_ref();
        let is_plain = config.fusion.is_plain();
        let band = config.band_for(request)?;
        let features = named.features.as_ref();
        let model = state.embedder.as_ref().map(|model| model.identity().fingerprint.as_str());
        let now = feedback::CurrentContext {
            vector: model.zip(vector),
            phase: features.and_then(|features| Some(features.phase?.as_str())),
            task_type: features.and_then(|features| Some(features.task_type?.as_str())),
        };
        Ok(Self {
            policy: policy((config.policy_for(request)?, strategy), state, reading),
            blocked: &state.inputs.blocked,
            filters: config.filters(context)?,
            weights: if is_plain { SignalWeights::OFF } else { state.inputs.weights },
            shares: config.min_shares.filter(|_| !is_plain),
            order: Order { policy: &state.order, band: if is_plain { 0.0 } else { band } },
            unit: Fusion::unit(strategy),
            signals: &state.signals,
            tools: state.catalog.tools(),
            situation: SignalInputs {
                unread: state.unread(reading),
                ..named.situation(reading, context, &state.observed)
            },
            log: LogView { observations: &state.inputs.observations, now },
            budget_tokens: context.and_then(|context| context.budget_tokens),
        })
    }

    /// The width of the band, if the catalog is large and scores alone decide which candidates are in the answer.
    pub fn band_width(&self) -> Option<f32> {
        let is_open = self.tools.len() >= TAIL_FROM && self.admits_all() && self.shares.is_none();
        let is_silent = || self.signals.are_silent(self.situation, self.weights);
        (is_open && is_silent()).then_some(self.order.band * self.unit)
    }

    /// Whether no filter can exclude a tool by itself.
    fn admits_all(&self) -> bool {
        self.policy.is_open()
            && self.blocked.is_empty()
            && self.filters.iter().all(ToolFilter::is_open)
    }

    /// Returns the rows that the filters admit, ascending, or `None` if they admit all candidates.
    pub fn admitted(&self, candidates: &[Candidate]) -> Option<Vec<u32>> {
        if self.admits_all() {
            return None;
        }
        let rows = candidates.iter().map(|candidate| candidate.row);
        let mut admitted: Vec<u32> = rows.filter(|row| self.is_admitted(*row)).collect();
        admitted.sort_unstable();
        (admitted.len() < candidates.len()).then_some(admitted)
    }

    /// Whether the filters admit a row, whatever else is in the answer.
    pub fn is_admitted(&self, row: u32) -> bool {
        self.admit_alone(row).is_ok()
    }

    fn tool(&self, row: u32) -> &'a Tool {
        &self.tools[row as usize]
    }

    fn is_newcomer(&self, row: u32) -> bool {
        self.weights.is_on(Signal::Newcomer) && self.tool(row).routing.newcomer
    }

    /// Adds the signals to the scores. Critical rows, and rows with a pattern that matches the
    /// prompt, are added to the candidates even if they were not retrieved.
    pub fn assess(&'a self, candidates: &mut Vec<Candidate>, rows: Rows<'_>) -> Assessment<'a> {
        if candidates.len() < self.tools.len() {
            let mut more = self.signals.intended(self.situation, self.weights);
            more.extend(self.signals.in_mentioned_categories(
                self.situation,
                self.weights,
                candidates,
            ));
            more.extend(self.signals.critical());
            more.sort_unstable();
            more.dedup();
            let known = candidates.iter().filter(|_| !more.is_empty()).map(|c| c.row);
            let known: HashSet<u32> = known.collect();
            let missing = more.into_iter().filter(|row| !known.contains(row) && among(rows, *row));
            candidates.extend(missing.map(without_scores));
        }
        let LogView { observations, now } = self.log;
        let history = |row| observations.history(&self.tool(row).id, &now);
        self.signals.assess(self.situation, self.weights, candidates, history)
    }

    /// Returns the rules for one prompt. A tool that declares an intent exclusively excludes the
    /// others if it is admitted itself.
    pub fn rules(
        &'a self,
        assessed: &Assessment<'_>,
        candidates: &[Candidate],
    ) -> AdmissionRules<'a> {
        let stands = |row: u32| candidates.iter().any(|c| c.row == row) && self.is_admitted(row);
        let exclusive = assessed.exclusive().filter(|(row, _)| stands(*row));
        AdmissionRules {
            scorer: self,
            exclusive: exclusive.map(|(row, name)| (row, name.to_owned())).collect(),
        }
    }

    fn observed(&self, row: u32) -> Option<&'a RunStats> {
        self.situation.observed.get(row as usize)?.as_ref()
    }

    /// Admits a row whatever else is in the answer, or returns why it is excluded.
    pub fn admit_alone(&self, row: u32) -> Result<(), Exclusion> {
        let tool = self.tool(row);
        self.policy.admit(tool, self.observed(row))?;
        self.blocked.admit(tool)?;
        self.filters.iter().try_for_each(|filter| filter.admit(tool))
    }

    /// Returns the best `limit` candidates, respecting minimum shares if configured.
    pub fn rank(
        &self,
        candidates: Vec<Candidate>,
        limit: usize,
        rules: &AdmissionRules<'_>,
    ) -> Ranking {
        let best = candidates.iter().map(Candidate::blend).fold(0.0, f32::max);
        let order = Order { band: band_of(self.order.band, self.unit, best), ..self.order };
        let Some(shares) = self.shares.filter(|_| candidates.iter().any(|c| c.semantic.is_some()))
        else {
            return rank(candidates, limit, rules, order);
        };
        let all = candidates.clone();
        let mut ranked = rank(candidates, limit, rules, order);
        let semantic = |c: &Candidate| c.semantic.map(|score| score.raw);
        let keyword = |c: &Candidate| c.keyword.map(|score| score.raw).filter(|raw| *raw > 0.0);
        let mut due = best_of(&all, shares.semantic, rules, self.order, semantic);
        due.extend(best_of(&all, shares.keyword, rules, self.order, keyword));
        due.truncate(limit);
        for candidate in &due {
            let keep = |row| due.iter().any(|d| d.row == row);
            self.place(&mut ranked.chosen, *candidate, limit, keep);
        }
        ranked
    }

    /// Adds the critical tools; in a full answer, they replace the last other tools.
    pub fn add_critical(&self, ranked: &mut Ranking, critical: &[Candidate], limit: usize) {
        for candidate in critical {
            if self.is_admitted(candidate.row) {
                let keep = |row| self.signals.critical().binary_search(&row).is_ok();
                self.place(&mut ranked.chosen, *candidate, limit, keep);
                ranked.excluded.retain(|(excluded, _)| excluded.row != candidate.row);
            }
        }
    }

    /// Inserts a candidate. A full list loses the last candidate that is not in `keep`.
    fn place(
        &self,
        chosen: &mut Vec<Candidate>,
        candidate: Candidate,
        limit: usize,
        keep: impl Fn(u32) -> bool,
    ) {
        if chosen.iter().any(|c| c.row == candidate.row) {
            return;
        }
        if chosen.len() >= limit {
            match chosen.iter().rposition(|c| !keep(c.row)) {
                Some(last) => drop(chosen.remove(last)),
                None => return,
            }
        }
        self.order.insert(chosen, candidate);
    }

    /// Returns the critical tools among the candidates.
    pub fn critical(&self, candidates: &[Candidate]) -> Vec<Candidate> {
        let critical = self.signals.critical();
        if critical.is_empty() {
            return Vec::new();
        }
        let is_critical = |c: &&Candidate| critical.binary_search(&c.row).is_ok();
        candidates.iter().filter(is_critical).copied().collect()
    }
}

/// The policy for a prompt. The limit per server does not apply if there is only one server. The
/// minimum share of the best score was measured with the hybrid strategy and prompts that ask for
/// one thing, and only applies to these: if a prompt asks for several things, each has a best tool
/// of its own.
fn policy((mut policy, strategy): (Policy, Strategy), state: &State, reading: &Reading) -> Policy {
    let (catalog, config) = (&state.catalog, &state.config);
    let is_measured = strategy == Strategy::Hybrid && !config.fusion.is_plain();
    let is_for_one = !config.clauses || reading.clauses.len() < 2;
    policy.near_best = policy.near_best.filter(|share| *share > 0.0 && is_measured && is_for_one);
    let of_one = |(_, tools): (&str, usize)| tools == catalog.len();
    if policy.max_per_server.is_some() && catalog.facets().values(Facet::Server).any(of_one) {
        policy.max_per_server = None;
    }
    policy
}

fn among(rows: Rows<'_>, row: u32) -> bool {
    match rows {
        Rows::All => true,
        Rows::Only(rows) => rows.contains(&row),
    }
}

/// A candidate that was not retrieved.
fn without_scores(row: u32) -> Candidate {
    Candidate { row, ..Candidate::default() }
}

/// Returns the `share` best candidates by one part of the score, among those that the rules admits.
fn best_of(
    all: &[Candidate],
    share: usize,
    rules: &AdmissionRules<'_>,
    order: Order<'_>,
    part: impl Fn(&Candidate) -> Option<f32>,
) -> Vec<Candidate> {
    let mut found: Vec<(f32, Candidate)> =
        all.iter().filter_map(|c| Some((part(c)?, *c))).collect();
    found.sort_by(|(a, x), (b, y)| b.total_cmp(a).then_with(|| order.better(x, y)));
    let mut chosen: Vec<Candidate> = Vec::new();
    for (_, candidate) in found {
        if chosen.len() == share {
            break;
        }
        if rules.admit(candidate.row, &chosen).is_ok() {
            chosen.push(candidate);
        }
    }
    chosen
}

impl AdmissionRules<'_> {
    /// Whether it admits every tool.
    pub fn is_open(&self) -> bool {
        self.scorer.admits_all() && self.exclusive.is_empty()
    }

    /// Returns the best candidate if tools of other servers must come near it. Returns `None`
    /// unless another tool of its server confirms it, so that a single hostile tool excludes
    /// nothing. Newcomers do not count.
    pub fn measure(&self, candidates: &[Candidate]) -> Option<Candidate> {
        let scorer = self.scorer;
        scorer.policy.near_best?;
        let mut best: Option<&Candidate> = None;
        for candidate in candidates {
            let is_better = best.is_none_or(|best| candidate.blend() > best.blend());
            if is_better
                && !scorer.is_newcomer(candidate.row)
                && self.admit(candidate.row, &[]).is_ok()
            {
                best = Some(candidate);
            }
        }
        let best = *best?;
        let server = scorer.tool(best.row).server.as_ref();
        let mut others = candidates.iter().filter(|c| c.row != best.row);
        let seconds = |c: &Candidate| {
            c.blend() >= CONFIRMING_SHARE * best.blend()
                && scorer.tool(c.row).server.as_ref() == server
        };
        others.any(seconds).then_some(best)
    }

    /// Compares two candidates; the better one is first.
    pub fn better(&self, a: &Candidate, b: &Candidate) -> Ordering {
        self.scorer.order.better(a, b)
    }

    /// Admits a candidate whose score is near the best one, or that the prompt names.
    pub fn admit_near(&self, candidate: &Candidate, best: &Candidate) -> Result<(), Exclusion> {
        let scorer = self.scorer;
        if candidate.exact_name > 0.0 {
            return Ok(());
        }
        let scaled = |row: u32, score: f32| (scorer.tool(row), score / scorer.unit);
        // Signals that lower a score are not about trust, except for newcomers.
        let score = match scorer.is_newcomer(candidate.row) {
            true => candidate.score,
            false => candidate.score.max(candidate.blend()),
        };
        scorer.policy.admit_near(scaled(candidate.row, score), scaled(best.row, best.blend()))
    }

    /// Admits a row unless its server has its maximum number of tools already.
    pub fn admit_beside(&self, row: u32, chosen: &[Candidate]) -> Result<(), Exclusion> {
        let scorer = self.scorer;
        let beside = chosen.iter().map(|candidate| scorer.tool(candidate.row));
        scorer.policy.admit_beside(scorer.tool(row), beside)
    }

    /// Admits a row, or returns why it is excluded.
    pub fn admit(&self, row: u32, chosen: &[Candidate]) -> Result<(), Exclusion> {
        let scorer = self.scorer;
        scorer.admit_alone(row)?;
        let (only, signals) = (&self.exclusive, scorer.signals);
        if let Some((by, intent)) = only.first().filter(|_| !only.iter().any(|(r, _)| *r == row)) {
            let (intent, by) = (intent.clone(), scorer.tool(*by).id.clone());
            return Err(Exclusion::Exclusive { intent, by });
        }
        if scorer.weights.is_on(Signal::Conflicts)
            && let Some(with) = chosen.iter().find(|c| signals.conflict(c.row, row))
        {
            return Err(Exclusion::Conflict { with: scorer.tool(with.row).id.clone() });
        }
        Ok(())
    }
}

/// The tools that a request's context names, as rows, and its features. [`SignalInputs`] borrows
/// them.
#[derive(Default)]
pub(super) struct RequestRows {
    planned: Vec<u32>,
    last: Option<u32>,
    /// Features that the analysis found or the context states.
    features: Option<ContextFeatures>,
}

impl RequestRows {
    pub fn new(state: &State, context: Option<&Context>) -> Self {
        let Some(context) = context else { return Self::default() };
        let row = |id: &String| state.catalog.row(id);
        let mut planned: Vec<u32> = context.planned_tools.iter().filter_map(row).collect();
        planned.sort_unstable();
        let features = context.given();
        let features = (features != ContextFeatures::default()).then_some(features);
        Self { planned, last: context.last_tool.as_ref().and_then(row), features }
    }

    fn situation<'a>(
        &'a self,
        reading: &'a Reading,
        context: Option<&'a Context>,
        observed: &'a RowObservations,
    ) -> SignalInputs<'a> {
        let urgent = context.and_then(|context| context.urgent);
        SignalInputs {
            text: &reading.text,
            original: reading.original.as_deref(),
            features: self.features.as_ref(),
            observed: &observed.observed,
            follows: observed.after(self.last),
            planned: &self.planned,
            urgent: urgent.unwrap_or(reading.is_urgent),
            needs_web: reading.needs_web,
            cost_aware: context.is_some_and(|context| context.cost_aware),
            unread: 0.0,
        }
    }
}

/// Returns the text as which the prompt was read, if it differs from the prompt.
pub(super) fn read_as(request: &SelectRequest, reading: &Reading) -> Option<String> {
    (request.prompt != reading.text).then(|| reading.text.clone())
}

#[cfg(test)]
mod tests;
