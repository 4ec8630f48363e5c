//! The kind of a parameter's value, by type, format, name and description.

use std::sync::LazyLock;

use regex::Regex;
use serde_json::Value;

use super::super::super::params;
use super::super::text;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// One of the values that the schema lists.
    Choice,
    Boolean,
    Integer,
    Number,
    Day,
    Month,
    Moment,
    Time,
    Email,
    Url,
    Path,
    Place,
    /// A street with a number, and perhaps a town.
    Address,
    /// The two-letter code of a country.
    Country,
    Currency,
    /// An id or a code.
    Id,
    /// A search query or a question in the user's words.
    Query,
    /// A text to pass on: a message, a document.
    Message,
    Text,
    /// A value that prompts do not contain, such as an object, binary data or seconds since 1970.
    Other,
}

impl Kind {
    pub fn is_number(self) -> bool {
        matches!(self, Self::Integer | Self::Number)
    }

    /// Whether any text can be a value of this kind.
    pub fn is_text(self) -> bool {
        matches!(self, Self::Query | Self::Message | Self::Text)
    }
}

/// Returns the only type of a schema apart from null.
pub(super) fn type_of(schema: &Value) -> Option<&str> {
    let mut types = params::type_names(schema).filter(|one| *one != "null");
    types.next().filter(|_| types.next().is_none())
}

/// Returns the only alternative of a schema apart from null, or the schema itself.
pub(super) fn sole_alternative<'a>(schema: &'a Value, root: &'a Value) -> &'a Value {
    for key in ["anyOf", "oneOf", "allOf"] {
        let alternatives = schema[key].as_array().into_iter().flatten();
        let mut others =
            alternatives.map(|one| params::resolved(one, root)).filter(|one| one["type"] != "null");
        if let Some(one) = others.next() {
            // Several constants are a choice, which needs the whole schema.
            return if others.next().is_none() { one } else { schema };
        }
    }
    schema
}

/// Returns the texts and numbers that a schema lists, with their words; empty if it lists none.
pub(super) fn choices(schema: &Value, name: &[String]) -> Vec<(Vec<String>, Value)> {
    let mut values: Vec<&Value> = schema["enum"].as_array().into_iter().flatten().collect();
    values.extend(schema.get("const"));
    for key in ["anyOf", "oneOf"] {
        let alternatives = schema[key].as_array().into_iter().flatten();
        let constants: Vec<Option<&Value>> = alternatives.map(|one| one.get("const")).collect();
        if constants.iter().all(Option::is_some) {
            values.extend(constants.into_iter().flatten());
        }
    }
    let words = |value: &Value| match value {
        Value::String(text) => Some((text::name_words(text), value.clone())),
        Value::Number(number) => Some((vec![number.to_string()], value.clone())),
        _ => None,
    };
    let found = values.into_iter().filter_map(words).filter(|(words, _)| !words.is_empty());
    let mut found: Vec<(Vec<String>, Value)> = found.collect();
    found.extend(message_names(&found));
    found.extend(other_names(&found));
    if name.iter().any(|word| text::is_listed(word, "lang language locale")) {
        found.extend(language_names(&found));
    }
    found
}

/// What a description says that a value stands for: "'mobile' is the library bus", "1 = low".
static DESCRIBED: LazyLock<Regex> = LazyLock::new(|| {
    text::regex(
        r#"(?i)(?:['"`](?P<quoted>[\w-]+)['"`]\s*(?:is\b|means\b|for\b|=|:)|\b(?P<value>[\w-]+)\s*=)\s*(?:an?\s+|the\s+)?(?P<words>[\w-]+(?:\s[\w-]+){0,3})\s*(?:[,.;)|]|$)"#,
    )
});

