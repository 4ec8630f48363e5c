//! Chooses between tools that fit a prompt about as well, by the arguments that the prompt gives.

use toolroute_catalog::{Tool, same_things, singular, words_of};
use toolroute_rank::engine::{Places, Selection};
use toolroute_rank::query::ordered_change;
use toolroute_run::execution::PreparedArguments;

use super::doubt::only_reads;

/// The number of tools among which [`settle`] chooses.
pub const CONSIDERED: usize = 3;

/// The largest difference of scores that says nothing of which tool is meant.
const NEAR: f32 = 0.05;

/// Leaves the tool to be called as the only one of a selection. That is the first one, unless it lacks an argument, and
/// the prompt has all those of a tool near it that only reads: "track PX-1" for `track_parcel {number}` after
/// `subscribe_to_tracking {number, email}`. A tool that would not do what the prompt orders is not taken for that.
pub fn settle(
    selection: &mut Selection,
    prompt: &str,
    prepare: impl Fn(&Tool) -> PreparedArguments,
) {
    let Some(first) = selection.tools.first() else { return };
    let near = selection.tools.iter().take_while(|other| other.score >= first.score - NEAR).count();
    if near < 2 {
        selection.tools.truncate(1);
        return;
    }
    let wanted = prepare(&first.tool);
    let is_asked = |prepared: &PreparedArguments| {
        let mut missing = prepared.missing.iter();
        !prepared.missing.is_empty() && missing.all(|question| question.candidates.is_empty())
    };
    let is_whole = |tool: &Tool| {
        let prepared = prepare(tool);
        let words = prepared.read_as.as_deref().unwrap_or(prompt);
        let places = Places { taken: &prepared.taken, moments: &prepared.moments };
        let has_all = prepared.missing.is_empty() && !prepared.taken.is_empty();
        has_all
            && is_named(tool, words)
            && prepared.taken.len() >= wanted.taken.len()
            && only_reads(tool, words)
            && ordered_change(words, places, tool).is_none()
    };
    let others = &selection.tools[1..near];
    let better = || others.iter().position(|other| is_whole(&other.tool));
    if let Some(at) = is_asked(&wanted).then(better).flatten() {
        selection.tools.swap(0, at + 1);
    }
    selection.tools.truncate(1);
}

/// Whether a prompt has a word of a tool's name, or one for the same thing.
fn is_named(tool: &Tool, prompt: &str) -> bool {
    let name = words_of(&tool.name);
    let is_in_name = |word: &str| name.iter().any(|own| singular(own) == word);
    words_of(prompt).iter().any(|word| {
        let word = singular(word);
        is_in_name(&word) || same_things(&word).any(is_in_name)
    })
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use serde_json::{json, value::to_raw_value};
    use toolroute_catalog::{Catalog, Schema};
    use toolroute_rank::engine::{Engine, SelectRequest};
    use toolroute_run::execution::{ArgumentSources, LocalTime, prepare_arguments};

    use super::*;

    fn tool(name: &str, about: &str, required: &[&str]) -> Tool {
        let mut tool = Tool::new(Some("parcels"), name, about);
        let text = json!({"type": "string"});
        let properties: serde_json::Map<_, _> =
            required.iter().map(|name| ((*name).to_owned(), text.clone())).collect();
        let schema = json!({"type": "object", "properties": properties, "required": required});
        tool.input_schema = Some(Schema::new(to_raw_value(&schema).unwrap()));
        tool.hints.read_only = Some(name.starts_with("track") || name.starts_with("get"));
        tool
    }

    #[test]
    fn of_near_tools_the_one_that_the_prompt_gives_all_arguments_is_meant() {
        let tools = vec![
            tool("subscribe_tracking", "Track a parcel by mail", &["tracking_number", "email"]),
            tool("track_parcel", "Track a parcel", &["tracking_number"]),
        ];
        let engine = Engine::builder(Catalog::from_tools(tools).catalog).build().unwrap();
        let now: LocalTime = "2026-04-20T10:30:00+02:00".parse().unwrap();
        let chosen = |prompt: &str| {
            let mut selection =
                engine.select(&SelectRequest::new(prompt).limit(CONSIDERED)).unwrap();
            let subscribe = |tool: &Tool| tool.name == "subscribe_tracking";
            let first = selection.tools.iter().position(|found| subscribe(&found.tool)).unwrap();
            selection.tools.swap(0, first);
            let score = selection.tools[0].score;
            selection.tools.iter_mut().for_each(|found| found.score = score);
            settle(&mut selection, prompt, |tool| {
                prepare_arguments(tool, &ArgumentSources::new(prompt, &now))
            });
            assert_eq!(selection.tools.len(), 1);
            Arc::clone(&selection.tools[0].tool).name.clone()
        };
        assert_eq!(chosen("track parcel PX104882213"), "track_parcel");
        assert_eq!(chosen("track parcel PX104882213 by mail to a@b.example"), "subscribe_tracking");
        assert_eq!(chosen("delete parcel PX104882213"), "subscribe_tracking");
        assert_eq!(chosen("track it"), "subscribe_tracking", "neither has all");
    }
}
