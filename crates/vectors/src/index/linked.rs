//! A graph that stays while rows come and go.
//!
//! Linking takes about a millisecond and a half a row, so one changed tool must not cost it all. The
//! graph keeps the points that it was made of. Of those, some are rows still, perhaps at another
//! number; rows that it does not have are scanned beside it, until the index is built anew.

use std::sync::Arc;

use super::dot::dot;
use super::top::Top;
use super::{Graph, Hit, Vectors};

/// A graph, and which rows its points are.
pub(super) struct Linked {
    graph: Arc<Graph>,
    /// A point a row of the graph.
    points: Arc<Vectors>,
    /// What has changed since; none where the points are the rows.
    change: Option<Change>,
}

struct Change {
    /// The row that a point is now, if any.
    rows: Vec<Option<u32>>,
    /// Rows that are no point, ascending.
    beside: Vec<u32>,
}

impl Linked {
    /// A graph of these vectors.
    pub fn new(graph: Graph, points: Arc<Vectors>) -> Self {
        Self { graph: Arc::new(graph), points, change: None }
    }

    /// The graph, where it is one of the present rows.
    pub fn graph(&self) -> Option<&Graph> {
        self.change.is_none().then_some(&*self.graph)
    }

    /// Rows that are found over the graph.
    pub fn len(&self) -> usize {
        match &self.change {
            None => self.points.len(),
            Some(change) => change.rows.iter().flatten().count(),
        }
    }

    /// The best `limit` of `vectors`, the present rows. `None` where the walk came upon too few: many
    /// equal vectors can link only to each other and cut off the rest.
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

    /// The graph after a change: `origins` says which row each of `vectors` was. `None` where fewer
    /// than half of the rows would be found over it; then a scan does as well.
    pub fn after(&self, vectors: &Vectors, origins: &[Option<u32>]) -> Option<Self> {
        let points = self.points_by_row();
        let mut rows = vec![None; self.points.len()];
        let mut beside = Vec::new();
        for (row, origin) in (0u32..).zip(origins) {
            let point = origin.and_then(|before| points.get(before as usize).copied().flatten());
            // Another text, or what was learned since, has another vector.
            match point.filter(|&point| self.points.get(point) == vectors.get(row)) {
                Some(point) => rows[point as usize] = Some(row),
                None => beside.push(row),
            }
        }
        let stays = beside.len() * 2 <= vectors.len();
        let change = Some(Change { rows, beside });
        stays.then(|| Self { graph: self.graph.clone(), points: self.points.clone(), change })
    }

    /// The point that each row is, by the rows as they are now.
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
