//! What may be typed after `toolroute model`.

use std::path::PathBuf;

use clap::builder::TypedValueParser;
use clap::{Args, Subcommand};

use super::tier;
use crate::embedding::Pooling;

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
    /// Get a model: from the hub, or from a folder with --from. The only command that fetches one
    Pull(PullArgs),
    /// List the models that are built in, known or here
    List,
    /// Round a trained encoder to int8: weights, tokenizer and a manifest, ready to ship
    Round(RoundArgs),
    /// Compare a model's files with its manifest
    Verify {
        /// The model's name
        #[arg(default_value = crate::embedding::DEFAULT_MODEL)]
        name: String,
    },
}

#[derive(Args)]
pub struct PullArgs {
    /// A name that `model list` shows, or `owner/name` on the hub
    #[arg(default_value = crate::embedding::FETCHED_MODEL)]
    pub name: String,
    /// Copy it from this folder; no network
    #[arg(long, value_name = "DIR")]
    pub from: Option<PathBuf>,
    /// Get it even if it is here and whole
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
    /// A sentence-transformer's folder, or config.json, tokenizer.json and model.safetensors of a
    /// checkpoint
    pub from: PathBuf,
    /// The folder to write
    pub to: PathBuf,
    /// The model's name [default: that of the folder]
    #[arg(long)]
    pub name: Option<String>,
    /// A line about it, for the manifest
    #[arg(long, value_name = "TEXT", default_value = "")]
    pub description: String,
    /// The licence of the weights, as SPDX says it
    #[arg(long, value_name = "SPDX", default_value = "")]
    pub licence: String,
    /// How token vectors become a text's [default: what the folder says]
    #[arg(long, value_name = "mean|cls", value_parser = tier(&[("mean", Pooling::Mean), ("cls", Pooling::Cls)]))]
    pub pooling: Option<Pooling>,
    /// Longest input in tokens [default: what the folder says]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(8..).map(usize::from))]
    pub max_tokens: Option<usize>,
}
