//! A tool: its identity, declared tiers, behaviour hints and facets.

use std::borrow::{Borrow, Cow};
use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use sha2::{Digest, Sha256};

use crate::sparse::{Sparse, readable_when_sparse};
use crate::{Operation, Routing};

/// The name of a tool in every output.
///
/// It is either the id in the tool's definition, unchanged, or `server__tool`, made from its server
/// and name ([`ToolId::scoped`]). Cloning is cheap.
#[derive(Clone, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ToolId(Arc<str>);

/// The longest name that OpenAI takes; Anthropic takes 128 characters.
const MODEL_NAME_CHARS: usize = 64;

/// The digits of the hash in a [`ToolId::model_name`].
pub(super) const HASH_DIGITS: usize = 8;

impl ToolId {
    /// Creates an id from the id in a tool's definition.
    pub fn new(id: impl Into<Arc<str>>) -> Self {
        Self(id.into())
    }

    /// Creates `server__tool`, or the bare name for a tool without a server.
    ///
    /// The separator is two underscores, because OpenAI and Anthropic allow only `[A-Za-z0-9_-]` in
    /// tool names.
    pub fn scoped(server: Option<&str>, name: &str) -> Self {
        match server {
            Some(server) if !server.is_empty() => Self(format!("{server}__{name}").into()),
            _ => Self(name.into()),
        }
    }

    /// Returns the id as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the name under which a model's API takes the tool: OpenAI and Anthropic refuse a
    /// request in which any tool's name is not 1 to 64 of `[A-Za-z0-9_-]`.
    ///
    /// It is the id itself if they take it, or else its beginning with a hash, so that two ids do
    /// not get one name. [`Catalog::get`](crate::Catalog::get) knows the tool by it.
    ///
    /// ```
    /// use toolroute_catalog::ToolId;
    ///
    /// assert_eq!(ToolId::new("shop__refund_order").model_name(), "shop__refund_order");
    /// assert_eq!(ToolId::new("films__GET /films").model_name(), "films__GET__films_dd2f34bc");
    /// ```
    pub fn model_name(&self) -> Cow<'_, str> {
        let is_taken = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
        let id = self.as_str();
        if !id.is_empty() && id.len() <= MODEL_NAME_CHARS && id.chars().all(is_taken) {
            return Cow::Borrowed(id);
        }
        let kept = id.chars().take(MODEL_NAME_CHARS - 1 - HASH_DIGITS);
        let kept: String = kept.map(|c| if is_taken(c) { c } else { '_' }).collect();
        let hash = Sha256::digest(id).first_chunk().map_or(0, |four| u32::from_be_bytes(*four));
        Cow::Owned(format!("{kept}_{hash:0HASH_DIGITS$x}"))
    }

    /// Returns the id as people write it with a colon, `server:tool` for `server__tool`: one
    /// spelling for each place at which server and name may meet.
    #[doc(hidden)] // For our own crates.
    pub fn with_colon(&self) -> impl Iterator<Item = String> {
        /// Real ids have two or three such places; the limit protects against ids that are made to
        /// be slow.
        const PLACES: usize = 8;
        let id = self.as_str();
        let joints = id.as_bytes().windows(2).enumerate().skip(1);
        joints
            .filter(|(_, pair)| *pair == b"__")
            .take(PLACES)
            .map(|(at, _)| format!("{}:{}", &id[..at], &id[at + 2..]))
    }
}

impl fmt::Display for ToolId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for ToolId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", &self.0)
    }
}

/// Allows a map keyed by id to be searched with a plain string. This is sound because the derived
/// `Hash`, `Eq` and `Ord` are those of the text.
impl Borrow<str> for ToolId {
    fn borrow(&self) -> &str {
        &self.0
    }
}

impl From<&str> for ToolId {
    fn from(id: &str) -> Self {
        Self(id.into())
    }
}

/// How reliable a tool's behaviour is. Ordered: `Low < Medium < High`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Reliability {
    Low,
    Medium,
    High,
}

/// The cost of a call. Ordered: `Tiny < Low < Medium < High`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Cost {
    Tiny,
    Low,
    Medium,
    High,
}

