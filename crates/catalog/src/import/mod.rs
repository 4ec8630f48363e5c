//! Tools out of any of the formats in which they are written down.
//!
//! A file is known by its content, never by its name. First its syntax is found ([`syntax`]: JSON,
//! JSON lines, TOML, YAML), which gives one or more JSON documents; then each document is walked
//! down to its tools ([`walk`]), and each tool is read by the reader of its format.

mod format;
mod jsonl;
mod openapi;
mod refs;
mod syntax;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod unfolding;
mod vendors;
mod walk;

use crate::source::Source;
use crate::{Problem, Tool};

pub(super) use jsonl::to_row;
pub(super) use syntax::documents;

/// What a file held.
#[derive(Debug, Default)]
pub(super) struct Import {
    pub tools: Vec<Found>,
    pub problems: Vec<Problem>,
    /// Messages of a log that are about something else than tools.
    pub skipped: usize,
}

/// A tool and the line at which it stands, where that is known.
#[derive(Debug)]
pub(super) struct Found {
    pub tool: Tool,
    pub line: Option<usize>,
}

/// Every tool of a source. The error is the reason why the source as a whole was not understood.
pub(super) fn read(source: &Source<'_>) -> Result<Import, Box<Problem>> {
    let documents = documents(source).map_err(|problem| Box::new(source.locate(*problem, None)))?;
    walk::walk(source, &documents)
}
