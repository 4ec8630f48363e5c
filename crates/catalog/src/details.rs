//! Tiers, facets and other members that a tool's author or an overlay may declare.

use crate::row::Row;
use crate::{ComplexityRange, Cost, Hints, LatencyTier, Reliability, Tool, routing};

type Slot = fn(&mut Tool) -> &mut Vec<String>;

/// Lists at the top level of a tool's definition.
const LISTS: [(&str, Slot); 8] = [
    ("categories", |tool| &mut tool.categories),
    ("tags", |tool| &mut tool.tags),
    ("examples", |tool| &mut tool.examples),
    ("capabilities", |tool| &mut tool.capabilities),
    ("satisfies", |tool| &mut tool.satisfies),
    ("consumes", |tool| &mut tool.consumes),
    ("preconditions", |tool| &mut tool.preconditions),
    ("postconditions", |tool| &mut tool.postconditions),
];

/// Lists at the top level of a tool's definition or in its `facets`.
const FACET_LISTS: [(&str, Slot); 3] = [
    ("phases", |tool| &mut tool.facets.phases),
    ("languages", |tool| &mut tool.facets.languages),
    ("task_types", |tool| &mut tool.facets.task_types),
];

/// Every field that [`Details::read`] reads.
pub(super) fn fields() -> impl Iterator<Item = &'static str> {
    let others =
        ["reliability", "cost", "latency_ms", "latency_tier", "hints", "facets", "routing"];
    LISTS.iter().map(|(name, _)| *name).chain(facet_fields()).chain(others)
}

fn facet_fields() -> impl Iterator<Item = &'static str> {
    FACET_LISTS.iter().map(|(name, _)| *name).chain(["complexity"])
}

/// The members that a source declares. Applying them to a tool changes no other members.
#[derive(Default)]
pub(super) struct Details {
    lists: Vec<(Slot, Vec<String>)>,
    reliability: Option<Reliability>,
    cost: Option<Cost>,
    latency_ms: Option<u64>,
    latency_tier: Option<LatencyTier>,
    pub hints: Hints,
    complexity: Option<ComplexityRange>,
    routing: routing::RoutingDetails,
}

impl Details {
    pub fn read(row: &mut Row<'_>) -> Self {
        let mut details = Self {
            reliability: row.word("reliability", &["low", "medium", "high"]),
            cost: row.word("cost", &["tiny", "low", "medium", "high"]),
            latency_ms: row.millis("latency_ms"),
            latency_tier: row.word("latency_tier", &["fast", "medium", "slow", "very_slow"]),
            routing: routing::RoutingDetails::read(row),
            ..Self::default()
        };
        details.read_lists(row, &LISTS);
        details.read_facets(row);
        if let Some(mut facets) = row.child("facets") {
            details.read_facets(&mut facets);
            facets.warn_unknown(facet_fields());
            row.absorb(facets);
        }
        if let Some(mut hints) = row.child("hints") {
            details.hints = Hints {
                read_only: hints.flag("read_only"),
                destructive: hints.flag("destructive"),
                idempotent: hints.flag("idempotent"),
                from_overlay: false,
            };
            hints.warn_unknown(["read_only", "destructive", "idempotent"]);
            row.absorb(hints);
        }
        details
    }

    fn read_facets(&mut self, row: &mut Row<'_>) {
        self.read_lists(row, &FACET_LISTS);
        self.complexity = row.complexity("complexity").or(self.complexity);
    }

    fn read_lists(&mut self, row: &mut Row<'_>, lists: &[(&str, Slot)]) {
        for (name, slot) in lists {
            if let Some(list) = row.list(name) {
                self.lists.push((*slot, list));
            }
        }
    }

    /// Sets the declared members of a tool and leaves the others unchanged.
    pub fn apply(&self, tool: &mut Tool) {
        for (slot, list) in &self.lists {
            slot(tool).clone_from(list);
        }
        tool.reliability = self.reliability.or(tool.reliability);
        tool.cost = self.cost.or(tool.cost);
        self.apply_latency(tool);
        tool.hints.read_only = self.hints.read_only.or(tool.hints.read_only);
        tool.hints.destructive = self.hints.destructive.or(tool.hints.destructive);
        tool.hints.idempotent = self.hints.idempotent.or(tool.hints.idempotent);
        tool.facets.complexity = self.complexity.or(tool.facets.complexity);
        self.routing.apply(&mut tool.routing);
        tool.facets.compact();
        tool.routing.compact();
    }

    /// Sets the latency. A tier that is declared later takes precedence, so it removes milliseconds
    /// that were declared earlier.
    fn apply_latency(&self, tool: &mut Tool) {
        if self.latency_ms.is_some() || self.latency_tier.is_some() {
            tool.latency_ms = self.latency_ms;
            tool.declared_latency_tier = self.latency_tier;
        }
    }
}
