//! A file format with a checksum. All numbers are little-endian.
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
//! The checksum detects damage, not forgery: whoever can write the file can also compute the
//! checksum. Therefore nothing is sliced or allocated by a length from the file before all lengths
//! have been added up and found to equal the size of the file.

use serde::Serialize;
use serde::de::DeserializeOwned;
use sha2::{Digest as _, Sha256};

/// Bytes of magic, version and header length together.
const FIXED: usize = 16;

/// Bytes of the checksum.
pub const HASH: usize = 32;

/// Identifies a file format.
#[derive(Clone, Copy, Debug)]
pub struct Sealed {
    /// The first bytes of the file. The last one should not be a letter, so that no text file
    /// begins like it.
    pub magic: [u8; 8],
    /// Increase it with every change to header or body.
    pub version: u32,
}

/// Why bytes are not a valid file of the expected format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flaw {
    /// The magic is that of another format.
    Foreign,
    Version {
        found: u32,
    },
    /// The file is shorter than its header says.
    Truncated {
        expected: u64,
        got: u64,
    },
    /// The checksum does not match, or the header is not valid JSON.
    Damaged,
}

/// The body of a file starts at a multiple of this, so that its numbers can be used in place.
const ALIGNMENT: usize = 64;

/// Formats bytes as lower-case hexadecimal, two digits per byte.
pub fn hex(bytes: &[u8]) -> String {
    let digits = bytes.iter().flat_map(|byte| [byte >> 4, byte & 15]);
    digits.map(|digit| char::from(b"0123456789abcdef"[usize::from(digit)])).collect()
}

/// Returns the SHA-256 hash of `bytes` as 64 lower-case hexadecimal digits.
pub fn sha256_hex(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}

impl Sealed {
    /// Builds a complete file. `body` appends the bytes between header and checksum.
    pub fn seal(&self, header: &impl Serialize, body: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
        let mut header =
            serde_json::to_vec(header).expect("strings and numbers are JSON. This is a bug.");
        // Padding, because JSON allows white space after a value.
        header.resize((FIXED + header.len()).next_multiple_of(ALIGNMENT) - FIXED, b' ');
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

    /// Checks a file and returns its header and body. `size` computes the length of the body from
    /// the header; it returns `None` if that length overflows.
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
        // The checksum would report a damaged header too, but the header is needed first.
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
