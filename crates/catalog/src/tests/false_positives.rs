//! Measures how much sanitising and the detection of suspicious tools change collected catalogs,
//! nearly all of which are honest.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::sanitize::{clean, without_stuffing};
use crate::text::joined;
use crate::{Catalog, LoadOptions, SuspicionKind, clones, suspicions};

/// `cargo test --lib false_positives -- --nocapture` prints what changed and what was flagged.
#[test]
fn collected_catalogs_are_all_but_left_alone() {
    let beside = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared");
    let shared = std::env::var_os("TOOLROUTE_SHARED").map_or_else(beside, PathBuf::from);
    let file = shared.join("data/_merged/tools.jsonl");
    if !file.exists() {
        eprintln!("SKIPPED: {} is not here", file.display());
        return;
    }
    let loaded = Catalog::load(&[file], &LoadOptions::default()).unwrap();
    let tools = loaded.catalog.tools();
    let (mut cleaned, mut clipped, mut flagged) = (0, 0, BTreeMap::<SuspicionKind, usize>::new());
    for tool in tools {
        let text = joined(tool);
        let seen = clean(&text);
        if seen != text {
            cleaned += 1;
            eprintln!("cleaned {}: {:.200?}", tool.id, seen);
        }
        let once = without_stuffing(&seen);
        let within = |text: &str| text.chars().take(1_000).collect::<String>();
        if within(&once) != within(&seen) {
            clipped += 1;
            eprintln!("clipped {}: {} of {} bytes", tool.id, once.len(), seen.len());
        }
        for found in suspicions(tool) {
            *flagged.entry(found.kind).or_default() += 1;
            eprintln!("flagged {}: {found}", tool.id);
        }
    }
    let clones = clones(tools);
    for (clone, of) in clones.iter().take(40) {
        eprintln!("clone {} of {}", tools[*clone as usize].id, tools[*of as usize].id);
    }
    let clones = clones.len();
    eprintln!(
        "{} tools: {cleaned} cleaned, {clipped} clipped, flagged {flagged:?}, {clones} clones",
        tools.len()
    );
    let share = |count: usize| count as f64 / tools.len() as f64;
    assert!(share(cleaned) < 0.01 && share(clipped) < 0.01);
    assert!(share(flagged.values().sum()) < 0.02);
}
