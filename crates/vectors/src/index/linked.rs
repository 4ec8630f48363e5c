//! Keeps a graph usable while rows are added and removed.
//!
//! Building a graph takes about 1.5 ms per row, so a single changed tool must not rebuild it. The
//! graph keeps the vectors from which it was built, its *points*. Most points are still rows,
//! perhaps with a different number. Rows that are not points are scanned in addition, until the
//! index is built again.

use std::sync::Arc;

use super::dot::dot;
use super::top::Top;
use super::{Graph, Hit, Vectors};

/// A graph, and the mapping from its points to the present rows.
pub(super) struct PartialGraph {
    graph: Arc<Graph>,
    /// The vectors from which the graph was built.
    points: Arc<Vectors>,
    /// The changes since then; `None` if points and rows are the same.
    change: Option<Change>,
}

struct Change {
    /// For each point, its present row, if any.
    rows: Vec<Option<u32>>,
    /// The rows that are not points, ascending.
    beside: Vec<u32>,
}

impl PartialGraph {
    /// A graph of these vectors, without changes.
    pub fn new(graph: Graph, points: Arc<Vectors>) -> Self {
        Self { graph: Arc::new(graph), points, change: None }
    }

    /// Returns the graph if it covers exactly the present rows.
    pub fn graph(&self) -> Option<&Graph> {
        self.change.is_none().then_some(&*self.graph)
    }

    /// Number of rows that the graph covers.
    pub fn len(&self) -> usize {
        match &self.change {
            None => self.points.len(),
            Some(change) => change.rows.iter().flatten().count(),
        }
    }

    /// Returns the best `limit` rows of `vectors`, the present rows. Returns `None` if the search
    /// reached too few rows: many equal vectors may only link to each other, which isolates the
    /// others.
    pub fn search(
        &self,
        vectors: &Vectors,
        query: &[f32],
        (limit, width): (usize, usize),
    ) -> Option<Vec<Hit>> {
        let mut hits = self.graph.search(&self.points, query, width);
        let Some(Change { rows, beside }) = &self.change else {
            hits.truncate(limit);
            return (hits.len() == limit.min(self.points.len())).then_some(hits);
        };
        let mut top = Top::new(limit, vectors.len());
        let mut found = 0;
        for hit in hits {
            if let Some(row) = rows[hit.row as usize] {
                top.push(Hit { row, ..hit });
                found += 1;
            }
        }
        if found < limit.min(self.len()) {
            return None;
        }
        for &row in beside {
            let vector = vectors.get(row).expect("it is a row of the index. This is a bug.");
            top.push(Hit { row, score: dot(query, vector) });
        }
        Some(top.into_sorted())
    }

    /// Returns the graph after a change. `origins` has the old row of each of `vectors`. Returns
    /// `None` if the graph would cover fewer than half of the rows, because a scan is then as fast.
    pub fn after(&self, vectors: &Vectors, origins: &[Option<u32>]) -> Option<Self> {
        let points = self.points_by_row();
        let mut rows = vec![None; self.points.len()];
        let mut beside = Vec::new();
        for (row, origin) in (0u32..).zip(origins) {
            let point = origin.and_then(|before| points.get(before as usize).copied().flatten());
            // A row whose text changed, or that learned from feedback, has a different vector.
            match point.filter(|&point| self.points.get(point) == vectors.get(row)) {
                Some(point) => rows[point as usize] = Some(row),
                None => beside.push(row),
            }
        }
        let stays = beside.len() * 2 <= vectors.len();
        let change = Some(Change { rows, beside });
        stays.then(|| Self { graph: self.graph.clone(), points: self.points.clone(), change })
    }

    fn points_by_row(&self) -> Vec<Option<u32>> {
        let Some(Change { rows, beside }) = &self.change else {
            return (0..self.points.len() as u32).map(Some).collect();
        };
        let count = rows.iter().flatten().count() + beside.len();
        let mut points = vec![None; count];
        for (point, row) in (0u32..).zip(rows) {
            if let Some(row) = row {
                points[*row as usize] = Some(point);
            }
        }
        points
    }
}
