//! Tools that are closures of this program.

use std::collections::HashMap;
use std::sync::Arc;

use serde_json::Value;

use super::invoker::{Arguments, Call, Fault, FaultKind, Invoker, Output, Pending};
use toolroute_catalog::Tool;

type Answering = Pending<'static, Result<Output, String>>;
type Function = Arc<dyn Fn(Arguments) -> Answering + Send + Sync>;

/// Tools that are closures, by tool name.
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
                run.await.map_err(|error| error.to_string())?.map(Output::data)
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
        let boxed: Function =
            Arc::new(move |arguments| -> Answering { Box::pin(function(arguments)) });
        self.functions.insert(tool.name.clone(), boxed);
        self.tools.push(tool);
        self
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
