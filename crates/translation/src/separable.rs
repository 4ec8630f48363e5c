//! Joins German verbs with the particle that a clause puts at its end: "Sag den Termin ab" is
//! "absagen" (cancel) and not "sagen" (tell).

use super::lexicon::Lexicon;
use super::words::Word;

/// Particles that a verb loses to the end of its clause.
const PARTICLES: [&str; 29] = [
    "ab", "an", "auf", "aus", "bei", "bereit", "durch", "ein", "fertig", "fest", "frei", "her",
    "herunter", "hin", "hinzu", "hoch", "los", "mit", "nach", "neu", "runter", "stumm", "um",
    "vor", "weg", "weiter", "zu", "zurück", "zusammen",
];

/// Maximum number of words from a verb to its particle.
const MOST_WORDS: usize = 20;

/// Words between two clauses that need no comma.
const CONJUNCTIONS: [&str; 5] = ["und", "oder", "aber", "dann", "sowie"];

/// Endings of regular verbs, which the infinitive replaces by `en` or `n`.
const ENDINGS: [&str; 10] = ["", "e", "t", "et", "st", "est", "te", "ten", "en", "n"];

/// Forms whose vowel differs from the infinitive's.
const IRREGULAR: [(&str, &str); 34] = [
    ("brich", "brechen"),
    ("bricht", "brechen"),
    ("fiel", "fallen"),
    ("fuhr", "fahren"),
    ("fällt", "fallen"),
    ("fängt", "fangen"),
    ("fährt", "fahren"),
    ("gib", "geben"),
    ("gibt", "geben"),
    ("ging", "gehen"),
    ("hilf", "helfen"),
    ("hält", "halten"),
    ("kam", "kommen"),
    ("kamen", "kommen"),
    ("läuft", "laufen"),
    ("lies", "lesen"),
    ("liest", "lesen"),
    ("lädt", "laden"),
    ("lässt", "lassen"),
    ("nahm", "nehmen"),
    ("nimm", "nehmen"),
    ("nimmt", "nehmen"),
    ("rief", "rufen"),
    ("schläft", "schlafen"),
    ("sieh", "sehen"),
    ("sieht", "sehen"),
    ("sprich", "sprechen"),
    ("triff", "treffen"),
    ("tritt", "treten"),
    ("trägt", "tragen"),
    ("wirf", "werfen"),
    ("wirft", "werfen"),
    ("zieh", "ziehen"),
    ("zog", "ziehen"),
];

/// Joins each verb with the particle at the end of its clause if the lexicon lists the two as one
/// verb, and restores the infinitive of "abzusagen" and "abgesagt".
pub(super) fn join_particles(words: &mut Vec<Word>, lexicon: &Lexicon) {
    for word in words.iter_mut() {
        if let Word::Spoken(word) = word
            && !lexicon.is_listed(&word.lower)
            && let Some(verb) = without_infix(&word.lower, lexicon)
        {
            word.lower = verb;
        }
    }
    let mut joined = Vec::with_capacity(words.len());
    let mut left = std::mem::take(words).into_iter().peekable();
    while let Some(mut word) = left.next() {
        let verb = particle_at_end(&word, left.peek())
            .and_then(|particle| verb_before(&joined, particle, lexicon));
        match verb {
            Some((at, verb)) if is_joined(&joined[at]) => replace(&mut word, verb),
            Some((at, verb)) => {
                replace(&mut joined[at], verb);
                continue;
            }
            None => {}
        }
        joined.push(word);
    }
    *words = joined;
}

fn replace(word: &mut Word, verb: String) {
    if let Word::Spoken(word) = word {
        word.lower = verb;
    }
}

/// Whether a verb already has a particle: "Checke Eva ein und Ali aus" has one verb for two.
fn is_joined(word: &Word) -> bool {
    matches!(word, Word::Spoken(word) if word.written.to_lowercase() != word.lower)
}

