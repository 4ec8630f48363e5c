//! The table of options: one row per key, with its flag, variable, type and default.

use std::ffi::OsStr;
use std::path::PathBuf;

use serde::de::DeserializeOwned;
use toml::Value;

use super::profiles::{ProfileSettings, Profiles};
use crate::cli::limit::Limit;
use crate::cli::words::{BackendName, Blend, LogFormat, Pinning, device, words};
use toolroute_catalog::{Cost, LatencyTier, Reliability, type_fault};
use toolroute_rank::engine::{
    CacheSettings, CategoryWords, IndexKind, MinShares, SignalWeights, SmallModels, Strategy,
    Undeclared,
};
use toolroute_vectors::embedding::Precision;

/// The type of a key's value.
#[derive(Clone, Copy, Debug)]
pub enum Kind {
    /// A variant of an enum, by name.
    Word(fn() -> &'static [&'static str]),
    /// A number in a range.
    Number(f64, f64),
    /// An integer in a range.
    Count(i64, i64),
    /// An integer, `auto` or `auto:N`.
    Limit,
    /// `cpu`, `cuda`, `cuda:N` or `metal`.
    Device,
    Flag,
    /// A word of [`Pinning`]; any other means `strict`, because it must not reduce the protection.
    Pinning,
    Text,
    Path,
    Paths,
    /// A table, with a function that returns an error for an invalid one.
    Table(fn(&Value) -> Result<(), String>),
}

/// One option.
#[derive(Clone, Copy, Debug)]
pub struct Key {
    pub name: &'static str,
    /// The corresponding flag, without dashes.
    pub flag: Option<&'static str>,
    pub variable: &'static str,
    pub kind: Kind,
    /// The default: in the flag's syntax, or as a description for `config show`.
    pub default: &'static str,
    /// Whether `toolroute.toml` may set it. `config show` lists these keys.
    pub in_file: bool,
    /// Arguments that, if typed, make variables and files ineffective for this key.
    pub unless: &'static [&'static str],
    /// Whether `blend = "plain"` determines its value.
    pub fixed_by_plain: bool,
}

const fn key(name: &'static str, flag: &'static str, kind: Kind, default: &'static str) -> Key {
    Key {
        name,
        flag: Some(flag),
        variable: "",
        kind,
        default,
        in_file: true,
        unless: &[],
        fixed_by_plain: false,
    }
}

/// An option whose value is a word of an enum.
const fn word<T: DeserializeOwned>(
    name: &'static str,
    flag: &'static str,
    default: &'static str,
) -> Key {
    key(name, flag, Kind::Word(words::<T>), default)
}

const fn table(
    name: &'static str,
    check: fn(&Value) -> Result<(), String>,
    default: &'static str,
) -> Key {
    Key { flag: None, ..key(name, "", Kind::Table(check), default) }
}

/// An option that files cannot set.
const fn outside_files(name: &'static str, flag: &'static str, kind: Kind) -> Key {
    Key { in_file: false, ..key(name, flag, kind, "none") }
}

impl Key {
    /// Sets the variable, unless another was set before.
    const fn variable(self, variable: &'static str) -> Self {
        if self.variable.is_empty() { Self { variable, ..self } } else { self }
    }

    const fn unless(self, unless: &'static [&'static str]) -> Self {
        Self { unless, ..self }
    }

    const fn fixed_by_plain(self) -> Self {
        Self { fixed_by_plain: true, ..self }
    }

    /// The id of the argument that takes the value.
    pub fn argument(&self) -> Option<String> {
        self.flag.map(|flag| flag.replace('-', "_"))
    }
}

/// Defines the keys. `NAME` has the variable `TOOLROUTE_NAME`, unless it says another one.
macro_rules! keys {
    ($($constant:ident = $key:expr;)*) => {
        $(pub const $constant: Key =
            $key.variable(concat!("TOOLROUTE_", stringify!($constant)));)*

        /// Every key; those of files in the order of `config show`.
        pub const KEYS: &[Key] = &[$($constant),*];
    };
}

const SHARE: Kind = Kind::Number(0.0, 1.0);

