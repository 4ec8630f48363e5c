//! Computes how certain it is that any tool that the request admits fits a prompt, and empties the
//! answer if none does.

use super::Error;
use super::candidate_scorer::CandidateScorer;
use super::ranking::{Ranking, fits};
use super::request::NoTools;
use super::state::State;
use crate::index::{Rows, dot};
use crate::query::Reading;
use crate::selection::{
    Assessment, CatalogEvidence, Exclusion, Fit, FitInputs, FitReason, Prompt, Retrieval,
    Retriever, SURE, Strategy, confidence, evidence, judge_fit, missing_action,
};
use toolroute_catalog::words_of;

/// The minimum match of a pattern or category declared by a tool's author that makes the tool fit
/// although it lacks an action.
const SURE_BY_AUTHOR: f32 = 0.5;

/// The evidence that some tool fits.
#[derive(Default)]
pub(super) struct Certainty {
    pub evidence: Option<f32>,
    /// The background evidence: what 90 % of ordinary prompts reach in this catalog.
    pub background: Option<f32>,
    pub confidence: Option<f32>,
    /// Why the answer does not fit for sure, whatever the confidence is.
    pub objection: Option<FitReason>,
}

/// Whether the tools of an answer fit, and how certain that is.
pub(super) struct Verdict {
    pub sure: Certainty,
    pub fit: (Fit, Option<FitReason>),
}

impl State {
    /// Returns the evidence that any tool fits, and the confidence computed from it. The confidence
    /// is 1 if the prompt contains a tool's name.
    pub fn certainty(
        &self,
        strategy: Strategy,
        prompt: &Prompt<'_>,
        found: &Retrieval,
    ) -> Result<Certainty, Error> {
        let fusion = self.config.fusion;
        let is_judged = strategy == Strategy::Hybrid && !fusion.is_plain();
        let own = |row| self.own_cosine(row, prompt);
        let evidence = evidence(found, fusion, own).filter(|_| is_judged);
        let calibration = self.embedder.as_ref().and_then(|embedder| embedder.calibration());
        let (Some(sum), Some(model)) = (evidence, calibration) else {
            return Ok(Certainty { evidence, ..Certainty::default() });
        };
        if found.candidates.iter().any(|candidate| candidate.exact_name > 0.0) {
            return Ok(Certainty { evidence, confidence: Some(1.0), ..Certainty::default() });
        }
        let background = self.background_evidence()?;
        let missing = || {
            let found = (self.catalog.tools(), found);
            missing_action(prompt.reading, found, fusion, || self.tool_actions())
        };
        let reading = prompt.reading;
        let objection = match reading.only_forbids || self.is_forbidden(reading, found) {
            true => Some(FitReason::Forbids),
            false => missing(),
        };
        let catalog = CatalogEvidence {
            tools: self.catalog.len(),
            background,
            served: self.learned.as_ref().and_then(|learned| learned.served),
        };
        Ok(Certainty {
            evidence,
            background: Some(background),
            confidence: Some(confidence(sum, catalog, &model)),
            objection,
        })
    }

    /// Whether a prompt says not to do what the first tool is named after: "write a mail but do not send it".
    fn is_forbidden(&self, reading: &Reading, found: &Retrieval) -> bool {
        let first = found.candidates.iter().max_by(|a, b| a.score.total_cmp(&b.score));
        let name = |row: u32| words_of(&self.catalog.tools()[row as usize].name);
        !reading.forbidden.is_empty()
            && first.is_some_and(|first| {
                name(first.row).iter().any(|word| reading.forbidden.contains(word))
            })
    }

    /// Returns the cosine of a prompt with the text of a tool whose vector past prompts have moved.
    fn own_cosine(&self, row: u32, prompt: &Prompt<'_>) -> Option<f32> {
        self.learned.as_ref()?.rows.get(row)?;
        Some(dot(self.vectors.as_ref()?.get(row)?, prompt.vector?.numbers))
    }

