//! Calling a tool, with those that can stand in for it behind it.

use std::collections::HashMap;
use std::sync::{Arc, PoisonError};

use toolroute_catalog::{Tool, ToolId};
use toolroute_rank::engine::Session;
use toolroute_run::execution::{
    Arguments, Candidate, Event, Neighbor, Page, Report, Request, StandIns, candidates,
};

use super::{Error, Service, off_thread};

/// Tools that are named where one could not be called.
const NEAREST: usize = 3;

/// A tool to call.
#[derive(Clone, Copy)]
pub struct CallRequest<'a> {
    /// The tool's id, `server:tool`, or a name that only one tool has.
    pub id: &'a str,
    pub arguments: &'a Arguments,
    /// The conversation that the call belongs to.
    pub session: &'a Session,
    /// A person agreed to what may destroy something.
    pub confirmed: bool,
    /// What the user wants to know, where that is told; else it is what the session was last asked
    /// for when it was offered the tool.
    pub question: &'a str,
    /// Tokens that the answer may have.
    pub budget_tokens: Option<usize>,
    pub profile: Option<&'a str>,
    /// No other tool may answer for it.
    pub alone: bool,
    pub on_event: &'a (dyn Fn(Event) + Send + Sync),
}

impl Service {
    /// Calls a tool, or else one that can stand in for it. Dropping the future cancels the call.
    ///
    /// # Errors
    /// [`Error::UnknownTool`], [`Error::UnknownProfile`], and [`Error::NoExecutor`] where nothing
    /// can be called. What goes wrong in the call itself is in the report.
    pub async fn call(self: &Arc<Self>, call: CallRequest<'_>) -> Result<Report, Error> {
        let executor = self.executor().ok_or(Error::NoExecutor)?;
        let tool = self.describe(call.id, call.profile)?;
        let candidates = self.candidates(&tool, &call).await?;
        let offer = call.question.trim().is_empty().then(|| call.session.offer_of(&tool.id));
        let asked = offer.flatten().map(|offer| offer.prompt);
        let request = Request {
            candidates: &candidates,
            arguments: call.arguments,
            guard: call.session.guard(),
            confirmed: call.confirmed,
            question: asked.as_deref().unwrap_or(call.question),
            budget_tokens: call.budget_tokens,
            on_event: call.on_event,
        };
        let mut report = executor.call(&request).await;
        if report.is_out_of_reach() {
            // Without them the report is as good.
            report.name_nearest(self.nearest(&tool, call.profile).await.unwrap_or_default());
        }
        self.engine.record_report(&report, call.session, call.question);
        Ok(report)
    }

    /// The rest of an answer that was cut, by the handle that its marker names. Counts characters.
    ///
    /// # Errors
    /// [`Error::NoExecutor`], and [`Error::UnknownHandle`] where nothing is kept under it.
    pub fn read_more(&self, handle: &str, offset: usize, most: usize) -> Result<Page, Error> {
        let executor = self.executor().ok_or(Error::NoExecutor)?;
        let page = executor.read_more(handle, offset, most);
        page.ok_or_else(|| Error::UnknownHandle { handle: handle.chars().take(40).collect() })
    }

    /// The tool and those to try after it, within the profile.
    async fn candidates(
        self: &Arc<Self>,
        tool: &Arc<Tool>,
        call: &CallRequest<'_>,
    ) -> Result<Vec<Candidate>, Error> {
        if self.options.no_fallback || call.alone {
            return Ok(vec![Candidate::asked(Arc::clone(tool))]);
        }
        let near = match self.options.fallback_by_meaning {
            true => self.near(tool).await?,
            false => Arc::default(),
        };
        let stand_ins = StandIns { by_meaning: &near, ..StandIns::default() };
        let mut chain = candidates(tool, &self.engine.catalog(), stand_ins);
        let view = self.view(call.profile)?;
        chain.retain(|candidate| candidate.tool.id == tool.id || view.admits(&candidate.tool));
        Ok(chain)
    }

    /// The ids of the tools nearest in meaning that the profile shows and that may run.
    async fn nearest(
        self: &Arc<Self>,
        tool: &Arc<Tool>,
        profile: Option<&str>,
    ) -> Result<Vec<ToolId>, Error> {
        let view = self.view(profile)?;
        let near = self.near(tool).await?;
        let shown = near.iter().filter(|near| view.admits(&near.tool));
        Ok(shown.take(NEAREST).map(|near| near.tool.id.clone()).collect())
    }

    /// The tools nearest in meaning, found once a version of the catalog.
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
        let found = Arc::new(off_thread(move || engine.neighbors(&asked.id)).await?);
        let mut known = self.near.lock().unwrap_or_else(PoisonError::into_inner);
        if known.0 == version {
            known.1.insert(tool.id.clone(), Arc::clone(&found));
        }
        Ok(found)
    }
}
