//! A gate against regressions: the least nDCG@5 of a strategy on a set.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::Serialize;

use super::compare::{SetReport, Strategies};
use super::error::Error;
use crate::engine::Strategy;

/// Minima by set, in TOML or, by its name, JSON:
///
/// ```toml
/// [sample]
/// keyword = 0.57
/// hybrid = 0.76
/// ```
#[derive(Clone, Debug)]
pub struct Gate {
    path: PathBuf,
    minima: BTreeMap<String, Strategies<Option<f64>>>,
}

/// What a gate found.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct GateReport {
    /// Scores compared with a minimum.
    pub checked: usize,
    pub fallen: Vec<Fallen>,
    /// Sets of the gate that were not measured.
    pub skipped: Vec<String>,
}

/// A score below its minimum.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Fallen {
    pub set: String,
    pub strategy: Strategy,
    #[serde(rename = "ndcg@5")]
    pub found: f64,
    pub minimum: f64,
}

impl Gate {
    /// # Errors
    /// [`Error::Io`]; [`Error::BadGate`] where the file is none or holds no minimum.
    pub fn read(path: &Path) -> Result<Self, Error> {
        let text = std::fs::read_to_string(path).map_err(Error::io("read", path))?;
        let bad = |what: String| Error::BadGate { path: path.to_owned(), what };
        let is_json = path.extension().is_some_and(|kind| kind.eq_ignore_ascii_case("json"));
        let minima: BTreeMap<String, Strategies<Option<f64>>> = if is_json {
            serde_json::from_str(&text).map_err(|error| bad(error.to_string()))?
        } else {
            toml::from_str(&text).map_err(|error| bad(error.message().to_owned()))?
        };
        let all = || minima.values().flat_map(Strategies::iter).filter_map(|(_, least)| *least);
        if all().next().is_none() {
            return Err(bad("it holds no minimum".to_owned()));
        }
        if let Some(least) = all().find(|least| !(0.0..=1.0).contains(least)) {
            return Err(bad(format!("the minimum {least} is not within 0 and 1")));
        }
        Ok(Self { path: path.to_owned(), minima })
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Compares what was measured.
    ///
    /// # Errors
    /// [`Error::IdleGate`] where no set of the gate was measured.
    pub fn check(&self, sets: &[SetReport]) -> Result<GateReport, Error> {
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
                // So that a score that is no number falls as well.
                if found.total_cmp(&minimum).is_lt() || found.is_nan() {
                    report.fallen.push(Fallen { set: name.clone(), strategy, found, minimum });
                }
            }
        }
        if report.checked == 0 {
            let sets = report.skipped;
            return Err(Error::IdleGate { path: self.path.clone(), sets });
        }
        Ok(report)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(name: &str, text: &str) -> Result<Gate, Error> {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join(name);
        std::fs::write(&path, text).unwrap();
        Gate::read(&path)
    }

    /// A set with one score for all strategies.
    fn measured(set: &str, ndcg: f64) -> SetReport {
        SetReport::with_ndcg(set, ndcg)
    }

    #[test]
    fn a_gate_tells_what_fell_and_what_it_did_not_see() {
        let toml = read("g.toml", "[a]\nkeyword = 0.5\nhybrid = 0.7\n[b]\nsemantic = 0.1\n");
        let json =
            read("g.json", r#"{"a": {"keyword": 0.5, "hybrid": 0.7}, "b": {"semantic": 0.1}}"#);
        for gate in [toml.unwrap(), json.unwrap()] {
            let report = gate.check(&[measured("a", 0.6), measured("c", 0.0)]).unwrap();
            assert_eq!((report.checked, &report.skipped), (2, &vec!["b".to_owned()]));
            let [fallen] = &report.fallen[..] else { panic!("{report:?}") };
            assert_eq!((fallen.set.as_str(), fallen.strategy), ("a", Strategy::Hybrid));
            assert_eq!((fallen.found, fallen.minimum), (0.6, 0.7));
            let good = gate.check(&[measured("a", 0.7), measured("b", 0.1)]).unwrap();
            assert!(good.fallen.is_empty() && good.skipped.is_empty(), "{good:?}");
            let idle = gate.check(&[measured("c", 0.9)]);
            assert!(matches!(idle, Err(Error::IdleGate { .. })), "{idle:?}");
        }
    }

    #[test]
    fn what_is_no_gate_is_refused() {
        for (name, text, what) in [
            ("g.toml", "", "no minimum"),
            ("g.toml", "[a]\n", "no minimum"),
            ("g.toml", "[a]\nhybrid = 75\n", "75 is not within 0 and 1"),
            ("g.toml", "[a]\ndense = 0.7\n", "unknown field `dense`"),
            ("g.json", "{\"a\": 0.5}", "invalid type"),
            ("g.toml", "a =", ""),
        ] {
            let said = read(name, text).unwrap_err().to_string();
            assert!(said.contains("is no gate") && said.contains(what), "{text}: {said}");
        }
        assert!(matches!(Gate::read(Path::new("no/gate")), Err(Error::Io { .. })));
    }
}
