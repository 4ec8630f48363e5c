//! Finds the order beside a ban: "don't delete it, just archive it".

use super::plain_text::words;
use super::synonyms::order_same;
use super::verbs::may_order;
use super::{Pattern, is_listed};

static BAN_FIRST: Pattern = Pattern::new(concat!(
    r"(?i)^\s*(?:please[,\s]+)?(?:do not|don['’]?t|never)\s+(?P<ban>[a-z]+\b[^.;,!?\n]*?)",
    r"(?:[,;]\s*(?:but\s+|and\s+)?|\s+but\s+|[.!]\s+)",
    r"(?P<order>(?:(?:instead|just|only|please|rather|simply)[\s,]+)*(?P<verb>[a-z]+)\b[^\n]*)$",
));
static ORDER_FIRST: Pattern = Pattern::new(concat!(
    r"(?i)^(?P<order>[^\n]+?)(?:[,;]\s*(?:but\s+|and\s+)?|\s+but\s+|[.!]\s+)(?:please\s+)?",
    r"(?:do not|don['’]?t|never)\s+(?P<ban>[a-z]+\b[^.;,!?\n]*)[.!]?\s*$",
));

/// Words with which a ban says more than what is not to be done: "don't delete it until it is saved".
const MORE: &str =
    "after as before except if just once only or so till unless until when while without";

/// Verbs that bring something out, and words of tools that do not.
const SENDING: &str = "commit post publish release send share submit upload";
const KEEPING: &str = "draft hold keep prepare preview save schedule store";

/// Returns the part of a prompt that orders something, if the rest forbids something else and no more. `name` are the
/// words of the tool that is to be called: it may not do what is forbidden. English only.
pub fn order_beside_ban<'a>(prompt: &'a str, name: &[String]) -> Option<&'a str> {
    let found = BAN_FIRST.captures(prompt).or_else(|| ORDER_FIRST.captures(prompt))?;
    let part = |part: &str| found.name(part).map_or("", |part| part.as_str());
    let (ban, order) = (part("ban").to_lowercase(), found.name("order")?.as_str());
    let banned = words(&ban);
    // "Draft a comment, but don't post it": a tool that adds comments posts them.
    let has = |list: &str| name.iter().any(|word| is_listed(list, word));
    let is_sent = banned.first().is_some_and(|verb| is_listed(SENDING, verb)) && !has(KEEPING);
    let does = |verb: &str| name.iter().any(|word| word == verb || order_same(word, verb));
    let is_plain = banned.first().is_some_and(|verb| may_order(verb))
        && !is_sent
        && !banned.iter().any(|word| is_listed(MORE, word))
        && !banned.first().is_some_and(|verb| does(verb));
    let is_order = found.name("verb").is_none_or(|verb| may_order(&verb.as_str().to_lowercase()));
    (is_plain && is_order).then_some(order)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_order_stands_beside_a_ban_of_something_else() {
        let name = |name: &str| name.split('_').map(str::to_owned).collect::<Vec<_>>();
        for (prompt, tool, order) in [
            ("don't delete FW-1203, just switch it off", "toggle_rule", "just switch it off"),
            ("Please do not delete page 20. Archive it", "archive_page", "Archive it"),
            ("archive page 20 but don't delete it", "archive_page", "archive page 20"),
            ("write the mail but don't send it", "save_draft", "write the mail"),
            ("never wipe LT-3005, only isolate it", "isolate_endpoint", "only isolate it"),
        ] {
            assert_eq!(order_beside_ban(prompt, &name(tool)), Some(order), "{prompt}");
        }
        for (prompt, tool) in [
            ("don't delete page 20, archive it", "delete_page"),
            ("don't erase page 20, archive it", "remove_page"),
            ("don't just archive it, delete it", "delete_page"),
            ("don't delete it until it is saved, archive it", "archive_page"),
            ("don't archive or hide it, lock it", "lock_page"),
            ("turn off the lights but not in the kitchen", "lights_off"),
            ("don't delete the page", "delete_page"),
            ("archive page 20", "archive_page"),
            ("don't worry, archive it", "archive_page"),
            ("draft a comment on page 20, but don't post it", "add_comment"),
        ] {
            assert_eq!(order_beside_ban(prompt, &name(tool)), None, "{prompt}");
        }
    }
}
