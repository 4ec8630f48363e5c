//! Builds an engine from parsed arguments.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread::ScopedJoinHandle;

use super::args::{CatalogArgs, EngineArgs, Global, SelectArgs};
use super::exit;
use super::limit::Limit;
use super::progress::Progress;
use super::settings::keys;
use super::{args, models, paths, render};
use toolroute_catalog::{Catalog, LoadOptions, LoadedCatalog, Problem};
use toolroute_eval::RowFile;
use toolroute_rank::engine::{
    CacheSettings, Engine, EngineConfig, Fusion, HeldTool, NEAR_BEST, Signal, SnapshotState,
    Strategy,
};
use toolroute_rank::feedback::{StoreOptions, UsageVectors};
use toolroute_vectors::embedding::Embedder;

/// The file name that means stdin or stdout.
pub const STREAM: &str = "-";

/// Returns an error if a catalog has no tool, for commands that have nothing to do without one.
pub fn expect_tools(engine: &Engine, args: &CatalogArgs) -> anyhow::Result<()> {
    match engine.catalog().is_empty() {
        true => Err(exit::bad_data(format!(
            "there is no usable tool in {}; expected at least one: name other --tools or --servers",
            places(args)
        ))),
        false => Ok(()),
    }
}

/// Disables the answer cache, because a command asks only once.
const NO_ANSWERS: CacheSettings = CacheSettings { ttl_ms: 0, entries: 0 };

/// Maximum number of problems to print; the rest is counted.
const SHOWN_PROBLEMS: usize = 10;

/// Loads a catalog and prints its problems on stderr.
pub fn catalog(args: &CatalogArgs, global: &Global) -> anyhow::Result<Catalog> {
    Ok(catalog_and_held(args, global)?.0)
}

/// Loads a catalog as [`catalog`] does, and returns the tools that pins hold back beside it.
pub fn catalog_and_held(
    args: &CatalogArgs,
    global: &Global,
) -> anyhow::Result<(Catalog, Vec<HeldTool>)> {
    let (LoadedCatalog { catalog, problems, .. }, held) = loaded(args, args.strict, global)?;
    expect_sound_overlays(args, &problems)?;
    warn_problems(&problems, global);
    warn_empty(args, &catalog, global);
    Ok((catalog, held))
}

/// Returns an error if an overlay has one: what its author forbade would be allowed.
pub fn expect_sound_overlays(args: &CatalogArgs, problems: &[Problem]) -> anyhow::Result<()> {
    let is_of_overlay = |problem: &&Problem| {
        problem.is_error() && problem.file.as_ref().is_some_and(|file| args.overlay.contains(file))
    };
    let faults = problems.iter().filter(is_of_overlay).map(Problem::to_string);
    let faults: Vec<String> = faults.take(SHOWN_PROBLEMS).collect();
    match faults.is_empty() {
        true => Ok(()),
        false => Err(exit::bad_data(format!("the overlay cannot be used: {}", faults.join("; ")))),
    }
}

/// Prints the problems of a catalog on stderr.
pub fn warn_problems(problems: &[Problem], global: &Global) {
    let said = problems.iter().map(|problem| render::plain(&problem.to_string()));
    render::warn_first(global, SHOWN_PROBLEMS, said, "; `toolroute tools validate` lists them all");
}

/// Warns if the sources of a catalog contain no tool.
pub fn warn_empty(args: &CatalogArgs, catalog: &Catalog, global: &Global) {
    if catalog.is_empty() {
        render::warn(global, &format!("warning: no usable tool in {}", places(args)));
    }
}

/// The sources of a catalog, for messages.
pub fn places(args: &CatalogArgs) -> String {
    let places: Vec<String> = sources(args).map(|path| path.display().to_string()).collect();
    places.join(", ")
}

fn sources(args: &CatalogArgs) -> impl Iterator<Item = &PathBuf> {
    args.tools.iter().chain(args.live.servers())
}

/// Whether the arguments name any source of tools.
pub fn names_sources(args: &CatalogArgs) -> bool {
    !args.tools.is_empty() || args.live.servers().is_some()
}

