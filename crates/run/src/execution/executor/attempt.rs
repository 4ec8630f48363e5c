//! One candidate's turn: the call and its retries.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::super::closures::{catch_panic, panicked};
use super::super::elicitation::User;
use super::super::invoker::{Arguments, Call, Fault, FaultKind, Invoker, Output, Progress};
use super::super::timing::{announcement, extended_timeout};
use super::{Event, Executor, Request, millis};
use toolroute_catalog::{RetryOn, Tool};

/// The result of a candidate's turn.
pub(super) struct AttemptResult {
    pub result: Result<Output, Fault>,
    pub tries: u32,
    /// Whether any of the tries may have reached the tool.
    pub reached: bool,
    pub took_ms: f64,
    pub error_ids: Vec<String>,
}

/// A prepared call and where it is sent.
#[derive(Clone, Copy)]
pub(super) struct Dispatch<'a> {
    pub tool: &'a Tool,
    pub invoker: &'a Arc<dyn Invoker>,
    pub arguments: &'a Arguments,
    pub key: Option<&'a str>,
    pub deadline: Instant,
}

impl Executor {
    /// Calls a tool until it answers or must not be retried.
    pub(super) async fn attempt(
        &self,
        request: &Request<'_>,
        sent: &Dispatch<'_>,
    ) -> AttemptResult {
        let tool = sent.tool;
        let retry = self.options.timing.retry(tool);
        let retries = self.options.timing.retries.of(retry);
        let mut pauses = retries.pauses();
        let mut tried = AttemptResult {
            result: Ok(Output::default()),
            tries: 0,
            reached: false,
            took_ms: 0.0,
            error_ids: Vec::new(),
        };
        loop {
            tried.tries += 1;
            let (result, took_ms) = self.once(request, sent).await;
            let fault = result.as_ref().err();
            self.breakers.record(tool, fault.map(|fault| fault.kind), Instant::now());
            tried.took_ms = took_ms;
            tried.reached |= fault.is_none_or(|fault| fault.reached);
            if let Some(fault) = fault {
                tried.error_ids.push(self.log(tool, &fault.to_string()));
            }
            let again = match retry {
                Some(retry) => retry_condition(&result).is_some_and(|came| {
                    retry.on.contains(&came) && (!tried.reached || tool.effects().idempotent)
                }),
                None => fault.is_some_and(|fault| may_retry(tool, fault, tried.tries)),
            };
            let pause = if again { pauses.next() } else { None };
            if let (Some(_), Ok(output)) = (pause, &result) {
                tried.error_ids.push(self.log(tool, &output.text));
            }
            tried.result = result;
            let Some(pause) = pause.filter(|pause| *pause < time_left(sent.deadline)) else {
                return tried;
            };
            tokio::time::sleep(pause).await;
            if request.guard.spend(tool).is_err() {
                return tried;
            }
            if self.breakers.admit(tool, Instant::now()).is_err() {
                request.guard.refund(tool);
                return tried;
            }
        }
    }

    /// Makes one try. Returns its result and the duration of the tool's own work in milliseconds.
    async fn once(
        &self,
        request: &Request<'_>,
        sent: &Dispatch<'_>,
    ) -> (Result<Output, Fault>, f64) {
        let Dispatch { tool, invoker, arguments, key, deadline } = *sent;
        let heard = Mutex::new(None);
        let tell = |progress: Progress| {
            *heard.lock().unwrap_or_else(PoisonError::into_inner) = Some(Instant::now());
            (request.on_event)(Event::Progress { tool: tool.id.clone(), progress });
        };
        let timing = &self.options.timing;
        let work = async {
            if let Err(fault) =
                within(time_left(deadline), unpanicked(async { invoker.prepare().await })).await
            {
                return (Err(Fault { reached: false, ..fault }), 0.0);
            }
            let (began, before) = (Instant::now(), asked_ms(request));
            let call = Call { tool, arguments, key, on_progress: &tell, user: request.user };
            // The user's time to answer a question is not the tool's.
            let heard = || {
                let progress = *heard.lock().unwrap_or_else(PoisonError::into_inner);
                progress.max(request.user.and_then(User::latest))
            };
            let limits = (timing.timeout(tool), deadline);
            let answering = unpanicked(async { invoker.invoke(call).await });
            let result = with_progress_timeout(limits, heard, answering).await;
            (result, (millis(began) - (asked_ms(request) - before)).max(0.0))
        };
        tokio::pin!(work);
        tokio::select! {
            biased;
            done = &mut work => return done,
            () = tokio::time::sleep(timing.feedback_delay(tool)) => {}
        }
        // A tool that reports its progress itself needs no other sign that it works.
        if heard.lock().unwrap_or_else(PoisonError::into_inner).is_none() {
            let said = announcement(tool);
            (request.on_event)(Event::Working { tool: tool.id.clone(), said });
        }
        work.await
    }
}

