//! The reading of a prompt: what it says by itself.

use std::borrow::Cow;

use super::Turn;
use super::abbreviations::spelt_out;
use super::clauses::clauses;
use super::focus::{Omission, focus};
use super::follow_up::text_after;
use super::message::{needs_web, urgency};
use super::natural_language::{is_foreign, is_told_by, latin_share};
use super::negation::{forbids_in_translation, negated_verbs, only_forbids, without_negations};
use super::spelling::{Lexicon, without_typos};
use toolroute_catalog::words_of;
use toolroute_translation::{Translation, in_english};

/// By what the words of a prompt are read.
pub(crate) struct ReadingWords<'a, L> {
    /// By which typos are corrected, if any.
    pub lexicon: Option<&'a L>,
    /// Whether a word is an English word of the tools.
    pub is_tool_word: &'a dyn Fn(&str) -> bool,
    /// Whether other languages are translated.
    pub translates: bool,
}

/// What a prompt says by itself. It is made once per request, and all later steps (embedding,
/// retrieval, signals) use it instead of the prompt.
#[derive(Clone, Debug, PartialEq)]
pub struct Reading {
    /// The request in the prompt, with typos corrected and negations removed. In a follow-up, the
    /// earlier prompt to which it refers comes first.
    pub text: String,
    /// The text in its original language, if it was translated word by word.
    pub original: Option<String>,
    /// The parts of the prompt that are ignored: data, logs, quoted mails and the like, one entry
    /// per kind.
    pub left_out: Vec<Omission>,
    /// The requests in the prompt, at least one.
    pub clauses: Vec<String>,
    /// The share of Latin letters among its letters, 0 to 1; 1 if it has none.
    pub latin_share: f32,
    /// Whether it is in Latin letters but in a language that is not read.
    pub is_foreign: bool,
    /// Whether it says that it is urgent.
    pub is_urgent: bool,
    /// Whether it asks for something that only the web has, such as news.
    pub needs_web: bool,
    /// Whether it says what not to do, and nothing else.
    pub only_forbids: bool,
    /// The verbs of what it says not to do, unless it orders the same besides. English only.
    pub forbidden: Vec<String>,
}

impl Reading {
    /// Reads a prompt. `said` has the turns before it, the latest last.
    pub(crate) fn new(prompt: &str, said: &[Turn], words: &ReadingWords<'_, impl Lexicon>) -> Self {
        let ReadingWords { lexicon, is_tool_word, translates } = *words;
        let asked = focus(prompt, is_tool_word);
        let mut text = text_after(&asked.text, said, is_tool_word);
        // Words of the tools are English, whatever other language has them too.
        let is_other = |found: &Translation| {
            let telling = found.language.words_in(&text);
            telling.is_empty() || is_told_by(&telling, is_tool_word)
        };
        let english = translates.then(|| in_english(&text)).flatten();
        if let Some(found) = english.filter(is_other) {
            let reading = Self::verbatim(&without_negations(&found.text));
            let only_forbids = forbids_in_translation(&reading.text, found.language);
            let original = Some(text.into_owned());
            let is_foreign = false;
            return Self {
                original,
                only_forbids,
                is_foreign,
                left_out: asked.left_out,
                ..reading
            };
        }
        // Before words of another language are corrected into English ones.
        let is_foreign = is_foreign(&text, is_tool_word);
        if let Some(lexicon) = lexicon.filter(|_| !is_foreign) {
            text = rewrite(text, |text| spelt_out(text, lexicon));
            text = rewrite(text, |text| without_typos(text, lexicon));
        }
        let read = without_negations(&text);
        let only_forbids = only_forbids(&text);
        let left_out = asked.left_out;
        let mut forbidden = negated_verbs(&text);
        forbidden.retain(|verb| !words_of(&read).contains(verb));
        Self { left_out, only_forbids, is_foreign, forbidden, ..Self::verbatim(&read) }
    }

    /// Reads a prompt unchanged, without corrections.
    pub fn verbatim(text: &str) -> Self {
        Self {
            clauses: clauses(text),
            latin_share: latin_share(text),
            is_foreign: is_foreign(text, &|_| false),
            is_urgent: urgency(text) > 0.0,
            needs_web: needs_web(text),
            only_forbids: false,
            forbidden: Vec::new(),
            original: None,
            left_out: Vec::new(),
            text: text.to_owned(),
        }
    }

    /// The text for keyword search: includes the words of the prompt's own language, which tools
    /// may contain.
    pub fn keyword_text(&self) -> Cow<'_, str> {
        match &self.original {
            Some(original) => Cow::Owned(format!("{} {original}", self.text)),
            None => Cow::Borrowed(&self.text),
        }
    }
}

/// Applies another step to a text, without copying if the step changes nothing.
fn rewrite<'a>(text: Cow<'a, str>, step: impl Fn(&str) -> Cow<'_, str>) -> Cow<'a, str> {
    match step(&text) {
        Cow::Borrowed(_) => text,
        Cow::Owned(changed) => Cow::Owned(changed),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prompt_is_translated_unless_the_model_reads_its_language() {
        let spanish = "borra el archivo notas.txt";
        let read = |translates| {
            let lexicon = None::<&NoWords>;
            let words = ReadingWords { lexicon, is_tool_word: &|_| false, translates };
            Reading::new(spanish, &[], &words)
        };
        let reading = read(true);
        assert_eq!(reading.text, "delete file notas.txt");
        assert_eq!(reading.keyword_text(), "delete file notas.txt borra el archivo notas.txt");
        assert_eq!(read(false).text, spanish);
        let reading = Reading::verbatim("Get the latest news urgently. Then convert the speech.");
        assert_eq!(reading.clauses.len(), 2, "{reading:?}");
        assert!(reading.is_urgent && reading.needs_web && reading.latin_share == 1.0);
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
