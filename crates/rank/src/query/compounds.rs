//! Joins the parts of a compound that the tools write as one word: "pick-up" and "the pick up" where a
//! tool says "pickup".

use std::borrow::Cow;

use super::is_listed;
use super::spelling::Lexicon;
use super::wishes::PARTICLES;

/// Words before a noun.
const DETERMINERS: &str = "a an the my our your his her their its this that any each every no";

/// Joins the parts of each compound with a hyphen, and of each noun of a verb and a particle, if the
/// catalog has the joined word.
pub fn with_compounds<'a>(prompt: &'a str, lexicon: &impl Lexicon) -> Cow<'a, str> {
    let tokens: Vec<&str> = prompt.split_inclusive(char::is_whitespace).collect();
    let (mut text, mut is_changed) = (String::new(), false);
    let mut at = 0;
    while at < tokens.len() {
        let next = tokens.get(at + 1).copied().unwrap_or_default();
        let is_noun = at > 0 && is_listed(DETERMINERS, tokens[at - 1].trim_end());
        let hyphened = tokens[at].split_once('-');
        let spaced = is_noun.then(|| (tokens[at].trim_end(), next)).filter(|(_, particle)| {
            is_listed(PARTICLES, particle.trim_end_matches(|c: char| !c.is_alphabetic()))
        });
        let taken = if hyphened.is_some() { 1 } else { 2 };
        let joined = hyphened.or(spaced).filter(|parts| is_known(*parts, lexicon));
        if let Some((first, last)) = joined {
            text.extend([first, last]);
            is_changed = true;
            at += taken;
        } else {
            text.push_str(tokens[at]);
            at += 1;
        }
    }
    if is_changed { Cow::Owned(text) } else { Cow::Borrowed(prompt) }
}

/// Whether the catalog has two parts as one word, in the singular or the plural.
fn is_known((first, last): (&str, &str), lexicon: &impl Lexicon) -> bool {
    let last = last.trim_end_matches(|c: char| !c.is_alphabetic());
    let is_word =
        |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_alphabetic());
    if !is_word(first) || !is_word(last) {
        return false;
    }
    let words = lexicon.catalog_words();
    let has = |word: &str| words.binary_search_by(|(known, _)| (**known).cmp(word)).is_ok();
    let joined = format!("{first}{last}").to_ascii_lowercase();
    has(&joined) || has(&format!("{joined}s")) || joined.strip_suffix('s').is_some_and(has)
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Words(Vec<(Box<str>, u32)>);

    impl Lexicon for Words {
        fn contains(&self, _: &str) -> bool {
            true
        }

        fn catalog_words(&self) -> &[(Box<str>, u32)] {
            &self.0
        }
    }

    #[test]
    fn the_parts_of_a_word_of_the_tools_are_joined() {
        let words = ["backups", "email", "pickup"].map(|word| (word.into(), 1));
        let words = Words(words.to_vec());
        for (prompt, read) in [
            ("cancel the pick-up PU-12", "cancel the pickup PU-12"),
            ("cancel the pick up PU-12", "cancel the pickup PU-12"),
            ("Pick-ups, please", "Pickups, please"),
            ("is there a back up?", "is there a backup?"),
            ("send an e-mail", "send an email"),
        ] {
            assert_eq!(with_compounds(prompt, &words), read);
        }
        for prompt in [
            "pick up 6 parcels",
            "cancel the follow-up",
            "look the word up",
            "open the a-b",
            "the pick",
            "PU-12 -up pick- - ",
            "",
        ] {
            assert!(matches!(with_compounds(prompt, &words), Cow::Borrowed(_)), "{prompt}");
        }
    }

    proptest::proptest! {
        #[test]
        fn only_hyphens_and_spaces_are_lost(text in "(the |pick|-|up|back| |\\PC){0,12}") {
            let words = Words(vec![("backup".into(), 1), ("pickup".into(), 1)]);
            let letters = |text: &str| text.chars().filter(|c| c.is_alphanumeric()).collect::<String>();
            proptest::prop_assert_eq!(letters(&with_compounds(&text, &words)), letters(&text));
        }
    }
}
