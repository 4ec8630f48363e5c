//! The trait [`Embedder`], which turns texts into unit vectors.

use std::sync::Arc;
use std::time::Duration;

use ndarray::Array2;
use serde::{Deserialize, Serialize};

use super::{Backend, BertEmbedder, EncoderOptions, Error, ModelFiles, StaticEmbedder};
use crate::durable::ModelIdentity;

/// Which side of the search a text is on. Some models use different prefixes for the two sides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// A prompt, embedded on arrival.
    Query,
    /// A text that can be found, embedded once.
    Document,
}

/// Parameters that turn a model's scores into a probability that something fits. They were fitted
/// on several catalogs and are stored in the model's manifest; `docs/quality.md` describes how.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Calibration {
    /// The evidence at which a tool fits with probability ½, before the catalog's contributions
    /// below are added to it.
    pub threshold: f32,
    /// What is added to the threshold each time the number of tools doubles.
    #[serde(default)]
    pub per_doubling: f32,
    /// The share of the catalog's background evidence that is added to the threshold. Background
    /// evidence is the evidence that 90 % of ordinary prompts reach in this catalog.
    #[serde(default)]
    pub background: f32,
    /// The additional evidence that changes the odds from 1 : 1 to 2.7 : 1.
    pub width: f32,
}

impl Calibration {
    /// Whether the values allow a confidence to be computed.
    pub(super) fn is_sound(&self) -> bool {
        let Self { threshold, per_doubling, background, width } = *self;
        [threshold, per_doubling, background, width].iter().all(|number| number.is_finite())
            && width > 0.0
    }
}

/// Vectors of a batch of texts, with their cost.
#[derive(Clone, Debug)]
pub struct Embedded {
    /// One unit vector per text, in the order of the texts: `[texts, dimension]`.
    pub vectors: Array2<f32>,
    /// Time spent on tokenising.
    pub tokenize: Duration,
    /// Number of token ids after truncation, including special tokens.
    pub tokens: usize,
}

impl Embedded {
    /// The vectors of an embedder of your own, one for each text; it has no tokens to count.
    ///
    /// # Errors
    /// [`Error::UnequalRows`].
    pub fn from_rows(rows: &[Vec<f32>]) -> Result<Self, Error> {
        let expected = rows.first().map_or(0, Vec::len);
        for (row, found) in rows.iter().map(Vec::len).enumerate() {
            if found != expected {
                return Err(Error::UnequalRows { row, expected, found });
            }
        }
        let vectors = Array2::from_shape_vec((rows.len(), expected), rows.concat())
            .expect("all rows have the same length. This is a bug.");
        Ok(Self { vectors, tokenize: Duration::ZERO, tokens: 0 })
    }
}

/// Turns texts into unit vectors.
///
/// Implementations are deterministic and may be called from several threads at once.
///
/// ```
/// use toolroute_vectors::embedding::{Embedded, Embedder, Error, ModelIdentity, Role};
///
/// struct Remote(ModelIdentity);
///
/// impl Embedder for Remote {
///     fn identity(&self) -> &ModelIdentity {
///         &self.0
///     }
///
///     fn embed(&self, texts: &[&str], _: Role) -> Result<Embedded, Error> {
///         let answer: Result<Vec<Vec<f32>>, std::io::Error> = // of a backend of yours
/// #           Ok(vec![vec![0.6, 0.8]; texts.len()]);
///         Embedded::from_rows(&answer.map_err(Error::other)?)
///     }
/// }
/// # let identity = ModelIdentity { name: "m".into(), fingerprint: "f".into(), dimension: 2 };
/// # assert_eq!(Remote(identity).embed(&["a"], Role::Query)?.vectors.shape(), [1, 2]);
/// # Ok::<(), Error>(())
/// ```
pub trait Embedder: Send + Sync {
    /// The model that makes the vectors.
    fn identity(&self) -> &ModelIdentity;

    /// Embeds a batch. An empty batch returns no rows; an empty string is embedded like any other
    /// text.
    ///
    /// # Errors
    /// If tokenising or inference fails; a backend of your own gives [`Error::other`]. In an `Ok`,
    /// every row has length 1. An engine returns an error for other rows.
    fn embed(&self, texts: &[&str], role: Role) -> Result<Embedded, Error>;

    /// Whether the vocabulary only has words in Latin script and reads other scripts letter by
    /// letter. Scores of such a model for, say, a Chinese prompt mean little.
    #[doc(hidden)] // For our own crates.
    fn reads_latin_only(&self) -> bool {
        false
    }

    /// Whether `word`, in lower case, is a single token of the vocabulary, and therefore not a
    /// typing error. Models without an English vocabulary return `true` for every word.
    #[doc(hidden)] // For our own crates.
    fn knows_word(&self, word: &str) -> bool {
        let _ = word;
        true
    }

    /// Parameters that tell when nothing fits; `None` if they were not fitted for this model.
    fn calibration(&self) -> Option<Calibration> {
        None
    }
}

/// Loads a model of any kind. A static model has no encoder, therefore most of `options` do not
/// apply to it.
///
/// # Errors
/// The same as [`BertEmbedder::load_with`], and [`Error::NoEncoder`] if candle is requested for a
/// static model.
pub fn load(files: &ModelFiles, options: EncoderOptions) -> Result<Arc<dyn Embedder>, Error> {
    match (files.is_static(), options.backend) {
        (false, _) => Ok(Arc::new(BertEmbedder::load_with(files, options)?)),
        (true, Backend::Native) => Ok(Arc::new(StaticEmbedder::load(files)?)),
        (true, Backend::Candle(_)) => Err(Error::NoEncoder { name: files.name().to_owned() }),
    }
}
