use std::fs;
use std::time::Duration;

use super::*;
use crate::embedding::{self, Embedded};

/// A model that returns a two-dimensional vector depending on the length of the text.
struct ByLength(ModelIdentity);

impl Embedder for ByLength {
    fn identity(&self) -> &ModelIdentity {
        &self.0
    }

    fn embed(&self, texts: &[&str], _: Role) -> Result<Embedded, embedding::Error> {
        let angle = |text: &&str| text.len() as f32;
        let numbers = texts.iter().map(angle).flat_map(|angle| [angle.cos(), angle.sin()]);
        let vectors = Array2::from_shape_vec((texts.len(), 2), numbers.collect()).unwrap();
        Ok(Embedded { vectors, tokenize: Duration::ZERO, tokens: texts.len() })
    }
}

fn run(place: &Place, kind: IndexKind) -> Result<IndexReport, Error> {
    let name = "by-length".to_owned();
    let identity = ModelIdentity { fingerprint: name.clone(), name, dimension: 2 };
    let tools: Vec<_> = (0..30)
        .map(|at| Arc::new(Tool::new(None, &format!("t{at}"), &"x".repeat(at + 1))))
        .collect();
    index(&tools, &ByLength(identity), kind, Some(place), None).map(|(_, report)| report)
}

fn place(path: PathBuf, move_foreign: bool) -> Place {
    Place { path, move_foreign }
}

#[test]
fn a_graph_that_was_linked_for_an_old_snapshot_is_kept() {
    let dir = tempfile::tempdir().unwrap();
    let place = place(dir.path().join("new folder/s"), false);
    let state = |kind| run(&place, kind).unwrap().snapshot;
    assert_eq!(state(IndexKind::Exact), SnapshotState::Created);
    assert_eq!(state(IndexKind::Hnsw), SnapshotState::Updated);
    assert_eq!(state(IndexKind::Hnsw), SnapshotState::Fresh);
    assert!(Snapshot::load(&place.path).unwrap().graph().is_some());
    assert_eq!(state(IndexKind::Exact), SnapshotState::Fresh);
}

#[test]
fn somebodys_file_at_a_chosen_place_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let place = place(dir.path().join("notes"), false);
    fs::write(&place.path, "my notes").unwrap();
    let refused = run(&place, IndexKind::Exact);
    assert!(matches!(refused, Err(Error::Snapshot(SnapshotError::Foreign { .. }))), "{refused:?}");
    assert_eq!(fs::read_to_string(&place.path).unwrap(), "my notes");
    fs::write(&place.path, "").unwrap();
    let empty = run(&place, IndexKind::Exact).unwrap();
    assert!(matches!(empty.snapshot, SnapshotState::Rebuilt { .. }), "{empty:?}");
}

#[test]
fn somebodys_file_among_the_caches_is_kept_under_a_free_name() {
    let dir = tempfile::tempdir().unwrap();
    let place = place(dir.path().join("s"), true);
    for notes in ["first", "second", "third"] {
        fs::write(&place.path, notes).unwrap();
        let report = run(&place, IndexKind::Exact).unwrap();
        assert!(matches!(report.snapshot, SnapshotState::Rebuilt { .. }), "{report:?}");
    }
    let kept = |name: &str| fs::read_to_string(dir.path().join(name)).unwrap();
    assert_eq!(kept("s.not-a-snapshot"), "first");
    assert_eq!(kept("s.not-a-snapshot.2"), "second");
    assert_eq!(kept("s.not-a-snapshot.3"), "third");
}

#[test]
fn a_file_that_was_not_written_is_not_named() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("file");
    fs::write(&file, "").unwrap();
    for path in [dir.path().to_owned(), file.join("s")] {
        let report = run(&place(path, true), IndexKind::Exact).unwrap();
        assert!(matches!(report.snapshot, SnapshotState::NotSaved { .. }), "{report:?}");
        assert_eq!(report.path, None);
    }
}
