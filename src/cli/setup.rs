//! From parsed arguments to an engine.

use std::path::PathBuf;
use std::sync::Arc;

use anyhow::Context;

use super::args::{CatalogArgs, EngineArgs, Global, SelectArgs};
use super::paths;
use super::progress::Progress;
use crate::catalog::{Catalog, LoadOptions, Problem};
use crate::embedding::{self, BertEmbedder, ModelFiles};
use crate::engine::{Engine, EngineConfig, Fusion, Policy, SnapshotState, Strategy};

/// Problems shown before the rest is only counted.
const SHOWN_PROBLEMS: usize = 10;

/// Loads a catalog and tells its problems on stderr.
pub fn catalog(args: &CatalogArgs, global: &Global) -> anyhow::Result<Catalog> {
    let (catalog, problems) = catalog_with_problems(args)?;
    if !global.quiet {
        for problem in problems.iter().take(SHOWN_PROBLEMS) {
            eprintln!("{problem}");
        }
        if problems.len() > SHOWN_PROBLEMS {
            let more = problems.len() - SHOWN_PROBLEMS;
            eprintln!("and {more} more; `toolroute tools validate` lists them all");
        }
    }
    if catalog.is_empty() {
        let paths: Vec<String> = args.tools.iter().map(|path| path.display().to_string()).collect();
        eprintln!("warning: no usable tool in {}", paths.join(", "));
    }
    Ok(catalog)
}

pub fn catalog_with_problems(args: &CatalogArgs) -> anyhow::Result<(Catalog, Vec<Problem>)> {
    let options = LoadOptions { strict: args.strict, overlays: args.overlay.clone() };
    let loaded = Catalog::load(&args.tools, &options)?;
    Ok((loaded.catalog, loaded.problems))
}

/// What an engine is to do for a command.
pub struct Wanted {
    pub strategy: Strategy,
    pub fusion: Fusion,
    pub policy: Policy,
    pub limit: usize,
}

impl Wanted {
    pub fn new(select: &SelectArgs, limit: usize) -> Self {
        let policy = select.policy.policy();
        Self { strategy: select.strategy, fusion: select.fusion(), policy, limit }
    }
}

/// Builds the engine for a command. With strategy `auto` a model that is not on disk costs only
/// the semantic part, and the user is told; where one is asked for it is an error.
pub fn engine(
    catalog_args: &CatalogArgs,
    args: &EngineArgs,
    wanted: Wanted,
    global: &Global,
) -> anyhow::Result<Engine> {
    let catalog = catalog(catalog_args, global)?;
    let config = EngineConfig {
        strategy: wanted.strategy,
        fusion: wanted.fusion,
        limit: wanted.limit,
        policy: wanted.policy,
        index: args.search,
    };
    let mut builder = Engine::builder(catalog).config(config);
    if let Some(embedder) = embedder(args, wanted.strategy)? {
        builder = builder.embedder(Arc::new(embedder));
        if let Some(path) = snapshot_path(catalog_args, args)? {
            builder = builder.snapshot(path);
        }
        let progress = Progress::new("embedding", "tools", global.quiet);
        builder = builder.on_progress(move |done, total| progress.tell(done, total));
    }
    let engine = builder.build()?;
    if let (SnapshotState::NotSaved { because }, false) =
        (&engine.index_report().snapshot, global.quiet)
    {
        eprintln!("warning: the vectors are not kept: {because}");
    }
    Ok(engine)
}

fn embedder(args: &EngineArgs, strategy: Strategy) -> anyhow::Result<Option<BertEmbedder>> {
    if strategy == Strategy::Keyword {
        return Ok(None);
    }
    match model_files(args) {
        Ok(files) => Ok(Some(BertEmbedder::load(&files)?)),
        Err(error @ embedding::Error::ModelMissing { .. }) if strategy == Strategy::Auto => {
            eprintln!("warning: ranking by words alone: {error}");
            Ok(None)
        }
        Err(error) => Err(error.into()),
    }
}

/// A model by its name in the store, or by its folder.
fn model_files(args: &EngineArgs) -> Result<ModelFiles, embedding::Error> {
    let is_path = args.model.contains(['/', '\\']) || args.model == ".";
    if is_path {
        return ModelFiles::from_dir(&args.model);
    }
    match paths::model_store(args.models.as_deref()) {
        Ok(store) => store.open(&args.model),
        Err(_) => Err(embedding::Error::ModelMissing {
            name: args.model.clone(),
            path: PathBuf::from("toolroute/models"),
            command: format!("toolroute model pull {} --models DIR", args.model),
        }),
    }
}

fn snapshot_path(catalog: &CatalogArgs, args: &EngineArgs) -> anyhow::Result<Option<PathBuf>> {
    let path = match (&args.index, args.no_save) {
        (_, true) => None,
        (Some(path), _) => Some(path.clone()),
        (None, _) => paths::default_snapshot(&catalog.tools, &args.model),
    };
    if let Some(folder) = path.as_deref().and_then(std::path::Path::parent) {
        let create =
            || format!("cannot create {}; choose another place with --index", folder.display());
        std::fs::create_dir_all(folder).with_context(create)?;
    }
    Ok(path)
}
