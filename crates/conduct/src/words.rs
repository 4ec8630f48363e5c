//! Extracts the inputs of a tool from an utterance: arithmetic, `name = value`, quoted texts,
//! names, numbers and listed values. The result is deterministic. If two values fit one input,
//! neither is used.

use std::sync::LazyLock;

use regex::{Captures, Regex};
use serde_json::{Map, Value};

use super::arithmetic;
use toolroute_catalog::{Tool, required};

/// The maximum number of tokens of an expression. An expression is parsed up to each of them.
const MOST_TOKENS: usize = 200;

static ASSIGNED: LazyLock<Regex> = LazyLock::new(|| {
    pattern(r#"\b([A-Za-z_][\w.-]*)\s*[=:]\s*(?:"([^"]+)"|“([^”]+)”|'([^']+)'|([^\s,;"'“?!]+))"#)
});
static QUOTED: LazyLock<Regex> = LazyLock::new(|| {
    pattern(r#""([^"]+)"|“([^”]+)”|`([^`]+)`|(?:^|[\s(])'([^']+)'(?:$|[\s).,;?!])"#)
});
/// A capitalised word that does not begin a sentence, with the capitalised words that follow it.
static NAME: LazyLock<Regex> = LazyLock::new(|| {
    pattern(r"[^\s.!?:][\s,(]+(\p{Lu}[\p{L}\p{N}'-]+(?:\s+\p{Lu}[\p{L}\p{N}'-]+)*)")
});
static NUMBER: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"(?:^|[\s(])(-?\d+(?:\.\d+)?)(?:$|[\s),;?!]|\.(?:\s|$))"));
static TOKEN: LazyLock<Regex> = LazyLock::new(|| {
    pattern(r"^(?:\d+(?:\.\d+)?(?:[eE][+-]?\d+)?|\.\d+|[-+*/^(),%]|[A-Za-zπτ]+\d*)")
});
/// Numbers with commas between thousands. The meaning of any other comma between digits is
/// ambiguous.
static THOUSANDS: LazyLock<Regex> = LazyLock::new(|| pattern(r"\b\d{1,3}(?:,\d{3})+\b"));
static DECIMAL_COMMA: LazyLock<Regex> = LazyLock::new(|| pattern(r"\d,\d"));

/// Arithmetic operators as people write them, each with its sign.
static SPOKEN: LazyLock<Vec<(Regex, &str)>> = LazyLock::new(|| {
    let signs = [
        (r"(?i)\b(?:multiplied\s+by|times)\b|×|·", "*"),
        (r"(?i)\bdivided\s+by\b|÷", "/"),
        (r"(?i)\bplus\b", "+"),
        (r"(?i)\bminus\b|−", "-"),
        (r"(?i)\s*\bper\s?cent\b", "%"),
        (r"(?i)\bto\s+the\s+power\s+of\b", "^"),
        (r"(?i)\b(?:the\s+)?square\s+root\s+of\b", "sqrt"),
    ];
    signs.map(|(spoken, sign)| (pattern(spoken), sign)).to_vec()
});

fn pattern(text: &str) -> Regex {
    Regex::new(text).expect("the pattern is a constant that the tests compile. This is a bug.")
}

/// An input of a tool.
struct Input {
    name: String,
    /// Another name for the value: the kind that the tool consumes.
    kind: Option<String>,
    schema: Value,
}

impl Input {
    fn is_called(&self, name: &str) -> bool {
        let is = |known: &str| known.eq_ignore_ascii_case(name);
        is(&self.name) || self.kind.as_deref().is_some_and(is)
    }

    fn is_expression(&self) -> bool {
        ["expression", "expr", "formula", "calculation"].iter().any(|name| self.is_called(name))
    }

    fn has_type(&self, name: &str) -> bool {
        self.schema["type"] == name
    }

    fn is_text(&self) -> bool {
        self.schema["type"].is_null() || self.has_type("string")
    }

    /// Returns `true` if the input is a text without further restrictions.
    fn is_any_text(&self) -> bool {
        self.is_text() && self.schema["enum"].is_null() && !self.is_expression()
    }
}

/// Returns the inputs of a tool that the words state, keyed by the names of its arguments.
pub fn inputs(words: &str, tool: &Tool) -> Map<String, Value> {
    let mut open = inputs_of(tool);
    let mut found = Map::new();
    open.retain(|input| match stated(words, input) {
        Some(value) => found.insert(input.name.clone(), value).is_some(),
        None => true,
    });
    let rest = ASSIGNED.replace_all(words, " ");
    // Uses at most one text and one number: if there are two, the words do not say which is meant.
    let quoted = only(captured(&QUOTED, &rest));
    let named = || only(captured(&NAME, &QUOTED.replace_all(&rest, " ")));
    let texts: Vec<&Input> = open.iter().filter(|input| input.is_any_text()).collect();
    if let [input] = texts[..]
        && let Some(text) = quoted.or_else(named)
    {
        found.insert(input.name.clone(), Value::String(text));
    }
    let is_number = |input: &&Input| input.has_type("number") || input.has_type("integer");
    let numbers: Vec<&Input> = open.iter().filter(is_number).collect();
    if let [input] = numbers[..]
        && let Some(number) = only(captured(&NUMBER, &rest))
        && let Some(number) = typed(&number, input)
    {
        found.insert(input.name.clone(), number);
    }
    found
}

