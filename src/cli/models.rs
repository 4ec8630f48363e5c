//! Loads the model that the arguments name, with their backend and precision.

use std::path::PathBuf;
use std::sync::Arc;

use super::args::{EngineArgs, Global, ModelChoice};
use super::exit;
use super::words::BackendName;
use super::{paths, render};
use toolroute_rank::engine::Strategy;
use toolroute_vectors::embedding::{
    self, Backend, DEFAULT_MODEL, Device, Embedder, EncoderOptions, ModelFiles, Precision,
};

/// Returns backend and precision; candle runs models in f32 only.
pub fn options(choice: &ModelChoice, precision: Precision) -> anyhow::Result<EncoderOptions> {
    let backend = match (choice.backend, choice.device) {
        (None | Some(BackendName::Native), Device::Cpu) => Backend::Native,
        (None | Some(BackendName::Candle), device) => Backend::Candle(device),
        (Some(BackendName::Native), device) => {
            return Err(exit::bad_arguments(format!(
                "the native encoder runs on the processor, not on {device}; expected --backend candle"
            )));
        }
    };
    let precision = if backend == Backend::Native { precision } else { Precision::F32 };
    Ok(EncoderOptions { precision, backend, ..EncoderOptions::default() })
}

/// Identifies the model, its precision and its backend. Vectors of different keys are stored in
/// different files.
pub fn key(args: &EngineArgs) -> String {
    let model = args.choice.model.as_deref().unwrap_or(DEFAULT_MODEL);
    match options(&args.choice, args.precision) {
        Ok(EncoderOptions { backend: Backend::Candle(device), .. }) => {
            format!("{model} candle {device}")
        }
        _ => format!("{model} {:?}", args.precision),
    }
}

/// Finds a model by name, built in or in the store, or by its folder.
pub fn files(choice: &ModelChoice, precision: Precision) -> Result<ModelFiles, embedding::Error> {
    let name = choice.model.as_deref().unwrap_or(DEFAULT_MODEL);
    let is_path = name.contains(['/', '\\']) || name == ".";
    if is_path {
        return ModelFiles::from_dir(name);
    }
    if let Some(files) = ModelFiles::built_in(name) {
        // Built-in models work without a data folder.
        return Ok(files);
    }
    match paths::model_store(choice.models.as_deref()) {
        Ok(store) => store.open_for(name, precision),
        Err(_) => Err(embedding::Error::ModelMissing {
            name: name.to_owned(),
            path: PathBuf::from("toolroute/models"),
            command: format!("toolroute model pull {name} --models DIR"),
        }),
    }
}

pub fn load(choice: &ModelChoice, precision: Precision) -> anyhow::Result<Arc<dyn Embedder>> {
    load_with(choice, options(choice, precision)?)
}

/// The same as [`load`] for a server, with one core per request. Two threads for one prompt
/// synchronise 25 times, and wait each time if another request uses the second core: at 500
/// selections per second on two cores, the 99th percentile was 17 ms with two threads per prompt
/// and 4 ms with one (`scripts/load.sh`).
#[cfg(feature = "server")]
pub fn load_to_serve(
    choice: &ModelChoice,
    precision: Precision,
) -> anyhow::Result<Arc<dyn Embedder>> {
    load_with(choice, EncoderOptions { threads: 1, ..options(choice, precision)? })
}

fn load_with(choice: &ModelChoice, options: EncoderOptions) -> anyhow::Result<Arc<dyn Embedder>> {
    Ok(embedding::load(&files(choice, options.precision)?, options)?)
}

/// Loads the model for a strategy by [`load`] or [`load_to_serve`]; `None` if the strategy needs
/// none or works without it.
pub fn embedder(
    args: &EngineArgs,
    strategy: Strategy,
    load: fn(&ModelChoice, Precision) -> anyhow::Result<Arc<dyn Embedder>>,
    global: &Global,
) -> anyhow::Result<Option<Arc<dyn Embedder>>> {
    if strategy == Strategy::Keyword {
        return Ok(None);
    }
    let is_missing = |error: &anyhow::Error| {
        matches!(error.downcast_ref(), Some(embedding::Error::ModelMissing { .. }))
    };
    match load(&args.choice, args.precision) {
        Ok(model) => Ok(Some(model)),
        Err(error) if strategy == Strategy::Auto && is_missing(&error) => {
            render::warn(global, &format!("warning: ranking by words alone: {error}"));
            Ok(None)
        }
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_device_is_run_by_candle() {
        let choice = |backend, device| ModelChoice { model: None, models: None, backend, device };
        let run = |choice| options(&choice, Precision::Int8);
        let native = run(choice(None, Device::Cpu)).unwrap();
        assert_eq!((native.backend, native.precision), (Backend::Native, Precision::Int8));
        let candle = run(choice(Some(BackendName::Candle), Device::Cpu)).unwrap();
        let expected = (Backend::Candle(Device::Cpu), Precision::F32);
        assert_eq!((candle.backend, candle.precision), expected);
        let card = run(choice(None, Device::Cuda(0))).unwrap();
        assert_eq!(card.backend, Backend::Candle(Device::Cuda(0)));
        let refused = run(choice(Some(BackendName::Native), Device::Cuda(0))).unwrap_err();
        assert!(refused.to_string().contains("--backend candle"), "{refused}");
    }
}
