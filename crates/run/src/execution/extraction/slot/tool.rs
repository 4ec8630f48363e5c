//! What the name and the description of a tool say of its parameters.

use super::super::text;
use super::{Kind, Slot};
use toolroute_catalog::Tool;

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

/// Lets the only number of a tool be a percentage if the tool says that it counts in percent.
pub(super) fn give_percent(slots: &mut [Slot], about: &str) {
    let about = about.to_lowercase();
    let is_told = about.contains("in percent") || about.contains("percentage of");
    let mut numbers = slots.iter_mut().filter(|slot| slot.kind.is_number());
    if let (Some(number), None, true) = (numbers.next(), numbers.next(), is_told) {
        number.has_maximum_100 |= number.description.is_none() && number.unit.is_none();
    }
}
