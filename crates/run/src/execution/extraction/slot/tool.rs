//! What the name and the description of a tool say of its parameters.

use super::super::text;
use super::super::unit::Unit;
use super::{Kind, Slot};
use toolroute_catalog::Tool;

/// Returns what the description of a tool says of a parameter that has none of its own: "valid_until is a date",
/// or a line of a docstring such as ":param to: a phone number" or "mode (str): means of transport".
pub(super) fn told<'d>(name: &str, description: &'d str) -> Option<&'d str> {
    description.split('\n').flat_map(|line| line.split(". ")).find_map(|part| {
        let part = part.trim();
        let rest = part.strip_prefix(":param ").unwrap_or(part).strip_prefix(name)?;
        if let Some(about) = rest.strip_prefix(" is ") {
            return Some(about);
        }
        let rest =
            rest.strip_prefix(" (").and_then(|rest| Some(rest.split_once(')')?.1)).unwrap_or(rest);
        rest.strip_prefix(':').map(str::trim).filter(|about| !about.is_empty())
    })
}

/// Lets the noun of a tool's name stand for an id whose name says not of what it is: "voucher ABC" for the
/// `code` of `check_voucher`.
pub(super) fn give_thing(slots: &mut [Slot], tool: &Tool) {
    const GENERAL: &str = "code id ids key no nr number ref slug uuid";
    let named = text::name_words(&tool.name);
    let Some(thing) = named.last().filter(|_| named.len() > 1) else { return };
    for slot in slots.iter_mut().filter(|slot| slot.kind == Kind::Id && slot.required) {
        if slot.of.is_none() && slot.words.iter().all(|word| text::is_listed(word, GENERAL)) {
            slot.of = Some(text::singular(thing).into_owned());
        }
    }
}

/// Lets a title that is the only required text take the text after a colon: "open a ticket: the scanner
/// is broken".
pub(super) fn give_rest_to_title(slots: &mut [Slot]) {
    const TITLES: &str = "title subject summary headline task todo";
    let mut texts = slots.iter_mut().filter(|slot| slot.required && slot.kind.is_text());
    if let (Some(title), None) = (texts.next(), texts.next()) {
        title.takes_rest |= title.kind == Kind::Text && !title.is_list && title.has_word(TITLES);
    }
}

/// Lets money count in the only currency that the description of the tool names, if no parameter is for the
/// currency: "Sets the price of an article, in euros".
pub(super) fn give_unit(slots: &mut [Slot], description: &str) {
    let has_unit =
        slots.iter().any(|slot| slot.kind == Kind::Currency || slot.has_word("currency unit"));
    // "Sets the price of an article, in euros".
    for slot in
        slots.iter_mut().filter(|slot| slot.is_money() && slot.kind.is_number() && !has_unit)
    {
        slot.unit = slot.unit.or_else(|| Unit::of_money(description));
    }
}
