//! Tools that are held back, for example because their definitions changed after they were
//! approved. No answer contains them, but an answer names those that it would contain, so that no
//! tool disappears without explanation.

use std::collections::HashMap;
use std::convert::Infallible;
use std::sync::{Arc, PoisonError};

use serde::Serialize;

use super::state::{HeldTool, HeldTools, State};
use super::{Engine, Error, SelectRequest, Selection, catalog_change};
use crate::catalog::{Catalog, Change, Tool, ToolId};

/// A tool that an answer would contain if it were not held back.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct HeldMatch {
    /// The id of the tool.
    pub id: ToolId,
    /// The score that it would have.
    pub score: f32,
    /// Why, and how to release it.
    pub because: String,
}

impl HeldTools {
    fn reasons(&self) -> HashMap<&ToolId, &str> {
        self.tools.iter().map(|held| (&held.tool.id, held.because.as_str())).collect()
    }

    /// Returns the state whose catalog includes these tools.
    fn beside(&self, state: &State) -> Result<Arc<State>, Error> {
        let mut with = self.with.lock().unwrap_or_else(PoisonError::into_inner);
        let known = with.as_ref().filter(|(of, _)| Arc::ptr_eq(of, &state.catalog));
        let known = match known {
            Some((_, known)) => Arc::clone(known),
            None => {
                let (with, _) = catalog_change::apply(state, self.changes(&state.catalog))?;
                // Otherwise the two states would own each other and never be freed.
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

    /// The changes that add the tools. A tool whose id is in the catalog is its approved version.
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
    /// Replaces the set of tools that are held back. They are in no answer, and an answer that
    /// would contain them names them ([`Selection::held_back`]). They must not be in the catalog.
    #[doc(hidden)] // For our own crates.
    pub fn hold_back(&self, mut tools: Vec<HeldTool>) {
        tools.sort_by(|a, b| a.tool.id.cmp(&b.tool.id));
        if self.state().held.tools == tools {
            return;
        }
        let held = Arc::new(HeldTools { tools, ..HeldTools::default() });
        let Ok(()) = self.replace_state(|before| {
            // Invalidates cached answers.
            let version = before.version + 1;
            Ok::<_, Infallible>((State { held, version, ..before.clone() }, ()))
        });
    }

    /// Returns the tools that are held back, sorted by id.
    #[doc(hidden)] // For our own crates.
    pub fn held_back(&self) -> Vec<HeldTool> {
        self.state().held.tools.clone()
    }
}

impl State {
    /// Adds to each answer the held-back tools that it would contain.
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
                Some(HeldMatch { id: found.tool.id.clone(), score: found.score, because })
            });
            answer.held_back = held.collect();
        }
    }
}
