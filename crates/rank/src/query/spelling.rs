//! Corrects typos: "delte the brnach". An encoder splits a misspelt word into pieces without meaning,
//! and no tool has the word.
//!
//! Many unknown words in a prompt are correct: names, products, other languages, the caller's own
//! systems. Therefore only a single typo in a word is corrected, and only to a word of the tools or
//! a request verb.

use std::borrow::Cow;
use std::cmp::{Ordering, Reverse};
use std::ops::Range;

use super::requests::verbs;
use super::verbs::may_order;
use super::verbs::undone;

/// The words that are considered correct, in lower case.
pub trait Lexicon {
    /// Whether the encoder has the word in its vocabulary. Called for nearly every word of a prompt, so
    /// it must be fast.
    fn contains(&self, word: &str) -> bool;

    /// The words of the catalog's tools in alphabetical order, each with its number of tools. Called only
    /// for a prompt with an unknown word.
    fn catalog_words(&self) -> &[(Box<str>, u32)];
}

/// Minimum length of a word to correct. Shorter words are too similar to each other.
const LEAST: usize = 4;

/// Minimum length of a word with an extra letter or a wrong vowel: `latte` is not `late`.
const SURE: usize = 6;

/// Maximum size in bytes of a prompt to correct. Longer text is pasted, not typed.
const LONGEST: usize = 2_000;

/// Maximum number of unknown words in a prompt to correct. With more, it is code, a log or another
/// language.
const MOST: usize = 16;

/// Endings of English words that may replace a final `e` or follow a doubled letter.
const OPEN: [&str; 16] = [
    "es", "ed", "ing", "ings", "er", "ers", "or", "ors", "ion", "ions", "able", "al", "ist", "ive",
    "y", "ied",
];

/// Endings of English words that follow the whole word.
const SHUT: [&str; 7] = ["s", "ly", "ment", "ments", "ness", "ful", "less"];

/// Replaces each unknown word of a prompt that is one typo away from a word of the tools or a
/// request verb. A typo is two swapped letters, a missing letter or, in words of six or more
/// letters, an extra letter or a wrong vowel. English only.
///
/// Tokens with other characters (paths, identifiers, addresses) and capitalised words within a sentence
/// are not changed.
pub fn without_typos<'a>(prompt: &'a str, lexicon: &impl Lexicon) -> Cow<'a, str> {
    if prompt.len() > LONGEST {
        return Cow::Borrowed(prompt);
    }
    let unknown = unknown_words(prompt, lexicon);
    let is_ascii = prompt.chars().all(|c| c.is_ascii() || !c.is_alphabetic());
    if unknown.is_empty() || unknown.len() > MOST || !is_ascii {
        return Cow::Borrowed(prompt);
    }
    let words = Dictionary { lexicon, catalog: lexicon.catalog_words() };
    let correction = |place: Range<usize>| {
        let word = prompt[place.clone()].to_ascii_lowercase();
        let is_right = words.knows(&word) || words.is_inflected(&word);
        let meant = (!is_right).then(|| words.meant(&word)).flatten()?;
        Some((place, meant))
    };
    let corrected: Vec<_> = unknown.into_iter().filter_map(correction).collect();
    if corrected.is_empty() {
        return Cow::Borrowed(prompt);
    }
    Cow::Owned(with(prompt, &corrected))
}

/// Inserts the corrections into the prompt and keeps capitals.
fn with(prompt: &str, corrected: &[(Range<usize>, &str)]) -> String {
    let (mut text, mut at) = (String::with_capacity(prompt.len() + corrected.len()), 0);
    for (place, meant) in corrected {
        text.push_str(&prompt[at..place.start]);
        let first = text.len();
        text.push_str(meant);
        if prompt.as_bytes()[place.start].is_ascii_uppercase() {
            text[first..=first].make_ascii_uppercase();
        }
        at = place.end;
    }
    text.push_str(&prompt[at..]);
    text
}

/// Returns the ranges of words that may be misspelt: words of prose that the encoder does not know.
fn unknown_words(prompt: &str, lexicon: &impl Lexicon) -> Vec<Range<usize>> {
    let (mut found, mut begins) = (Vec::new(), true);
    let (mut at, mut lower) = (0, String::new());
    for token in prompt.split_inclusive(char::is_whitespace) {
        let text = token.trim_end();
        let opened = text.trim_start_matches('(');
        let word = opened.trim_end_matches(['.', ',', ';', ':', '!', '?', ')']);
        if is_prose(word, begins) {
            lower.clear();
            lower.push_str(word);
            lower.make_ascii_lowercase();
            if !lexicon.contains(&lower) {
                let start = at + text.len() - opened.len();
                found.push(start..start + word.len());
            }
        }
        begins = token.ends_with('\n') || text.ends_with(['.', ':', '!', '?']);
        at += token.len();
    }
    found
}

/// Whether a word is in lower case, or capitalised at the start of a sentence.
fn is_prose(word: &str, begins: bool) -> bool {
    let Some((first, rest)) = word.as_bytes().split_first() else { return false };
    word.len() >= LEAST
        && (first.is_ascii_lowercase() || (begins && first.is_ascii_uppercase()))
        && rest.iter().all(u8::is_ascii_lowercase)
}

