//! Whether a tool can be called for an obligation: are its inputs at hand, and do its preconditions
//! hold?

use std::cell::OnceCell;

use serde_json::{Map, Value, json};

use super::condition::{self, Scene, check};
use super::ledger::{AssertionRow, Ledger, ObligationRow, Standing};
use super::obligation::Status;
use super::translate::{Reference, reference};
use super::{Error, schema};
use crate::catalog::Tool;

/// What stands between a tool and its call.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Lack {
    /// Inputs that nobody gave, with what the tool says of them.
    pub missing: Vec<String>,
    /// Inputs that are not as the tool's schema wants them.
    pub wrong: Vec<String>,
    /// Preconditions that do not hold.
    pub unmet: Vec<String>,
}

impl Lack {
    fn is_none(&self) -> bool {
        self.missing.is_empty() && self.wrong.is_empty() && self.unmet.is_empty()
    }

    /// In words, for a person.
    pub fn told(&self) -> String {
        let part = |what: &str, list: &[String]| match list {
            [] => None,
            list => Some(format!("{what} {}", list.join("; "))),
        };
        let parts = [
            part("needs", &self.missing),
            part("cannot take", &self.wrong),
            part("may run only where", &self.unmet),
        ];
        parts.into_iter().flatten().collect::<Vec<_>>().join(", and ")
    }
}

/// What is known at one moment of a request.
pub struct Known<'a> {
    pub ledger: &'a Ledger,
    pub obligation: &'a ObligationRow,
    facts: OnceCell<Vec<AssertionRow>>,
}

impl<'a> Known<'a> {
    pub fn new(ledger: &'a Ledger, obligation: &'a ObligationRow) -> Self {
        Self { ledger, obligation, facts: OnceCell::new() }
    }

    /// Read only where somebody asks: most tools want nothing of them.
    fn facts(&self) -> Result<&[AssertionRow], Error> {
        if let Some(facts) = self.facts.get() {
            return Ok(facts);
        }
        let mut facts = self.ledger.assertions(Some(self.obligation.request))?;
        facts.retain(|fact| matches!(fact.standing, Standing::Held | Standing::Verified));
        Ok(self.facts.get_or_init(|| facts))
    }

    /// The facts as conditions see them.
    fn as_json(&self) -> Result<Value, Error> {
        let fact = |fact: &AssertionRow| {
            let AssertionRow { kind, subject, value, source, .. } = fact;
            json!({"kind": kind, "subject": subject, "value": value, "source": source})
        };
        Ok(self.facts()?.iter().map(fact).collect())
    }

    /// The obligation as conditions see it.
    fn obligation_as_json(&self) -> Value {
        let ObligationRow { name, what, payload, .. } = self.obligation;
        json!({"id": name, "type": what, "payload": payload})
    }

    /// The latest fact of a kind.
    fn fact(&self, kind: &str) -> Result<Option<&Value>, Error> {
        let latest = self.facts()?.iter().rev().find(|fact| fact.kind == kind);
        Ok(latest.map(|fact| &fact.value))
    }

    /// A part of what an earlier obligation came to.
    fn refer(&self, to: Reference<'_>) -> Result<Option<Value>, Error> {
        let found = self.ledger.obligation(self.obligation.request, to.id)?;
        let Some(found) = found.filter(|found| found.status == Status::Resolved) else {
            return Ok(None);
        };
        let result = self.ledger.result(found.id)?;
        Ok(result.and_then(|result| result.value.pointer(to.at).cloned()))
    }

    /// The arguments for a tool, or what it lacks.
    pub fn arguments(&self, tool: &Tool) -> Result<Result<Value, Lack>, Error> {
        let mut lack = Lack::default();
        let mut given = Map::new();
        for (name, value) in &self.obligation.payload {
            match reference(value) {
                None => drop(given.insert(name.clone(), value.clone())),
                Some(to) => match self.refer(to)? {
                    Some(value) => drop(given.insert(name.clone(), value)),
                    None => lack.missing.push(format!("`{name}`, which `{}` did not give", to.id)),
                },
            }
        }
        let schema = tool.input_schema.as_ref().and_then(|schema| schema.to_value());
        let schema = schema.unwrap_or(Value::Null);
        self.consume(tool, &schema, &mut given, &mut lack)?;
        keep_what_is_taken(&schema, &mut given);
        for name in required(&schema).filter(|name| !given.contains_key(*name)) {
            lack.missing.push(described(name, &schema, tool));
        }
        let arguments = Value::Object(given);
        if lack.missing.is_empty() && schema.is_object() {
            let faults = schema::faults_of_arguments(&schema, &arguments);
            lack.wrong.extend(faults.into_iter().map(|fault| fault.said));
        }
        if lack.is_none() {
            lack.unmet = self.unmet(&tool.preconditions, &arguments, &Value::Null)?;
        }
        lack.missing.dedup();
        Ok(if lack.is_none() { Ok(arguments) } else { Err(lack) })
    }

    /// Takes what a tool consumes from the payload, or else from the facts.
    fn consume(
        &self,
        tool: &Tool,
        schema: &Value,
        given: &mut Map<String, Value>,
        lack: &mut Lack,
    ) -> Result<(), Error> {
        for kind in &tool.consumes {
            let short = kind.rsplit('.').next().unwrap_or(kind);
            if given.contains_key(kind) || given.contains_key(short) {
                continue;
            }
            let full = schema["properties"].get(kind).is_some();
            let name = if full { kind.as_str() } else { short };
            match self.fact(kind)? {
                Some(value) => drop(given.insert(name.to_owned(), value.clone())),
                None => lack.missing.push(described(name, schema, tool)),
            }
        }
        Ok(())
    }

    /// The conditions that do not hold, each with its reason.
    pub fn unmet(
        &self,
        conditions: &[String],
        inputs: &Value,
        outputs: &Value,
    ) -> Result<Vec<String>, Error> {
        let ledger = match conditions.iter().any(|condition| condition::asks_the_ledger(condition))
        {
            true => self.as_json()?,
            false => Value::Array(Vec::new()),
        };
        let obligation = self.obligation_as_json();
        let scene = Scene { inputs, outputs, obligation: &obligation, ledger: &ledger };
        Ok(conditions.iter().filter_map(|condition| check(condition, &scene).err()).collect())
    }
}

fn required(schema: &Value) -> impl Iterator<Item = &str> {
    schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str)
}

/// A schema that allows nothing else gets nothing else: a payload may say more than one tool wants.
fn keep_what_is_taken(schema: &Value, given: &mut Map<String, Value>) {
    if let (Some(known), Some(false)) =
        (schema["properties"].as_object(), schema["additionalProperties"].as_bool())
    {
        given.retain(|name, _| known.contains_key(name));
    }
}

/// An input with what the schema says of it and the example of the tool's hints.
fn described(name: &str, schema: &Value, tool: &Tool) -> String {
    let said = schema["properties"][name]["description"].as_str().map(str::to_owned);
    let example = tool.routing.parameter_hints.examples.get(name);
    let example = example.map(|value| format!("such as {value}"));
    let about: Vec<String> = said.into_iter().chain(example).collect();
    match about[..] {
        [] => format!("`{name}`"),
        _ => format!("`{name}` ({})", about.join(", ")),
    }
}
