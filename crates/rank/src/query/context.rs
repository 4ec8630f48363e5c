//! The context of a prompt: files, conversation and the caller's requirements.

use std::collections::HashSet;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use toolroute_catalog::json_fault;

use super::{ContextFeatures, Error, Phase, TaskType, words};

/// The context of a prompt: conversation, files, stage of work and the caller's requirements. All
/// members are optional, and are the same for library, command line, HTTP and MCP.
///
/// ```
/// # use toolroute_rank::query::Context;
/// let context = Context::from_json(
///     r#"{"files": [{"path": "a.rs", "content": "fn a() {}"}], "stage": "reading"}"#,
/// )?;
/// assert_eq!(context.files[0].path, "a.rs");
/// assert!(Context::from_json(r#"{"fiels": []}"#).is_err());
/// # Ok::<(), toolroute_rank::query::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Context {
    /// The prompt, unless the caller passes it separately.
    #[serde(alias = "input", skip_serializing_if = "Option::is_none")]
    pub prompt: Option<String>,
    /// The turns before the prompt, oldest first; the prompt is not one of them.
    #[serde(alias = "history", alias = "conversation_history")]
    pub conversation: Vec<Turn>,
    /// How many earlier turns of the user are read together with a follow-up prompt such as "now
    /// the same for Berlin"; 0 reads each prompt by itself.
    pub depth: usize,
    /// The files that the prompt is about. With files, the context is analysed and its features are
    /// compared with the facets of tools.
    pub files: Vec<SourceFile>,
    /// The number of files in the project, if `files` contains only some of them.
    pub project_files: Option<usize>,
    /// Whether to analyse the context even without files.
    pub analyze: bool,
    /// The stage of the agent's work. At read-only stages, only tools that read are returned.
    #[serde(alias = "conversation_stage")]
    pub stage: Option<Stage>,
    /// The phase of work, if the caller knows it.
    pub phase: Option<Phase>,
    /// The kind of work, if the caller knows it.
    pub task_type: Option<TaskType>,
    /// Features that are known, such as those of an earlier analysis.
    pub features: Option<ContextFeatures>,
    /// Ids of tools that the caller plans to use.
    pub planned_tools: Vec<String>,
    /// The id of the tool used last. Tools that often follow it rank higher.
    pub last_tool: Option<String>,
    /// Maximum number of tools in an answer, whatever the request's limit.
    pub max_tools: Option<usize>,
    /// Maximum number of tokens of the definitions in an answer. The best tool is always included.
    pub budget_tokens: Option<usize>,
    /// The name of the model that will call the tools. A small model gets fewer tools.
    pub model: Option<String>,
    /// Whether expensive tools rank lower.
    #[serde(alias = "use_cost_aware")]
    pub cost_aware: bool,
    /// Whether slow tools rank lower; `None` decides by the prompt's words.
    pub urgent: Option<bool>,
    /// The name of a profile of the configuration, which restricts the tools.
    #[serde(alias = "vertical")]
    pub profile: Option<String>,
    /// Id patterns, one of which a tool must match, in addition to those of the profile.
    pub enabled_tools: Option<Vec<String>>,
    /// Patterns of ids to leave out.
    pub excluded_tools: Vec<String>,
}

/// The default of [`Context::depth`].
const DEPTH: usize = 2;

impl Default for Context {
    fn default() -> Self {
        Self {
            prompt: None,
            conversation: Vec::new(),
            depth: DEPTH,
            files: Vec::new(),
            project_files: None,
            analyze: false,
            stage: None,
            phase: None,
            task_type: None,
            features: None,
            planned_tools: Vec::new(),
            last_tool: None,
            max_tools: None,
            budget_tokens: None,
            model: None,
            cost_aware: false,
            urgent: None,
            profile: None,
            enabled_tools: None,
            excluded_tools: Vec::new(),
        }
    }
}

