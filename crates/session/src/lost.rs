//! What a prompt says of a call and no argument takes, so that it would be lost: an amount, a place, which of several
//! things is meant.

use std::ops::Range;

use serde_json::Value;
use toolroute_catalog::{Schema, Tool, embedding_text, properties, required, singular, words_of};
use toolroute_rank::query::{is_reported, is_told_beside, told};
use toolroute_run::execution::{Arguments, PreparedArguments, TakenValue};

/// Returns what a prompt says of a call and no argument takes. `words` is the prompt in English, `original` in its own words.
pub(super) fn lost<'a>(
    (original, words): (&'a str, &'a str),
    tool: &Tool,
    prepared: &PreparedArguments,
    moments: &[Range<usize>],
) -> Option<&'a str> {
    lost_value(words, prepared, moments)
        .or_else(|| lost_words(words, tool, prepared))
        .or_else(|| lost_named(words, tool, prepared))
        .or_else(|| lost_person(words, tool, prepared))
        .or_else(|| lost_second(original, prepared))
}

/// Returns what the words say of the call and no parameter takes, so that it would be lost: "20 EUR", "in Bremen".
fn lost_value<'a>(
    words: &'a str,
    prepared: &PreparedArguments,
    moments: &[Range<usize>],
) -> Option<&'a str> {
    // "The plumber was there on Tuesday", "the speaker is stuck in Oslo".
    let is_few = prepared.lost.len() < 16 && moments.len() < 16;
    let is_told = |place| match moments.contains(place) {
        true => is_few && is_reported(words, place),
        // "The 15832 is a typo, delete it."
        false => {
            let is_name = words[place.clone()].starts_with(char::is_alphabetic);
            is_few && is_name && is_told_beside(words, place)
        }
    };
    let value = prepared.lost.iter().find(|place| !is_told(*place));
    let value = value.map(|place| &words[place.clone()]);
    let is_translated = prepared.read_as.is_some();
    let told = || told(words).filter(|text| !is_translated && !takes(&prepared.arguments, text));
    value.or_else(told).filter(|_| prepared.missing.is_empty())
}

/// Whether an argument has the beginning of a text.
fn takes(arguments: &Arguments, text: &str) -> bool {
    let beginning: Vec<&str> = text.split_whitespace().take(3).collect();
    let beginning = beginning.join(" ");
    arguments.values().any(|value| value.as_str().is_some_and(|text| text.contains(&beginning)))
}

/// Words that lead to a thing.
const ARTICLES: &str =
    "a all an both each every her his my our that the their these this those your";

/// Words that end what is said of a thing.
const PROSE: &str = "about after again all and any are as at be because before both but by can do down for from \
    five four get has have her him i if in into is it its me of off on once one or out over please so some than that then them there three to two up \
    us was we were when where which while who will with you";

/// Adjectives that tell one thing from no other.
const GENERAL: &str = "another current entire existing extra few first following last latest new next old other own \
    previous quick remaining same second short single small whole";

/// Places in a house that no article leads to.
const LEVELS: &str = "downstairs everywhere inside outside upstairs";

