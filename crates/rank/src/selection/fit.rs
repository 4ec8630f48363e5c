//! Judges whether the tools of an answer fit its prompt: certainly, possibly, or not at all.

use std::borrow::Cow;
use std::collections::{BTreeSet, HashSet};
use std::fmt;
use std::sync::Arc;

use serde::Serialize;
use toolroute_catalog::{
    Schema, Tool, embedding_text, objects, required, same_things, singular, words_of,
};
use toolroute_vectors::index::name_words;

use super::confidence::{SURE, blended};
use super::fusion::Fusion;
use super::named_server::other_server;
use super::retriever::Retrieval;
use super::wording::{only_asked_of, singulars};
use crate::query::{
    Actions, Reading, action_of, actions_in, begins_object, first_words, order, third_person,
    undone, verbs_agree, verbs_oppose, words,
};

/// The length, in characters, of the beginning of a description that states what a tool does. The
/// rest states when not to use it and names the actions of other tools.
const DESCRIPTION: usize = 400;

/// The maximum distance below the best score at which a tool is near. Over nine catalogs, distances
/// of 0.05 to 0.12 report a missing action for 0.5 % of the prompts that a tool serves. Of these
/// distances, 0.05 reports the most missing actions for the other prompts.
pub(super) const NEAR: f32 = 0.05;

words! {
    /// Whether the tools of an answer fit.
    #[derive(Default)]
    Fit {
        /// A tool fits, or the fit is unknown because the strategy or the model has no confidence.
        #[default]
        Fits => "fits",
        /// A tool may fit. The answer contains the nearest tools.
        Unsure => "unsure",
        /// No tool fits.
        None => "none",
    }
}

/// Why the verdict is not [`Fit::Fits`].
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum FitReason {
    /// The confidence `found` is below `least`, the minimum for a better verdict.
    Confidence { found: f32, least: f32 },
    /// The prompt requests an action that no near tool performs, and perhaps none at all.
    MissingAction { verb: String, is_elsewhere: bool },
    /// The near tools that perform the action do so with another thing than the prompt names, and other tools of their
    /// server are named after that.
    OtherObject { verb: String, noun: String },
    /// The prompt names a server, and the nearest tool is another's.
    OtherServer { named: String, nearest: String },
    /// A tool that the filters exclude scores far above the others. It is not named here: the user
    /// may not be allowed to see it.
    BetterExcluded,
    /// The prompt says what not to do, and requests nothing.
    Forbids,
    /// The prompt only asks about what is, and the first tool changes something.
    OnlyAsks,
    /// The prompt is in a language that the model does not read.
    UnreadLanguage,
}

impl fmt::Display for FitReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Confidence { found, least } => {
                // As many digits as show that one is lower.
                let is_shown =
                    |digits: &usize| format!("{found:.digits$}") != format!("{least:.digits$}");
                let digits = (2..6).find(is_shown).unwrap_or(6);
                write!(f, "confidence {found:.digits$} is below {least:.digits$}")
            }
            Self::MissingAction { verb, is_elsewhere } => {
                // It may be the second one that does.
                match is_elsewhere {
                    true => write!(f, "the nearest tool does not {verb}"),
                    false => write!(f, "no tool here {}", third_person(verb)),
                }
            }
            Self::OtherObject { verb, noun } => {
                write!(f, "what the nearest tool {} is no {noun}", third_person(verb))
            }
            Self::OtherServer { named, nearest } => {
                write!(f, "the prompt names {named}, and the nearest tool is of `{nearest}`")
            }
            Self::BetterExcluded => f.write_str("a tool that is left out fits far better"),
            Self::Forbids => f.write_str("the prompt says what not to do"),
            Self::OnlyAsks => {
                f.write_str("the prompt only asks, and the nearest tool changes something")
            }
            Self::UnreadLanguage => {
                f.write_str("the prompt is in a language that the model does not read")
            }
        }
    }
}

