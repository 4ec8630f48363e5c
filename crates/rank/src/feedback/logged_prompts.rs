//! The prompts of a log and the tools that served them, from which usage vectors are learned.

use std::collections::{BTreeMap, HashMap};

use toolroute_catalog::ToolId;

use super::credibility::{day, is_conversation};
use super::execution::PromptHash;
use super::store::ExecutionStore;
use super::{Execution, StoreError};

/// The maximum number of prompts that count for one tool on one day: from one client that names no
/// session ([`super::client_session`]), or from all named sessions together, because a client can
/// invent names. Executions without a session are the user's own, for example imported ones, and
/// are not bounded here.
pub const PROMPTS_PER_TOOL_AND_DAY: u32 = 20;

/// A prompt, and the tools that served it.
#[derive(Clone, Debug, PartialEq)]
pub struct LoggedPrompt {
    pub hash: PromptHash,
    /// The text, if the log keeps prompts.
    pub text: Option<String>,
    /// The vector that the requested model made, if the log contains it.
    pub vector: Option<Vec<f32>>,
    /// The tools by id, each with its successes minus its failures, divided by its runs for this
    /// prompt: above 0, and 1 without failures.
    pub served: Vec<(ToolId, f32)>,
}

/// The prompts of a log, and how many of them cannot be used.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LoggedPrompts {
    pub queries: Vec<LoggedPrompt>,
    /// The number of prompts with neither a text nor a vector of the model.
    pub unusable: usize,
}

#[derive(Default)]
struct Prompt {
    text: Option<String>,
    vector: Option<Vec<f32>>,
    outcomes: BTreeMap<ToolId, (u32, u32)>,
}

impl ExecutionStore {
    /// Returns the prompts that tools served, ordered by hash, with vectors by `model`. A tool that
    /// failed for a prompt at least as often as it succeeded does not count.
    pub fn logged_prompts(&self, model: &str) -> Result<LoggedPrompts, StoreError> {
        let mut prompts: BTreeMap<PromptHash, Prompt> = BTreeMap::new();
        let mut sources = HashMap::new();
        self.for_each(|execution| gather(execution, model, &mut prompts, &mut sources))?;
        let mut past = LoggedPrompts::default();
        for (hash, Prompt { text, vector, outcomes }) in prompts {
            let served = outcomes.into_iter().filter_map(|(tool, (good, bad))| {
                let share = (f64::from(good) - f64::from(bad)) / f64::from(good + bad);
                (share > 0.0).then_some((tool, share as f32))
            });
            let served: Vec<(ToolId, f32)> = served.collect();
            if served.is_empty() {
                continue;
            }
            if text.is_none() && vector.is_none() {
                past.unusable += 1;
            } else {
                past.queries.push(LoggedPrompt { hash, text, vector, served });
            }
        }
        Ok(past)
    }
}

/// The number of prompts by client, tool and day; all named sessions share the client `None`.
type Sources = HashMap<(Option<String>, ToolId, i64), u32>;

fn gather(
    execution: Execution,
    model: &str,
    prompts: &mut BTreeMap<PromptHash, Prompt>,
    sources: &mut Sources,
) {
    let day = day(&execution);
    let Some(hash) = execution.hash() else { return };
    if let (Some(session), true) = (execution.session, execution.success) {
        let sender = (!is_conversation(&session)).then_some(session);
        let said = sources.entry((sender, execution.tool.clone(), day)).or_default();
        *said += 1;
        if *said > PROMPTS_PER_TOOL_AND_DAY {
            return;
        }
    }
    let prompt = prompts.entry(hash).or_default();
    let vector = execution.vector.filter(|vector| vector.model == model);
    prompt.vector = vector.map(|vector| vector.values).or(prompt.vector.take());
    prompt.text = execution.prompt.or(prompt.text.take());
    let (good, bad) = prompt.outcomes.entry(execution.tool).or_default();
    *if execution.success { good } else { bad } += 1;
}
