//! Reads a text of another language word by word in English, for an encoder that reads English alone.
//!
//! Each language has a lexicon (`data/`, ours): a word or phrase and its English. It is no translation
//! for people: word order stays, endings are lost, and words that the lexicon lacks are left out or, in
//! Latin letters, stay as they are. For finding a tool among English descriptions that is enough.

mod language;
mod lexicon;
mod words;

pub use language::Language;

use lexicon::Lexicon;
use words::Word;

/// A text in English words.
#[derive(Clone, Debug, PartialEq)]
pub struct Translation {
    pub language: Language,
    /// The English words in the order of the original, with its names, numbers and punctuation.
    pub text: String,
    /// The share of the original's words that the lexicon has, 0 to 1.
    pub known: f32,
}

/// The least share of known words: with fewer, the English says too little of the text.
const LEAST_KNOWN: f32 = 0.5;

/// Reads a text in English; `None` if it is English, in a language without a lexicon, or if fewer than
/// half of its words are known.
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
    let words = words::split(text, language, lexicon);
    let (mut known, mut all, mut english) = (0_usize, 0_usize, Vec::new());
    let mut at = 0;
    while at < words.len() {
        let Word::Spoken(word) = &words[at] else {
            push_verbatim(&mut english, &words[at]);
            at += 1;
            continue;
        };
        let (meaning, taken) = lexicon.longest(&words[at..]);
        all += taken;
        match meaning {
            Some(meaning) => {
                known += taken;
                english.extend(meaning.split(' ').filter(|word| *word != "-").map(str::to_owned));
            }
            // A name, or a word that both languages have.
            None if language.is_latin() => {
                all -= usize::from(word.is_name);
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

/// Adds a word as it was written; punctuation goes to the word before it.
fn push_verbatim(english: &mut Vec<String>, word: &Word) {
    match (word, english.last_mut()) {
        (Word::Mark(mark), Some(last)) => last.push(*mark),
        (Word::Verbatim(text), _) => english.push(text.clone()),
        _ => {}
    }
}

#[cfg(test)]
mod tests;
