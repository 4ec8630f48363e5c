//! Resolves every option to a value and its origin: a flag, a variable, a file or a default.
//!
//! clap parses and validates the arguments. [`Settings::resolve`] then looks up each key of the
//! table ([`keys`]) in this order: flag, variable, `toolroute.toml`, default. Finally,
//! [`Configure`] writes the values of variables and files into those arguments whose flags were not
//! typed, so that commands need not know the origin of a value.
//!
//! clap's own support for variables is not used: it treats a variable like a typed flag, so that an
//! exported variable could conflict with a typed flag.
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

use std::collections::HashSet;
use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;

use clap::ArgMatches;
use clap::parser::ValueSource;
use serde::Serialize;
use serde::de::DeserializeOwned;
use toml::Value;

use super::exit::{self, Failure};
use super::limit::Limit;
use super::words::Blend;
use toolroute_rank::engine::EngineConfig;

use file::File;
use keys::{KEYS, Key, Kind};
pub use profiles::Profiles;

/// Looks up an environment variable.
pub type Variables<'a> = &'a dyn Fn(&str) -> Option<OsString>;

/// Arguments that accept values of variables and files if they were not typed.
pub trait Configure {
    fn configure(&mut self, settings: &Settings);
}

/// Implements [`Configure`] for arguments that consist of others.
macro_rules! configure {
    ($arguments:ty: $($group:ident),+) => {
        impl $crate::cli::settings::Configure for $arguments {
            fn configure(&mut self, settings: &$crate::cli::settings::Settings) {
                $($crate::cli::settings::Configure::configure(&mut self.$group, settings);)+
            }
        }
    };
}
pub(crate) use configure;

impl Configure for Limit {
    fn configure(&mut self, settings: &Settings) {
        settings.put(&keys::LIMIT, self);
    }
}

impl Configure for Option<Limit> {
    fn configure(&mut self, settings: &Settings) {
        settings.put(&keys::LIMIT, self);
    }
}

/// The resolved options of one command.
#[derive(Clone, Default)]
pub struct Settings {
    values: Vec<Setting>,
    /// The files that were read, in order of precedence.
    pub files: Vec<PathBuf>,
    pub warnings: Vec<String>,
    /// Errors in the files. Only `config` and `doctor` continue in spite of them.
    pub errors: Vec<String>,
    #[cfg(feature = "server")]
    typed: Arc<Typed>,
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
    /// Whether the value is written into the arguments: it was not typed, and no typed argument
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

