//! Finds the question or order in a long prompt, so that tools are ranked for it and not for the
//! material that is pasted around it.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;

use serde::Serialize;

use super::clauses::sentences;
use super::line_kinds::NoiseKind;
use super::mails::asks;
use super::noise::{Part, is_plain, parts};
use super::requests::{is_content, is_request};
use super::{Pattern, is_listed};

/// A part of a prompt that is ignored in ranking.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Omission {
    /// What kind of text was left out.
    pub kind: NoiseKind,
    /// The number of words, separated by white space.
    pub words: usize,
}

impl fmt::Display for Omission {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({} words)", self.kind, self.words)
    }
}

/// The request in a prompt, without pasted material.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Focus<'a> {
    pub text: Cow<'a, str>,
    /// What was left out, one entry per kind.
    pub left_out: Vec<Omission>,
}

/// Minimum number of words of prose, beside pasted material or in paragraphs, before any prose is
/// left out.
const LEAST_WORDS: usize = 40;

/// Minimum number of words of prose alone before any of it is left out. The longest prompts that
/// people and benchmarks write have about as many, and each of their lines may be a request.
const LONG_PARAGRAPH: usize = 120;

/// Words by which a text is handed over: "can you take care of this mail, thanks".
const HANDED_OVER: &str = "above below care cheers deal do email handle hand hello her hey hi him his look mail matter \
    message one out over process regards request see sort take thank thanks them thing thx up yours";

/// A step of a numbered list.
pub(super) static STEP: Pattern =
    Pattern::new(r"(?im)^\s*(?:\d{1,2}(?:\.\d+)*[.)]|step \d+[.:)]?)\s+\S");

/// Finds the request in a prompt. A short prompt of one line is returned unchanged. Something is left
/// out only if what remains asks for something, which may be words that a tool knows.
pub(super) fn focus<'a>(prompt: &'a str, is_tool_word: &dyn Fn(&str) -> bool) -> Focus<'a> {
    let whole = || Focus { text: Cow::Borrowed(prompt), left_out: Vec::new() };
    if is_plain(prompt, LONG_PARAGRAPH) {
        return whole();
    }
    let (prose, mut left_out): (Vec<Part>, Vec<Part>) =
        parts(prompt, is_tool_word).into_iter().partition(|part| part.kind.is_none());
    let has_noise = !left_out.is_empty();
    // Single lines may be separate requests; text between blank lines is prose.
    let is_pasted = has_noise || prompt.contains("\n\n");
    let least = if is_pasted { LEAST_WORDS } else { LONG_PARAGRAPH };
    let kept = choose(prose, (has_noise, least), &mut left_out);
    if left_out.is_empty() {
        return whole();
    }
    let text = kept.join("\n");
    // "Please fix" asks for what the text beside it says.
    let is_object = |word: &str| {
        let word = word.to_lowercase();
        let is_letter = word.len() == 1 && !word.starts_with(|c: char| c.is_ascii_digit());
        !word.is_empty() && !is_letter && is_content(&word) && !is_listed(HANDED_OVER, &word)
    };
    let has_object = text.split(|c: char| !c.is_alphanumeric()).any(is_object);
    if text.trim().is_empty() || !has_object || !asks(&text, is_tool_word) {
        return whole();
    }
    Focus { text: Cow::Owned(text), left_out: count(&left_out) }
}

/// Selects the paragraphs of prose that ask, and moves the others to what is left out. Without
/// noise, every request is the author's; with noise, a request may be part of the pasted material.
fn choose(
    prose: Vec<Part>,
    (has_noise, least): (bool, usize),
    left_out: &mut Vec<Part>,
) -> Vec<String> {
    let words: usize = prose.iter().map(Part::words).sum();
    if words < least {
        return prose.into_iter().map(|part| part.text).collect();
    }
    let (last, mut kept) = (prose.len() - 1, Vec::new());
    let weigh = |(at, part)| weigh(part, at, last);
    let scores: Vec<i32> = prose.iter().enumerate().map(weigh).collect();
    let best = scores.iter().copied().max().unwrap_or_default();
    for (part, score) in prose.into_iter().zip(scores) {
        let is_step = STEP.is_match(&part.text) || (!has_noise && is_request(&part.text));
        if score == best || (score + 1 == best && score >= SURE) || is_step {
            kept.push(part);
        } else {
            left_out.push(Part { kind: Some(NoiseKind::Context), ..part });
        }
    }
    kept.into_iter().map(|part| part.text).collect()
}

/// The score from which a paragraph is considered to ask, though another one has the next higher score.
const SURE: i32 = 4;

/// Scores how likely a paragraph contains the question: it asks, it is short, and it is first or last.
fn weigh(part: &Part, at: usize, last: usize) -> i32 {
    let sentences = sentences(part.text.trim_end());
    let ends = [sentences.first(), sentences.last()].into_iter().flatten();
    let asks = ends.into_iter().any(|end| is_request(end) || end.ends_with('?'));
    let words = part.words();
    let length = i32::from(words <= 30) + 2 * i32::from(words <= 12) - 2 * i32::from(words > 80);
    let place = match at {
        _ if at == last => 2,
        0 => 1,
        _ => -1,
    };
    2 * i32::from(asks) + length + place
}

