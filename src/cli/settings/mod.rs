//! Resolves every option to a value and its origin: a flag, a variable, a file or a default.
//!
//! clap parses and validates the arguments. [`Settings::resolve`] then looks up each key of the
//! table ([`keys`]) in this order: flag, variable, `toolroute.toml`, default. Finally,
//! [`Settings::as_defaults`] makes the values of variables and files the defaults of the flags, with
//! which clap parses again, so that commands need not know the origin of a value.
//!
//! clap's own support for variables is not used: it treats a variable like a typed flag, so that an
//! exported variable could conflict with a typed flag. A default conflicts with nothing.
//!
//! ```text
//! toolroute route --limit 3     with TOOLROUTE_LIMIT=8 and `limit = 7` in toolroute.toml
//!     limit = 3, from the flag --limit
//! ```
//!
//! This module knows the keys, but not the commands that use them.

mod file;
pub mod keys;
mod profiles;

use std::collections::{BTreeMap, HashSet};
use std::ffi::OsString;
use std::path::PathBuf;

use clap::parser::ValueSource;
use clap::{ArgMatches, Command};
use serde::Serialize;
use serde::de::DeserializeOwned;
use toml::Value;

use super::exit;
use super::words::Blend;
use toolroute_rank::engine::EngineConfig;

use file::File;
use keys::{KEYS, Key, Kind};
pub use profiles::ProfileSettings;
use profiles::Profiles;

/// Looks up an environment variable.
pub type Variables<'a> = &'a dyn Fn(&str) -> Option<OsString>;

/// The resolved options of one command.
#[derive(Clone, Default)]
pub struct Settings {
    values: Vec<Setting>,
    /// The files that were read, in order of precedence.
    pub files: Vec<PathBuf>,
    pub warnings: Vec<String>,
    /// Errors in the files. Only `config` and `doctor` continue in spite of them.
    pub errors: Vec<String>,
}

/// The value of one key.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Setting {
    #[serde(rename = "key", serialize_with = "key_name")]
    key: &'static Key,
    /// `None` means the default, which `default` describes.
    pub value: Option<Value>,
    pub default: &'static str,
    pub origin: Origin,
    /// The original text of a variable, because a path need not be UTF-8.
    #[serde(skip)]
    text: Option<OsString>,
    /// Whether the value becomes the default of the flag: it was not typed, and no typed argument
    /// excludes it.
    #[serde(skip)]
    is_taken: bool,
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

fn key_name<S: serde::Serializer>(key: &Key, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_str(key.name)
}

impl Setting {
    pub fn key(&self) -> &'static str {
        self.key.name
    }

    fn is_of_file(&self) -> bool {
        matches!(self.origin, Origin::File { .. })
    }

    /// The value as it would be typed.
    fn texts(&self) -> Vec<OsString> {
        match (&self.text, &self.key.kind, &self.value) {
            (Some(text), Kind::Paths, _) => keys::paths(text).into_iter().map(Into::into).collect(),
            (Some(text), Kind::Path, _) => vec![text.clone()],
            (_, _, Some(Value::Array(all))) => {
                all.iter().filter_map(Value::as_str).map(Into::into).collect()
            }
            (_, _, Some(Value::String(text))) => vec![text.into()],
            (_, _, value) => value.iter().map(|value| value.to_string().into()).collect(),
        }
    }
}

/// The arguments of the innermost subcommand, as parsed by clap.
#[derive(Default)]
pub struct Typed {
    matches: ArgMatches,
    /// The ids of the command's arguments. `ArgMatches::try_contains_id` only works with debug
    /// assertions.
    known: HashSet<String>,
    /// The names of the subcommand and of those inside it.
    pub subcommands: Vec<String>,
    /// Whether the command reports errors in the files itself, as `config` and `doctor` do.
    allows_errors: bool,
}

