//! Reads one JSON object field by field, with a [`Problem`] for each field of the wrong type.
//!
//! A derived `Deserialize` would stop at the first fault and, with `flatten` or `untagged`, change
//! the bytes of the schema.

use std::collections::BTreeMap;

use serde::de::DeserializeOwned;
use serde_json::value::RawValue;

use crate::excerpt::shortened;
use crate::source::Source;
use crate::{ComplexityRange, Hints, Problem, Schema, Severity, Tool};

pub(super) type Fields<'a> = BTreeMap<String, &'a RawValue>;

/// Returns the members of a JSON object; `None` for anything else.
pub(super) fn fields(raw: &RawValue) -> Option<Fields<'_>> {
    serde_json::from_str(raw.get()).ok()
}

/// Returns the elements of a JSON array; `None` for anything else.
pub(super) fn elements(raw: &RawValue) -> Option<Vec<&RawValue>> {
    serde_json::from_str(raw.get()).ok()
}

/// Returns a non-empty JSON string; `None` for anything else.
pub(super) fn string(raw: &RawValue) -> Option<String> {
    serde_json::from_str(raw.get()).ok().filter(|text: &String| !text.is_empty())
}

pub(super) fn is_null(raw: &RawValue) -> bool {
    raw.get() == "null"
}

/// Returns the JSON type with the beginning of the value, for messages.
pub(super) fn describe(raw: &RawValue) -> String {
    const SHOWN: usize = 40;
    let text = raw.get();
    let kind = match text.as_bytes().first() {
        Some(b'{') => return "an object".to_owned(),
        Some(b'[') => return "an array".to_owned(),
        Some(b'"') => "the string",
        Some(b't' | b'f') => "the boolean",
        Some(b'n') => return "null".to_owned(),
        _ => "the number",
    };
    format!("{kind} {}", shortened(text, SHOWN))
}

/// The members that describe a tool, in the formats of the field; the first one that a tool has is
/// read.
pub(super) const DESCRIPTIONS: [&str; 4] =
    ["description", "desc", "description_for_model", "summary"];

/// A JSON object that is being read, with its problems so far. If one of them is an error, the
/// object is rejected.
pub(super) struct Row<'a> {
    pub fields: Fields<'a>,
    pub problems: Vec<Problem>,
    pub line: Option<usize>,
    path: String,
}

impl<'a> Row<'a> {
    pub fn new(raw: &'a RawValue, source: &Source<'_>) -> Option<Self> {
        let line = source.line_of(raw.get());
        Some(Self { fields: fields(raw)?, problems: Vec::new(), line, path: String::new() })
    }

    pub fn failed(&self) -> bool {
        self.problems.iter().any(Problem::is_error)
    }

