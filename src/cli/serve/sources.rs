//! The files of `serve` and `mcp`, which are read into an assembly at the start and at each reload.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use super::super::args::{CatalogArgs, EngineArgs, Global, LimitArgs, ServeArgs};
use super::super::command::{Cli, Command};
use super::super::exit;
use super::super::setup::{self, EngineRequirements};
use super::super::tool_lists::Lists;
use super::super::{call, file_changes, models, render, secrets, servers};
use toolroute_catalog::{Catalog, LoadOptions, Problem};
use toolroute_run::execution::ServersFile;
use toolroute_serve::{Assembly, Service, Sources, Upstreams, VectorFile};
use toolroute_vectors::embedding::Embedder;

/// Printed when the server starts without a catalog.
const NO_CATALOG: &str = "no catalog: what comes with a request is ranked (/v1/select with `tools`, /v1/tools/filter, \
                          /v1/embeddings, /v1/rerank); --tools PATH or --servers FILE gives a catalog";

/// Reads the files of a command into an assembly.
type Assemble = fn(&Command, Option<&LastRead>, &Global) -> anyhow::Result<(Assembly, LastRead)>;

/// The files, and the state that avoids reading unchanged ones again.
pub struct SourceFiles {
    /// The options as typed.
    typed: Vec<OsString>,
    assemble: Assemble,
    loaded: Mutex<LastRead>,
    /// The files that `--watch` watches.
    watched: Option<file_changes::Sources>,
    /// The global options of the latest reload.
    global: Mutex<Option<Global>>,
}

/// The state of the previous load, with which a reload compares the files.
#[derive(Clone)]
pub struct LastRead {
    /// Files in folders that could not be parsed.
    broken: BTreeSet<PathBuf>,
    /// The model and its precision.
    model_key: String,
    model: Option<Arc<dyn Embedder>>,
    has_tools: bool,
}

impl LastRead {
    pub fn of(args: &EngineArgs, model: Option<Arc<dyn Embedder>>) -> Self {
        let (broken, has_tools) = (BTreeSet::new(), false);
        Self { broken, model_key: model_key(args), model, has_tools }
    }

    /// The model that was loaded, if the arguments still name it.
    pub fn model(&self, args: &EngineArgs) -> Option<Option<Arc<dyn Embedder>>> {
        (self.model_key == model_key(args)).then(|| self.model.clone())
    }
}

fn model_key(args: &EngineArgs) -> String {
    format!("{:?} {:?}", args.choice.model, args.precision)
}

impl SourceFiles {
    /// The files after they were read for the first time. Those of a `watched` catalog are watched.
    pub fn new(
        assemble: Assemble,
        loaded: LastRead,
        (watched, global): (Option<&CatalogArgs>, &Global),
    ) -> Self {
        let watched = watched.map(|catalog| file_changes::Sources::of(catalog, global));
        let (typed, loaded) = (global.typed.clone(), Mutex::new(loaded));
        Self { typed, assemble, loaded, watched, global: Mutex::default() }
    }

    /// Resolves the typed options again with the present environment and files.
    fn read_again(&self) -> anyhow::Result<Assembly> {
        let Cli { command, global } =
            Cli::read(self.typed.clone(), &|name| std::env::var_os(name))?;
        let present = || self.loaded.lock().unwrap_or_else(PoisonError::into_inner);
        let before = present().clone();
        let (assembly, loaded) = (self.assemble)(&command, Some(&before), &global)?;
        *present() = loaded;
        *self.global.lock().unwrap_or_else(PoisonError::into_inner) = Some(global);
        Ok(assembly)
    }
}

impl Sources for SourceFiles {
    fn read(&self) -> Result<Assembly, Box<dyn std::error::Error + Send + Sync>> {
        Ok(self.read_again()?)
    }

    fn stamp(&self) -> Option<u64> {
        self.watched.as_ref().map(file_changes::Sources::stamp)
    }

    fn built(&self, service: &Service) {
        if let Some(global) = &*self.global.lock().unwrap_or_else(PoisonError::into_inner) {
            setup::warn_scanned(service.engine(), global);
        }
    }
}

/// [`of_serve`] for the command `serve`.
pub fn of_command(
    command: &Command,
    before: Option<&LastRead>,
    global: &Global,
) -> anyhow::Result<(Assembly, LastRead)> {
    let Command::Serve(args) = command else {
        anyhow::bail!("expected the typed arguments of `serve`. This is a bug.")
    };
    of_serve(args, before, global)
}

