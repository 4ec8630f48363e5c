//! `toolroute model`: downloads, lists, rounds and verifies models.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::builder::TypedValueParser as _;
use clap::{Args, Subcommand};
use serde_json::json;

use super::args::Global;
use super::words::{joined, word};
use super::{paths, render};
use toolroute_vectors::embedding::{self, ModelFiles, ModelStore, Pooling, Rounding};

#[derive(Args)]
pub struct ModelArgs {
    /// Where models are kept [default: the user's data folder] [env: TOOLROUTE_MODELS]
    #[arg(long, value_name = "DIR", global = true)]
    pub models: Option<PathBuf>,
    #[command(subcommand)]
    pub command: ModelCommand,
}

#[derive(Subcommand)]
pub enum ModelCommand {
    #[cfg_attr(
        feature = "hub",
        doc = "Get a model: from the hub, or from a folder with --from. The only command that fetches one"
    )]
    #[cfg_attr(not(feature = "hub"), doc = "Get a model from a folder, with --from")]
    Pull(PullArgs),
    /// List built-in, downloadable and installed models
    List,
    /// Round a trained encoder to int8: weights, tokenizer and a manifest for distribution
    Round(RoundArgs),
    /// Verify a model's files against its manifest
    Verify {
        /// The model's name
        #[arg(default_value = toolroute_vectors::embedding::DEFAULT_MODEL)]
        name: String,
    },
}

#[derive(Args)]
pub struct PullArgs {
    /// A name that `model list` shows, or `owner/name` on the hub
    #[arg(default_value = toolroute_vectors::embedding::FETCHED_MODEL)]
    pub name: String,
    /// Copy the model from this folder, without network
    #[arg(long, value_name = "DIR")]
    pub from: Option<PathBuf>,
    /// Download the model even if it is installed and valid
    #[arg(long)]
    pub force: bool,
    /// Commit, tag or branch on the hub [default: the pinned one]
    #[arg(long, value_name = "REV", conflicts_with = "from")]
    pub revision: Option<String>,
    /// A mirror of the hub [env: HF_ENDPOINT]
    #[arg(long, value_name = "URL", conflicts_with = "from")]
    pub endpoint: Option<String>,
    /// A token for gated models [env: HF_TOKEN]
    #[arg(long, value_name = "TOKEN")]
    pub token: Option<String>,
}

#[derive(Args)]
pub struct RoundArgs {
    /// A sentence-transformers folder, or config.json, tokenizer.json and model.safetensors of a
    /// checkpoint
    pub from: PathBuf,
    /// The folder to write
    pub to: PathBuf,
    /// The model's name [default: the name of the folder]
    #[arg(long)]
    pub name: Option<String>,
    /// A one-line description for the manifest
    #[arg(long, value_name = "TEXT", default_value = "")]
    pub description: String,
    /// The licence of the weights, as an SPDX expression
    #[arg(long, value_name = "SPDX", default_value = "")]
    pub licence: String,
    /// How token vectors are combined into a text's vector [default: as the folder says]
    #[arg(long, value_name = joined::<Pooling>(), value_parser = word::<Pooling>())]
    pub pooling: Option<Pooling>,
    /// Maximum input length in tokens [default: as the folder says]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(8..).map(usize::from))]
    pub max_tokens: Option<usize>,
}

pub fn run(args: &ModelArgs, global: &Global) -> anyhow::Result<ExitCode> {
    let store = || paths::model_store(args.models.as_deref());
    match &args.command {
        ModelCommand::Pull(pull_args) => pull(&store()?, pull_args, global)?,
        ModelCommand::List => list(&store()?, global)?,
        ModelCommand::Round(args) => round(args, global)?,
        ModelCommand::Verify { name } => tell(&store()?.verify(name)?, "whole", global)?,
    }
    Ok(ExitCode::SUCCESS)
}

fn pull(store: &ModelStore, args: &PullArgs, global: &Global) -> anyhow::Result<()> {
    let short = args.name.rsplit('/').next().unwrap_or(&args.name);
    if !args.force
        && let Ok(here) = store.open(short)
    {
        return tell(&here, "here already", global);
    }
    let files = match &args.from {
        Some(folder) => store.install(short, folder)?,
        None => download(store, args, global)?,
    };
    tell(&files, "installed", global)
}

fn round(args: &RoundArgs, global: &Global) -> anyhow::Result<()> {
    let folder = args.to.file_name().map(|name| name.to_string_lossy().into_owned());
    let about = Rounding {
        name: args.name.clone().or(folder).unwrap_or_else(|| "model".to_owned()),
        description: args.description.clone(),
        licence: args.licence.clone(),
        pooling: args.pooling,
        max_tokens: args.max_tokens,
    };
    let manifest = embedding::round(&args.from, &args.to, &about)?;
    if global.json {
        return render::json(&manifest);
    }
    let bytes: u64 = manifest.files.iter().map(|file| file.bytes).sum();
    let (name, to) = (&manifest.name, args.to.display());
    render::line(&format!("{name}: {:.1} MB, {to}", bytes as f64 / 1e6))
}

#[cfg(feature = "hub")]
fn download(store: &ModelStore, args: &PullArgs, global: &Global) -> anyhow::Result<ModelFiles> {
    use std::cell::RefCell;

    use super::progress::Progress;
    use toolroute_vectors::embedding::hub::{HubOptions, pull};

    let options = HubOptions {
        endpoint: args.endpoint.clone(),
        token: args.token.clone(),
        revision: args.revision.clone(),
    };
    // One progress bar per file; files are downloaded one after the other.
    let current: RefCell<Option<(String, Progress)>> = RefCell::new(None);
    let tell = |file: &str, done: u64, total: u64| {
        let mut current = current.borrow_mut();
        if current.as_ref().is_none_or(|(shown, _)| shown != file) {
            render::warn(global, &format!("fetching {file}"));
            *current = Some((file.to_owned(), Progress::new("fetching", "bytes", global.quiet)));
        }
        if let Some((_, progress)) = current.as_ref() {
            progress.tell(done as usize, total as usize);
        }
    };
    Ok(pull(store, &args.name, &options, &tell)?)
}

#[cfg(not(feature = "hub"))]
fn download(_: &ModelStore, args: &PullArgs, _: &Global) -> anyhow::Result<ModelFiles> {
    anyhow::bail!(
        "this build has no network code (feature `hub`); copy the model with \
         `toolroute model pull {} --from DIR`",
        args.name
    )
}

fn list(store: &ModelStore, global: &Global) -> anyhow::Result<()> {
    let models = store.list()?;
    if global.json {
        return render::json(&models);
    }
    let mut table = render::table(&["model", "state", "MB", "licence", "revision"], &[2]);
    for model in models {
        let state = match (model.built_in, model.installed) {
            (true, _) => "built in",
            (false, true) => "installed",
            (false, false) => "not here",
        };
        let size = format!("{:.1}", model.bytes as f64 / 1e6);
        let revision = model.revision.unwrap_or_default();
        table.add_row([&model.name, state, &size, &model.licence, &revision]);
    }
    render::print(table)?;
    render::warn(global, &format!("kept in {}", store.root().display()));
    Ok(())
}

fn tell(files: &ModelFiles, state: &str, global: &Global) -> anyhow::Result<()> {
    let (name, dir, fingerprint) = (files.name(), files.dir(), files.fingerprint());
    let path = dir.map_or_else(|| "built in".to_owned(), |dir| dir.display().to_string());
    if global.json {
        return render::json(
            &json!({"name": name, "state": state, "path": dir, "fingerprint": fingerprint}),
        );
    }
    render::line(&format!("{name}: {state}, {path}"))
}
