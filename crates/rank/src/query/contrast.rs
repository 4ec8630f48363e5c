//! Removes the side of a contrast that is not wanted: "not the allergies, the record".

use std::borrow::Cow;
use std::sync::LazyLock;

use regex::{Captures, Regex};

use super::requests::is_verb;
use super::{is_listed, pattern};

/// The unwanted side: a few words without a border between them.
const SIDE: &str = r"[^\s,;:.!?]+(?:\s+[^\s,;:.!?]+){0,6}?";

/// "no A, just B". An existing state ("there is no milk, just order some") is no contrast.
static NO: LazyLock<Regex> = LazyLock::new(|| {
    pattern(&format!(
        r"(?i)(?P<state>\b(?:is|are|was|were|has|have|had|got)\s+)?\bno\s+(?:\d\S*(?P<number>)|{SIDE})(?:\s*[,;]\s*|\s+)(?:but(?:\s+(?:just|only|rather))?|just|only|rather)\s+"
    ))
});

/// "not the A, B" at the beginning, with "but" or "just" before B unless A and B have articles.
static NOT: LazyLock<Regex> = LazyLock::new(|| {
    let article = "(?:the|a|an|any|my|our|his|her|their|this|that|these|those)";
    pattern(&format!(
        r"(?i)^\s*(?:please\s+)?not\s+(?:{SIDE}(?:\s*[,;]\s*|\s+)(?:but(?:\s+(?:just|only|rather))?|just|only|rather)\s+|{article}\s+{SIDE}\s*[,;]\s*(?P<other>{article}\s))"
    ))
});

/// "don't want to see A but B".
static UNWANTED: LazyLock<Regex> = LazyLock::new(|| {
    pattern(&format!(
        r"(?i)\b(?:do not|don['’]?t)\s+(?P<want>(?:want|need|wish|mean)(?:(?:\s+you)?\s+to\s+[a-z]+)?)\s+{SIDE}(?:\s*[,;]\s*|\s+)(?:but(?:\s+(?:just|only|rather))?|just|only|rather)\s+(?P<to>to\s+)?(?P<next>[a-z]+)"
    ))
});

/// Words after "but" that begin a sentence rather than the wanted thing.
const SUBJECTS: &str = "i we you he she it they there is are was must can cannot";

/// Returns the prompt with only the wanted side of its contrasts. English only.
pub fn without_contrasts(prompt: &str) -> Cow<'_, str> {
    // Most prompts have no contrast; then the regular expressions need not run.
    let words = prompt.as_bytes().split(|byte| !byte.is_ascii_alphabetic());
    let hints: [&[u8]; 4] = [b"no", b"not", b"don", b"dont"];
    if !words.into_iter().any(|word| hints.iter().any(|hint| word.eq_ignore_ascii_case(hint))) {
        return Cow::Borrowed(prompt);
    }
    let read = UNWANTED.replace_all(prompt, |found: &Captures<'_>| wanted(found));
    let read = super::rewrite(read, |text| {
        NO.replace_all(text, |found: &Captures<'_>| {
            let stays = found.name("state").is_some() || found.name("number").is_some();
            if stays { found[0].to_owned() } else { String::new() }
        })
    });
    let read = super::rewrite(read, |text| NOT.replace(text, "${other}"));
    match read {
        Cow::Owned(text) if text != prompt && !text.trim().is_empty() => Cow::Owned(text),
        _ => Cow::Borrowed(prompt),
    }
}

/// "want to see" with the wanted thing, or another order that replaces this one.
fn wanted(found: &Captures<'_>) -> String {
    let part = |name| found.name(name).map_or("", |part| part.as_str());
    let next = part("next");
    if is_listed(SUBJECTS, next) {
        return found[0].to_owned();
    }
    if !part("to").is_empty() || is_verb(&next.to_ascii_lowercase()) {
        return format!("want to {next}");
    }
    format!("{} {next}", part("want"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_wanted_side_of_a_contrast_stays() {
        for (prompt, read) in [
            ("no X-ray, just a blood test", "a blood test"),
            ("I need no invoice, only the receipt", "I need the receipt"),
            ("No meat but only vegetables please", "vegetables please"),
            ("not the allergies, the record", "the record"),
            ("not the allergies but the record", "the record"),
            ("Not tea, but coffee", "coffee"),
            ("I don't want to see lab results but the images", "I want to see the images"),
            ("I don’t want lab results, just the images", "I want the images"),
            ("I do not need the weather but news", "I need news"),
            ("I don't want to delete the branch but rename it", "I want to rename it"),
            ("I don't want you to delete the branch but the tag", "I want you to delete the tag"),
            ("we don't want to delete it but to rename it", "we want to rename it"),
        ] {
            assert_eq!(without_contrasts(prompt), read, "{prompt}");
        }
    }

    #[test]
    fn what_is_no_contrast_stays_as_it_is() {
        for prompt in [
            "there is no milk, just order some",
            "order no 5, only the bread",
            "not now, later",
            "not sure, check it",
            "don't delete it, archive it",
            "I don't want to go but I must",
            "I don't want you to delete the branch, rename it",
            "no",
            "not",
            "list the notes of Don",
            "",
        ] {
            assert_eq!(without_contrasts(prompt), prompt);
        }
    }

    proptest::proptest! {
        #[test]
        fn no_text_makes_it_panic_or_come_back_empty(
            text in "(no |not the |don't want |to see |but |, |just |[a-z]{1,4} |\\PC){0,12}",
        ) {
            let read = without_contrasts(&text);
            proptest::prop_assert!(text.trim().is_empty() || !read.trim().is_empty());
        }
    }
}
