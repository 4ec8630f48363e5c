//! The best few of many hits.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

use super::Hit;

/// A hit ordered so that the greatest is the *worst*: the one a better hit pushes out.
#[derive(Clone, Copy)]
pub(super) struct Worst(pub Hit);

/// The order of every answer of this room: score descending, then row ascending.
pub(super) fn best_first(a: &Hit, b: &Hit) -> Ordering {
    b.score.total_cmp(&a.score).then(a.row.cmp(&b.row))
}

impl Ord for Worst {
    fn cmp(&self, other: &Self) -> Ordering {
        best_first(&self.0, &other.0)
    }
}

impl PartialOrd for Worst {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Worst {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Worst {}

/// Keeps the best `limit` hits of those it is shown.
pub(super) struct Top {
    limit: usize,
    heap: BinaryHeap<Worst>,
}

impl Top {
    /// `rows` bounds what is allocated: a limit from outside may be any number.
    pub fn new(limit: usize, rows: usize) -> Self {
        Self { limit, heap: BinaryHeap::with_capacity(limit.min(rows)) }
    }

    /// Whether `hit` got in.
    pub fn push(&mut self, hit: Hit) -> bool {
        if self.heap.len() < self.limit {
            self.heap.push(Worst(hit));
            return true;
        }
        let Some(mut worst) = self.heap.peek_mut() else { return false };
        if best_first(&hit, &worst.0) == Ordering::Less {
            *worst = Worst(hit);
            return true;
        }
        false
    }

    pub fn is_full(&self) -> bool {
        self.heap.len() >= self.limit
    }

    /// The hit that would go next.
    pub fn worst(&self) -> Option<Hit> {
        self.heap.peek().map(|worst| worst.0)
    }

    pub fn merge(mut self, other: Self) -> Self {
        for Worst(hit) in other.heap {
            self.push(hit);
        }
        self
    }

    pub fn into_sorted(self) -> Vec<Hit> {
        self.heap.into_sorted_vec().into_iter().map(|worst| worst.0).collect()
    }
}
