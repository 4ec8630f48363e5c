//! From parsed arguments to an engine.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread::ScopedJoinHandle;

use super::args::{CatalogArgs, EngineArgs, Global, SelectArgs};
use super::exit::{self, Failure};
use super::limit::Limit;
use super::progress::Progress;
use super::{args, models, paths, render};
use toolroute_catalog::{Catalog, LoadOptions, LoadedCatalog, Problem};
use toolroute_eval::RowFile;
use toolroute_rank::engine::{
    CacheSettings, DEFAULT_LIMIT, Engine, EngineBuilder, EngineConfig, Fusion, HeldTool, NEAR_BEST,
    POLICY_BAND, Policy, Signal, SnapshotState, Strategy,
};
use toolroute_rank::feedback::{StoreOptions, UsageVectors};
use toolroute_vectors::embedding::Embedder;

/// Stands for stdin or stdout where a file is expected.
pub const STREAM: &str = "-";

/// No answer is kept: a command asks once.
const NO_ANSWERS: CacheSettings = CacheSettings { ttl_ms: 0, entries: 0 };

/// Problems shown before the rest is only counted.
const SHOWN_PROBLEMS: usize = 10;

/// Loads a catalog and tells its problems on stderr.
pub fn catalog(args: &CatalogArgs, global: &Global) -> anyhow::Result<Catalog> {
    Ok(catalog_and_held(args, global)?.0)
}

/// [`catalog`], and the tools of it that are held back.
fn catalog_and_held(
    args: &CatalogArgs,
    global: &Global,
) -> anyhow::Result<(Catalog, Vec<HeldTool>)> {
    let (LoadedCatalog { catalog, problems, .. }, held) = loaded(args, args.strict)?;
    tell_problems(&problems, global);
    tell_empty(args, &catalog, global);
    Ok((catalog, held))
}

/// Reports the problems of a catalog on stderr.
pub fn tell_problems(problems: &[Problem], global: &Global) {
    for problem in problems.iter().take(SHOWN_PROBLEMS) {
        render::warn(global, &render::plain(&problem.to_string()));
    }
    if problems.len() > SHOWN_PROBLEMS {
        let more = problems.len() - SHOWN_PROBLEMS;
        let said = format!("and {more} more; `toolroute tools validate` lists them all");
        render::warn(global, &said);
    }
}

/// Warns where the sources of a catalog have no tool at all.
pub fn tell_empty(args: &CatalogArgs, catalog: &Catalog, global: &Global) {
    if catalog.is_empty() {
        let places = args
            .tools
            .iter()
            .map(PathBuf::as_path)
            .chain(args.live.servers().map(PathBuf::as_path));
        let places: Vec<String> = places.map(|path| path.display().to_string()).collect();
        render::warn(global, &format!("warning: no usable tool in {}", places.join(", ")));
    }
}

/// Whether any source of tools is named.
pub fn names_sources(args: &CatalogArgs) -> bool {
    !args.tools.is_empty() || args.live.servers().is_some()
}

/// # Errors
/// Where none is.
pub fn expect_sources(args: &CatalogArgs) -> anyhow::Result<()> {
    if !names_sources(args) {
        let said = "no catalog is named; expected --tools PATH or the variable TOOLROUTE_TOOLS";
        return Err(Failure { code: exit::BAD_ARGUMENTS, said: said.to_owned() }.into());
    }
    Ok(())
}

pub fn catalog_with_problems(
    args: &CatalogArgs,
    strict: bool,
) -> anyhow::Result<(Catalog, Vec<Problem>)> {
    let (LoadedCatalog { catalog, problems, .. }, _) = loaded(args, strict)?;
    Ok((catalog, problems))
}

