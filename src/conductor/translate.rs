//! From words to obligations, and from what came of them to words: two traits, and what is built in.
//!
//! The built-in ones read JSON and fill templates. Nothing here calls a language model; a program
//! that has one fulfils the traits with it.

use std::collections::HashSet;

use serde_json::{Map, Value};

use super::answer::{Answer, Entry};
use super::json::shown;
use super::obligation::{Duty, Request, Status};
use super::{Error, schema};

/// The key of a payload value that is taken from an earlier obligation.
pub const FROM: &str = "$from";

/// Makes obligations of what a user said.
pub trait TranslatorIn: Send + Sync {
    /// The same text must give the same obligations: one that was received and not yet planned is
    /// translated again after a crash.
    ///
    /// # Errors
    /// Where nothing can be made of the text.
    fn translate(&self, text: &str) -> Result<Request, Error>;
}

/// Puts an answer into words.
pub trait TranslatorOut: Send + Sync {
    fn tell(&self, answer: &Answer) -> String;
}

/// Reads obligations that are JSON already, and holds them to the shipped schema.
#[derive(Clone, Copy, Debug, Default)]
pub struct JsonTranslator;

impl TranslatorIn for JsonTranslator {
    fn translate(&self, text: &str) -> Result<Request, Error> {
        let not_json = |error: serde_json::Error| Error::NotJson { said: error.to_string() };
        let value: Value = serde_json::from_str(text).map_err(not_json)?;
        if let Some(fault) = schema::fault_of_request(&value) {
            let place = if fault.place.is_empty() { "/".to_owned() } else { fault.place };
            return Err(Error::Schema { place, said: fault.said });
        }
        let mut request: Request = serde_json::from_value(value).map_err(not_json)?;
        name(&mut request)?;
        Ok(request)
    }
}

/// Gives each obligation a name of its own, and looks that values come from earlier ones.
fn name(request: &mut Request) -> Result<(), Error> {
    let mut known = HashSet::new();
    for (place, obligation) in request.obligations.iter_mut().enumerate() {
        if obligation.id.is_empty() {
            obligation.id = format!("o{}", place + 1);
        }
        for from in obligation.payload.values().filter_map(reference) {
            if !known.contains(from.id) {
                let (id, from) = (obligation.id.clone(), from.id.to_owned());
                return Err(Error::NotBefore { id, from });
            }
        }
        if !known.insert(obligation.id.clone()) {
            return Err(Error::SameId { id: obligation.id.clone() });
        }
    }
    Ok(())
}

/// A payload value that stands for a part of another obligation's output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reference<'a> {
    pub id: &'a str,
    /// A JSON pointer; empty for all of it.
    pub at: &'a str,
}

pub fn reference(value: &Value) -> Option<Reference<'_>> {
    let id = value.get(FROM)?.as_str()?;
    Some(Reference { id, at: value.get("at").and_then(Value::as_str).unwrap_or_default() })
}

/// Fills the `say` of each obligation, or a sentence of its own where there is none.
#[derive(Clone, Copy, Debug, Default)]
pub struct Templates;

impl TranslatorOut for Templates {
    fn tell(&self, answer: &Answer) -> String {
        let lines: Vec<String> = answer.entries.iter().flat_map(lines).collect();
        lines.join("\n")
    }
}

/// What is told of an obligation and of those that it brought about.
fn lines(entry: &Entry) -> Vec<String> {
    let mut lines = vec![line(entry)];
    // A reason stands in the line of what it is about already, and so may a question.
    let told = |child: &&Entry| child.what.duty != Duty::Justify && child.note != entry.note;
    let children = entry.brought_about.iter().filter(told);
    lines.extend(children.map(|child| format!("  {}", line(child))));
    lines
}

fn line(entry: &Entry) -> String {
    let name = &entry.id;
    let note = entry.note.as_deref().unwrap_or("no reason is recorded");
    match (&entry.uncertain, entry.status) {
        (Some(because), _) => format!("{name}: I am not sure of this: {because}"),
        (None, Status::Resolved) => told(entry),
        (None, Status::Failed) => format!("{name}: this could not be done: {note}"),
        (None, Status::Escalated) if entry.what.duty == Duty::Clarify => format!("{name}: {note}"),
        (None, Status::Escalated) => format!("{name}: this is open: {note}"),
        (None, Status::Active) => format!("{name}: this is not done yet"),
    }
}

fn told(entry: &Entry) -> String {
    let Some(output) = &entry.output else { return format!("{}: done", entry.id) };
    if let Some(say) = &entry.say {
        return fill(say, output);
    }
    match output {
        Value::Object(fields) => match fields.get("text").and_then(Value::as_str) {
            Some(text) => format!("{}: {text}", entry.id),
            None => format!("{}: {}", entry.id, members(fields)),
        },
        other => format!("{}: {}", entry.id, shown(other)),
    }
}

fn members(fields: &Map<String, Value>) -> String {
    let members: Vec<String> =
        fields.iter().map(|(name, value)| format!("{name} {}", shown(value))).collect();
    members.join(", ")
}

/// `{name}` and `{/json/pointer}` become parts of the output; what names no part stays as it is.
fn fill(template: &str, output: &Value) -> String {
    let mut told = String::with_capacity(template.len());
    let mut rest = template;
    while let Some((before, after)) = rest.split_once('{') {
        told.push_str(before);
        let Some((name, after_name)) = after.split_once('}') else {
            told.push('{');
            rest = after;
            continue;
        };
        let part = if name.starts_with('/') { output.pointer(name) } else { output.get(name) };
        match part {
            Some(part) => told.push_str(&shown(part)),
            None => told.push_str(&format!("{{{name}}}")),
        }
        rest = after_name;
    }
    told.push_str(rest);
    told
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_template_takes_parts_of_the_output() {
        let output = json!({"result": 42, "rows": [{"name": "Noa"}]});
        assert_eq!(fill("It is {result}.", &output), "It is 42.");
        assert_eq!(fill("{/rows/0/name} leads {x} {", &output), "Noa leads {x} {");
    }

    #[test]
    fn what_the_schema_does_not_allow_is_refused_with_its_place() {
        let read = |value: Value| JsonTranslator.translate(&value.to_string());
        let good =
            read(json!({"utterance": "2+2?", "obligations": [{"type": "REPORT(query.math)"}]}));
        assert_eq!(good.unwrap().obligations[0].id, "o1");
        for (bad, wanted) in [
            (json!({"utterance": "x", "obligations": []}), "/obligations"),
            (json!({"utterance": "x", "obligations": [{"type": "DO(x)"}]}), "/obligations/0/type"),
            (json!({"obligations": [{"type": "REPORT"}]}), "utterance"),
            (
                json!({"utterance": "x", "obligations": [
                    {"id": "a", "type": "REPORT"}, {"id": "a", "type": "REPORT"}]}),
                "twice",
            ),
            (
                json!({"utterance": "x", "obligations": [
                    {"type": "REPORT(a)", "payload": {"x": {"$from": "o2"}}}, {"type": "REPORT"}]}),
                "does not come before",
            ),
        ] {
            let said = read(bad).unwrap_err().to_string();
            assert!(said.contains(wanted), "{said}");
        }
        assert!(JsonTranslator.translate("what is 2+2?").is_err());
    }
}