impl Serialize for FitReason {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// The inputs of [`judge_fit`].
#[derive(Clone, Debug)]
pub struct FitInputs {
    /// The confidence that a tool fits, 0 to 1. `None` if it is unknown: the verdict is
    /// [`Fit::Fits`].
    pub confidence: Option<f32>,
    /// Why the answer is at best [`Fit::Unsure`], whatever the confidence is.
    pub objection: Option<FitReason>,
    /// The confidence below which no tool fits. With 0, the verdict is at worst [`Fit::Unsure`].
    pub least: f32,
}

/// Returns the verdict, and the reason if it is not [`Fit::Fits`].
pub fn judge_fit(inputs: FitInputs) -> (Fit, Option<FitReason>) {
    let FitInputs { confidence, objection, least } = inputs;
    let Some(found) = confidence else { return (Fit::Fits, None) };
    let by_confidence = match found {
        found if found < least => Fit::None,
        found if found < SURE => Fit::Unsure,
        _ => Fit::Fits,
    };
    let fit = if objection.is_some() { by_confidence.max(Fit::Unsure) } else { by_confidence };
    let least = if fit == Fit::None { least } else { SURE };
    let reason = objection.unwrap_or(FitReason::Confidence { found, least });
    (fit, (fit != Fit::Fits).then_some(reason))
}

/// The actions that the tools of a catalog perform, and the nouns in their names.
pub struct ToolActions {
    /// By row, from name and description.
    actions: Box<[Actions]>,
    /// For each server, what its tools are named after, in the singular.
    things: HashSet<(String, String)>,
    /// Two nouns that follow each other in a name: "purchase order".
    pairs: HashSet<(String, String)>,
    /// The verbs with which descriptions begin.
    verbs: HashSet<String>,
    /// The words of each server's name.
    servers: BTreeSet<Vec<String>>,
}

impl ToolActions {
    pub fn new(tools: &[Arc<Tool>]) -> Self {
        let (mut things, mut pairs) = (HashSet::new(), HashSet::new());
        for tool in tools {
            let name = singulars(&tool.name);
            pairs.extend(name.windows(2).map(|pair| (pair[0].clone(), pair[1].clone())));
            if let Some(server) = &tool.server {
                things.extend(objects(&name).into_iter().map(|thing| (server.clone(), thing)));
            }
        }
        let verbs = tools.iter().filter_map(|tool| first_verb(tool)).collect();
        let servers = tools.iter().filter_map(|tool| Some(words_of(tool.server.as_deref()?)));
        let servers = servers.collect();
        let actions = tools.iter().map(|tool| actions_of(tool)).collect();
        Self { actions, things, pairs, verbs, servers }
    }

    /// Whether a tool says by this verb what it does.
    pub fn has_verb(&self, word: &str) -> bool {
        self.verbs.contains(word)
    }

    /// Returns those nouns of an object that the names of a server's tools tell from other things: "shipment", and
    /// "purchase" of "purchase order". Others may be words for anything, and tools of other servers, or without one,
    /// may be about other things of that name.
    fn known<'a>(&self, server: &str, object: &'a [String]) -> Vec<Cow<'a, str>> {
        let Some((head, before)) = object.split_first() else { return Vec::new() };
        let head = singular(head);
        let is_thing = |noun: &str| self.things.contains(&(server.to_owned(), noun.to_owned()));
        if !is_thing(&head) && !same_things(&head).any(is_thing) {
            return Vec::new();
        }
        let pair = before.first().map(|noun| singular(noun));
        let is_pair =
            |noun: &Cow<'a, str>| self.pairs.contains(&(noun.to_string(), head.to_string()));
        let pair = pair.filter(is_pair);
        std::iter::once(head.clone()).chain(pair).collect()
    }
}

