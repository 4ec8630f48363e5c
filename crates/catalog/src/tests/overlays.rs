use std::fs;

use super::fixture;
use crate::{
    Catalog, Cost, Error, Hints, LatencyTier, LoadOptions, LoadedCatalog, Reliability, Severity,
};

fn load_with(overlays: Vec<std::path::PathBuf>) -> Result<LoadedCatalog, Error> {
    let options = LoadOptions { overlays, ..LoadOptions::default() };
    Catalog::load(&[fixture("formats/tools.toml")], &options)
}

fn load_with_text(text: &str) -> Result<LoadedCatalog, Error> {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("overlay");
    fs::write(&path, text).unwrap();
    load_with(vec![path])
}

#[test]
fn later_entries_win_and_lists_replace() {
    let loaded = load_with(vec![fixture("overlay.toml")]).unwrap();
    let label = loaded.catalog.get("shop__print_label").unwrap();
    assert_eq!(label.reliability, Some(Reliability::High));
    assert_eq!(label.tags, ["counter"]);
    assert_eq!(label.examples, ["label for order 12"]);
    assert_eq!(label.declared_latency_tier, Some(LatencyTier::Medium));
    assert_eq!(label.cost, Some(Cost::Tiny), "what is not named stays");
    let hints = Hints {
        read_only: Some(false),
        destructive: None,
        idempotent: Some(true),
        from_overlay: true,
    };
    assert_eq!(label.hints, hints);
    assert_eq!(label.effects().from, crate::EffectSource::Overlay);
    let stock = loaded.catalog.get("shop | stock").unwrap();
    assert_eq!(stock.reliability, Some(Reliability::Medium));
    assert_eq!(stock.latency_ms, Some(250));
    let [problem] = loaded.problems.as_slice() else { panic!("{:?}", loaded.problems) };
    assert_eq!(problem.severity, Severity::Warning, "an entry that matches nothing");
    assert!(problem.found.contains("florist__*"), "{problem}");
}

#[test]
fn a_tier_set_later_counts_over_older_milliseconds() {
    let text = "[[overlay]]\nmatch = \"*stock\"\nlatency_tier = \"slow\"\n";
    let catalog = load_with_text(text).unwrap().catalog;
    let stock = catalog.get("shop | stock").unwrap();
    assert_eq!(stock.latency_tier(), Some(LatencyTier::Slow));
}

#[test]
fn overlays_may_be_json() {
    let text = r#"{"overlay": [{"match": "*", "facets": {"phases": ["plan"]}}]}"#;
    let loaded = load_with_text(text).unwrap();
    assert_eq!(loaded.problems, []);
    assert!(loaded.catalog.iter().all(|tool| tool.facets.phases == ["plan"]));
}

#[test]
fn a_bad_entry_changes_nothing_and_the_rest_still_counts() {
    let text = r#"{"overlay": [
        {"match": "[", "cost": "high"},
        {"cost": "high"},
        {"match": "*", "cost": "dear"},
        {"match": "*", "complexity": [0.2, 7]},
        {"match": "*", "relability": "low", "tags": "kept"}
    ]}"#;
    let loaded = load_with_text(text).unwrap();
    let lines: Vec<_> = loaded.problems.iter().map(|problem| problem.line).collect();
    assert_eq!(lines, [Some(2), Some(3), Some(4), Some(5), Some(5), Some(6)]);
    assert!(loaded.problems[5].cure.contains("reliability"), "{}", loaded.problems[5]);
    for tool in loaded.catalog.iter() {
        assert_ne!(tool.cost, Some(Cost::High));
        assert_eq!(tool.tags, ["kept"]);
    }
}

#[test]
fn a_pattern_may_write_ids_with_a_colon() {
    for (pattern, label, stock) in [
        ("shop:*", true, false),
        ("shop:print_label", true, false),
        ("shop__*", true, false),
        ("*:*", true, false),
        ("*", true, true),
    ] {
        let text = format!("[[overlay]]\nmatch = {pattern:?}\ntags = [\"hit\"]\n");
        let loaded = load_with_text(&text).unwrap();
        assert_eq!(loaded.problems, [], "{pattern}");
        let hit = |id| loaded.catalog.get(id).unwrap().tags == ["hit"];
        assert_eq!((hit("shop__print_label"), hit("shop | stock")), (label, stock), "{pattern}");
    }
}

#[test]
fn an_empty_overlay_is_told_apart_from_an_empty_catalog() {
    for (text, says) in [
        ("", "an empty file"),
        ("{}", "found none"),
        ("hello", "plain text"),
        ("// x\n[]", "a comment"),
    ] {
        let error = load_with_text(text).unwrap_err();
        assert!(matches!(error, Error::Unrecognised { .. }), "{error}");
        let error = error.to_string();
        assert!(error.contains(says) && !error.contains("file with tools"), "{error}");
        assert!(!error.contains("no tools were understood"), "{error}");
    }
    let missing = load_with(vec![fixture("no_such_overlay.toml")]).unwrap_err();
    assert!(matches!(missing, Error::Unreadable { .. }), "{missing}");
    let loaded = load_with_text("[7]").unwrap();
    assert!(loaded.problems[0].found.contains("the number 7"), "{}", loaded.problems[0]);
}
