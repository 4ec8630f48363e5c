//! Selects the best hits of many.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

use super::Hit;

/// A hit with an order in which the greatest is the *worst*, which a better hit replaces.
#[derive(Clone, Copy)]
pub(super) struct Worst(pub Hit);

/// The order of all results of this module: descending score, then ascending row.
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

/// Collects the best `limit` of the pushed hits.
pub(super) struct Top {
    limit: usize,
    heap: BinaryHeap<Worst>,
}

impl Top {
    /// `rows` bounds the allocation, because `limit` comes from the user and may be any number.
    pub fn new(limit: usize, rows: usize) -> Self {
        Self { limit, heap: BinaryHeap::with_capacity(limit.min(rows)) }
    }

    /// Adds a hit; returns whether it is among the best.
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

    /// The hit that a better one would replace.
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
