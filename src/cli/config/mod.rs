//! Flags over environment over `toolroute.toml` over defaults, and where each value came from.
//!
//! A value from a file or a variable is put behind the typed arguments as the flag that says the
//! same, and the whole is parsed once more: so both are checked and understood in one way. Tables,
//! for which there is no flag, become [`Settings`].

mod files;
mod keys;

use std::collections::{BTreeMap, HashSet};
use std::ffi::OsString;
use std::path::PathBuf;

use clap::parser::ValueSource;
use clap::{ArgMatches, CommandFactory, FromArgMatches};
use serde::Serialize;
use serde::de::DeserializeOwned;
use toml::Value;

use super::args::Cli;
use super::exit::{self, Failure};
use crate::engine::{
    CacheSettings, CategoryWords, EngineConfig, MinShares, SignalWeights, SmallModels,
};

use files::File;
use keys::{KEYS, Key, Kind};

pub type Profiles = BTreeMap<String, ProfileSettings>;

/// One profile: a list of patterns over ids, or a table that says more.
#[derive(Clone, Debug, Default, PartialEq, serde::Deserialize)]
#[serde(from = "ProfileEntry")]
pub struct ProfileSettings {
    pub tools: Vec<String>,
    pub servers: Vec<String>,
    /// The rest is for the gateway.
    pub pinned: Vec<String>,
    pub limit: Option<usize>,
    pub query: Option<String>,
}

#[derive(serde::Deserialize)]
#[serde(untagged)]
enum ProfileEntry {
    Patterns(Vec<String>),
    Table(ProfileTable),
}

#[derive(serde::Deserialize)]
#[serde(default, deny_unknown_fields)]
#[derive(Default)]
struct ProfileTable {
    tools: Vec<String>,
    servers: Vec<String>,
    pinned: Vec<String>,
    limit: Option<usize>,
    query: Option<String>,
}

impl From<ProfileEntry> for ProfileSettings {
    fn from(entry: ProfileEntry) -> Self {
        match entry {
            ProfileEntry::Patterns(tools) => Self { tools, ..Self::default() },
            ProfileEntry::Table(ProfileTable { tools, servers, pinned, limit, query }) => {
                Self { tools, servers, pinned, limit, query }
            }
        }
    }
}

/// What the configuration says beyond what flags can say.
#[derive(Clone, Default)]
pub struct Settings {
    pub signals: Option<SignalWeights>,
    pub category_words: Option<CategoryWords>,
    pub small_models: Option<SmallModels>,
    pub min_shares: Option<MinShares>,
    pub cache: Option<CacheSettings>,
    pub profiles: Option<Profiles>,
    /// Every key with its value and where that came from.
    pub effective: Vec<Effective>,
    pub files: Vec<PathBuf>,
    pub warnings: Vec<String>,
    /// What is wrong with the files; only `config` goes on in spite of it.
    pub errors: Vec<String>,
}

/// The value of a key in force.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Effective {
    pub key: &'static str,
    /// `None` is the default, which `default` tells.
    pub value: Option<Value>,
    pub default: &'static str,
    pub origin: Origin,
}

/// Where a value came from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "from", rename_all = "snake_case")]
pub enum Origin {
    Flag { name: String },
    Variable { name: &'static str },
    File { path: PathBuf },
    Default,
}

impl std::fmt::Display for Origin {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Flag { name } => write!(f, "flag --{name}"),
            Self::Variable { name } => write!(f, "variable {name}"),
            Self::File { path } => write!(f, "{}", path.display()),
            Self::Default => f.write_str("default"),
        }
    }
}

/// Why there is nothing to run.
pub enum Refused {
    /// What was typed, or that help was asked for.
    Typed(clap::Error),
    /// A file or a variable.
    Configured(Failure),
}

impl From<clap::Error> for Refused {
    fn from(error: clap::Error) -> Self {
        Self::Typed(error)
    }
}

impl From<Failure> for Refused {
    fn from(failure: Failure) -> Self {
        Self::Configured(failure)
    }
}

/// Variables that `environment` fills in by itself.
const FILLED: [&str; 5] = ["tools", "model", "models", "index", "usage"];

/// What was typed, with what the environment and the files add.
///
/// # Errors
/// What was typed wrong, or what is wrong with a file or a variable.
pub fn parse() -> Result<Cli, Refused> {
    parse_from(std::env::args_os().collect(), &|name| std::env::var_os(name))
}

type Variables<'a> = &'a dyn Fn(&str) -> Option<OsString>;

