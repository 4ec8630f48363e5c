//! Compares the graph search with the scan, on synthetic rows.

use std::collections::HashSet;

use super::*;
use crate::index::Rows;

/// Rows around a few hundred centres, as tool descriptions cluster around subjects.
fn clustered(rows: u32, dimension: u32, seed: u32) -> Vec<Vec<f32>> {
    let mut state = u64::from(seed) + 1;
    let mut noise = move || {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 40) as f32 / (1 << 23) as f32 - 1.0
    };
    let mut vector = move || (0..dimension).map(|_| noise()).collect::<Vec<f32>>();
    let centres: Vec<_> = (0..(rows / 20).max(1)).map(|_| vector()).collect();
    let around = |row: u32| {
        let centre = &centres[(row as usize * 7) % centres.len()];
        centre.iter().zip(vector()).map(|(c, n)| c + 0.5 * n).collect()
    };
    (0..rows).map(around).collect()
}

fn index(rows: &[Vec<f32>]) -> HnswIndex {
    HnswIndex::build(Arc::new(Vectors::from_rows(rows).unwrap()))
}

#[test]
fn finds_nearly_all_of_what_a_scan_finds() {
    let rows = clustered(2_000, 48, 1);
    let index = index(&rows);
    let (mut found, mut all) = (0, 0);
    for query in rows.iter().step_by(40) {
        let query: Vec<_> = query.iter().rev().zip(query).map(|(a, b)| a * 0.2 + b).collect();
        let exact = index.exact.search(&query, 10).unwrap();
        let near: HashSet<_> = index.search(&query, 10).unwrap().iter().map(|h| h.row).collect();
        found += exact.iter().filter(|hit| near.contains(&hit.row)).count();
        all += exact.len();
    }
    assert!(found * 100 >= all * 99, "found {found} of {all}");
}

#[test]
fn two_builds_are_one_graph_and_scores_are_exact() {
    let rows = clustered(600, 24, 2);
    let (one, two) = (index(&rows), index(&rows));
    assert_eq!(one.graph(), two.graph());
    for query in &rows[..20] {
        let hits = one.search(query, 5).unwrap();
        assert_eq!(hits, two.search(query, 5).unwrap());
        let places: Vec<_> = hits.iter().map(|hit| hit.row).collect();
        let scores: Vec<_> = hits.iter().map(|hit| hit.score).collect();
        assert_eq!(one.score(query, Rows::Only(&places)).unwrap(), scores);
        assert!(hits.is_sorted_by(|a, b| a.score > b.score || a.row < b.row));
    }
}

#[test]
fn equal_vectors_neither_panic_nor_shorten_the_answer() {
    let mut rows = vec![vec![0.1, 0.7, -0.7]; 700];
    rows.extend(clustered(300, 3, 3));
    let index = index(&rows);
    let rows: HashSet<_> =
        index.search(&[0.1, 0.7, -0.7], 15).unwrap().iter().map(|hit| hit.row).collect();
    assert_eq!(rows.len(), 15);
    assert_eq!(index.search(&[1.0, 0.0, 0.0], 15).unwrap().len(), 15);
}

#[test]
fn few_rows_and_none_are_searched_too() {
    for rows in 0..4 {
        let matrix = ndarray::Array2::from_elem((rows, 3), 1.0);
        let index = HnswIndex::build(Arc::new(Vectors::new(matrix).unwrap()));
        assert_eq!(index.search(&[1.0, 0.0, 0.0], 2).unwrap().len(), rows.min(2));
    }
}

/// Rows on a circle, each linked to its neighbours. Row 300 has no links and is not linked.
fn ring_without_300() -> (Arc<Vectors>, Graph) {
    let angle = |row: u32| row as f32 * std::f32::consts::TAU / 600.0;
    let rows: Vec<_> = (0..600).map(|row| [angle(row).cos(), angle(row).sin()]).collect();
    let near = |row: u32| match row {
        300 => Vec::new(),
        299 => vec![298, 301],
        301 => vec![299, 302],
        row => vec![(row + 599) % 600, (row + 1) % 600],
    };
    let ground = Layer::new((0..600).map(near));
    (Arc::new(Vectors::from_rows(&rows).unwrap()), Graph::new(0, vec![ground]).unwrap())
}

