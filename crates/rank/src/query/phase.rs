//! Determines the phase of work of a prompt, by examples, keywords and files.

use std::sync::LazyLock;

use super::keywords::{Keywords, lines_by_label};
use super::source_language::language;
use super::testing_status::is_test;
use super::{Phase, SourceFile};

static KEYWORDS: LazyLock<Keywords<Phase>> =
    LazyLock::new(|| Keywords::parse(include_str!("data/phase_keywords.txt"), Phase::from_word));

/// Example prompts with their phases; `None` for prompts that are not about software.
pub fn phase_examples() -> Vec<(&'static str, Option<Phase>)> {
    lines_by_label(include_str!("data/phase.txt"), Phase::from_word)
}

/// Returns the phase with the most keywords in the prompt, and those keywords.
pub fn phase_by_keywords(prompt: &str) -> Option<(Phase, Vec<String>)> {
    KEYWORDS.best(prompt)
}

/// Returns the phase that the files suggest: refinement with tests, architecture with code but no
/// tests, specification with documents but no code, and completion with deployment files only. The
/// rules and their order are those of SPARC2.
pub fn phase_by_files(files: &[SourceFile]) -> Option<Phase> {
    let code = |file: &SourceFile| language(file).is_some() && !is_deployment(&file.path);
    if files.iter().any(is_test) {
        Some(Phase::Refinement)
    } else if files.iter().any(code) {
        Some(Phase::Architecture)
    } else if files.iter().any(|file| is_document(&file.path)) {
        Some(Phase::Specification)
    } else if files.iter().any(|file| is_deployment(&file.path)) {
        Some(Phase::Completion)
    } else {
        None
    }
}

fn is_document(path: &str) -> bool {
    let path = path.to_lowercase();
    let written = [".md", ".rst", ".adoc", ".txt", ".docx", ".pdf", ".odt"];
    written.iter().any(|extension| path.ends_with(extension)) || path.starts_with("docs/")
}

/// Whether a file runs or ships a program without being part of it.
pub(super) fn is_deployment(path: &str) -> bool {
    let path = path.to_lowercase();
    let name = path.rsplit('/').next().unwrap_or(&path);
    let mut names =
        "dockerfile jenkinsfile procfile .gitlab-ci docker-compose compose.y chart.yaml".split(' ');
    let mut folders =
        ".github/workflows/ k8s/ kubernetes/ helm/ terraform/ ansible/ deploy/".split(' ');
    names.any(|start| name.starts_with(start))
        || folders.any(|folder| path.starts_with(folder) || path.contains(&format!("/{folder}")))
        || name.ends_with(".tf")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn by_files(paths: &[&str]) -> Option<Phase> {
        let file = |path: &&str| SourceFile::new(path, "");
        phase_by_files(&paths.iter().map(file).collect::<Vec<_>>())
    }

    #[test]
    fn each_phase_is_told_by_keywords() {
        for (prompt, phase) in [
            ("Write the requirements and user stories", Phase::Specification),
            ("Pseudocode for the algorithm please", Phase::Pseudocode),
            ("System design and data model of the shop", Phase::Architecture),
            ("Fix the bug and add tests", Phase::Refinement),
            ("Deploy the release to production", Phase::Completion),
            ("תכתוב את הדרישות למערכת", Phase::Specification),
            ("לפרוס את השירות לפרודקשן", Phase::Completion),
        ] {
            assert_eq!(phase_by_keywords(prompt).map(|found| found.0), Some(phase), "{prompt}");
        }
        assert_eq!(phase_by_keywords("book a plane to Rome"), None);
    }

    #[test]
    fn files_decide_in_the_order_of_the_source_document() {
        assert_eq!(by_files(&["src/a.rs", "tests/a.rs", "README.md"]), Some(Phase::Refinement));
        assert_eq!(by_files(&["src/a.rs", "README.md", "Dockerfile"]), Some(Phase::Architecture));
        assert_eq!(by_files(&["docs/needs.md", "Dockerfile"]), Some(Phase::Specification));
        assert_eq!(by_files(&["Dockerfile", "k8s/service.yaml"]), Some(Phase::Completion));
        assert_eq!(by_files(&["data.csv"]), None);
        assert_eq!(by_files(&[]), None);
    }
}
