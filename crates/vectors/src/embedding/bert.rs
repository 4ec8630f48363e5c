//! The BERT family: combines tokenizer and encoder into an [`Embedder`].

use std::borrow::Cow;
use std::fmt;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use ndarray::Array2;
use rayon::prelude::*;

use super::Error;
use super::backend::{Backend, Device};
use super::embedder::{Calibration, Embedded, Embedder, Role};
use super::encoder::{self, BertWeights, Encoder, Precision};
use super::files::{INT8_FILE, Int8File, ModelConfig, ModelFiles, WEIGHTS_FILE};
#[cfg(feature = "candle")]
use super::reference::{BATCH, Reference};
use super::tokenizer::TextTokenizer;
use crate::durable::{self, ModelIdentity, Readers};
use crate::kernels::Mapped;

/// Part of the identity of vectors from int8 inference; it distinguishes them from f32 and from
/// earlier ways of rounding. Increase it whenever the same text would get a different vector.
const INT8_ARITHMETIC: &str = "-int8-3";

#[cfg(feature = "candle")]
/// The same for candle, which rounds differently from our encoder.
const CANDLE_ARITHMETIC: &str = "-candle-1";

/// How to run a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EncoderOptions {
    /// The numbers that an encoder computes with.
    pub precision: Precision,
    /// Threads that share a single prompt. In a batch, each pass of the encoder uses one thread.
    pub threads: usize,
    /// What computes.
    pub backend: Backend,
}

/// More threads do not help a single prompt: there is too little work between the points where the
/// threads synchronise (measured with `toolroute bench encoder`).
const MOST_THREADS: usize = 2;

impl Default for EncoderOptions {
    /// Native f32, with as many threads as help.
    fn default() -> Self {
        // Rayon's number respects `--threads` and the container's CPU limit.
        let threads = rayon::current_num_threads().min(MOST_THREADS);
        Self { precision: Precision::F32, threads, backend: Backend::Native }
    }
}

/// A BERT sentence-transformer.
pub struct BertEmbedder {
    model: Model,
    tokenizer: TextTokenizer,
    config: ModelConfig,
    identity: ModelIdentity,
    calibration: Option<Calibration>,
    /// Computed lazily, for the first prompt that is not in Latin script.
    latin_only: OnceLock<bool>,
}

/// Pooled vectors of several texts, or the first error.
type Pooled = Result<Vec<Vec<f32>>, Error>;

enum Model {
    Encoder(Box<Encoder>),
    #[cfg(feature = "candle")]
    Reference(Box<Reference>),
}

impl BertEmbedder {
    /// Loads the built-in encoder in int8, without files and without network.
    ///
    /// # Errors
    /// The same as [`BertEmbedder::load`]. The models of this repository cause none.
    #[cfg(feature = "built-in-model")]
    pub fn built_in() -> Result<Self, Error> {
        let files = ModelFiles::built_in(super::DEFAULT_MODEL)
            .expect("the default model is built in with this feature. This is a bug.");
        let options = EncoderOptions { precision: Precision::Int8, ..EncoderOptions::default() };
        Self::load_with(&files, options)
    }

    /// Loads a model onto the CPU, in f32.
    ///
    /// # Errors
    /// If a file cannot be read, describes a model that is not supported, or does not match the
    /// other files.
    pub fn load(files: &ModelFiles) -> Result<Self, Error> {
        Self::load_with(files, EncoderOptions::default())
    }

    /// Loads a model that runs as described by `options`. candle runs the models that our encoder
    /// does not support.
    ///
    /// # Errors
    /// The same as [`BertEmbedder::load`], [`Error::NoDevice`], and [`Error::NoCandle`] without the
    /// feature `candle`.
    pub fn load_with(files: &ModelFiles, options: EncoderOptions) -> Result<Self, Error> {
        let config = files.read_config()?;
        let device = match options.backend {
            Backend::Native if Encoder::covers(&config) => {
                let weights = match options.precision {
                    Precision::F32 => f32_weights(files, &config)?,
                    Precision::Int8 => int8_weights(files, &config)?,
                };
                let encoder = Encoder::new(weights, &config, options.threads);
                let mark = if options.precision == Precision::Int8 { INT8_ARITHMETIC } else { "" };
                return Self::assemble(files, config, Model::Encoder(Box::new(encoder)), mark);
            }
            Backend::Native => Device::Cpu,
            Backend::Candle(device) => device,
        };
        Self::load_candle(files, config, device)
    }

    #[cfg(not(feature = "candle"))]
    fn load_candle(files: &ModelFiles, _: ModelConfig, _: Device) -> Result<Self, Error> {
        Err(Error::NoCandle { name: files.name().to_owned() })
    }

