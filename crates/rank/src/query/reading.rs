//! A prompt as it was read, once.

use std::borrow::Cow;

use super::{
    Direction, KnownWords, Turn, clauses, directions, is_foreign, latin_share, needs_web, ordered,
    routing_text, urgency, without_negated, without_typos,
};

/// What a prompt says by itself. It is made once a request, and all that comes after it (embedding,
/// retrieval, signals) looks here and not at the prompt.
#[derive(Clone, Debug, PartialEq)]
pub struct Reading {
    /// The prompt with what was said before where it hangs on that, without slips of the fingers, and
    /// without what it says not to do.
    pub text: String,
    /// The requests in it; one where it asks for one thing.
    pub clauses: Vec<String>,
    /// The share of Latin ones among its letters, 0 to 1; 1 without letters.
    pub latin_share: f32,
    /// It says that it is in a hurry.
    pub is_urgent: bool,
    /// It asks for something that only the web has, such as news.
    pub needs_web: bool,
    /// From what to what, as in "speech to text".
    pub directions: Vec<Direction>,
    /// The verbs by which it asks.
    pub verbs: Vec<String>,
}

impl Reading {
    /// Reads a prompt. `said` is what was said before it, the latest last; slips are mended where
    /// `words` are known.
    pub fn new(prompt: &str, said: &[Turn], words: Option<&impl KnownWords>) -> Self {
        let mut text = routing_text(prompt, said);
        if let Some(words) = words {
            text = then(text, |text| without_typos(text, words));
        }
        Self::verbatim(&then(text, without_negated))
    }

    /// Reads a prompt as it is written.
    pub fn verbatim(text: &str) -> Self {
        Self {
            clauses: clauses(text),
            latin_share: latin_share(text),
            is_urgent: urgency(text) > 0.0,
            needs_web: needs_web(text),
            directions: directions(text),
            verbs: ordered(text),
            text: text.to_owned(),
        }
    }

    /// Whether it is in a language of Latin letters that is not English.
    pub fn is_foreign(&self) -> bool {
        is_foreign(&self.text)
    }
}

/// What a further step makes of a text, which stays as it is where the step changes nothing.
pub(crate) fn then<'a>(text: Cow<'a, str>, step: impl Fn(&str) -> Cow<'_, str>) -> Cow<'a, str> {
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
        let reading = Reading::new("and in London?", &said, nothing);
        assert!(reading.text.contains("Paris") && reading.text.contains("London"), "{reading:?}");
        let reading = Reading::new("list the issues, don't close them", &[], nothing);
        assert!(!reading.text.contains("close"), "{reading:?}");
        let reading =
            Reading::verbatim("Get the latest news urgently. Then convert the speech to text.");
        assert_eq!(reading.clauses.len(), 2, "{reading:?}");
        assert!(reading.is_urgent && reading.needs_web && reading.latin_share == 1.0);
        assert_eq!(reading.directions.len(), 1, "{reading:?}");
    }

    struct NoWords;

    impl KnownWords for NoWords {
        fn reads(&self, _: &str) -> bool {
            true
        }

        fn searched(&self) -> &[(Box<str>, u32)] {
            &[]
        }
    }
}
