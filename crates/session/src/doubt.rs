//! Why a person must be asked before a tool is called for a prompt.

use std::ops::Range;

use serde_json::Value;
use toolroute_catalog::{EffectKind, Schema, Tool, properties, singular, words_of, writes};
use toolroute_rank::engine::{Degradation, Doer, FitReason, Places, Selection, caveat, no_order};
use toolroute_rank::query::{
    VerbMismatch, has_order_form, means_same, names_action, only_looks, ordered_change,
    unknown_object, verb_mismatch,
};
use toolroute_run::execution::{PreparedArguments, Source, TakenValue};

use super::lost::{lost, sets_nothing};

/// Returns the question to ask before a tool that may change something runs for a prompt that
/// forbids the change, makes it conditional, postpones it, only asks or tells about it, wants it from
/// somebody else, or that the tool may not fit. Returns `None` for a plain order that the tool fits,
/// and for a tool that only reads, unless the prompt orders a change that it would not make.
///
/// `prepared` has the arguments that were taken from `words`: "in 5 minutes" is no reason to wait if
/// an argument says so. The question ends with the advice to call the tool by its name.
pub fn doubt(
    tool: &Tool,
    selection: &Selection,
    words: &str,
    prepared: &PreparedArguments,
) -> Option<String> {
    // A question about the arguments comes first, because its answer may use the moment.
    let moments = if prepared.missing.is_empty() { &prepared.moments[..] } else { &[] };
    let places = Places { taken: &prepared.taken, moments };
    // The places are those of the translation.
    let original = words;
    let words = prepared.read_as.as_deref().unwrap_or(words);
    if only_reads(tool, words) {
        return unserved(tool, selection, words, prepared, places);
    }
    let is_unread = selection.degraded == Some(Degradation::UnreadLanguage);
    // Nobody knows whether words that cannot be read forbid it.
    let unread = || is_unread.then(|| "the prompt is in a language that is not read".to_owned());
    let form = || form_of_no_order(words, places, tool);
    // "Block room 5" for `set_room_status`, whose status is "blocked" then.
    let is_argument = |verb: &str| {
        let mut values = prepared.arguments.values().filter_map(Value::as_str);
        values.any(|value| {
            let value = value.to_lowercase();
            is_form_of_any(verb, &value) || means_same(verb, &value)
        })
    };
    // "Switch the newsletter off" sets `newsletter`.
    let is_set = |verb: &str| is_argument(verb) || sets_flag(verb, prepared);
    let unfit = match &selection.fit_reason {
        Some(FitReason::MissingAction { verb, .. }) if is_set(verb) => None,
        Some(
            FitReason::MissingAction { .. }
            | FitReason::OtherObject { .. }
            | FitReason::OtherServer { .. },
        ) => return unfit(tool, selection),
        _ => unfit(tool, selection),
    };
    let is_translated = prepared.read_as.is_some();
    // The verbs of a translation are too often other words for the tool's.
    let verb = || objection(words, places, tool, selection, &is_argument);
    let verb = || (!is_translated || took_only_content(words, prepared)).then(verb).flatten();
    let object = || strange_object(words, places, tool, (selection, prepared));
    let lost = || lost((original, words), tool, prepared, moments);
    let lost = || lost().map(|text| format!("no parameter takes \"{text}\" of the prompt"));
    let caveat = caveat_in(original, prepared, places);
    let reason = caveat.map(|word| says(&word)).or_else(unread).or_else(form);
    let ask = |reason: String| question(&reason, tool);
    let unset = || sets_nothing(tool, prepared).then(|| "what to change is not said".to_owned());
    // It may be what is to be done, or to what: the nearest known word would decide.
    let unread = prepared.unread.as_ref().filter(|_| !is_sure(selection));
    let unread = || unread.map(|word| format!("\"{word}\" is not understood"));
    let rest = || verb().or_else(unread).or_else(object).or_else(lost).or_else(unset).map(ask);
    reason.map(ask).or(unfit).or_else(rest)
}

