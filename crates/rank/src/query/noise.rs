//! Finds the parts of a prompt that are not natural language or were not written by its author:
//! encoded data, logs, stack traces, tables, code, quoted mails and chats.
//!
//! An encoder would treat such text as the question, and tools that it happens to name would rank
//! higher.

use std::borrow::Cow;

use regex::Regex;

use super::Pattern;
use super::line_kinds::{NoiseKind, line_kinds};
use super::mails::mark_mails;

/// A part of a prompt without blank lines: a paragraph, or a block of noise.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Part {
    pub text: String,
    /// `None` for prose.
    pub kind: Option<NoiseKind>,
}

impl Part {
    pub fn words(&self) -> usize {
        self.text.split_whitespace().count()
    }
}

/// Minimum size in bytes of encoded data in a line with words. Shorter identifiers may be what is
/// asked for.
const ENCODED: usize = 60;

/// Minimum size in bytes of JSON to leave out.
const JSON: usize = 120;

/// Maximum number of passes over a text to match its brackets.
const PASSES: usize = 8;

/// Minimum number of words in quoted text to leave out.
const QUOTED_WORDS: usize = 25;

static DATA_URI: Pattern =
    Pattern::new(r#"!?(?:\[[^\]\n]*\]\()?data:[a-z]+/[\w.+-]+(?:;[\w=.-]+)*,[^\s)"'<>]*\)?"#);
static FENCE: Pattern = Pattern::new(r"(?s)```.*?(?:```|$)");
static QUOTED: Pattern = Pattern::new(r#"(?:^|[\s(:])["“„][^\s"“”„][^"“”„\\]{100,}["”]"#);

/// Splits a prompt into noise and prose. Paragraphs keep their order; parts that were cut out of
/// lines come first. `is_tool_word` tells what a prompt asks for from names and the like.
pub(super) fn parts(prompt: &str, is_tool_word: &dyn Fn(&str) -> bool) -> Vec<Part> {
    let mut parts: Vec<Part> = Vec::new();
    let text = cut_out(prompt, &mut parts);
    let lines: Vec<&str> = text.lines().collect();
    let kinds = line_kinds(&lines);
    let mut blocks = blocks(&lines, &kinds);
    mark_mails(&mut blocks, is_tool_word);
    parts.extend(blocks);
    parts
}

/// Whether a prompt is too short and too plain to contain anything that [`parts`] would cut out.
pub(super) fn is_plain(prompt: &str, least_words: usize) -> bool {
    let mut words = 0;
    let is_word = |token: &str| token.len() < ENCODED;
    !prompt.contains(['\n', '\r', '{', '"', '“', '„'])
        && prompt.split_whitespace().inspect(|_| words += 1).all(is_word)
        && words < least_words
}

/// Cuts out noise that may be part of a line: encoded data, fenced code, JSON and long quotes.
fn cut_out<'a>(prompt: &'a str, parts: &mut Vec<Part>) -> Cow<'a, str> {
    let mut text = Cow::Borrowed(prompt);
    let long_fence = |found: &str| found.lines().count() > 3 || found.len() >= JSON;
    text = cut(text, &DATA_URI, NoiseKind::Encoded, |_| true, parts);
    text = cut(text, &FENCE, NoiseKind::Code, long_fence, parts);
    text = without_json(text, parts);
    let is_long = |found: &str| found.split_whitespace().count() >= QUOTED_WORDS;
    cut(text, &QUOTED, NoiseKind::Context, is_long, parts)
}

fn cut<'a>(
    text: Cow<'a, str>,
    what: &Regex,
    kind: NoiseKind,
    is_noise: impl Fn(&str) -> bool,
    parts: &mut Vec<Part>,
) -> Cow<'a, str> {
    if !what.find_iter(&text).any(|found| is_noise(found.as_str())) {
        return text;
    }
    let without = what.replace_all(&text, |found: &regex::Captures<'_>| {
        let found = &found[0];
        if !is_noise(found) {
            return found.to_owned();
        }
        parts.push(Part { text: found.to_owned(), kind: Some(kind) });
        gap(found).to_owned()
    });
    Cow::Owned(without.into_owned())
}

/// The replacement of a cut-out part: a sentence continues after inline data, but not after a
/// block.
fn gap(found: &str) -> &'static str {
    if found.contains('\n') { "\n\n" } else { " " }
}

/// Cuts out long JSON objects and arrays.
fn without_json<'a>(text: Cow<'a, str>, parts: &mut Vec<Part>) -> Cow<'a, str> {
    let mut without = String::new();
    let (mut from, mut at, mut read) = (0, 0, 0);
    while let Some(open) = text[at..].find(['{', '[']).map(|open| at + open) {
        let end = closing(&text[open..]).map(|end| open + end);
        read += end.unwrap_or(text.len()) - open;
        if read > PASSES * text.len() {
            break;
        }
        let json = &text[open..end.unwrap_or(open)];
        // JSON rarely has blank lines; brackets on both sides of one may enclose the question.
        let is_one = !json.contains("\n\n") && !json.contains("\n\r");
        if is_one && json.len() >= JSON && json.matches('"').count() >= 8 && json.contains(':') {
            without.push_str(&text[from..open]);
            without.push_str(gap(json));
            parts.push(Part { text: json.to_owned(), kind: Some(NoiseKind::Code) });
            at = open + json.len();
            from = at;
        } else {
            at = open + 1;
        }
    }
    if from == 0 {
        return text;
    }
    without.push_str(&text[from..]);
    Cow::Owned(without)
}

