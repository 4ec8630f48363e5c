//! Removes what people cannot see from the texts of tools, before anything is computed from them.
//!
//! The words of its description determine how a tool is ranked. A hostile author hides words there,
//! splits words with invisible characters, or repeats one word thirty times. Only texts that are
//! embedded or counted are changed here; texts that are shown or sent are not. Honest texts stay
//! the same, byte for byte.

use std::borrow::Cow;
use std::collections::HashMap;

use unicode_normalization::char::is_combining_mark;
use unicode_normalization::{IsNormalized, UnicodeNormalization, is_nfkc_quick};

/// The number of occurrences of a word that are kept in a text of any length.
const ALWAYS_ALLOWED: usize = 8;

/// In longer texts, one of this many words may always be the same one. In English prose, `the` is
/// one of 16.
const SHARE: usize = 6;

/// Returns the text as a reader sees it: like [`visible`], and with look-alike letters (`ｆｉｌｅ`,
/// `𝐟𝐢𝐥𝐞`, `ﬁle`) replaced by plain ones.
///
/// Letters and digits are normalised (NFKC), but punctuation is not: for an encoder, a full-width
/// comma is a different token from a plain one, and it hides no word.
pub(super) fn clean(text: &str) -> Cow<'_, str> {
    if text.bytes().all(|byte| matches!(byte, b' '..=b'~' | b'\n' | b'\t' | b'\r')) {
        return Cow::Borrowed(text);
    }
    let seen = visible(text);
    match is_nfkc_quick(seen.chars()) {
        IsNormalized::Yes => seen,
        _ => Cow::Owned(plain_letters(&seen)),
    }
}

/// Returns the number of characters that [`visible`] removes.
pub(super) fn count_hidden(text: &str) -> usize {
    match visible(text) {
        Cow::Borrowed(_) => 0,
        Cow::Owned(seen) => text.chars().count() - seen.chars().count(),
    }
}

/// Returns the text without invisible characters: ANSI escapes, control characters, zero-width
/// characters, direction marks and tags. Characters that change the shape of their neighbours are
/// kept.
pub fn visible(text: &str) -> Cow<'_, str> {
    let mut kept: Option<String> = None;
    let (mut at, mut before) = (0, ' ');
    while let Some(character) = text[at..].chars().next() {
        let after = at + character.len_utf8();
        let end = escape_end(text, at, character);
        let next = text[after..].chars().next();
        let shown = if end > after { None } else { shown(character, before, next) };
        if shown != Some(character) {
            let kept = kept.get_or_insert_with(|| text[..at].to_owned());
            kept.extend(shown);
        } else if let Some(kept) = &mut kept {
            kept.push(character);
        }
        before = shown.unwrap_or(before);
        at = end;
    }
    kept.map_or(Cow::Borrowed(text), Cow::Owned)
}

/// Returns the end of the ANSI escape that begins here, or of the character if it begins no escape.
fn escape_end(text: &str, at: usize, character: char) -> usize {
    let after = at + character.len_utf8();
    let (kind, body) = match character {
        '\u{9b}' => (Some('['), after),
        '\u{1b}' => {
            let kind = text[after..].chars().next();
            (kind, after + kind.map_or(0, char::len_utf8))
        }
        _ => return after,
    };
    let rest = &text[body..];
    match kind {
        Some('[') => {
            // Parameters, then one letter (ECMA-48, section 5.4).
            let end = rest.find(|c: char| !matches!(c, ' '..='?'));
            end.map_or(text.len(), |end| {
                body + end + rest[end..].chars().next().map_or(0, char::len_utf8)
            })
        }
        // Titles and links, up to BEL or the string terminator.
        Some(']' | 'P' | '_' | '^' | 'X') => {
            let end = rest.find(['\u{7}', '\u{1b}', '\u{9c}']);
            let length = |end: usize| if rest[end..].starts_with("\u{1b}\\") { 2 } else { 1 };
            end.map_or(body, |end| {
                body + end + length(end).max(rest[end..].chars().next().map_or(0, char::len_utf8))
            })
        }
        _ => body,
    }
}

