//! Directions of conversion: "speech to text" or "text to speech".

use toolroute_catalog::singular;

use super::requests::is_content;

/// Source and target of a conversion: single words in lower case and singular.
pub type Direction = (String, String);

/// How many words before and after "to" are considered: "this audio file to plain text".
const REACH: usize = 2;

/// Returns the directions that a text states with "to" or "into": each content word shortly before
/// it, paired with each shortly after it. Verbs are ignored.
pub fn directions(text: &str) -> Vec<Direction> {
    let is_joint =
        |word: &&str| word.eq_ignore_ascii_case("to") || word.eq_ignore_ascii_case("into");
    let words = || text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    if !words().any(|word| is_joint(&word)) {
        return Vec::new();
    }
    let words: Vec<&str> = words().collect();
    let content = |words: &[&str]| -> Vec<String> {
        let words = words.iter().map(|word| word.to_lowercase()).filter(|word| is_content(word));
        words.map(|word| singular(&word).into_owned()).collect()
    };
    let mut found = Vec::new();
    for (at, _) in words.iter().enumerate().filter(|(_, word)| is_joint(word)) {
        let from = content(&words[at.saturating_sub(REACH)..at]);
        let to = content(&words[at + 1..words.len().min(at + 1 + REACH)]);
        let pairs = from.iter().flat_map(|from| to.iter().map(move |to| (from, to)));
        let pairs = pairs.filter(|(from, to)| from != to);
        found.extend(pairs.map(|(from, to)| (from.clone(), to.clone())));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_around_a_to_make_directions() {
        let way = |from: &str, to: &str| (from.to_owned(), to.to_owned());
        for (text, expected) in [
            ("hex to HSL", vec![way("hex", "hsl")]),
            (
                "translate English texts into French",
                vec![way("english", "french"), way("text", "french")],
            ),
            ("send it to Dana", vec![]),
            ("Convert USD to EUR today", vec![way("usd", "eur"), way("usd", "today")]),
            ("to", vec![]),
            ("I want to go", vec![]),
            ("files to files", vec![]),
            ("", vec![]),
            ("数据 to 文本", vec![way("数据", "文本")]),
        ] {
            assert_eq!(directions(text), expected, "{text}");
        }
    }

    proptest::proptest! {
        #[test]
        fn no_text_makes_it_panic(text in "([a-z]{1,6} |to |into |\\PC){0,20}") {
            for (from, to) in directions(&text) {
                proptest::prop_assert!(!from.is_empty() && from != to);
            }
        }
    }
}
