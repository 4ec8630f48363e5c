//! Splits a text into words to be translated and parts that stay unchanged.

use std::borrow::Cow;
use std::ops::Range;

use super::Language;
use super::lexicon::Lexicon;

/// A part of a text.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Word {
    Spoken(SpokenWord),
    /// A number, path, address or identifier, and its place in the text.
    Verbatim(String, Range<usize>),
    /// A punctuation mark that ends a part of a sentence.
    Mark(char),
}

#[derive(Clone, Debug, PartialEq)]
pub(super) struct SpokenWord {
    /// The place of its first byte in the text.
    pub at: usize,
    pub written: String,
    pub lower: String,
    /// Whether it is capitalised and not the first word of the text.
    pub is_name: bool,
}

impl Word {
    /// A part of the text that is kept as it is written, and the place of its first byte.
    pub fn verbatim(text: &str, at: usize) -> Self {
        Self::Verbatim(text.to_owned(), at..at + text.len())
    }

    /// The word in lower case, as in the lexicon; `None` for other parts.
    pub fn spoken(&self) -> Option<&str> {
        match self {
            Self::Spoken(word) => Some(&word.lower),
            _ => None,
        }
    }
}

/// Maximum number of characters in a Chinese word.
const CHINESE_WORD: usize = 6;

/// Splits a text into words, verbatim parts and punctuation marks. The parts at `verbatim`, in order, are verbatim, too.
pub(super) fn split(
    text: &str,
    verbatim: &[Range<usize>],
    (language, lexicon): (Language, &Lexicon),
) -> Vec<Word> {
    let (mut words, mut from) = (Vec::new(), 0);
    let end = text.len()..text.len();
    for part in verbatim.iter().chain([&end]) {
        let Some(said) = text.get(part.clone()).filter(|_| part.start >= from) else { continue };
        for chunk in text[from..part.start].split_whitespace() {
            let chunk = Chunk { text: chunk, at: place_in(text, chunk) };
            if language == Language::Chinese {
                split_chinese(chunk, lexicon, &mut words);
            } else {
                split_chunk(chunk, (language, lexicon), &mut words);
            }
        }
        words.extend((!said.is_empty()).then(|| Word::verbatim(said, part.start)));
        from = part.end;
    }
    words
}

/// The part of a text between two spaces, and the place of its first byte.
#[derive(Clone, Copy)]
struct Chunk<'a> {
    text: &'a str,
    at: usize,
}

/// Returns where a part of a text begins in it.
fn place_in(text: &str, part: &str) -> usize {
    part.as_ptr().addr() - text.as_ptr().addr()
}

fn split_chunk(
    Chunk { text: chunk, at }: Chunk<'_>,
    (language, lexicon): (Language, &Lexicon),
    words: &mut Vec<Word>,
) {
    let is_outer =
        |c: char| !c.is_alphanumeric() && !matches!(c, '/' | '@' | '_' | '#' | '$' | '%');
    let place = |part: &str| at + place_in(chunk, part);
    let core = chunk.trim_matches(is_outer);
    let before = words.len();
    let core = match language {
        Language::Hebrew => without_preposition(core, place(core), words),
        Language::German => without_measure(core, place(core), words),
        _ => core,
    };
    let is_parted = words.len() > before;
    if core.contains(['/', '@', '_', '\\'])
        || core.contains(char::is_numeric)
        || has_inner_dot(core)
    {
        let said = match core.starts_with(char::is_numeric) && !chunk.starts_with(core) {
            true => core,
            false => {
                let rest = if is_parted { &chunk[place(core) - at..] } else { chunk };
                rest.trim_matches(['«', '»', '„', '“', '”', '¿', '¡', '؟', '،', '؛'])
            }
        };
        words.push(Word::verbatim(said, place(said)));
        let end = chunk.chars().next_back().filter(|end| !end.is_ascii());
        words.extend(end.and_then(mark).map(Word::Mark));
        return;
    }
    let is_end = |c: char| !(c.is_alphanumeric() || is_mark_of_letter(c));
    // German, Hebrew and English have quotes and hyphens within words; the parts are separate
    // words.
    for part in core.split(is_end).filter(|part| !part.is_empty()) {
        let name = match language {
            Language::Hebrew => name_behind_to(part, lexicon),
            _ => None,
        };
        if let Some(name) = name {
            words.push(Word::Verbatim("to".to_owned(), place(part)..place(name)));
        }
        push_spoken(name.unwrap_or(part), place(name.unwrap_or(part)), language, words);
    }
    if let Some(mark) = chunk.chars().next_back().and_then(mark) {
        words.push(Word::Mark(mark));
    }
}

