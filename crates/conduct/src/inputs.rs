//! Checks whether a tool can be called for an obligation: its inputs must be available and its
//! preconditions must hold.

use std::cell::OnceCell;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::condition::{self, Scene, check};
use super::facts::{FactQuery, Scope, is_sound};
use super::ledger::{AssertionRow, Ledger, ObligationRow};
use super::lineage::Lineage;
use super::obligation::{Duty, Reference, Status, reference};
use super::{Error, schema};
use toolroute_catalog::{Tool, required};
use toolroute_run::execution::adapted;

/// A value that a question asks for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Ask {
    /// The name of an argument, or the kind of a fact that a precondition needs.
    pub input: String,
    /// The kind of data that the tool consumes under this name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// The `type` of the input in the tool's JSON Schema.
    #[serde(rename = "type", default, skip_serializing_if = "Value::is_null")]
    pub schema_type: Value,
    /// Whether the value is a fact and not an argument.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub fact: bool,
}

impl Ask {
    /// Returns `true` if the value is asked for under this name.
    pub fn is_called(&self, name: &str) -> bool {
        self.input == name || self.kind.as_deref() == Some(name)
    }
}

/// Returns what a question asks for.
pub(super) fn asks_of(question: &ObligationRow) -> Vec<Ask> {
    let asks = question.payload.get("asks").cloned().unwrap_or_default();
    serde_json::from_value(asks).unwrap_or_default()
}

/// The reasons why a tool cannot be called yet.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Lack {
    /// Missing inputs, with their descriptions.
    pub missing: Vec<String>,
    /// Inputs that violate the tool's schema.
    pub wrong: Vec<String>,
    /// Preconditions that do not hold.
    pub unmet: Vec<String>,
    pub asks: Vec<Ask>,
}

impl Lack {
    fn is_none(&self) -> bool {
        self.missing.is_empty() && self.wrong.is_empty() && self.unmet.is_empty()
    }

    fn ask(&mut self, input: &str, kind: Option<&str>, schema: &Value) {
        if !self.asks.iter().any(|ask| ask.input == input) {
            self.asks.push(Ask {
                input: input.to_owned(),
                kind: kind.filter(|kind| *kind != input).map(str::to_owned),
                schema_type: schema["properties"][input]["type"].clone(),
                fact: false,
            });
        }
    }

    /// Adds the fact to ask for, if the condition is about one.
    fn ask_for_fact(&mut self, condition: &str) {
        let fact = condition::fact_of(condition);
        self.asks.extend(fact.map(|(kind, is_boolean)| Ask {
            input: kind.to_owned(),
            kind: None,
            schema_type: if is_boolean { json!("boolean") } else { Value::Null },
            fact: true,
        }));
    }

    /// Describes the reasons to a person.
    pub fn message(&self) -> String {
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

/// Returns the result of an obligation or of what continues it, or the reply to its question.
pub(super) fn referred(
    ledger: &Ledger,
    request: i64,
    id: &str,
) -> Result<Option<AssertionRow>, Error> {
    let Some(mut found) = ledger.obligation(request, id)? else { return Ok(None) };
    if found.status == Status::Escalated {
        found = Lineage::read(ledger, request)?.latest(&found).clone();
    }
    if found.status != Status::Resolved && found.what.duty != Duty::Clarify {
        return Ok(None);
    }
    ledger.result(found.id)
}

/// The sources of inputs for one obligation.
pub struct InputContext<'a> {
    ledger: &'a Ledger,
    obligation: &'a ObligationRow,
    scope: Scope,
    facts: OnceCell<Vec<AssertionRow>>,
}

impl<'a> InputContext<'a> {
    pub fn new(ledger: &'a Ledger, obligation: &'a ObligationRow, scope: Scope) -> Self {
        Self { ledger, obligation, scope, facts: OnceCell::new() }
    }

    fn facts_of(&self, kind: Option<&str>) -> Result<Vec<AssertionRow>, Error> {
        let (request, scope) = (self.obligation.request, self.scope);
        let mut facts = self.ledger.facts(&FactQuery { request, scope, kind, subject: None })?;
        facts.retain(is_sound);
        Ok(facts)
    }

    /// Returns the facts in the form that conditions read, the oldest first. They are read on
    /// demand, because most tools do not use them.
    fn as_json(&self) -> Result<Value, Error> {
        if self.facts.get().is_none() {
            let found = self.facts_of(None)?;
            self.facts.get_or_init(|| found);
        }
        let fact = |fact: &AssertionRow| {
            let AssertionRow { kind, subject, value, source, .. } = fact;
            json!({"kind": kind, "subject": subject, "value": value, "source": source})
        };
        Ok(self.facts.get().into_iter().flatten().rev().map(fact).collect())
    }

