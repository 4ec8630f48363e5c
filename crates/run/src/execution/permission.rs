//! Permissions: which tools may run.

use std::collections::BTreeMap;
use std::sync::Arc;

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};
use serde::{Deserialize, Serialize};

use super::error::Error;
use toolroute_catalog::{EffectKind, Tool};

/// Glob patterns of tool ids, such as `files__*`.
#[derive(Clone, Debug, Default)]
pub struct Patterns {
    set: GlobSet,
    texts: Vec<String>,
}

impl Patterns {
    /// Compiles patterns. `server:tool` is accepted for `server__tool`.
    pub fn new<S: AsRef<str>>(patterns: impl IntoIterator<Item = S>) -> Result<Self, Error> {
        let (mut builder, mut texts) = (GlobSetBuilder::new(), Vec::new());
        let failed = |pattern: &str, error: &globset::Error| Error::Pattern {
            pattern: pattern.to_owned(),
            because: error.kind().to_string(),
        };
        for pattern in patterns {
            let pattern = pattern.as_ref();
            texts.push(pattern.to_owned());
            for spelled in [pattern.to_owned(), pattern.replacen(':', "__", 1)] {
                let glob = GlobBuilder::new(&spelled).literal_separator(false).build();
                builder.add(glob.map_err(|error| failed(pattern, &error))?);
            }
        }
        let set = builder.build().map_err(|error| failed("", &error))?;
        Ok(Self { set, texts })
    }

    /// Whether one of the patterns matches the id of a tool.
    pub fn matches(&self, id: &str) -> bool {
        self.set.is_match(id)
    }

    /// Whether one of the patterns matches the id of a tool, its name or its server.
    fn matches_any_name(&self, tool: &Tool) -> bool {
        let names = [Some(tool.id.as_str()), Some(&tool.name), tool.server.as_deref()];
        names.into_iter().flatten().any(|name| self.matches(name))
    }

    /// Whether there is no pattern.
    pub fn is_empty(&self) -> bool {
        self.set.is_empty()
    }
}

/// Which tools of a server are offered, by patterns of their names on that server.
#[derive(Clone, Debug, Default)]
pub struct Offers {
    by_server: BTreeMap<String, (Option<Patterns>, Patterns)>,
}

impl Offers {
    /// Restricts a server to the tools that match `only`, if it is given, and that do not match
    /// `without`.
    pub fn narrow(
        &mut self,
        server: &str,
        only: Option<&[String]>,
        without: &[String],
    ) -> Result<(), Error> {
        let only = only.map(Patterns::new).transpose()?;
        let without = Patterns::new(without)?;
        self.by_server.insert(server.to_owned(), (only, without));
        Ok(())
    }

    /// Whether the tool's server offers it.
    pub fn admits(&self, tool: &Tool) -> bool {
        let server = tool.server.as_deref().unwrap_or_default();
        let Some((only, without)) = self.by_server.get(server) else { return true };
        let named = |patterns: &Patterns| patterns.matches(&tool.name);
        only.as_ref().is_none_or(named) && !named(without)
    }
}

/// Which calls need the agreement of a person, each time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Confirm {
    Never,
    /// Tools that declare that they are destructive, and tools without a declaration whose names
    /// suggest it.
    #[default]
    Destructive,
    /// All tools that do not declare that they only read.
    Writes,
}

/// Which tools may run. By default all of them may, and destructive ones need a confirmation.
///
/// A tool's hints come from its author. They can only add restrictions, except in read-only mode,
/// where a tool must declare that it only reads. That mode trusts the servers' declarations;
/// `allow` limits which servers.
#[derive(Clone, Debug, Default)]
pub struct Permissions {
    /// If not empty, only matching tools may run.
    pub allow: Patterns,
    /// Tools whose id, name or server matches never run.
    pub deny: Patterns,
    /// The tools that each server's entry offers.
    pub offers: Offers,
    /// Whether only tools that declare that they only read may run.
    pub read_only: bool,
    /// Which calls a person must agree to first.
    pub confirm: Confirm,
}

/// Whether a tool may run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// The tool may run.
    Allowed,
    /// A person must agree first.
    NeedsConfirmation,
    NotAllowed,
    /// The tool may change something, and read-only mode is on.
    NotReadOnly,
    /// Read-only mode is on, and the tool declares nothing: that it only reads is at most a guess.
    Undeclared,
}

impl Verdict {
    /// What a message says of a tool that may not run.
    pub fn reason(self) -> &'static str {
        match self {
            Self::Allowed => "is allowed",
            Self::NeedsConfirmation => "needs your agreement",
            Self::NotAllowed => "is not allowed here",
            Self::NotReadOnly => "may write, and only reading is allowed",
            Self::Undeclared => {
                "does not declare that it only reads, as --read-only requires (its server's `readOnlyHint`, \
                 or `hints = { read_only = true }` in an --overlay)"
            }
        }
    }

    /// Whether read-only mode forbids the tool.
    #[doc(hidden)] // For our own crates.
    pub fn is_of_read_only_mode(self) -> bool {
        matches!(self, Self::NotReadOnly | Self::Undeclared)
    }
}

