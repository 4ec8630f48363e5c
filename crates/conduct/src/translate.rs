//! Translation of documents to obligations, and of answers to text.

use std::collections::HashSet;

use serde_json::{Map, Value};

use super::answer::{Answer, Entry};
use super::json::{canonical, shown};
use super::obligation::{Duty, Request, Status, reference};
use super::reply::{Reply, ReplyValue};
use super::{Error, schema};
use toolroute_rank::engine::fingerprint;

/// An input document: a request, and replies to questions of an earlier one.
pub struct Document {
    /// The request without the replies.
    pub text: String,
    pub replies: Vec<Reply>,
    /// Hashes of the request in canonical form, and as it was written, which earlier versions used.
    pub digests: [String; 2],
    /// Whether the document contains only replies.
    pub is_empty: bool,
}

impl Document {
    /// Reads a document. Text that is not a JSON object is kept unchanged, so that the translator
    /// reports the error.
    pub fn read(text: &str) -> Self {
        let as_written = fingerprint(&[text]);
        let Ok(Value::Object(mut members)) = serde_json::from_str(text) else {
            let digests = [as_written.clone(), as_written];
            let (text, replies) = (text.to_owned(), Vec::new());
            return Self { text, replies, digests, is_empty: false };
        };
        let replies = match members.get("answers") {
            Some(Value::Object(given)) => given.iter().map(reply).collect(),
            _ => Vec::new(),
        };
        if members.get("answers").is_some_and(Value::is_object) {
            members.shift_remove("answers");
        }
        let is_empty = members.is_empty();
        let request = Value::Object(members);
        let digests = [fingerprint(&[&canonical(&request)]), as_written];
        let text = if replies.is_empty() { text.to_owned() } else { request.to_string() };
        Self { text, replies, digests, is_empty }
    }
}

fn reply((id, value): (&String, &Value)) -> Reply {
    Reply { id: id.clone(), value: ReplyValue::Json(value.clone()) }
}

/// Returns `true` if a document is an object without obligations, which has an utterance instead.
pub fn is_utterance(document: &str) -> bool {
    let read = serde_json::from_str::<Map<String, Value>>(document);
    read.is_ok_and(|members| !members.contains_key("obligations"))
}

/// Reads obligations from JSON and validates them against the shipped schema. A document may have
/// no obligations.
pub fn read_request(text: &str) -> Result<Request, Error> {
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

/// Names the obligations, and checks that names are unique and that references point to earlier
/// obligations.
pub fn name(request: &mut Request) -> Result<(), Error> {
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

/// Returns the text of an answer: the `say` of each obligation, or a standard sentence.
pub fn tell(answer: &Answer) -> String {
    match &answer.entries[..] {
        // The text does not name a single obligation that has no name of its own.
        [only] if only.id == "o1" => {
            let lines = lines(only);
            let told = lines.iter().map(|line| line.strip_prefix("o1: ").unwrap_or(line));
            told.collect::<Vec<_>>().join("\n")
        }
        entries => entries.iter().flat_map(lines).collect::<Vec<_>>().join("\n"),
    }
}

/// Returns the lines for an obligation and its children.
fn lines(entry: &Entry) -> Vec<String> {
    let mut lines = vec![line(entry)];
    // The line of the parent already contains the reason, and possibly the question.
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
        (None, Status::Resolved) => output_line(entry),
        (None, Status::Failed) => format!("{name}: this could not be done: {note}"),
        (None, Status::Escalated) if entry.what.duty == Duty::Clarify => format!("{name}: {note}"),
        (None, Status::Escalated) => format!("{name}: this is open: {note}"),
        (None, Status::Active) => format!("{name}: this is not done yet"),
    }
}

fn output_line(entry: &Entry) -> String {
    let Some(output) = &entry.output else { return format!("{}: done", entry.id) };
    if let Some(say) = &entry.say {
        return fill(say, output);
    }
    match output {
        Value::Object(fields) => match fields.get("text").and_then(Value::as_str) {
            Some(text) => format!("{}: {text}", entry.id),
            None if fields.len() == 1 && fields.contains_key("result") => {
                format!("{}: {}", entry.id, shown(&fields["result"]))
            }
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

/// Replaces `{name}` and `{/json/pointer}` with parts of the output. Unknown names are kept
/// unchanged.
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
        let read = |value: Value| read_request(&value.to_string());
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
        assert!(read_request("what is 2+2?").is_err());
    }
}