/// Returns the inputs that a tool needs: its required arguments, and the kinds that it consumes.
fn inputs_of(tool: &Tool) -> Vec<Input> {
    let schema = tool.input_schema.as_ref().and_then(|schema| schema.to_value());
    let schema = schema.unwrap_or(Value::Null);
    let mut inputs: Vec<Input> = Vec::new();
    let mut add = |name: &str, kind: Option<&str>| {
        if !inputs.iter().any(|input| input.name == name) {
            let schema = schema["properties"][name].clone();
            inputs.push(Input { name: name.to_owned(), kind: kind.map(str::to_owned), schema });
        }
    };
    for kind in &tool.consumes {
        let full = schema["properties"].get(kind).is_some();
        let short = kind.rsplit('.').next().unwrap_or(kind);
        add(if full { kind } else { short }, Some(kind));
    }
    required(&schema).for_each(|name| add(name, None));
    inputs
}

/// Returns the value that the words assign to an input explicitly.
fn stated(words: &str, input: &Input) -> Option<Value> {
    if input.is_expression() {
        return only(expressions(words)).map(Value::String);
    }
    let assigned = ASSIGNED.captures_iter(words).filter(|found| input.is_called(&found[1]));
    let assigned: Vec<String> = assigned.filter_map(|found| group(&found, 2)).collect();
    if let Some(value) = only(assigned) {
        return typed(value.trim_end_matches(['.', ')']), input);
    }
    let listed = input.schema["enum"].as_array()?.iter().filter_map(Value::as_str);
    only(listed.filter(|value| has_word(words, value)).map(str::to_owned).collect())
        .map(Value::String)
}

/// Converts a text to a value of an input's type; `None` if it does not fit.
fn typed(text: &str, input: &Input) -> Option<Value> {
    if input.is_text() {
        return Some(Value::String(text.to_owned()));
    }
    let value: Value = serde_json::from_str(text).ok()?;
    let fits = match &value {
        Value::Number(number) => {
            input.has_type("number") || (input.has_type("integer") && !number.is_f64())
        }
        Value::Bool(_) => input.has_type("boolean"),
        _ => false,
    };
    fits.then_some(value)
}

fn has_word(words: &str, value: &str) -> bool {
    let lower = words.to_lowercase();
    let mut split =
        lower.split(|sign: char| !(sign.is_alphanumeric() || sign == '_' || sign == '-'));
    split.any(|word| word == value.to_lowercase())
}

/// Returns the only value; `None` if there are several or none.
fn only(mut found: Vec<String>) -> Option<String> {
    found.dedup();
    if found.len() == 1 { found.pop() } else { None }
}

fn captured(pattern: &Regex, words: &str) -> Vec<String> {
    pattern.captures_iter(words).filter_map(|found| group(&found, 1)).collect()
}

/// Returns the first group that matched, starting at group number `from`.
fn group(found: &Captures<'_>, from: usize) -> Option<String> {
    let group = (from..found.len()).find_map(|group| found.get(group))?;
    Some(group.as_str().trim().to_owned())
}

