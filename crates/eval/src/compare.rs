//! Measures strategies side by side on a set, and summarises several sets.

use std::collections::BTreeSet;
use std::path::PathBuf;

use serde::Serialize;

use super::adaptive::Sizes;
use super::bootstrap::{Interval, RESAMPLES, Resampled};
use super::dataset::{BadRow, Query};
use super::error::Error;
use super::measures::Measures;
use super::offtopic::{self, Judged, OffTopic};
use super::part::SetPart;
use super::score::{
    answerable, measure, measure_always, ranked_always, request, resolve, with_known_gold,
};
use super::suite::{Prompts, SetFiles};
use toolroute_rank::engine::{Engine, Policy, SelectRequest, Selection, Strategy};

/// The number of prompts that are asked together, each with every strategy.
const CHUNK: usize = 128;

#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Strategies<T> {
    pub keyword: T,
    pub semantic: T,
    pub hybrid: T,
}

const STRATEGIES: [Strategy; 3] = [Strategy::Keyword, Strategy::Semantic, Strategy::Hybrid];
const HYBRID: usize = 2;

impl<T> Strategies<T> {
    pub fn iter(&self) -> impl Iterator<Item = (Strategy, &T)> {
        STRATEGIES.into_iter().zip([&self.keyword, &self.semantic, &self.hybrid])
    }

    /// Creates the values; `make` receives the index of a strategy.
    fn from_fn(make: impl Fn(usize) -> T) -> Self {
        Self { keyword: make(0), semantic: make(1), hybrid: make(HYBRID) }
    }
}

/// Measures of a strategy, with 95 % intervals.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Scores {
    #[serde(rename = "ndcg@5")]
    pub ndcg_at_5: Interval,
    /// Share of prompts whose first tool is a right one.
    #[serde(rename = "hit@1")]
    pub hit_at_1: Interval,
    #[serde(rename = "recall@5")]
    pub recall_at_5: Interval,
    pub mrr: Interval,
    #[serde(rename = "comp@5")]
    pub comp_at_5: Interval,
}

/// The number of measures for each answer. A prompt has the answers of three strategies, and that
/// of hybrid without abstention.
const MEASURES: usize = 5;
const COLUMNS: usize = MEASURES * 4;
const ALWAYS: usize = 3;

fn columns(measured: &[Measures; 4]) -> [f64; COLUMNS] {
    let mut columns = [0.0; COLUMNS];
    for (five, m) in columns.chunks_exact_mut(MEASURES).zip(measured) {
        // With binary relevance, nDCG@1 is 1 if the first tool is right, and 0 otherwise.
        five.copy_from_slice(&[m.ndcg_at_5, m.ndcg_at_1, m.recall_at_5, m.mrr, m.comp_at_5]);
    }
    columns
}

/// Returns the column of the nDCG@5 of a strategy, or of [`ALWAYS`].
fn ndcg(strategy: usize) -> usize {
    strategy * MEASURES
}

/// Hybrid against the better one of its parts, which shows whether blending is worth it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct AgainstBest {
    /// The part with the higher nDCG@5. It is chosen on the prompts that it is then measured with,
    /// which puts hybrid at a disadvantage.
    pub best: Strategy,
    /// nDCG@5 of hybrid minus that of the better part, prompt by prompt.
    pub difference: Interval,
    pub verdict: Verdict,
}

/// The position of the interval of a difference relative to 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    Above,
    /// The difference may be due to chance.
    NotBelow,
    Below,
}

impl Verdict {
    fn of(difference: Interval) -> Self {
        if difference.low > 0.0 {
            Self::Above
        } else if difference.high < 0.0 {
            Self::Below
        } else {
            Self::NotBelow
        }
    }

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Above => "above",
            Self::NotBelow => "not below",
            Self::Below => "below",
        }
    }
}

