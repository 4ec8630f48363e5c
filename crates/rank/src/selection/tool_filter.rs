//! Filters tools by server, by name and by the stage of work.

use globset::{Glob, GlobMatcher};
use toolroute_catalog::{Tool, ToolId};

use super::Error;
use super::policy::Exclusion;
use crate::query::Stage;

/// A pattern of ids. Without special characters, it is an id.
enum Pattern {
    Plain(String),
    Glob(Box<GlobMatcher>),
}

impl Pattern {
    fn new(text: &str) -> Result<Self, Error> {
        if !text.contains(['*', '?', '[', '{', '\\']) {
            return Ok(Self::Plain(text.to_owned()));
        }
        let glob = Glob::new(text).map_err(|error| Error::BadToolPattern {
            pattern: text.to_owned(),
            because: error.kind().to_string(),
        })?;
        Ok(Self::Glob(Box::new(glob.compile_matcher())))
    }

    fn matches(&self, id: &ToolId) -> bool {
        let one = |text: &str| match self {
            Self::Plain(plain) => plain == text,
            Self::Glob(glob) => glob.is_match(text),
        };
        one(id.as_str()) || id.with_colon().any(|spelling| one(&spelling))
    }
}

/// The tools that a request enables and excludes: by server, by patterns of ids such as `git__*`,
/// and by the stage of work.
#[derive(Default)]
pub struct ToolFilter {
    /// Empty if tools of all servers are admitted.
    servers: Vec<String>,
    enabled: Option<Vec<Pattern>>,
    left_out: Vec<(Pattern, String)>,
    stage: Option<Stage>,
}

impl ToolFilter {
    /// Creates a filter. Without `enabled` every tool is enabled, with an empty list none. Tools
    /// that match a pattern in `left_out` are excluded. A read-only `stage` admits only read-only
    /// tools.
    ///
    /// # Errors
    /// [`Error::BadToolPattern`] if a pattern is invalid.
    pub fn new(
        enabled: Option<&[String]>,
        left_out: &[String],
        stage: Option<Stage>,
    ) -> Result<Self, Error> {
        let all = |patterns: &[String]| patterns.iter().map(|text| Pattern::new(text)).collect();
        let enabled: Option<Result<Vec<Pattern>, Error>> = enabled.map(all);
        let left_out = left_out.iter().map(|text| Ok((Pattern::new(text)?, text.clone())));
        Ok(Self {
            servers: Vec::new(),
            enabled: enabled.transpose()?,
            left_out: left_out.collect::<Result<_, Error>>()?,
            stage: stage.filter(|stage| stage.is_read_only()),
        })
    }

    /// Restricts the filter to tools of these servers. An empty list does not restrict it.
    pub fn of_servers(mut self, servers: &[String]) -> Self {
        self.servers = servers.to_vec();
        self
    }

    /// Whether the filter admits every tool.
    pub fn is_open(&self) -> bool {
        self.servers.is_empty()
            && self.enabled.is_none()
            && self.left_out.is_empty()
            && self.stage.is_none()
    }

    /// Checks whether a tool is admitted.
    pub fn admit(&self, tool: &Tool) -> Result<(), Exclusion> {
        let server = tool.server.as_deref().unwrap_or_default();
        if !self.servers.is_empty() && !self.servers.iter().any(|named| named == server) {
            return Err(Exclusion::NotEnabled);
        }
        if let Some(enabled) = &self.enabled
            && !enabled.iter().any(|pattern| pattern.matches(&tool.id))
        {
            return Err(Exclusion::NotEnabled);
        }
        let hit = self.left_out.iter().find(|(pattern, _)| pattern.matches(&tool.id));
        if let Some((_, text)) = hit {
            return Err(Exclusion::ByPattern { pattern: text.clone() });
        }
        match self.stage {
            Some(stage) if !tool.effects().reads_only() => Err(Exclusion::Stage { stage }),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tool(name: &str) -> Tool {
        Tool::new(Some("git"), name, "")
    }

    #[test]
    fn patterns_enable_and_leave_out() {
        let texts = |all: &[&str]| all.iter().map(|text| text.to_string()).collect::<Vec<_>>();
        let enabled = texts(&["git:*"]);
        let filter = ToolFilter::new(Some(&enabled), &texts(&["*push*"]), None).unwrap();
        assert!(filter.admit(&tool("commit")).is_ok());
        let because = filter.admit(&tool("force_push")).unwrap_err().to_string();
        assert_eq!(because, "the request leaves out `*push*`");
        let looking = ToolFilter::new(None, &[], Some(Stage::Analysis)).unwrap();
        let because = looking.admit(&tool("commit")).unwrap_err().to_string();
        assert_eq!(because, "the stage analysis takes read-only tools alone");
        assert!(ToolFilter::new(None, &[], Some(Stage::Execution)).unwrap().is_open());
        let other = Tool::new(Some("web"), "get", "");
        assert_eq!(filter.admit(&other), Err(Exclusion::NotEnabled));
        assert!(ToolFilter::new(Some(&[]), &[], None).unwrap().admit(&other).is_err());
        assert!(ToolFilter::new(None, &texts(&["a[", "b"]), None).is_err());
        let of = ToolFilter::new(Some(&enabled), &[], None).unwrap().of_servers(&texts(&["web"]));
        assert_eq!(of.admit(&tool("commit")), Err(Exclusion::NotEnabled), "both must hold");
        let of = ToolFilter::new(None, &[], None).unwrap().of_servers(&texts(&["web"]));
        assert!(of.admit(&other).is_ok() && of.admit(&tool("commit")).is_err() && !of.is_open());
    }
}
