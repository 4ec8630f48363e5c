//! Finds tools that are listed twice, and tools that no prompt can tell apart.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use super::check::{DoctorArgs, Finding};
use crate::cli::servers;
use toolroute_catalog::{Catalog, LoadOptions, Problem, Schema, Tool, first_names};

const CHECK: &str = "duplicates";

/// Maximum number of tools to name; the rest is counted.
const NAMED: usize = 5;

/// Checks the list of one server, before equal ids are left out of it.
pub fn within(server: &str, tools: &[Tool]) -> Option<Finding> {
    let mut seen = BTreeSet::new();
    let again = tools.iter().filter(|tool| !seen.insert(&tool.id));
    let again: Vec<String> = again.map(|tool| format!("`{}`", tool.name)).collect();
    (!again.is_empty()).then(|| {
        let again = first_names(again.iter(), NAMED);
        let found = format!("server `{server}` lists more than one tool of the name {again}");
        Finding::warning(CHECK, found, "tell its author; only the first of each is used")
    })
}

/// Compares the tools of the named files and of the stored lists of servers. Starts no server.
/// Sources that cannot be read are reported by other checks.
pub fn check(args: &DoctorArgs) -> Vec<Finding> {
    let paths = args.catalog.tools.iter().cloned().chain(stored(args)).collect::<Vec<_>>();
    let options = LoadOptions { overlays: args.catalog.overlay.clone(), ..LoadOptions::default() };
    let Ok(loaded) = Catalog::load(&paths, &options) else { return Vec::new() };
    let Ok(catalog) = servers::offered(loaded.catalog, &args.catalog.live) else {
        return Vec::new();
    };
    let is_id = |problem: &&Problem| problem.field.as_deref() == Some("id");
    let mut findings: Vec<Finding> = loaded.problems.iter().filter(is_id).map(same_id).collect();
    findings.extend(same_text(&catalog));
    if findings.is_empty() && !catalog.is_empty() {
        let found = format!("{} tools differ in id and text", catalog.len());
        findings.push(Finding::ok(CHECK, found));
    }
    findings
}

fn stored(args: &DoctorArgs) -> Vec<PathBuf> {
    let file = args.catalog.live.servers().and_then(|path| servers::read(path).ok());
    let lists = file.map(|file| servers::stored_lists(&file)).unwrap_or_default().into_iter();
    lists.map(|list| list.path).filter(|path| servers::has_tools(path)).collect()
}

fn same_id(problem: &Problem) -> Finding {
    let mut said = problem.clone();
    let cure = std::mem::take(&mut said.cure);
    Finding::warning(CHECK, format!("{said:#}").trim_end_matches("; "), cure)
}

/// Tools with the description and the schema of an earlier one.
fn same_text(catalog: &Catalog) -> Option<Finding> {
    let mut first: BTreeMap<(&str, &str), &Tool> = BTreeMap::new();
    let mut pairs = Vec::new();
    for tool in catalog.iter().filter(|tool| !tool.description.trim().is_empty()) {
        let schema = tool.input_schema.as_ref().map_or("", Schema::as_str);
        let earlier = first.entry((tool.description.trim(), schema)).or_insert(tool);
        if earlier.id != tool.id {
            pairs.push(format!("{} as {}", tool.id, earlier.id));
        }
    }
    (!pairs.is_empty()).then(|| {
        let (count, pairs) = (pairs.len(), first_names(pairs.iter(), NAMED));
        let found = format!("{count} tools have the text of another: {pairs}");
        let cure = "no prompt can tell them apart: leave one of each out (\"disabled\": true or \
            excludeTools of its server), or say in their descriptions how they differ";
        Finding::warning(CHECK, found, cure)
    })
}
