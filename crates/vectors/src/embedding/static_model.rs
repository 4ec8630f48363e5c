//! The static model: one vector per token; a text's vector is their sum, normalised to length 1.
//!
//! No layer is evaluated, so a prompt takes a few microseconds, but word order is lost. The length
//! of a token's vector is its weight. `scripts/train/distill_static.py` creates the table.

use std::borrow::Cow;
use std::fmt;
use std::sync::OnceLock;
use std::time::Instant;

use ndarray::Array2;
use rayon::prelude::*;
use safetensors::tensor::{Dtype, SafeTensors};
use serde::Deserialize;

use super::Error;
use super::bert::write_unit;
use super::embedder::{Calibration, Embedded, Embedder, Role};
use super::encoder::Keep;
use super::files::{CONFIG_FILE, ModelFiles, STATIC_FILE};
use super::tokenizer::{WordPiece, wordpiece};
use crate::durable::ModelIdentity;
use crate::kernels::{QuantizedWeight, signed};

/// Increase it whenever the same file would give different vectors.
const FORMAT: &str = "toolroute-static-1";

/// The `model_type` in config.json.
const MODEL_TYPE: &str = "toolroute-static";

/// A table of token vectors and its tokenizer.
pub struct StaticEmbedder {
    pieces: WordPiece,
    table: QuantizedWeight,
    max_tokens: usize,
    identity: ModelIdentity,
    calibration: Option<Calibration>,
    /// Computed lazily, for the first prompt that is not in Latin script.
    latin_only: OnceLock<bool>,
}

#[derive(Deserialize)]
struct Config {
    model_type: String,
    hidden_size: usize,
    vocab_size: usize,
    /// Maximum number of tokens of a text that are used.
    max_position_embeddings: usize,
}

impl StaticEmbedder {
    /// Loads the built-in static model.
    ///
    /// # Errors
    /// The same as [`StaticEmbedder::load`]. The models of this repository cause none.
    #[cfg(feature = "built-in-model")]
    pub fn built_in() -> Result<Self, Error> {
        let files = ModelFiles::built_in("static")
            .expect("the static model is built in with this feature. This is a bug.");
        Self::load(&files)
    }

    /// Loads a static model.
    ///
    /// # Errors
    /// If a file cannot be read, is invalid, or does not match the others.
    pub fn load(files: &ModelFiles) -> Result<Self, Error> {
        let config: Config = files.json(CONFIG_FILE)?;
        let bad = |problem| Error::BadFile {
            path: files.path(STATIC_FILE),
            expected: "token vectors as scripts/train/distill_static.py writes them",
            problem,
        };
        let pieces = wordpiece(files)?;
        let table = match files.read(STATIC_FILE)? {
            Cow::Borrowed(bytes) => read(bytes, Cow::Borrowed),
            Cow::Owned(bytes) => read(&bytes, |numbers| numbers.to_vec().into()),
        };
        let table = table.map_err(bad)?;
        let found = (config.model_type.as_str(), table.scales.len(), table.inputs);
        let expected = (MODEL_TYPE, config.vocab_size, config.hidden_size);
        if found != expected || pieces.len() != config.vocab_size || config.hidden_size == 0 {
            let tokens = pieces.len();
            return Err(bad(format!(
                "config.json says {expected:?}, found {found:?} and {tokens} tokens"
            )));
        }
        let identity = ModelIdentity {
            name: files.name().to_owned(),
            fingerprint: files.fingerprint().to_owned(),
            dimension: config.hidden_size,
        };
        let max_tokens = config.max_position_embeddings;
        let (calibration, latin_only) = (files.calibration, OnceLock::new());
        Ok(Self { pieces, table, max_tokens, identity, calibration, latin_only })
    }

    fn ids(&self, text: &str) -> Vec<u32> {
        let mut ids = self.pieces.plain(text, self.max_tokens);
        if ids.is_empty() {
            // An empty text needs a vector too, and a zero vector has no direction.
            ids.push(self.pieces.first());
        }
        ids
    }

    fn sum(&self, ids: &[u32]) -> Vec<f32> {
        let mut sum = vec![0.0; self.table.inputs];
        for id in ids {
            let row = *id as usize;
            let scale = self.table.scales[row];
            let numbers = &self.table.numbers[row * sum.len()..(row + 1) * sum.len()];
            for (sum, number) in sum.iter_mut().zip(numbers) {
                *sum += f32::from(*number) * scale;
            }
        }
        sum
    }
}

impl fmt::Debug for StaticEmbedder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StaticEmbedder").field("identity", &self.identity).finish_non_exhaustive()
    }
}

impl Embedder for StaticEmbedder {
    fn identity(&self) -> &ModelIdentity {
        &self.identity
    }

    fn embed(&self, texts: &[&str], _: Role) -> Result<Embedded, Error> {
        let start = Instant::now();
        let ids: Vec<Vec<u32>> = match texts {
            [text] => vec![self.ids(text)],
            _ => texts.par_iter().map(|text| self.ids(text)).collect(),
        };
        let tokenize = start.elapsed();
        let mut vectors = Array2::zeros((texts.len(), self.identity.dimension));
        for (row, ids) in ids.iter().enumerate() {
            write_unit(&self.sum(ids), row, vectors.row_mut(row).into_slice())?;
        }
        Ok(Embedded { vectors, tokenize, tokens: ids.iter().map(Vec::len).sum() })
    }

    fn reads_latin_only(&self) -> bool {
        *self.latin_only.get_or_init(|| self.pieces.is_latin_only())
    }

    fn knows_word(&self, word: &str) -> bool {
        self.pieces.knows(word) || !self.reads_latin_only()
    }

    fn calibration(&self) -> Option<Calibration> {
        self.calibration
    }
}

fn read<'a>(bytes: &'a [u8], keep: Keep<'a>) -> Result<QuantizedWeight, String> {
    let (_, header) = SafeTensors::read_metadata(bytes).map_err(|error| error.to_string())?;
    let format = header.metadata().as_ref().and_then(|map| map.get("format"));
    if format.is_none_or(|format| format != FORMAT) {
        return Err(format!("its format is {format:?}, expected {FORMAT:?}"));
    }
    let tensors = SafeTensors::deserialize(bytes).map_err(|error| error.to_string())?;
    let tensor = |name: &str, dtype: Dtype| match tensors.tensor(name) {
        Ok(tensor) if tensor.dtype() == dtype => Ok(tensor),
        Ok(tensor) => Err(format!("`{name}` is {:?}, expected {dtype:?}", tensor.dtype())),
        Err(error) => Err(error.to_string()),
    };
    let weight = tensor("tokens.weight", Dtype::I8)?;
    let scale = tensor("tokens.scale", Dtype::F32)?;
    let scales = scale.data().as_chunks::<4>().0.iter().map(|bytes| f32::from_le_bytes(*bytes));
    let scales: Vec<f32> = scales.collect();
    match weight.shape() {
        [tokens, inputs] if *tokens == scales.len() => {
            Ok(QuantizedWeight { inputs: *inputs, numbers: keep(signed(weight.data())), scales })
        }
        shape => Err(format!("`tokens.weight` is {shape:?} with {} scales", scales.len())),
    }
}