/// Why words are no order by their form, if they are none.
fn form_of_no_order(words: &str, places: Places<'_>, tool: &Tool) -> Option<String> {
    let named = words_of(&tool.name);
    let does = |verb: &str| named.iter().any(|word| word == verb);
    let doer = Doer { does: &does, passes_on: passes_on(tool) };
    no_order(words, places, doer).map(str::to_owned)
}

/// Whether the first tool does something else than what the prompt orders, such as the opposite. A command that is ready to
/// be copied would do that.
#[doc(hidden)] // For our own crates.
pub fn does_another(selection: &Selection) -> bool {
    let reason = selection.fit_reason.as_ref();
    reason.is_some_and(|reason| {
        matches!(reason, FitReason::MissingAction { .. } | FitReason::OtherObject { .. })
    })
}

/// Whether words are no more than a thing and what to set it to: "volume to 30 percent".
fn gives_value(words: &str, value: &Range<usize>) -> bool {
    let (Some(before), Some(after)) = (words.get(..value.start), words.get(value.end..)) else {
        return false;
    };
    let before = before.split_whitespace();
    let is_last = !after.contains(char::is_alphanumeric);
    is_last && before.clone().count() < 5 && before.last() == Some("to")
}

/// Whether a verb of the prompt, or its "on" or "off", sets a boolean argument: "allow pets" for `pets_allowed`.
fn sets_flag(verb: &str, prepared: &PreparedArguments) -> bool {
    let mut flags = prepared.sources.iter().filter(|taken| taken.value.is_boolean());
    flags.any(|taken| match &taken.source {
        Source::Prompt { text, .. } => {
            let mut said = text.split_whitespace();
            said.any(|word| {
                matches!(word, "on" | "off") || is_form_of_any(verb, &word.to_lowercase())
            })
        }
        _ => false,
    })
}

/// The question about a tool that may not fit.
fn unfit(tool: &Tool, selection: &Selection) -> Option<String> {
    selection.fit_reason.as_ref().map(|reason| {
        let id = &tool.id;
        format!(
            "{reason}, and {id} may change something: say in other words what is to be done, or call \
             the tool by its name"
        )
    })
}

/// Whether all values were taken from the text behind a colon: "Schreib Lukas: bin in zehn Minuten da" is no timer.
fn took_only_content(words: &str, prepared: &PreparedArguments) -> bool {
    let taken = &prepared.taken;
    let colon = words.find(": ").filter(|_| !taken.is_empty());
    colon.is_some_and(|colon| taken.iter().all(|place| place.start > colon))
}

/// Why a tool may be meant for another thing than the prompt's: no text of the tool has the thing, and no argument a text
/// of the prompt.
fn strange_object(
    words: &str,
    places: Places<'_>,
    tool: &Tool,
    (selection, prepared): (&Selection, &PreparedArguments),
) -> Option<String> {
    // The listed values that were taken are no strange objects. The sources name places of the prompt itself.
    let listed = prepared.sources.iter().filter(|_| prepared.read_as.is_none());
    let listed = listed.filter(|taken| taken.is_listed()).filter_map(TakenValue::place);
    let listed: Vec<Range<usize>> = listed.collect();
    // "The TV in the living room" is no lamp there, however near the lamps are.
    let is_meant = is_sure(selection) && listed.is_empty();
    if is_meant || prepared.sources.iter().any(TakenValue::is_said_text) {
        return None;
    }
    let object = unknown_object(words, places, &listed, tool)?;
    Some(format!("{}, of which the tool says nothing", says(&object)))
}

/// Returns the word with which a prompt forbids, restricts or puts off a call. Of another language, its own words come
/// before those of the translation.
fn caveat_in(original: &str, prepared: &PreparedArguments, places: Places<'_>) -> Option<String> {
    let taken = places_taken(prepared);
    let places = Places { taken: &taken, ..places };
    match &prepared.read_as {
        Some(english) => caveat(original, Places::default()).or_else(|| caveat(english, places)),
        None => caveat(original, places),
    }
}

/// The places of all values that arguments took. "In the morning" postpones nothing that a tool does "in the morning".
fn places_taken(prepared: &PreparedArguments) -> Vec<Range<usize>> {
    // The sources name places of the prompt itself.
    if prepared.read_as.is_some() {
        return prepared.taken.clone();
    }
    let chosen = prepared.sources.iter().filter_map(|taken| match &taken.source {
        Source::Prompt { start, end, text } if text.chars().all(char::is_lowercase) => {
            Some(*start..*end)
        }
        _ => None,
    });
    prepared.taken.iter().cloned().chain(chosen).collect()
}

