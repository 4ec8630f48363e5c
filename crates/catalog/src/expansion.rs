//! Estimates how much work a JSON Schema is for a validator once its references are followed.
//!
//! A schema of 3 kB in which each of twelve definitions names the next one ten times expands to
//! 10^12 parts, and a validator visits all of them. Anybody can write a schema, so the parts are
//! counted before a validator is created. Each part is counted once, so that counting takes time
//! linear in the length of the schema. The count saturates.

use std::collections::{HashMap, HashSet};

use percent_encoding::percent_decode_str;
use serde_json::{Map, Value};

use crate::Schema;

/// The maximum number of parts of an expanded schema; a validator visits that many in some
/// milliseconds. The largest of 42,820 collected tools has fewer than 4,000 (`MAX_VALUES` in
/// `import/refs.rs`).
pub const MOST_PARTS: u64 = 100_000;

/// The maximum number of visits of one validation: parts of the schema times the values that each
/// checks. They take about a second.
pub const MOST_VISITS: u64 = 10_000_000;

/// The maximum number of pairs of a part and a value that are kept while visits are counted, at
/// about 100 bytes each.
const MOST_PAIRS: u64 = 1_000_000;

/// The maximum number of levels of a schema's text. `serde_json` parses 128, and a schema is passed
/// on within a list, a message and an answer.
pub const DEEPEST: usize = 100;

/// The maximum number of parts within each other, also through references. Each needs some of a
/// thread's stack, here and in the validator. Threads for blocking work have 2 MiB.
const MOST_NESTED: usize = 256;

/// The maximum number of different regular expressions of a schema, and the maximum number of bytes
/// of all of them. Each is compiled once and kept while the schema is used, in at most
/// [`Expansion::PATTERN_SIZE`] bytes.
const MOST_PATTERNS: usize = 250;
const MOST_PATTERN_BYTES: usize = 100_000;

/// The number of visits that a match counts as, for each [`TEXT_STEP`] bytes of the text.
const PATTERN_WEIGHT: u64 = 10;
const TEXT_STEP: usize = 100;

/// Members whose content is data, in which `$ref` is a plain key.
pub(super) const DATA: [&str; 5] = ["default", "enum", "const", "example", "examples"];

/// Members that contain schemas by name. The names may be those of keywords, such as `default`.
pub(super) const NAMED: [&str; 6] =
    ["properties", "patternProperties", "dependentSchemas", "dependencies", "$defs", "definitions"];

/// Those of them whose schemas are visited only through references.
const DEFINITIONS: [&str; 2] = ["$defs", "definitions"];

const REFERENCES: [&str; 3] = ["$ref", "$dynamicRef", "$recursiveRef"];

/// The reason why a schema is not used to check anything.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TooLarge {
    #[error(
        "expected an input schema of at most {MOST_PARTS} parts, {MOST_NESTED} within each other, with \
         its references followed, found more; its author should name each definition less often"
    )]
    Parts,
    #[error(
        "expected an input schema of at most {MOST_PATTERNS} different patterns with \
         {MOST_PATTERN_BYTES} bytes in all, found more; its author should name fewer"
    )]
    Patterns,
    #[error(
        "expected arguments that the input schema can be checked with in {MOST_VISITS} steps, found \
         that they take more; give fewer or flatter values"
    )]
    Visits,
}

/// The size of a schema, known before it is compiled.
#[derive(Clone, Copy, Debug)]
pub struct Expansion {
    /// The number of parts with all references followed; a reference back into itself is followed
    /// once.
    parts: u64,
    /// Whether its regular expressions are too many or too long to be compiled.
    has_many_patterns: bool,
    /// Whether a part refers to itself. The value then determines how often the part is visited.
    recurs: bool,
    /// Whether a reference is neither a pointer nor an anchor in the schema; it may name another
    /// document.
    leads_out: bool,
}

impl Expansion {
    /// The maximum number of bytes of one compiled regular expression. A quarter of it is too
    /// little for `^\p{L}[\p{L}\p{N} ]{0,9}$`, which is an ordinary expression.
    pub const PATTERN_SIZE: usize = 1 << 20;

