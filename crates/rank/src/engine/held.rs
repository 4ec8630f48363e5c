//! Tools that nobody may find or call, and that are ranked all the same: an answer names those that
//! would stand in it, so that no tool goes missing without a word.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use serde::Serialize;

use super::state::State;
use super::{Engine, Error, SelectRequest, Selection, change};
use crate::catalog::{Catalog, Change, Tool, ToolId};

/// A tool that is kept from everybody.
#[derive(Clone, Debug, PartialEq)]
pub struct HeldTool {
    pub tool: Arc<Tool>,
    /// Why, and what lets it in.
    pub because: String,
}

/// A tool that would stand in an answer, were it not held back.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct HeldBack {
    pub id: ToolId,
    pub score: f32,
    /// Why, and what lets it in.
    pub because: String,
}

/// What is held back, and the catalog as it would be with it.
#[derive(Default)]
pub(super) struct Held {
    tools: Vec<HeldTool>,
    /// Made when somebody asks first; the catalog is the one that it was made from.
    with: Mutex<Option<(Arc<Catalog>, Arc<State>)>>,
}

impl Held {
    fn reasons(&self) -> HashMap<&ToolId, &str> {
        self.tools.iter().map(|held| (&held.tool.id, held.because.as_str())).collect()
    }

    /// The state with these tools in its catalog.
    fn beside(&self, state: &State) -> Result<Arc<State>, Error> {
        let mut with = self.with.lock().unwrap_or_else(PoisonError::into_inner);
        let known = with.as_ref().filter(|(of, _)| Arc::ptr_eq(of, &state.catalog));
        let known = match known {
            Some((_, known)) => Arc::clone(known),
            None => {
                let (with, _) = change::next(state, self.changes(&state.catalog))?;
                // Or each would keep the other for ever.
                Arc::new(State { held: Arc::default(), ..with })
            }
        };
        let versions = |of: &State| of.inputs.versions(0);
        let known = match versions(&known) == versions(state) {
            true => known,
            false => Arc::new(known.with_inputs(state.inputs.clone())),
        };
        *with = Some((Arc::clone(&state.catalog), Arc::clone(&known)));
        Ok(known)
    }

    /// What adds them. A tool that is in the catalog is there in the form that was agreed to.
    fn changes(&self, catalog: &Catalog) -> Vec<Change> {
        let mut ids = std::collections::HashSet::new();
        let is_new = |tool: &&Arc<Tool>| {
            catalog.get(tool.id.as_str()).is_none() && ids.insert(tool.id.as_str().to_owned())
        };
        let new = self.tools.iter().map(|held| &held.tool).filter(is_new);
        new.map(|tool| Change::Register(tool.as_ref().clone())).collect()
    }
}

impl Engine {
    /// Holds these tools back from now on, and no others: they are in no answer, and each answer that
    /// they would stand in says so ([`Selection::held_back`]). They must not be in the catalog.
    pub fn hold_back(&self, mut tools: Vec<HeldTool>) {
        tools.sort_by(|a, b| a.tool.id.cmp(&b.tool.id));
        if self.state().held.tools == tools {
            return;
        }
        let held = Arc::new(Held { tools, ..Held::default() });
        self.replace_state(|before| {
            // Answers from before hold no longer.
            let version = before.version + 1;
            Ok::<_, Error>((State { held, version, ..before.clone() }, ()))
        })
        .unwrap_or_else(|error| tracing::warn!("nothing is held back: {error}"));
    }

    /// What is held back.
    pub fn held_back(&self) -> Vec<HeldTool> {
        self.state().held.tools.clone()
    }
}

impl State {
    /// Names in answers what would stand in them.
    pub fn name_held(&self, requests: &[SelectRequest], answers: &mut [Result<Selection, Error>]) {
        if self.held.tools.is_empty() {
            return;
        }
        let beside = match self.held.beside(self) {
            Ok(beside) => beside,
            Err(error) => {
                tracing::warn!("what is held back cannot be ranked: {error}");
                return;
            }
        };
        let with = match requests {
            [one] => vec![beside.select(one)],
            many => beside.select_many(many),
        };
        let reasons = self.held.reasons();
        for (answer, with) in answers.iter_mut().zip(with) {
            let (Ok(answer), Ok(with)) = (answer, with) else { continue };
            let held = with.tools.into_iter().filter_map(|found| {
                let because = (*reasons.get(&found.tool.id)?).to_owned();
                Some(HeldBack { id: found.tool.id.clone(), score: found.score, because })
            });
            answer.held_back = held.collect();
        }
    }
}
