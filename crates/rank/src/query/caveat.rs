//! Finds words with which a prompt forbids, postpones, questions or restricts an action.

use std::ops::Range;

use toolroute_translation::restriction;

use super::is_listed;
use super::requests::command_verbs;

/// Words that count at the beginning: questions.
const QUESTIONS: &str = "how why what who where which should did does is are was were would";

/// Words that forbid or restrict, wherever they are.
const FORBIDDING: &str =
    "dont never nobody nothing neither nor except without avoid refrain forbidden prohibited";

/// Phrases that forbid, restrict or ask, wherever they are.
const PHRASES: &[&str] = &[
    "no one",
    "no need",
    "no reason",
    "no more",
    "no circumstances",
    "hold off",
    "instead of",
    "rather than",
    "but keep",
    "do i",
    "do you",
];

/// Words after which a "not" tells how things are: "it does not work".
const STATING: &str = "is are was were am does did has have had can could will";

/// Contracted forms of these.
const STATED: &str = "isn aren wasn weren doesn didn hasn haven hadn can couldn won ain";

/// Words that begin a condition.
const CONDITIONS: &str =
    "if whether unless once when whenever while until till providing assuming supposing";

/// Phrases that begin a condition.
const CONDITION_PHRASES: &[&str] = &[
    "in case",
    "provided that",
    "provided the",
    "as soon as",
    "as long as",
    "on condition",
    "in the event",
    "depending on",
    "the moment",
    "by the time",
];

/// Words of a later time, beside those that the arguments of a tool may take.
const LATER: &str =
    "later tonight tomorrow noon midnight soon eventually afterwards someday sometime shortly";

/// Parts of the day or the week, which are a later time after "this", "in the" and the like.
const PARTS: &str = "morning afternoon evening night weekend";

/// Units of a future time: "in one hour".
const UNITS: &str =
    "second seconds minute minutes hour hours day days week weeks month months year years";

/// Verbs after which "if" and "when" begin an indirect question: "check if", "tell me when".
const ASKING: &str = "check see tell show explain find determine verify";

/// Words between such a verb and its question.
const BETWEEN: &str = "me us out";

/// Verbs of a request that only looks; "before" and "after" filter what it shows.
const LOOKING: &str = "list show find search count display view";

/// Stands for a value of the prompt that an argument took.
const TAKEN: &str = "§";

/// Stands for a moment or a duration that no argument took.
const MOMENT: &str = "¤";

/// The places of a prompt's values, as byte ranges.
#[derive(Clone, Copy, Debug, Default)]
pub struct Places<'a> {
    /// Values that arguments of the tool took. They are no part of the order.
    pub taken: &'a [Range<usize>],
    /// Moments and durations that no argument took.
    pub moments: &'a [Range<usize>],
}

/// Returns the word or phrase by which a prompt is not a plain order: it forbids, restricts,
/// postpones or asks about an action. Returns `None` for a plain order. Quoted text is ignored.
///
/// Reads English, and the words of other languages that forbid or restrict. A tool that changes something must not run on such a prompt without asking.
pub fn caveat(prompt: &str, places: Places<'_>) -> Option<String> {
    let plain = unquoted(prompt, places);
    let words = words(&plain);
    let words = words.as_slice();
    let found = || (0..words.len()).find_map(|at| forbids(words, at));
    let question = words.first().filter(|first| is_listed(QUESTIONS, first));
    let question = question.map(|first| (*first).to_owned());
    let moment = || {
        let is_late = |at: &Range<usize>| !is_past_or_attribute(prompt, at);
        let moment = places.moments.iter().find(|at| is_late(at))?;
        (!only_looks(&plain)).then(|| prompt[moment.clone()].to_owned())
    };
    question
        .or_else(found)
        .or_else(|| condition_in(words, &plain))
        .or_else(|| (0..words.len()).find_map(|at| postpones(words, at, &plain)))
        .or_else(moment)
        .or_else(|| restriction(&plain))
}