fn loaded(args: &CatalogArgs, strict: bool) -> anyhow::Result<(LoadedCatalog, Vec<HeldTool>)> {
    expect_sources(args)?;
    let author_signals = args.author_signals;
    let options = LoadOptions { strict, overlays: args.overlay.clone(), author_signals };
    #[cfg(feature = "mcp")]
    let loaded = {
        let listed = super::servers::catalogs(&args.live)?;
        let paths = [args.tools.clone(), listed.files].concat();
        Catalog::load_with(&paths, listed.unkept, &options)?
    };
    #[cfg(not(feature = "mcp"))]
    let loaded = Catalog::load(&args.tools, &options)?;
    #[cfg(feature = "mcp")]
    let (loaded, held) = {
        let mut loaded = loaded;
        let (catalog, held) = super::pins::screened(loaded.catalog, &args.live)?;
        loaded.catalog = super::servers::offered(catalog, &args.live)?;
        (loaded, held)
    };
    #[cfg(not(feature = "mcp"))]
    let held = Vec::new();
    Ok((loaded, held))
}

/// A file of prompts, or stdin.
pub fn rows(path: &Path) -> anyhow::Result<RowFile> {
    Ok(if path == Path::new(STREAM) {
        RowFile::read_from("stdin", std::io::stdin().lock())?
    } else {
        RowFile::read(path)?
    })
}

/// What a command needs of its engine.
pub struct Wanted {
    pub strategy: Strategy,
    pub fusion: Fusion,
    pub clauses: bool,
    pub complete: bool,
    pub min_confidence: f32,
    /// The weights of `--signal`, in the order in which they were typed.
    pub signals: Vec<(Option<Signal>, f32)>,
    pub policy: Policy,
    pub policy_band: f32,
    /// Whether answers may be kept as the configuration says; false where selections are timed.
    pub keep_answers: bool,
    /// Whether the program answers many prompts.
    pub lives_long: bool,
    pub limit: Limit,
    /// What was learned from past prompts.
    pub usage: Option<PathBuf>,
    /// The log of executions to learn from and to write to.
    pub feedback: Option<PathBuf>,
    /// A loaded model, to use instead of the one that the arguments name.
    pub embedder: Option<Arc<dyn Embedder>>,
    /// A catalog to use instead of the one that the arguments name; its vectors are not kept.
    pub catalog: Option<Catalog>,
}

impl Wanted {
    /// Nothing but the tools' vectors.
    pub fn vectors() -> Self {
        Self {
            strategy: Strategy::Hybrid,
            fusion: Fusion::default(),
            clauses: true,
            complete: true,
            min_confidence: 0.0,
            signals: Vec::new(),
            policy: Policy::default(),
            policy_band: POLICY_BAND,
            keep_answers: false,
            lives_long: false,
            limit: Limit::of(DEFAULT_LIMIT),
            usage: None,
            feedback: None,
            embedder: None,
            catalog: None,
        }
    }

    /// # Errors
    /// Where what was typed contradicts itself.
    pub fn new(select: &SelectArgs, limit: Limit) -> anyhow::Result<Self> {
        let policy = select.policy.policy();
        let (strategy, fusion) = (select.strategy, select.fusion()?);
        Ok(Self {
            strategy,
            fusion,
            clauses: !select.whole,
            complete: select.complete,
            min_confidence: select.min_confidence,
            signals: select.signal.clone(),
            policy,
            policy_band: select.policy_band,
            keep_answers: true,
            lives_long: false,
            limit,
            usage: select.usage.usage.clone(),
            feedback: None,
            embedder: None,
            catalog: None,
        })
    }
}

/// [`build`], with a warning where the vectors could not be kept.
pub fn engine(
    catalog_args: &CatalogArgs,
    args: &EngineArgs,
    wanted: Wanted,
    global: &Global,
) -> anyhow::Result<Engine> {
    let engine = build(catalog_args, args, wanted, global)?;
    if let SnapshotState::NotSaved { because } = &engine.index_report().snapshot {
        render::warn(global, &format!("warning: the vectors are not kept: {because}"));
    }
    tell_scanned(&engine, global);
    Ok(engine)
}

/// Warns where `--search hnsw` was asked for and all rows are scanned instead.
pub fn tell_scanned(engine: &Engine, global: &Global) {
    if let Some(because) = &engine.index_report().scanned {
        render::warn(global, &format!("warning: --search hnsw scans all tools here: {because}"));
    }
}

