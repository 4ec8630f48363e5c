//! Profiles: the tools that a kind of client may find and call.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;
use toolroute_catalog::Tool;
use toolroute_rank::engine::Context;
use toolroute_run::execution::Patterns;

use super::Error;

/// Profiles by name. The empty name is the default profile.
pub type Profiles = BTreeMap<String, Profile>;

/// The tools of one kind of client. The default admits all of them.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Profile {
    /// Patterns of tool ids; an empty list admits every id.
    pub tools: Vec<String>,
    /// Names of servers; an empty list admits every server.
    pub servers: Vec<String>,
    /// Ids of tools that `tools/list` always has under their own names.
    pub pinned: Vec<String>,
    /// The most tools in an answer.
    pub limit: Option<usize>,
    /// The subject of the work, by which [`Expose::Selected`](crate::Expose) chooses tools.
    pub query: Option<String>,
}

/// A profile with compiled patterns.
#[derive(Clone, Debug, Default)]
pub(super) struct View {
    pub profile: Profile,
    patterns: Patterns,
}

impl View {
    pub fn new(profile: Profile) -> Result<Self, Error> {
        let patterns = Patterns::new(&profile.tools)?;
        Ok(Self { profile, patterns })
    }

    /// Whether clients of the profile may find and call the tool.
    pub fn admits(&self, tool: &Tool) -> bool {
        self.admits_id(tool.server.as_deref().unwrap_or_default(), tool.id.as_str())
    }

    /// As [`View::admits`], by server and id.
    pub fn admits_id(&self, server: &str, id: &str) -> bool {
        self.names_server(server) && (self.profile.tools.is_empty() || self.patterns.matches(id))
    }

    /// Whether the profile could admit a tool of the server, for servers whose tools are not known
    /// yet.
    pub fn may_admit(&self, server: &str) -> bool {
        let start = format!("{server}__");
        let tools = &self.profile.tools;
        self.names_server(server)
            && (tools.is_empty() || tools.iter().any(|pattern| may_begin(pattern, &start)))
    }

    fn names_server(&self, server: &str) -> bool {
        self.profile.servers.is_empty() || self.profile.servers.iter().any(|name| name == server)
    }

    /// Restricts a selection to the tools that the profile admits, and to one server if it is
    /// given.
    ///
    /// The engine's patterns match ids, so a server becomes the pattern of its ids. If the profile
    /// has patterns of tools as well, the other servers are excluded instead.
    pub fn narrow<'t>(
        &self,
        context: &mut Context,
        server: Option<&str>,
        tools: impl Iterator<Item = &'t Tool> + Clone,
    ) -> Result<(), Error> {
        let meant = |name: &str| self.names_server(name) && server.is_none_or(|one| one == name);
        let is_open = context.enabled_tools.is_none() && self.profile.tools.is_empty();
        if server.is_some() || !self.profile.servers.is_empty() {
            let known = tools.clone().filter_map(|tool| tool.server.as_deref());
            let known: BTreeSet<&str> = known.collect();
            let (own, others): (Vec<_>, Vec<_>) = known.into_iter().partition(|name| meant(name));
            let ids = |names: &[&str]| -> Vec<String> {
                names.iter().flat_map(|name| ids_of(name, &own, &others, tools.clone())).collect()
            };
            if is_open {
                context.enabled_tools = Some(ids(&own));
                return Ok(());
            }
            context.excluded_tools.extend(ids(&others));
        }
        match &context.enabled_tools {
            _ if self.profile.tools.is_empty() => {}
            None => context.enabled_tools = Some(self.profile.tools.clone()),
            Some(asked) => {
                let asked = Patterns::new(asked)?;
                let ids = tools.map(|tool| tool.id.as_str());
                let both = ids.filter(|id| asked.matches(id) && self.patterns.matches(id));
                context.enabled_tools = Some(both.map(str::to_owned).collect());
            }
        }
        Ok(())
    }
}

/// Whether the pattern may match a text that starts with `start` and continues. Alternatives
/// (`{a,b}`) are not evaluated: they may match.
fn may_begin(pattern: &str, start: &str) -> bool {
    let may = |pattern: &str| {
        let mut signs = pattern.chars();
        for wanted in start.chars() {
            match signs.next() {
                Some('*' | '{') => return true,
                Some('[') => _ = signs.by_ref().skip(1).find(|sign| *sign == ']'),
                Some('?') => {}
                Some('\\') if signs.next() == Some(wanted) => {}
                Some(sign) if sign == wanted => {}
                _ => return false,
            }
        }
        signs.next().is_some()
    };
    may(pattern) || may(&pattern.replacen(':', "__", 1))
}

/// Patterns that match the ids of the server's tools and no other ids: `server__*`, or each id if
/// the name of another server starts in the same way.
fn ids_of<'t>(
    server: &str,
    own: &[&str],
    others: &[&str],
    tools: impl Iterator<Item = &'t Tool>,
) -> Vec<String> {
    let meets = |other: &&str| begins_as(other, server) || begins_as(server, other);
    if !own.iter().chain(others).any(meets) {
        return vec![exactly(server) + "__*"];
    }
    let tools = tools.filter(|tool| tool.server.as_deref() == Some(server));
    tools.map(|tool| exactly(tool.id.as_str())).collect()
}

