//! The BERT family through candle-transformers.

use std::time::{Duration, Instant};

use candle_core::{DType, Device, Tensor};
use candle_nn::VarBuilder;
use candle_transformers::models::bert::BertModel;
use ndarray::Array2;
use rayon::prelude::*;
use tokenizers::{Tokenizer, TruncationParams};

use super::Error;
use super::embedder::{Embedded, Embedder, ModelIdentity, Role};
use super::files::{ModelConfig, ModelFiles};

/// Sequences in one forward pass. Larger batches gain nothing on a CPU and pad more.
const BATCH: usize = 32;

/// A BERT sentence-transformer on a candle device, in f32.
pub struct BertEmbedder {
    model: BertModel,
    tokenizer: Tokenizer,
    config: ModelConfig,
    identity: ModelIdentity,
}

impl BertEmbedder {
    /// Loads a model onto the CPU.
    ///
    /// # Errors
    /// Where a file cannot be read, says something that this code does not support, or does not
    /// fit the others.
    pub fn load(files: &ModelFiles) -> Result<Self, Error> {
        Self::load_on(files, &Device::Cpu)
    }

    /// Loads a model onto the NVIDIA card of that number.
    ///
    /// # Errors
    /// As [`BertEmbedder::load`], and where there is no such card.
    #[cfg(feature = "cuda")]
    pub fn load_cuda(files: &ModelFiles, card: usize) -> Result<Self, Error> {
        Self::load_on(files, &Device::new_cuda(card)?)
    }

    fn load_on(files: &ModelFiles, device: &Device) -> Result<Self, Error> {
        let config = files.read_config()?;
        let path = files.path("model.safetensors");
        let weights = std::fs::read(&path).map_err(Error::io("read", &path))?;
        let weights = VarBuilder::from_buffered_safetensors(weights, DType::F32, device)
            .and_then(|weights| BertModel::load(weights, &config.bert));
        let model = weights.map_err(|error| Error::BadFile {
            path,
            expected: "the weights of a BERT model as config.json describes it",
            problem: error.to_string(),
        })?;
        let identity = ModelIdentity {
            name: files.name().to_owned(),
            fingerprint: files.fingerprint().to_owned(),
            dimension: config.bert.hidden_size,
        };
        Ok(Self { model, tokenizer: load_tokenizer(files, &config)?, config, identity })
    }

    /// Token ids of one text, special ones included, cut to the model's longest input.
    ///
    /// # Errors
    /// Where the tokenizer fails.
    pub fn tokenize(&self, text: &str, role: Role) -> Result<Vec<u32>, Error> {
        let prompt = match role {
            Role::Query => &self.config.query_prompt,
            Role::Document => &self.config.document_prompt,
        };
        let encoded = if prompt.is_empty() {
            self.tokenizer.encode_fast(text, true)
        } else {
            self.tokenizer.encode_fast(format!("{prompt}{text}"), true)
        };
        let failed = |error: tokenizers::Error| Error::Tokenize {
            chars: text.chars().count(),
            message: error.to_string(),
        };
        Ok(encoded.map_err(failed)?.get_ids().to_vec())
    }

    /// Vectors of tokenised texts, padded to the longest of them.
    fn forward(&self, batch: &[&[u32]]) -> Result<Vec<Vec<f32>>, Error> {
        let longest = batch.iter().map(|ids| ids.len()).max().unwrap_or(0);
        let mut ids = Vec::with_capacity(batch.len() * longest);
        let mut mask = Vec::with_capacity(ids.capacity());
        for row in batch {
            ids.extend_from_slice(row);
            mask.extend(std::iter::repeat_n(1u32, row.len()));
            ids.resize(mask.len() + longest - row.len(), self.config.bert.pad_token_id as u32);
            mask.resize(ids.len(), 0);
        }
        let shape = (batch.len(), longest);
        let ids = Tensor::from_vec(ids, shape, &self.model.device)?;
        let mask = Tensor::from_vec(mask, shape, &self.model.device)?;
        let hidden = self.model.forward(&ids, &ids.zeros_like()?, Some(&mask))?;
        Ok(self.config.pooling.apply(&hidden, &mask)?.to_vec2()?)
    }
}

impl Embedder for BertEmbedder {
    fn identity(&self) -> &ModelIdentity {
        &self.identity
    }

    fn embed(&self, texts: &[&str], role: Role) -> Result<Embedded, Error> {
        let start = Instant::now();
        let ids = match texts {
            [text] => vec![self.tokenize(text, role)?],
            _ => {
                texts.par_iter().map(|text| self.tokenize(text, role)).collect::<Result<_, _>>()?
            }
        };
        let tokenize: Duration = start.elapsed();
        // Texts of like length share a batch, so that little of it is padding.
        let mut order: Vec<usize> = (0..ids.len()).collect();
        order.sort_by_key(|&text| ids[text].len());
        let mut vectors = Array2::zeros((texts.len(), self.identity.dimension));
        for rows in order.chunks(BATCH) {
            let batch: Vec<&[u32]> = rows.iter().map(|&row| ids[row].as_slice()).collect();
            for (&row, vector) in rows.iter().zip(self.forward(&batch)?) {
                write_unit(&vector, row, vectors.row_mut(row).into_slice())?;
            }
        }
        Ok(Embedded { vectors, tokenize, tokens: ids.iter().map(Vec::len).sum() })
    }
}

/// Scales `vector` to length 1 into `out`.
fn write_unit(vector: &[f32], row: usize, out: Option<&mut [f32]>) -> Result<(), Error> {
    let norm = vector.iter().map(|x| x * x).sum::<f32>().sqrt();
    if !(norm.is_normal()) {
        return Err(Error::BadVector { row, norm });
    }
    let out = out.expect("a row of a standard-layout array is contiguous. This is a bug.");
    for (to, from) in out.iter_mut().zip(vector) {
        *to = from / norm;
    }
    Ok(())
}

/// The tokenizer with the model's own limit: the limit and the padding that tokenizer.json
/// carries are those of its training run (128 for MiniLM, where the model takes 256).
fn load_tokenizer(files: &ModelFiles, config: &ModelConfig) -> Result<Tokenizer, Error> {
    let path = files.path("tokenizer.json");
    let truncation = TruncationParams { max_length: config.max_tokens, ..Default::default() };
    let load = || {
        let mut tokenizer = Tokenizer::from_file(&path)?;
        tokenizer.with_padding(None).with_truncation(Some(truncation))?;
        Ok(tokenizer)
    };
    load().map_err(|error: tokenizers::Error| Error::BadFile {
        path: path.clone(),
        expected: "a tokenizer as the `tokenizers` library writes it",
        problem: error.to_string(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_vector_without_a_direction_is_refused() {
        let mut out = [0.0; 2];
        for bad in [[0.0, 0.0], [f32::NAN, 1.0], [f32::INFINITY, 1.0]] {
            let error = write_unit(&bad, 7, Some(&mut out)).unwrap_err();
            assert!(matches!(error, Error::BadVector { row: 7, .. }));
        }
        write_unit(&[3.0, 4.0], 0, Some(&mut out)).unwrap();
        assert_eq!(out, [0.6, 0.8]);
    }
}
