//! BERT as candle-transformers has it: what our own encoder is compared with, and what runs
//! models and devices that it does not cover.

use candle_core::{DType, Device, Tensor};
use candle_nn::VarBuilder;
use candle_transformers::models::bert::BertModel;

use super::encoder::BertWeights;
use super::files::{ModelConfig, ModelFiles, WEIGHTS_FILE};
use super::{Error, Pooling};

/// Sequences in one forward pass. Larger batches gain nothing on a CPU and pad more.
pub(super) const BATCH: usize = 32;

/// A model on a candle device, in f32.
pub(super) struct Reference {
    model: BertModel,
    pooling: Pooling,
    pad: u32,
}

impl Reference {
    /// Loads the weights of a model that has them in f32.
    pub fn load(files: &ModelFiles, config: &ModelConfig, device: &Device) -> Result<Self, Error> {
        let path = files.path(WEIGHTS_FILE);
        let weights = std::fs::read(&path).map_err(Error::io("read", &path))?;
        let model = VarBuilder::from_buffered_safetensors(weights, DType::F32, device)
            .and_then(|weights| BertModel::load(weights, &config.bert));
        let model = model.map_err(|error| Error::bad_weights(path, &error))?;
        Ok(Self::of(model, config))
    }

    /// Takes weights that are at hand in f32: those of a model whose file has rounded ones.
    pub fn of_weights(
        weights: &BertWeights<'_>,
        config: &ModelConfig,
        device: &Device,
    ) -> Result<Self, Error> {
        let tensors = weights.tensors(&config.bert, device)?;
        let weights = VarBuilder::from_tensors(tensors, DType::F32, device);
        Ok(Self::of(BertModel::load(weights, &config.bert)?, config))
    }

    fn of(model: BertModel, config: &ModelConfig) -> Self {
        Self { model, pooling: config.pooling, pad: config.bert.pad_token_id as u32 }
    }

    /// Pooled vectors of tokenised texts, padded to the longest of them.
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
