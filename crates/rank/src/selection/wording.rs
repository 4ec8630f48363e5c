//! Decides between similar tools that differ in what an encoder hardly represents: singular or
//! plural, the verb, or one of two opposites.
//!
//! `key_get` and `key_list` have nearly the same vector. So have `policy_create` and
//! `policy_update`. Without these rules the choice sets `azure_mcp` and `azure_mcp_2026` have 0.004
//! less nDCG@5 and the trial's `cloud` 0.025; other sets are the same. The singular is not used,
//! because users who write it mean the list as often as not.

use std::cmp::Ordering;
use std::sync::Arc;

use toolroute_catalog::{Tool, singular};
use toolroute_vectors::index::name_words;

use super::retriever::Candidate;
use crate::query::{Reading, are_opposites, asks_for_several, is_verb};

/// Verbs of tools that return one thing.
const ONE: [&str; 10] = [
    "get", "show", "describe", "details", "detail", "retrieve", "read", "fetch", "view", "inspect",
];

/// Verbs of tools that return all things of a kind.
const ALL: [&str; 2] = ["list", "enumerate"];

/// Words of a name other than its verb and the things that it handles.
const EMPTY: [&str; 5] = ["all", "by", "id", "the", "a"];

/// Verbs that prompts use for any request, so they do not distinguish tools.
const GENERAL: [&str; 19] = [
    "show", "find", "get", "check", "search", "view", "display", "see", "read", "fetch", "list",
    "give", "look", "tell", "use", "make", "help", "run", "ask",
];

/// The minimum score, as a share of the best score, of a tool of the same server that lists things.
/// Below it, the tool is for something else.
pub(super) const NEIGHBOUR: f32 = 2.0 / 3.0;

/// The same for a tool with the requested verb.
const NEAR: f32 = 0.8;

/// The shape of a tool's name: the things that it handles, in the singular, and whether the tool
/// returns all of them.
struct Shape {
    things: Vec<String>,
    gives_all: bool,
}

impl Shape {
    fn of(tool: &Tool) -> Option<Self> {
        let words = name_words(&tool.name);
        let has = |verbs: &[&str]| words.iter().any(|word| verbs.contains(&word.as_str()));
        let is_thing = |word: &&String| {
            let word = word.as_str();
            !ONE.contains(&word) && !ALL.contains(&word) && !EMPTY.contains(&word)
        };
        let things: Vec<&String> = words.iter().filter(is_thing).collect();
        let last = things.last()?;
        let gives_one = has(&ONE) && singular(last) == last.as_str() && !has(&["all"]);
        let gives_all = has(&ALL);
        let things = things.into_iter().map(|word| singular(word).into_owned()).collect();
        (gives_one || gives_all).then_some(Self { things, gives_all })
    }
}

/// Ranks a similar tool before the best candidate if it fits the number or verb of the
/// prompt better.
pub(super) fn by_wording(reading: &Reading, candidates: &mut [Candidate], tools: &[Arc<Tool>]) {
    let best = candidates.iter().max_by(|a, b| by_score(a, b));
    let Some(best) = best.copied().filter(|best| best.exact_name == 0.0 && best.score > 0.0) else {
        return;
    };
    let better = listing_neighbour(&reading.text, best, candidates, tools)
        .or_else(|| tool_with_verb(reading, best, candidates, tools));
    if let Some(better) = better.map(|at| &mut candidates[at]) {
        let score = best.score.next_up();
        better.wording = score - better.score;
        better.score = score;
    }
}

/// Compares by score. Of equal scores, the one with the lower row counts as greater.
fn by_score(a: &Candidate, b: &Candidate) -> Ordering {
    a.score.total_cmp(&b.score).then(b.row.cmp(&a.row))
}

/// Returns the index of the tool that lists all things of a kind, if the best candidate returns one
/// of them and the prompt asks for several.
fn listing_neighbour(
    prompt: &str,
    best: Candidate,
    candidates: &[Candidate],
    tools: &[Arc<Tool>],
) -> Option<usize> {
    let one = &tools[best.row as usize];
    let shape = Shape::of(one).filter(|shape| !shape.gives_all)?;
    if !asks_for_several(prompt, shape.things.last()?) {
        return None;
    }
    candidates.iter().position(|candidate| {
        let tool = &tools[candidate.row as usize];
        candidate.score >= NEIGHBOUR * best.score
            && tool.server == one.server
            && Shape::of(tool).is_some_and(|all| all.gives_all && all.things == shape.things)
    })
}

/// Returns the index of the tool whose name differs from the best candidate's only in that it
/// contains the prompt's verb, or the opposite that the prompt says.
fn tool_with_verb(
    reading: &Reading,
    best: Candidate,
    candidates: &[Candidate],
    tools: &[Arc<Tool>],
) -> Option<usize> {
    let verbs = reading.verbs.iter();
    let asked: Vec<&String> = verbs.filter(|verb| !GENERAL.contains(&verb.as_str())).collect();
    let one = &tools[best.row as usize];
    let own = name_words(&one.name);
    let says = |verb: &str| {
        let mut words = reading.text.split(|c: char| !c.is_alphanumeric());
        words.any(|word| word.eq_ignore_ascii_case(verb))
    };
    let does = |at: &usize| {
        let candidate = &candidates[*at];
        let tool = &tools[candidate.row as usize];
        if candidate.score < NEAR * best.score || tool.server != one.server {
            return false;
        }
        let words = name_words(&tool.name);
        let mut other = own.iter().zip(&words).enumerate().filter(|(_, (own, word))| own != word);
        words.len() == own.len()
            && other.next().is_some_and(|(at, (own, word))| {
                let is_asked = asked.contains(&word) && is_verb(own) && !says(own)
                    || asks_for_opposite(
                        &reading.text,
                        at.checked_sub(1).map(|at| &*words[at]),
                        [own, word],
                    );
                is_asked && other.next().is_none()
            })
    };
    let does_it = (0..candidates.len()).filter(does);
    does_it.max_by(|&a, &b| by_score(&candidates[a], &candidates[b]))
}