/// Strategies side by side.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Comparison {
    /// Scores of the answers as they are. A hybrid answer may have no tools, if none is sure to
    /// fit.
    pub strategies: Strategies<Scores>,
    /// Scores of hybrid with the tools that such answers hold back.
    pub without_abstention: Scores,
    pub hybrid_vs_best: AgainstBest,
}

impl Comparison {
    fn of(resampled: &Resampled<COLUMNS>) -> Self {
        let scores = |strategy: usize| {
            let at = |measure: usize| resampled.interval(|row| row[ndcg(strategy) + measure]);
            Scores {
                ndcg_at_5: at(0),
                hit_at_1: at(1),
                recall_at_5: at(2),
                mrr: at(3),
                comp_at_5: at(4),
            }
        };
        let mean = resampled.observed;
        let best = usize::from(mean[ndcg(1)] > mean[ndcg(0)]);
        let difference = resampled.interval(|row| row[ndcg(HYBRID)] - row[ndcg(best)]);
        let verdict = Verdict::of(difference);
        let hybrid_vs_best = AgainstBest { best: STRATEGIES[best], difference, verdict };
        let without_abstention = scores(ALWAYS);
        Self { strategies: Strategies::from_fn(scores), without_abstention, hybrid_vs_best }
    }
}

#[derive(Clone, Debug, Serialize)]
pub struct SetReport {
    pub set: String,
    /// What the set is used for; absent for a user's own set.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub part: Option<SetPart>,
    pub tools: usize,
    /// Prompts with known answers.
    pub queries: usize,
    #[serde(flatten)]
    pub comparison: Comparison,
    /// The sizes of hybrid's answers.
    pub sizes: Sizes,
    /// Off-topic prompts, judged by hybrid's answers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub off_topic: Option<OffTopic>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub bad: Vec<BadFileRow>,
    /// Right tools that are not in the catalog, so that no ranking can find them.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    pub unknown_gold: BTreeSet<String>,
}

/// A row that could not be measured.
#[derive(Clone, Debug, Serialize)]
pub struct BadFileRow {
    pub file: PathBuf,
    #[serde(flatten)]
    pub row: BadRow,
}

/// A set's report, with the scores that means over sets are computed from.
pub struct Measured {
    pub report: SetReport,
    scores: Resampled<COLUMNS>,
}

/// Asks every strategy each prompt of a set. `tell` receives the number of prompts that are done,
/// and the number of all.
///
/// # Errors
/// Returns [`Error::NoGold`] if no right tool is in the catalog. Otherwise returns the engine's
/// first error, because means without the failed prompt would be misleading.
pub fn measure_set(
    engine: &Engine,
    files: &SetFiles,
    prompts: Prompts,
    policy: Policy,
    tell: &dyn Fn(usize, usize),
) -> Result<Measured, Error> {
    let (on, bad) = answerable(engine, prompts.on_topic);
    let (off, bad_off) = answerable(engine, prompts.off_topic);
    let (on, without_tools, unknown_gold) = with_known_gold(engine, on);
    if on.is_empty() {
        return Err(Error::NoGold { path: files.queries.clone() });
    }
    let total = on.len() + off.len();
    let (mut rows, mut judged) = (Vec::with_capacity(on.len()), Vec::with_capacity(on.len()));
    let (mut sizes, catalog) = (Sizes::default(), engine.catalog());
    for chunk in on.chunks(CHUNK) {
        let answers = ask(engine, chunk, &STRATEGIES, policy)?;
        for (query, answers) in chunk.iter().zip(answers.chunks_exact(STRATEGIES.len())) {
            let measured = |at: usize| measure(engine, query, &answers[at]);
            let always = measure_always(engine, query, &answers[HYBRID]);
            rows.push(columns(&[measured(0), measured(1), measured(HYBRID), always]));
            judged.push(Judged::of(&answers[HYBRID]));
            let (_, gold) = resolve(&catalog, query, ranked_always(&answers[HYBRID]));
            sizes.add(&answers[HYBRID], &gold, on.len());
        }
        tell(rows.len(), total);
    }
    let mut judged_off = Vec::with_capacity(off.len());
    for chunk in off.chunks(CHUNK) {
        let answers = ask(engine, chunk, &[Strategy::Hybrid], policy)?;
        judged_off.extend(answers.iter().map(Judged::of));
        tell(rows.len() + judged_off.len(), total);
    }
    let off_topic = offtopic::separate(&judged, &judged_off, &files.name);
    let scores = Resampled::of_rows(&rows, &files.name);
    let bad = bad.into_iter().chain(without_tools).map(|row| (files.queries.clone(), row));
    let bad_off = bad_off.into_iter().zip(&files.off_topic).map(|(row, path)| (path.clone(), row));
    let bad = prompts.bad.into_iter().chain(bad).chain(bad_off);
    let report = SetReport {
        set: files.name.clone(),
        part: SetPart::of(&files.name),
        tools: engine.catalog().len(),
        queries: on.len(),
        comparison: Comparison::of(&scores),
        sizes,
        off_topic,
        bad: bad.map(|(file, row)| BadFileRow { file, row }).collect(),
        unknown_gold,
    };
    Ok(Measured { report, scores })
}

