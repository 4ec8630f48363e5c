//! Splits texts into keyword terms, in the same way for documents and prompts.
//!
//! Words of any script are lower-cased and folded. Identifiers are split at camel case and
//! punctuation and also kept whole (`GitHub` is found by `github`, `git` and `hub`). English words
//! are stemmed. Scripts without spaces become overlapping pairs of characters.
//!
//! Some terms of a document are *extra*: whole identifiers that are also split, single characters
//! and stop words. They can be found, but they do not count towards the document's length in BM25.
//!
//! ```
//! use toolroute_vectors::index::query_terms;
//!
//! let terms = query_terms("Please list the openIssues");
//! let terms: Vec<_> = terms.iter().map(|term| term.text.as_str()).collect();
//! assert_eq!(terms, ["list", "open", "issu", "openissu"]);
//! ```

mod fold;
mod stop;

use std::borrow::Cow;
use std::ops::Range;

use rust_stemmers::{Algorithm, Stemmer};
use unicode_normalization::{IsNormalized, UnicodeNormalization, is_nfkc_quick};

pub use fold::is_unspaced;
use fold::{Script, fold, is_apostrophe, script};

/// A keyword of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Term {
    /// Folded and stemmed; terms are compared by this.
    pub text: String,
    /// The spelling in the text, after compatibility normalisation (NFKC).
    pub surface: String,
    /// Can be found, but does not count towards the length of a document.
    pub extra: bool,
    /// A stop word. A prompt keeps stop words only if it has no other terms.
    pub stop: bool,
}

/// A part of a text whose terms do not depend on its surroundings.
#[derive(Clone, Copy, Debug)]
pub(super) struct Word<'t> {
    /// Words with equal text have equal terms.
    pub text: &'t str,
    script: Script,
}

impl Word<'_> {
    pub fn terms(self, side: Side) -> Vec<Term> {
        let stemmer = Stemmer::create(Algorithm::English);
        let mut reader = Reader { side, stemmer, terms: Vec::new() };
        match self.script {
            Script::Unspaced => reader.pairs(self.text),
            _ => reader.word(self.text),
        }
        reader.terms
    }
}

