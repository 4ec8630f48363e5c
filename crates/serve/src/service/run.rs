//! Running a prompt: a step for each thing that it asks for, each with its tool.

use std::sync::Arc;

use toolroute_rank::engine::{Plan, PlanReport, Session};
use toolroute_run::execution::{Event, LocalTime};

use super::{CallRequest, Error, FindRequest, Service, off_thread};

/// A prompt to run.
#[derive(Clone, Copy)]
pub struct RunRequest<'a> {
    pub prompt: &'a str,
    /// The conversation that it belongs to. Results of one step are available to the next in it.
    pub session: &'a Arc<Session>,
    /// What "tomorrow" is relative to.
    pub now: &'a LocalTime,
    /// A person agreed to what may destroy something.
    pub confirmed: bool,
    /// Shown, not run.
    pub draft: bool,
    pub profile: Option<&'a str>,
    pub on_event: &'a (dyn Fn(Event) + Send + Sync),
}

impl Service {
    /// Finds and calls a tool for each thing that a prompt asks for, in their order, until one is not
    /// answered.
    ///
    /// # Errors
    /// As [`Service::find`] and [`Service::call`]. What goes wrong in a call is in the report.
    pub async fn run(self: &Arc<Self>, run: RunRequest<'_>) -> Result<PlanReport, Error> {
        if !run.draft {
            self.executor().ok_or(Error::NoExecutor)?;
        }
        let (engine, prompt) = (Arc::clone(&self.engine), run.prompt.to_owned());
        let needs = off_thread(move || engine.needs(&prompt)).await?;
        // What is only shown is not remembered.
        let shown = run.draft.then(|| Arc::new(Session::restore("", run.session.record())));
        let session = shown.as_ref().unwrap_or(run.session);
        let plan = Plan::new(needs, session, run.now);
        let mut plan = if run.draft { plan.draft() } else { plan };
        let mut is_first = true;
        while let Some(request) = plan.next_request() {
            let find = FindRequest {
                request,
                session: Arc::clone(session),
                profile: run.profile.map(str::to_owned),
                ..FindRequest::default()
            };
            let found = match self.find(find).await {
                Ok(found) => found,
                Err(error) if is_first => return Err(error),
                Err(error) => {
                    plan.fail(error.to_string());
                    continue;
                }
            };
            is_first = false;
            let Some(planned) = plan.prepare(&found.selection) else { continue };
            let call = CallRequest {
                id: planned.tool.id.as_str(),
                arguments: &planned.arguments,
                session,
                confirmed: run.confirmed,
                question: &planned.need,
                budget_tokens: None,
                profile: run.profile,
                alone: false,
                on_event: run.on_event,
            };
            match self.call(call).await {
                Ok(report) => plan.note(report),
                Err(error) => plan.fail(error.to_string()),
            }
        }
        Ok(plan.finish())
    }
}
