//! The actions that a prompt requests.

use std::borrow::Cow;

use super::content::own_words;
use super::plain_text::first_word;
use super::synonyms::actions_of_phrase;
use super::verbs::{Actions, action_of, may_order};
use super::{Pattern, function_words, is_listed};

/// The actions that a prompt requests.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Order {
    /// The first verb, in lower case as the prompt has it.
    pub verb: String,
    /// All requested actions. A tool for any of them serves the prompt.
    pub actions: Actions,
    /// The nouns of what the verb acts on, the last one first: "order", "purchase" for "cancel the purchase order
    /// 4500". Empty if there are several orders, or if the object may be anything, such as a text that is sent.
    pub object: Vec<String>,
}

/// Verbs that request nothing that a catalog could lack, or that have too many meanings. A prompt
/// with one of them is served by a tool that can look, whatever else it requests.
const GENERAL: &str = "get show list find search check view display see read fetch look tell give \
    explain describe use help ask what which who how where when why is are do does can query retrieve \
    compare summarize summarise analyze analyse count calculate run call convert open load extract turn \
    put log watch start stop add set write make";

/// Words after a verb that may be a noun ("book", "order") which show that it is a verb, beside those that begin
/// an object.
const AFTER_VERB: &str = "both another one two three four five six seven eight nine ten to from";

static OPENER: Pattern = Pattern::new(
    r"(?i)^(?:(?:hi|hello|hey|ok|okay|oh|so|and|then|also|now|just|first|next|finally|please|kindly|pls|can you|could you|would you|will you|i want you to|i(?: would|['’]d) like (?:you )?to|i want to|i need (?:you )?to|help me(?: to)?|let['’]s|go ahead and|you)\b[\s,]*)+",
);
static BORDER: Pattern = Pattern::new(r"(?i)[.!?:;,]\s+|\s*\n\s*|\s+(?:and|then)\s+");

/// Returns the actions that a prompt requests; `None` if it requests none, or also something else.
/// English only.
pub(crate) fn order(prompt: &str) -> Option<Order> {
    let own = own_words(prompt);
    let order = order_in(&own)?;
    match own {
        Cow::Borrowed(_) => Some(order),
        // What is ordered besides may be in the text behind a colon, or after it.
        Cow::Owned(_) => {
            Some(Order { actions: order_in(prompt)?.actions, object: Vec::new(), ..order })
        }
    }
}

/// Returns the first words of a prompt's parts, of which those of orders are their verbs.
pub(crate) fn first_words(prompt: &str) -> Vec<String> {
    let own = own_words(prompt);
    parts(&own).map(first_word).filter(|word| !word.is_empty()).collect()
}

/// Splits a text at borders of sentences and at "and", and leaves out "please" and the like before a part.
fn parts(text: &str) -> impl Iterator<Item = &str> {
    BORDER
        .split(text)
        .map(str::trim)
        .filter(|part| !part.is_empty())
        .map(|part| OPENER.find(part).map_or(part, |opener| &part[opener.end()..]))
}

fn order_in(text: &str) -> Option<Order> {
    let mut order: Option<Order> = None;
    for (at, part) in parts(text).enumerate() {
        let mut words = part.split_whitespace();
        let verb = words.next().unwrap_or_default().trim_end_matches(['.', '!', '?']);
        let verb = verb.to_lowercase();
        if is_listed(GENERAL, &verb) {
            return None;
        }
        let verb = if is_lowering(&verb, part) { "update".to_owned() } else { verb };
        let phrase = actions_of_phrase(&part.to_lowercase()).map(|actions| (actions, false));
        let Some((action, is_often_noun)) = phrase.or_else(|| action_of(&verb)) else {
            // "Draft a newsletter and send it": the tool for the first may do nothing else.
            if at == 0 && may_order(&verb) {
                return None;
            }
            continue;
        };
        let object = words.next().unwrap_or_default();
        let next = words.next().unwrap_or_default();
        // "Drop it off" deletes nothing.
        let is_phrase = is_listed("it them", object) && is_listed(function_words::PARTICLES, next);
        if is_often_noun && (!begins_object(object) || is_phrase) {
            continue;
        }
        // "Add a line to the order": what is added may be anything.
        let puts =
            verb == "add" && part.split_whitespace().any(|word| is_listed("to into onto", word));
        let is_anything = puts || is_listed(CARRYING, &verb);
        let object = if is_anything { Vec::new() } else { object_of(part) };
        let found = order.get_or_insert(Order { verb, actions: Actions::default(), object });
        found.actions = found.actions.with(action);
        if at > 0 {
            found.object.clear();
        }
    }
    order
}