fn parse_from(typed: Vec<OsString>, variables: Variables<'_>) -> Result<Cli, Refused> {
    let mut command = Cli::command();
    let matches = command.try_get_matches_from_mut(&typed)?;
    let leaf = Leaf::of(&command, &matches);
    let named = matches.get_one::<PathBuf>("config").cloned();
    let named = named.or_else(|| set("TOOLROUTE_CONFIG", variables).map(PathBuf::from));
    let servers = named.clone().filter(|path| is_servers_file(path, &leaf));
    let named = named.filter(|_| servers.is_none());
    let files = files::find(named.as_deref()).map_err(|(unreadable, said)| Failure {
        code: if unreadable { exit::IO } else { exit::BAD_DATA },
        said,
    })?;
    // Both tell what is wrong themselves.
    let is_config = matches!(matches.subcommand_name(), Some("config" | "doctor"));
    let errors: Vec<String> = files.iter().flat_map(|file| file.errors.clone()).collect();
    if let (false, Some(first)) = (is_config, errors.first()) {
        let more = if errors.len() > 1 { "; `toolroute config check` tells all" } else { "" };
        return Err(Failure { code: exit::BAD_DATA, said: format!("{first}{more}") }.into());
    }
    let effective = resolve(&leaf, &files, variables)?;
    let more = effective.iter().filter(|value| may_add(value, &leaf) && !is_out(value, &effective));
    let more: Vec<OsString> = more.flat_map(as_flags).collect();
    let told = servers.as_ref().map(|path| {
        let path = path.display();
        format!("--config is for toolroute.toml; for the servers of {path} write --servers {path}")
    });
    let servers = servers.map(|path| {
        let mut flag = OsString::from("--servers=");
        flag.push(path);
        flag
    });
    let more = more.into_iter().chain(servers);
    let mut all = typed;
    let end = all.iter().position(|argument| argument == "--").unwrap_or(all.len());
    all.splice(end..end, more);
    let matches = Cli::command().try_get_matches_from(&all)?;
    let mut cli = Cli::from_arg_matches(&matches)?;
    cli.global.settings = settings(effective, &files, errors);
    cli.global.settings.warnings.extend(told);
    Ok(cli)
}

fn set(name: &str, variables: Variables<'_>) -> Option<OsString> {
    variables(name).filter(|value| !value.is_empty())
}

/// Whether the file that `--config` names is the `mcpServers` file that MCP clients have, which was its
/// second meaning once: it is understood, and told what to write; the command must know what to do with it.
fn is_servers_file(path: &std::path::Path, leaf: &Leaf<'_>) -> bool {
    let is_json = path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("json"));
    is_json && leaf.knows("servers") && !leaf.matches.contains_id("servers")
}

/// The innermost subcommand: what was typed for it, and which arguments it has.
struct Leaf<'m> {
    matches: &'m ArgMatches,
    /// `ArgMatches::try_contains_id` would tell, but in builds with debug assertions only.
    known: HashSet<&'m str>,
}

impl<'m> Leaf<'m> {
    /// `command` is the one that parsed `matches`, whose subcommands have the global arguments as well.
    fn of(command: &'m clap::Command, matches: &'m ArgMatches) -> Self {
        let inner = matches.subcommand();
        match inner.and_then(|(name, inner)| Some((command.find_subcommand(name)?, inner))) {
            Some((command, inner)) => Self::of(command, inner),
            None => {
                let known = command.get_arguments().map(|argument| argument.get_id().as_str());
                Self { matches, known: known.collect() }
            }
        }
    }

    fn knows(&self, id: &str) -> bool {
        self.known.contains(id)
    }

    fn was_typed(&self, id: &str) -> bool {
        self.knows(id) && self.matches.value_source(id) == Some(ValueSource::CommandLine)
    }
}

/// Every key's value and origin.
fn resolve(
    leaf: &Leaf<'_>,
    files: &[File],
    variables: Variables<'_>,
) -> Result<Vec<Effective>, Failure> {
    KEYS.iter().map(|key| one(key, leaf, files, variables)).collect()
}

fn one(
    key: &'static Key,
    leaf: &Leaf<'_>,
    files: &[File],
    variables: Variables<'_>,
) -> Result<Effective, Failure> {
    let effective =
        |value, origin| Effective { key: key.name, value, default: key.default, origin };
    if let (Some(flag), Some(text)) = (key.flag, typed(key, leaf)) {
        let origin = Origin::Flag { name: flag.to_owned() };
        return Ok(effective(Some(text), origin));
    }
    if let Some(text) = set(key.variable, variables) {
        let value = key.parse(&text.to_string_lossy());
        key.check(&value).map_err(|said| {
            let said = format!("the variable {}: {said}", key.variable);
            Failure { code: exit::BAD_ARGUMENTS, said }
        })?;
        return Ok(effective(Some(value), Origin::Variable { name: key.variable }));
    }
    let found = files.iter().find_map(|file| Some((file, file.get(key.name)?)));
    Ok(match found {
        Some((file, value)) => {
            effective(Some(value.clone()), Origin::File { path: file.path.clone() })
        }
        None => effective(None, Origin::Default),
    })
}

