//! Blocking calls, for code that is not asynchronous.

use std::fmt;
use std::panic::resume_unwind;
use std::sync::{Arc, mpsc};

use tokio::runtime::{Builder, Handle, Runtime};

use super::closures::catch_panic;
use super::error::Error;
use super::executor::{Event, Executor, Request};
use super::fallback::Candidate;
use super::invoker::Arguments;
use super::loop_guard::{CallLimits, LoopGuard};
use super::report::Report;

/// Worker threads of the runtime that [`Blocking`] owns. Two, so that a long answer of one server
/// does not delay another server.
const THREADS: usize = 2;

/// A callback for events during a call.
pub type OnEvent = Arc<dyn Fn(Event) + Send + Sync>;

/// An executor whose calls block until they end.
#[derive(Clone)]
pub struct Blocking {
    executor: Arc<Executor>,
    runtime: Handle,
    on_event: Option<OnEvent>,
    /// Counts the calls of all orders.
    guard: Arc<LoopGuard>,
    /// The runtime, if this object owns it.
    _own: Option<Arc<OwnRuntime>>,
}

/// A runtime that may be dropped inside another one, where waiting for its threads would panic.
struct OwnRuntime(Option<Runtime>);

impl Drop for OwnRuntime {
    fn drop(&mut self) {
        if let Some(runtime) = self.0.take() {
            runtime.shutdown_background();
        }
    }
}

impl fmt::Debug for Blocking {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Blocking").field("executor", &self.executor).finish_non_exhaustive()
    }
}

/// One request, owned so that another thread can run it.
#[derive(Clone, Debug, Default)]
pub struct Order {
    /// In the order in which they are tried.
    pub candidates: Vec<Candidate>,
    /// The arguments of the requested tool. A fallback gets those that it has parameters for.
    pub arguments: Arguments,
    /// An idempotency key: the same for each repetition of this order, and different for every
    /// other order.
    pub key: Option<String>,
    /// Whether a person agreed to destructive calls.
    pub confirmed: bool,
    /// The user's question, for summaries.
    pub question: String,
    /// The limit of the answer in tokens, for a context window that is nearly full.
    pub budget_tokens: Option<usize>,
}

impl Blocking {
    /// Creates an instance whose calls run on the current Tokio runtime.
    ///
    /// # Errors
    /// [`Error::NoRuntime`] outside a runtime.
    pub fn new(executor: Arc<Executor>) -> Result<Self, Error> {
        let runtime = Handle::try_current().map_err(|_| Error::NoRuntime)?;
        Ok(Self { executor, runtime, on_event: None, guard: Arc::default(), _own: None })
    }

    /// Creates an instance with a runtime of its own, for a program without one. Dropping it does not
    /// wait for calls; [`Blocking::close`] stops the servers.
    ///
    /// # Errors
    /// The system cannot start the threads.
    pub fn with_threads(executor: Arc<Executor>) -> std::io::Result<Self> {
        let own = Builder::new_multi_thread().worker_threads(THREADS).enable_all().build()?;
        Ok(Self {
            executor,
            runtime: own.handle().clone(),
            on_event: None,
            guard: Arc::default(),
            _own: Some(Arc::new(OwnRuntime(Some(own)))),
        })
    }

    /// Sets a callback for the events of all calls. It must not block.
    #[must_use]
    pub fn on_event(mut self, on_event: OnEvent) -> Self {
        self.on_event = Some(on_event);
        self
    }

    /// Limits the calls of all orders together.
    #[must_use]
    pub fn with_limits(mut self, limits: CallLimits) -> Self {
        self.guard = Arc::new(LoopGuard::new(limits));
        self
    }

    /// Returns the executor that makes the calls.
    pub fn executor(&self) -> &Arc<Executor> {
        &self.executor
    }

    /// Stops all servers that were started.
    pub fn close(&self) {
        let executor = Arc::clone(&self.executor);
        self.wait_for(async move { executor.close().await });
    }

    /// Makes a call and blocks until it ends. Returns `None` if the runtime ends first; the outcome
    /// is then unknown.
    ///
    /// Must not be called on one of the runtime's own threads, which would wait for itself; use
    /// `spawn_blocking` there.
    ///
    /// # Panics
    /// If the callback for events panics.
    pub fn call(&self, order: Order) -> Option<Report> {
        let (executor, on_event) = (Arc::clone(&self.executor), self.on_event.clone());
        let guard = Arc::clone(&self.guard);
        self.wait_for(async move {
            let tell = |event| {
                if let Some(told) = &on_event {
                    told(event);
                }
            };
            let request = Request {
                confirmed: order.confirmed,
                question: &order.question,
                budget_tokens: order.budget_tokens,
                on_event: &tell,
                ..Request::new(&order.candidates, &order.arguments, &guard)
            };
            executor.call_with_key(&request, order.key.as_deref()).await
        })
    }

    fn wait_for<T: Send + 'static>(
        &self,
        work: impl Future<Output = T> + Send + 'static,
    ) -> Option<T> {
        let (done, wait) = mpsc::channel();
        self.runtime.spawn(async move {
            // The receiver may be gone already.
            done.send(catch_panic(work).await).ok();
        });
        Some(wait.recv().ok()?.unwrap_or_else(|panic| resume_unwind(panic)))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::execution::{Closures, ExecutorOptions, Outcome, Servers};
    use toolroute_catalog::Tool;

    #[test]
    fn a_call_is_waited_for_and_needs_a_runtime() {
        let tool = Tool::new(Some("s"), "twice", "");
        let closures =
            Closures::new().with(tool.clone(), |given| Ok(json!([given["n"], given["n"]])));
        let servers = Servers::new().with("s", closures);
        let executor = Arc::new(Executor::new(servers, ExecutorOptions::default()));
        assert!(matches!(Blocking::new(Arc::clone(&executor)), Err(Error::NoRuntime)));
        let runtime = Builder::new_multi_thread().enable_all().build().unwrap();
        let blocking = {
            let _inside = runtime.enter();
            Blocking::new(executor).unwrap()
        };
        let arguments = json!({"n": 4}).as_object().unwrap().clone();
        let candidates = vec![Candidate::asked(Arc::new(tool))];
        let order = Order { candidates, arguments, ..Order::default() };
        let report = blocking.call(order.clone()).unwrap();
        let Outcome::Answered(answer) = &report.outcome else { panic!("{report:?}") };
        assert_eq!(answer.output.data, Some(json!([4, 4])));
        assert!(report.reached());
        drop(runtime);
        assert!(blocking.call(order).is_none(), "nobody is left to answer");
    }
}
