//! Splits prompts and parameter names into words, and compares words.

use std::borrow::Cow;
use std::ops::Range;

use regex::Regex;

/// Returns the singular of a word.
pub(super) fn singular(word: &str) -> Cow<'_, str> {
    match word {
        "children" => "child".into(),
        "men" => "man".into(),
        "people" => "person".into(),
        "women" => "woman".into(),
        _ => toolroute_catalog::singular(word),
    }
}

/// Whether the text between two values makes them items of one list.
pub(super) fn joins_list(gap: &str) -> bool {
    let gap = gap.trim().to_lowercase();
    let gap = gap.strip_suffix(" the").unwrap_or(&gap);
    matches!(gap, "," | "and" | ", and" | "or" | ", or" | "&" | "/")
}

/// A word of a prompt: its byte range, and its text in lower case.
#[derive(Clone, Debug)]
pub(super) struct Word {
    pub span: Range<usize>,
    pub lower: String,
}

/// Words before a noun.
pub(super) const ARTICLES: &str =
    "a all an any her his its my new our some that the their this your";

/// Words before the name of a person.
pub(super) const TITLES: &str = "dr mr mrs ms prof";

/// Words that do not describe a value.
const FUNCTION_WORDS: &str = "a about after all also am an and any are around as at be because before between but by can could \
     do does exactly for from get give has have how i in instead into is it just let make me my near \
     need no not now of off on only onto or our out over please rather should show so some than that \
     the their them then there these they this those through to under until up us use using \
     was we were what when where which who will with within would you your";

/// Compiles a pattern of this program.
pub(super) fn regex(pattern: &str) -> Regex {
    Regex::new(pattern).expect("the patterns are fixed and compile. This is a bug.")
}

pub(super) fn overlap(a: &Range<usize>, b: &Range<usize>) -> bool {
    a.start < b.end && b.start < a.end
}

/// Whether a word is in a list whose words are separated by spaces.
pub(super) fn is_listed(word: &str, list: &str) -> bool {
    list.split(' ').any(|listed| listed == word)
}

/// Words before a name: "an event called".
pub(super) const CALLED: &str = "called entitled labeled labelled named titled";

/// Whether a word stands before a noun.
pub(super) fn is_article(word: &str) -> bool {
    is_listed(word, ARTICLES)
}

pub(super) fn is_function_word(word: &str) -> bool {
    is_listed(word, FUNCTION_WORDS)
}

/// Whether a word denies what follows: "not", "don't", "avoid".
pub(super) fn is_denial(word: &str) -> bool {
    is_listed(word, "avoid never not prevent")
        || ["n't", "n’t"].iter().any(|end| word.ends_with(end))
}

/// Splits a text into words. A hyphen or an underscore separates words, an apostrophe does not.
pub(super) fn words(text: &str) -> Vec<Word> {
    let mut words = Vec::new();
    let mut start = None;
    let is_part = |c: char| c.is_alphanumeric() || c == '\'' || c == '’';
    for (at, c) in text.char_indices().chain([(text.len(), ' ')]) {
        match (start, is_part(c)) {
            (None, true) if c.is_alphanumeric() => start = Some(at),
            (Some(from), false) => {
                let word = text[from..at].trim_end_matches(['\'', '’']);
                words.push(Word { span: from..from + word.len(), lower: word.to_lowercase() });
                start = None;
            }
            _ => {}
        }
    }
    words
}

/// Splits a name into words: `maxResults`, `max_results` and `max-results` have the words `max` and
/// `results`.
pub(super) fn name_words(name: &str) -> Vec<String> {
    let mut parted = String::new();
    let mut before = ' ';
    for c in name.chars() {
        if c.is_uppercase() && (before.is_lowercase() || before.is_ascii_digit()) {
            parted.push(' ');
        }
        parted.push(c);
        before = c;
    }
    words(&parted).into_iter().flat_map(|word| split_compound(word.lower)).collect()
}

/// Splits names that are written as one word but consist of two.
fn split_compound(word: String) -> Vec<String> {
    let parts: &[&str] = match word.as_str() {
        "checkin" => &["check", "in"],
        "checkout" => &["check", "out"],
        "filename" => &["file", "name"],
        "filepath" => &["file", "path"],
        "timezone" => &["time", "zone"],
        "datetime" => &["date", "time"],
        "startdate" => &["start", "date"],
        "enddate" => &["end", "date"],
        _ => return vec![word],
    };
    parts.iter().map(|part| (*part).to_owned()).collect()
}

/// Returns a name without the "'s" at its end.
pub(super) fn without_possessive(name: &str) -> &str {
    name.strip_suffix("'s").or(name.strip_suffix("’s")).unwrap_or(name)
}

/// Returns the common stem of the forms of a word: `sorting`, `sorted`, `sorts` and `sort`.
pub(super) fn stem(word: &str) -> String {
    let word = singular(word);
    let cut = ["ing", "ed"].iter().find_map(|ending| {
        word.strip_suffix(ending).filter(|stem| stem.len() > 2 && stem.is_ascii())
    });
    let stem = cut.unwrap_or(&word);
    stem.strip_suffix('e').filter(|short| short.len() > 2).unwrap_or(stem).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_forms_of_a_word_are_brought_together() {
        assert_eq!(name_words("maxResults"), ["max", "results"]);
        assert_eq!(name_words("check_in"), ["check", "in"]);
        assert_eq!(name_words("page2Size"), ["page2", "size"]);
        for (a, b) in [("sorted", "sort"), ("returning", "return"), ("pharmacies", "pharmacy")] {
            assert_eq!(stem(a), stem(b));
        }
        assert_eq!(singular("status"), "status");
        assert_eq!(singular("boxes"), "box");
        let said = words("I'll check-in “now”, 5’");
        let lower: Vec<&str> = said.iter().map(|word| word.lower.as_str()).collect();
        assert_eq!(lower, ["i'll", "check", "in", "now", "5"]);
    }
}