#[test]
fn who_asks_for_a_walk_gets_one_where_a_scan_is_cheaper() {
    let (vectors, graph) = ring_without_300();
    let query = vectors.get(300).unwrap().to_vec();
    let finds = |index: &HnswIndex, limit| {
        let hits = index.search(&query, limit).unwrap();
        assert_eq!(hits.len(), limit);
        hits.iter().any(|hit| hit.row == 300)
    };
    let index = HnswIndex::with_graph(vectors, graph).unwrap();
    assert!(!finds(&index, 5), "a walk cannot come there");
    assert!(finds(&index, 20), "600 rows are scanned for 20 hits");
    let index = index.at_any_size();
    assert!(!finds(&index, 20) && !finds(&index, 200));
    assert!(finds(&index, 600), "all are wanted");
}

/// The share of the exact ten best hits that a search finds, over a sample of the rows.
fn recall(index: &dyn VectorIndex, rows: &[Vec<f32>]) -> f64 {
    let exact = FlatIndex::new(Arc::new(Vectors::from_rows(rows).unwrap()));
    let (mut found, mut all) = (0, 0);
    for query in rows.iter().step_by(29) {
        let near: HashSet<_> = index.search(query, 10).unwrap().iter().map(|h| h.row).collect();
        let best = exact.search(query, 10).unwrap();
        found += best.iter().filter(|hit| near.contains(&hit.row)).count();
        all += best.len();
    }
    f64::from(found as u32) / f64::from(all as u32)
}

/// A change of rows: the new rows, and the old number of each.
struct Changed {
    rows: Vec<Vec<f32>>,
    origins: Vec<Option<u32>>,
}

impl Changed {
    /// Removes every seventh row, changes the vector of every eleventh, and inserts `new` in front.
    fn of(rows: &[Vec<f32>], new: &[Vec<f32>]) -> Self {
        let mut changed = Self { rows: new.to_vec(), origins: vec![None; new.len()] };
        for (row, vector) in (0u32..).zip(rows).filter(|(row, _)| row % 7 != 3) {
            let turned = || vector.iter().rev().copied().collect();
            changed.rows.push(if row % 11 == 5 { turned() } else { vector.clone() });
            changed.origins.push(Some(row));
        }
        changed
    }

    fn vectors(&self) -> Arc<Vectors> {
        Arc::new(Vectors::from_rows(&self.rows).unwrap())
    }
}

#[test]
fn a_graph_stays_while_rows_come_and_go() {
    let rows = clustered(1_500, 24, 5);
    let mut index: Box<dyn VectorIndex> = Box::new(index(&rows).at_any_size());
    assert_eq!(index.linked(), 1_500);
    let mut changed = Changed { rows, origins: Vec::new() };
    let mut linked = 1_500;
    for round in 0..2 {
        changed = Changed::of(&changed.rows, &clustered(40, 24, 6 + round));
        index = index.after(changed.vectors(), &changed.origins);
        assert!(!index.is_exact() && index.graph().is_none());
        assert_eq!(index.len(), changed.rows.len());
        assert!((linked * 7 / 10..linked).contains(&index.linked()), "{}", index.linked());
        linked = index.linked();
        assert!(recall(index.as_ref(), &changed.rows) > 0.99);
        let new = index.search(&changed.rows[7], 1).unwrap();
        assert_eq!(new[0].row, 7, "what is new is found");
        assert!(index.search(&changed.rows[0], usize::MAX).unwrap().len() == changed.rows.len());
    }
}

#[test]
fn where_most_rows_are_others_all_are_scanned() {
    let rows = clustered(300, 16, 8);
    let index = index(&rows);
    let mut changed = Changed::of(&rows, &[]);
    changed.rows.extend(clustered(300, 16, 9));
    changed.origins.resize(changed.rows.len(), None);
    let after = index.after(changed.vectors(), &changed.origins);
    assert!(after.is_exact() && after.linked() == 0);
    assert!((recall(after.as_ref(), &changed.rows) - 1.0).abs() < 1e-9);
    let none = index.after(Arc::new(Vectors::from_rows::<[f32; 16]>(&[]).unwrap()), &[]);
    assert!(none.is_empty());
}
