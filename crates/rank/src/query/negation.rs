//! Removes what a prompt says not to do: "don't delete it, archive it". Vectors and keywords both
//! ignore "not", so the verb would rank exactly the wrong tools higher.

use std::borrow::Cow;
use std::sync::LazyLock;

use regex::{Captures, Regex};

use super::pattern;
use super::requests::{content_words, is_verb};

/// A "don't" with its surroundings: a subject ("they don't update it" is not an order), "want you
/// to", and one or two verbs or names.
static NEGATED: LazyLock<Regex> = LazyLock::new(|| {
    pattern(concat!(
        r"(?i)(?P<who>\b(?:i|we|you|they|he|she|it|who|that|which)\s+)?",
        r"\b(?:do not|don['’]?t|never)\s+(?P<wish>(?:want|wish|need)\s+(?:you\s+)?to\s+)?",
        r"(?P<first>`?[a-z][a-z0-9_]*`?)(?:\s+or\s+(?P<second>[a-z]+)\b)?(?P<name>\s+`?[a-z0-9-]*_[a-z0-9_-]+`?)?",
    ))
});

/// Verbs of idioms with "don't".
const FIGURES: [&str; 3] = ["let", "look", "start"];

/// Verbs whose object is a tool.
const CALLS: [&str; 5] = ["use", "call", "run", "invoke", "execute"];

/// Returns the prompt without the verbs and tool names that it negates. The objects of these verbs
/// stay, because the wanted action has the same object. English only.
pub fn without_negations(prompt: &str) -> Cow<'_, str> {
    // Most prompts negate nothing; then the regular expression need not run.
    let hint =
        |word: &[u8]| word.eq_ignore_ascii_case(b"not") || word.eq_ignore_ascii_case(b"never");
    let words = prompt.as_bytes().split(|byte| !byte.is_ascii_alphabetic());
    if !words.into_iter().any(|word| {
        hint(word) || word.eq_ignore_ascii_case(b"don") || word.eq_ignore_ascii_case(b"dont")
    }) {
        return Cow::Borrowed(prompt);
    }
    let read = NEGATED.replace_all(prompt, |found: &Captures<'_>| kept(found));
    match read {
        Cow::Owned(text) if text != prompt && content_words(&text) > 0 => {
            let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
            Cow::Owned(text.trim_start_matches([',', ';', ' ']).to_owned())
        }
        _ => Cow::Borrowed(prompt),
    }
}

/// What remains of a match.
fn kept(found: &Captures<'_>) -> String {
    let part = |name| found.name(name).map_or("", |part| part.as_str());
    let first = part("first").trim_matches('`').to_ascii_lowercase();
    let is_statement = !part("who").is_empty() && part("wish").is_empty();
    let is_order = is_verb(&first) || CALLS.contains(&first.as_str()) || first.contains('_');
    if is_statement || !is_order || FIGURES.contains(&first.as_str()) {
        return found[0].to_owned();
    }
    let second = match part("second") {
        verb if verb.is_empty() || is_verb(&verb.to_ascii_lowercase()) => String::new(),
        other => format!("or {other}"),
    };
    let name = if CALLS.contains(&first.as_str()) { "" } else { part("name") };
    format!("{second}{name}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_shall_not_be_done_is_left_out_and_its_object_stays() {
        for (prompt, read) in [
            ("don't delete PAY-13, close it as won't do", "PAY-13, close it as won't do"),
            (
                "Don’t delete any disk, only show which ones there are",
                "any disk, only show which ones there are",
            ),
            ("dont rotate or delete the secret, just read it", "the secret, just read it"),
            ("archive the mail, do not delete it", "archive the mail, it"),
            ("never send anything, only draft the reply", "anything, only draft the reply"),
            ("I don't want you to delete the branch, rename it", "the branch, rename it"),
            ("do not use delete_email, archive it instead", "archive it instead"),
            ("don't call `delete_email`; archive it", "archive it"),
            ("don't delete_email, archive it", "archive it"),
            ("don't cancel order 5512, just pause it", "order 5512, just pause it"),
        ] {
            assert_eq!(without_negations(prompt), read, "{prompt}");
        }
    }

    #[test]
    fn statements_figures_of_speech_and_all_else_stay_as_they_are() {
        for prompt in [
            "they don't update it, find out why",
            "don't forget to send the mail",
            "why don't you send the mail",
            "don't let it run out",
            "not now",
            "notify Donna that the donation came",
            "don't delete",
            "never mind",
            "не удаляй, don't",
            "",
        ] {
            assert!(matches!(without_negations(prompt), Cow::Borrowed(_)), "{prompt}");
            assert_eq!(without_negations(prompt), prompt);
        }
    }

    proptest::proptest! {
        #[test]
        fn no_text_makes_it_panic_or_come_back_empty(text in "(don't |do not |never |use |delete |_|`|[a-z]{1,4} |\\PC){0,12}") {
            let read = without_negations(&text);
            proptest::prop_assert!(text.trim().is_empty() || !read.trim().is_empty());
        }
    }
}
