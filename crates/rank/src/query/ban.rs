//! Finds the order beside a ban: "don't delete it, just archive it".

use std::ops::Range;

use super::plain_text::words;
use super::verbs::{action_of, actions_in, may_order};
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

/// Words with which a ban says more than what is not to be done, or of which it is not known what is not to be done.
const MORE: &str = "actually after again and any anything as before everything except if just now once only or so still that \
    this till today tonight unless until when while without yet";

/// Words of an order for another thing than the one that the ban names.
const OTHERS: &str = "another next one ones other others previous rest";

/// Verbs that bring something out, and words of tools that do not.
const SENDING: &str = "commit post publish release send share submit upload";
const KEEPING: &str = "draft hold keep prepare preview save schedule store";

/// Verbs that may stand for what the order does.
const GENERAL: &str = "add book change create edit modify order update";

/// Returns the place of the part of a prompt that orders something, if the rest forbids another action on the same thing and no more.
/// `name` are the words of the tool that is to be called. What is forbidden must be an action of the table that
/// is not the tool's: "delete page 20, don't do it" takes the order back. English only.
pub fn order_beside_ban(prompt: &str, name: &[String]) -> Option<Range<usize>> {
    let found = BAN_FIRST.captures(prompt).or_else(|| ORDER_FIRST.captures(prompt))?;
    let part = |part: &str| found.name(part).map_or("", |part| part.as_str());
    let (ban, order) = (part("ban").to_lowercase(), part("order").to_lowercase());
    let (banned, ordered) = (words(&ban), words(&order));
    let (verb, objects) = banned.split_first()?;
    let (actions, _) = action_of(verb)?;
    // "Draft a comment, but don't post it": a tool that adds comments posts them.
    let has = |list: &str| name.iter().any(|word| is_listed(list, word));
    let is_sent = is_listed(SENDING, verb) && !has(KEEPING);
    let own = || {
        name.iter().map(String::as_str).chain(ordered.iter().copied().find(|word| may_order(word)))
    };
    // "Pay it, but don't make the payment".
    let is_named_after = |object: &&str| {
        let shares = |own: &str| {
            own.len() > 2 && own.get(..4.min(own.len())) == object.get(..4.min(own.len()))
        };
        own().filter(|own| may_order(own)).any(shares)
    };
    // "Let it finish" is what no tool does.
    let is_kept = |word: &&str| is_listed("keep leave let", word) && !has(word);
    let is_plain = !is_sent
        && !ordered.first().is_some_and(is_kept)
        && !is_listed(GENERAL, verb)
        && !actions_in(own()).overlaps(actions)
        && !own().any(|word| word == *verb)
        && !banned.iter().any(|word| is_listed(MORE, word))
        && !ordered.iter().any(|word| is_listed(OTHERS, word))
        && !objects
            .iter()
            .any(|object| is_named_after(object) && !name.iter().any(|word| word == object));
    let is_order = found.name("verb").is_none_or(|verb| may_order(&verb.as_str().to_lowercase()));
    found.name("order").filter(|_| is_plain && is_order).map(|order| order.range())
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
            ("never delete LT-3005, only isolate it", "isolate_endpoint", "only isolate it"),
        ] {
            let found = order_beside_ban(prompt, &name(tool)).map(|place| &prompt[place]);
            assert_eq!(found, Some(order), "{prompt}");
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
            ("delete page 20. Dont do it", "delete_page"),
            ("archive page 20. Actually, don't do that", "archive_page"),
            ("never do that, delete page 20", "delete_page"),
            ("delete page 20. Do not perform the deletion", "delete_page"),
            ("archive page 20; don't change anything", "archive_page"),
            ("block 10.0.0.1 but don't apply it", "block_ip"),
            ("book a table for tomorrow, but don't confirm it", "book_table"),
            ("stop the mixer, don't halt it", "stop_mixer"),
            ("stop the mixer. Don't turn it off", "stop_mixer"),
            ("delete page 20, but don't wipe it", "delete_page"),
            ("pay invoice INV-5, but don't transfer any money", "pay_invoice"),
            ("suspend wh_adhoc. Don't pause it", "suspend_warehouse"),
            ("archive page 20. Don't put it in the archive", "archive_page"),
            ("open the trunk. Don't open it fully", "trunk"),
            ("don't delete page 20, archive the other one", "archive_page"),
            ("don't archive page 20, delete the next one", "delete_page"),
            ("don't cancel build 20, let it finish", "rebuild"),
        ] {
            assert_eq!(order_beside_ban(prompt, &name(tool)), None, "{prompt}");
        }
    }
}
