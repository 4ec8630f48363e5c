//! The part of a report of `toolroute eval --suite DIR --json` that gates and plots need.

use std::path::Path;

use anyhow::Context as _;
use serde::Deserialize;
use toolroute_eval::Comparison;

/// The scores of a suite.
#[derive(Clone, Debug, Deserialize)]
pub struct Report {
    pub model: String,
    /// The precision at which the model ran, such as `int8`.
    pub precision: String,
    /// The maximum number of prompts per set; `None` if all were used.
    pub queries_per_set: Option<usize>,
    /// In the order of their names.
    pub sets: Vec<SetScores>,
    /// Means over the sets; empty if there is only one set.
    pub means: Vec<MeanScores>,
}

/// The scores on one set.
#[derive(Clone, Debug, Deserialize)]
pub struct SetScores {
    pub set: String,
    pub tools: usize,
    /// Prompts with known answers.
    pub queries: usize,
    #[serde(flatten)]
    pub comparison: Comparison,
}

/// Mean scores over several sets, which have equal weights.
#[derive(Clone, Debug, Deserialize)]
pub struct MeanScores {
    /// The name of the group of sets, such as `all sets`.
    pub over: String,
    pub sets: usize,
    #[serde(flatten)]
    pub comparison: Comparison,
}

impl Report {
    /// Reads a report from a file.
    pub fn read(path: &Path) -> anyhow::Result<Self> {
        let text = std::fs::read_to_string(path)
            .with_context(|| format!("cannot read {}", path.display()))?;
        serde_json::from_str(&text).with_context(|| {
            let path = path.display();
            format!(
                "{path} is not a report; expected the output of `toolroute eval --suite DIR --json`"
            )
        })
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// Builds a report in which all strategies have the same score on a set.
    pub(crate) fn report(sets: &[(&str, f64)]) -> Report {
        let interval = |mean: f64| format!(r#"{{"mean": {mean}, "low": 0.5, "high": 0.9}}"#);
        let comparison = |mean: f64| {
            let one = interval(mean);
            let scores = format!(
                r#"{{"ndcg@5": {one}, "hit@1": {one}, "recall@5": {one}, "mrr": {one}, "comp@5": {one}}}"#
            );
            format!(
                r#""strategies": {{"keyword": {scores}, "semantic": {scores}, "hybrid": {scores}}},
                "hybrid_vs_best": {{"best": "keyword", "difference": {one}, "verdict": "not_below"}}"#
            )
        };
        let set = |(set, mean): &(&str, f64)| {
            format!(r#"{{"set": "{set}", "tools": 2, "queries": 3, {}}}"#, comparison(*mean))
        };
        let all = sets.iter().map(set).collect::<Vec<_>>().join(",");
        let text = format!(
            r#"{{"model": "m", "precision": "int8", "version": "0", "sets": [{all}],
            "means": [{{"over": "all sets", "sets": {}, {}}}]}}"#,
            sets.len(),
            comparison(0.75)
        );
        serde_json::from_str(&text).unwrap()
    }

    #[test]
    fn what_is_not_a_report_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("r.json");
        std::fs::write(&path, "{\"sets\": []}").unwrap();
        let refused = Report::read(&path).unwrap_err().to_string();
        assert!(refused.contains("is not a report"), "{refused}");
        let missing = Report::read(Path::new("no/where")).unwrap_err().to_string();
        assert!(missing.contains("cannot read no/where"), "{missing}");
    }
}
