//! Overlays, which set tiers and facets of tools that somebody else wrote.
//!
//! ```toml
//! [[overlay]]
//! match = ["filesystem__*", "git__log"]
//! reliability = "high"
//! latency_tier = "fast"
//! ```
//!
//! A pattern may write an id as `server:tool`, as everywhere else.

use std::path::Path;
use std::sync::Arc;

use globset::{Glob, GlobSet, GlobSetBuilder};
use serde_json::value::RawValue;

use crate::details::{self, Details};
use crate::import::documents;
use crate::row::{Row, describe, elements, fields};
use crate::source::Source;
use crate::{Error, Hints, Problem, Severity, Tool, ToolId, file, validate};

/// Applies the entries of a file to tools, in order. Returns the problems of the entries.
pub(super) fn apply(path: &Path, tools: &mut [Arc<Tool>]) -> Result<Vec<Problem>, Error> {
    let file = file::read(path)?;
    let source = Source::of(path, &file);
    let unrecognised =
        |problem| Error::Unrecognised { problem: Box::new(source.locate(problem, None)) };
    if source.text.trim().is_empty() {
        return Err(unrecognised(no_entries("an empty file")));
    }
    let documents = documents(&source).map_err(|problem| unrecognised(*problem))?;
    let mut problems = documents.problems;
    for document in &documents.values {
        let entries = entries(document).ok_or_else(|| unrecognised(no_entries("none")))?;
        for raw in entries {
            problems.extend(apply_entry(raw, &source, tools));
        }
    }
    Ok(problems)
}

fn entries(document: &RawValue) -> Option<Vec<&RawValue>> {
    match fields(document) {
        Some(members) => elements(members.get("overlay")?),
        None => elements(document),
    }
}

fn no_entries(found: &str) -> Problem {
    let cure = "begin each entry with [[overlay]] and give it a match";
    Problem::new(Severity::Error, "overlay entries", found, cure)
}

fn apply_entry(raw: &RawValue, source: &Source<'_>, tools: &mut [Arc<Tool>]) -> Vec<Problem> {
    let Some(mut row) = Row::new(raw, source) else {
        return vec![source.locate(no_entries(&describe(raw)), source.line_of(raw.get()))];
    };
    let patterns = row.list("match").unwrap_or_default();
    let matcher = matcher(&patterns, &mut row);
    let details = Details::read(&mut row);
    row.warn_unknown(details::fields().chain(["match"]));
    let line = row.line;
    let mut problems = row.problems;
    if let Some(matcher) = matcher.filter(|_| !problems.iter().any(Problem::is_error)) {
        problems.extend(change(tools, &patterns, &matcher, &details));
    }
    problems.into_iter().map(|problem| source.locate(problem, line)).collect()
}

fn matcher(patterns: &[String], row: &mut Row<'_>) -> Option<GlobSet> {
    const CURE: &str = "write a pattern over tool ids such as \"filesystem__*\"";
    let mut reject = |found: String| {
        row.problem("match", Problem::new(Severity::Error, "a pattern over ids", found, CURE));
        None
    };
    if patterns.is_empty() {
        return reject("none".to_owned());
    }
    let mut set = GlobSetBuilder::new();
    for pattern in patterns {
        match Glob::new(pattern) {
            Ok(glob) => set.add(glob),
            Err(error) => return reject(error.to_string()),
        };
    }
    set.build().or_else(|error| reject(error.to_string()).ok_or(())).ok()
}

/// Changes each tool that matches. A change that would make a tool unusable is reported and not
/// made.
fn change(
    tools: &mut [Arc<Tool>],
    patterns: &[String],
    matcher: &GlobSet,
    details: &Details,
) -> Vec<Problem> {
    let mut problems = Vec::new();
    let mut matched = false;
    let colon = patterns.iter().any(|pattern| pattern.contains(':'));
    let is_match = |id: &ToolId| {
        matcher.is_match(id.as_str())
            || (colon && id.with_colon().any(|spelling| matcher.is_match(spelling)))
    };
    for tool in tools.iter_mut().filter(|tool| is_match(&tool.id)) {
        matched = true;
        let mut changed = Tool::clone(tool);
        details.apply(&mut changed);
        changed.hints.from_overlay |= details.hints != Hints::default();
        let faults: Vec<Problem> =
            validate::check(&changed).into_iter().filter(Problem::is_error).collect();
        if faults.is_empty() {
            *tool = changed.into();
        }
        problems.extend(faults);
    }
    if !matched {
        let cure = "compare the pattern with the catalog's ids, or remove the entry";
        let found = format!("none for {patterns:?}");
        let expected = "a tool whose id matches";
        problems.push(Problem::new(Severity::Warning, expected, found, cure).field("match"));
    }
    problems
}
