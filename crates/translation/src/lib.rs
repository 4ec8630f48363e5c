//! Translates a text word by word into English, for an encoder that only reads English.
//!
//! Each language has a lexicon of its own (`data/`) with words and phrases and their English
//! meanings. The result is not meant for people: it keeps the word order of the original, loses
//! endings, and omits unknown words or, in Latin letters, keeps them. It is sufficient to find a
//! tool among English descriptions.

mod alignment;
mod dates;
mod language;
mod lexicon;
mod restriction;
mod separable;
mod unsupported;
mod words;

pub use alignment::{Alignment, align};
pub use language::Language;
pub use restriction::restriction;
pub use unsupported::{is_unsupported, unsupported_words};

use std::ops::Range;

use language::is_english;
use lexicon::Lexicon;
use restriction::is_do_not;
use words::Word;

/// A text as English words.
#[derive(Clone, Debug, PartialEq)]
pub struct Translation {
    pub language: Language,
    /// The English words in the order of the original, with its names, numbers and punctuation.
    pub text: String,
    /// The share of the original's words that the lexicon has, 0 to 1.
    pub known: f32,
}

/// The minimum share of known words. With fewer, the result says too little about the text.
const LEAST_KNOWN: f32 = 0.5;

/// Translates a text; returns `None` if it is English, in a language without a lexicon, or if fewer
/// than half of its words are known.
///
/// ```
/// use toolroute_translation::{Language, in_english};
///
/// let found = in_english("borra el archivo notas.txt").unwrap();
/// assert_eq!(found.language, Language::Spanish);
/// assert_eq!(found.text, "delete file notas.txt");
/// assert!(in_english("delete the file notas.txt").is_none());
/// ```
pub fn in_english(text: &str) -> Option<Translation> {
    let language = Language::of(text)?;
    let lexicon = Lexicon::of(language);
    let words = words_of(text, &[], (language, lexicon));
    let (mut known, mut all, mut english) = (0_usize, 0_usize, Vec::new());
    let mut at = 0;
    while at < words.len() {
        let Word::Spoken(word) = &words[at] else {
            push_verbatim(&mut english, &words[at]);
            at += 1;
            continue;
        };
        let (meaning, taken) = meaning_of(&words[at..], lexicon);
        all += taken;
        match meaning {
            Some(meaning) => {
                known += taken;
                english.extend(meaning.split(' ').filter(|word| *word != "-").map(str::to_owned));
            }
            // A name, or a word that both languages share.
            None if language.is_latin() => {
                all -= usize::from(word.is_name || is_english(&word.lower));
                english.push(word.written.clone());
            }
            None => {}
        }
        at += taken;
    }
    let known = known as f32 / all.max(1) as f32;
    let text = english.join(" ");
    (known >= LEAST_KNOWN && text.contains(char::is_alphabetic)).then_some(Translation {
        language,
        text,
        known,
    })
}

/// Splits a text into words; the parts at `verbatim`, in order, stay whole.
fn words_of(
    text: &str,
    verbatim: &[Range<usize>],
    (language, lexicon): (Language, &Lexicon),
) -> Vec<Word> {
    let mut words = words::split(text, verbatim, (language, lexicon));
    if language == Language::German {
        separable::join_particles(&mut words, lexicon);
    }
    words
}

/// Returns the meaning of the first word of some, or of the phrase that it begins, and the number of words that have it.
fn meaning_of(words: &[Word], lexicon: &Lexicon) -> (Option<&'static str>, usize) {
    let spoken = |at: usize| words.get(at).and_then(Word::spoken);
    match spoken(0).is_some_and(|word| is_do_not(word, spoken(1))) {
        true => (Some("not"), 1),
        false => lexicon.longest(words),
    }
}

/// Adds a word unchanged; punctuation is appended to the word before it.
fn push_verbatim(english: &mut Vec<String>, word: &Word) {
    match (word, english.last_mut()) {
        (Word::Mark(mark), Some(last)) => last.push(*mark),
        (Word::Verbatim(text, _), _) => english.push(text.clone()),
        _ => {}
    }
}

#[cfg(test)]
mod tests;
