//! A gate against regressions: the minimum nDCG@5 of each strategy on each set.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context as _, bail, ensure};
use toolroute_eval::Strategies;
use toolroute_rank::engine::Strategy;

use crate::report::SetScores;

/// Minima by set, from a TOML file or a file with the extension `.json`:
///
/// ```toml
/// [sample]
/// keyword = 0.57
/// hybrid = 0.76
/// ```
#[derive(Clone, Debug)]
pub struct Gate {
    minima: BTreeMap<String, Strategies<Option<f64>>>,
}

/// The result of a check against a gate.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct GateReport {
    /// Scores that were compared with a minimum.
    pub checked: usize,
    pub low: Vec<LowScore>,
    /// Sets of the gate that were not measured.
    pub skipped: Vec<String>,
}

/// A score below its minimum.
#[derive(Clone, Debug, PartialEq)]
pub struct LowScore {
    pub set: String,
    pub strategy: Strategy,
    /// nDCG@5.
    pub found: f64,
    pub minimum: f64,
}

impl Gate {
    /// Reads a gate from a file.
    ///
    /// # Errors
    /// Returns an error if the file cannot be read, has another format, holds no minimum, or holds
    /// one outside 0 to 1.
    pub fn read(path: &Path) -> anyhow::Result<Self> {
        let text = std::fs::read_to_string(path)
            .with_context(|| format!("cannot read {}", path.display()))?;
        let is_json = path.extension().is_some_and(|kind| kind.eq_ignore_ascii_case("json"));
        Self::parse(&text, is_json).with_context(|| {
            let path = path.display();
            format!("{path} is not a gate; expected minima of nDCG@5, such as [SET] and hybrid = 0.75 below it")
        })
    }

    fn parse(text: &str, is_json: bool) -> anyhow::Result<Self> {
        let minima: BTreeMap<String, Strategies<Option<f64>>> =
            if is_json { serde_json::from_str(text)? } else { toml::from_str(text)? };
        let all = || minima.values().flat_map(Strategies::iter).filter_map(|(_, least)| *least);
        ensure!(all().next().is_some(), "it holds no minimum");
        if let Some(least) = all().find(|least| !(0.0..=1.0).contains(least)) {
            bail!("the minimum {least} is not within 0 and 1");
        }
        Ok(Self { minima })
    }

    /// Compares the scores of sets with the minima.
    ///
    /// # Errors
    /// Returns an error if no set of the gate was measured, because then any change would pass.
    pub fn check(&self, sets: &[SetScores]) -> anyhow::Result<GateReport> {
        let mut report = GateReport::default();
        for (name, minima) in &self.minima {
            let Some(set) = sets.iter().find(|set| set.set == *name) else {
                report.skipped.push(name.clone());
                continue;
            };
            let scores = set.comparison.strategies.iter();
            for ((strategy, minimum), (_, scores)) in minima.iter().zip(scores) {
                let Some(minimum) = *minimum else { continue };
                report.checked += 1;
                let found = scores.ndcg_at_5.mean;
                if found < minimum {
                    report.low.push(LowScore { set: name.clone(), strategy, found, minimum });
                }
            }
        }
        let skipped = report.skipped.join(", ");
        ensure!(
            report.checked > 0,
            "no set of the gate was measured ({skipped}); measure one of them"
        );
        Ok(report)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::tests::report;

    #[test]
    fn a_gate_reports_low_scores_and_sets_that_were_not_measured() {
        let toml = "[a]\nkeyword = 0.5\nhybrid = 0.7\n[b]\nsemantic = 0.1\n";
        let json = r#"{"a": {"keyword": 0.5, "hybrid": 0.7}, "b": {"semantic": 0.1}}"#;
        for (text, is_json) in [(toml, false), (json, true)] {
            let gate = Gate::parse(text, is_json).unwrap();
            let found = gate.check(&report(&[("a", 0.6), ("c", 0.0)]).sets).unwrap();
            assert_eq!((found.checked, &found.skipped), (2, &vec!["b".to_owned()]));
            let [low] = &found.low[..] else { panic!("{found:?}") };
            assert_eq!((low.set.as_str(), low.strategy), ("a", Strategy::Hybrid));
            assert_eq!((low.found, low.minimum), (0.6, 0.7));
            let good = gate.check(&report(&[("a", 0.7), ("b", 0.1)]).sets).unwrap();
            assert!(good.low.is_empty() && good.skipped.is_empty(), "{good:?}");
            let idle = gate.check(&report(&[("c", 0.9)]).sets).unwrap_err().to_string();
            assert!(idle.contains("no set of the gate was measured (a, b)"), "{idle}");
        }
    }

    #[test]
    fn what_is_not_a_gate_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        for (name, text, what) in [
            ("g.toml", "", "no minimum"),
            ("g.toml", "[a]\n", "no minimum"),
            ("g.toml", "[a]\nhybrid = 75\n", "75 is not within 0 and 1"),
            ("g.toml", "[a]\ndense = 0.7\n", "unknown field `dense`"),
            ("g.json", "{\"a\": 0.5}", "invalid type"),
            ("g.toml", "a =", ""),
        ] {
            let path = folder.path().join(name);
            std::fs::write(&path, text).unwrap();
            let refused = format!("{:#}", Gate::read(&path).unwrap_err());
            assert!(
                refused.contains("is not a gate") && refused.contains(what),
                "{text}: {refused}"
            );
        }
        let missing = Gate::read(Path::new("no/gate")).unwrap_err().to_string();
        assert!(missing.contains("cannot read no/gate"), "{missing}");
    }
}
