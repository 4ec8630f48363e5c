//! Arguments for the model and the vector index.

use std::path::PathBuf;

use clap::Args;

use crate::cli::settings::keys;
use crate::cli::words::{BackendName, device, joined, word};
use toolroute_rank::engine::IndexKind;
use toolroute_vectors::embedding::{Device, Precision};

#[derive(Args, Clone)]
pub struct ModelChoice {
    /// A built-in model, one of the store, or a sentence-transformers folder; `static` takes
    /// microseconds per prompt [default: the built-in toolroute-l6-v1] [env: TOOLROUTE_MODEL]
    #[arg(long, value_name = "NAME|DIR")]
    pub model: Option<String>,
    /// The folder of the model store [default: in the user's data folder] [env: TOOLROUTE_MODELS]
    #[arg(long, value_name = "DIR")]
    pub models: Option<PathBuf>,
    /// What runs the model: native (our own encoder) or candle (in f32) [default: native; candle if
    /// the device is not cpu] [env: TOOLROUTE_BACKEND]
    #[arg(long, value_parser = word::<BackendName>(), value_name = joined::<BackendName>())]
    pub backend: Option<BackendName>,
    /// The device on which candle runs the model: cpu, cuda or cuda:N, metal; the last two require
    /// a build with that feature [env: TOOLROUTE_DEVICE]
    #[arg(long, default_value = keys::DEVICE.default, value_parser = device, value_name = "cpu|cuda|metal")]
    pub device: Device,
}

#[derive(Args, Clone)]
pub struct EngineArgs {
    #[command(flatten)]
    pub choice: ModelChoice,
    /// The file for the vectors [default: one per catalog in the user's cache folder] [env:
    /// TOOLROUTE_INDEX]
    #[arg(long, value_name = "FILE")]
    pub index: Option<PathBuf>,
    /// Precision of the model: int8 is two to four times as fast as f32 and ranks equally well
    #[arg(long, default_value = keys::PRECISION.default, value_parser = word::<Precision>(), value_name = joined::<Precision>())]
    pub precision: Precision,
    /// Do not save vectors on disk
    #[arg(long, conflicts_with = "index")]
    pub no_save: bool,
    /// How vectors are searched; auto decides by the number of tools
    #[arg(long, default_value = keys::SEARCH.default, value_parser = word::<IndexKind>(), value_name = joined::<IndexKind>())]
    pub search: IndexKind,
}
