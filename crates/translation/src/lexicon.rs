//! The words of a language and their English meanings.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::OnceLock;

use rust_stemmers::{Algorithm, Stemmer};

use super::Language;
use super::words::{Word, folded, stripped};

/// Maximum number of words in a phrase.
const PHRASE: usize = 4;

/// The characters at which words are split, in texts and in the lexicons.
const SPLIT: [char; 6] = ['\'', '"', '’', '-', '״', '׳'];

/// Minimum number of letters of a word whose stem tells its language.
const LONG: usize = 5;

/// Minimum number of letters in each part of a German compound.
const COMPOUND_PART: usize = 4;

pub(super) struct Lexicon {
    language: Language,
    /// Words and phrases as in the lexicon, in lower case, with and without accents.
    exact: HashMap<Cow<'static, str>, &'static str>,
    /// Stems of single words.
    stems: OnceLock<HashMap<String, &'static str>>,
    stemmer: Option<Algorithm>,
    /// The contents of its file.
    pub data: &'static str,
}

static ALL: [OnceLock<Lexicon>; 8] = [const { OnceLock::new() }; 8];

/// The file of a language as the build script packed it.
macro_rules! packed {
    ($language:literal) => {
        include_bytes!(concat!(env!("OUT_DIR"), "/", $language))
    };
}

impl Lexicon {
    /// Returns the lexicon of a language, which is parsed once.
    pub fn of(language: Language) -> &'static Self {
        ALL[language as usize].get_or_init(|| Self::read(language))
    }

    fn read(language: Language) -> Self {
        let (stemmer, packed): (_, &[u8]) = match language {
            Language::Arabic => (Some(Algorithm::Arabic), packed!("ar")),
            Language::Chinese => (None, packed!("zh")),
            Language::French => (Some(Algorithm::French), packed!("fr")),
            Language::German => (Some(Algorithm::German), packed!("de")),
            Language::Hebrew => (None, packed!("he")),
            Language::Portuguese => (Some(Algorithm::Portuguese), packed!("pt")),
            Language::Russian => (Some(Algorithm::Russian), packed!("ru")),
            Language::Spanish => (Some(Algorithm::Spanish), packed!("es")),
        };
        let data = miniz_oxide::inflate::decompress_to_vec(packed).ok();
        let data = data.and_then(|bytes| String::from_utf8(bytes).ok());
        // It lives as long as the program: a lexicon is read once.
        let data: &'static str =
            data.expect("the build script packed a text. This is a bug.").leak();
        let mut exact = HashMap::new();
        for (word, meaning) in entries(data) {
            exact.entry(word).or_insert(meaning);
        }
        for (word, meaning) in entries(data) {
            if let Cow::Owned(plain) = folded(&word, language) {
                exact.entry(Cow::Owned(plain)).or_insert(meaning);
            }
        }
        Self { language, exact, stems: OnceLock::new(), stemmer, data }
    }

    /// The English meanings of all entries.
    pub fn meanings(&self) -> impl Iterator<Item = &'static str> {
        entries(self.data).map(|(_, meaning)| meaning)
    }

    /// Whether a word is listed as written; another accent makes another word (`è`, `e`).
    pub fn is_listed(&self, word: &str) -> bool {
        self.exact.contains_key(word)
    }

    /// Returns the meaning of a word or phrase, with or without accents.
    pub fn exact(&self, word: &str) -> Option<&'static str> {
        let found = self.exact.get(word);
        found.or_else(|| self.exact.get(folded(word, self.language).as_ref())).copied()
    }

    /// Whether a word is in the lexicon, for telling languages apart. In German also by its stem: almost every word of
    /// an order is inflected there ("Erstelle einen neuen Ordner").
    pub fn has_form(&self, word: &str) -> bool {
        self.exact(word).is_some() || self.language == Language::German && self.has_inflection(word)
    }

    /// Whether another form of a long word is in the lexicon.
    pub fn has_inflection(&self, word: &str) -> bool {
        word.chars().count() >= LONG && self.by_stem(word).is_some()
    }

    /// Returns the meaning of the longest phrase at the start of `words`, and its number of words
    /// (1 if there is none).
    pub fn longest(&self, words: &[Word]) -> (Option<&'static str>, usize) {
        let spoken = words.iter().map_while(Word::spoken).take(PHRASE).collect::<Vec<_>>();
        for count in (2..=spoken.len()).rev() {
            if let Some(meaning) = self.exact(&spoken[..count].join(" ")) {
                return (Some(meaning), count);
            }
        }
        // `Porto` is a city and not a door: names have no endings to remove.
        let is_name = matches!(words.first(), Some(Word::Spoken(word)) if word.is_name);
        let one = |word: &&str| if is_name { self.exact(word) } else { self.word(word) };
        (spoken.first().and_then(one), 1)
    }

    /// Returns the meaning of a word: unchanged, without prefixes and endings, by its stem, or by
    /// the parts of a compound.
    pub fn word(&self, word: &str) -> Option<&'static str> {
        if let Some(meaning) = self.exact(word) {
            return Some(meaning);
        }
        // An Arabic article counts to the stem, so a listed word behind it comes before any stem.
        let forms = stripped(word, self.language);
        let whole = forms.iter().find_map(|form| self.exact(form)).or_else(|| self.by_stem(word));
        let found = whole.or_else(|| forms.iter().find_map(|form| self.by_stem(form)));
        found.or_else(|| self.head_of_compound(word))
    }

    fn by_stem(&self, word: &str) -> Option<&'static str> {
        let stemmer = Stemmer::create(self.stemmer?);
        let word = folded(word, self.language);
        let stems = self.stems.get_or_init(|| stems(self.language, &stemmer, self.data));
        stems.get(stemmer.stem(&word).as_ref()).copied()
    }

    /// Returns the meaning of the last part of a German compound, which is its head, if both parts
    /// are known.
    fn head_of_compound(&self, word: &str) -> Option<&'static str> {
        if self.language != Language::German || word.chars().count() < 2 * COMPOUND_PART {
            return None;
        }
        let known = |part: &str| self.exact(part).or_else(|| self.by_stem(part));
        let cuts = word.char_indices().map(|(at, _)| at).skip(COMPOUND_PART);
        cuts.filter(|at| word[*at..].chars().count() >= COMPOUND_PART).find_map(|at| {
            let (first, last) = word.split_at(at);
            let first = known(first).or_else(|| known(first.strip_suffix('s')?));
            first.and(known(last)).filter(|meaning| *meaning != "-")
        })
    }
}

/// The words and phrases with their meanings. Words with a split character are phrases.
fn entries(data: &'static str) -> impl Iterator<Item = (Cow<'static, str>, &'static str)> {
    let parted = |(word, meaning): (&'static str, &'static str)| {
        let is_parted = word.contains(SPLIT);
        (if is_parted { word.replace(SPLIT, " ").into() } else { word.into() }, meaning)
    };
    data.lines().filter_map(|line| line.split_once('\t')).map(parted)
}

fn stems(
    language: Language,
    stemmer: &Stemmer,
    data: &'static str,
) -> HashMap<String, &'static str> {
    let mut stems = HashMap::new();
    // The stem of a function word is too often the stem of another word.
    let is_single = |(word, meaning): &(Cow<str>, &str)| !word.contains(' ') && *meaning != "-";
    let stemmed = || {
        entries(data).filter(is_single).map(|(word, meaning)| {
            let word = folded(&word, language).into_owned();
            (stemmer.stem(&word).into_owned(), word, meaning)
        })
    };
    for (stem, _, meaning) in stemmed() {
        stems.entry(stem).or_insert(meaning);
    }
    stems
}
