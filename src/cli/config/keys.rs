//! What may be configured: one row a key.

use toml::Value;

use crate::cli::limit::Limit;
use crate::engine::{CacheSettings, CategoryWords, MinShares, SignalWeights, SmallModels};

/// What a key's value must be.
pub enum Kind {
    Word(&'static [&'static str]),
    /// A number between two bounds.
    Number(f64, f64),
    /// A whole number between two bounds.
    Count(i64, i64),
    /// A whole number, `auto` or `auto:N`.
    Limit,
    Flag,
    Text,
    Path,
    Paths,
    /// A table with a reader of its own, which says what is wrong.
    Table(fn(&Value) -> Result<(), String>),
}

/// One key of `toolroute.toml`.
pub struct Key {
    pub name: &'static str,
    /// The flag that says the same; tables have none, or one of their own.
    pub flag: Option<&'static str>,
    pub variable: &'static str,
    pub kind: Kind,
    /// What counts where nothing is said, as `config show` tells it.
    pub default: &'static str,
}

const fn key(
    name: &'static str,
    flag: &'static str,
    variable: &'static str,
    kind: Kind,
    default: &'static str,
) -> Key {
    Key { name, flag: Some(flag), variable, kind, default }
}

const fn table(
    name: &'static str,
    variable: &'static str,
    check: fn(&Value) -> Result<(), String>,
    default: &'static str,
) -> Key {
    Key { name, flag: None, variable, kind: Kind::Table(check), default }
}

const TIERS: Kind = Kind::Word(&["low", "medium", "high"]);
const COSTS: Kind = Kind::Word(&["tiny", "low", "medium", "high"]);
const LATENCIES: Kind = Kind::Word(&["fast", "medium", "slow", "very_slow"]);
const STRATEGIES: Kind = Kind::Word(&["auto", "keyword", "semantic", "hybrid"]);

/// Every key, in the order in which `config show` lists them.
pub const KEYS: &[Key] = &[
    key("tools", "tools", "TOOLROUTE_TOOLS", Kind::Paths, "none"),
    key("overlay", "overlay", "TOOLROUTE_OVERLAY", Kind::Paths, "none"),
    key("author_signals", "author-signals", "TOOLROUTE_AUTHOR_SIGNALS", Kind::Flag, "false"),
    key("model", "model", "TOOLROUTE_MODEL", Kind::Text, "built in"),
    key("models", "models", "TOOLROUTE_MODELS", Kind::Path, "the user's data folder"),
    key("index", "index", "TOOLROUTE_INDEX", Kind::Path, "in the user's cache folder"),
    key("usage", "usage", "TOOLROUTE_USAGE", Kind::Path, "none"),
    key("precision", "precision", "TOOLROUTE_PRECISION", Kind::Word(&["int8", "f32"]), "int8"),
    key(
        "backend",
        "backend",
        "TOOLROUTE_BACKEND",
        Kind::Word(&["native", "candle"]),
        "native, and candle on another device than cpu",
    ),
    key("device", "device", "TOOLROUTE_DEVICE", Kind::Text, "cpu"),
    key("search", "search", "TOOLROUTE_SEARCH", Kind::Word(&["auto", "exact", "hnsw"]), "auto"),
    key("tool_selection_strategy", "strategy", "TOOLROUTE_STRATEGY", STRATEGIES, "auto"),
    key("blend", "blend", "TOOLROUTE_BLEND", Kind::Word(&["tuned", "plain"]), "tuned"),
    key("fusion", "fusion", "TOOLROUTE_FUSION", Kind::Word(&["weighted", "rrf"]), "weighted"),
    key(
        "semantic_weight",
        "semantic-weight",
        "TOOLROUTE_SEMANTIC_WEIGHT",
        Kind::Number(0.0, 1.0),
        "0.7",
    ),
    key(
        "normalization",
        "normalization",
        "TOOLROUTE_NORMALIZATION",
        Kind::Word(&["absolute", "min-max", "z-score"]),
        "absolute",
    ),
    key("rrf_k", "rrf-k", "TOOLROUTE_RRF_K", Kind::Number(0.0, 1e9), "60"),
    key("whole", "whole", "TOOLROUTE_WHOLE", Kind::Flag, "false"),
    key(
        "min_confidence",
        "min-confidence",
        "TOOLROUTE_MIN_CONFIDENCE",
        Kind::Number(0.0, 1.0),
        "0.5",
    ),
    key("limit", "limit", "TOOLROUTE_LIMIT", Kind::Limit, "5 (batch: 10)"),
    key("min_reliability", "min-reliability", "TOOLROUTE_MIN_RELIABILITY", TIERS, "none"),
    key("max_cost", "max-cost", "TOOLROUTE_MAX_COST", COSTS, "none"),
    key("max_latency", "max-latency", "TOOLROUTE_MAX_LATENCY", LATENCIES, "none"),
    key(
        "undeclared",
        "undeclared",
        "TOOLROUTE_UNDECLARED",
        Kind::Word(&["medium", "admit", "exclude"]),
        "medium",
    ),
    key(
        "max_per_server",
        "max-per-server",
        "TOOLROUTE_MAX_PER_SERVER",
        Kind::Count(1, 65_535),
        "none",
    ),
    key(
        "near_best",
        "near-best",
        "TOOLROUTE_NEAR_BEST",
        Kind::Number(0.0, 1.0),
        "0.9 with servers, 0 without",
    ),
    key("policy_band", "policy-band", "TOOLROUTE_POLICY_BAND", Kind::Number(0.0, 1.0), "0.02"),
    key("log_format", "log-format", "TOOLROUTE_LOG_FORMAT", Kind::Word(&["text", "json"]), "text"),
    key("threads", "threads", "TOOLROUTE_THREADS", Kind::Count(1, 1_024), "all cores"),
    table("signals", "TOOLROUTE_SIGNALS", reads::<SignalWeights>, "see docs/context.md"),
    table(
        "category_words",
        "TOOLROUTE_CATEGORY_WORDS",
        reads::<CategoryWords>,
        "English and Hebrew words for 19 categories",
    ),
    table(
        "small_models",
        "TOOLROUTE_SMALL_MODELS",
        small_models,
        "10 tools, up to 8 billion weights",
    ),
    table("min_shares", "TOOLROUTE_MIN_SHARES", reads::<MinShares>, "none"),
    table("cache", "TOOLROUTE_CACHE", reads::<CacheSettings>, "30 s, 512 answers"),
    table("profiles", "TOOLROUTE_PROFILES", reads::<super::Profiles>, "none"),
];

