//! Whether a prompt without a verb that is known says what is to be done all the same.

use toolroute_catalog::{Tool, words_of, writes};

use super::content::own_words;
use super::mood::has_order;
use super::negation::is_past;
use super::plain_text::{unquoted, words};
use super::verbs::{inflections, may_order};
use super::{Places, is_listed};

/// Verbs in names of tools that make or set something.
const SETTING: &str = "add make put set record log save enter";

/// Words of a text that only tells or asks something: "renewal denied, 2 refills".
const TELLING: &str = "already been cannot ought denied expired failed how missing much never no not price waived what when why without";

/// Whether a prompt without a verb that the tool knows says all the same what is to be done: in the words of the tool's name
/// ("RX-9034 renew, 2 refills", "order 5 needs to be renewed"), or as what is new ("new phone number for T-3").
pub fn names_action(prompt: &str, tool: &Tool) -> bool {
    let plain = unquoted(prompt, Places::default());
    let said = words(&plain);
    let name = words_of(&tool.name);
    let is_told = |at: usize| {
        let is_needed = at > 0 && said[at - 1] == "be";
        is_listed(TELLING, said[at]) || is_past(said[at]) && !is_needed
    };
    let is_base = |word: &str| name.iter().any(|own| own == word && may_order(own));
    let is_needed = |pair: &[&str]| {
        let mut verbs = name.iter().filter(|own| may_order(own));
        pair[0] == "be" && verbs.any(|own| inflections(own).iter().any(|form| form == pair[1]))
    };
    let is_new = || {
        let begins = said.first() == Some(&"new")
            || said.first().is_some_and(|word| is_listed("my our", word))
                && said.get(1) == Some(&"new");
        begins && name.iter().any(|own| writes(own) || is_listed(SETTING, own))
    };
    let is_named =
        said.iter().any(|word| is_base(word)) || said.windows(2).any(is_needed) || is_new();
    is_named && !(0..said.len()).any(is_told)
}

/// Whether a clause of a prompt is an order by its form, whatever its verb: "would you prolong contract 5", but not the wish
/// "can I get note 5 back".
pub fn has_order_form(prompt: &str) -> bool {
    let plain = own_words(&unquoted(prompt, Places::default())).into_owned();
    let wishes = ["can i ", "can we ", "could i ", "could we ", "may i "];
    let is_wish = wishes.iter().any(|wish| plain.starts_with(wish));
    has_order(&plain) && !is_wish
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_without_a_known_verb_says_what_is_to_be_done_in_the_words_of_the_tool() {
        let tool = |name: &str| Tool::new(None, name, "Does it");
        for (name, prompt) in [
            ("renew_prescription", "RX-9034 renew, 2 refills"),
            ("cancel_order", "order 12 needs to be cancelled by 5 pm"),
            ("update_contact", "new phone number for T-318: 0151"),
            ("update_contact", "my new email address is a@b.org"),
        ] {
            assert!(names_action(prompt, &tool(name)), "{prompt}");
        }
        for (name, prompt) in [
            ("renew_prescription", "RX-9034 renewed, 2 refills"),
            ("renew_prescription", "RX-9034 renewal denied, 2 refills"),
            ("renew_permit", "PM-88 for 12 months costs how much"),
            ("renew_permit", "why renew PM-88 for 12 months"),
            ("charge_fee", "M-1 no fee 12 euros"),
            ("cancel_order", "order 12 must have been cancelled at 5 pm"),
            ("transfer_money", "transferred 50 euros to Mara Weber"),
        ] {
            assert!(!names_action(prompt, &tool(name)), "{prompt}");
        }
    }
}
