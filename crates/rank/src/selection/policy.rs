//! The policy that decides which tools may be selected.

use std::collections::BTreeSet;
use std::fmt;

use serde::{Deserialize, Serialize};
use toolroute_catalog::{Cost, LatencyTier, Reliability, Tool, ToolId};

use super::fit::FitReason;
use crate::feedback::RunStats;
use crate::query::Stage;

/// How a filter on a tier treats a tool that does not declare this tier.
///
/// MCP has no tiers, so most tools of most catalogs declare none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Undeclared {
    /// The tool counts as medium: neither the best nor the worst.
    #[default]
    Medium,
    /// The tool passes every filter.
    Admit,
    /// The tool passes no filter.
    Exclude,
}

/// A filter on declared tiers and on each server's share of an answer. The default admits every
/// tool.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Policy {
    /// The least reliability.
    pub min_reliability: Option<Reliability>,
    /// The highest cost.
    pub max_cost: Option<Cost>,
    /// The highest latency.
    pub max_latency: Option<LatencyTier>,
    /// What becomes of tools that declare no tier.
    pub undeclared: Undeclared,
    /// The maximum number of tools of one server in an answer, if the catalog has several servers
    /// and tools of another one are near: no server can fill an answer with many similar tools.
    /// Tools without a server do not count.
    pub max_per_server: Option<usize>,
    /// The minimum score of a tool of another server, as a share, 0 to 1, of the best tool's score,
    /// if the best tool is a clear match. A description that is written to match every prompt is
    /// rarely the best match and takes the ranks after it (`docs/security.md`). `None` and 0 admit
    /// every score.
    pub near_best: Option<f32>,
    /// Whether observed reliability and latency adjust the declared tiers, within the bounds of
    /// [`RunStats::reliability`] and [`RunStats::latency_ms`].
    pub observed_tiers: bool,
}

/// The value of [`Policy::near_best`] if anyone may add servers. Measured in `docs/security.md`,
/// together with `VAGUE` and `CLEAR`.
pub const NEAR_BEST: f32 = 0.9;

/// Up to a best score of `VAGUE`, the best tool is not a clear match; from `CLEAR` on, it is.
/// Prompts that need tools of several servers have a best score of 0.4 to 0.7, and prompts that
/// need one tool have 0.65 or more.
const VAGUE: f32 = 0.4;
const CLEAR: f32 = 0.7;

/// Why a tool is excluded.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Exclusion {
    /// The reliability is below the least one of the policy.
    Reliability { found: Option<Reliability>, least: Reliability },
    /// The cost is above the highest one of the policy.
    Cost { found: Option<Cost>, most: Cost },
    /// The latency is above the highest one of the policy.
    Latency { found: Option<LatencyTier>, most: LatencyTier },
    /// Neither the request nor its profile enables the tool.
    NotEnabled,
    /// The request excludes the tool by a pattern.
    ByPattern { pattern: String },
    /// The stage of work is read-only, and the tool may change something.
    Stage { stage: Stage },
    /// The answer already contains the maximum number of tools of its server.
    ServerShare { server: String, most: usize },
    /// A tool of another server fits far better.
    FarFromBest {
        best: ToolId,
        /// The tool's score divided by the best tool's score.
        share: f32,
        least: f32,
    },
    /// The tool conflicts with a better one in the answer.
    Conflict { with: ToolId },
    /// Another tool declares that it alone serves an intent of the prompt.
    Exclusive { intent: String, by: ToolId },
    /// The circuit breaker of the tool or of its server is open, because of recent failures.
    BreakerOpen { server: Option<String> },
    /// The definition of the tool exceeds the remaining tokens.
    Budget { tokens: usize, left: usize },
    /// No tool fits the prompt well enough.
    Unfit { because: FitReason },
}

impl fmt::Display for Exclusion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fn tell<T: fmt::Display>(
            f: &mut fmt::Formatter<'_>,
            tier: &str,
            found: Option<T>,
            bound: &str,
            limit: impl fmt::Display,
        ) -> fmt::Result {
            match found {
                Some(found) => write!(f, "{tier} {found} is {bound} {limit}"),
                None => write!(f, "{tier} is not declared, and {limit} is asked for"),
            }
        }
        match self {
            Self::Reliability { found, least } => tell(f, "reliability", *found, "below", least),
            Self::Cost { found, most } => tell(f, "cost", *found, "above", most),
            Self::Latency { found, most } => tell(f, "latency", *found, "above", most),
            Self::NotEnabled => f.write_str("it is not among the enabled tools"),
            Self::ByPattern { pattern } => write!(f, "the request leaves out `{pattern}`"),
            Self::Stage { stage } => write!(f, "the stage {stage} takes read-only tools alone"),
            Self::ServerShare { server, most } => {
                write!(
                    f,
                    "the answer has {most} tools of `{server}` already, the most of one server"
                )
            }
            Self::FarFromBest { best, share, least } => write!(
                f,
                "{best} of another server fits far better: it has {share:.2} of that score, at least {least:.2} is asked for"
            ),
            Self::Conflict { with } => write!(f, "it conflicts with {with}, which fits better"),
            Self::Exclusive { intent, by } => write!(f, "{by} alone serves the intent `{intent}`"),
            Self::BreakerOpen { server: None } => {
                f.write_str("it failed lately and is left alone for a while")
            }
            Self::BreakerOpen { server: Some(server) } => {
                write!(f, "its server `{server}` failed lately and is left alone for a while")
            }
            Self::Budget { tokens, left } => {
                write!(f, "its definition has about {tokens} tokens, and {left} are left")
            }
            Self::Unfit { because } => write!(f, "{because}"),
        }
    }
}

