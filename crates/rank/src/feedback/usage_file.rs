//! The layout of a usage file, which is a sealed file (`durable/sealed.rs`). All numbers are
//! little-endian. The header contains the model, the strength, the handicap, the scores of past prompts, the tools with their
//! numbers of prompts and, for each sampled prompt, the tools that served it, with how often they
//! did.
//!
//! | bytes of the body | content |
//! |---|---|
//! | tools × dimension × 8 | sums of prompt vectors, `i64` in units of 2^-32 |
//! | sampled × (32 + dimension × 4) | SHA-256 of the prompt's text, its vector, `f32` |

use std::collections::BTreeMap;
use std::io;
use std::path::Path;

use serde::{Deserialize, Serialize};
use toolroute_catalog::ToolId;
use toolroute_vectors::durable::{self, Flaw, HASH, ModelIdentity, Readers, Sealed};

use super::Error;
use super::execution::PromptHash;
use super::usage_vectors::{
    History, MOST_HANDICAP, ONE, PromptSample, SampledPrompt, ServedScores, UsageVectors,
};

/// Increment the version with every change of the layout, and add a file of the old version as a
/// test.
const KIND: Sealed = Sealed { magic: *b"tlusage\x1a", version: 3 };

/// More than any score by meaning: a cosine times the greatest reach.
const MOST_SCORE: f32 = 2.0;

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Header {
    model: ModelIdentity,
    strength: f32,
    handicap: f32,
    served: Option<ServedScores>,
    tools: Vec<HeaderTool>,
    sample: Vec<BTreeMap<ToolId, u64>>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct HeaderTool {
    id: ToolId,
    prompts: u64,
}

impl UsageVectors {
    /// Returns a fingerprint of what was learned: the SHA-256 of all of it, in hexadecimal.
    #[doc(hidden)] // For our own crates.
    pub fn fingerprint(&self) -> String {
        let bytes = encode(self);
        let seal = &bytes[bytes.len() - HASH..];
        durable::hex(seal)
    }

    /// Writes the file atomically, readable by its owner only.
    ///
    /// # Errors
    /// [`Error::Io`] if the file cannot be written.
    pub fn save(&self, path: impl AsRef<Path>) -> Result<(), Error> {
        let path = path.as_ref();
        let written = durable::replace(path, Readers::Owner, &encode(self));
        written.map_err(|source| Error::Io { path: path.to_owned(), source })
    }

    /// Reads and verifies a file.
    ///
    /// # Errors
    /// If the file is missing, unreadable or damaged.
    pub fn load(path: impl AsRef<Path>) -> Result<Self, Error> {
        let path = path.as_ref();
        let bytes = std::fs::read(path).map_err(|source| match source.kind() {
            io::ErrorKind::NotFound => Error::Missing { path: path.to_owned() },
            _ => Error::Io { path: path.to_owned(), source },
        })?;
        decode(&bytes, path)
    }
}

pub(super) fn encode(usage: &UsageVectors) -> Vec<u8> {
    let tool = |(id, history): (&ToolId, &History)| HeaderTool {
        id: id.clone(),
        prompts: history.prompts,
    };
    let header = Header {
        model: usage.model.clone(),
        strength: usage.strength,
        handicap: usage.handicap,
        served: usage.served,
        tools: usage.tools.iter().map(tool).collect(),
        sample: usage.sample.values().map(|prompt| prompt.tools.clone()).collect(),
    };
    KIND.seal(&header, |bytes| {
        for history in usage.tools.values() {
            bytes.extend(history.sum.iter().flat_map(|number| number.to_le_bytes()));
        }
        for (hash, prompt) in &usage.sample {
            bytes.extend_from_slice(&hash.0);
            bytes.extend(prompt.vector.iter().flat_map(|number| number.to_le_bytes()));
        }
    })
}

pub(super) fn decode(bytes: &[u8], path: &Path) -> Result<UsageVectors, Error> {
    let opened = KIND.open(bytes, size);
    let (header, body): (Header, _) = opened.map_err(|flaw| refused(flaw, path))?;
    let malformed = |what: &str| Error::Malformed { path: path.to_owned(), what: what.into() };
    if !(0.0..=1.0).contains(&header.strength) {
        return Err(malformed("its strength is out of range"));
    }
    if !(0.0..=MOST_HANDICAP).contains(&header.handicap) {
        return Err(malformed("its handicap is out of range"));
    }
    if header.served.is_some_and(|served| served.reached.abs() > MOST_SCORE) {
        return Err(malformed("the scores of its prompts are out of range"));
    }
    // `open` has checked that the sizes add up to the size of the file.
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
    let Header { model, strength, handicap, served, .. } = header;
    Ok(UsageVectors { model, tools, sample, strength, handicap, served })
}

/// Whether the sum is possible for this number of unit vectors.
fn fits(history: &History) -> bool {
    const MOST_PROMPTS: u64 = 1 << 31;
    let most = history.prompts as f64 * ONE * 1.001;
    let within = |&sum: &i64| (sum as f64).abs() <= most;
    (1..MOST_PROMPTS).contains(&history.prompts) && history.sum.iter().all(within)
}

fn sample(
    tools: Vec<BTreeMap<ToolId, u64>>,
    bytes: &[u8],
    dimension: usize,
) -> Option<PromptSample> {
    let mut sample = PromptSample::default();
    for (tools, bytes) in tools.into_iter().zip(bytes.chunks_exact(HASH + dimension * 4)) {
        let (hash, vector) = bytes.split_first_chunk::<HASH>()?;
        let numbers = vector.as_chunks::<4>().0.iter();
        let vector: Vec<f32> = numbers.map(|number| f32::from_le_bytes(*number)).collect();
        let usable = vector.iter().all(|number| number.abs() <= 1.001);
        let known = sample.insert(PromptHash(*hash), SampledPrompt { vector, tools });
        if !usable || known.is_some() {
            return None;
        }
    }
    Some(sample)
}

fn refused(flaw: Flaw, path: &Path) -> Error {
    let path = path.to_owned();
    match flaw {
        Flaw::Foreign => Error::Foreign { path },
        Flaw::Version { found } => Error::Version { path, found, expected: KIND.version },
        Flaw::Truncated { expected, got } => Error::Truncated { path, expected, got },
        Flaw::Damaged => Error::Checksum { path },
    }
}

fn size(header: &Header) -> Option<u64> {
    let dimension = header.model.dimension as u64;
    let tools = (header.tools.len() as u64).checked_mul(dimension.checked_mul(8)?)?;
    let prompt = dimension.checked_mul(4)?.checked_add(HASH as u64)?;
    tools.checked_add((header.sample.len() as u64).checked_mul(prompt)?)
}
