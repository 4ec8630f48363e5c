//! Quoted texts in a prompt, and the rest of a prompt after "saying" or a colon.

use std::sync::LazyLock;

use regex::Regex;

use super::super::text::{is_article, is_function_word, is_listed, regex};
use super::{Content, Mention};

/// Opening quotation marks, each with the marks that close it.
const MARKS: &[(char, &[char])] = &[
    ('"', &['"']),
    ('“', &['”', '“']),
    ('”', &['”']),
    ('„', &['“', '”']),
    ('«', &['»']),
    ('»', &['«']),
    ('״', &['״']),
    ('「', &['」']),
    ('‘', &['’']),
    ('‚', &['‘']),
    ('\'', &['\'']),
    ('`', &['`']),
];

/// Quotation marks that are also apostrophes.
const APOSTROPHES: [char; 3] = ['\'', '’', '‘'];

pub(super) fn scan(text: &str) -> Vec<Mention> {
    let mut mentions = Vec::new();
    let mut from = 0;
    while let Some((at, open, closing)) = opening(text, from) {
        let inner = at + open.len_utf8();
        let Some(end) = closing_at(text, inner, closing) else {
            from = inner;
            continue;
        };
        let close = text[end..].chars().next().map_or(1, char::len_utf8);
        let said = &text[inner..end];
        from = end + close;
        if !said.trim().is_empty() {
            // French puts spaces within its marks.
            let said = if open == '«' { said.trim() } else { said };
            let content = Content::Quoted(said.to_owned());
            mentions.push(Mention { span: at..from, content });
        }
    }
    mentions
}

type Opening = (usize, char, &'static [char]);

/// Finds the next mark that opens a quote. A mark directly after a letter or digit (`5"`, `don't`,
/// `צה״ל`) opens none.
fn opening(text: &str, from: usize) -> Option<Opening> {
    let mut before = text[..from].chars().next_back();
    for (at, c) in text[from..].char_indices() {
        if let Some((_, closing)) = MARKS.iter().find(|(mark, _)| *mark == c)
            && !before.is_some_and(char::is_alphanumeric)
        {
            return Some((from + at, c, closing));
        }
        before = Some(c);
    }
    None
}

/// Finds the end of a quote. An apostrophe or `״` before a letter or digit does not end it.
fn closing_at(text: &str, from: usize, closing: &[char]) -> Option<usize> {
    let mut rest = text[from..].char_indices().peekable();
    while let Some((at, c)) = rest.next() {
        if !closing.contains(&c) {
            continue;
        }
        let goes_on = rest.peek().is_some_and(|(_, next)| next.is_alphanumeric());
        if !(goes_on && (APOSTROPHES.contains(&c) || c == '״')) {
            return Some(from + at);
        }
    }
    None
}

static INTRODUCED: LazyLock<Regex> =
    LazyLock::new(|| regex(r"(?i)\b(?:saying|that says|with the text)\s*:?\s+|:\s+"));

/// Returns the rest of the prompt after the first word or sign that introduces a text. Returns
/// nothing if a quote follows, because the quote is then the text.
pub(super) fn rest(text: &str, quotes: &[Mention]) -> Vec<Mention> {
    let is_quoted = |at: usize| quotes.iter().any(|quote| quote.span.contains(&at));
    let mut signs = INTRODUCED.find_iter(text).filter(|sign| !is_quoted(sign.start()));
    let Some(sign) = signs.next() else { return Vec::new() };
    let said = text[sign.end()..].trim_end();
    let span = sign.end()..sign.end() + said.len();
    let has_quote = quotes.iter().any(|quote| quote.span.end > span.start);
    let content = Content::Rest(said.to_owned());
    (!said.is_empty() && !has_quote).then_some(Mention { span, content }).into_iter().collect()
}

static REMINDER: LazyLock<Regex> =
    LazyLock::new(|| regex(r"(?i)\bremind\s+\w+\b.*?\s(?:to|that)\s+(?P<text>.+)$"));

/// What a task is to be: "add a todo to call the plumber", but not "to the list" and "to Anna".
static TASK: LazyLock<Regex> = LazyLock::new(|| {
    regex(
        r"\b(?:[Aa]dd|[Cc]reate|[Mm]ake|[Ss]et)\s+an?\s(?:\w+\s)?(?:reminder|task|to-?do)\s+to\s+(?P<text>[a-z]+\s.+)$",
    )
});

/// What a prompt reminds of without "to" or "that": "remind me of the rent", and most translations.
static REMINDED: LazyLock<Regex> =
    LazyLock::new(|| regex(r"(?i)\bremind(?:\s+me\b)?(?:\s+(?:of|about)\b)?\s+(?P<text>.+)$"));

/// Returns what a prompt is to remind of, without the time at its end: "remind me to call Anna in 5
/// minutes". `times` are the mentions of times.
pub(super) fn reminder(text: &str, quotes: &[Mention], times: &[Mention]) -> Option<Mention> {
    let plain = || {
        let found = REMINDED.captures(text)?.name("text")?;
        let first = found.as_str().split_whitespace().next().unwrap_or_default().to_lowercase();
        let is_time = times.iter().any(|time| time.span.start <= found.start() + 3);
        // "Remind me every Monday about …", "remind Ana about …".
        let is_other = is_time
            || is_function_word(&first) && !is_article(&first)
            || is_listed(&first, "daily each every monthly weekly")
            || found.as_str().starts_with(char::is_uppercase);
        Some(found).filter(|_| !is_other)
    };
    let task = || {
        let found = TASK.captures(text)?.name("text")?;
        let first = found.as_str().split_whitespace().next().unwrap_or_default();
        Some(found).filter(|_| !is_function_word(first) && !is_article(first))
    };
    let found = REMINDER.captures(text).and_then(|found| found.name("text"));
    let found = found.or_else(plain).or_else(task);
    let start = found.filter(|_| quotes.is_empty())?.start();
    let trimmed = |text: &str| text.trim_end_matches(['.', '!', ' ']).len();
    let mut end = trimmed(text);
    let last = times.iter().find(|time| time.span.end >= end && time.span.start > start);
    if let Some(time) = last {
        end = trimmed(&text[..time.span.start]);
        let lead =
            text[..end].rfind(' ').filter(|at| ["in", "at", "on"].contains(&&text[at + 1..end]));
        end = lead.map_or(end, |at| trimmed(&text[..at]));
    }
    let said = text.get(start..end).filter(|said| !said.is_empty())?;
    Some(Mention { span: start..end, content: Content::Rest(said.to_owned()) })
}
