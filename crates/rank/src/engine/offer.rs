//! What an answer offered for a prompt, as stored in sessions and in the log.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{ContextFeatures, Selection};
use crate::catalog::ToolId;
use crate::feedback::{Choice, Execution, LoggedContext};

/// Maximum number of tools of an answer that are stored and logged.
const OFFERED: usize = 20;

/// Maximum number of characters of a prompt that are stored.
const MOST_CHARS: usize = 16_384;

/// A prompt, and the tools that an answer offered for it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Offer {
    /// The prompt, trimmed and truncated.
    pub prompt: String,
    /// Best first.
    pub tools: Vec<OfferedTool>,
    /// The features of the prompt and the files around it, if they were determined.
    #[serde(skip_serializing_if = "LoggedContext::is_empty")]
    pub context: LoggedContext,
}

/// One tool of an offer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OfferedTool {
    /// The id of the tool.
    pub id: ToolId,
    /// Its score.
    pub score: f32,
    /// The value of each signal for it, before its weight.
    #[serde(default)]
    pub parts: BTreeMap<String, f32>,
}

impl Offer {
    /// An offer without tools for a prompt, which is trimmed and truncated to 16,384 characters.
    pub fn new(prompt: &str) -> Self {
        let prompt = prompt.trim().chars().take(MOST_CHARS).collect();
        Self { prompt, ..Self::default() }
    }

    /// Returns a run of a tool for this prompt, to be passed to [`super::Engine::record`] after its
    /// duration and session are filled in. A tool that was not offered has no rank.
    pub fn execution(&self, tool: &ToolId, success: bool) -> Execution {
        let offered = self.tools.iter().map(|offered| offered.id.clone()).collect();
        let mut choice = Choice { offered, ..Choice::default() };
        if let Some(place) = self.tools.iter().position(|offered| offered.id == *tool) {
            let chosen = &self.tools[place];
            choice.rank = u32::try_from(place + 1).ok();
            choice.score = Some(chosen.score);
            choice.parts = chosen.parts.clone();
        }
        let execution = Execution::new(tool.clone(), self.prompt.clone(), success);
        Execution { choice, context: self.context.clone(), ..execution }
    }
}

impl Selection {
    /// Converts this answer to an offer: its prompt, its first 20 tools and the values of their
    /// signals.
    ///
    /// ```
    /// # use toolroute_catalog::{Catalog, Tool};
    /// # use toolroute_rank::engine::{Engine, SelectRequest};
    /// let tools = vec![Tool::new(Some("mail"), "send_email", "Sends an email to a person")];
    /// let engine = Engine::builder(Catalog::from_tools(tools).catalog).build()?;
    /// let prompt = "send an email to Dana";
    /// let offer = engine.select(&SelectRequest::new(prompt))?.offer(prompt);
    /// let execution = offer.execution(&"mail__send_email".into(), true);
    /// assert_eq!(execution.choice.rank, Some(1));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn offer(&self, prompt: &str) -> Offer {
        let offered = self.tools.iter().take(OFFERED).map(|selected| {
            // Bonuses from the prompt's wording have no weight and are not signals.
            let parts = selected.explanation.parts.iter();
            let parts = parts.filter(|part| !["exact_name", "wording"].contains(&part.name));
            OfferedTool {
                id: selected.tool.id.clone(),
                score: selected.score,
                parts: parts.map(|part| (part.name.to_owned(), part.normalized)).collect(),
            }
        });
        let features = self.analysis.as_ref().map(|analysis| &analysis.features);
        Offer {
            tools: offered.collect(),
            context: features.map(logged).unwrap_or_default(),
            ..Offer::new(prompt)
        }
    }
}

/// Converts features to the log's format.
fn logged(features: &ContextFeatures) -> LoggedContext {
    LoggedContext {
        phase: features.phase.map(|phase| phase.as_str().to_owned()),
        task_type: features.task_type.map(|task| task.as_str().to_owned()),
        languages: features.languages.clone(),
        complexity: features.complexity,
        structure: features.structure.as_ref().map(|code| code.kind.as_str().to_owned()),
        testing: features.testing.map(|testing| testing.as_str().to_owned()),
    }
}
