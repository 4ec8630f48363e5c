//! Calls a tool and survives its failure ([`execution`]), and remembers which definition of a tool
//! was agreed to ([`pins`], feature `mcp`).
//!
//! This crate must never know how a tool was chosen.

pub mod execution;
#[cfg(feature = "mcp")]
pub mod pins;
