//! Determines the kind of work that a prompt requests, by examples and keywords.

use std::sync::LazyLock;

use super::TaskType;
use super::keywords::{Keywords, lines_by_label};

static KEYWORDS: LazyLock<Keywords<TaskType>> =
    LazyLock::new(|| Keywords::parse(include_str!("data/task_keywords.txt"), TaskType::from_word));

/// Example prompts with their kinds of work; `None` for prompts that are not about software.
pub fn task_examples() -> Vec<(&'static str, Option<TaskType>)> {
    lines_by_label(include_str!("data/task.txt"), TaskType::from_word)
}

/// Returns the kind of work with the most keywords in the prompt, and those keywords.
pub fn task_by_keywords(prompt: &str) -> Option<(TaskType, Vec<String>)> {
    KEYWORDS.best(prompt)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_of_work_are_told_by_keywords() {
        for (prompt, task) in [
            ("implement a parser from scratch", TaskType::CodeGeneration),
            ("add an option and make it configurable", TaskType::CodeModification),
            ("the build is broken, fix this exception", TaskType::BugFix),
            ("refactor and simplify the module", TaskType::Refactoring),
            ("write unit tests with pytest", TaskType::Testing),
            ("write the README and a tutorial", TaskType::Documentation),
            ("explain how does it work", TaskType::Analysis),
            ("deploy to kubernetes", TaskType::Deployment),
            ("תקן את הבאג בכניסה", TaskType::BugFix),
            ("исправь ошибку", TaskType::BugFix),
        ] {
            assert_eq!(task_by_keywords(prompt).map(|found| found.0), Some(task), "{prompt}");
        }
        assert_eq!(task_by_keywords("hello there"), None);
    }

    #[test]
    fn every_label_has_thirty_examples_at_least() {
        fn check<L: Copy + PartialEq + std::fmt::Debug>(all: &[L], list: Vec<(&str, Option<L>)>) {
            for label in all.iter().copied().map(Some).chain([None]) {
                let count = list.iter().filter(|(_, found)| *found == label).count();
                assert!(count >= 30, "{label:?}: {count}");
            }
        }
        check(&TaskType::ALL, task_examples());
        check(&super::super::Phase::ALL, super::super::phase_examples());
    }
}
