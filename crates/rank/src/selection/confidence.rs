//! The confidence that at least one tool fits the prompt.

use toolroute_vectors::embedding::Calibration;

use super::candidate::{Candidate, Score};
use super::fusion::Fusion;
use super::retriever::Retrieval;
use crate::feedback::ServedScores;

/// The confidence from which the verdict is [`Fit::Fits`](super::Fit::Fits). `scripts/calibrate.py` chooses the width
/// of a model's calibration so that this is the confidence at its upper cut-off.
pub const SURE: f32 = 0.75;

/// The weight of the fused score relative to the cosine. Over eleven catalogs, weights of 0.3 to
/// 0.8 recognise prompts of other catalogs best; each part alone is worse.
const BLEND: f32 = 0.5;

/// Returns the evidence that a tool fits: the best cosine, plus a weighted share of the best fused
/// score. Returns `None` without candidates or without cosines (keyword strategy).
///
/// `own` returns the cosine with a row's own text, if past prompts have moved its vector. The greater
/// one counts: what was learned of other prompts is no reason to doubt a prompt in the tool's own words.
pub fn evidence(
    found: &Retrieval,
    fusion: Fusion,
    own: impl Fn(u32) -> Option<f32>,
) -> Option<f32> {
    let cosine = found.candidates.iter().filter_map(|c| Some(c.semantic?.raw)).reduce(f32::max)?;
    let (mut nearest, mut most) = (cosine, 0.0f32);
    for candidate in &found.candidates {
        let Some(semantic) = candidate.semantic else { continue };
        let raise = own(candidate.row).map_or(0.0, |own| (own - semantic.raw).max(0.0));
        nearest = nearest.max(semantic.raw + raise);
        most = most.max(blended(candidate, fusion, cosine) + Fusion::SEMANTIC_WEIGHT * raise);
    }
    Some(nearest + BLEND * most)
}

/// Returns the evidence of a best cosine alone.
pub(super) fn evidence_by_meaning(best: f32) -> f32 {
    (1.0 + BLEND) * best
}

/// Returns a candidate's score on the scale of the threshold, whichever fusion ranks the answer.
/// `best` is the best cosine.
pub(super) fn blended(candidate: &Candidate, fusion: Fusion, best: f32) -> f32 {
    if !fusion.is_plain() {
        return candidate.total_without_name();
    }
    let raw = |part: Option<Score>| part.map_or(0.0, |score| score.raw);
    let cosine = raw(candidate.semantic);
    Fusion::SEMANTIC_WEIGHT * (cosine + Fusion::lead(cosine, best))
        + (1.0 - Fusion::SEMANTIC_WEIGHT) * raw(candidate.keyword) / Fusion::KEYWORD_SCALE
}

/// What the evidence of a prompt is compared with.
#[derive(Clone, Copy, Debug)]
pub struct CatalogEvidence {
    /// The number of tools.
    pub tools: usize,
    /// See [`background_evidence`](super::background_evidence).
    pub background: f32,
    /// What past prompts reached, if any were learned.
    pub served: Option<ServedScores>,
}

/// The evidence of a prompt that a tool serves, relative to its best score by meaning: the median of
/// each of nine choice catalogs of `scripts/calibrate.py` is between 1.48 and 1.67.
const EVIDENCE_PER_SCORE: f32 = 1.6;

/// The weight, in past prompts, of the model's own range of doubt.
const FEW_PROMPTS: f32 = 20.0;

/// The least share of the model's range of doubt that past prompts leave.
const LEAST_DOUBT: f32 = 0.2;

/// Returns the probability, 0 to 1, that a tool fits. It is 0.5 at the threshold of the model's
/// calibration.
///
/// The threshold rises with the number of tools, because a large catalog contains a tool near any
/// prompt. It also rises with `background`, the evidence of ordinary prompts in this catalog. Above
/// the threshold, the probability rises faster if past prompts had less evidence than the model
/// expects of prompts that fit for sure, so that a catalog whose users ask vaguely is not doubted
/// more often than others.
pub fn confidence(evidence: f32, catalog: CatalogEvidence, model: &Calibration) -> f32 {
    let CatalogEvidence { tools, background, served } = catalog;
    let size = model.per_doubling * libm::log2f(tools.max(1) as f32);
    let threshold = model.threshold + size + model.background * background;
    let above = evidence - threshold;
    let width = match served {
        Some(served) if above > 0.0 => model.width * share_of_doubt(served, threshold, model),
        _ => model.width,
    };
    1.0 / (1.0 + libm::expf(-above / width))
}

