//! Requests to an engine, and its answers.

use std::fmt;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use serde::ser::SerializeStruct;
use serde::{Deserialize, Serialize};

use super::{Analysis, Context, HeldMatch, Omission};
use crate::catalog::{self, Need, Suspicion, Tool, ToolId};
use crate::query::without_middle;
use crate::selection::{Exclusion, Explanation, Fit, FitReason, Policy, Strategy};

/// A prompt, with settings that override the engine's configuration.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SelectRequest {
    /// The prompt; must not be empty.
    pub prompt: String,
    /// How to rank; `None` uses the configuration, like the other options.
    pub strategy: Option<Strategy>,
    /// Maximum number of tools.
    pub limit: Option<usize>,
    /// Whether the answer leaves out tools that score far below the best one, instead of always
    /// containing `limit` tools.
    pub adaptive: Option<bool>,
    /// Whether a tool that provides an id is added next to one that requires it, unless the prompt
    /// contains the id.
    pub complete: Option<bool>,
    /// Which tools are admitted, and which come first among equals.
    pub policy: Option<Policy>,
    /// Tools whose scores, 0 to 1, differ by at most this are ordered by the policy; 0 orders by score
    /// only.
    pub policy_band: Option<f32>,
    /// Ids of the only tools to rank; `None` ranks the whole catalog.
    pub candidates: Option<Vec<String>>,
    /// The context of the prompt.
    pub context: Option<Context>,
}

impl SelectRequest {
    /// A request with the settings of the engine.
    pub fn new(prompt: impl Into<String>) -> Self {
        Self { prompt: prompt.into(), ..Self::default() }
    }

    /// Returns the same request with the ends of a prompt that is too long to be read whole, and
    /// what was left out.
    pub(super) fn without_middle(&self) -> Option<(Self, Omission)> {
        let (prompt, omission) = without_middle(&self.prompt)?;
        let mut shorter = Self { prompt, ..self.clone() };
        if let Some(context) = &mut shorter.context {
            // Else the context would have another prompt.
            context.prompt.take_if(|whole| *whole == self.prompt);
        }
        Some((shorter, omission))
    }

    /// Sets the strategy.
    #[must_use]
    pub fn strategy(mut self, strategy: Strategy) -> Self {
        self.strategy = Some(strategy);
        self
    }

    /// Sets the maximum number of tools.
    #[must_use]
    pub fn limit(mut self, limit: usize) -> Self {
        self.limit = Some(limit);
        self
    }

    /// Sets whether tools far below the best one are left out.
    #[must_use]
    pub fn adaptive(mut self, adaptive: bool) -> Self {
        self.adaptive = Some(adaptive);
        self
    }

    /// Sets whether tools that provide required ids are added.
    #[must_use]
    pub fn complete(mut self, complete: bool) -> Self {
        self.complete = Some(complete);
        self
    }

    /// Sets the policy.
    #[must_use]
    pub fn policy(mut self, policy: Policy) -> Self {
        self.policy = Some(policy);
        self
    }

    /// Sets the difference of scores, 0 to 1, within which the policy orders.
    #[must_use]
    pub fn policy_band(mut self, band: f32) -> Self {
        self.policy_band = Some(band);
        self
    }

    /// Ranks only the tools with these ids.
    #[must_use]
    pub fn candidates(mut self, ids: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.candidates = Some(ids.into_iter().map(Into::into).collect());
        self
    }

    /// Sets the context.
    #[must_use]
    pub fn context(mut self, context: Context) -> Self {
        self.context = Some(context);
        self
    }
}

/// The tools for a prompt, best first. A tool that another one needs may follow directly after it.
#[derive(Clone, Debug, Serialize)]
pub struct Selection {
    /// The strategy that was used: never `auto`.
    pub strategy: Strategy,
    /// Why this strategy was used.
    pub because: StrategyReason,
    /// Why the answer is worse than usual: `auto` fell back to keywords, or the model cannot read the
    /// prompt.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub degraded: Option<Degradation>,
    /// The text that was used for ranking, if it differs from the prompt: with the earlier prompt that
    /// it refers to, translated word by word, with typos corrected, without negated parts and without
    /// `left_out`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub read_as: Option<String>,
    /// Parts of the prompt that were ignored in ranking, such as a log or a quoted mail.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub left_out: Vec<Omission>,
    /// The features of the prompt and the files of its context, if the context requests an analysis.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub analysis: Option<Arc<Analysis>>,
    /// The tools, best first.
    pub tools: Vec<SelectedTool>,
    /// Whether the tools fit the prompt.
    pub fit: Fit,
    /// Why it is uncertain that a tool fits, or certain that none does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fit_reason: Option<FitReason>,
    /// The evidence that any tool fits at all, from which `confidence` is computed with the model's
    /// calibration.
    pub evidence: Option<f32>,
    /// The evidence that 90 % of ordinary prompts reach in this catalog, if the calibration compares
    /// `evidence` with it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub background: Option<f32>,
    /// The probability that any tool of the catalog fits; `None` if the strategy or the model has no
    /// calibration.
    pub confidence: Option<f32>,
    /// Whether no tool is certain enough to fit. Then `tools` has critical tools only, and the nearest
    /// tools are in `excluded`.
    pub abstained: bool,
    /// Why `tools` is empty; `None` if it is not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub no_tools: Option<NoTools>,
    /// Tools that the answer would contain without the policy and the minimum confidence.
    pub excluded: Vec<ExcludedTool>,
    /// Tools that the answer would contain if they were not held back ([`super::Engine::hold_back`]).
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub held_back: Vec<HeldMatch>,
    /// Candidates of the request that are not in the catalog.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unknown_candidates: Vec<String>,
    /// Whether the answer comes from the cache. Not serialised, like the timings.
    #[serde(skip)]
    pub cached: bool,
    /// Not serialised, so that equal requests give equal bytes.
    #[serde(skip)]
    pub timings: Timings,
}

