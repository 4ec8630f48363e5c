//! Splits a prompt that asks for several things into its requests.

use std::cell::{Cell, OnceCell};
use std::ops::Range;

use super::Pattern;
use super::content::{CONTENT, ORDERED, own_words};
use super::requests::{content_words, is_relative, is_request, without_opener};

/// Maximum number of clauses of a prompt, because each costs an embedding.
pub const MAX_CLAUSES: usize = 8;

/// Minimum number of content words in a request: a verb and an object. "get it" refers to what
/// comes before.
const MIN_CONTENT_WORDS: usize = 2;

/// Where a sentence ends.
static SENTENCE: Pattern = Pattern::new(r"[.!?;]\s+|\n+");

/// What may begin an item of a list: "- ", "1. ", "(2) ", "step 3: ", "b) ".
static ITEM: Pattern = Pattern::new(
    r"(?im)(?:^[ \t]*[-*•–]|(?:^|[\s,;:])\(?(?:(?:step )?(\d{1,2})[.):]|([a-h])\)))\s+",
);

/// Where another request may begin within a sentence.
pub(super) static JOINT: Pattern = Pattern::new(
    r"(?i)\s*,\s*(?:and then|and also|and|then|also|plus|finally|lastly)?\s+|\s+(?:and then|and also|and|then|as well as|after that|followed by)\s+",
);

/// Splits a prompt into its requests, at most [`MAX_CLAUSES`]. A prompt with one request comes back as
/// one clause, nearly unchanged.
///
/// The prompt is split only if the next part starts like a request, so that lists ("bread and
/// butter") stay whole. A statement belongs to the request before it, or to the first request if
/// there is none before. English only: a prompt in another language is returned whole.
pub fn clauses(prompt: &str) -> Vec<String> {
    let rules = Rules { stands_alone: &stands_alone, parts: &parts_of };
    let mut clauses = split(prompt, &rules);
    clauses.truncate(MAX_CLAUSES);
    clauses
}

/// How a prompt is split.
pub(super) struct Rules<'a> {
    /// Whether a part may be a clause of its own.
    pub stands_alone: &'a dyn Fn(&str) -> bool,
    /// Whether the sentence ends a request before a joint and begins another after it.
    pub parts: &'a dyn Fn(&Seam<'_>) -> bool,
}

/// A joint of a sentence.
pub(super) struct Seam<'a> {
    pub sentence: &'a str,
    /// The text after the last request that was split off.
    pub before: &'a str,
    /// The end of `before`, after the joint before this one.
    pub piece: &'a str,
    pub joint: &'a str,
    pub after: &'a str,
    /// Whether a rule found an order in `before` at an earlier joint.
    pub is_ordered: &'a Cell<bool>,
    /// Whether the sentence has no caveat, if it was read for an earlier joint.
    pub is_plain: &'a OnceCell<bool>,
}

/// Splits a prompt by rules, without a limit on the number of parts.
pub(super) fn split(prompt: &str, rules: &Rules<'_>) -> Vec<String> {
    let mut clauses: Vec<String> = Vec::new();
    let mut ahead = String::new();
    let pieces = pieces(prompt, rules).into_iter();
    for piece in pieces.flat_map(|sentence| requests_of(sentence, rules)) {
        if (rules.stands_alone)(piece) {
            join(&mut ahead, piece);
            clauses.push(std::mem::take(&mut ahead));
        } else {
            match clauses.last_mut() {
                Some(last) => join(last, piece),
                None => join(&mut ahead, piece),
            }
        }
    }
    clauses.extend((!ahead.is_empty()).then_some(ahead));
    clauses
}

/// Returns the sentences of a prompt; of a list of requests those of its items, without their marks. A list that is
/// the content of an order is no list of requests, and stays in its sentence: "create a note: 1. eggs 2. milk".
fn pieces<'a>(prompt: &'a str, rules: &Rules<'_>) -> Vec<&'a str> {
    let marks = marks(prompt);
    let [first, .., last] = &marks[..] else { return sentences(prompt) };
    let own = own_words(&prompt[..last.end]);
    let intro = Some(&prompt[..first.start]).filter(|intro| has_content(intro));
    if own.contains([CONTENT, ORDERED]) || intro.is_some_and(rules.stands_alone) {
        let rest = &prompt[last.end..];
        let end = SENTENCE.find(rest).map_or(prompt.len(), |end| last.end + end.end());
        let whole = without_opener(prompt[..end].trim());
        return [whole].into_iter().chain(sentences(&prompt[end..])).collect();
    }
    let ends = marks.iter().skip(1).map(|mark| mark.start).chain([prompt.len()]);
    let items = marks.iter().zip(ends).map(|(mark, end)| &prompt[mark.end..end]);
    let items: Vec<&str> = items.map(|item| item.trim_end_matches([' ', ',', ';', '\n'])).collect();
    if !items.iter().all(|item| (rules.stands_alone)(item)) {
        return sentences(prompt);
    }
    intro.into_iter().chain(items).flat_map(sentences).collect()
}

/// Returns where the marks of a list stand. Numbers and letters count up from the first.
fn marks(prompt: &str) -> Vec<Range<usize>> {
    let (mut marks, mut from): (Vec<Range<usize>>, usize) = (Vec::new(), 0);
    while let Some(found) = ITEM.captures_at(prompt, from) {
        let next = marks.len();
        let letter = "abcdefgh".get(next..next + 1).unwrap_or_default();
        let counts = |at: usize, sign: &str| {
            found.get(at).is_none_or(|found| found.as_str().eq_ignore_ascii_case(sign))
        };
        let Some(mark) = found.get(0) else { break };
        if counts(1, &(next + 1).to_string()) && counts(2, letter) {
            marks.push(mark.range());
        }
        // The space behind a number that is no mark may begin one: "close 12. Step 2: ...".
        from = prompt.floor_char_boundary(mark.end() - 1);
    }
    marks
}