/// Returns the thing of a German compound with a measure, which is added as two words: "Paket" of "5-kg-Paket".
fn without_measure<'a>(core: &'a str, at: usize, words: &mut Vec<Word>) -> &'a str {
    let mut parts = core.splitn(3, '-');
    let (Some(number), Some(unit), Some(thing)) = (parts.next(), parts.next(), parts.next()) else {
        return core;
    };
    let is_number = number.bytes().all(|byte| byte.is_ascii_digit()) && !number.is_empty();
    let is_word = |part: &str| !part.is_empty() && part.chars().all(char::is_alphabetic);
    if !(is_number && is_word(unit) && is_word(thing)) {
        return core;
    }
    words.push(Word::verbatim(number, at));
    words.push(Word::verbatim(unit, at + number.len() + 1));
    thing
}

/// Returns a number or name behind a Hebrew preposition and a hyphen, which is added as a word: "מ-2".
fn without_preposition<'a>(core: &'a str, at: usize, words: &mut Vec<Word>) -> &'a str {
    let Some((preposition, rest)) = core.split_once('-') else { return core };
    let english = match preposition {
        "ב" => "on",
        "ל" => "to",
        "מ" => "from",
        _ => return core,
    };
    if !rest.starts_with(|c: char| c.is_ascii_alphanumeric()) {
        return core;
    }
    words.push(Word::Verbatim(english.to_owned(), at..at + preposition.len()));
    rest
}

/// Returns the rest of an unknown Hebrew word behind the letter for "to": "דנה" of "לדנה". Names such as "לימור" begin
/// with that letter themselves.
fn name_behind_to<'a>(word: &'a str, lexicon: &Lexicon) -> Option<&'a str> {
    let name = word.strip_prefix('ל')?;
    let is_own_letter = name.starts_with(['י', 'א', 'ו']);
    (name.chars().count() > 2 && !is_own_letter && lexicon.word(word).is_none()).then_some(name)
}

fn has_inner_dot(core: &str) -> bool {
    core.split_once('.').is_some_and(|(before, after)| !before.is_empty() && !after.is_empty())
}

/// Whether the character is a combining vowel point or accent.
fn is_mark_of_letter(c: char) -> bool {
    matches!(c, '\u{300}'..='\u{36F}' | '\u{591}'..='\u{5C7}' | '\u{64B}'..='\u{65F}' | '\u{670}')
}

fn push_spoken(part: &str, at: usize, language: Language, words: &mut Vec<Word>) {
    if !language.is_latin() && part.is_ascii() {
        words.push(Word::verbatim(part, at));
        return;
    }
    let is_name = !words.is_empty()
        && language != Language::German
        && part.chars().next().is_some_and(char::is_uppercase);
    let lower = part.to_lowercase();
    words.push(Word::Spoken(SpokenWord { at, written: part.to_owned(), lower, is_name }));
}

/// Returns the ASCII equivalent of a punctuation mark of any language.
fn mark(c: char) -> Option<char> {
    match c {
        ',' | '،' | '，' | '、' => Some(','),
        '.' | '。' => Some('.'),
        ';' | '؛' | '；' => Some(';'),
        ':' | '：' => Some(':'),
        '?' | '؟' | '？' => Some('?'),
        '!' | '！' => Some('!'),
        _ => None,
    }
}