/// The confidence from which a tool is meant although the prompt has another word for what it is about.
const SURE: f32 = 0.95;

fn is_sure(selection: &Selection) -> bool {
    selection.confidence.is_some_and(|confidence| confidence >= SURE)
}

/// Whether a call for these words changes nothing.
pub(super) fn only_reads(tool: &Tool, words: &str) -> bool {
    tool.effects().reads_only() || is_view(tool) && only_looks(words)
}

/// Why a tool that only reads, and that may not fit, is no answer to a prompt. Where it orders a change, the answer would
/// look as if that was done. Where no value and no word of the tool's name is in it, as in "good morning", any tool
/// without arguments would do.
fn unserved(
    tool: &Tool,
    selection: &Selection,
    words: &str,
    prepared: &PreparedArguments,
    places: Places<'_>,
) -> Option<String> {
    let unfit = selection.fit_reason.as_ref()?;
    let id = &tool.id;
    let cure =
        "nothing was done; say in other words what is to be done, or call the tool by its name";
    if let Some(verb) = ordered_change(words, places, tool) {
        return Some(format!("{}, and {id} only reads: {cure}", says(&verb)));
    }
    let mut said = words_of(words);
    said.extend(selection.read_as.iter().flat_map(|english| words_of(english)));
    let is_named = words_of(&tool.name).iter().any(|word| said.contains(word));
    let is_asked = is_named || !prepared.taken.is_empty() || !prepared.missing.is_empty();
    (!is_asked).then(|| format!("{unfit}, and the prompt says nothing of {id}: {cure}"))
}

/// Nouns of what is only looked at, and words before a noun that say so, too.
const VIEWS: &str = "agenda attendees availability balance details forecast history hours info information list location log \
    logs mileage occupancy odometer overview participants position prices report schedule state statistics stats status \
    summary tariffs temperature timetable weather";
const VIEWED: &str = "current latest recent upcoming";

/// Whether a tool is named after something to look at, and nothing tells that it changes anything:
/// `fuel_report`, `recent_calls`.
fn is_view(tool: &Tool) -> bool {
    let words = words_of(&tool.name);
    let is_in = |list: &str, word: Option<&String>| {
        word.is_some_and(|word| list.split_whitespace().any(|view| view == word))
    };
    let is_named = is_in(VIEWS, words.last()) || words.len() > 1 && is_in(VIEWED, words.first());
    let about = words_of(&tool.description);
    let is_asked = || is_in("how what when where whether which who", about.first());
    let is_of_list = || !words.iter().any(|word| writes(word)) && is_list_of_things(&words, tool);
    tool.effects().kind == EffectKind::Unknown && (is_named || is_asked() || is_of_list())
}

/// Whether a tool is named after several things, and takes nothing that one could set: `trainers {sport}`, but not
/// `windows {open}`.
fn is_list_of_things(name: &[String], tool: &Tool) -> bool {
    let is_plural = |word: &String| word.len() > 3 && *singular(word) != **word;
    let schema = tool.input_schema.as_ref().and_then(Schema::to_value).unwrap_or_default();
    let is_set = |(name, parameter): (&String, &Value)| {
        let words = words_of(name);
        let is_limit =
            words.iter().any(|word| matches!(word.as_str(), "limit" | "page" | "offset"));
        let is_state = words.iter().any(|word| {
            matches!(
                word.as_str(),
                "action" | "command" | "level" | "mode" | "on" | "open" | "value"
            )
        });
        let kind = &parameter["type"];
        is_state || kind == "boolean" || (kind == "number" || kind == "integer") && !is_limit
    };
    let ends = [name.first(), name.last()];
    ends.into_iter().flatten().any(is_plural) && !properties(&schema).any(is_set)
}

