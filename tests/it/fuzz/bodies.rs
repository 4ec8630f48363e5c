//! What is done with bytes from outside: for cargo-fuzz, and for `tests/it/fuzz.rs`, which throws
//! changed samples at the same functions on a stable compiler. None may panic, hang or say of its
//! own result what is not so.

use std::sync::LazyLock;

use toolroute::Engine;
use toolroute_catalog::{Catalog, clones, embedding_text, keyword_fields, suspicions};
use toolroute_run::execution::ServersFile;
use toolroute_run::pins::Definition;

/// A file of tools in any format, and all that is made of its tools before they are embedded.
pub fn tools_list(data: &[u8]) {
    read(data);
}

/// An API description, in YAML as well.
pub fn openapi(data: &[u8]) {
    let mut text = b"openapi: 3.1.0\ninfo: {title: t, version: '1'}\n".to_vec();
    text.extend_from_slice(data);
    read(&text);
    read(data);
}

fn read(data: &[u8]) {
    let Ok(loaded) = Catalog::read(&String::from_utf8_lossy(data)) else { return };
    let catalog = loaded.catalog;
    for tool in catalog.iter() {
        assert!(embedding_text(tool).chars().count() <= 1_000);
        keyword_fields(tool);
        suspicions(tool);
        assert_eq!(Definition::of(tool), Definition::of(&tool.clone()));
        assert!(catalog.row(tool.id.as_str()).is_some());
    }
    clones(catalog.tools());
    // What is written out is read back the same.
    let rows = catalog.to_jsonl();
    let again = Catalog::read(&rows);
    match again {
        Ok(again) => assert_eq!(again.catalog.to_jsonl(), rows),
        Err(_) => assert!(catalog.is_empty()),
    }
}

/// A servers file, an engine's settings.
pub fn configuration(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let variable = |name: &str| name.len().is_multiple_of(2).then(|| "a value of it".to_owned());
    if let Ok(file) = ServersFile::parse(&text, &variable) {
        let clean = file.redactor.clean("Authorization: Bearer abcdef123456");
        assert!(!clean.contains("abcdef"), "{clean}");
        file.problems.iter().for_each(|problem| assert!(!problem.is_empty()));
    }
    toml::from_str::<toolroute::EngineConfig>(&text).ok();
    serde_json::from_str::<toolroute::EngineConfig>(&text).ok();
}

/// A file of kept vectors.
pub fn snapshot(data: &[u8]) {
    let Ok(file) = tempfile::NamedTempFile::new() else { return };
    if std::fs::write(file.path(), data).is_ok() {
        toolroute_vectors::index::Snapshot::load(file.path()).ok();
    }
}

/// A request to a language model, whose tools are cut.
pub fn filter(data: &[u8]) {
    static ENGINE: LazyLock<Engine> = LazyLock::new(|| {
        let built = Engine::builder(Catalog::default()).build();
        built.expect("an engine of words alone needs nothing. This is a bug.")
    });
    for keep in [1, 3] {
        let Ok(filtered) = toolroute_serve::filter::filter(&ENGINE, data, keep) else { return };
        let report = filtered.report;
        assert_eq!(report.tools, report.kept + report.dropped.len());
        if report.dropped.is_empty() {
            assert_eq!(filtered.body.as_ref(), data);
        } else {
            assert!(filtered.body.len() < data.len());
            assert!(serde_json::from_slice::<serde::de::IgnoredAny>(&filtered.body).is_ok());
        }
    }
}
