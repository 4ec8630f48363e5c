//! Decides between similar tools that differ in what an encoder hardly represents: singular or
//! plural, the verb, the object, one of two opposites, or whether a time of day is
//! needed. A deprecated tool ranks after the one to use instead, one that changes something after one that reads if the
//! prompt only asks.
//!
//! `key_get` and `key_list` have nearly the same vector. So have `policy_create` and
//! `policy_update`. Without these rules the choice sets `azure_mcp` and `azure_mcp_2026` have 0.004
//! less nDCG@5 and the trial's `cloud` 0.025; other sets are the same. The singular is not used,
//! because users who write it mean the list as often as not.

use std::cell::LazyCell;
use std::cmp::Ordering;
use std::sync::Arc;

use serde_json::Value;
use toolroute_catalog::{EffectKind, Schema, Tool, is_reading_verb, singular};
use toolroute_vectors::index::name_words;

use super::candidate::Candidate;
use crate::query::{
    LISTS, Order, Pattern, actions_in, are_opposites, asks_for_several, first_words, is_verb,
    only_looks, order, verbs_agree, verbs_oppose,
};

/// Verbs of tools that return one thing.
const ONE: [&str; 10] = [
    "get", "show", "describe", "details", "detail", "retrieve", "read", "fetch", "view", "inspect",
];

/// Words before what something is a part of: "the files in folder 5".
const INSIDE: [&str; 6] = ["from", "in", "of", "on", "under", "within"];

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

/// A time of day, such as "9am" or "18:00".
static TIME_OF_DAY: Pattern = Pattern::new(r"(?i)\b(?:\d{1,2}:\d{2}|\d{1,2}\s?[ap]\.?m)\b");

/// The beginning of a question about what is.
static ASKS: Pattern = Pattern::new(
    r"(?i)^(?:who|which|what|what['’]s|when|where|whose|is|are|was|were|(?:did|do) (?:i|you|he|she|it|we|they|the|my|our|your|his|her|their|this|that|any\w*|some\w*|\w+['’]s)|does|has|how (?:many|much|long|often|far|old|big|hot|cold|warm|high)|show me|gimme|list|view|see)\b",
);

/// Words in names of parameters that may take a time of day.
const TIMES: [&str; 22] = [
    "at",
    "begin",
    "date",
    "datetime",
    "day",
    "deadline",
    "due",
    "duration",
    "end",
    "ends",
    "from",
    "hour",
    "schedule",
    "scheduled",
    "since",
    "start",
    "time",
    "times",
    "timestamp",
    "trigger",
    "until",
    "when",
];

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
            !ONE.contains(&word) && !LISTS.contains(&word) && !EMPTY.contains(&word)
        };
        let things: Vec<&String> = words.iter().filter(is_thing).collect();
        let last = things.last()?;
        let gives_one = has(&ONE) && singular(last) == last.as_str() && !has(&["all"]);
        let gives_all = has(&LISTS);
        let things = things.into_iter().map(|word| singular(word).into_owned()).collect();
        (gives_one || gives_all).then_some(Self { things, gives_all })
    }
}

/// Ranks a similar tool before the best candidate if it fits the prompt better, and a deprecated one after the tool to
/// use instead.
pub(super) fn by_wording(prompt: &str, candidates: &mut [Candidate], tools: &[Arc<Tool>]) {
    let best = (0..candidates.len()).max_by(|&a, &b| by_score(&candidates[a], &candidates[b]));
    let Some(first) = best else { return };
    let best = candidates[first];
    if best.exact_name != 0.0 || best.score <= 0.0 {
        return;
    }
    let (said, order) = (singulars(prompt), order(prompt));
    let near = Neighbours { prompt, said, order, best, candidates, tools };
    if let Some(successor) = near.successor() {
        let score = candidates[successor].score.next_down();
        set_score(&mut candidates[first], score);
        return;
    }
    let better = near
        .that_lists()
        .or_else(|| near.that_differs())
        .or_else(|| near.named_after_order())
        .or_else(|| near.that_takes_time())
        .or_else(|| near.that_reads());
    if let Some(better) = better {
        set_score(&mut candidates[better], best.score.next_up());
    }
}

