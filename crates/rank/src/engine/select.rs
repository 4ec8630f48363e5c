//! Answers a prompt: reads, embeds, retrieves, ranks and explains.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

use sha2::{Digest, Sha256};

use super::Error;
use super::analysis::READABLE;
use super::candidate_scorer::{AdmissionRules, CandidateScorer, RequestRows, read_as};
use super::certainty::{Verdict, withhold};
use super::context;
use super::indexing::fingerprint_of_hashes;
use super::ranking::{Ranking, fits};
use super::request::{
    Degradation, ExcludedTool, NoTools, SelectRequest, SelectedTool, Selection, StrategyReason,
    Timings,
};
use super::state::State;
use crate::embedding::{Embedder, Role};
use crate::index::{Rows, text_hash};
use crate::query::{self, Reading, ReadingWords};
use crate::selection::{
    Assessment, Candidate, Clause, Cut, Exclusion, Explanation, ExplanationInputs, Fit, FitReason,
    Preference, PreferenceReason, Prompt, QueryVector, Retrieval, Retriever, SURE, StageTimes,
    Strategy,
};

/// A request, and the reading of its prompt.
pub(super) type ReadRequest<'a> = (&'a SelectRequest, &'a Reading);

/// The vectors of a prompt and its clauses, and how long they took.
#[derive(Clone, Copy, Default)]
pub(super) struct PromptVectors<'a> {
    /// Concatenated, the prompt's first; empty for a strategy without vectors.
    pub vectors: &'a [f32],
    /// The cosines of each vector with all rows; empty if they are not computed yet.
    pub cosines: &'a [Vec<f32>],
    pub tokenize: Duration,
    pub embed: Duration,
}

impl<'a> PromptVectors<'a> {
    fn iter(self, dimension: usize) -> impl Iterator<Item = QueryVector<'a>> {
        let vectors = self.vectors.chunks_exact(dimension.max(1)).enumerate();
        vectors.map(move |(at, numbers)| {
            let cosines = self.cosines.get(at).map(Vec::as_slice);
            QueryVector { numbers, cosines }
        })
    }
}

/// The parts of an answer before its tools are explained.
struct AnswerParts<'a> {
    ranking: Ranking,
    assessed: Assessment<'a>,
    times: StageTimes,
    policy: Duration,
    verdict: Verdict,
    abstained: bool,
    no_tools: Option<NoTools>,
}

/// Whether an answer may be shorter than its limit, and whether tools are added to it.
#[derive(Clone, Copy)]
struct SizeRules<'a> {
    /// Whether it is empty if no tool is certain enough to fit.
    may_abstain: bool,
    /// Whether it leaves out tools that score far below the best one.
    adaptive: bool,
    /// The original prompt, if tools are completed with those that they need.
    completes: Option<&'a str>,
}

// The public methods are documented in [`super::Engine`].
impl State {
    pub fn fingerprint(&self) -> String {
        // Row by row: the text of a large catalog is tens of megabytes.
        let mut rows = Sha256::new();
        self.catalog.rows().for_each(|row| rows.update(row));
        let model = self.embedder.as_ref().map_or("", |model| &model.identity().fingerprint);
        let learned = self.learned.as_ref().map_or("", |learned| &learned.fingerprint);
        let texts = [model, learned, &self.inputs.identity()].map(text_hash);
        fingerprint_of_hashes(&[&[rows.finalize().into()], &texts[..]].concat())
    }

    pub fn select(&self, request: &SelectRequest) -> Result<Selection, Error> {
        let reading = self.read(request)?;
        let selection = self.select_read((request, &reading))?;
        let read_as = read_as(request, &reading);
        Ok(Selection { read_as, left_out: reading.left_out, ..selection })
    }

