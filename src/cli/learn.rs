//! `toolroute learn`: learns from past prompts how people ask for tools.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use serde::Serialize;

use super::args::{CatalogArgs, EngineArgs, Global};
use super::exit;
use super::progress::Progress;
use super::settings::{Settings, keys};
use super::setup::{self, EngineRequirements};
use super::{paths, render};
use toolroute_eval::BadRow;
use toolroute_rank::engine::{Engine, LearnReport};
use toolroute_rank::feedback::{self, UsageVectors};

#[derive(Args)]
pub struct LearnArgs {
    #[command(flatten)]
    pub catalog: CatalogArgs,
    #[command(flatten)]
    pub engine: EngineArgs,
    /// Past prompts, rows {"query","tools":[ids]} or {"query","gold":[ids]}; `-` is stdin
    #[arg(value_name = "PAST.jsonl")]
    pub past: Vec<PathBuf>,
    /// Learn from the log of executions as well. The log is complete, so the contents of the output
    /// file are replaced [default: toolroute/feedback.db in the user's data folder, or
    /// TOOLROUTE_FEEDBACK]
    #[arg(long, value_name = "FILE", num_args = 0..=1, conflicts_with = "forget")]
    pub log: Option<Option<PathBuf>>,
    /// The file for the result; existing contents are added to [env: TOOLROUTE_USAGE]
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Remove everything that was learned about this tool; repeatable
    #[arg(long, value_name = "ID")]
    pub forget: Vec<String>,
    /// Discard what the file holds, and learn anew
    #[arg(long, conflicts_with = "forget")]
    pub fresh: bool,
}

impl LearnArgs {
    /// Takes the files that variables name, but not those of a configuration: a file's `usage` is
    /// the one to rank with, not necessarily the one to change.
    pub fn complete(&mut self, settings: &Settings) {
        self.output = self.output.take().or_else(|| settings.variable_path(&keys::USAGE));
        if let Some(log) = &mut self.log {
            *log = log.take().or_else(|| settings.variable_path(&keys::FEEDBACK));
        }
    }
}

#[derive(Serialize)]
struct LearningReport {
    #[serde(flatten)]
    learned: LearnReport,
    /// Tools whose history was removed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    forgotten: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    bad: Vec<BadRow>,
    /// Number of tools with history in the file now.
    tools_in_file: usize,
    /// How strongly history is used, 0 to 1.
    strength: f32,
    handicap: f32,
    /// The best scores by meaning that past prompts have if they are held out.
    #[serde(skip_serializing_if = "Option::is_none")]
    served: Option<feedback::ServedScores>,
    output: PathBuf,
}

pub fn run(args: &LearnArgs, global: &Global) -> anyhow::Result<ExitCode> {
    let output = output(args)?;
    // Checked before the model is loaded, so that mistakes are reported at once.
    let (mut past, mut bad) = (Vec::new(), Vec::new());
    for path in &args.past {
        let (rows, none) = setup::rows(path)?.past()?;
        past.extend(rows);
        bad.extend(none);
    }
    let log = match &args.log {
        None => None,
        Some(named) => Some(super::feedback::open(&paths::feedback(named.as_deref())?, "--log")?),
    };
    // The log is complete each time; adding it to an earlier result would count it twice.
    let before = existing(output, args.fresh || log.is_some())?;
    if before.is_none() && args.past.is_empty() && log.is_none() && !args.fresh {
        return Err(feedback::Error::Missing { path: output.to_owned() }.into());
    }
    let engine = setup::engine(&args.catalog, &args.engine, EngineRequirements::vectors(), global)?;
    setup::expect_tools(&engine, &args.catalog)?;
    let mut usage = match before {
        Some(before) => before,
        None => engine.empty_usage()?,
    };
    let forgotten = forget(args, &engine, &mut usage, global);
    let progress = Progress::new("learning", "prompts", global.quiet);
    let tell = |done, total| progress.tell(done, total);
    let mut learned = engine.learn(&mut usage, &past, &tell)?;
    if let Some(log) = &log {
        learned = learned.and(engine.learn_log(&mut usage, log, &tell)?);
        learned.tools_learned = usage.len();
    }
    usage.save(output)?;
    let report = LearningReport {
        learned,
        forgotten,
        bad,
        tools_in_file: usage.len(),
        strength: usage.strength(),
        handicap: usage.handicap(),
        served: usage.served(),
        output: output.to_owned(),
    };
    show(&report, global)?;
    Ok(exit::bad_data_if(args.catalog.strict && !report.bad.is_empty()))
}