impl Typed {
    /// `command` must be the one that parsed `matches`: its subcommands then have the global
    /// arguments.
    pub fn new(command: &clap::Command, matches: &ArgMatches) -> Self {
        let allows_errors = matches!(matches.subcommand_name(), Some("config" | "doctor"));
        let (mut command, mut matches, mut subcommands) = (command, matches, Vec::new());
        while let Some((name, inner)) = matches.subcommand()
            && let Some(subcommand) = command.find_subcommand(name)
        {
            (command, matches) = (subcommand, inner);
            subcommands.push(name.to_owned());
        }
        let known = command.get_arguments().map(|argument| argument.get_id().to_string());
        Self { known: known.collect(), matches: matches.clone(), subcommands, allows_errors }
    }

    /// Whether the command has this argument.
    fn knows(&self, id: &str) -> bool {
        self.known.contains(id)
    }

    /// Whether this argument was typed.
    fn has(&self, id: &str) -> bool {
        self.knows(id) && self.matches.value_source(id) == Some(ValueSource::CommandLine)
    }

    /// The typed value of a key, if its flag was typed.
    fn value(&self, key: &Key) -> Option<Value> {
        let id = key.argument()?;
        if !self.has(&id) {
            return None;
        }
        let raw = self.matches.get_raw(&id)?.map(|text| text.to_string_lossy().into_owned());
        let raw: Vec<String> = raw.collect();
        Some(match &key.kind {
            Kind::Paths => Value::Array(raw.into_iter().map(Value::from).collect()),
            // The flag `--no-complete` sets its key to false.
            Kind::Flag => Value::Boolean(self.matches.get_flag(&id)),
            _ => key.parse(raw.last()?),
        })
    }
}

impl Settings {
    /// Looks up every key.
    pub fn resolve(typed: &Typed, variables: Variables<'_>) -> anyhow::Result<Self> {
        let named = typed.matches.get_one::<PathBuf>("config").cloned();
        let named = named.or_else(|| set(keys::CONFIG.variable, variables).map(PathBuf::from));
        let files = file::find(named.as_deref())?;
        let errors: Vec<String> = files.iter().flat_map(|file| file.errors.clone()).collect();
        if let (false, Some(first)) = (typed.allows_errors, errors.first()) {
            let more = if errors.len() > 1 { "; `toolroute config check` tells all" } else { "" };
            return Err(exit::bad_data(format!("{first}{more}")));
        }
        let values: anyhow::Result<Vec<Setting>> =
            KEYS.iter().map(|key| look_up(key, typed, &files, variables)).collect();
        let mut settings = Self {
            values: values?,
            warnings: files.iter().flat_map(|file| file.warnings.clone()).collect(),
            files: files.into_iter().map(|file| file.path).collect(),
            errors,
        };
        settings.apply_plain_blend();
        Ok(settings)
    }

    /// The keys that a file may set, in the order of the table.
    pub fn of_files(&self) -> impl Iterator<Item = &Setting> {
        self.values.iter().filter(|setting| setting.key.in_file)
    }

    pub fn get(&self, key: &Key) -> Option<&Setting> {
        self.values.iter().find(|setting| setting.key.name == key.name)
    }

    pub fn is_typed(&self, key: &Key) -> bool {
        self.get(key).is_some_and(|setting| matches!(setting.origin, Origin::Flag { .. }))
    }

    /// Makes the values of variables and files the defaults of a command's flags, down to the last
    /// of `subcommands`.
    pub fn as_defaults(&self, command: Command, subcommands: &[String]) -> Command {
        let is_last = subcommands.is_empty();
        let command = command.mut_args(|argument| {
            let id = argument.get_id();
            let is_of = |setting: &&Setting| setting.key.argument().is_some_and(|key| *id == *key);
            let setting = self.values.iter().filter(|setting| setting.is_taken).find(is_of);
            match setting.filter(|_| is_last || argument.is_global_set()) {
                Some(setting) => argument.default_values(setting.texts()),
                None => argument,
            }
        });
        match subcommands {
            [name, rest @ ..] => {
                command.mut_subcommand(name, |inner| self.as_defaults(inner, rest))
            }
            [] => command,
        }
    }

