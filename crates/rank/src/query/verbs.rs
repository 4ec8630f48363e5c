//! The verbs that a prompt may order and a tool's text may name, each with its actions. Synonyms such as
//! "erase" and "remove" are the same action.
//!
//! The table is `data/verbs.txt`. Verbs of looking ("show", "find") are not included, because every
//! catalog has a tool that can look.

use std::collections::{HashMap, HashSet};
use std::sync::LazyLock;

use super::is_listed;
use super::requests::is_verb;

/// A set of actions: one bit per line of the table.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Actions(u128);

impl Actions {
    pub(crate) fn overlaps(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    pub(super) fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    pub(crate) fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }
}

static TABLE: LazyLock<Table> = LazyLock::new(|| Table::read(include_str!("data/verbs.txt")));

struct Table {
    /// The action that a verb requests in a prompt, and whether the verb is often a noun.
    ordering: HashMap<&'static str, (u128, bool)>,
    /// The actions of a word in a tool's text, including inflected forms.
    doing: HashMap<String, u128>,
}

impl Table {
    fn read(text: &'static str) -> Self {
        let mut table = Self { ordering: HashMap::new(), doing: HashMap::new() };
        let lines = text.lines().filter(|line| !line.starts_with('#'));
        for (at, line) in lines.enumerate() {
            let (ordering, doing) = line.split_once(':').unwrap_or((line, ""));
            let action = 1_u128 << at;
            for verb in ordering.split_whitespace() {
                let name = verb.trim_start_matches('?');
                table.ordering.insert(name, (action, name.len() < verb.len()));
            }
            for verb in ordering.split_whitespace().chain(doing.split_whitespace()) {
                for form in inflections(verb.trim_start_matches('?')) {
                    *table.doing.entry(form).or_default() |= action;
                }
            }
        }
        table
    }
}

/// The forms of a regular verb, including some that do not exist.
pub(super) fn inflections(verb: &str) -> Vec<String> {
    let mut forms = vec![verb.to_owned()];
    forms.extend(["s", "es", "d", "ed", "ing"].map(|ending| format!("{verb}{ending}")));
    if let Some(stem) = verb.strip_suffix('e') {
        forms.push(format!("{stem}ing"));
    }
    if let Some(stem) = verb.strip_suffix('y') {
        forms.extend(["ies", "ied"].map(|ending| format!("{stem}{ending}")));
    }
    if let Some(last) = verb.chars().last() {
        forms.extend(["ing", "ed"].map(|ending| format!("{verb}{last}{ending}")));
    }
    forms
}

pub(super) fn is_request_verb(word: &str) -> bool {
    is_verb(word) || action_of(word).is_some()
}

static FURTHER: LazyLock<HashSet<&str>> = LazyLock::new(|| {
    let lines =
        include_str!("data/further_verbs.txt").lines().filter(|line| !line.starts_with('#'));
    lines.flat_map(str::split_whitespace).collect()
});

/// Whether a word may be the verb of an order, by any of our lists.
pub(super) fn may_order(word: &str) -> bool {
    let is_listed = |word: &str| is_request_verb(word) || FURTHER.contains(word);
    // "Re-enable".
    is_listed(word)
        || word.strip_prefix("re").is_some_and(|again| again.len() > 4 && is_listed(again))
}

/// Returns the actions that a verb of the table orders, and whether it is often a noun.
pub(crate) fn action_of(verb: &str) -> Option<(Actions, bool)> {
    if let Some(&(actions, is_often_noun)) = TABLE.ordering.get(verb) {
        return Some((Actions(actions), is_often_noun));
    }
    let is_often_noun =
        |verb| TABLE.ordering.get(verb).is_some_and(|(_, is_often_noun)| *is_often_noun);
    let undone =
        undone(verb).filter(|undone| TABLE.ordering.contains_key(undone) || may_order(undone))?;
    Some((Actions(done_by(verb)?), is_often_noun(undone)))
}

/// Words that only seem to be "un" and a verb: "unread messages".
const NO_OPPOSITES: &str = "uncut unlike unread unset unsplit";

/// Returns the verb of which another one says the opposite: "mute" of "unmute".
pub(crate) fn undone(verb: &str) -> Option<&str> {
    verb.strip_prefix("un").filter(|_| !is_listed(NO_OPPOSITES, verb))
}

/// The actions that a word of a tool's text names. "Un" before a verb restores what was, unless the table
/// says something else.
fn done_by(word: &str) -> Option<u128> {
    let restores = || {
        let is_done = |undone: &str| TABLE.doing.contains_key(undone) || may_order(undone);
        undone(word).filter(|undone| is_done(undone))?;
        TABLE.ordering.get("restore").map(|(actions, _)| *actions)
    };
    TABLE.doing.get(word).copied().or_else(restores)
}

/// The actions that words of a tool's text name.
pub(crate) fn actions_in<'a>(words: impl Iterator<Item = &'a str>) -> Actions {
    let found = words.filter_map(|word| done_by(&word.to_lowercase()));
    Actions(found.fold(0, |all, actions| all | actions))
}

/// "deletes" for "delete"; the plural of a noun is formed alike.
pub(crate) fn third_person(verb: &str) -> String {
    match verb {
        _ if ["s", "x", "ch", "sh"].iter().any(|end| verb.ends_with(end)) => format!("{verb}es"),
        _ => match verb.strip_suffix('y') {
            Some(stem) if !stem.ends_with(['a', 'e', 'o', 'u']) => format!("{stem}ies"),
            _ => format!("{verb}s"),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_verb_has_its_third_person() {
        let verbs = ["delete", "push", "copy", "pay", "unsubscribe"].map(third_person);
        assert_eq!(verbs, ["deletes", "pushes", "copies", "pays", "unsubscribes"]);
    }

    #[test]
    fn the_lists_have_no_word_twice() {
        for word in FURTHER.iter() {
            assert!(!is_request_verb(word), "{word} is in another list");
        }
    }
}
