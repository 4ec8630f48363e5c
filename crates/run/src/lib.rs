//! Calls a tool and survives its failure ([`execution`]), and remembers which definition of a tool
//! was agreed to ([`pins`], feature `mcp`).
//!
//! This crate must never know how a tool was chosen.

pub mod execution;
#[cfg(feature = "mcp")]
pub mod pins;

use sha2::{Digest, Sha256};

/// The SHA-256 hash of some bytes as 64 hexadecimal digits.
pub(crate) fn sha256_hex(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}
