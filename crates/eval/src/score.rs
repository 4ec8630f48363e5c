//! Measures an engine's answers against known ones.

use std::collections::{BTreeSet, HashMap};

use serde::Serialize;

use super::dataset::{BadRow, Query};
use super::measures::{DEPTH, Measures};
use super::misses::Miss;
use toolroute_catalog::Catalog;
use toolroute_rank::engine::{
    Engine, Error, ExcludedTool, Fit, Policy, SelectRequest, Selection, Strategy,
};
use toolroute_rank::selection::Exclusion;

/// The number of prompts that are embedded together.
const CHUNK: usize = 256;

/// The mean scores of an engine over a file of prompts.
#[derive(Clone, Debug, Serialize)]
pub struct Scored {
    pub strategy: Strategy,
    /// Prompts with at least one right tool.
    pub queries: usize,
    /// Scores of the answers as they are. An answer without tools has found none of the right ones.
    #[serde(flatten)]
    pub measures: Measures,
    /// Scores of the answers with the tools that they hold back because none is sure to fit.
    pub without_abstention: Measures,
    /// Share of the prompts whose answer has no tool, because none is sure to fit.
    pub none: f64,
    /// Share of the prompts whose answer is unsure.
    pub unsure: f64,
    /// How often the first tool is right, by what the answer says of it, if any is unsure.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub right_first: Option<RightFirst>,
    /// The prompts that no tool serves, if there are any. They count in nothing else.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unserved: Option<Unserved>,
}

/// How often the first tool of an answer is right.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct RightFirst {
    /// Of the answers that fit.
    pub fits: f64,
    /// Of those that are unsure.
    pub unsure: f64,
}

/// The answers to prompts that no tool serves.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Unserved {
    pub queries: usize,
    /// Share of them whose answer has no tool, as it should be.
    pub none: f64,
    /// Share of them whose answer is unsure.
    pub unsure: f64,
}

/// How many answers there are, and how many of them have no tool or are unsure.
#[derive(Default)]
struct Fits {
    all: usize,
    none: usize,
    unsure: usize,
    /// The answers that fit and those that are unsure whose first tool is right.
    right: [f64; 2],
}

impl Fits {
    /// Counts an answer; `right` is 1 if its first tool is right, otherwise 0.
    fn add(&mut self, selection: &Selection, right: f64) {
        self.all += 1;
        self.none += usize::from(selection.abstained);
        self.unsure += usize::from(selection.fit == Fit::Unsure);
        self.right[usize::from(selection.fit == Fit::Unsure)] += right;
    }

    fn right_first(&self) -> Option<RightFirst> {
        let fits = (self.all - self.none - self.unsure).max(1) as f64;
        (self.unsure > 0).then(|| RightFirst {
            fits: self.right[0] / fits,
            unsure: self.right[1] / self.unsure as f64,
        })
    }

    /// The shares of `none` and `unsure`.
    fn shares(&self) -> [f64; 2] {
        [self.none, self.unsure].map(|count| count as f64 / self.all.max(1) as f64)
    }
}

/// Separates the queries whose candidates are all unknown, because no engine can answer them.
pub fn answerable(engine: &Engine, queries: Vec<Query>) -> (Vec<Query>, Vec<BadRow>) {
    let (mut good, mut bad) = (Vec::with_capacity(queries.len()), Vec::new());
    for query in queries {
        match engine.check_candidates(query.candidates.as_deref().unwrap_or_default()) {
            Ok(()) => good.push(query),
            Err(error) => {
                bad.push(BadRow { id: query.id, line: query.line, error: error.to_string() });
            }
        }
    }
    (good, bad)
}

/// Separates the queries that do not say which tools are right, because nothing is measured by them.
pub fn with_gold(queries: Vec<Query>) -> (Vec<Query>, Vec<BadRow>) {
    let (good, bad): (Vec<_>, Vec<_>) =
        queries.into_iter().partition(|query| query.is_unserved || !query.gold.is_empty());
    let error = "no ids in \"gold\" or \"tools\"; expected {\"query\": \"…\", \"gold\": [ids of the right \
                 tools]}, and [] if no tool serves the prompt";
    let bad =
        bad.into_iter().map(|Query { id, line, .. }| BadRow { id, line, error: error.into() });
    (good, bad.collect())
}