keys! {
    TOOLS = key("tools", "tools", Kind::Paths, "none").unless(&["suite"]);
    OVERLAY = key("overlay", "overlay", Kind::Paths, "none");
    AUTHOR_SIGNALS = key("author_signals", "author-signals", Kind::Flag, "false");
    MODEL = key("model", "model", Kind::Text, "built in");
    MODELS = key("models", "models", Kind::Path, "the user's data folder");
    INDEX = key("index", "index", Kind::Path, "in the user's cache folder")
        .unless(&["no_save", "suite"]);
    USAGE = key("usage", "usage", Kind::Path, "none").unless(&["no_usage"]);
    PRECISION = word::<Precision>("precision", "precision", "int8");
    BACKEND = word::<BackendName>(
        "backend",
        "backend",
        "native, and candle on another device than cpu",
    );
    DEVICE = key("device", "device", Kind::Device, "cpu");
    SEARCH = word::<IndexKind>("search", "search", "auto");
    STRATEGY = word::<Strategy>("tool_selection_strategy", "strategy", "auto")
        .unless(&["suite", "all"]);
    BLEND = word::<Blend>("blend", "blend", "tuned");
    SEMANTIC_WEIGHT = key("semantic_weight", "semantic-weight", SHARE, "0.7").fixed_by_plain();
    WHOLE = key("whole", "whole", Kind::Flag, "false").fixed_by_plain();
    COMPLETE = key("complete", "no-complete", Kind::Flag, "true");
    MIN_CONFIDENCE = key("min_confidence", "min-confidence", SHARE, "0.5");
    LIMIT = key("limit", "limit", Kind::Limit, "5 (batch: 10)");
    MIN_RELIABILITY = word::<Reliability>("min_reliability", "min-reliability", "none");
    MAX_COST = word::<Cost>("max_cost", "max-cost", "none");
    MAX_LATENCY = word::<LatencyTier>("max_latency", "max-latency", "none");
    UNDECLARED = word::<Undeclared>("undeclared", "undeclared", "medium");
    MAX_PER_SERVER = key("max_per_server", "max-per-server", Kind::Count(1, 65_535), "none");
    NEAR_BEST = key("near_best", "near-best", SHARE, "0.9 with servers, 0 without");
    POLICY_BAND = key("policy_band", "policy-band", SHARE, "0.02").fixed_by_plain();
    LOG_FORMAT = word::<LogFormat>("log_format", "log-format", "text");
    THREADS = key("threads", "threads", Kind::Count(1, 1_024), "all cores");
    SIGNALS = table("signals", is_a::<SignalWeights>, "see docs/context.md");
    CATEGORY_WORDS = table(
        "category_words",
        is_a::<CategoryWords>,
        "English and Hebrew words for 19 categories",
    );
    SMALL_MODELS = table("small_models", small_models, "10 tools, up to 8 billion weights");
    MIN_SHARES = table("min_shares", is_a::<MinShares>, "none");
    CACHE = table("cache", is_a::<CacheSettings>, "30 s, 512 answers");
    PROFILES = table("profiles", profiles, "none");
    CONFIG = outside_files("config", "config", Kind::Path);
    SERVERS = outside_files("servers", "servers", Kind::Path);
    PINS = outside_files("pins", "pins", Kind::Path);
    PIN_MODE = outside_files("pin_mode", "pin-mode", Kind::Pinning).variable("TOOLROUTE_PIN");
    FEEDBACK = outside_files("feedback", "feedback", Kind::Path);
    LEDGER = outside_files("ledger", "ledger", Kind::Path);
    ENDPOINT = outside_files("endpoint", "endpoint", Kind::Text).variable("HF_ENDPOINT");
    TOKEN = outside_files("token", "token", Kind::Text).variable("HF_TOKEN");
}

/// A key of the systems that users migrate from, with its replacement.
pub const RETIRED: &str = "use_semantic_tool_selection";
pub const REPLACEMENT: &str = "tool_selection_strategy";

/// Checks the type of a value. The error names the member of a table that does not fit.
fn is_a<T: DeserializeOwned>(value: &Value) -> Result<(), String> {
    let read = |value: Value| value.try_into::<T>().map(drop);
    let Err(error) = read(value.clone()) else { return Ok(()) };
    let alone = |(name, member): (&String, &Value)| {
        let said = read(Value::Table([(name.clone(), member.clone())].into_iter().collect()));
        let said = type_fault(said.err()?.message());
        said.starts_with("expected ").then(|| format!("`{name}`: {said}"))
    };
    let member = value.as_table().into_iter().flatten().find_map(alone);
    Err(member.unwrap_or_else(|| type_fault(error.message())))
}

fn profiles(value: &Value) -> Result<(), String> {
    for (name, profile) in value.as_table().into_iter().flatten() {
        let fault = match profile {
            Value::Table(_) => is_a::<ProfileSettings>(profile),
            _ => is_a::<Vec<String>>(profile).map_err(|_| {
                format!("expected a list of id patterns, or a table, found {profile}")
            }),
        };
        fault.map_err(|said| format!("profile `{name}`: {said}"))?;
    }
    is_a::<Profiles>(value)
}

fn small_models(value: &Value) -> Result<(), String> {
    is_a::<SmallModels>(value)?;
    let rule: SmallModels = value.clone().try_into().unwrap_or_default();
    let bad = rule.bad_pattern().map(|(pattern, said)| {
        let said = said.lines().next_back().unwrap_or_default().trim().to_owned();
        format!("the pattern `{pattern}` is no regular expression: {said}")
    });
    bad.map_or(Ok(()), Err)
}

