//! The words of English that stand before a noun or for one.

use super::is_listed;

const DETERMINERS: &str = "a an the my our your his her its their all every each any some no";

const DEMONSTRATIVES: &str = "this that these those";

/// Words that give a verb another meaning, before or behind its object: "throw away the buns", "drop it off".
pub(super) const PARTICLES: &str = "away back by down in off on out over up";

const PRONOUNS: &str = "me us it them him";

/// Whether a noun follows a word, perhaps after adjectives: "the spine label".
pub(super) fn is_determiner(word: &str) -> bool {
    is_listed(DETERMINERS, word)
}

/// Whether a word can begin the object of a verb: "stop the mixer", "stop it".
pub(crate) fn begins_object(word: &str) -> bool {
    [DETERMINERS, DEMONSTRATIVES, PRONOUNS].iter().any(|list| is_listed(list, word))
}
