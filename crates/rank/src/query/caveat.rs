//! Finds words with which a prompt forbids, postpones, questions or restricts an action.

use toolroute_translation::restriction;

use super::is_listed;

/// Phrases that count anywhere in the prompt.
const ANYWHERE: &[&str] = &[
    "do not",
    "don't",
    "don’t",
    "dont",
    "never",
    "unless",
    "except",
    "only if",
    "provided that",
    "but not",
    "but keep",
    "without",
    "do i",
    "do you",
    "after you",
    "before you",
    "after that",
    "before that",
];

/// Words that count at the beginning: conditions, future times and questions.
const FIRST: &str = "if once when whenever after before until while how why what who where which should did does \
     is are was were would";

/// Units of a future time: "in one hour".
const UNITS: &str = "second seconds minute minutes hour hours day days week weeks month months";

/// Returns the word or phrase by which a prompt is not a plain order: it forbids, restricts,
/// postpones or asks about an action. Returns `None` for a plain order. Quoted text is ignored.
///
/// Reads English, and the words of other languages that forbid or restrict. A tool that changes something must not run on such a prompt without asking.
pub fn caveat(prompt: &str) -> Option<String> {
    let mut plain = String::new();
    let mut is_quoted = false;
    for c in prompt.chars() {
        match c {
            '"' => is_quoted = !is_quoted,
            '“' | '«' => is_quoted = true,
            '”' | '»' => is_quoted = false,
            c if !is_quoted => plain.extend(c.to_lowercase()),
            _ => {}
        }
    }
    let words: Vec<&str> = plain
        .split(|c: char| !(c.is_alphanumeric() || matches!(c, '\'' | '’')))
        .filter(|word| !word.is_empty())
        .collect();
    if let Some(first) = words.first().filter(|first| is_listed(FIRST, first)) {
        return Some((*first).to_owned());
    }
    if words.first() == Some(&"in")
        && words.iter().skip(2).take(2).any(|word| is_listed(UNITS, word))
    {
        return Some(words[..3].join(" "));
    }
    let said = format!(" {} ", words.join(" "));
    let found = ANYWHERE.iter().find(|phrase| said.contains(&format!(" {phrase} ")));
    found.map(|phrase| (*phrase).to_owned()).or_else(|| restriction(&plain))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_orders_are_told_from_what_is_forbidden_conditional_put_off_or_asked() {
        for order in [
            "send an email to dana@example.org with subject \"If only\"",
            "Set the thermostat to 20 °C",
            "send an email to Dana",
            "send an email that says \"do not come\"",
            "please book a room in Paris for 4 people on 5 May",
            "can you delete /tmp/a.txt",
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
}
