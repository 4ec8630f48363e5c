//! The one trait of this room: whatever turns texts into unit vectors.

use std::time::Duration;

use ndarray::Array2;
use serde::{Deserialize, Serialize};

use super::{Backend, BertEmbedder, EncoderOptions, Error, ModelFiles, StaticEmbedder};

/// Which side of the search a text stands on. Some models prefix the two sides differently.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// A prompt, embedded when it comes.
    Query,
    /// A text that is searched for, embedded once.
    Document,
}

/// What makes two vectors comparable: they come from models of equal identity.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
pub struct ModelIdentity {
    /// For people: `all-MiniLM-L6-v2`.
    pub name: String,
    /// SHA-256, in hex, over every file that influences the vectors.
    pub fingerprint: String,
    /// Length of a vector.
    pub dimension: usize,
}

/// Where a model's scores begin to mean that something fits: fitted on several catalogs, kept in the
/// model's manifest (`docs/quality.md` says how).
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Calibration {
    /// The evidence at which a tool fits as likely as not, before what the catalog adds to it.
    pub threshold: f32,
    /// What is added each time that the catalog doubles.
    #[serde(default)]
    pub per_doubling: f32,
    /// The share of the catalog's background evidence that is added: the evidence that prompts in
    /// general have there.
    #[serde(default)]
    pub background: f32,
    /// How much more evidence takes the odds from even to 2.7 : 1.
    pub width: f32,
}

impl Calibration {
    /// Whether a confidence can be had from it.
    pub(super) fn is_sound(&self) -> bool {
        let Self { threshold, per_doubling, background, width } = *self;
        [threshold, per_doubling, background, width].iter().all(|number| number.is_finite())
            && width > 0.0
    }
}

/// Vectors of a batch of texts, with what they cost.
#[derive(Clone, Debug)]
pub struct Embedded {
    /// One unit vector a text, in the texts' order: `[texts, dimension]`.
    pub vectors: Array2<f32>,
    /// Time spent on turning text into token ids.
    pub tokenize: Duration,
    /// Token ids after truncation, special ones included.
    pub tokens: usize,
}

/// Turns texts into unit vectors.
///
/// Implementations are deterministic and may be called from several threads at once.
pub trait Embedder: Send + Sync {
    /// Who makes the vectors.
    fn identity(&self) -> &ModelIdentity;

    /// Embeds a batch. An empty batch gives no rows; an empty text is a text like any other.
    ///
    /// # Errors
    /// Where tokenising or inference fails. No row is zero or non-finite in an `Ok`.
    fn embed(&self, texts: &[&str], role: Role) -> Result<Embedded, Error>;

    /// Whether the vocabulary has words of Latin script alone, and reads any other letter by
    /// letter: what such a model says of a Chinese prompt is worth little.
    fn reads_latin_only(&self) -> bool {
        false
    }

    /// Whether the model reads a word, in lower case, as one: then it is no slip of the fingers. Who
    /// knows no English vocabulary to look it up in, says so of every word.
    fn knows_word(&self, word: &str) -> bool {
        let _ = word;
        true
    }

    /// How to tell from this model's scores that nothing fits; `None` where nobody measured it.
    fn calibration(&self) -> Option<Calibration> {
        None
    }
}

/// Loads a model of any kind; a static one has no encoder to run.
///
/// # Errors
/// As [`BertEmbedder::load_with`]; [`Error::NoEncoder`] where a static model is to be run by candle.
pub fn load(files: &ModelFiles, options: EncoderOptions) -> Result<Box<dyn Embedder>, Error> {
    match (files.is_static(), options.backend) {
        (false, _) => Ok(Box::new(BertEmbedder::load_with(files, options)?)),
        (true, Backend::Native) => Ok(Box::new(StaticEmbedder::load(files)?)),
        (true, Backend::Candle(_)) => Err(Error::NoEncoder { name: files.name().to_owned() }),
    }
}
