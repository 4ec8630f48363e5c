//! Calls a tool, and its fallbacks if it fails.

use std::collections::HashMap;
use std::sync::{Arc, PoisonError};

use toolroute_catalog::Tool;
use toolroute_run::execution::{
    Arguments, Candidate, Event, Fallbacks, Neighbor, Page, Report, Request, User, candidates,
};
use toolroute_session::{Session, name_others, neighbors};

use super::{Error, Service, off_thread};

/// A tool to call.
#[derive(Clone, Copy)]
pub struct CallRequest<'a> {
    /// The tool's id, `server:tool`, or a name that only one tool has.
    pub id: &'a str,
    pub arguments: &'a Arguments,
    /// The conversation that the call belongs to.
    pub session: &'a Session,
    /// Whether a person agreed to a destructive call.
    pub confirmed: bool,
    /// What the user wants to know. If it is empty, it is the prompt for which the session was last
    /// offered the tool.
    pub question: &'a str,
    /// The most tokens of the answer.
    pub budget_tokens: Option<usize>,
    pub profile: Option<&'a str>,
    /// The user whom servers may ask while the call runs; `None` if nobody can be asked.
    pub user: Option<&'a User>,
    /// Whether no other tool may answer instead.
    pub alone: bool,
    pub on_event: &'a (dyn Fn(Event) + Send + Sync),
}

impl Service {
    /// Calls a tool, or a fallback if it fails. The report is recorded in the session and the log.
    /// Dropping the future cancels the call.
    ///
    /// # Errors
    /// [`Error::UnknownTool`], [`Error::UnknownProfile`], and [`Error::NoExecutor`] without
    /// servers. Failures of the call itself are part of the report.
    #[doc(hidden)] // For our own crates.
    pub async fn call(self: &Arc<Self>, call: CallRequest<'_>) -> Result<Report, Error> {
        let executor = self.executor().ok_or(Error::NoExecutor)?;
        let tool = self.describe(call.id, call.profile)?;
        let candidates = self.candidates(&tool, &call).await?;
        let offer = call.question.trim().is_empty().then(|| call.session.offer_with_tool(&tool.id));
        let asked = offer.flatten().map(|offer| offer.prompt);
        let request = Request {
            candidates: &candidates,
            arguments: call.arguments,
            guard: call.session.guard(),
            confirmed: call.confirmed,
            question: asked.as_deref().unwrap_or(call.question),
            budget_tokens: call.budget_tokens,
            user: call.user,
            on_event: call.on_event,
        };
        let mut report = executor.call(&request).await;
        if report.is_question() || report.is_out_of_reach() {
            let (service, executor) = (Arc::clone(self), Arc::clone(executor));
            let (profile, tool) = (call.profile.map(str::to_owned), Arc::clone(&tool));
            // The first time, the schemas of all tools are read.
            report = off_thread(move || {
                let admits = |tool: &Tool| service.sees(tool, profile.as_deref()).unwrap_or(false);
                name_others(&mut report, (&service.engine, &executor), &tool, admits);
                report
            })
            .await?;
        }
        call.session.record_report(&self.engine, &report, call.question);
        Ok(report)
    }

    /// A page of a truncated answer, by the handle in its marker: at most `most` characters, from
    /// character `offset` on.
    ///
    /// # Errors
    /// [`Error::NoExecutor`], and [`Error::UnknownHandle`] if the answer is not stored.
    pub fn read_more(&self, handle: &str, offset: usize, most: usize) -> Result<Page, Error> {
        let executor = self.executor().ok_or(Error::NoExecutor)?;
        let page = executor.read_more(handle, offset, most);
        page.ok_or_else(|| Error::UnknownHandle { handle: handle.chars().take(40).collect() })
    }

    /// The tool and its fallbacks within the profile, in the order in which they are tried.
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
        let fallbacks = Fallbacks { by_meaning: &near, ..Fallbacks::default() };
        let mut chain = candidates(tool, &self.engine.catalog(), fallbacks);
        let view = self.view(call.profile)?;
        chain.retain(|candidate| candidate.tool.id == tool.id || view.admits(&candidate.tool));
        Ok(chain)
    }

    /// The tools nearest in meaning, computed once for each version of the catalog.
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
        let found = Arc::new(off_thread(move || neighbors(&engine, &asked.id)).await?);
        let mut known = self.near.lock().unwrap_or_else(PoisonError::into_inner);
        if known.0 == version {
            known.1.insert(tool.id.clone(), Arc::clone(&found));
        }
        Ok(found)
    }
}