/// Returns the answer of each strategy to each query, query by query.
fn ask(
    engine: &Engine,
    queries: &[Query],
    strategies: &[Strategy],
    policy: Policy,
) -> Result<Vec<Selection>, Error> {
    let each = |query| strategies.iter().map(move |&by| request(query, by, Some(policy)));
    let requests: Vec<SelectRequest> = queries.iter().flat_map(each).collect();
    Ok(engine.select_many(&requests).into_iter().collect::<Result<_, _>>()?)
}

/// Means over sets; every set has the same weight.
#[derive(Clone, Debug, Serialize)]
pub struct Means {
    pub over: &'static str,
    pub sets: usize,
    #[serde(flatten)]
    pub comparison: Comparison,
    pub sizes: Sizes,
}

impl Means {
    /// Returns the means of all sets, of the choice sets and of the check sets, for those with at
    /// least two sets.
    fn all(sets: &[Measured]) -> Vec<Self> {
        let of = |part| sets.iter().filter(|set| set.report.part == Some(part)).collect();
        let all: [(_, Vec<&Measured>); 3] = [
            ("all sets", sets.iter().collect()),
            ("choice sets", of(SetPart::Choice)),
            ("check sets", of(SetPart::Check)),
        ];
        let several = all.into_iter().filter(|(_, sets)| sets.len() > 1);
        several.map(|(over, sets)| Self::of(over, &sets)).collect()
    }

    fn of(over: &'static str, sets: &[&Measured]) -> Self {
        let scores: Vec<_> = sets.iter().map(|set| &set.scores).collect();
        let comparison = Comparison::of(&Resampled::mean_of(&scores));
        let sizes = Sizes::mean(sets.iter().map(|set| &set.report.sizes));
        Self { over, sets: sets.len(), comparison, sizes }
    }
}

#[derive(Clone, Debug, Serialize)]
pub struct SuiteReport {
    pub suite: PathBuf,
    pub model: String,
    /// The precision with which the model was run.
    pub precision: String,
    pub version: &'static str,
    pub resamples: usize,
    /// The maximum number of prompts of each kind per set; absent if all prompts were asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub queries_per_set: Option<usize>,
    pub sets: Vec<SetReport>,
    /// The means over more than one set.
    pub means: Vec<Means>,
}

