//! The parameters of a tool, and the values that each takes.

mod examples;
mod id;
mod kind;
mod tool;

use regex::Regex;
use serde_json::Value;

use super::super::params;
use super::decimal::Decimal;
use super::unit::Unit;
use super::{Question, text};
use tool::{give_percent, give_rest_to_title, give_thing};
use toolroute_catalog::{Tool, properties, required, same_things};

pub(super) use id::{is_abbreviation, is_lettered};
pub(super) use kind::{Kind, takes_languages};

/// Which end of a range or of a route a parameter or a value is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    Start,
    End,
}

/// A parameter, or a member of a parameter that is an object.
#[derive(Debug)]
pub(super) struct Slot {
    /// Its name, such as `limit` or `location/latitude`.
    pub name: String,
    /// The names that lead to it: its object, if it is in one, and its own.
    pub path: Vec<String>,
    /// The words of its own name.
    pub words: Vec<String>,
    /// Its description.
    pub description: Option<String>,
    /// The type, or the allowed values, for a question.
    pub type_: Option<Value>,
    pub required: bool,
    /// Whether it is required if its object is present.
    pub required_in_object: bool,
    /// Whether the schema has a default for it.
    pub has_default: bool,
    pub is_list: bool,
    /// Whether the text after a colon or "saying" may be its value.
    pub takes_rest: bool,
    pub kind: Kind,
    /// The allowed values with their words.
    pub choices: Vec<(Vec<String>, Value)>,
    pub role: Option<Role>,
    pub unit: Option<Unit>,
    /// The thing whose name or id it is, according to its description.
    pub of: Option<String>,
    /// Its pattern, if it is so specific that it does not match words of prose.
    pub pattern: Option<Regex>,
    /// The beginnings of its ids in the schema's examples and descriptions: `t-` for "T-…".
    pub id_starts: Vec<String>,
    /// The forms of the codes that the description of a text gives as examples: "ISO week, e.g. 2026-W19".
    pub forms: Vec<Regex>,
    /// The words on both sides of the number in a description such as "first N lines".
    pub template: Option<(String, String)>,
    /// Whether its maximum is 100, so that it may be a percentage.
    pub has_maximum_100: bool,
    /// Whether a month is written as "2026-10".
    pub has_month_form: bool,
    /// Whether its format is `time`, which writes the seconds.
    pub has_time_format: bool,
    /// The `strftime` format of a day, if its description names one.
    pub day_form: Option<String>,
    /// The `strftime` format of a moment without an offset, if its description names one.
    pub moment_form: Option<String>,
}

/// Words in names that mark the start or the end of a range or route.
const START: &str = "after begin beginning departure earliest from input least lower lowest min minimum old \
     origin since source src start starts";
const END: &str = "before deadline dest destination dst end ends highest latest max maximum most new output \
     return target till to until upper";
const LIMITS: &str = "limit count n top k size tail max";

/// Words of prose, which a distinctive pattern does not match.
const PROSE: &[&str] =
    &["search", "the", "file", "a", "Berlin", "I", "show", "report", "well-known", "12", "5"];

/// Last words of names of parameters for a person.
pub(super) const PEOPLE: &str = "actor actors actress agent assignee assistant attendant author celebrity contact courier customer doctor \
     driver employee engineer guest maid manager member musician nurse operator owner patient person player \
     reviewer sender star student supervisor teacher technician user waiter worker";

