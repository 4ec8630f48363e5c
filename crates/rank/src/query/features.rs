//! The features of a prompt and its context, in the words that tools' facets use.

use serde::{Deserialize, Serialize};

/// Defines an enum whose variants each have a word in catalogs, configurations and JSON.
macro_rules! words {
    ($(#[$doc:meta])* $name:ident { $($(#[$variant_doc:meta])* $variant:ident => $word:literal),+ $(,)? }) => {
        $(#[$doc])*
        #[derive(
            Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize, serde::Deserialize,
        )]
        #[serde(rename_all = "snake_case")]
        pub enum $name { $($(#[$variant_doc])* $variant),+ }

        impl $name {
            pub const ALL: [Self; [$($word),+].len()] = [$(Self::$variant),+];

            /// The variant with this word.
            #[doc(hidden)] // For our own crates.
            pub fn from_word(word: &str) -> Option<Self> {
                Self::ALL.into_iter().find(|known| known.as_str() == word)
            }

            /// The word in catalogs and JSON.
            pub fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $word),+ }
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.pad(self.as_str())
            }
        }
    };
}
pub(crate) use words;

words! {
    /// A phase of work of the SPARC method.
    Phase {
        Specification => "specification",
        Pseudocode => "pseudocode",
        Architecture => "architecture",
        Refinement => "refinement",
        Completion => "completion",
    }
}

words! {
    /// The kind of work that is requested.
    TaskType {
        CodeGeneration => "code_generation",
        CodeModification => "code_modification",
        BugFix => "bug_fix",
        Refactoring => "refactoring",
        Testing => "testing",
        Documentation => "documentation",
        Analysis => "analysis",
        Deployment => "deployment",
    }
}

words! {
    /// How well the given files are tested.
    TestingStatus {
        NoTests => "no_tests",
        PartialTests => "partial_tests",
        ComprehensiveTests => "comprehensive_tests",
        FailingTests => "failing_tests",
    }
}

words! {
    /// How the code is divided into parts.
    Structure {
        Monolith => "monolith",
        Modular => "modular",
        Microservices => "microservices",
        Unknown => "unknown",
    }
}

words! {
    /// A grade of something without a unit.
    Grade { Low => "low", Medium => "medium", High => "high" }
}

/// The structure of the code, as far as the files show it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CodeStructure {
    #[serde(rename = "type")]
    pub kind: Structure,
    /// Names of the design patterns in the files, such as `repository` or `observer`.
    pub patterns: Vec<String>,
    pub complexity: Grade,
    pub testability: Grade,
}

/// The features that are compared with the facets of tools. An unknown feature is `None` or empty
/// and has no effect.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ContextFeatures {
    /// The phase of work.
    pub phase: Option<Phase>,
    /// Lower-case names of programming languages, the one with the most code first.
    pub languages: Vec<String>,
    /// 0 (trivial) to 1.
    pub complexity: Option<f32>,
    /// The kind of work.
    pub task_type: Option<TaskType>,
    /// How the code is divided.
    pub structure: Option<CodeStructure>,
    /// How well the files are tested.
    pub testing: Option<TestingStatus>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use toolroute_catalog::{PHASES, TASK_TYPES};

    #[test]
    fn catalogs_know_the_same_words() {
        assert_eq!(Phase::ALL.iter().map(|phase| phase.as_str()).collect::<Vec<_>>(), PHASES);
        assert_eq!(TaskType::ALL.iter().map(|task| task.as_str()).collect::<Vec<_>>(), TASK_TYPES);
        assert_eq!(Phase::from_word("refinement"), Some(Phase::Refinement));
        assert_eq!(TaskType::from_word("cooking"), None);
    }
}