/// Whether two words are opposites of which a prompt says only the second, or says it behind the word
/// that is before them in the names: "check out the guest in room 5".
fn asks_for_opposite(prompt: &str, before: Option<&str>, [own, word]: [&str; 2]) -> bool {
    if !are_opposites(own, word) {
        return false;
    }
    let prompt = prompt.to_lowercase();
    let said: Vec<&str> =
        prompt.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).collect();
    let follows = |word: &str| {
        let is_pair = |pair: &[&str]| {
            pair[1] == word && before.is_some_and(|before| pair[0].starts_with(before))
        };
        said.windows(2).any(is_pair)
    };
    said.contains(&word) && !follows(own) && (!said.contains(&own) || follows(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the score of the second of two tools, such as `vault_key_list`, after a first one
    /// such as `vault_key_get` with a score of 1.0.
    fn listed(prompt: &str, names: [&str; 2], score: f32) -> f32 {
        let tools = names.map(|name| Arc::new(Tool::new(Some("vault"), name, "")));
        let candidate = |(row, score)| Candidate { row, score, ..Candidate::default() };
        let mut candidates: Vec<Candidate> = [(0, 1.0), (1, score)].map(candidate).into();
        by_wording(&Reading::verbatim(prompt), &mut candidates, &tools);
        assert_eq!(candidates[0].score, 1.0);
        assert!((candidates[1].score - candidates[1].wording - score).abs() < 1e-6);
        candidates[1].score
    }

    #[test]
    fn a_plural_puts_the_list_first() {
        for names in
            [["key_get", "key_list"], ["getKey", "listKeys"], ["describe-key", "list-all-keys"]]
        {
            assert!(listed("show me the keys", names, 0.7) > 1.0, "{names:?}");
        }
        assert!(listed("list key names", ["key_get", "key_list"], 0.7) > 1.0);
    }

    #[test]
    fn all_else_stays_as_it_is() {
        let pair = ["key_get", "key_list"];
        assert_eq!(listed("show me the key", pair, 0.7), 0.7);
        assert_eq!(listed("show me the keys", pair, 0.5), 0.5, "it is far");
        assert_eq!(listed("show me the keys", ["key_list", "key_get"], 0.7), 0.7);
        assert_eq!(listed("show me the keys", ["key_get", "secret_list"], 0.7), 0.7);
        assert_eq!(listed("show me the keys", ["key_delete", "key_list"], 0.7), 0.7);
        assert_eq!(listed("show me the keys", ["get_keys", "list_keys"], 0.7), 0.7);
        assert_eq!(listed("get all", ["get", "list"], 0.7), 0.7);
    }

    #[test]
    fn the_verb_that_is_said_goes_before_another() {
        for (prompt, names) in [
            ("Create a weekly policy", ["policy_update", "policy_create"]),
            ("I want to cancel it", ["setAlarm", "cancelAlarm"]),
            ("ask the base to retrieve all of it", ["base_get", "base_retrieve"]),
        ] {
            assert!(listed(prompt, names, 0.9) > 1.0, "{prompt}");
            assert_eq!(listed(prompt, names, 0.7), 0.7, "it is far");
            assert_eq!(listed(prompt, [names[1], names[0]], 0.9), 0.9, "{prompt}");
        }
        for (prompt, names) in [
            ("Create a policy and update it", ["policy_update", "policy_create"]),
            ("Create a policy", ["policy_update", "group_create"]),
            ("Create a policy", ["policy", "policy_create"]),
            ("Convert the colour", ["colour_hsl", "colour_convert"]),
            ("Show the history", ["history_log", "history_show"]),
            ("who may create a policy?", ["policy_update", "policy_create"]),
        ] {
            assert_eq!(listed(prompt, names, 0.9), 0.9, "{prompt}");
        }
    }

    #[test]
    fn the_opposite_that_is_said_goes_before_the_other() {
        for (prompt, names) in [
            ("mark room 203 as clean", ["mark_room_dirty", "mark_room_clean"]),
            ("check out the guest in room 5", ["checkIn", "checkOut"]),
            ("room 305 checks out", ["check_in", "check_out"]),
            ("turn it off", ["turn_on", "turn_off"]),
        ] {
            assert!(listed(prompt, names, 0.9) > 1.0, "{prompt}");
            assert_eq!(listed(prompt, [names[1], names[0]], 0.9), 0.9, "{prompt}");
        }
        for (prompt, names) in [
            ("clean the dirty room", ["mark_room_dirty", "mark_room_clean"]),
            ("in room 5 somebody must check in", ["checkIn", "checkOut"]),
            ("show the users of my groups", ["show_teams", "show_groups"]),
        ] {
            assert_eq!(listed(prompt, names, 0.9), 0.9, "{prompt}");
        }
    }
}