fn join(text: &mut String, more: &str) {
    if !text.is_empty() {
        text.push(' ');
    }
    text.push_str(more);
}

pub(super) fn sentences(prompt: &str) -> Vec<&str> {
    let (mut sentences, mut start) = (Vec::new(), 0);
    for end in SENTENCE.find_iter(prompt) {
        // The sentence keeps its punctuation mark: `?` marks a question.
        let cut = end.start() + usize::from(!end.as_str().starts_with('\n'));
        sentences.push(&prompt[start..cut]);
        start = end.end();
    }
    sentences.push(&prompt[start..]);
    sentences.into_iter().map(without_opener).filter(|sentence| !sentence.is_empty()).collect()
}

fn stands_alone(piece: &str) -> bool {
    (is_request(piece) || piece.ends_with('?')) && content_words(piece) >= MIN_CONTENT_WORDS
}

fn parts_of(seam: &Seam<'_>) -> bool {
    let ends = has_content(seam.before) && is_request(beginning(seam.before));
    let after = beginning(seam.after);
    ends && is_request(after) && !is_relative(after) && has_content(after)
}

/// Whether a text has a verb and an object.
pub(super) fn has_content(text: &str) -> bool {
    content_words(beginning(text)) >= MIN_CONTENT_WORDS
}

/// Maximum number of bytes that are read of a text before or after a joint. A sentence may have
/// thousands of joints.
pub(super) const NEAR: usize = 1_000;

/// Returns the beginning of a long text, and a short one whole.
pub(super) fn beginning(text: &str) -> &str {
    &text[..text.floor_char_boundary(NEAR)]
}

/// Splits one sentence into its requests.
fn requests_of<'a>(sentence: &'a str, rules: &Rules<'_>) -> Vec<&'a str> {
    let (mut pieces, mut start, mut last) = (Vec::new(), 0, 0);
    let (is_plain, is_ordered) = (&OnceCell::new(), &Cell::new(false));
    for joint in JOINT.find_iter(sentence) {
        let (before, after) = (&sentence[start..joint.start()], &sentence[joint.end()..]);
        let (piece, joined) = (&sentence[last..joint.start()], joint.as_str());
        let seam = Seam { sentence, before, piece, joint: joined, after, is_ordered, is_plain };
        if (rules.parts)(&seam) {
            pieces.push(before);
            start = joint.end();
            is_ordered.set(false);
        }
        last = joint.end();
    }
    pieces.push(&sentence[start..]);
    pieces.into_iter().map(without_opener).filter(|piece| !piece.is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn several_requests_are_cut_apart() {
        let cases: &[(&str, &[&str])] = &[
            (
                "1) close issue 12 2) post 'done' to #dev",
                &["close issue 12", "post 'done' to #dev"],
            ),
            (
                "Please do the following:\n1. close issue 12\n2. Post 'done' to #dev. Be polite.",
                &["close issue 12", "Post 'done' to #dev. Be polite."],
            ),
            (
                "a) close the issue, b) post 'done' to #dev",
                &["close the issue", "post 'done' to #dev"],
            ),
            (
                "- close the issue\n- post 'done' to #dev",
                &["close the issue", "post 'done' to #dev"],
            ),
            (
                "Step 1: close the issue. Step 2: write to Ann",
                &["close the issue.", "write to Ann"],
            ),
            (
                "Find me a flat in Oslo and schedule a visit on Friday.",
                &["Find me a flat in Oslo", "schedule a visit on Friday."],
            ),
            (
                "Compress the log. After that, upload it to the share. Finally, tell Ann it's done!",
                &["Compress the log.", "upload it to the share.", "tell Ann it's done!"],
            ),
            (
                "I'm hosting a fair. Can you make a QR code? Also fetch my messages",
                &["I'm hosting a fair. Can you make a QR code?", "fetch my messages"],
            ),
            (
                "help me cancel request RQ7, and check the state of my TV, my TV is old.",
                &["help me cancel request RQ7", "check the state of my TV, my TV is old."],
            ),
        ];
        for (prompt, expected) in cases {
            assert_eq!(clauses(prompt), *expected);
        }
    }

    #[test]
    fn one_request_stays_whole() {
        for prompt in [
            "Find bread and butter recipes",
            "Move my alarm, which was set for 6, to 7",
            "Yesterday my washer broke, I'm at Main St 5, the time is 10:00",
            "compute 443 * 349",
            "Is 371 the sum of the cubes of its digits?",
            "I want a QR code for my friend. Can you help me with that?",
            "把这个文件翻译成英文，然后发给我",
            "Create a note: 1. call Ann today 2. buy the milk",
            "Save a checklist with\n- lock the door\n- close the windows",
            "resize it to 1) 800 2) 600",
        ] {
            assert_eq!(clauses(prompt).len(), 1, "{prompt}: {:?}", clauses(prompt));
        }
    }

    #[test]
    fn nothing_asked_gives_no_clause() {
        assert!(clauses("").is_empty());
        assert!(clauses(" \n ").is_empty());
    }

    proptest! {
        #[test]
        fn any_text_is_cut_without_panic(text in ".{0,200}") {
            prop_assert!(clauses(&text).len() <= MAX_CLAUSES);
        }

        #[test]
        fn requests_joined_come_apart(count in 1usize..6) {
            let prompt = (0..count).map(|n| format!("delete file number {n}")).collect::<Vec<_>>();
            prop_assert_eq!(clauses(&prompt.join(" and then ")), prompt);
        }
    }
}
