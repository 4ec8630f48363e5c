//! `toolroute tools probe`: finds tools that are retrieved too often, imitate others, or steer
//! models.

use std::process::ExitCode;

use clap::Args;
use serde::Serialize;

use super::args::{CatalogArgs, EngineArgs, Global};
use super::limit::Limit;
use super::render;
use super::setup::{self, EngineRequirements};
use toolroute_catalog::{Suspicion, ToolId, clones, suspicions};
use toolroute_eval::{ProbeReport, probe};

#[derive(Args)]
pub struct ProbeArgs {
    #[command(flatten)]
    pub catalog: CatalogArgs,
    #[command(flatten)]
    pub engine: EngineArgs,
    /// Number of tools per answer
    #[arg(short, long, default_value_t = 5, value_name = "N", allow_negative_numbers = true, value_parser = per_answer)]
    pub limit: usize,
}

/// Parses a number of tools; of a configured `auto:N`, the N.
fn per_answer(text: &str) -> Result<usize, String> {
    let most = text.parse::<Limit>()?.most;
    if (1..=100).contains(&most) { Ok(most) } else { Err(format!("{most} is not in 1..=100")) }
}

#[derive(Serialize)]
struct ListReport {
    #[serde(flatten)]
    probed: ProbeReport,
    /// Tools that imitate a tool of another server.
    clones: Vec<Clone>,
    suspicious: Vec<Suspicious>,
}

#[derive(Serialize)]
struct Clone {
    id: ToolId,
    of: ToolId,
}

#[derive(Serialize)]
struct Suspicious {
    id: ToolId,
    #[serde(flatten)]
    found: Suspicion,
}

pub fn run(args: &ProbeArgs, global: &Global) -> anyhow::Result<ExitCode> {
    let engine = setup::engine(&args.catalog, &args.engine, EngineRequirements::vectors(), global)?;
    setup::expect_tools(&engine, &args.catalog)?;
    let catalog = engine.catalog();
    let tools = catalog.tools();
    let id = |row: u32| tools[row as usize].id.clone();
    let each = |tool: &std::sync::Arc<toolroute_catalog::Tool>| {
        let found = suspicions(tool).into_iter();
        found.map(|found| Suspicious { id: tool.id.clone(), found }).collect::<Vec<_>>()
    };
    let report = ListReport {
        probed: probe(&engine, args.limit)?,
        clones: clones(tools)
            .into_iter()
            .map(|(row, of)| Clone { id: id(row), of: id(of) })
            .collect(),
        suspicious: tools.iter().flat_map(each).collect(),
    };
    if global.json {
        render::json(&report)?
    } else {
        tell(&report, global)?
    }
    Ok(ExitCode::SUCCESS)
}

fn tell(report: &ListReport, global: &Global) -> anyhow::Result<()> {
    let mut table = render::table(&["tool", "what"], &[]);
    for hub in &report.probed.hubs {
        let said = format!("in the answers to {:.0} % of foreign prompts", hub.share * 100.0);
        table.add_row([render::plain(hub.id.as_str()), said]);
    }
    for Clone { id, of } in &report.clones {
        table.add_row([render::plain(id.as_str()), render::plain(&format!("passes for {of}"))]);
    }
    for Suspicious { id, found } in &report.suspicious {
        table.add_row([render::plain(id.as_str()), render::plain(&found.to_string())]);
    }
    if table.row_count() == 0 {
        render::line("nothing stands out")?;
    } else {
        render::print(table)?;
    }
    let ProbeReport { prompts, threshold, .. } = &report.probed;
    let said = match *threshold < 1.0 {
        true => {
            let share = threshold * 100.0;
            format!("{prompts} prompts; a hub is in more than {share:.1} % of the answers")
        }
        false => {
            format!("{prompts} prompts; among so few tools each is in most answers, and none a hub")
        }
    };
    render::warn(global, &said);
    Ok(())
}