    #[cfg(feature = "candle")]
    fn load_candle(files: &ModelFiles, config: ModelConfig, device: Device) -> Result<Self, Error> {
        let place = device.place()?;
        let model = if files.covers(WEIGHTS_FILE) {
            Reference::load(files, &config, &place)?
        } else {
            let weights = f32_weights(files, &config)?;
            Reference::of_weights(&weights, &config, &place)?
        };
        let mark = format!("{CANDLE_ARITHMETIC}{}", device.mark());
        Self::assemble(files, config, Model::Reference(Box::new(model)), &mark)
    }

    /// `mark` distinguishes the vectors from those of our encoder in f32.
    fn assemble(
        files: &ModelFiles,
        config: ModelConfig,
        model: Model,
        mark: &str,
    ) -> Result<Self, Error> {
        let fingerprint = format!("{}{mark}", files.fingerprint());
        let dimension = config.bert.hidden_size;
        let identity = ModelIdentity { name: files.name().to_owned(), fingerprint, dimension };
        let tokenizer = TextTokenizer::load(files, config.max_tokens)?;
        let (calibration, latin_only) = (files.calibration, OnceLock::new());
        Ok(Self { model, tokenizer, config, identity, calibration, latin_only })
    }

    /// The CPU instruction set that the encoder uses; `None` if candle runs the model.
    #[doc(hidden)] // For our own crates.
    pub fn instructions(&self) -> Option<String> {
        match &self.model {
            Model::Encoder(encoder) => Some(encoder.isa().to_string()),
            #[cfg(feature = "candle")]
            Model::Reference(_) => None,
        }
    }

    /// Returns the token ids of one text, including special tokens, truncated to the model's
    /// maximum input length.
    #[doc(hidden)] // For our own crates.
    pub fn tokenize(&self, text: &str, role: Role) -> Result<Vec<u32>, Error> {
        let prompt = match role {
            Role::Query => &self.config.query_prompt,
            Role::Document => &self.config.document_prompt,
        };
        if prompt.is_empty() {
            self.tokenizer.ids(text)
        } else {
            self.tokenizer.ids(&format!("{prompt}{text}"))
        }
    }

    /// Returns unit vectors `[ids.len(), dimension]` for token ids; [`Embedder::embed`] does this
    /// after tokenising. Intended for benchmarks and for callers that tokenise themselves.
    #[doc(hidden)] // For our own crates.
    pub fn embed_ids(&self, ids: &[Vec<u32>]) -> Result<Array2<f32>, Error> {
        if let Some(row) = ids.iter().position(Vec::is_empty) {
            return Err(Error::NoTokens { row });
        }
        let mut vectors = Array2::zeros((ids.len(), self.identity.dimension));
        let mut write =
            |row: usize, vector: &[f32]| write_unit(vector, row, vectors.row_mut(row).into_slice());
        if let (Model::Encoder(encoder), [ids]) = (&self.model, ids) {
            write(0, &encoder.embed_one(ids)?)?;
            return Ok(vectors);
        }
        // Sorting by length gives passes of equal work and little padding.
        let mut order: Vec<usize> = (0..ids.len()).collect();
        order.sort_by_key(|&text| ids[text].len());
        for (rows, found) in self.forward(ids, &order) {
            for (&row, vector) in rows.iter().zip(found?) {
                write(row, &vector)?;
            }
        }
        Ok(vectors)
    }

    /// Returns the pooled vectors of consecutive slices of `order`.
    fn forward<'a>(&self, ids: &[Vec<u32>], order: &'a [usize]) -> Vec<(&'a [usize], Pooled)> {
        let batch =
            |rows: &[usize]| rows.iter().map(|&row| ids[row].as_slice()).collect::<Vec<_>>();
        match &self.model {
            #[cfg(feature = "candle")]
            Model::Reference(model) => {
                order.chunks(BATCH).map(|rows| (rows, model.forward(&batch(rows)))).collect()
            }
            Model::Encoder(encoder) => {
                let mut rest = order;
                let mut passes = Vec::new();
                for count in Encoder::passes(order.iter().map(|&row| ids[row].len())) {
                    let (pass, others) = rest.split_at(count);
                    passes.push(pass);
                    rest = others;
                }
                passes
                    .into_par_iter()
                    .map(|rows| (rows, encoder.pass(&batch(rows), None)))
                    .collect()
            }
        }
    }
}

impl fmt::Debug for BertEmbedder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BertEmbedder").field("identity", &self.identity).finish_non_exhaustive()
    }
}

impl Embedder for BertEmbedder {
    fn identity(&self) -> &ModelIdentity {
        &self.identity
    }

