//! Checks the model and the stored vectors.

use super::check::{DoctorArgs, Finding};
use crate::cli::args::{CatalogArgs, Global, LiveArgs};
use crate::cli::models;
use crate::cli::setup::{self, EngineRequirements};
use toolroute_rank::engine::SnapshotState;
use toolroute_vectors::embedding::{ModelFiles, Role};

const MODEL: &str = "model";
const SNAPSHOT: &str = "vectors";

/// Verifies the model's files, and checks that it embeds similar sentences closer than others.
pub fn check(args: &DoctorArgs) -> Vec<Finding> {
    let cure = "`toolroute model list` has those that are here, `toolroute model pull` fetches one";
    match models::files(&args.engine.choice, args.engine.precision) {
        Err(error) => vec![Finding::error(MODEL, error.to_string(), cure)],
        Ok(files) => vec![works(&files, args).unwrap_or_else(|error| {
            let cure =
                "`toolroute model pull --force` fetches it anew; the built-in one needs nothing";
            Finding::error(MODEL, error.to_string(), cure)
        })],
    }
}

fn works(files: &ModelFiles, args: &DoctorArgs) -> anyhow::Result<Finding> {
    let embedder = models::load(&args.engine.choice, args.engine.precision)?;
    let near = embedder.embed(&["a file is read", "it reads a file", "tomatoes"], Role::Query)?;
    let row = |at: usize| near.vectors.row(at);
    let (alike, other) = (row(0).dot(&row(1)), row(0).dot(&row(2)));
    let name = files.name();
    if alike.is_finite() && alike > other {
        let place = files.dir().map_or("built in".to_owned(), |dir| dir.display().to_string());
        return Ok(Finding::ok(MODEL, format!("{name}, {place}: loads and embeds")));
    }
    let found =
        format!("{name} finds unlike sentences nearer ({other:.2}) than like ones ({alike:.2})");
    Ok(Finding::warning(MODEL, found, "use another model; the built-in one is the default"))
}

/// Checks the stored vectors of the files of tools, if any are named. Starts no server.
pub fn snapshot(args: &DoctorArgs, global: &Global) -> Vec<Finding> {
    if args.catalog.tools.is_empty() {
        return vec![Finding::ok(SNAPSHOT, "no catalog is named (--tools); nothing to check")];
    }
    let files = CatalogArgs { live: LiveArgs::default(), ..args.catalog.clone() };
    let engine = match setup::build(&files, &args.engine, EngineRequirements::vectors(), global) {
        Ok(engine) => engine,
        Err(error) => {
            let cure = "`toolroute tools validate` says what is wrong with a catalog";
            return vec![Finding::error(SNAPSHOT, format!("{error:#}"), cure)];
        }
    };
    let tools = engine.catalog().len();
    vec![match &engine.index_report().snapshot {
        SnapshotState::Fresh => Finding::ok(SNAPSHOT, format!("{tools} tools, all kept")),
        SnapshotState::Unused => Finding::ok(SNAPSHOT, format!("{tools} tools, none kept")),
        SnapshotState::Rebuilt { because } => {
            let found = format!("{tools} tools; they were made anew: {because}");
            Finding::warning(SNAPSHOT, found, "nothing is to be done unless it comes again")
        }
        SnapshotState::NotSaved { because } => {
            let cure = "name a file that can be written with --index, or use --no-save";
            Finding::warning(SNAPSHOT, format!("they are not kept: {because}"), cure)
        }
        _ => Finding::ok(SNAPSHOT, format!("{tools} tools, kept from now on")),
    }]
}
