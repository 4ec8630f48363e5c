//! Determines whether the given code is tested, and whether its tests pass.

use std::collections::HashSet;

use super::source_language::language;
use super::{Pattern, SourceFile, TestingStatus};

/// Paths of test files: `test_x.py`, `x_test.go`, `x.spec.ts`, `XTest.java`, and files in a folder for
/// tests.
static TEST_PATH: Pattern = Pattern::new(
    r"(?i:(?:^|/)(?:tests?|__tests__|specs?|e2e|cypress)/)|(?i:(?:^|/)(?:test_[^/]+|[^/]+[._-](?:test|tests|spec))\.\w+$)|(?:^|/)\w+(?:Test|Tests|Spec|IT)\.(?:java|kt|cs|scala|swift|php|groovy)$",
);

/// Tests within the code that they test.
static TEST_INSIDE: Pattern = Pattern::new(
    r"#\[(?:\w+::)?test\]|#\[cfg\(test\)\]|(?m:^\s*>>> )|(?m:^\s*(?:unittest|test) \x22)",
);

/// What test runners print for a failure: cargo, pytest, unittest, Go, Jest, JUnit's XML, RSpec, mocha,
/// TAP.
static FAILED: Pattern = Pattern::new(
    r#"(?m)test result: FAILED|^=+ .*\b[1-9]\d* (?:failed|errors?)\b|^FAILED \((?:failures|errors)=|^--- FAIL:|^FAIL\s+\S+|^Tests:\s+[1-9]\d* failed|<testsuites?\b[^>]*\b(?:failures|errors)="[1-9]|Tests run: \d+, (?:Failures: [1-9]|Failures: 0, Errors: [1-9])|\b[1-9]\d* examples?, [1-9]\d* failures?|^\s*[1-9]\d* failing$|^not ok \d"#,
);

/// Minimum share of code files with a test for the status `comprehensive`.
const COMPREHENSIVE: f32 = 0.6;

pub(super) fn is_test(file: &SourceFile) -> bool {
    TEST_PATH.is_match(&file.path)
}

fn has_tests_inside(file: &SourceFile) -> bool {
    TEST_INSIDE.is_match(&file.content)
}

/// Whether a text is the output of a test run with a failure.
pub(super) fn reports_failure(text: &str) -> bool {
    FAILED.is_match(text)
}

/// Determines how well the code among `files` is tested; `None` if there is no code.
///
/// Failing if one of the files is the output of a failed test run. Comprehensive if 60 % of the
/// code files contain tests or have a test file of their name.
pub fn testing_status(files: &[SourceFile]) -> Option<TestingStatus> {
    let code: Vec<&SourceFile> = files.iter().filter(|file| language(file).is_some()).collect();
    // A source file may quote such output, so only reports and logs are considered.
    let reports = files.iter().filter(|file| language(file).is_none());
    if reports.map(|file| &file.content).any(|text| reports_failure(text)) {
        return Some(TestingStatus::FailingTests);
    }
    if code.is_empty() {
        return None;
    }
    let (tests, sources): (Vec<&SourceFile>, Vec<&SourceFile>) =
        code.into_iter().partition(|file| is_test(file));
    let named: HashSet<String> = tests.iter().map(|file| subject(&file.path)).collect();
    let is_tested =
        |file: &&&SourceFile| has_tests_inside(file) || named.contains(&subject(&file.path));
    let tested = sources.iter().filter(is_tested).count();
    Some(if tests.is_empty() && tested == 0 {
        TestingStatus::NoTests
    } else if tested as f32 >= COMPREHENSIVE * sources.len() as f32 {
        TestingStatus::ComprehensiveTests
    } else {
        TestingStatus::PartialTests
    })
}

/// The subject of a file: its name in lower case, without extension and test affixes.
fn subject(path: &str) -> String {
    let name = path.rsplit('/').next().unwrap_or(path).to_lowercase();
    let stem = name.split('.').next().unwrap_or(&name).to_owned();
    let mut subject = stem.trim_start_matches("test_").to_owned();
    for mark in ["_tests", "_test", "-test", "_spec", "tests", "test", "spec"] {
        if let Some(rest) = subject.strip_suffix(mark).filter(|rest| !rest.is_empty()) {
            subject = rest.to_owned();
            break;
        }
    }
    subject
}

#[cfg(test)]
mod tests {
    use super::*;

    fn status(files: &[(&str, &str)]) -> Option<TestingStatus> {
        let file = |(path, content): &(&str, &str)| SourceFile::new(path, content);
        testing_status(&files.iter().map(file).collect::<Vec<_>>())
    }

    #[test]
    fn each_status_is_told() {
        use TestingStatus::{ComprehensiveTests, FailingTests, NoTests, PartialTests};
        assert_eq!(status(&[("notes.txt", "")]), None);
        assert_eq!(status(&[("src/latest.py", ""), ("src/contest.py", "")]), Some(NoTests));
        assert_eq!(status(&[("a.py", ""), ("b.py", ""), ("test_a.py", "")]), Some(PartialTests));
        assert_eq!(status(&[("Cart.java", ""), ("CartTest.java", "")]), Some(ComprehensiveTests));
        assert_eq!(status(&[("src/a.rs", "#[test]\nfn x() {}")]), Some(ComprehensiveTests));
        assert_eq!(status(&[("a.ts", ""), ("a.spec.ts", "")]), Some(ComprehensiveTests));
        assert_eq!(
            status(&[("a.go", ""), ("out.log", "--- FAIL: TestA (0.00s)")]),
            Some(FailingTests)
        );
    }

    #[test]
    fn every_runner_tells_its_failures_and_only_these() {
        for failed in [
            "test result: FAILED. 3 passed; 1 failed",
            "=========== 2 failed, 5 passed in 0.12s ===========",
            "FAILED (failures=1)",
            "Tests:       1 failed, 4 passed, 5 total",
            r#"<testsuite name="a" tests="3" failures="1" errors="0">"#,
            "Tests run: 3, Failures: 0, Errors: 1, Skipped: 0",
            "12 examples, 2 failures",
            "  3 failing",
            "not ok 4 - adds",
        ] {
            assert!(reports_failure(failed), "{failed}");
        }
        for passed in [
            "test result: ok. 3 passed; 0 failed",
            "=========== 5 passed in 0.12s ===========",
            "Tests:       4 passed, 4 total",
            r#"<testsuite name="a" tests="3" failures="0" errors="0">"#,
            "Tests run: 3, Failures: 0, Errors: 0",
            "12 examples, 0 failures",
            "ok 4 - adds",
        ] {
            assert!(!reports_failure(passed), "{passed}");
        }
    }
}