impl SuiteReport {
    /// Combines the reports of sets and adds their means.
    pub fn new(suite: PathBuf, model: String, precision: String, sets: Vec<Measured>) -> Self {
        let means = Means::all(&sets);
        Self {
            suite,
            model,
            precision,
            version: env!("CARGO_PKG_VERSION"),
            resamples: RESAMPLES,
            queries_per_set: None,
            sets: sets.into_iter().map(|set| set.report).collect(),
            means,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A comparison in which hybrid is `by` above keyword on most prompts, and below it on some.
    fn comparison(by: f64, some: usize) -> Comparison {
        let row = |at: usize| {
            let keyword = if at.is_multiple_of(3) { 0.2 } else { 0.6 };
            let hybrid = if at < some { keyword - by } else { keyword + by };
            let five = |ndcg_at_5| Measures { ndcg_at_5, ..Measures::default() };
            columns(&[five(keyword), five(0.1), five(hybrid), five(hybrid)])
        };
        Comparison::of(&Resampled::of_rows(&(0..60).map(row).collect::<Vec<_>>(), "a"))
    }

    #[test]
    fn a_verdict_says_on_which_side_of_chance_hybrid_stands() {
        for (by, some, wanted) in [
            (0.1, 0, Verdict::Above),
            (0.1, 60, Verdict::Below),
            (0.1, 30, Verdict::NotBelow),
            (0.0, 0, Verdict::NotBelow),
        ] {
            let found = comparison(by, some).hybrid_vs_best;
            assert_eq!((found.best, found.verdict), (Strategy::Keyword, wanted), "{found:?}");
        }
    }

    #[test]
    fn each_measure_lands_under_its_own_name() {
        let m = |base: f64| Measures {
            ndcg_at_5: base + 0.01,
            ndcg_at_1: base + 0.02,
            recall_at_5: base + 0.03,
            mrr: base + 0.04,
            comp_at_5: base + 0.05,
            ..Measures::default()
        };
        let rows = [columns(&[m(0.1), m(0.2), m(0.3), m(0.4)])];
        let json = serde_json::to_value(Comparison::of(&Resampled::of_rows(&rows, "a"))).unwrap();
        for (strategy, base) in [("keyword", 0.1), ("semantic", 0.2), ("hybrid", 0.3)] {
            for (measure, more) in [
                ("ndcg@5", 0.01),
                ("hit@1", 0.02),
                ("recall@5", 0.03),
                ("mrr", 0.04),
                ("comp@5", 0.05),
            ] {
                let found = json["strategies"][strategy][measure]["mean"].as_f64().unwrap();
                assert_eq!(found, base + more, "{strategy} {measure}");
            }
        }
        assert_eq!(json["without_abstention"]["ndcg@5"]["mean"], 0.4 + 0.01);
        assert_eq!(json["hybrid_vs_best"]["best"], "semantic");
        assert_eq!(json["hybrid_vs_best"]["verdict"], "above");
    }

    #[test]
    fn two_sets_have_a_mean_and_one_has_none() {
        let measured = |set: &str, value: f64| {
            let scores = Resampled::of_rows(&[[value; COLUMNS]], set);
            let (sizes, off_topic, comparison) = (Sizes::default(), None, Comparison::of(&scores));
            let (bad, unknown_gold, part) = (Vec::new(), BTreeSet::new(), SetPart::of(set));
            let report = SetReport {
                set: set.to_owned(),
                part,
                tools: 1,
                queries: 1,
                comparison,
                sizes,
                off_topic,
                bad,
                unknown_gold,
            };
            Measured { report, scores }
        };
        let report = |sets: Vec<Measured>| {
            SuiteReport::new("suite".into(), "model".to_owned(), "int8".to_owned(), sets)
        };
        assert!(report(vec![measured("a", 0.5)]).means.is_empty());
        let means = report(vec![measured("a", 0.5), measured("b", 1.0)]).means;
        let [mean] = &means[..] else { panic!("{means:?}") };
        assert_eq!((mean.over, mean.sets), ("all sets", 2));
        assert_eq!(mean.comparison.strategies.hybrid.ndcg_at_5.mean, 0.75);
        let sets = ["azure_mcp", "bfcl", "bfcl_live", "metatool", "mine"];
        let means = report(sets.map(|set| measured(set, 0.5)).into()).means;
        let means: Vec<_> = means.iter().map(|mean| (mean.over, mean.sets)).collect();
        assert_eq!(means, [("all sets", 5), ("choice sets", 2)], "one check set has no mean");
    }
}
