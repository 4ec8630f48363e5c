//! From a text to its vector, and from a vector to the nearest rows: encoders ([`embedding`]),
//! indexes ([`index`]) and files that survive a kill ([`durable`]).
//!
//! This crate must never know what a tool or a prompt is.
//!
//! ```
//! use toolroute_vectors::index::Bm25Index;
//!
//! let index = Bm25Index::build(["reads a file", "sends an email"]);
//! assert_eq!(index.search("send email", 1)[0].row, 1);
//! ```

pub mod durable;
pub mod embedding;
pub mod index;
