//! Where each byte of a usage file lies. All numbers are little-endian.
//!
//! | bytes | what |
//! |---|---|
//! | 8 | magic |
//! | 4 | format version, `u32` |
//! | 4 | length of the header, `u32` |
//! | … | header, JSON: model, handicap, tools with their number of prompts, tools of each sampled prompt |
//! | tools × dimension × 8 | sums of prompt vectors, `i64` in parts of 2^32 |
//! | sampled × (32 + dimension × 4) | SHA-256 of the prompt's text, its vector, `f32` |
//! | 32 | SHA-256 of everything before |
//!
//! Nothing is sliced or allocated by a length from the file before all lengths have been added up
//! and found to be the size of the file.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::Error;
use super::execution::PromptHash;
use super::moves::MOST_HANDICAP;
use super::sample::{Sample, Sampled};
use super::usage_vectors::{History, ONE, UsageModel, UsageVectors};
use crate::catalog::ToolId;

/// The last byte is no letter, so that no text file begins like this.
const MAGIC: [u8; 8] = *b"tlusage\x1a";

/// Raise it with every change to the layout, and check in a file of the old one for a test.
const VERSION: u32 = 1;

/// Magic, version and header length.
const FIXED: usize = 16;

/// The SHA-256 at the end, and of each prompt.
pub(super) const HASH: usize = 32;

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Header {
    model: UsageModel,
    handicap: f32,
    tools: Vec<HeaderTool>,
    sample: Vec<BTreeSet<ToolId>>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct HeaderTool {
    id: ToolId,
    prompts: u64,
}

pub(super) fn encode(usage: &UsageVectors) -> Vec<u8> {
    let tool = |(id, history): (&ToolId, &History)| HeaderTool {
        id: id.clone(),
        prompts: history.prompts,
    };
    let header = Header {
        model: usage.model.clone(),
        handicap: usage.handicap,
        tools: usage.tools.iter().map(tool).collect(),
        sample: usage.sample.prompts.values().map(|prompt| prompt.tools.clone()).collect(),
    };
    let header = serde_json::to_vec(&header).expect("strings and numbers are JSON. This is a bug.");
    let mut bytes = Vec::new();
    bytes.extend_from_slice(&MAGIC);
    bytes.extend_from_slice(&VERSION.to_le_bytes());
    bytes.extend_from_slice(&(header.len() as u32).to_le_bytes());
    bytes.extend_from_slice(&header);
    for history in usage.tools.values() {
        bytes.extend(history.sum.iter().flat_map(|number| number.to_le_bytes()));
    }
    for (hash, prompt) in &usage.sample.prompts {
        bytes.extend_from_slice(&hash.0);
        bytes.extend(prompt.vector.iter().flat_map(|number| number.to_le_bytes()));
    }
    let seal = Sha256::digest(&bytes);
    bytes.extend_from_slice(&seal);
    bytes
}

pub(super) fn decode(bytes: &[u8], path: &Path) -> Result<UsageVectors, Error> {
    let (header, body) = open(bytes, path)?;
    let malformed = |what: &str| Error::Malformed { path: path.to_owned(), what: what.into() };
    if !(0.0..=MOST_HANDICAP).contains(&header.handicap) {
        return Err(malformed("its handicap is out of range"));
    }
    // `open` has found these to add up to the size of the file, so they fit.
    let dimension = header.model.dimension;
    let (sums, sampled) = body.split_at(header.tools.len() * dimension * 8);
    let numbers = sums.as_chunks::<8>().0;
    let mut tools = BTreeMap::new();
    for (at, HeaderTool { id, prompts }) in header.tools.into_iter().enumerate() {
        let sum = numbers[at * dimension..][..dimension].iter().map(|b| i64::from_le_bytes(*b));
        let history = History { prompts, sum: sum.collect() };
        if !fits(&history) {
            return Err(malformed("a sum is more than its prompts can add up to"));
        }
        if tools.insert(id, history).is_some() {
            return Err(malformed("a tool comes twice"));
        }
    }
    let sample = sample(header.sample, sampled, dimension);
    let sample = sample.ok_or_else(|| malformed("its sample of prompts is not one"))?;
    Ok(UsageVectors { model: header.model, tools, sample, handicap: header.handicap })
}

/// Whether so many unit vectors can have this sum.
fn fits(history: &History) -> bool {
    const MOST_PROMPTS: u64 = 1 << 31;
    let most = history.prompts as f64 * ONE * 1.001;
    let within = |&sum: &i64| (sum as f64).abs() <= most;
    (1..MOST_PROMPTS).contains(&history.prompts) && history.sum.iter().all(within)
}

fn sample(tools: Vec<BTreeSet<ToolId>>, bytes: &[u8], dimension: usize) -> Option<Sample> {
    let mut sample = Sample::default();
    for (tools, bytes) in tools.into_iter().zip(bytes.chunks_exact(HASH + dimension * 4)) {
        let (hash, vector) = bytes.split_first_chunk::<HASH>()?;
        let numbers = vector.as_chunks::<4>().0.iter();
        let vector: Vec<f32> = numbers.map(|number| f32::from_le_bytes(*number)).collect();
        let usable = vector.iter().all(|number| number.abs() <= 1.001);
        let known = sample.prompts.insert(PromptHash(*hash), Sampled { vector, tools });
        if !usable || known.is_some() {
            return None;
        }
    }
    Some(sample)
}

/// Checks magic, version, sizes and seal; returns the header and what lies between it and the seal.
fn open<'b>(bytes: &'b [u8], path: &Path) -> Result<(Header, &'b [u8]), Error> {
    let got = bytes.len() as u64;
    let truncated = |expected| Error::Truncated { path: path.to_owned(), expected, got };
    let magic = &bytes[..bytes.len().min(MAGIC.len())];
    if !MAGIC.starts_with(magic) {
        return Err(Error::Foreign { path: path.to_owned() });
    }
    let Some(fixed) = bytes.first_chunk::<FIXED>() else {
        return Err(truncated((FIXED + HASH) as u64));
    };
    let word =
        |at: usize| u32::from_le_bytes([fixed[at], fixed[at + 1], fixed[at + 2], fixed[at + 3]]);
    let (found, header_length) = (word(8), word(12));
    if found != VERSION {
        return Err(Error::Version { path: path.to_owned(), found, expected: VERSION });
    }
    let least = FIXED as u64 + u64::from(header_length) + HASH as u64;
    if got < least {
        return Err(truncated(least));
    }
    let (sealed, seal) = bytes.split_at(bytes.len() - HASH);
    let (header, body) = sealed[FIXED..].split_at(header_length as usize);
    // A header that cannot be read was damaged: the seal would say so too.
    let damaged = || Error::Checksum { path: path.to_owned() };
    let header: Header = serde_json::from_slice(header).map_err(|_| damaged())?;
    let expected = file_size(least, &header).ok_or_else(damaged)?;
    if got < expected {
        return Err(truncated(expected));
    }
    if got > expected || Sha256::digest(sealed)[..] != *seal {
        return Err(damaged());
    }
    Ok((header, body))
}

/// None where the sizes are beyond any file.
fn file_size(fixed_and_header: u64, header: &Header) -> Option<u64> {
    let dimension = header.model.dimension as u64;
    let tools = (header.tools.len() as u64).checked_mul(dimension.checked_mul(8)?)?;
    let prompt = dimension.checked_mul(4)?.checked_add(HASH as u64)?;
    let sampled = (header.sample.len() as u64).checked_mul(prompt)?;
    tools.checked_add(sampled)?.checked_add(fixed_and_header)
}
