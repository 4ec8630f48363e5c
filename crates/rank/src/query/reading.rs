//! What a prompt says by itself, read once.

use std::borrow::Cow;

use super::Turn;
use super::clauses::clauses;
use super::direction::{Direction, directions};
use super::focus::{Omission, focus};
use super::follow_up::routing_text;
use super::message::{needs_web, urgency};
use super::natural_language::{is_foreign, latin_share};
use super::negation::without_negations;
use super::requests::command_verbs;
use super::spelling::{Lexicon, without_typos};
use toolroute_translation::in_english;

/// What a prompt says by itself. It is made once per request; later steps (embedding, retrieval,
/// signals) use it instead of the prompt.
#[derive(Clone, Debug, PartialEq)]
pub struct Reading {
    /// What the prompt asks, with typos corrected and negations removed, after the earlier prompt that it
    /// refers to where it is a follow-up.
    pub text: String,
    /// The text in the language that it was read from word by word.
    pub original: Option<String>,
    /// What the prompt has around that: data, logs, quoted mails and the like, one entry a kind.
    pub left_out: Vec<Omission>,
    /// Its requests, one or more.
    pub clauses: Vec<String>,
    /// The share of Latin letters among its letters, 0 to 1; 1 without letters.
    pub latin_share: f32,
    /// Whether it says that it is urgent.
    pub is_urgent: bool,
    /// Whether it asks for something that only the web has, such as news.
    pub needs_web: bool,
    /// Its directions of conversion, as in "speech to text".
    pub directions: Vec<Direction>,
    /// The verbs of its requests.
    pub verbs: Vec<String>,
}

impl Reading {
    /// Reads a prompt. `said` holds the turns before it, the latest last. Typos are corrected where there
    /// is a lexicon. A prompt in another language is read in English where `translates`.
    pub(crate) fn new(
        prompt: &str,
        said: &[Turn],
        lexicon: Option<&impl Lexicon>,
        translates: bool,
    ) -> Self {
        let asked = focus(prompt);
        let mut text = routing_text(&asked.text, said);
        if let Some(found) = translates.then(|| in_english(&text)).flatten() {
            let reading = Self::verbatim(&without_negations(&found.text));
            let original = Some(text.into_owned());
            return Self { original, left_out: asked.left_out, ..reading };
        }
        if let Some(lexicon) = lexicon {
            text = rewrite(text, |text| without_typos(text, lexicon));
        }
        let text = rewrite(text, without_negations);
        Self { left_out: asked.left_out, ..Self::verbatim(&text) }
    }

    /// Reads a prompt as it is written, without corrections.
    pub fn verbatim(text: &str) -> Self {
        Self {
            clauses: clauses(text),
            latin_share: latin_share(text),
            is_urgent: urgency(text) > 0.0,
            needs_web: needs_web(text),
            directions: directions(text),
            verbs: command_verbs(text),
            original: None,
            left_out: Vec::new(),
            text: text.to_owned(),
        }
    }

    /// The text that words are counted in: with the words of the prompt's own language, which tools may
    /// have too.
    pub fn keyword_text(&self) -> Cow<'_, str> {
        match &self.original {
            Some(original) => Cow::Owned(format!("{} {original}", self.text)),
            None => Cow::Borrowed(&self.text),
        }
    }

    /// Whether it is in Latin letters and not in English.
    pub fn is_foreign(&self) -> bool {
        is_foreign(&self.text)
    }
}

/// Applies a further step to a text, without a copy where the step changes nothing.
pub(crate) fn rewrite<'a>(text: Cow<'a, str>, step: impl Fn(&str) -> Cow<'_, str>) -> Cow<'a, str> {
    match step(&text) {
        Cow::Borrowed(_) => text,
        Cow::Owned(changed) => Cow::Owned(changed),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::query::Speaker;

    #[test]
    fn a_prompt_is_read_once_with_what_it_hangs_on() {
        let said = [Turn { role: Speaker::User, text: "the weather in Paris".to_owned() }];
        let nothing = None::<&NoWords>;
        let reading = Reading::new("and in London?", &said, nothing, true);
        assert!(reading.text.contains("Paris") && reading.text.contains("London"), "{reading:?}");
        let reading = Reading::new("list the issues, don't close them", &[], nothing, true);
        assert!(!reading.text.contains("close"), "{reading:?}");
        let reading =
            Reading::verbatim("Get the latest news urgently. Then convert the speech to text.");
        assert_eq!(reading.clauses.len(), 2, "{reading:?}");
        assert!(reading.is_urgent && reading.needs_web && reading.latin_share == 1.0);
        assert_eq!(reading.directions.len(), 1, "{reading:?}");
        let spanish = "borra el archivo notas.txt";
        let reading = Reading::new(spanish, &[], nothing, true);
        assert_eq!(reading.text, "delete file notas.txt");
        assert_eq!(reading.keyword_text(), "delete file notas.txt borra el archivo notas.txt");
        assert_eq!(Reading::new(spanish, &[], nothing, false).text, spanish);
    }

    struct NoWords;

    impl Lexicon for NoWords {
        fn contains(&self, _: &str) -> bool {
            true
        }

        fn catalog_words(&self) -> &[(Box<str>, u32)] {
            &[]
        }
    }
}
