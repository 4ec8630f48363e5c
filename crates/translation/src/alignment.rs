//! A translation in which each word knows its place in the original, so that values can be taken out of it.

use std::ops::Range;

use super::language::is_english;
use super::lexicon::Lexicon;
use super::words::{SpokenWord, Word};
use super::{Language, dates, in_english};

/// A text as English words, with the place of each in the original.
#[derive(Clone, Debug, PartialEq)]
pub struct Alignment {
    pub language: Language,
    /// The English words in the order of the original. Names and unknown words are as written there; dates and times
    /// are in an English form.
    pub text: String,
    /// The places in the original of words that no lexicon has, in their order. Names are not among them where the
    /// language tells them by their capitals.
    pub unknown: Vec<Range<usize>>,
    /// The places in `text` and in the original, in the order of `text`.
    places: Vec<(Range<usize>, Range<usize>)>,
    /// The original.
    source: String,
}

/// An English word or more, and the place in the original that they stand for.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Piece {
    pub english: String,
    pub place: Range<usize>,
    /// Whether it is a word of the original that no lexicon has.
    pub is_unknown: bool,
}

impl Piece {
    pub fn new(english: impl Into<String>, place: Range<usize>) -> Self {
        Self { english: english.into(), place, is_unknown: false }
    }
}

impl Alignment {
    /// Returns the place in the original of a part of the text; `None` for a part between two words.
    pub fn original(&self, part: &Range<usize>) -> Option<Range<usize>> {
        let overlaps =
            |english: &Range<usize>| english.start < part.end && part.start < english.end;
        let mut within = self.places.iter().filter(|(english, _)| overlaps(english));
        let first = within.next()?;
        let last = within.next_back().unwrap_or(first);
        // A part of a word that was kept begins and ends at the same letter there.
        let same = |(english, original): &(Range<usize>, Range<usize>)| {
            self.text[english.clone()] == self.source[original.clone()]
        };
        let start = match same(first) {
            true => first.1.start + part.start.saturating_sub(first.0.start),
            false => first.1.start,
        };
        let end = match same(last) {
            true => last.1.end - last.0.end.saturating_sub(part.end),
            // "9. Mai 2026," has its comma in both.
            false => {
                let rest = self.text.get(part.end..last.0.end).unwrap_or_default();
                let is_mark = rest.bytes().all(|byte| byte.is_ascii_punctuation())
                    && self.source[last.1.clone()].ends_with(rest);
                last.1.end - if is_mark { rest.len() } else { 0 }
            }
        };
        if start < end {
            return Some(start..end);
        }
        // A German verb stands before its particle, a Chinese one behind its day: the last word may come first there.
        let within = self.places.iter().filter(|(english, _)| overlaps(english));
        let (starts, ends): (Vec<usize>, Vec<usize>) =
            within.map(|(_, original)| (original.start, original.end)).unzip();
        Some(starts.into_iter().min()?..ends.into_iter().max()?)
    }

    /// Like [`Alignment::original`], with the words and signs on both sides that no English word stands for.
    pub fn original_with_fillers(&self, part: &Range<usize>) -> Option<Range<usize>> {
        let place = self.original(part)?;
        let ends = self.places.iter().map(|(_, original)| original.end);
        let start = ends.filter(|end| *end <= place.start).max().unwrap_or(0);
        // "Leg eine Aufgabe an: Tür prüfen".
        let colon = self.source.get(start..place.start).and_then(|between| between.rfind(':'));
        let start = colon.map_or(start, |colon| start + colon + 1);
        let starts = self.places.iter().map(|(_, original)| original.start);
        let end = starts.filter(|start| *start >= place.end).min().unwrap_or(self.source.len());
        // A part of a word, such as a quote without its marks, ends where it ends.
        let begins = self.places.iter().any(|(english, _)| english.start == part.start);
        let is_end = self.places.iter().any(|(english, _)| english.end == part.end);
        Some(if begins { start } else { place.start }..if is_end { end } else { place.end })
    }
}

