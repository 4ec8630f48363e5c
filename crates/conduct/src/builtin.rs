//! Built-in tools: arithmetic, queries of a SQLite file, and a journal.
//!
//! A file of the user determines which tools of a catalog are built in. The catalog does not
//! determine it, because a catalog is untrusted and must not control what is read and written on
//! this machine.

use std::collections::BTreeMap;
use std::fs::OpenOptions;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::types::{Value as SqlValue, ValueRef};
use rusqlite::{Connection, OpenFlags};
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

use super::runner::{Call, Effect, Outcome, Runner};
use super::{Error, arithmetic};
use toolroute_catalog::{Catalog, Cost, Hints, Reliability, Schema, Tool};

/// The maximum length of an expression in characters, because the evaluator recurses for signs and
/// powers.
const LONGEST: usize = 1_000;
/// The maximum nesting of brackets in an expression.
const DEEPEST: usize = 50;
/// The maximum number of rows that a query returns. A longer result is truncated and marked as
/// `cut`.
const MOST_ROWS: usize = 1_000;
/// The significant digits of a result that is no whole number. With more, 0.1 + 0.2 would be
/// reported as 0.30000000000000004.
const DIGITS: usize = 15;

/// The implementation of one tool.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(tag = "builtin", rename_all = "lowercase", deny_unknown_fields)]
pub enum Builtin {
    /// Evaluates the argument `expression` or `expr` and returns `result`.
    Math {},
    /// Runs one fixed query on a SQLite file and returns `rows`. The call's arguments are bound to
    /// the `:name` parameters of the query. Either `database` or `script` must be set; a script
    /// creates a database in memory for each query.
    Sql { database: Option<PathBuf>, script: Option<PathBuf>, query: String },
    /// Appends a line with the call's key and arguments to a file and returns `written`. This is a
    /// tool that writes, for experiments.
    Journal {
        file: PathBuf,
        /// The pause before and after the write, in milliseconds.
        #[serde(default)]
        wait_ms: u64,
    },
}

/// The built-in tools, keyed by their ids in the catalog.
#[derive(Clone, Debug, Default)]
pub struct Builtins {
    tools: BTreeMap<String, Builtin>,
    folder: PathBuf,
}

impl Builtins {
    /// Creates a set of built-in tools. Relative paths are resolved against `folder`.
    #[doc(hidden)] // For our own crates.
    pub fn new(tools: BTreeMap<String, Builtin>, folder: impl AsRef<Path>) -> Self {
        Self { tools, folder: folder.as_ref().to_owned() }
    }

    /// Reads a table of tools from TOML, such as `[EvalMath]` with `builtin = "math"` below it.
    ///
    /// # Errors
    /// Returns an error if the text is not such a table, or if an SQL tool does not have exactly
    /// one of `database` and `script`.
    pub fn from_toml(text: &str, folder: impl AsRef<Path>) -> Result<Self, Error> {
        let wrong = |error: toml::de::Error| Error::Builtin {
            said: format!(
                "{}; expected tables such as [EvalMath] with builtin = \"math\", \"sql\" or \
                 \"journal\" below it",
                error.to_string().trim_end()
            ),
        };
        let tools: BTreeMap<String, Builtin> = toml::from_str(text).map_err(wrong)?;
        for (id, tool) in &tools {
            if let Builtin::Sql { database, script, .. } = tool
                && database.is_some() == script.is_some()
            {
                let said = format!("[{id}] has to name a `database` or a `script`, one of the two");
                return Err(Error::Builtin { said });
            }
        }
        Ok(Self::new(tools, folder))
    }

    /// Returns `true` if this tool is built in.
    pub fn has(&self, tool: &Tool) -> bool {
        self.tools.contains_key(tool.id.as_str())
    }

    /// Opens a database file read-only, or creates a database in memory with a script.
    fn database(&self, file: Option<&Path>, script: Option<&Path>) -> Result<Database, String> {
        let path = self.folder.join(file.or(script).unwrap_or(Path::new("")));
        let said = |error: rusqlite::Error| format!("{}: {error}", path.display());
        let connection = if file.is_some() {
            let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
            Connection::open_with_flags(&path, flags).map_err(said)?
        } else {
            let script = std::fs::read_to_string(&path);
            let script = script.map_err(|error| format!("{}: {error}", path.display()))?;
            let connection = Connection::open_in_memory().map_err(said)?;
            connection.execute_batch(&script).map_err(said)?;
            connection
        };
        Ok(Database { connection, path })
    }
}

impl Runner for Builtins {
    fn run(&self, call: &Call<'_>) -> Outcome {
        let id = call.tool.id.as_str();
        let done = match self.tools.get(id) {
            None => {
                let said = format!(
                    "nothing says how `{id}` is run; name it in the runners file, or its server in the servers file"
                );
                Err((said, Effect::None))
            }
            Some(Builtin::Math {}) => math(call.arguments).map_err(harmless),
            Some(Builtin::Sql { database, script, query }) => {
                let opened = self.database(database.as_deref(), script.as_deref());
                opened.and_then(|base| ask(&base, query, call.arguments)).map_err(harmless)
            }
            Some(Builtin::Journal { file, wait_ms }) => {
                let wait = Duration::from_millis(*wait_ms);
                note(&self.folder.join(file), call, wait).map_err(|said| (said, Effect::Unknown))
            }
        };
        match done {
            Ok(output) => Outcome::Done(output),
            Err((said, effect)) => Outcome::Failed { said, effect },
        }
    }
}

