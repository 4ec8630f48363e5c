//! Blocking calls, for code that is not asynchronous.

use std::sync::{Arc, mpsc};

use tokio::runtime::{Builder, Handle, Runtime};

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
    _own: Option<Arc<Runtime>>,
}

/// One request, owned so that another thread can run it.
#[derive(Clone, Debug, Default)]
pub struct Order {
    /// In the order in which they are tried.
    pub candidates: Vec<Candidate>,
    pub arguments: Arguments,
    /// An idempotency key: the same for each repetition of this order, and different for every
    /// other order.
    pub key: Option<String>,
    /// Whether a person agreed to destructive calls.
    pub confirmed: bool,
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

    /// Creates an instance with a runtime of its own, for a program without one.
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
            _own: Some(Arc::new(own)),
        })
    }

    #[must_use]
    pub fn telling(mut self, on_event: OnEvent) -> Self {
        self.on_event = Some(on_event);
        self
    }

    /// Limits the calls of all orders together.
    #[must_use]
    pub fn limited(mut self, limits: CallLimits) -> Self {
        self.guard = Arc::new(LoopGuard::new(limits));
        self
    }

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
                candidates: &order.candidates,
                arguments: &order.arguments,
                guard: &guard,
                confirmed: order.confirmed,
                question: "",
                budget_tokens: None,
                user: None,
                on_event: &tell,
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
            done.send(work.await).ok();
        });
        wait.recv().ok()
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