/// Returns the arithmetic expressions in a text, each as long as possible. A number alone is not
/// one.
fn expressions(words: &str) -> Vec<String> {
    let mut text = words.to_owned();
    for (spoken, sign) in SPOKEN.iter() {
        text = spoken.replace_all(&text, *sign).into_owned();
    }
    // "1,000" is a number, but the meaning of "3,5" depends on the writer.
    text = THOUSANDS
        .replace_all(&text, |number: &Captures<'_>| number[0].replace(',', ""))
        .into_owned();
    if DECIMAL_COMMA.is_match(&text) {
        return Vec::new();
    }
    let (mut found, mut at) = (Vec::new(), 0);
    while at < text.len() {
        match expression_at(&text[at..]) {
            Some(end) => {
                found.push(text[at..at + end].to_owned());
                at += end;
            }
            None => at += skipped(&text[at..]),
        }
    }
    found
}

/// Returns the length of a word, number or sign that does not begin an expression.
fn skipped(rest: &str) -> usize {
    let is_word = |sign: char| sign.is_alphanumeric() || sign == '_' || sign == '.';
    let word = rest.find(|sign: char| !is_word(sign)).unwrap_or(rest.len());
    if word > 0 { word } else { rest.chars().next().map_or(1, char::len_utf8) }
}

/// Returns the end of the longest expression that begins here.
fn expression_at(rest: &str) -> Option<usize> {
    let (mut ends, mut at) = (Vec::new(), 0);
    while ends.len() < MOST_TOKENS {
        let token = TOKEN.find(&rest[at..])?.end();
        at += token;
        ends.push(at);
        at += rest[at..].len() - rest[at..].trim_start().len();
        if !TOKEN.is_match(&rest[at..]) {
            break;
        }
    }
    let is_more_than_a_value = |text: &str| {
        let sign = text.trim_start_matches('-').find(['+', '-', '*', '/', '^', '(']);
        sign.is_some()
            || text.contains("% of ")
            || text.starts_with(|sign: char| sign.is_alphabetic() && text.contains(' '))
    };
    let fits = |end: &&usize| {
        let text = &rest[..**end];
        is_more_than_a_value(text) && arithmetic::is_expression(text)
    };
    ends.iter().rev().find(fits).copied()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn tool(schema: Value, consumes: &[&str]) -> Tool {
        let row = json!({"id": "T", "name": "T", "description": "x", "input_schema": schema,
            "consumes": consumes});
        let loaded = toolroute_catalog::Catalog::read(&row.to_string());
        loaded.unwrap().catalog.tools()[0].as_ref().clone()
    }

    #[test]
    fn expressions_are_found_in_sentences() {
        for (words, wanted) in [
            ("what is 17 * 23?", vec!["17 * 23"]),
            ("17*23", vec!["17*23"]),
            ("what is 1,000 * 2", vec!["1000 * 2"]),
            ("2,500,000 / 5?", vec!["2500000 / 5"]),
            ("3,5 * 2?", vec![]),
            ("How much is 12 times 4, please?", vec!["12 * 4"]),
            ("compute sqrt(5184) + 12 and tell me", vec!["sqrt(5184) + 12"]),
            ("the square root of 16", vec!["sqrt 16"]),
            ("what is 2 + 2 * 10, and what is 3 - 1?", vec!["2 + 2 * 10", "3 - 1"]),
            ("is -3 - 4 more than 2^10?", vec!["-3 - 4", "2^10"]),
            ("(3 + 4)^2 / 7.", vec!["(3 + 4)^2 / 7"]),
            ("I have 7 apples, and max is 3", vec![]),
            ("who is e?", vec![]),
            ("what is 20% of 50?", vec!["20% of 50"]),
            ("what is 17.5 percent of 2,340", vec!["17.5% of 2340"]),
            ("I want 20% of it off", vec![]),
            // The value of the whole is refused, and a part of it would be wrong.
            ("what is 50 + 10%", vec!["50 + 10%"]),
            ("what is 2 + 10^20", vec!["2 + 10^20"]),
            ("", vec![]),
        ] {
            assert_eq!(expressions(words), wanted, "{words}");
        }
    }

    #[test]
    fn values_are_taken_where_one_alone_fits() {
        let string = json!({"type": "string"});
        let team = tool(
            json!({"type": "object", "properties": {"team": string}, "required": ["team"]}),
            &["people.team"],
        );
        let of_team = |words: &str| inputs(words, &team).get("team").cloned();
        for (words, wanted) in [
            ("who is in the \"search\" team?", "search"),
            ("who is in the 'search' team?", "search"),
            ("people where team = search, please", "search"),
            ("people of people.team: \"data science\"", "data science"),
            ("Who is in the Search team?", "Search"),
            ("Who works for New York Sales?", "New York Sales"),
        ] {
            assert_eq!(of_team(words), Some(json!(wanted)), "{words}");
        }
        for words in ["who is in the team?", "in \"a\" or in \"b\"?", "Ann's and Bob's Team or Ben"]
        {
            assert_eq!(of_team(words), None, "{words}");
        }
        let number = json!({"type": "integer"});
        let listed = json!({"enum": ["day", "week"], "type": "string"});
        let both = tool(
            json!({"type": "object", "properties": {"n": number, "unit": listed},
                "required": ["n", "unit"]}),
            &[],
        );
        let found = inputs("the last 3 days, week by week", &both);
        assert_eq!(Value::Object(found), json!({"n": 3, "unit": "week"}));
        assert!(inputs("n = many", &both).is_empty());
        assert_eq!(inputs("n=5", &both)["n"], json!(5));
    }

    proptest! {
        #[test]
        fn no_words_panic_or_hang(words in "[-0-9a-zA-Zé×πsqrt\"'`(){}.,:=+*/^ ]{0,120}") {
            let properties = json!({"expression": {"type": "string"}, "n": {"type": "number"}});
            let schema = json!({"type": "object", "properties": properties,
                "required": ["expression", "n"]});
            let _ = inputs(&words, &tool(schema, &[]));
        }
    }
}