/// A file and its text.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SourceFile {
    /// Relative to the project, with forward slashes.
    pub path: String,
    /// The text of the file.
    #[serde(default, alias = "originalContent", alias = "original_content")]
    pub content: String,
}

#[cfg(test)]
impl SourceFile {
    pub(super) fn new(path: &str, content: &str) -> Self {
        Self { path: path.to_owned(), content: content.to_owned() }
    }
}

/// One turn of a conversation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Turn {
    /// Who said it.
    pub role: Speaker,
    /// What was said.
    #[serde(alias = "content")]
    pub text: String,
}

/// Whose turn it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Speaker {
    /// Instructions of the program.
    System,
    /// The person.
    User,
    /// The language model.
    Assistant,
    /// The output of a tool.
    Tool,
}

words! {
    /// The stage of an agent's work.
    Stage {
        Initial => "initial",
        Planning => "planning",
        Reading => "reading",
        Analysis => "analysis",
        Execution => "execution",
        Verification => "verification",
        Completion => "completion",
    }
}

impl Stage {
    /// Whether work at this stage changes nothing, so that read-only tools are enough.
    pub fn is_read_only(self) -> bool {
        matches!(self, Self::Planning | Self::Reading | Self::Analysis)
    }
}

impl FromStr for Stage {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self, Error> {
        Self::from_word(name).ok_or_else(|| Error::UnknownStage {
            name: name.to_owned(),
            known: Self::ALL.map(Self::as_str).join(", "),
        })
    }
}

/// Maximum size of a prompt or a turn in bytes. A longer text is not a request.
const TEXT_BYTES: usize = 1 << 20;
/// Maximum length of a path in bytes: the limit of Linux.
const PATH_BYTES: usize = 4_096;
/// Maximum size of a file in bytes. Only generated files are larger.
const FILE_BYTES: usize = 16 << 20;
/// Maximum size of all files together in bytes.
const ALL_FILES_BYTES: usize = 256 << 20;
const FILES: usize = 20_000;
const TURNS: usize = 10_000;
const PLANNED_TOOLS: usize = 1_000;

impl Context {
    /// Adds a file.
    #[must_use]
    pub fn file(mut self, path: impl Into<String>, content: impl Into<String>) -> Self {
        self.files.push(SourceFile { path: path.into(), content: content.into() });
        self
    }

    /// Adds a turn to the conversation.
    #[must_use]
    pub fn turn(mut self, role: Speaker, text: impl Into<String>) -> Self {
        self.conversation.push(Turn { role, text: text.into() });
        self
    }

    /// Parses a context. The engine checks it together with the prompt.
    ///
    /// # Errors
    /// [`Error::BadJson`].
    pub fn from_json(json: &str) -> Result<Self, Error> {
        let parsed = serde_json::from_str(json);
        parsed.map_err(|error| Error::BadJson { because: json_fault(json, &error) })
    }

    /// Whether the context is to be analysed.
    #[doc(hidden)] // For our own crates.
    pub fn wants_analysis(&self) -> bool {
        self.analyze || !self.files.is_empty()
    }

    /// The features that the caller gave. `phase` and `task_type` take precedence over `features`.
    #[doc(hidden)] // For our own crates.
    pub fn given(&self) -> ContextFeatures {
        let features = self.features.clone().unwrap_or_default();
        let (phase, task_type) =
            (self.phase.or(features.phase), self.task_type.or(features.task_type));
        ContextFeatures { phase, task_type, ..features }
    }