pub fn expect_sources(args: &CatalogArgs) -> anyhow::Result<()> {
    if !names_sources(args) {
        return Err(exit::bad_arguments(format!(
            "no catalog is named; expected --tools PATH or --servers FILE, or the variable \
             TOOLROUTE_TOOLS or TOOLROUTE_SERVERS; {}",
            imported()
        )));
    }
    Ok(())
}

/// How the servers of other programs are had.
fn imported() -> String {
    #[cfg(feature = "mcp")]
    if let Ok(path) = super::paths::servers()
        && path.is_file()
    {
        let path = path.to_string_lossy();
        let path = toolroute_run::pins::shell_word(&path);
        return format!("`--servers {path}` names the servers that were imported");
    }
    "`toolroute import` writes a servers file from your other programs".to_owned()
}

pub fn loaded(
    args: &CatalogArgs,
    strict: bool,
    #[cfg_attr(not(feature = "mcp"), expect(unused_variables))] global: &Global,
) -> anyhow::Result<(LoadedCatalog, Vec<HeldTool>)> {
    expect_sources(args)?;
    let author_signals = args.author_signals;
    let options = LoadOptions { strict, overlays: args.overlay.clone(), author_signals };
    #[cfg(feature = "mcp")]
    let loaded = {
        let listed = super::servers::catalogs(&args.live)?;
        super::secrets::keep(args.tools.iter().filter_map(|path| path.to_str()));
        let paths = [args.tools.clone(), listed.files].concat();
        Catalog::load_with(&paths, listed.unkept, &options)?
    };
    #[cfg(not(feature = "mcp"))]
    let loaded = Catalog::load(&args.tools, &options)?;
    #[cfg(feature = "mcp")]
    let (loaded, held) = {
        let mut loaded = loaded;
        super::secrets::keep_ids(loaded.catalog.iter());
        let (catalog, held) = super::pins::screened(loaded.catalog, &args.live, global)?;
        loaded.catalog = super::servers::offered(catalog, &args.live)?;
        (loaded, held)
    };
    #[cfg(not(feature = "mcp"))]
    let held = Vec::new();
    Ok((loaded, held))
}

/// Opens a file of prompts, or stdin.
pub fn rows(path: &Path) -> anyhow::Result<RowFile> {
    Ok(if path == Path::new(STREAM) {
        RowFile::read_from("stdin", std::io::stdin().lock())?
    } else {
        RowFile::read(path)?
    })
}

/// What a command needs from its engine.
#[derive(Default)]
pub struct EngineRequirements {
    /// The settings that arguments of the command say. [`config`] adds all others.
    pub config: EngineConfig,
    /// The weights of `--signal`, in the typed order.
    pub signals: Vec<(Option<Signal>, f32)>,
    /// Whether answers may be cached as configured; false if selections are timed.
    pub keep_answers: bool,
    /// Whether the program answers many prompts.
    pub lives_long: bool,
    /// The file that `toolroute learn` wrote.
    pub usage: Option<PathBuf>,
    /// The log of executions, which is read and written.
    pub feedback: Option<PathBuf>,
    /// A loaded model that replaces the one that the arguments name.
    pub embedder: Option<Arc<dyn Embedder>>,
    /// A catalog that replaces the one that the arguments name. Its vectors are not saved.
    pub catalog: Option<Catalog>,
}

impl EngineRequirements {
    /// Only the vectors of the tools are needed.
    pub fn vectors() -> Self {
        let config = EngineConfig {
            strategy: Strategy::Hybrid,
            min_confidence: 0.0,
            ..EngineConfig::default()
        };
        Self { config, ..Self::default() }
    }

    pub fn new(select: &SelectArgs, limit: Limit) -> anyhow::Result<Self> {
        let config = EngineConfig {
            strategy: select.strategy,
            fusion: select.fusion()?,
            clauses: !select.whole,
            complete: select.complete,
            min_confidence: select.min_confidence,
            limit: limit.most,
            adaptive: limit.adaptive,
            policy: select.policy.policy(),
            policy_band: select.policy_band,
            ..EngineConfig::default()
        };
        let (signals, usage) = (select.signal.clone(), select.usage.usage.clone());
        Ok(Self { config, signals, keep_answers: true, usage, ..Self::default() })
    }
}

