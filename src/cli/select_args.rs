//! What may be typed of the context of a prompt.

use clap::Args;

use super::args::Global;
use super::context_source::ContextSourceArgs;
use crate::engine::{Context, Signal, SignalWeights, Stage};

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