/// All words that a prompt may contain.
struct Dictionary<'a, K> {
    lexicon: &'a K,
    catalog: &'a [(Box<str>, u32)],
}

impl<'a, K: Lexicon> Dictionary<'a, K> {
    fn knows(&self, word: &str) -> bool {
        self.catalog.binary_search_by(|(known, _)| (**known).cmp(word)).is_ok()
            || may_order(word)
            // "Unblock" is no "unlock".
            || undone(word).is_some_and(may_order)
            || self.lexicon.contains(word)
    }

    /// Whether the word is a known word with another ending.
    fn is_inflected(&self, word: &str) -> bool {
        // Vocabularies contain word pieces of three letters: `emial` is not a form of `emi`.
        let least = if word.ends_with("al") { LEAST } else { 3 };
        is_inflected(word, |base| base.len() >= least && self.knows(base))
    }

    /// Returns the word that is one typo away. Among several, the most frequent wins, then
    /// alphabetical order.
    fn meant(&self, word: &str) -> Option<&'a str> {
        let first = &word[..1];
        let from = self.catalog.partition_point(|(known, _)| &**known < first);
        let searched =
            self.catalog[from..].iter().take_while(|(known, _)| known.starts_with(first));
        let searched = searched.map(|(known, count)| (&**known, *count));
        let verbs = verbs().filter(|verb| verb.starts_with(first)).map(|verb| (verb, 0));
        let letters = letters(word);
        let near = searched.chain(verbs).filter(|(meant, _)| {
            word.len().abs_diff(meant.len()) <= 1
                && (letters ^ self::letters(meant)).count_ones() <= 2
                && is_typo_of(word, meant)
                && !is_inflected(meant, |base| base == word)
        });
        near.min_by_key(|(meant, count)| (Reverse(*count), *meant)).map(|(meant, _)| meant)
    }
}

/// The set of a word's letters, one bit per letter: a single typo changes at most two bits.
fn letters(word: &str) -> u32 {
    word.bytes().fold(0, |all, byte| all | 1 << (byte & 31))
}

/// Whether `word` is another form of a known word.
fn is_inflected(word: &str, is_known: impl Fn(&str) -> bool) -> bool {
    let bases = |ending: &&str| word.strip_suffix(*ending);
    let is_doubled = |base: &str| {
        matches!(base.as_bytes(), [.., a, b] if a == b) && is_known(&base[..base.len() - 1])
    };
    let in_y = |ending| word.strip_suffix(ending).is_some_and(|base| is_known(&format!("{base}y")));
    SHUT.iter().filter_map(bases).any(&is_known)
        || OPEN
            .iter()
            .filter_map(bases)
            .any(|base| is_known(base) || is_known(&format!("{base}e")) || is_doubled(base))
        || ["ies", "ied"].into_iter().any(in_y)
        || word.strip_suffix(['d', 'r']).is_some_and(|base| base.ends_with('e') && is_known(base))
}

/// Whether `word` is `meant` with a single typo.
fn is_typo_of(word: &str, meant: &str) -> bool {
    if meant.len() < LEAST
        || word.len().abs_diff(meant.len()) > 1
        || strsim::osa_distance(word, meant) != 1
    {
        return false;
    }
    let mut apart = word.bytes().zip(meant.bytes()).filter(|(a, b)| a != b);
    match (word.len().cmp(&meant.len()), apart.next(), apart.next()) {
        (Ordering::Less, ..) => true,
        (Ordering::Greater, ..) => word.len() >= SURE,
        (Ordering::Equal, Some((a, b)), None) => word.len() >= SURE && sounds_alike(a, b),
        // Two swapped letters.
        _ => true,
    }
}

/// Letters that are often confused: vowels, and `s` and `z` (`organise`).
fn sounds_alike(a: u8, b: u8) -> bool {
    let is_vowel = |letter| b"aeiouy".contains(&letter);
    (is_vowel(a) && is_vowel(b)) || matches!((a, b), (b's', b'z') | (b'z', b's'))
}

#[cfg(test)]
mod tests {
    use std::sync::LazyLock;

    use super::*;

    /// A small encoder vocabulary and a small catalog.
    struct Words {
        read: Vec<&'static str>,
        searched: Vec<(Box<str>, u32)>,
    }

    impl Lexicon for Words {
        fn contains(&self, word: &str) -> bool {
            self.read.contains(&word)
        }

        fn catalog_words(&self) -> &[(Box<str>, u32)] {
            &self.searched
        }
    }

    static WORDS: LazyLock<Words> = LazyLock::new(|| {
        let read = "the with all from into about please what data base snap shot open black board front line \
            hook customer alarm clear late slow high emi";
        let searched = "account accounts author bucket calendar cluster comment commits compiler config coupon \
            customized database debt deletion details downloads editor email emails entries event expense france \
            generate image instances invoice issue issues jira kubernetes late list meeting message network \
            organize page permission playlist point post present project document client pull radius recipe repository reports request \
            schedule schemas screenshot separate services shared snapshots stack stock table task tasks tests thread \
            threads ticket tickets archive topic type types users weather webhooks workflow";
        let mut searched: Vec<(Box<str>, u32)> =
            searched.split_whitespace().map(|word| (word.into(), 1)).collect();
        searched.push(("branches".into(), 1));
        searched.extend([("unlock".into(), 1), ("archive".into(), 1)]);
        searched.push(("branch".into(), 9));
        searched.sort();
        Words { read: read.split_whitespace().collect(), searched }
    });

