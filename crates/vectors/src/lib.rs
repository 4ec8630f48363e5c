//! From a text to its vector, and from a vector to the nearest rows: encoders ([`embedding`]),
//! indexes ([`index`]) and files that survive a kill ([`durable`]).
//!
//! This crate must never know what a tool or a prompt is.

pub mod durable;
pub mod embedding;
pub mod index;