impl Slot {
    fn new(name: &str, outer: &Value, root: &Value, about_tool: &str) -> Self {
        let outer = params::resolved(outer, root);
        let schema = kind::sole_alternative(outer, root);
        let is_list = kind::type_of(schema) == Some("array");
        let item = if is_list { params::resolved(&schema["items"], root) } else { schema };
        let item = kind::sole_alternative(item, root);
        let said = [outer, schema, item].into_iter().find_map(|one| one["description"].as_str());
        let words = words_of(name);
        let pattern = pattern_of(item, &words, said);
        let mut choices = kind::choices(item, &words);
        let given = kind::ParameterTraits {
            words: &words,
            about: &said.unwrap_or_default().to_lowercase(),
            has_choices: !choices.is_empty(),
            has_pattern: pattern.is_some(),
            about_tool: &about_tool.to_lowercase(),
        };
        choices.extend(kind::described(&choices, said.unwrap_or_default()));
        let is_language = choices.is_empty() && given.is_language_code();
        let kind = if is_language { Kind::Choice } else { kind::of(&given, item) };
        choices.extend(is_language.then(kind::all_languages).into_iter().flatten());
        let has_examples = matches!(kind, Kind::Text | Kind::Place) && !given.tells_code();
        let examples = said.filter(|_| has_examples).map(examples::of).unwrap_or_default();
        let forms =
            examples.iter().filter_map(|(_, text)| id::form(text.as_str()?, &words)).collect();
        let choices = [choices, examples].concat();
        let is_number = kind.is_number();
        // The keys of an issue tracker begin with the name of any project.
        let shows_ids = kind == Kind::Id && !words.iter().any(|word| word == "key");
        let id_starts = shows_ids.then(|| id::starts(said.unwrap_or_default(), item));
        Self {
            name: name.to_owned(),
            path: vec![name.to_owned()],
            description: said.map(str::to_owned),
            type_: schema.get("enum").or(item.get("enum")).or(schema.get("type")).cloned(),
            required: false,
            required_in_object: false,
            has_default: outer.get("default").is_some_and(|default| !default.is_null()),
            role: role(&words, kind).or(said.filter(|_| is_number).and_then(told_role)),
            unit: Unit::of_parameter(&words, said.unwrap_or_default()).filter(|_| is_number),
            forms,
            template: said.and_then(template).filter(|_| is_number),
            of: said.and_then(named_entity),
            day_form: said.and_then(day_form),
            moment_form: said.and_then(moment_form),
            has_month_form: has_month_form(said.unwrap_or_default(), item),
            has_time_format: item["format"] == "time",
            has_maximum_100: is_number
                && (said.is_some_and(tells_maximum_100)
                    || schema["maximum"] == 100 && !words.contains(&"limit".into())),
            words,
            is_list,
            takes_rest: kind == Kind::Message,
            kind,
            choices,
            pattern,
            id_starts: id_starts.unwrap_or_default(),
        }
    }

    /// Returns a question about it, without candidates.
    pub fn question(&self, why: &str) -> Question {
        Question {
            name: self.name.clone(),
            description: self.description.clone(),
            kind: self.type_.clone(),
            why: why.to_owned(),
            candidates: Vec::new(),
        }
    }

    /// Whether it is the start or the end of a range of numbers, days or moments, so that
    /// prepositions select it.
    pub fn is_bound(&self) -> bool {
        let is_measured = self.kind.is_number() || matches!(self.kind, Kind::Day | Kind::Moment);
        self.role.is_some() && is_measured
    }

    /// Whether its values are short codes in capitals, such as "MSFT".
    pub fn is_code(&self) -> bool {
        const SYMBOLS: &str = "symbol symbols ticker tickers iata";
        let last = self.words.last();
        self.kind == Kind::Id && last.is_some_and(|last| text::is_listed(last, SYMBOLS))
    }

    /// Whether it limits the number of results.
    pub fn is_limit(&self) -> bool {
        let is_max_of_results = matches!(&self.words[..], [first, second]
            if text::is_listed(first, "max num page per")
                && text::is_listed(&text::singular(second), "result item size page count"));
        self.kind.is_number()
            && !self.says("currency money")
            && (is_max_of_results
                || self.words.iter().all(|word| text::is_listed(word, LIMITS))
                || self.description.as_deref().is_some_and(tells_limit))
    }

    /// Whether it is how many of something are meant: `quantity`, `item_count`.
    pub fn is_quantity(&self) -> bool {
        self.kind.is_number() && self.has_word("copies count pieces qty quantity units")
    }

    /// Returns the words of its name, without general words and those that mark an end of a range.
    pub fn nouns(&self) -> impl Iterator<Item = &str> + Clone {
        const EMPTY: &str = "id name type value no the of is has in out by at on for per with include exclude \
             number num";
        let words = self.words.iter().map(String::as_str);
        words.filter(|word| !text::is_listed(word, EMPTY) && role_of_word(word).is_none())
    }

    /// Returns the words of its name that mark an end of a range.
    pub fn ends(&self) -> impl Iterator<Item = &str> {
        self.words.iter().map(String::as_str).filter(|word| role_of_word(word).is_some())
    }