    /// The maximum number of backtracking steps of a match of an expression with look-around or
    /// back-references.
    pub const PATTERN_STEPS: usize = 10_000;

    /// Returns why every call with a schema is refused; `None` for nearly all schemas.
    pub fn refusal(schema: &Schema) -> Option<TooLarge> {
        // A schema without references and patterns is as large as its text. A name may be written
        // with escapes, such as `\u0024ref`.
        let text = schema.as_str();
        let telling = ["\\u", "\"pattern"];
        if !REFERENCES.iter().chain(&telling).any(|key| text.contains(key)) {
            return None;
        }
        Self::of(&schema.to_value()?).fits().err()
    }

    pub fn of(root: &Value) -> Self {
        let anchors = anchors(root);
        let mut count = Count {
            root,
            anchors: &anchors,
            known: HashMap::new(),
            patterns: HashSet::new(),
            nested: 0,
            recurs: false,
            leads_out: false,
        };
        let parts = count.parts(root);
        let bytes: usize = count.patterns.iter().map(|pattern| pattern.len()).sum();
        let has_many_patterns = count.patterns.len() > MOST_PATTERNS || bytes > MOST_PATTERN_BYTES;
        Self { parts, has_many_patterns, recurs: count.recurs, leads_out: count.leads_out }
    }

    /// Returns `true` if all references are within the schema. Other references are never fetched,
    /// so that a schema with such a reference checks nothing.
    pub fn is_closed(&self) -> bool {
        !self.leads_out
    }

    /// Checks that the schema is not too large to be compiled.
    pub fn fits(&self) -> Result<(), TooLarge> {
        match self {
            _ if self.parts > MOST_PARTS => Err(TooLarge::Parts),
            _ if self.has_many_patterns => Err(TooLarge::Patterns),
            _ => Ok(()),
        }
    }

    /// Checks that a value can be validated with the schema in bounded time.
    pub fn fits_with(&self, root: &Value, value: &Value) -> Result<(), TooLarge> {
        self.fits()?;
        let values = nodes(value);
        if !self.recurs && self.parts.saturating_mul(values) <= MOST_VISITS {
            return Ok(());
        }
        let anchors = anchors(root);
        let mut visits =
            Visits { root, anchors: &anchors, known: HashMap::new(), nested: 0, spent: 0 };
        if visits.of(root, value) > MOST_VISITS { Err(TooLarge::Visits) } else { Ok(()) }
    }
}

/// Returns the number of levels of nested arrays and objects in a JSON text.
pub(super) fn depth(json: &str) -> usize {
    let (mut depth, mut deepest, mut quoted, mut escaped) = (0_usize, 0, false, false);
    for byte in json.bytes() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if quoted => escaped = true,
            b'"' => quoted = !quoted,
            b'{' | b'[' if !quoted => {
                depth += 1;
                deepest = deepest.max(depth);
            }
            b'}' | b']' if !quoted => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    deepest
}

type Anchors<'a> = HashMap<&'a str, &'a Value>;

/// A part is identified by its address, because the schema does not change while it is counted.
type Place = *const Value;

struct Count<'a> {
    root: &'a Value,
    anchors: &'a Anchors<'a>,
    /// `None` while the part is being counted.
    known: HashMap<Place, Option<u64>>,
    patterns: HashSet<&'a str>,
    nested: usize,
    recurs: bool,
    leads_out: bool,
}

impl<'a> Count<'a> {
    fn parts(&mut self, schema: &'a Value) -> u64 {
        match self.known.get(&std::ptr::from_ref(schema)) {
            Some(Some(known)) => return *known,
            Some(None) => {
                self.recurs = true;
                return 1;
            }
            None => {}
        }
        if self.nested == MOST_NESTED {
            return u64::MAX;
        }
        let place = std::ptr::from_ref(schema);
        self.known.insert(place, None);
        self.nested += 1;
        let mut parts = 1_u64;
        if let Value::Object(members) = schema {
            for part in subschemas(members) {
                parts = parts.saturating_add(self.parts(part));
            }
            for pattern in patterns(members) {
                self.patterns.insert(pattern);
                parts = parts.saturating_add(PATTERN_WEIGHT);
            }
            for reference in references(members) {
                match target(self.root, self.anchors, reference) {
                    Some(target) => parts = parts.saturating_add(self.parts(target)),
                    None => self.leads_out = true,
                }
            }
            self.leads_out |= !std::ptr::eq(schema, self.root) && has_own_base(members);
            parts = parts.saturating_mul(weight(members));
        }
        self.nested -= 1;
        self.known.insert(place, Some(parts));
        parts
    }
}

