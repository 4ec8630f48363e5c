//! Finds and reads `toolroute.toml`.

use std::path::{Path, PathBuf};

use toml::{Table, Value};

use super::keys::{self, Key, Kind, REPLACEMENT, RETIRED};
use crate::cli::exit;

pub const FILE: &str = "toolroute.toml";

/// A configuration file after validation.
#[derive(Debug, Default)]
pub struct File {
    pub path: PathBuf,
    pub values: Vec<(&'static str, Value)>,
    pub errors: Vec<String>,
    pub warnings: Vec<String>,
}

/// Finds the files in order of precedence: the named one only, or that of the current folder and
/// then the user's own.
pub fn find(named: Option<&Path>) -> anyhow::Result<Vec<File>> {
    if let Some(path) = named {
        return Ok(vec![read(path)?]);
    }
    let own = dirs::config_dir().map(|folder| folder.join("toolroute").join(FILE));
    let places = [Some(PathBuf::from(FILE)), own];
    places.into_iter().flatten().filter(|path| path.is_file()).map(|path| read(&path)).collect()
}

fn read(path: &Path) -> anyhow::Result<File> {
    let text = std::fs::read_to_string(path)
        .map_err(|error| exit::io(format!("cannot read {}: {error}", path.display())))?;
    parse(path, &text).map_err(exit::bad_data)
}

pub fn parse(path: &Path, text: &str) -> Result<File, String> {
    let table: Table = toml::from_str(text).map_err(|error| {
        let line = error.span().map_or(1, |span| 1 + text[..span.start].matches('\n').count());
        let path = path.display();
        let cure = match text.trim_start().starts_with('{') {
            true => format!("; a file with `mcpServers` is named by --servers {path}"),
            false => String::new(),
        };
        format!("{path}:{line}: expected TOML: {}{cure}", error.message())
    })?;
    let mut file = File { path: path.to_owned(), ..File::default() };
    for (name, value) in table {
        match keys::find(&name) {
            _ if name == RETIRED => file.retired(&value),
            Ok(key) => file.take(key, value),
            Err(near) => {
                let outside = keys::KEYS.iter().find(|key| key.name == name);
                let cure = match (outside, near) {
                    (Some(Key { flag, variable, .. }), _) => {
                        let flag = flag.unwrap_or_default();
                        format!("no file may set it: use --{flag} or the variable {variable}")
                    }
                    (None, Some(near)) => format!("did you mean `{near}`?"),
                    (None, None) => "`toolroute config show` lists all keys".to_owned(),
                };
                file.error(&format!("unknown key `{name}`; {cure}"));
            }
        }
    }
    file.check_plain_blend();
    Ok(file)
}

impl File {
    pub fn get(&self, name: &str) -> Option<&Value> {
        self.values.iter().find(|(known, _)| *known == name).map(|(_, value)| value)
    }

    fn error(&mut self, said: &str) {
        self.errors.push(format!("{}: {said}", self.path.display()));
    }

    fn take(&mut self, key: &'static Key, value: Value) {
        match key.check(&value) {
            Err(said) => self.error(&format!("key `{}`: {said}", key.name)),
            Ok(()) => {
                // An explicit value overrides the one that a retired key implies.
                self.values.retain(|(name, _)| *name != key.name);
                self.values.push((key.name, self.resolve(&key.kind, value)));
            }
        }
    }

    /// Reports the keys that have no effect because the file selects the plain blend.
    fn check_plain_blend(&mut self) {
        if self.get(keys::BLEND.name).and_then(Value::as_str) != Some("plain") {
            return;
        }
        for key in keys::KEYS.iter().filter(|key| key.fixed_by_plain) {
            if self.get(key.name).is_some_and(|value| value.to_string() != key.default) {
                self.error(&format!(
                    "key `{}`: expected none beside blend = \"plain\", which fixes it; remove one of the two",
                    key.name
                ));
            }
        }
    }