    fn read(prompt: &str) -> Cow<'_, str> {
        without_typos(prompt, &*WORDS)
    }

    #[test]
    fn a_misspelt_word_becomes_the_one_that_was_meant() {
        for (prompt, meant) in [
            ("delte the brnach", "delete the branch"),
            ("Creat a kuberntes clsuter", "Create a kubernetes cluster"),
            ("lsit al instnaces", "list al instances"),
            ("shwo me the details, plese. Shwo all", "show me the details, plese. Show all"),
            ("stok of 4711", "stock of 4711"),
            ("write an emial", "write an email"),
            ("Delte the brnach please of Kowalsky", "Delete the branch please of Kowalsky"),
            ("seperate (databse) tables!", "separate (database) tables!"),
            ("organise the emialls", "organize the emialls"),
            ("submti my expnese report", "submit my expense report"),
            (
                "dont delte the tiket; opne a pul requst",
                "dont delete the ticket; open a pul request",
            ),
        ] {
            assert_eq!(read(prompt), meant);
        }
    }

    #[test]
    fn of_two_words_the_one_that_is_said_most_was_meant() {
        let words = |counts: [u32; 2]| Words {
            read: Vec::new(),
            searched: vec![("crate".into(), counts[0]), ("crater".into(), counts[1])],
        };
        assert_eq!(without_typos("crat", &words([1, 2])), "crate");
        assert_eq!(without_typos("carte", &words([0, 2])), "crate");
        let words = Words {
            read: Vec::new(),
            searched: vec![("bread".into(), 1), ("breed".into(), 1), ("broad".into(), 3)],
        };
        assert_eq!(without_typos("brad", &words), "broad", "said three times");
        assert_eq!(without_typos("bred", &words), "bread", "by the alphabet");
    }

    #[test]
    fn words_that_are_right_although_nobody_knows_them_stay() {
        let right = "recite scones debit coupons customize deleting generative restocked categorizes intruding \
            quantify eateries astrology ambiance listing scheduler reposted stacks tabular tasked authored";
        for word in right.split_whitespace() {
            assert!(matches!(read(word), Cow::Borrowed(_)), "{word}: {}", read(word));
            let prompt = format!("what about {word} please");
            assert_eq!(read(&prompt), prompt);
        }
    }

    #[test]
    fn content_names_and_other_languages_stay() {
        for prompt in [
            "open brnach/ui, ./brnach, brnach.txt, a@brnach and #brnach",
            "brnach_one two-brnach brnach() $brnach brnach=1 branch's brnach's",
            "write to Brnach and BRNACH",
            "lösch brnach",
            "unblock and unarchive the unpost",
            "删除 brnach",
            "",
            "  ",
        ] {
            assert!(matches!(read(prompt), Cow::Borrowed(_)), "{prompt}: {}", read(prompt));
        }
        let long = format!("brnach {}", "word ".repeat(LONGEST));
        assert_eq!(read(&long), long);
        let code = "zxqv ".repeat(MOST) + "brnach";
        assert_eq!(read(&code), code);
        assert_eq!(read("it's 'so' and don't: brnach"), "it's 'so' and don't: branch");
    }

    #[test]
    fn nothing_is_asked_of_the_catalog_where_every_word_is_read() {
        struct Read;
        impl Lexicon for Read {
            fn contains(&self, _: &str) -> bool {
                true
            }
            fn catalog_words(&self) -> &[(Box<str>, u32)] {
                panic!("the words of the catalog are made when they are first asked for")
            }
        }
        assert_eq!(without_typos("delte the brnach", &Read), "delte the brnach");
    }

    proptest::proptest! {
        #[test]
        fn what_was_read_is_read_as_it_is(text in "(delte |brnach|the |Creat |'|\"|`|\\.|[a-z]{3,9} |\\PC){0,14}") {
            let once = read(&text).into_owned();
            proptest::prop_assert_eq!(read(&once), once.as_str());
        }

        #[test]
        fn one_slip_in_a_long_word_is_mended(at in 1usize..8, kind in 0u8..2) {
            let mut word: Vec<u8> = b"repository".to_vec();
            match kind {
                0 => word.swap(at, at + 1),
                _ => drop(word.remove(at)),
            }
            let word = String::from_utf8(word).unwrap();
            proptest::prop_assert_eq!(read(&word), "repository");
        }

        #[test]
        fn only_words_change(text in "\\PC{0,80}") {
            let signs = |text: &str| text.chars().filter(|c| !c.is_ascii_alphabetic()).collect::<String>();
            proptest::prop_assert_eq!(signs(&read(&text)), signs(&text));
        }
    }
}
