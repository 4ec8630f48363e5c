//! Truncation of texts at the end of a sentence.

use super::marker;
use toolroute_catalog::first_chars;

/// A truncated text fills at least this share of the limit, even if it ends within a sentence.
const LEAST_SHARE: f64 = 0.6;

pub(super) fn truncate(text: &str, most: usize, chars: usize, handle: Option<&str>) -> String {
    let room = most.saturating_sub(marker(most, chars, handle).chars().count() + 1);
    let kept = cut(text, room);
    let shown = kept.chars().count();
    format!("{kept}\n{}", marker(shown, chars, handle))
}

/// Returns at most `room` characters, up to the last end of a sentence, otherwise of a line,
/// otherwise of a word.
fn cut(text: &str, room: usize) -> &str {
    let kept = first_chars(text, room);
    if kept.len() == text.len() {
        return kept;
    }
    let least = (kept.len() as f64 * LEAST_SHARE) as usize;
    let mut ends = kept.char_indices().rev().filter_map(|(at, c)| sentence_end(text, at, c));
    let sentence = ends.next();
    let line = || kept.rfind('\n');
    let word = || kept.rfind(char::is_whitespace);
    let enough = |end: &usize| *end >= least;
    let end =
        sentence.filter(enough).or_else(|| line().filter(enough)).or_else(|| word().filter(enough));
    kept[..end.unwrap_or(kept.len())].trim_end()
}

/// Returns the end of a sentence that the character `c` at `at` ends, if it does.
fn sentence_end(text: &str, at: usize, c: char) -> Option<usize> {
    let end = at + c.len_utf8();
    // Scripts of East Asia write no space after the end of a sentence.
    let ends = matches!(c, '。' | '！' | '？')
        || (matches!(c, '.' | '!' | '?')
            && text[end..].chars().next().is_none_or(char::is_whitespace));
    ends.then_some(end)
}

/// Splits a text into sentences. A sentence never spans two lines.
pub(super) fn sentences(text: &str) -> Vec<&str> {
    let mut sentences = Vec::new();
    for line in text.lines() {
        let mut start = 0;
        for end in line.char_indices().filter_map(|(at, c)| sentence_end(line, at, c)) {
            sentences.push(line[start..end].trim());
            start = end;
        }
        sentences.push(line[start..].trim());
    }
    sentences.retain(|sentence| !sentence.is_empty());
    sentences
}
