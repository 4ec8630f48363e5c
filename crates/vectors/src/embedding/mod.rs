//! Turns texts into vectors with local sentence-transformers, and stores the model files.
//!
//! This module knows texts, files and vectors. It must never know what a tool is, nor use the
//! network outside [`hub`], which runs only when a user requests a download.
//!
//! ```no_run
//! use toolroute_vectors::embedding::{BertEmbedder, Embedder, ModelStore, Role};
//!
//! let store = ModelStore::new("/var/lib/toolroute/models");
//! let model = store.open("all-MiniLM-L6-v2")?;
//! let embedder = BertEmbedder::load(&model)?; // without files: BertEmbedder::built_in()
//! let embedded = embedder.embed(&["What is the weather in Haifa?"], Role::Query)?;
//! assert_eq!(embedded.vectors.shape(), [1, 384]);
//! # Ok::<(), toolroute_vectors::embedding::Error>(())
//! ```

mod architecture;
mod backend;
mod bert;
mod built_in;
mod cached;
mod embedder;
mod encoder;
mod error;
mod files;
#[cfg(feature = "hub")]
pub mod hub;
mod manifest;
mod pooling;
#[cfg(feature = "candle")]
mod reference;
mod round;
mod static_model;
mod store;
mod tokenizer;
mod vector_check;

pub use crate::durable::ModelIdentity;
pub use backend::{Backend, Device};
pub use bert::{BertEmbedder, EncoderOptions};
pub use cached::CachedEmbedder;
pub use embedder::{Calibration, Embedded, Embedder, Role, load};
pub use encoder::Precision;
pub use error::Error;
pub use files::ModelFiles;
pub use manifest::{FileEntry, Manifest};
pub use pooling::Pooling;
pub use round::{Rounding, round};
pub use static_model::StaticEmbedder;
pub use store::{DEFAULT_MODEL, FETCHED_MODEL, Installed, ModelStore};
pub use vector_check::VectorCheck;
