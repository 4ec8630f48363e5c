//! Runs of tools, handed on to whoever keeps a log of them.

use std::time::Duration;

use super::Engine;
use crate::feedback::Execution;

/// One run of a tool, as its caller saw it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ToolRun {
    /// The tool, by any spelling of its id.
    pub tool: String,
    pub success: bool,
    pub latency: Option<Duration>,
    /// The prompt for which it was chosen.
    pub prompt: Option<String>,
    /// The id of the tool that ran before it, for the same task.
    pub after: Option<String>,
    /// What its caller says of the outcome.
    pub note: Option<String>,
}

/// Keeps a log of runs. It must not block: selections and runs wait for nobody's disk.
pub trait Recorder: Send + Sync {
    fn record(&self, run: &ToolRun);

    /// Writes what is not written yet. Called once, at an orderly end.
    fn close(&self);

    /// Runs that wait to be written.
    fn waiting(&self) -> usize {
        0
    }
}

impl Engine {
    /// Tells the log of a run, and the [`Recorder`]; without either it is only counted.
    pub fn record_execution(&self, run: &ToolRun) {
        self.note(run, || self.execution(run));
    }

    /// [`Engine::record_execution`] of a run of which more is known.
    pub(super) fn note(&self, run: &ToolRun, execution: impl FnOnce() -> Execution) {
        self.metrics.executed(run);
        if self.feedback_counts().is_some()
            && let Err(error) = self.record(execution())
        {
            tracing::warn!("a run is not logged: {error}");
        }
        if let Some(recorder) = &self.recorder {
            recorder.record(run);
            self.metrics.waiting(recorder.waiting());
        }
    }

    fn execution(&self, run: &ToolRun) -> Execution {
        let tool = self.catalog().get(&run.tool).map(|tool| tool.id.clone());
        let tool = tool.unwrap_or_else(|| run.tool.as_str().into());
        let mut execution =
            Execution::new(tool, run.prompt.as_deref().unwrap_or_default(), run.success);
        execution.duration_ms = run.latency.map(|took| took.as_millis() as u64);
        execution.feedback = run.note.clone();
        execution
    }

    /// Ends in good order: what is not written yet is written, and cached answers are dropped.
    pub fn close(&self) {
        if self.feedback_counts().is_some()
            && let Err(error) = self.flush_feedback()
        {
            tracing::warn!("the log of runs is not complete: {error}");
        }
        if let Some(recorder) = &self.recorder {
            recorder.close();
            self.metrics.waiting(recorder.waiting());
        }
        self.cache.clear();
    }
}
