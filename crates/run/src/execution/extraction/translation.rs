//! Values of a prompt that was translated, in its own words.

use std::ops::Range;

use serde_json::Value;
use toolroute_translation::{Alignment, align};

use super::arguments::{PreparedArguments, Source, TakenValue};
use super::mention;
use super::query_text::{OWN_WORDS, POLITE};
use super::slot::{Kind, Slot};
use super::text::{Word, is_listed, overlap, words};

/// Verbs that order a search. At the beginning of a translation they are no nouns, as in "search engines".
const SEARCHES: &str = "find google look lookup search";

/// Words between such a verb and what is searched for: "nach" of "suche nach" is "to" in English.
const PARTICLES: &str = "for me out to up us";

/// A prompt and its translation.
pub(super) struct PromptTranslation<'a> {
    prompt: &'a str,
    english: Alignment,
}

impl<'a> PromptTranslation<'a> {
    /// Translates a prompt, except its quoted texts; `None` if it is in English or in no language that is read.
    pub fn of(prompt: &'a str) -> Option<Self> {
        let short = prompt.len() <= super::MOST_BYTES;
        let english = short.then(|| align(prompt, &mention::quoted(prompt))).flatten()?;
        Some(Self { prompt, english })
    }

    pub fn text(&self) -> &str {
        &self.english.text
    }

    pub fn into_text(self) -> String {
        self.english.text
    }

    /// The first word that no lexicon has and no argument took.
    pub fn unread(&self, prepared: &PreparedArguments) -> Option<String> {
        let is_taken = |word: &Range<usize>| {
            let mut places = prepared.sources.iter().filter_map(TakenValue::place);
            places.any(|place| overlap(&place, word))
        };
        let place = self.english.unknown.iter().find(|word| !is_taken(word))?;
        self.prompt.get(place.clone()).map(str::to_owned)
    }

    /// The words of the prompt for a part of the translation.
    pub fn original(&self, part: &Range<usize>) -> &str {
        let place = self.english.original(part);
        place.and_then(|place| self.prompt.get(place)).unwrap_or(&self.english.text[part.clone()])
    }

    /// The words of the prompt for a part of the translation, with those beside it that mean nothing in English, such
    /// as an article at its beginning.
    fn whole(&self, part: &Range<usize>) -> &str {
        let Some(place) = self.english.original_with_fillers(part) else {
            return self.original(part);
        };
        let said = self.prompt.get(place).unwrap_or_default();
        said.trim_matches(|c: char| c.is_whitespace() || matches!(c, ':' | ',' | '：' | '，' | '"'))
    }

    /// Replaces the place of a value by the one in the prompt, and a text by the prompt's own words.
    pub fn restore(&self, slot: &Slot, taken: &mut TakenValue) {
        if slot.kind == Kind::Query {
            self.restore_query(taken);
        }
        let Source::Prompt { start, end, text } = &mut taken.source else { return };
        let part = *start..*end;
        let is_text = matches!(slot.kind, Kind::Text | Kind::Message | Kind::Place | Kind::Id);
        let is_listed = slot.choices.iter().any(|(_, value)| *value == taken.value);
        if let (Value::String(said), true, false) = (&mut taken.value, is_text, is_listed)
            && let Some(at) = self.english.text[part.clone()].find(said.as_str())
        {
            let from = part.start + at;
            let part = from..from + said.len();
            *said = match slot.takes_rest || slot.kind == Kind::Message || slot.is_reason() {
                true => self.whole(&part).to_owned(),
                false => self.original(&part).to_owned(),
            };
        }
        if let Some(place) = self.english.original(&part)
            && let Some(own) = self.prompt.get(place.clone())
        {
            (*start, *end, *text) = (place.start, place.end, own.to_owned());
        }
    }
    /// Replaces a query by the prompt's own words, without the verb that orders the search. Its place becomes that of
    /// these words in the translation if they are together there.
    fn restore_query(&self, taken: &mut TakenValue) {
        let TakenValue { source: Source::Prompt { start, end, .. }, value, how, .. } = taken else {
            return;
        };
        let said = value.as_str().filter(|said| !self.prompt.contains(*said));
        let Some(said) = said.map(words) else { return };
        let text = self.english.text.as_str();
        let english = words(text);
        let mut rest = english.iter().enumerate().skip_while(|(_, word)| word.span.end <= *start);
        let place = |word: &Word| Some(rest.find(|(_, other)| other.lower == word.lower)?.0);
        let Some(places) = said.iter().map(place).collect::<Option<Vec<usize>>>() else { return };
        let places = &places[order_length(&said)..];
        if places.len() == english.len() {
            *value = self.prompt.trim().into();
            return;
        }
        // Signs at a word belong to it: a quotation mark.
        let part = |run: &[usize]| {
            let (first, last) = (&english[run[0]].span, &english[run[run.len() - 1]].span);
            let begin = text[..first.start].rfind(char::is_whitespace).map_or(0, |at| at + 1);
            let end =
                text[last.end..].find(char::is_whitespace).map_or(text.len(), |at| last.end + at);
            begin..end
        };
        let parts: Vec<Range<usize>> = places.chunk_by(|a, b| a + 1 == *b).map(part).collect();
        let own: Vec<&str> = parts.iter().map(|part| self.original(part)).collect();
        *value = own.join(" ").into();
        if let [part] = &parts[..] {
            (*start, *end) = (part.start, part.end);
            // As in English, a part of the prompt is nothing to explain.
            if how == OWN_WORDS {
                how.clear();
            }
        }
    }
}

/// The number of words that order a search, at the beginning of some.
fn order_length(said: &[Word]) -> usize {
    let past = |at: usize, list| {
        at + said[at..].iter().take_while(|word| is_listed(&word.lower, list)).count()
    };
    let verb = past(0, POLITE);
    let searches = said.get(verb).is_some_and(|word| is_listed(&word.lower, SEARCHES));
    let length = if searches { past(verb + 1, PARTICLES) } else { 0 };
    if length < said.len() { length } else { 0 }
}
