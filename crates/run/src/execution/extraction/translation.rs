//! Values of a prompt that was translated, in its own words.

use std::ops::Range;

use serde_json::Value;
use toolroute_translation::{Alignment, align};

use super::arguments::{PreparedArguments, Source, TakenValue};
use super::mention;
use super::slot::{Kind, Slot};
use super::text::overlap;

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
}
