//! Words by which a prompt does not simply order what it speaks of.

/// Wherever they stand.
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

/// At the beginning: conditions, times to come and questions.
const FIRST: &str = "if once when whenever after before until while how why what who where which should did does \
     is are was were would";

/// Units of a time to come: "in one hour".
const UNITS: &str = "second seconds minute minutes hour hours day days week weeks month months";

/// The word by which a prompt forbids, makes a condition of, puts off or asks about what it speaks of, in
/// the place of ordering it at once; `None` for a plain order. What stands in quotes does not count.
///
/// English only. A tool that changes something is not to be run on such words without asking.
///
/// ```
/// use toolroute_rank::query::reservation;
///
/// assert_eq!(reservation("send an email to Dana"), None);
/// assert_eq!(reservation("do not send an email to Dana").as_deref(), Some("do not"));
/// assert_eq!(reservation("If it rains, send an email").as_deref(), Some("if"));
/// assert_eq!(reservation("send an email that says \"do not come\""), None);
/// ```
pub fn reservation(prompt: &str) -> Option<String> {
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
    let is_listed = |word: &str, list: &str| list.split(' ').any(|listed| listed == word);
    if let Some(first) = words.first().filter(|first| is_listed(first, FIRST)) {
        return Some((*first).to_owned());
    }
    if words.first() == Some(&"in")
        && words.iter().skip(2).take(2).any(|word| is_listed(word, UNITS))
    {
        return Some(words[..3].join(" "));
    }
    let said = format!(" {} ", words.join(" "));
    let found = ANYWHERE.iter().find(|phrase| said.contains(&format!(" {phrase} ")));
    found.map(|phrase| (*phrase).to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_orders_are_told_from_what_is_forbidden_conditional_put_off_or_asked() {
        for order in [
            "send an email to dana@example.org with subject \"If only\"",
            "Set the thermostat to 20 °C",
            "please book a room in Paris for 4 people on 5 May",
            "can you delete /tmp/a.txt",
        ] {
            assert_eq!(reservation(order), None, "{order}");
        }
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
            assert!(reservation(other).is_some(), "{other}");
        }
    }
}
