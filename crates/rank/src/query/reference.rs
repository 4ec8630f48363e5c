//! Tells words that refer to something said before ("delete it") from the same words in a complete
//! request: "loans that are overdue", "is it raining", "cancel my hold, I do not need it".

use toolroute_catalog::{begins_clause, is_time_word};

use super::function_words::is_determiner;
use super::requests::{is_content, is_verb};
use super::{Pattern, is_listed};

/// Words that can refer to something said before.
static POINTS: Pattern = Pattern::new(
    r"(?i)\b(?:it|that|those|these|them|he|she|him|her|they|the same|this one|that one|the other|the (?:first|second|third|last) one|another one|one more|as well|too|instead|again)\b|אותו|אותה|אותם|גם כן",
);

/// Words after which a clause follows: "mail it when the book is back".
const JOINING: &str = "then so because if when whenever while until unless once before after";

/// Words before which a clause follows, if they come after "and", "or" or "but".
const SUBJECTS: &str = "i you we he she it they";

/// How many words may stand between a determiner and its noun.
const NEAR: usize = 3;

/// An "it" that stands for nothing, because the clause names its own place or asks for the time: "what time is it in
/// Tokyo", "is it raining in Oslo". After "on", it is something that happens then: "what time is it on Friday".
static IMPERSONAL: Pattern = Pattern::new(concat!(
    r"(?i)\b(?:what|which) (?:time|day|date|weekday|month|year) is it(?:\s+(?:in|at|there|now|right|today|over|here)\b|\W*$)",
    r"|\b(?:is it|will it|does it|did it|was it)(?: \w+){0,2}? (?:be )?(?:rain|snow|raining|snowing|sunny|windy|cloudy|foggy|stormy|freezing|",
    r"humid|warm|hot|cold|cool|dark|light|nice|dry|wet)(?: \w+){0,2}? (?:in|at|near|outside|around)\b",
));

struct Word {
    end: usize,
    lower: String,
    is_capital: bool,
    /// Whether a mark such as a comma ends a clause after it.
    ends: bool,
}

/// Whether a text refers to something that the text itself does not say.
pub(super) fn refers_back(text: &str) -> bool {
    let words = words(text);
    let impersonal = IMPERSONAL.find(text).map_or(0..0, |found| found.range());
    POINTS.find_iter(text).filter(|found| !impersonal.contains(&found.start())).any(|found| {
        let Some(at) = words.iter().position(|word| word.end > found.start()) else { return true };
        match found.as_str().to_lowercase().as_str() {
            "that" => !is_joining(&words, at),
            "it" | "he" | "she" | "him" | "her" | "they" | "them" => !is_said_before(&words, at),
            "too" => words[at].ends,
            _ => true,
        }
    })
}

fn words(text: &str) -> Vec<Word> {
    let joins = |c: char| c.is_alphanumeric() || matches!(c, '\'' | '’' | '_' | '-');
    let mut words: Vec<Word> = Vec::new();
    let mut rest = text;
    while let Some(begin) = rest.find(joins) {
        let (between, from) = rest.split_at(begin);
        if let Some(last) = words.last_mut() {
            last.ends = between.contains(is_mark);
        }
        let length = from.find(|c| !joins(c)).unwrap_or(from.len());
        let (word, after) = from.split_at(length);
        let start = text.len() - from.len();
        words.push(Word {
            end: start + word.len(),
            lower: word.to_lowercase().replace('’', "'"),
            is_capital: word.chars().next().is_some_and(char::is_uppercase),
            ends: true,
        });
        rest = after;
    }
    words
}

fn is_mark(c: char) -> bool {
    matches!(c, '.' | ',' | ';' | ':' | '!' | '?' | '(' | ')' | '–' | '—' | '\n')
}

/// The word before another in the same clause.
fn before(words: &[Word], at: usize) -> Option<&Word> {
    at.checked_sub(1).map(|before| &words[before]).filter(|before| !before.ends)
}

/// The words after another in the same clause.
fn after(words: &[Word], at: usize) -> &[Word] {
    let rest = &words[at + 1..];
    match words[at].ends {
        true => &[],
        false => &rest[..rest.iter().position(|word| word.ends).map_or(rest.len(), |end| end + 1)],
    }
}

