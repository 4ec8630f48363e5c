use std::fs;

use crate::{Catalog, LoadOptions, LoadedCatalog, Tool};

fn load_with(rows: &str, overlay: Option<&str>, author_signals: bool) -> LoadedCatalog {
    let folder = tempfile::tempdir().unwrap();
    let tools = folder.path().join("tools.jsonl");
    fs::write(&tools, rows).unwrap();
    let overlays = overlay.map(|text| {
        let path = folder.path().join("overlay.toml");
        fs::write(&path, text).unwrap();
        path
    });
    let options = LoadOptions {
        overlays: overlays.into_iter().collect(),
        author_signals,
        ..LoadOptions::default()
    };
    Catalog::load(&[tools], &options).unwrap()
}

fn load(rows: &str, overlay: Option<&str>) -> LoadedCatalog {
    load_with(rows, overlay, true)
}

const DATAGOV: &str = r#"{"name": "datagov_query", "routing": {"priority": 95,
    "fallbacks": ["search"], "conflicts_with": ["ask"], "critical": true,
    "signals": [{"pattern": "נתונים רשמיים|official data", "weight": 0.8, "exclusive_intent": "gov"}],
    "parameter_hints": {"required": ["q"], "examples": {"q": "population"}}}}"#;

/// Returns the rows of the tool and of its fallback.
fn rows() -> String {
    format!("{}\n{{\"name\": \"search\"}}", DATAGOV.replace('\n', " "))
}

#[test]
fn routing_is_read_and_written_back_the_same() {
    let loaded = load(&rows(), None);
    assert_eq!(loaded.problems, []);
    let tool = loaded.catalog.get("datagov_query").unwrap();
    assert_eq!((tool.routing.priority, tool.routing.critical), (Some(95), true));
    assert_eq!(tool.routing.signals[0].exclusive_intent.as_deref(), Some("gov"));
    assert!(tool.routing.signals[0].compile().unwrap().is_match("OFFICIAL DATA on rain"));
    let again = load(&loaded.catalog.to_jsonl(), None);
    assert_eq!(again.catalog.tools(), loaded.catalog.tools());
}

#[test]
fn a_tool_that_declares_nothing_says_nothing() {
    let catalog = Catalog::from_tools(vec![Tool::new(None, "a", "")]).catalog;
    assert!(catalog.tools()[0].routing.is_default());
    assert!(!catalog.to_jsonl().contains("routing"));
}

