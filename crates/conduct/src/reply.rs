//! Replies to the questions of a request, and the changes to the ledger that they cause.

use std::str::FromStr;

use serde_json::{Map, Value, json};

use super::inputs::{Ask, asks_of};
use super::json::contradict;
use super::ledger::{Change, NewAssertion, ObligationRow, Origin, Standing};
use super::lineage::{CONTRADICTION, INPUT, Lineage, UTTERANCE};
use super::obligation::{Duty, Status};
use super::{Conductor, Error};

/// The source of replies in the ledger.
const USER: &str = "the user";

/// A reply to a question.
#[derive(Clone, Debug, PartialEq)]
pub struct Reply {
    /// The name of the question, or of an input that one or several questions ask for.
    pub id: String,
    pub value: ReplyValue,
}

/// The value of a reply.
#[derive(Clone, Debug, PartialEq)]
pub enum ReplyValue {
    /// As typed: a string if the question asks for a string, otherwise JSON if it parses.
    Text(String),
    Json(Value),
}

/// Parses `ID=VALUE`.
impl FromStr for Reply {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.split_once('=') {
            Some((id, value)) if !id.trim().is_empty() => {
                let value = ReplyValue::Text(value.to_owned());
                Ok(Self { id: id.trim().to_owned(), value })
            }
            _ => Err(format!("`{text}` is no answer; expected ID=VALUE, such as expression=6*7")),
        }
    }
}

impl ReplyValue {
    /// Converts the reply to a value of a JSON Schema type; `schema_type` is `null` if it is
    /// unknown.
    fn of_type(&self, schema_type: &Value) -> Value {
        let takes_text = match schema_type {
            Value::String(name) => name == "string",
            Value::Array(names) => names.iter().any(|name| name == "string"),
            _ => false,
        };
        match self {
            Self::Json(value) => value.clone(),
            Self::Text(text) if takes_text => Value::String(text.clone()),
            Self::Text(text) => {
                serde_json::from_str(text).unwrap_or_else(|_| Value::String(text.clone()))
            }
        }
    }
}

