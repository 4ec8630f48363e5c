//! What the ids of a parameter look like, and to which parameter an id belongs by its form.

use std::sync::LazyLock;

use regex::Regex;
use serde_json::Value;

use super::super::decimal::count;
use super::super::text;
use super::Slot;

/// Beginnings of ids that only stand for any other, as in "e.g. PROJ-123".
const PLACEHOLDERS: [&str; 8] = ["abc", "demo", "ex", "example", "id", "key", "proj", "xyz"];

/// Words before an example in a description.
const INTRODUCING: [&str; 5] = ["e.g", "eg", "example", "like", "as"];

impl Slot {
    /// Whether an id has the form that the schema shows, in a pattern or an example.
    pub fn shows(&self, id: &str) -> bool {
        let is_shown = |start: String| self.id_starts.contains(&start);
        self.has_form_of(id) || beginning(id).is_some_and(is_shown)
    }

    /// Whether a text has the form of a pattern that words of prose do not match.
    pub fn has_form_of(&self, text: &str) -> bool {
        self.pattern.as_ref().is_some_and(|pattern| pattern.is_match(text))
    }

    /// Whether an id has another form than the ids that the schema shows.
    pub fn excludes(&self, id: &str) -> bool {
        !self.id_starts.is_empty() && beginning(id).is_some() && !self.shows(id)
    }

    /// Whether an id differs from those that the schema shows in letters that name a project or a place, and
    /// not the kind of thing: `WEB-7` where an issue is shown as `PAY-101`.
    pub fn resembles(&self, id: &str) -> bool {
        let is_form = |start: &String| {
            let sign = start.trim_start_matches(char::is_alphabetic);
            !sign.is_empty() && beginning(id).is_some_and(|other| other.ends_with(sign))
        };
        let is_key = self.words.iter().any(|word| word == "key");
        is_key && beginning(id).is_some_and(|start| start.ends_with('-'))
            || self.id_starts.iter().any(is_form) && !self.names_kind()
    }

    /// Whether the letters of the ids that the schema shows are short for the thing: `L-10` for a loan.
    fn names_kind(&self) -> bool {
        let about = text::name_words(self.description.as_deref().unwrap_or_default());
        let words = || self.nouns().chain(about.iter().map(String::as_str));
        self.id_starts.iter().any(|start| {
            let letters = start.trim_end_matches(['-', '_']);
            is_abbreviation(&format!("{start}0"), words().filter(|word| *word != letters))
        })
    }

    /// Whether an id is that of another kind of thing, as the letters of the ids that the schema shows say.
    pub fn shows_another_kind(&self, id: &str) -> bool {
        self.excludes(id) && self.names_kind() && !self.abbreviates(id)
    }

    /// Whether an id begins with an abbreviation of the parameter's name: `ORD-7` for `order_id`,
    /// `PL-3` for `pick_list_id`.
    pub fn abbreviates(&self, id: &str) -> bool {
        is_abbreviation(id, self.nouns())
    }
}

/// Whether the letters before the sign of an id are the initials of words, or short for one of them.
pub(in super::super) fn is_abbreviation<'a>(
    id: &str,
    words: impl Iterator<Item = &'a str> + Clone,
) -> bool {
    let Some(start) = beginning(id) else { return false };
    let Some(start) = start.strip_suffix(['-', '_']) else { return false };
    let initials: String = words.clone().filter_map(|word| word.chars().next()).collect();
    let mut words = words;
    (start.len() > 1 && initials == start) || words.any(|word| is_short_for(start, word))
}

/// Whether a word has the first letter of a longer one, and its other letters in their order.
fn is_short_for(short: &str, long: &str) -> bool {
    let mut letters = long.chars();
    short.chars().next() == long.chars().next() && short.chars().all(|c| letters.any(|l| l == c))
}

/// Returns the letters and the sign before the digits of an id, in lower case: `ord-` of `ORD-7`.
fn beginning(id: &str) -> Option<String> {
    let letters = id.find(|c: char| !c.is_alphabetic())?;
    let rest = &id[letters..];
    let end = letters + rest.chars().next().filter(|c| "-_".contains(*c)).map_or(0, char::len_utf8);
    let has_digit = id[end..].contains(|c: char| c.is_ascii_digit());
    ((1..=10).contains(&letters) && has_digit).then(|| id[..end].to_lowercase())
}

