//! A row of the catalog that may be in the answer, and what its score is made of.

use crate::query::words;

/// One part of a candidate's score, with its weight.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Score {
    /// The cosine or BM25 score before normalisation.
    pub raw: f32,
    /// The score after normalisation, or the reciprocal rank.
    pub normalized: f32,
    /// The factor by which `normalized` is multiplied.
    pub weight: f32,
}

impl Score {
    /// Returns the amount that this part adds to the candidate's score.
    pub fn contribution(self) -> f32 {
        self.weight * self.normalized
    }
}

/// A catalog row with its score, which is the sum of its parts.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Candidate {
    pub row: u32,
    pub score: f32,
    pub semantic: Option<Score>,
    pub keyword: Option<Score>,
    /// The bonus if the prompt contains the tool's exact name; otherwise 0.
    pub exact_name: f32,
    /// The bonus of a tool that fits the prompt's wording better than the best-scoring tool;
    /// otherwise 0.
    pub wording: f32,
    /// Why the tool ranks before one with a higher score.
    pub preferred: Option<Preference>,
}

impl Candidate {
    /// Returns the sum of the semantic and keyword contributions.
    pub fn blend(&self) -> f32 {
        let part = |score: Option<Score>| score.map_or(0.0, Score::contribution);
        part(self.semantic) + part(self.keyword)
    }

    /// Returns the amount that the signals added to the score.
    pub fn signals(&self) -> f32 {
        self.score - self.blend() - self.exact_name - self.wording
    }
    /// Returns the score without the bonuses for its name and its wording.
    pub(super) fn total_without_name(&self) -> f32 {
        self.score - self.exact_name - self.wording
    }
}

words! {
    /// A criterion of the policy, in the order of the source documents.
    Criterion {
        Reliability => "reliability",
        Cost => "cost",
        Latency => "latency",
    }
}

/// Why the policy ranks a tool before one of its band with a higher score.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Preference {
    /// The row of the other tool.
    pub over: u32,
    pub by: Criterion,
}
