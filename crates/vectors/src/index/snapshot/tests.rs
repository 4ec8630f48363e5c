use std::sync::atomic::{AtomicBool, Ordering};

use tempfile::{TempDir, tempdir};

use super::layout::KIND;
use super::*;
use crate::durable::HASH;
use crate::index::{HnswIndex, VectorIndex};

fn model(name: &str) -> ModelIdentity {
    ModelIdentity { name: name.into(), fingerprint: format!("{name}-1"), dimension: 3 }
}

fn snapshot(name: &str, rows: u16) -> Snapshot {
    let vectors: Vec<_> = (0..rows).map(|row| [f32::from(row), 1.0, -0.5]).collect();
    let vectors = match rows {
        0 => Vectors::of_numbers(Vec::new(), (0, 3)).unwrap(),
        _ => Vectors::from_rows(&vectors).unwrap(),
    };
    let hashes = (0..rows).map(|row| text_hash(&format!("text {row}"))).collect();
    Snapshot::new(model(name), hashes, Arc::new(vectors)).unwrap()
}

fn with_graph(rows: u16) -> Snapshot {
    let snapshot = snapshot("m", rows);
    let graph = HnswIndex::build(Arc::clone(snapshot.vectors())).graph().cloned();
    snapshot.with_graph(graph).unwrap()
}

fn saved(snapshot: &Snapshot) -> (TempDir, PathBuf, Vec<u8>) {
    let folder = tempdir().unwrap();
    let path = folder.path().join("index.snapshot");
    snapshot.save(&path).unwrap();
    let bytes = std::fs::read(&path).unwrap();
    (folder, path, bytes)
}

#[test]
fn comes_back_as_it_was() {
    for snapshot in [snapshot("m", 0), snapshot("m", 7), with_graph(40)] {
        let (_folder, path, _) = saved(&snapshot);
        assert_eq!(Snapshot::load(&path).unwrap(), snapshot);
    }
}

#[cfg(unix)]
#[test]
fn vectors_stay_in_the_file_where_they_are_aligned() {
    let (_folder, path, _) = saved(&with_graph(40));
    let loaded = Snapshot::load(&path).unwrap();
    assert!(loaded.vectors().is_mapped());
    // The map keeps the file that was opened, even if it is replaced.
    snapshot("m", 7).save(&path).unwrap();
    assert_eq!(loaded, with_graph(40));

    // A file from before headers were padded.
    let body = [&[0; HASH][..], &1f32.to_le_bytes()].concat();
    std::fs::write(&path, sealed(&header(1, 1, 0), &body)).unwrap();
    let loaded = Snapshot::load(&path).unwrap();
    assert!(!loaded.vectors().is_mapped() && loaded.vectors().get(0).unwrap() == [1.0]);
}

#[test]
fn the_same_snapshot_is_the_same_file() {
    assert_eq!(saved(&with_graph(20)).2, saved(&with_graph(20)).2);
}

/// A file with a valid checksum and arbitrary contents, as an attacker can write it.
fn sealed(header: &str, body: &[u8]) -> Vec<u8> {
    let mut bytes = KIND.magic.to_vec();
    bytes.extend(KIND.version.to_le_bytes());
    bytes.extend((header.len() as u32).to_le_bytes());
    bytes.extend(header.as_bytes());
    bytes.extend(body);
    let seal = Sha256::digest(&bytes);
    bytes.extend_from_slice(&seal);
    bytes
}

fn load_sealed(header: &str, body: &[u8]) -> SnapshotError {
    let folder = tempdir().unwrap();
    let path = folder.path().join("forged");
    std::fs::write(&path, sealed(header, body)).unwrap();
    Snapshot::load(&path).unwrap_err()
}

fn header(rows: u64, dimension: u64, graph_bytes: u64) -> String {
    format!(
        r#"{{"model":{{"name":"m","fingerprint":"f","dimension":{dimension}}},"rows":{rows},"graph_bytes":{graph_bytes}}}"#
    )
}

#[test]
fn sizes_beyond_the_file_are_refused_unallocated() {
    let huge = load_sealed(&header(1 << 40, 384, 0), &[]);
    assert!(matches!(huge, SnapshotError::Truncated { .. }), "{huge}");
    for (rows, dimension, graph) in [(u64::MAX, 1, 0), (1, 1 << 62, 0), (1, 1, u64::MAX)] {
        let overflow = load_sealed(&header(rows, dimension, graph), &[]);
        assert!(matches!(overflow, SnapshotError::Checksum { .. }), "{overflow}");
    }
}