#[test]
fn what_is_wrong_is_told_with_its_place() {
    for (routing, field, told) in [
        (
            r#"{"signals": [{"pattern": "ok"}, {"pattern": "a("}]}"#,
            "routing.signals[1].pattern",
            "unclosed",
        ),
        (r#"{"signals": [{"pattern": "(a{1000}){1000}"}]}"#, "routing.signals[0].pattern", "size"),
        (
            r#"{"signals": [{"pattern": "zebra", "weight": 7}]}"#,
            "routing.signals[0].weight",
            "-1 to 1",
        ),
        (r#"{"signals": [{"weight": 1}]}"#, "routing.signals[0].pattern", "a regular expression"),
        (r#"{"signals": ["a"]}"#, "routing.signals[0]", "a list of objects"),
        (r#"{"priority": 101}"#, "routing.priority", "0 to 100"),
        (r#"{"priority": "high"}"#, "routing.priority", "0 to 100"),
        (r#"{"critical": "yes"}"#, "routing.critical", "true or false"),
        (r#"{"fallback": ["a"]}"#, "routing.fallback", "fallbacks"),
        (r#"{"call_hints": {"timeout_ms": 0}}"#, "routing.call_hints.timeout_ms", "3600000"),
        (r#"{"call_hints": {"timeout": 9}}"#, "routing.call_hints.timeout", "timeout_ms"),
        (r#"{"call_hints": {"retry": {"most": 11}}}"#, "routing.call_hints.retry", "0 to 10"),
        (r#"{"call_hints": {"retry": {"on": ["rain"]}}}"#, "routing.call_hints.retry", "busy"),
    ] {
        let loaded = load(&format!(r#"{{"name": "t", "routing": {routing}}}"#), None);
        let [problem] = loaded.problems.as_slice() else {
            panic!("{routing}: {:?}", loaded.problems)
        };
        assert_eq!(problem.field.as_deref(), Some(field), "{problem}");
        assert!(problem.to_string().contains(told), "{problem}");
        assert_eq!(problem.line, Some(1), "{problem}");
        assert_eq!(loaded.catalog.is_empty(), problem.is_error(), "{problem}");
    }
}

#[test]
fn what_a_call_takes_is_read_and_set_bit_by_bit() {
    let row = r#"{"name": "deep", "routing": {"call_hints":
        {"timeout_ms": 90000, "research": true, "typical_tokens": 2000, "max_tokens": 8000}}}"#;
    let overlay = "[[overlay]]\nmatch = \"*\"\n[overlay.routing]\n\
                   call_hints = { timeout_ms = 120000, feedback_delay_ms = 250 }\n";
    let loaded = load(&row.replace('\n', " "), Some(overlay));
    assert_eq!(loaded.problems, []);
    let hints = &loaded.catalog.get("deep").unwrap().routing.call_hints;
    assert_eq!((hints.timeout_ms, hints.feedback_delay_ms), (Some(120_000), Some(250)));
    assert_eq!((hints.research, hints.max_tokens), (Some(true), Some(8_000)));
}

#[test]
fn an_overlay_sets_what_it_names_and_leaves_the_rest() {
    let overlay = "[[overlay]]\nmatch = \"*\"\n[overlay.routing]\npriority = 7\n\
                   parameter_hints = { optional = [\"limit\"] }\n";
    let loaded = load(&rows(), Some(overlay));
    assert_eq!(loaded.problems, []);
    let routing = &loaded.catalog.get("datagov_query").unwrap().routing;
    assert_eq!((routing.priority, routing.fallbacks.as_slice()), (Some(7), &["search".into()][..]));
    assert!(routing.parameter_hints.required.is_empty(), "what is named is replaced whole");
}

#[test]
fn an_author_has_no_say_over_prompts_unless_that_is_allowed() {
    let loaded = load_with(&rows(), None, false);
    let routing = &loaded.catalog.get("datagov_query").unwrap().routing;
    assert!(routing.signals.is_empty() && !routing.critical);
    assert_eq!((routing.priority, routing.fallbacks.len()), (Some(95), 1));
    let told: Vec<String> = loaded.problems.iter().map(ToString::to_string).collect();
    assert!(matches!(&told[..], [one] if one.contains("--author-signals")), "{told:?}");
    // Signals in an overlay are the user's own, so they are kept.
    let overlay =
        "[[overlay]]\nmatch = \"search\"\n[[overlay.routing.signals]]\npattern = \"find\"\n";
    let loaded = load_with("{\"name\": \"search\"}", Some(overlay), false);
    assert_eq!(loaded.problems, []);
    assert_eq!(loaded.catalog.get("search").unwrap().routing.signals.len(), 1);
}

#[test]
fn patterns_that_match_what_everybody_asks_are_an_error() {
    for (signals, is_broad) in [
        (r#"[{"pattern": "."}]"#, true),
        (r#"[{"pattern": "\\b(the|a|my|to)\\b", "weight": 0.1}]"#, true),
        // Several patterns that match too much only together.
        (r#"[{"pattern": "the"}, {"pattern": "my"}, {"pattern": "file|list|data"}]"#, true),
        (r#"[{"pattern": ".", "weight": -1}]"#, false),
        (r#"[{"pattern": "file|folder|document"}]"#, false),
    ] {
        let row = format!(r#"{{"name": "a", "routing": {{"signals": {signals}}}}}"#);
        let loaded = load(&row, None);
        assert_eq!(loaded.catalog.is_empty(), is_broad, "{signals}");
        let told: Vec<String> = loaded.problems.iter().map(ToString::to_string).collect();
        assert_eq!(
            told.iter().any(|told| told.contains("of 62 everyday prompts")),
            is_broad,
            "{told:?}"
        );
    }
}