    /// Returns a field's value. `null` is the same as an absent field.
    pub fn value(&self, key: &str) -> Option<&'a RawValue> {
        self.fields.get(key).copied().filter(|raw| !is_null(raw))
    }

    /// Returns the first of these fields that the object has.
    pub fn first_of(&self, keys: &[&'static str]) -> Option<&'static str> {
        keys.iter().copied().find(|key| self.value(key).is_some())
    }

    pub fn problem(&mut self, key: &str, problem: Problem) {
        self.problems.push(problem.field(&format!("{}{key}", self.path)));
    }

    /// Adds a problem; returns `None`, as the value of the field.
    fn wrong<T>(&mut self, key: &str, expected: &str, raw: &RawValue) -> Option<T> {
        let cure = format!("write {expected} or leave the field out");
        self.problem(key, Problem::new(Severity::Error, expected, describe(raw), cure));
        None
    }

    /// Reads a field of any type that can be deserialised; `expected` describes it in messages.
    pub fn typed<T: DeserializeOwned>(&mut self, key: &str, expected: &str) -> Option<T> {
        let raw = self.value(key)?;
        serde_json::from_str(raw.get()).ok().or_else(|| self.wrong(key, expected, raw))
    }

    pub fn text(&mut self, key: &str) -> Option<String> {
        self.typed(key, "a string")
    }

    pub fn flag(&mut self, key: &str) -> Option<bool> {
        self.typed(key, "true or false")
    }

    /// Reads a list of strings. A single string is read as a list of one, and `{"kind": "x"}` as
    /// `x`.
    pub fn list(&mut self, key: &str) -> Option<Vec<String>> {
        const EXPECTED: &str = "a list of strings";
        let raw = self.value(key)?;
        if let Ok(one) = serde_json::from_str(raw.get()) {
            return Some(vec![one]);
        }
        let Some(items) = elements(raw) else {
            return self.wrong(key, EXPECTED, raw);
        };
        let mut list = Vec::with_capacity(items.len());
        for item in items {
            list.extend(word_or_kind(item).or_else(|| self.wrong(key, EXPECTED, item)));
        }
        Some(list)
    }

    /// Reads one of the words of an enum, ignoring case.
    pub fn word<T: DeserializeOwned>(&mut self, key: &str, words: &[&str]) -> Option<T> {
        let word = self.text(key)?;
        let wanted = word.trim().to_lowercase().replace(['-', ' '], "_");
        let value = serde_json::from_value(serde_json::Value::String(wanted)).ok();
        if value.is_none() {
            let expected = format!("one of {}", words.join(", "));
            let cure = near_word(&word, words)
                .map_or_else(|| "write one of these words".to_owned(), |w| format!("write {w:?}"));
            let problem = Problem::new(Severity::Error, expected, format!("{word:?}"), cure);
            self.problem(key, problem);
        }
        value
    }

    /// Reads milliseconds. A fraction is rounded.
    pub fn millis(&mut self, key: &str) -> Option<u64> {
        const EXPECTED: &str = "a number of milliseconds from 0 up";
        let raw = self.value(key)?;
        if let Ok(whole) = serde_json::from_str::<u64>(raw.get()) {
            return Some(whole);
        }
        match serde_json::from_str::<f64>(raw.get()) {
            Ok(ms) if ms >= 0.0 && ms < u64::MAX as f64 => Some(ms.round() as u64),
            _ => self.wrong(key, EXPECTED, raw),
        }
    }

    /// Reads `{"min": 0.2, "max": 0.7}` or `[0.2, 0.7]`. A missing bound is the end of the scale.
    pub fn complexity(&mut self, key: &str) -> Option<ComplexityRange> {
        const EXPECTED: &str = "a range such as {\"min\": 0.2, \"max\": 0.7}";
        let raw = self.value(key)?;
        if let Ok([min, max]) = serde_json::from_str::<[f32; 2]>(raw.get()) {
            return Some(ComplexityRange { min, max });
        }
        let Some(bounds) = fields(raw) else {
            return self.wrong(key, EXPECTED, raw);
        };
        let bound = |name: &str, end: f32| match bounds.get(name).filter(|raw| !is_null(raw)) {
            Some(raw) => serde_json::from_str::<f32>(raw.get()).ok(),
            None => Some(end),
        };
        match (bound("min", 0.0), bound("max", 1.0)) {
            (Some(min), Some(max)) => Some(ComplexityRange { min, max }),
            _ => self.wrong(key, EXPECTED, raw),
        }
    }

    /// Reads a schema as its source wrote it. A string of JSON is parsed, because TOML files and
    /// some exports contain schemas in this form.
    pub fn schema(&mut self, key: &str) -> Option<Schema> {
        let raw = self.value(key)?;
        let inner = serde_json::from_str::<String>(raw.get())
            .ok()
            .and_then(|text| serde_json::from_str::<Box<RawValue>>(&text).ok());
        Some(Schema::new(inner.unwrap_or_else(|| raw.to_owned())))
    }

    /// Returns those of the members that exist, as one object with the bytes of its source.
    pub fn members(&self, keys: &[&str]) -> Option<Schema> {
        let there = keys.iter().filter_map(|key| Some((key, self.value(key)?)));
        let members: Vec<String> =
            there.map(|(key, raw)| format!("\"{key}\":{}", raw.get())).collect();
        let object = RawValue::from_string(format!("{{{}}}", members.join(","))).ok()?;
        (!members.is_empty()).then(|| Schema::new(object))
    }

    /// Reads an object in this one. Its problems name the whole path.
    pub fn child(&mut self, key: &str) -> Option<Row<'a>> {
        let raw = self.value(key)?;
        let Some(fields) = fields(raw) else {
            return self.wrong(key, "an object", raw);
        };
        let path = format!("{}{key}.", self.path);
        Some(Row { fields, problems: Vec::new(), line: self.line, path })
    }

    /// Reads the objects of a list in this one.
    pub fn children(&mut self, key: &str) -> Option<Vec<Row<'a>>> {
        const EXPECTED: &str = "a list of objects";
        let raw = self.value(key)?;
        let Some(items) = elements(raw) else {
            return self.wrong(key, EXPECTED, raw);
        };
        let mut children = Vec::with_capacity(items.len());
        for (at, item) in items.into_iter().enumerate() {
            let name = format!("{key}[{at}]");
            if let Some(fields) = fields(item).or_else(|| self.wrong(&name, EXPECTED, item)) {
                let path = format!("{}{name}.", self.path);
                children.push(Row { fields, problems: Vec::new(), line: self.line, path });
            }
        }
        Some(children)
    }

    pub fn required_text(&mut self, key: &str, expected: &str) -> Option<String> {
        if self.value(key).is_none() {
            let cure = format!("write {expected}, or leave out what it belongs to");
            self.problem(key, Problem::new(Severity::Error, expected, "none", cure));
            return None;
        }
        self.text(key)
    }

    /// Warns of each field that is not in `known`, most often a typo, and suggests the name that
    /// was probably meant.
    pub fn warn_unknown(&mut self, known: impl IntoIterator<Item = &'static str>) {
        let known: Vec<&str> = known.into_iter().collect();
        let unknown: Vec<String> =
            self.fields.keys().filter(|key| !known.contains(&key.as_str())).cloned().collect();
        for key in unknown {
            let cure = match near_word(&key, &known) {
                Some(meant) => format!("did you mean {meant:?}?"),
                None => "remove it; it has no effect".to_owned(),
            };
            let found = format!("the unknown field {key:?}");
            let problem = Problem::new(Severity::Warning, "a field of a tool", found, cure);
            self.problem(&key, problem);
        }
    }

    /// Adds the problems of a child to this object.
    pub fn absorb(&mut self, child: Row<'_>) {
        self.problems.extend(child.problems);
    }

    /// Reads a tool with name, description and server, which every format has. Returns `None`
    /// without a name.
    pub fn named(&mut self, server: Option<&str>) -> Option<Tool> {
        if self.value("name").is_none() {
            let cure = "give the tool the name by which it is called";
            self.problem("name", Problem::new(Severity::Error, "a name", "none", cure));
            return None;
        }
        let name = self.text("name")?;
        let described = self.first_of(&DESCRIPTIONS);
        let description = described.and_then(|key| self.text(key)).unwrap_or_default();
        Some(Tool::new(server.filter(|s| !s.is_empty()), &name, &description))
    }

    /// Reads MCP's tool annotations: hints about side effects and a title. A fault in them is only
    /// a warning.
    pub fn annotations(&mut self) -> (Hints, Option<String>) {
        let before = self.problems.len();
        let Some(mut notes) = self.child("annotations") else {
            self.problems[before..].iter_mut().for_each(|p| p.severity = Severity::Warning);
            return Default::default();
        };
        let hints = Hints {
            read_only: notes.flag("readOnlyHint"),
            destructive: notes.flag("destructiveHint"),
            idempotent: notes.flag("idempotentHint"),
            from_overlay: false,
        };
        let title = notes.text("title");
        for problem in &mut notes.problems {
            problem.severity = Severity::Warning;
        }
        self.absorb(notes);
        (hints, title)
    }
}

