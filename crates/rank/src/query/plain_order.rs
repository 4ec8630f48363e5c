//! Decides whether the verb of an order is that of a tool: "close ticket 5", not "archive ticket 5" or
//! "keep ticket 5 open". Whether a prompt orders anything at all is told by `mood`.

use std::collections::HashSet;
use std::sync::LazyLock;

use toolroute_catalog::{Tool, words_of};
use toolroute_translation::Language;

use super::actions::{action_of, actions_in, inflections};
use super::is_listed;
use super::mood::{has_order, is_request_verb};
use super::plain_text::{Places, unquoted};

/// Verbs that may order what any tool does.
const GENERAL: &str = "set make put turn do run use call add write give help let start go switch take open save record log \
    mark file ensure arrange request initiate";

/// Verbs that are often nouns at the start of a statement: "order 5 has arrived".
const OFTEN_NOUNS: &str = "order book place list process record report request schedule search test track review map name \
    mark change move display document file issue label plan stage stock route round trigger page";

/// Verbs with a subject before them: their sentence tells how things are.
const STATING: &str =
    "is are was were has had have got did does been isn't wasn't aren't hasn't needs";

/// Words after which another subject begins: "the file that is old".
const JOINING: &str = "that which who where when if because since as whose what how whether";

/// Words after which a verb is an order.
const BEFORE: &str = "and then please now just also or kindly so";

/// Words before a "to" after which a verb is an order: "I want to", "I need you to".
const WISHING: &str =
    "want like need love wish help ready forget remember sure free hesitate me us you";

/// Words before a "you" after which a verb is an order.
const ASKING: &str = "can could would will";

/// Words at the start of an order.
const OPENING: &str = "hi hello hey please ok okay so now just first next finally also then and oh thanks alright kindly \
    right away let's lets";

static FURTHER: LazyLock<HashSet<&str>> = LazyLock::new(|| {
    let lines =
        include_str!("data/further_verbs.txt").lines().filter(|line| !line.starts_with('#'));
    lines.flat_map(str::split_whitespace).collect()
});

/// Why no verb of a prompt orders what a tool does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum VerbMismatch {
    /// It has no verb that orders anything.
    None,
    /// It orders something by this verb, which neither the tool's name nor its text has.
    Other(String),
}

/// Returns why a prompt does not plainly order what a tool does; `None` for an order that the tool
/// carries out by its own words, and for a prompt that is not in English: lexicons do not tell
/// "close" from "closed".
///
/// A tool that may change something must not run on anything else without asking, because a
/// statement ("the ticket was closed") and the opposite ("keep the ticket open") are as near to it
/// as an order.
pub fn verb_mismatch(prompt: &str, places: Places<'_>, tool: &Tool) -> Option<VerbMismatch> {
    if Language::of(prompt).is_some() {
        return None;
    }
    let named = [&tool.name, tool.title.as_ref().unwrap_or(&tool.name)];
    let named = named.into_iter().chain(&tool.examples);
    let mut words: Vec<String> = named.flat_map(|text| words_of(text)).collect();
    words.extend(verbs_of(&tool.description));
    let own = words_of(&tool.description).into_iter().next().unwrap_or_default();
    let plain = unquoted(prompt, places);
    let orders = orders(&plain, &own);
    let does = actions_in(words.iter().map(String::as_str));
    let has = |verb: &str| inflections(verb).iter().any(|form| words.contains(form));
    let fits = |verb: &String| {
        let means = || {
            let listed = action_of(verb).map(|(actions, _)| actions);
            listed.unwrap_or_else(|| actions_in([verb.as_str()].into_iter()))
        };
        is_listed(GENERAL, verb) || has(verb) || does.overlaps(means())
    };
    // "Would you mind closing it", "I need it closed": an order with the verb in another form.
    let has_form = || {
        let is_said = |verb: &String| {
            is_known(verb) && inflections(verb).iter().any(|form| said(&plain, form))
        };
        has_order(&plain) && words.iter().any(is_said)
    };
    match orders.first() {
        None if has_form() => None,
        None => Some(VerbMismatch::None),
        Some(_) if orders.iter().any(fits) => None,
        Some(verb) => Some(VerbMismatch::Other(verb.clone())),
    }
}

fn said(plain: &str, word: &str) -> bool {
    plain.split(|c: char| !c.is_alphanumeric()).any(|said| said == word)
}

fn is_known(word: &str) -> bool {
    is_request_verb(word) || FURTHER.contains(word)
}

/// Returns the words of a description that may say what the tool does: at the start of a sentence or
/// part, and after "and", "to" and the like. In "reopens a closed ticket" it does not close.
fn verbs_of(description: &str) -> Vec<String> {
    let (mut begins, mut before, mut found) = (true, String::new(), Vec::new());
    for token in description.split_whitespace() {
        let word = token.trim_matches(|c: char| !c.is_alphanumeric()).to_lowercase();
        if begins || is_listed(LEADING, &before) {
            found.extend(words_of(&word));
        }
        begins = token.ends_with(['.', ':', '!', '?', ',', ';', ')']);
        before = word;
    }
    found
}

/// Words of a description after which a verb says what the tool does.
const LEADING: &str = "this tool function endpoint api operation method command for you to and or can will which that by \
    permanently immediately";

