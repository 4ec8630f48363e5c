//! toolroute
pub mod catalog;
pub mod embedding;