    /// The paths of a variable or of a file.
    fn paths(&self) -> Vec<PathBuf> {
        let of_value = |value: &Value| match value {
            Value::Array(all) => all.iter().filter_map(Value::as_str).map(PathBuf::from).collect(),
            value => value.as_str().map(PathBuf::from).into_iter().collect(),
        };
        match (&self.text, &self.key.kind) {
            (Some(text), Kind::Paths) => keys::paths(text),
            (Some(text), _) => vec![text.into()],
            (None, _) => self.value.as_ref().map(of_value).unwrap_or_default(),
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
    /// Whether the command reports errors in the files itself, as `config` and `doctor` do.
    allows_errors: bool,
}

impl Typed {
    /// `command` must be the one that parsed `matches`: its subcommands then have the global
    /// arguments.
    pub fn new(command: &clap::Command, matches: &ArgMatches) -> Self {
        let allows_errors = matches!(matches.subcommand_name(), Some("config" | "doctor"));
        let (mut command, mut matches) = (command, matches);
        while let Some((name, inner)) = matches.subcommand()
            && let Some(subcommand) = command.find_subcommand(name)
        {
            (command, matches) = (subcommand, inner);
        }
        let known = command.get_arguments().map(|argument| argument.get_id().to_string());
        Self { known: known.collect(), matches: matches.clone(), allows_errors }
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
        let id = key.flag?.replace('-', "_");
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
    pub fn resolve(typed: Arc<Typed>, variables: Variables<'_>) -> Result<Self, Failure> {
        let named = typed.matches.get_one::<PathBuf>("config").cloned();
        let named = named.or_else(|| set(keys::CONFIG.variable, variables).map(PathBuf::from));
        let files = file::find(named.as_deref())?;
        let errors: Vec<String> = files.iter().flat_map(|file| file.errors.clone()).collect();
        if let (false, Some(first)) = (typed.allows_errors, errors.first()) {
            let more = if errors.len() > 1 { "; `toolroute config check` tells all" } else { "" };
            return Err(Failure { code: exit::BAD_DATA, said: format!("{first}{more}") });
        }
        let values: Result<Vec<Setting>, Failure> =
            KEYS.iter().map(|key| look_up(key, &typed, &files, variables)).collect();
        let mut settings = Self {
            values: values?,
            warnings: files.iter().flat_map(|file| file.warnings.clone()).collect(),
            files: files.into_iter().map(|file| file.path).collect(),
            errors,
            #[cfg(feature = "server")]
            typed,
        };
        settings.apply_plain_blend();
        Ok(settings)
    }

    /// Resolves the options again, with the present files and variables and the same typed
    /// arguments.
    #[cfg(feature = "server")]
    pub fn read_again(&self) -> Result<Self, Failure> {
        Self::resolve(Arc::clone(&self.typed), &|name| std::env::var_os(name))
    }

    /// The typed arguments of the innermost subcommand.
    #[cfg(feature = "server")]
    pub fn typed(&self) -> &ArgMatches {
        &self.typed.matches
    }

    /// The keys that a file may set, in the order of the table.
    pub fn of_files(&self) -> impl Iterator<Item = &Setting> {
        self.values.iter().filter(|setting| setting.key.in_file)
    }

    /// The setting of a key.
    pub fn get(&self, key: &Key) -> Option<&Setting> {
        self.values.iter().find(|setting| setting.key.name == key.name)
    }

    /// The setting of a key, if its value is written into the arguments.
    fn taken(&self, key: &Key) -> Option<&Setting> {
        self.get(key).filter(|setting| setting.is_taken)
    }

    /// Writes the value of a variable or a file into an argument.
    pub fn put<T: DeserializeOwned>(&self, key: &Key, argument: &mut T) {
        if let Some(value) = self.taken(key).and_then(|setting| setting.value.clone()) {
            let read = value.try_into();
            *argument = read.expect("a key's check admits what its argument takes. This is a bug.");
        }
    }

    /// The same as [`Self::put`] for a path.
    pub fn put_path(&self, key: &Key, argument: &mut Option<PathBuf>) {
        if let Some(setting) = self.taken(key) {
            *argument = setting.paths().pop();
        }
    }

    /// The same as [`Self::put`] for several paths.
    pub fn put_paths(&self, key: &Key, argument: &mut Vec<PathBuf>) {
        if let Some(setting) = self.taken(key) {
            *argument = setting.paths();
        }
    }

    /// The text of a key that a variable or a file has set.
    pub fn text(&self, key: &Key) -> Option<&str> {
        self.taken(key)?.value.as_ref()?.as_str()
    }

    /// The path of a key that a variable has set, for an argument with a different flag.
    pub fn variable_path(&self, key: &Key) -> Option<PathBuf> {
        self.get(key)?.text.as_ref().map(PathBuf::from)
    }

    /// A table of the configuration.
    pub fn table<T: DeserializeOwned>(&self, key: &Key) -> Option<T> {
        self.get(key)?.value.clone()?.try_into().ok()
    }

    #[cfg(feature = "server")]
    pub fn profiles(&self) -> Profiles {
        self.table(&keys::PROFILES).unwrap_or_default()
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
        if let Some(profiles) = self.table::<Profiles>(&keys::PROFILES) {
            config.profiles =
                profiles.iter().map(|(name, p)| (name.clone(), p.patterns())).collect();
            let named = profiles.into_iter().filter(|(_, profile)| !profile.servers.is_empty());
            config.profile_servers = named.map(|(name, p)| (name, p.servers)).collect();
        }
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
) -> Result<Setting, Failure> {
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
            let said = format!("the variable {}: {said}", key.variable);
            Failure { code: exit::BAD_ARGUMENTS, said }
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