/// Returns other words for listed values, from the description of their parameter.
pub(super) fn described(
    choices: &[(Vec<String>, Value)],
    description: &str,
) -> Vec<(Vec<String>, Value)> {
    let mut found: Vec<(Vec<String>, Value)> = Vec::new();
    for said in DESCRIBED.captures_iter(description) {
        let Some(told) = said.name("quoted").or_else(|| said.name("value")) else { continue };
        let is_it = |value: &Value| match value.as_str() {
            Some(text) => text == told.as_str(),
            None => told.as_str().parse().is_ok_and(|number: i64| value.as_i64() == Some(number)),
        };
        let words = text::name_words(&said["words"]);
        let is_new = !words.is_empty() && !choices.iter().any(|(known, _)| *known == words);
        if let (true, Some((_, value))) = (is_new, choices.iter().find(|(_, value)| is_it(value))) {
            found.push((words, value.clone()));
        }
    }
    found
}

/// Languages by their names and codes (ISO 639-1).
const LANGUAGES: &str = "albanian sq arabic ar armenian hy bengali bn bulgarian bg catalan ca chinese zh croatian hr \
    czech cs danish da dutch nl english en estonian et finnish fi french fr georgian ka german de greek el hebrew he \
    hindi hi hungarian hu icelandic is indonesian id irish ga italian it japanese ja korean ko latvian lv lithuanian lt \
    malay ms norwegian no persian fa polish pl portuguese pt romanian ro russian ru serbian sr slovak sk slovenian sl \
    spanish es swahili sw swedish sv tamil ta thai th turkish tr ukrainian uk urdu ur vietnamese vi";

/// Codes of languages that are words of prose, too: "translate it".
const WORDS_TOO: &str = "am as at be he hi id is it my no so to";

/// Returns all languages by their names and codes, as the values of a parameter that takes such a code.
pub(super) fn all_languages() -> Vec<(Vec<String>, Value)> {
    let words: Vec<&str> = LANGUAGES.split_whitespace().collect();
    let said = words.chunks_exact(2).flat_map(|pair| pair.iter().map(|word| (*word, pair[1])));
    let said = said.filter(|(word, _)| !text::is_listed(word, WORDS_TOO));
    said.map(|(word, code)| (vec![word.to_owned()], code.into())).collect()
}

/// Whether all values of a parameter are codes or names of human languages.
pub(in super::super) fn takes_languages(slot: &super::Slot) -> bool {
    let is_language = |(_, value): &(Vec<String>, Value)| {
        let said = value.as_str().unwrap_or_default().to_lowercase();
        text::is_listed(&said, LANGUAGES)
    };
    let is_named = slot.words.iter().any(|word| text::is_listed(word, "lang language locale"));
    is_named && !slot.choices.is_empty() && slot.choices.iter().all(is_language)
}

/// Returns the names of the languages whose codes are among the values of a parameter: "in French" for `fr`.
fn language_names(choices: &[(Vec<String>, Value)]) -> Vec<(Vec<String>, Value)> {
    let words: Vec<&str> = LANGUAGES.split_whitespace().collect();
    let name = |(code, value): &(Vec<String>, Value)| {
        let found = words.chunks_exact(2).find(|pair| code.first().is_some_and(|c| c == pair[1]));
        found.map(|pair| (vec![pair[0].to_owned()], value.clone()))
    };
    choices.iter().filter_map(name).collect()
}

/// Returns what people call a text message, for a parameter with the value `sms`.
fn message_names(choices: &[(Vec<String>, Value)]) -> Vec<(Vec<String>, Value)> {
    let Some((_, sms)) = choices.iter().find(|(words, _)| words[..] == ["sms"]) else {
        return Vec::new();
    };
    ["text message", "text"].map(|name| (text::name_words(name), sms.clone())).into()
}

/// Returns other words for listed values: "descending" for `desc`, "tier 3" for `tier3`.
fn other_names(choices: &[(Vec<String>, Value)]) -> Vec<(Vec<String>, Value)> {
    let name = |(words, value): &(Vec<String>, Value)| {
        let [word] = &words[..] else { return None };
        let names = match word.as_str() {
            "asc" => vec!["ascending".to_owned()],
            "desc" => vec!["descending".to_owned()],
            _ => {
                let digits = word.find(|c: char| c.is_ascii_digit())?;
                let (letters, number) = word.split_at(digits);
                let is_number = number.bytes().all(|byte| byte.is_ascii_digit());
                let is_numbered =
                    letters.len() > 2 && letters.chars().all(char::is_alphabetic) && is_number;
                is_numbered.then(|| vec![letters.to_owned(), number.to_owned()])?
            }
        };
        Some((names, value.clone()))
    };
    choices.iter().filter_map(name).collect()
}

