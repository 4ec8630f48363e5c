//! What may be typed of the context of a prompt.

use clap::Args;

use super::args::{Blend, FusionMethod, Global, Scale, SelectArgs};
use super::context_source::ContextSourceArgs;
use super::exit::{self, Failure};
use crate::engine::{Context, Fusion, Normalization, POLICY_BAND, Signal, SignalWeights, Stage};

#[derive(Args)]
#[command(next_help_heading = "Context")]
pub struct ContextArgs {
    #[command(flatten)]
    pub source: ContextSourceArgs,
    /// Where the work stands: initial, planning, reading, analysis, execution, verification or
    /// completion; planning, reading and analysis take read-only tools alone
    #[arg(long, value_name = "STAGE", value_parser = |name: &str| name.parse::<Stage>())]
    pub stage: Option<Stage>,
    /// A profile of the configuration, which names the tools of a kind of work
    #[arg(long, value_name = "NAME")]
    pub profile: Option<String>,
    /// Rank only tools whose id matches this pattern, such as `git__*`; repeatable
    #[arg(long, value_name = "PATTERN")]
    pub enable: Vec<String>,
    /// Leave out tools whose id matches this pattern; repeatable
    #[arg(long, value_name = "PATTERN")]
    pub exclude: Vec<String>,
    /// The model that will call the tools; a small one gets at most ten
    #[arg(long, value_name = "NAME")]
    pub for_model: Option<String>,
    /// Lower dear tools
    #[arg(long)]
    pub cost_aware: bool,
    /// Tokens of the definitions in an answer at most; the best tool is given in any case
    #[arg(long, value_name = "N")]
    pub budget_tokens: Option<usize>,
}

impl ContextArgs {
    /// The context, where anything of it was typed.
    pub fn context(&self, global: &Global) -> anyhow::Result<Option<Context>> {
        let mut context = self.source.read(global)?;
        let typed = self.stage.is_some()
            || self.profile.is_some()
            || self.for_model.is_some()
            || self.cost_aware
            || self.budget_tokens.is_some()
            || !(self.enable.is_empty() && self.exclude.is_empty());
        if typed {
            let context = context.get_or_insert_default();
            context.stage = self.stage.or(context.stage);
            context.profile = self.profile.clone().or(context.profile.take());
            context.model = self.for_model.clone().or(context.model.take());
            context.cost_aware |= self.cost_aware;
            context.budget_tokens = self.budget_tokens.or(context.budget_tokens);
            if !self.enable.is_empty() {
                context.enabled_tools = Some(self.enable.clone());
            }
            context.excluded_tools.extend(self.exclude.iter().cloned());
        }
        Ok(context)
    }
}

impl SelectArgs {
    /// The blend that was chosen.
    ///
    /// # Errors
    /// Where the plain one is asked for together with something that would change it.
    pub fn fusion(&self) -> anyhow::Result<Fusion> {
        if self.blend == Blend::Plain {
            return match self.changed() {
                None => Ok(Fusion::Plain),
                Some(flag) => {
                    let said = format!(
                        "--blend plain is 0.7 and 0.3 of both parts and nothing else; expected no \
                         {flag} beside it (or no --blend plain)"
                    );
                    Err(Failure { code: exit::BAD_ARGUMENTS, said }.into())
                }
            };
        }
        Ok(match self.fusion {
            FusionMethod::Rrf => Fusion::Rrf { k: self.rrf_k },
            FusionMethod::Weighted => Fusion::Weighted {
                semantic_weight: self.semantic_weight,
                normalization: match self.normalization {
                    Scale::Absolute => Normalization::Absolute,
                    Scale::MinMax => Normalization::MinMax,
                    Scale::ZScore => Normalization::ZScore,
                },
            },
        })
    }

    /// The first flag that makes a score another than it would be.
    fn changed(&self) -> Option<&'static str> {
        let flags = [
            (self.fusion != FusionMethod::Weighted, "--fusion"),
            (self.semantic_weight != Fusion::SEMANTIC_WEIGHT, "--semantic-weight"),
            (self.normalization != Scale::Absolute, "--normalization"),
            (self.rrf_k != Fusion::RRF_K, "--rrf-k"),
            (self.whole, "--whole"),
            (!self.signal.is_empty(), "--signal"),
            (self.policy_band != POLICY_BAND, "--policy-band"),
        ];
        flags.into_iter().find(|(is_changed, _)| *is_changed).map(|(_, flag)| flag)
    }
}

/// `phase=0.2`, or `all=0` for all of them.
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

/// Weights with those that were typed, one after the other.
pub fn weights(base: SignalWeights, typed: &[(Option<Signal>, f32)]) -> SignalWeights {
    let set =
        |weights: SignalWeights, signal, weight| weights.with(signal, weight).unwrap_or(weights);
    typed.iter().fold(base, |weights, (signal, weight)| match signal {
        Some(signal) => set(weights, *signal, *weight),
        None => Signal::ALL.into_iter().fold(weights, |all, signal| set(all, signal, *weight)),
    })
}