/// Returns the word with which a part of a prompt makes a condition of what is ordered beside it;
/// `None` if there is none.
pub fn condition(prompt: &str) -> Option<String> {
    let plain = unquoted(prompt, Places::default());
    let words = words(&plain);
    // "Check if it is warm" is a condition of what is ordered beside it.
    let asked = || {
        let begins = |at: &usize| {
            matches!(words[*at], "if" | "whether") && word(&words, *at, 1) != "possible"
        };
        (0..words.len()).find(begins).map(|at| words[at].to_owned())
    };
    condition_in(&words, &plain).or_else(asked)
}

/// Returns the text in lower case, without quotes, and with signs for the values in it.
pub(super) fn unquoted(prompt: &str, places: Places<'_>) -> String {
    let mut plain = String::new();
    let mut is_quoted = false;
    for (at, c) in prompt.char_indices() {
        let place = |places: &[Range<usize>]| {
            places.iter().find(|place| place.contains(&at)).map(|place| place.start == at)
        };
        let (taken, moment) = (place(places.taken), place(places.moments));
        match c {
            '"' => is_quoted = !is_quoted,
            '“' | '«' => is_quoted = true,
            '”' | '»' => is_quoted = false,
            _ if is_quoted => {}
            _ if taken.is_some() || moment.is_some() => {
                let sign = if taken.is_some() { TAKEN } else { MOMENT };
                if taken.or(moment) == Some(true) {
                    plain.extend([" ", sign, " "]);
                }
            }
            '’' => plain.push('\''),
            c => plain.extend(c.to_lowercase()),
        }
    }
    plain
}

fn words(plain: &str) -> Vec<&str> {
    let joins = |c: char| c.is_alphanumeric() || c == '\'';
    let words = plain.split(|c: char| !joins(c) && c != '§' && c != '¤');
    words.map(|word| word.trim_matches('\'')).filter(|word| !word.is_empty()).collect()
}

/// The word `ahead` places after a word; empty if there is none.
fn word<'a>(words: &[&'a str], at: usize, ahead: usize) -> &'a str {
    words.get(at + ahead).copied().unwrap_or_default()
}

fn before<'a>(words: &[&'a str], at: usize) -> &'a str {
    at.checked_sub(1).map_or("", |at| words[at])
}

fn phrase(words: &[&str], at: usize, phrases: &[&str]) -> Option<String> {
    let begins = |phrase: &&&str| {
        let mut parts = phrase.split(' ').enumerate();
        parts.all(|(ahead, part)| word(words, at, ahead) == part)
    };
    phrases.iter().find(begins).map(|phrase| (*phrase).to_owned())
}

/// Whether the word at a place forbids something.
fn forbids(words: &[&str], at: usize) -> Option<String> {
    let (this, last, next) = (words[at], before(words, at), word(words, at, 1));
    let is_number = next.starts_with(|c: char| c.is_numeric()) || next == TAKEN;
    let forbids = match this {
        "not" => !is_listed(STATING, last) || next == "to",
        // "Order no 5" is a number.
        "no" => !is_number && (at == 0 || at + 1 == words.len()),
        _ if this.ends_with("n't") => !is_listed(STATED, &this[..this.len() - 2]),
        _ => is_listed(FORBIDDING, this),
    };
    if forbids && this == "not" && matches!(last, "do" | "must" | "should") {
        return Some(format!("{last} not"));
    }
    forbids.then(|| this.to_owned()).or_else(|| phrase(words, at, PHRASES))
}

fn condition_in(words: &[&str], plain: &str) -> Option<String> {
    (0..words.len()).find_map(|at| {
        let (this, next) = (words[at], word(words, at, 1));
        let is_once_only = || {
            let is_rate = matches!(next, "a" | "an") && is_listed(UNITS, word(words, at, 2));
            let is_count = matches!(next, "" | "more" | "again" | "per" | "every" | "daily");
            before(words, at) == "at" || is_rate || is_count
        };
        let is_plain = match this {
            "once" => is_once_only(),
            // "Until 5 May" may be an argument; as another time it counts as a moment.
            "until" | "till" => matches!(next, TAKEN | MOMENT),
            _ => false,
        };
        if is_listed(CONDITIONS, this) {
            let is_polite = next == "possible";
            let asks = || asks_indirectly(words, at) && only_looks(plain);
            return (!is_plain && !is_polite && !asks()).then(|| this.to_owned());
        }
        let is_now = word(words, at, 3) == "possible" || before(words, at) == "at";
        phrase(words, at, CONDITION_PHRASES).filter(|_| !is_now)
    })
}

