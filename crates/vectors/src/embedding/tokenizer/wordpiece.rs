//! WordPiece as in BERT's uncased models, without the offset tracking of the `tokenizers` library.
//!
//! The library tracks the origin of every character and needs 40 µs for a prompt of a dozen words;
//! ids alone take 2 µs. ASCII words are processed here. Other text goes through the library's
//! normaliser and pre-tokenizer, because of their Unicode tables. Property tests compare both
//! implementations.

use std::borrow::Cow;

use tokenizers::normalizers::BertNormalizer;
use tokenizers::pre_tokenizers::bert::BertPreTokenizer;
use tokenizers::{
    NormalizedString, Normalizer, OffsetReferential, OffsetType, PreTokenizedString, PreTokenizer,
};

use super::vocabulary::Vocabulary;

/// Maximum length in characters of a word that is looked up; the same as in the `tokenizers`
/// library.
const LONGEST_WORD: usize = 100;

/// Special tokens, which are also recognised in the text, as in the library.
const SPECIAL: [&str; 5] = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"];
const UNKNOWN: usize = 1;
const FIRST: usize = 2;
const LAST: usize = 3;

/// Turns text into token ids.
#[derive(Debug)]
pub struct WordPiece {
    vocabulary: Vocabulary,
    /// The ids of [`SPECIAL`].
    special: [u32; 5],
}

/// The ids so far, and their maximum number.
struct Ids {
    ids: Vec<u32>,
    most: usize,
}

impl Ids {
    fn full(&self) -> bool {
        self.ids.len() >= self.most
    }
}

impl WordPiece {
    /// Reads a `vocab.txt`.
    pub fn new(vocabulary: Cow<'static, str>) -> Result<Self, String> {
        let vocabulary = Vocabulary::new(vocabulary)?;
        let mut special = [0; 5];
        for (id, token) in special.iter_mut().zip(SPECIAL) {
            *id = vocabulary.find(token).ok_or_else(|| format!("it has no {token}"))?;
        }
        Ok(Self { vocabulary, special })
    }

    /// Number of tokens in the vocabulary.
    pub fn len(&self) -> usize {
        self.vocabulary.len()
    }

    /// Whether a word, in lower case, is a single token.
    pub fn knows(&self, word: &str) -> bool {
        self.vocabulary.find(word).is_some()
    }

    /// Whether the vocabulary only has words in Latin script.
    pub fn is_latin_only(&self) -> bool {
        super::is_latin_only(self.vocabulary.tokens())
    }

    /// The id that starts every input; also used for a text without tokens.
    pub fn first(&self) -> u32 {
        self.special[FIRST]
    }

    /// Returns the ids of a text between the first and the last special token, at most `most` in
    /// all.
    pub fn with_special(&self, text: &str, most: usize) -> Vec<u32> {
        let mut ids = Ids { ids: vec![self.special[FIRST]], most: most.saturating_sub(1) };
        self.append(text, &mut ids);
        ids.ids.push(self.special[LAST]);
        ids.ids
    }

    /// Returns the ids of the text without special tokens, at most `most`.
    pub fn plain(&self, text: &str, most: usize) -> Vec<u32> {
        let mut ids = Ids { ids: Vec::with_capacity(16), most };
        self.append(text, &mut ids);
        ids.ids
    }

    fn append(&self, text: &str, ids: &mut Ids) {
        let (mut rest, mut from) = (text, 0);
        while let Some(open) = rest[from..].find('[').map(|at| from + at) {
            let named = SPECIAL.iter().position(|token| rest[open..].starts_with(token));
            let Some(special) = named else {
                from = open + 1;
                continue;
            };
            self.piece(&rest[..open], ids);
            if !ids.full() {
                ids.ids.push(self.special[special]);
            }
            (rest, from) = (&rest[open + SPECIAL[special].len()..], 0);
        }
        self.piece(rest, ids);
    }

    /// Processes text between special tokens. No rule looks beyond white space, so each chunk is
    /// processed separately.
    fn piece(&self, text: &str, ids: &mut Ids) {
        for chunk in text.split([' ', '\t', '\n', '\r']) {
            if ids.full() {
                return;
            }
            if chunk.is_ascii() {
                self.ascii(chunk, ids);
            } else {
                self.other(chunk, ids);
            }
        }
    }

    /// Lower-cases, removes control characters and separates punctuation.
    fn ascii(&self, chunk: &str, ids: &mut Ids) {
        let mut word = String::with_capacity(chunk.len());
        for c in chunk.chars() {
            if c.is_ascii_punctuation() {
                self.word(&word, ids);
                word.clear();
                self.word(c.encode_utf8(&mut [0; 4]), ids);
            } else if !c.is_ascii_control() {
                word.push(c.to_ascii_lowercase());
            }
        }
        self.word(&word, ids);
    }

    fn other(&self, chunk: &str, ids: &mut Ids) {
        let mut normal = NormalizedString::from(chunk);
        let split = BertNormalizer::default().normalize(&mut normal).and_then(|()| {
            let mut split = PreTokenizedString::from(normal);
            BertPreTokenizer.pre_tokenize(&mut split).map(|()| split)
        });
        let split = split.expect("neither of the two has a way to fail. This is a bug.");
        for (word, ..) in split.get_splits(OffsetReferential::Normalized, OffsetType::Byte) {
            self.word(word, ids);
        }
    }

    /// Splits a word greedily into the longest pieces; a word with an unknown part becomes the
    /// unknown token.
    fn word(&self, word: &str, ids: &mut Ids) {
        let (before, mut start) = (ids.ids.len(), 0);
        let short = word.len() <= LONGEST_WORD || word.chars().count() <= LONGEST_WORD;
        while start < word.len() {
            let found = self.vocabulary.longest_prefix(&word[start..], start > 0);
            let Some((id, length)) = found.filter(|_| short) else {
                ids.ids.truncate(before);
                ids.ids.push(self.special[UNKNOWN]);
                break;
            };
            ids.ids.push(id);
            start += length;
        }
        ids.ids.truncate(ids.most);
    }
}
