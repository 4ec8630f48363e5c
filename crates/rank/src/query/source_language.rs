//! Detects the programming languages of files by name, first line and content.

use std::collections::HashMap;
use std::sync::LazyLock;

use linguist::definitions::LANGUAGES;

use super::SourceFile;
use super::depth::head;

/// How many bytes of a file are examined; GitHub's linguist, the source of the data, uses the same
/// number.
const EXAMINED_BYTES: usize = 50 * 1_024;

/// The preferred languages, in order, if a file name fits several and the content does not decide:
/// `.rs` is also RenderScript, `.h` also Objective-C.
const LIKELIEST: &str = "Rust Python JavaScript TypeScript TSX Java C C++ C# Go PHP Ruby SQL Swift Kotlin Perl R HTML \
    Objective-C MATLAB Shell Markdown YAML";

/// Languages by name, by alias (`bash`, `golang`, `csharp`) and by interpreter
/// (`#!/usr/bin/env python3`).
static BY_OTHER_NAME: LazyLock<HashMap<String, &'static str>> = LazyLock::new(|| {
    let mut names: Vec<&'static String> = LANGUAGES.keys().collect();
    names.sort_unstable();
    let mut known = HashMap::new();
    for name in &names {
        known.insert(name.to_lowercase(), name.as_str());
    }
    for name in names {
        let language = &LANGUAGES[name];
        let others = [&language.aliases, &language.interpreters].into_iter().flatten().flatten();
        for other in others {
            known.entry(other.to_lowercase()).or_insert(name.as_str());
        }
    }
    known
});

/// Returns the name of a language as in [`super::ContextFeatures`]: lower case, equal for all
/// aliases. An unknown name is only lower-cased.
///
/// ```
/// use toolroute_rank::query::language_name;
///
/// assert_eq!(language_name("Bash"), "shell");
/// assert_eq!(language_name("golang"), "go");
/// assert_eq!(language_name("Klingon"), "klingon");
/// ```
pub fn language_name(word: &str) -> String {
    let word = word.trim().to_lowercase();
    BY_OTHER_NAME.get(&word).map_or(word, |name| name.to_lowercase())
}

/// Returns the language of a file with code or markup; `None` for data, prose and unknown files. A
/// file without content is recognised by its name only.
pub fn language(file: &SourceFile) -> Option<&'static str> {
    let content = head(&file.content, EXAMINED_BYTES);
    let name = match by_first_line(content) {
        Some(name) => name,
        None => by_name(&file.path, content)?,
    };
    is_code(name).then_some(name)
}

/// Returns the languages of files in lower case, by descending number of lines, then by name.
pub fn languages(files: &[SourceFile]) -> Vec<String> {
    let mut lines: HashMap<&'static str, usize> = HashMap::new();
    for file in files {
        if let Some(name) = language(file) {
            let filled = file.content.lines().filter(|line| !line.trim().is_empty()).count();
            *lines.entry(name).or_default() += filled;
        }
    }
    let mut found: Vec<_> = lines.into_iter().collect();
    found.sort_unstable_by(|a, b| b.1.cmp(&a.1).then(a.0.cmp(b.0)));
    found.into_iter().map(|(name, _)| name.to_lowercase()).collect()
}

/// Returns the language of the interpreter in a `#!` line.
fn by_first_line(content: &str) -> Option<&'static str> {
    let line = content.strip_prefix("#!")?.lines().next()?;
    let mut words = line.split_whitespace().filter(|word| !word.starts_with('-'));
    let program = words.next()?.rsplit('/').next()?;
    let program = if program == "env" { words.find(|word| !word.contains('='))? } else { program };
    let known = |name: &str| BY_OTHER_NAME.get(&name.to_lowercase()).copied();
    // `python3.12` is listed as `python3`.
    known(program).or_else(|| known(program.split('.').next()?))
}

fn by_name(path: &str, content: &str) -> Option<&'static str> {
    let content = (!content.is_empty()).then_some(content);
    // Detection fails only for paths without a file name, and for texts that its patterns cannot
    // process.
    let found = linguist::detect_language(path, content)
        .or_else(|_| linguist::detect_language(path, None))
        .unwrap_or_default();
    let mut likeliest = LIKELIEST.split_whitespace();
    let likely = likeliest.find_map(|name| found.iter().find(|one| one.name == name));
    likely.or(found.first()).map(|one| one.name)
}

/// Whether a language is a programming or markup language. SQL counts too, although linguist
/// classifies it as data, because tools declare it.
fn is_code(name: &str) -> bool {
    use linguist_types::LanguageType::{Markup, Programming};
    let kind = LANGUAGES.get(name).map(|language| &language.language_type);
    name == "SQL" || matches!(kind, Some(Programming | Markup))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_told_by_name_first_line_and_content() {
        for (path, content, expected) in [
            ("src/main.rs", "fn main() {}", Some("Rust")),
            ("src/main.rs", "", Some("Rust")),
            ("a/b.py", "", Some("Python")),
            ("run", "#!/usr/bin/env -S python3.12 -u\nprint(1)", Some("Python")),
            ("deploy", "#!/bin/bash\nset -e", Some("Shell")),
            ("widget.h", "#include <iostream>\nclass Widget {};", Some("C++")),
            ("Dockerfile", "FROM debian", Some("Dockerfile")),
            ("q.sql", "select 1", Some("SQL")),
            ("App.tsx", "export const a = 1", Some("TSX")),
            ("notes.md", "# hello", None),
            ("data.json", "{}", None),
            ("strange.zzz", "?", None),
            ("..", "", None),
            ("", "", None),
        ] {
            assert_eq!(language(&SourceFile::new(path, content)), expected, "{path}");
        }
    }

    #[test]
    fn the_language_with_the_most_code_comes_first() {
        let files = [
            SourceFile::new("a.js", "one()\n"),
            SourceFile::new("b.py", "one()\n\n\n\n\n"),
            SourceFile::new("c.go", "one()\ntwo()\n"),
            SourceFile::new("README.md", "much\nmore\nthan\nall"),
        ];
        assert_eq!(languages(&files), ["go", "javascript", "python"]);
    }

    #[test]
    fn a_long_text_is_cut_where_a_character_ends() {
        let content = "é".repeat(EXAMINED_BYTES);
        assert_eq!(languages(&[SourceFile::new("a.py", &content)]), ["python"]);
    }
}
