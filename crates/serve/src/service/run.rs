//! Runs a prompt that asks for several things, with one step and one tool for each.

use std::sync::Arc;

use toolroute_run::execution::{Event, LocalTime};
use toolroute_session::{Plan, PlanReport, PlannedCall, Session, StepState};

use super::{CallRequest, Error, FindRequest, Service, off_thread};

/// A prompt to run.
#[derive(Clone, Copy)]
pub struct RunRequest<'a> {
    pub prompt: &'a str,
    /// The conversation of the prompt. Each step can use the results of the steps before.
    pub session: &'a Arc<Session>,
    /// The time that words such as "tomorrow" are relative to.
    pub now: &'a LocalTime,
    /// Whether a person agreed to destructive calls.
    pub confirmed: bool,
    /// Whether the steps are only planned, and no tool is called.
    pub draft: bool,
    pub profile: Option<&'a str>,
    pub on_event: &'a (dyn Fn(Event) + Send + Sync),
}

impl Service {
    /// Finds and calls a tool for each thing that the prompt asks for, in order, until a step
    /// fails.
    ///
    /// # Errors
    /// Those of [`Service::find`] and [`Service::call`]. Failures of a call are part of the report.
    #[doc(hidden)] // For our own crates.
    pub async fn run(self: &Arc<Self>, run: RunRequest<'_>) -> Result<PlanReport, Error> {
        if !run.draft {
            self.executor().ok_or(Error::NoExecutor)?;
        }
        self.expect_catalog()?;
        let (engine, prompt) = (Arc::clone(&self.engine), run.prompt.to_owned());
        let needs = off_thread(move || engine.needs(&prompt)).await?;
        let left = run.session.guard().calls_left().filter(|_| !run.draft);
        if let Some(left) = left.filter(|left| needs.len() > *left as usize) {
            return Err(Error::PlanTooLong { found: needs.len(), left });
        }
        // A draft must not change the session.
        let copy = Arc::new(Session::restore("", run.session.to_record()));
        // A single step has none behind it to look at first.
        let is_single = needs.len() < 2;
        let mut plan = Plan::new(needs.clone(), run.session, run.now);
        if run.draft || !is_single {
            let draft = Plan::new(needs, &copy, run.now).draft();
            let draft = self.steps(draft, (&run, &copy), true).await?;
            if run.draft {
                return Ok(self.callable_steps(draft.finish()));
            }
            plan = plan.after(draft);
        }
        Ok(self.steps(plan, (&run, run.session), false).await?.finish())
    }

    /// The report of a draft, in which no step is ready whose tool has no server here. Where no
    /// tool can be called, a draft shows what could be.
    fn callable_steps(&self, mut report: PlanReport) -> PlanReport {
        let (Some(executor), catalog) = (self.executor(), self.engine.catalog()) else {
            return report;
        };
        for step in report.steps.iter_mut().filter(|step| step.state == StepState::Ready) {
            let tool = step.tool.as_ref().and_then(|id| catalog.get(id.as_str()));
            if let Some(tool) = tool.filter(|tool| executor.servers().of(tool).is_none()) {
                step.state = StepState::Failed;
                step.needs_confirmation = false;
                step.why = format!("{} has no server here; add its server", tool.id);
                report.complete = false;
            }
        }
        report
    }

    /// Finds and, unless it is a draft, calls a tool for each step.
    async fn steps<'a>(
        self: &Arc<Self>,
        plan: Plan<'a>,
        (run, session): (&RunRequest<'_>, &Arc<Session>),
        is_draft: bool,
    ) -> Result<Plan<'a>, Error> {
        let select = async |request| {
            let find = FindRequest {
                request,
                session: Arc::clone(session),
                profile: run.profile.map(str::to_owned),
                ..FindRequest::default()
            };
            // What is found for a draft behind which the plan is run, is found once more then.
            if is_draft && !run.draft {
                let service = Arc::clone(self);
                return off_thread(move || service.select(&find)).await?;
            }
            Ok(self.find(find).await?.selection)
        };
        let call = async |planned: PlannedCall| {
            let call = CallRequest {
                id: planned.tool.id.as_str(),
                arguments: &planned.arguments,
                session,
                confirmed: run.confirmed,
                question: &planned.need,
                budget_tokens: None,
                profile: run.profile,
                user: None,
                alone: false,
                on_event: run.on_event,
            };
            self.call(call).await
        };
        plan.drive(select, call).await
    }
}
