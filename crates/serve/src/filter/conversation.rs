//! Reads the messages of a request: the prompt, the turns before it, and the tools that must stay.

use std::collections::BTreeSet;

use serde::de::DeserializeOwned;
use serde_json::Value;
use toolroute_rank::engine::{Speaker, Turn};
use toolroute_rank::query::says_nothing;
use toolroute_run::execution::without_lone_surrogates;

use super::FilterError;
use super::body::{Outline, place_of};

/// How many characters of a message are read: its beginning, and its end, where the question often
/// is.
const MOST_BEGINNING: usize = 6_000;
const MOST_END: usize = 2_000;

/// The number of turns before the prompt that the engine receives.
const MOST_HISTORY: usize = 12;

/// The messages of a request to a language model, for which its tools are ranked.
#[derive(Debug, Default)]
pub struct Conversation {
    turns: Vec<Turn>,
    /// Names of tools that the conversation used or the request forces.
    needed: BTreeSet<String>,
}

impl Conversation {
    /// Reads the messages of a body, a JSON object.
    pub fn parse(body: &str) -> Result<Self, FilterError> {
        let outline = Outline::parse(body);
        let outline = outline.map_err(|error| FilterError::NotARequest(place_of(&error)))?;
        Ok(Self::read(&outline))
    }

    pub(super) fn read(body: &Outline<'_>) -> Self {
        let member = |name| parse::<Value>(body.get(name)?.get());
        let mut read = Self::default();
        for name in ["messages", "input"] {
            match member(name) {
                Some(Value::String(text)) => read.say(Speaker::User, &text),
                Some(Value::Array(items)) => items.iter().for_each(|item| read.item(item)),
                _ => {}
            }
        }
        for name in ["tool_choice", "function_call"] {
            if let Some(choice) = member(name) {
                read.names(&choice);
            }
        }
        read
    }

    /// The last message of the user.
    pub fn prompt(&self) -> Option<String> {
        self.turns.get(self.last()?).map(|turn| turn.text.clone())
    }

    /// The turns before the last message of the user, oldest first.
    pub fn history(&self) -> Vec<Turn> {
        self.latest(self.last().unwrap_or_default())
    }

    /// The turns before a prompt that the request contains beside its messages, oldest first. If
    /// the last turn is the prompt itself, it is left out.
    pub(super) fn before(&self, prompt: &str) -> Vec<Turn> {
        let is_prompt = |turn: &Turn| turn.role == Speaker::User && turn.text == prompt;
        let end = self.turns.len() - usize::from(self.turns.last().is_some_and(is_prompt));
        self.latest(end)
    }

    /// The last turns before one, and the last of the user if it is before them: behind the results of
    /// many tools, "yes" is about that.
    fn latest(&self, end: usize) -> Vec<Turn> {
        let (before, latest) = self.turns[..end].split_at(end.saturating_sub(MOST_HISTORY));
        let is_user = |turn: &&Turn| turn.role == Speaker::User;
        let has_user = latest.iter().any(|turn| is_user(&turn));
        let asked = before.iter().rfind(is_user).filter(|_| !has_user);
        asked.into_iter().chain(latest).cloned().collect()
    }

    /// Whether the conversation used a tool of this name, or the request forces it.
    pub fn needs(&self, name: &str) -> bool {
        self.needed.contains(name)
    }

    fn last(&self) -> Option<usize> {
        self.turns.iter().rposition(|turn| turn.role == Speaker::User)
    }

    /// Reads a message, or an item of OpenAI's responses.
    fn item(&mut self, item: &Value) {
        let kind = item["type"].as_str().unwrap_or("message");
        if kind.ends_with("_call") {
            self.need(&item["name"]);
        }
        for call in item["tool_calls"].as_array().into_iter().flatten() {
            self.need(&call["function"]["name"]);
            self.need(&call["custom"]["name"]);
        }
        self.need(&item["function_call"]["name"]);
        let speaker = match item["role"].as_str() {
            Some("user") => Speaker::User,
            Some("assistant") => Speaker::Assistant,
            Some("tool" | "function") => {
                self.need(&item["name"]);
                Speaker::Tool
            }
            _ => Speaker::System,
        };
        let text = match &item["content"] {
            Value::String(text) => text.clone(),
            Value::Array(parts) => self.parts(parts),
            _ => String::new(),
        };
        self.say(speaker, &text);
    }