    /// The path of a key that a variable has set, for an argument with a different flag.
    pub fn variable_path(&self, key: &Key) -> Option<PathBuf> {
        self.get(key)?.text.as_ref().map(PathBuf::from)
    }

    /// A table of the configuration.
    pub fn table<T: DeserializeOwned>(&self, key: &Key) -> Option<T> {
        self.get(key)?.value.clone()?.try_into().ok()
    }

    pub fn profiles(&self) -> BTreeMap<String, ProfileSettings> {
        let entries = self.table::<Profiles>(&keys::PROFILES).unwrap_or_default().into_iter();
        entries.map(|(name, entry)| (name, entry.into())).collect()
    }

    /// Copies the tables to an engine's configuration.
    pub fn apply(&self, config: &mut EngineConfig) {
        fn replace<T>(field: &mut T, table: Option<T>) {
            if let Some(table) = table {
                *field = table;
            }
        }
        replace(&mut config.signals, self.table(&keys::SIGNALS));
        replace(&mut config.category_words, self.table(&keys::CATEGORY_WORDS));
        replace(&mut config.small_models, self.table(&keys::SMALL_MODELS));
        replace(&mut config.cache, self.table(&keys::CACHE));
        config.min_shares = self.table(&keys::MIN_SHARES).or(config.min_shares);
        let profiles = self.profiles();
        config.profiles = profiles.iter().map(|(name, p)| (name.clone(), p.patterns())).collect();
        let named = profiles.into_iter().filter(|(_, profile)| !profile.servers.is_empty());
        config.profile_servers = named.map(|(name, p)| (name, p.servers)).collect();
    }

    /// If a flag or a variable selects the plain blend, the files' values that it fixes are
    /// ignored.
    fn apply_plain_blend(&mut self) {
        let blend = self.get(&keys::BLEND).filter(|blend| !blend.is_of_file());
        let blend: Option<Blend> = blend.and_then(|blend| blend.value.clone()?.try_into().ok());
        if blend == Some(Blend::Plain) {
            let fixed = |setting: &&mut Setting| setting.key.fixed_by_plain && setting.is_of_file();
            self.values.iter_mut().filter(fixed).for_each(|setting| setting.is_taken = false);
        }
    }
}

/// Returns a variable; an empty one counts as unset.
fn set(name: &str, variables: Variables<'_>) -> Option<OsString> {
    variables(name).filter(|value| !value.is_empty())
}

/// Finds a key's value and origin.
fn look_up(
    key: &'static Key,
    typed: &Typed,
    files: &[File],
    variables: Variables<'_>,
) -> anyhow::Result<Setting> {
    let is_taken = !key.unless.iter().any(|other| typed.has(other));
    let default = key.default;
    let setting = |value, origin| Setting { key, value, default, origin, text: None, is_taken };
    if let (Some(flag), Some(value)) = (key.flag, typed.value(key)) {
        let origin = Origin::Flag { name: flag.to_owned() };
        return Ok(Setting { is_taken: false, ..setting(Some(value), origin) });
    }
    if let Some(text) = set(key.variable, variables) {
        let value = key.parse(&text.to_string_lossy());
        key.check(&value).map_err(|said| {
            exit::bad_arguments(format!("the variable {}: {said}", key.variable))
        })?;
        let origin = Origin::Variable { name: key.variable };
        return Ok(Setting { text: Some(text), ..setting(Some(value), origin) });
    }
    let found = files.iter().find_map(|file| Some((file, file.get(key.name)?)));
    Ok(match found {
        Some((file, value)) => {
            setting(Some(value.clone()), Origin::File { path: file.path.clone() })
        }
        None => Setting { is_taken: false, ..setting(None, Origin::Default) },
    })
}
