//! The values that a description gives as examples: "e.g. vegan, gluten free", "Can be 'summary' or
//! 'detailed'".

use std::sync::LazyLock;

use regex::Regex;
use serde_json::Value;

use super::super::text::{is_listed, name_words, regex};

/// The most examples of a description that are used.
const MOST: usize = 20;

/// The most words of an example. A longer one is a sentence.
const MOST_WORDS: usize = 4;

/// Phrases that examples or all values follow.
static INTRODUCED: LazyLock<Regex> = LazyLock::new(|| {
    regex(
        r"(?ix)\b(?:e\.g\.?|eg\.|i\.e\.|such\s+as|like|for\s+(?:example|instance)|can\s+be
        |either|one\s+of|options?(?:\s+(?:are|include))?|choices(?:\s+are)?|supports
        |(?:possible|allowed|valid|accepted)\s+values?(?:\s+are)?|values:)[,:\s]+",
    )
});

static QUOTED: LazyLock<Regex> = LazyLock::new(|| {
    regex(r#"'(?P<single>[^']{1,40})'(?:\W|$)|"(?P<double>[^"]{1,40})"|`(?P<tick>[^`]{1,40})`"#)
});

/// Returns the examples with their words, each once, as they are written.
pub(super) fn of(description: &str) -> Vec<(Vec<String>, Value)> {
    let texts = texts(description).into_iter().take(MOST);
    texts.map(|text| (name_words(&text), text.into())).collect()
}

fn texts(description: &str) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    let mut from = 0;
    while let Some(sign) = INTRODUCED.find_at(description, from) {
        let rest = &description[sign.end()..];
        let end = end_of(rest);
        from = sign.end() + end;
        let part = &rest[..end];
        let quoted: Vec<&str> = quotes(part).collect();
        if quoted.is_empty() {
            found.extend(listed(part));
        } else {
            found.extend(quoted.into_iter().map(str::to_owned));
        }
        if from >= description.len() {
            break;
        }
    }
    let is_phrase = |text: &String| {
        let words = text.split_whitespace().count();
        (1..=MOST_WORDS).contains(&words) && text.chars().any(char::is_alphabetic)
    };
    found.retain(is_phrase);
    let mut known = std::collections::HashSet::new();
    found.retain(|text| known.insert(text.to_lowercase()));
    found
}

/// The end of the list at the beginning of a text: a full stop, a bracket or the end of the line.
fn end_of(text: &str) -> usize {
    // "Dr. Okafor".
    let is_title = |at: usize| {
        let before = text[..at].split(|c: char| !c.is_alphabetic()).next_back().unwrap_or_default();
        is_listed(&before.to_lowercase(), "dr mr mrs ms prof st")
    };
    let ends = |(at, c): (usize, char)| match c {
        '.' if is_title(at) => false,
        '.' | '!' => text[at + 1..].starts_with(char::is_whitespace) || at + 1 == text.len(),
        ')' | ';' | '\n' => true,
        _ => false,
    };
    text.char_indices().find(|one| ends(*one)).map_or(text.len(), |(at, _)| at)
}

fn quotes(text: &str) -> impl Iterator<Item = &str> {
    QUOTED.captures_iter(text).filter_map(|groups| {
        let one = groups.name("single").or(groups.name("double")).or(groups.name("tick"))?;
        Some(one.as_str().trim())
    })
}

/// The items of a list without quotes. One item alone counts only if it is short.
fn listed(text: &str) -> Vec<String> {
    let items = text.split([',', '|', '/']).flat_map(|part| part.split(" or "));
    let items = items.map(|item| {
        let item = item.trim();
        let item = item.strip_prefix("or ").or(item.strip_prefix("and ")).unwrap_or(item);
        let item = item.strip_suffix(" etc.").or(item.strip_suffix(" etc")).unwrap_or(item);
        item.trim_matches(|c: char| !c.is_alphanumeric() && c != '#').to_owned()
    });
    let items: Vec<String> = items.filter(|item| !item.is_empty() && item != "etc").collect();
    if items.len() == 1 && items[0].contains(' ') { Vec::new() } else { items }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn examples_are_taken_with_and_without_quotes() {
        for (description, expected) in [
            ("Dietary restrictions e.g. vegan, gluten free, etc.", &["vegan", "gluten free"][..]),
            ("Level of detail. Can be 'summary' or 'detailed'.", &["summary", "detailed"]),
            ("The type of slope like steep, moderate etc.", &["steep", "moderate"]),
            ("Supports 'teaspoon', 'cup', and so on. In US units.", &["teaspoon", "cup"]),
            ("The city, such as Berlin", &["Berlin"]),
            ("Doctor, e.g. Dr. Okafor or Dr. Lund.", &["Dr. Okafor", "Dr. Lund"]),
            ("The person's name", &[]),
            ("Should be a sentence that can be read by anybody who wants", &[]),
        ] {
            assert_eq!(texts(description), expected, "{description}");
        }
    }
}