/// Returns the verbs that order something. `own` is the first word of a tool's description, which
/// is its verb as a rule.
fn orders(plain: &str, own: &str) -> Vec<String> {
    let tokens: Vec<&str> = plain.split_whitespace().collect();
    let word = |at: usize| tokens[at].trim_matches(|c: char| !c.is_alphanumeric());
    let ends = |at: usize| tokens[at].ends_with(['.', ':', '!', '?', ',', ';']);
    let (mut found, mut begins) = (Vec::new(), true);
    for at in 0..tokens.len() {
        let before = |back: usize| at.checked_sub(back).map_or("", word);
        let this = word(at);
        let is_place = begins
            || is_listed(BEFORE, before(1))
            || before(1) == "to" && is_listed(WISHING, before(2))
            || before(1) == "you" && is_listed(ASKING, before(2));
        let clause = (at + 1..tokens.len()).take_while(|at| !ends(at - 1)).map(word);
        if is_place && is_order(this, own, clause.collect::<Vec<_>>().as_slice()) {
            found.push(this.to_owned());
        }
        begins = ends(at) || begins && (is_listed(OPENING, this) || this.ends_with("ly"));
    }
    found
}

/// Whether a word where an order may begin is a verb. `clause` is what follows it.
fn is_order(word: &str, own: &str, clause: &[&str]) -> bool {
    let action = action_of(word);
    let is_own = || !own.is_empty() && inflections(word).iter().any(|form| form == own);
    if !(is_known(word) || is_own()) {
        return false;
    }
    // "Make sure that it stays open" tells what is wanted, not what is to be done.
    if word == "make" && clause.first() == Some(&"sure") {
        return false;
    }
    let is_often_noun = action.is_some_and(|(_, noun)| noun) || is_listed(OFTEN_NOUNS, word);
    let until_joined = clause.iter().take_while(|word| !is_listed(JOINING, word));
    !is_often_noun || !clause.is_empty() && !until_joined.into_iter().any(|w| is_listed(STATING, w))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tool(name: &str, description: &str) -> Tool {
        Tool::new(Some("desk"), name, description)
    }

    fn reason(prompt: &str, tool: &Tool) -> Option<VerbMismatch> {
        verb_mismatch(prompt, Places::default(), tool)
    }

    #[test]
    fn an_order_has_a_verb_of_the_tool() {
        let close = tool("ticket_close", "Close a ticket with a resolution.");
        let move_stock = tool("move_stock", "Moves stock of an article to another bin.");
        let book = tool("create_reservation", "Creates a reservation for a table.");
        let escalate = tool("ticket_escalate", "Escalates a ticket.");
        for (prompt, tool) in [
            ("close ticket T-3001", &close),
            ("Hi! Could you please close T-3001?", &close),
            ("T-3001 is solved, so close it", &close),
            ("I'd like you to close the ticket", &close),
            ("let's close T-3001", &close),
            ("would you mind closing T-3001?", &close),
            ("I need T-3001 closed", &close),
            ("don't forget to close T-3001", &close),
            ("Please move 5 of SKU-1 to bin B-2", &move_stock),
            ("relocate 5 of SKU-1 to bin B-2", &move_stock),
            ("book a table for two at eight", &book),
            ("quickly reserve a table", &book),
            ("escalate T-3001", &escalate),
            ("order the stock that is in bin 4 to be moved, and move it", &move_stock),
        ] {
            assert_eq!(reason(prompt, tool), None, "{prompt}");
        }
    }

    #[test]
    fn statements_order_nothing() {
        let reopen = tool("ticket_reopen", "Reopen a closed ticket.");
        let pick = tool("create_pick_list", "Create a pick list for an order.");
        for (prompt, tool) in [
            ("I closed ticket T-3001 already", &reopen),
            ("ticket T-3001 was closed by tom", &reopen),
            ("great, ticket T-3001 reopened!", &reopen),
            ("thanks for reopening ticket T-3001", &reopen),
            ("ticket T-3001 got reopened by mistake", &reopen),
            ("my colleague told me she reopened it", &reopen),
            ("I forgot to reopen it", &reopen),
            ("please make sure that the ticket stays open", &reopen),
            ("order 88120 has a pick list", &pick),
            ("we already picked PL-501", &pick),
            ("", &pick),
        ] {
            assert_eq!(reason(prompt, tool), Some(VerbMismatch::None), "{prompt}");
        }
    }

    #[test]
    fn another_verb_orders_something_else() {
        let reopen = tool("ticket_reopen", "Reopen a closed ticket.");
        let assign = tool("assignDriver", "Assign a driver to a vehicle");
        let optimize = tool("optimizeRoute", "Optimizes a route");
        for (prompt, tool, verb) in [
            ("unassign driver D-12 from VAN-11", &assign, "unassign"),
            ("fire the driver D-12", &assign, "fire"),
            ("cancel the optimization of route R-77", &optimize, "cancel"),
            ("archive ticket T-3001", &reopen, "archive"),
            ("close ticket T-3001", &reopen, "close"),
        ] {
            assert_eq!(
                reason(prompt, tool),
                Some(VerbMismatch::Other(verb.to_owned())),
                "{prompt}"
            );
        }
    }

    #[test]
    fn the_lists_have_no_word_twice() {
        for word in FURTHER.iter() {
            assert!(!is_request_verb(word), "{word} is in another list");
        }
    }
}