/// Returns the character as it is shown; `None` for an invisible one.
fn shown(character: char, before: char, next: Option<char>) -> Option<char> {
    match character {
        '\n' | '\t' | '\r' => Some(character),
        '\u{b}' | '\u{c}' | '\u{85}' => Some(' '),
        c if c.is_control() => None,
        // Joiners shape the letters of some scripts, and emoji.
        '\u{200c}' | '\u{200d}' => {
            (shapes(before) && next.is_some_and(shapes)).then_some(character)
        }
        '\u{fe00}'..='\u{fe0f}' => (!before.is_alphanumeric() && before > '\u{ff}'
            || before.is_ascii_digit())
        .then_some(character),
        '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}' | '\u{200e}' | '\u{200f}' => None,
        '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}' => None,
        '\u{fff9}'..='\u{fffb}'
        | '\u{e0000}'..='\u{e0fff}'
        | '\u{115f}'
        | '\u{1160}'
        | '\u{3164}' => None,
        character => Some(character),
    }
}

/// Returns `true` if a joiner beside this character changes its shape: Arabic to Khmer, Mongolian,
/// emoji.
fn shapes(character: char) -> bool {
    matches!(character, '\u{600}'..='\u{109f}' | '\u{1780}'..='\u{18af}' | '\u{fe0f}'
        | '\u{2190}'..='\u{2bff}' | '\u{1f000}'..='\u{1faff}')
}

/// Returns the text with letters, their marks and decimal digits normalised by NFKC.
fn plain_letters(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    while !rest.is_empty() {
        let end = rest.find(|c| !is_letter(c)).unwrap_or(rest.len());
        plain.extend(rest[..end].nfkc());
        rest = &rest[end..];
        let end = rest.find(is_letter).unwrap_or(rest.len());
        plain.push_str(&rest[..end]);
        rest = &rest[end..];
    }
    plain
}

fn is_letter(character: char) -> bool {
    let is_digit =
        matches!(character, '0'..='9' | '\u{ff10}'..='\u{ff19}' | '\u{1d7ce}'..='\u{1d7ff}');
    // Mathematical and circled letters count as letters; `²` and `½` do not.
    is_digit
        || character.is_alphabetic()
        || is_combining_mark(character) && !matches!(character, '\u{fe00}'..='\u{fe0f}')
}

/// Returns the text without repetitions of words that are more frequent than in prose.
///
/// The first occurrences of a word are kept, so that stuffing has neither an advantage nor a cost.
pub(super) fn without_stuffing(text: &str) -> Cow<'_, str> {
    let words = words(text).count();
    if words <= ALWAYS_ALLOWED {
        return Cow::Borrowed(text);
    }
    let most = ALWAYS_ALLOWED.max(words / SHARE);
    if !may_repeat(text, most) {
        return Cow::Borrowed(text);
    }
    let mut counts: HashMap<Cow<'_, str>, usize> = HashMap::new();
    let (mut kept, mut from) = (String::new(), 0);
    for (at, word) in self::words(text) {
        let count = counts.entry(lower(word)).or_default();
        *count += 1;
        if *count > most {
            kept.push_str(&text[from..at]);
            from = at + word.len();
        }
    }
    if from == 0 {
        return Cow::Borrowed(text);
    }
    Cow::Owned(kept + &text[from..])
}

