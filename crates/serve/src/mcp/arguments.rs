//! Reads the arguments of the gateway's tools, even if an agent does not follow the schema exactly.
//! An error is a message from which the agent can correct its call.

use serde_json::Value;
use toolroute_catalog::near_word;
use toolroute_rank::engine::{Context, SelectRequest};
use toolroute_rank::query::{self, says_nothing};
use toolroute_run::execution::{Arguments, read_arguments};

use super::meta::{MOST_CHARS, MOST_TOOLS};
use crate::FindRequest;
use crate::PAGE_CHARS;

/// Members that may hold a tool's name.
const NAMES: [&str; 4] = ["tool_name", "name", "tool", "id"];

/// Members that may hold a tool's arguments.
const GIVEN: [&str; 4] = ["arguments", "parameters", "args", "input"];

/// The arguments of `find_tools`, then the other names that they may have.
const OF_FIND: [&str; 13] = [
    "query",
    "limit",
    "server",
    "min_score",
    "context",
    "budget_tokens",
    "detail",
    "q",
    "prompt",
    "top_k",
    "k",
    "similarity_threshold",
    "max_tokens",
];

/// How much an answer says about each tool.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Detail {
    #[default]
    Compact,
    Full,
}

/// A call of `find_tools`.
#[derive(Debug)]
pub struct FindToolsCall {
    pub find: FindRequest,
    pub detail: Detail,
    /// The most tokens of the answer.
    pub budget_tokens: Option<usize>,
}

/// A call of a tool, through `call_tool` or directly.
#[derive(Debug, PartialEq)]
pub struct ToolCall {
    pub tool: String,
    pub arguments: Arguments,
    pub confirmed: bool,
    /// The most tokens of the answer.
    pub budget_tokens: Option<usize>,
}

/// Reads the arguments of `find_tools`.
pub fn find(given: &Arguments, profile: Option<&str>) -> Result<FindToolsCall, String> {
    only_known(given)?;
    let query = text(given, &["query", "q", "prompt"]);
    let query = query.filter(|query| !says_nothing(query));
    let query = query.ok_or("expected `query`: what you want to do, in plain words")?;
    let limit = from_one(given, &["limit", "top_k", "k"], MOST_TOOLS)?;
    let min_score = match first(given, &["min_score", "similarity_threshold"]) {
        None => None,
        Some(value) => Some(number(value).ok_or_else(|| wrong("min_score", "a number", value))?),
    };
    let detail = match first(given, &["detail"]).map(|value| (value, value.as_str())) {
        None | Some((_, Some("compact" | "summary"))) => Detail::Compact,
        Some((_, Some("full"))) => Detail::Full,
        Some((value, _)) => return Err(wrong("detail", "compact or full", value)),
    };
    let context = match first(given, &["context"]) {
        None => None,
        Some(value) => Some(context(value)?),
    };
    let budget = budget(given)?.or(context.as_ref().and_then(|context| context.budget_tokens));
    let mut request = SelectRequest::new(query);
    // The budget applies to this answer, not to the definitions that the engine would count.
    request.context = context.map(|context| Context { budget_tokens: None, ..context });
    request.limit = limit;
    let server = text(given, &["server"]).filter(|server| !server.is_empty());
    let profile = profile.map(str::to_owned);
    #[expect(clippy::cast_possible_truncation, reason = "scores are f32")]
    let min_score = min_score.map(|least| least as f32);
    let find = FindRequest { request, profile, server, min_score, ..FindRequest::default() };
    Ok(FindToolsCall { find, detail, budget_tokens: budget })
}

/// Refuses arguments that `find_tools` does not have: one that is ignored may be what the agent
/// counts on.
fn only_known(given: &Arguments) -> Result<(), String> {
    let unknown =
        |(name, value): &(&String, &Value)| !value.is_null() && !OF_FIND.contains(&name.as_str());
    let Some((name, _)) = given.iter().find(unknown) else { return Ok(()) };
    let cure = match near_word(name, &OF_FIND) {
        Some(meant) => format!("did you mean `{meant}`?"),
        None => format!("expected one of {}", OF_FIND[..7].join(", ")),
    };
    let name: String = name.chars().take(40).collect();
    Err(format!("find_tools has no argument `{name}`; {cure}"))
}

