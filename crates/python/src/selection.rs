//! An answer. Python reads it piece by piece, because most callers do not use the explanations.

use std::sync::Arc;

use pyo3::prelude::*;
use serde::Serialize;
use toolroute::Selection;

use crate::error::ToolrouteError;

/// The answer to one prompt.
#[pyclass(frozen, module = "toolroute._toolroute")]
pub struct NativeSelection {
    pub prompt: String,
    pub session: Option<String>,
    pub selection: Arc<Selection>,
}

/// The same JSON as that of `toolroute route --json`.
#[derive(Serialize)]
struct Answer<'a> {
    prompt: &'a str,
    #[serde(flatten)]
    selection: &'a Selection,
}

#[pymethods]
impl NativeSelection {
    #[getter]
    fn prompt(&self) -> &str {
        &self.prompt
    }

    #[getter]
    fn session(&self) -> Option<&str> {
        self.session.as_deref()
    }

    #[getter]
    fn strategy(&self) -> &'static str {
        self.selection.strategy.as_str()
    }

    #[getter]
    fn abstained(&self) -> bool {
        self.selection.abstained
    }

    #[getter]
    fn fit(&self) -> &'static str {
        self.selection.fit.as_str()
    }

    #[getter]
    fn confidence(&self) -> Option<f64> {
        self.selection.confidence.map(to_shortest_f64)
    }

    #[getter]
    fn read_as(&self) -> Option<&str> {
        self.selection.read_as.as_deref()
    }

    /// Why there is no tool, why it is unsure that one fits, or why the answer is worse than it could be.
    #[getter]
    fn reason(&self) -> Option<String> {
        let degraded = self.selection.degraded.map(|because| because.to_string());
        let none = || self.selection.no_tools.map(|because| because.to_string());
        let unfit = || self.selection.fit_reason.as_ref().map(|because| because.to_string());
        degraded.or_else(none).or_else(unfit)
    }

    /// The id, the score and the reason of each tool, best first.
    fn hits(&self) -> Vec<(&str, f64, &str)> {
        let hit = |found: &'_ toolroute::engine::SelectedTool| to_shortest_f64(found.score);
        let tools = self.selection.tools.iter();
        tools
            .map(|found| (found.tool.id.as_str(), hit(found), found.explanation.why.as_str()))
            .collect()
    }

    /// The id, the score and the reason of each tool that was left out.
    fn excluded(&self) -> Vec<(&str, f64, String)> {
        let tools = self.selection.excluded.iter();
        tools
            .map(|tool| (tool.id.as_str(), to_shortest_f64(tool.score), tool.because.to_string()))
            .collect()
    }

    fn json(&self) -> PyResult<String> {
        let answer = Answer { prompt: &self.prompt, selection: &self.selection };
        let text = serde_json::to_string(&answer);
        text.map_err(|error| ToolrouteError::new_err(error.to_string()))
    }
}

/// Converts a number to the double with the same decimal form: 0.478 instead of 0.4779999852180481.
pub fn to_shortest_f64(number: f32) -> f64 {
    number.to_string().parse().unwrap_or_else(|_| f64::from(number))
}