/// Properties of a parameter that determine its kind.
pub(super) struct ParameterTraits<'a> {
    /// The words of its name.
    pub words: &'a [String],
    /// Its description in lower case.
    pub about: &'a str,
    pub has_choices: bool,
    /// Whether it has a pattern that words of prose do not match.
    pub has_pattern: bool,
    /// The tool's description in lower case, for parameters that have none.
    pub about_tool: &'a str,
}

impl ParameterTraits<'_> {
    fn last(&self) -> &str {
        self.words.last().map_or("", String::as_str)
    }

    fn any(&self, among: &str) -> bool {
        self.words.iter().any(|word| text::is_listed(word, among))
    }

    /// Whether its description contains one of some phrases, which bars separate.
    fn tells(&self, phrases: &str) -> bool {
        phrases.split('|').any(|phrase| has_phrase(self.about, phrase))
    }

    /// Whether it takes the two-letter code of a language.
    pub fn is_language_code(&self) -> bool {
        self.any("lang language locale")
            && self.tells("iso 639|iso 639-1|iso-639-1|two-letter|2-letter")
    }

    /// Whether it takes code.
    pub fn tells_code(&self) -> bool {
        self.tells(CODE) || self.any(OF_CODE)
    }

    /// Like `tells`, but uses the tool's description if the parameter has none.
    fn suggests(&self, phrases: &str) -> bool {
        let about = if self.about.is_empty() { self.about_tool } else { self.about };
        phrases.split('|').any(|phrase| has_phrase(about, phrase))
    }
}

pub(super) fn of(given: &ParameterTraits<'_>, schema: &Value) -> Kind {
    if given.has_choices {
        return Kind::Choice;
    }
    match type_of(schema) {
        Some("boolean") => Kind::Boolean,
        // Prompts do not contain seconds since 1970.
        Some("integer" | "number") if given.tells("unix|epoch") => Kind::Other,
        Some("integer") => Kind::Integer,
        Some("number") => Kind::Number,
        Some("string") => of_string(given, schema),
        _ => Kind::Other,
    }
}

fn of_string(given: &ParameterTraits<'_>, schema: &Value) -> Kind {
    const PEOPLE: &str = "to cc bcc recipient recipients sender from attendee attendees address";
    if let Some(kind) = schema["format"].as_str().and_then(of_format) {
        return kind;
    }
    let is_converted =
        given.any("from to source target base") && given.suggests("currency|currencies");
    if given.any("currency currencies") || is_converted {
        return Kind::Currency;
    }
    if is_month(given, schema) {
        return Kind::Month;
    }
    if let Some(kind) = of_time(given) {
        return kind;
    }
    if given.any("url uri link href website webpage") {
        return Kind::Url;
    }
    let is_person = given.any(PEOPLE) && given.suggests("email|e-mail|emails|mail");
    if given.any("email emails mail") || is_person {
        return Kind::Email;
    }
    if is_path(given) {
        return Kind::Path;
    }
    if is_country_code(given, schema) {
        return Kind::Country;
    }
    // `name_or_number`
    let is_id = is_id(given.last()) && !given.words.iter().any(|word| word == "name");
    if given.has_pattern || is_id {
        return Kind::Id;
    }
    if is_place(given) {
        return Kind::Place;
    }
    if given.any("address") {
        let is_machine =
            given.any("ip ipv4 ipv6 mac") || given.tells("ip|ipv4|ipv6|wallet|mac|network");
        return if is_machine { Kind::Id } else { Kind::Address };
    }
    of_text(given)
}

fn of_format(format: &str) -> Option<Kind> {
    Some(match format {
        "date" => Kind::Day,
        "date-time" => Kind::Moment,
        "time" => Kind::Time,
        "email" | "idn-email" => Kind::Email,
        "uri" | "url" | "iri" | "uri-reference" | "iri-reference" => Kind::Url,
        "uuid" | "ipv4" | "ipv6" | "hostname" => Kind::Id,
        "path" | "file-path" => Kind::Path,
        "byte" | "binary" | "duration" | "regex" | "json-pointer" => Kind::Other,
        _ => return None,
    })
}

