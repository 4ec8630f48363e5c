//! One run of a tool: the prompt, the tool that ran, and the outcome.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Map, Value};
use sha2::{Digest, Sha256};
use toolroute_catalog::ToolId;

use super::StoreError;

/// The maximum length, in bytes, of a prompt or feedback text (`MOST_TEXT`), and of a name such as
/// a session, an error kind or a phase (`MOST_NAME`). One row must not fill a log to which many
/// clients write.
const MOST_TEXT: usize = 64 << 10;
const MOST_NAME: usize = 256;

/// The earliest time of an execution, in March 1973. An earlier one is a time in seconds.
const FIRST_AT: i64 = 100_000_000_000;

/// The maximum length of a vector; the widest models have 4,096 numbers.
const MOST_NUMBERS: usize = 8_192;

/// The maximum number of offered tools, signals and languages of one execution.
const MOST_ITEMS: usize = 64;

/// The SHA-256 of a prompt's text. It identifies equal prompts if the text itself is not stored.
///
/// It does not protect a prompt that can be guessed.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PromptHash(pub(super) [u8; 32]);

impl PromptHash {
    /// The hash of a prompt.
    pub fn of(prompt: &str) -> Self {
        Self(Sha256::digest(prompt.as_bytes()).into())
    }
}

impl fmt::Display for PromptHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&toolroute_vectors::durable::hex(&self.0))
    }
}

impl fmt::Debug for PromptHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Serialize for PromptHash {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for PromptHash {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let text = String::deserialize(from)?;
        let digit = |sign: &u8| Some(char::from(*sign).to_digit(16)? as u8);
        let (pairs, odd) = text.as_bytes().as_chunks::<2>();
        let bytes = pairs.iter().map(|[high, low]| Some(digit(high)? << 4 | digit(low)?));
        let hash = bytes.collect::<Option<Vec<u8>>>().filter(|_| odd.is_empty());
        let hash = hash.and_then(|hash| hash.try_into().ok()).map(Self);
        let expected = "expected a prompt hash of 64 hexadecimal digits";
        hash.ok_or_else(|| serde::de::Error::custom(expected))
    }
}

/// The vector of a prompt, and the fingerprint of the model that made it. Vectors of different
/// models are not comparable.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PromptVector {
    /// The fingerprint of the model.
    pub model: String,
    /// The numbers.
    pub values: Vec<f32>,
}

/// The features of the prompt and its context, in the words of the tools' facets. Unknown features
/// are absent and do not count when contexts are compared.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct LoggedContext {
    /// The phase of work.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub phase: Option<String>,
    /// The kind of work.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub task_type: Option<String>,
    /// The languages of the files.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub languages: Vec<String>,
    /// 0 (trivial) to 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub complexity: Option<f32>,
    /// How the code is built.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub structure: Option<String>,
    /// How the code is tested.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub testing: Option<String>,
}

impl LoggedContext {
    /// Whether nothing is known.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// The tool's rank and score in the selection from which it was chosen.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Choice {
    /// The rank, counted from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rank: Option<u32>,
    /// The score of the tool.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub score: Option<f32>,
    /// The normalised value of each part of the score, before its weight, by name. Signals are -1
    /// to 1.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub parts: BTreeMap<String, f32>,
    /// The tools of the answer, best first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub offered: Vec<ToolId>,
}

impl Choice {
    /// Whether nothing is known.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// One attempt of a request that was called with its fallbacks.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct CallAttempt {
    /// The id of the request, which all its attempts share.
    pub request: String,
    /// The position among the tools to try; 0 is the requested tool.
    pub place: u32,
    /// How often the call was sent.
    pub tries: u32,
    /// The expected duration in milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub estimated_ms: Option<u64>,
    /// The expected length of the result, in characters.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub estimated_chars: Option<u64>,
    /// The length of the whole result, in characters.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub chars: Option<u64>,
    /// Whether the result was cut or summarised.
    pub truncated: bool,
}