/// Removes right tools that are not in the catalog, most often typing errors, because no ranking can
/// find them. Queries without any other are separated. Each query that had one is reported. The
/// third value contains the removed tools.
pub fn with_known_gold(
    engine: &Engine,
    queries: Vec<Query>,
) -> (Vec<Query>, Vec<BadRow>, BTreeSet<String>) {
    /// A file for another catalog may have thousands of unknown ids, and the search for near ones
    /// is slow.
    const SUGGESTED: usize = 100;
    let catalog = engine.catalog();
    let mut hints: HashMap<String, String> = HashMap::new();
    let mut hint = |id: &str| {
        if !hints.contains_key(id) && hints.len() < SUGGESTED {
            let near = catalog.near(id, 1);
            let hint = near.first().map(|near| format!(", did you mean `{near}`?"));
            hints.insert(id.to_owned(), hint.unwrap_or_default());
        }
        hints.get(id).cloned().unwrap_or_default()
    };
    let (mut good, mut bad) = (Vec::with_capacity(queries.len()), Vec::new());
    let mut removed = BTreeSet::new();
    for mut query in queries {
        let all: usize = query.gold.iter().map(Vec::len).sum();
        let mut unknown = Vec::new();
        for any in &mut query.gold {
            unknown.extend(any.extract_if(.., |id| catalog.get(id).is_none()));
        }
        query.gold.retain(|any| !any.is_empty());
        if let Some(first) = unknown.first() {
            let hint = hint(first);
            let count = match (unknown.len(), all) {
                (1, 1) => String::new(),
                (count, all) => format!("{count} of {all} right tools, first "),
            };
            let outcome = match query.gold.is_empty() {
                true => "the row is left out",
                false => "the row is scored by the others",
            };
            let error = format!("not in the catalog: {count}`{first}`{hint}; {outcome}");
            bad.push(BadRow { id: query.id.clone(), line: query.line, error });
        }
        if query.is_unserved || !query.gold.is_empty() {
            good.push(query);
        }
        removed.extend(unknown);
    }
    (good, bad, removed)
}

/// Answers every query, and returns the mean scores. `misses` receives the queries whose right
/// tools are not all first, and those that no tool serves and whose answer fits, and `tell` the number of queries that are done, and the number of all.
///
/// # Errors
/// Returns the engine's first error, because a mean without the failed query would be misleading.
pub fn score(
    engine: &Engine,
    queries: &[Query],
    strategy: Strategy,
    policy: Option<Policy>,
    mut misses: Option<&mut Vec<Miss>>,
    tell: &dyn Fn(usize, usize),
) -> Result<Scored, Error> {
    let (mut all, mut always) = (Vec::with_capacity(queries.len()), Vec::new());
    let (mut served, mut unserved) = (Fits::default(), Fits::default());
    let mut effective = strategy;
    for chunk in queries.chunks(CHUNK) {
        let requests: Vec<SelectRequest> =
            chunk.iter().map(|query| request(query, strategy, policy)).collect();
        for (query, selection) in chunk.iter().zip(engine.select_many(&requests)) {
            let selection = selection?;
            effective = selection.strategy;
            if let Some(misses) = &mut misses {
                misses.extend(Miss::of(&engine.catalog(), query, &selection));
            }
            if query.is_unserved {
                unserved.add(&selection, 0.0);
                continue;
            }
            let measures = measure(engine, query, &selection);
            served.add(&selection, measures.ndcg_at_1);
            all.push(measures);
            always.push(measure_always(engine, query, &selection));
        }
        tell(served.all + unserved.all, queries.len());
    }
    let [none, unsure] = served.shares();
    let of_unserved = |fits: Fits| {
        let [none, unsure] = fits.shares();
        Unserved { queries: fits.all, none, unsure }
    };
    Ok(Scored {
        strategy: effective,
        queries: all.len(),
        measures: Measures::mean(&all),
        without_abstention: Measures::mean(&always),
        none,
        unsure,
        right_first: served.right_first(),
        unserved: Some(unserved).filter(|fits| fits.all > 0).map(of_unserved),
    })
}

pub(super) fn measure(engine: &Engine, query: &Query, selection: &Selection) -> Measures {
    let ranked = selection.tools.iter().map(|s| s.tool.id.as_str()).collect();
    measure_ranked(engine, query, ranked)
}

/// Measures like [`measure`], with the tools that an answer holds back because none is sure to fit.
pub(super) fn measure_always(engine: &Engine, query: &Query, selection: &Selection) -> Measures {
    measure_ranked(engine, query, ranked_always(selection))
}

fn measure_ranked(engine: &Engine, query: &Query, ranked: Vec<&str>) -> Measures {
    let catalog = engine.catalog();
    let (ranked, gold) = resolve(&catalog, query, ranked);
    Measures::of(&ranked, &gold)
}

/// The ids of an answer, or those that it holds back because none is sure to fit.
pub(super) fn ranked_always(selection: &Selection) -> Vec<&str> {
    if !selection.abstained {
        return selection.tools.iter().map(|s| s.tool.id.as_str()).collect();
    }
    let unfit = |held: &&ExcludedTool| matches!(held.because, Exclusion::Unfit { .. });
    selection.excluded.iter().filter(unfit).map(|held| held.id.as_str()).collect()
}