    /// Whether its name contains a unit: `days`, `duration_minutes`.
    pub fn counts(&self, unit: Unit) -> bool {
        self.words.iter().any(|word| Unit::meanings_of(word).contains(&unit))
    }

    pub fn is_owner(&self) -> bool {
        self.words.len() == 1 && self.has_word("owner org organization")
    }

    /// Whether it is the name of a repository without its owner.
    pub fn is_repository(&self) -> bool {
        self.words.len() == 1 && self.has_word("repo repository")
    }

    pub fn is_money(&self) -> bool {
        const MONEY: &str = "amount price cost budget total fee balance sum value salary payment";
        self.has_word(MONEY)
    }

    /// Whether its description names a currency, in whatever words: "in local currency (e.g., USD)".
    pub fn tells_currency(&self, currency: Unit) -> bool {
        let about = self.description.as_deref().unwrap_or_default();
        let is_it = |word: &text::Word| {
            let said = Unit::meanings_of(&about[word.span.clone()]);
            said.into_iter()
                .any(|unit| currency.convert(Decimal::whole(1), unit) == Some(Decimal::whole(1)))
        };
        text::words(about).iter().any(is_it)
    }

    /// Whether it is a number of people: `party_size`, `passengers`, "Number of guests".
    pub fn counts_people(&self) -> bool {
        let is_counted = |word: &str| text::is_listed(&text::singular(word), super::cue::PEOPLE);
        let named = || self.words.iter().any(|word| word == "party" || is_counted(word));
        let about = self.description.as_deref().unwrap_or_default().to_lowercase();
        let told = || {
            let rest =
                ["number of ", "how many "].iter().find_map(|start| about.strip_prefix(start));
            rest.and_then(|rest| rest.split_whitespace().next()).is_some_and(is_counted)
        };
        self.kind == Kind::Integer && !self.has_word("id") && (named() || told())
    }

    /// Whether it takes a telephone number.
    pub fn is_phone(&self) -> bool {
        const NUMBER: &str = "a contact name number or to";
        self.has_word("fax mobile phone tel telephone")
            || self.words.iter().all(|word| text::is_listed(word, NUMBER))
                && self.says("number phone")
    }

    /// Whether it is how much a value goes up or down: `delta`, `stock_change`.
    pub fn is_change(&self) -> bool {
        let is_last = |word: &String| {
            matches!(word.as_str(), "delta" | "change" | "adjustment" | "correction" | "difference")
        };
        let about = self.description.as_deref().unwrap_or_default();
        let is_added = || self.has_word("added additional extra") || about.ends_with(" to add");
        self.kind.is_number() && (self.words.last().is_some_and(is_last) || is_added())
    }

    /// Whether its name or its description says that it is a value for each month, night and the like.
    pub fn is_for_each(&self, period: &str) -> bool {
        let adverb = if period == "day" { "daily".to_owned() } else { format!("{period}ly") };
        self.says(&adverb) || self.says(period)
    }

    /// Whether it is a person by the last noun of its name.
    pub fn is_person(&self) -> bool {
        self.nouns().last().is_some_and(|last| text::is_listed(last, PEOPLE))
    }

    /// Whether its value is why something is done.
    pub fn is_reason(&self) -> bool {
        self.has_word("cause justification rationale reason why")
    }

    /// Whether a word is a function word or occurs in its name or description.
    pub fn is_about(&self, word: &str) -> bool {
        let about = text::words(self.description.as_deref().unwrap_or_default());
        let mut words = about.iter().map(|word| &word.lower).chain(&self.words);
        text::is_function_word(word) || words.any(|own| text::stem(own) == text::stem(word))
    }

    /// Whether a number without a unit before a word counts what the word says, and is no value: "3
    /// nights" is no price in "EUR per night".
    pub fn counts_other(&self, word: &str) -> bool {
        if text::is_listed(word, text::CALLED) || word == "plus" {
            return false;
        }
        let is_measured = self.unit.is_some() || self.is_money();
        let is_rate = text::is_function_word(word) || text::is_listed(word, "apiece each per");
        let has_word = || self.words.iter().any(|own| text::stem(own) == text::stem(word));
        // "4 packages" for the number of parcels.
        let noun = text::singular(word);
        let is_named = self.is_about(word) || same_things(&noun).any(|same| self.is_about(same));
        if is_measured { !is_rate && !has_word() } else { !is_named }
    }