/// Translates a text as [`in_english`], keeps the parts at `verbatim` unchanged, and remembers where each word was.
///
/// ```
/// let found = toolroute_translation::align("borra el archivo de Ana", &[]).unwrap();
/// assert_eq!(found.text, "delete file of Ana");
/// assert_eq!(found.original(&(7..11)), Some(9..16));
/// ```
pub fn align(text: &str, verbatim: &[Range<usize>]) -> Option<Alignment> {
    let language = in_english(text)?.language;
    let lexicon = Lexicon::of(language);
    let words = super::words_of(text, verbatim, (language, lexicon));
    let pieces = dates::in_english(pieces(&words, language, lexicon));
    let is_polite = asks_politely(text, language);
    let unknown = pieces.iter().filter(|piece| piece.is_unknown);
    let mut found = Alignment {
        language,
        text: String::new(),
        unknown: unknown.map(|piece| piece.place.clone()).collect(),
        places: Vec::new(),
        source: text.to_owned(),
    };
    for mut piece in pieces {
        let is_mark = piece.place.is_empty();
        if !found.text.is_empty() && !is_mark {
            found.text.push(' ');
        }
        // "Can you book a table?" is an order.
        let is_asked = is_polite && piece.english.ends_with('?');
        piece.english.truncate(piece.english.len() - usize::from(is_asked));
        let start = found.text.len();
        found.text += &piece.english;
        if !is_mark {
            let end = piece.place.end - usize::from(is_asked);
            found.places.push((start..found.text.len(), piece.place.start..end));
        }
        found.text += if is_asked { "." } else { "" };
    }
    Some(found)
}

/// Translates the words. A mark has an empty place.
fn pieces(words: &[Word], language: Language, lexicon: &Lexicon) -> Vec<Piece> {
    let mut pieces: Vec<Piece> = Vec::new();
    let mut at = 0;
    while at < words.len() {
        let word = match &words[at] {
            Word::Mark(mark) => {
                pieces.push(Piece::new(*mark, 0..0));
                at += 1;
                continue;
            }
            Word::Verbatim(said, place) => {
                pieces.push(Piece::new(said, place.clone()));
                at += 1;
                continue;
            }
            Word::Spoken(word) => word,
        };
        let (meaning, taken) = match chinese_name(&words[at..], language, lexicon) {
            Some(taken) => (None, taken),
            None => super::meaning_of(&words[at..], lexicon),
        };
        // The copula tells a statement from an order.
        let meaning = match meaning {
            Some("-") if taken == 1 && is_copula(&word.lower, language) => Some("is"),
            meaning => meaning,
        };
        let is_name = taken == 1
            && !dates::is_of_calendar(meaning)
            && is_name(word, &words[..at], pieces.last(), language);
        let last = match &words[at + taken - 1] {
            Word::Spoken(last) => last,
            _ => word,
        };
        let place = word.at..end_of(last).max(end_of(word));
        match meaning.filter(|_| !is_name) {
            Some("-") => {}
            Some(meaning) => {
                let english = meaning.split(' ').filter(|word| *word != "-");
                pieces.push(Piece::new(english.collect::<Vec<_>>().join(" "), place));
            }
            // Chinese names have no spaces.
            None => match pieces.last_mut() {
                Some(last) if language == Language::Chinese && is_unknown(last, place.start) => {
                    last.english += &word.written;
                    last.place.end = place.end;
                }
                _ => {
                    let parts = words[at..at + taken].iter().filter_map(Word::spoken);
                    let english = if taken > 1 { parts.collect() } else { word.written.clone() };
                    let is_unknown = !is_name && taken == 1 && !is_known_elsewhere(word, language);
                    pieces.push(Piece { is_unknown, ..Piece::new(english, place) });
                }
            },
        }
        at += taken;
    }
    pieces
}

/// Whether a word that is in no lexicon of its language may be read all the same: it is English, too, or a name that
/// begins a prompt.
fn is_known_elsewhere(word: &SpokenWord, language: Language) -> bool {
    let is_capital = word.written.starts_with(char::is_uppercase);
    is_capital || language.is_latin() && is_english(&word.lower)
}

/// Whether a word behind others, of which `last` is the last, is a name.
fn is_name(word: &SpokenWord, before: &[Word], last: Option<&Piece>, language: Language) -> bool {
    let is_sentence = matches!(before.last(), Some(Word::Mark('.' | '?' | '!' | ':')));
    // "Jürgen Groß": German nouns have capitals, too, but seldom stand behind a name.
    let is_surname = language == Language::German
        && word.written.starts_with(char::is_uppercase)
        && last.is_some_and(|last| is_kept_name(last, before));
    (word.is_name || is_surname) && !is_sentence
}