type Change = dyn Fn(&mut Tool);

/// The members of a tool that a source declares, each as a change of the tool.
#[derive(Default)]
pub(super) struct Declared(Vec<Box<Change>>);

impl Declared {
    /// Takes a member, if it is declared.
    pub fn set<D, T>(&mut self, declared: Option<D>, slot: fn(&mut Tool) -> &mut T)
    where
        T: From<D> + Clone + 'static,
    {
        if let Some(declared) = declared.map(T::from) {
            self.0.push(Box::new(move |tool| slot(tool).clone_from(&declared)));
        }
    }

    pub fn apply(&self, tool: &mut Tool) {
        self.0.iter().for_each(|change| change(tool));
    }
}

fn word_or_kind(raw: &RawValue) -> Option<String> {
    if let Ok(text) = serde_json::from_str(raw.get()) {
        return Some(text);
    }
    string(fields(raw)?.get("kind")?)
}

/// Returns the known word that is closest to another one; `None` if none is close.
pub fn near_word<'w>(word: &str, words: &[&'w str]) -> Option<&'w str> {
    const CLOSE: f64 = 0.6;
    let word = word.to_lowercase();
    words
        .iter()
        .map(|known| (strsim::normalized_damerau_levenshtein(&word, known), *known))
        .filter(|(likeness, _)| *likeness >= CLOSE)
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, known)| known)
}
