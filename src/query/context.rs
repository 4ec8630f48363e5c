//! What is known when tools are asked for: the prompt, the files at hand, what was said before.

use std::collections::HashSet;

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::{Error, Phase, TaskType};

/// Everything that an agent may say about its situation. Only the prompt is needed.
///
/// ```
/// use toolroute::query::AgentContext;
///
/// let context = AgentContext::from_json(
///     r#"{"prompt": "fix it", "files": [{"path": "a.rs", "content": "fn a() {}"}]}"#,
/// )?;
/// assert_eq!(context.files[0].path, "a.rs");
/// assert!(AgentContext::from_json(r#"{"prompt": " "}"#).is_err());
/// # Ok::<(), toolroute::query::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct AgentContext {
    #[serde(alias = "input")]
    pub prompt: String,
    pub files: Vec<SourceFile>,
    /// What was said before the prompt, oldest first; the prompt is no part of it.
    #[serde(alias = "conversation_history")]
    pub conversation: Vec<Turn>,
    /// How many turns the conversation had, where `conversation` holds only the last of them.
    pub conversation_depth: Option<usize>,
    /// Where the agent stands in its work.
    #[serde(alias = "conversation_stage")]
    pub stage: Option<Stage>,
    /// What the agent knows already; it is not found out again.
    pub phase: Option<Phase>,
    pub task_type: Option<TaskType>,
    /// Ids of tools that the agent means to use.
    pub planned_tools: Vec<String>,
    pub max_tools: Option<usize>,
    #[serde(alias = "use_cost_aware")]
    pub cost_aware: bool,
    /// The line of work, such as `research` or `devops`.
    pub vertical: Option<String>,
    /// The name of the model that will see the tools.
    pub model: Option<String>,
    /// Files of the project, where `files` holds only some of them.
    pub project_files: Option<usize>,
}

/// A file and its text.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SourceFile {
    /// Relative to the project, with forward slashes.
    pub path: String,
    #[serde(default, alias = "originalContent", alias = "original_content")]
    pub content: String,
}

/// One thing that was said.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Turn {
    pub role: Speaker,
    #[serde(alias = "content")]
    pub text: String,
}

/// Who said it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Speaker {
    System,
    User,
    Assistant,
    /// What a tool gave back.
    Tool,
}

/// Where an agent stands in its work.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Stage {
    Initial,
    Planning,
    Reading,
    Analysis,
    Execution,
    Verification,
    Completion,
}

impl Stage {
    pub const ALL: [Self; 7] = [
        Self::Initial,
        Self::Planning,
        Self::Reading,
        Self::Analysis,
        Self::Execution,
        Self::Verification,
        Self::Completion,
    ];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Initial => "initial",
            Self::Planning => "planning",
            Self::Reading => "reading",
            Self::Analysis => "analysis",
            Self::Execution => "execution",
            Self::Verification => "verification",
            Self::Completion => "completion",
        }
    }

    /// Whether it is for looking, not for changing: then tools that only read are enough.
    pub fn is_read_only(self) -> bool {
        matches!(self, Self::Planning | Self::Reading | Self::Analysis)
    }
}

impl fmt::Display for Stage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl FromStr for Stage {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self, Error> {
        let known = Self::ALL.into_iter().find(|stage| stage.as_str() == name);
        known.ok_or_else(|| Error::UnknownStage {
            name: name.to_owned(),
            known: Self::ALL.map(Self::as_str).join(", "),
        })
    }
}

/// Bytes of a prompt or of a turn. A megabyte of prompt is no prompt.
const TEXT_BYTES: usize = 1 << 20;
/// Bytes of a path: Linux's limit.
const PATH_BYTES: usize = 4_096;
/// Bytes of a file; generated ones are the only larger.
const FILE_BYTES: usize = 16 << 20;
/// Bytes of all files together.
const ALL_FILES_BYTES: usize = 256 << 20;
const FILES: usize = 20_000;
const TURNS: usize = 10_000;
const PLANNED_TOOLS: usize = 1_000;

impl AgentContext {
    pub fn new(prompt: impl Into<String>) -> Self {
        Self { prompt: prompt.into(), ..Self::default() }
    }

    #[must_use]
    pub fn file(mut self, path: impl Into<String>, content: impl Into<String>) -> Self {
        self.files.push(SourceFile { path: path.into(), content: content.into() });
        self
    }

    #[must_use]
    pub fn said(mut self, role: Speaker, text: impl Into<String>) -> Self {
        self.conversation.push(Turn { role, text: text.into() });
        self
    }