/// Counts the visits of a validator to one value.
struct Visits<'a> {
    root: &'a Value,
    anchors: &'a Anchors<'a>,
    /// `None` while the pair is being counted.
    known: HashMap<(Place, Place), Option<u64>>,
    nested: usize,
    /// The number of pairs that were counted, which is bounded too.
    spent: u64,
}

impl<'a> Visits<'a> {
    fn of(&mut self, schema: &'a Value, value: &'a Value) -> u64 {
        let pair = (std::ptr::from_ref(schema), std::ptr::from_ref(value));
        if let Some(known) = self.known.get(&pair) {
            return known.unwrap_or(1);
        }
        self.spent += 1;
        let Value::Object(members) = schema else { return 1 };
        if self.spent > MOST_PAIRS || self.nested == MOST_NESTED {
            return u64::MAX;
        }
        self.known.insert(pair, None);
        self.nested += 1;
        let mut visits = 1_u64;
        for (key, member) in members.iter().filter(|(key, _)| !is_skipped(key)) {
            visits = visits.saturating_add(self.member((key, member), value));
        }
        for reference in references(members) {
            if let Some(target) = target(self.root, self.anchors, reference) {
                visits = visits.saturating_add(self.of(target, value));
            }
        }
        visits = visits.saturating_add(matches(members, value));
        visits = visits.saturating_mul(weight(members));
        self.nested -= 1;
        self.known.insert(pair, Some(visits));
        visits
    }

    fn member(&mut self, (key, member): (&'a str, &'a Value), value: &'a Value) -> u64 {
        match (key, member, value) {
            ("properties", Value::Object(named), Value::Object(given)) => {
                let pairs = named.iter().filter_map(|(name, part)| Some((part, given.get(name)?)));
                self.sum(pairs)
            }
            ("properties", Value::Object(_), _) => 0,
            // Each pattern counts as if it matched every name.
            ("patternProperties", Value::Object(named), _) => {
                let parts = named.values();
                self.sum(parts.flat_map(|part| children(value).map(move |child| (part, child))))
            }
            ("prefixItems", Value::Array(parts), _) => self.sum(parts.iter().zip(children(value))),
            ("items", Value::Array(parts), _) => self.sum(parts.iter().zip(children(value))),
            (
                "items"
                | "additionalItems"
                | "unevaluatedItems"
                | "contains"
                | "additionalProperties"
                | "unevaluatedProperties",
                part,
                _,
            ) => self.sum(children(value).map(|child| (part, child))),
            // Names are strings, which have no parts.
            ("propertyNames", part, Value::Object(given)) => {
                let names = u64::try_from(given.len()).unwrap_or(u64::MAX);
                names.saturating_mul(self.of(part, &Value::Null))
            }
            (key, Value::Object(named), _) if NAMED.contains(&key) => {
                self.sum(named.values().map(|part| (part, value)))
            }
            (_, Value::Array(parts), _) => self.sum(parts.iter().map(|part| (part, value))),
            (_, part, _) => self.of(part, value),
        }
    }

    fn sum(&mut self, pairs: impl Iterator<Item = (&'a Value, &'a Value)>) -> u64 {
        pairs.fold(0, |sum: u64, (part, value)| sum.saturating_add(self.of(part, value)))
    }
}

fn is_skipped(key: &str) -> bool {
    DATA.contains(&key) || DEFINITIONS.contains(&key) || REFERENCES.contains(&key)
}