/// Whether a "that" joins a clause to the word before it.
fn is_joining(words: &[Word], at: usize) -> bool {
    let (Some(before), rest) = (before(words, at), after(words, at)) else { return false };
    let Some(next) = rest.first() else { return false };
    if begins_clause(&next.lower) {
        return true;
    }
    let is_plural = before.lower.ends_with('s') && !before.lower.ends_with("ss");
    let is_name = before.is_capital && at > 1;
    is_determined(words, at - 1) || is_plural && !is_name && is_content(&before.lower)
}

/// Whether a word has a determiner before it: "the spine label".
fn is_determined(words: &[Word], at: usize) -> bool {
    let before = words[..at].iter().rev().take(NEAR).take_while(|word| !word.ends);
    let is_between = |word: &&Word| {
        !is_determiner(&word.lower) && (is_content(&word.lower) || is_verb(&word.lower))
    };
    let mut before = before.skip_while(is_between);
    before.next().is_some_and(|word| is_determiner(&word.lower))
}

/// Whether a pronoun can stand for a noun of an earlier clause of the same text: one with a
/// determiner, or one after a verb of a request. Within a clause it cannot: "add milk to it".
fn is_said_before(words: &[Word], at: usize) -> bool {
    let earlier = &words[..clause_start(words, at)];
    (0..earlier.len()).any(|at| {
        let word = &earlier[at].lower;
        let is_thing = word.starts_with(char::is_alphabetic) && !is_time_word(word);
        let asks = || is_verb(&earlier[at - 1].lower) && !earlier[at - 1].ends;
        // "The order" is a noun, although "order" is a verb of a request.
        let is_noun = match is_determined(earlier, at) {
            true => is_content(word) || is_verb(word),
            false => is_content(word) && at > 0 && asks(),
        };
        is_thing && is_noun
    })
}

/// The first word of the clause of a word.
fn clause_start(words: &[Word], at: usize) -> usize {
    let is_start = |first: &usize| {
        let word = &words[*first].lower;
        // "Find Dune and renew it", but not "add milk and bread to it".
        let takes = |next: &Word| *first + 2 == at && is_content(&next.lower);
        let begins =
            |next: &Word| is_verb(&next.lower) || is_listed(SUBJECTS, &next.lower) || takes(next);
        words[*first - 1].ends
            || is_listed(JOINING, word)
            || is_listed("and or but", word) && words.get(*first + 1).is_some_and(begins)
    };
    (1..=at).rev().find(is_start).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_complete_request_refers_to_nothing_said_before() {
        for text in [
            "list the loans that are overdue",
            "cancel my hold, I do not need it any more",
            "text a member that the hold is ready",
            "find the books that Tolkien wrote",
            "find books that mention dragons",
            "open the report that Anna wrote",
            "find the file and delete it",
            "find Dune and renew it",
            "my card is lost, replace it",
            "their order is late, cancel it",
            "no tickets are left, close it",
            "cancel the order, I do not need it",
            "list the holds so they can be printed",
            "mail Anna when the book is back, she waits",
            "what time is it in Asia/Tokyo",
            "What day is it today?",
            "is it dark in Paris",
            "will it rain in Oslo tomorrow",
        ] {
            assert!(!refers_back(text), "{text}");
        }
    }

    #[test]
    fn a_word_for_something_said_before_refers_to_it() {
        for text in [
            "delete it",
            "add milk to it",
            "add milk and bread to it",
            "send that to Bob",
            "mail Bob that",
            "send Bob that file",
            "delete that, please",
            "that is wrong",
            "is it ready",
            "how much is it?",
            "what time does it open?",
            "make it warm",
            "on Friday, cancel it",
            "in the morning, send it",
            "does it run on Windows?",
            "is it a hotel?",
            "is it safe to delete",
            "what time is it on Friday",
            "is it warm",
            "what time is it in Tokyo and where is that",
            "before noon send it",
            "tell Anna to renew it",
            "only those from March",
            "that one too: draft.docx",
            "read them",
            "it's broken",
            "תמחק אותו",
        ] {
            assert!(refers_back(text), "{text}");
        }
    }
}