/// Splits Chinese text greedily into the longest words of the lexicon. A character that starts no
/// known word is a word of its own.
fn split_chinese(Chunk { text: chunk, at }: Chunk<'_>, lexicon: &Lexicon, words: &mut Vec<Word>) {
    let mut rest = chunk;
    while let Some(first) = rest.chars().next() {
        let at = at + place_in(chunk, rest);
        let taken = if !is_chinese(first) {
            // A full stop as in `notes.txt` does not end a sentence.
            let ends = |c: char| is_chinese(c) || (!c.is_ascii() && mark(c).is_some());
            let end = rest.find(ends);
            let end = end.unwrap_or(rest.len()).max(first.len_utf8());
            match mark(first) {
                Some(mark) => {
                    words.push(Word::Mark(mark));
                    first.len_utf8()
                }
                None => {
                    let (written, unit) = dated(&rest[..end], rest[end..].chars().next());
                    words.push(Word::Verbatim(written.to_owned(), at..at + end + unit));
                    end + unit
                }
            }
        } else {
            let ends = rest.char_indices().map(|(at, c)| at + c.len_utf8()).take(CHINESE_WORD);
            let ends: Vec<usize> = ends.collect();
            let known = ends.iter().rev().find(|end| lexicon.exact(&rest[..**end]).is_some());
            let end = *known.unwrap_or(&ends[0]);
            let written = rest[..end].to_owned();
            words.push(Word::Spoken(SpokenWord {
                at,
                lower: written.clone(),
                written,
                is_name: false,
            }));
            end
        };
        rest = &rest[taken..];
    }
}

/// Returns what a number before "month" or "day" is in a date, with the length of that word: "May" for 5月, 2 for 2号.
fn dated(written: &str, unit: Option<char>) -> (&str, usize) {
    let number = written.parse::<usize>().ok();
    match (number, unit) {
        (Some(number @ 1..=12), Some('月')) => (MONTHS[number - 1], '月'.len_utf8()),
        (Some(1..=31), Some(day @ ('号' | '日'))) => (written, day.len_utf8()),
        _ => (written, 0),
    }
}

pub(super) const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];

fn is_chinese(c: char) -> bool {
    matches!(c, '\u{3400}'..='\u{4DBF}' | '\u{4E00}'..='\u{9FFF}')
}

/// The words of a text in lower case, as [`plain_parts`].
pub(super) fn plain_words(text: &str) -> impl Iterator<Item = String> {
    plain_parts(text).map(str::to_lowercase)
}

/// The words of a text as written, without numbers, paths and addresses, split at apostrophes and
/// hyphens. Words in capitals are omitted as names, unless the whole text is in capitals.
pub(super) fn plain_parts(text: &str) -> impl Iterator<Item = &str> {
    let shouts = !text.contains(char::is_lowercase);
    let chunks = text.split_whitespace();
    // An option such as `-n` is not a word.
    let chunks = chunks
        .filter(|chunk| !chunk.contains(['/', '@', '_', '\\', '`']) && !chunk.starts_with('-'));
    let parts = chunks
        .flat_map(|chunk| chunk.split(|c: char| !(c.is_alphabetic() || is_mark_of_letter(c))));
    let is_name =
        move |part: &&str| !shouts && part.len() > 1 && part.chars().all(char::is_uppercase);
    parts.filter(|part| !part.is_empty()).filter(move |part| !is_name(part))
}

