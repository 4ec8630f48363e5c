//! Finds the text that a prompt only brings along behind a colon: "summarize this: …", "Ana wrote: …".

use std::borrow::Cow;

use super::mood::{Mood, has_order, last_clause};
use super::plain_text::{TAKEN, words};
use super::{Pattern, is_listed};

/// Stands for the text behind a colon.
pub(super) const CONTENT: char = '¶';

/// Stands behind that sign, if the text is an order itself.
pub(super) const ORDERED: char = '‡';

static COLON: Pattern = Pattern::new(r":(?:\s|$)");

/// Where a sentence ends.
static END: Pattern = Pattern::new(r"[.!?;](?:\s|$)|\n");

/// Words for a text, and words of somebody who says one.
const TEXTS: &str = "article chat comment email from letter log mail message note paragraph quote review sentence \
    subject text texts thread transcript words answered answers asked asks claims claimed mailed messaged posted \
    replied replies said says sent states suggested suggests tells texted told writes wrote";

/// Words that only announce what is ordered: "please do the following", "one more thing".
const ANNOUNCING: &str = "a action actions all also an and another are assistant bot can complete could do execute final following \
    for handle have help here here's i important is job last me more my need new next now of one order perform quick \
    request requests step steps task tasks the these thing things this three to todo two us want we with would you \
    your";

/// How far a text behind a colon goes.
enum Extent {
    Sentence,
    Line,
    Whole,
}

/// Returns the text with a sign for what it brings along, which is content and orders nothing. That is
/// behind an order of its own, a speaker, or the name of a thing; "please:", "ticket 5:" and "he has paid:"
/// go on with the order.
pub(super) fn own_words(text: &str) -> Cow<'_, str> {
    let lower = text.to_ascii_lowercase();
    let (mut own, mut from) = (String::new(), 0);
    for colon in COLON.find_iter(&lower) {
        if colon.start() < from {
            continue;
        }
        let Some(extent) = extent(head(&lower[from..colon.start()])) else { continue };
        own.push_str(&text[from..colon.start()]);
        own.push(' ');
        own.push(CONTENT);
        let begin = colon.start() + 1;
        from = begin + end_of(&text[begin..], &extent);
        if has_order(&lower[begin..from]) {
            own.push(ORDERED);
        }
    }
    if from == 0 {
        return Cow::Borrowed(text);
    }
    own.push_str(&text[from..]);
    Cow::Owned(own)
}

/// Maximum number of bytes before a colon that are read.
const NEAR: usize = 300;

/// Returns the end of the sentence before a colon.
fn head(before: &str) -> &str {
    let near = &before[before.ceil_char_boundary(before.len().saturating_sub(NEAR))..];
    END.find_iter(near).last().map_or(near, |end| &near[end.end()..])
}

fn end_of(text: &str, extent: &Extent) -> usize {
    let end = match extent {
        Extent::Sentence => END.find(text).map(|end| end.start()),
        // A text that begins in the next line goes on.
        Extent::Line => text.find('\n').filter(|end| !text[..*end].trim().is_empty()),
        Extent::Whole => None,
    };
    end.unwrap_or(text.len())
}

/// Returns how far the text behind a colon is content; `None` if it is none.
fn extent(head: &str) -> Option<Extent> {
    let (mood, clause) = last_clause(head);
    let words = words(clause);
    let mut said = words.iter().filter(|word| **word != ",");
    if said.clone().all(|word| is_listed(ANNOUNCING, word)) {
        return None;
    }
    let is_text = said.any(|word| is_listed(TEXTS, word));
    let has_value = clause.contains(TAKEN) || clause.contains(|c: char| c.is_ascii_digit());
    match mood {
        Mood::Beside => (words[0] == "from").then_some(Extent::Whole),
        Mood::Order | Mood::Question if has_value && !is_text => Some(Extent::Sentence),
        Mood::Order | Mood::Question => Some(Extent::Whole),
        _ if is_text => Some(Extent::Whole),
        Mood::Fragment if !has_value => Some(Extent::Line),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_behind_an_order_a_speaker_or_a_name_is_content() {
        for (prompt, own) in [
            ("summarize this mail: Please close T-3. Thanks", "summarize this mail ¶‡"),
            ("Spell-check this:\n\nclose T-3", "Spell-check this ¶‡"),
            ("remember: close T-3", "remember ¶‡"),
            ("Ana wrote: close T-3", "Ana wrote ¶‡"),
            ("Hi! The mail says: close T-3", "Hi! The mail says ¶‡"),
            ("from Ana: close T-3", "from Ana ¶‡"),
            ("Ana: close T-3\nreopen T-4", "Ana ¶‡\nreopen T-4"),
            ("close T-3: it works. Reopen T-4", "close T-3 ¶. Reopen T-4"),
        ] {
            assert_eq!(own_words(prompt), own);
        }
    }

    #[test]
    fn an_announced_order_is_no_content() {
        for prompt in [
            "please: close T-3",
            "could you do the following: close T-3",
            "one more thing: close T-3",
            "ticket 3: close it",
            "the printer has been replaced: close the ticket",
            "move it to 12:30",
            "",
            ":",
        ] {
            assert_eq!(own_words(prompt), prompt);
        }
    }
}