/// The context of the query: an object, or its JSON as text.
fn context(value: &Value) -> Result<Context, String> {
    let json = match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    Context::from_json(&json).map_err(|error| match error {
        // Its own text names a file of documentation, which an agent cannot read.
        query::Error::BadJson { because } => {
            format!("expected `context` as an object; found: {because}")
        }
        error => format!("expected `context` as an object: {error}"),
    })
}

fn budget(given: &Arguments) -> Result<Option<usize>, String> {
    whole(given, &["budget_tokens", "max_tokens"])
}

/// Reads the arguments of `describe_tool`: the tool's name.
pub fn describe(given: &Arguments) -> Result<String, String> {
    text(given, &NAMES).ok_or_else(|| no_name("describe_tool"))
}

/// Reads the arguments of `read_more`: the handle, and offset and length in characters.
pub fn read_more(given: &Arguments) -> Result<(String, usize, usize), String> {
    const NO_HANDLE: &str =
        "expected `handle`: what stands behind \"handle\" in an answer that was cut";
    let handle = text(given, &["handle"]).ok_or(NO_HANDLE)?;
    let offset = whole(given, &["offset"])?.unwrap_or_default();
    let most = from_one(given, &["max_chars", "chars", "limit"], MOST_CHARS)?;
    Ok((handle, offset, most.unwrap_or(PAGE_CHARS)))
}

/// Reads the arguments of `call_tool`.
pub fn call(mut given: Arguments) -> Result<ToolCall, String> {
    let budget_tokens = match take(&mut given, &["budget_tokens"]) {
        None => None,
        Some(value) => budget(&Arguments::from_iter([("budget_tokens".to_owned(), value)]))?,
    };
    let confirmed = take(&mut given, &["confirm", "confirmed"]);
    let confirmed = confirmed.is_some_and(|said| said == true || said == "true");
    let inner = take(&mut given, &GIVEN).map(object).transpose()?;
    let named = take_text(&mut given, &NAMES);
    let (tool, arguments) = match (named, inner) {
        (Some(tool), Some(inner)) => (tool, inner),
        // The other members must be the tool's arguments.
        (Some(tool), None) => (tool, given),
        // Some agents put the name among the tool's arguments.
        (None, Some(mut inner)) => {
            let tool = take_text(&mut inner, &NAMES).ok_or_else(|| no_name("call_tool"))?;
            let innermost = take(&mut inner, &GIVEN).map(object).transpose()?;
            (tool, innermost.unwrap_or(inner))
        }
        (None, None) => return Err(no_name("call_tool")),
    };
    Ok(ToolCall { tool, arguments, confirmed, budget_tokens })
}

fn object(value: Value) -> Result<Arguments, String> {
    read_arguments(value, "`arguments`")
}

fn no_name(tool: &str) -> String {
    format!("expected `tool_name` for {tool}: an id such as server__tool, as find_tools gives it")
}

fn wrong(name: &str, expected: &str, found: &Value) -> String {
    let found: String = found.to_string().chars().take(40).collect();
    format!("expected `{name}` as {expected}, found {found}")
}

fn first<'a>(given: &'a Arguments, names: &[&str]) -> Option<&'a Value> {
    names.iter().find_map(|name| given.get(*name)).filter(|value| !value.is_null())
}

fn text(given: &Arguments, names: &[&str]) -> Option<String> {
    first(given, names).and_then(Value::as_str).map(str::to_owned)
}

fn take(given: &mut Arguments, names: &[&str]) -> Option<Value> {
    names.iter().find_map(|name| given.shift_remove(*name))
}

fn take_text(given: &mut Arguments, names: &[&str]) -> Option<String> {
    let name = names.iter().find(|name| given.get(**name).is_some_and(Value::is_string))?;
    match given.shift_remove(*name) {
        Some(Value::String(text)) => Some(text),
        _ => None,
    }
}

/// The whole number with the first of these names, also as text.
fn whole(given: &Arguments, names: &[&str]) -> Result<Option<usize>, String> {
    let Some(value) = first(given, names) else { return Ok(None) };
    let text = || value.as_str()?.trim().parse().ok();
    let number = value.as_u64().and_then(|number| usize::try_from(number).ok()).or_else(text);
    number.map(Some).ok_or_else(|| wrong(names[0], "a whole number", value))
}