    /// Checks the prompt and its context, and reads the prompt. The plain blend uses it unchanged.
    pub(super) fn read(&self, request: &SelectRequest) -> Result<Reading, Error> {
        query::check(&request.prompt, request.context.as_ref())?;
        if self.config.fusion.is_plain() {
            return Ok(Reading::verbatim(&request.prompt));
        }
        let vocabulary = self.vocabulary();
        let words = ReadingWords {
            lexicon: vocabulary.as_ref(),
            is_tool_word: &|word| self.keyword.has_english(word),
            translates: !self.reads_all_languages(),
        };
        Ok(context::read(request, &words))
    }

    /// The same as [`State::select`] for a prompt that is already read.
    pub(super) fn select_read(
        &self,
        (request, reading): ReadRequest<'_>,
    ) -> Result<Selection, Error> {
        let (strategy, ..) = self.effective(request)?;
        if !strategy.needs_vector() {
            return self.answer((request, reading), PromptVectors::default());
        }
        let start = Instant::now();
        let texts: Vec<&str> = self.texts(reading, strategy).collect();
        let embedded = self.model(strategy)?.embed(&texts, Role::Query)?;
        let vectors = PromptVectors {
            vectors: embedded.vectors.as_slice().unwrap_or_default(),
            cosines: &[],
            tokenize: embedded.tokenize,
            embed: start.elapsed().saturating_sub(embedded.tokenize),
        };
        self.answer((request, reading), vectors)
    }