/// Calls `each` with the words of a text, in order.
pub(super) fn for_each_word(text: &str, mut each: impl FnMut(Word<'_>)) {
    let text = match is_nfkc_quick(text.chars()) {
        IsNormalized::Yes => Cow::Borrowed(text),
        _ => Cow::Owned(text.nfkc().collect()),
    };
    runs(&text).into_iter().for_each(|(script, text)| each(Word { text, script }));
}

/// Returns the terms of a prompt, without stop words unless it has no others.
pub fn query_terms(text: &str) -> Vec<Term> {
    let mut terms = terms(text, Side::Query);
    if terms.iter().any(|term| !term.stop) {
        terms.retain(|term| !term.stop);
    }
    terms
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Side {
    Document,
    Query,
}

/// Returns all terms of a text, including extra ones and stop words.
fn terms(text: &str, side: Side) -> Vec<Term> {
    let mut terms = Vec::new();
    for_each_word(text, |word| terms.extend(word.terms(side)));
    terms
}

/// Splits a text into runs of one script; separators are omitted.
fn runs(text: &str) -> Vec<(Script, &str)> {
    let mut runs: Vec<(Script, Range<usize>)> = Vec::new();
    let mut before = Script::None;
    for (at, character) in text.char_indices() {
        let here = match script(character) {
            Script::Mark => before,
            // An apostrophe within a word continues it; `pieces` decides later whether it
            // separates.
            Script::None if is_apostrophe(character) && before == Script::Spaced => before,
            other => other,
        };
        let end = at + character.len_utf8();
        match runs.last_mut() {
            Some((_, run)) if here == before && here != Script::None => run.end = end,
            _ if here != Script::None => runs.push((here, at..end)),
            _ => {}
        }
        before = here;
    }
    runs.into_iter().map(|(script, run)| (script, &text[run])).collect()
}

struct Reader {
    side: Side,
    stemmer: Stemmer,
    terms: Vec<Term>,
}

impl Reader {
    /// Adds pairs of adjacent characters. Documents also get every single character, so that a
    /// prompt of one character finds them.
    fn pairs(&mut self, run: &str) {
        let at: Vec<usize> = run.char_indices().map(|(at, _)| at).chain([run.len()]).collect();
        if at.len() == 2 {
            return self.push(run.to_owned(), run, false);
        }
        for pair in at.windows(3) {
            let pair = &run[pair[0]..pair[2]];
            self.push(pair.to_owned(), pair, false);
        }
        if self.side == Side::Document {
            for one in at.windows(2) {
                let one = &run[one[0]..one[1]];
                self.push(one.to_owned(), one, true);
            }
        }
    }

    /// Adds a word of letters and digits, which may have apostrophes and be in camel case.
    fn word(&mut self, word: &str) {
        for piece in pieces(word) {
            let parts = camel_case_parts(piece);
            if parts.len() > 1 {
                for part in parts {
                    self.push_word(&piece[part], false);
                }
                self.push_word(piece, true);
            } else {
                self.push_word(piece, false);
            }
        }
    }

    fn push_word(&mut self, surface: &str, extra: bool) {
        let folded = fold(surface);
        let is_english = folded.bytes().all(|byte| byte.is_ascii_alphabetic());
        if is_english && !stop::is_stop_word(&folded) {
            return self.push(self.stemmer.stem(&folded).into_owned(), surface, extra);
        }
        self.push(folded, surface, extra);
    }

    fn push(&mut self, text: String, surface: &str, extra: bool) {
        if !text.is_empty() {
            let stop = stop::is_stop_word(&text);
            self.terms.push(Term { text, surface: surface.to_owned(), extra: extra || stop, stop });
        }
    }
}

/// Splits a word at those apostrophes that separate.
///
/// English contractions stay whole (`don't` becomes the stop word `dont`), a possessive `'s` is
/// removed, and Hebrew and other scripts keep apostrophes inside words. Otherwise the part before
/// the apostrophe is an elision (`l'avion`) and is split off.
fn pieces(word: &str) -> Vec<&str> {
    let mut word = word.trim_matches(is_apostrophe);
    // A loop and not a recursion, because the input may have any number of such endings.
    while let Some((head, tail)) = word.rsplit_once(is_apostrophe) {
        match tail.to_ascii_lowercase().as_str() {
            "s" => word = head.trim_end_matches(is_apostrophe),
            "t" | "re" | "ve" | "ll" | "d" | "m" => break,
            _ if !word.starts_with(|c: char| c.is_ascii()) => break,
            _ => return word.split(is_apostrophe).filter(|piece| !piece.is_empty()).collect(),
        }
    }
    vec![word]
}

/// Returns the parts of a camel-case identifier: `readFile`, `HTTPServer`, `utf8Text`. Digits
/// belong to the letters before them (`s3`, `ec2`, `utf8`), as in names of services.
pub(super) fn camel_case_parts(word: &str) -> Vec<Range<usize>> {
    let mut starts = vec![0];
    let mut before: [Option<char>; 2] = [None, None];
    for (at, character) in word.char_indices() {
        let [earlier, previous] = before;
        let is_small = |c: char| c.is_lowercase() || c.is_numeric();
        if character.is_uppercase() && previous.is_some_and(is_small) {
            starts.push(at);
        } else if let (Some(earlier), Some(previous)) = (earlier, previous)
            && character.is_lowercase()
            && previous.is_uppercase()
            && earlier.is_uppercase()
        {
            starts.push(at - previous.len_utf8());
        }
        before = [previous, Some(character)];
    }
    let ends = starts.iter().copied().skip(1).chain([word.len()]);
    starts.iter().copied().zip(ends).map(|(start, end)| start..end).collect()
}

/// Returns the words of an identifier, in lower case.
///
/// ```
/// use toolroute_vectors::index::name_words;
///
/// assert_eq!(name_words("get-HTTPServer_keys"), ["get", "http", "server", "keys"]);
/// ```
pub fn name_words(name: &str) -> Vec<String> {
    let parts = name.split(|c: char| !c.is_alphanumeric()).filter(|part| !part.is_empty());
    parts
        .flat_map(|part| camel_case_parts(part).into_iter().map(|range| part[range].to_lowercase()))
        .collect()
}

#[cfg(test)]
mod tests;