    /// A checked context from its JSON.
    ///
    /// # Errors
    /// [`Error::BadJson`], and what [`AgentContext::check`] raises.
    pub fn from_json(json: &str) -> Result<Self, Error> {
        let parsed: Result<Self, _> = serde_json::from_str(json);
        let context = parsed.map_err(|error| Error::BadJson { because: error.to_string() })?;
        context.check()?;
        Ok(context)
    }

    /// Whether it can be analysed.
    ///
    /// # Errors
    /// Where the prompt is empty, a file has no path or comes twice, and where anything is larger
    /// than what is read: nothing is cut off in silence.
    pub fn check(&self) -> Result<(), Error> {
        if self.prompt.trim().is_empty() {
            return Err(Error::EmptyPrompt);
        }
        let at_most = |what: &str, found: usize, most: usize| {
            if found > most {
                return Err(Error::TooLong { what: what.to_owned(), found, most });
            }
            Ok(())
        };
        at_most("the prompt", self.prompt.len(), TEXT_BYTES)?;
        few("files", self.files.len(), FILES)?;
        few("turns of conversation", self.conversation.len(), TURNS)?;
        few("planned tools", self.planned_tools.len(), PLANNED_TOOLS)?;
        if self.max_tools == Some(0) {
            return Err(Error::NoTools);
        }
        for turn in &self.conversation {
            at_most("a turn", turn.text.len(), TEXT_BYTES)?;
        }
        let mut paths = HashSet::with_capacity(self.files.len());
        for (at, SourceFile { path, content }) in self.files.iter().enumerate() {
            if path.trim().is_empty() {
                return Err(Error::NoPath { at });
            }
            at_most("a path", path.len(), PATH_BYTES)?;
            at_most(&format!("the file {path}"), content.len(), FILE_BYTES)?;
            if !paths.insert(path.as_str()) {
                return Err(Error::SamePath { path: path.clone() });
            }
        }
        let all = self.files.iter().map(|file| file.content.len()).sum();
        at_most("all files together", all, ALL_FILES_BYTES)
    }
}

fn few(what: &'static str, found: usize, most: usize) -> Result<(), Error> {
    if found > most { Err(Error::TooMany { what, found, most }) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bad_context_says_what_is_wrong() {
        let told = |context: AgentContext| context.check().unwrap_err().to_string();
        assert!(told(AgentContext::default()).contains("prompt is empty"));
        assert!(told(AgentContext::new("x").file(" ", "")).contains("file 0"));
        assert!(told(AgentContext::new("x").file("a", "").file("a", "")).contains("a twice"));
        assert!(told(AgentContext::new("x".repeat(TEXT_BYTES + 1))).contains("shorten"));
        let many = AgentContext {
            files: vec![SourceFile::default(); FILES + 1],
            ..AgentContext::new("x")
        };
        assert!(told(many).contains("20001 files"));
        let none = AgentContext { max_tools: Some(0), ..AgentContext::new("x") };
        assert!(told(none).contains("0 tools"));
    }

    #[test]
    fn json_goes_in_and_out_and_a_slip_is_told() {
        let context = AgentContext {
            stage: Some(Stage::Analysis),
            phase: Some(Phase::Refinement),
            ..AgentContext::new("why?").file("a.py", "x = 1").said(Speaker::User, "look at a.py")
        };
        let json = serde_json::to_string(&context).unwrap();
        assert_eq!(AgentContext::from_json(&json).unwrap(), context);
        let slip = AgentContext::from_json(r#"{"prompt": "x", "fiels": []}"#).unwrap_err();
        assert!(slip.to_string().contains("fiels"), "{slip}");
    }

    #[test]
    fn a_stage_for_looking_is_told_from_one_for_doing() {
        use Stage::{Analysis, Completion, Execution, Initial, Planning, Reading, Verification};
        assert!([Planning, Reading, Analysis].into_iter().all(Stage::is_read_only));
        assert!(
            ![Initial, Execution, Verification, Completion].into_iter().any(Stage::is_read_only)
        );
    }

    #[test]
    fn the_names_of_the_source_documents_are_understood() {
        let json = r#"{"input": "x", "files": [{"path": "a", "originalContent": "b"}],
            "conversation_history": [{"role": "user", "content": "y"}], "use_cost_aware": true}"#;
        let context = AgentContext::from_json(json).unwrap();
        assert_eq!((context.prompt.as_str(), context.files[0].content.as_str()), ("x", "b"));
        assert!(context.cost_aware && context.conversation[0].text == "y");
    }
}