    /// Whether its name or its description has one of the words of a list, which are separated by spaces.
    pub fn says(&self, among: &str) -> bool {
        let about = text::words(self.description.as_deref().unwrap_or_default());
        self.has_word(among) || about.iter().any(|word| text::is_listed(&word.lower, among))
    }

    /// Whether a word of its name is in a list whose words are separated by spaces.
    pub fn has_word(&self, among: &str) -> bool {
        self.words.iter().any(|word| text::is_listed(word, among))
    }
}

fn tells_maximum_100(about: &str) -> bool {
    ["0 to 100", "0-100", "0–100", "1 to 100", "1-100"].iter().any(|range| about.contains(range))
}

/// Returns the words of a name. A name of signs alone, such as `_`, has no other than itself.
fn words_of(name: &str) -> Vec<String> {
    let words = Some(text::name_words(name)).filter(|words| !words.is_empty());
    words.unwrap_or_else(|| vec![name.to_owned()])
}

/// Returns the slots of a tool's schema in order: its parameters, and the members of object
/// parameters, one level deep.
pub(super) fn slots(tool: &Tool, root: &Value) -> Vec<Slot> {
    let about = &tool.description;
    let hinted = &tool.routing.parameter_hints.required;
    let mut slots = Vec::new();
    for (name, schema) in properties(root) {
        let is_required = required(root).any(|other| other == name) || hinted.contains(name);
        let resolved = kind::sole_alternative(params::resolved(schema, root), root);
        if resolved["properties"].is_object() {
            for (inner, schema) in properties(resolved) {
                let inner_required = required(resolved).any(|other| other == inner);
                let mut slot = Slot::new(inner, schema, root, about);
                slot.name = format!("{name}/{inner}");
                slot.path.insert(0, name.clone());
                slot.required = is_required && inner_required;
                slot.required_in_object = inner_required;
                slots.push(slot);
            }
        } else {
            let mut slot = Slot::new(name, schema, root, about);
            slot.required = is_required;
            slots.push(slot);
        }
    }
    give_rest_to_title(&mut slots);
    give_percent(&mut slots, about);
    give_thing(&mut slots, tool);
    slots
}

pub(super) fn role_of_word(word: &str) -> Option<Role> {
    if text::is_listed(word, START) {
        Some(Role::Start)
    } else {
        text::is_listed(word, END).then_some(Role::End)
    }
}

fn role(words: &[String], kind: Kind) -> Option<Role> {
    match words.join(" ").as_str() {
        "check in" | "check in date" => return Some(Role::Start),
        "check out" | "check out date" => return Some(Role::End),
        _ => {}
    }
    let mut roles = words.iter().filter_map(|word| role_of_word(word));
    let role = roles.next().filter(|_| roles.next().is_none())?;
    // A boolean is not an end of a range, whatever its name.
    Some(role).filter(|_| kind != Kind::Boolean)
}

/// Whether a description tells how many results are meant: "Number of artworks to fetch".
fn tells_limit(description: &str) -> bool {
    const OF_RESULTS: &str = "display fetch find list retrieve return show";
    let words = text::words(description);
    let mut said = words.iter().map(|word| word.lower.as_str()).filter(|word| *word != "the");
    let is_number = said.by_ref().take(2).any(|word| word == "number");
    is_number
        && words
            .windows(2)
            .any(|pair| pair[0].lower == "to" && text::is_listed(&pair[1].lower, OF_RESULTS))
}

/// The end of a range that the beginning of a description tells: "Maximum price".
fn told_role(description: &str) -> Option<Role> {
    let first = text::words(description);
    let is_bound = |at: usize| {
        first
            .get(at + 1)
            .is_some_and(|next| text::is_listed(&next.lower, "bound end limit threshold"))
    };
    first.iter().take(5).enumerate().find_map(|(at, word)| match word.lower.as_str() {
        "maximum" | "max" => Some(Role::End),
        "minimum" | "min" => Some(Role::Start),
        "upper" if is_bound(at) => Some(Role::End),
        "lower" if is_bound(at) => Some(Role::Start),
        _ => None,
    })
}

