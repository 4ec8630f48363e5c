//! Tiers, facets and other members that a tool's author or an overlay may declare.

use crate::row::{Declared, Row};
use crate::{Cost, Hints, LatencyTier, Reliability, Tool, routing};

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

/// The members that a source declares.
#[derive(Default)]
pub(super) struct Details {
    members: Declared,
    pub hints: Hints,
}

impl Details {
    pub fn read(row: &mut Row<'_>) -> Self {
        let mut details = Self::default();
        let reliability = row.word::<Reliability>("reliability", &["low", "medium", "high"]);
        details.members.set(reliability, |tool| &mut tool.reliability);
        let cost = row.word::<Cost>("cost", &["tiny", "low", "medium", "high"]);
        details.members.set(cost, |tool| &mut tool.cost);
        details.read_latency(row);
        routing::read(row, &mut details.members);
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

    /// Reads the latency. A tier that is declared later takes precedence, so it removes
    /// milliseconds that were declared earlier.
    fn read_latency(&mut self, row: &mut Row<'_>) {
        let ms = row.millis("latency_ms");
        let tier: Option<LatencyTier> =
            row.word("latency_tier", &["fast", "medium", "slow", "very_slow"]);
        self.members.set(ms.map(Some).or(tier.map(|_| None)), |tool| &mut tool.latency_ms);
        self.members
            .set(tier.map(Some).or(ms.map(|_| None)), |tool| &mut tool.declared_latency_tier);
    }

    fn read_facets(&mut self, row: &mut Row<'_>) {
        self.read_lists(row, &FACET_LISTS);
        self.members.set(row.complexity("complexity"), |tool| &mut tool.facets.complexity);
    }

    fn read_lists(&mut self, row: &mut Row<'_>, lists: &[(&str, Slot)]) {
        for (name, slot) in lists {
            self.members.set(row.list(name), *slot);
        }
    }

    /// Sets the declared members of a tool and leaves the others unchanged.
    pub fn apply(&self, tool: &mut Tool) {
        self.members.apply(tool);
        tool.hints.read_only = self.hints.read_only.or(tool.hints.read_only);
        tool.hints.destructive = self.hints.destructive.or(tool.hints.destructive);
        tool.hints.idempotent = self.hints.idempotent.or(tool.hints.idempotent);
        tool.facets.compact();
        tool.routing.compact();
    }
}
