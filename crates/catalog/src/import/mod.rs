//! Reads tools from every supported format.
//!
//! The content of a file decides its format, never its name. [`syntax`] finds the syntax (JSON, JSON
//! lines, TOML, YAML) and gives one or more JSON documents; [`walk`] finds the tools in each document,
//! and the reader of a tool's format reads it.

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

/// The tools of a file.
#[derive(Debug, Default)]
pub(super) struct Import {
    pub tools: Vec<ImportedTool>,
    pub problems: Vec<Problem>,
    /// Messages of a log that are not about tools.
    pub skipped: usize,
}

/// A tool, and its line where that is known.
#[derive(Debug)]
pub(super) struct ImportedTool {
    pub tool: Tool,
    pub line: Option<usize>,
}

/// Reads every tool of a source. The error says why the source as a whole was not understood.
pub(super) fn read(source: &Source<'_>) -> Result<Import, Box<Problem>> {
    let documents = documents(source).map_err(|problem| Box::new(source.locate(*problem, None)))?;
    walk::walk(source, &documents)
}