impl PartialEq for Key {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Key {
    /// Returns an error that says what was expected if the value is invalid.
    pub fn check(&self, value: &Value) -> Result<(), String> {
        let number = value.as_float().or_else(|| value.as_integer().map(|whole| whole as f64));
        let good = match &self.kind {
            Kind::Word(words) => value.as_str().is_some_and(|word| words().contains(&word)),
            Kind::Number(least, most) => number.is_some_and(|n| (*least..=*most).contains(&n)),
            Kind::Count(least, most) => {
                value.as_integer().is_some_and(|n| (*least..=*most).contains(&n))
            }
            Kind::Limit => match value {
                Value::Integer(tools) => *tools >= 0,
                value => value.as_str().is_some_and(|text| text.parse::<Limit>().is_ok()),
            },
            Kind::Device => value.as_str().is_some_and(|text| device(text).is_ok()),
            Kind::Flag => value.is_bool(),
            Kind::Pinning | Kind::Text | Kind::Path => {
                value.as_str().is_some_and(|text| !text.is_empty())
            }
            Kind::Paths => {
                let is_path = |value: &Value| value.as_str().is_some_and(|path| !path.is_empty());
                is_path(value) || value.as_array().is_some_and(|all| all.iter().all(is_path))
            }
            Kind::Table(check) if value.is_table() => return check(value),
            Kind::Table(_) => false,
        };
        if good { Ok(()) } else { Err(format!("expected {}, found {value}", self.kind.expected())) }
    }

    /// Parses the value of a variable or a flag.
    pub fn parse(&self, text: &str) -> Value {
        match &self.kind {
            Kind::Word(_) | Kind::Device | Kind::Text | Kind::Path => {
                Value::String(text.to_owned())
            }
            Kind::Pinning => {
                let word = text.to_lowercase();
                if words::<Pinning>().contains(&&*word) { word.into() } else { "strict".into() }
            }
            Kind::Paths => {
                let as_text = |path: PathBuf| path.to_string_lossy().into_owned().into();
                Value::Array(paths(text.as_ref()).into_iter().map(as_text).collect())
            }
            Kind::Number(..) | Kind::Count(..) | Kind::Limit | Kind::Flag => scalar(text),
            Kind::Table(_) => pairs(text),
        }
    }
}

/// Splits paths that are separated as in `PATH`.
pub fn paths(text: &OsStr) -> Vec<PathBuf> {
    std::env::split_paths(text).filter(|path| !path.as_os_str().is_empty()).collect()
}

/// Parses a number or boolean; other text stays text, which `check` rejects if necessary.
fn scalar(text: &str) -> Value {
    let text = text.trim();
    if let Ok(whole) = text.parse::<i64>() {
        return Value::Integer(whole);
    }
    let other = text.parse().map(Value::Float).ok();
    other.or_else(|| text.parse().map(Value::Boolean).ok()).unwrap_or_else(|| text.into())
}

/// Parses `a=1,b=2`, or the body of an inline table, `a = [1, 2], b = "c"`.
fn pairs(text: &str) -> Value {
    if let Ok(table) = toml::from_str::<toml::Table>(&format!("it = {{ {text} }}")) {
        return table.get("it").cloned().unwrap_or_else(|| text.into());
    }
    Value::String(text.to_owned())
}

impl Kind {
    fn expected(&self) -> String {
        match self {
            Self::Word(words) => format!("one of {}", words().join(", ")),
            Self::Number(least, most) => format!("a number from {least} to {most}"),
            Self::Count(least, most) => format!("a whole number from {least} to {most}"),
            Self::Limit => "a number, `auto` or `auto:N`".to_owned(),
            Self::Device => "cpu, cuda, cuda:N or metal".to_owned(),
            Self::Flag => "true or false".to_owned(),
            Self::Pinning | Self::Text => "a text".to_owned(),
            Self::Path => "a path".to_owned(),
            Self::Paths => "a path or a list of paths".to_owned(),
            Self::Table(_) => "a table of names and values, `name = value, …`".to_owned(),
        }
    }
}

/// Finds a key by its name in a file. The error has the most similar name, if any.
pub fn find(name: &str) -> Result<&'static Key, Option<&'static str>> {
    const CLOSE: f64 = 0.5;
    let keys = || KEYS.iter().filter(|key| key.in_file);
    if let Some(key) = keys().find(|key| key.name == name) {
        return Ok(key);
    }
    let likeness = |known: &str| {
        let contained = if known.contains(name) && name.len() > 3 { 0.9 } else { 0.0 };
        strsim::normalized_damerau_levenshtein(name, known).max(contained)
    };
    let near = keys().map(|key| (likeness(key.name), key.name));
    let near = near.filter(|(likeness, _)| *likeness >= CLOSE);
    Err(near.max_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, name)| name))
}