/// How long a call usually takes. Ordered: `Fast < Medium < Slow < VerySlow`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LatencyTier {
    /// Under 3 s.
    Fast,
    /// 3 s to 15 s.
    Medium,
    /// 15 s to 120 s.
    Slow,
    /// 120 s and above.
    VerySlow,
}

impl LatencyTier {
    /// Returns the tier of a typical latency in milliseconds.
    pub fn from_ms(ms: u64) -> Self {
        match ms {
            0..3_000 => Self::Fast,
            3_000..15_000 => Self::Medium,
            15_000..120_000 => Self::Slow,
            _ => Self::VerySlow,
        }
    }

    /// Returns the shortest latency of the tier, in milliseconds. It orders tools that declare only
    /// a tier.
    #[doc(hidden)] // For our own crates.
    pub fn floor_ms(self) -> u64 {
        match self {
            Self::Fast => 0,
            Self::Medium => 3_000,
            Self::Slow => 15_000,
            Self::VerySlow => 120_000,
        }
    }
}

/// Writes each variant of an enum as a text, most often its serde name, so that tables, JSON and
/// files agree.
macro_rules! display_as {
    ($type:ty { $($variant:ident => $name:literal),+ $(,)? }) => {
        impl std::fmt::Display for $type {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.pad(match self { $(Self::$variant => $name),+ })
            }
        }
    };
}
pub(crate) use display_as;

display_as!(Reliability { Low => "low", Medium => "medium", High => "high" });
display_as!(Cost { Tiny => "tiny", Low => "low", Medium => "medium", High => "high" });
display_as!(LatencyTier { Fast => "fast", Medium => "medium", Slow => "slow", VerySlow => "very_slow" });

/// A JSON Schema exactly as its source wrote it, byte for byte.
///
/// Clients compare and cache schemas by their bytes, so the schema is stored as text and parsed
/// only if its content matters.
#[derive(Clone, Debug, Serialize)]
#[serde(transparent)]
pub struct Schema(Arc<RawValue>);

impl Schema {
    /// Creates a schema from JSON, which is kept as it is written.
    pub fn new(raw: Box<RawValue>) -> Self {
        Self(raw.into())
    }

    /// Returns the schema's text as it is in its source.
    pub fn as_str(&self) -> &str {
        self.0.get()
    }

    pub(super) fn raw(&self) -> &RawValue {
        &self.0
    }

    /// Returns the schema as a value; `None` only for JSON nested deeper than the parser allows.
    pub fn to_value(&self) -> Option<serde_json::Value> {
        serde_json::from_str(self.0.get()).ok()
    }
}

/// Schemas are equal if they are the same JSON value: a list that was saved with other white space
/// has the same tools. They are parsed only if their texts differ.
impl PartialEq for Schema {
    fn eq(&self, other: &Self) -> bool {
        let same_value = || Some(self.to_value()? == other.to_value()?);
        self.as_str() == other.as_str() || same_value() == Some(true)
    }
}

/// What a tool declares about its side effects, from MCP's tool annotations. `None` means "not
/// declared".
///
/// The tool's author wrote them, so they are hints: suitable for ranking and display, never for
/// granting a permission. [`Tool::effects`] weighs them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Hints {
    /// Whether the tool changes nothing; `None` if the source does not say.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub read_only: Option<bool>,
    /// Whether the tool may destroy something.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub destructive: Option<bool>,
    /// Whether a repetition of the same call changes nothing more.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub idempotent: Option<bool>,
    /// Whether the user's overlay set any of them.
    #[serde(skip)]
    pub from_overlay: bool,
}

/// Complexity of the work that a tool suits, from 0 (trivial) to 1 (the hardest).
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct ComplexityRange {
    /// The least complexity.
    pub min: f32,
    /// The greatest complexity.
    pub max: f32,
}

/// What kind of work a tool suits. An empty list means "any".
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Facets {
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub phases: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub languages: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub task_types: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub complexity: Option<ComplexityRange>,
}