    /// Relative paths in a file start at its folder.
    fn resolve(&self, kind: &Kind, value: Value) -> Value {
        let folder = self.path.parent().unwrap_or(Path::new(""));
        let join = |value: Value| match value {
            Value::String(path) => folder.join(path).to_string_lossy().into_owned().into(),
            other => other,
        };
        match (kind, value) {
            (Kind::Path | Kind::Paths, Value::Array(all)) => {
                Value::Array(all.into_iter().map(join).collect())
            }
            (Kind::Path, value) => join(value),
            (Kind::Paths, value) => Value::Array(vec![join(value)]),
            (_, value) => value,
        }
    }

    /// Converts the retired key and warns about it.
    fn retired(&mut self, value: &Value) {
        let Some(semantic) = value.as_bool() else {
            self.error(&format!("key `{RETIRED}`: expected true or false, found {value}"));
            return;
        };
        let strategy = if semantic { "semantic" } else { "keyword" };
        self.warnings.push(format!(
            "{}: `{RETIRED}` is retired; write {REPLACEMENT} = \"{strategy}\" instead, or \"auto\"",
            self.path.display()
        ));
        if self.get(REPLACEMENT).is_none() {
            self.values.push((REPLACEMENT, strategy.into()));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> File {
        parse(Path::new("conf/toolroute.toml"), text).unwrap()
    }

    #[test]
    fn values_are_checked_and_paths_start_at_the_file() {
        let file = parsed("tools = \"my\"\nsemantic_weight = 1\n[signals]\nintent = 0.25\n");
        assert_eq!(file.errors, [] as [String; 0]);
        assert_eq!(file.get("tools").unwrap().to_string(), "[\"conf/my\"]");
        for (text, told) in [
            ("semantic_wieght = 0.5", "did you mean `semantic_weight`?"),
            ("strategy = \"auto\"", "did you mean `tool_selection_strategy`?"),
            ("semantic_weight = 1.5", "a number from 0 to 1, found 1.5"),
            ("tool_selection_strategy = \"fuzzy\"", "one of auto, keyword, semantic, hybrid"),
            ("[signals]\nintend = 0.1", "unknown signal `intend`"),
            ("[cache]\nttl = 3", "ttl_ms"),
            ("[small_models]\npatterns = [\"(\"]", "`(` is no regular expression"),
            ("zzz = 1", "config show"),
            ("servers = \"s.json\"", "use --servers or the variable TOOLROUTE_SERVERS"),
            ("cache = 3", "key `cache`: expected a table of names and values"),
            ("cache = { ttl_ms = \"x\" }", "`ttl_ms`: expected a whole number from 0, found \"x\""),
            ("[small_models]\npatterns = \"x\"", "`patterns`: expected a list, found \"x\""),
            ("[profiles.sky]\ntoolz = []", "profile `sky`: unknown field `toolz`"),
            (
                "[profiles]\nsky = 3",
                "profile `sky`: expected a list of id patterns, or a table, found 3",
            ),
            ("blend = \"plain\"\nwhole = true", "key `whole`: expected none beside"),
        ] {
            let file = parsed(text);
            let [error] = file.errors.as_slice() else { panic!("{text}: {:?}", file.errors) };
            assert!(error.contains(told) && error.starts_with("conf/"), "{error}");
        }
        let error = parse(Path::new("x.toml"), "a = 1\nb = = 2").unwrap_err();
        assert!(error.starts_with("x.toml:2: expected TOML"), "{error}");
    }

    #[test]
    fn the_retired_key_is_understood_and_answered_with_its_replacement() {
        let strategy = |text: &str| {
            let file = parsed(text);
            assert!(file.warnings[0].contains("write tool_selection_strategy = "), "{file:?}");
            file.get("tool_selection_strategy").unwrap().as_str().unwrap().to_owned()
        };
        assert_eq!(strategy("use_semantic_tool_selection = true"), "semantic");
        assert_eq!(strategy("use_semantic_tool_selection = false"), "keyword");
        let both = "use_semantic_tool_selection = true\ntool_selection_strategy = \"hybrid\"\n";
        assert_eq!(strategy(both), "hybrid");
        assert_eq!(parsed("use_semantic_tool_selection = 3").errors.len(), 1);
    }
}