/// Verbs whose object may be anything that is put somewhere or told.
const CARRYING: &str = "attach download edit email forward mail message move notify post publish pull push remind \
    save schedule send share text tweet transfer upload";

/// Words before which the nouns of an object end.
const AFTER_OBJECT: &str = "about after and as at because before but by except for from if in inside into of on onto or so that \
    to under until unless when where which who whose while with within without";

/// The nouns of the object of an order, the last one first.
fn object_of(order: &str) -> Vec<String> {
    let mut nouns: Vec<String> = Vec::new();
    for word in order.split_whitespace().skip(1).take(8) {
        let plain = word.trim_end_matches(|c: char| !c.is_alphanumeric());
        let is_noun = plain.len() > 2 && plain.bytes().all(|byte| byte.is_ascii_lowercase());
        if plain.ends_with("'s") || plain.ends_with("’s") {
            nouns.clear();
        } else if function_words::begins_object(plain) {
            if !nouns.is_empty() {
                break;
            }
        } else if is_noun && !is_listed(AFTER_OBJECT, plain) {
            nouns.insert(0, plain.to_owned());
        } else {
            break;
        }
        if plain.len() < word.len() {
            break;
        }
    }
    nouns
}

/// Whether an order wants a value to be changed by a verb that deletes elsewhere: "drop the price to 20".
pub(super) fn is_lowering(verb: &str, order: &str) -> bool {
    let mut ends = order.split(" to ").skip(1);
    let is_number = |end: &str| {
        end.trim_start().starts_with(|c: char| c.is_ascii_digit() || "€$£§".contains(c))
    };
    is_listed("cut drop slash", verb) && ends.any(is_number)
}

/// Whether a word after a verb can start its object: "the", "Alice", "#42", "a.txt".
pub(super) fn begins_object(word: &str) -> bool {
    let plain = word.trim_matches(|c: char| !c.is_alphanumeric()).to_lowercase();
    let first = word.chars().next();
    function_words::begins_object(&plain)
        || is_listed(AFTER_VERB, &plain)
        || first.is_some_and(|c| c.is_uppercase() || !c.is_alphanumeric())
        || word.chars().any(|c| c.is_numeric() || matches!(c, '@' | '/' | '_'))
        || word.trim_end_matches('.').contains('.')
}

#[cfg(test)]
mod tests {
    use super::super::verbs::actions_in;
    use super::*;

    fn is_done_by(prompt: &str, text: &str) -> bool {
        let order = order(prompt).unwrap_or_else(|| panic!("{prompt} orders nothing"));
        actions_in(text.split_whitespace()).overlaps(order.actions)
    }

    #[test]
    fn every_line_of_the_table_is_an_action() {
        let lines = include_str!("data/verbs.txt").lines().filter(|line| !line.starts_with('#'));
        assert!(lines.clone().count() <= 128, "an action is a bit of 128");
        for line in lines {
            let (ordering, doing) = line.split_once(": ").unwrap_or_else(|| panic!("{line}"));
            assert!(!ordering.is_empty() && !doing.is_empty(), "{line}");
            let general = ordering.split_whitespace().find(|verb| is_listed(GENERAL, verb));
            assert_eq!(general, None, "{line}");
        }
    }

    #[test]
    fn an_order_is_done_by_tools_with_a_verb_of_its_meaning() {
        for (prompt, text) in [
            ("delete the file old.txt", "remove file Removes a file"),
            ("Please erase old.txt", "delete_file deletes one"),
            ("could you book a table for two", "Reserves tables"),
            ("push my changes to github", "git push"),
            ("copy a.txt to b.txt", "Duplicating files"),
            ("rename the branch and delete the tag", "deletes tags"),
            ("commit all changes\ntranslate it to French", "Translates a text"),
        ] {
            assert!(is_done_by(prompt, text), "{prompt}: {text}");
        }
        // The verb deletes elsewhere.
        assert!(is_done_by("drop the price of the chair to 20", "updates a price"));
        assert!(!is_done_by("drop the price of the chair to 20", "deletes a price"));
        assert!(!is_done_by("delete the file old.txt", "write file Creates or overwrites a file"));
        assert!(!is_done_by(
            "push my changes to github",
            "git diff Shows changes that are not staged"
        ));
    }

    #[test]
    fn what_orders_no_action_is_no_order() {
        for prompt in [
            "book recommendations for the summer",
            "order history",
            "show me how to delete a file",
            "list the files and delete the old ones",
            "what does the delete button do",
            "the copy is broken",
            "rent a car and drop it off on Monday",
            "unread messages",
            "",
        ] {
            assert_eq!(order(prompt), None, "{prompt}");
        }
        assert_eq!(order("Now erase it!").unwrap().verb, "erase");
    }
}