impl Conductor<'_> {
    /// Returns the changes that replies cause. A repeated reply changes nothing, so that a killed
    /// command can be repeated.
    pub(super) fn take(&self, request: i64, replies: &[Reply]) -> Result<Vec<Change>, Error> {
        let mut changes = Vec::new();
        if replies.is_empty() {
            return Ok(changes);
        }
        let lineage = Lineage::read(self.ledger, request)?;
        let questions: Vec<&ObligationRow> = lineage.rows.iter().filter(is_asked).collect();
        let mut open = Vec::new();
        for question in &questions {
            if lineage.children(question.id).next().is_none()
                && self.ledger.replies(question.id)?.is_empty()
            {
                open.push(*question);
            }
        }
        for reply in replies {
            let found = changes_from_reply(reply, &open)?;
            if found.is_empty() && !self.was_given(reply, &questions)? {
                let open = open.iter().map(|question| names_of(question)).collect::<Vec<_>>();
                return Err(Error::NoSuchQuestion { id: reply.id.clone(), open: open.join(", ") });
            }
            changes.extend(found);
        }
        Ok(changes)
    }

    fn was_given(&self, reply: &Reply, questions: &[&ObligationRow]) -> Result<bool, Error> {
        let made = changes_from_reply(reply, questions)?;
        for change in &made {
            let Change::Assert(said) = change else { continue };
            let Some(question) = said.obligation.filter(|_| said.source == USER) else { continue };
            let given = self.ledger.replies(question)?;
            if given.iter().any(|given| given.subject == said.subject && given.value == said.value)
            {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

/// Returns `true` if a row is a question to the user.
fn is_asked(row: &&ObligationRow) -> bool {
    row.what.duty == Duty::Clarify && row.status == Status::Escalated
}

/// Returns the names under which a question can be answered.
fn names_of(question: &ObligationRow) -> String {
    let inputs = asks_of(question).into_iter().map(|ask| ask.input);
    let names: Vec<String> =
        inputs.chain([question.name.clone()]).map(|name| format!("`{name}`")).collect();
    names.join(" or ")
}

/// Returns the changes that a reply causes. It answers the question of that name, or otherwise all
/// questions that ask for an input of that name.
fn changes_from_reply(reply: &Reply, questions: &[&ObligationRow]) -> Result<Vec<Change>, Error> {
    if let Some(question) = questions.iter().find(|question| question.name == reply.id) {
        return whole(question, &reply.value);
    }
    let mut changes = Vec::new();
    for question in questions {
        let asks = asks_of(question);
        let asked = asks.iter().filter(|ask| ask.is_called(&reply.id));
        changes.extend(asked.map(|ask| input(question, ask, &reply.value)));
    }
    Ok(changes)
}

fn whole(question: &ObligationRow, value: &ReplyValue) -> Result<Vec<Change>, Error> {
    match question.what.kind.as_deref() {
        Some(INPUT) if question.parent.is_some() => inputs(question, value),
        Some(CONTRADICTION) if question.parent.is_some() => Ok(decided(question, value)),
        Some(UTTERANCE) => {
            let value = value.of_type(&json!("string"));
            Ok(vec![said(question, &question.what.to_string(), value)])
        }
        kind => {
            let kind = kind.map_or_else(|| question.what.to_string(), str::to_owned);
            Ok(vec![said(question, &kind, value.of_type(&Value::Null))])
        }
    }
}

/// Answers each input of a question with a member of an object, or its only input with a single
/// value.
fn inputs(question: &ObligationRow, value: &ReplyValue) -> Result<Vec<Change>, Error> {
    let asks = asks_of(question);
    let find = |name: &str| asks.iter().find(|ask| ask.is_called(name));
    if let Value::Object(members) = value.of_type(&Value::Null)
        && !members.is_empty()
        && members.keys().all(|name| find(name).is_some())
    {
        let known = members.into_iter().filter_map(|(name, value)| Some((find(&name)?, value)));
        return Ok(known
            .map(|(ask, value)| input(question, ask, &ReplyValue::Json(value)))
            .collect());
    }
    match &asks[..] {
        [] => Ok(vec![said(question, &question.what.to_string(), value.of_type(&Value::Null))]),
        [ask] => Ok(vec![input(question, ask, value)]),
        asks => {
            let inputs: Vec<&str> = asks.iter().map(|ask| ask.input.as_str()).collect();
            Err(Error::SeveralInputs { id: question.name.clone(), inputs: inputs.join("`, `") })
        }
    }
}

/// Answers one input or one fact of a question.
fn input(question: &ObligationRow, ask: &Ask, value: &ReplyValue) -> Change {
    let value = value.of_type(&ask.schema_type);
    if ask.fact {
        return said(question, &ask.input, value);
    }
    let subject = json!({ INPUT: ask.input });
    assertion(question.id, &question.what.to_string(), subject, value, Standing::Held)
}

fn said(question: &ObligationRow, kind: &str, value: Value) -> Change {
    assertion(question.id, kind, Value::Object(Map::new()), value, Standing::Held)
}

fn assertion(
    obligation: i64,
    kind: &str,
    subject: Value,
    value: Value,
    standing: Standing,
) -> Change {
    Change::Assert(NewAssertion {
        obligation: Some(obligation),
        origin: Origin::User,
        source: USER.to_owned(),
        run: None,
        kind: kind.to_owned(),
        subject,
        value,
        standing,
        because: None,
    })
}

/// Decides which of two facts is right: the first or the second (`1`, `2`), or another value.
fn decided(question: &ObligationRow, value: &ReplyValue) -> Vec<Change> {
    let payload = Value::Object(question.payload.clone());
    let choice = |place: usize| &payload["choices"][place];
    let value = value.of_type(&Value::Null);
    let is_number = |place: usize| {
        value == json!(place + 1) && (0..2).all(|place| choice(place)["value"] != value)
    };
    let value = match (is_number(0), is_number(1)) {
        (true, _) => choice(0)["value"].clone(),
        (_, true) => choice(1)["value"].clone(),
        _ => value,
    };
    let mut changes = vec![said(question, &question.what.to_string(), value.clone())];
    let judged = |place: usize, standing, because: &str| {
        let assertion = choice(place)["assertion"].as_i64()?;
        Some(Change::Judge { assertion, standing, because: Some(because.to_owned()) })
    };
    if !contradict(&choice(0)["value"], &value) {
        changes.extend(judged(0, Standing::Verified, "the user says so"));
    } else if let (Some(parent), Some(kind)) = (question.parent, payload["kind"].as_str()) {
        let subject = payload["subject"].clone();
        changes.push(assertion(parent, kind, subject, value.clone(), Standing::Verified));
    }
    if contradict(&choice(1)["value"], &value) {
        changes.extend(judged(1, Standing::Disputed, "the user says otherwise"));
    }
    changes
}
