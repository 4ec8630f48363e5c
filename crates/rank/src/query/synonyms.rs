//! Words of opposite meaning, and the actions that verbs name which few tools are called by: "scrap", "throw
//! away". The table of verbs is `data/synonyms.txt`.

use std::collections::HashMap;
use std::sync::LazyLock;

use super::is_listed;
use super::plain_text::words;
use super::verbs::{Actions, action_of};

/// Words that are each other's opposite and no verbs: `mark_room_clean` and `mark_room_dirty`.
pub(super) const OPPOSITES: [(&str, &str); 24] = [
    ("on", "off"),
    ("up", "down"),
    ("in into back", "out"),
    ("active", "inactive"),
    ("available", "unavailable"),
    ("clean", "dirty"),
    ("enabled", "disabled"),
    ("free", "busy"),
    ("full", "empty"),
    ("inbound", "outbound"),
    ("incoming", "outgoing"),
    ("internal", "external"),
    ("left", "right"),
    ("local", "remote"),
    ("locked", "unlocked"),
    ("online", "offline"),
    ("open", "closed"),
    ("paid", "unpaid"),
    ("public", "private"),
    ("read", "unread"),
    ("resolved", "unresolved"),
    ("same", "other"),
    ("valid", "invalid"),
    ("visible", "hidden"),
];

/// Verbs that are each other's opposite. Verbs of one side mean nearly the same.
const OPPOSITE_VERBS: [(&str, &str); 22] = [
    ("accept approve", "decline deny reject"),
    ("activate enable", "deactivate disable"),
    ("arm", "disarm"),
    ("attach", "detach"),
    ("begin launch start", "end halt pause quit stop"),
    ("bolt close lock shut", "open unbolt unlock"),
    ("borrow", "return"),
    ("buy", "sell"),
    ("connect", "disconnect"),
    ("continue resume", "halt pause stop"),
    ("decrease lower reduce", "increase raise"),
    ("deposit", "withdraw"),
    ("download", "upload"),
    ("encrypt", "decrypt"),
    ("enrol enroll enter join register", "exit leave quit"),
    ("exclude", "include"),
    ("export", "import"),
    ("freeze", "thaw unfreeze"),
    ("hide", "reveal show unhide"),
    ("isolate quarantine", "release"),
    ("play", "halt pause stop"),
    ("pull", "push"),
];

/// The verb of the table that another one does once more: "activate" of "reactivate".
fn done_again(verb: &str) -> &str {
    let is_known = |again: &&str| {
        OPPOSITE_VERBS.iter().any(|(one, other)| is_listed(one, again) || is_listed(other, again))
    };
    verb.strip_prefix("re").filter(is_known).unwrap_or(verb)
}

/// Whether two verbs are each other's opposite: "open" and "lock", "disarm" and "arm".
pub(crate) fn verbs_oppose(one: &str, other: &str) -> bool {
    let negates = |a: &str, b: &str| {
        ["de", "dis", "un"].iter().any(|prefix| a.strip_prefix(prefix) == Some(b))
    };
    let (one, other) = (done_again(one), done_again(other));
    let are = |a, b| {
        negates(a, b) || OPPOSITE_VERBS.iter().any(|(c, d)| is_listed(c, a) && is_listed(d, b))
    };
    are(one, other) || are(other, one)
}

/// Whether two verbs are on one side of a pair of opposites: "lock" and "close".
pub(crate) fn verbs_agree(one: &str, other: &str) -> bool {
    let is_side = |side: &str| is_listed(side, one) && is_listed(side, other);
    one == other || OPPOSITE_VERBS.iter().any(|(c, d)| is_side(c) || is_side(d))
}

/// Whether two words are each other's opposite.
pub(crate) fn are_opposites(one: &str, other: &str) -> bool {
    let are = |a, b| OPPOSITES.iter().any(|(c, d)| is_listed(c, a) && is_listed(d, b));
    are(one, other) || are(other, one)
}

/// How many words after a verb its particle may stand: "throw the old buns of Tuesday away".
const REACH: usize = 7;

static TABLE: LazyLock<HashMap<&str, Actions>> = LazyLock::new(|| {
    let mut table: HashMap<&str, Actions> = HashMap::new();
    for (verb, synonyms) in lines() {
        let (actions, _) = action_of(verb)
            .expect("each line begins with a verb of verbs.txt, as a test checks. This is a bug.");
        for synonym in synonyms.split_whitespace() {
            let known = table.entry(synonym).or_default();
            *known = known.with(actions);
        }
    }
    table
});

fn lines() -> impl Iterator<Item = (&'static str, &'static str)> {
    let lines = include_str!("data/synonyms.txt").lines().filter(|line| !line.starts_with('#'));
    lines.filter_map(|line| line.split_once(": "))
}

/// Returns the actions of a verb, if it is in the table.
pub(super) fn actions_of_synonym(verb: &str) -> Option<Actions> {
    TABLE.get(verb).copied()
}

/// Returns the actions of the phrasal verb with which an order begins: "get rid of", "put it back".
pub(super) fn actions_of_phrase(order: &str) -> Option<Actions> {
    let words = words(order);
    let (verb, rest) = words.split_first()?;
    let near = rest.iter().take(REACH).take_while(|word| **word != ",");
    near.into_iter().find_map(|particle| actions_of_synonym(&format!("{verb}-{particle}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_of_the_table_begins_with_a_verb_of_an_action() {
        assert!(lines().count() > 10);
        for (verb, synonyms) in lines() {
            assert!(action_of(verb).is_some(), "{verb}");
            for synonym in synonyms.split_whitespace() {
                assert!(action_of(synonym).is_none(), "{synonym} is in verbs.txt, too");
            }
        }
    }

    #[test]
    fn verbs_of_two_sides_oppose_each_other() {
        for (one, other) in [
            ("open", "lock"),
            ("disarm", "arm"),
            ("unban", "ban"),
            ("stop", "play"),
            ("reactivate", "disable"),
        ] {
            assert!(verbs_oppose(one, other) && verbs_oppose(other, one), "{one} {other}");
            assert!(!verbs_agree(one, other));
        }
        assert!(verbs_agree("close", "lock") && !verbs_oppose("close", "lock"));
        assert!(verbs_agree("scan", "scan") && !verbs_agree("scan", "print"));
    }

    #[test]
    fn a_phrasal_verb_is_one_around_its_object() {
        let delete = action_of("delete").map(|(actions, _)| actions);
        for order in ["get rid of it", "throw the old buns of Tuesday away", "cut out the lot"] {
            assert_eq!(actions_of_phrase(order), delete, "{order}");
        }
        for order in ["get it", "throw it, away", "away", ""] {
            assert_eq!(actions_of_phrase(order), None, "{order}");
        }
    }
}