/// Returns the share of the model's range of doubt, from the threshold to [`SURE`], below the evidence
/// that 90 % of past prompts reached.
fn share_of_doubt(served: ServedScores, threshold: f32, model: &Calibration) -> f32 {
    let usual = model.width * libm::logf(SURE / (1.0 - SURE));
    let prompts = served.prompts as f32;
    let found = (EVIDENCE_PER_SCORE * served.reached - threshold) / usual;
    ((prompts * found + FEW_PROMPTS) / (prompts + FEW_PROMPTS)).clamp(LEAST_DOUBT, 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::selection::Score;

    const MODEL: Calibration =
        Calibration { threshold: 0.5, per_doubling: 0.01, background: 0.5, width: 0.1 };

    fn candidate(cosine: f32, exact_name: f32) -> Candidate {
        let semantic = Score { raw: cosine, normalized: cosine, weight: 0.7 };
        let keyword = Score { raw: 0.0, normalized: 0.0, weight: 0.3 };
        let score = semantic.contribution() + exact_name;
        Candidate {
            score,
            semantic: Some(semantic),
            keyword: Some(keyword),
            exact_name,
            ..Candidate::default()
        }
    }

    fn evidence_of(candidates: &[Candidate]) -> Option<f32> {
        evidence(&found(candidates), Fusion::default(), |_| None)
    }

    fn found(candidates: &[Candidate]) -> Retrieval {
        Retrieval { candidates: candidates.to_vec(), ..Retrieval::default() }
    }

    #[test]
    fn the_evidence_is_the_same_whatever_the_answer_is_ranked_by() {
        let (semantic, keyword) = ([0.62, 0.31, 0.05], [5.1, 0.0, 1.7]);
        let of = |fusion: Fusion| {
            let mut scores = fusion.apply(&semantic, &keyword, 1.0);
            fusion.lift_nearest(&mut scores);
            let candidates =
                scores.into_iter().zip(0u32..).map(|((semantic, keyword), row)| Candidate {
                    row,
                    score: semantic.contribution() + keyword.contribution(),
                    semantic: Some(semantic),
                    keyword: Some(keyword),
                    ..Candidate::default()
                });
            evidence(&found(&candidates.collect::<Vec<_>>()), fusion, |_| None).unwrap()
        };
        assert!((of(Fusion::Plain) - of(Fusion::default())).abs() < 1e-5);
    }

    #[test]
    fn a_tools_own_words_are_evidence_whatever_was_learned() {
        let moved = [candidate(0.3, 0.0)];
        let of = |own| evidence(&found(&moved), Fusion::default(), |_| own).unwrap();
        assert_eq!(of(Some(0.2)), of(None));
        let unmoved = evidence_of(&[candidate(0.6, 0.0)]).unwrap();
        assert!((of(Some(0.6)) - unmoved).abs() < 1e-5);
    }

    #[test]
    fn it_rises_with_the_best_and_falls_with_the_catalog() {
        let sure = |cosine, tools| {
            let candidates = [candidate(0.1, 0.0), candidate(cosine, 0.0)];
            let catalog = CatalogEvidence { tools, background: 0.0, served: None };
            confidence(evidence_of(&candidates).unwrap(), catalog, &MODEL)
        };
        assert!(sure(0.8, 100) > 0.9 && sure(0.1, 100) < 0.05);
        assert!(sure(0.5, 10) > sure(0.5, 10_000));
    }

    #[test]
    fn it_falls_with_the_evidence_that_other_prompts_have() {
        let catalog = |background| CatalogEvidence { tools: 10, background, served: None };
        let sure = |background| confidence(0.7, catalog(background), &MODEL);
        assert!(sure(0.2) > 0.5 && sure(0.9) < 0.5);
    }

    #[test]
    fn past_prompts_with_little_evidence_narrow_the_range_of_doubt_only() {
        // The model is sure of evidence from 0.61 on.
        let sure = |evidence, served: Option<(f32, u32)>| {
            let served = served.map(|(reached, prompts)| ServedScores { reached, prompts });
            confidence(evidence, CatalogEvidence { tools: 1, background: 0.0, served }, &MODEL)
        };
        let vague = |prompts| Some((0.55 / EVIDENCE_PER_SCORE, prompts));
        assert!(sure(0.58, None) < SURE && sure(0.58, vague(256)) > SURE);
        assert!(sure(0.58, vague(5)) < SURE, "a few prompts say little");
        assert!(sure(0.53, vague(256)) < SURE, "rarer than a tenth of the past prompts");
        assert_eq!(sure(0.4, vague(256)), sure(0.4, None));
        assert_eq!(sure(0.58, Some((0.9, 256))), sure(0.58, None), "it is never doubted more");
        assert!(sure(0.51, Some((-1.0, 256))) < SURE, "a fifth of the range remains");
    }

    #[test]
    fn a_name_is_no_evidence_of_meaning_and_words_alone_are_none() {
        let (named, not) =
            (evidence_of(&[candidate(0.4, 1.0)]), evidence_of(&[candidate(0.4, 0.0)]));
        assert!((named.unwrap() - not.unwrap()).abs() < 1e-5);
        let words = Candidate { semantic: None, ..candidate(0.9, 0.0) };
        assert_eq!(evidence_of(&[words]), None);
        assert_eq!(evidence_of(&[]), None);
    }
}
