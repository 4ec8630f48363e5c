//! Classifies characters, and normalises different spellings of the same word.

use unicode_normalization::char::{decompose_canonical, is_combining_mark};

/// The role of a character in a term.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Script {
    /// A letter or digit of a script with spaces between words.
    Spaced,
    /// A character of a script without spaces between words.
    Unspaced,
    /// A mark that belongs to the character before it.
    Mark,
    /// A separator.
    None,
}

pub(super) fn script(character: char) -> Script {
    match character {
        '\0'..='\x7f' if character.is_ascii_alphanumeric() => Script::Spaced,
        '\0'..='\x7f' => Script::None,
        _ if is_unspaced(character) => Script::Unspaced,
        _ if is_combining_mark(character) => Script::Mark,
        // Joiners change the shape of the letters around them and are often omitted in typing.
        '\u{200c}' | '\u{200d}' => Script::Mark,
        _ if character.is_alphanumeric() => Script::Spaced,
        _ => Script::None,
    }
}

/// Whether the character is Han, Kana, Hangul, Thai, Lao, Myanmar or Khmer. The ranges are from the
/// Unicode block list (Blocks.txt, version 16). Hangul has spaces, but only between phrases; its
/// particles are attached to words, so pairs of syllables match better.
pub fn is_unspaced(character: char) -> bool {
    matches!(character,
        '\u{0e01}'..='\u{0e3a}' | '\u{0e40}'..='\u{0e4e}'
        | '\u{0e80}'..='\u{0eff}'
        | '\u{1000}'..='\u{1049}'
        | '\u{1100}'..='\u{11ff}'
        | '\u{1780}'..='\u{17d3}'
        | '\u{3005}'..='\u{3007}'
        | '\u{3041}'..='\u{309f}'
        | '\u{30a1}'..='\u{30fa}' | '\u{30fc}'..='\u{30ff}'
        | '\u{3105}'..='\u{318e}'
        | '\u{31a0}'..='\u{31ff}'
        | '\u{3400}'..='\u{4dbf}'
        | '\u{4e00}'..='\u{9fff}'
        | '\u{a960}'..='\u{a97c}'
        | '\u{ac00}'..='\u{d7fb}'
        | '\u{f900}'..='\u{faff}'
        | '\u{20000}'..='\u{3ffff}')
}

/// Typewriter and typographic apostrophes, and the Hebrew geresh.
pub(super) fn is_apostrophe(character: char) -> bool {
    matches!(character, '\'' | '\u{2019}' | '\u{02bc}' | '\u{05f3}')
}

/// Lower-cases a word and removes accents and vowel signs that are often omitted in typing.
///
/// Latin and Greek lose their accents, Hebrew its points, Arabic its short vowels and kashida;
/// Russian `ё` becomes `е`, and a final sigma a sigma. Marks of other scripts are part of the
/// letter (Hindi vowels, Russian `й`) and stay.
pub(super) fn fold(word: &str) -> String {
    if word.is_ascii() {
        return word.replace(is_apostrophe, "").to_ascii_lowercase();
    }
    let mut folded = String::with_capacity(word.len());
    for character in word.chars().flat_map(char::to_lowercase) {
        match character {
            'ё' => folded.push('е'),
            'ς' => folded.push('σ'),
            'ß' => folded.push_str("ss"),
            'æ' => folded.push_str("ae"),
            'œ' => folded.push_str("oe"),
            'ø' => folded.push('o'),
            'ł' => folded.push('l'),
            'đ' => folded.push('d'),
            // Alef with hamza or madda, alef maksura, teh marbuta: spellings vary.
            'أ' | 'إ' | 'آ' | 'ٱ' => folded.push('ا'),
            'ى' => folded.push('ي'),
            'ة' => folded.push('ه'),
            _ if is_left_out(character) => {}
            _ if is_accented(character) => decompose_canonical(character, |part| {
                if !is_left_out(part) {
                    folded.push(part);
                }
            }),
            _ => folded.push(character),
        }
    }
    folded
}

/// Latin and Greek letters beyond ASCII, by block.
fn is_accented(character: char) -> bool {
    matches!(character,
        '\u{00c0}'..='\u{024f}' | '\u{0370}'..='\u{03ff}' | '\u{1e00}'..='\u{1fff}')
}

/// Combining diacritics, Hebrew points, Arabic vowels and kashida, joiners, apostrophes.
fn is_left_out(character: char) -> bool {
    is_apostrophe(character)
        || matches!(character,
            '\u{0300}'..='\u{036f}'
            | '\u{0591}'..='\u{05bd}' | '\u{05bf}' | '\u{05c1}' | '\u{05c2}'
            | '\u{05c4}' | '\u{05c5}' | '\u{05c7}' | '\u{05f4}'
            | '\u{0640}' | '\u{064b}'..='\u{065f}' | '\u{0670}'
            | '\u{200c}' | '\u{200d}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spellings_of_one_word_become_equal() {
        for (one, other) in [
            ("Café", "cafe"),
            ("cafe\u{301}", "cafe"),
            ("Straße", "strasse"),
            ("שָׁלוֹם", "שלום"),
            ("مُحَمَّد", "محمد"),
            ("أحمد", "احمد"),
            ("Ёлка", "елка"),
            ("ΟΔΌΣ", "οδοσ"),
            ("λόγος", "λογοσ"),
            ("İstanbul", "istanbul"),
        ] {
            assert_eq!(fold(one), other);
        }
    }

    #[test]
    fn marks_that_are_letters_stay() {
        assert_eq!(fold("Йод"), "йод");
        assert_eq!(fold("हिन्दी"), "हिन्दी");
    }

    #[test]
    fn every_character_has_a_script() {
        assert_eq!("a7é".chars().map(script).collect::<Vec<_>>(), [Script::Spaced; 3]);
        assert_eq!("漢かカ한ไ々".chars().map(script).collect::<Vec<_>>(), [Script::Unspaced; 6]);
        assert_eq!(" _-。、・🙂".chars().map(script).collect::<Vec<_>>(), [Script::None; 7]);
        assert_eq!(script('\u{5b8}'), Script::Mark);
    }
}