    /// Judges the tools that the filters admit as if the request named them as its candidates: a
    /// tool that is not in the answer must not make the others look certain. They are at best
    /// [`Fit::Unsure`] if the prompt is clearly for an excluded tool.
    ///
    /// `found` is the certainty of all candidates, which applies if none of them is excluded.
    pub fn judge(
        &self,
        (retriever, prompt): (&dyn Retriever, &Prompt<'_>),
        scorer: &CandidateScorer<'_>,
        (found, assessed): (Certainty, &Assessment<'_>),
        (ranking, may_abstain): (&Ranking, bool),
    ) -> Result<Verdict, Error> {
        // Without evidence there is nothing to judge.
        let admitted = found.evidence.and_then(|_| scorer.admitted(&ranking.all));
        let Some(admitted) = admitted else {
            return Ok(self.verdict(found, assessed, may_abstain));
        };
        let prompt = Prompt { rows: Rows::Only(&admitted), ..*prompt };
        let mut left = retriever.retrieve(&prompt)?;
        let mut sure = self.certainty(retriever.strategy(), &prompt, &left)?;
        let assessed = scorer.assess(&mut left.candidates, prompt.rows);
        if sure.objection.is_none() && found.confidence.is_some_and(|found| found >= SURE) {
            let by_filters = ranking.excluded.iter().filter(|(c, _)| !scorer.is_admitted(c.row));
            let best = by_filters.map(|(candidate, _)| candidate.score).fold(0.0, f32::max);
            sure.objection = (!fits(ranking.best(), best)).then_some(FitReason::BetterExcluded);
        }
        Ok(self.verdict(sure, &assessed, may_abstain))
    }

    /// Combines the confidence with what the tools' authors declare, and returns the verdict.
    fn verdict(
        &self,
        mut sure: Certainty,
        assessed: &Assessment<'_>,
        may_abstain: bool,
    ) -> Verdict {
        // A matching pattern of a tool's author counts even if the model disagrees.
        let said = assessed.strongest_intent().max(assessed.sure_of_category());
        sure.confidence = sure.confidence.map(|sure| sure.max(said));
        let least = if may_abstain { self.config.min_confidence } else { 0.0 };
        let objection = sure.objection.take().filter(|_| said < SURE_BY_AUTHOR);
        let fit = judge_fit(FitInputs { confidence: sure.confidence, objection, least });
        Verdict { sure, fit }
    }

    /// Why nothing was chosen; `None` if something was.
    pub fn no_tools(&self, ranking: &Ranking, is_filtered: bool, limit: usize) -> Option<NoTools> {
        match ranking.chosen.is_empty() {
            false => None,
            true if self.catalog.is_empty() => Some(NoTools::EmptyCatalog),
            true if limit == 0 => Some(NoTools::LimitIsZero),
            true if is_filtered => Some(NoTools::Filtered),
            true => Some(NoTools::NothingFits),
        }
    }
}

/// Empties an answer if none of its tools fits; returns whether it is empty. `is_admitted` tells
/// whether the filters admit a row.
pub(super) fn withhold(
    (fit, reason): &(Fit, Option<FitReason>),
    ranking: &mut Ranking,
    is_admitted: impl Fn(u32) -> bool,
) -> bool {
    let (Fit::None, Some(because)) = (fit, reason) else { return false };
    let because = Exclusion::Unfit { because: because.clone() };
    let Ranking { chosen, excluded, .. } = ranking;
    if chosen.is_empty() {
        return true;
    }
    // Tools that a filter left out keep that reason: one of them may be what the prompt asks for.
    excluded.retain(|(candidate, _)| !is_admitted(candidate.row));
    excluded.extend(chosen.drain(..).map(|nearest| (nearest, because.clone())));
    excluded.sort_by(|(a, _), (b, _)| b.score.total_cmp(&a.score));
    true
}
