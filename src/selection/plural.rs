//! "Show me the keys": of a tool for one thing and its neighbour for the list of them, the neighbour.
//!
//! `key_get` and `key_list` say nearly the same of themselves, and an encoder hardly tells "key" from
//! "keys". Over the 19 sets of `docs/quality.md` this puts right 11 prompts of those with such a pair and
//! spoils none; asked for one thing in the singular, people mean the list as often as not.

use std::sync::Arc;

use super::retriever::Candidate;
use crate::catalog::Tool;
use crate::index::name_words;
use crate::query::{asks_for_several, singular};

/// Verbs of tools that give one thing.
const ONE: [&str; 10] = [
    "get", "show", "describe", "details", "detail", "retrieve", "read", "fetch", "view", "inspect",
];

/// Verbs of tools that give all of them.
const ALL: [&str; 2] = ["list", "enumerate"];

/// What a name may have beside verb and things.
const EMPTY: [&str; 5] = ["all", "by", "id", "the", "a"];

/// The share of the best score that the neighbour has at least: below it is for something else.
const NEAR: f32 = 2.0 / 3.0;

/// A tool's name: its things, each in the singular, and whether it gives all of them.
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

/// Puts the neighbour that lists before the best candidate, where that one gives one thing and the
/// prompt asks for several.
pub(super) fn prefer_list(prompt: &str, candidates: &mut [Candidate], tools: &[Arc<Tool>]) {
    let best = candidates.iter().max_by(|a, b| a.score.total_cmp(&b.score).then(b.row.cmp(&a.row)));
    let Some(best) = best.copied().filter(|best| best.exact_name == 0.0 && best.score > 0.0) else {
        return;
    };
    let one = &tools[best.row as usize];
    let Some(shape) = Shape::of(one).filter(|shape| !shape.gives_all) else { return };
    let noun = shape.things.last().expect("a shape has a thing. This is a bug.");
    if !asks_for_several(prompt, noun) {
        return;
    }
    let is_neighbour = |candidate: &&mut Candidate| {
        let tool = &tools[candidate.row as usize];
        candidate.score >= NEAR * best.score
            && tool.server == one.server
            && Shape::of(tool).is_some_and(|all| all.gives_all && all.things == shape.things)
    };
    if let Some(all) = candidates.iter_mut().find(is_neighbour) {
        let score = best.score.next_up();
        all.plural = score - all.score;
        all.score = score;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The score of `vault_key_list` beside a `vault_key_get` of 1.0.
    fn listed(prompt: &str, names: [&str; 2], score: f32) -> f32 {
        let tools = names.map(|name| Arc::new(Tool::new(Some("vault"), name, "")));
        let candidate = |(row, score)| Candidate { row, score, ..Candidate::default() };
        let mut candidates: Vec<Candidate> = [(0, 1.0), (1, score)].map(candidate).into();
        prefer_list(prompt, &mut candidates, &tools);
        assert_eq!(candidates[0].score, 1.0);
        assert!((candidates[1].score - candidates[1].plural - score).abs() < 1e-6);
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
}