/// Returns the pattern of a parameter's values that words of prose do not match: that of the schema, of a time zone, or of as
/// many digits as the description counts.
fn pattern_of(item: &Value, name: &[String], said: Option<&str>) -> Option<Regex> {
    if id::tells_time_zone(name, said.unwrap_or_default()) {
        return specific_pattern(id::ZONE);
    }
    let format = item["format"].as_str().and_then(pattern_of_format);
    let pattern = item["pattern"].as_str().or(format).and_then(specific_pattern);
    let is_text = kind::type_of(item) == Some("string") && item.get("enum").is_none();
    pattern.or_else(|| id::of_digits(said.filter(|_| is_text)?))
}

fn specific_pattern(pattern: &str) -> Option<Regex> {
    let regex = Regex::new(pattern).ok()?;
    // A pattern without anchors matches parts of words.
    let whole = pattern.starts_with('^') && pattern.ends_with('$');
    (whole && !PROSE.iter().any(|word| regex.is_match(word))).then_some(regex)
}

fn pattern_of_format(format: &str) -> Option<&'static str> {
    match format {
        "uuid" => Some("^[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}$"),
        "ipv4" => Some(r"^(?:[0-9]{1,3}\.){3}[0-9]{1,3}$"),
        _ => None,
    }
}

/// Returns the thing that a description names: `channel` for "The ID of the channel to post to".
fn named_entity(description: &str) -> Option<String> {
    let words = text::words(description);
    let mut words =
        words.into_iter().map(|word| word.lower).filter(|word| word != "the").peekable();
    let first = words.next()?;
    let is_name =
        matches!(first.as_str(), "name" | "id" | "key" | "title" | "number" | "identifier");
    (is_name && words.next()? == "of").then(|| words.find(|word| word != "a" && word != "an"))?
}

fn template(description: &str) -> Option<(String, String)> {
    let words: Vec<&str> = description.split_whitespace().collect();
    let at = words.iter().position(|word| *word == "N")?;
    let around = |at: usize| {
        Some(words.get(at)?.trim_matches(|c: char| !c.is_alphanumeric()).to_lowercase())
    };
    Some((around(at.checked_sub(1)?)?, around(at + 1)?))
}

/// Whether a month is written as "2026-10", according to the description or the pattern.
fn has_month_form(description: &str, schema: &Value) -> bool {
    let is_told = description
        .to_uppercase()
        .split_whitespace()
        .any(|word| word.trim_matches(|c: char| !c.is_ascii_uppercase()) == "YYYY-MM");
    let pattern = schema["pattern"].as_str().and_then(|pattern| Regex::new(pattern).ok());
    let fits = |pattern: Regex| {
        pattern.is_match("2026-10")
            && !["2026-10-01", "2026", "a-b"].iter().any(|other| pattern.is_match(other))
    };
    is_told || pattern.is_some_and(fits)
}

/// Returns the `strftime` format of a moment in a description such as "in the format 'YYYY-MM-DD
/// HH:MM:SS'".
fn moment_form(description: &str) -> Option<String> {
    let day = day_form(description)?;
    let upper = description.to_uppercase();
    // Of another zone, or of twelve hours, the usual form says more.
    let is_plain = !["UTC", "GMT", "AM/PM"].iter().any(|word| upper.contains(word));
    let has_time = ["DD ", "YYYY ", "MM "].iter().any(|end| upper.contains(&format!("{end}HH:MM")));
    if !is_plain || !has_time {
        return None;
    }
    let time = if upper.contains("HH:MM:SS") { "%H:%M:%S" } else { "%H:%M" };
    Some(format!("{day} {time}"))
}

/// Returns the `strftime` format of a day in a description such as "in the form DD.MM.YYYY".
fn day_form(description: &str) -> Option<String> {
    let upper = description.to_uppercase();
    let is_part = |c: char| "YMD./-".contains(c);
    let form = upper.split(|c| !is_part(c)).map(|word| word.trim_matches(['.', '/', '-']));
    let mut forms = form.filter(|word| {
        word.contains("YYYY")
            && word.contains("MM")
            && word.contains("DD")
            && matches!(word.len(), 8 | 10)
    });
    let form = forms.next().filter(|first| forms.all(|other| other == *first))?;
    Some(form.replace("YYYY", "%Y").replace("MM", "%m").replace("DD", "%d"))
}
