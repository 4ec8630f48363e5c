//! Passes prompts and completions of the upstream servers through. A prompt is named
//! `server__prompt`.

use std::collections::BTreeSet;

use rmcp::ErrorData;
use rmcp::model::{
    CompleteRequestParams, CompleteResult, ErrorCode, GetPromptRequestParams, GetPromptResult,
    Prompt,
};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use toolroute_run::execution::User;

use super::{Gateway, internal};
use crate::Error;

impl Gateway {
    pub(super) async fn prompts(&self) -> Result<Vec<Prompt>, ErrorData> {
        let mut prompts = Vec::new();
        let listed = self.all("prompts/list", "prompts").await?;
        let open = self.open()?;
        for (server, listed) in listed {
            for mut prompt in each::<Prompt>(&server, listed) {
                prompt.name = format!("{server}__{}", prompt.name);
                // A prompt whose name belongs to another server is not listed.
                match split(&open, &prompt.name) {
                    Some((owner, _)) if owner != server => tracing::warn!(
                        "the prompt {} of the server `{server}` is left out: its name is one of \
                         the server `{owner}`; rename one of the two servers",
                        prompt.name
                    ),
                    _ => prompts.push(prompt),
                }
            }
        }
        Ok(prompts)
    }

    pub(super) async fn prompt(
        &self,
        request: GetPromptRequestParams,
        user: &User,
    ) -> Result<GetPromptResult, ErrorData> {
        let (server, name) = self.server_and_name(&request.name).await?;
        let params = json!({ "name": name, "arguments": request.arguments.unwrap_or_default() });
        read(self.ask(&server, ("prompts/get", params), Some(user)).await?)
    }

    pub(super) async fn completion(
        &self,
        request: CompleteRequestParams,
    ) -> Result<CompleteResult, ErrorData> {
        const METHOD: &str = "completion/complete";
        let mut params = serde_json::to_value(&request)
            .map_err(|error| ErrorData::invalid_params(error.to_string(), None))?;
        let Some(name) = params["ref"]["name"].as_str().map(str::to_owned) else {
            let refused = match self.first_answer(METHOD, &params, None).await? {
                Ok(answer) => return read(answer),
                Err(refused) => refused.into_iter().next(),
            };
            return Err(refused.map_or_else(
                || ErrorData::resource_not_found("no server here has it", Some(params)),
                |(_, error)| to_protocol(&error),
            ));
        };
        let (server, name) = self.server_and_name(&name).await?;
        params["ref"]["name"] = Value::String(name);
        read(self.ask(&server, (METHOD, params), None).await?)
    }

    /// The lists of all servers of the profile. Servers that do not answer are left out.
    pub(super) async fn all(
        &self,
        method: &str,
        member: &str,
    ) -> Result<Vec<(String, Vec<Value>)>, ErrorData> {
        let (service, profile) = (&self.shared.service, self.shared.profile.as_deref());
        service.list_all(method, member, profile).await.map_err(|error| internal(&error))
    }

    /// The first answer in the order of the servers' names, or else the error of each server.
    pub(super) async fn first_answer(
        &self,
        method: &str,
        params: &Value,
        user: Option<&User>,
    ) -> Result<Result<Value, Vec<(String, Error)>>, ErrorData> {
        let (service, profile) = (&self.shared.service, self.shared.profile.as_deref());
        let answered = service.ask_all((method, params), user, profile).await;
        let mut refused = Vec::new();
        for (server, answer) in answered.map_err(|error| internal(&error))? {
            match answer {
                Ok(value) => return Ok(Ok(value)),
                Err(error) => refused.push((server, error)),
            }
        }
        Ok(Err(refused))
    }

    async fn ask(
        &self,
        server: &str,
        (method, params): (&str, Value),
        user: Option<&User>,
    ) -> Result<Value, ErrorData> {
        let asked = self.shared.service.ask(server, (method, params), user).await;
        asked.map_err(|error| to_protocol(&error))
    }

    async fn server_and_name(&self, name: &str) -> Result<(String, String), ErrorData> {
        self.shared.service.catch_up().await;
        let open = self.open()?;
        let found = split(&open, name);
        let found = found.map(|(server, rest)| (server.to_owned(), rest.to_owned()));
        found.ok_or_else(|| {
            let said = format!("expected the name of a prompt as server__prompt, found `{name}`");
            ErrorData::invalid_params(said, None)
        })
    }

    fn open(&self) -> Result<BTreeSet<String>, ErrorData> {
        let (service, profile) = (&self.shared.service, self.shared.profile.as_deref());
        service.open_servers(profile).map_err(|error| internal(&error))
    }
}

/// Splits `server__name` or `server:name`. The name of a server may itself contain either
/// separator, so the longest known name is used.
fn split<'a>(open: &'a BTreeSet<String>, name: &'a str) -> Option<(&'a str, &'a str)> {
    let split = open.iter().filter_map(|server| {
        let rest = name.strip_prefix(server.as_str())?;
        let rest = rest.strip_prefix("__").or_else(|| rest.strip_prefix(':'))?;
        Some((server.as_str(), rest))
    });
    split.max_by_key(|(server, _)| server.len())
}

/// Converts an error. An upstream server's own error is passed through.
pub(super) fn to_protocol(error: &Error) -> ErrorData {
    match error {
        Error::Refused { code, message } => ErrorData::new(ErrorCode(*code), message.clone(), None),
        error => internal(error),
    }
}

/// Reads an upstream server's result as rmcp's type. Protocol versions before 2026-07-28 have no
/// `resultType`, and clients of that version refuse a result without it; rmcp removes it for older
/// clients.
pub(super) fn read<T: DeserializeOwned>(mut value: Value) -> Result<T, ErrorData> {
    if let Some(members) = value.as_object_mut() {
        members.entry("resultType").or_insert_with(|| json!("complete"));
    }
    serde_json::from_value(value).map_err(|error| {
        ErrorData::internal_error(format!("the server's answer was not understood: {error}"), None)
    })
}

/// The elements of a list that rmcp can read.
pub(super) fn each<T: DeserializeOwned>(
    server: &str,
    listed: Vec<Value>,
) -> impl Iterator<Item = T> {
    listed.into_iter().filter_map(move |value| {
        let read = serde_json::from_value(value);
        read.inspect_err(|error| tracing::debug!(%error, server, "left out of a list")).ok()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prompt_is_that_of_the_longest_name() {
        let open = ["a", "a__b"].map(str::to_owned).into();
        for (name, server) in [
            ("a__b__c", Some(("a__b", "c"))),
            ("a__b_c", Some(("a", "b_c"))),
            ("a:b__c", Some(("a", "b__c"))),
            ("b__c", None),
        ] {
            assert_eq!(split(&open, name), server, "{name}");
        }
    }
}
