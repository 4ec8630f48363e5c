//! Reads tools from every supported format.
//!
//! A file's format is detected from its content, never from its name. [`syntax`] detects the syntax
//! (JSON, JSON lines, TOML, YAML) and returns one or more JSON documents; [`walk`] finds the tools
//! in each document and calls the reader of each tool's format.

mod format;
mod jsonl;
mod openapi;
mod refs;
mod schema;
mod syntax;
#[cfg(test)]
mod tests;
mod vendors;
mod walk;

use std::sync::Arc;

use crate::source::Source;
use crate::{Problem, Tool};

pub(super) use jsonl::to_row;
pub(super) use syntax::documents;

/// The tools of a file, and the problems found in it.
#[derive(Debug, Default)]
pub(super) struct Import {
    pub tools: Vec<ImportedTool>,
    pub problems: Vec<Problem>,
    /// The number of JSON-RPC messages that are not about tools.
    pub skipped: usize,
}

/// A tool, with its line if that is known.
#[derive(Debug)]
pub(super) struct ImportedTool {
    /// Allocated once: a list of the tools themselves is copied whenever it grows.
    pub tool: Arc<Tool>,
    pub line: Option<usize>,
}

/// Reads every tool of a source.
pub(super) fn read(source: &Source<'_>) -> Result<Import, Box<Problem>> {
    let documents = documents(source).map_err(|problem| Box::new(source.locate(*problem, None)))?;
    walk::walk(source, &documents)
}