    /// Returns the clauses of a prompt with several requests, if the strategy ranks them separately.
    fn clauses<'a>(&self, reading: &'a Reading, strategy: Strategy) -> &'a [String] {
        let is_whole = !self.config.clauses || self.config.fusion.is_plain();
        let is_one = is_whole || strategy != Strategy::Hybrid || reading.clauses.len() < 2;
        if is_one { &[] } else { &reading.clauses }
    }

    /// Returns the strategy for a request, why it is used, and its degradation if any.
    pub(super) fn effective(
        &self,
        request: &SelectRequest,
    ) -> Result<(Strategy, StrategyReason, Option<Degradation>), Error> {
        let strategy = request.strategy.unwrap_or(self.config.strategy);
        let settled = strategy.resolved(self.embedder.is_some());
        match (strategy, &self.embedder) {
            (Strategy::Auto, Some(_)) => Ok((settled, StrategyReason::AutoWithModel, None)),
            (Strategy::Auto, None) => {
                Ok((settled, StrategyReason::AutoWithoutModel, Some(Degradation::NoModel)))
            }
            (strategy, None) if strategy.needs_vector() => {
                Err(Error::NoModel { strategy: Some(strategy) })
            }
            (strategy, _) => Ok((strategy, StrategyReason::Asked, None)),
        }
    }

    fn model(&self, strategy: Strategy) -> Result<&dyn Embedder, Error> {
        self.embedder.as_deref().ok_or(Error::NoModel { strategy: Some(strategy) })
    }

    fn retriever(&self, strategy: Strategy) -> Result<&dyn Retriever, Error> {
        let serves = |retriever: &&Arc<dyn Retriever>| retriever.strategy() == strategy;
        let found = self.retrievers.iter().find(serves);
        found.map(AsRef::as_ref).ok_or(Error::NoModel { strategy: Some(strategy) })
    }

    pub(super) fn answer(
        &self,
        (request, reading): ReadRequest<'_>,
        embedded: PromptVectors<'_>,
    ) -> Result<Selection, Error> {
        let (strategy, because, degraded) = self.effective(request)?;
        let retriever = self.retriever(strategy)?;
        let named = RequestRows::new(self, request.context.as_ref());
        // `limit` comes from outside and may be any number, so it is limited to the catalog.
        let limit = self.config.limit_for(request).min(self.catalog.len());
        let (rows, unknown_candidates) = self.candidate_rows(request)?;
        let mut vectors = embedded.iter(self.dims());
        let vector = vectors.next();
        let numbers = vector.map(|vector| vector.numbers);
        let scorer = CandidateScorer::new(self, (request, reading), &named, (strategy, numbers))?;
        let clauses = self.clauses(reading, strategy).iter().zip(vectors);
        let clauses: Vec<Clause<'_>> =
            clauses.map(|(text, vector)| Clause { text, vector }).collect();
        let prompt = Prompt {
            reading,
            vector,
            clauses: &clauses,
            readable_share: self.readable_share(reading.latin_share),
            semantic_share: self.inputs.semantic_share,
            rows: rows.as_deref().map_or(Rows::All, Rows::Only),
            limit,
            suppliers: self.catalog.stated_suppliers(),
            cut: scorer.band_width().map(|band_width| Cut { band_width, catalog: &self.catalog }),
        };
        let answer = self.rank(retriever, &prompt, &scorer, self.size_rules(request))?;
        let start = Instant::now();
        let tools = self.selected_tools(retriever, reading, (&scorer, &answer));
        let AnswerParts { ranking, times, policy: policy_time, .. } = answer;
        let AnswerParts { abstained, no_tools, verdict, .. } = answer;
        let Verdict { sure, fit } = verdict;
        let ((fit, fit_reason), degraded) = self.by_language(reading, fit, degraded);
        let timings = timings(embedded, times, policy_time + start.elapsed());
        Ok(Selection {
            strategy,
            because,
            degraded,
            read_as: None,
            left_out: Vec::new(),
            analysis: None,
            tools,
            fit,
            fit_reason,
            evidence: sure.evidence,
            background: sure.background,
            confidence: sure.confidence,
            abstained,
            no_tools,
            excluded: self.excluded(ranking.excluded),
            held_back: Vec::new(),
            unknown_candidates,
            cached: false,
            timings,
        })
    }

    fn selected_tools(
        &self,
        retriever: &dyn Retriever,
        reading: &Reading,
        (scorer, answer): (&CandidateScorer<'_>, &AnswerParts<'_>),
    ) -> Vec<SelectedTool> {
        let AnswerParts { ranking, assessed, verdict, .. } = answer;
        let best = ranking.best();
        // Of an answer that may not fit, no tool is surely right.
        let confidence = verdict.sure.confidence.map(|sure| match verdict.fit.0 {
            Fit::Fits => sure,
            Fit::Unsure | Fit::None => sure.min(SURE.next_down()),
        });
        let tools = self.catalog.tools();
        let rows: Vec<u32> = ranking.chosen.iter().map(|found| found.row).collect();
        let matched = retriever.matched_terms(&reading.text, &rows);
        // A tool that the answer may not contain may not be named as a supplier either.
        let is_admitted = |row| scorer.is_admitted(row);
        let selected = |(found, matched_terms): (&Candidate, Vec<String>)| {
            let tool = tools[found.row as usize].clone();
            let preferred = found.preferred.map(|Preference { over, by }| {
                PreferenceReason::new(&tool, &tools[over as usize], by)
            });
            let inputs = ExplanationInputs {
                matched_terms,
                parts: assessed.parts(found),
                intent: assessed.intent(found.row),
                confidence,
                best,
                usage: self.usage_of(found.row, retriever.strategy()).copied(),
                preferred,
                supply: self.supply_of(&ranking.supplied, found.row),
            };
            SelectedTool {
                score: found.score,
                explanation: Explanation::new(found, &tool, inputs),
                needs: self.catalog.needs_from(&tool, is_admitted),
                suspicions: self.suspicions[found.row as usize].clone(),
                tool,
            }
        };
        ranking.chosen.iter().zip(matched).map(selected).collect()
    }

    fn size_rules<'a>(&self, request: &'a SelectRequest) -> SizeRules<'a> {
        let completes = request.complete.unwrap_or(self.config.complete);
        let completes = completes && !self.config.fusion.is_plain();
        SizeRules {
            may_abstain: request.candidates.is_none(),
            adaptive: request.adaptive.unwrap_or(self.config.adaptive),
            completes: completes.then_some(request.prompt.as_str()),
        }
    }

    fn excluded(&self, excluded: Vec<(Candidate, Exclusion)>) -> Vec<ExcludedTool> {
        let name = |(candidate, because): (Candidate, Exclusion)| {
            let id = self.catalog.tools()[candidate.row as usize].id.clone();
            ExcludedTool { id, score: candidate.score, because }
        };
        excluded.into_iter().map(name).collect()
    }

    /// The dimension of the vectors; 0 without a model.
    pub(super) fn dims(&self) -> usize {
        self.embedder.as_ref().map_or(0, |embedder| embedder.identity().dimension)
    }

    /// How much of a text the model reads, 0 to 1: the share of Latin letters for a model of Latin
    /// script, else 1.
    pub fn readable_share(&self, latin_share: f32) -> f32 {
        match &self.embedder {
            _ if self.config.fusion.is_plain() => 1.0,
            Some(embedder) if latin_share < 1.0 && embedder.reads_latin_only() => latin_share,
            _ => 1.0,
        }
    }

    /// The share of the prompt's letters that the vectors do not represent, 0 to 1: those that are
    /// not Latin, unless the model reads other scripts.
    pub fn unread(&self, reading: &Reading) -> f32 {
        match &self.embedder {
            Some(embedder) if !embedder.reads_latin_only() => 0.0,
            _ => 1.0 - reading.latin_share,
        }
    }

    /// Whether the model reads more languages than English.
    fn reads_all_languages(&self) -> bool {
        self.embedder.as_ref().is_some_and(|embedder| !embedder.reads_latin_only())
    }

    /// The verdict and the degradation of an answer. That to a prompt which the model does not read is at best
    /// [`Fit::Unsure`].
    fn by_language(
        &self,
        reading: &Reading,
        fit: (Fit, Option<FitReason>),
        degraded: Option<Degradation>,
    ) -> ((Fit, Option<FitReason>), Option<Degradation>) {
        match (self.is_unread(reading), fit.0) {
            (false, _) => (fit, degraded),
            (true, Fit::Fits) => {
                let fit = (Fit::Unsure, Some(FitReason::UnreadLanguage));
                (fit, Some(Degradation::UnreadLanguage))
            }
            (true, _) => (fit, Some(Degradation::UnreadLanguage)),
        }
    }

    /// Whether the prompt is in a language or a script that the model does not read, or of which
    /// there are only words without a model.
    fn is_unread(&self, reading: &Reading) -> bool {
        let is_unread = reading.latin_share < READABLE || reading.is_foreign;
        is_unread && !self.reads_all_languages()
    }

    /// Returns the texts to embed for a prompt: the prompt, then its clauses.
    pub(super) fn texts<'a>(
        &self,
        reading: &'a Reading,
        strategy: Strategy,
    ) -> impl Iterator<Item = &'a str> {
        let clauses = self.clauses(reading, strategy).iter();
        std::iter::once(reading.text.as_str()).chain(clauses.map(String::as_str))
    }

    /// Retrieves and ranks. If the policy admits few of the tools that an approximate index returns,
    /// all admitted tools are scored instead: a filter may cost time, but must not lose tools.
    fn rank<'a>(
        &self,
        retriever: &dyn Retriever,
        prompt: &Prompt<'_>,
        scorer: &'a CandidateScorer<'a>,
        size: SizeRules<'_>,
    ) -> Result<AnswerParts<'a>, Error> {
        let (limit, rows) = (prompt.limit, prompt.rows);
        let found = retriever.retrieve(prompt)?;
        let start = Instant::now();
        let sure = self.certainty(retriever.strategy(), prompt, &found)?;
        let Retrieval { mut candidates, times } = found;
        let assessed = scorer.assess(&mut candidates, rows);
        let rules = scorer.rules(&assessed, &candidates);
        let critical = scorer.critical(&candidates);
        let mut ranking = scorer.rank(candidates, limit, &rules);
        let is_approximate = self.is_approximate() && matches!(rows, Rows::All);
        if is_approximate && is_starved(&ranking, limit, &rules) {
            let found = ranking.all.iter().map(|candidate| candidate.row).collect();
            let exact = self.rank_admitted(retriever, prompt, scorer, (&rules, found))?;
            (ranking.chosen, ranking.all) = (exact.chosen, exact.all);
        }
        let judged = (&ranking, size.may_abstain);
        let mut verdict = self.judge((retriever, prompt), scorer, (sure, &assessed), judged)?;
        if size.adaptive {
            let best = ranking.best();
            ranking.chosen.retain(|candidate| fits(candidate.score, best));
        }
        let is_filtered = ranking.chosen.is_empty()
            && (!ranking.excluded.is_empty() || matches!(rows, Rows::Only([])));
        let abstained = withhold(&verdict.fit, &mut ranking, |row| scorer.is_admitted(row));
        if let Some(text) = size.completes {
            self.complete(&mut ranking, &rules, text, limit);
        }
        scorer.add_critical(&mut ranking, &critical, limit);
        if let Some(tokens) = scorer.budget_tokens {
            self.fit(&mut ranking, tokens);
        }
        let no_tools = self.no_tools(&ranking, is_filtered, limit);
        if no_tools.is_some() && !abstained {
            verdict.fit = (Fit::None, None);
        }
        let policy = start.elapsed();
        Ok(AnswerParts { ranking, assessed, times, policy, verdict, abstained, no_tools })
    }

    /// Ranks all tools that the rules admit; each of them is scored. The rows in `found` are scored
    /// again with them, because scores depend on the best cosine among all rows.
    fn rank_admitted<'a>(
        &self,
        retriever: &dyn Retriever,
        prompt: &Prompt<'_>,
        scorer: &'a CandidateScorer<'a>,
        (rules, found): (&AdmissionRules<'_>, BTreeSet<u32>),
    ) -> Result<Ranking, Error> {
        let rows = 0..self.catalog.len() as u32;
        let is_scored = |row: &u32| rules.admit(*row, &[]).is_ok() || found.contains(row);
        let scored: Vec<u32> = rows.filter(is_scored).collect();
        let prompt = Prompt { rows: Rows::Only(&scored), ..*prompt };
        let mut all = retriever.retrieve(&prompt)?.candidates;
        scorer.assess(&mut all, prompt.rows);
        Ok(scorer.rank(all, prompt.limit, rules))
    }

    /// Leaves out tools whose definitions exceed the token budget. The best tool always stays.
    fn fit(&self, ranking: &mut Ranking, tokens: usize) {
        let mut left = tokens;
        for (place, candidate) in std::mem::take(&mut ranking.chosen).into_iter().enumerate() {
            let needed = self.catalog.tools()[candidate.row as usize].definition_tokens();
            if place == 0 || needed <= left {
                left = left.saturating_sub(needed);
                ranking.chosen.push(candidate);
            } else {
                ranking.excluded.push((candidate, Exclusion::Budget { tokens: needed, left }));
            }
        }
    }
}

fn timings(vectors: PromptVectors<'_>, times: StageTimes, policy: Duration) -> Timings {
    let PromptVectors { tokenize, embed, .. } = vectors;
    let StageTimes { search, keyword, fuse } = times;
    Timings { tokenize, embed, search, keyword, fuse, policy }
}

/// Whether the tools that an approximate index returned do not represent those that the rules
/// admit: too few are left for an answer, or fewer than half.
fn is_starved(ranking: &Ranking, limit: usize, rules: &AdmissionRules<'_>) -> bool {
    // A tool far below the best one would be excluded after an exact search too.
    let is_kept_out = |why: &Exclusion| !matches!(why, Exclusion::FarFromBest { .. });
    let is_admitted = |found: &&Candidate| rules.admit(found.row, &[]).is_ok();
    ranking.excluded.iter().any(|(_, why)| is_kept_out(why))
        && (ranking.chosen.len() < limit
            || ranking.all.iter().filter(is_admitted).count() * 2 < ranking.all.len())
}