/// Returns the form of a code that is given as an example, with any digits and words instead of its own: "2026-W19". `None` for
/// words and for numbers.
pub(super) fn form(example: &str, name: &[String]) -> Option<Regex> {
    let has = |test: fn(char) -> bool| example.chars().any(test);
    let is_code =
        has(|c| c.is_ascii_digit()) && has(|c| c.is_alphabetic()) && !has(char::is_whitespace);
    let mut form = String::from("^");
    let mut rest = if is_code { example } else { "" };
    while let Some(c) = rest.chars().next() {
        let word = rest.find(|c: char| !c.is_ascii_lowercase()).unwrap_or(rest.len());
        let length = if word > 2 { word } else { c.len_utf8() };
        match c {
            // "Zone, e.g. south-3", but "account, e.g. acc-12".
            _ if word > 2 && !name.iter().any(|own| is_short_for(&rest[..word], own)) => {
                form.push_str("[a-z]+")
            }
            c if c.is_ascii_digit() => form.push_str(r"\d"),
            _ => form.push_str(&regex::escape(&rest[..length])),
        }
        rest = &rest[length..];
    }
    Regex::new(&(form + "$")).ok().filter(|_| is_code)
}

/// A description of a number of so many digits: "Five-digit postcode".
static OF_DIGITS: LazyLock<Regex> =
    LazyLock::new(|| text::regex(r"(?i)\b(?P<count>[a-z]+|\d{1,2})[- ]digit\b"));

/// Returns the pattern of a number whose digits a description counts.
pub(super) fn of_digits(description: &str) -> Option<Regex> {
    let said = OF_DIGITS.captures(description)?;
    let digits = count(&said["count"]).filter(|digits| (3..=20).contains(digits))?;
    Some(text::regex(&format!(r"^\d{{{digits}}}$")))
}

/// Whether a parameter takes a time zone, and no zone of a town or a greenhouse.
pub(super) fn tells_time_zone(name: &[String], description: &str) -> bool {
    let about = description.to_lowercase();
    let is_told = ["iana", "time zone", "timezone", "utc"].iter().any(|word| about.contains(word));
    let has = |word: &str| name.iter().any(|own| own == word);
    has("zone") && (has("time") || is_told)
}

/// A pattern for the names of time zones in the IANA database.
pub(super) const ZONE: &str = r"^(?:[A-Z][A-Za-z]+(?:/[A-Z][A-Za-z_+-]+){1,2}|UTC)$";

/// Whether an id has letters before its digits, which say of what it is.
pub(in super::super) fn is_lettered(id: &str) -> bool {
    beginning(id).is_some()
}

/// Removes the punctuation around a word.
fn bare(word: &str) -> &str {
    word.trim_matches(|c: char| "()[],;:\"'`".contains(c))
}

/// Returns the beginnings of the ids that a schema shows in its examples and its description.
pub(super) fn starts(description: &str, schema: &Value) -> Vec<String> {
    let listed = schema["examples"].as_array().into_iter().flatten();
    let examples = listed.chain(schema.get("example")).filter_map(Value::as_str);
    let mut starts: Vec<String> = examples.filter_map(beginning).collect();
    let mut is_example = false;
    for word in description.split_whitespace() {
        let word = bare(word);
        if is_example {
            starts.extend(beginning(word.trim_end_matches('.')));
        }
        // "E.g. VAN-21, TRK-16 or CAR-160".
        let lower = word.trim_end_matches('.').to_lowercase();
        let goes_on = is_example && (lower == "or" || beginning(&lower).is_some());
        is_example = goes_on || INTRODUCING.contains(&lower.as_str());
    }
    starts.retain(|start| !PLACEHOLDERS.contains(&start.trim_end_matches(['-', '_'])));
    starts
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_form_of_ids_is_taken_from_what_the_schema_shows() {
        for (description, schema, expected) in [
            ("order like ORD-88120", json!({}), vec!["ord-"]),
            ("Ward, e.g. W-3.", json!({"examples": ["W-3", "ICU-1"]}), vec!["w-", "icu-", "w-"]),
            ("", json!({"example": "PX004417230DE"}), vec!["px"]),
            ("Issue, e.g. PROJ-123", json!({}), vec![]),
            ("Encoding such as any other", json!({}), vec![]),
        ] {
            assert_eq!(starts(description, &schema), expected, "{description}");
        }
    }

    #[test]
    fn an_abbreviation_has_the_letters_of_the_word_in_their_order() {
        for (short, long, expected) in
            [("ord", "order", true), ("rsv", "reservation", true), ("van", "vehicle", false)]
        {
            assert_eq!(is_short_for(short, long), expected, "{short}");
        }
    }
}