/// Returns why no verb of the words, or of the same words without typing errors, orders what the tool
/// does, unless `is_argument` knows it.
fn objection(
    words: &str,
    places: Places<'_>,
    tool: &Tool,
    selection: &Selection,
    is_argument: &dyn Fn(&str) -> bool,
) -> Option<String> {
    let mismatch = verb_mismatch(words, places, tool)?;
    let is_meant = match &mismatch {
        VerbMismatch::None => match places.taken {
            [] => false,
            [value] if gives_value(words, value) => true,
            // "Would you prolong contract 5", "RX-9034 renew, 2 refills".
            _ => is_sure(selection) && has_order_form(words) || names_action(words, tool),
        },
        // "Scale web to 5" is about what an argument has.
        VerbMismatch::Other(word) | VerbMismatch::Object(word) => is_argument(word),
    };
    if is_meant {
        return None;
    }
    // Text with other words than the prompt's is of an earlier prompt, or without a part.
    let count = |text: &str| text.split_whitespace().count();
    let corrected = selection.read_as.as_deref().filter(|text| count(text) == count(words));
    let mismatch = match corrected {
        Some(text) => verb_mismatch(text, Places::default(), tool)?,
        None => mismatch,
    };
    Some(match mismatch {
        VerbMismatch::None => "the prompt does not say what is to be done".to_owned(),
        VerbMismatch::Other(verb) | VerbMismatch::Object(verb) => {
            format!("{}, of which the tool says nothing", says(&verb))
        }
    })
}

pub(super) fn says(word: &str) -> String {
    format!("the prompt says \"{word}\"")
}

pub(super) fn question(reason: &str, tool: &Tool) -> String {
    format!(
        "{reason}, and {} may change something: say plainly what is to be done now, or call the tool \
         by its name",
        tool.id
    )
}

/// Words by which a tool passes on what is to be done: a message, a reminder.
const PASSING_ON: &str = "remind reminder alarm timer task todo note notify notification notifier schedule scheduler \
    calendar message messenger messaging mail mailing email emailing chat sms assign assignment assignee ask tell told";

/// Whether a tool tells somebody else what to do.
fn passes_on(tool: &Tool) -> bool {
    let texts = [&tool.name, &tool.description].into_iter();
    texts.flat_map(|text| words_of(text)).any(|word| is_form_of_any(PASSING_ON, &word))
}

/// Whether a word is one of a list or a form of one, "cancelled" or "alarms". "Plants" is no form of "plan".
pub(super) fn is_form_of_any(list: &str, word: &str) -> bool {
    list.split_whitespace().any(|listed| {
        let Some(ending) = word.strip_prefix(listed) else {
            let stem = listed.strip_suffix('e').or_else(|| listed.strip_suffix('y'));
            let ending = stem.and_then(|stem| word.strip_prefix(stem));
            return matches!(ending, Some("ing" | "ies" | "ied"));
        };
        let doubled = ending.strip_prefix(|c| listed.ends_with(c)).unwrap_or(ending);
        matches!(ending, "" | "s" | "d") || matches!(doubled, "ed" | "ing")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tool_named_after_a_report_is_one_to_look_at() {
        for (name, description, is_one) in [
            ("fuel_report", "Fuel of a month, by car", true),
            ("page_history", "All versions of a page", true),
            ("recent_calls", "call log", true),
            ("current_user", "Switches the user", false),
            ("recent", "Calls of the week", false),
            ("send_forecast", "Sends the forecast", false),
            ("weather_forecast", "Forecast for the next days.", true),
            ("send_report", "Fuel of a month", false),
            ("fuel_report", "Sends the fuel of a month to the office", false),
            ("fuel", "Fuel of a month", false),
        ] {
            assert_eq!(is_view(&Tool::new(Some("cars"), name, description)), is_one, "{name}");
        }
    }

    #[test]
    fn only_whole_words_pass_something_on() {
        for (name, description, passes) in [
            ("create_reminder", "", true),
            ("post", "Sends messages to a channel", true),
            ("push", "Notifies a person", true),
            ("run", "Handles scheduled tasks", true),
            ("count_cash", "Counts the cash of the teller", false),
            ("add_chateau", "Adds a noteworthy house", false),
        ] {
            assert_eq!(passes_on(&Tool::new(Some("desk"), name, description)), passes, "{name}");
        }
    }
}