/// How long the user has been asked during the request, in milliseconds.
fn asked_ms(request: &Request<'_>) -> f64 {
    request.user.map_or(0.0, |user| user.took().as_secs_f64() * 1_000.0)
}

fn time_left(deadline: Instant) -> Duration {
    deadline.saturating_duration_since(Instant::now())
}

/// Turns a panic of an invoker, which may be another program's code, into a fault: nobody would answer
/// the request otherwise.
async fn unpanicked<T>(work: impl Future<Output = Result<T, Fault>>) -> Result<T, Fault> {
    let done = catch_panic(work).await;
    done.unwrap_or_else(|panic| Err(Fault::after(FaultKind::Broken, panicked(&*panic))))
}

async fn within<T>(
    limit: Duration,
    work: impl Future<Output = Result<T, Fault>>,
) -> Result<T, Fault> {
    match tokio::time::timeout(limit, work).await {
        Ok(done) => done,
        Err(_) => Err(Fault::after(FaultKind::Timeout, format!("no answer in {limit:?}"))),
    }
}

/// Waits for the work for at most `limit` after its start or its latest sign of life, and never
/// beyond the deadline.
async fn with_progress_timeout<T>(
    (limit, deadline): (Duration, Instant),
    heard: impl Fn() -> Option<Instant>,
    work: impl Future<Output = Result<T, Fault>>,
) -> Result<T, Fault> {
    let began = Instant::now();
    if let Some(done) = extended_timeout((limit, deadline), &heard, work).await {
        return done;
    }
    let waited = began.elapsed();
    let said = match heard() {
        _ if Instant::now() >= deadline => {
            format!("no answer in {waited:.0?}, the longest that a request may take")
        }
        Some(_) => format!("no answer and no progress in {limit:?}"),
        None => format!("no answer in {limit:?}"),
    };
    Err(Fault::after(FaultKind::Timeout, said))
}

/// Returns the retry condition that the result of a try meets, if any.
fn retry_condition(result: &Result<Output, Fault>) -> Option<RetryOn> {
    match result {
        Ok(output) => output.is_error.then_some(RetryOn::Error),
        Err(fault) => match fault.kind {
            FaultKind::Unreachable => Some(RetryOn::Unreachable),
            FaultKind::Broken | FaultKind::ServerError => Some(RetryOn::Broken),
            FaultKind::Busy => Some(RetryOn::Busy),
            FaultKind::Timeout => Some(RetryOn::Timeout),
            _ => None,
        },
    }
}

/// Whether a failed call may be sent again. A call that did not reach the tool may; one that may
/// have reached it only if the tool is idempotent. A timeout is not retried, because the caller
/// would wait twice, nor is a call that has broken the connection twice, because that disturbs the
/// server's other tools.
fn may_retry(tool: &Tool, fault: &Fault, tries: u32) -> bool {
    let is_broken = matches!(fault.kind, FaultKind::Broken | FaultKind::ServerError);
    let breaks_it = is_broken && fault.reached && tries > 1;
    let is_worth_it = !matches!(fault.kind, FaultKind::Timeout | FaultKind::Flooding);
    let on_the_way = fault.kind.is_transport() && is_worth_it;
    on_the_way && !breaks_it && (!fault.reached || tool.effects().idempotent)
}
