//! Tests of the catalog.

mod arbitrary;
mod change;
mod false_positives;
mod loading;
mod lookup;
mod overlays;
mod routing;
mod texts;

use std::path::PathBuf;

use crate::{Catalog, LoadOptions, LoadedCatalog, Problem};

pub(super) fn fixture(name: &str) -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/data")).join(name)
}

pub(super) fn load(name: &str) -> LoadedCatalog {
    Catalog::load(&[fixture(name)], &LoadOptions::default()).unwrap()
}

/// Loads a fixture and asserts that there is no problem.
pub(super) fn load_clean(name: &str) -> Catalog {
    let loaded = load(name);
    assert_eq!(loaded.problems, [], "{name}");
    loaded.catalog
}

pub(super) fn ids(catalog: &Catalog) -> Vec<&str> {
    catalog.iter().map(|tool| tool.id.as_str()).collect()
}

pub(super) fn about<'p>(problems: &'p [Problem], tool: &str) -> Vec<&'p Problem> {
    problems.iter().filter(|problem| problem.tool.as_deref() == Some(tool)).collect()
}
