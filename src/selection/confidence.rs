//! How sure it is that any tool fits the prompt.

use super::hybrid::total_without_name;
use super::retriever::Candidate;
use crate::embedding::Calibration;

/// What the blended score counts for beside the cosine. Over eleven catalogs, prompts of other
/// catalogs are told apart best between 0.3 and 0.8; either part alone does worse.
const BLEND: f32 = 0.5;

/// The evidence that something fits, as one number: the best cosine, and half the best blended
/// score. `None` without candidates or without meaning (the keyword strategy).
fn evidence(candidates: &[Candidate]) -> Option<f32> {
    let cosine = candidates.iter().filter_map(|c| Some(c.semantic?.raw)).reduce(f32::max)?;
    let blended = candidates.iter().map(total_without_name).fold(0.0, f32::max);
    Some(cosine + BLEND * blended)
}

/// The probability that one of `tools` tools fits, 0 to 1: 0.5 at the threshold of the model's
/// calibration, and 1 where the prompt spells a tool's name out.
///
/// The threshold rises with the catalog: among many tools, one comes close to any prompt.
pub fn confidence(candidates: &[Candidate], tools: usize, model: &Calibration) -> Option<f32> {
    let evidence = evidence(candidates)?;
    if candidates.iter().any(|candidate| candidate.exact_name > 0.0) {
        return Some(1.0);
    }
    let threshold = model.threshold + model.per_doubling * (tools.max(1) as f32).log2();
    Some(1.0 / (1.0 + (-(evidence - threshold) / model.width).exp()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::selection::Score;

    const MODEL: Calibration = Calibration { threshold: 0.5, per_doubling: 0.01, width: 0.1 };

    fn candidate(cosine: f32, exact_name: f32) -> Candidate {
        let semantic = Score { raw: cosine, normalized: cosine, weight: 0.7 };
        let keyword = Score { raw: 0.0, normalized: 0.0, weight: 0.3 };
        let score = semantic.contribution() + exact_name;
        Candidate { row: 0, score, semantic: Some(semantic), keyword: Some(keyword), exact_name }
    }

    #[test]
    fn it_rises_with_the_best_and_falls_with_the_catalog() {
        let sure = |cosine, tools| {
            confidence(&[candidate(0.1, 0.0), candidate(cosine, 0.0)], tools, &MODEL).unwrap()
        };
        assert!(sure(0.8, 100) > 0.9 && sure(0.1, 100) < 0.05);
        assert!(sure(0.5, 10) > sure(0.5, 10_000));
    }

    #[test]
    fn a_spelled_out_name_is_certain_and_words_alone_say_nothing() {
        assert_eq!(confidence(&[candidate(0.0, 1.0)], 10, &MODEL), Some(1.0));
        let words = Candidate { semantic: None, ..candidate(0.9, 0.0) };
        assert_eq!(confidence(&[words], 10, &MODEL), None);
        assert_eq!(confidence(&[], 10, &MODEL), None);
    }
}
