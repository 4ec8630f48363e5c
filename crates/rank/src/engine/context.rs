//! Applies a request's candidates and context: the number of tools, which tools, and the reading of
//! the prompt.

use super::state::State;
use super::{Context, EngineConfig, Error, SelectRequest};
use crate::query::{Lexicon, Reading, ReadingWords, Speaker};
use crate::selection::{Policy, ToolFilter};

impl EngineConfig {
    /// Returns the maximum number of tools in the answer to a request.
    pub(super) fn limit_for(&self, request: &SelectRequest) -> usize {
        let limit = request.limit.unwrap_or(self.limit);
        let Some(context) = &request.context else { return limit };
        let limit = limit.min(context.max_tools.unwrap_or(usize::MAX));
        context.model.as_ref().map_or(limit, |model| self.small_models.cap(model, limit))
    }

    /// Returns the width of a band of scores within which the policy orders, on the scale of a
    /// cosine.
    pub(super) fn band_for(&self, request: &SelectRequest) -> Result<f32, Error> {
        let band = request.policy_band.unwrap_or(self.policy_band);
        match (0.0..=1.0).contains(&band) {
            true => Ok(band),
            false => Err(Error::BadPolicyBand { found: band }),
        }
    }

    /// Returns the policy of the request, else that of the configuration.
    pub(super) fn policy_for(&self, request: &SelectRequest) -> Result<Policy, Error> {
        let policy = request.policy.unwrap_or(self.policy);
        match policy.near_best {
            Some(found) if !(0.0..=1.0).contains(&found) => Err(Error::BadNearBest { found }),
            _ => Ok(policy),
        }
    }

    /// Returns the filters of a context: that of its profile and its own.
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

impl State {
    /// Returns the rows of the request's candidates, ascending, and the ids that are not in the
    /// catalog.
    pub fn candidate_rows(
        &self,
        request: &SelectRequest,
    ) -> Result<(Option<Vec<u32>>, Vec<String>), Error> {
        let Some(ids) = &request.candidates else { return Ok((None, Vec::new())) };
        let (mut rows, unknown) = self.known_rows(ids)?;
        rows.sort_unstable();
        rows.dedup();
        Ok((Some(rows), unknown))
    }

    pub fn check_candidates(&self, ids: &[String]) -> Result<(), Error> {
        self.known_rows(ids).map(drop)
    }

    fn known_rows(&self, ids: &[String]) -> Result<(Vec<u32>, Vec<String>), Error> {
        let (mut rows, mut unknown) = (Vec::with_capacity(ids.len()), Vec::new());
        for id in ids {
            match self.catalog.row(id) {
                Some(row) => rows.push(row),
                None => unknown.push(id.clone()),
            }
        }
        if let (true, Some(first)) = (rows.is_empty(), unknown.first()) {
            let near = self.catalog.near(first, 2).into_iter().map(|id| id.to_string()).collect();
            return Err(Error::UnknownCandidates { count: ids.len(), first: first.clone(), near });
        }
        Ok((rows, unknown))
    }
}

/// Reads the prompt of a request together with the user's latest turns, and those of the assistant after
/// them.
pub(super) fn read(request: &SelectRequest, words: &ReadingWords<'_, impl Lexicon>) -> Reading {
    let context = request.context.as_ref().filter(|context| context.depth > 0);
    let said = context.map_or(&[][..], |context| {
        let turns = &context.conversation;
        let mut users = (0..turns.len()).rev().filter(|at| turns[*at].role == Speaker::User);
        let from = users.by_ref().take(context.depth).last();
        &turns[from.unwrap_or(turns.len())..]
    });
    Reading::new(&request.prompt, said, words)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_least_limit_counts() {
        let config = EngineConfig::default();
        let limit = |limit, context| {
            let request = SelectRequest { limit, context, ..SelectRequest::new("x") };
            config.limit_for(&request)
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