/// Frequent Chinese surnames that are no frequent words.
const SURNAMES: &str = "王李刘陈杨赵吴徐孙郭梁宋郑谢韩唐冯董萧曹袁邓傅沈彭吕";

/// Characters that do not go on a name, beside those without a meaning.
const NOT_IN_NAMES: &str = "在到和从给把去来是有要向对的";

/// Returns the number of words of a Chinese name at the beginning of some words: a surname, and one or two characters
/// that are words of their own.
fn chinese_name(words: &[Word], language: Language, lexicon: &Lexicon) -> Option<usize> {
    let is_one = |word: &&str| word.chars().nth(1).is_none();
    let surname = words.first().and_then(Word::spoken).filter(is_one)?;
    if language != Language::Chinese || !SURNAMES.contains(surname) {
        return None;
    }
    let goes_on = |word: &&str| {
        is_one(word) && !NOT_IN_NAMES.contains(*word) && lexicon.exact(word) != Some("-")
    };
    let given = words[1..].iter().map_while(Word::spoken).take(2).take_while(goes_on).count();
    (given > 0).then_some(given + 1)
}

/// Forms of "to be" and of the passive, by language.
const COPULAS: [(Language, &str); 5] = [
    (Language::Chinese, "是"),
    (Language::French, "est sont était étaient"),
    (Language::German, "ist sind war waren wird wurde wurden"),
    (Language::Portuguese, "é está estão são foi"),
    (Language::Spanish, "es está están son fue era"),
];

fn is_copula(word: &str, language: Language) -> bool {
    let mut words = COPULAS.iter().filter(|(of, _)| *of == language);
    words.any(|(_, words)| words.split(' ').any(|copula| copula == word))
}

/// Whether a piece is the last of some words, unknown and with a capital.
fn is_kept_name(piece: &Piece, words: &[Word]) -> bool {
    matches!(words.last(), Some(Word::Spoken(word))
        if piece.place.start == word.at
            && piece.english == word.written
            && word.written.starts_with(char::is_uppercase)
            && words.len() > 1)
}

fn end_of(word: &SpokenWord) -> usize {
    word.at + word.written.len()
}

/// Whether a piece is a word that was kept, and ends at a place.
fn is_unknown(piece: &Piece, end: usize) -> bool {
    piece.place.end == end && piece.english.chars().all(|c| !c.is_ascii())
}

/// Beginnings of a question that is an order, by language.
const POLITE: [(Language, &str); 8] = [
    (Language::Arabic, "هل يمكنك|هل تستطيع|هل بإمكانك"),
    (Language::Chinese, "你能|你可以|能帮我|可以帮我|能不能帮|能否帮|请帮"),
    (
        Language::French,
        "peux-tu|pouvez-vous|pourrais-tu|pourriez-vous|tu peux|vous pouvez|tu pourrais|vous pourriez",
    ),
    (Language::German, "kannst du|könntest du|können sie|könnten sie|würdest du|würden sie"),
    (Language::Hebrew, "אתה יכול|את יכולה|תוכל|תוכלי"),
    (Language::Portuguese, "podes|poderias|podias|consegues|você pode"),
    (Language::Russian, "можешь|можете|не могли бы вы|мог бы ты|могли бы вы"),
    (Language::Spanish, "puedes|podrías|podrias|puede usted|me puedes"),
];

/// Words of a question that is answered and not carried out: "peux-tu me dire comment …".
const ASKING: &str = "dire comment dis sagen wie erklären ob decir cómo como explicar dizer explica сказать как ли איך כיצד להגיד \
    كيف تقول 怎么 如何 吗说";

/// Whether a text asks whether somebody can do something, and so orders it.
fn asks_politely(text: &str, language: Language) -> bool {
    let lower = text.to_lowercase();
    let lower = lower.trim_start_matches(|c: char| !c.is_alphanumeric());
    let asks = |word: &str| match language {
        Language::Chinese => lower.contains(word),
        _ => lower.split(|c: char| !c.is_alphanumeric()).any(|said| said == word),
    };
    if ASKING.split_whitespace().any(asks) {
        return false;
    }
    let phrases =
        POLITE.iter().filter(|(of, _)| *of == language).flat_map(|(_, all)| all.split('|'));
    phrases.into_iter().any(|phrase| lower.starts_with(phrase))
}