/// Returns the schemas within a schema, except its definitions.
fn subschemas(members: &Map<String, Value>) -> impl Iterator<Item = &Value> {
    members.iter().filter(|(key, _)| !is_skipped(key)).flat_map(|(key, member)| match member {
        Value::Object(named) if NAMED.contains(&key.as_str()) => named.values().collect(),
        Value::Array(parts) => parts.iter().collect(),
        part => vec![part],
    })
}

fn references(members: &Map<String, Value>) -> impl Iterator<Item = &str> {
    REFERENCES.iter().filter_map(|key| members.get(*key)?.as_str())
}

/// Returns the regular expressions of a schema, except those of its parts.
fn patterns(members: &Map<String, Value>) -> impl Iterator<Item = &str> {
    let of_names = members.get("patternProperties").and_then(Value::as_object);
    let of_names = of_names.into_iter().flat_map(Map::keys).map(String::as_str);
    members.get("pattern").and_then(Value::as_str).into_iter().chain(of_names)
}

/// Returns the visits of matching a value with a schema's own expressions.
fn matches(members: &Map<String, Value>, value: &Value) -> u64 {
    let texts = match value {
        Value::Object(given) => given.keys().map(|name| steps(name)).sum(),
        value => nodes(value),
    };
    let count = u64::try_from(patterns(members).count()).unwrap_or(u64::MAX);
    count.saturating_mul(PATTERN_WEIGHT).saturating_mul(texts)
}

fn steps(text: &str) -> u64 {
    u64::try_from(1 + text.len() / TEXT_STEP).unwrap_or(u64::MAX)
}

/// Returns 2 if `unevaluated…` members make the validator visit every part twice, otherwise 1.
fn weight(members: &Map<String, Value>) -> u64 {
    let looks_again = ["unevaluatedProperties", "unevaluatedItems"];
    if looks_again.iter().any(|key| members.contains_key(*key)) { 2 } else { 1 }
}

/// Returns `true` if a schema has an id of its own. References in it are then relative to that id,
/// not to the document.
fn has_own_base(members: &Map<String, Value>) -> bool {
    ["$id", "id"].iter().any(|key| members.get(*key).is_some_and(Value::is_string))
}

pub(super) fn children(value: &Value) -> impl Iterator<Item = &Value> {
    let (items, members) = match value {
        Value::Array(items) => (Some(items), None),
        Value::Object(members) => (None, Some(members)),
        _ => (None, None),
    };
    items.into_iter().flatten().chain(members.into_iter().flat_map(Map::values))
}

/// Returns the number of values in a value; a long text counts as several.
fn nodes(value: &Value) -> u64 {
    let own = value.as_str().map_or(1, steps);
    children(value).fold(own, |sum: u64, child| sum.saturating_add(nodes(child)))
}

/// Returns the schema that a reference within the document names.
fn target<'a>(root: &'a Value, anchors: &Anchors<'a>, reference: &str) -> Option<&'a Value> {
    let own = root.get("$id").and_then(Value::as_str).map(|id| id.trim_end_matches('#'));
    let own = own.filter(|id| !id.is_empty());
    let fragment = match reference.split_once('#') {
        Some((base, fragment)) if base.is_empty() || Some(base) == own => fragment,
        None if Some(reference) == own => "",
        _ => return None,
    };
    if fragment.is_empty() {
        return Some(root);
    }
    if !fragment.starts_with('/') {
        return anchors.get(fragment).copied();
    }
    // A pointer in a fragment is percent-encoded (RFC 6901, section 6).
    root.pointer(&percent_decode_str(fragment).decode_utf8().ok()?)
}

/// Returns every `$anchor` of a document, at any depth.
fn anchors(root: &Value) -> Anchors<'_> {
    let (mut found, mut open) = (Anchors::new(), vec![root]);
    while let Some(value) = open.pop() {
        for key in ["$anchor", "$dynamicAnchor"] {
            if let Some(name) = value.get(key).and_then(Value::as_str) {
                found.insert(name, value);
            }
        }
        open.extend(children(value));
    }
    found
}

#[cfg(test)]
mod tests;