/// Whether the word at a place begins an indirect question: "check if", "tell me when".
fn asks_indirectly(words: &[&str], at: usize) -> bool {
    let before = words[..at].iter().rev().find(|word| !is_listed(BETWEEN, word));
    before.is_some_and(|verb| is_listed(ASKING, verb))
}

/// Whether a prompt commands nothing but to look or to tell.
fn only_looks(plain: &str) -> bool {
    let verbs = command_verbs(plain);
    let looks = |verb: &String| is_listed(LOOKING, verb) || is_listed(ASKING, verb);
    !verbs.is_empty() && verbs.iter().all(looks)
}

/// Whether the word at a place puts the order off.
fn postpones(words: &[&str], at: usize, plain: &str) -> Option<String> {
    let (this, next) = (words[at], word(words, at, 1));
    match this {
        "before" | "after" => {
            let filters = || {
                let verb = command_verbs(plain).into_iter().next().unwrap_or_default();
                is_listed(LOOKING, &verb) && only_looks(plain)
            };
            let is_value = matches!(next, TAKEN | MOMENT);
            let is_as_usual = next.is_empty() && matches!(before(words, at), "as" | "like");
            (!is_value && !is_as_usual && !filters()).then(|| this.to_owned())
        }
        "in" | "within" => {
            let is_unit = |ahead: &usize| is_listed(UNITS, word(words, at, *ahead));
            let is_past = this == "in" && matches!(next, "the" | "this");
            let end = (2..=5).find(is_unit).filter(|_| !is_past && next != TAKEN)?;
            Some(words[at..=at + end].join(" "))
        }
        "soon" if before(words, at) == "as" => None,
        _ if is_listed(PARTS, this) => {
            let mut leads = words[at.saturating_sub(2)..at].iter();
            let is_late = leads.any(|lead| is_listed("this in at on over next", lead));
            is_late.then(|| this.to_owned())
        }
        _ => is_listed(LATER, this).then(|| this.to_owned()),
    }
}