readable_when_sparse!(Facets);

/// The members of an MCP tool that are kept unchanged, so that the gateway can list a tool as its
/// server defines it.
pub const MCP_MEMBERS: [&str; 5] = ["annotations", "outputSchema", "execution", "icons", "_meta"];

/// One tool of a catalog. Only `id` and `name` are required: a bare MCP tool is valid.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Tool {
    /// The id, made from the names of server and tool: `server__tool`.
    pub id: ToolId,
    /// Its name on its server.
    pub name: String,
    /// The name for people.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// What the tool does. It is searched, and shown to models.
    pub description: String,
    /// The name of the server that runs the tool.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub server: Option<String>,
    /// The JSON Schema of the arguments.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub input_schema: Option<Schema>,
    /// Categories, such as `files`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub categories: Vec<String>,
    /// Tags of the source.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<String>,
    /// Prompts for which this tool is the right one.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub examples: Vec<String>,
    /// What the tool can do, in short phrases.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub capabilities: Vec<String>,
    /// Obligation types that a run of this tool discharges.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub satisfies: Vec<String>,
    /// Kinds of data that must be available before the tool can run.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub consumes: Vec<String>,
    /// What must hold before a call, as CEL expressions.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub preconditions: Vec<String>,
    /// What must hold after a call, as CEL expressions.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub postconditions: Vec<String>,
    /// How reliable the tool is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reliability: Option<Reliability>,
    /// What a call costs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost: Option<Cost>,
    /// Typical latency of a call, in milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub latency_ms: Option<u64>,
    /// The declared tier. [`Tool::latency_tier`] uses it only if `latency_ms` is absent.
    #[serde(skip_serializing_if = "Option::is_none", rename = "latency_tier")]
    pub declared_latency_tier: Option<LatencyTier>,
    /// What the source says about the effects of a call.
    pub hints: Hints,
    /// The members of its MCP definition without a field here ([`MCP_MEMBERS`]), as one JSON
    /// object. Each is as its source wrote it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mcp: Option<Schema>,
    /// The kinds of work that the tool is for.
    pub facets: Sparse<Facets>,
    /// Further declarations of a catalog that steer selection and calls.
    #[serde(skip_serializing_if = "Sparse::is_default")]
    pub routing: Sparse<Routing>,
    /// How to call the tool, if it is an operation of an HTTP API.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub operation: Option<Box<Operation>>,
}

impl Tool {
    /// Creates a tool with a name, a description and, optionally, a server.
    pub fn new(server: Option<&str>, name: &str, description: &str) -> Self {
        Self {
            id: ToolId::scoped(server, name),
            name: name.to_owned(),
            description: description.to_owned(),
            server: server.map(str::to_owned),
            ..Self::default()
        }
    }

    /// Returns `true` if `server:name` may mean this tool: it belongs to the server, or has none,
    /// or its id was not made from its server and name.
    pub(super) fn answers_to_server(&self, server: &str) -> bool {
        let own = self.server.as_deref().filter(|own| *own != server);
        own.is_none_or(|own| self.id != ToolId::scoped(Some(own), &self.name))
    }

    /// Returns the estimated tokens of the tool's definition in a prompt: its bytes divided by
    /// four.
    pub fn definition_tokens(&self) -> usize {
        let schema = self.input_schema.as_ref().map_or(0, |schema| schema.as_str().len());
        (self.id.as_str().len() + self.description.len() + schema).div_ceil(4)
    }

    /// Records whether its server listed the tool recently and after its other tools.
    #[doc(hidden)] // For our own crates.
    pub fn set_newcomer(&mut self, newcomer: bool) {
        // Writing to the routing of a tool without any would allocate it.
        if self.routing.newcomer != newcomer {
            self.routing.newcomer = newcomer;
        }
    }

    /// Returns the latency tier: that of `latency_ms` if it is known, otherwise the declared one.
    pub fn latency_tier(&self) -> Option<LatencyTier> {
        self.latency_ms.map(LatencyTier::from_ms).or(self.declared_latency_tier)
    }
}