impl Permissions {
    /// The patterns of `allow` and `deny` that match none of some tools, most often for a typing error.
    #[doc(hidden)] // For our own crates.
    pub fn unmatched<'a>(&'a self, tools: &[Arc<Tool>]) -> Vec<&'a str> {
        let is_lost = |pattern: &&str, matches: fn(&Patterns, &Tool) -> bool| {
            let one = Patterns::new([pattern]).unwrap_or_default();
            !tools.iter().any(|tool| matches(&one, tool))
        };
        let texts = |patterns: &'a Patterns| patterns.texts.iter().map(String::as_str);
        let allowed = |one: &Patterns, tool: &Tool| one.matches(tool.id.as_str());
        let allow = texts(&self.allow).filter(|text| is_lost(text, allowed));
        let deny = texts(&self.deny).filter(|text| is_lost(text, Patterns::matches_any_name));
        allow.chain(deny).collect()
    }

    /// Whether the tool may run, possibly after a confirmation.
    #[doc(hidden)] // For our own crates.
    pub fn may_ever_run(&self, tool: &Tool) -> bool {
        self.judge(tool, true) == Verdict::Allowed
    }

    /// Whether the tool may run. `confirmed` states whether a person agreed.
    pub fn judge(&self, tool: &Tool, confirmed: bool) -> Verdict {
        let id = tool.id.as_str();
        if !self.offers.admits(tool) {
            return Verdict::NotAllowed;
        }
        if self.deny.matches_any_name(tool) || !(self.allow.is_empty() || self.allow.matches(id)) {
            return Verdict::NotAllowed;
        }
        let effects = tool.effects();
        if self.read_only && !effects.declares_reads_only() {
            let is_undeclared = matches!(effects.kind, EffectKind::ReadsOnly | EffectKind::Unknown);
            return if is_undeclared { Verdict::Undeclared } else { Verdict::NotReadOnly };
        }
        let asks = match self.confirm {
            Confirm::Never => false,
            Confirm::Destructive => effects.destroys(),
            Confirm::Writes => !effects.declares_reads_only(),
        };
        if asks && !confirmed { Verdict::NeedsConfirmation } else { Verdict::Allowed }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tool(name: &str, read_only: Option<bool>, destructive: Option<bool>) -> Tool {
        let mut tool = Tool::new(Some("files"), name, "");
        (tool.hints.read_only, tool.hints.destructive) = (read_only, destructive);
        tool
    }

    #[test]
    fn deny_decides_over_allow() {
        let permissions = Permissions {
            allow: Patterns::new(["files:*"]).unwrap(),
            deny: Patterns::new(["*__write*"]).unwrap(),
            ..Permissions::default()
        };
        assert_eq!(permissions.judge(&tool("read", None, None), false), Verdict::Allowed);
        assert_eq!(permissions.judge(&tool("writeText", None, None), true), Verdict::NotAllowed);
        let other = Tool::new(Some("web"), "fetch", "");
        assert_eq!(permissions.judge(&other, true), Verdict::NotAllowed);
    }

    #[test]
    fn a_tool_that_says_nothing_does_not_run_in_read_only_mode() {
        let permissions = Permissions { read_only: true, ..Permissions::default() };
        for (tool, verdict) in [
            (tool("read", Some(true), None), Verdict::Allowed),
            (tool("read", None, None), Verdict::Undeclared),
            (tool("odd", None, None), Verdict::Undeclared),
            (tool("write", None, None), Verdict::NotReadOnly),
            (tool("odd", Some(true), Some(true)), Verdict::NotReadOnly),
        ] {
            assert_eq!(permissions.judge(&tool, true), verdict);
        }
    }

    #[test]
    fn an_entry_narrows_its_own_server_alone() {
        let mut offers = Offers::default();
        offers.narrow("files", Some(&["read*".into()]), &["read_secret".into()]).unwrap();
        let permissions = Permissions { offers, ..Permissions::default() };
        for (name, verdict) in [
            ("read", Verdict::Allowed),
            ("read_secret", Verdict::NotAllowed),
            ("write", Verdict::NotAllowed),
        ] {
            assert_eq!(permissions.judge(&tool(name, None, None), true), verdict, "{name}");
        }
        assert_eq!(permissions.judge(&Tool::new(Some("web"), "write", ""), true), Verdict::Allowed);
    }

    #[test]
    fn what_destroys_needs_a_yes() {
        let permissions = Permissions::default();
        for tool in [tool("deleteFile", None, None), tool("tidy", None, Some(true))] {
            assert_eq!(permissions.judge(&tool, false), Verdict::NeedsConfirmation);
            assert_eq!(permissions.judge(&tool, true), Verdict::Allowed);
        }
        for tool in [tool("deleted_items", None, None), tool("remove", None, Some(false))] {
            assert_eq!(permissions.judge(&tool, false), Verdict::Allowed, "{}", tool.name);
        }
    }
}
