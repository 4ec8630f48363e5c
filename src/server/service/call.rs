//! Calling a tool, with those that can stand in for it behind it.

use std::collections::HashMap;
use std::sync::{Arc, PoisonError};

use super::{Error, Service, off_thread};
use crate::catalog::{Catalog, Tool};
use crate::execution::{
    Arguments, Candidate, Event, MIN_SIMILARITY, Neighbor, Report, Request, Session, candidates,
};

/// A tool to call.
#[derive(Clone, Copy)]
pub struct CallTool<'a> {
    /// The tool's id, `server:tool`, or a name that only one tool has.
    pub id: &'a str,
    pub arguments: &'a Arguments,
    /// What this request and the calls before it have used up.
    pub session: &'a Session,
    /// A person agreed to what may destroy something.
    pub confirmed: bool,
    /// What the user wants to know, where that is told.
    pub question: &'a str,
    pub profile: Option<&'a str>,
    /// No other tool may answer for it.
    pub alone: bool,
    pub on_event: &'a (dyn Fn(Event) + Send + Sync),
}

/// A report on its way to those who learn of it.
#[derive(Clone, Copy)]
#[non_exhaustive]
pub struct Handed<'a> {
    /// The tool that was asked for; the report says which was run.
    pub tool: &'a Arc<Tool>,
    pub question: &'a str,
    pub profile: Option<&'a str>,
    pub report: &'a Report,
}

impl Service {
    /// Calls a tool, or else one that can stand in for it. Dropping the future cancels the call.
    ///
    /// # Errors
    /// [`Error::UnknownTool`], [`Error::UnknownProfile`], and [`Error::NoExecutor`] where nothing
    /// can be called. What goes wrong in the call itself is in the report.
    pub async fn call(self: &Arc<Self>, call: CallTool<'_>) -> Result<Report, Error> {
        let executor = self.executor().ok_or(Error::NoExecutor)?;
        let tool = self.describe(call.id, call.profile)?;
        let candidates = self.candidates(&tool, &call).await?;
        let request = Request {
            candidates: &candidates,
            arguments: call.arguments,
            session: call.session,
            confirmed: call.confirmed,
            question: call.question,
            room_tokens: None,
            on_event: call.on_event,
        };
        let report = executor.call(&request).await;
        let (question, profile) = (call.question, call.profile);
        self.hand_on(&Handed { tool: &tool, question, profile, report: &report });
        Ok(report)
    }

    /// The tool and those to try after it, within the profile.
    async fn candidates(
        self: &Arc<Self>,
        tool: &Arc<Tool>,
        call: &CallTool<'_>,
    ) -> Result<Vec<Candidate>, Error> {
        if self.options.no_fallback || call.alone {
            return Ok(vec![Candidate::asked(Arc::clone(tool))]);
        }
        let catalog = self.engine.catalog();
        let declared = declared(&catalog, tool);
        // Nothing stands in by its meaning for what may write: then there is no use in a search.
        let may_stand_in = tool.hints.read_only == Some(true) || !tool.satisfies.is_empty();
        let near = match declared.is_empty() && may_stand_in {
            true => self.near(tool).await?,
            false => Arc::default(),
        };
        let mut chain = candidates(tool, &declared, &near, MIN_SIMILARITY);
        let view = self.view(call.profile)?;
        chain.retain(|candidate| candidate.tool.id == tool.id || view.admits(&candidate.tool));
        Ok(chain)
    }

    /// The tools nearest in meaning, found once a version of the catalog: a call must not wait for
    /// a search.
    async fn near(self: &Arc<Self>, tool: &Arc<Tool>) -> Result<Arc<Vec<Neighbor>>, Error> {
        let version = self.engine.version();
        {
            let mut known = self.near.lock().unwrap_or_else(PoisonError::into_inner);
            if known.0 != version {
                *known = (version, HashMap::new());
            }
            if let Some(found) = known.1.get(&tool.id) {
                return Ok(Arc::clone(found));
            }
        }
        let (engine, asked) = (Arc::clone(&self.engine), Arc::clone(tool));
        let found = Arc::new(off_thread(move || engine.stand_ins(&asked)).await?);
        let mut known = self.near.lock().unwrap_or_else(PoisonError::into_inner);
        if known.0 == version {
            known.1.insert(tool.id.clone(), Arc::clone(&found));
        }
        Ok(found)
    }
}

/// The tools that the tool's author wants tried after it, as far as they are there.
fn declared(catalog: &Catalog, tool: &Tool) -> Vec<Arc<Tool>> {
    let rows = tool.routing.fallbacks.iter().filter_map(|id| catalog.row(id));
    rows.map(|row| Arc::clone(&catalog.tools()[row as usize])).collect()
}