/// Removes accents and vowel points, and unifies variants of letters.
pub(super) fn folded(word: &str, language: Language) -> Cow<'_, str> {
    if word.is_ascii() || language == Language::Chinese {
        return Cow::Borrowed(word);
    }
    let mut plain = String::with_capacity(word.len());
    for c in word.chars().filter(|c| !is_mark_of_letter(*c)) {
        match c {
            'á' | 'à' | 'â' | 'ã' => plain.push('a'),
            'é' | 'è' | 'ê' | 'ë' => plain.push('e'),
            'í' | 'î' | 'ï' | 'ì' => plain.push('i'),
            'ó' | 'ô' | 'õ' | 'ò' => plain.push('o'),
            'ú' | 'û' | 'ù' => plain.push('u'),
            'ñ' => plain.push('n'),
            'ç' => plain.push('c'),
            'œ' => plain.push_str("oe"),
            // `ae` is the other German spelling of ä; in Spanish and Portuguese, ü becomes u.
            'ä' => plain.push_str("ae"),
            'ö' => plain.push_str("oe"),
            'ü' => plain.push_str(if language == Language::German { "ue" } else { "u" }),
            'ß' => plain.push_str("ss"),
            'ё' => plain.push('е'),
            'أ' | 'إ' | 'آ' | 'ٱ' => plain.push('ا'),
            'ى' => plain.push('ي'),
            'ة' => plain.push('ه'),
            // Tatweel only stretches a word.
            'ـ' => {}
            _ => plain.push(c),
        }
    }
    if plain == word { Cow::Borrowed(word) } else { Cow::Owned(plain) }
}

/// Minimum number of remaining letters after removing a prefix, and after removing an ending.
const LEAST_LEFT: (usize, usize) = (2, 3);

/// Returns the forms of a Hebrew or Arabic word without prefixes (and, the, in, to, from, that, as)
/// and endings (plural, construct, possession), longest first.
pub(super) fn stripped(word: &str, language: Language) -> Vec<String> {
    let (prefixes, endings): (&[&str], &[&str]) = match language {
        Language::Hebrew => (
            &[
                "", "ו", "ה", "ב", "ל", "מ", "ש", "כ", "וה", "וב", "ול", "ומ", "וש", "שה", "מה",
                "בה", "כש", "לכ", "של",
            ],
            &[
                "", "ים", "ות", "ת", "ה", "י", "ו", "ך", "נו", "יים", "יות", "יי", "תי", "כם",
                "יו", "יה", "ם", "ן",
            ],
        ),
        Language::Arabic => (
            &[
                "", "ال", "و", "ف", "ب", "ل", "ك", "س", "وال", "بال", "لل", "فال", "كال", "ول",
                "وب", "ولل", "وس",
            ],
            &[
                "", "ه", "ها", "ي", "ك", "نا", "هم", "ات", "ين", "ون", "ان", "ني", "لي", "تي",
                "كم", "ا",
            ],
        ),
        _ => return Vec::new(),
    };
    let word = folded(word, language);
    let mut forms = Vec::new();
    for prefix in prefixes {
        let Some(rest) = word.strip_prefix(prefix) else { continue };
        for ending in endings {
            let Some(form) = rest.strip_suffix(ending) else { continue };
            let least = if ending.is_empty() { LEAST_LEFT.0 } else { LEAST_LEFT.1 };
            if form.len() < word.len() && form.chars().count() >= least {
                forms.push(form.to_owned());
                // Hebrew letters have a different form at the end of a word, and a removed feminine
                // ending is restored. A plural `ות` without its last letter is no form of a word.
                forms.extend(with_final_letter(form).filter(|_| language == Language::Hebrew));
                let is_cut_plural = *ending == "ת" && form.ends_with('ו');
                let is_feminine = matches!(*ending, "ת" | "ות" | "תי") && !is_cut_plural;
                if language == Language::Hebrew && is_feminine {
                    forms.push(format!("{form}ה"));
                }
            }
        }
    }
    forms.sort_by_key(|form| std::cmp::Reverse(form.chars().count()));
    forms
}

fn with_final_letter(form: &str) -> Option<String> {
    let last = form.chars().next_back()?;
    let ending = match last {
        'כ' => 'ך',
        'מ' => 'ם',
        'נ' => 'ן',
        'פ' => 'ף',
        'צ' => 'ץ',
        _ => return None,
    };
    Some(format!("{}{ending}", &form[..form.len() - last.len_utf8()]))
}
