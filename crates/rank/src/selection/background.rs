//! The background evidence of a catalog: the evidence of ordinary prompts, with which a prompt's
//! own evidence is compared.
//!
//! 500 prompts of all kinds (`data/background.txt`, written for this purpose) are compared with all
//! tools. In a catalog of general tools, many prompts are near some tool; in a catalog of a few
//! special tools, none is. The evidence of a single prompt means little without this comparison. No
//! labels are needed. A catalog of everyday tools serves most of the 500 prompts, so a low quantile
//! is used: it represents prompts that the catalog does not serve.

use ndarray::{ArrayView1, ArrayView2, Axis};
use toolroute_vectors::index::Vectors;

use super::confidence::evidence_by_meaning;

const PROMPTS: &str = include_str!("data/background.txt");

/// The share of the prompts whose evidence is below the catalog's background evidence. On the
/// catalogs of `scripts/calibrate.py`, shares of 0.05 to 0.1 separate best: if 10 % of a catalog's
/// own prompts are doubted, 0.80 of the other prompts are, compared to 0.78, 0.75 and 0.77 with
/// shares of 0.25, 0.5 and 0.75.
const SHARE: f32 = 0.1;

/// The weight, in tools, of the prior [`USUAL`]. A few tools do not determine the evidence of
/// ordinary prompts reliably, so it is pulled towards the prior. Otherwise "tell me a joke" would
/// fit one of four tools with high confidence.
const FEW: f32 = 8.0;
/// The prior: the mean background evidence of the catalogs of `scripts/calibrate.py`.
const USUAL: f32 = 0.28;

/// The maximum number of dot products of a prompt and a tool. With more than 2,000 tools, fewer
/// prompts are compared so that startup is not delayed.
const MOST_PRODUCTS: usize = 1_000_000;

/// The minimum number of prompts that are compared.
const LEAST_PROMPTS: usize = 64;

/// Returns the background prompts, in the order of their vectors.
pub fn background_prompts() -> Vec<&'static str> {
    PROMPTS.lines().collect()
}

/// Returns the evidence, from cosines alone, that 10 % of the background prompts do not reach in a
/// catalog, adjusted by the prior. 0 without tools or prompts.
pub fn background_evidence(prompts: &Vectors, tools: &Vectors) -> f32 {
    if tools.is_empty() || prompts.is_empty() {
        return 0.0;
    }
    let few = (MOST_PRODUCTS / tools.len()).max(LEAST_PROMPTS);
    let some: Vec<usize> = (0..prompts.len()).step_by(prompts.len().div_ceil(few)).collect();
    let cosines = matrix(prompts).select(Axis(0), &some).dot(&matrix(tools).t());
    let best = |row: ArrayView1<'_, f32>| row.iter().copied().fold(f32::MIN, f32::max);
    let mut evidence: Vec<f32> =
        cosines.rows().into_iter().map(|row| evidence_by_meaning(best(row))).collect();
    evidence.sort_by(f32::total_cmp);
    let found = evidence[((SHARE * evidence.len() as f32) as usize).min(evidence.len() - 1)];
    let count = tools.len() as f32;
    (count * found + FEW * USUAL) / (count + FEW)
}

fn matrix(vectors: &Vectors) -> ArrayView2<'_, f32> {
    ArrayView2::from_shape((vectors.len(), vectors.dimension()), vectors.as_slice())
        .expect("vectors have as many numbers as rows times dimension. This is a bug.")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_are_500_different_prompts() {
        let mut prompts = background_prompts();
        assert_eq!(prompts.len(), 500);
        assert!(prompts.iter().all(|prompt| !prompt.trim().is_empty()));
        prompts.sort_unstable();
        prompts.dedup();
        assert_eq!(prompts.len(), 500);
    }

    #[test]
    fn it_is_the_evidence_of_the_least_served_tenth() {
        let tools = Vectors::from_rows(&[[1.0, 0.0], [0.0, 1.0]]).unwrap();
        let row = |at: usize| match at {
            0 => [-1.0, 0.0],
            1 => [0.6, 0.8],
            _ => [0.0, 1.0],
        };
        let prompts = Vectors::from_rows(&(0..10).map(row).collect::<Vec<_>>()).unwrap();
        // The first prompt has less evidence. The second has a best cosine of 0.8.
        let drawn = (2.0 * 1.5 * 0.8 + FEW * USUAL) / (2.0 + FEW);
        assert!((background_evidence(&prompts, &tools) - drawn).abs() < 1e-5);
        let none = Vectors::from_rows::<[f32; 2]>(&[]).unwrap();
        assert_eq!(background_evidence(&prompts, &none), 0.0);
    }

    #[test]
    fn many_tools_are_compared_with_fewer_prompts() {
        let tools = Vectors::from_rows(&vec![[1.0]; 20_000]).unwrap();
        let row = |at: usize| if at < 20 { [-1.0] } else { [1.0] };
        let prompts = Vectors::from_rows(&(0..500).map(row).collect::<Vec<_>>()).unwrap();
        assert!((background_evidence(&prompts, &tools) - 1.5).abs() < 1e-3);
    }
}
