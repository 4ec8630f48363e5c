//! Detects in which language a text is written, among the languages with a lexicon.

use std::collections::HashSet;
use std::sync::LazyLock;

use super::lexicon::Lexicon;
use super::unsupported::is_unsupported;
use super::words::plain_words;

/// The languages with a lexicon.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Language {
    Arabic,
    Chinese,
    French,
    German,
    Hebrew,
    Portuguese,
    Russian,
    Spanish,
}

/// The languages in Latin letters. The first one wins if two have equally many words.
pub(super) const LATIN: [Language; 4] =
    [Language::Spanish, Language::French, Language::German, Language::Portuguese];

/// The minimum share of a script's letters among all letters. Below it, the text only contains a
/// name in that script.
const LEAST_SCRIPT: f32 = 0.3;

/// Frequent English words that distinguish English from the languages with a lexicon, in addition
/// to the English words of the lexicons.
const ENGLISH: &str = "a an the is are was were be been am do does did has have had will would can could should \
    shall may might must i you he she it we they me him her us them my your his its our their this that these \
    those there here what which who whom whose when where why how and or but if then than so as at by for from \
    in into of off on onto out over to up with without about after before please not no yes let lets";

/// The English words of the lexicons in Latin letters, in lower case.
static ENGLISH_WORDS: LazyLock<HashSet<&'static str>> = LazyLock::new(|| {
    let meanings = LATIN.iter().flat_map(|language| Lexicon::of(*language).meanings());
    let words = meanings.flat_map(|meaning| meaning.split(' '));
    words.chain(ENGLISH.split_whitespace()).filter(|word| *word != "-").collect()
});

impl Language {
    /// Returns the language of a text; `None` for English, for a language without a lexicon, and
    /// for a text without letters.
    pub fn of(text: &str) -> Option<Self> {
        Self::of_script(text).or_else(|| Self::of_words(text))
    }

    /// Whether the language is written in Latin letters.
    pub fn is_latin(self) -> bool {
        LATIN.contains(&self)
    }

    /// The words of a text by which it is told to be in this language and not in English, in lower
    /// case. Empty for a language that is told by its script.
    pub fn words_in(self, text: &str) -> Vec<String> {
        if !self.is_latin() {
            return Vec::new();
        }
        let lexicon = Lexicon::of(self);
        let tells = |word: &String| {
            word.chars().nth(1).is_some() && lexicon.has_form(word) && !is_english(word)
        };
        plain_words(text).filter(tells).collect()
    }

    fn of_script(text: &str) -> Option<Self> {
        let (mut counts, mut all) = ([0_u32; 4], 0_u32);
        for letter in text.chars().filter(|letter| letter.is_alphabetic()) {
            all += 1;
            match letter {
                '\u{590}'..='\u{5FF}' => counts[0] += 1,
                '\u{600}'..='\u{6FF}' | '\u{750}'..='\u{77F}' => counts[1] += 1,
                '\u{400}'..='\u{4FF}' => counts[2] += 1,
                '\u{3400}'..='\u{4DBF}' | '\u{4E00}'..='\u{9FFF}' => counts[3] += 1,
                // Text with kana is Japanese, even if it also has Chinese characters.
                '\u{3040}'..='\u{30FF}' => return None,
                _ => {}
            }
        }
        let languages = [Self::Hebrew, Self::Arabic, Self::Russian, Self::Chinese];
        let best = (0..4).max_by_key(|at| counts[*at])?;
        // A Chinese character is a word; a Latin letter is about a fifth of a word.
        let weight = if best == 3 { 3 } else { 1 };
        let share =
            (weight * counts[best]) as f32 / (all + (weight - 1) * counts[best]).max(1) as f32;
        (share >= LEAST_SCRIPT).then_some(languages[best])
    }