    /// Reads the parts of a message, and returns their text.
    fn parts(&mut self, parts: &[Value]) -> String {
        let mut said = String::new();
        for part in parts {
            match part["type"].as_str() {
                Some("text" | "input_text" | "output_text") | None => {
                    let text = part.as_str().or_else(|| part["text"].as_str());
                    said.push_str(text.unwrap_or_default());
                    said.push('\n');
                }
                Some(kind) if kind.ends_with("tool_use") => self.need(&part["name"]),
                Some("tool_reference") => self.need(&part["tool_name"]),
                // The result of a search for tools contains the tools that it found.
                Some(_) => {
                    if let Some(inner) = part["content"].as_array() {
                        self.parts(inner);
                    }
                    for found in part["content"]["tool_references"].as_array().into_iter().flatten()
                    {
                        self.need(&found["tool_name"]);
                    }
                }
            }
        }
        said
    }

    fn say(&mut self, role: Speaker, text: &str) {
        let text = shortened(text.trim());
        // After a "?" of the user, the request before it is still the one to answer.
        let is_empty = if role == Speaker::User { says_nothing(&text) } else { text.is_empty() };
        if !is_empty {
            self.turns.push(Turn { role, text });
        }
    }

    fn need(&mut self, name: &Value) {
        if let Some(name) = name.as_str() {
            self.needed.insert(name.to_owned());
        }
    }

    /// Collects the names in a tool choice, at any depth.
    fn names(&mut self, choice: &Value) {
        match choice {
            Value::Object(members) => {
                for (key, value) in members {
                    match value {
                        Value::String(name) if key == "name" => {
                            self.needed.insert(name.clone());
                        }
                        value => self.names(value),
                    }
                }
            }
            Value::Array(all) => all.iter().for_each(|value| self.names(value)),
            _ => {}
        }
    }
}

/// The text to rank for, which a request may contain beside its messages as `prompt` or `query`.
/// Any other value with these names belongs to the provider, such as OpenAI's prompt templates.
pub(super) fn own_prompt(body: &Outline<'_>) -> Result<Option<String>, FilterError> {
    let text = |name| parse::<String>(body.get(name)?.get());
    let text = match (text("prompt"), text("query")) {
        (Some(prompt), Some(query)) if prompt != query => return Err(FilterError::TwoPrompts),
        (prompt, query) => prompt.or(query),
    };
    Ok(text.map(|text| shortened(text.trim())).filter(|text| !says_nothing(text)))
}

/// Parses a member. A half of a character, which a program leaves that cuts its texts by units of
/// UTF-16, must not hide the whole conversation.
fn parse<T: DeserializeOwned>(json: &str) -> Option<T> {
    let whole = serde_json::from_str(json);
    whole.or_else(|_| serde_json::from_slice(&without_lone_surrogates(json.as_bytes()))).ok()
}

fn shortened(text: &str) -> String {
    let Some((end, _)) = text.char_indices().nth(MOST_BEGINNING) else { return text.to_owned() };
    match text[end..].char_indices().rev().nth(MOST_END - 1) {
        Some((start, _)) => format!("{}\n{}", &text[..end], &text[end + start..]),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_a_character_hides_no_message() {
        let body = r#"{"messages": [{"role": "user", "content": "old \ud83d"},
            {"role": "user", "content": "water the orchids \ud83d\ude00"}], "prompt": "cut \ud83d"}"#;
        let conversation = Conversation::parse(body).unwrap();
        assert_eq!(conversation.prompt().as_deref(), Some("water the orchids \u{1f600}"));
        assert_eq!(conversation.history()[0].text, "old \u{fffd}");
        let own = own_prompt(&Outline::parse(body).unwrap()).unwrap();
        assert_eq!(own.as_deref(), Some("cut \u{fffd}"));
    }

    #[test]
    fn the_request_before_the_results_of_many_tools_stays() {
        let result = r#"{"role": "tool", "content": "done"},"#.repeat(2 * MOST_HISTORY);
        let body = format!(
            r#"{{"messages": [{{"role": "user", "content": "delete the notes"}}, {result}
                {{"role": "assistant", "content": "All?"}}, {{"role": "user", "content": "yes"}}]}}"#
        );
        let conversation = Conversation::parse(&body).unwrap();
        assert_eq!(conversation.prompt().as_deref(), Some("yes"));
        let history = conversation.history();
        assert_eq!((history.len(), &*history[0].text), (MOST_HISTORY + 1, "delete the notes"));
        assert_eq!(history.last().map(|turn| turn.role), Some(Speaker::Assistant));
    }
}