/// A key of the systems from which users come, and what to write for it.
pub const RETIRED: &str = "use_semantic_tool_selection";
pub const REPLACEMENT: &str = "tool_selection_strategy";

fn reads<T: serde::de::DeserializeOwned>(value: &Value) -> Result<(), String> {
    value.clone().try_into::<T>().map(drop).map_err(|error| error.message().to_owned())
}

fn small_models(value: &Value) -> Result<(), String> {
    reads::<SmallModels>(value)?;
    let rule: SmallModels = value.clone().try_into().unwrap_or_default();
    let bad = rule.bad_pattern().map(|(pattern, said)| {
        let said = said.lines().next_back().unwrap_or_default().trim().to_owned();
        format!("the pattern `{pattern}` is no regular expression: {said}")
    });
    bad.map_or(Ok(()), Err)
}

impl Key {
    /// Whether the value will do, or what was expected.
    pub fn check(&self, value: &Value) -> Result<(), String> {
        let number = value.as_float().or_else(|| value.as_integer().map(|whole| whole as f64));
        let good = match &self.kind {
            Kind::Word(words) => value.as_str().is_some_and(|word| words.contains(&word)),
            Kind::Number(least, most) => number.is_some_and(|n| (*least..=*most).contains(&n)),
            Kind::Count(least, most) => {
                value.as_integer().is_some_and(|n| (*least..=*most).contains(&n))
            }
            Kind::Limit => match value {
                Value::Integer(tools) => *tools >= 0,
                value => value.as_str().is_some_and(|text| text.parse::<Limit>().is_ok()),
            },
            Kind::Flag => value.is_bool(),
            Kind::Text | Kind::Path => value.as_str().is_some_and(|text| !text.is_empty()),
            Kind::Paths => {
                let is_path = |value: &Value| value.as_str().is_some_and(|path| !path.is_empty());
                is_path(value) || value.as_array().is_some_and(|all| all.iter().all(is_path))
            }
            Kind::Table(check) => {
                return check(value)
                    .map_err(|said| format!("expected a good table, found: {said}"));
            }
        };
        if good { Ok(()) } else { Err(format!("expected {}, found {value}", self.kind.expected())) }
    }

    /// The value of a variable or a flag, read as the key's kind.
    pub fn parse(&self, text: &str) -> Value {
        match &self.kind {
            Kind::Word(_) | Kind::Text | Kind::Path => Value::String(text.to_owned()),
            Kind::Paths => {
                let paths = std::env::split_paths(text).filter(|path| !path.as_os_str().is_empty());
                let text = |path: std::path::PathBuf| path.to_string_lossy().into_owned().into();
                Value::Array(paths.map(text).collect())
            }
            Kind::Number(..) | Kind::Count(..) | Kind::Limit | Kind::Flag => scalar(text),
            Kind::Table(_) => pairs(text),
        }
    }
}

/// A number or a truth where it is one; else the text, which `check` then refuses.
fn scalar(text: &str) -> Value {
    let text = text.trim();
    if let Ok(whole) = text.parse::<i64>() {
        return Value::Integer(whole);
    }
    let other = text.parse().map(Value::Float).ok();
    other.or_else(|| text.parse().map(Value::Boolean).ok()).unwrap_or_else(|| text.into())
}

/// `a=1,b=2` as a table; the body of an inline table, `a = [1, 2], b = "c"`, too.
fn pairs(text: &str) -> Value {
    if let Ok(table) = toml::from_str::<toml::Table>(&format!("it = {{ {text} }}")) {
        return table.get("it").cloned().unwrap_or_else(|| text.into());
    }
    Value::String(text.to_owned())
}

impl Kind {
    fn expected(&self) -> String {
        match self {
            Self::Word(words) => format!("one of {}", words.join(", ")),
            Self::Number(least, most) => format!("a number from {least} to {most}"),
            Self::Count(least, most) => format!("a whole number from {least} to {most}"),
            Self::Limit => "a number, `auto` or `auto:N`".to_owned(),
            Self::Flag => "true or false".to_owned(),
            Self::Text => "a text".to_owned(),
            Self::Path => "a path".to_owned(),
            Self::Paths => "a path or a list of paths".to_owned(),
            Self::Table(_) => "a table".to_owned(),
        }
    }
}

/// The key of a name, or the name that was probably meant.
pub fn find(name: &str) -> Result<&'static Key, Option<&'static str>> {
    const CLOSE: f64 = 0.5;
    if let Some(key) = KEYS.iter().find(|key| key.name == name) {
        return Ok(key);
    }
    let likeness = |known: &str| {
        let contained = if known.contains(name) && name.len() > 3 { 0.9 } else { 0.0 };
        strsim::normalized_damerau_levenshtein(name, known).max(contained)
    };
    let near = KEYS.iter().map(|key| (likeness(key.name), key.name));
    let near = near.filter(|(likeness, _)| *likeness >= CLOSE);
    Err(near.max_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, name)| name))
}