/// Returns words that say which thing is meant, or where it is, if neither an argument nor the tool has them, though the
/// tool could be told: without them, "turn off the bedroom lights" would turn off all. An argument with an id or a name
/// says which is meant.
fn lost_words<'a>(words: &'a str, tool: &Tool, prepared: &PreparedArguments) -> Option<&'a str> {
    let is_told = prepared.sources.iter().any(TakenValue::is_said_text);
    if is_told || !prepared.missing.is_empty() || !could_be_told(tool, prepared) {
        return None;
    }
    let clause =
        words.find([',', ';', ':', '.', '!', '?', '\n']).map_or(words, |end| &words[..end]);
    let known = words_of(&format!(
        "{} {}",
        embedding_text(tool),
        tool.server.as_deref().unwrap_or_default()
    ));
    let is_known = |word: &str| known.iter().any(|known| singular(known) == singular(word));
    let said: Vec<Said> = spoken(clause, prepared).collect();
    let lower = |at: usize| said[at].lower.as_str();
    let is_listed = |list: &str, at: usize| list.split(' ').any(|listed| listed == lower(at));
    let is_plain = |at: usize| {
        !said[at].is_taken
            && !is_known(lower(at))
            && ![PROSE, ARTICLES, GENERAL].into_iter().any(|list| is_listed(list, at))
    };
    // "In the living room", "the bedroom lights", "upstairs", "the album Rumours".
    let is_led = |at: usize| ["at", "in", "of", "on"].contains(&lower(at));
    let is_place = |at: usize| {
        let has_article = is_listed(ARTICLES, at - 1);
        // Articles are lost in a translation.
        has_article && at > 1 && is_led(at - 2)
            || prepared.read_as.is_some() && at > 0 && lower(at - 1) == "in"
    };
    let is_modifier = |at: usize| {
        let thing = (at + 1..said.len()).find(|next| !is_plain(*next));
        let before = (1..at).rev().find(|before| !is_plain(*before)).unwrap_or(0);
        let is_led =
            before == 0 || is_listed(ARTICLES, before) || is_listed("off on up down", before);
        is_led && thing.is_some_and(|thing| is_known(lower(thing)) && !said[thing].is_taken)
    };
    let is_name = |at: usize| said[at].is_capital && prepared.read_as.is_none();
    let first = (1..said.len()).find(|at| {
        is_plain(*at)
            && (is_listed(LEVELS, *at) || is_place(*at) || is_modifier(*at) || is_name(*at))
    })?;
    let last = (first..said.len()).take_while(|at| is_plain(*at)).last()?;
    Some(&clause[said[first].span.start..said[last].span.end])
}

/// Returns the name of a parameter that a prompt says though the parameter has no value: "bin" of "into the bin drone". A word
/// that the tool says of itself is none.
fn lost_named<'a>(words: &'a str, tool: &Tool, prepared: &PreparedArguments) -> Option<&'a str> {
    if prepared.read_as.is_some() || !prepared.missing.is_empty() {
        return None;
    }
    let own = words_of(&format!("{} {}", tool.name, tool.description));
    let schema = tool.input_schema.as_ref().and_then(Schema::to_value).unwrap_or_default();
    let is_lost = |said: &Said| {
        !said.is_taken
            && !own.iter().any(|own| singular(own) == singular(&said.lower))
            && properties(&schema).any(|(name, parameter)| {
                let is_open = !prepared.arguments.contains_key(name) && is_text(parameter);
                let is_named =
                    |word: &[String]| matches!(word, [word] if singular(word) == singular(&said.lower));
                is_open && is_named(&words_of(name))
            })
    };
    let said: Vec<Said> = spoken(words, prepared).collect();
    let is_led = |at: usize| {
        let is_article = |word: &str| ARTICLES.split(' ').any(|article| article == word);
        let lead = said[..at].iter().rev().find(|word| !is_article(&word.lower));
        lead.is_some_and(|lead| {
            ["in", "into", "on", "onto", "to", "under", "with"].contains(&lead.lower.as_str())
        })
    };
    let at = (1..said.len()).find(|at| is_lost(&said[*at]) && is_led(*at))?;
    let end = said.get(at + 1).filter(|next| !next.is_taken).unwrap_or(&said[at]).span.end;
    Some(&words[said[at].span.start..end])
}

/// Returns why a call does only a part of a prompt: it asks for several things, `needs`, and of one of them the call has
/// nothing. "Cancel S-143 and notify everyone" is one call, if that sets a parameter. English only.
pub fn partial(prompt: &str, needs: &[String], prepared: &PreparedArguments) -> Option<String> {
    if needs.len() < 2 || prepared.read_as.is_some() {
        return None;
    }
    let places: Vec<Range<usize>> = prepared.sources.iter().filter_map(TakenValue::place).collect();
    let mut from = 0;
    let has_nothing = |need: &&String| {
        let Some(start) = prompt.get(from..).and_then(|rest| rest.find(&***need)) else {
            return false;
        };
        let (start, end) = (from + start, from + start + need.len());
        from = end;
        !places.iter().any(|place| start <= place.start && place.end <= end)
    };
    needs.iter().find(has_nothing)?;
    let said: Vec<String> = needs.iter().map(|need| format!("\"{need}\"")).collect();
    Some(format!("the prompt asks for {} things, {}", needs.len(), said.join(", ")))
}