/// The same, from 1 to `most`.
fn from_one(given: &Arguments, names: &[&str], most: usize) -> Result<Option<usize>, String> {
    match whole(given, names)? {
        Some(number) if !(1..=most).contains(&number) => {
            let expected = format!("a whole number from 1 to {most}");
            Err(wrong(names[0], &expected, &number.into()))
        }
        number => Ok(number),
    }
}

fn number(value: &Value) -> Option<f64> {
    let text = || value.as_str()?.trim().parse().ok();
    value.as_f64().or_else(text)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn members(value: Value) -> Arguments {
        value.as_object().unwrap().clone()
    }

    #[test]
    fn a_call_is_understood_however_it_is_spelled() {
        let expected = ToolCall {
            tool: "fs__read".into(),
            arguments: members(json!({"path": "x"})),
            confirmed: false,
            budget_tokens: None,
        };
        for said in [
            json!({"tool_name": "fs__read", "arguments": {"path": "x"}}),
            json!({"name": "fs__read", "arguments": "{\"path\": \"x\"}"}),
            json!({"tool": "fs__read", "parameters": {"path": "x"}}),
            json!({"tool_name": "fs__read", "path": "x"}),
            json!({"arguments": {"tool_name": "fs__read", "path": "x"}}),
            json!({"parameters": {"name": "fs__read", "arguments": {"path": "x"}}}),
            json!({"arguments": "{\"name\": \"fs__read\", \"path\": \"x\"}"}),
        ] {
            assert_eq!(call(members(said.clone())).as_ref(), Ok(&expected), "{said}");
        }
        let large = json!({"tool_name": "x", "arguments": "{\"id\": 18446744073709551616}"});
        let said = call(members(large)).unwrap_err();
        assert!(said.ends_with("write it as a text; found 18446744073709551616"), "{said}");
        // A tool may have a parameter `name` of its own.
        let own = call(members(json!({"tool_name": "a__b", "arguments": {"name": "x"}}))).unwrap();
        assert_eq!((own.tool.as_str(), &own.arguments["name"]), ("a__b", &json!("x")));
        for said in [json!({}), json!({"arguments": {}}), json!({"tool_name": "x", "arguments": 3})]
        {
            assert!(call(members(said.clone())).is_err(), "{said}");
        }
    }

    #[test]
    fn what_a_page_of_no_characters_should_be_is_asked() {
        let page = |most: usize| read_more(&members(json!({"handle": "h", "max_chars": most})));
        assert_eq!(page(7), Ok(("h".to_owned(), 0, 7)));
        let said = page(0).unwrap_err();
        assert_eq!(said, "expected `max_chars` as a whole number from 1 to 1000000, found 0");
    }

    #[test]
    fn a_context_that_is_wrong_is_told_with_what_is_right() {
        let said = |context| find(&members(json!({"query": "x", "context": context})), None);
        let stage = said(json!({"stage": "dreaming"})).unwrap_err();
        assert!(stage.contains("planning") && !stage.contains("docs/"), "{stage}");
        let member = said(json!({"stge": "planning"})).unwrap_err();
        assert!(member.contains("`stage`") && !member.contains("docs/"), "{member}");
    }

    #[test]
    fn a_query_may_have_its_numbers_as_text() {
        let asked = find(&members(json!({"query": "x", "top_k": "3", "min_score": "0.5"})), None);
        let asked = asked.unwrap();
        assert_eq!((asked.find.request.limit, asked.find.min_score), (Some(3), Some(0.5)));
        for limit in [0, 51, 900] {
            let said = find(&members(json!({"query": "x", "limit": limit})), None).unwrap_err();
            let expected =
                format!("expected `limit` as a whole number from 1 to 50, found {limit}");
            assert_eq!(said, expected);
        }
        let prompted = find(&members(json!({"prompt": "x"})), None).unwrap();
        assert_eq!(prompted.find.request.prompt, "x");
        let misspelt = json!({"query": "x", "contexts": {}});
        let said = find(&members(misspelt), None).unwrap_err();
        assert_eq!(said, "find_tools has no argument `contexts`; did you mean `context`?");
        let said = find(&members(json!({"query": "x", "zzz": 1})), None).unwrap_err();
        assert!(said.contains("expected one of query, limit, server"), "{said}");
        for said in [json!({}), json!({"query": " "}), json!({"query": "x", "detail": "some"})] {
            assert!(find(&members(said.clone()), None).is_err(), "{said}");
        }
    }
}
