//! The static tier: a vector a token, and a text's vector is their sum at unit length.
//!
//! No layer is run, so a prompt costs a few microseconds; word order is lost. How much a token
//! counts lies in the length of its vector. `scripts/train/distill_static.py` makes the table.

use std::borrow::Cow;
use std::sync::OnceLock;
use std::time::Instant;

use ndarray::Array2;
use rayon::prelude::*;
use safetensors::tensor::{Dtype, SafeTensors};
use serde::Deserialize;

use super::Error;
use super::bert::write_unit;
use super::embedder::{Calibration, Embedded, Embedder, ModelIdentity, Role};
use super::files::{CONFIG_FILE, ModelFiles, STATIC_FILE};
use super::kernels::{QuantizedWeight, signed};
use super::tokenizer::{WordPiece, wordpiece};

/// Raise it whenever the same file would give other vectors.
const FORMAT: &str = "toolroute-static-1";

/// What config.json calls it.
const MODEL_TYPE: &str = "toolroute-static";

/// Token vectors and their tokenizer.
pub struct StaticEmbedder {
    pieces: WordPiece,
    table: QuantizedWeight<'static>,
    max_tokens: usize,
    identity: ModelIdentity,
    calibration: Option<Calibration>,
    /// Found out at the first prompt in another script.
    latin_only: OnceLock<bool>,
}

#[derive(Deserialize)]
struct Config {
    model_type: String,
    hidden_size: usize,
    vocab_size: usize,
    /// Tokens of a text that are looked at.
    max_position_embeddings: usize,
}

impl StaticEmbedder {
    /// The static model that is part of the program.
    ///
    /// # Errors
    /// As [`StaticEmbedder::load`]; none with the models of this repository.
    #[cfg(feature = "built-in-model")]
    pub fn built_in() -> Result<Self, Error> {
        let files = ModelFiles::built_in("static")
            .expect("the static model is built in with this feature. This is a bug.");
        Self::load(&files)
    }

    /// Loads a static model.
    ///
    /// # Errors
    /// Where a file cannot be read, is not what it should be, or does not fit the others.
    pub fn load(files: &ModelFiles) -> Result<Self, Error> {
        let config: Config = files.json(CONFIG_FILE)?;
        let bad = |problem| Error::BadFile {
            path: files.path(STATIC_FILE),
            expected: "token vectors as scripts/train/distill_static.py writes them",
            problem,
        };
        let pieces = wordpiece(files)?;
        let table = match files.read(STATIC_FILE)? {
            Cow::Borrowed(bytes) => read(bytes),
            Cow::Owned(bytes) => read(&bytes).map(QuantizedWeight::into_owned),
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
        let (calibration, latin_only) = (files.calibration(), OnceLock::new());
        Ok(Self { pieces, table, max_tokens, identity, calibration, latin_only })
    }

    fn ids(&self, text: &str) -> Vec<u32> {
        let mut ids = self.pieces.plain(text, self.max_tokens);
        if ids.is_empty() {
            // An empty text is a text too, and its vector must have a direction.
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

fn read(bytes: &[u8]) -> Result<QuantizedWeight<'_>, String> {
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
        [tokens, inputs] if *tokens == scales.len() => Ok(QuantizedWeight {
            inputs: *inputs,
            numbers: Cow::Borrowed(signed(weight.data())),
            scales,
        }),
        shape => Err(format!("`tokens.weight` is {shape:?} with {} scales", scales.len())),
    }
}
