//! The hybrid strategy: semantic and keyword scores together.

use std::sync::Arc;
use std::time::Instant;

use toolroute_vectors::index::Rows;

use super::candidate::{Candidate, Score};
use super::clause_fusion::{Mixture, total};
use super::fusion::Fusion;
use super::keyword::KeywordRetriever;
use super::plain::PlainRetriever;
use super::pruning::{PartScores, Pruning, RawScores};
use super::retriever::{
    Clause, Error, Prompt, QueryVector, Retrieval, Retriever, StageTimes, Strategy,
};
use super::semantic::{NEAREST, SemanticRetriever};
use super::usage_weighting::{learned_share, shift_to_meaning};
use super::wording::by_wording;

/// Scores rows by vectors and by keywords, and fuses the two scores.
pub struct HybridRetriever {
    semantic: Arc<SemanticRetriever>,
    keyword: Arc<KeywordRetriever>,
    fusion: Fusion,
}

/// Rows with the raw scores of both parts.
struct ScoredRows<'a> {
    /// `None` stands for all rows.
    rows: Option<Vec<u32>>,
    raw: RawScores<'a>,
}

impl HybridRetriever {
    pub fn new(
        semantic: Arc<SemanticRetriever>,
        keyword: Arc<KeywordRetriever>,
        fusion: Fusion,
    ) -> Arc<Self> {
        Arc::new(Self { semantic, keyword, fusion })
    }

    /// Scores the rows by both parts, for the whole prompt and for each of its clauses.
    fn find<'a>(
        &self,
        prompt: &Prompt<'a>,
        times: &mut StageTimes,
    ) -> Result<ScoredRows<'a>, Error> {
        let start = Instant::now();
        let vector = prompt.vector_for(Strategy::Hybrid)?;
        let pool = match prompt.rows {
            // An approximate index does not score every row: each part finds its best rows, and
            // both parts score the union.
            Rows::All if !self.semantic.is_exact() => Some(self.pool(vector, prompt)?),
            _ => None,
        };
        let rows = pool.as_deref().map_or(prompt.rows, Rows::Only);
        let mut score = |text: &str, vector: QueryVector<'a>| {
            let cosines = self.semantic.score(vector, rows)?;
            let start = Instant::now();
            let keyword = self.keyword.score_to_blend(text, rows)?;
            times.keyword += start.elapsed();
            Ok::<_, Error>(PartScores { cosines, keyword })
        };
        let whole = score(&prompt.reading.keyword_text(), vector)?;
        let clauses = prompt.clauses.iter().map(|clause| score(clause.text, clause.vector));
        let raw = RawScores { clauses: clauses.collect::<Result<_, _>>()?, whole };
        let rows = match rows {
            Rows::All => None,
            Rows::Only(rows) => Some(rows.to_vec()),
        };
        // The time to find the pool counts as search time.
        times.search = start.elapsed().saturating_sub(times.keyword);
        Ok(ScoredRows { rows, raw })
    }

    /// Returns the weighted scores of both parts. The keyword score counts less if more was
    /// learned. `is_one` is true if the scores are for one request.
    fn fuse(
        &self,
        rows: Rows<'_>,
        raw: &PartScores<'_>,
        prompt: &Prompt<'_>,
        is_one: bool,
    ) -> Vec<(Score, Score)> {
        let fusion = self.fusion.sharing(prompt.semantic_share);
        let mut scores = raw.fuse(fusion, prompt.readable_share, is_one);
        if let Some(usage) = self.semantic.usage() {
            shift_to_meaning(
                &mut scores,
                learned_share(usage, rows, &raw.cosines) * prompt.readable_share,
            );
        }
        scores
    }

    /// Drops the rows of a large catalog that cannot change the answer. Returns the others.
    fn without_tail<'a>(
        &self,
        found: ScoredRows<'a>,
        prompt: &Prompt<'_>,
        named: &[u32],
    ) -> (Vec<u32>, RawScores<'a>) {
        let ScoredRows { rows, raw, .. } = found;
        let count = raw.whole.cosines.len() as u32;
        let all = |rows: Option<Vec<u32>>| rows.unwrap_or_else(|| (0..count).collect());
        let Some(cut) = prompt.cut.filter(|_| self.semantic.usage().is_none()) else {
            return (all(rows), raw);
        };
        let pruning = Pruning {
            fusion: self.fusion.sharing(prompt.semantic_share),
            readable_share: prompt.readable_share,
            limit: prompt.limit,
            band: cut.band_width,
        };
        let Some(mut kept) = pruning.kept(&raw) else { return (all(rows), raw) };
        let row = |at: usize| rows.as_ref().map_or(at as u32, |rows| rows[at]);
        let place = |row: &u32| match &rows {
            None => Some(*row as usize),
            Some(rows) => rows.binary_search(row).ok(),
        };
        kept.extend(named.iter().filter_map(place));
        // A tool that provides an id is worth adding at less than half of the score of the tool
        // that requires it.
        for at in 0..kept.len() {
            let required = cut.catalog.required_ids(row(kept[at]));
            let suppliers = required.iter().flat_map(|required| &required.suppliers);
            kept.extend(suppliers.filter_map(|supplier| place(&supplier.row)));
        }
        kept.sort_unstable();
        kept.dedup();
        (kept.iter().map(|&at| row(at)).collect(), raw.only(&kept))
    }

    fn pool(&self, vector: QueryVector<'_>, prompt: &Prompt<'_>) -> Result<Vec<u32>, Error> {
        let mut rows = prompt.suppliers.to_vec();
        let whole = Clause { text: prompt.text(), vector };
        for Clause { text, vector } in prompt.clauses.iter().copied().chain([whole]) {
            rows.extend(self.keyword.best(text, prompt.limit.max(NEAREST)));
            rows.extend(self.semantic.nearest(vector, prompt.limit)?.iter().map(|hit| hit.row));
        }
        rows.sort_unstable();
        rows.dedup();
        Ok(rows)
    }
}