/// Whether ids of the server `long` start like those of the server `short`: true for `a__b` and
/// `a`, and for `a_` and `a`.
fn begins_as(long: &str, short: &str) -> bool {
    long.strip_prefix(short).is_some_and(|rest| rest == "_" || rest.starts_with("__"))
}

/// The pattern that matches exactly this text.
fn exactly(text: &str) -> String {
    let mut pattern = String::with_capacity(text.len() + 3);
    for sign in text.chars() {
        if matches!(sign, '*' | '?' | '[' | ']' | '{' | '}' | '\\' | '!') {
            pattern.push('\\');
        }
        pattern.push(sign);
    }
    pattern
}

#[cfg(test)]
mod tests {
    use toolroute_catalog::Catalog;
    use toolroute_rank::engine::{Engine, SelectRequest};

    use super::*;

    fn catalog() -> Catalog {
        let tool = |server, name| Tool::new(Some(server), name, "Reads a file of notes");
        Catalog::from_tools(vec![
            tool("fs", "read"),
            tool("fs", "write"),
            tool("git[1]", "read"),
            tool("web", "read"),
        ])
        .catalog
    }

    fn found(profile: Profile, server: Option<&str>) -> Vec<String> {
        let view = View::new(profile).unwrap();
        let (catalog, mut context) = (catalog(), Context::default());
        view.narrow(&mut context, server, catalog.tools().iter().map(AsRef::as_ref)).unwrap();
        let engine = Engine::builder(catalog).build().unwrap();
        let request = SelectRequest::new("read a file of notes").context(context);
        let selected = engine.select(&request).unwrap().tools;
        let mut ids: Vec<String> = selected
            .iter()
            .inspect(|found| assert!(view.admits(&found.tool), "{}", found.tool.id))
            .map(|found| found.tool.id.to_string())
            .collect();
        ids.sort();
        ids
    }

    #[test]
    fn servers_and_patterns_narrow_together() {
        let profile = |tools: &[&str], servers: &[&str]| Profile {
            tools: tools.iter().map(ToString::to_string).collect(),
            servers: servers.iter().map(ToString::to_string).collect(),
            ..Profile::default()
        };
        assert_eq!(found(profile(&[], &[]), None).len(), 4);
        assert_eq!(found(profile(&[], &["git[1]"]), None), ["git[1]__read"]);
        assert_eq!(found(profile(&["*__read"], &["fs", "web"]), None), ["fs__read", "web__read"]);
        assert_eq!(found(profile(&["*__read"], &["fs", "web"]), Some("web")), ["web__read"]);
        assert_eq!(found(profile(&[], &["fs"]), Some("web")), [] as [&str; 0]);
        assert_eq!(found(profile(&["fs:w*"], &[]), None), ["fs__write"]);
    }

    #[test]
    fn a_server_whose_name_begins_with_another_is_another() {
        let tool = |server, name| Tool::new(Some(server), name, "Reads a file of notes");
        let tools = vec![tool("a", "read"), tool("a__b", "read"), tool("c", "read")];
        let catalog = Catalog::from_tools(tools).catalog;
        let servers = vec!["a".to_owned(), "c".to_owned()];
        for (tools, enabled, excluded) in [
            (vec![], Some(vec!["a__read".to_owned(), "c__*".to_owned()]), vec![]),
            (vec!["*__read".to_owned()], Some(vec!["*__read".to_owned()]), vec!["a__b__read"]),
        ] {
            let servers = servers.clone();
            let view = View::new(Profile { tools, servers, ..Profile::default() }).unwrap();
            let mut context = Context::default();
            let tools = catalog.tools().iter().map(AsRef::as_ref);
            view.narrow(&mut context, None, tools).unwrap();
            assert_eq!(context.enabled_tools, enabled);
            assert_eq!(context.excluded_tools, excluded);
        }
    }

    #[test]
    fn patterns_may_admit_a_server_whose_tools_are_not_known() {
        for (pattern, may) in [
            ("full__add", true),
            ("full:add", true),
            ("*__add", true),
            ("f?ll__*", true),
            ("f[aeu]ll__*", true),
            ("{full,web}__x", true),
            ("\\full__x", true),
            ("other__*", false),
            ("full", false),
            ("full__", false),
            ("fu", false),
        ] {
            let tools = vec![pattern.to_owned()];
            let view = View::new(Profile { tools, ..Profile::default() }).unwrap();
            assert_eq!(view.may_admit("full"), may, "{pattern}");
        }
        let servers = vec!["web".to_owned()];
        let view = View::new(Profile { servers, ..Profile::default() }).unwrap();
        assert!(view.may_admit("web") && !view.may_admit("full"));
    }
}