/// The same as [`build`], with a warning if the vectors could not be saved.
pub fn engine(
    catalog_args: &CatalogArgs,
    args: &EngineArgs,
    wanted: EngineRequirements,
    global: &Global,
) -> anyhow::Result<Engine> {
    let engine = build(catalog_args, args, wanted, global)?;
    if let SnapshotState::NotSaved { because } = &engine.index_report().snapshot {
        render::warn(global, &format!("warning: the vectors are not kept: {because}"));
    }
    warn_scanned(&engine, global);
    Ok(engine)
}

/// Warns if `--search hnsw` was given but all rows are scanned.
pub fn warn_scanned(engine: &Engine, global: &Global) {
    if let Some(because) = &engine.index_report().scanned {
        render::warn(global, &format!("warning: --search hnsw scans all tools here: {because}"));
    }
}

/// Warns if `--min-confidence` was typed beside a strategy or a blend that has no confidence.
fn warn_without_confidence(wanted: &EngineConfig, global: &Global) {
    if !global.settings.is_typed(&keys::MIN_CONFIDENCE) {
        return;
    }
    let without = match (wanted.strategy, wanted.fusion) {
        (strategy @ (Strategy::Keyword | Strategy::Semantic), _) => {
            format!("--strategy {strategy}")
        }
        (_, Fusion::Plain) => "--blend plain".to_owned(),
        _ => return,
    };
    let said = format!(
        "warning: --min-confidence changes nothing with {without}, which has no confidence; the \
         strategy hybrid has one"
    );
    render::warn(global, &said);
}

/// Builds the engine for a command. With strategy `auto`, a missing model disables semantic search
/// with a warning; with an explicit semantic strategy it is an error.
pub fn build(
    catalog_args: &CatalogArgs,
    args: &EngineArgs,
    wanted: EngineRequirements,
    global: &Global,
) -> anyhow::Result<Engine> {
    let mut wanted = wanted;
    guard(&mut wanted, catalog_args);
    let given = wanted.catalog.take();
    let is_given = given.is_some();
    // The model is loaded while the tools are read.
    let (catalog, model) = std::thread::scope(|scope| {
        let loading = scope.spawn(|| match wanted.embedder.clone() {
            None => models::embedder(args, wanted.config.strategy, models::load, global),
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
        if !is_given && let Some(path) = snapshot_path(catalog_args, args) {
            let is_named = args.index.is_some();
            builder = if is_named { builder.snapshot(path) } else { builder.cache(path) };
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

/// Excludes tools of other servers that score far below the best tool, unless `--near-best` says
/// otherwise: anyone may write what a server lists.
pub fn guard(wanted: &mut EngineRequirements, catalog: &CatalogArgs) {
    if catalog.live.servers().is_some() {
        wanted.config.policy.near_best.get_or_insert(NEAR_BEST);
    }
}

/// Creates the engine's configuration for a command.
pub fn config(args: &EngineArgs, wanted: &EngineRequirements, global: &Global) -> EngineConfig {
    warn_without_confidence(&wanted.config, global);
    let mut config = EngineConfig { index: args.search, ..wanted.config.clone() };
    if !wanted.lives_long {
        // A command asks only once, and `bench` measures the model.
        (config.query_cache, config.cache) = (0, NO_ANSWERS);
    }
    global.settings.apply(&mut config);
    if !wanted.keep_answers {
        config.cache = NO_ANSWERS;
    }
    config.signals = args::weights(config.signals, &wanted.signals);
    config
}

/// The file for the vectors of a catalog; `None` if they are not saved.
pub fn snapshot_path(catalog: &CatalogArgs, args: &EngineArgs) -> Option<PathBuf> {
    if args.no_save || args.index.is_some() {
        return args.index.clone().filter(|_| !args.no_save);
    }
    let sources: Vec<PathBuf> = sources(catalog).cloned().collect();
    paths::default_snapshot(&sources, &models::key(args))
}

/// Joins a thread and propagates its panic.
pub fn joined<T>(thread: ScopedJoinHandle<'_, T>) -> T {
    thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}
