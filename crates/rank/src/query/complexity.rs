//! Measures how complex the given code is.

use super::SourceFile;
use super::features::Grade;
use super::source_language::language;

/// The counts that complexity is computed from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Counts {
    files: usize,
    /// Lines that are neither blank nor only a comment.
    lines: usize,
    /// Keywords and operators at which the code branches.
    branches: usize,
    /// Maximum nesting of blocks.
    depth: usize,
}

/// Keywords at which code branches, of all common languages.
const BRANCHES: &[&str] = &[
    "if", "elif", "elsif", "for", "foreach", "while", "case", "when", "match", "switch", "catch",
    "except", "rescue", "unless", "until",
];

const COMMENTS: &[&str] = &["//", "#", "--", "*", "/*", ";", "%", "'''", "\"\"\""];

/// The complexity of the code among `files`, from 0 (none at all) to 1; `None` without code.
///
/// The weighted mean of branches, lines, depth of blocks and files, each as
/// `ln(1 + count) / ln(1 + most)` and at most 1. More files and more lines never lower it.
pub fn complexity(files: &[SourceFile]) -> Option<f32> {
    let counts =
        files.iter().filter(|file| language(file).is_some()).map(|file| count(&file.content));
    let all = counts.reduce(|a, b| Counts {
        files: a.files + b.files,
        lines: a.lines + b.lines,
        branches: a.branches + b.branches,
        depth: a.depth.max(b.depth),
    })?;
    // Code sizes span powers of ten, so each count is taken by its logarithm. A count scores 1 for
    // a project that is too large for one person to know: 50,000 lines, 5,000 branches, 500 files.
    // Reviewed code rarely nests deeper than eleven blocks. Branches weigh most: they are McCabe's
    // measure.
    let shares: [(usize, f32, f32); 4] = [
        (all.branches, 5_000.0, 0.35),
        (all.lines, 50_000.0, 0.30),
        (all.depth, 11.0, 0.20),
        (all.files, 500.0, 0.15),
    ];
    let share =
        |(count, most, weight)| weight * (libm::log1pf(count as f32) / libm::log1pf(most)).min(1.0);
    Some(shares.map(share).iter().sum::<f32>().clamp(0.0, 1.0))
}

/// Thirds of the scale: a file of 100 lines is low, a service of 5,000 medium or high.
pub(super) fn grade(complexity: f32) -> Grade {
    match complexity {
        ..0.34 => Grade::Low,
        ..0.67 => Grade::Medium,
        _ => Grade::High,
    }
}

fn count(content: &str) -> Counts {
    let mut counts = Counts { files: 1, ..Counts::default() };
    let mut open = 0usize;
    for line in content.lines() {
        let text = line.trim_start();
        if text.is_empty() || COMMENTS.iter().any(|mark| text.starts_with(mark)) {
            continue;
        }
        counts.lines += 1;
        let words = text.split(|c: char| !(c.is_alphanumeric() || c == '_'));
        counts.branches += words.filter(|word| BRANCHES.contains(word)).count();
        counts.branches += text.matches("&&").count() + text.matches("||").count();
        // The nesting by braces, if the language has them, else by indentation.
        counts.depth = counts.depth.max(indentation(line));
        for sign in text.bytes() {
            match sign {
                b'{' => open += 1,
                b'}' => open = open.saturating_sub(1),
                _ => continue,
            }
            counts.depth = counts.depth.max(open);
        }
    }
    counts
}

/// The nesting of a line, one level for four spaces or a tab.
fn indentation(line: &str) -> usize {
    let blank = line.len() - line.trim_start().len();
    let tabs = line[..blank].matches('\t').count();
    tabs + (blank - tabs) / 4
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn branches_and_blocks_are_counted_and_comments_are_not() {
        let code =
            "fn a() {\n    // if this\n    if x && y {\n        while z { f() }\n    }\n}\n\n";
        assert_eq!(count(code), Counts { files: 1, lines: 5, branches: 3, depth: 3 });
        let code = "def a():\n    # for it\n    for x in y:\n        if x:\n            f()\n";
        assert_eq!(count(code), Counts { files: 1, lines: 4, branches: 2, depth: 3 });
    }

    #[test]
    fn small_code_is_low_and_much_code_is_high() {
        let hello = complexity(&[SourceFile::new("a.py", "print('hello')")]).unwrap();
        assert_eq!(grade(hello), Grade::Low);
        let branchy = "    if a { while b { match c { } } }\n".repeat(300);
        let module = complexity(&[SourceFile::new("a.rs", &branchy)]).unwrap();
        assert_eq!(grade(module), Grade::Medium);
        let all: Vec<_> =
            (0..60).map(|at| SourceFile::new(&format!("{at}.rs"), &branchy)).collect();
        let project = complexity(&all).unwrap();
        assert_eq!(grade(project), Grade::High);
        assert!(hello < module && module < project && project <= 1.0);
        assert_eq!(complexity(&[SourceFile::new("a.json", "{}")]), None);
    }

    proptest! {
        #[test]
        fn more_code_is_never_less_complex(
            texts in prop::collection::vec("[ \t]{0,9}(if |for |[a-z]{1,4}[{}]?|&&|#|\n){0,40}", 1..6),
            more in "[ \t]{0,9}(while |[{}]|[a-z]|\n){0,20}",
        ) {
            let files: Vec<_> =
                texts.iter().enumerate().map(|(at, text)| SourceFile::new(&format!("{at}.rs"), text)).collect();
            let all = complexity(&files).unwrap();
            prop_assert!((0.0..=1.0).contains(&all));
            prop_assert!(complexity(&files[..files.len() - 1]).unwrap_or(0.0) <= all);
            let mut longer = files.clone();
            longer[0].content.push('\n');
            longer[0].content.push_str(&more);
            prop_assert!(all <= complexity(&longer).unwrap());
        }
    }
}
