//! toolroute
pub mod catalog;
#[cfg(feature = "cli")]
pub mod cli;
pub mod embedding;
pub mod engine;
pub mod eval;
pub mod index;
pub mod selection;
