//! The BERT of candle-transformers: the reference for tests of our own encoder, and the
//! implementation for models and devices that our encoder does not support.

use candle_core::{DType, Device, Tensor};
use candle_nn::VarBuilder;
use candle_transformers::models::bert::{BertModel, Config, HiddenAct};

use super::architecture::{Activation, Architecture};
use super::encoder::BertWeights;
use super::files::{ModelConfig, ModelFiles, WEIGHTS_FILE};
use super::{Error, Pooling};

/// Sequences in one forward pass. Larger batches are not faster on a CPU and need more padding.
pub(super) const BATCH: usize = 32;

/// A model on a candle device, in f32.
pub(super) struct Reference {
    model: BertModel,
    pooling: Pooling,
    pad: u32,
}

impl Reference {
    /// Loads the f32 weights of a model.
    pub fn load(files: &ModelFiles, config: &ModelConfig, device: &Device) -> Result<Self, Error> {
        let path = files.path(WEIGHTS_FILE);
        let weights = std::fs::read(&path).map_err(Error::io("read", &path))?;
        let model = VarBuilder::from_buffered_safetensors(weights, DType::F32, device)
            .and_then(|weights| BertModel::load(weights, &candle_config(&config.bert)));
        let model = model.map_err(|error| Error::bad_weights(path, error.to_string()))?;
        Ok(Self::of(model, config))
    }

    /// Uses f32 weights in memory, for a model whose file has int8 weights only.
    pub fn of_weights(
        weights: &BertWeights,
        config: &ModelConfig,
        device: &Device,
    ) -> Result<Self, Error> {
        let tensors = weights.tensors(&config.bert, device)?;
        let weights = VarBuilder::from_tensors(tensors, DType::F32, device);
        Ok(Self::of(BertModel::load(weights, &candle_config(&config.bert))?, config))
    }

    fn of(model: BertModel, config: &ModelConfig) -> Self {
        Self { model, pooling: config.pooling, pad: config.bert.pad_token_id }
    }

    /// Returns the pooled vectors of tokenised texts, padded to the longest.
    pub fn forward(&self, batch: &[&[u32]]) -> Result<Vec<Vec<f32>>, Error> {
        let longest = batch.iter().map(|ids| ids.len()).max().unwrap_or(0);
        let mut ids = Vec::with_capacity(batch.len() * longest);
        let mut mask = Vec::with_capacity(ids.capacity());
        for row in batch {
            ids.extend_from_slice(row);
            mask.extend(std::iter::repeat_n(1u32, row.len()));
            ids.resize(mask.len() + longest - row.len(), self.pad);
            mask.resize(ids.len(), 0);
        }
        let shape = (batch.len(), longest);
        let ids = Tensor::from_vec(ids, shape, &self.model.device)?;
        let mask = Tensor::from_vec(mask, shape, &self.model.device)?;
        let hidden = self.model.forward(&ids, &ids.zeros_like()?, Some(&mask))?;
        Ok(self.pooling.apply(&hidden, &mask)?.to_vec2()?)
    }
}

/// Converts the shape to candle's configuration. The remaining fields only matter for training.
fn candle_config(bert: &Architecture) -> Config {
    Config {
        vocab_size: bert.vocab_size,
        hidden_size: bert.hidden_size,
        num_hidden_layers: bert.num_hidden_layers,
        num_attention_heads: bert.num_attention_heads,
        intermediate_size: bert.intermediate_size,
        hidden_act: match bert.hidden_act {
            Activation::Gelu => HiddenAct::Gelu,
            Activation::GeluApproximate => HiddenAct::GeluApproximate,
            Activation::Relu => HiddenAct::Relu,
        },
        max_position_embeddings: bert.max_position_embeddings,
        type_vocab_size: bert.type_vocab_size,
        layer_norm_eps: bert.layer_norm_eps,
        pad_token_id: bert.pad_token_id as usize,
        ..Config::default()
    }
}