fn output(args: &LearnArgs) -> anyhow::Result<&Path> {
    let Some(output) = args.output.as_deref() else {
        let said = "no file is named for what is learned; expected --output FILE or the variable TOOLROUTE_USAGE";
        return Err(exit::bad_arguments(said));
    };
    if args.past.is_empty() && args.forget.is_empty() && args.log.is_none() {
        let said = "nothing to do; expected a file of past prompts, --log or --forget ID";
        return Err(exit::bad_arguments(said));
    }
    if output == Path::new(setup::STREAM) {
        return Err(exit::bad_arguments(
            "what is learned is kept in a file; expected its path, found `-`",
        ));
    }
    let folder = output.parent().filter(|folder| !folder.as_os_str().is_empty());
    if let Some(folder) = folder.filter(|folder| !folder.is_dir()) {
        return Err(exit::io(format!(
            "there is no folder {}; make it, or name another file",
            folder.display()
        )));
    }
    Ok(output)
}

/// Reads the existing output file. Other files are never overwritten, so that a typing error cannot
/// destroy a catalog or past prompts.
fn existing(path: &Path, fresh: bool) -> Result<Option<UsageVectors>, feedback::Error> {
    use feedback::Error::{Foreign, Io, Missing};
    match UsageVectors::load(path) {
        Ok(usage) => Ok((!fresh).then_some(usage)),
        Err(Missing { .. }) => Ok(None),
        Err(error @ (Foreign { .. } | Io { .. })) => Err(error),
        Err(_) if fresh => Ok(None),
        Err(error) => Err(error),
    }
}

/// Removes what was learned about the named tools, even if they are no longer in the catalog.
fn forget(
    args: &LearnArgs,
    engine: &Engine,
    usage: &mut UsageVectors,
    global: &Global,
) -> Vec<String> {
    let (mut forgotten, catalog) = (Vec::new(), engine.catalog());
    for named in &args.forget {
        let tool = catalog.get(named);
        let id = tool.map_or_else(|| named.as_str().into(), |tool| tool.id.clone());
        if usage.forget(&id) {
            forgotten.push(id.to_string());
        } else {
            let id = render::shortened(named, render::MAX_ID_CHARS);
            render::warn(global, &format!("warning: nothing was learned of {id}"));
        }
    }
    forgotten
}

fn show(report: &LearningReport, global: &Global) -> anyhow::Result<()> {
    if global.json {
        return render::json(report);
    }
    render::bad_rows(global, "line", &report.bad);
    let LearnReport { tools_learned, prompts_used, unknown_ids, .. } = &report.learned;
    render::unknown_ids(global, unknown_ids);
    for id in &report.forgotten {
        render::line(&format!("forgotten: {}", render::plain(id)))?;
    }
    let (all, output) = (report.tools_in_file, report.output.display());
    let learned = render::counted(*tools_learned, "tool");
    let (prompts, all) = (render::counted(*prompts_used, "prompt"), render::counted(all, "tool"));
    render::line(&format!("{learned} learned from {prompts}; {all} with history in {output}"))?;
    if report.strength < 1.0 {
        render::line(&format!(
            "history is followed by {:.0} %: past prompts that were held out of it are ranked best so",
            100.0 * report.strength
        ))?;
    }
    Ok(())
}