/// Returns `true` if some word may occur more often than `most`. Words are counted by a hash of
/// eight bits, and words of equal hash are counted as one. Honest texts, which are nearly all,
/// therefore need no table of strings.
fn may_repeat(text: &str, most: usize) -> bool {
    let mut counts = [0_usize; 256];
    words(text).any(|(_, word)| {
        let add = |hash: u32, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193);
        // Nearly every word is ASCII. This gives the same letters as `lower`, without allocating.
        let hash = match word.is_ascii() {
            true => word.bytes().fold(0, |hash, byte| add(hash, byte.to_ascii_lowercase())),
            false => lower(word).bytes().fold(0, add),
        };
        let count = &mut counts[(hash >> 24) as usize];
        *count += 1;
        *count > most
    })
}

/// Returns a word in lower case, the form in which words are compared.
fn lower(word: &str) -> Cow<'_, str> {
    match word.bytes().all(|byte| byte.is_ascii() && !byte.is_ascii_uppercase()) {
        true => Cow::Borrowed(word),
        false => Cow::Owned(word.to_lowercase()),
    }
}

/// Returns the words of a text, each with its offset. In scripts without spaces, a word is
/// everything between two signs, and is rarely repeated.
fn words(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let start = text.as_ptr() as usize;
    let in_word = |c: char| match c.is_ascii() {
        true => c.is_ascii_alphanumeric(),
        false => c.is_alphanumeric() || is_combining_mark(c),
    };
    let words = text.split(move |c: char| !in_word(c));
    words.filter(|word| !word.is_empty()).map(move |word| (word.as_ptr() as usize - start, word))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn what_nobody_sees_is_gone() {
        for (text, seen) in [
            ("re\u{200b}ad\u{feff} a \u{202e}file\u{202c}", "read a file"),
            ("a \u{1b}[31;1mred\u{1b}[0m file", "a red file"),
            ("\u{1b}]8;;http://x\u{7}link\u{1b}]8;;\u{1b}\\ end", "link end"),
            ("bell\u{7}\u{8} and\u{b}tab\u{9b}2J", "bell and tab"),
            ("tag\u{e0041}\u{e0042}s and sel\u{fe01}ectors", "tags and selectors"),
            ("ｆｉｌｅ 𝐟𝐢𝐥𝐞 ﬁle e\u{301}t\u{e9}", "file file file été"),
            ("\u{1b}", ""),
            ("\u{1b}[", ""),
        ] {
            assert_eq!(clean(text), seen, "{text:?}");
        }
        assert_eq!(count_hidden("re\u{200b}ad"), 1);
        assert_eq!(count_hidden("lire un été à 20 m²，查询"), 0);
    }

    #[test]
    fn honest_texts_of_all_scripts_stay_as_they_are() {
        for text in [
            "Reads a file.\n\tReturns its text\r\n",
            "查询天气（城市），返回 温度。",
            "می\u{200c}خواهم",
            "क्\u{200d}ष",
            "👩\u{200d}💻 ❤\u{fe0f} 1\u{fe0f}\u{20e3} m² ½ … ™ №5",
            "Größe, été, naïve",
            "קריאת קובץ",
        ] {
            assert_eq!(clean(text), text);
            assert!(matches!(without_stuffing(text), Cow::Borrowed(_)));
        }
    }

    #[test]
    fn a_word_counts_only_so_often() {
        let stuffed = format!("Gets news. {}", "weather Weather, ".repeat(20));
        let clipped = without_stuffing(&stuffed);
        assert_eq!(clipped.to_lowercase().matches("weather").count(), ALWAYS_ALLOWED);
        assert!(clipped.starts_with("Gets news. weather"), "{clipped}");
        let honest = "The tool reads the file at the path and gives the text of the file.";
        assert_eq!(without_stuffing(honest), honest);
    }

    proptest! {
        #[test]
        fn cleaning_ends_and_never_adds(text in any::<String>()) {
            let once = clean(&text).into_owned();
            prop_assert!(!once.chars().any(|c| c.is_control() && !matches!(c, '\n' | '\t' | '\r')));
            prop_assert!(visible(&once).len() <= once.len());
            prop_assert!(without_stuffing(&text).len() <= text.len());
        }
    }
}