/// Returns the ids of an answer and of the right tools. Of tools of which any one is enough, only the one that ranks
/// first is in either.
pub(super) fn resolve<'a>(
    catalog: &'a Catalog,
    query: &'a Query,
    mut ranked: Vec<&'a str>,
) -> (Vec<&'a str>, Vec<&'a str>) {
    // `server:tool` and bare names are other spellings.
    let canonical = |id: &'a String| catalog.get(id).map_or(id.as_str(), |t| t.id.as_str());
    let mut gold = Vec::with_capacity(query.gold.len());
    for any in &query.gold {
        let any: Vec<&str> = any.iter().map(canonical).collect();
        let first = ranked.iter().copied().find(|id| any.contains(id)).unwrap_or(any[0]);
        ranked.retain(|id| *id == first || !any.contains(id));
        gold.push(first);
    }
    (ranked, gold)
}

pub(super) fn request(query: &Query, strategy: Strategy, policy: Option<Policy>) -> SelectRequest {
    let (candidates, context) = (query.candidates.clone(), query.context.clone());
    let request = SelectRequest { candidates, context, policy, ..SelectRequest::new(&query.query) };
    request.strategy(strategy).limit(DEPTH)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parse_query;
    use toolroute_catalog::Tool;

    fn engine() -> Engine {
        let tools = vec![
            Tool::new(Some("fs"), "read_file", "Reads a file"),
            Tool::new(Some("mail"), "send", "Sends an email"),
        ];
        Engine::builder(Catalog::from_tools(tools).catalog).build().unwrap()
    }

    #[test]
    fn a_prompt_whose_right_tools_are_not_all_first_is_a_miss() {
        let rows = [
            r#"{"id": "hit", "query": "send an email", "gold": ["mail:send", "send"]}"#,
            r#"{"id": "both", "query": "send an email", "gold": ["fs__read_file", "mail__send"]}"#,
            r#"{"id": 3, "query": "send an email", "gold": ["read_file"]}"#,
        ];
        let queries: Vec<_> =
            (5..).zip(rows).map(|(line, row)| parse_query(row.as_bytes(), line).unwrap()).collect();
        let mut misses = Vec::new();
        score(&engine(), &queries, Strategy::Keyword, None, Some(&mut misses), &|_, _| {}).unwrap();
        let said: Vec<_> =
            misses.iter().map(|miss| (miss.line, miss.id.text(), miss.rank, &miss.first)).collect();
        let first = Some("mail__send".to_owned());
        let both = Some("both".to_owned());
        assert_eq!(said, [(6, both, Some(1), &first), (7, Some("3".to_owned()), None, &first)]);
        assert_eq!(misses[1].gold, ["fs__read_file"]);
    }

    #[test]
    fn any_one_of_several_right_tools_is_enough() {
        let ranked = |row: &str| {
            let query = parse_query(row.as_bytes(), 1).unwrap();
            let engine = engine();
            let catalog = engine.catalog();
            let (ranked, gold) = resolve(&catalog, &query, vec!["mail__send", "fs__read_file"]);
            (ranked.join(" "), Measures::of(&ranked, &gold).ndcg_at_5)
        };
        let both = "mail__send fs__read_file".to_owned();
        assert_eq!(ranked(r#"{"query": "a", "gold": ["mail:send", "read_file"]}"#), (both, 1.0));
        let any = r#"{"query": "a", "gold": [["read_file", "mail:send"]]}"#;
        assert_eq!(ranked(any), ("mail__send".to_owned(), 1.0));
        assert!(parse_query(br#"{"query": "a", "gold": [[]]}"#, 1).is_err());
    }

    #[test]
    fn a_right_tool_that_is_unknown_is_told_by_its_line_and_not_scored() {
        let rows = [
            r#"{"query": "a", "gold": ["mail__sned"]}"#,
            r#"{"query": "b", "gold": ["xylophone", "mail:send"]}"#,
            r#"{"query": "c", "gold": ["read_file"]}"#,
        ];
        let queries = (7..).zip(rows).map(|(line, row)| parse_query(row.as_bytes(), line).unwrap());
        let (good, bad, removed) = with_known_gold(&engine(), queries.collect());
        assert!(removed.iter().eq(["mail__sned", "xylophone"]), "{removed:?}");
        let gold: Vec<_> =
            good.iter().map(|query| (query.line, query.gold.concat().join(" "))).collect();
        assert_eq!(gold, [(8, "mail:send".to_owned()), (9, "read_file".to_owned())]);
        let said: Vec<_> = bad.iter().map(|row| (row.line, row.error.as_str())).collect();
        let first =
            "not in the catalog: `mail__sned`, did you mean `mail__send`?; the row is left out";
        let second = "not in the catalog: 1 of 2 right tools, first `xylophone`; the row is scored by the others";
        assert_eq!(said, [(7, first), (8, second)]);
    }
}