/// Words of each language that join a second value to the first, and what they are joined with.
const JOINING: &str = "and und sowie y e et и و 和 跟 及 与 或 or o ou oder или או או";

/// Returns the word that the prompt joins to a listed value, if no argument has it: "Küche" of "im Bad und in der Küche" for
/// one room. `prompt` is in its own language.
fn lost_second<'a>(prompt: &'a str, prepared: &PreparedArguments) -> Option<&'a str> {
    let all: Vec<Range<usize>> = prepared.sources.iter().filter_map(TakenValue::place).collect();
    let listed = prepared.sources.iter().filter(|taken| taken.is_listed());
    listed.filter_map(TakenValue::place).find_map(|place| {
        let behind = prompt.get(place.end..)?;
        let rest = behind.trim_start();
        let mut words = rest.split_whitespace();
        let first = words.next()?;
        let joint = match JOINING.split(' ').find(|joint| *joint == first) {
            Some(joint) => joint,
            // Written with the word behind them.
            None => ["ו", "و", "和"].into_iter().find(|joint| {
                first.strip_prefix(*joint).is_some_and(|second| second.chars().count() > 1)
            })?,
        };
        let from = prompt.len() - rest.len() + joint.len();
        let end = prompt[from..]
            .find([',', '.', '!', '?', '，', '。'])
            .map_or(prompt.len(), |end| from + end);
        let second = prompt[from..end].trim();
        // "Und im Flur": the first word that is neither a preposition nor an article.
        let is_noun =
            |word: &&str| word.chars().count() > 3 || !word.is_ascii() && word.chars().count() > 2;
        let noun = second.split_whitespace().find(is_noun)?;
        let start = from + prompt[from..end].find(noun)?;
        let is_taken =
            all.iter().any(|other| other.start < start + noun.len() && start < other.end);
        (!is_taken).then_some(noun)
    })
}

/// Titles of persons.
const TITLES: [&str; 7] = ["doctor", "dr", "mr", "mrs", "ms", "prof", "professor"];

/// Verbs in names of tools that give something to somebody.
const GIVING: [&str; 8] = ["charge", "email", "forward", "mail", "pay", "refund", "send", "share"];

/// Returns the person with whom something is to be, by a title, or to whom something is to go, if no argument has them: "with Dr.
/// Brown" where only other dentists are listed, "to the insurance" for a tool that sends to the patient.
fn lost_person<'a>(words: &'a str, tool: &Tool, prepared: &PreparedArguments) -> Option<&'a str> {
    if prepared.read_as.is_some() || !prepared.missing.is_empty() {
        return None;
    }
    let said: Vec<Said> = spoken(words, prepared).collect();
    let lower = |at: usize| said[at].lower.as_str();
    let is_giving = words_of(&tool.name).iter().any(|word| GIVING.contains(&word.as_str()));
    let known = words_of(&embedding_text(tool));
    let is_known = |at: usize| known.iter().any(|known| singular(known) == singular(lower(at)));
    let is_article = |at: usize| ["the", "my", "our", "his", "her", "their"].contains(&lower(at));
    let is_person = |at: usize| {
        let has_title = at > 1
            && said[at].is_capital
            && TITLES.contains(&lower(at - 1))
            && lower(at - 2) == "with";
        let is_receiver = at > 1 && is_giving && lower(at - 2) == "to" && is_article(at - 1);
        !said[at].is_taken && (has_title || is_receiver && !is_known(at))
    };
    let at = (1..said.len()).find(|at| is_person(*at))?;
    Some(&words[said[at].span.clone()])
}