/// Loads the tools of files, the stored lists of servers, and the other parts. A file that cannot
/// be parsed at the start is reported and skipped, also at each reload. If a file could be parsed
/// `before`, the error is returned and the present catalog stays: the file may be incomplete
/// because it is being written.
pub fn of_serve(
    args: &ServeArgs,
    before: Option<&LastRead>,
    global: &Global,
) -> anyhow::Result<(Assembly, LastRead)> {
    let from = &args.catalog;
    let without_sources = !setup::names_sources(from);
    if without_sources && (args.engine.index.is_some() || !from.overlay.is_empty()) {
        setup::expect_sources(from)?;
    }
    if without_sources && before.is_none() {
        render::warn(global, NO_CATALOG);
    }
    let file = from.live.servers().map(|path| servers::read(path)).transpose()?;
    let lists = file.as_ref().map(|file| Lists::of(file, from.live.refresh)).unwrap_or_default();
    let paths: Vec<PathBuf> = from.tools.iter().cloned().chain(lists.there()).collect();
    let (strict, author_signals) = (from.strict, from.author_signals);
    let options = LoadOptions { strict, overlays: from.overlay.clone(), author_signals };
    let loaded = Catalog::load(&paths, &options)?;
    secrets::keep_ids(loaded.catalog.iter());
    let broken = broken(&loaded.problems, from, before.map(|before| &before.broken))?;
    setup::warn_problems(&loaded.problems, global);
    let has_tools = !loaded.catalog.is_empty();
    if lists.stale.is_empty() && !without_sources {
        setup::warn_empty(from, &loaded.catalog, global);
        expect_tools(has_tools, before, from)?;
    }
    let model = match before.and_then(|before| before.model(&args.engine)) {
        Some(model) => model,
        None => {
            models::embedder(&args.engine, args.select.strategy, models::load_to_serve, global)?
        }
    };
    let mut wanted = EngineRequirements {
        lives_long: true,
        ..EngineRequirements::new(&args.select, args.limit)?
    };
    setup::guard(&mut wanted, from);
    let LimitArgs { yes, rights } = &args.limits;
    let pinning = file.is_some().then_some(&from.live.pinning);
    let assembly = Assembly {
        catalog: loaded.catalog,
        config: setup::config(&args.engine, &wanted, global),
        model: model.clone(),
        without_sources,
        vectors: match without_sources {
            true => VectorFile::None,
            false => super::vectors(from, &args.engine),
        },
        usage: wanted.usage,
        executor: call::options(rights, file.as_ref().unwrap_or(&ServersFile::default()))?,
        servers: file.map(|file| {
            let revision = format!("{rights:?} {yes}");
            Upstreams { revision, ..lists.upstreams(file, from) }
        }),
        profiles: super::profiles(global),
        ..super::shared(&args.record, &args.stand_ins, (rights, pinning))?
    };
    Ok((assembly, LastRead { broken, has_tools, ..LastRead::of(&args.engine, model) }))
}

/// Refuses a reload that would leave no tool of those there are.
fn expect_tools(
    has_tools: bool,
    before: Option<&LastRead>,
    from: &CatalogArgs,
) -> anyhow::Result<()> {
    if has_tools || before.is_none_or(|before| !before.has_tools) {
        return Ok(());
    }
    Err(exit::bad_data(format!(
        "expected at least one usable tool in {}, found none; the tools of before stay. To serve none, start again",
        setup::places(from)
    )))
}

/// Returns the files that could not be parsed. An overlay with an error is an error.
fn broken(
    problems: &[Problem],
    from: &CatalogArgs,
    before: Option<&BTreeSet<PathBuf>>,
) -> anyhow::Result<BTreeSet<PathBuf>> {
    setup::expect_sound_overlays(from, problems)?;
    let suspect = problems.iter().filter(|problem| problem.is_error() && problem.tool.is_none());
    let suspect: BTreeSet<PathBuf> = suspect.filter_map(|problem| problem.file.clone()).collect();
    let mut broken = BTreeSet::new();
    for file in suspect {
        let options = LoadOptions::default();
        // Loaded alone, such a file is an error.
        let Err(error) = Catalog::load(std::slice::from_ref(&file), &options) else { continue };
        if before.is_some_and(|before| !before.contains(&file)) {
            return Err(error.into());
        }
        broken.insert(file);
    }
    Ok(broken)
}
