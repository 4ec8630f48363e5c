//! What is known around a prompt: the conversation, the stage of work, the caller's model and wishes.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{EngineConfig, Error, SelectRequest};
use crate::query::{self, ContextFeatures, KnownWords, Speaker, Stage, Turn};
use crate::selection::ToolFilter;

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

impl EngineConfig {
    /// Tools in the answer to a request, at most.
    pub(super) fn limit_for(&self, request: &SelectRequest) -> Result<usize, Error> {
        let limit = request.limit.unwrap_or(self.limit);
        let Some(context) = &request.context else { return Ok(limit) };
        let limit = limit.min(context.max_tools);
        match &context.model {
            Some(model) if self.small_models.is_small(model) => {
                Ok(limit.min(self.small_models.max_tools))
            }
            _ => Ok(limit),
        }
    }

    /// How near to each other scores must be for the policy to decide, on the scale of a cosine.
    pub(super) fn band_for(&self, request: &SelectRequest) -> Result<f32, Error> {
        let band = request.policy_band.unwrap_or(self.policy_band);
        if (0.0..=1.0).contains(&band) {
            Ok(band)
        } else {
            Err(Error::BadPolicyBand { found: band })
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
        let servers = context.profile.as_ref().and_then(|name| self.profile_servers.get(name));
        let profile = ToolFilter::new(profile.map(Vec::as_slice), &[], None)?
            .of_servers(servers.map(Vec::as_slice).unwrap_or_default());
        let enabled = context.enabled_tools.as_deref();
        Ok([profile, ToolFilter::new(enabled, &context.excluded_tools, context.stage)?])
    }
}

/// A request whose prompt says by itself what it wants: where it goes on with a conversation, it is
/// read with what was said, slips of the fingers are mended where `words` are known, and what it
/// says not to do is left out.
pub(super) fn read<'a>(
    request: &'a SelectRequest,
    words: Option<&impl KnownWords>,
) -> Cow<'a, SelectRequest> {
    let mut prompt = match request.context.as_ref().filter(|context| context.depth > 0) {
        Some(context) => continued(&request.prompt, context),
        None => Cow::Borrowed(request.prompt.as_str()),
    };
    if let Some(words) = words {
        prompt = then(prompt, |prompt| query::without_typos(prompt, words));
    }
    match then(prompt, query::without_negated) {
        Cow::Borrowed(_) => Cow::Borrowed(request),
        Cow::Owned(prompt) => Cow::Owned(SelectRequest { prompt, ..request.clone() }),
    }
}

/// What a further step makes of a text, which stays as it is where the step changes nothing.
pub(super) fn then<'a>(text: Cow<'a, str>, step: impl Fn(&str) -> Cow<'_, str>) -> Cow<'a, str> {
    match step(&text) {
        Cow::Borrowed(_) => text,
        Cow::Owned(changed) => Cow::Owned(changed),
    }
}

/// A prompt with what the user said before, where it hangs on that.
fn continued<'a>(prompt: &'a str, context: &SelectContext) -> Cow<'a, str> {
    let turns = context.history.iter().rev().filter(|turn| turn.role == Speaker::User);
    let said: Vec<Turn> = turns.take(context.depth).cloned().collect();
    let said: Vec<Turn> = said.into_iter().rev().collect();
    query::routing_text(prompt, &said)
}

#[cfg(test)]
mod tests {
    use super::*;

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