/// A word of a prompt.
struct Said {
    lower: String,
    span: Range<usize>,
    is_capital: bool,
    /// Whether an argument, or a moment that the prompt gives, has it.
    is_taken: bool,
}

/// Returns the words of a clause with the marks around them removed.
fn spoken<'a>(clause: &'a str, prepared: &'a PreparedArguments) -> impl Iterator<Item = Said> + 'a {
    // The sources name places of the prompt itself, which the clause is a translation of.
    let said = prepared.sources.iter().filter(|_| prepared.read_as.is_none());
    let said = said.filter_map(TakenValue::place);
    let taken: Vec<Range<usize>> =
        prepared.taken.iter().chain(&prepared.moments).cloned().chain(said).collect();
    clause
        .split([' ', '-', '/'])
        .scan(0, |from, part| {
            let start = *from;
            *from += part.len() + 1;
            Some((start, part))
        })
        .filter_map(move |(start, part)| {
            let is_outer = |c: char| !c.is_alphanumeric();
            let word = part.trim_matches(is_outer);
            let start = start + part.len() - part.trim_start_matches(is_outer).len();
            let word = word.strip_suffix("'s").or_else(|| word.strip_suffix("’s")).unwrap_or(word);
            let span = start..start + word.len();
            let is_taken =
                taken.iter().any(|taken| taken.start < span.end && span.start < taken.end);
            let is_word = word.starts_with(char::is_alphabetic);
            let is_capital =
                word.starts_with(char::is_uppercase) && word.contains(char::is_lowercase);
            is_word.then(|| Said { lower: word.to_lowercase(), span, is_capital, is_taken })
        })
}

/// Words in names of parameters for where something is.
const WHERE: [&str; 6] = ["area", "floor", "location", "place", "room", "zone"];

/// Whether a parameter takes a text, or null or a list of texts, that is not one of listed values.
fn is_text(parameter: &Value) -> bool {
    let alternatives = parameter["anyOf"].as_array().into_iter().flatten();
    let item = if parameter["type"] == "array" { &parameter["items"] } else { parameter };
    item["type"] == "string" && item.get("enum").is_none() || alternatives.into_iter().any(is_text)
}

/// Whether a parameter is free that could say which thing is meant: a text that is not one of listed values, or a place.
fn could_be_told(tool: &Tool, prepared: &PreparedArguments) -> bool {
    let schema = tool.input_schema.as_ref().and_then(Schema::to_value).unwrap_or_default();
    let is_free = |(name, parameter): (&String, &Value)| {
        let is_place = words_of(name).iter().any(|word| WHERE.contains(&word.as_str()));
        !prepared.arguments.contains_key(name) && (is_text(parameter) || is_place)
    };
    properties(&schema).into_iter().any(is_free)
}

/// Verbs in names of tools that change what their other arguments say.
const SETTING: &str = "adjust change configure edit modify patch set update";

/// Last words of names of parameters for the thing itself, or for what it is a part of.
const IDENTIFYING: &str = "account code id identifier key name number org organization owner path project repo \
    repository uuid workspace";

/// Whether a call would say of what to change something, and not what: `update_unit` with only a `unit_id`.
pub(super) fn sets_nothing(tool: &Tool, prepared: &PreparedArguments) -> bool {
    let is_in = |list: &str, word: &str| list.split_whitespace().any(|listed| listed == word);
    let is_setting = words_of(&tool.name).iter().any(|word| is_in(SETTING, word));
    let schema = tool.input_schema.as_ref().and_then(Schema::to_value).unwrap_or_default();
    let objects: Vec<&str> = required(&schema).collect();
    let is_object =
        |name: &&str| words_of(name).last().is_some_and(|last| is_in(IDENTIFYING, last));
    let parameters = schema["properties"].as_object().map_or(0, |members| members.len());
    is_setting
        && !objects.is_empty()
        && objects.iter().all(is_object)
        && parameters > objects.len()
        && prepared.missing.is_empty()
        && prepared.arguments.keys().all(|name| objects.contains(&name.as_str()))
}