fn set_score(candidate: &mut Candidate, score: f32) {
    candidate.wording = score - candidate.score;
    candidate.score = score;
}

/// The words of a name or prompt, in the singular.
pub(super) fn singulars(text: &str) -> Vec<String> {
    name_words(text).iter().map(|word| singular(word).into_owned()).collect()
}

/// Whether a prompt has a word.
fn says(prompt: &str, word: &str) -> bool {
    prompt.split(|c: char| !c.is_alphanumeric()).any(|said| said.eq_ignore_ascii_case(word))
}

/// Compares by score. Of equal scores, the one with the lower row counts as greater.
fn by_score(a: &Candidate, b: &Candidate) -> Ordering {
    a.score.total_cmp(&b.score).then(b.row.cmp(&a.row))
}

/// The best candidate and those that may rank before it.
struct Neighbours<'a> {
    prompt: &'a str,
    /// The words of the prompt, in the singular.
    said: Vec<String>,
    /// What the prompt orders.
    order: Option<Order>,
    best: Candidate,
    candidates: &'a [Candidate],
    tools: &'a [Arc<Tool>],
}

impl Neighbours<'_> {
    fn tool(&self, candidate: &Candidate) -> &Tool {
        &self.tools[candidate.row as usize]
    }

    /// Returns the index of the best tool of the best candidate's server that has at least a share of its score and
    /// fits.
    fn find(&self, share: f32, fits: impl Fn(&Tool) -> bool) -> Option<usize> {
        let server = &self.tool(&self.best).server;
        let fitting = (0..self.candidates.len()).filter(|at| {
            let candidate = &self.candidates[*at];
            let tool = self.tool(candidate);
            candidate.score >= share * self.best.score && tool.server == *server && fits(tool)
        });
        fitting.max_by(|&a, &b| by_score(&self.candidates[a], &self.candidates[b]))
    }

    /// Returns the tool to use instead of the best candidate, if that is deprecated.
    fn successor(&self) -> Option<usize> {
        let others = || self.find(NEAR, |tool| !tool.is_deprecated());
        self.tool(&self.best).is_deprecated().then(others).flatten()
    }

    /// Returns a tool that only reads, if the best candidate changes something and the prompt only asks: "did the request
    /// get merged?" is not for `merge_request`.
    fn that_reads(&self) -> Option<usize> {
        let reads = |tool: &Tool| tool.effects().reads_only();
        only_asked_of(self.tool(&self.best), self.prompt).then(|| self.find(NEAR, reads)).flatten()
    }

    /// Returns the tool that lists all things of a kind, if the best candidate returns one of them and the prompt asks
    /// for several.
    fn that_lists(&self) -> Option<usize> {
        let shape = Shape::of(self.tool(&self.best)).filter(|shape| !shape.gives_all)?;
        let lists = |tool: &Tool| {
            Shape::of(tool).is_some_and(|all| all.gives_all && all.things == shape.things)
        };
        asks_for_several(self.prompt, shape.things.last()?)
            .then(|| self.find(NEIGHBOUR, lists))
            .flatten()
    }

    /// Returns the tool whose name differs from the best candidate's only in that it contains a verb that means what the
    /// order does, the object that the prompt says, or the opposite.
    fn that_differs(&self) -> Option<usize> {
        let does = |word: &String| {
            let actions = actions_in([word.as_str()].into_iter());
            self.order.as_ref().is_some_and(|order| order.actions.overlaps(actions))
        };
        // Most names differ in more than one word; then the prompt need not be read again.
        let verbs = LazyCell::new(|| first_words(self.prompt));
        // "Open the door" for `unlock_door`, not `lock_door`.
        let is_reversed = |own: &str, word: &str| {
            verbs.iter().any(|verb| verbs_oppose(verb, own) && verbs_agree(verb, word))
                && !verbs.iter().any(|verb| verbs_agree(verb, own))
        };
        // "Create a database on server X" is about no server.
        let end = self.said.iter().position(|word| INSIDE.contains(&word.as_str()));
        let objects = &self.said[..end.unwrap_or(self.said.len())];
        let own = name_words(&self.tool(&self.best).name);
        self.find(NEAR, |tool| {
            let words = name_words(&tool.name);
            let pairs = own.iter().zip(&words).enumerate();
            let mut other = pairs.filter(|(_, (own, word))| own != word);
            words.len() == own.len()
                && other.next().is_some_and(|(at, (own, word))| {
                    let before = at.checked_sub(1).map(|at| &*words[at]);
                    let is_done = does(word) && !does(own);
                    // Tools without a server may have nothing to do with one another.
                    let is_object = || {
                        tool.server.is_some()
                            && !is_verb(own)
                            && !GENERAL.contains(&word.as_str())
                            && objects.iter().any(|said| *said == singular(word))
                            && self.said.iter().all(|said| *said != singular(own))
                    };
                    (is_done
                        || is_object()
                        || is_reversed(own, word)
                        || asks_for_opposite(self.prompt, before, [own, word]))
                        && other.next().is_none()
                })
        })
    }

    /// Returns the tool that is named after the verb of an order, if the best candidate is named after no verb of the
    /// prompt: `git_commit` for "commit the staged changes", not `git_diff_staged`. Its other words must be in the prompt
    /// or in the name of the best candidate. Tools without a server may have nothing to do with one another.
    fn named_after_order(&self) -> Option<usize> {
        let best = self.tool(&self.best);
        best.server.as_ref()?;
        let verb = &self.order.as_ref()?.verb;
        let own = name_words(&best.name);
        if own.iter().any(|word| word == verb || is_verb(word) && says(self.prompt, word)) {
            return None;
        }
        self.find(NEAR, |tool| {
            let words = name_words(&tool.name);
            let is_known = |word: &String| own.contains(word) || says(self.prompt, word);
            words.contains(verb) && words.iter().all(is_known)
        })
    }

    /// Returns the tool that requires a time of day, if the prompt says one and the best candidate takes none:
    /// `convert_time` for "9am in Tel Aviv, what is that in New York", not `get_current_time`.
    fn that_takes_time(&self) -> Option<usize> {
        let best = self.tool(&self.best);
        let is_asked = best.server.is_some() && TIME_OF_DAY.is_match(self.prompt);
        let is_better = is_asked && !takes_time(best, "properties");
        is_better.then(|| self.find(NEIGHBOUR, |tool| takes_time(tool, "required"))).flatten()
    }
}

/// Whether a name of a parameter, in a member of the schema, is that of a time.
fn takes_time(tool: &Tool, member: &str) -> bool {
    let schema = tool.input_schema.as_ref().and_then(Schema::to_value).unwrap_or_default();
    let names: Vec<&str> = match &schema[member] {
        Value::Object(properties) => properties.keys().map(String::as_str).collect(),
        Value::Array(names) => names.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    };
    let is_time = |name: &&str| name_words(name).iter().any(|word| TIMES.contains(&word.as_str()));
    names.iter().any(is_time)
}

/// Whether a prompt only asks about what is, and a tool changes it.
pub(super) fn only_asked_of(tool: &Tool, prompt: &str) -> bool {
    // "Requests the details of a mailbox" is said of `get_mailbox_details`, too.
    let is_view = || {
        let name = name_words(&tool.name);
        name.iter().any(|word| is_reading_verb(word) || ONE.contains(&word.as_str()))
    };
    matches!(tool.effects().kind, EffectKind::Writes | EffectKind::Destructive)
        && !is_view()
        && ASKS.is_match(prompt.trim())
        && only_looks(prompt)
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
mod tests;