    /// Checks that the context can be used for a prompt.
    ///
    /// # Errors
    /// If the context has a different prompt, `max_tools` is 0, a file has no path, two files have
    /// the same path, or anything exceeds a limit. No text is truncated silently.
    fn check(&self, prompt: &str) -> Result<(), Error> {
        if self.prompt.as_deref().is_some_and(|own| own != prompt) {
            return Err(Error::TwoPrompts);
        }
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

/// Whether a prompt has no letter and no digit, such as `...` or `?`: no tool can be found for it,
/// and every door treats it as an empty one.
pub fn says_nothing(prompt: &str) -> bool {
    !prompt.chars().any(char::is_alphanumeric)
}

/// Checks a prompt and its context, for every door: the engine calls it before it reads a prompt.
///
/// # Errors
/// [`Error::EmptyPrompt`], and the errors of [`Context::check`].
pub(crate) fn check(prompt: &str, context: Option<&Context>) -> Result<(), Error> {
    if says_nothing(prompt) {
        return Err(Error::EmptyPrompt);
    }
    at_most("the prompt", prompt.len(), TEXT_BYTES)?;
    context.map_or(Ok(()), |context| context.check(prompt))
}

fn at_most(what: &str, found: usize, most: usize) -> Result<(), Error> {
    if found > most {
        return Err(Error::TooLong { what: what.to_owned(), found, most });
    }
    Ok(())
}

fn few(what: &'static str, found: usize, most: usize) -> Result<(), Error> {
    if found > most { Err(Error::TooMany { what, found, most }) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bad_context_says_what_is_wrong() {
        let told = |context: Context| check("x", Some(&context)).unwrap_err().to_string();
        for empty in ["", " ", "?", "...", "!!", " \u{200b}\n", "👍"] {
            assert!(matches!(check(empty, None), Err(Error::EmptyPrompt)), "{empty:?}");
        }
        assert!(["1", "ü?", "天气", "नमस्ते", "שלום"].into_iter().all(|text| !says_nothing(text)));
        assert!(told(Context::default().file(" ", "")).contains("file 0"));
        assert!(told(Context::default().file("a", "").file("a", "")).contains("a twice"));
        let other = Context { prompt: Some("y".to_owned()), ..Context::default() };
        assert!(told(other).contains("two prompts"));
        let files = vec![SourceFile::default(); FILES + 1];
        assert!(told(Context { files, ..Context::default() }).contains("20001 files"));
        let long = check(&"x".repeat(TEXT_BYTES + 1), None).unwrap_err();
        assert!(long.to_string().contains("shorten"));
        let none = Context { max_tools: Some(0), ..Context::default() };
        assert!(told(none).contains("0 tools"));
    }

    #[test]
    fn json_goes_in_and_out_and_an_unknown_member_is_an_error() {
        let context = Context {
            stage: Some(Stage::Analysis),
            phase: Some(Phase::Refinement),
            ..Context::default().file("a.py", "x = 1").turn(Speaker::User, "look at a.py")
        };
        let json = serde_json::to_string(&context).unwrap();
        assert_eq!(Context::from_json(&json).unwrap(), context);
        for slip in [
            r#"{"fiels": []}"#,
            r#"{"files": [{"path": "a", "text": "b"}]}"#,
            r#"{"conversation": [{"role": "user", "text": "x", "at": 3}]}"#,
        ] {
            let said = Context::from_json(slip).unwrap_err().to_string();
            assert!(said.contains("unknown field"), "{said}");
        }
    }

    #[test]
    fn what_is_given_alone_counts_over_what_an_analysis_gave() {
        let features = ContextFeatures {
            phase: Some(Phase::Completion),
            languages: vec!["rust".to_owned()],
            ..ContextFeatures::default()
        };
        let context = Context {
            phase: Some(Phase::Refinement),
            features: Some(features),
            ..Context::default()
        };
        let given = context.given();
        assert_eq!((given.phase, given.languages.len()), (Some(Phase::Refinement), 1));
    }

    #[test]
    fn the_names_of_the_source_documents_are_understood() {
        let json = r#"{"input": "x", "files": [{"path": "a", "originalContent": "b"}],
            "conversation_history": [{"role": "user", "content": "y"}], "use_cost_aware": true}"#;
        let context = Context::from_json(json).unwrap();
        assert_eq!(context.prompt.as_deref(), Some("x"));
        assert_eq!(context.files[0].content, "b");
        assert!(context.cost_aware && context.conversation[0].text == "y");
    }
}