/// Why a strategy was used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum StrategyReason {
    /// The request or the configuration names the strategy.
    Asked,
    /// `auto`, with a model.
    AutoWithModel,
    /// `auto`, without a model.
    AutoWithoutModel,
}

impl fmt::Display for StrategyReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Asked => "as asked",
            Self::AutoWithModel => "auto: a model is at hand",
            Self::AutoWithoutModel => "auto: no model is at hand",
        })
    }
}

/// Why an answer is worse than usual.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Degradation {
    /// The engine has no model.
    NoModel,
    /// The prompt is in a language that the model does not read and for which there is no lexicon.
    UnreadLanguage,
}

impl fmt::Display for Degradation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NoModel => "no model is at hand; the tools are found by words alone",
            Self::UnreadLanguage => {
                "the prompt is in a language that the model does not read; ask in English, or take a model of several languages (`toolroute model pull OWNER/NAME`)"
            }
        })
    }
}

/// Why an answer has no tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum NoTools {
    /// The catalog has no tool.
    EmptyCatalog,
    /// The request asks for no tool: its limit is 0.
    LimitIsZero,
    /// The policy, the profile, the server, the candidates or the minimum score exclude every tool.
    Filtered,
    /// No tool fits the prompt.
    NothingFits,
}

impl fmt::Display for NoTools {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::EmptyCatalog => "the catalog is empty: there is no tool to choose from",
            Self::LimitIsZero => "the limit is 0: no tool is returned",
            Self::Filtered => "no tool is left: the filters of this request leave all of them out",
            Self::NothingFits => "no tool fits the prompt",
        })
    }
}

/// One tool of an answer.
#[derive(Clone, Debug)]
pub struct SelectedTool {
    /// The definition in the catalog.
    pub tool: Arc<Tool>,
    /// The sum of the contributions in `explanation`.
    pub score: f32,
    /// How the score was computed.
    pub explanation: Explanation,
    /// The ids that it requires, each with the tools of its server that provide it, if there are any.
    pub needs: Vec<Need>,
    pub(super) suspicions: LazySuspicions,
}

/// The suspicions about one tool. They are computed lazily, because that takes as long as an answer,
/// and shared by all answers from one state of the catalog.
#[derive(Clone, Debug, Default)]
pub(super) struct LazySuspicions(Arc<OnceLock<Vec<Suspicion>>>);

impl SelectedTool {
    /// Suspicious parts of the tool's definition. A suspicious tool stays in the answer, with a
    /// warning.
    pub fn suspicions(&self) -> &[Suspicion] {
        self.suspicions.0.get_or_init(|| catalog::suspicions(&self.tool))
    }
}

impl Serialize for SelectedTool {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let warnings: Vec<String> = self.suspicions().iter().map(ToString::to_string).collect();
        let more = [self.needs.is_empty(), warnings.is_empty()];
        let fields = 6 + more.iter().filter(|is_empty| !**is_empty).count();
        let mut out = serializer.serialize_struct("SelectedTool", fields)?;
        out.serialize_field("id", &self.tool.id)?;
        out.serialize_field("name", &self.tool.name)?;
        out.serialize_field("server", &self.tool.server)?;
        out.serialize_field("description", &self.tool.description)?;
        out.serialize_field("score", &self.score)?;
        out.serialize_field("explanation", &self.explanation)?;
        if !self.needs.is_empty() {
            out.serialize_field("needs", &self.needs)?;
        }
        if !warnings.is_empty() {
            out.serialize_field("warnings", &warnings)?;
        }
        out.end()
    }
}

/// A tool that was left out of an answer.
#[derive(Clone, Debug, Serialize)]
pub struct ExcludedTool {
    /// The id of the tool.
    pub id: ToolId,
    /// The score that it would have had.
    pub score: f32,
    /// The rule that excluded it.
    pub because: Exclusion,
}

/// The time that each stage of a selection took.
#[derive(Clone, Copy, Debug, Default)]
pub struct Timings {
    /// Splitting texts into tokens.
    pub tokenize: Duration,
    /// Inference, without tokenising.
    pub embed: Duration,
    /// Search by vector.
    pub search: Duration,
    /// Search by keyword.
    pub keyword: Duration,
    /// Combining both into one score.
    pub fuse: Duration,
    /// Filter, order and explanations.
    pub policy: Duration,
}

impl Timings {
    /// The sum of all stages.
    pub fn total(&self) -> Duration {
        self.stages().iter().map(|(_, time)| *time).sum()
    }

    /// Each stage with its name, in the order in which they run.
    pub fn stages(&self) -> [(&'static str, Duration); 6] {
        [
            ("tokenize", self.tokenize),
            ("embed", self.embed),
            ("search", self.search),
            ("keyword", self.keyword),
            ("fuse", self.fuse),
            ("policy", self.policy),
        ]
    }
}