/// The number of words that were left out, by kind.
fn count(left_out: &[Part]) -> Vec<Omission> {
    let mut words: BTreeMap<NoiseKind, usize> = BTreeMap::new();
    for part in left_out {
        *words.entry(part.kind.unwrap_or(NoiseKind::Context)).or_default() += part.words();
    }
    words.into_iter().map(|(kind, words)| Omission { kind, words }).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_prompt_without_noise_stays_as_it_is() {
        for prompt in [
            "turn the bedroom down to 18",
            "Hi, can you delete my alarm at 7:00?\nMy username is JohnDoe.\nYes, and can you add an item to my agenda? \
             I have to attend a meeting about the budget.\nIt is at the office downtown, at two on the eighteenth of \
             March, and it takes an hour.",
            "Could you extract the names from this text? Here it is: ```\nLi Lei, Li Li\n```",
            "Do the following:\n1. clone the repo\n2. write a Dockerfile\n3. push it",
            "For breakfast I had a coffee.\n\nFor lunch I had a quesadilla.",
            "What is the token AKIA1234567890?",
            "",
        ] {
            let read = focus(prompt, &|_| true);
            assert_eq!(read, Focus { text: Cow::Borrowed(prompt), left_out: vec![] });
        }
    }

    #[test]
    fn the_order_is_found_before_and_after_what_is_pasted() {
        let letter = "Dear Mrs Stern,\n\nthank you for your letter. Our technician can come on Thursday; \
            could you make sure that somebody is at home? Please empty the machine.\n\nYours sincerely,\n\
            M. Fischer";
        let article = "The old harbour has seen better days. For two centuries ships brought timber and \
            wool, and the cranes never stood still before dusk. Today a handful of boats remain.\n\n\
            Whether there will be a hotel is decided in spring, when the mayor opens the town hall.";
        for pasted in [letter, article] {
            for order in ["Set a timer for 9 minutes", "kitchen lights off", "umbrella today?"] {
                for prompt in [format!("{pasted}\n\n{order}"), format!("{order}\n\n{pasted}")] {
                    let read = focus(&prompt, &|_| true);
                    assert_eq!(read.text, order, "{prompt}");
                    assert_eq!(read.left_out.len(), 1, "{prompt}");
                }
            }
        }
    }

    #[test]
    fn a_mail_is_left_out_only_if_what_remains_asks_for_something() {
        let mail = "Hello,\n\nthe hedge at plot 9 is too high, please cut it.";
        for name in ["Ines", "Ines Okafor\n0171 555", "Thanks, Ines", "MfG, I. Okafor"] {
            let prompt = format!("{mail}\n\n{name}");
            assert!(focus(&prompt, &|_| true).text.contains("please cut it"), "{name}");
        }
        for order in ["Erase Planter comment 5", "Colour my tag \"weeds\" green"] {
            let prompt = format!("{mail}\n\n{order}");
            assert_eq!(focus(&prompt, &|_| false).text, order);
        }
        let quoted = "> the hedge is too high\n> please cut it\n\nInes";
        assert!(focus(quoted, &|_| true).text.contains("please cut it"));
        let knows = |word: &str| matches!(word, "sprinklers" | "hedge");
        for (order, is_known) in [("garden sprinklers off", true), ("garden gnomes away", false)] {
            let prompt = format!("{mail}\n\n{order}");
            assert_eq!(focus(&prompt, &knows).text == order, is_known, "{order}");
        }
    }

    #[test]
    fn an_order_without_an_object_keeps_the_whole_prompt() {
        let log = "2026-11-23 03:11:01 INFO pump started\n2026-11-23 03:12:02 ERROR valve 3 stuck";
        for order in
            ["please fix", "please take care of this one, thanks! J.", "Sort this out for her?"]
        {
            let prompt = format!("{log}\n\n{order}");
            assert_eq!(focus(&prompt, &|_| true).text, prompt);
        }
        for order in ["lock the shed", "compute 2+2"] {
            assert_eq!(focus(&format!("{log}\n\n{order}"), &|_| true).text, order);
        }
    }

    #[test]
    fn what_is_left_out_is_counted_by_kind() {
        let prompt = "lock the door\n\n> Hi all,\n> see you\n\n[WARN] old\n[INFO] new";
        let left_out = focus(prompt, &|_| true).left_out;
        let said: Vec<String> = left_out.iter().map(Omission::to_string).collect();
        assert_eq!(said, ["log (4 words)", "mail (6 words)"]);
    }

    proptest! {
        #[test]
        fn no_text_makes_it_panic_or_come_back_empty(
            text in "(> |\n|\n\n|```|\\{\"|\": |\"\\}|\\[|[a-z]{1,6} |Dear |2026-11-23 10:00:00 |\\PC){0,40}"
        ) {
            let read = focus(&text, &|_| true);
            prop_assert!(text.trim().is_empty() || !read.text.trim().is_empty());
        }
    }
}