/// One run of a tool. In JSON, it is a line of `toolroute feedback export`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Execution {
    /// The tool that ran.
    pub tool: ToolId,
    /// Whether the run did what the prompt asked for.
    pub success: bool,
    /// Milliseconds since 1970 (UTC); `None` becomes the time of writing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<i64>,
    /// The text of the prompt. It is stored only if the store keeps prompts; its hash is always
    /// stored.
    #[serde(default, alias = "query", skip_serializing_if = "Option::is_none")]
    pub prompt: Option<String>,
    /// The hash of the prompt, if the text is unavailable.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompt_hash: Option<PromptHash>,
    /// The vector of the prompt, if the log keeps vectors.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub vector: Option<PromptVector>,
    /// What was known around the prompt.
    #[serde(default, skip_serializing_if = "LoggedContext::is_empty")]
    pub context: LoggedContext,
    /// How the tool was offered.
    #[serde(default, skip_serializing_if = "Choice::is_empty")]
    pub choice: Choice,
    /// How long the run took, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<u64>,
    /// The kind of error, such as `timeout`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error_kind: Option<String>,
    /// The cost of the run, in a unit that the user chooses.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost: Option<f64>,
    /// What the user or the agent said about the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub feedback: Option<String>,
    /// The conversation or client to which the run belongs. Workflows are learned within a session,
    /// and the weight of one session is bounded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// How the call went, if toolroute made it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub called: Option<CallAttempt>,
}

impl Execution {
    /// Creates an execution of a tool for a prompt, at the time when it is recorded. Whether the log
    /// keeps the prompt's text is set by [`StoreOptions::keep_prompts`](super::StoreOptions).
    pub fn new(tool: ToolId, prompt: impl Into<String>, success: bool) -> Self {
        Self {
            tool,
            success,
            at: None,
            prompt: Some(prompt.into()),
            prompt_hash: None,
            vector: None,
            context: LoggedContext::default(),
            choice: Choice::default(),
            duration_ms: None,
            error_kind: None,
            cost: None,
            feedback: None,
            session: None,
            called: None,
        }
    }

    /// Reads an execution from JSON, as `toolroute feedback add` takes it. `query` is another name
    /// for `prompt`; with both, the texts must be equal.
    ///
    /// # Errors
    /// The first member that is missing, unknown or of another type.
    #[doc(hidden)] // For our own crates.
    pub fn from_json(mut members: Map<String, Value>) -> Result<Self, String> {
        if let (Some(prompt), Some(query)) = (members.get("prompt"), members.get("query")) {
            if prompt != query {
                return Err("`query` and `prompt` are not the same text".to_owned());
            }
            members.shift_remove("query");
        }
        serde_json::from_value(Value::Object(members)).map_err(|error| error.to_string())
    }

    /// Returns the hash of the prompt: that of the text if there is one, otherwise `prompt_hash`.
    #[doc(hidden)] // For our own crates.
    pub fn hash(&self) -> Option<PromptHash> {
        self.prompt.as_deref().map(PromptHash::of).or(self.prompt_hash)
    }

    /// Checks that the execution can be logged.
    ///
    /// # Errors
    /// [`StoreError::Invalid`] with the first field that is out of range.
    #[doc(hidden)] // For our own crates.
    pub fn check(&self) -> Result<(), StoreError> {
        let invalid = |field, found: String, expected: &str| {
            Err(StoreError::Invalid { field, found, expected: expected.to_owned() })
        };
        if self.tool.as_str().is_empty() {
            return invalid("tool", "empty".to_owned(), "the id of a tool");
        }
        if self.prompt.is_none() && self.prompt_hash.is_none() {
            return invalid("prompt", "absent".to_owned(), "the prompt, or `prompt_hash`");
        }
        if let Some(at) = self.at.filter(|at| *at < FIRST_AT) {
            let expected = "milliseconds since 1970, so multiply seconds by 1,000";
            return invalid("at", at.to_string(), expected);
        }
        self.check_texts()?;
        if let Some(rank) = self.choice.rank.filter(|rank| *rank == 0) {
            return invalid("choice.rank", rank.to_string(), "a rank from 1");
        }
        if let Some(found) = self.context.complexity.filter(|found| !(0.0..=1.0).contains(found)) {
            return invalid("context.complexity", found.to_string(), "0 to 1");
        }
        if let Some(cost) = self.cost.filter(|cost| !(cost.is_finite() && *cost >= 0.0)) {
            return invalid("cost", cost.to_string(), "a number from 0");
        }
        let scores = self.choice.score.iter().chain(self.choice.parts.values());
        if let Some(found) = scores.copied().find(|number| !number.is_finite()) {
            return invalid("choice", found.to_string(), "finite scores");
        }
        self.check_vector()
    }

