//! What a context comes to for a request: how many tools, which of them, and how the prompt is read.

use std::borrow::Cow;

use super::{Context, EngineConfig, Error, SelectRequest};
use crate::query::{self, KnownWords, Speaker, Turn};
use crate::selection::ToolFilter;

impl EngineConfig {
    /// Tools in the answer to a request, at most.
    pub(super) fn limit_for(&self, request: &SelectRequest) -> Result<usize, Error> {
        let limit = request.limit.unwrap_or(self.limit);
        let Some(context) = &request.context else { return Ok(limit) };
        let limit = limit.min(context.max_tools.unwrap_or(usize::MAX));
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
    pub(super) fn filters(&self, context: Option<&Context>) -> Result<[ToolFilter; 2], Error> {
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
fn continued<'a>(prompt: &'a str, context: &Context) -> Cow<'a, str> {
    let turns = context.conversation.iter().rev().filter(|turn| turn.role == Speaker::User);
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
        let small = Context { model: Some("gemma:2b".into()), ..Context::default() };
        let few = Context { max_tools: Some(7), ..Context::default() };
        assert_eq!(limit(Some(50), None), 50);
        assert_eq!(limit(Some(50), Some(Context::default())), 50);
        assert_eq!(limit(Some(50), Some(few)), 7);
        assert_eq!(limit(Some(50), Some(small.clone())), 10);
        assert_eq!(limit(Some(3), Some(small)), 3);
        assert_eq!(limit(None, Some(Context::default())), config.limit);
    }
}