fn harmless(said: String) -> (String, Effect) {
    (said, Effect::None)
}

fn math(arguments: &Value) -> Result<Value, String> {
    let text = ["expression", "expr"].iter().find_map(|name| arguments[*name].as_str());
    let text = text.ok_or("there is no `expression` among the arguments")?;
    let length = text.chars().count();
    if length > LONGEST {
        return Err(format!("the expression has {length} characters; at most {LONGEST} are taken"));
    }
    let deepest = text.chars().scan(0_usize, |depth, c| {
        match c {
            '(' => *depth += 1,
            ')' => *depth = depth.saturating_sub(1),
            _ => {}
        }
        Some(*depth)
    });
    if deepest.max().unwrap_or_default() > DEEPEST {
        return Err(format!("the expression's brackets are nested more than {DEEPEST} deep"));
    }
    let found = arithmetic::value(text).map_err(|error| format!("`{text}`: {error}"))?;
    if !found.is_finite() {
        return Err(format!("`{text}` has no finite value"));
    }
    let rounded = || format!("{found:.*e}", DIGITS - 1).parse().unwrap_or(found);
    let found = if found.fract() == 0.0 { found } else { rounded() };
    let is_whole = found.fract() == 0.0;
    Ok(if is_whole { json!({"result": found as i64}) } else { json!({"result": found}) })
}

/// An open database, and the path of its file or script.
struct Database {
    connection: Connection,
    path: PathBuf,
}

fn ask(database: &Database, query: &str, arguments: &Value) -> Result<Value, String> {
    let Database { connection, path } = database;
    let said = |error: rusqlite::Error| format!("{}: {error}", path.display());
    let mut statement = connection.prepare(query).map_err(said)?;
    if !statement.readonly() {
        return Err("the query would change the database; only one that reads is run".to_owned());
    }
    for place in 1..=statement.parameter_count() {
        let name = statement.parameter_name(place).unwrap_or_default().to_owned();
        let value = arguments.get(name.trim_start_matches([':', '@', '$']));
        let value =
            value.ok_or_else(|| format!("the query's `{name}` is not among the arguments"))?;
        statement.raw_bind_parameter(place, to_sql(value)).map_err(said)?;
    }
    let columns: Vec<String> = statement.column_names().map(str::to_owned).collect();
    let mut found = Vec::new();
    let mut rows = statement.raw_query();
    while let Some(row) = rows.next().map_err(said)? {
        if found.len() == MOST_ROWS {
            return Ok(json!({"rows": found, "cut": true}));
        }
        let mut fields = Map::new();
        for (place, name) in columns.iter().enumerate() {
            fields.insert(name.clone(), from_sql(row.get_ref(place).map_err(said)?));
        }
        found.push(Value::Object(fields));
    }
    Ok(json!({ "rows": found }))
}

fn to_sql(value: &Value) -> SqlValue {
    match value {
        Value::Null => SqlValue::Null,
        Value::Bool(flag) => SqlValue::Integer((*flag).into()),
        Value::Number(number) => match number.as_i64() {
            Some(whole) => SqlValue::Integer(whole),
            None => SqlValue::Real(number.as_f64().unwrap_or_default()),
        },
        Value::String(text) => SqlValue::Text(text.clone()),
        other => SqlValue::Text(other.to_string()),
    }
}

fn from_sql(value: ValueRef<'_>) -> Value {
    match value {
        ValueRef::Null => Value::Null,
        ValueRef::Integer(whole) => whole.into(),
        ValueRef::Real(number) => number.into(),
        ValueRef::Text(text) => String::from_utf8_lossy(text).into_owned().into(),
        ValueRef::Blob(bytes) => json!({ "bytes": bytes.len() }),
    }
}

/// Appends a line in a single write, so that a killed process leaves either the whole line or
/// nothing.
fn note(file: &Path, call: &Call<'_>, wait: Duration) -> Result<Value, String> {
    std::thread::sleep(wait);
    let line = json!({"key": call.key, "tool": call.tool.id, "arguments": call.arguments});
    let write = || {
        let mut file = OpenOptions::new().create(true).append(true).open(file)?;
        file.write_all(format!("{line}\n").as_bytes())?;
        file.sync_data()
    };
    write().map_err(|error| format!("{}: {error}", file.display()))?;
    std::thread::sleep(wait);
    Ok(json!({ "written": true }))
}

const EVAL_MATH: &str = "EvalMath";
const EVAL_MATH_SCHEMA: &str = r#"{"type": "object", "properties": {"expression": {"type": "string", "description": "the expression, such as (3 + 4)^2 / 7"}}, "required": ["expression"], "additionalProperties": false}"#;