impl Serialize for Exclusion {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl Policy {
    /// Whether the policy admits every tool.
    pub fn is_open(&self) -> bool {
        let tiers =
            self.min_reliability.is_none() && self.max_cost.is_none() && self.max_latency.is_none();
        tiers && self.max_per_server.is_none() && self.near_best.is_none()
    }

    /// Checks that a tool's score is near enough to the best one. Scores are on the scale of a
    /// cosine.
    ///
    /// # Errors
    /// [`Exclusion::FarFromBest`] if it is not.
    #[doc(hidden)] // For our own crates.
    pub fn admit_near(
        &self,
        (tool, score): (&Tool, f32),
        (best, top): (&Tool, f32),
    ) -> Result<(), Exclusion> {
        let Some(near) = self.near_best.filter(|_| tool.server != best.server) else {
            return Ok(());
        };
        let clear = ((top - VAGUE) / (CLEAR - VAGUE)).clamp(0.0, 1.0);
        let least = near * clear;
        if score >= least * top {
            return Ok(());
        }
        Err(Exclusion::FarFromBest { best: best.id.clone(), share: score / top, least })
    }

    /// Checks that a tool may join those chosen before it.
    ///
    /// # Errors
    /// [`Exclusion::ServerShare`] if they already contain the maximum number of tools of its
    /// server.
    #[doc(hidden)] // For our own crates.
    pub fn admit_beside<'a>(
        &self,
        tool: &Tool,
        chosen: impl Iterator<Item = &'a Tool>,
    ) -> Result<(), Exclusion> {
        let (Some(most), Some(server)) = (self.max_per_server, &tool.server) else { return Ok(()) };
        let there = chosen.filter(|other| other.server.as_ref() == Some(server)).count();
        if there < most {
            return Ok(());
        }
        Err(Exclusion::ServerShare { server: server.clone(), most })
    }

    /// Checks the tiers of a tool. `observed` counts only if [`Policy::observed_tiers`] is set.
    ///
    /// # Errors
    /// The first tier that excludes the tool, in the order reliability, cost, latency.
    #[doc(hidden)] // For our own crates.
    pub fn admit(&self, tool: &Tool, observed: Option<&RunStats>) -> Result<(), Exclusion> {
        let assume = self.undeclared;
        let observed = observed.filter(|_| self.observed_tiers);
        if let Some(least) = self.min_reliability {
            let moved = observed.map(|seen| RunStats::reliability(Some(seen), tool.reliability));
            let found = moved.or(tool.reliability);
            if !assume.passes(found, Reliability::Medium, |tier| tier >= least) {
                return Err(Exclusion::Reliability { found, least });
            }
        }
        if let Some(most) = self.max_cost {
            let found = tool.cost;
            if !assume.passes(found, Cost::Medium, |tier| tier <= most) {
                return Err(Exclusion::Cost { found, most });
            }
        }
        if let Some(most) = self.max_latency {
            let measured = observed.and_then(|seen| {
                seen.latency_tier()?;
                Some(LatencyTier::from_ms(RunStats::latency_ms(Some(seen), tool)? as u64))
            });
            let found = measured.or(tool.latency_tier());
            if !assume.passes(found, LatencyTier::Medium, |tier| tier <= most) {
                return Err(Exclusion::Latency { found, most });
            }
        }
        Ok(())
    }
}

impl Undeclared {
    fn passes<T>(self, found: Option<T>, medium: T, within: impl Fn(T) -> bool) -> bool {
        match (found, self) {
            (Some(tier), _) => within(tier),
            (None, Self::Medium) => within(medium),
            (None, Self::Admit) => true,
            (None, Self::Exclude) => false,
        }
    }
}

/// The servers and tools whose circuit breakers are open.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OpenBreakers {
    /// Servers by name; the empty name stands for tools without a server.
    pub servers: BTreeSet<String>,
    /// Tools by id.
    pub tools: BTreeSet<String>,
}

impl OpenBreakers {
    pub fn is_empty(&self) -> bool {
        self.servers.is_empty() && self.tools.is_empty()
    }

    /// Checks that neither the breaker of the tool nor that of its server is open.
    ///
    /// # Errors
    /// [`Exclusion::BreakerOpen`] if one of them is open.
    pub fn admit(&self, tool: &Tool) -> Result<(), Exclusion> {
        if self.is_empty() {
            return Ok(());
        }
        let server = tool.server.as_deref().unwrap_or_default();
        if self.servers.contains(server) {
            return Err(Exclusion::BreakerOpen { server: Some(server.to_owned()) });
        }
        if self.tools.contains(tool.id.as_str()) {
            return Err(Exclusion::BreakerOpen { server: None });
        }
        Ok(())
    }
}