    /// Returns the obligation in the form that conditions read.
    fn obligation_as_json(&self) -> Value {
        let ObligationRow { name, what, payload, .. } = self.obligation;
        json!({"id": name, "type": what, "payload": payload})
    }

    /// Returns the latest fact of a kind, from this request if it has one, otherwise from the
    /// others in scope.
    fn fact(&self, kind: &str) -> Result<Option<Value>, Error> {
        let latest = self.facts_of(Some(kind))?.into_iter().next();
        Ok(latest.map(|fact| fact.value))
    }

    /// Resolves a reference to a part of the result of an earlier obligation, or of the reply to
    /// its question.
    fn refer(&self, to: Reference<'_>) -> Result<Option<Value>, Error> {
        let result = referred(self.ledger, self.obligation.request, to.id)?;
        let sound = result.filter(is_sound);
        Ok(sound.and_then(|result| result.value.pointer(to.at).cloned()))
    }

    /// Returns the arguments for a tool, or the reasons why it cannot be called.
    pub fn arguments(&self, tool: &Tool) -> Result<Result<Value, Lack>, Error> {
        let schema = tool.input_schema.as_ref().and_then(|schema| schema.to_value());
        let schema = schema.unwrap_or(Value::Null);
        let mut lack = Lack::default();
        // As `call` does: other spellings of names, and values of another type that lose nothing by it.
        let mut given = adapted(&schema, &self.payload(&schema, &mut lack)?);
        self.consume(tool, &schema, &mut given, &mut lack)?;
        keep_what_is_taken(&schema, &mut given);
        for name in required(&schema).filter(|name| !given.contains_key(*name)) {
            if lack.asks.iter().any(|ask| ask.input == name) {
                continue;
            }
            lack.missing.push(described(name, &schema, tool));
            lack.ask(name, None, &schema);
        }
        let arguments = Value::Object(given);
        if lack.missing.is_empty() && schema.is_object() {
            for fault in schema::faults_of_arguments(&schema, &arguments) {
                if let Some(input) = fault.place.split('/').nth(1) {
                    lack.ask(input, None, &schema);
                }
                let place = fault.place.trim_start_matches('/');
                let at = if place.is_empty() { String::new() } else { format!("`{place}`: ") };
                lack.wrong.push(format!("{at}{}", fault.said));
            }
        }
        if lack.is_none() {
            for condition in &tool.preconditions {
                let unmet =
                    self.unmet(std::slice::from_ref(condition), &arguments, &Value::Null)?;
                if !unmet.is_empty() {
                    lack.ask_for_fact(condition);
                }
                lack.unmet.extend(unmet);
            }
        }
        Ok(if lack.is_none() { Ok(arguments) } else { Err(lack) })
    }

    /// Returns the payload with each reference replaced by the part of the earlier result that it
    /// names.
    fn payload(&self, schema: &Value, lack: &mut Lack) -> Result<Map<String, Value>, Error> {
        let mut given = Map::new();
        for (name, value) in &self.obligation.payload {
            match reference(value) {
                None => drop(given.insert(name.clone(), value.clone())),
                Some(to) => match self.refer(to)? {
                    Some(value) => drop(given.insert(name.clone(), value)),
                    None => {
                        lack.missing
                            .push(format!("`{name}`, which `{}` did not give for certain", to.id));
                        lack.ask(name, None, schema);
                    }
                },
            }
        }
        Ok(given)
    }

    /// Takes the inputs that a tool consumes from the payload, or otherwise from the facts.
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
            if lack.asks.iter().any(|ask| ask.input == name) {
                continue;
            }
            match self.fact(kind)? {
                Some(value) => drop(given.insert(name.to_owned(), value)),
                None => {
                    lack.missing.push(described(name, schema, tool));
                    lack.ask(name, Some(kind), schema);
                }
            }
        }
        Ok(())
    }

    /// Returns the conditions that do not hold, each with its reason.
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

/// Removes members that a closed schema does not allow, because a payload may have more than a tool
/// accepts.
fn keep_what_is_taken(schema: &Value, given: &mut Map<String, Value>) {
    if let (Some(known), Some(false)) =
        (schema["properties"].as_object(), schema["additionalProperties"].as_bool())
    {
        given.retain(|name, _| known.contains_key(name));
    }
}

/// Describes an input with its description in the schema and the example in the tool's hints.
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
