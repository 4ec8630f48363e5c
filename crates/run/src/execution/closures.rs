//! Tools that are closures of this program.

use std::any::Any;
use std::collections::HashMap;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;

use serde_json::Value;

use super::invoker::{Arguments, Call, Fault, FaultKind, Invoker, Output, Pending};
use toolroute_catalog::Tool;

type Answering = Pending<'static, Result<Output, String>>;
type Function = Arc<dyn Fn(Arguments) -> Answering + Send + Sync>;

/// Tools that are closures, by tool name. A closure that panics answers with an error that says so.
#[derive(Clone, Default)]
pub struct Closures {
    functions: HashMap<String, Function>,
    tools: Vec<Tool>,
}

impl Closures {
    /// Creates a collection without tools.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a synchronous function. It may block: it runs on the runtime's blocking pool.
    #[must_use]
    pub fn with<F>(self, tool: Tool, function: F) -> Self
    where
        F: Fn(Arguments) -> Result<Value, String> + Send + Sync + 'static,
    {
        let function = Arc::new(function);
        self.with_async(tool, move |arguments| {
            let function = Arc::clone(&function);
            async move {
                let run = tokio::task::spawn_blocking(move || function(arguments));
                match run.await {
                    Ok(answer) => answer.map(Output::data),
                    Err(error) if error.is_panic() => Err(panicked(&*error.into_panic())),
                    Err(_) => Err("the program ended before the function ran".to_owned()),
                }
            }
        })
    }

    /// Adds an asynchronous function.
    #[must_use]
    pub fn with_async<F, R>(mut self, tool: Tool, function: F) -> Self
    where
        F: Fn(Arguments) -> R + Send + Sync + 'static,
        R: Future<Output = Result<Output, String>> + Send + 'static,
    {
        let function = Arc::new(function);
        let boxed: Function = Arc::new(move |arguments| -> Answering {
            let function = Arc::clone(&function);
            // The function itself may panic, before there is a future.
            let answering = async move { function(arguments).await };
            Box::pin(async {
                catch_panic(answering).await.unwrap_or_else(|panic| Err(panicked(&*panic)))
            })
        });
        self.functions.insert(tool.name.clone(), boxed);
        self.tools.push(tool);
        self
    }
}

/// Returns the output of a future, or the payload of its panic.
pub(super) async fn catch_panic<T>(work: impl Future<Output = T>) -> std::thread::Result<T> {
    let mut work = pin!(work);
    std::future::poll_fn(|context| {
        // After a panic the future is not polled again.
        match catch_unwind(AssertUnwindSafe(|| work.as_mut().poll(context))) {
            Ok(poll) => poll.map(Ok),
            Err(panic) => Poll::Ready(Err(panic)),
        }
    })
    .await
}

pub(super) fn panicked(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().copied();
    let text = text.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    format!("the tool's function panicked: {}", text.unwrap_or("without a message"))
}

impl fmt::Debug for Closures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.tools.iter().map(|tool| &tool.name)).finish()
    }
}

impl Invoker for Closures {
    fn invoke<'a>(&'a self, call: Call<'a>) -> Pending<'a, Result<Output, Fault>> {
        Box::pin(async move {
            let Some(function) = self.functions.get(&call.tool.name) else {
                let said = format!("no function is registered as `{}`", call.tool.name);
                return Err(Fault::before(FaultKind::Missing, said));
            };
            // An error of the function is an answer with `is_error`, not a fault: the function ran,
            // and there is no transport that could fail.
            let answered = function(call.arguments.clone()).await;
            Ok(answered.unwrap_or_else(|said| Output { is_error: true, ..Output::text(said) }))
        })
    }

    fn tools(&self) -> Pending<'_, Result<Vec<Tool>, Fault>> {
        Box::pin(std::future::ready(Ok(self.tools.clone())))
    }
}
