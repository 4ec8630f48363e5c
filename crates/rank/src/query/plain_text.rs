//! The words of a prompt that say what is to be done, without the values that it contains.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::LazyLock;

use regex::Regex;

use super::pattern;

/// Stands for a value of the prompt that an argument took.
pub(super) const TAKEN: &str = "§";

/// Stands for a moment or a duration that no argument took.
pub(super) const MOMENT: &str = "¤";

/// Quotation marks, each with the one that closes it.
const QUOTES: [(char, char); 7] =
    [('"', '"'), ('“', '”'), ('«', '»'), ('„', '“'), ('‘', '’'), ('\'', '\''), ('`', '`')];

/// Words that seem to forbid, to restrict or to postpone, and only make an order polite or urgent.
static ASIDES: LazyLock<Regex> = LazyLock::new(|| {
    let chance = r"(?:get|have) (?:(?:a|the|some) )?(?:chance|minute|moment|second|time)";
    pattern(&format!(
        r"\b(?:if (?:at all )?possible|as soon as possible|if need be|at once|once (?:and for all|more|again)|(?:do not|don't|do n't) (?:forget to|worry|hesitate|panic)|(?:wondering|appreciate it|glad|grateful|happy|nice|great) if|(?:(?:if|when|whenever|once|as soon as) you (?:can|could|please|like|wish|want|would|will|don't mind|do not mind|would be so kind|{chance})|(?:as|like) (?:before|usual))(?P<end>\s*(?:$|[.,;:!?])))"
    ))
});

/// The places of a prompt's values, as byte ranges.
#[derive(Clone, Copy, Debug, Default)]
pub struct Places<'a> {
    /// Values that arguments of the tool took. They are no part of the order.
    pub taken: &'a [Range<usize>],
    /// Moments and durations that no argument took.
    pub moments: &'a [Range<usize>],
}

/// Returns the first word of a text in lower case, without the signs around it; empty if there is none.
pub(super) fn first_word(text: &str) -> String {
    let word = text.split_whitespace().next().unwrap_or_default();
    word.trim_matches(|c: char| !c.is_alphanumeric()).to_lowercase()
}

/// Returns the text in lower case, without quotes, and with signs for the values in it.
pub(super) fn unquoted(prompt: &str, places: Places<'_>) -> String {
    let mut plain = String::new();
    let mut quoted_to = 0;
    for (at, c) in prompt.char_indices() {
        let place = |places: &[Range<usize>]| {
            places.iter().find(|place| place.contains(&at)).map(|place| place.start == at)
        };
        let (taken, moment) = (place(places.taken), place(places.moments));
        if at < quoted_to {
            continue;
        }
        if let Some(end) = quote_end(prompt, at, c) {
            quoted_to = end;
        } else if taken.is_some() || moment.is_some() {
            let sign = if taken.is_some() { TAKEN } else { MOMENT };
            if taken.or(moment) == Some(true) {
                plain.extend([" ", sign, " "]);
            }
        } else if c == '’' {
            plain.push('\'');
        } else {
            plain.extend(c.to_lowercase());
        }
    }
    plain
}

/// Returns the end of the quote that begins at a place; `None` if none begins there. A mark after a
/// letter begins none, and an apostrophe before a letter ends none.
pub(super) fn quote_end(prompt: &str, at: usize, mark: char) -> Option<usize> {
    let (_, close) = QUOTES.iter().find(|(open, _)| *open == mark)?;
    if prompt[..at].ends_with(char::is_alphanumeric) {
        return None;
    }
    let from = at + mark.len_utf8();
    let mut ends =
        prompt[from..].match_indices(*close).map(|(end, _)| from + end + close.len_utf8());
    let is_apostrophe = matches!(close, '\'' | '’');
    let end = ends.find(|end| !is_apostrophe || !prompt[*end..].starts_with(char::is_alphanumeric));
    // A quote that is not closed goes on to the end, unless its mark is also an apostrophe.
    end.or((!is_apostrophe && mark != '`').then_some(prompt.len()))
}

/// Returns a text without words that only seem to forbid, to restrict or to postpone.
pub(super) fn without_asides(plain: &str) -> Cow<'_, str> {
    ASIDES.replace_all(plain, "$end")
}

/// Returns the words of a text, and a comma for each border between clauses.
pub(super) fn words(plain: &str) -> Vec<&str> {
    let joins = |c: char| c.is_alphanumeric() || matches!(c, '\'' | '§' | '¤');
    let mut words = Vec::new();
    let mut from = 0;
    for part in plain.split_inclusive(|c: char| !joins(c)) {
        from += part.len();
        let word = part.trim_end_matches(|c: char| !joins(c)).trim_matches('\'');
        // "Order no. 5" goes on.
        let is_end = part.ends_with(['.', ',', ';', ':', '!', '?', '\n'])
            && plain[from..].chars().next().is_none_or(char::is_whitespace)
            && word != "no";
        words.extend(Some(word).filter(|word| !word.is_empty()));
        words.extend(is_end.then_some(","));
    }
    words
}
