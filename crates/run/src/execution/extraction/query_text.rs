//! The prompt's own words as the value of a query parameter.

use std::ops::Range;

use super::mention::Content;
use super::plan::{Assignment, Plan};
use super::slot::Kind;
use super::text::{is_function_word, stem};
use super::{Source, reference};

/// Words that only state that something is to be searched or run.
const COMMANDS: &[&str] =
    &["ask", "execute", "find", "google", "look", "lookup", "query", "run", "search"];

impl Plan<'_> {
    /// Gives the prompt's words, without the values of other parameters, to a query parameter if it
    /// is the only required text parameter without a value.
    pub fn give_words(&mut self) {
        let is_open_text = |at: &usize| {
            self.is_open(*at) && self.slots[*at].required && self.slots[*at].kind.is_text()
        };
        let open: Vec<usize> = (0..self.slots.len()).filter(is_open_text).collect();
        let [slot] = open[..] else { return };
        if self.slots[slot].kind != Kind::Query || self.slots[slot].is_list {
            return;
        }
        let quotes = self.free_quotes();
        if let [(at, quote)] = &quotes[..]
            && self.is_only_commands(std::slice::from_ref(&self.context.mentions[*at].span))
        {
            let span = self.context.mentions[*at].span.clone();
            let source = Source::Prompt {
                start: span.start,
                end: span.end,
                text: self.context.text[span.clone()].to_owned(),
            };
            self.taken[*at] = true;
            let assignment = Assignment { value: quote.clone().into(), source, how: String::new() };
            return self.assignments[slot].push(assignment);
        }
        let words = self.remaining();
        if words.is_empty() || self.is_only_commands(&[]) {
            return;
        }
        let text = self.context.text;
        let source = Source::Prompt { start: 0, end: text.len(), text: text.to_owned() };
        let how = match words == text {
            true => "the prompt's own words",
            false => "the prompt's own words, without values that are for other parameters",
        };
        self.assignments[slot].push(Assignment {
            value: words.into(),
            source,
            how: how.to_owned(),
        });
        // The words contain the values that no parameter took.
        self.taken.fill(true);
    }

    fn free_quotes(&self) -> Vec<(usize, String)> {
        let mentions = self.context.mentions.iter().enumerate();
        let quotes = mentions.filter(|(at, _)| !self.taken[*at]).filter_map(|(at, mention)| {
            let Content::Quoted(text) = &mention.content else { return None };
            Some((at, text.clone()))
        });
        quotes.collect()
    }

    /// Whether the prompt has no content apart from commands, `beside` and the parts that are
    /// spent.
    fn is_only_commands(&self, beside: &[Range<usize>]) -> bool {
        let is_spent = |span: &Range<usize>| {
            let mut spans = self.spent.iter().chain(beside);
            spans.any(|spent| spent.start <= span.start && span.end <= spent.end)
        };
        let is_command = |word: &str| {
            is_function_word(word)
                || COMMANDS.contains(&word)
                || reference::WORDS.contains(&word)
                || self.tool_words.contains(&stem(word))
        };
        self.context.words.iter().all(|word| is_spent(&word.span) || is_command(&word.lower))
    }

    /// The prompt without the parts that are spent.
    fn remaining(&self) -> String {
        let text = self.context.text;
        if self.spent.is_empty() {
            return text.trim().to_owned();
        }
        let mut spent = self.spent.clone();
        spent.sort_by_key(|span| span.start);
        let mut words: Vec<&str> = Vec::new();
        let mut from = 0;
        for span in spent.iter().chain([&(text.len()..text.len())]) {
            words.extend(text[from.min(span.start)..span.start].split_whitespace());
            from = from.max(span.end);
        }
        while words.first().is_some_and(|word| is_loose(word)) {
            words.remove(0);
        }
        while words.last().is_some_and(|word| is_loose(word)) {
            words.pop();
        }
        let mut tidy = words.join(" ");
        for (from, to) in [(" ,", ","), (",,", ","), (" .", "."), (" ?", "?")] {
            tidy = tidy.replace(from, to);
        }
        tidy.trim_matches([',', ';', ':', ' ']).to_owned()
    }
}

/// Whether a word has no meaning at the edge of a text.
fn is_loose(word: &str) -> bool {
    const LOOSE: [&str; 11] =
        ["about", "and", "at", "for", "from", "in", "of", "on", "or", "to", "with"];
    let bare = word.trim_matches(|c: char| !c.is_alphanumeric()).to_lowercase();
    let has_sign = word.contains(['"', '“', '\'', '`', '«']);
    !has_sign && (bare.is_empty() || LOOSE.contains(&bare.as_str()))
}
