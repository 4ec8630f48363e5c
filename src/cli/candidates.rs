//! `toolroute candidates`: lists the tools that satisfy an obligation, ordered by policy.

use std::collections::BTreeSet;
use std::process::ExitCode;

use clap::Args;
use serde::Serialize;

use super::args::{CatalogArgs, Global, HistoryArgs, PolicyArgs};
use super::{feedback, render, setup};
use toolroute_catalog::covers;
use toolroute_rank::engine::{Candidacies, Candidacy, Engine, EngineConfig, Strategy};

#[derive(Args)]
pub struct CandidatesArgs {
    /// The obligation, such as `REPORT(query.math)` or just `query.math`
    pub obligation: String,
    #[command(flatten)]
    pub catalog: CatalogArgs,
    /// A kind of data that is available; repeatable
    #[arg(long, value_name = "KIND")]
    pub have: Vec<String>,
    #[command(flatten)]
    pub history: HistoryArgs,
    #[command(flatten)]
    pub policy: PolicyArgs,
}

#[derive(Serialize)]
struct CandidatesAnswer<'a> {
    obligation: &'a str,
    #[serde(flatten)]
    found: &'a Candidacies,
}

pub fn run(args: &CandidatesArgs, global: &Global) -> anyhow::Result<ExitCode> {
    #[cfg(feature = "mcp")]
    toolroute_conduct::check_type(&args.obligation).map_err(super::exit::bad_arguments)?;
    let config = EngineConfig {
        strategy: Strategy::Keyword,
        policy: args.policy.policy(),
        ..EngineConfig::default()
    };
    let engine = Engine::builder(setup::catalog(&args.catalog, global)?).config(config).build()?;
    setup::expect_tools(&engine, &args.catalog)?;
    feedback::observe(&engine, &args.history, global)?;
    let found = engine.candidates_for(&args.obligation, &args.have);
    if global.json {
        render::json(&CandidatesAnswer { obligation: &args.obligation, found: &found })?;
    } else {
        show(&found)?;
        if found.is_empty() {
            warn_narrower(&args.obligation, &engine, global);
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// If a type of obligation was given without a kind, lists the existing kinds.
fn warn_narrower(asked: &str, engine: &Engine, global: &Global) {
    let catalog = engine.catalog();
    let declared = catalog.tools().iter().flat_map(|tool| &tool.satisfies);
    let narrower: BTreeSet<&str> =
        declared.map(String::as_str).filter(|declared| covers(asked, declared)).collect();
    if !narrower.is_empty() {
        let known: Vec<&str> = narrower.into_iter().collect();
        let said = format!("tools satisfy it for one kind alone; name one of {}", known.join(", "));
        render::warn(global, &render::plain(&said));
    }
}

fn show(found: &Candidacies) -> anyhow::Result<()> {
    if found.chosen.is_none() {
        render::line(match found.unsatisfied.is_empty() {
            true => "no tool satisfies this obligation",
            false => "no tool has all that it consumes",
        })?;
    }
    let rows = found.chosen.iter().chain(&found.alternatives).chain(&found.unsatisfied);
    let mut table = render::table(&["tool", "reliability", "cost", "latency ms", "missing"], &[3]);
    for Candidacy { id, missing, reliability, cost, latency_ms, .. } in rows {
        table.add_row([
            render::plain(id.as_str()),
            reliability.to_string(),
            cost.to_string(),
            latency_ms.to_string(),
            render::plain(&missing.join(", ")),
        ]);
    }
    if !table.is_empty() {
        render::print(table)?;
    }
    for (id, because) in &found.excluded {
        render::line(&render::plain(&format!("{id} is left out: {because}")))?;
    }
    Ok(())
}
