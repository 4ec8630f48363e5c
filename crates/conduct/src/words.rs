//! Extracts the inputs of a tool from an utterance: arithmetic, and all other values as `run` reads them.

use std::sync::LazyLock;

use regex::{Captures, Regex};
use serde_json::value::to_raw_value;
use serde_json::{Map, Value, json};

use super::arithmetic;
use toolroute_catalog::{Schema, Tool, required};
use toolroute_run::execution::{ArgumentSources, LocalTime, PreparedArguments, prepare_arguments};

/// The maximum number of tokens of an expression. An expression is parsed up to each of them.
const MOST_TOKENS: usize = 200;

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

/// The names of parameters that take an arithmetic expression.
const EXPRESSIONS: [&str; 4] = ["expression", "expr", "formula", "calculation"];

/// Returns the inputs of a tool that the words state, by the names of its arguments.
pub fn inputs(words: &str, tool: &Tool, now: &LocalTime) -> Map<String, Value> {
    let tool = with_consumed(tool);
    let schema = schema_of(&tool);
    let mut found: Map<String, Value> = read(words, &tool, now).arguments.into_iter().collect();
    for name in required(&schema).filter(|name| EXPRESSIONS.contains(name)) {
        // What is left of a sentence is no expression.
        found.remove(name);
        if let [expression] = &expressions(words)[..] {
            found.insert(name.to_owned(), Value::String(expression.clone()));
        }
    }
    found
}

/// Reads the arguments of a tool from the words, as `run` does.
pub fn read(words: &str, tool: &Tool, now: &LocalTime) -> PreparedArguments {
    prepare_arguments(tool, &ArgumentSources::new(words, now))
}

/// Returns the tool with a required parameter for each kind that it consumes.
pub fn with_consumed(tool: &Tool) -> Tool {
    let mut schema = schema_of(tool);
    for kind in &tool.consumes {
        let short = kind.rsplit('.').next().unwrap_or(kind);
        let is_full = schema["properties"].get(kind).is_some();
        let name = if is_full { kind } else { short };
        if schema["properties"].get(name).is_none() {
            schema["properties"][name] = json!({"type": "string"});
        }
        let is_required = required(&schema).any(|known| known == name);
        if let Some(names) = schema["required"].as_array_mut().filter(|_| !is_required) {
            names.push(json!(name));
        }
    }
    let input_schema = to_raw_value(&schema).ok().map(Schema::new);
    Tool { input_schema, ..tool.clone() }
}

/// Returns the schema of the arguments, an object with `properties` and `required`.
fn schema_of(tool: &Tool) -> Value {
    let schema = tool.input_schema.as_ref().and_then(Schema::to_value);
    let mut schema = schema.filter(Value::is_object).unwrap_or_else(|| json!({"type": "object"}));
    for (member, empty) in [("properties", json!({})), ("required", json!([]))] {
        if schema[member].is_null() {
            schema[member] = empty;
        }
    }
    schema
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
    use super::*;
    use proptest::prelude::*;

    fn tool(schema: Value, consumes: &[&str]) -> Tool {
        let row = json!({"id": "T", "name": "T", "description": "x", "input_schema": schema,
            "consumes": consumes});
        let loaded = toolroute_catalog::Catalog::read(&row.to_string());
        loaded.unwrap().catalog.tools()[0].as_ref().clone()
    }

    fn read_inputs(words: &str, tool: &Tool) -> Map<String, Value> {
        inputs(words, tool, &LocalTime::of_this_machine())
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
        let of_team = |words: &str| read_inputs(words, &team).get("team").cloned();
        for (words, wanted) in [
            ("who is in the \"search\" team?", "search"),
            ("who is in the 'search' team?", "search"),
            ("people where team = search, please", "search"),
            ("people of people.team: \"data science\"", "data science"),
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
        assert!(read_inputs("n = many", &both).is_empty());
        assert_eq!(read_inputs("n=5", &both)["n"], json!(5));
    }

    proptest! {
        #[test]
        fn no_words_panic_or_hang(words in "[-0-9a-zA-Zé×πsqrt\"'`(){}.,:=+*/^ ]{0,120}") {
            let properties = json!({"expression": {"type": "string"}, "n": {"type": "number"}});
            let schema = json!({"type": "object", "properties": properties,
                "required": ["expression", "n"]});
            let _ = read_inputs(&words, &tool(schema, &[]));
        }
    }
}