    fn embed(&self, texts: &[&str], role: Role) -> Result<Embedded, Error> {
        let start = Instant::now();
        let ids: Vec<Vec<u32>> = match texts {
            [text] => vec![self.tokenize(text, role)?],
            _ => {
                texts.par_iter().map(|text| self.tokenize(text, role)).collect::<Result<_, _>>()?
            }
        };
        let tokenize: Duration = start.elapsed();
        let vectors = self.embed_ids(&ids)?;
        Ok(Embedded { vectors, tokenize, tokens: ids.iter().map(Vec::len).sum() })
    }

    fn reads_latin_only(&self) -> bool {
        *self.latin_only.get_or_init(|| self.tokenizer.is_latin_only())
    }

    fn knows_word(&self, word: &str) -> bool {
        self.tokenizer.knows(word) || !self.reads_latin_only()
    }

    fn calibration(&self) -> Option<Calibration> {
        self.calibration
    }
}

pub(super) fn read_weights(files: &ModelFiles, config: &ModelConfig) -> Result<BertWeights, Error> {
    let path = files.path(WEIGHTS_FILE);
    let bytes = Mapped::open(&path).map_err(Error::io("read", &path))?;
    BertWeights::read(&bytes, &config.bert).map_err(|problem| Error::bad_weights(path, problem))
}

/// The weights in f32. If the model only has rounded weights, they are dequantized.
fn f32_weights(files: &ModelFiles, config: &ModelConfig) -> Result<BertWeights, Error> {
    match files.int8 {
        Int8File::Only => Ok(int8_weights(files, config)?.dequantized()),
        _ => read_weights(files, config),
    }
}

/// Prompts and tool texts that show the range of each layer's inputs. Changing a word changes the
/// rounded weights: see [`INT8_ARITHMETIC`] and the hashes in `models/`.
const EXAMPLES: &str = include_str!("calibration.txt");

/// Rounds a model's weights. The tokenizer may be in another folder.
pub(super) fn round_weights(
    weights: &ModelFiles,
    tokenizer: &ModelFiles,
    config: &ModelConfig,
) -> Result<BertWeights, Error> {
    let tokenizer = TextTokenizer::load(tokenizer, config.max_tokens)?;
    let ids: Vec<Vec<u32>> =
        EXAMPLES.lines().map(|text| tokenizer.ids(text)).collect::<Result<_, _>>()?;
    let threads = EncoderOptions::default().threads;
    // The weights are read twice, because the encoder packs them into its own layout and does not
    // keep the originals.
    let encoder = Encoder::new(read_weights(weights, config)?, config, threads);
    encoder::rounded(read_weights(weights, config)?, &encoder, &ids)
}

/// Returns the rounded weights from their own file. If there is none, rounds the model's weights
/// and tries to save the result for the next start.
fn int8_weights(files: &ModelFiles, config: &ModelConfig) -> Result<BertWeights, Error> {
    if matches!(files.int8, Int8File::Whole | Int8File::Only) {
        return rounded_weights(files, config);
    }
    let weights = round_weights(files, files, config)?;
    if files.int8 == Int8File::Missing {
        let kept = encoder::to_bytes(&weights, files.fingerprint()).and_then(|bytes| {
            // A model store may serve several users.
            let written = durable::replace(&files.path(INT8_FILE), Readers::All, &bytes);
            written.map_err(|error| error.to_string())
        });
        if let Err(error) = kept {
            tracing::debug!("the rounded weights are not kept: {error}");
        }
    }
    Ok(weights)
}

fn rounded_weights(files: &ModelFiles, config: &ModelConfig) -> Result<BertWeights, Error> {
    let (path, layers) = (files.path(INT8_FILE), config.bert.num_hidden_layers);
    let (source, expected) = if files.int8 == Int8File::Only {
        (None, "weights that `toolroute model round` of this version wrote")
    } else {
        let expected = "weights that this version rounded; delete the file and it is made anew";
        (Some(files.fingerprint()), expected)
    };
    let weights = match files.in_program(INT8_FILE) {
        Some(bytes) => encoder::from_bytes(bytes, Cow::Borrowed, source, layers),
        None => {
            let bytes = Mapped::open(&path).map_err(Error::io("read", &path))?;
            encoder::from_bytes(&bytes, |numbers| numbers.to_vec().into(), source, layers)
        }
    };
    let weights =
        weights.map_err(|problem| Error::BadFile { path: path.clone(), expected, problem })?;
    weights.check(&config.bert).map_err(|problem| Error::BadFile { path, expected, problem })?;
    Ok(weights)
}

/// Writes `vector`, scaled to length 1, into `out`.
pub(super) fn write_unit(vector: &[f32], row: usize, out: Option<&mut [f32]>) -> Result<(), Error> {
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
