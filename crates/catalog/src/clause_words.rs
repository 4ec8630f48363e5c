//! English words that tell whether a "that" joins a clause or refers to something.

use crate::text::is_listed;

/// Words that begin a clause. After "that" they make it a conjunction ("that I am late") or a
/// relative ("loans that are overdue").
const CLAUSE: &str = "i i'm you we he she they it the there my our is are was were has have a an";

/// Words for a time. After "that" or "this" they say when.
const TIME: &str = "week month year morning evening afternoon day quarter weekend time";

/// Whether a lower-case word begins a clause after "that", as in "the loans that are overdue".
pub fn begins_clause(word: &str) -> bool {
    is_listed(CLAUSE, word)
}

/// Whether a lower-case word names a time, as in "this week".
pub fn is_time_word(word: &str) -> bool {
    is_listed(TIME, word)
}
