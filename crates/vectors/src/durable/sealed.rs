//! A file that tells whether it is what was written. All numbers are little-endian.
//!
//! | bytes | what |
//! |---|---|
//! | 8 | magic |
//! | 4 | format version, `u32` |
//! | 4 | length of the header, `u32` |
//! | … | header, JSON |
//! | … | body, as long as the header says |
//! | 32 | SHA-256 of everything before |
//!
//! The seal finds damage, not forgery: whoever can write the file can seal it too. So nothing is
//! sliced or allocated by a length from the file before all lengths have been added up and found to
//! be the size of the file.

use serde::Serialize;
use serde::de::DeserializeOwned;
use sha2::{Digest as _, Sha256};

/// Bytes of magic, version and header length.
const FIXED: usize = 16;

/// Bytes of the seal.
pub const HASH: usize = 32;

/// A kind of file.
#[derive(Clone, Copy, Debug)]
pub struct Sealed {
    /// How it begins. The last byte is best no letter, so that no text file begins like it.
    pub magic: [u8; 8],
    /// To be raised with every change to header or body.
    pub version: u32,
}

/// Why bytes are not a file of a kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flaw {
    /// It begins like another kind.
    Foreign,
    Version {
        found: u32,
    },
    /// It has fewer bytes than it should.
    Truncated {
        expected: u64,
        got: u64,
    },
    /// The seal is not that of the bytes before it, or the header is none.
    Damaged,
}

/// Two lower-case hexadecimal digits a byte, as hashes stand in files and names.
pub fn hex(bytes: &[u8]) -> String {
    let digits = bytes.iter().flat_map(|byte| [byte >> 4, byte & 15]);
    digits.map(|digit| char::from(b"0123456789abcdef"[usize::from(digit)])).collect()
}

/// The SHA-256 hash of some bytes as 64 lower-case hexadecimal digits.
pub fn sha256_hex(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}

impl Sealed {
    /// The bytes of a file; `body` adds what lies between header and seal.
    pub fn seal(&self, header: &impl Serialize, body: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
        let header =
            serde_json::to_vec(header).expect("strings and numbers are JSON. This is a bug.");
        let mut bytes = Vec::new();
        bytes.extend_from_slice(&self.magic);
        bytes.extend_from_slice(&self.version.to_le_bytes());
        bytes.extend_from_slice(&(header.len() as u32).to_le_bytes());
        bytes.extend_from_slice(&header);
        body(&mut bytes);
        let seal = Sha256::digest(&bytes);
        bytes.extend_from_slice(&seal);
        bytes
    }

    /// Header and body. `size` is the length of the body that a header speaks of, `None` where it is
    /// beyond any file.
    ///
    /// # Errors
    /// The first [`Flaw`] from the front.
    pub fn open<'b, H: DeserializeOwned>(
        &self,
        bytes: &'b [u8],
        size: impl FnOnce(&H) -> Option<u64>,
    ) -> Result<(H, &'b [u8]), Flaw> {
        let got = bytes.len() as u64;
        let truncated = |expected| Flaw::Truncated { expected, got };
        if !self.magic.starts_with(&bytes[..bytes.len().min(self.magic.len())]) {
            return Err(Flaw::Foreign);
        }
        let fixed = bytes.first_chunk::<FIXED>().ok_or(truncated((FIXED + HASH) as u64))?;
        let word = |at: usize| {
            u32::from_le_bytes([fixed[at], fixed[at + 1], fixed[at + 2], fixed[at + 3]])
        };
        let (found, header_length) = (word(8), word(12));
        if found != self.version {
            return Err(Flaw::Version { found });
        }
        let least = FIXED as u64 + u64::from(header_length) + HASH as u64;
        if got < least {
            return Err(truncated(least));
        }
        let (sealed, seal) = bytes.split_at(bytes.len() - HASH);
        let (header, body) = sealed[FIXED..].split_at(header_length as usize);
        // A header that cannot be read was damaged: the seal would say so too.
        let header: H = serde_json::from_slice(header).map_err(|_| Flaw::Damaged)?;
        let expected = size(&header).and_then(|size| size.checked_add(least));
        let expected = expected.ok_or(Flaw::Damaged)?;
        if got < expected {
            return Err(truncated(expected));
        }
        if got > expected || Sha256::digest(sealed)[..] != *seal {
            return Err(Flaw::Damaged);
        }
        Ok((header, body))
    }
}