impl Retriever for HybridRetriever {
    fn strategy(&self) -> Strategy {
        Strategy::Hybrid
    }

    fn retrieve(&self, prompt: &Prompt<'_>) -> Result<Retrieval, Error> {
        let mut times = StageTimes::default();
        let found = self.find(prompt, &mut times)?;
        let start = Instant::now();
        let compared = found.raw.whole.cosines.len();
        let named = self.keyword.named(prompt.text());
        let (rows, raw) = self.without_tail(found, prompt, &named);
        let fuse =
            |scores: &PartScores<'_>, is_one| self.fuse(Rows::Only(&rows), scores, prompt, is_one);
        let mut scores = fuse(&raw.whole, raw.clauses.is_empty());
        if !raw.clauses.is_empty() {
            let clauses: Vec<_> = raw.clauses.iter().map(|clause| fuse(clause, true)).collect();
            if let Some(mixture) = Mixture::new(&scores, &clauses, compared) {
                mixture.mix(&mut scores, &clauses);
            }
        }
        let mut candidates = candidates(rows, scores, &named);
        let reading = prompt.reading;
        let tools = self.keyword.tools();
        by_wording(&reading.text, &mut candidates, tools);
        times.fuse = start.elapsed();
        Ok(Retrieval { candidates, times })
    }

    fn matched_terms(&self, text: &str, rows: &[u32]) -> Vec<Vec<String>> {
        self.keyword.matched_terms(text, rows)
    }
}

/// Returns one retriever per strategy, in the order keyword, semantic, hybrid. Without vectors,
/// returns only the keyword retriever.
pub fn retrievers(
    keyword: Arc<KeywordRetriever>,
    semantic: Option<Arc<SemanticRetriever>>,
    fusion: Fusion,
) -> Vec<Arc<dyn Retriever>> {
    if fusion.is_plain() {
        return PlainRetriever::all(&keyword, semantic.as_ref());
    }
    let mut all: Vec<Arc<dyn Retriever>> = vec![keyword.clone()];
    if let Some(semantic) = semantic {
        all.push(semantic.clone());
        all.push(HybridRetriever::new(semantic, keyword, fusion));
    }
    all
}

/// Creates candidates whose score is the sum of both parts. Tools in `named`, which the prompt
/// names, get a bonus that ranks them above all others.
pub(super) fn candidates(
    rows: Vec<u32>,
    scores: Vec<(Score, Score)>,
    named: &[u32],
) -> Vec<Candidate> {
    let best = scores.iter().map(total).fold(0.0, f32::max);
    // The bonus is a little more than the best score, so that a named tool wins even without any
    // other score.
    let bonus = if best > 0.0 { 1.01 * best } else { 1.0 };
    let candidate = |(row, parts): (u32, (Score, Score))| {
        let is_named = !named.is_empty() && named.binary_search(&row).is_ok();
        let exact_name = if is_named { bonus } else { 0.0 };
        let score = total(&parts) + exact_name;
        let (semantic, keyword) = (Some(parts.0), Some(parts.1));
        Candidate { row, score, semantic, keyword, exact_name, ..Candidate::default() }
    };
    rows.into_iter().zip(scores).map(candidate).collect()
}

#[cfg(test)]
mod tests {
    use super::super::confidence::evidence;
    use super::super::retriever::Cut;
    use super::*;
    use crate::query::Reading;
    use serde_json::value::to_raw_value;
    use toolroute_catalog::{Catalog, Schema, Tool};
    use toolroute_vectors::index::{FlatIndex, Vectors};