#[cfg(test)]
mod tests {
    use serde_json::{json, value::to_raw_value};
    use toolroute_run::execution::{ArgumentSources, LocalTime, prepare_arguments};

    use super::*;

    fn lost(tool: &Tool, prompt: &str) -> Option<String> {
        let now: LocalTime = "2026-04-20T10:30:00+02:00".parse().unwrap();
        let prepared = prepare_arguments(tool, &ArgumentSources::new(prompt, &now));
        lost_words(prompt, tool, &prepared).map(str::to_owned)
    }

    fn tool(name: &str, about: &str, properties: Value) -> Tool {
        let mut tool = Tool::new(Some("home"), name, about);
        let schema = json!({"type": "object", "properties": properties});
        tool.input_schema = Some(Schema::new(to_raw_value(&schema).unwrap()));
        tool
    }

    #[test]
    fn words_that_say_which_thing_is_meant_are_lost_unless_an_argument_has_them() {
        let text = || json!({"type": "string"});
        let off = tool("turn_off", "Turns off a light", json!({"name": text(), "where": text()}));
        for (prompt, expected) in [
            ("turn off the light", None),
            ("turn off the lights in the barn", Some("barn")),
            ("turn off the barn lights", Some("barn")),
            ("turn the barn lights off", Some("barn")),
            ("turn off the lights upstairs", Some("upstairs")),
            ("turn off the lights, the big barn is empty", None),
            ("turn off all lights now please", None),
            ("turn off the new light", None),
        ] {
            assert_eq!(lost(&off, prompt).as_deref(), expected, "{prompt}");
        }
        let all = tool("turn_off", "Turns off all lights", json!({"slowly": {"type": "boolean"}}));
        assert_eq!(lost(&all, "turn off the barn lights"), None, "no parameter could take it");
        let play = tool("play", "Plays an album", json!({"uri": text()}));
        assert_eq!(lost(&play, "play the album Rumours").as_deref(), Some("Rumours"));
    }

    #[test]
    fn a_second_room_and_a_person_that_no_argument_has_are_lost() {
        let now: LocalTime = "2026-04-20T10:30:00+02:00".parse().unwrap();
        let rooms = json!({"room": {"enum": ["kitchen", "bedroom", "hallway"]}});
        let light = tool("light_off", "Turns off the light of a room", rooms);
        let second = |prompt: &str| {
            let prepared = prepare_arguments(&light, &ArgumentSources::new(prompt, &now));
            lost_second(prompt, &prepared).map(str::to_owned)
        };
        let german = "mach das Licht in der Küche und im Schuppen aus";
        assert_eq!(second(german).as_deref(), Some("Schuppen"));
        assert_eq!(
            second("turn off the light in the kitchen and the shed").as_deref(),
            Some("shed")
        );
        assert_eq!(second("turn off the light in the kitchen, please"), None);
        let text = json!({"type": "string"});
        let send =
            tool("send_invoice", "Sends an invoice to the patient", json!({"invoice_id": text}));
        let book =
            tool("book_visit", "Books a visit", json!({"patient_id": text, "dentist": text}));
        let person = |tool: &Tool, prompt: &str| {
            let prepared = prepare_arguments(tool, &ArgumentSources::new(prompt, &now));
            lost_person(prompt, tool, &prepared).map(str::to_owned)
        };
        assert_eq!(person(&send, "send INV-7 to the insurance").as_deref(), Some("insurance"));
        assert_eq!(person(&send, "send INV-7 to the patient"), None);
        assert_eq!(person(&book, "book P-7, Dr. Brown is away"), None);
        let rooms = json!({"patient_id": text, "dentist": {"enum": ["dr_weber"]}});
        let book = tool("book_visit", "Books a visit", rooms);
        assert_eq!(person(&book, "book a visit for P-7 with Dr. Brown").as_deref(), Some("Brown"));
        assert_eq!(person(&book, "book a visit for P-7 with Dr. Weber"), None);
    }
}
