//! Recognises text in Latin letters that is neither English nor in a language with a lexicon.

use std::collections::HashMap;
use std::sync::LazyLock;

use super::language::{LATIN, is_english, is_grammar, is_only_english};
use super::lexicon::Lexicon;
use super::words::plain_parts;

/// A set of languages, one bit for each in `data/unsupported.tsv`.
type Languages = u16;

/// The frequent words of each language, without those that are English words too.
static WORDS: LazyLock<HashMap<&'static str, Languages>> = LazyLock::new(|| {
    let mut words: HashMap<&str, Languages> = HashMap::new();
    let mut names: Vec<&str> = Vec::new();
    for (name, listed) in rows() {
        let at = names.iter().position(|known| *known == name).unwrap_or_else(|| {
            names.push(name);
            names.len() - 1
        });
        for word in listed.split(' ') {
            *words.entry(word).or_default() |= 1 << at;
        }
    }
    words
});

/// The languages and words of the data, several rows per language.
pub(super) fn rows() -> impl Iterator<Item = (&'static str, &'static str)> {
    include_str!("data/unsupported.tsv").lines().filter_map(|line| line.split_once('\t'))
}

/// The number of words that are examined.
const EXAMINED: usize = 64;

/// Up to this number of words, a single word tells the language.
const SHORT: usize = 6;

/// The minimum number of letters of a word in ASCII that tells the language alone.
const LEAST_ALONE: usize = 4;

/// The maximum number of words for each word that tells the language.
const SPARSE: usize = 6;

/// Whether a text is natural language in Latin letters, but neither English nor in a language with
/// a lexicon. Such languages are told by their frequent words and by letters that English and the
/// languages with a lexicon do not use; names do not count.
///
/// ```
/// use toolroute_translation::is_unsupported;
///
/// assert!(is_unsupported("Chi lavora sabato?"));
/// assert!(is_unsupported("Zavři okno"));
/// assert!(!is_unsupported("pizza quattro stagioni for two"));
/// assert!(!is_unsupported("borra el archivo"));
/// ```
pub fn is_unsupported(text: &str) -> bool {
    !unsupported_words(text).is_empty()
}

/// The words by which a text is told to be as in [`is_unsupported`], in lower case; empty if it is not.
pub fn unsupported_words(text: &str) -> Vec<String> {
    let words = spoken(text);
    let found = evidence(&words).filter(|(own, rest)| is_told(&words, (own, rest)));
    found.map(|(own, _)| own.into_iter().map(str::to_owned).collect()).unwrap_or_default()
}

/// Whether a text with these words, some of an unsupported language and the rest, is in that language.
fn is_told(words: &[String], (own, rest): (&[&str], &[&String])) -> bool {
    let grammar = rest.iter().filter(|word| is_only_english(word)).count();
    // Most English prompts end here. What follows loads lexicons.
    if grammar > 0 && own.len() <= 2 * grammar {
        return false;
    }
    // Loanwords ("status", "email") are English words too, so they weigh less than grammar.
    let loans = rest.iter().filter(|word| is_english(word) && !is_grammar(word)).count();
    let is_enough = match own {
        [word] => is_enough_alone(word, words, loans),
        _ => {
            own.iter().any(|word| word.len() > 2)
                && 2 * own.len() >= loans
                && SPARSE * own.len() >= words.len()
        }
    };
    is_enough && !LATIN.iter().any(|language| is_in(Lexicon::of(*language), own, rest))
}

/// The words of a text in lower case, without names.
fn spoken(text: &str) -> Vec<String> {
    let shouts = !text.contains(char::is_lowercase);
    let is_name = |part: &str| !shouts && part.starts_with(char::is_uppercase);
    let parts = plain_parts(text).take(EXAMINED).enumerate();
    let spoken = parts.filter(|(at, part)| *at == 0 || !is_name(part));
    spoken.map(|(_, part)| part.to_lowercase()).collect()
}

/// Splits words into those, each once, that tell an unsupported language, and all others; `None` if
/// none does. Several languages have few words in common, so only the one with the most counts.
fn evidence(words: &[String]) -> Option<(Vec<&str>, Vec<&String>)> {
    let languages: Vec<Languages> = {
        let of = |word: &String| WORDS.get(word.as_str()).copied().unwrap_or_default();
        words.iter().map(of).collect()
    };
    let count = |language: &u32| languages.iter().filter(|of| *of >> language & 1 == 1).count();
    let best = (0..Languages::BITS).rev().max_by_key(count)?;
    let (mut own, mut rest) = (Vec::new(), Vec::new());
    for (word, of) in words.iter().zip(&languages) {
        if of >> best & 1 == 0 && !has_foreign_letters(word) {
            rest.push(word);
        } else if !own.contains(&word.as_str()) {
            own.push(word.as_str());
        }
    }
    (!own.is_empty()).then_some((own, rest))
}

/// Whether one word is enough: all others are unknown, but for a loanword beside a listed word.
fn is_enough_alone(word: &str, words: &[String], loans: usize) -> bool {
    let is_listed = WORDS.contains_key(word);
    let is_sure = word.chars().count() >= LEAST_ALONE || has_foreign_letters(word);
    let begins = words.first().is_some_and(|first| first == word || !is_english(first));
    let unknown = words.len().saturating_sub(1 + loans);
    is_sure
        && begins
        && words.len() <= SHORT
        && loans <= usize::from(is_listed)
        && (unknown > 0 || words.len() == 1)
}

/// Whether a text may be in a language with a lexicon: it has words of it, and these are more than
/// twice the words that only the unsupported language has.
fn is_in(lexicon: &Lexicon, own: &[&str], rest: &[&String]) -> bool {
    let is_its = |word: &str| word.chars().nth(1).is_some() && lexicon.has_form(word);
    let its = rest.iter().filter(|word| is_its(word) && !is_english(word)).count();
    let only = own.iter().filter(|word| !lexicon.is_listed(word)).count();
    only == 0 || 2 * only < its
}

/// Whether a word has letters that neither English nor a language with a lexicon has.
fn has_foreign_letters(word: &str) -> bool {
    let is_foreign = |c: char| match c {
        'ì' | 'ò' | 'å' | 'æ' | 'ø' | 'ý' | 'ð' | 'þ' => true,
        '\u{100}'..='\u{24F}' => c != 'œ',
        '\u{1EA0}'..='\u{1EF9}' => true,
        _ => false,
    };
    word.contains(is_foreign)
}