/// Whether the texts of a tool name a thing, in any of the words that people use for it or for any thing.
/// What a tool changes may also be one of its parameters.
fn names(tool: &Tool, things: &[Cow<'_, str>], is_change: bool) -> bool {
    let title = tool.title.iter().chain(&tool.examples).chain(&tool.categories);
    let mut text = match is_change {
        true => words_of(&embedding_text(tool)),
        false => [words_of(&tool.name), words_of(&tool.description)].concat(),
    };
    text.extend(title.flat_map(|text| words_of(text)));
    // "Transcribe episode 7" for `transcribe {episode_id}`.
    let schema = tool.input_schema.as_ref().and_then(Schema::to_value).unwrap_or_default();
    let mut needed = required(&schema);
    if let (Some(only), None) = (needed.next(), needed.next()) {
        text.extend(words_of(only));
    }
    let is_named = |word: &str| text.iter().any(|known| singular(known) == word);
    if ["entity", "item", "object", "record", "resource"].into_iter().any(is_named) {
        return true;
    }
    things.iter().all(|thing| is_named(thing) || same_things(thing).any(is_named))
}

/// Returns the verb with which a tool's description begins, without the ending of the third person. That it is one is
/// known by the tool's name, which has it, too, or by what follows it: "Duplicates the layer".
fn first_verb(tool: &Tool) -> Option<String> {
    let mut words = tool.description.split_whitespace();
    let first = words.next()?.to_lowercase();
    let is_followed = words.next().is_some_and(|next| begins_object(&next.to_lowercase()));
    let name = words_of(&tool.name);
    let forms = [Some(&*first), first.strip_suffix('s'), first.strip_suffix("es")];
    let forms =
        forms.into_iter().flatten().filter(|form| form.chars().all(|c| c.is_ascii_lowercase()));
    let own = forms.clone().find(|form| name.iter().any(|word| word == form));
    let plain = || forms.clone().find(|form| third_person(form) == first);
    let verb = own.or_else(|| is_followed.then(|| plain().unwrap_or(&first)))?;
    Some(verb.to_owned())
}

fn actions_of(tool: &Tool) -> Actions {
    let text = &tool.description;
    let end = text.char_indices().nth(DESCRIPTION).map_or(text.len(), |(end, _)| end);
    let own = text[..end].split(['.', ';', '\n']).filter(|clause| !names_another(clause));
    let words = own.flat_map(|clause| clause.split(|c: char| !c.is_alphanumeric()));
    let name = name_words(&tool.name);
    let actions = actions_in(name.iter().map(String::as_str).chain(words));
    // "Lifts a ban" bans nobody.
    let undone = name.iter().filter_map(|word| undone(word));
    actions.without(actions_in(undone))
}

/// Whether a clause of a description says what another tool is for: "use `update_issue` to close or edit an issue".
fn names_another(clause: &str) -> bool {
    let mut words = clause.split_whitespace();
    let refers = |word: &str| {
        ["use", "instead", "prefer", "see", "call"].iter().any(|it| word.eq_ignore_ascii_case(it))
    };
    let is_name = |word: &str| word.starts_with('`') || word.contains('_');
    words.clone().any(refers) && words.any(is_name)
}

/// Returns the reason if the first tool is named after the opposite of an order's verb, and its texts neither have the verb
/// nor one that means the same: "open the door" for `lock_door`.
fn opposite(prompt: &str, tool: &Tool, tools: &[Arc<Tool>]) -> Option<FitReason> {
    let name = name_words(&tool.name);
    let verbs = first_words(prompt);
    let stops = |verb: &&String| {
        // "Stop the timer", "turn off the alarm" for `set_timer`, `set_alarm`.
        let is_off = || prompt.split_whitespace().any(|word| word == "off");
        let [set, thing] = &name[..] else { return false };
        let is_stop = matches!(&***verb, "stop" | "dismiss" | "silence")
            || matches!(&***verb, "turn" | "switch" | "shut") && is_off();
        set == "set" && is_stop && singulars(prompt).contains(thing)
    };
    let is_opposite =
        |verb: &&String| stops(verb) || name.iter().any(|own| verbs_oppose(verb, own));
    let verb = verbs.iter().find(is_opposite)?;
    let verb = if stops(&verb) { "stop" } else { verb };
    // "May be enabled again" is said of what disables.
    let third = third_person(verb);
    let says =
        |words: &[String]| words.iter().any(|word| verbs_agree(verb, word) || *word == third);
    let texts = tool.title.iter().chain(&tool.examples).chain([&tool.description]);
    // "Seals it until somebody unseals it" does not unseal.
    let clauses = texts.into_iter().flat_map(|text| text.split([',', ';', '.']));
    let mut own = clauses.map(|clause| clause.split(" until ").next().unwrap_or_default());
    let is_said = says(&name) || own.any(|clause| says(&words_of(clause)));
    // "Stop the old one and start a new one" wants both.
    let wants_both = || verbs.iter().any(|other| verbs_oppose(verb, other));
    (!is_said && !wants_both()).then(|| FitReason::MissingAction {
        is_elsewhere: tools.iter().any(|tool| says(&name_words(&tool.name))),
        verb: verb.to_owned(),
    })
}

/// Returns the reason if the prompt requests an action that no near tool performs, or only with another thing.
/// `actions` is called only if the prompt requests an action.
pub fn missing_action<'a>(
    reading: &Reading,
    (tools, found): (&[Arc<Tool>], &Retrieval),
    fusion: Fusion,
    actions: impl FnOnce() -> &'a ToolActions,
) -> Option<FitReason> {
    let prompt = reading.text.as_str();
    // The clauses of a prompt rank the tools, and not only the whole of it.
    let first = found.candidates.iter().max_by(|a, b| a.score.total_cmp(&b.score))?.row;
    let tool = &*tools[first as usize];
    if let Some(reason) = opposite(prompt, tool, tools) {
        return Some(reason);
    }
    if only_asked_of(tool, prompt) {
        return Some(FitReason::OnlyAsks);
    }
    let order = order(prompt)?;
    let actions = actions();
    let cosine = found.candidates.iter().filter_map(|c| Some(c.semantic?.raw)).reduce(f32::max)?;
    let (mut best, mut able) = (f32::MIN, f32::MIN);
    let does = |row: u32| actions.actions[row as usize].overlaps(order.actions);
    let mut doers = Vec::new();
    for candidate in &found.candidates {
        let score = blended(candidate, fusion, cosine);
        best = best.max(score);
        if does(candidate.row) {
            able = able.max(score);
            doers.push((candidate.row, score));
        }
    }
    if able < best - NEAR && !does(first) {
        let is_elsewhere = actions.actions.iter().any(|known| known.overlaps(order.actions));
        return Some(FitReason::MissingAction { is_elsewhere, verb: order.verb });
    }
    if let Some(reason) = other_server(prompt, tool, &actions.servers) {
        return Some(reason);
    }
    if reading.original.is_some() {
        // Word by word, nouns are not where English has them.
        return None;
    }
    let is_change = action_of("update").is_some_and(|(change, _)| change.overlaps(order.actions));
    // The things that the order names and a tool does not.
    let others = |(row, score): (u32, f32)| {
        let tool = &tools[row as usize];
        (score >= best - NEAR || row == first).then(|| {
            let server = tool.server.as_deref()?;
            let things = actions.known(server, &order.object);
            (!things.is_empty() && !names(tool, &things, is_change)).then_some(things)
        })
    };
    let others: Option<Vec<_>> = doers.into_iter().filter_map(others).collect();
    let things = others?.into_iter().next()?;
    let noun = things.iter().rev().map(|noun| &**noun).collect::<Vec<&str>>().join(" ");
    Some(FitReason::OtherObject { noun, verb: order.verb })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::selection::{Candidate, Score};

    fn judged(confidence: f32, missing: Option<&str>, least: f32) -> (Fit, Option<String>) {
        let objection = missing
            .map(|verb| FitReason::MissingAction { verb: verb.to_owned(), is_elsewhere: false });
        let (fit, reason) = judge_fit(FitInputs { confidence: Some(confidence), objection, least });
        (fit, reason.map(|reason| reason.to_string()))
    }

    #[test]
    fn there_are_three_verdicts_and_with_a_missing_action_none_fits_surely() {
        let low = |least| Some(format!("confidence 0.30 is below {least}"));
        let missing = Some("no tool here deletes".to_owned());
        assert_eq!(judged(0.8, None, 0.5), (Fit::Fits, None));
        assert_eq!(judged(0.6, None, 0.5).0, Fit::Unsure);
        assert_eq!(judged(0.3, None, 0.5), (Fit::None, low("0.50")));
        assert_eq!(judged(0.3, None, 0.2), (Fit::Unsure, low("0.75")));
        let near = judged(0.7454, None, 0.5).1.unwrap();
        assert_eq!(near, "confidence 0.745 is below 0.750", "two digits would be the same");
        assert_eq!(judged(0.8, Some("delete"), 0.5), (Fit::Unsure, missing.clone()));
        assert_eq!(judged(0.6, Some("delete"), 0.5), (Fit::Unsure, missing.clone()));
        assert_eq!(judged(0.3, Some("delete"), 0.5), (Fit::None, missing));
        assert_eq!(judged(0.8, None, 0.9).0, Fit::None, "the user wants to be surer");
    }

    #[test]
    fn a_least_confidence_of_0_always_answers_and_no_confidence_judges_nothing() {
        assert_eq!(judged(0.01, None, 0.0).0, Fit::Unsure);
        assert_eq!(judged(0.01, Some("delete"), 0.0).0, Fit::Unsure);
        let inputs =
            FitInputs { confidence: None, objection: Some(FitReason::Forbids), least: 0.5 };
        assert_eq!(judge_fit(inputs), (Fit::Fits, None));
    }

    /// Returns the reason against the tool of a row as the only candidate.
    fn missing_where_first(prompt: &str, row: u32, tools: &[Arc<Tool>]) -> Option<String> {
        let actions = ToolActions::new(tools);
        let semantic = Some(Score { raw: 0.9, normalized: 0.9, weight: 1.0 });
        let candidates = vec![Candidate { row, score: 0.9, semantic, ..Candidate::default() }];
        let found = (tools, &Retrieval { candidates, ..Retrieval::default() });
        let reading = Reading::verbatim(prompt);
        let missing = missing_action(&reading, found, Fusion::default(), || &actions);
        missing.map(|reason| reason.to_string())
    }

    #[test]
    fn an_action_on_a_thing_that_other_tools_are_named_after_is_another() {
        let tools = [
            Tool::new(Some("shop"), "cancelOrder", "Cancels an order"),
            Tool::new(Some("shop"), "trackShipment", "Shows where a shipment is"),
            Tool::new(Some("shop"), "listPurchaseOrders", "Lists what was ordered"),
            Tool::new(Some("shop"), "UnbanPlayer", "Lifts a ban"),
        ]
        .map(Arc::new);
        let missing = |prompt: &str, row| missing_where_first(prompt, row, &tools);
        for (prompt, thing) in [
            ("cancel shipment SH-1", Some("shipment")),
            ("cancel the shipments of Monday", Some("shipment")),
            ("please cancel my parcel", Some("parcel")),
            ("cancel the purchase order 4500", Some("purchase order")),
            ("cancel the order 4500", None),
            ("cancel the newspaper", None),
            ("cancel it", None),
            ("cancel the order but keep the shipment", None),
        ] {
            let expected =
                thing.map(|thing| format!("what the nearest tool cancels is no {thing}"));
            assert_eq!(missing(prompt, 0), expected, "{prompt}");
        }
        for prompt in ["ban Bob", "keep Bob out"] {
            assert!(missing(prompt, 3).is_some(), "{prompt}");
        }
        assert_eq!(missing("unban Bob", 3), None);
    }

    #[test]
    fn the_opposite_and_a_change_for_a_question_do_not_fit() {
        let tools = [
            Tool::new(Some("home"), "lock_door", ""),
            Tool::new(Some("home"), "start_stop", "Starts or stops the vacuum"),
            Tool::new(Some("home"), "set_timer", "Sets a timer"),
            Tool::new(Some("home"), "arm_alarm", ""),
            Tool::new(Some("home"), "seal_box", "Seals a box until somebody unseals it"),
        ]
        .map(Arc::new);
        let missing = |prompt: &str, row| missing_where_first(prompt, row, &tools);
        let asks = "the prompt only asks, and the nearest tool changes something";
        for (prompt, row, reason) in [
            ("open the front door", 0, Some("no tool here opens")),
            ("close the front door", 0, None),
            ("stop the vacuum", 1, None),
            ("please disarm the alarm", 3, Some("no tool here disarms")),
            ("arm the alarm", 3, None),
            ("unseal the box", 4, Some("no tool here unseals")),
            ("how long is left on the timer?", 2, Some(asks)),
            ("turn off the timer", 2, Some("the nearest tool does not stop")),
            ("stop the timer", 2, Some("the nearest tool does not stop")),
            ("turn on the timer", 2, None),
            ("set a timer for 5 minutes", 2, None),
            ("can you set a timer?", 2, None),
        ] {
            assert_eq!(missing(prompt, row).as_deref(), reason, "{prompt}");
        }
    }

    #[test]
    fn an_action_is_missing_where_no_near_tool_does_it() {
        let tools = [
            Tool::new(
                Some("fs"),
                "write_file",
                "Creates or overwrites a file; use `join_files` to merge some",
            ),
            Tool::new(Some("fs"), "removeFile", "Takes a path"),
        ]
        .map(Arc::new);
        let actions = ToolActions::new(&tools);
        let missing = |prompt: &str, cosines: [f32; 2]| {
            let candidate = |(row, cosine)| {
                let semantic = Some(Score { raw: cosine, normalized: cosine, weight: 1.0 });
                Candidate { row, score: cosine, semantic, ..Candidate::default() }
            };
            let candidates = (0u32..).zip(cosines).map(candidate).collect();
            let found = Retrieval { candidates, ..Retrieval::default() };
            let missing = missing_action(
                &Reading::verbatim(prompt),
                (&tools, &found),
                Fusion::default(),
                || &actions,
            );
            missing.map(|reason| reason.to_string())
        };
        assert_eq!(missing("delete the file a.txt", [0.5, 0.48]), None);
        let near = missing("delete the file a.txt", [0.5, 0.2]);
        assert_eq!(near.as_deref(), Some("the nearest tool does not delete"), "another one does");
        let none = missing("pay the file a.txt", [0.5, 0.2]);
        assert_eq!(none.as_deref(), Some("no tool here pays"));
        let others = missing("merge the file a.txt", [0.5, 0.2]);
        assert_eq!(others.as_deref(), Some("no tool here merges"));
        assert_eq!(missing("create the file a.txt", [0.5, 0.2]), None);
        assert_eq!(missing("save this as a.txt: buy milk", [0.5, 0.2]), None, "content");
        let dropped = missing("drop the file a.txt", [0.5, 0.2]);
        assert_eq!(dropped.as_deref(), Some("the nearest tool does not drop"));
        let restored = missing("undelete file a.txt", [0.5, 0.2]);
        assert_eq!(restored.as_deref(), Some("no tool here undeletes"));
        let undone = missing("unremove file a.txt", [0.2, 0.5]);
        assert_eq!(undone.as_deref(), Some("no tool here unremoves"), "the opposite of remove");
        let asked = missing("is the file a.txt there", [0.5, 0.2]);
        assert!(asked.unwrap().starts_with("the prompt only asks"));
    }
}
