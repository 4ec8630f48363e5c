//! Passes resources of the upstream servers through. A resource keeps its URI. If two servers list
//! the same URI, the first one by name answers for it.

use std::collections::HashSet;

use rmcp::ErrorData;
use rmcp::model::{ReadResourceResult, Resource, ResourceTemplate};
use serde_json::{Value, json};
use toolroute_catalog::first_names;
use toolroute_run::execution::User;

use super::Gateway;
use super::prompts::{each, read, to_protocol};

/// The number of servers that an error names; it counts the rest.
const SHOWN: usize = 10;

impl Gateway {
    pub(super) async fn resources(&self) -> Result<Vec<Resource>, ErrorData> {
        let (mut resources, mut known) = (Vec::new(), HashSet::new());
        for (server, listed) in self.all("resources/list", "resources").await? {
            for resource in each::<Resource>(&server, listed) {
                if known.insert(resource.uri.clone()) {
                    resources.push(resource);
                }
            }
        }
        Ok(resources)
    }

    pub(super) async fn resource_templates(&self) -> Result<Vec<ResourceTemplate>, ErrorData> {
        let mut templates = Vec::new();
        for (server, listed) in self.all("resources/templates/list", "resourceTemplates").await? {
            templates.extend(each::<ResourceTemplate>(&server, listed));
        }
        Ok(templates)
    }

    pub(super) async fn resource(
        &self,
        uri: &str,
        user: &User,
    ) -> Result<ReadResourceResult, ErrorData> {
        read(self.ask_about_resource("resources/read", uri, Some(user)).await?)
    }

    pub(super) async fn subscribe_to(&self, uri: &str) -> Result<(), ErrorData> {
        self.ask_about_resource("resources/subscribe", uri, None).await.map(drop)
    }

    /// The answer of the first server, by name, that answers a request about a resource.
    ///
    /// # Errors
    /// The error of the server that lists the resource or a template for it. If none does, an error
    /// that names the servers with resources.
    async fn ask_about_resource(
        &self,
        method: &str,
        uri: &str,
        user: Option<&User>,
    ) -> Result<Value, ErrorData> {
        let params = json!({ "uri": uri });
        let refused = match self.first_answer(method, &params, user).await? {
            Ok(value) => return Ok(value),
            Err(refused) => refused,
        };
        let listed = self.all("resources/list", "resources").await?;
        let templates = self.all("resources/templates/list", "resourceTemplates").await?;
        let has = |resource: &Value| resource["uri"] == uri;
        let fits = |template: &Value| {
            let start = template["uriTemplate"].as_str().unwrap_or_default();
            let start = start.split('{').next().unwrap_or_default();
            !start.is_empty() && uri.starts_with(start)
        };
        let owns = |server: &str| {
            let among = |lists: &[(String, Vec<Value>)], is_it: &dyn Fn(&Value) -> bool| {
                lists.iter().any(|(name, list)| name == server && list.iter().any(is_it))
            };
            among(&listed, &has) || among(&templates, &fits)
        };
        if let Some((_, error)) = refused.iter().find(|(server, _)| owns(server)) {
            return Err(to_protocol(error));
        }
        let some = listed.iter().chain(&templates).filter(|(_, list)| !list.is_empty());
        let mut servers: Vec<&str> = some.map(|(server, _)| server.as_str()).collect();
        servers.sort_unstable();
        servers.dedup();
        Err(ErrorData::resource_not_found(not_found_message(uri, &servers), Some(params)))
    }
}

fn not_found_message(uri: &str, servers: &[&str]) -> String {
    let uri: String = uri.chars().filter(|c| !c.is_control()).take(200).collect();
    match servers {
        [] => format!("no server here has the resource `{uri}`, nor any other"),
        _ => {
            let servers = first_names(servers.iter(), SHOWN);
            format!(
                "no server here has the resource `{uri}`; servers with resources: {servers} \
                 (resources/list and resources/templates/list name them)"
            )
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn servers_with_resources_are_named() {
        assert!(
            not_found_message("x://y", &["a", "b"])
                .contains("`x://y`; servers with resources: a, b (")
        );
        let many: Vec<String> = (0..12).map(|at| format!("s{at}")).collect();
        let many: Vec<&str> = many.iter().map(String::as_str).collect();
        assert!(not_found_message("x://y", &many).contains("s9 and 2 more ("));
        assert!(not_found_message("x://\u{1b}y", &[]).ends_with("`x://y`, nor any other"));
    }
}