/// Recognises days and times without a format by name and description.
fn of_time(given: &ParameterTraits<'_>) -> Option<Kind> {
    const MOMENTS: &str =
        "rfc 3339|rfc3339|iso 8601 date-time|iso 8601 datetime|iso 8601 timestamp|hh:mm:ss";
    if given.tells(MOMENTS) {
        return Some(Kind::Moment);
    }
    let has_day_form = super::day_form(given.about).is_some();
    if has_day_form || text::is_listed(given.last(), "date due deadline birthday") {
        return Some(Kind::Day);
    }
    let is_time = given.tells("hh:mm|time of day|time of the day")
        || (given.last() == "time" && given.about.is_empty());
    is_time.then_some(Kind::Time)
}

fn is_country_code(given: &ParameterTraits<'_>, schema: &Value) -> bool {
    const CODES: &str = "iso 3166|iso 3166-1|alpha-2|alpha2|iso-3166|two-letter|2-letter";
    let is_code = given.tells(CODES) && !given.tells("alpha-3|iso 3166-2");
    let is_short = schema["maxLength"] == 2 || schema["pattern"] == "^[A-Z]{2}$";
    (given.any("country countries") || given.tells("country")) && (is_code || is_short)
}

fn is_month(given: &ParameterTraits<'_>, schema: &Value) -> bool {
    let has_form = super::has_month_form(given.about, schema);
    has_form || (given.last() == "month" && schema["pattern"].is_null())
}

fn is_path(given: &ParameterTraits<'_>) -> bool {
    const NOUNS: &str = "path file filename filepath directory dir folder paths files";
    let last = given.last();
    let is_end = text::is_listed(last, "source destination target src dst dest");
    let is_file_name = last == "name" && given.any("file");
    let tells = given.suggests("path|file|files|directory|directories|folder");
    text::is_listed(last, NOUNS) || is_file_name || (is_end && tells)
}

fn is_id(last: &str) -> bool {
    const NOUNS: &str = "id ids key keys uuid guid sku ref hash sha commit iban isbn code symbol symbols ticker \
         tickers number no nr slug ticket serial zip postcode iata ip ipv4 ipv6 cidr imei vin mac";
    text::is_listed(last, NOUNS)
}

fn is_place(given: &ParameterTraits<'_>) -> bool {
    const WAYS: &str = "location place origin destination from to where";
    const TELLING: &str = "city|cities|place|airport|airports|town|country|location";
    given.any("city cities town country")
        || matches!(given.words, [word] if word == "place")
        || (given.any(WAYS) && given.suggests(TELLING))
}

/// Phrases in descriptions of parameters that take code.
const CODE: &str = "sql|graphql|jql|cql|cypher|sparql|promql|logql|kql|soql|regex|regular expression|xpath|\
     css|selector|jsonpath|json path|jmespath|javascript|python code|source code|lucene|odata|\
     expression|shell command|command to run|base64|json string|yaml|html|syntax|cron|glob|\
     pattern";

/// Words in the names of parameters that take code.
const OF_CODE: &str =
    "sql regex pattern expression selector script command code jql graphql xpath glob";

const OF_SEARCH: &str =
    "what to search|search query|text to search|term to search|question to|natural language";

fn of_text(given: &ParameterTraits<'_>) -> Kind {
    // A parameter for code is not a query, because the prompt's own words are never code.
    if given.tells_code() {
        return Kind::Text;
    }
    let is_query = given.any("query question search keywords prompt q");
    if is_query || given.tells(OF_SEARCH) {
        return Kind::Query;
    }
    let is_message = given.any("text body message content contents comment note msg");
    if is_message { Kind::Message } else { Kind::Text }
}

/// Whether a text contains a phrase as whole words.
fn has_phrase(text: &str, phrase: &str) -> bool {
    let is_edge = |c: Option<char>| !c.is_some_and(char::is_alphanumeric);
    text.match_indices(phrase).any(|(at, found)| {
        is_edge(text[..at].chars().next_back()) && is_edge(text[at + found.len()..].chars().next())
    })
}