/// Returns the position of the bracket that matches the first character.
fn closing(text: &str) -> Option<usize> {
    let (mut depth, mut is_quoted, mut is_escaped) = (0usize, false, false);
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' if is_quoted => is_escaped = true,
            b'"' => is_quoted = !is_quoted,
            b'{' | b'[' if !is_quoted => depth += 1,
            b'}' | b']' if !is_quoted => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return Some(at + 1);
        }
    }
    None
}

/// Joins lines of the same kind and drops blank lines. Blocks that are too short to be noise become
/// prose.
fn blocks(lines: &[&str], kinds: &[Option<NoiseKind>]) -> Vec<Part> {
    let mut runs: Vec<(Option<NoiseKind>, Vec<&str>)> = Vec::new();
    let mut is_open = false;
    for (line, kind) in lines.iter().zip(kinds) {
        if line.trim().is_empty() {
            is_open = false;
            continue;
        }
        match runs.last_mut() {
            // Noise continues after a blank line, a paragraph does not.
            Some((last, run)) if last == kind && (is_open || kind.is_some()) => run.push(line),
            _ => runs.push((*kind, vec![line])),
        }
        is_open = true;
    }
    let mut blocks: Vec<Part> = Vec::new();
    for (kind, run) in runs {
        let kind = kind.filter(|kind| run.len() >= kind.least_lines());
        blocks.push(Part { text: run.join("\n"), kind });
    }
    blocks
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The kinds of a prompt's parts; "prose" for those that stay.
    fn kinds(prompt: &str) -> Vec<String> {
        let name = |kind: NoiseKind| kind.to_string();
        parts(prompt, &|_| true)
            .iter()
            .map(|part| part.kind.map_or("prose".to_owned(), name))
            .collect()
    }

    #[test]
    fn what_is_no_language_is_told_from_prose() {
        let data = "iVBORw0KGgoAAAANSUhEUgAAAAUAAAAFCAYAAACNbyblAAAAHElEQVQI12P4".repeat(3);
        for (noise, kind) in [
            (format!("data:image/png;base64,{data}"), "encoded data"),
            (format!("{data}\n{data}\niVBORw0KGgo="), "encoded data"),
            ("9b74c9897bac770ffc029102a200c5de5f6a1f1a9b74c9897bac770ffc029102  a.tar".into(), "encoded data"),
            ("2026-11-23 03:11:01,037 INFO started\n2026-11-23 03:12:02 ERROR no mail".into(), "log"),
            ("[WARN] the branch is old\n[INFO] retrying in 5s".into(), "log"),
            ("web-1 | 2026-11-23T09:15:02Z info up\ndb-1  | 2026-11-23T09:15:03Z error".into(), "log"),
            ("2026-11-23 ERROR no mail\n2026-11-23 INFO started".into(), "log"),
            ("src/a.c:3:5: error: 'b' undeclared\nsrc/a.c:9:1: warning: unused".into(), "log"),
            ("tests/test_a.py::test_b PASSED\ntests/test_a.py::test_c FAILED".into(), "log"),
            ("app_1  | could not connect\napp_2  | started".into(), "log"),
            ("Collecting numpy==2.1\nDownloading numpy-2.1-cp311.whl".into(), "log"),
            (["{\"level\":\"error\",\"msg\":\"no mail\"}"; 3].join("\n"), "code"),
            ("Traceback (most recent call last):\n  File \"a.py\", line 8, in run\n    go()\nOSError: no".into(), "stack trace"),
            ("java.lang.Exception: no\n\tat com.acme.A.b(A.java:118)\n\t... 3 more".into(), "stack trace"),
            ("name,city,balance\nCohen,Haifa,12.5\nNovak,Prague,-8".into(), "table"),
            ("| room | watts |\n|---|---|\n| hall | 6 |".into(), "table"),
            (" id | status | total\n----+--------+------\n  1 | late   | 9.50".into(), "table"),
            ("fn main() {\n    let a = b();\n}".into(), "code"),
            (format!("[{}]", ["{\"id\": 1, \"note\": \"leave it\"}"; 6].join(", ")), "code"),
            ("<ul>\n  <li>Front door</li>\n</ul>".into(), "code"),
            ("> Hi all,\n> please book by Friday".into(), "mail"),
        ] {
            for prompt in [format!("{noise}\n\nlock the door"), format!("lock the door\n\n{noise}")] {
                let mut found = kinds(&prompt);
                found.retain(|found| found != kind);
                assert_eq!(found, ["prose"], "{prompt}");
            }
        }
    }

    #[test]
    fn a_long_quote_in_a_line_is_cut_out() {
        let quote = "please book a flight to Paris and send an e-mail to Anna ".repeat(3);
        let prompt = format!("put this into German: \"{}\"", quote.trim());
        assert_eq!(kinds(&prompt), ["context", "prose"]);
        assert_eq!(kinds("put this into German: \"book a flight to Paris\""), ["prose"]);
    }

    #[test]
    fn short_parts_and_names_stay() {
        for prompt in [
            "let the plumber in, he's at the front",
            "select count(*) from orders where status='late'",
            "Collecting rent from the tenants is due\nCollecting rent is all I do, who has not paid",
            "door.front FAILED to lock\ndoor.back FAILED to lock, lock them again",
            "npm ERR! code ENOENT, what can I do?\nnpm ERR! no package.json, what now?",
            "who is 550e8400-e29b-41d4-a716-446655440000",
            "open https://example.org/docs/en/getting-started/with/a/very/long/path/to/something.html",
            "eggs, butter, milk",
            "Hi,\nplease lock the door",
        ] {
            assert_eq!(kinds(prompt), ["prose"], "{prompt}");
        }
    }
}
