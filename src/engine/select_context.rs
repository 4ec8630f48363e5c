//! What is known around a prompt: the conversation, the stage of work, the caller's model and wishes.

use std::borrow::Cow;
use std::collections::BTreeMap;

use regex::RegexBuilder;
use serde::{Deserialize, Serialize};

use super::{EngineConfig, Error, SelectRequest};
use crate::query::{self, ContextFeatures, Turn};
use crate::selection::{Stage, ToolFilter};

/// Tools in an answer at most where a context does not say otherwise, as Victor has it.
pub const MAX_TOOLS: usize = 15;

/// What a caller knows beside the prompt. All of it is optional.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SelectContext {
    /// The conversation before the prompt, oldest first.
    pub history: Vec<Turn>,
    /// Turns of the user that a prompt such as "now the same for Berlin" is read with; 0 reads
    /// each prompt by itself.
    pub depth: usize,
    /// Stages of looking get read-only tools alone.
    pub stage: Option<Stage>,
    /// What the work is about; tools' facets are compared with it.
    pub features: Option<ContextFeatures>,
    /// Ids of tools that the caller plans to use.
    pub planned_tools: Vec<String>,
    /// The id of the tool used last: what tends to follow it is lifted.
    pub last_tool: Option<String>,
    /// Tools in an answer at most, whatever the limit.
    pub max_tools: usize,
    /// Whether dear tools are lowered.
    pub cost_aware: bool,
    /// Whether slow tools are lowered; `None` goes by the prompt's words.
    pub urgent: Option<bool>,
    /// The name of one of the configuration's profiles.
    pub profile: Option<String>,
    /// Patterns over ids, of which a tool must match one; within those of the profile.
    pub enabled_tools: Option<Vec<String>>,
    /// Patterns over ids that are left out.
    pub excluded_tools: Vec<String>,
    /// The name of the model that will call the tools: a small one gets fewer.
    pub model: Option<String>,
    /// Files in sight, each with a hash of its content: another content is another question.
    pub files: BTreeMap<String, String>,
}

impl Default for SelectContext {
    fn default() -> Self {
        Self {
            history: Vec::new(),
            depth: 2,
            stage: None,
            features: None,
            planned_tools: Vec::new(),
            last_tool: None,
            max_tools: MAX_TOOLS,
            cost_aware: false,
            urgent: None,
            profile: None,
            enabled_tools: None,
            excluded_tools: Vec::new(),
            model: None,
            files: BTreeMap::new(),
        }
    }
}

/// Which models are small, and how many tools one gets.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SmallModels {
    pub max_tools: usize,
    /// A model whose name says that it has at most so many billions of weights is small.
    pub billions: f32,
    /// Regular expressions over names, without regard to case.
    pub names: Vec<String>,
}

impl Default for SmallModels {
    fn default() -> Self {
        let names = [r"(^|[^a-z])(mini|nano|tiny|small|haiku|flash-lite)([^a-z]|$)"];
        Self { max_tools: 10, billions: 8.0, names: names.map(str::to_owned).to_vec() }
    }
}

impl SmallModels {
    /// Whether a model of this name is small.
    ///
    /// # Errors
    /// [`Error::BadModelRule`] for a name that is no regular expression.
    pub fn is_small(&self, model: &str) -> Result<bool, Error> {
        if billions(model).is_some_and(|found| found <= self.billions) {
            return Ok(true);
        }
        for rule in &self.names {
            let built = RegexBuilder::new(rule).case_insensitive(true).size_limit(1 << 18).build();
            let bad = |_| Error::BadModelRule { found: rule.clone() };
            if built.map_err(bad)?.is_match(model) {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

/// The billions of weights that a name tells, as in `llama3.2:3b` and `Qwen2.5-0.5B-Instruct`.
fn billions(model: &str) -> Option<f32> {
    let lower = model.to_lowercase();
    let parts = lower.split(|c: char| !(c.is_ascii_alphanumeric() || c == '.'));
    parts.filter_map(|part| part.strip_suffix('b')?.parse().ok()).next_back()
}

impl EngineConfig {
    /// Tools in the answer to a request, at most.
    pub(super) fn limit_for(&self, request: &SelectRequest) -> Result<usize, Error> {
        let limit = request.limit.unwrap_or(self.limit);
        let Some(context) = &request.context else { return Ok(limit) };
        let limit = limit.min(context.max_tools);
        match &context.model {
            Some(model) if self.small_models.is_small(model)? => {
                Ok(limit.min(self.small_models.max_tools))
            }
            _ => Ok(limit),
        }
    }

    /// The filters that a context comes to: the profile's, then its own.
    pub(super) fn filters(
        &self,
        context: Option<&SelectContext>,
    ) -> Result<[ToolFilter; 2], Error> {
        let Some(context) = context else { return Ok(Default::default()) };
        let profile = match &context.profile {
            None => None,
            Some(name) => Some(self.profiles.get(name).ok_or_else(|| Error::UnknownProfile {
                name: name.clone(),
                known: self.profiles.keys().cloned().collect(),
            })?),
        };
        let profile = ToolFilter::new(profile.map(Vec::as_slice), &[], None)?;
        let enabled = context.enabled_tools.as_deref();
        Ok([profile, ToolFilter::new(enabled, &context.excluded_tools, context.stage)?])
    }
}

/// A request whose prompt says by itself what it wants: where it goes on with a conversation, it is
/// read with what was said.
pub(super) fn read(request: &SelectRequest) -> Cow<'_, SelectRequest> {
    let Some(context) = request.context.as_ref().filter(|context| context.depth > 0) else {
        return Cow::Borrowed(request);
    };
    match query::with_conversation(&request.prompt, &context.history, context.depth) {
        Cow::Borrowed(_) => Cow::Borrowed(request),
        Cow::Owned(prompt) => Cow::Owned(SelectRequest { prompt, ..request.clone() }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_models_are_told_by_their_names() {
        let rule = SmallModels::default();
        for small in
            ["llama3.2:3b", "Qwen2.5-0.5B-Instruct", "gpt-4o-mini", "claude-3-haiku", "phi-8b"]
        {
            assert!(rule.is_small(small).unwrap(), "{small}");
        }
        for large in ["llama-3.3-70b", "gpt-4", "claude-sonnet", "gemini-pro", "mixtral-8x22b", ""]
        {
            assert!(!rule.is_small(large).unwrap(), "{large}");
        }
        let bad = SmallModels { names: vec!["(".into()], ..rule };
        assert!(matches!(bad.is_small("gpt-4"), Err(Error::BadModelRule { .. })));
    }

    #[test]
    fn the_least_limit_counts() {
        let config = EngineConfig::default();
        let limit = |limit, context| {
            let request = SelectRequest { limit, context, ..SelectRequest::new("x") };
            config.limit_for(&request).unwrap()
        };
        let small = SelectContext { model: Some("gemma:2b".into()), ..SelectContext::default() };
        assert_eq!(limit(Some(50), None), 50);
        assert_eq!(limit(Some(50), Some(SelectContext::default())), MAX_TOOLS);
        assert_eq!(limit(Some(50), Some(small.clone())), 10);
        assert_eq!(limit(Some(3), Some(small)), 3);
        assert_eq!(limit(None, Some(SelectContext::default())), config.limit);
    }
}