/// Returns the infinitive of a form with `zu` or `ge` between particle and verb.
fn without_infix(word: &str, lexicon: &Lexicon) -> Option<String> {
    PARTICLES.iter().find_map(|particle| {
        let rest = word.strip_prefix(particle)?;
        let rest = rest.strip_prefix("zu").or_else(|| rest.strip_prefix("ge"))?;
        infinitive(particle, rest, lexicon)
    })
}

/// Returns the particle that a word is if its clause ends there.
fn particle_at_end(word: &Word, next: Option<&Word>) -> Option<&'static str> {
    let is_end = match next {
        None | Some(Word::Mark(_)) => true,
        Some(Word::Spoken(next)) => CONJUNCTIONS.contains(&next.lower.as_str()),
        Some(Word::Verbatim(..)) => false,
    };
    let word = word.spoken().filter(|_| is_end)?;
    PARTICLES.iter().find(|particle| **particle == word).copied()
}

/// Returns the position of the verb to which a particle after the words belongs, and the two as one
/// verb: in the particle's own clause, or in the one before it ("Sag Essen und Trinken ab").
fn verb_before(words: &[Word], particle: &str, lexicon: &Lexicon) -> Option<(usize, String)> {
    let is_start = |at: &usize| matches!(words[*at], Word::Mark(_));
    let first = words.len().saturating_sub(MOST_WORDS);
    let start = (first..words.len()).rev().find(is_start).map_or(first, |at| at + 1);
    let joins = |at: &usize| words[*at].spoken().is_some_and(|word| CONJUNCTIONS.contains(&word));
    let mut until = words.len();
    loop {
        let from = (start..until).rev().find(joins).unwrap_or(start);
        // The verb is the first word that makes a verb with the particle. Later ones are nouns, as
        // in "sag die reise ab".
        let verb =
            (from..until).filter(|at| may_be_verb(words, *at)).find_map(|at| match &words[at] {
                Word::Spoken(word) => {
                    Some((at, infinitive(particle, &word.written.to_lowercase(), lexicon)?))
                }
                _ => None,
            });
        // "Sag Dana Bescheid und koch die Suppe ab" has another verb for the particle.
        let is_own = until == words.len();
        let has_verb =
            || (from..until).any(|at| may_be_verb(words, at) && is_verb(&words[at], lexicon));
        if verb.is_some() || from == start || is_own && has_verb() {
            return verb;
        }
        until = from;
    }
}

/// Whether a word is not capitalised as nouns are, or stands where every word is.
fn may_be_verb(words: &[Word], at: usize) -> bool {
    let is_first = at == 0 || words[at - 1].spoken().is_none();
    match &words[at] {
        Word::Spoken(word) => is_first || word.written.starts_with(char::is_lowercase),
        _ => false,
    }
}

/// Whether a word may be a form of a verb by itself.
fn is_verb(word: &Word, lexicon: &Lexicon) -> bool {
    let Some(word) = word.spoken() else { return false };
    let is_filler = |word: &str| lexicon.exact(word) == Some("-");
    !is_filler(word) && infinitive("", word, lexicon).is_some_and(|verb| !is_filler(&verb))
}

/// Returns the infinitive of a particle and a form of a verb if it is listed.
fn infinitive(particle: &str, form: &str, lexicon: &Lexicon) -> Option<String> {
    let listed = |verb: &str| {
        let verb = format!("{particle}{verb}");
        lexicon.is_listed(&verb).then_some(verb)
    };
    if let Some((_, verb)) = IRREGULAR.iter().find(|(irregular, _)| *irregular == form) {
        return listed(verb);
    }
    ENDINGS.iter().find_map(|ending| {
        let stem = form.strip_suffix(ending).filter(|stem| stem.chars().count() >= 2)?;
        listed(&format!("{stem}en")).or_else(|| listed(&format!("{stem}n")))
    })
}
