//! Translation of an utterance to obligations. The router finds a tool, its `satisfies` names the
//! obligation, and the words give the inputs. No language model is used and nothing is guessed: if
//! no matching tool declares what it satisfies, the user is asked.

use std::sync::Arc;

use serde_json::{Map, Value, json};

use super::lineage::UTTERANCE;
use super::obligation::{Duty, NewObligation, ObligationType, Request};
use super::translate::{name, read_request};
use super::words;
use super::{Conductor, Error};
use toolroute_catalog::{Tool, covers};
use toolroute_rank::engine::{self, Fit, SelectRequest, Selection};
use toolroute_rank::query::says_nothing;
use toolroute_run::execution::LocalTime;
use toolroute_session::doubt;

/// The maximum number of similar tools that are considered as other meanings.
const NEAR: usize = 5;

impl Conductor<'_> {
    /// Translates the `utterance` of a document without obligations. The same text must give the
    /// same obligations, because a request that was received and not yet planned is translated
    /// again after a crash.
    pub(super) fn translate_utterance(&self, text: &str) -> Result<Request, Error> {
        let mut request = read_request(text)?;
        if says_nothing(&request.utterance) {
            return Err(engine::Error::EmptyPrompt.into());
        }
        for need in self.engine.needs(&request.utterance) {
            let owed = self.obligation_for(&need)?;
            let is_known = |known: &NewObligation| {
                (&known.what, &known.payload) == (&owed.what, &owed.payload)
            };
            if !request.obligations.iter().any(is_known) {
                request.obligations.push(owed);
            }
        }
        name(&mut request)?;
        Ok(request)
    }

    /// Returns the obligation for the words: what the best tool satisfies, or otherwise a question.
    fn obligation_for(&self, words: &str) -> Result<NewObligation, Error> {
        let found = self.engine.select(&SelectRequest::new(words).limit(NEAR))?;
        // Without a model there is no confidence, and one shared word does not justify running a
        // tool.
        let fits = found.fit == Fit::Fits && found.confidence.is_some();
        let best = found.tools.first().filter(|_| fits).map(|best| &*best.tool);
        if let Some((tool, what)) = best.and_then(|tool| Some((tool, reported(tool)?))) {
            return Ok(match self.objection(&what, &found, words) {
                Some(why) => question(words, &[(what, tool)], &why),
                None => self.owed(what, &[words]),
            });
        }
        let undeclared = best.map(|tool| {
            format!("`{}` fits, but declares no `satisfies` (an overlay can add it)", tool.id)
        });
        let nearest = found.tools.iter().map(|near| near.tool.id.as_str());
        let nearest = nearest.chain(found.excluded.iter().map(|near| near.id.as_str()));
        let catalog = self.engine.catalog();
        let mut nearest: Vec<&Tool> = nearest.take(NEAR).filter_map(|id| catalog.get(id)).collect();
        if nearest.is_empty() {
            nearest.extend(catalog.tools().iter().map(|tool| &**tool));
        }
        let mut choices: Vec<(ObligationType, &Tool)> = Vec::new();
        for tool in nearest {
            if let Some(what) = reported(tool)
                && choices.len() < NEAR
                && choices.iter().all(|(known, _)| *known != what)
            {
                choices.push((what, tool));
            }
        }
        let declares = |tool: &Arc<Tool>| reported(tool).is_some();
        if choices.is_empty() && !catalog.tools().iter().any(declares) {
            return Err(Error::NothingDeclared);
        }
        Ok(question(words, &choices, &undeclared.unwrap_or_default()))
    }

    /// Returns why the user must be asked before a tool runs for words that may be no order, or no order for the tool.
    fn objection(&self, what: &ObligationType, found: &Selection, words: &str) -> Option<String> {
        let now = LocalTime::of_this_machine();
        self.engine.satisfying(&what.to_string()).iter().find_map(|tool| {
            let prepared = words::read(words, &words::with_consumed(tool), &now);
            doubt(tool, found, words, &prepared)
        })
    }

    /// Returns the obligation for a reply to such a question: one of the choices, by number or
    /// type, or the obligation for the words of the reply.
    pub(super) fn obligation_for_reply(
        &self,
        asked: &Map<String, Value>,
        reply: &Value,
    ) -> Result<NewObligation, Error> {
        let before = asked.get("words").and_then(Value::as_str).unwrap_or_default();
        let said = reply.as_str().map_or_else(|| reply.to_string(), str::to_owned);
        let said = said.trim();
        let choices = asked.get("choices").and_then(Value::as_array).into_iter().flatten();
        let choices: Vec<&str> = choices.filter_map(Value::as_str).collect();
        let number = said.parse::<usize>().ok().and_then(|number| number.checked_sub(1));
        let chosen = number.and_then(|place| choices.get(place));
        let chosen = chosen.or_else(|| choices.iter().find(|choice| covers(choice, said)));
        let chosen = chosen.and_then(|choice| choice.parse().ok());
        let is_served = |what: &ObligationType| {
            what.duty == Duty::Report && !self.engine.satisfying(said).is_empty()
        };
        match chosen.or_else(|| said.parse().ok().filter(is_served)) {
            Some(what) => Ok(self.owed(what, &[before])),
            None if said.is_empty() => self.obligation_for(before),
            None => {
                let owed = self.obligation_for(said)?;
                let is_report = owed.what.duty == Duty::Report;
                // The earlier words may contain inputs that the new ones lack.
                Ok(if is_report { self.owed(owed.what, &[said, before]) } else { owed })
            }
        }
    }

    /// Creates an obligation with the inputs that the words give for the tools that satisfy it.
    fn owed(&self, what: ObligationType, words: &[&str]) -> NewObligation {
        let (mut payload, now) = (Map::new(), LocalTime::of_this_machine());
        for tool in self.engine.satisfying(&what.to_string()) {
            for words in words {
                for (name, value) in words::inputs(words, &tool, &now) {
                    payload.entry(name).or_insert(value);
                }
            }
        }
        NewObligation { id: String::new(), what, payload, say: None }
    }
}

/// Returns the first `REPORT` obligation that a tool declares.
fn reported(tool: &Tool) -> Option<ObligationType> {
    let read = |declared: &String| {
        let declared = declared.trim();
        let bare = || format!("{}({declared})", Duty::Report);
        declared.parse().or_else(|_| bare().parse::<ObligationType>()).ok()
    };
    tool.satisfies.iter().filter_map(read).find(|what| what.duty == Duty::Report)
}

/// Asks what the words mean. `why` says why nothing runs without an answer, if that is not plain.
fn question(words: &str, choices: &[(ObligationType, &Tool)], why: &str) -> NewObligation {
    let because = if why.is_empty() { String::new() } else { format!("{why}. ") };
    let question = if choices.is_empty() {
        format!(
            "{because}no tool that declares what it satisfies comes near `{words}`; say it in other words"
        )
    } else {
        let told = choices
            .iter()
            .zip(1..)
            .map(|((what, tool), n)| format!("{n}. {what}, as by `{}`", tool.id));
        let told = told.collect::<Vec<_>>().join("; ");
        format!("{because}what is wanted by `{words}`? {told}; or say it in other words")
    };
    let choices: Vec<&ObligationType> = choices.iter().map(|(what, _)| what).collect();
    let payload = json!({"question": question, "words": words, "choices": choices});
    let payload = payload.as_object().cloned().unwrap_or_default();
    let what = ObligationType::new(Duty::Clarify, UTTERANCE);
    NewObligation { id: String::new(), what, payload, say: None }
}