/// Builds the engine for a command. With strategy `auto` a model that is not on disk costs only
/// the semantic part, and the user is told; where one is asked for it is an error.
pub fn build(
    catalog_args: &CatalogArgs,
    args: &EngineArgs,
    wanted: Wanted,
    global: &Global,
) -> anyhow::Result<Engine> {
    let mut wanted = wanted;
    guard(&mut wanted, catalog_args);
    let given = wanted.catalog.take();
    let is_given = given.is_some();
    // The model loads while the tools are read.
    let (catalog, model) = std::thread::scope(|scope| {
        let loading = scope.spawn(|| match wanted.embedder.clone() {
            None => models::embedder(args, wanted.strategy, global),
            loaded => Ok(loaded),
        });
        let ours = || catalog_and_held(catalog_args, global);
        (given.map_or_else(ours, |given| Ok((given, Vec::new()))), joined(loading))
    });
    let (catalog, held) = catalog?;
    let config = config(args, &wanted, global);
    let mut builder = Engine::builder(catalog).config(config);
    if let Some(path) = wanted.feedback {
        builder = builder.feedback(path, StoreOptions::default());
    }
    if let Some(embedder) = model? {
        builder = builder.embedder(embedder);
        if !is_given {
            builder = snapshot(builder, catalog_args, args);
        }
        let progress = Progress::new("embedding", "tools", global.quiet);
        builder = builder.on_progress(move |done, total| progress.tell(done, total));
        if let Some(path) = &wanted.usage {
            builder = builder.usage(UsageVectors::load(path)?);
        }
    }
    let engine = builder.build()?;
    engine.hold_back(held);
    if let Some(0) = engine.index_report().usage.map(|report| report.applied) {
        let said = "warning: nothing was learned of any tool of this catalog; `toolroute learn` with the same --tools does";
        render::warn(global, said);
    }
    Ok(engine)
}

/// Keeps tools of other servers out that score far below the best one, unless `--near-best` says otherwise. Anybody
/// may write what a server lists.
pub fn guard(wanted: &mut Wanted, catalog: &CatalogArgs) {
    if catalog.live.servers().is_some() {
        wanted.policy.near_best.get_or_insert(NEAR_BEST);
    }
}

/// The engine's configuration for a command.
pub fn config(args: &EngineArgs, wanted: &Wanted, global: &Global) -> EngineConfig {
    let mut config = EngineConfig {
        strategy: wanted.strategy,
        fusion: wanted.fusion,
        clauses: wanted.clauses,
        complete: wanted.complete,
        min_confidence: wanted.min_confidence,
        limit: wanted.limit.most,
        adaptive: wanted.limit.adaptive,
        policy: wanted.policy,
        policy_band: wanted.policy_band,
        index: args.search,
        ..EngineConfig::default()
    };
    if !wanted.lives_long {
        // A command asks once, and `bench` times the model.
        (config.query_cache, config.cache) = (0, NO_ANSWERS);
    }
    global.settings.apply(&mut config);
    if !wanted.keep_answers {
        config.cache = NO_ANSWERS;
    }
    config.signals = args::weights(config.signals, &wanted.signals);
    config
}

/// Has the engine keep the vectors of a catalog, unless `--no-save` says otherwise.
pub fn snapshot(
    builder: EngineBuilder,
    catalog_args: &CatalogArgs,
    args: &EngineArgs,
) -> EngineBuilder {
    match (&args.index, snapshot_path(catalog_args, args)) {
        (_, None) => builder,
        (Some(_), Some(path)) => builder.snapshot(path),
        (None, Some(path)) => builder.cache(path),
    }
}

/// The file for the vectors of a catalog; `None` where they are not kept.
pub fn snapshot_path(catalog: &CatalogArgs, args: &EngineArgs) -> Option<PathBuf> {
    match (&args.index, args.no_save) {
        (_, true) => None,
        (Some(path), false) => Some(path.clone()),
        (None, false) => default_snapshot(catalog, args),
    }
}

fn default_snapshot(catalog: &CatalogArgs, args: &EngineArgs) -> Option<PathBuf> {
    let sources = catalog.tools.iter().chain(catalog.live.servers());
    let sources: Vec<PathBuf> = sources.cloned().collect();
    paths::default_snapshot(&sources, &models::key(args))
}

/// The result of a thread; its panic becomes a panic of the caller.
pub fn joined<T>(thread: ScopedJoinHandle<'_, T>) -> T {
    thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}