/// Whether a moment is over, or belongs to a thing: "yesterday", "the report of 5 May".
fn is_past_or_attribute(prompt: &str, at: &Range<usize>) -> bool {
    let said = prompt[at.clone()].to_lowercase();
    let lead = prompt[..at.start].split_whitespace().next_back().unwrap_or_default();
    said.contains("yesterday")
        || said.starts_with("last ")
        || said.ends_with(" ago")
        || is_listed("of about since", lead)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn caveat(prompt: &str) -> Option<String> {
        super::caveat(prompt, Places::default())
    }

    #[test]
    fn plain_orders_are_told_from_what_is_forbidden_conditional_put_off_or_asked() {
        for order in [
            "send an email to dana@example.org with subject \"If only\"",
            "Set the thermostat to 20 °C",
            "send an email to Dana",
            "send an email that says \"do not come\"",
            "please book a room in Paris for 4 people on 5 May",
            "can you delete /tmp/a.txt",
            "stop the mixer at once",
            "stop the mixer if possible",
            "stop the mixer as soon as possible",
            "play the song once more",
            "cancel order no 12",
            "create an issue: the login does not work",
            "check if the file exists",
            "please tell me when the next train leaves",
            "find out whether the order is paid",
            "show me when the mixer was stopped",
            "list what was changed before May",
            "delete tomorrow's meeting",
            "send the morning report to dana@example.org",
        ] {
            assert_eq!(caveat(order), None, "{order}");
        }
        assert_eq!(caveat("do not send an email to Dana").as_deref(), Some("do not"));
        assert_eq!(caveat("If it rains, send an email").as_deref(), Some("if"));
        for other in [
            "Never turn the thermostat to 25 degrees",
            "Clean up, but do not delete /tmp/keep.txt",
            "delete all files but keep /tmp/keep.txt",
            "delete everything in /tmp except /tmp/keep.txt",
            "Once the build is green, set 20 °C",
            "set 20 °C unless the window is open",
            "in one hour set the thermostat to 20 °C",
            "how do I set the thermostat to 25 °C?",
            "why did you email a@b.org?",
            "Set the thermostat to 20 °C after you read /tmp/a.txt",
        ] {
            assert!(caveat(other).is_some(), "{other}");
        }
        assert_eq!(caveat("Kopiere nicht die Datei").as_deref(), Some("nicht"));
        assert_eq!(caveat("אל תמחק את הקובץ").as_deref(), Some("אל"));
        assert_eq!(caveat("Kopiere die Datei"), None);
    }

    #[test]
    fn a_condition_or_a_later_time_counts_wherever_it_is() {
        for (prompt, word) in [
            ("stop the mixer if it is too warm", "if"),
            ("stop the mixer only if it is warm", "if"),
            ("cancel order 12 once it is baked", "once"),
            ("cancel order 12 in case it is not baked yet", "in case"),
            ("stop the mixer when the dough is warm", "when"),
            ("stop the mixer after the dough rests", "after"),
            ("stop the mixer before Dana comes", "before"),
            ("stop the mixer as soon as it is warm", "as soon as"),
            ("check the oven, and if it is hot stop the mixer", "if"),
            ("check if the oven is hot and stop the mixer", "if"),
            ("check whether the oven is hot and stop the mixer", "whether"),
            ("start the mixer in an hour", "in an hour"),
            ("start the mixer in a couple of minutes", "in a couple of minutes"),
            ("stop the mixer later", "later"),
            ("stop the mixer this evening", "evening"),
            ("stop the mixer within the hour", "within the hour"),
            ("send Dana \"hi\" tomorrow", "tomorrow"),
        ] {
            assert_eq!(caveat(prompt).as_deref(), Some(word), "{prompt}");
        }
        assert_eq!(condition("stop it when it is warm").as_deref(), Some("when"));
        assert_eq!(condition("check whether it is warm").as_deref(), Some("whether"));
        assert_eq!(condition("tell me when it stops"), None);
        assert_eq!(condition("do not stop it tomorrow"), None);
    }

    #[test]
    fn what_arguments_took_is_no_part_of_the_order_and_a_time_that_none_took_puts_it_off() {
        let (prompt, at) = ("start the mixer before 5 May, note: if only", 23..28);
        let note = 30..44;
        let taken = [at.clone(), note];
        let all = Places { taken: &taken, moments: &[] };
        assert_eq!(super::caveat(prompt, all), None);
        let moments = [at];
        let moment = Places { taken: &taken[1..], moments: &moments };
        assert_eq!(super::caveat(prompt, moment).as_deref(), Some("5 May"));
        for (prompt, said) in [
            ("cancel the order of 5 May", "5 May"),
            ("delete the mail from yesterday", "yesterday"),
        ] {
            let at = prompt.find(said).unwrap();
            let at = at..at + said.len();
            let moments = std::slice::from_ref(&at);
            assert_eq!(super::caveat(prompt, Places { taken: &[], moments }), None);
        }
    }

    #[test]
    fn prohibitions_have_many_forms() {
        for prompt in [
            "the mixer must not be stopped",
            "the mixer mustn’t be stopped",
            "you shouldn't stop the mixer",
            "nobody should stop the mixer",
            "no one may stop the mixer",
            "avoid stopping the mixer",
            "no need to stop the mixer",
            "rather not stop the mixer",
            "stop the mixer? not yet",
            "stop the mixer? no",
            "under no circumstances cancel order 12",
            "the mixer is not to be stopped",
            "start the mixer instead of stopping it",
            "not the mixer",
        ] {
            assert!(caveat(prompt).is_some(), "{prompt}");
        }
    }

    proptest::proptest! {
        #[test]
        fn no_text_and_no_places_make_it_panic(
            text in "(in |no |not |if |before |after |a |hour |¤|§|\"|\\PC){0,12}",
            from in 0usize..40,
            to in 0usize..40,
        ) {
            let borders = |at: &usize| text.is_char_boundary(*at);
            if let (Some(from), Some(to)) = (Some(from).filter(borders), Some(to).filter(borders)) {
                let place = from..to.max(from);
                let places = std::slice::from_ref(&place);
                super::caveat(&text, Places { taken: places, moments: &[] });
                super::caveat(&text, Places { taken: &[], moments: places });
            }
        }
    }
}
