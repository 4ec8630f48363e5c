//! Arguments that control ranking and filtering.

use std::path::PathBuf;

use clap::Args;
use clap::builder::TypedValueParser as _;

use crate::cli::exit;
use crate::cli::settings::keys;
use crate::cli::words::{Blend, joined, word};
use toolroute_catalog::{Cost, LatencyTier, Reliability};
use toolroute_rank::engine::{
    Fusion, POLICY_BAND, Policy, Signal, SignalWeights, Strategy, Undeclared,
};

#[derive(Args)]
pub struct SelectArgs {
    /// How tools are found; auto is hybrid if a model is available, else keyword
    #[arg(short, long, default_value = keys::STRATEGY.default, value_parser = word::<Strategy>(), value_name = "STRATEGY")]
    pub strategy: Strategy,
    /// How scores are computed: `tuned` uses everything that was found to help; `plain` is 0.7 ·
    /// min-max(cosine) + 0.3 · min-max(BM25) over all tools
    #[arg(long, default_value = keys::BLEND.default, value_parser = word::<Blend>())]
    pub blend: Blend,
    /// Weight of the semantic score, 0 to 1; the keyword score has the rest
    #[arg(long, default_value = keys::SEMANTIC_WEIGHT.default, value_name = "W", allow_negative_numbers = true)]
    pub semantic_weight: f32,
    /// Do not split a prompt that asks for several things
    #[arg(long)]
    pub whole: bool,
    /// Do not add a tool that provides an id next to one that requires it
    #[arg(id = "no_complete", long = "no-complete", action = clap::ArgAction::SetFalse)]
    pub complete: bool,
    /// Return no tool if the confidence that one fits is below this, 0 to 1; with 0 there is always
    /// an answer
    #[arg(long, default_value = keys::MIN_CONFIDENCE.default, value_name = "P", allow_negative_numbers = true)]
    pub min_confidence: f32,
    /// Weight of a ranking signal, as NAME=WEIGHT from 0 (off) to 1; all=0 turns all signals off;
    /// repeatable
    #[arg(long, value_name = "NAME=W", value_parser = parse_weight)]
    pub signal: Vec<(Option<Signal>, f32)>,
    #[command(flatten)]
    pub usage: UsageArgs,
    #[command(flatten)]
    pub policy: PolicyArgs,
    /// Order tools whose scores differ by at most this much by declared reliability, cost and
    /// latency; 0 uses the score only
    #[arg(long, default_value = keys::POLICY_BAND.default, value_name = "X", allow_negative_numbers = true)]
    pub policy_band: f32,
}

#[derive(Args)]
pub struct PolicyArgs {
    /// Leave out tools below this reliability
    #[arg(long, value_name = joined::<Reliability>(), value_parser = word::<Reliability>())]
    pub min_reliability: Option<Reliability>,
    /// Leave out tools above this cost
    #[arg(long, value_name = joined::<Cost>(), value_parser = word::<Cost>())]
    pub max_cost: Option<Cost>,
    /// Leave out tools above this latency tier: under 3 s, 15 s, 120 s, or above
    #[arg(long, value_name = joined::<LatencyTier>(), value_parser = word::<LatencyTier>())]
    pub max_latency: Option<LatencyTier>,
    /// How these filters treat a tool that declares no tier
    #[arg(long, default_value = keys::UNDECLARED.default, value_name = joined::<Undeclared>(), value_parser = word::<Undeclared>())]
    pub undeclared: Undeclared,
    /// Maximum number of tools of one server in an answer, if tools of other servers score nearly
    /// as well
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..).map(usize::from))]
    pub max_per_server: Option<usize>,
    /// Minimum score of tools of other servers, as a share of the best tool's score, if the best
    /// tool is clear; 0 keeps all tools [default: 0.9 with servers, 0 without]
    #[arg(long, value_name = "X", value_parser = share)]
    pub near_best: Option<f32>,
    /// Also use the log of executions to determine tiers, not only what tools declare
    #[arg(long)]
    pub observed_tiers: bool,
}

#[derive(Args)]
pub struct UsageArgs {
    /// The file that `toolroute learn` wrote, which moves tools towards the prompts that they
    /// served (semantic, hybrid) [env: TOOLROUTE_USAGE]
    #[arg(long, value_name = "FILE")]
    pub usage: Option<PathBuf>,
    /// Ignore what was learned
    #[arg(long, conflicts_with = "usage")]
    pub no_usage: bool,
}

/// Parses a number from 0 to 1.
fn share(typed: &str) -> Result<f32, String> {
    let share = typed.parse().ok().filter(|share| (0.0..=1.0).contains(share));
    share.ok_or_else(|| format!("expected a number from 0 to 1, found {typed:?}"))
}

impl PolicyArgs {
    pub fn policy(&self) -> Policy {
        Policy {
            min_reliability: self.min_reliability,
            max_cost: self.max_cost,
            max_latency: self.max_latency,
            undeclared: self.undeclared,
            max_per_server: self.max_per_server,
            near_best: self.near_best,
            observed_tiers: self.observed_tiers,
        }
    }
}

impl SelectArgs {
    /// Returns the selected fusion.
    pub fn fusion(&self) -> anyhow::Result<Fusion> {
        if self.blend == Blend::Plain {
            return match self.changed() {
                None => Ok(Fusion::Plain),
                Some(flag) => Err(exit::bad_arguments(format!(
                    "--blend plain is 0.7 and 0.3 of both parts and nothing else; expected no \
                         {flag} beside it (or no --blend plain)"
                ))),
            };
        }
        Ok(Fusion::Weighted { semantic_weight: self.semantic_weight })
    }

    /// Returns the first flag that changes how scores are computed.
    fn changed(&self) -> Option<&'static str> {
        let flags = [
            (self.semantic_weight != Fusion::SEMANTIC_WEIGHT, "--semantic-weight"),
            (self.whole, "--whole"),
            (!self.signal.is_empty(), "--signal"),
            (self.policy_band != POLICY_BAND, "--policy-band"),
        ];
        flags.into_iter().find(|(is_changed, _)| *is_changed).map(|(_, flag)| flag)
    }
}

/// Parses `phase=0.2`, or `all=0` for all signals.
pub fn parse_weight(text: &str) -> Result<(Option<Signal>, f32), String> {
    let expected = "expected NAME=WEIGHT such as priority=0.1, or all=0";
    let (name, weight) = text.split_once('=').ok_or(expected)?;
    let weight: f32 = weight.parse().map_err(|_| expected)?;
    let signal = match name {
        "all" => None,
        name => Some(name.parse::<Signal>().map_err(|error| error.to_string())?),
    };
    SignalWeights::OFF.with(signal.unwrap_or(Signal::Phase), weight).map_err(|e| e.to_string())?;
    Ok((signal, weight))
}

/// Applies the typed weights in order to `base`.
pub fn weights(base: SignalWeights, typed: &[(Option<Signal>, f32)]) -> SignalWeights {
    let set =
        |weights: SignalWeights, signal, weight| weights.with(signal, weight).unwrap_or(weights);
    typed.iter().fold(base, |weights, (signal, weight)| match signal {
        Some(signal) => set(weights, *signal, *weight),
        None => Signal::ALL.into_iter().fold(weights, |all, signal| set(all, signal, *weight)),
    })
}
