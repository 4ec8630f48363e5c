//! An index of tools by phase, language, task type, category, server and the obligations they
//! satisfy.

use std::collections::BTreeMap;

use crate::Tool;
use crate::row::near_word;
use crate::tool::display_as;

/// The known phases, which are those of SPARC, the method that the source documents follow.
pub const PHASES: &[&str] =
    &["specification", "pseudocode", "architecture", "refinement", "completion"];

pub const TASK_TYPES: &[&str] = &[
    "code_generation",
    "code_modification",
    "bug_fix",
    "refactoring",
    "testing",
    "documentation",
    "analysis",
    "deployment",
];

/// A property by which tools are looked up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Facet {
    Phase,
    Language,
    TaskType,
    Category,
    Server,
    /// The types of obligation that a run of the tool discharges.
    Satisfies,
}

impl Facet {
    /// All facets.
    pub const ALL: [Self; 6] = [
        Self::Phase,
        Self::Language,
        Self::TaskType,
        Self::Category,
        Self::Server,
        Self::Satisfies,
    ];

    /// Returns `true` if a tool without this facet suits every value of it. A tool that names no
    /// phases suits all phases, but one that names no category is in none.
    fn is_open(self) -> bool {
        matches!(self, Self::Phase | Self::Language | Self::TaskType)
    }

    fn of(self, tool: &Tool) -> &[String] {
        match self {
            Self::Phase => &tool.facets.phases,
            Self::Language => &tool.facets.languages,
            Self::TaskType => &tool.facets.task_types,
            Self::Category => &tool.categories,
            Self::Server => tool.server.as_slice(),
            Self::Satisfies => &tool.satisfies,
        }
    }
}

display_as!(Facet {
    Phase => "phase",
    Language => "language",
    TaskType => "task_type",
    Category => "category",
    Server => "server",
    Satisfies => "satisfies",
});

/// Rows by facet and value, built together with the catalog. The case of values is ignored.
#[derive(Clone, Debug, Default)]
pub struct FacetIndex {
    rows: BTreeMap<(Facet, String), Vec<u32>>,
    /// Rows of tools that name no value of an open facet.
    open: BTreeMap<Facet, Vec<u32>>,
}

impl FacetIndex {
    pub(super) fn new<'a>(tools: impl Iterator<Item = &'a Tool>) -> Self {
        let mut index = Self::default();
        for (row, tool) in (0u32..).zip(tools) {
            for facet in Facet::ALL {
                let values = facet.of(tool);
                for value in values {
                    let rows = index.rows.entry((facet, value.to_lowercase())).or_default();
                    // A tool may name a value twice.
                    if rows.last() != Some(&row) {
                        rows.push(row);
                    }
                }
                if values.is_empty() && facet.is_open() {
                    index.open.entry(facet).or_default().push(row);
                }
            }
        }
        index
    }

    /// Returns the rows of the tools that name the value, in ascending order.
    pub fn rows(&self, facet: Facet, value: &str) -> &[u32] {
        self.rows.get(&(facet, value.to_lowercase())).map_or(&[], Vec::as_slice)
    }

    /// Returns the rows of the tools that name the value, and of the tools that suit any value
    /// because they name no value of the facet, which is possible for phases, languages and task
    /// types. The rows are in ascending order.
    pub fn suitable(&self, facet: Facet, value: &str) -> Vec<u32> {
        let open = self.open.get(&facet).map_or(&[][..], Vec::as_slice);
        let mut rows = [self.rows(facet, value), open].concat();
        rows.sort_unstable();
        rows
    }

    /// Returns the values that tools name, in sorted order, each with the number of tools.
    pub fn values(&self, facet: Facet) -> impl Iterator<Item = (&str, usize)> {
        let of = self.rows.iter().filter(move |((of, _), _)| *of == facet);
        of.map(|((_, value), rows)| (value.as_str(), rows.len()))
    }

    /// Returns the known value that an unknown one probably means.
    pub fn near(&self, facet: Facet, value: &str) -> Option<&str> {
        let known: Vec<&str> = self.values(facet).map(|(value, _)| value).collect();
        near_word(value, &known)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Catalog, Change};

    fn tool(name: &str, phases: &[&str], category: &str) -> Tool {
        let mut tool = Tool::new(Some("s"), name, "");
        tool.facets.phases = phases.iter().map(ToString::to_string).collect();
        tool.categories = vec![category.to_owned()];
        tool
    }

    #[test]
    fn rows_are_found_by_every_facet() {
        let mut linter = tool("lint", &["refinement", "Refinement"], "code");
        linter.facets.languages = vec!["rust".into()];
        linter.facets.task_types = vec!["refactoring".into()];
        linter.satisfies = vec!["evidence.lint".into()];
        let tools =
            vec![tool("any", &[], "files"), linter, tool("plan", &["specification"], "Code")];
        let catalog = Catalog::from_tools(tools).catalog;
        let facets = catalog.facets();
        assert_eq!(facets.rows(Facet::Phase, "refinement"), [1]);
        assert_eq!(facets.suitable(Facet::Phase, "REFINEMENT"), [0, 1]);
        assert_eq!(facets.rows(Facet::Category, "code"), [1, 2]);
        assert_eq!(facets.suitable(Facet::Category, "code"), [1, 2]);
        assert_eq!(facets.rows(Facet::Server, "s"), [0, 1, 2]);
        assert_eq!(facets.rows(Facet::Language, "rust"), [1]);
        assert_eq!(facets.rows(Facet::TaskType, "refactoring"), [1]);
        assert_eq!(facets.rows(Facet::Satisfies, "evidence.lint"), [1]);
        assert!(facets.rows(Facet::Satisfies, "nothing").is_empty());
        assert_eq!(facets.near(Facet::Phase, "refinment"), Some("refinement"));
        let values: Vec<_> = facets.values(Facet::Category).collect();
        assert_eq!(values, [("code", 2), ("files", 1)]);
    }

    #[test]
    fn a_change_of_the_catalog_is_a_change_of_its_facets() {
        let before =
            Catalog::from_tools(vec![tool("a", &["refinement"], "x"), tool("b", &[], "x")]).catalog;
        let changes = vec![
            Change::Remove("a".into()),
            Change::Update(tool("b", &["completion"], "y")),
            Change::Register(tool("c", &["completion"], "x")),
        ];
        let after = before.with(changes).unwrap().catalog;
        assert_eq!(after.facets().rows(Facet::Phase, "completion"), [0, 1]);
        assert_eq!(after.facets().rows(Facet::Category, "x"), [1]);
        assert!(after.facets().rows(Facet::Phase, "refinement").is_empty());
    }
}
