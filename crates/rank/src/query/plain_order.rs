//! Decides whether the verb of an order is that of a tool: "close ticket 5", not "archive ticket 5" or
//! "keep ticket 5 open". Whether a prompt orders anything at all is told by `mood`.

use toolroute_catalog::{Tool, words_of};
use toolroute_translation::Language;

use super::actions::{action_of, actions_in, inflections};
use super::is_listed;
use super::mood::{OBJECTS, has_order, may_order, orders};
use super::plain_text::{Places, unquoted};

/// Verbs that may order what any tool does.
const GENERAL: &str = "set make put turn do run use call add write give help let start go switch take open save record log \
    mark file ensure arrange request initiate";

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
    let orders = orders(&plain);
    let verbs: Vec<String> = orders.iter().filter_map(|order| verb_of(order, &own)).collect();
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
            may_order(verb) && inflections(verb).iter().any(|form| said(&plain, form))
        };
        has_order(&plain) && words.iter().any(is_said)
    };
    match verbs.first() {
        Some(_) if verbs.iter().any(fits) => None,
        Some(verb) => Some(VerbMismatch::Other(verb.clone())),
        None if has_form() => None,
        None => Some(
            orders
                .iter()
                .find_map(|order| rare_verb(order))
                .map_or(VerbMismatch::None, VerbMismatch::Other),
        ),
    }
}

fn said(plain: &str, word: &str) -> bool {
    plain.split(|c: char| !c.is_alphanumeric()).any(|said| said == word)
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

/// Returns the verb with which an order begins; `None` if it begins with none. `own` is the first word
/// of a tool's description, which is its verb as a rule.
fn verb_of(order: &str, own: &str) -> Option<String> {
    let verb = first_word(order)?;
    let is_own = || !own.is_empty() && inflections(&verb).iter().any(|form| form == own);
    (may_order(&verb) || is_own()).then_some(verb)
}

/// Returns the first word of an order if it is a verb by what follows it, although it is in no list:
/// "zap the file".
fn rare_verb(order: &str) -> Option<String> {
    let is_object = |word: &str| is_listed(OBJECTS, word);
    let next = order.split_whitespace().nth(1)?;
    first_word(order).filter(|verb| !is_object(verb) && is_object(next))
}

/// The first word, without hyphens: "re-open".
fn first_word(order: &str) -> Option<String> {
    let word = order.split_whitespace().next()?.trim_matches(|c: char| !c.is_alphanumeric());
    Some(word.replace('-', ""))
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
        let reopen = tool("ticket_reopen", "Reopen a closed ticket.");
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
            ("re-open T-3001", &reopen),
            ("reply to T-3001 and close it?", &close),
            ("help me close T-3001", &close),
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
            ("help me close ticket T-3001", &reopen, "close"),
            ("zap the ticket", &reopen, "zap"),
        ] {
            assert_eq!(
                reason(prompt, tool),
                Some(VerbMismatch::Other(verb.to_owned())),
                "{prompt}"
            );
        }
    }
}
