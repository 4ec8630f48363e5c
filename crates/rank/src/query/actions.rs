//! The actions that a prompt requests and that a tool's text names. Synonyms such as "erase" and
//! "remove" are the same action.
//!
//! The table is `data/verbs.txt`. Verbs of looking ("show", "find") are not included, because every
//! catalog has a tool that can look.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::LazyLock;

use super::content::own_words;
use super::requests::is_verb;
use super::synonyms::actions_of_phrase;
use super::{Pattern, function_words};

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
}

/// The actions that a prompt requests.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Order {
    /// The first verb, in lower case as the prompt has it.
    pub verb: String,
    /// All requested actions. A tool for any of them serves the prompt.
    pub actions: Actions,
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

/// Words that give a verb another meaning after its object.
const PARTICLES: &str = "back by down in off out over up";

static OPENER: Pattern = Pattern::new(
    r"(?i)^(?:(?:hi|hello|hey|ok|okay|oh|so|and|then|also|now|just|first|next|finally|please|kindly|pls|can you|could you|would you|will you|i want you to|i(?: would|['’]d) like (?:you )?to|i want to|i need (?:you )?to|help me(?: to)?|let['’]s|go ahead and|you)\b[\s,]*)+",
);
static BORDER: Pattern = Pattern::new(r"(?i)[.!?:;,]\s+|\s*\n\s*|\s+(?:and|then)\s+");

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

/// Returns the actions that a prompt requests; `None` if it requests none, or also something else.
/// English only.
pub(crate) fn order(prompt: &str) -> Option<Order> {
    let own = own_words(prompt);
    let order = order_in(&own)?;
    match own {
        Cow::Borrowed(_) => Some(order),
        // What is ordered besides may be in the text behind a colon, or after it.
        Cow::Owned(_) => Some(Order { actions: order_in(prompt)?.actions, ..order }),
    }
}

fn order_in(text: &str) -> Option<Order> {
    let mut order: Option<Order> = None;
    for part in BORDER.split(text) {
        let part = part.trim();
        let part = OPENER.find(part).map_or(part, |opener| &part[opener.end()..]);
        let mut words = part.split_whitespace();
        let verb = words.next().unwrap_or_default().trim_end_matches(['.', '!', '?']);
        let verb = verb.to_lowercase();
        if super::is_listed(GENERAL, &verb) {
            return None;
        }
        let verb = if is_lowering(&verb, part) { "update".to_owned() } else { verb };
        // "Sign Ann up" signs nothing.
        let phrase = actions_of_phrase(&part.to_lowercase()).map(|actions| (actions, false));
        let Some((action, is_often_noun)) = phrase.or_else(|| action_of(&verb)) else { continue };
        let object = words.next().unwrap_or_default();
        let next = words.next().unwrap_or_default();
        // "Drop it off" deletes nothing.
        let is_phrase = super::is_listed("it them", object) && super::is_listed(PARTICLES, next);
        if is_often_noun && (!begins_object(object) || is_phrase) {
            continue;
        }
        let found = order.get_or_insert(Order { verb, actions: Actions::default() });
        found.actions = found.actions.with(action);
    }
    order
}

/// Whether an order wants a value to be changed by a verb that deletes elsewhere: "drop the price to 20".
pub(super) fn is_lowering(verb: &str, order: &str) -> bool {
    let mut ends = order.split(" to ").skip(1);
    let is_number = |end: &str| {
        end.trim_start().starts_with(|c: char| c.is_ascii_digit() || "€$£§".contains(c))
    };
    super::is_listed("cut drop slash", verb) && ends.any(is_number)
}

/// Returns the actions that a verb of the table orders, and whether it is often a noun.
pub(super) fn action_of(verb: &str) -> Option<(Actions, bool)> {
    if let Some(&(actions, is_often_noun)) = TABLE.ordering.get(verb) {
        return Some((Actions(actions), is_often_noun));
    }
    let is_often_noun =
        |verb| TABLE.ordering.get(verb).is_some_and(|(_, is_often_noun)| *is_often_noun);
    let undone =
        undone(verb).filter(|undone| TABLE.ordering.contains_key(undone) || is_verb(undone))?;
    Some((Actions(done_by(verb)?), is_often_noun(undone)))
}

/// Words that only seem to be "un" and a verb: "unread messages".
const NO_OPPOSITES: &str = "uncut unlike unread unset unsplit";

/// Returns the verb of which another one says the opposite: "mute" of "unmute".
pub(super) fn undone(verb: &str) -> Option<&str> {
    verb.strip_prefix("un").filter(|_| !super::is_listed(NO_OPPOSITES, verb))
}

/// The actions that a word of a tool's text names. "Un" before a verb restores what was, unless the table
/// says something else.
fn done_by(word: &str) -> Option<u128> {
    let restores = || {
        let is_done = |undone: &str| TABLE.doing.contains_key(undone) || is_verb(undone);
        undone(word).filter(|undone| is_done(undone))?;
        TABLE.ordering.get("restore").map(|(actions, _)| *actions)
    };
    TABLE.doing.get(word).copied().or_else(restores)
}

/// Whether a word after a verb can start its object: "the", "Alice", "#42", "a.txt".
pub(super) fn begins_object(word: &str) -> bool {
    let plain = word.trim_matches(|c: char| !c.is_alphanumeric()).to_lowercase();
    let first = word.chars().next();
    function_words::begins_object(&plain)
        || super::is_listed(AFTER_VERB, &plain)
        || first.is_some_and(|c| c.is_uppercase() || !c.is_alphanumeric())
        || word.chars().any(|c| c.is_numeric() || matches!(c, '@' | '/' | '_'))
        || word.trim_end_matches('.').contains('.')
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
            let general =
                ordering.split_whitespace().find(|verb| super::super::is_listed(GENERAL, verb));
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

    #[test]
    fn a_verb_has_its_third_person() {
        let verbs = ["delete", "push", "copy", "pay", "unsubscribe"].map(third_person);
        assert_eq!(verbs, ["deletes", "pushes", "copies", "pays", "unsubscribes"]);
    }
}
