//! Computes how certain it is that any tool of the catalog fits a prompt, and empties the answer if
//! none does.

use super::Error;
use super::ranking::Ranking;
use super::request::NoTools;
use super::state::State;
use crate::selection::{
    Assessment, Exclusion, Fit, FitInputs, FitReason, Prompt, Retrieval, Strategy, confidence,
    evidence, judge_fit, missing_action,
};

/// The minimum match of a pattern or category declared by a tool's author that makes the tool fit
/// although it lacks an action.
const SURE_BY_AUTHOR: f32 = 0.5;

/// The evidence that some tool of the catalog fits.
#[derive(Default)]
pub(super) struct Certainty {
    pub evidence: Option<f32>,
    /// The background evidence: what 90 % of ordinary prompts reach in this catalog.
    pub background: Option<f32>,
    pub confidence: Option<f32>,
    /// Why the answer does not fit for sure, whatever the confidence is.
    pub objection: Option<FitReason>,
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
        let evidence = evidence(found, fusion).filter(|_| is_judged);
        let calibration = self.embedder.as_ref().and_then(|embedder| embedder.calibration());
        let (Some(sum), Some(model)) = (evidence, calibration) else {
            return Ok(Certainty { evidence, ..Certainty::default() });
        };
        if found.candidates.iter().any(|candidate| candidate.exact_name > 0.0) {
            return Ok(Certainty { evidence, confidence: Some(1.0), ..Certainty::default() });
        }
        let background = self.background_evidence()?;
        let missing = || {
            let verb = missing_action(prompt.text(), found, fusion, || self.tool_actions())?;
            Some(FitReason::MissingAction { verb })
        };
        let objection = match prompt.reading.only_forbids {
            true => Some(FitReason::Forbids),
            false => missing(),
        };
        let catalog = (self.catalog.len(), background);
        Ok(Certainty {
            evidence,
            background: Some(background),
            confidence: Some(confidence(sum, catalog, &model)),
            objection,
        })
    }

    /// Combines the confidence with what the tools' authors declare, and returns the verdict.
    pub fn verdict(
        &self,
        sure: &Certainty,
        assessed: &Assessment<'_>,
        may_abstain: bool,
    ) -> (Option<f32>, (Fit, Option<FitReason>)) {
        // A matching pattern of a tool's author counts even if the model disagrees.
        let said = assessed.strongest_intent().max(assessed.sure_of_category());
        let confidence = sure.confidence.map(|sure| sure.max(said));
        let least = if may_abstain { self.config.min_confidence } else { 0.0 };
        let objection = sure.objection.clone().filter(|_| said < SURE_BY_AUTHOR);
        (confidence, judge_fit(FitInputs { confidence, objection, least }))
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

/// Empties an answer if none of its tools fits; returns whether it is empty.
pub(super) fn withhold((fit, reason): &(Fit, Option<FitReason>), ranking: &mut Ranking) -> bool {
    let (Fit::None, Some(because)) = (fit, reason) else { return false };
    let because = Exclusion::Unfit { because: because.clone() };
    let Ranking { chosen, excluded, .. } = ranking;
    // Tools that a filter left out keep that reason.
    if chosen.is_empty() {
        return true;
    }
    *excluded = chosen.drain(..).map(|nearest| (nearest, because.clone())).collect();
    true
}