    fn check_texts(&self) -> Result<(), StoreError> {
        let Self { context, choice, .. } = self;
        let texts = [("prompt", &self.prompt), ("feedback", &self.feedback)];
        let names = [
            ("session", &self.session),
            ("error_kind", &self.error_kind),
            ("context.phase", &context.phase),
            ("context.task_type", &context.task_type),
            ("context.structure", &context.structure),
            ("context.testing", &context.testing),
        ];
        let tool = std::iter::once(("tool", self.tool.as_str(), MOST_NAME));
        let request = self.called.iter().map(|c| ("called.request", c.request.as_str(), MOST_NAME));
        let texts = texts.iter().filter_map(|(n, text)| Some((*n, text.as_deref()?, MOST_TEXT)));
        let names = names.iter().filter_map(|(n, text)| Some((*n, text.as_deref()?, MOST_NAME)));
        let languages = context.languages.iter();
        let languages = languages.map(|name| ("context.languages", name.as_str(), MOST_NAME));
        let parts = choice.parts.keys().map(|name| ("choice.parts", name.as_str(), MOST_NAME));
        let offered = choice.offered.iter().map(|id| ("choice.offered", id.as_str(), MOST_NAME));
        let all = tool
            .chain(request)
            .chain(texts)
            .chain(names)
            .chain(languages)
            .chain(parts)
            .chain(offered);
        for (field, text, most) in all {
            if text.len() > most {
                let (found, expected) =
                    (format!("{} bytes long", text.len()), format!("{most} at most"));
                return Err(StoreError::Invalid { field, found, expected });
            }
        }
        for (field, items) in [
            ("context.languages", context.languages.len()),
            ("choice.parts", choice.parts.len()),
            ("choice.offered", choice.offered.len()),
        ] {
            if items > MOST_ITEMS {
                let (found, expected) = (format!("{items} items"), format!("{MOST_ITEMS} at most"));
                return Err(StoreError::Invalid { field, found, expected });
            }
        }
        Ok(())
    }

    fn check_vector(&self) -> Result<(), StoreError> {
        let Some(PromptVector { model, values }) = &self.vector else { return Ok(()) };
        let finite = values.iter().all(|number| number.is_finite());
        if finite && (1..=MOST_NUMBERS).contains(&values.len()) && model.len() <= MOST_NAME {
            return Ok(());
        }
        Err(StoreError::Invalid {
            field: "vector",
            found: format!("{} numbers of model `{model:.80}`", values.len()),
            expected: format!("1 to {MOST_NUMBERS} finite numbers, and a short fingerprint"),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_json_comes_back_as_it_was() {
        let mut execution = Execution::new("mail__send".into(), "tell Dana", true);
        assert_eq!(
            serde_json::to_string(&execution).unwrap(),
            r#"{"tool":"mail__send","success":true,"prompt":"tell Dana"}"#
        );
        execution.prompt_hash = Some(PromptHash::of("tell Dana"));
        execution.context =
            LoggedContext { phase: Some("completion".into()), ..LoggedContext::default() };
        execution.choice.parts.insert("semantic".into(), 0.5);
        execution.choice.offered.push("mail__send".into());
        let line = serde_json::to_string(&execution).unwrap();
        assert_eq!(serde_json::from_str::<Execution>(&line).unwrap(), execution);
        for bad in [r#"{"tool":"a"}"#, r#"{"tool":"a","success":true,"promt":"x"}"#] {
            assert!(serde_json::from_str::<Execution>(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn what_is_out_of_range_is_named() {
        let good = || Execution::new("a".into(), "p", true);
        good().check().unwrap();
        let with = |change: fn(&mut Execution)| {
            let mut execution = good();
            change(&mut execution);
            execution.check().unwrap_err().to_string()
        };
        for (said, field) in [
            (with(|e| e.tool = "".into()), "`tool`"),
            (with(|e| e.prompt = None), "`prompt`"),
            (with(|e| e.at = Some(-1)), "`at`"),
            (with(|e| e.at = Some(1_790_000_000)), "`at`"),
            (with(|e| e.prompt = Some("x".repeat(MOST_TEXT + 1))), "`prompt`"),
            (with(|e| e.session = Some("x".repeat(300))), "`session`"),
            (with(|e| e.choice.rank = Some(0)), "`choice.rank`"),
            (with(|e| e.context.complexity = Some(f32::NAN)), "`context.complexity`"),
            (with(|e| e.cost = Some(-0.5)), "`cost`"),
            (with(|e| e.choice.score = Some(f32::INFINITY)), "`choice`"),
            (with(|e| e.choice.offered = vec!["a".into(); 65]), "`choice.offered`"),
            (
                with(|e| e.vector = Some(PromptVector { model: "m".into(), values: vec![] })),
                "`vector`",
            ),
        ] {
            assert!(said.starts_with(field) && said.contains("expected"), "{said}");
        }
    }
}