    fn hybrid(tools: &[Arc<Tool>], vectors: &[[f32; 2]]) -> Arc<HybridRetriever> {
        let vectors = Arc::new(Vectors::from_rows(vectors).unwrap());
        let semantic = SemanticRetriever::new(Arc::new(FlatIndex::new(vectors)), None);
        HybridRetriever::new(semantic, KeywordRetriever::new(tools), Fusion::default())
    }

    #[test]
    fn without_its_tail_a_large_catalog_has_the_same_best() {
        let rows = 5_000_u16;
        let angle = |row: u16| f32::from(row) * 2.4;
        let vectors: Vec<[f32; 2]> = (0..rows).map(|row| angle(row).sin_cos().into()).collect();
        let words = ["alpha", "beta", "gamma", "delta"];
        let tool = |row| {
            let word = words[usize::from(row) % words.len()];
            Tool::new(None, &format!("t{row}"), &format!("{word} {}", row % 97))
        };
        let catalog = Catalog::from_tools((0..rows).map(tool).collect()).catalog;
        let hybrid = hybrid(catalog.tools(), &vectors);
        let cut = Cut { band_width: 0.02, catalog: &catalog };
        let clauses = [("beta 12", [0.8, 0.6]), ("delta 5", [-0.6, 0.8])];
        let clauses =
            clauses.each_ref().map(|(text, vector)| Clause { text, vector: (&vector[..]).into() });
        for (text, limit, clauses) in [
            ("beta 12", 8, &clauses[..0]),
            ("gamma", 1, &[]),
            ("nothing", 40, &[]),
            ("call t77 for beta 3", 5, &[]),
            ("beta 12 and delta 5", 8, &clauses),
            ("nothing, then gamma", 3, &clauses),
            ("call t77 for beta 3", 40, &clauses),
            ("beta 12, then beta 12", 5, &[clauses[0], clauses[0]]),
        ] {
            let reading = Reading::verbatim(text);
            let whole = Prompt { clauses, ..Prompt::new(&reading, Some(&[0.8, 0.6]), limit) };
            let best = |cut| {
                let mut found = hybrid.retrieve(&Prompt { cut, ..whole }).unwrap();
                let count = found.candidates.len();
                let evidence = evidence(&found, Fusion::default(), |_| None);
                found
                    .candidates
                    .sort_by(|a, b| b.score.total_cmp(&a.score).then(a.row.cmp(&b.row)));
                found.candidates.truncate(limit);
                (found.candidates, evidence, count)
            };
            let (all, cut) = (best(None), best(Some(cut)));
            assert_eq!((&all.0, all.1), (&cut.0, cut.1), "{text}");
            assert!(cut.2 < all.2 && all.2 == usize::from(rows), "{text}: {} of {}", cut.2, all.2);
        }
    }

    #[test]
    fn without_its_tail_a_catalog_still_has_what_provides_an_id() {
        let named = |name: &str| Tool::new(Some("tmdb"), name, "");
        let mut credits = named("get_tv_credits");
        let schema = serde_json::json!({"type": "object", "required": ["tv_id"]});
        credits.input_schema = Some(Schema::new(to_raw_value(&schema).unwrap()));
        let others = (0..60).map(|at| named(&format!("other{at}")));
        let tools = [credits, named("search_tv")].into_iter().chain(others).collect();
        let catalog = Catalog::from_tools(tools).catalog;
        let mut vectors = vec![[0.0, 1.0]; catalog.len()];
        vectors[0] = [1.0, 0.0];
        let hybrid = hybrid(catalog.tools(), &vectors);
        let reading = Reading::verbatim("who plays in it");
        let cut = Some(Cut { band_width: 0.02, catalog: &catalog });
        let rows = |rows| {
            let prompt = Prompt { rows, cut, ..Prompt::new(&reading, Some(&[1.0, 0.0]), 1) };
            let found = hybrid.retrieve(&prompt).unwrap().candidates;
            found.iter().map(|candidate| candidate.row).collect::<Vec<_>>()
        };
        assert_eq!(rows(Rows::All), [0, 1]);
        assert_eq!(rows(Rows::Only(&[0, 7, 9])), [0]);
        assert_eq!(rows(Rows::Only(&[0, 1, 9])), [0, 1]);
    }

    #[test]
    fn not_even_a_perfect_tool_comes_level_with_a_named_one() {
        let tools = [("reader", "reads it"), ("to_do", "")]
            .map(|(name, description)| Arc::new(Tool::new(None, name, description)));
        let hybrid = hybrid(&tools, &[[1.0, 0.0], [0.0, 1.0]]);
        let vector = Some(&[1.0, 0.0][..]);
        let reading = Reading::verbatim("reads it `to_do`");
        let prompt = Prompt::new(&reading, vector, 2);
        let found = hybrid.retrieve(&prompt).unwrap().candidates;
        assert!(found[1].score > found[0].score, "{found:?}");
    }
}