/// Returns the tools of a conductor without a catalog: arithmetic only.
pub fn default_tools() -> (Catalog, Builtins) {
    let says = "Evaluates an arithmetic expression and returns the number.";
    let mut tool = Tool::new(None, EVAL_MATH, says);
    let schema = RawValue::from_string(EVAL_MATH_SCHEMA.to_owned());
    let schema = schema.expect("the schema is a constant that the tests read. This is a bug.");
    tool.input_schema = Some(Schema::new(schema));
    tool.examples = vec!["what is 2 + 2 * 10".to_owned()];
    tool.satisfies = vec!["REPORT(query.math)".to_owned()];
    tool.consumes = vec!["math.expression".to_owned()];
    tool.postconditions = vec!["has(outputs.result)".to_owned()];
    (tool.reliability, tool.cost) = (Some(Reliability::High), Some(Cost::Tiny));
    tool.latency_ms = Some(5);
    tool.hints = Hints {
        read_only: Some(true),
        destructive: Some(false),
        idempotent: Some(true),
        ..Hints::default()
    };
    let runner = BTreeMap::from([(EVAL_MATH.to_owned(), Builtin::Math {})]);
    (Catalog::from_tools(vec![tool]).catalog, Builtins::new(runner, ""))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn arithmetic_is_exact_where_numbers_are_whole_and_bounded_elsewhere() {
        let ask = |text: &str| math(&json!({ "expression": text }));
        assert_eq!(ask("2 + 2 * 10"), Ok(json!({"result": 22})));
        assert_eq!(ask("(3 + 4)^2 / 4"), Ok(json!({"result": 12.25})));
        assert_eq!(ask("-2^2"), Ok(json!({"result": -4})));
        assert_eq!(ask("2^3^2"), Ok(json!({"result": 512})));
        assert_eq!(ask("0.1 + 0.2"), Ok(json!({"result": 0.3})));
        assert_eq!(ask("20% of 50"), Ok(json!({"result": 10})));
        assert_eq!(ask("50 * 110%"), Ok(json!({"result": 55})));
        assert_eq!(ask("17.5% of 2340"), Ok(json!({"result": 409.5})));
        assert!(ask("10^20 + 1").unwrap_err().contains("no exact value"));
        assert_eq!(math(&json!({"expr": "sqrt(5184) + 12"})), Ok(json!({"result": 84})));
        for bad in ["1/0", "2 +", "x + 1", ""] {
            assert!(ask(bad).is_err(), "{bad}");
        }
        assert!(ask(&"1+".repeat(2_000)).unwrap_err().contains("characters"));
        assert!(ask(&format!("{}1{}", "(".repeat(400), ")".repeat(400))).is_err());
    }

    proptest! {
        #[test]
        fn no_expression_panics(text in "[-0-9a-eινπsqrtln(){}.,+*/^% ]{0,80}") {
            let _ = math(&json!({ "expression": text }));
        }
    }

    #[test]
    fn a_database_is_only_read_and_values_are_never_sql() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("people.sqlite");
        let made = Connection::open(&path).unwrap();
        made.execute_batch(
            "CREATE TABLE person (name TEXT, team TEXT); \
             INSERT INTO person VALUES ('Noa', 'search'), ('Dana', 'mail');",
        )
        .unwrap();
        let query = "SELECT name FROM person WHERE team = :team ORDER BY name";
        let tools = Builtins::default();
        let ask = |path: &Path, query: &str, arguments: &Value| {
            ask(&tools.database(Some(path), None)?, query, arguments)
        };
        let found = ask(&path, query, &json!({"team": "search"}));
        assert_eq!(found, Ok(json!({"rows": [{"name": "Noa"}]})));
        let sly = json!({"team": "x' OR '1'='1"});
        assert_eq!(ask(&path, query, &sly), Ok(json!({"rows": []})));
        assert!(ask(&path, query, &json!({})).unwrap_err().contains(":team"));
        let writes = ask(&path, "DELETE FROM person", &json!({})).unwrap_err();
        assert!(writes.contains("only one that reads"), "{writes}");
        assert!(ask(&folder.path().join("none.sqlite"), query, &sly).is_err());
        assert!(!folder.path().join("none.sqlite").exists());
    }

    #[test]
    fn a_tool_that_nothing_is_said_of_does_nothing() {
        let tools = Builtins::from_toml("[EvalMath]\nbuiltin = \"math\"\n", ".").unwrap();
        let tool = Tool::new(None, "Other", "");
        let call = Call { tool: &tool, arguments: &json!({}), key: "k" };
        let Outcome::Failed { effect, .. } = tools.run(&call) else { panic!("it ran") };
        assert_eq!(effect, Effect::None);
        assert!(Builtins::from_toml("[X]\nbuiltin = \"shell\"", ".").is_err());
        let neither = Builtins::from_toml("[X]\nbuiltin = \"sql\"\nquery = \"SELECT 1\"", ".");
        assert!(neither.unwrap_err().to_string().contains("`script`"));
        assert!(Builtins::from_toml("[X]\nbuiltin = \"math\"\nfile = \"y\"", ".").is_err());
    }
}