/// What was typed for a key, if its flag was.
fn typed(key: &Key, leaf: &Leaf<'_>) -> Option<Value> {
    let id = key.flag?.replace('-', "_");
    if !leaf.was_typed(&id) {
        return None;
    }
    let raw: Vec<String> =
        leaf.matches.get_raw(&id)?.map(|text| text.to_string_lossy().into_owned()).collect();
    Some(match &key.kind {
        Kind::Paths => Value::Array(raw.into_iter().map(Value::from).collect()),
        Kind::Flag => Value::Boolean(true),
        _ => key.parse(raw.last()?),
    })
}

/// Whether a value from elsewhere is put to what was typed: where the command knows its flag, and
/// nothing typed speaks against it.
fn may_add(value: &Effective, leaf: &Leaf<'_>) -> bool {
    let flag = KEYS.iter().find(|key| key.name == value.key).and_then(|key| key.flag);
    let Some(id) = flag.map(|flag| flag.replace('-', "_")) else { return false };
    let from_elsewhere = match value.origin {
        Origin::File { .. } => true,
        Origin::Variable { .. } => !FILLED.contains(&value.key),
        _ => false,
    };
    let against: &[&str] = match value.key {
        "index" => &["no_save", "suite"],
        "tools" => &["suite"],
        "usage" => &["no_usage"],
        "tool_selection_strategy" => &["suite", "all"],
        _ => &[],
    };
    from_elsewhere && leaf.knows(&id) && !against.iter().any(|other| leaf.was_typed(other))
}

/// Keys that make another score of what `blend = "plain"` fixes.
const NOT_PLAIN: [&str; 6] =
    ["fusion", "semantic_weight", "normalization", "rrf_k", "whole", "policy_band"];

/// Whether the plain blend was asked for from nearer by, so that a file's share, say, counts no more.
fn is_out(value: &Effective, all: &[Effective]) -> bool {
    let is_plain = |blend: &Effective| {
        blend.key == "blend"
            && blend.value.as_ref().and_then(Value::as_str) == Some("plain")
            && !matches!(blend.origin, Origin::File { .. })
    };
    let is_filed = matches!(value.origin, Origin::File { .. });
    is_filed && NOT_PLAIN.contains(&value.key) && all.iter().any(is_plain)
}

fn as_flags(value: &Effective) -> Vec<OsString> {
    let flag = KEYS.iter().find(|key| key.name == value.key).and_then(|key| key.flag);
    let (Some(flag), Some(value)) = (flag, &value.value) else { return Vec::new() };
    let one = |value: &Value| match value {
        Value::String(text) => Some(format!("--{flag}={text}").into()),
        Value::Boolean(true) => Some(format!("--{flag}").into()),
        Value::Boolean(false) => None,
        other => Some(format!("--{flag}={other}").into()),
    };
    match value {
        Value::Array(all) => all.iter().filter_map(one).collect(),
        value => one(value).into_iter().collect(),
    }
}

fn settings(effective: Vec<Effective>, files: &[File], errors: Vec<String>) -> Settings {
    fn table<T: DeserializeOwned>(effective: &[Effective], key: &str) -> Option<T> {
        let value = effective.iter().find(|value| value.key == key)?.value.clone()?;
        value.try_into().ok()
    }
    let warnings = files.iter().flat_map(|file| file.warnings.clone()).collect();
    Settings {
        signals: table(&effective, "signals"),
        category_words: table(&effective, "category_words"),
        small_models: table(&effective, "small_models"),
        min_shares: table(&effective, "min_shares"),
        cache: table(&effective, "cache"),
        profiles: table(&effective, "profiles"),
        effective,
        files: files.iter().map(|file| file.path.clone()).collect(),
        warnings,
        errors,
    }
}

impl ProfileSettings {
    /// As the engine has it: patterns over ids, all of them where none is named.
    fn patterns(&self) -> Vec<String> {
        if self.tools.is_empty() { vec!["*".to_owned()] } else { self.tools.clone() }
    }
}

impl Settings {
    /// Puts what the tables say into an engine's configuration.
    pub fn apply(&self, config: &mut EngineConfig) {
        fn set<T: Clone>(field: &mut T, said: &Option<T>) {
            if let Some(said) = said {
                field.clone_from(said);
            }
        }
        set(&mut config.signals, &self.signals);
        set(&mut config.category_words, &self.category_words);
        set(&mut config.small_models, &self.small_models);
        if let Some(profiles) = &self.profiles {
            config.profiles =
                profiles.iter().map(|(name, p)| (name.clone(), p.patterns())).collect();
            let named = profiles.iter().filter(|(_, profile)| !profile.servers.is_empty());
            config.profile_servers =
                named.map(|(name, profile)| (name.clone(), profile.servers.clone())).collect();
        }
        config.min_shares = self.min_shares.or(config.min_shares);
        config.cache = self.cache.unwrap_or(config.cache);
    }
}

#[cfg(test)]
mod tests;