    /// Returns the language in Latin letters whose lexicon has the most words of the text, if these
    /// are more than the words that only English has.
    fn of_words(text: &str) -> Option<Self> {
        if has_english_contraction(text) || text.is_ascii() && !may_be_foreign(text) {
            return None;
        }
        let words: Vec<String> = plain_words(text).collect();
        let english = |word: &&String| is_english(word);
        let count = |language: Self| {
            let lexicon = Lexicon::of(language);
            let has = |word: &&String| lexicon.has_form(word);
            let mut own = words.iter().filter(|word| has(word) && !english(word)).count();
            let not = words.iter().filter(|word| english(word) && !has(word)).count();
            // Names have such letters too, so an unknown word with one only adds to a known word.
            let has_letter = |word: &String| word.contains(own_letters(language));
            let is_told = words.iter().any(|word| !has(&word) && has_letter(word))
                // Behind a verb it is the article, and not the Spanish "or".
                || language == Language::Portuguese && words.get(1).is_some_and(|word| word == "o");
            own += usize::from(own > 0 && is_told);
            // Where nothing is only English, letters and endings of known words tell, too.
            let mut more = 0;
            if not == 0 {
                let inflected =
                    |word: &&String| !has(word) && !english(word) && lexicon.has_inflection(word);
                let inflected = words.iter().filter(inflected).count();
                let has_one = own > 0 || inflected > 1;
                let is_told = words.iter().any(|word| has(&word) && has_letter(word));
                more = if has_one { inflected + usize::from(own > 0 && is_told) } else { 0 };
            }
            let letters = words.iter().filter(|word| word.chars().count() == 1 && has(word));
            let letters = letters.filter(|word| !english(word)).count();
            // A single letter is as often a variable as an article, so it is no evidence.
            if own == letters {
                own = 0;
            }
            (own, more, not)
        };
        let found = LATIN.iter().map(|language| (*language, count(*language)));
        // Of two languages with as many words, the one with more other evidence.
        let better = |a: (Self, (usize, usize, usize)), b: (Self, (usize, usize, usize))| {
            if (b.1.0, b.1.1) > (a.1.0, a.1.1) { b } else { a }
        };
        let (language, (own, more, not)) = found.reduce(better)?;
        let own = own + more;
        let is_long = |word: &String| word.chars().count() >= LEAST_ALONE;
        let is_enough = own >= 2 || own == words.len() && words.iter().any(is_long);
        let is_found = own > not && is_enough && 4 * own >= words.len();
        // Italian shares words with Spanish, and Dutch with German.
        (is_found && !is_unsupported(text)).then_some(language)
    }
}

/// Letters of a language that English has only in names.
fn own_letters(language: Language) -> &'static [char] {
    match language {
        Language::Spanish => &['ñ'],
        Language::German => &['ä', 'ö', 'ü', 'ß'],
        Language::French => &['ê', 'è', 'œ', 'ù'],
        Language::Portuguese => &['ã', 'õ'],
        _ => &[],
    }
}

/// Whether a word is English, also in the plural.
pub(super) fn is_english(word: &str) -> bool {
    let plural_of = word.strip_suffix('s').filter(|one| ENGLISH_WORDS.contains(one));
    plural_of.is_some() || ENGLISH_WORDS.contains(word)
}

/// Whether a word is in [`ENGLISH`].
pub(super) fn is_grammar(word: &str) -> bool {
    ENGLISH.split_whitespace().any(|listed| listed == word)
}

/// Whether a word occurs in every English text and in no other European language.
pub(super) fn is_only_english(word: &str) -> bool {
    // `i` is a word of most of them.
    word != "i" && COMMON.contains(word)
}

/// Minimum number of letters of a word that is a text by itself: "yo" may be anything.
const LEAST_ALONE: usize = 4;

/// Whether a word ends as only English ones do: "don't", "won't".
fn has_english_contraction(text: &str) -> bool {
    let text = text.replace('’', "'").to_lowercase();
    text.split_whitespace()
        .any(|word| word.trim_end_matches(|c: char| !c.is_alphabetic()).ends_with("n't"))
}

/// Whether a text in ASCII letters may be in another language: it has few words that occur in every
/// English sentence. Checked before the lexicons are loaded, which takes milliseconds that an
/// English prompt should not pay.
fn may_be_foreign(text: &str) -> bool {
    let (mut words, mut english) = (0, 0);
    for word in plain_words(text) {
        words += 1;
        english += usize::from(COMMON.contains(word.as_str()));
    }
    words < SHORT || 6 * english < words
}

/// Up to this number of words, an English text may lack common words.
const SHORT: usize = 4;

static COMMON: LazyLock<HashSet<&str>> = LazyLock::new(|| {
    let both: HashSet<&str> = NOT_ENGLISH_ALONE.split_whitespace().collect();
    ENGLISH.split_whitespace().filter(|word| !both.contains(word)).collect()
});

/// The words of [`ENGLISH`] that other languages have too.
const NOT_ENGLISH_ALONE: &str = "a am an as at do has her if in is it me no on or so us was will";
