//! Turns text into token ids, with the `tokenizers` library or with our own WordPiece.

#[cfg(test)]
mod tests;
mod vocabulary;
mod wordpiece;

use std::borrow::Cow;

use tokenizers::{Tokenizer, TruncationParams};

use super::Error;
use super::files::{ModelFiles, TOKENIZER_FILE, VOCABULARY_FILE};
pub(super) use wordpiece::WordPiece;

/// An encoder's tokenizer, including special tokens and maximum input length.
pub(super) enum TextTokenizer {
    /// The tokenizer that tokenizer.json describes.
    Library(Box<Tokenizer>),
    /// BERT's uncased WordPiece with a list of tokens.
    WordPiece { pieces: WordPiece, max_tokens: usize },
}

impl TextTokenizer {
    pub fn load(files: &ModelFiles, max_tokens: usize) -> Result<Self, Error> {
        if files.covers(VOCABULARY_FILE) {
            return Ok(Self::WordPiece { pieces: wordpiece(files)?, max_tokens });
        }
        library(files, max_tokens).map(Box::new).map(Self::Library)
    }

    /// Returns the ids of a text, truncated to the maximum input length.
    pub fn ids(&self, text: &str) -> Result<Vec<u32>, Error> {
        let library = match self {
            Self::WordPiece { pieces, max_tokens } => {
                return Ok(pieces.with_special(text, *max_tokens));
            }
            Self::Library(library) => library,
        };
        let encoded = library.encode_fast(text, true).map_err(|error: tokenizers::Error| {
            Error::Tokenize { chars: text.chars().count(), message: error.to_string() }
        })?;
        Ok(encoded.get_ids().to_vec())
    }

    /// Whether a word, in lower case, is a single token.
    pub fn knows(&self, word: &str) -> bool {
        match self {
            Self::WordPiece { pieces, .. } => pieces.knows(word),
            Self::Library(library) => WORD_MARKS
                .iter()
                .any(|mark| library.token_to_id(&format!("{mark}{word}")).is_some()),
        }
    }

    /// Whether the vocabulary only has words in Latin script.
    pub fn is_latin_only(&self) -> bool {
        match self {
            Self::WordPiece { pieces, .. } => pieces.is_latin_only(),
            Self::Library(library) => {
                is_latin_only(library.get_vocab(false).keys().map(String::as_str))
            }
        }
    }
}

/// Prefix of a token that starts a word in WordPiece, SentencePiece and byte-pair encodings.
const WORD_MARKS: [&str; 3] = ["", "\u{2581}", "\u{120}"];

/// Threshold for [`is_latin_only`]. A multilingual vocabulary has thousands of words in other
/// scripts; BERT's English one only has single letters and a few pairs.
const OTHER_WORDS: usize = 1_000;

/// Whether fewer than [`OTHER_WORDS`] tokens have two or more non-Latin letters.
fn is_latin_only<'a>(tokens: impl Iterator<Item = &'a str>) -> bool {
    let other = |token: &&str| {
        let other = |c: &char| c.is_alphabetic() && *c > '\u{24F}';
        token.chars().filter(other).nth(1).is_some()
    };
    tokens.filter(other).count() < OTHER_WORDS
}

/// Loads our WordPiece with a model's list of tokens.
pub(super) fn wordpiece(files: &ModelFiles) -> Result<WordPiece, Error> {
    let bad = |problem| Error::BadFile {
        path: files.path(VOCABULARY_FILE),
        expected: "the tokens of an uncased BERT model in UTF-8, one a line",
        problem,
    };
    let text = match files.read(VOCABULARY_FILE)? {
        Cow::Borrowed(bytes) => std::str::from_utf8(bytes).map(Cow::Borrowed),
        Cow::Owned(bytes) => String::from_utf8(bytes).map(Cow::Owned).map_err(|e| e.utf8_error()),
    };
    text.map_err(|error| error.to_string()).and_then(WordPiece::new).map_err(bad)
}

/// Loads tokenizer.json with the model's own input limit. Limit and padding in tokenizer.json are
/// those of the training run (128 for MiniLM, although the model accepts 256).
fn library(files: &ModelFiles, max_tokens: usize) -> Result<Tokenizer, Error> {
    let bytes = files.read(TOKENIZER_FILE)?;
    let truncation = TruncationParams { max_length: max_tokens, ..Default::default() };
    let load = || {
        let mut tokenizer = Tokenizer::from_bytes(&bytes)?;
        tokenizer.with_padding(None).with_truncation(Some(truncation))?;
        Ok(tokenizer)
    };
    load().map_err(|error: tokenizers::Error| Error::BadFile {
        path: files.path(TOKENIZER_FILE),
        expected: "a tokenizer as the `tokenizers` library writes it",
        problem: error.to_string(),
    })
}