#[test]
fn forged_contents_are_refused() {
    let nan = [&[0; HASH][..], &f32::NAN.to_le_bytes()].concat();
    let error = load_sealed(&header(1, 1, 0), &nan);
    assert!(matches!(error, SnapshotError::Vectors(Error::NotFinite { .. })), "{error}");

    let one = [&[0; HASH][..], &1.0_f32.to_le_bytes(), &[255; 16]].concat();
    let error = load_sealed(&header(1, 1, 16), &one);
    assert!(matches!(error, SnapshotError::Graph(_)), "{error}");

    let error = load_sealed("{}", &[]);
    assert!(matches!(error, SnapshotError::Checksum { .. }), "{error}");
}

#[test]
fn what_is_no_snapshot_is_named() {
    let folder = tempdir().unwrap();
    let missing = Snapshot::load(&folder.path().join("none")).unwrap_err();
    assert!(matches!(missing, SnapshotError::Missing { .. }), "{missing}");
    let directory = Snapshot::load(folder.path()).unwrap_err();
    assert!(matches!(directory, SnapshotError::Io { .. }), "{directory}");
    let unwritable = snapshot("m", 1).save(&folder.path().join("no/such/folder")).unwrap_err();
    assert!(matches!(unwritable, SnapshotError::Io { .. }), "{unwritable}");

    let path = folder.path().join("file");
    std::fs::write(&path, "").unwrap();
    let empty = Snapshot::load(&path).unwrap_err();
    assert!(matches!(empty, SnapshotError::Truncated { got: 0, .. }), "{empty}");
    std::fs::write(&path, "{\"tools\": []}").unwrap();
    let foreign = Snapshot::load(&path).unwrap_err();
    assert!(matches!(foreign, SnapshotError::Foreign { .. }), "{foreign}");
    let (_folder, path, bytes) = saved(&with_graph(12));
    let changed = |at: usize| {
        let mut bytes = bytes.clone();
        bytes[at] ^= 1;
        std::fs::write(&path, bytes).unwrap();
        Snapshot::load(&path).unwrap_err()
    };
    assert!(matches!(changed(8), SnapshotError::Version { found: 0, expected: 1, .. }));
    assert!(matches!(changed(bytes.len() / 2), SnapshotError::Checksum { .. }));
}

#[test]
fn another_model_is_refused_by_name() {
    let snapshot = snapshot("small", 2);
    assert!(snapshot.matches(&model("small")).is_ok());
    let error = snapshot.matches(&model("large")).unwrap_err().to_string();
    assert!(error.contains("made by small (small-1), expected large (large-1)"), "{error}");
    let tuned = ModelIdentity { fingerprint: "small-2".into(), ..model("small") };
    assert!(snapshot.matches(&tuned).is_err());
}

#[test]
fn numbers_that_disagree_are_refused() {
    let vectors = Arc::clone(snapshot("m", 2).vectors());
    let short = Snapshot::new(model("m"), vec![[0; 32]], Arc::clone(&vectors));
    assert!(matches!(short, Err(SnapshotError::Shape { hashes: 1, rows: 2, .. })));
    let narrow = ModelIdentity { dimension: 2, ..model("m") };
    let narrow = Snapshot::new(narrow, vec![[0; 32]; 2], vectors);
    assert!(matches!(narrow, Err(SnapshotError::Shape { expected: 2, .. })));
    let other = snapshot("m", 3).with_graph(with_graph(4).graph().cloned());
    assert!(matches!(other, Err(SnapshotError::Vectors(Error::OtherGraph { .. }))));
}

#[test]
fn a_reader_beside_two_writers_always_sees_one_whole() {
    let folder = tempdir().unwrap();
    let path = folder.path().join("shared");
    let (one, two) = (snapshot("one", 300), snapshot("two", 500));
    one.save(&path).unwrap();
    let done = AtomicBool::new(false);
    std::thread::scope(|threads| {
        let writers = [&one, &two].map(|snapshot| {
            let path = &path;
            threads.spawn(move || (0..25).for_each(|_| snapshot.save(path).unwrap()))
        });
        let reader = threads.spawn(|| {
            let mut reads = 0;
            while !done.load(Ordering::Relaxed) || reads == 0 {
                let seen = Snapshot::load(&path).unwrap();
                assert!(seen == one || seen == two);
                reads += 1;
            }
        });
        for writer in writers {
            writer.join().unwrap();
        }
        done.store(true, Ordering::Relaxed);
        reader.join().unwrap();
    });
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
}
